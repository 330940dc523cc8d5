/*
 * topology/import/htsim.c - fat trees of htsim (.topo): keys with integers, tier by tier
 * from the bottom.
 *
 * pods = Nodes / Podsize. A tier's downlink is the cable to the tier below; that of tier
 * 0 goes to the host. All divisions must be exact, as htsim itself requires.
 */
#include "topology/import/draft.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum htsim_key {
    HTSIM_SPEED,
    HTSIM_UP,
    HTSIM_DOWN,
    HTSIM_QUEUE_UP,
    HTSIM_QUEUE_DOWN,
    HTSIM_OVER,
    HTSIM_BUNDLE,
    HTSIM_SWITCH_NS,
    HTSIM_CABLE_NS,
    HTSIM_N_KEYS
};
static const struct htsim_key_row {
    const char *name;
    bool may_be_zero;
} key_rows[HTSIM_N_KEYS] = {
    {"Downlink_speed_Gbps", false},
    {"Radix_Up", false},
    {"Radix_Down", false},
    {"Queue_Up", true},
    {"Queue_Down", true},
    {"Oversubscribed", false},
    {"Bundle", false},
    {"Switch_Latency_ns", true},
    {"Downlink_Latency_ns", true},
};

typedef struct htsim_tier {
    bool given;
    int64_t value[HTSIM_N_KEYS]; /* -1 = not given */
} htsim_tier;

typedef struct htsim_tree {
    hw_draft *d;
    int64_t nodes, tiers, podsize;
    htsim_tier tier[3];
    int at_tier; /* -1 = before the first */
    uint32_t line;
    /* Derived values. */
    int64_t pods, tor_per_pod, agg_per_pod, core;
    uint32_t first_tor, first_agg, first_core;
} htsim_tree;

static bool is_htsim_word(str word, const char *name)
{
    return word.n == strlen(name) && strncasecmp(word.at, name, word.n) == 0;
}

static halley_status set_tier_value(htsim_tree *t, str key, int64_t value)
{
    htsim_tier *tier = &t->tier[t->at_tier];
    for (int k = 0; k < HTSIM_N_KEYS; k++) {
        if (!is_htsim_word(key, key_rows[k].name))
            continue;
        if (tier->value[k] >= 0)
            return hw_draft_fail(t->d, t->line, "duplicate-key",
                                 "%.*s is given twice for tier %d", STR_ARG(key),
                                 t->at_tier);
        if (t->at_tier == 2 && (k == HTSIM_UP || k == HTSIM_QUEUE_UP))
            return hw_draft_fail(t->d, t->line, "bad-tier",
                                 "tier 2 has no links upwards");
        if (value < 0 || value > INT32_MAX || (value == 0 && !key_rows[k].may_be_zero))
            return hw_draft_fail(
                t->d, t->line, k == HTSIM_SPEED ? "bad-rate" : "bad-number",
                "%.*s is %" PRId64 "; it must be positive", STR_ARG(key), value);
        tier->value[k] = value;
        return HALLEY_OK;
    }
    return hw_draft_fail(t->d, t->line, "unknown-key", "\"%.*s\" in tier %d",
                         STR_ARG(key), t->at_tier);
}

static halley_status set_head_value(htsim_tree *t, str key, int64_t value)
{
    if (value < 0 || value > HW_MAX_DEVICES)
        return hw_draft_fail(t->d, t->line, "bad-number",
                             "%.*s is %" PRId64 "; 1 to %d are supported", STR_ARG(key),
                             value, HW_MAX_DEVICES);
    if (is_htsim_word(key, "Nodes"))
        t->nodes = value;
    else if (is_htsim_word(key, "Tiers"))
        t->tiers = value;
    else if (is_htsim_word(key, "Podsize"))
        t->podsize = value;
    else
        return hw_draft_fail(t->d, t->line, "unknown-key",
                             "\"%.*s\" before the first Tier", STR_ARG(key));
    return HALLEY_OK;
}

static halley_status read_line(htsim_tree *t, str line)
{
    str key, word;
    int64_t value;
    if (!hw_next_word(&line, &key) || key.at[0] == '#')
        return HALLEY_OK;
    if (!hw_next_word(&line, &word))
        return hw_draft_fail(t->d, t->line, "truncated", "%.*s has no value",
                             STR_ARG(key));
    if (!str_to_i64(word, &value))
        return hw_draft_fail(t->d, t->line, "bad-number",
                             "\"%.*s\" is not a whole number", STR_ARG(word));
    if (!is_htsim_word(key, "Tier"))
        return t->at_tier < 0 ? set_head_value(t, key, value)
                              : set_tier_value(t, key, value);
    if (value < 0 || value > 2)
        return hw_draft_fail(t->d, t->line, "bad-tier",
                             "tier %" PRId64 "; 0, 1 or 2 is expected", value);
    t->at_tier = (int)value;
    t->tier[value].given = true;
    return HALLEY_OK;
}

static halley_status check_htsim_tiers(const htsim_tree *t)
{
    if (t->nodes == 0 || t->podsize == 0)
        return hw_draft_fail(t->d, 0, "missing-key",
                             "Nodes, Tiers and Podsize must come first");
    if (t->tiers != 2 && t->tiers != 3)
        return hw_draft_fail(t->d, 0, "bad-tier",
                             "Tiers is %" PRId64 "; 2 or 3 is expected", t->tiers);
    for (int i = 0; i < t->tiers; i++) {
        static const int needed[] = {HTSIM_SPEED, HTSIM_DOWN, HTSIM_CABLE_NS, HTSIM_UP};
        if (!t->tier[i].given)
            return hw_draft_fail(t->d, 0, "truncated", "tier %d is missing", i);
        for (int k = 0; k < (i < t->tiers - 1 ? 4 : 3); k++)
            if (t->tier[i].value[needed[k]] < 0)
                return hw_draft_fail(t->d, 0, "missing-key", "tier %d has no %s", i,
                                     key_rows[needed[k]].name);
    }
    return HALLEY_OK;
}

static int64_t get_value(const htsim_tree *t, int tier, enum htsim_key key)
{
    const int64_t value = t->tier[tier].value[key];
    if (value >= 0)
        return value;
    return key == HTSIM_OVER || key == HTSIM_BUNDLE ? 1 : 0;
}

/* A value that check_htsim_tiers has checked, or 1 if it is optional and absent. None may
 * be zero. */
static int64_t get_divisor(const htsim_tree *t, int tier, enum htsim_key key)
{
    const int64_t value = get_value(t, tier, key);
    assert(value > 0);
    return value;
}

static halley_status require_exact(const htsim_tree *t, bool ok, const char *what)
{
    if (ok)
        return HALLEY_OK;
    return hw_draft_fail(t->d, 0, "sizes-do-not-multiply", "%s", what);
}

static halley_status check_radices(const htsim_tree *t)
{
    TRY(require_exact(t, t->nodes % t->podsize == 0, "Nodes is no multiple of Podsize"));
    TRY(require_exact(t, get_value(t, 0, HTSIM_BUNDLE) == 1,
                      "hosts with several links (Bundle of tier 0) are not supported"));
    TRY(require_exact(t, t->podsize % get_divisor(t, 0, HTSIM_DOWN) == 0,
                      "Podsize is no multiple of Radix_Down of tier 0"));
    for (int i = 0; i < t->tiers; i++)
        TRY(require_exact(
            t, get_value(t, i, HTSIM_DOWN) % get_divisor(t, i, HTSIM_BUNDLE) == 0,
            "Radix_Down is no multiple of Bundle in one tier"));
    for (int i = 0; i < t->tiers - 1; i++)
        TRY(require_exact(
            t, get_value(t, i, HTSIM_UP) % get_divisor(t, i + 1, HTSIM_BUNDLE) == 0,
            "Radix_Up is no multiple of Bundle of the tier above"));
    return HALLEY_OK;
}

static halley_status size_core(htsim_tree *t, int64_t tor_up)
{
    const int64_t speed = get_value(t, 2, HTSIM_SPEED) * get_value(t, 1, HTSIM_OVER);
    const int64_t rate = tor_up * get_value(t, 1, HTSIM_SPEED);
    assert(speed > 0);
    TRY(require_exact(t, rate % speed == 0,
                      "speed and oversubscription of tier 1 give a fraction of an "
                      "uplink"));
    const int64_t agg_up = rate / speed;
    TRY(require_exact(t, agg_up % get_divisor(t, 2, HTSIM_DOWN) == 0,
                      "the uplinks of tier 1 do not fill the switches of tier 2"));
    t->core = agg_up / get_divisor(t, 2, HTSIM_DOWN);
    TRY(require_exact(t, t->core % t->agg_per_pod == 0,
                      "the core switches do not divide among the tier-1 switches of a "
                      "pod"));
    return require_exact(t,
                         t->core * get_value(t, 2, HTSIM_BUNDLE) / t->agg_per_pod ==
                             get_value(t, 1, HTSIM_UP),
                         "Radix_Up of tier 1 does not fit the number of core switches");
}

static halley_status size_tree(htsim_tree *t)
{
    const int64_t down0 = get_divisor(t, 0, HTSIM_DOWN);
    const int64_t up0 = get_divisor(t, 0, HTSIM_UP);
    const int64_t speed = get_value(t, 1, HTSIM_SPEED) * get_value(t, 0, HTSIM_OVER);
    const int64_t rate = t->nodes * get_value(t, 0, HTSIM_SPEED);
    TRY(check_radices(t));
    t->pods = t->nodes / t->podsize;
    t->tor_per_pod = t->podsize / down0;
    assert(speed > 0);
    TRY(require_exact(t, rate % speed == 0,
                      "speed and oversubscription of tier 0 give a fraction of an "
                      "uplink"));
    TRY(require_exact(t, down0 / up0 == get_value(t, 0, HTSIM_OVER),
                      "Radix_Down / Radix_Up of tier 0 is not Oversubscribed"));
    const int64_t tor_up = rate / speed, below = t->pods * get_value(t, 1, HTSIM_DOWN);
    TRY(require_exact(t, tor_up % below == 0 && tor_up > 0,
                      "the uplinks of tier 0 do not fill the switches of tier 1"));
    t->agg_per_pod = tor_up / below;
    TRY(require_exact(t, t->agg_per_pod * get_value(t, 1, HTSIM_BUNDLE) == up0,
                      "Radix_Up of tier 0 does not fit the tier-1 switches of a pod"));
    return t->tiers == 3 ? size_core(t, tor_up) : HALLEY_OK;
}

static halley_status add_htsim_layer(uint32_t *first, htsim_tree *t, hw_device_kind kind,
                                     const char *prefix, int64_t n)
{
    if (n > HW_MAX_DEVICES)
        return hw_draft_fail(t->d, 0, "unsupported", "the tree has too many switches");
    *first = (uint32_t)t->d->devices.n;
    for (int64_t i = 0; i < n; i++) {
        char name[32];
        const int length = snprintf(name, sizeof name, "%s%" PRId64, prefix, i);
        TRY(hw_draft_add_device(NULL, t->d, kind, (str){name, (size_t)length}, 0));
    }
    return HALLEY_OK;
}

static halley_status join_tiers(htsim_tree *t, uint32_t low, uint32_t high, int tier)
{
    const hw_draft_link link = {
        .from = low,
        .to = high,
        .bw_Bps = (double)get_value(t, tier, HTSIM_SPEED) * 1e9 / 8,
        .latency_s = (double)get_value(t, tier, HTSIM_CABLE_NS) * 1e-9,
    };
    for (int64_t i = 0; i < get_value(t, tier, HTSIM_BUNDLE); i++)
        TRY(hw_draft_add_link(t->d, &link, 0));
    return HALLEY_OK;
}

static halley_status join_core(htsim_tree *t, int64_t agg)
{
    const int64_t n = get_value(t, 1, HTSIM_UP) / get_divisor(t, 2, HTSIM_BUNDLE);
    for (int64_t i = 0; i < n; i++) {
        const int64_t core = agg % t->agg_per_pod + t->agg_per_pod * i;
        TRY(require_exact(t, core < t->core,
                          "tier 1 needs more core switches than the tree has"));
        TRY(join_tiers(t, t->first_agg + (uint32_t)agg, t->first_core + (uint32_t)core,
                       2));
    }
    return HALLEY_OK;
}

static halley_status wire_tree(htsim_tree *t)
{
    const int64_t tors = t->tor_per_pod * t->pods;
    const int64_t aggs = t->agg_per_pod * t->pods;
    uint32_t first_host;
    TRY(add_htsim_layer(&first_host, t, HW_DEVICE_NPU, "h", t->nodes));
    TRY(add_htsim_layer(&t->first_tor, t, HW_DEVICE_SWITCH, "tor", tors));
    TRY(add_htsim_layer(&t->first_agg, t, HW_DEVICE_SWITCH, "agg", aggs));
    TRY(add_htsim_layer(&t->first_core, t, HW_DEVICE_SWITCH, "core", t->core));
    for (int64_t h = 0; h < t->nodes; h++)
        TRY(join_tiers(t, (uint32_t)h,
                       t->first_tor + (uint32_t)(h / get_divisor(t, 0, HTSIM_DOWN)), 0));
    for (int64_t i = 0; i < tors; i++) {
        const int64_t pod = i / t->tor_per_pod;
        const int64_t low = t->tiers == 2 ? 0 : pod * t->agg_per_pod;
        const int64_t high = t->tiers == 2 ? aggs : (pod + 1) * t->agg_per_pod;
        for (int64_t a = low; a < high; a++)
            TRY(join_tiers(t, t->first_tor + (uint32_t)i, t->first_agg + (uint32_t)a, 1));
    }
    for (int64_t a = 0; t->tiers == 3 && a < aggs; a++)
        TRY(join_core(t, a));
    return HALLEY_OK;
}

static void warn_switch_latency(const htsim_tree *t)
{
    for (int i = 0; i < t->tiers; i++)
        if (get_value(t, i, HTSIM_SWITCH_NS) > 0)
            hw_draft_warn(t->d,
                          "Switch_Latency_ns %" PRId64 " of tier %d is not part of the "
                          "cables' latencies",
                          get_value(t, i, HTSIM_SWITCH_NS), i);
}

static halley_status read_htsim(hw_draft *d)
{
    htsim_tree t = {.d = d, .at_tier = -1};
    str rest = d->text, line;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < HTSIM_N_KEYS; k++)
            t.tier[i].value[k] = -1;
    while (rest.n > 0) {
        str_next(&rest, '\n', &line);
        t.line++;
        TRY(read_line(&t, line));
    }
    TRY(check_htsim_tiers(&t));
    TRY(size_tree(&t));
    warn_switch_latency(&t);
    return wire_tree(&t);
}

const hw_import_format hw_import_htsim = {
    .row = {.name = "htsim", .doc = "fat trees of htsim (.topo)", .read = hw_import_read},
    .read = read_htsim};
