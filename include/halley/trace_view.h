/*
 * halley/trace_view.h - pictures of a trace: SVG, a self-contained HTML page, Graphviz
 * dot, GraphML.
 *
 * A picture is made of boxes. A box is a node, or, when the picture is collapsed or would
 * have too many boxes, several nodes: a run of one kind, a repeated piece drawn once, or
 * all of one kind in a stretch of the graph. The picture says so.
 */
#ifndef HALLEY_TRACE_VIEW_H
#define HALLEY_TRACE_VIEW_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_view_form {
    HALLEY_VIEW_SVG = 0,
    HALLEY_VIEW_HTML,
    HALLEY_VIEW_DOT,
    HALLEY_VIEW_GRAPHML
} halley_view_form;

typedef enum halley_view_way {
    HALLEY_VIEW_DOWN = 0, /* what depends on it */
    HALLEY_VIEW_UP,       /* what it depends on */
    HALLEY_VIEW_BOTH
} halley_view_way;

/* {0} is the default: everything, as SVG. */
typedef struct halley_view_opts {
    halley_view_form form;
    const char *title;    /* NULL = the trace's path */
    const uint64_t *from; /* only nodes that these ids lead to … */
    size_t n_from;        /* 0 = no such choice */
    uint32_t depth;       /* … in so many steps; 0 = any number */
    halley_view_way way;
    uint32_t types; /* bit per halley_node_type; 0 = all */
    const char *const *names;
    size_t n_names; /* shell patterns (*, ?, [a-z]) for names; 0 = all */
    bool collapse;  /* runs and repeats as one box each */
    uint32_t limit; /* boxes of an SVG or HTML picture, at least one a lane; 0 = 2000.
                       More are drawn collapsed, and then by stretches. dot and GraphML
                       have none unless one is given */
    bool mixed;     /* one column instead of lanes for CPU, compute, communication,
                       memory */
} halley_view_opts;

/* What was drawn. */
typedef struct halley_view_summary {
    size_t size;       /* filled by the library, see error.h */
    uint64_t n_nodes;  /* of the trace */
    uint64_t n_chosen; /* by from, types and names */
    uint64_t n_boxes;
    uint64_t n_edges;           /* between boxes */
    uint64_t n_dangling;        /* dependencies on missing ids: not drawn */
    uint64_t n_back;            /* edges that go up, of a cycle */
    bool collapsed, stretched;  /* runs and repeats; stretches of the graph */
    uint64_t room[HALLEY_ROOM]; /* for members to come; 0 */
} halley_view_summary;

/*
 * Write a picture; the file appears whole or not at all; "-" is stdout.
 * HALLEY_ENOTFOUND: an id of `from` is not in the trace, or nothing was chosen.
 */
halley_status halley_view_save(const halley_trace *trace, const char *path,
                               const halley_view_opts *opts, halley_view_summary *summary,
                               halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
