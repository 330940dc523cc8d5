/* hw/measured.h - collectives as measured: the key `measured` of a cluster file. */
#ifndef HW_MEASURED_H
#define HW_MEASURED_H

#include "halley/extend.h"
#include "hw/schema.h"

/* From a size on, time = latency + size / bandwidth. The latency may be negative if the
 * line starts at a larger size. */
typedef struct hw_measured_line {
    double from_bytes, latency_s, bw_Bps;
} hw_measured_line;

typedef struct hw_measured_row {
    halley_collective_kind kind;
    uint32_t n_ranks, per_node, n_lines;
    const hw_measured_line *lines;
} hw_measured_row;

struct hw_measured {
    uint32_t n;
    const hw_measured_row *rows;
    halley_extensions extensions; /* its context is this struct */
};

/* NULL: the file has no such list. */
halley_status hw_read_measured(const hw_reader *r, const conf_node *list);
/* Print as in a file; prints nothing for NULL. */
void hw_measured_print(strbuf *to, const hw_measured *m);

#endif
