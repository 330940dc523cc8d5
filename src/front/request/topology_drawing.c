/* request/topology_drawing.c - boxes, lines and a path of a network as JSON. */
#include "base/error.h"
#include "base/number/number.h"
#include "request/topology.h"

#include <math.h>
#include <stdlib.h>

static void write_layers(report_json *j, const halley_topology_drawing *d)
{
    report_json_array(j, "layers");
    for (uint32_t i = 0; i < d->n_layers; i++) {
        const halley_topology_layer *row = &d->layers[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(row->name));
        report_json_u64(j, "n", row->n);
        report_json_u64(j, "per_box", row->per_box);
        report_json_u64(j, "first_box", row->first_box);
        report_json_u64(j, "n_boxes", row->n_boxes);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_boxes(report_json *j, const halley_topology_drawing *d)
{
    report_json_array(j, "boxes");
    for (uint32_t i = 0; i < d->n_boxes; i++) {
        const halley_topology_box *box = &d->boxes[i];
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(box->name));
        report_json_text(j, "kind", str_from(box->kind));
        report_json_u64(j, "layer", box->layer);
        report_json_u64(j, "n", box->n);
        report_json_u64(j, "npus", box->npus);
        if (box->rail != UINT32_MAX)
            report_json_u64(j, "rail", box->rail);
        report_json_u64(j, "x", box->x);
        report_json_u64(j, "y", box->y);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_lines(report_json *j, const halley_topology_drawing *d)
{
    report_json_array(j, "lines");
    for (uint32_t i = 0; i < d->n_lines; i++) {
        const halley_topology_line *line = &d->lines[i];
        report_json_flat_object(j, NULL);
        report_json_u64(j, "a", line->a);
        report_json_u64(j, "b", line->b);
        report_json_u64(j, "cables", line->cables);
        if (line->rail_cables > 0)
            report_json_u64(j, "on_rail", line->rail_cables);
        if (line->bw_Bps >= 0)
            report_json_double(j, "gbps", request_round_gbps(line->bw_Bps));
        if (line->one_way)
            report_json_bool(j, "one_way", true);
        report_json_end(j);
    }
    report_json_end(j);
}

static void write_path(report_json *j, const halley_topology_drawing *d)
{
    if (d->no_path[0] != '\0')
        report_json_text(j, "no_path", str_from(d->no_path));
    if (d->path == NULL)
        return;
    report_json_object(j, "path");
    report_json_array(j, "stops");
    for (uint32_t i = 0; i < d->n_path; i++) {
        report_json_flat_object(j, NULL);
        report_json_text(j, "name", str_from(d->path[i].name));
        report_json_u64(j, "device", d->path[i].device);
        report_json_u64(j, "box", d->path[i].box);
        report_json_end(j);
    }
    report_json_end(j);
    if (d->path_latency_s >= 0)
        report_json_double(j, "latency_s", d->path_latency_s);
    if (d->path_Bps >= 0)
        report_json_double(j, "gbps", request_round_gbps(d->path_Bps));
    report_json_end(j);
}

static halley_status read_npu(uint32_t *out, str word, halley_error *err)
{
    double value;
    TRY(units_parse(&value, str_trim(word), UNITS_COUNT, err));
    if (!(value >= 0 && value < UINT32_MAX) || value != floor(value))
        return error_set(err, HALLEY_EINVAL,
                         "a path is between two NPUs by number, for example 0,63");
    *out = (uint32_t)value;
    return HALLEY_OK;
}

halley_status request_topology_read_path(halley_topology_drawing_options *to,
                                         const char *text, halley_error *err)
{
    str rest = str_from(text), from, last;
    str_next(&rest, ',', &from);
    if (rest.at == NULL || !str_next(&rest, ',', &last) || rest.at != NULL)
        return error_set(err, HALLEY_EINVAL,
                         "expected two NPUs, for example 0,63; is \"%s\"", text);
    TRY(read_npu(&to->from, from, err));
    TRY(read_npu(&to->to, last, err));
    to->with_path = true;
    return HALLEY_OK;
}

void request_topology_write_drawing(report_json *j, const halley_topology_drawing *d)
{
    report_json_object(j, "drawing");
    report_json_text(j, "layout", str_from(d->layout));
    report_json_u64(j, "rails", d->n_rails);
    if (d->n_rails > 0)
        report_json_text(j, "rail_kind", str_from(d->rail_kind));
    report_json_u64(j, "inside_cables", d->inside_cables);
    report_json_u64(j, "node_cables", d->node_cables);
    write_layers(j, d);
    write_boxes(j, d);
    write_lines(j, d);
    write_path(j, d);
    report_json_end(j);
}

/* Time for `size_bytes` per NPU; negative: unknown. */
static double scale_time(double time_1gb_s, double fixed_s, double size_bytes)
{
    return time_1gb_s < 0 ? -1 : fixed_s + (time_1gb_s - fixed_s) * size_bytes / 1e9;
}

halley_status request_topology_read_sizes(double *to, const request_texts *sizes,
                                          halley_error *err)
{
    for (size_t i = 0; i < sizes->n; i++) {
        TRY(units_parse(&to[i], str_from(sizes->at[i]), UNITS_BYTES, err));
        if (!(to[i] > 0))
            return error_set(err, HALLEY_EINVAL, "a size must be positive, is %s",
                             sizes->at[i]);
    }
    return HALLEY_OK;
}

void request_topology_write_times(report_json *j, const halley_topology_report *r,
                                  const double *sizes, size_t n)
{
    report_json_array(j, "collective_times");
    for (size_t i = 0; i < n; i++) {
        const double reduce =
            scale_time(r->all_reduce_s, r->all_reduce_fixed_s, sizes[i]);
        const double all = scale_time(r->all_to_all_s, r->all_to_all_fixed_s, sizes[i]);
        report_json_flat_object(j, NULL);
        report_json_double(j, "size_bytes", sizes[i]);
        if (reduce >= 0)
            report_json_double(j, "all_reduce_s", reduce);
        if (all >= 0)
            report_json_double(j, "all_to_all_s", all);
        report_json_end(j);
    }
    report_json_end(j);
}

void request_topology_add_times(report_table *t, const halley_topology_report *r,
                                const double *sizes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char size[64], a[64], b[64], name[96], text[160];
        const double reduce =
            scale_time(r->all_reduce_s, r->all_reduce_fixed_s, sizes[i]);
        const double all = scale_time(r->all_to_all_s, r->all_to_all_fixed_s, sizes[i]);
        snprintf(name, sizeof name, "of %s",
                 units_format(size, sizeof size, sizes[i], UNITS_BYTES));
        snprintf(text, sizeof text, "all-reduce %s, all-to-all %s",
                 reduce < 0 ? "unknown" : units_format(a, sizeof a, reduce, UNITS_TIME),
                 all < 0 ? "unknown" : units_format(b, sizeof b, all, UNITS_TIME));
        report_table_words(t, str_from(name));
        report_table_words(t, str_from(text));
    }
}

void request_topology_add_path(report_table *t, const halley_topology_drawing *d)
{
    strbuf text = {0};
    char time[64];
    if (d->no_path[0] != '\0')
        strbuf_add(&text, str_from(d->no_path));
    for (uint32_t i = 0; i < d->n_path; i++)
        strbuf_printf(&text, "%s%s", i > 0 ? " - " : "", d->path[i].name);
    if (d->n_path > 0 && d->path_latency_s >= 0)
        strbuf_printf(&text, ", %s",
                      units_format(time, sizeof time, d->path_latency_s, UNITS_TIME));
    if (text.n > 0 && !text.failed) {
        report_table_words(t, STR("path"));
        report_table_words(t, (str){text.at, text.n});
    }
    strbuf_fini(&text);
}
