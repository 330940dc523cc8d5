/*
 * report/explore/heat.c - how busy links were over time, as CSV rows or as a picture. In
 * the picture a row is an NPU, a column is a bin of time, and darker is busier (brighter
 * in dark mode). It has axes, a scale, and one panel per dimension.
 */
#include "base/file/file.h"
#include "base/number/units.h"
#include "base/str.h"
#include "report/sim.h"

#include <math.h>

enum { CELL = 4, LEFT = 90, TOP = 90, GAP = 80, MOST_ROWS = 512 }; /* pixels, NPUs */

static void write_heat_csv(file_output *to, const halley_result *result)
{
    const double bin = halley_result_bin_s(result);
    strbuf row = {0};
    file_output_str(to, STR("dimension,npu,begin_s,end_s,use\n"));
    for (uint32_t d = 0; d < halley_result_dims(result); d++) {
        for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
            for (uint32_t k = 0; k < halley_result_bins(result); k++) {
                const double use = halley_result_heat(result, d, i, k);
                if (use == 0)
                    continue;
                row.n = 0;
                strbuf_printf(&row, "%u,%u,", d, i);
                strbuf_double(&row, k * bin);
                strbuf_add_char(&row, ',');
                strbuf_double(&row, (k + 1) * bin);
                strbuf_add_char(&row, ',');
                strbuf_double(&row, use);
                strbuf_add_char(&row, '\n');
                file_output_str(to, strbuf_str(&row));
            }
        }
    }
    strbuf_fini(&row);
}

/* The mean of the NPUs that share a row of the picture. */
static double mean_use(const halley_result *result, uint32_t d, uint32_t first,
                       uint32_t n, uint32_t bin)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += halley_result_heat(result, d, first + i, bin);
    return sum / n;
}

/* The geometry of the picture. */
typedef struct heat_frame {
    const halley_result *result;
    uint32_t n_rows, per_row; /* rows of a panel; NPUs per row */
    uint32_t row_px, width;
} heat_frame;

/* Use in six steps with round limits: 0, 1, 20, 40, 60, 80 % and above. */
enum { N_STEPS = 6 };
static const double step_edges[N_STEPS] = {0, 0.01, 0.2, 0.4, 0.6, 0.8};
static const char *const step_names[N_STEPS] = {"0", "1", "20", "40", "60", "80"};

static uint32_t find_step(double use)
{
    uint32_t step = 0;
    while (step + 1 < N_STEPS && use >= step_edges[step + 1])
        step++;
    return step;
}

/* The smallest 1, 2 or 5 times a power of ten of which at most `most` fit into `span`. */
static double find_round_tick(double span, uint32_t most)
{
    double tick = pow(10, floor(log10(span / most)));
    for (int i = 0; span / tick > most; i++)
        tick *= i % 3 == 1 ? 2.5 : 2;
    return tick;
}

static void write_style(file_output *to)
{
    static const char *const light[N_STEPS] = {"#f3f5f8", "#d3e1f1", "#a4c4e6",
                                               "#6a9fd6", "#2f71b8", "#123f78"};
    file_output_str(to,
                    STR("<style>.paper{fill:#fff}text{fill:#1b1f26}.soft{fill:#5b6472}"
                        ".axis{stroke:#5b6472}"));
    for (uint32_t i = 0; i < N_STEPS; i++)
        file_output_printf(to, ".u%u{fill:%s}", i, light[i]);
    file_output_str(to, STR("</style>\n"));
}

static void write_scale(file_output *to)
{
    file_output_printf(to, "<text x=\"%d\" y=\"18\">links busy, %% of the time</text>\n",
                       LEFT);
    for (uint32_t i = 0; i < N_STEPS; i++)
        file_output_printf(to,
                           "<rect class=\"u%u\" x=\"%u\" y=\"26\" width=\"40\" "
                           "height=\"10\"/><text class=\"soft\" x=\"%u\" "
                           "y=\"48\">%s</text>\n",
                           i, LEFT + 40 * i, LEFT + 40 * i, step_names[i]);
    file_output_printf(to, "<text class=\"soft\" x=\"%d\" y=\"48\">100</text>\n",
                       LEFT + 40 * N_STEPS);
}

/* Write a row; neighbouring bins of one step become one box. */
static void write_heat_row(file_output *to, const heat_frame *f, uint32_t d, uint32_t row,
                           uint32_t top)
{
    const uint32_t n = halley_result_ranks(f->result), first = row * f->per_row;
    const uint32_t share = n - first < f->per_row ? n - first : f->per_row;
    const uint32_t n_bins = halley_result_bins(f->result);
    for (uint32_t k = 0, next; k < n_bins; k = next) {
        const uint32_t step = find_step(mean_use(f->result, d, first, share, k));
        for (next = k + 1; next < n_bins; next++)
            if (find_step(mean_use(f->result, d, first, share, next)) != step)
                break;
        if (step > 0)
            file_output_printf(to,
                               "<rect class=\"u%u\" x=\"%u\" y=\"%u\" width=\"%u\" "
                               "height=\"%u\"/>\n",
                               step, LEFT + k * CELL, top, (next - k) * CELL, f->row_px);
    }
}

static void write_time_axis(file_output *to, const heat_frame *f, uint32_t y)
{
    const double bin = halley_result_bin_s(f->result);
    const double span = bin * halley_result_bins(f->result);
    const double tick = find_round_tick(span, f->width > 700 ? 8 : 4);
    const uint32_t n_ticks = (uint32_t)(span / tick + 1e-9);
    char text[32];
    for (uint32_t i = 0; i <= n_ticks; i++) {
        const double at = i * tick;
        const uint32_t x = LEFT + (uint32_t)(at / bin * CELL);
        units_format(text, sizeof text, at, UNITS_TIME);
        file_output_printf(to,
                           "<line class=\"axis\" x1=\"%u\" x2=\"%u\" y1=\"%u\" "
                           "y2=\"%u\"/><text class=\"soft\" x=\"%u\" y=\"%u\" "
                           "text-anchor=\"middle\">%s</text>\n",
                           x, x, y, y + 4, x, y + 17, at > 0 ? text : "0");
    }
    file_output_printf(to, "<text x=\"%d\" y=\"%u\">time</text>\n", LEFT, y + 32);
}

static void write_npu_axis(file_output *to, const heat_frame *f, uint32_t top)
{
    const uint32_t n = halley_result_ranks(f->result);
    const uint32_t most = f->n_rows * f->row_px / 16;
    const double rough = find_round_tick(n, most > 1 ? most : 1);
    const uint32_t tick = rough > 1 ? (uint32_t)rough : 1;
    for (uint32_t i = 0; i < n; i += tick)
        file_output_printf(to,
                           "<text class=\"soft\" x=\"%d\" y=\"%u\" "
                           "text-anchor=\"end\">%u</text>\n",
                           LEFT - 6, top + i / f->per_row * f->row_px + 10, i);
    file_output_printf(to, "<text x=\"4\" y=\"%u\">NPU</text>\n", top + 10);
}

static void write_field(file_output *to, const heat_frame *f, uint32_t d, uint32_t top)
{
    const halley_dim_result dim = halley_result_dim(f->result, d);
    const uint32_t height = f->n_rows * f->row_px;
    char bw[32];
    units_format(bw, sizeof bw, dim.bw_Bps, UNITS_BANDWIDTH);
    file_output_printf(to, "<text x=\"%d\" y=\"%u\">dimension %u: %s of %u, %s</text>\n",
                       LEFT, top - 8, d, dim.topology, dim.n, bw);
    file_output_printf(to,
                       "<rect class=\"u0\" x=\"%d\" y=\"%u\" width=\"%u\" "
                       "height=\"%u\"/>\n",
                       LEFT, top, halley_result_bins(f->result) * CELL, height);
    for (uint32_t row = 0; row < f->n_rows; row++)
        write_heat_row(to, f, d, row, top + row * f->row_px);
    write_npu_axis(to, f, top);
    write_time_axis(to, f, top + height);
}

static void write_svg(file_output *to, const halley_result *result)
{
    const uint32_t n = halley_result_ranks(result), n_dims = halley_result_dims(result);
    heat_frame f = {.result = result, .per_row = (n - 1) / MOST_ROWS + 1};
    f.n_rows = (n - 1) / f.per_row + 1;
    f.row_px = f.n_rows > 60 ? CELL : 240 / f.n_rows < 18 ? 240 / f.n_rows : 18;
    f.width = LEFT + halley_result_bins(result) * CELL + 40;
    f.width = f.width < LEFT + 320 ? LEFT + 320 : f.width;
    const uint32_t each = f.n_rows * f.row_px + GAP;
    file_output_printf(to,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
                       "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\" "
                       "role=\"img\">\n<title>How busy links were: a row for each NPU, "
                       "time from left to right</title>\n",
                       f.width, TOP + n_dims * each);
    write_style(to);
    file_output_str(to, STR("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"));
    write_scale(to);
    for (uint32_t d = 0; d < n_dims; d++)
        write_field(to, &f, d, TOP + d * each);
    file_output_str(to, STR("</svg>\n"));
}

halley_status report_sim_heat(const halley_result *result, const char *path,
                              halley_error *err)
{
    file_output *to;
    if (halley_result_bins(result) == 0)
        return error_set(err, HALLEY_EINVAL, "the run has not recorded its links");
    TRY(file_output_open(&to, path, err));
    if (str_ends(str_from(path), STR(".svg")))
        write_svg(to, result);
    else
        write_heat_csv(to, result);
    return file_output_commit(to, err);
}
