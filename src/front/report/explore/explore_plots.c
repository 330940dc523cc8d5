/* The figures of an exploration, each as a self-contained SVG file with its numbers as
 * CSV next to it. */
#include "report/explore/explore_plots.h"

#include "base/error.h"
#include "base/file/file.h"
#include "halley/version.h"
#include "report/explore/explore_figures.h"
#include "report/explore/explore_files.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BARS = 60 };

static figure_list best_of(const halley_exploration *e)
{
    return (figure_list){.at = e->best,
                         .n = e->n_best < MOST_BARS ? e->n_best : MOST_BARS};
}

static figure_list list_of(const halley_slice *slice)
{
    return (figure_list){slice->best, slice->n, true, slice->axis};
}

/* A file contains its style, patterns and background. Colours are literals, because
 * librsvg and Inkscape know neither variables nor themes. */
static halley_status save_svg(const char *path, const strbuf *drawn, halley_error *err)
{
    strbuf alone = {0};
    if (drawn->failed)
        return error_nomem(err);
    const str svg = strbuf_str(drawn);
    const char *inside = memchr(svg.at, '>', svg.n);
    assert(inside != NULL);
    const size_t head = (size_t)(inside - svg.at) + 1;
    strbuf_add(&alone, (str){svg.at, head});
    strbuf_add(&alone, STR("<style>"));
    strbuf_add(&alone, str_from(explore_css));
    strbuf_add(&alone, STR("</style>"));
    figure_patterns(&alone);
    strbuf_add(&alone, STR("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"));
    strbuf_add(&alone, (str){svg.at + head, svg.n - head});
    const halley_status status = file_save(path, &alone, err);
    strbuf_fini(&alone);
    return status;
}

/* The numbers of a figure, below a line that says where they come from. */
static halley_status save_csv(const char *path, const strbuf *rows, const char *study,
                              halley_error *err)
{
    strbuf text = {0};
    strbuf_printf(&text, "# halley %s explore: ", halley_version());
    strbuf_visible(&text, str_from(study));
    strbuf_add_char(&text, '\n');
    strbuf_add(&text, strbuf_str(rows));
    text.failed |= rows->failed;
    const halley_status status = file_save(path, &text, err);
    strbuf_fini(&text);
    return status;
}

static halley_status save_plot(const char *folder, const char *name, figure *f,
                               const halley_study *study, halley_error *err)
{
    char path[1024];
    halley_status status = HALLEY_OK;
    if (f->svg.n > 0) {
        snprintf(path, sizeof path, "%s/%s.svg", folder, name);
        status = save_svg(path, &f->svg, err);
        snprintf(path, sizeof path, "%s/%s.csv", folder, name);
        if (status == HALLEY_OK)
            status = save_csv(path, &f->csv, halley_study_name(study), err);
    }
    strbuf_fini(&f->svg);
    strbuf_fini(&f->csv);
    *f = (figure){0};
    return status;
}

halley_status report_explore_plots(const char *folder, const halley_study *study,
                                   const halley_exploration *e, halley_error *err)
{
    const figure_source s = {study, e};
    figure f = {0};
    char name[64];
    const figure_list best = best_of(e);
    TRY(file_folder_make(folder, err));
    figure_breakdown(&f, &s, &best);
    TRY(save_plot(folder, "breakdown", &f, study, err));
    figure_memory(&f, &s, &best);
    TRY(save_plot(folder, "memory", &f, study, err));
    figure_tornado(&f, &s);
    TRY(save_plot(folder, "sensitivity", &f, study, err));
    figure_pareto(&f, &s);
    TRY(save_plot(folder, "pareto", &f, study, err));
    for (uint32_t i = 0; i < e->n_heats; i++) {
        snprintf(name, sizeof name, "heat-%u", i + 1);
        figure_heat(&f, &s, &e->heats[i]);
        TRY(save_plot(folder, name, &f, study, err));
    }
    for (uint32_t i = 0; i < e->n_slices; i++) {
        snprintf(name, sizeof name, "roofline-by-%u", i + 1);
        figure_roofline(&f, &s, &e->slices[i]);
        TRY(save_plot(folder, name, &f, study, err));
        snprintf(name, sizeof name, "breakdown-by-%u", i + 1);
        const figure_list list = list_of(&e->slices[i]);
        figure_breakdown(&f, &s, &list);
        TRY(save_plot(folder, name, &f, study, err));
    }
    return HALLEY_OK;
}
