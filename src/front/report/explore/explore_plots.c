/* The figures of an exploration, each as a self-contained SVG file. */
#include "report/explore/explore_plots.h"

#include "base/error.h"
#include "base/file/file.h"
#include "report/explore/explore_figures.h"
#include "report/explore/explore_files.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BARS = 12 };

static figure_list best_of(const halley_exploration *e)
{
    return (figure_list){.at = e->best,
                         .n = e->n_best < MOST_BARS ? e->n_best : MOST_BARS};
}

static figure_list list_of(const halley_slice *slice)
{
    return (figure_list){slice->best, slice->n, true, slice->axis};
}

/* A file contains its style and patterns. */
static halley_status save_plot(const char *folder, const char *name, strbuf *figure,
                               halley_error *err)
{
    strbuf alone = {0};
    char path[1024];
    const str svg = strbuf_str(figure);
    const char *inside = svg.n ? memchr(svg.at, '>', svg.n) : NULL;
    halley_status status = HALLEY_OK;
    if (inside) {
        const size_t head = (size_t)(inside - svg.at) + 1;
        strbuf_add(&alone, (str){svg.at, head});
        strbuf_add(&alone, STR("<style>"));
        strbuf_add(&alone, str_from(explore_css));
        strbuf_add(&alone, STR("svg{background:var(--paper)}</style>"));
        figure_patterns(&alone);
        strbuf_add(&alone, (str){svg.at + head, svg.n - head});
        alone.failed |= figure->failed;
        snprintf(path, sizeof path, "%s/%s.svg", folder, name);
        status = file_save(path, &alone, err);
    }
    strbuf_fini(&alone);
    strbuf_fini(figure);
    return status;
}

halley_status report_explore_plots(const char *folder, const halley_study *study,
                                   const halley_exploration *e, halley_error *err)
{
    const figure_source s = {study, e};
    strbuf f = {0};
    char name[64];
    const figure_list best = best_of(e);
    TRY(file_folder_make(folder, err));
    figure_breakdown(&f, &s, &best);
    TRY(save_plot(folder, "breakdown", &f, err));
    figure_memory(&f, &s, &best);
    TRY(save_plot(folder, "memory", &f, err));
    figure_tornado(&f, &s);
    TRY(save_plot(folder, "sensitivity", &f, err));
    figure_pareto(&f, &s);
    TRY(save_plot(folder, "pareto", &f, err));
    for (uint32_t i = 0; i < e->n_heats; i++) {
        snprintf(name, sizeof name, "heat-%u", i + 1);
        figure_heat(&f, &s, &e->heats[i]);
        TRY(save_plot(folder, name, &f, err));
    }
    for (uint32_t i = 0; i < e->n_slices; i++) {
        snprintf(name, sizeof name, "roofline-by-%u", i + 1);
        figure_roofline(&f, &s, &e->slices[i]);
        TRY(save_plot(folder, name, &f, err));
        snprintf(name, sizeof name, "breakdown-by-%u", i + 1);
        const figure_list list = list_of(&e->slices[i]);
        figure_breakdown(&f, &s, &list);
        TRY(save_plot(folder, name, &f, err));
    }
    return HALLEY_OK;
}
