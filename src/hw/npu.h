/* hw/npu.h - reading one NPU from our YAML. */
#ifndef HW_NPU_H
#define HW_NPU_H

#include "base/conf/conf.h"
#include "halley/npu.h"

/* Fill *out from a map such as presets/npus/a100-sxm4-80gb.yaml. */
halley_status cluster_npu_read(halley_npu *out, const conf_file *file,
                               const conf_node *map, halley_error *err);

/* An NPU of which only these two are known (0 = not even that): shares and times of
 * kernels as they usually are. */
/* The preset that a profiler's name of a device means; false: none is known. */
bool hw_npu_find_recorded(halley_npu *out, const char *device);
void hw_npu_make(halley_npu *out, double peak_flops, double mem_Bps);
/* What a file that says nothing means: nv with units for fp4, else none. */
halley_scales hw_npu_usual_scales(const halley_npu *npu);

/* A preset's name, or such a map in place. Errors of the name are placed at `node`. */
halley_status hw_npu_read_any(halley_npu *out, const conf_file *file,
                              const conf_node *node, halley_error *err);

/* Rates of a file that gives none. */
extern const halley_gemm_rates hw_gemm_default;

/* Copy a name that must fit. */
halley_status cluster_name_copy(char to[HALLEY_NAME], str name, halley_error *err);

/* Read up to `max` numbers with a unit from a list; their number in *n. */
halley_status cluster_list_read(double *out, size_t max, size_t *n, const conf_file *file,
                                const conf_node *list, units_kind unit, const char *key,
                                halley_error *err);

/* The fastest memory outside of the device's own; NULL = it has none. */
const halley_tier *hw_npu_outer_tier(const halley_npu *npu);

#endif
