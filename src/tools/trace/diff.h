/* trace/diff.h - the parts of comparing traces. */
#ifndef TRACE_DIFF_H
#define TRACE_DIFF_H

#include "base/arena.h"
#include "base/array.h"
#include "base/str.h"
#include "halley/trace_diff.h"

typedef struct diff {
    const halley_trace *a, *b;
    uint32_t rank;
    uint32_t ignore, max_per_kind;
    arena memory;
    ARRAY(halley_difference) list;
    uint64_t n[HALLEY_N_DIFF_KINDS];
    uint64_t n_once[HALLEY_N_DIFF_KINDS];           /* without repeated pairs */
    uint64_t n_same, n_changed, n_removed, n_added; /* nodes */
    bool failed;                                    /* memory ran out */
} diff;

/* A node of each side; HALLEY_NO_NODE if it is not about a node. */
typedef struct diff_pair {
    uint32_t a, b;
} diff_pair;

/* Count a difference and, if the limit allows, list it. */
void diff_add(diff *d, halley_diff_kind kind, diff_pair at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static inline bool diff_wants(const diff *d, halley_diff_kind kind)
{
    return (d->ignore >> kind & 1) == 0;
}
/* Format a text for a sentence: quoted, escaped, shortened. It is in d's memory. "" if no
 * more differences of that kind are listed. */
const char *diff_quote(diff *d, halley_diff_kind kind, halley_bytes text);
bool diff_same_bytes(halley_bytes a, halley_bytes b);

/* One list of attributes: of a node or of the metadata. */
typedef struct diff_attrs {
    const halley_trace *trace;
    uint32_t node; /* HALLEY_NO_NODE = metadata */
    uint32_t n;
} diff_attrs;
/* `kind`: the kind of difference that is counted. */
void diff_compare_attrs(diff *d, const diff_attrs *a, const diff_attrs *b,
                        halley_diff_kind kind, diff_pair at);
/* Compare everything of two nodes with the same id. */
void diff_compare_nodes(diff *d, diff_pair at);

#endif
