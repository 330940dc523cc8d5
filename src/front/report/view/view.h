/*
 * report/view/view.h - draws a trace in steps: choose nodes, gather them into boxes,
 * place the boxes, write. Every step takes at most O((nodes + edges) * log).
 */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "base/array.h"
#include "base/file/file.h"
#include "base/str.h"
#include "halley/trace_view.h"

#define VIEW_NONE UINT32_MAX

/* The lane of a box, which decides its place in a row: what its nodes do. */
typedef enum view_lane {
    VIEW_CPU,
    VIEW_COMPUTE,
    VIEW_COMM,
    VIEW_MEMORY,
    VIEW_OTHER,
    VIEW_N_LANES
} view_lane;

typedef struct view_box {
    uint32_t node;        /* the first of its nodes */
    uint32_t last;        /* the last one, if it is a run */
    uint32_t n_nodes;     /* nodes that it represents, over all repeats */
    uint32_t repeat;      /* number of consecutive repeats; 1 = once */
    uint8_t type;         /* halley_node_type */
    uint8_t lane;         /* view_lane */
    bool stretch;         /* it has all boxes of a lane between two levels */
    uint64_t duration_us; /* over all its nodes */
    uint64_t bytes;       /* moved by them: comm_size or tensor_size */
    /* Places, set by the layout: */
    uint32_t level;  /* longest path from a root */
    uint32_t row;    /* in the whole picture; levels with many boxes take several */
    uint32_t column; /* rows are folded: they fill one column after the other */
    double x, y;     /* centre, pixels */
} view_box;

enum { VIEW_DATA = 1, VIEW_CTRL = 2, VIEW_VIA = 4 }; /* VIA: through omitted nodes */

typedef struct view_edge {
    uint32_t from, to; /* boxes */
    uint32_t kinds;    /* bits */
} view_edge;

/* A column of the folded picture and its lanes. */
typedef struct view_column {
    double x, width;
    double lane_x[VIEW_N_LANES];     /* left edge, relative to x */
    double lane_width[VIEW_N_LANES]; /* 0 = the column has no box of that lane */
} view_column;

typedef struct view_graph {
    const halley_trace *trace;
    const halley_view_opts *opts;
    halley_view_summary sum;
    ARRAY(view_box) boxes;                    /* in order of their first nodes */
    ARRAY(view_edge) edges;                   /* by (from, to), each pair once */
    uint64_t type_count[HALLEY_N_NODE_TYPES]; /* nodes drawn */
    uint32_t n_levels, n_rows;
    ARRAY(view_column) columns;
    double width, height; /* pixels, of the drawing without its title */
} view_graph;

void view_graph_fini(view_graph *g);

/* view_choose.c: make one box per chosen node. `g` has trace and opts, the rest is zero.
 */
halley_status view_choose(view_graph *g, halley_error *err);
/* Sort edges and join equal ones. */
void view_tidy_edges(view_graph *g);
/* Find the longest path from a root for every box; sets level and n_levels. Cycles are
 * cut where they close. False: no memory. */
bool view_levels(view_graph *g);
/* With levels known: true if an edge closes a cycle. */
bool view_goes_up(const view_graph *g, const view_edge *e);

/* view_collapse.c */
bool view_collapse(view_graph *g); /* runs and repeats; false: no memory */
bool view_stretch(view_graph *g, uint32_t n_most); /* false: no memory */

/* view_layout.c: place all boxes; false: no memory. */
bool view_layout(view_graph *g);
enum { VIEW_BOX_WIDTH = 184, VIEW_BOX_HEIGHT = 38, VIEW_ROW = 66, VIEW_HEAD = 26 };

/* view_text.c: texts about a box. */
str view_name(const view_graph *g, const view_box *box); /* lent by the trace */
void view_label(strbuf *to, const view_graph *g, const view_box *box);  /* line 1 */
void view_detail(strbuf *to, const view_graph *g, const view_box *box); /* line 2 */
void view_duration(strbuf *to, uint64_t micros);
/* "1,234 nodes" */
void view_count(strbuf *to, uint64_t n, const char *one, const char *many);
/* The rows of a legend. */
enum { VIEW_N_KINDS = 8 };
typedef struct view_kind_row {
    uint8_t type;
    const char *css, *word;
} view_kind_row;
extern const view_kind_row view_kinds[VIEW_N_KINDS];
const char *view_kind(const view_graph *g, const view_box *box); /* "compute", css too */
void view_notes(strbuf *to, const view_graph *g); /* what the picture omits, as lines */
void view_title(strbuf *to, const view_graph *g);
/* Cut a text to that many pixels of a 12-pixel bold font, as XML text. An ellipsis
 * replaces the middle, because names differ at both ends. */
void view_xml_cut(strbuf *to, str text, double pixels);

/* Writers. */
void view_write_dot(file_output *out, const view_graph *g, strbuf *scratch);
void view_write_graphml(file_output *out, const view_graph *g, strbuf *scratch);
const char *view_shape(uint8_t type); /* outline, as an SVG path around the origin */
bool view_write_svg(strbuf *to, const view_graph *g, bool page);
bool view_write_html(strbuf *to, const view_graph *g);

#endif
