/*
 * halley/trace_view.h - pictures of a trace: SVG, a self-contained HTML page, Graphviz
 * dot, GraphML.
 *
 * A picture consists of boxes. A box is usually one node. If the picture is collapsed, or
 * would have too many boxes, a box is several nodes. These are a run of one kind, a
 * repeated piece that is drawn once, or all nodes of one kind in a section of the graph.
 * The picture says so.
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
    const uint64_t *from; /* only nodes that can be reached from these ids … */
    size_t n_from;        /* 0 = all nodes */
    uint32_t depth;       /* … in this many steps; 0 = any number */
    halley_view_way way;
    uint32_t types; /* bit per halley_node_type; 0 = all */
    const char *const *names;
    size_t n_names; /* shell patterns (*, ?, [a-z]) for names; 0 = all */
    bool collapse;  /* draw runs and repeats as one box each */
    uint32_t limit; /* most boxes of an SVG or HTML picture, at least one per lane; 0 =
                       2000. Larger pictures are collapsed, then drawn by sections. dot
                       and GraphML have no limit by default */
    bool mixed;     /* one column instead of lanes for CPU, compute, communication,
                       memory */
} halley_view_opts;

/* What was drawn. */
typedef struct halley_view_summary {
    size_t size;       /* filled by the library, see error.h */
    uint64_t n_nodes;  /* of the trace */
    uint64_t n_chosen; /* nodes selected by from, types and names */
    uint64_t n_boxes;
    uint64_t n_edges;           /* between boxes */
    uint64_t n_dangling;        /* dependencies on missing ids: not drawn */
    uint64_t n_back;            /* edges that point upwards because of a cycle */
    bool collapsed, stretched;  /* by runs and repeats; by sections of the graph */
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_view_summary;

/* Write a picture, completely or not at all; "-" is stdout. HALLEY_ENOTFOUND: an id in
 * `from` is not in the trace, or no node was selected. */
halley_status halley_view_save(const halley_trace *trace, const char *path,
                               const halley_view_opts *opts, halley_view_summary *summary,
                               halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
