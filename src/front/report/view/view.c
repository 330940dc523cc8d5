/* Pictures of traces: the steps from a trace to a file. */
#include "report/view/view.h"

#include "base/error.h"

enum { DEFAULT_LIMIT = 2000 };

/* Join boxes if requested, or if there are too many to draw. */
static bool shrink_view(view_graph *g)
{
    const halley_view_opts *o = g->opts;
    const bool drawn = o->form == HALLEY_VIEW_SVG || o->form == HALLEY_VIEW_HTML;
    const uint32_t limit = o->limit ? o->limit : drawn ? DEFAULT_LIMIT : UINT32_MAX;
    if ((o->collapse || g->boxes.n > limit) && !view_collapse(g))
        return false;
    return g->boxes.n <= limit || view_stretch(g, limit);
}

static halley_status prepare_view(view_graph *g, halley_error *err)
{
    TRY(view_choose(g, err));
    if (!view_levels(g))
        return error_nomem(err);
    for (size_t k = 0; k < g->edges.n; k++)
        g->sum.n_back += view_goes_up(g, &g->edges.at[k]);
    if (!shrink_view(g))
        return error_nomem(err);
    const bool drawn =
        g->opts->form == HALLEY_VIEW_SVG || g->opts->form == HALLEY_VIEW_HTML;
    if (drawn && !view_layout(g))
        return error_nomem(err);
    g->sum.n_boxes = g->boxes.n;
    g->sum.n_edges = g->edges.n;
    return HALLEY_OK;
}

static bool write_view(file_output *out, const view_graph *g)
{
    strbuf text = {0};
    bool ok = true;
    switch (g->opts->form) {
    case HALLEY_VIEW_DOT:
        view_write_dot(out, g, &text);
        break;
    case HALLEY_VIEW_GRAPHML:
        view_write_graphml(out, g, &text);
        break;
    case HALLEY_VIEW_HTML:
        ok = view_write_html(&text, g);
        break;
    default:
        ok = view_write_svg(&text, g, false);
    }
    ok = ok && !text.failed;
    file_output_str(out, strbuf_str(&text));
    strbuf_fini(&text);
    return ok;
}

static halley_status save_view(const view_graph *g, const char *path, halley_error *err)
{
    file_output *out = NULL;
    TRY(file_output_open(&out, path, err));
    if (write_view(out, g))
        return file_output_commit(out, err);
    file_output_abort(out);
    return error_nomem(err);
}

halley_status halley_view_save(const halley_trace *trace, const char *path,
                               const halley_view_opts *opts, halley_view_summary *summary,
                               halley_error *err)
{
    const halley_view_opts none = {0};
    view_graph g = {
        .trace = trace, .opts = opts ? opts : &none, .sum = {.size = sizeof g.sum}};
    halley_status status = prepare_view(&g, err);
    if (status == HALLEY_OK)
        status = save_view(&g, path, err);
    if (status == HALLEY_OK && summary)
        *summary = g.sum;
    view_graph_fini(&g);
    return status;
}
