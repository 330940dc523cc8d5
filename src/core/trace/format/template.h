/*
 * trace/format/template.h - template sets as files: an index (YAML), one trace per role,
 * and a table if no rule is known.
 *
 *   format: halley-roles 1
 *   ranks: 131072
 *   axes: [{tp: 8}, {dp: 1024}, {pp: 16}]      # innermost first
 *   roles:
 *     - {file: step.role0.et, when: {pp: 0}}   # values, ranges 1-14, lists
 *   groups:
 *     dp: {along: [dp]}
 *     ep: {along: [tp, dp], block: 64, every: 1}
 *     emb: {along: [pp], values: [0, 15]}
 *   peers: {next: {pp: +1, wrap: yes}}
 *   exceptions: [{rank: 4711, file: step.4711.et}]
 *
 * With `table: step.bind.zst` the index has no axes and no `when`, and lists the names of
 * groups and peers: groups: [g0], peers: [p0]. The table starts with the 16 bytes
 * "halley-bind 1\n\0\0". Then come little-endian 32-bit numbers in columns, each with one
 * number per rank: role, then each group, then each peer; 2^32 - 1 = none.
 */
#ifndef TRACE_FORMAT_TEMPLATE_H
#define TRACE_FORMAT_TEMPLATE_H

#include "base/conf/conf.h"
#include "trace/core/template.h"

#define TRACE_TEMPLATE_ENDING ".roles.yaml"

/* Callbacks that load the files which an index names. */
typedef struct trace_template_files {
    halley_status (*load_trace)(halley_trace **out, void *context, str file,
                                halley_error *err);
    /* Returns the decompressed bytes, to free(). */
    halley_status (*load_table)(uint8_t **out, size_t *n, void *context, str file,
                                halley_error *err);
    void *context;
} trace_template_files;

/* Fill the empty template from an index. Call fini also on failure. */
halley_status trace_template_parse(trace_template *t, const conf_file *index,
                                   const trace_template_files *files, halley_error *err);

#endif
