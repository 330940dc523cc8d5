/* report/kernels.h - the device work of a recording, for people and programs. */
#ifndef REPORT_KERNELS_H
#define REPORT_KERNELS_H

#include "halley/recording.h"
#include "report/table.h"

typedef struct report_kernels_opts {
    bool as_hta; /* add the figures that HTA prints */
    bool all;    /* every kernel, not only the longest */
} report_kernels_opts;

/* Write a table for people, or the classes as CSV. */
halley_status report_kernels_write(const halley_kernels *k,
                                   const report_kernels_opts *opts, report_form form,
                                   FILE *to, halley_error *err);
/* Write everything as members of the open object. */
void report_kernels_json(report_json *j, const halley_kernels *k,
                         const report_kernels_opts *opts);

#endif
