/* hw/slow.c - stragglers, by NPU or node, from files and from options. */
#include "hw/slow.h"

#include "base/array.h"
#include "base/number/number.h"
#include "base/number/units.h"

#include <math.h>
#include <stdio.h>

typedef struct npu_range {
    uint64_t first, last;
} npu_range;

/* "3" or "3-5". */
static bool read_range(npu_range *out, str text)
{
    str first, rest = text;
    if (!str_next(&rest, '-', &first) || !str_to_u64(str_trim(first), &out->first))
        return false;
    out->last = out->first;
    return first.n == text.n ||
           (str_to_u64(str_trim(rest), &out->last) && out->last >= out->first);
}

static halley_status find_npus(npu_range *out, const halley_cluster *c, str who,
                               halley_error *err)
{
    const str prefix = STR("node");
    const bool node = str_starts(who, prefix);
    const str text = node ? (str){who.at + prefix.n, who.n - prefix.n} : who;
    if (c->n_npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "slow and late NPUs need a number of NPUs: npus, or FILE:N");
    if (!read_range(out, text))
        return error_set(err, HALLEY_EINVAL,
                         "\"%.*s\" names no NPUs: use 3, 0-7, node2 or node0-3",
                         STR_ARG(who));
    if (node) {
        const uint64_t each = c->nodes.npus > 0 ? c->nodes.npus : 1;
        if (out->last > UINT32_MAX / each)
            out->last = UINT32_MAX;
        else
            out->last = out->last * each + each - 1;
        out->first *= each;
        if (out->first < c->n_npus && out->last >= c->n_npus &&
            out->last < c->n_npus + each)
            out->last = c->n_npus - 1; /* the last node is partly idle */
    }
    if (out->last < c->n_npus)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL, "\"%.*s\" is not one of the %u NPUs",
                     STR_ARG(who), c->n_npus);
}

static halley_status set_values(double **at, halley_cluster *c, str who, double value,
                                double normal, halley_error *err)
{
    npu_range r = {0};
    TRY(find_npus(&r, c, who, err));
    if (*at == NULL) {
        double *made = arena_array(&c->memory, c->n_npus, sizeof *made);
        if (made == NULL)
            return error_nomem(err);
        for (uint32_t i = 0; i < c->n_npus; i++)
            made[i] = normal;
        *at = made;
    }
    for (uint64_t i = r.first; i <= r.last; i++)
        (*at)[i] = value;
    return HALLEY_OK;
}

/*
 * Set a value for NPUs named "3", "0-7", "node2" or "node0-3". The number of NPUs of the
 * cluster must be set.
 */
static halley_status set_slow_npu(halley_cluster *c, str who, double factor,
                                  halley_error *err)
{
    if (!(factor > 0 && factor < 1e6))
        return error_set(err, HALLEY_EINVAL,
                         "slow: a factor must be positive and below 1e6, is %s",
                         number_digits(factor, 6).at);
    return set_values(&c->system.slow, c, who, factor, 1, err);
}

static halley_status set_late_npu(halley_cluster *c, str who, double seconds,
                                  halley_error *err)
{
    if (!(seconds >= 0 && seconds <= 1e6))
        return error_set(err, HALLEY_EINVAL,
                         "late: a time must not be negative, nor above 1e6 s, is %s s",
                         number_digits(seconds, 6).at);
    return set_values(&c->system.late_s, c, who, seconds, 0, err);
}

/* Report an error at its place in the file. */
static halley_status place_error(const conf_file *file, const conf_node *at,
                                 const halley_error *why, halley_status status,
                                 halley_error *err)
{
    return conf_error(file, at, err, status, "%s", why->text);
}

halley_status hw_read_slow(halley_cluster *c, const conf_file *file, const conf_node *map,
                           halley_error *err)
{
    if (map->kind != CONF_MAP)
        return conf_error(file, map, err, HALLEY_EINVAL,
                          "slow must be a map from rank to factor");
    for (uint32_t i = 0; i < map->n; i++) {
        double factor;
        halley_error why = {0};
        TRY(conf_to_double(&factor, file, map->items[i], "slow", err));
        const halley_status status = set_slow_npu(c, map->keys[i], factor, &why);
        if (status != HALLEY_OK)
            return place_error(file, map->items[i], &why, status, err);
    }
    return HALLEY_OK;
}

halley_status hw_read_late(halley_cluster *c, const conf_file *file, const conf_node *map,
                           halley_error *err)
{
    if (map->kind != CONF_MAP)
        return conf_error(file, map, err, HALLEY_EINVAL,
                          "late must be a map from rank to time");
    for (uint32_t i = 0; i < map->n; i++) {
        double seconds;
        halley_error why = {0};
        TRY(conf_to_quantity(&seconds, file, map->items[i], UNITS_TIME, "late", err));
        const halley_status status = set_late_npu(c, map->keys[i], seconds, &why);
        if (status != HALLEY_OK)
            return place_error(file, map->items[i], &why, status, err);
    }
    return HALLEY_OK;
}

/* Split "node2=1.5" in two. */
static halley_status split_setting(str *who, str *value, const char *setting,
                                   const char *option, halley_error *err)
{
    str rest = str_from(setting);
    if (str_next(&rest, '=', who) && who->n < strlen(setting) && rest.n > 0) {
        *who = str_trim(*who);
        *value = str_trim(rest);
        return HALLEY_OK;
    }
    return error_set(err, HALLEY_EINVAL, "%s: expected NPUS=VALUE, such as %s, is \"%s\"",
                     option, option[0] == 's' ? "node2=1.5" : "3=5 ms", setting);
}

halley_status halley_cluster_set_slow(halley_cluster *cluster, const char *setting,
                                      halley_error *err)
{
    str who = {0}, value = {0};
    double factor;
    TRY(split_setting(&who, &value, setting, "slow", err));
    if (!number_read(value, &factor))
        return error_set(err, HALLEY_EINVAL, "slow: \"%.*s\" is no factor",
                         STR_ARG(value));
    return set_slow_npu(cluster, who, factor, err);
}

halley_status halley_cluster_set_late(halley_cluster *cluster, const char *setting,
                                      halley_error *err)
{
    str who = {0}, value = {0};
    double seconds;
    TRY(split_setting(&who, &value, setting, "late", err));
    TRY(units_parse(&seconds, value, UNITS_TIME, err));
    if (cluster->astra)
        return error_set(err, HALLEY_EINVAL, "late needs rules: native");
    return set_late_npu(cluster, who, seconds, err);
}
