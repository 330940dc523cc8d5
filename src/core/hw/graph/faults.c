/* hw/graph/faults.c - reads degraded and failed links from a file and applies them. */
#include "hw/graph/faults.h"

#include "base/number/number.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* An entry of `links` while it is read. */
typedef struct raw_fault {
    const conf_node *between;
    str bandwidth;
    double latency_s;
    bool failed;
} raw_fault;

static const conf_field fault_fields[] = {
    CONF_FIELD(raw_fault, "between", CONF_TYPE_NODE, 0, between, true,
               "two devices: leaf0 - spine1, or [leaf0, spine*]"),
    CONF_FIELD(raw_fault, "bandwidth", CONF_TYPE_TEXT, 0, bandwidth, false,
               "x0.5 (times what it was), 50 %, or a rate"),
    CONF_FIELD(raw_fault, "latency", CONF_TYPE_QUANTITY, UNITS_TIME, latency_s, false,
               "latency of the link"),
    CONF_FIELD(raw_fault, "failed", CONF_TYPE_BOOL, 0, failed, false,
               "yes: the link has failed"),
};

/* "x0.5", "×0.5", "50 %" or "200 Gb/s". */
halley_status hw_fault_read_bandwidth(hw_fault *f, const conf_file *file,
                                      const conf_node *at, str text, halley_error *err)
{
    static const char times[] = "\xc3\x97"; /* the multiplication sign */
    const bool is_x = text.n > 1 && text.at[0] == 'x';
    const bool is_sign = str_starts(text, str_from(times));
    str number = text;
    if (is_x || is_sign)
        number = str_trim((str){text.at + (is_x ? 1 : 2), text.n - (is_x ? 1 : 2)});
    bool ok = (is_x || is_sign) && number_read(number, &f->factor);
    if (!ok && str_ends(text, STR("%")))
        ok = units_parse(&f->factor, text, UNITS_SHARE, NULL) == HALLEY_OK;
    if (!ok)
        ok = units_parse(&f->bw_Bps, text, UNITS_BANDWIDTH, NULL) == HALLEY_OK &&
             f->bw_Bps >= 1e3 && f->bw_Bps <= 100e12;
    if (ok && f->factor > 0 && f->factor <= 1000)
        return HALLEY_OK;
    return conf_error(
        file, at, err, HALLEY_EINVAL,
        "bandwidth must be x0.5 (times what it was), 50 %% or a rate such as "
        "200 Gb/s, is \"%.*s\"; a link that carries nothing is failed: yes",
        STR_ARG(text));
}

halley_status hw_fault_read_ends(hw_fault *f, const conf_file *file,
                                 const conf_node *node, halley_error *err)
{
    if (node->kind == CONF_SCALAR && node->text.n > 0) {
        f->text = node->text;
        return HALLEY_OK;
    }
    if (node->kind != CONF_LIST || node->n != 2 || node->items[0]->text.n == 0 ||
        node->items[1]->text.n == 0)
        return conf_error(file, node, err, HALLEY_EINVAL,
                          "between needs two devices, such as leaf0 - spine1 or [leaf0, "
                          "spine1]");
    f->a = node->items[0]->text;
    f->b = node->items[1]->text;
    return HALLEY_OK;
}

static halley_status read_link_fault(hw_fault *f, const conf_file *file,
                                     const conf_node *node, halley_error *err)
{
    raw_fault raw = {.latency_s = -1};
    if (node->kind != CONF_MAP)
        return conf_error(file, node, err, HALLEY_EINVAL,
                          "an entry of links is a map, such as {between: leaf0 - spine1, "
                          "bandwidth: x0.5}");
    TRY(conf_read(&raw, file, node, fault_fields,
                  sizeof fault_fields / sizeof *fault_fields, true, NULL, err));
    *f = (hw_fault){.factor = 1, .latency_s = raw.latency_s, .failed = raw.failed};
    TRY(hw_fault_read_ends(f, file, raw.between, err));
    if (conf_find(node, "latency") != NULL && !(raw.latency_s >= 0))
        return conf_error(file, node, err, HALLEY_EINVAL, "latency must not be negative");
    if (raw.bandwidth.n > 0)
        TRY(hw_fault_read_bandwidth(f, file, node, raw.bandwidth, err));
    else if (!raw.failed && raw.latency_s < 0)
        return conf_error(file, node, err, HALLEY_EINVAL,
                          "an entry of links needs bandwidth, latency or failed: yes");
    return HALLEY_OK;
}

halley_status hw_faults_read(const hw_fault **out, uint32_t *n, arena *memory,
                             const conf_file *file, const conf_node *links,
                             const conf_node *failed, halley_error *err)
{
    const uint32_t n_links = links != NULL ? links->n : 0;
    const uint32_t n_failed = failed != NULL && failed->kind == CONF_LIST ? failed->n
                              : failed != NULL                            ? 1
                                                                          : 0;
    *n = 0;
    if (links != NULL && links->kind != CONF_LIST)
        return conf_error(file, links, err, HALLEY_EINVAL, "links must be a list");
    hw_fault *list = arena_array(memory, (size_t)n_links + n_failed + 1, sizeof *list);
    if (list == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < n_links; i++)
        TRY(read_link_fault(&list[i], file, links->items[i], err));
    for (uint32_t i = 0; i < n_failed; i++) {
        const conf_node *node = failed->kind == CONF_LIST ? failed->items[i] : failed;
        if (node->kind != CONF_SCALAR || node->text.n == 0)
            return conf_error(file, node, err, HALLEY_EINVAL,
                              "failed is a list of devices and links, such as [spine2, "
                              "leaf0 - spine1]");
        list[n_links + i] =
            (hw_fault){.text = node->text, .failed = true, .factor = 1, .latency_s = -1};
    }
    *out = list;
    *n = n_links + n_failed;
    return HALLEY_OK;
}

/* A device, or several devices by a prefix of their names. */
typedef struct name_match {
    uint32_t device; /* HW_NONE: by prefix */
    str prefix;
} name_match;

static bool find_match(name_match *out, const hw_graph *g, str name)
{
    name = str_trim(name);
    *out = (name_match){.device = HW_NONE};
    if (name.n > 0 && name.at[name.n - 1] == '*') {
        out->prefix = (str){name.at, name.n - 1};
        return true;
    }
    out->device = hw_graph_find(g, name);
    return out->device != HW_NONE;
}

static bool is_match(const name_match *m, const hw_graph *g, uint32_t device)
{
    char name[200];
    if (m->device != HW_NONE)
        return m->device == device;
    return str_starts(str_from(hw_graph_name(g, device, name, sizeof name)), m->prefix);
}

/* Split "leaf0 - spine1". A name may contain a dash, so every dash is tried. */
static bool split_ends(name_match ends[2], const hw_graph *g, str text)
{
    for (size_t i = 1; i + 1 < text.n; i++)
        if (text.at[i] == '-' && find_match(&ends[0], g, (str){text.at, i}) &&
            find_match(&ends[1], g, (str){text.at + i + 1, text.n - i - 1}))
            return true;
    return false;
}

static halley_status refuse_name(const hw_graph *g, str name, halley_error *err)
{
    char first[200], last[200];
    return error_set(
        err, HALLEY_ENOTFOUND,
        "there is no device or link \"%.*s\" to degrade or fail; devices are "
        "%s to %s, links are written %s - %s",
        STR_ARG(name), hw_graph_name(g, 0, first, sizeof first),
        hw_graph_name(g, g->n_devices - 1, last, sizeof last), first, last);
}

static halley_status resolve_ends(name_match ends[2], bool *is_device, const hw_graph *g,
                                  const hw_fault *f, halley_error *err)
{
    *is_device = false;
    if (f->text.n == 0) {
        if (!find_match(&ends[0], g, f->a))
            return refuse_name(g, f->a, err);
        return find_match(&ends[1], g, f->b) ? HALLEY_OK : refuse_name(g, f->b, err);
    }
    if ((f->failed || f->is_device) && find_match(&ends[0], g, f->text)) {
        *is_device = true;
        return HALLEY_OK;
    }
    if (f->is_device)
        return refuse_name(g, f->text, err);
    return split_ends(ends, g, f->text) ? HALLEY_OK : refuse_name(g, f->text, err);
}

double hw_fault_rate_Bps(const hw_fault *f, double bw_Bps)
{
    if (f->failed)
        return 0;
    return f->bw_Bps > 0 ? f->bw_Bps : bw_Bps > 0 ? bw_Bps * f->factor : bw_Bps;
}

halley_status hw_fault_find_links(hw_link_array *out, const hw_graph *g,
                                  const hw_fault *f, halley_error *err)
{
    name_match ends[2] = {0};
    bool is_device;
    const size_t before = out->n;
    TRY(resolve_ends(ends, &is_device, g, f, err));
    for (uint32_t i = 0; i < g->n_links; i++) {
        const uint32_t from = g->link_from[i], to = g->link_to[i];
        const bool hit =
            is_device ? is_match(&ends[0], g, from) || is_match(&ends[0], g, to)
                      : (is_match(&ends[0], g, from) && is_match(&ends[1], g, to)) ||
                            (is_match(&ends[0], g, to) && is_match(&ends[1], g, from));
        if (hit && !array_push(out, i))
            return error_nomem(err);
    }
    if (out->n > before)
        return HALLEY_OK;
    return error_set(err, HALLEY_ENOTFOUND, "no link joins %.*s%s%.*s",
                     STR_ARG(f->text.n > 0 ? f->text : f->a),
                     f->text.n > 0 ? "" : " and ",
                     STR_ARG(f->text.n > 0 ? STR("") : f->b));
}

static halley_status apply_fault(hw_graph *g, const hw_fault *f, halley_error *err)
{
    hw_link_array links = {0};
    const halley_status status = hw_fault_find_links(&links, g, f, err);
    for (size_t i = 0; status == HALLEY_OK && i < links.n; i++) {
        const uint32_t link = links.at[i];
        g->link_Bps[link] = hw_fault_rate_Bps(f, g->link_Bps[link]);
        if (f->latency_s >= 0 && !f->failed)
            g->link_latency_s[link] = f->latency_s;
    }
    array_fini(&links);
    return status;
}

halley_status hw_faults_apply(hw_graph *g, const hw_fault *faults, uint32_t n,
                              halley_error *err)
{
    uint32_t n_failed = 0, n_slow = 0;
    for (uint32_t i = 0; i < n; i++)
        TRY(apply_fault(g, &faults[i], err));
    if (n == 0)
        return HALLEY_OK;
    for (uint32_t i = 0; i < g->n_links; i++) {
        const double nominal = g->kinds[g->link_kind[i]].bw_Bps;
        n_failed += g->link_Bps[i] == 0;
        n_slow += g->link_Bps[i] > 0 && g->link_Bps[i] < nominal;
    }
    g->bisection_Bps = 0; /* the formula holds only without faults */
    g->bisection_is_bound = false;
    const char *old = g->note;
    const char *note = arena_printf(
        &g->memory,
        "%s%s%u links (directed) have failed, %u are slower than they should be",
        old != NULL ? old : "", old != NULL ? "; " : "", n_failed, n_slow);
    if (note == NULL)
        return error_nomem(err);
    g->note = note;
    return HALLEY_OK;
}
