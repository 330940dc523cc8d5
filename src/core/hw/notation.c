/* hw/notation.c - reads networks of several dimensions from one line. */
#include "hw/notation.h"

#include "base/number/units.h"
#include "hw/schema.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *word;
    cluster_topology topology;
} words[] = {{"ring", CLUSTER_RING},
             {"fc", CLUSTER_FULLY_CONNECTED},
             {"fullyconnected", CLUSTER_FULLY_CONNECTED},
             {"fully-connected", CLUSTER_FULLY_CONNECTED},
             {"sw", CLUSTER_SWITCH},
             {"switch", CLUSTER_SWITCH}};

/* Rate of a link where none is stated, as of generators. */
static const double usual_Bps = 50e9;

static bool find_topology(cluster_topology *out, str word)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) != word.n ||
            strncasecmp(words[i].word, word.at, word.n) != 0)
            continue;
        *out = words[i].topology;
        return true;
    }
    return false;
}

static size_t find_open(str text)
{
    size_t i = 0;
    while (i < text.n && text.at[i] != '(')
        i++;
    return i;
}

bool hw_notation_is(str text)
{
    cluster_topology topology;
    const str word = {text.at, find_open(text)};
    return word.n < text.n && find_topology(&topology, word);
}

/* "Ring(4)" */
static halley_status read_notation_dim(cluster_dim *to, str text, str all,
                                       halley_error *err)
{
    uint64_t n;
    const size_t open = find_open(text);
    const bool is_closed = open + 2 < text.n && text.at[text.n - 1] == ')';
    if (!is_closed || !find_topology(&to->topology, (str){text.at, open}) ||
        !str_to_u64((str){text.at + open + 1, text.n - open - 2}, &n) || n == 0 ||
        n > CLUSTER_MAX_NPUS)
        return error_set(err, HALLEY_EINVAL,
                         "network \"%.*s\": \"%.*s\" is no dimension; expected Ring, FC "
                         "or SW with its size, for example Ring(4)_FC(2)_SW(8)",
                         STR_ARG(all), STR_ARG(text));
    to->n = (uint32_t)n;
    return HALLEY_OK;
}

/* Read "250_200_50 GB/s": one value for each dimension, or one for all. */
static halley_status read_notation_values(double *to, uint32_t n, str text,
                                          units_kind unit, str all, halley_error *err)
{
    size_t end = 0;
    while (end < text.n && (isdigit((unsigned char)text.at[end]) || text.at[end] == '_' ||
                            text.at[end] == '.'))
        end++;
    str values = {text.at, end}, value;
    const str of = str_trim((str){text.at + end, text.n - end});
    uint32_t k = 0;
    while (str_next(&values, '_', &value)) {
        char one[64];
        snprintf(one, sizeof one, "%.*s %.*s", STR_ARG(value), STR_ARG(of));
        if (k == n)
            return error_set(err, HALLEY_EINVAL,
                             "network \"%.*s\": more values than its %u dimensions",
                             STR_ARG(all), n);
        halley_error why = {0};
        if (units_parse(&to[k++], str_from(one), unit, &why) != HALLEY_OK ||
            !(to[k - 1] >= 0))
            return error_set(err, HALLEY_EINVAL,
                             "network \"%.*s\": \"%s\" is no %s; expected for example %s",
                             STR_ARG(all), one, unit == UNITS_TIME ? "latency" : "rate",
                             unit == UNITS_TIME ? "@500_700 ns" : "@250_50 GB/s");
    }
    for (uint32_t d = 1; k == 1 && d < n; d++)
        to[d] = to[0];
    if (k != n && k != 1)
        return error_set(err, HALLEY_EINVAL,
                         "network \"%.*s\": %u values for %u dimensions; state one for "
                         "each, or one for all",
                         STR_ARG(all), k, n);
    return HALLEY_OK;
}

static double count_links(const cluster_dim *dim)
{
    if (dim->n < 2 || dim->topology == CLUSTER_SWITCH)
        return 1;
    return dim->topology == CLUSTER_RING ? (dim->n > 2 ? 2 : 1) : dim->n - 1;
}

/* Remove "/link" or "/npu" from the end. */
static bool take_suffix(str *text, const char *suffix)
{
    const size_t n = strlen(suffix);
    if (text->n < n || strncasecmp(text->at + text->n - n, suffix, n) != 0)
        return false;
    *text = str_trim((str){text->at, text->n - n});
    return true;
}

static halley_status read_notation_rates(halley_cluster *c, str text, str all,
                                         halley_error *err)
{
    double Bps[CLUSTER_MAX_DIMS];
    str rest = str_trim(text);
    const bool of_link = take_suffix(&rest, "/link");
    if (!of_link)
        (void)take_suffix(&rest, "/npu");
    TRY(read_notation_values(Bps, c->n_dims, rest, UNITS_BANDWIDTH, all, err));
    for (uint32_t d = 0; d < c->n_dims; d++) {
        c->dims[d].bw_Bps = of_link ? Bps[d] : Bps[d] / count_links(&c->dims[d]);
        if (!(c->dims[d].bw_Bps >= 1e3) || c->dims[d].bw_Bps > 100e12)
            return error_set(err, HALLEY_EINVAL,
                             "network \"%.*s\": rates are from 1 kB/s to 100 TB/s",
                             STR_ARG(all));
    }
    if (!of_link)
        hw_note(c,
                "rates of the network are those of an NPU in each dimension; write "
                "%.*s/link for those of a link",
                STR_ARG(rest));
    return HALLEY_OK;
}

static halley_status read_notation_sizes(halley_cluster *c, str dims, str all,
                                         halley_error *err)
{
    uint64_t total = 1;
    str dim;
    c->n_dims = 0;
    while (str_next(&dims, '_', &dim)) {
        if (c->n_dims == CLUSTER_MAX_DIMS)
            return error_set(err, HALLEY_ELIMIT, "a network has up to %d dimensions",
                             CLUSTER_MAX_DIMS);
        cluster_dim *to = &c->dims[c->n_dims++];
        *to = (cluster_dim){.name = "", .bw_Bps = usual_Bps};
        TRY(read_notation_dim(to, str_trim(dim), all, err));
        total *= to->n;
        if (total > CLUSTER_MAX_NPUS)
            return error_set(err, HALLEY_ELIMIT, "more than %d NPUs are not handled",
                             CLUSTER_MAX_NPUS);
    }
    c->n_npus = (uint32_t)total;
    return HALLEY_OK;
}

halley_status hw_notation_read(halley_cluster *c, str text, halley_error *err)
{
    str rest = text, dims, rates, latencies;
    double latency_s[CLUSTER_MAX_DIMS];
    assert(hw_notation_is(text));
    (void)str_next(&rest, '@', &dims);
    TRY(read_notation_sizes(c, str_trim(dims), text, err));
    if (!str_next(&rest, '@', &rates)) {
        hw_note(c, "the network states no rates: 50 GB/s per link and no latency are "
                   "assumed");
        return HALLEY_OK;
    }
    TRY(read_notation_rates(c, rates, text, err));
    if (!str_next(&rest, '@', &latencies))
        return HALLEY_OK;
    TRY(read_notation_values(latency_s, c->n_dims, str_trim(latencies), UNITS_TIME, text,
                             err));
    for (uint32_t d = 0; d < c->n_dims; d++)
        c->dims[d].latency_ns = hw_ns_from(latency_s[d]);
    return rest.n == 0 ? HALLEY_OK
                       : error_set(err, HALLEY_EINVAL,
                                   "network \"%.*s\": expected sizes@rates@latencies",
                                   STR_ARG(text));
}
