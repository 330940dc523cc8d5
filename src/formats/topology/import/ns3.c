/*
 * topology/import/ns3.c - the topology text of ASTRA-sim's and SimAI's ns-3 back end.
 *
 *     ASTRA-sim: NODES SWITCHES LINKS
 *     SimAI:     NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS [GPU_TYPE]
 *     switch ids, then "from to RATE DELAY ERROR_RATE" per cable
 *
 * Words are separated by white space. A public fork adds comments, a block of regions, a
 * word for the kind of link, and another rate for the reverse direction ("@RATE/DELAY").
 */
#include "base/number/number.h"
#include "topology/import/draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_LINK = 10 /* minimum bytes of a link: checked before allocating */ };

typedef struct ns3_reader {
    hw_draft *d;
    str rest;      /* after the current line */
    str words;     /* rest of the current line */
    uint32_t line; /* of the current line */
    uint32_t nodes, gpus_per_server, nvswitches, switches, links;
    uint32_t n_lossy;
    uint8_t *is_switch; /* by id */
    /* The last words read and their values: most links are equal. */
    str rate_word, delay_word;
    double rate_Bps, delay_s;
} ns3_reader;

/* The number of the last line, for errors at the end of the file. */
static uint32_t count_lines(str text)
{
    uint32_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.at[i] == '\n';
    return n;
}

static bool next_ns3_line(ns3_reader *r)
{
    if (r->rest.n == 0)
        return false;
    str line;
    str_next(&r->rest, '\n', &line);
    r->line++;
    r->words = line;
    return true;
}

static halley_status check_regions(ns3_reader *r)
{
    str word;
    uint64_t number;
    uint32_t n = 0;
    if (!next_ns3_line(r))
        return hw_draft_fail(r->d, r->line, "bad-line", "#REGIONS needs a line of pairs");
    while (hw_next_word(&r->words, &word)) {
        if (!str_to_u64(word, &number))
            return hw_draft_fail(r->d, r->line, "bad-line",
                                 "#REGIONS needs pairs of node and region, not \"%.*s\"",
                                 STR_ARG(word));
        if (n++ % 2 == 0 && number >= r->nodes)
            return hw_draft_fail(r->d, r->line, "dangling-id",
                                 "#REGIONS names node %" PRIu64, number);
    }
    if (n % 2 != 0)
        return hw_draft_fail(r->d, r->line, "bad-line",
                             "#REGIONS needs pairs of node and region");
    return HALLEY_OK;
}

/* The next word of the file; *found is false at its end. */
static halley_status next_ns3_word(ns3_reader *r, str *word, bool *found)
{
    while (!(*found = hw_next_word(&r->words, word))) {
        if (!next_ns3_line(r))
            return HALLEY_OK;
        const str line = str_trim(r->words);
        if (r->line > 2 && line.n > 0 && line.at[0] == '#') {
            r->words = (str){"", 0};
            if (str_starts(line, STR("#REGIONS")))
                TRY(check_regions(r));
        }
    }
    return HALLEY_OK;
}

static halley_status read_ns3_id(uint32_t *out, ns3_reader *r, str word)
{
    uint64_t number;
    if (!str_to_u64(word, &number) || number > UINT32_MAX)
        return hw_draft_fail(r->d, r->line, "bad-number",
                             "\"%.*s\" is not a count or an id", STR_ARG(word));
    *out = (uint32_t)number;
    return HALLEY_OK;
}

static halley_status read_header(ns3_reader *r)
{
    str words[7];
    uint32_t n = 0, numbers[5] = {0};
    next_ns3_line(r);
    while (n < 7 && hw_next_word(&r->words, &words[n]))
        n++;
    if (n != 3 && n != 5 && n != 6)
        return hw_draft_fail(r->d, 1, "bad-header",
                             "line 1 has %s%u words; 3 (ASTRA-sim) or 5 to 6 (SimAI) are "
                             "expected",
                             n == 7 ? "at least " : "", n);
    for (uint32_t i = 0; i < n && i < 5; i++)
        TRY(read_ns3_id(&numbers[i], r, words[i]));
    r->nodes = numbers[0];
    r->gpus_per_server = n == 3 ? 0 : numbers[1];
    r->nvswitches = n == 3 ? 0 : numbers[2];
    r->switches = n == 3 ? numbers[1] : numbers[3];
    r->links = n == 3 ? numbers[2] : numbers[4];
    if ((uint64_t)r->nvswitches + r->switches > r->nodes)
        return hw_draft_fail(r->d, 1, "bad-header",
                             "the file announces more switches than its %u nodes",
                             r->nodes);
    if (r->nodes > hw_draft_limit(r->d) || r->links > HW_MAX_LINKS / 2)
        return hw_draft_fail(r->d, 1, "bad-header",
                             "at most %u nodes and %d links are supported",
                             hw_draft_limit(r->d), HW_MAX_LINKS / 2);
    if (r->nodes > r->d->text.n)
        return hw_draft_fail(r->d, count_lines(r->d->text), "truncated",
                             "a file of %zu bytes cannot join %u nodes", r->d->text.n,
                             r->nodes);
    return HALLEY_OK;
}

static halley_status read_ns3_switches(ns3_reader *r)
{
    const uint32_t n = r->nvswitches + r->switches;
    for (uint32_t i = 0; i < n; i++) {
        str word;
        bool found;
        uint32_t id = 0;
        TRY(next_ns3_word(r, &word, &found));
        if (!found)
            return hw_draft_fail(r->d, count_lines(r->d->text), "truncated",
                                 "the list of switches ends after %u of %u", i, n);
        TRY(read_ns3_id(&id, r, word));
        if (id >= r->nodes)
            return hw_draft_fail(r->d, r->line, "dangling-id",
                                 "switch %u: the file has nodes 0 to %u", id,
                                 r->nodes - 1);
        if (r->is_switch[id] != 0)
            return hw_draft_fail(r->d, r->line, "duplicate-id",
                                 "switch %u is listed twice", id);
        r->is_switch[id] = 1;
    }
    return HALLEY_OK;
}

static halley_status add_ns3_nodes(ns3_reader *r)
{
    uint32_t n_npus = 0;
    for (uint32_t i = 0; i < r->nodes; i++) {
        char name[16];
        const int n = snprintf(name, sizeof name, "%u", i);
        TRY(hw_draft_add_device(NULL, r->d,
                                r->is_switch[i] ? HW_DEVICE_SWITCH : HW_DEVICE_NPU,
                                (str){name, (size_t)n}, 0));
        if (r->is_switch[i] == 0 && r->gpus_per_server > 0)
            r->d->devices.at[i].node = n_npus++ / r->gpus_per_server;
    }
    return HALLEY_OK;
}

static halley_status read_rate_word(double *out, ns3_reader *r, str word)
{
    *out = r->rate_Bps;
    if (str_eq(word, r->rate_word))
        return HALLEY_OK;
    if (!hw_read_rate(word, out))
        return hw_draft_fail(r->d, r->line, "bad-rate",
                             "\"%.*s\" is not a data rate such as 400Gbps",
                             STR_ARG(word));
    if (!(*out > 0))
        return hw_draft_fail(r->d, r->line, "bad-rate",
                             "the rate \"%.*s\" is not positive", STR_ARG(word));
    r->rate_word = word;
    r->rate_Bps = *out;
    return HALLEY_OK;
}

static halley_status read_delay_word(double *out, ns3_reader *r, str word)
{
    *out = r->delay_s;
    if (str_eq(word, r->delay_word))
        return HALLEY_OK;
    if (!hw_read_delay(word, out))
        return hw_draft_fail(r->d, r->line, "bad-delay",
                             "\"%.*s\" is not a time such as 500ns", STR_ARG(word));
    if (!(*out >= 0))
        return hw_draft_fail(r->d, r->line, "bad-delay", "the delay \"%.*s\" is negative",
                             STR_ARG(word));
    r->delay_word = word;
    r->delay_s = *out;
    return HALLEY_OK;
}

static halley_status read_ends(hw_draft_link *link, ns3_reader *r, const str *words)
{
    uint32_t ends[2] = {0};
    for (int i = 0; i < 2; i++) {
        TRY(read_ns3_id(&ends[i], r, words[i]));
        if (ends[i] >= r->nodes)
            return hw_draft_fail(r->d, r->line, "dangling-link",
                                 "a link leads to node %u: the file has nodes 0 to %u",
                                 ends[i], r->nodes - 1);
    }
    if (ends[0] == ends[1])
        return hw_draft_fail(r->d, r->line, "self-loop", "a link leads from %u to itself",
                             ends[0]);
    link->from = ends[0];
    link->to = ends[1];
    return HALLEY_OK;
}

static halley_status read_loss(ns3_reader *r, str word)
{
    double loss;
    if (str_eq(word, STR("0")))
        return HALLEY_OK;
    if (!number_read(word, &loss))
        return hw_draft_fail(r->d, r->line, "bad-error-rate",
                             "\"%.*s\" is not an error rate", STR_ARG(word));
    if (!(loss >= 0 && loss < 1))
        return hw_draft_fail(r->d, r->line, "bad-error-rate",
                             "the error rate %.*s is outside [0, 1)", STR_ARG(word));
    r->n_lossy += loss > 0;
    return HALLEY_OK;
}

/* The rest of a link's line: the kind of link, and the reverse direction. */
static halley_status read_extra(ns3_reader *r, str *back)
{
    static const char *const kinds[] = {"intra", "inter_leaf", "inter_spine", "wan"};
    str word;
    while (hw_next_word(&r->words, &word)) {
        bool known = word.at[0] == '@' && memchr(word.at, '/', word.n) != NULL;
        if (known)
            *back = (str){word.at + 1, word.n - 1};
        for (size_t i = 0; i < 4; i++)
            known |= str_eq(word, str_from(kinds[i]));
        if (!known)
            return hw_draft_fail(r->d, r->line, "bad-line",
                                 "\"%.*s\" follows after a link", STR_ARG(word));
    }
    return HALLEY_OK;
}

/* "400Gbps/2ms", or "400Gb/s/2ms": the delay is after the last slash. */
static halley_status read_back(hw_draft_link *link, ns3_reader *r, str back)
{
    const char *slash = memrchr(back.at, '/', back.n);
    const size_t n = (size_t)(slash - back.at);
    TRY(read_rate_word(&link->bw_Bps, r, (str){back.at, n}));
    return read_delay_word(&link->latency_s, r, (str){slash + 1, back.n - n - 1});
}

static halley_status read_ns3_link(ns3_reader *r, uint32_t i)
{
    str words[5], back = {0};
    hw_draft_link link = {0};
    bool found;
    TRY(next_ns3_word(r, &words[0], &found));
    const uint32_t line = r->line;
    uint32_t n = found;
    while (n > 0 && n < 5 && hw_next_word(&r->words, &words[n]))
        n++;
    if (n < 5 && str_trim(r->rest).n == 0)
        return hw_draft_fail(r->d, count_lines(r->d->text), "truncated",
                             "the file ends after %u of %u links", i, r->links);
    if (n < 5)
        return hw_draft_fail(r->d, line, "truncated",
                             "a link has five words: from to rate delay error-rate");
    TRY(read_ends(&link, r, words));
    TRY(read_loss(r, words[4]));
    TRY(read_extra(r, &back));
    TRY(read_rate_word(&link.bw_Bps, r, words[2]));
    TRY(read_delay_word(&link.latency_s, r, words[3]));
    hw_draft_link other = link;
    if (back.n > 0)
        TRY(read_back(&other, r, back));
    link.one_way = other.bw_Bps != link.bw_Bps || other.latency_s != link.latency_s;
    TRY(hw_draft_add_link(r->d, &link, line));
    if (!link.one_way)
        return HALLEY_OK;
    other.from = link.to;
    other.to = link.from;
    other.one_way = true;
    return hw_draft_add_link(r->d, &other, line);
}

static halley_status read_ns3_parts(ns3_reader *r)
{
    str word;
    bool found;
    uint32_t n_after = 0;
    TRY(read_header(r));
    r->is_switch = mem_array_zero(r->nodes, 1);
    if (r->is_switch == NULL)
        return error_nomem(r->d->err);
    TRY(read_ns3_switches(r));
    TRY(add_ns3_nodes(r));
    const size_t at_most = r->d->text.n / LEAST_LINK;
    if (!array_reserve(&r->d->links, r->links < at_most ? r->links : at_most))
        return error_nomem(r->d->err);
    for (uint32_t i = 0; i < r->links; i++)
        TRY(read_ns3_link(r, i));
    for (;;) {
        TRY(next_ns3_word(r, &word, &found));
        if (!found)
            break;
        n_after++;
    }
    if (n_after > 0)
        hw_draft_warn(r->d, "text after the last link is ignored (%u words)", n_after);
    if (r->n_lossy > 0)
        hw_draft_warn(r->d,
                      "%u links lose packets; exact flow sharing does not model loss",
                      r->n_lossy);
    return HALLEY_OK;
}

static halley_status read_ns3(hw_draft *d)
{
    ns3_reader r = {.d = d, .rest = d->text};
    const halley_status status = read_ns3_parts(&r);
    free(r.is_switch);
    return status;
}

const hw_import_format hw_import_ns3 = {
    .row = {.name = "ns3",
            .doc = "text of ASTRA-sim's and SimAI's ns-3 back end",
            .read = hw_import_read},
    .read = read_ns3};
