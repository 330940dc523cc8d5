/*
 * hw/save_npu.c - writes devices, links and fabrics as text. If one equals the preset of
 * its name, only the name is written. To find out, both are written in full and the texts
 * are compared. There is thus only one place that lists the keys.
 */
#include "base/number/number.h"
#include "hw/embedded.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/save.h"
#include "hw/schema.h"

#include <string.h>

/* "key: ", with a comma before all keys but the first of a map. */
static void add_key(strbuf *b, const char *key)
{
    const bool first = b->n == 0 || b->at[b->n - 1] == '{' || b->at[b->n - 1] == '[';
    strbuf_printf(b, "%s%s: ", first ? "" : ", ", key);
}

static void save_value(strbuf *b, const char *key, double value, units_kind unit)
{
    add_key(b, key);
    units_write(b, value, unit);
}

static void add_text(strbuf *b, const char *key, const char *text)
{
    bool plain = text[0] != '\0';
    for (const char *c = text; *c != '\0'; c++)
        plain = plain && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'));
    add_key(b, key);
    if (plain)
        strbuf_add(b, str_from(text));
    else
        strbuf_json(b, str_from(text));
}

/* Write all rows of a table whose struct is `from`, except rows equal to `usual`. */
static void save_rows(strbuf *b, const hw_part *part, const void *from, const void *usual)
{
    for (size_t i = 0; i < part->n; i++) {
        const conf_field *f = &part->fields[i];
        const char *at = (const char *)from + f->offset;
        const size_t size = f->type == CONF_TYPE_BOOL ? sizeof(bool) : sizeof(double);
        double number;
        if (usual != NULL && memcmp(at, (const char *)usual + f->offset, size) == 0)
            continue;
        if (f->type == CONF_TYPE_BOOL) {
            add_key(b, f->key);
            strbuf_add(b, *(const bool *)at ? STR("yes") : STR("no"));
            continue;
        }
        memcpy(&number, at, sizeof number);
        save_value(b, f->key, number,
                   f->type == CONF_TYPE_QUANTITY ? f->unit : UNITS_COUNT);
    }
}

static void add_map(strbuf *b, const char *key, const hw_part *part, const void *from,
                    const void *usual)
{
    add_key(b, key);
    strbuf_add_char(b, '{');
    save_rows(b, part, from, usual);
    strbuf_add_char(b, '}');
}

static void add_list(strbuf *b, const char *key, const double *values, int n,
                     units_kind unit)
{
    add_key(b, key);
    strbuf_add_char(b, '[');
    for (int i = 0; i < n; i++) {
        strbuf_add(b, i > 0 ? STR(", ") : STR(""));
        units_write(b, values[i], unit);
    }
    strbuf_add_char(b, ']');
}

static void add_peaks(strbuf *b, const halley_npu *npu)
{
    bool wide = npu->peak_flops[HALLEY_BF16] == npu->peak_flops[HALLEY_FP16];
    uint32_t n = 0;
    for (int i = 0; i < HALLEY_N_DTYPES; i++) {
        n += npu->peak_flops[i] > 0;
        wide =
            wide && (i == HALLEY_BF16 || i == HALLEY_FP16 || !(npu->peak_flops[i] > 0));
    }
    if (n == 0)
        return;
    if (wide) {
        save_value(b, "peak", npu->peak_flops[HALLEY_BF16], UNITS_FLOPS);
        return;
    }
    add_key(b, "peak");
    strbuf_add_char(b, '{');
    for (int i = 0; i < HALLEY_N_DTYPES; i++)
        if (npu->peak_flops[i] > 0)
            save_value(b, halley_dtype_name((halley_dtype)i), npu->peak_flops[i],
                       UNITS_FLOPS);
    strbuf_add_char(b, '}');
}

static void save_npu_tiers(strbuf *b, const halley_npu *npu)
{
    static const char *const kinds[] = {"per-npu", "per-node", "pool", "hierarchical"};
    if (npu->n_tiers == 0)
        return;
    add_key(b, "memory");
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < npu->n_tiers; i++) {
        const halley_tier *t = &npu->tiers[i];
        strbuf_add(b, i > 0 ? STR(", {") : STR("{"));
        if (t->name[0] != '\0')
            add_text(b, "name", t->name);
        if (t->kind != HALLEY_TIER_PER_NPU)
            add_text(b, "kind", kinds[t->kind]);
        if (t->capacity_bytes > 0)
            save_value(b, "capacity", t->capacity_bytes, UNITS_BYTES);
        save_value(b, "bandwidth", t->bandwidth_Bps, UNITS_BANDWIDTH);
        if (t->latency_s > 0)
            save_value(b, "latency", t->latency_s, UNITS_TIME);
        if (t->price_given)
            save_value(b, "price-per-gb", t->price_usd_per_byte * 1e9, UNITS_MONEY);
        if (t->rate_price_given)
            save_value(b, "price-per-gbps", t->price_usd_per_Bps * 1e9, UNITS_MONEY);
        if (t->power_given)
            save_value(b, "power-per-gb", t->power_w_per_byte * 1e9, UNITS_POWER);
        if (t->included_bytes > 0 && t->included_bytes != t->capacity_bytes)
            save_value(b, "included", t->included_bytes, UNITS_BYTES);
        strbuf_add_char(b, '}');
    }
    strbuf_add_char(b, ']');
}

static void save_rates(strbuf *b, const halley_npu *npu)
{
    const halley_gemm_rates *rates[] = {&npu->gemm, &npu->gemm_fp8, &npu->gemm_fp8_cast};
    static const char *const keys[] = {"gemm", "gemm-fp8", "gemm-fp8-cast"};
    strbuf texts[3] = {{0}, {0}, {0}};
    for (int i = 0; i < 3; i++)
        save_rows(&texts[i], &hw_part_gemm, rates[i], &hw_gemm_default);
    /* Without its own map, gemm-fp8 uses that of gemm; the cast does not. */
    const bool same = str_eq(strbuf_str(&texts[0]), strbuf_str(&texts[1]));
    for (int i = 0; i < 3; i++) {
        if (i == 1 ? same : texts[i].n == 0)
            continue;
        add_key(b, keys[i]);
        strbuf_printf(b, "{%.*s}", STR_ARG(strbuf_str(&texts[i])));
    }
    for (int i = 0; i < 3; i++) {
        b->failed = b->failed || texts[i].failed;
        strbuf_fini(&texts[i]);
    }
}

static void add_attention(strbuf *b, const halley_npu *npu)
{
    add_key(b, "attention");
    strbuf_add_char(b, '{');
    add_list(b, "share", npu->attention_share, 4, UNITS_SHARE);
    save_value(b, "half-length", npu->attention_half, UNITS_COUNT);
    save_value(b, "backward", npu->attention_backward, UNITS_COUNT);
    save_value(b, "batched", npu->batched_factor, UNITS_COUNT);
    save_value(b, "old", npu->attention_old, UNITS_COUNT);
    strbuf_add_char(b, '}');
}

/* Write in full, except the values that hw_npu_make sets. */
static void print_npu(strbuf *b, const halley_npu *npu, bool cost)
{
    static const char *const types[] = {"accelerator", "gpu", "tpu"};
    static const char *const scales[] = {"none", "mx", "nv"};
    halley_npu usual;
    strbuf one = {0}, other = {0};
    hw_npu_make(&usual, 0, 0);
    strbuf_add_char(b, '{');
    if (npu->name[0] != '\0')
        add_text(b, "name", npu->name);
    if (npu->type != HALLEY_NPU_OTHER)
        add_text(b, "type", types[npu->type]);
    add_peaks(b, npu);
    if (npu->n_cores != usual.n_cores)
        save_value(b, "cores", npu->n_cores, UNITS_COUNT);
    if (npu->on_chip_bytes > 0)
        save_value(b, "on-chip", npu->on_chip_bytes, UNITS_BYTES);
    if (npu->fp8_any_order)
        add_text(b, "fp8-any-order", "yes");
    if (npu->scales != hw_npu_usual_scales(npu))
        add_text(b, "scales", scales[npu->scales]);
    save_npu_tiers(b, npu);
    save_rates(b, npu);
    if (npu->cast_launch_s != 0 || npu->cast_memory_share != 0)
        add_map(b, "cast", &hw_part_cast, npu, NULL);
    if (npu->round_to != 0)
        save_value(b, "round-to", npu->round_to, UNITS_COUNT);
    add_attention(&one, npu);
    add_attention(&other, &usual);
    if (!str_eq(strbuf_str(&one), strbuf_str(&other)))
        add_attention(b, npu);
    if (npu->memory_share != usual.memory_share)
        save_value(b, "memory-share", npu->memory_share, UNITS_SHARE);
    one.n = other.n = 0;
    save_rows(&one, &hw_part_misaligned, npu, &usual);
    if (one.n > 0)
        add_map(b, "misaligned", &hw_part_misaligned, npu, &usual);
    if (cost && npu->power_w != 0)
        save_value(b, "power", npu->power_w, UNITS_POWER);
    if (cost && npu->price_usd != 0)
        save_value(b, "price", npu->price_usd, UNITS_MONEY);
    if (npu->not_sold)
        add_text(b, "sold", "no");
    strbuf_add_char(b, '}');
    b->failed = b->failed || one.failed || other.failed;
    strbuf_fini(&one);
    strbuf_fini(&other);
}

static bool is_embedded(const char *folder, const char *name)
{
    return name[0] != '\0' && halley_preset_text(folder, name) != NULL;
}

/* True if it equals the preset of its name. */
static bool is_preset_npu(halley_npu *preset, const halley_npu *npu, bool cost)
{
    strbuf one = {0}, other = {0};
    if (!is_embedded("npus", npu->name) ||
        cluster_npu_load(preset, npu->name, NULL) != HALLEY_OK)
        return false;
    print_npu(&one, npu, cost);
    print_npu(&other, preset, cost);
    const bool same =
        !one.failed && !other.failed && str_eq(strbuf_str(&one), strbuf_str(&other));
    strbuf_fini(&one);
    strbuf_fini(&other);
    return same;
}

void hw_npu_print(strbuf *to, const halley_npu *npu, bool cost)
{
    halley_npu preset;
    if (is_preset_npu(&preset, npu, cost))
        strbuf_add(to, str_from(npu->name));
    else
        print_npu(to, npu, true);
}

void hw_npu_print_cost(strbuf *to, uint32_t *n, const halley_npu *npu)
{
    halley_npu preset;
    if (!is_preset_npu(&preset, npu, false))
        return;
    if (npu->price_usd != preset.price_usd) {
        save_value(to, "npu", npu->price_usd, UNITS_MONEY);
        (*n)++;
    }
    if (npu->power_w != preset.power_w) {
        save_value(to, "power-per-npu", npu->power_w, UNITS_POWER);
        (*n)++;
    }
}

bool hw_npu_is_described(const halley_npu *npu)
{
    halley_npu usual;
    strbuf one = {0}, other = {0};
    hw_npu_make(&usual, 0, 0);
    print_npu(&one, npu, true);
    print_npu(&other, &usual, true);
    const bool same = str_eq(strbuf_str(&one), strbuf_str(&other));
    strbuf_fini(&one);
    strbuf_fini(&other);
    return !same;
}

static void add_protocol(strbuf *b, const char *key, const halley_protocol *protocol,
                         bool always)
{
    static const halley_protocol none;
    strbuf rows = {0};
    save_rows(&rows, &hw_part_protocol, protocol, &none);
    if (rows.n > 0 || always) {
        add_key(b, key);
        strbuf_printf(b, "{%.*s}", STR_ARG(strbuf_str(&rows)));
    }
    b->failed = b->failed || rows.failed;
    strbuf_fini(&rows);
}

static void add_factors(strbuf *b, const char *key, const double factors[17])
{
    bool any = false;
    for (int i = 0; i < 17; i++) {
        if (factors[i] == 0)
            continue;
        if (!any) {
            add_key(b, key);
            strbuf_add_char(b, '[');
        }
        strbuf_printf(b, "%s{size: %d, value: ", any ? ", " : "", i);
        strbuf_double(b, factors[i]);
        strbuf_add_char(b, '}');
        any = true;
    }
    if (any)
        strbuf_add_char(b, ']');
}

static void add_tuner(strbuf *b, const halley_link *l)
{
    add_key(b, "tuner");
    strbuf_add_char(b, '{');
    save_value(b, "ring", l->tuner_ring_Bps, UNITS_BANDWIDTH);
    save_value(b, "ll", l->tuner_ll_Bps, UNITS_BANDWIDTH);
    save_value(b, "ll128", l->tuner_ll128_Bps, UNITS_BANDWIDTH);
    save_value(b, "in-switch", l->tuner_in_switch, UNITS_COUNT);
    add_list(b, "hop", l->tuner_hop_s, 3, UNITS_TIME);
    add_list(b, "base", l->tuner_base_s, 4, UNITS_TIME);
    strbuf_add_char(b, '}');
}

static void print_link(strbuf *b, const halley_link *l)
{
    strbuf_add_char(b, '{');
    add_text(b, "name", l->name);
    save_value(b, "bandwidth", l->bandwidth_Bps, UNITS_BANDWIDTH);
    save_value(b, "launch", l->launch_s, UNITS_TIME);
    add_protocol(b, "ll", &l->ll, false);
    add_protocol(b, "ll128", &l->ll128, false);
    add_protocol(b, "simple", &l->simple, true);
    add_protocol(b, "in-switch", &l->in_switch, false);
    add_protocol(b, "peer-small", &l->peer_small, false);
    add_protocol(b, "peer", &l->peer, false);
    save_value(b, "simple-overlap", l->simple_overlap, UNITS_COUNT);
    save_value(b, "integer-slowdown", l->int_slowdown, UNITS_COUNT);
    add_tuner(b, l);
    add_factors(b, "tuner-ring-factor", l->tuner_factor);
    add_factors(b, "ring-factor", l->ring_factor);
    add_factors(b, "peer-factor", l->peer_factor);
    save_value(b, "in-switch-from", l->in_switch_min, UNITS_COUNT);
    if (l->all_to_all == HALLEY_A2A_ROUND) /* `torus` is also set for plain libraries */
        strbuf_add(b, STR(", torus: yes"));
    strbuf_add_char(b, '}');
}

void hw_link_print(strbuf *to, const halley_link *link)
{
    halley_link preset;
    strbuf one = {0}, other = {0};
    bool same = false, wired = false;
    if (is_embedded("links", link->name) &&
        cluster_link_load(&preset, link->name, NULL) == HALLEY_OK) {
        wired = preset.bandwidth_Bps != link->bandwidth_Bps;
        preset.bandwidth_Bps = link->bandwidth_Bps;
        print_link(&one, link);
        print_link(&other, &preset);
        same = str_eq(strbuf_str(&one), strbuf_str(&other));
    }
    if (!same)
        print_link(to, link);
    else if (!wired)
        strbuf_add(to, str_from(link->name));
    else {
        strbuf_printf(to, "{link: %s", link->name);
        save_value(to, "bandwidth", link->bandwidth_Bps, UNITS_BANDWIDTH);
        strbuf_add_char(to, '}');
    }
    strbuf_fini(&one);
    strbuf_fini(&other);
}

static bool have_same_hops(const halley_fabric *a, const halley_fabric *b)
{
    for (size_t i = 0; i < sizeof a->hop_s / sizeof *a->hop_s; i++)
        if (!number_is_same(a->hop_s[i], b->hop_s[i]))
            return false;
    return true;
}

static bool is_preset_fabric(const halley_fabric *f)
{
    halley_fabric preset;
    return is_embedded("fabrics", f->name) &&
           cluster_fabric_load(&preset, f->name, NULL) == HALLEY_OK &&
           have_same_hops(&preset, f) && preset.share == f->share;
}

void hw_fabric_print(strbuf *to, const halley_fabric *fabric)
{
    strbuf_add_char(to, '{');
    if (is_preset_fabric(fabric)) {
        strbuf_printf(to, "fabric: %s", fabric->name);
        save_value(to, "bandwidth", fabric->bandwidth_Bps, UNITS_BANDWIDTH);
    } else {
        add_text(to, "name", fabric->name);
        save_value(to, "bandwidth", fabric->bandwidth_Bps, UNITS_BANDWIDTH);
        add_list(to, "hop", fabric->hop_s, 3, UNITS_TIME);
        save_value(to, "share", fabric->share, UNITS_SHARE);
    }
    strbuf_add_char(to, '}');
}
