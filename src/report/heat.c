/*
 * report/heat.c - how busy links were over time: CSV rows, or a picture in which a row is
 * an NPU, a column a bin of time, and darker is busier; one field for every dimension.
 */
#include "base/file.h"
#include "base/str.h"
#include "base/units.h"
#include "report/sim.h"

enum { CELL = 4, LEFT = 90, TOP = 30, GAP = 50, MOST_ROWS = 512 };

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

static void write_field(file_output *to, const halley_result *result, uint32_t d,
                        uint32_t top)
{
    const uint32_t n = halley_result_ranks(result);
    const uint32_t per_row = (n - 1) / MOST_ROWS + 1;
    const halley_dim_result dim = halley_result_dim(result, d);
    char bw[32];
    units_format(bw, sizeof bw, dim.bw_Bps, UNITS_BANDWIDTH);
    file_output_printf(to, "<text x=\"4\" y=\"%u\">dimension %u: %s of %u, %s</text>\n",
                       top - 6, d, dim.topology, dim.n, bw);
    for (uint32_t first = 0, row = 0; first < n; first += per_row, row++) {
        const uint32_t share = n - first < per_row ? n - first : per_row;
        for (uint32_t k = 0; k < halley_result_bins(result); k++) {
            const double use = mean_use(result, d, first, share, k);
            const int shade = (int)(255 - 255 * (use > 1 ? 1 : use));
            if (shade == 255)
                continue;
            file_output_printf(to,
                               "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" "
                               "fill=\"rgb(%d,%d,255)\"/>\n",
                               LEFT + k * CELL, top + row * CELL, CELL, CELL, shade,
                               shade);
        }
    }
}

static void write_svg(file_output *to, const halley_result *result)
{
    const uint32_t n = halley_result_ranks(result), n_dims = halley_result_dims(result);
    const uint32_t rows = (n - 1) / ((n - 1) / MOST_ROWS + 1) + 1;
    const uint32_t width = LEFT + halley_result_bins(result) * CELL + 20;
    const uint32_t height = TOP + n_dims * (rows * CELL + GAP);
    char bin[32];
    units_format(bin, sizeof bin, halley_result_bin_s(result), UNITS_TIME);
    file_output_printf(to,
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
                       "height=\"%u\" font-family=\"sans-serif\" font-size=\"12\">\n"
                       "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                       width, height);
    for (uint32_t d = 0; d < n_dims; d++)
        write_field(to, result, d, TOP + d * (rows * CELL + GAP));
    file_output_printf(
        to,
        "<text x=\"4\" y=\"%u\">rows: NPUs from 0; columns: %s each; blue: "
        "links busy</text>\n</svg>\n",
        height - 8, bin);
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
