/* trace/core/groups.h - which ranks a process group has, as files and traces declare it.
 */
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

/* ASTRA-sim's file, {"1": [0, 1], …}. Errors name line and column or the group. */
halley_status trace_groups_load(trace_groups *g, const char *path, halley_error *err);

/*
 * What PyTorch's "## process_group:init ##" node says in the values of its inputs: a
 * Python list with one JSON text, [{"pg_name": "1", "ranks": [0, 1], …}, …]. Groups
 * without ranks mean all and are left out; what is not in that form declares nothing.
 */
halley_status trace_groups_parse(trace_groups *g, halley_bytes values, halley_error *err);

/* The groups that the traces of a set declare so; of a name the first wins. */
halley_status trace_groups_collect(trace_groups *g, const halley_trace_set *set,
                                   halley_error *err);
/* As ASTRA-sim reads them, {"1": [0, 1], …}. The file appears whole or not at all.
 * `apart`: each rank on a line of its own, so that no list reads like one of another
 * text. */
halley_status trace_groups_save(const trace_groups *g, const char *path, bool apart,
                                halley_error *err);

/* The text of such a file, group by group, each rank by rank, into an empty buffer. */
void trace_groups_text_group(strbuf *to, str name);
void trace_groups_text_rank(strbuf *to, uint32_t rank, bool apart);
void trace_groups_text_end(strbuf *to);

/*
 * What trace_groups_parse reads, with each rank r replaced by to[r], or left out where
 * that is UINT32_MAX or r >= n. `*out` is appended to; text that is not in the form is
 * copied as it is.
 */
halley_status trace_groups_renumber(strbuf *out, halley_bytes values, const uint32_t *to,
                                    uint32_t n, halley_error *err);

#endif
