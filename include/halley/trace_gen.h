/*
 * halley/trace_gen.h - generate traces from a pattern and a few parameters: Chakra's
 * generator cases, collective and point-to-point microbenchmarks, random graphs, simple
 * models.
 *
 * A generator is a pattern for a number of NPUs, with parameters set by name from text,
 * exactly as on the command line. The same generator always gives the same bytes. Except
 * for Chakra's exact cases, every pattern runs in a simulator with one communication slot
 * per NPU. Sends match receives, and each NPU calls its collectives and messages in one
 * global order.
 *
 * A compute node with only a duration gets the number of operations that 100 TFLOP/s
 * execute in that time, and a thousandth of that in bytes. Simulators with a roofline
 * model use those numbers and not the duration.
 *
 * To add a pattern, add one row in the table of src/tools/gen/gen.c, one function and one
 * test.
 */
#ifndef HALLEY_TRACE_GEN_H
#define HALLEY_TRACE_GEN_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Description of one pattern or parameter, for help and forms. All texts are lent and
 * static. */
typedef struct halley_gen_doc {
    const char *name;
    const char *doc;   /* one line */
    const char *value; /* of a parameter: placeholder of its value, "BYTES"; NULL for
                          patterns */
} halley_gen_doc;
uint32_t halley_gen_pattern_count(void);
halley_gen_doc halley_gen_pattern(uint32_t i); /* i < halley_gen_pattern_count() */
uint32_t halley_gen_param_count(void);
halley_gen_doc halley_gen_param(uint32_t i);
/* Whether a pattern takes a parameter, and its default as text ("" = none). */
bool halley_gen_takes(uint32_t pattern, uint32_t param);
const char *halley_gen_default(char *to, size_t size, uint32_t pattern, uint32_t param);
/* True for the generator cases of Chakra, which are in Chakra's order. */
bool halley_gen_is_chakra(uint32_t pattern);

typedef struct halley_gen halley_gen;

/* ENOTFOUND for an unknown pattern, EINVAL for 0 NPUs, ELIMIT for more than 1048576. */
halley_status halley_gen_new(halley_gen **out, const char *pattern, uint32_t n_npus,
                             halley_error *err);
/* Set one parameter ("size", "64 MiB"). "group" ("0,2,4-7") may be set several times;
 * each call adds a group. */
halley_status halley_gen_set(halley_gen *gen, const char *param, const char *value,
                             halley_error *err);
/* Write byte for byte what Chakra's generator writes; only for its own cases. */
halley_status halley_gen_exact(halley_gen *gen, halley_error *err);
void halley_gen_free(halley_gen *gen);

/* Check that the parameters are consistent. All functions below do this as well. */
halley_status halley_gen_check(halley_gen *gen, halley_error *err);
/* The trace of one rank; the caller owns it. */
halley_status halley_gen_trace(halley_trace **out, halley_gen *gen, uint32_t rank,
                               halley_error *err);
/* All ranks; equal ones share a trace. */
halley_status halley_gen_traces(halley_trace_set **out, halley_gen *gen,
                                halley_error *err);

/* What was written. */
typedef struct halley_gen_summary {
    size_t size;                /* filled by the library, see error.h */
    uint32_t n_files;           /* traces */
    uint32_t n_distinct;        /* of those, different ones */
    uint32_t n_groups;          /* in the group file; 0 = none was written */
    uint64_t n_nodes;           /* over all ranks */
    uint64_t n_bytes;           /* over all traces */
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_gen_summary;
/* Write prefix.0.et … and, if there are groups, prefix.comm_group.json ({"1": [0, 2]},
 * ASTRA-sim's format). Either all files are written or, on failure, none. Existing files
 * are replaced. */
halley_status halley_gen_save(halley_gen *gen, const char *prefix,
                              halley_gen_summary *summary, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
