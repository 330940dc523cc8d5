/* hw/save.h - devices, links and fabrics as text: by preset, or in full as {...}. */
#ifndef HW_SAVE_H
#define HW_SAVE_H

#include "base/str.h"
#include "halley/link.h"
#include "hw/cluster.h"

/* Without `cost`, price and power are left to hw_npu_print_cost if everything else equals
 * a preset. */
void hw_npu_print(strbuf *to, const halley_npu *npu, bool cost);
void hw_link_print(strbuf *to, const halley_link *link);
void hw_fabric_print(strbuf *to, const halley_fabric *fabric);
/* Write price and power of an NPU that otherwise equals its preset, as keys of `cost`. *n
 * counts the keys written so far. */
void hw_npu_print_cost(strbuf *to, uint32_t *n, const halley_npu *npu);
/* True if anything is known about it. */
bool hw_npu_is_described(const halley_npu *npu);

/* Append the list of dimensions as a file has it. */
void hw_dims_print(strbuf *b, const halley_cluster *c);

#endif
