/* trace/core/groups.h - the ranks of process groups, as files and traces declare them. */
#ifndef TRACE_CORE_GROUPS_H
#define TRACE_CORE_GROUPS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"
#include "halley/trace.h"

typedef struct trace_group {
    str name; /* never "" or "0", which mean all ranks */
    uint32_t *ranks;
    uint32_t n_ranks;
} trace_group;

/* {0} is empty. */
typedef struct trace_groups {
    arena memory;
    ARRAY(trace_group) list;
} trace_groups;

void trace_groups_fini(trace_groups *g);

/* Load ASTRA-sim's file, {"1": [0, 1], …}. Errors name line and column or the group. */
halley_status trace_groups_load(trace_groups *g, const char *path, halley_error *err);

/*
 * Parse the input values of PyTorch's "## process_group:init ##" node: a Python list with
 * one JSON text, [{"pg_name": "1", "ranks": [0, 1], …}, …]. Groups without ranks mean all
 * ranks and are left out. Values in another form declare nothing.
 */
halley_status trace_groups_parse(trace_groups *g, halley_bytes values, halley_error *err);

/* Collect the groups that the traces of a set declare in this way. The first of a name
 * wins. */
halley_status trace_groups_collect(trace_groups *g, const halley_trace_set *set,
                                   halley_error *err);
/* Save the groups for ASTRA-sim, {"1": [0, 1], …}. The file appears complete or not at
 * all. `apart`: each rank is on its own line, so that no list can be confused with one of
 * another text. */
halley_status trace_groups_save(const trace_groups *g, const char *path, bool apart,
                                halley_error *err);

/* Write the same as text into an empty buffer. */
void trace_groups_print(strbuf *to, const trace_groups *g, bool apart);

/* Write the text of such a file into an empty buffer, group by group and rank by rank. */
void trace_groups_text_group(strbuf *to, str name);
void trace_groups_text_rank(strbuf *to, uint32_t rank, bool apart);
void trace_groups_text_end(strbuf *to);

/*
 * Append the text that trace_groups_parse reads to *out, with each rank r replaced by
 * to[r]. A rank is left out if to[r] is UINT32_MAX or r >= n. Text in another form is
 * copied unchanged.
 */
halley_status trace_groups_renumber(strbuf *out, halley_bytes values, const uint32_t *to,
                                    uint32_t n, halley_error *err);

#endif
