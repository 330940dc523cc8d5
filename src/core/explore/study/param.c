/* The table of parameters; reading, setting and getting them. */
#include "explore/study/param.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "base/number/whole.h"
#include "halley/plan_keys.h"
#include "hw/cost.h"
#include "hw/link.h"
#include "workload/plan_facts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const placements[] = {"by-class", "proportional", NULL};

#define AT(member) offsetof(explore_design, member)
#define U32(path_, member, low, high, doc_)                                              \
    {                                                                                    \
        .path = path_, .kind = PARAM_U32, .offset = AT(member), .min = (low),            \
        .max = (high), .doc = (doc_)                                                     \
    }
#define NUMBER(path_, unit_, member, low, high, doc_)                                    \
    {                                                                                    \
        .path = path_, .kind = PARAM_DOUBLE, .unit = (unit_), .offset = AT(member),      \
        .min = (low), .max = (high), .doc = (doc_)                                       \
    }
#define NAMED(path_, member, names_, doc_)                                               \
    {                                                                                    \
        .path = path_, .kind = PARAM_ENUM, .offset = AT(member), .names = (names_),      \
        .doc = (doc_)                                                                    \
    }
#define WHOLE(path_, kind_, doc_)                                                        \
    {                                                                                    \
        .path = path_, .kind = (kind_), .doc = (doc_)                                    \
    }
#define TIER(path_, unit_, member, doc_)                                                 \
    {                                                                                    \
        .path = path_, .kind = PARAM_TIER, .unit = (unit_),                              \
        .offset = offsetof(halley_tier, member), .max = 1e18, .doc = (doc_)              \
    }

static const explore_param params[] = {
    WHOLE("model", PARAM_MODEL, "a model: preset or file"),
    U32("model.layers", model.layers, 1, 100000, "layers"),
    U32("model.hidden", model.hidden, 1, 1e7, "width"),
    U32("model.heads", model.heads, 1, 1e6, "attention heads"),
    U32("model.kv-heads", model.kv_heads, 1, 1e6, "key and value heads"),
    U32("model.head-dim", model.head_dim, 1, 1e6, "width of a head"),
    U32("model.ffn", model.ffn, 1, 1e8, "width of the feed-forward layer"),
    U32("model.vocab", model.vocab, 1, 1e8, "vocabulary"),
    U32("model.seq", model.seq, 1, 1e9, "tokens in a sequence"),
    U32("model.experts", model.experts, 0, 1e6, "experts in a layer"),
    U32("model.top-k", model.top_k, 0, 1e6, "experts a token uses"),
    U32("model.expert-ffn", model.expert_ffn, 0, 1e8, "width of an expert"),
    U32("model.tables", model.tables, 0, 1e7, "embedding tables (DLRM)"),
    U32("model.table-dim", model.table_dim, 0, 1e6, "width of a table (DLRM)"),
    U32("model.lookups", model.lookups, 0, 1e6, "lookups per table and sample (DLRM)"),
    NUMBER("model.table-rows", UNITS_COUNT, model.table_rows, 0, 1e15,
           "rows of a table (DLRM)"),

    WHOLE("plan.KEY", PARAM_PLAN_KEYS, "any key of a plan"),
    NAMED("plan.placement", plan.spread, placements,
          "what is stored in expanded memory: the offloaded classes, or all "
          "proportionally"),

    WHOLE("cluster", PARAM_CLUSTER, "a cluster: preset or file, NAME or NAME:N"),
    U32("cluster.npus", n_npus, 1, 4e9, "NPUs"),
    WHOLE("cluster.npu", PARAM_NPU, "an NPU preset"),
    {.path = "cluster.npu.peak",
     .kind = PARAM_PEAK,
     .unit = UNITS_FLOPS,
     .min = 1,
     .max = 1e21,
     .doc = "peak of 16-bit matmuls; other number formats and operand bandwidth scale "
            "proportionally"},
    NUMBER("cluster.npu.on-chip", UNITS_BYTES, cluster.npu.on_chip_bytes, 0, 1e15,
           "on-chip memory"),
    U32("cluster.npu.cores", cluster.npu.n_cores, 1, 1e7,
        "cores that the tiles of a matmul are distributed over"),
    NUMBER("cluster.npu.efficiency", UNITS_SHARE, cluster.npu.gemm.efficiency, 1e-6, 1,
           "share of peak in the main loop of a matmul"),
    TIER("cluster.npu.memory.TIER.capacity", UNITS_BYTES, capacity_bytes,
         "capacity of the memory tier of that name; 0 removes it"),
    TIER("cluster.npu.memory.TIER.bandwidth", UNITS_BANDWIDTH, bandwidth_Bps,
         "bandwidth of the memory tier of that name"),
    TIER("cluster.npu.memory.TIER.latency", UNITS_TIME, latency_s,
         "latency of the memory tier of that name"),
    TIER("cluster.npu.memory.TIER.price-per-gb", UNITS_MONEY, price_usd_per_byte,
         "price of a GB beyond what the NPU or the host contains"),
    TIER("cluster.npu.memory.TIER.price-per-gbps", UNITS_MONEY, price_usd_per_Bps,
         "price of a GB/s beyond what the NPU or the host contains"),
    NUMBER("cluster.npu.power", UNITS_POWER, cluster.npu.power_w, 0, 1e9,
           "power of an NPU"),
    NUMBER("cluster.npu.price", UNITS_MONEY, cluster.npu.price_usd, 0, 1e12,
           "price of an NPU"),
    U32("cluster.nodes.npus", cluster.nodes.npus, 1, 1e6, "NPUs in a scale-up domain"),
    WHOLE("cluster.nodes.up", PARAM_UP, "link preset inside a node"),
    NUMBER("cluster.nodes.up.bandwidth", UNITS_BANDWIDTH, cluster.nodes.up.bandwidth_Bps,
           1, 1e18, "bandwidth inside a node, per NPU and direction"),
    WHOLE("cluster.network", PARAM_OUT, "fabric preset between nodes"),
    {.path = "cluster.network.bandwidth",
     .kind = PARAM_NETWORK,
     .unit = UNITS_BANDWIDTH,
     .min = 1,
     .max = 1e18,
     .doc = "bandwidth between nodes, per NPU and direction; with several levels, the "
            "smallest"},
    {.path = "cluster.network.KEY",
     .kind = PARAM_EDIT,
     .max = 1e18,
     .doc = "any key of the network in the cluster file: planes, spines, link, "
            "tiers.spine.oversubscription; whole networks by cluster.network: "
            "[{topology: ...}, ...]"},
    {.path = "cluster.nodes.nics",
     .kind = PARAM_EDIT,
     .min = 1,
     .max = 1e6,
     .doc = "network cards of a node"},
    NUMBER("cluster.host-factor", UNITS_COUNT, cluster.host_factor, 0, 1e6,
           "host time relative to the reference host"),
    {.path = "cluster.cost.node",
     .kind = PARAM_NODE_PRICE,
     .unit = UNITS_MONEY,
     .max = 1e12,
     .doc = "old: price of a domain of the file without its NPUs, as its hosts' price"},
    NUMBER("cluster.cost.host", UNITS_MONEY, cluster.cost.host_usd, 0, 1e12,
           "price of a host without its NPUs"),
    NUMBER("cluster.cost.host-power", UNITS_POWER, cluster.cost.host_w, 0, 1e9,
           "nameplate power of a host without its NPUs"),
    NUMBER("cluster.cost.rack", UNITS_MONEY, cluster.cost.rack_usd, 0, 1e12,
           "price of a rack"),
    NUMBER("cluster.cost.rack-power", UNITS_POWER, cluster.cost.rack_w, 1, 1e9,
           "power that a rack can supply"),
    NUMBER("cluster.cost.switch", UNITS_MONEY, cluster.cost.switch_usd, 0, 1e12,
           "price of a switch between hosts"),
    NUMBER("cluster.cost.nic", UNITS_MONEY, cluster.cost.nic_usd, 0, 1e12,
           "price of a network card"),
    NUMBER("cluster.cost.network-per-gbps", UNITS_MONEY,
           cluster.cost.network_usd_per_gbps, 0, 1e12,
           "price of the whole network, per Gb/s of each NPU"),
    NUMBER("cluster.cost.building-per-w", UNITS_MONEY, cluster.cost.building_usd_per_w, 0,
           1e6, "price of the building per W of nameplate power"),
    NUMBER("cluster.cost.rent", UNITS_RENT, cluster.cost.rent_usd_per_s, 0, 1e6,
           "rent of an NPU, which replaces capital"),
    NUMBER("cluster.cost.capital-rate", UNITS_SHARE, cluster.cost.capital_rate, 0, 1,
           "cost of capital per year"),
    NUMBER("cluster.cost.residual", UNITS_SHARE, cluster.cost.residual, 0, 1,
           "share of capital that is left at the end"),
    NUMBER("cluster.cost.support", UNITS_SHARE, cluster.cost.support, 0, 10,
           "support per year, as a share of capital"),
    NUMBER("cluster.cost.carbon", UNITS_COUNT, cluster.cost.carbon_g_per_kWh, 0, 1e5,
           "grams of carbon dioxide per kWh"),
    {.path = "cluster.nodes.power",
     .kind = PARAM_NODE_POWER,
     .unit = UNITS_POWER,
     .max = 1e9,
     .doc = "nameplate power of a host with its NPUs and scale-up switches"},
    NUMBER("cluster.cost.power-idle", UNITS_SHARE, cluster.cost.power_idle, 0, 1,
           "power of an idle NPU, as a share of full power"),
    NUMBER("cluster.cost.pue", UNITS_COUNT, cluster.cost.pue, 1, 100,
           "power of the building relative to the power of the machines"),
    NUMBER("cluster.cost.energy", UNITS_PRICE, cluster.cost.energy_usd_per_J, 0, 1e6,
           "price of energy"),
    NUMBER("cluster.cost.years", UNITS_COUNT, cluster.cost.years, 1e-3, 1000,
           "years over which capital is written off"),

    NUMBER("cluster.failures.npu-mtbf", UNITS_TIME, cluster.failures.npu_mtbf_s, 0, 1e15,
           "mean time between interruptions that one NPU causes; 0 means none"),
    NUMBER("cluster.failures.checkpoint", UNITS_TIME, cluster.failures.checkpoint_s, 0,
           1e9, "time to write a checkpoint"),
    NUMBER("cluster.failures.restart", UNITS_TIME, cluster.failures.restart_s, 0, 1e9,
           "time from an interruption until training continues"),

    WHOLE("stack", PARAM_STACK, "stack preset or file"),
    {.path = "stack.CONSTANT",
     .kind = PARAM_CONSTANT,
     .doc = "any constant of a stack file, in its unit"},
};
enum { N_PARAMS = sizeof params / sizeof *params, MOST_PARAMS = N_PARAMS + 64 };

/* Old paths that are still read. */
static const char *const renamed[][2] = {
    {"cluster.per-node", "cluster.nodes.npus"},
    {"cluster.up", "cluster.nodes.up"},
    {"cluster.up.bandwidth", "cluster.nodes.up.bandwidth"},
    {"cluster.out", "cluster.network"},
    {"cluster.out.bandwidth", "cluster.network.bandwidth"},
    {"cluster.cost.per-node", "cluster.cost.node"},
};

/* The parameter of a key of plans. */
static explore_param make_plan_param(const fact *f)
{
    static const param_kind kinds[] = {
        [FACT_REAL] = PARAM_DOUBLE, [FACT_U32] = PARAM_U32,   [FACT_FLAG] = PARAM_BOOL,
        [FACT_CHOICE] = PARAM_ENUM, [FACT_BITS] = PARAM_BITS, [FACT_OWN] = PARAM_ENUM};
    explore_param p = {.kind = kinds[f->kind],
                       .unit = fact_unit_kind(f->unit),
                       .offset = AT(plan) + f->at,
                       .min = f->min,
                       .max = f->kind == FACT_FLAG ? 1 : f->max,
                       .names = f->words,
                       .doc = f->doc,
                       .fact = f};
    snprintf(p.path, sizeof p.path, "plan.%.40s", f->key);
    return p;
}

/* The i-th parameter: the rows above, with those of plans in their place. */
static bool find_param(explore_param *out, size_t i)
{
    for (size_t k = 0; k < N_PARAMS; k++) {
        const fact *f =
            params[k].kind == PARAM_PLAN_KEYS ? workload_plan_facts.rows : NULL;
        for (; f != NULL && f->key != NULL; f++) {
            if (f->is_fixed || i-- > 0)
                continue;
            *out = make_plan_param(f);
            return true;
        }
        if (params[k].kind == PARAM_PLAN_KEYS || i-- > 0)
            continue;
        *out = params[k];
        return true;
    }
    return false;
}

bool halley_explore_parameter(halley_parameter *out, size_t i)
{
    explore_param p;
    if (!find_param(&p, i))
        return false;
    *out = (halley_parameter){.unit = p.unit == UNITS_COUNT ? "" : units_name(p.unit),
                              .doc = p.doc};
    memcpy(out->path, p.path, sizeof p.path);
    return true;
}

bool explore_param_is(const explore_param *a, const explore_param *b)
{
    return strcmp(a->path, b->path) == 0;
}

bool explore_param_whole(const explore_param *param)
{
    return param->kind >= PARAM_MODEL;
}

bool explore_param_scales(const explore_param *param)
{
    return param->kind == PARAM_PEAK || param->offset == AT(model.hidden) ||
           param->offset == AT(model.heads) ||
           (param->fact != NULL && param->fact->kind == FACT_OWN);
}

/* Match "cluster.npu.memory.cxl.bandwidth" with "cluster.npu.memory.TIER.bandwidth". */
static bool match_tier(explore_ref *out, const explore_param *p, str path)
{
    assert(p->path != NULL);
    const str prefix = STR("cluster.npu.memory.");
    if (p->kind != PARAM_TIER || !str_starts(path, prefix))
        return false;
    const char *last = strrchr(p->path, '.');
    if (!str_ends(path, str_from(last)) || path.n <= prefix.n + strlen(last))
        return false;
    const size_t n = path.n - prefix.n - strlen(last);
    if (n >= HALLEY_NAME)
        return false;
    memcpy(out->tier, path.at + prefix.n, n);
    out->tier[n] = '\0';
    return !strchr(out->tier, '.');
}

/* "cluster.network.tiers.spine.oversubscription", "cluster.nodes.nics". */
static bool match_edit(explore_ref *out, const explore_param *p, str path)
{
    const str prefix = STR("cluster.");
    const bool key = strcmp(p->path, "cluster.network.KEY") == 0;
    if (p->kind != PARAM_EDIT || path.n - prefix.n >= sizeof out->edit ||
        !(key ? str_starts(path, STR("cluster.network.")) && path.n > 16
              : str_eq(path, str_from(p->path))))
        return false;
    memcpy(out->edit, path.at + prefix.n, path.n - prefix.n);
    out->edit[path.n - prefix.n] = '\0';
    return true;
}

static bool match_constant(explore_ref *out, const explore_param *p, str path)
{
    assert(p->path != NULL);
    const str prefix = STR("stack.");
    char key[HALLEY_NAME];
    if (p->kind != PARAM_CONSTANT || !str_starts(path, prefix) ||
        path.n - prefix.n >= sizeof key)
        return false;
    memcpy(key, path.at + prefix.n, path.n - prefix.n);
    key[path.n - prefix.n] = '\0';
    out->constant = halley_constant_find(key);
    return out->constant < HALLEY_N_CONSTANTS;
}

static bool match_path(explore_ref *out, const explore_param *p, str path)
{
    *out = (explore_ref){.param = *p, .constant = HALLEY_N_CONSTANTS};
    const bool is_pattern =
        p->kind == PARAM_TIER || p->kind == PARAM_CONSTANT || p->kind == PARAM_EDIT;
    if (!is_pattern)
        return str_eq(path, str_from(p->path));
    return match_tier(out, p, path) || match_constant(out, p, path) ||
           match_edit(out, p, path);
}

static void find_nearest(char to[EXPLORE_PATH], str path)
{
    explore_param all[MOST_PARAMS];
    const char *names[MOST_PARAMS];
    size_t n = 0;
    for (; n < MOST_PARAMS && find_param(&all[n], n); n++)
        names[n] = all[n].path;
    const char *nearest = str_nearest(path, names, n);
    snprintf(to, EXPLORE_PATH, "%s", nearest != NULL ? nearest : "");
}

bool explore_ref_find(explore_ref *out, str path, char nearest[EXPLORE_PATH])
{
    explore_param p;
    explore_ref ref;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (str_eq(path, str_from(renamed[i][0])))
            path = str_from(renamed[i][1]);
    for (size_t i = 0; find_param(&p, i); i++)
        if (match_path(&ref, &p, path)) {
            *out = ref;
            return true;
        }
    if (nearest != NULL)
        find_nearest(nearest, path);
    return false;
}

static const halley_constant_info *constant_of(const explore_ref *ref)
{
    return halley_constant_get((halley_constant)ref->constant);
}

bool explore_number_fits(const explore_ref *ref, double number)
{
    assert(ref->param.path[0] != '\0');
    const explore_param *p = &ref->param;
    if (p->kind == PARAM_CONSTANT)
        return number >= constant_of(ref)->min && number <= constant_of(ref)->max;
    if ((p->kind == PARAM_U32 || p->kind == PARAM_BOOL) && number != floor(number))
        return false;
    return number >= p->min && number <= p->max;
}

static halley_tier *find_tier(explore_design *d, const char *name)
{
    assert(name[0] != '\0');
    for (uint32_t i = 0; i < d->cluster.npu.n_tiers; i++) {
        if (strcmp(d->cluster.npu.tiers[i].name, name) == 0)
            return &d->cluster.npu.tiers[i];
    }
    return NULL;
}

/* A tier that does not exist is added after the others, one per NPU. */
static void set_tier(explore_design *d, const explore_ref *ref, double number)
{
    assert(ref->param.kind == PARAM_TIER);
    halley_npu *npu = &d->cluster.npu;
    halley_tier *t = find_tier(d, ref->tier);
    if (!t && npu->n_tiers == HALLEY_MAX_TIERS)
        return;
    if (!t) {
        t = &npu->tiers[npu->n_tiers++];
        *t = (halley_tier){.kind = HALLEY_TIER_PER_NPU};
        memcpy(t->name, ref->tier, sizeof t->name);
    }
    const bool price = ref->param.offset == offsetof(halley_tier, price_usd_per_byte);
    const bool rate = ref->param.offset == offsetof(halley_tier, price_usd_per_Bps);
    t->price_given = t->price_given || price;
    t->rate_price_given = t->rate_price_given || rate;
    number *= price || rate ? 1e-9 : 1; /* stated per GB */
    memcpy((char *)t + ref->param.offset, &number, sizeof number);
}

static void set_peak(explore_design *d, double number)
{
    assert(number > 0);
    halley_npu *npu = &d->cluster.npu;
    double *peak = npu->peak_flops;
    const double wide = halley_npu_wide_peak(npu);
    const double factor = wide > 0 ? number / wide : 1;
    for (int i = 0; i < HALLEY_N_DTYPES; i++)
        peak[i] *= factor;
    peak[peak[HALLEY_BF16] > 0 || !(wide > 0) ? HALLEY_BF16 : HALLEY_FP16] = number;
    npu->gemm.load_Bps *= factor;
    npu->gemm_fp8.load_Bps *= factor;
    npu->gemm_fp8_cast.load_Bps *= factor;
}

/* Set a value of the cluster's file; both texts live as long as the study. */
static void set_edit(explore_design *d, const char *path, const char *text)
{
    uint32_t i = 0;
    while (i < d->n_edits && strcmp(d->edits[i].path, path) != 0)
        i++;
    assert(text != NULL);
    if (i == EXPLORE_MAX_EDITS)
        return; /* studies with more are refused */
    d->edits[i] = (hw_edit){path, text};
    d->n_edits = i < d->n_edits ? d->n_edits : i + 1;
}

static void set_whole(explore_design *d, const explore_param *p, const explore_value *v)
{
    assert(explore_param_whole(p));
    assert(v->object != NULL || v->text != NULL);
    switch (p->kind) {
    case PARAM_MODEL:
        d->model = *(const halley_model *)v->object;
        break;
    case PARAM_CLUSTER:
        d->cluster = *(const halley_cluster *)v->object;
        if (v->n_npus)
            d->n_npus = v->n_npus;
        break;
    case PARAM_NPU:
        d->cluster.npu = *(const halley_npu *)v->object;
        break;
    case PARAM_UP:
        d->cluster.nodes.up = *(const halley_link *)v->object;
        break;
    case PARAM_OUT:
        if (v->object == NULL)
            set_edit(d, "network", v->text);
        else
            d->cluster.outer[d->cluster.narrowest].fabric =
                *(const halley_fabric *)v->object;
        break;
    case PARAM_STACK:
        d->stack = *(const halley_stack *)v->object;
        break;
    default:
        break;
    }
}

/* Members read by name are bools or 32-bit enums. */
static bool is_flag(const explore_param *p)
{
    return p->kind == PARAM_BOOL || p->names == placements ||
           (p->fact != NULL && p->fact->size == sizeof(bool));
}

/* Values that followed from width and heads in the loaded model continue to follow from
 * them. */
static void follow_shape(halley_model *m, const explore_param *p, uint32_t to)
{
    const bool derived = m->heads && m->head_dim == m->hidden / m->heads;
    if (p->offset == AT(model.hidden) && m->hidden) {
        m->ffn = whole_u32((double)m->ffn * to / m->hidden);
        if (derived)
            m->head_dim = to / m->heads;
    }
    if (p->offset == AT(model.heads) && to) {
        if (derived)
            m->head_dim = m->hidden / to;
        if (m->kv_heads == m->heads)
            m->kv_heads = to;
    }
}

void explore_set(explore_design *design, const explore_ref *ref,
                 const explore_value *value)
{
    assert(ref->param.path[0] != '\0');
    const explore_param *p = &ref->param;
    char *at = (char *)design + p->offset;
    const double number = value->number;
    if (explore_param_whole(p)) {
        set_whole(design, p, value);
    } else if (p->kind == PARAM_TIER) {
        set_tier(design, ref, number);
    } else if (p->kind == PARAM_PEAK) {
        set_peak(design, number);
    } else if (p->kind == PARAM_NETWORK) {
        design->cluster.outer[design->cluster.narrowest].fabric.bandwidth_Bps = number;
    } else if (p->kind == PARAM_NODE_PRICE) {
        hw_cost_set_node(&design->cluster, number);
    } else if (p->kind == PARAM_NODE_POWER) {
        hw_power_set_host(&design->cluster, number);
    } else if (p->kind == PARAM_EDIT) {
        set_edit(design, ref->edit, value->text);
    } else if (p->kind == PARAM_CONSTANT) {
        design->stack.k[ref->constant] = number;
    } else if (p->fact != NULL && p->fact->kind == FACT_OWN) {
        fact_set(p->fact, &design->plan, str_from(p->names[whole_u32(number)]), false,
                 NULL);
    } else if (p->kind == PARAM_DOUBLE) {
        memcpy(at, &number, sizeof number);
    } else if (is_flag(p)) {
        *(bool *)at = number != 0;
        if (p->offset == AT(plan.embeddings_as_layers))
            design->plan.given |= 1ull << HALLEY_KEY_EMBEDDINGS_AS_LAYERS;
    } else {
        const uint32_t whole = whole_u32(number);
        follow_shape(&design->model, p, whole);
        memcpy(at, &whole, sizeof whole);
    }
}

/* NaN if the study does not set it, or if its value is no plain number. */
static double get_edit(const explore_design *d, const char *path)
{
    double number;
    for (uint32_t i = 0; i < d->n_edits; i++)
        if (strcmp(d->edits[i].path, path) == 0 &&
            number_read(str_from(d->edits[i].text), &number))
            return number;
    return NAN;
}

double explore_get(const explore_design *design, const explore_ref *ref)
{
    assert(ref->param.path[0] != '\0');
    const explore_param *p = &ref->param;
    const char *at = (const char *)design + p->offset;
    double number = 0;
    uint32_t whole = 0;
    if (explore_param_whole(p))
        return NAN;
    if (p->kind == PARAM_TIER) {
        const halley_npu *npu = &design->cluster.npu;
        for (uint32_t i = 0; i < npu->n_tiers; i++) {
            if (strcmp(npu->tiers[i].name, ref->tier) != 0)
                continue;
            memcpy(&number, (const char *)&npu->tiers[i] + p->offset, sizeof number);
            return p->unit == UNITS_MONEY ? number * 1e9 : number;
        }
        return NAN;
    }
    if (p->kind == PARAM_PEAK)
        return halley_npu_wide_peak(&design->cluster.npu);
    if (p->kind == PARAM_NETWORK)
        return hw_outer_fabric(&design->cluster)->bandwidth_Bps;
    if (p->kind == PARAM_CONSTANT)
        return design->stack.k[ref->constant];
    if (p->kind == PARAM_NODE_PRICE)
        return design->cluster.cost.host_usd;
    if (p->kind == PARAM_NODE_POWER)
        return design->cluster.cost.host_w;
    if (p->kind == PARAM_EDIT)
        return get_edit(design, ref->edit);
    if (p->fact != NULL)
        return fact_number(p->fact, &design->plan);
    if (p->kind == PARAM_DOUBLE) {
        memcpy(&number, at, sizeof number);
        return number;
    }
    if (is_flag(p))
        return *(const bool *)at;
    memcpy(&whole, at, sizeof whole);
    return whole;
}

static uint64_t hash_name(const char name[HALLEY_NAME], uint64_t seed)
{
    return hash_bytes(name, strnlen(name, HALLEY_NAME), seed);
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text), seed);
}

/* Hash the keys of the plan; whatever is not a number is hashed as its text. */
static uint64_t hash_plan(const halley_plan *plan, uint64_t seed)
{
    double numbers[HALLEY_N_PLAN_KEYS] = {0};
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        numbers[i] = fact_number(&workload_plan_facts.rows[i], plan);
    const uint64_t key = hash_bytes(numbers, sizeof numbers, seed);
    return hash_bytes(plan->stage_layers, plan->n_stage_layers, key);
}

uint64_t explore_design_key(const explore_design *design)
{
    assert(design->plan.tp > 0);
    const halley_cluster *p = &design->cluster;
    double canonical[N_PARAMS];
    size_t n = 0;
    for (size_t i = 0; i < N_PARAMS; i++) {
        const explore_ref ref = {.param = params[i]};
        if (!explore_param_whole(&params[i]) && params[i].kind != PARAM_TIER &&
            params[i].kind != PARAM_CONSTANT && params[i].kind != PARAM_EDIT &&
            params[i].kind != PARAM_PLAN_KEYS)
            canonical[n++] = explore_get(design, &ref);
    }
    uint64_t key =
        hash_plan(&design->plan, hash_bytes(canonical, n * sizeof *canonical, 3));
    key = hash_bytes(design->stack.k, sizeof design->stack.k, key);
    for (uint32_t i = 0; i < p->npu.n_tiers; i++) {
        const halley_tier *t = &p->npu.tiers[i];
        const double tier[] = {t->capacity_bytes, t->bandwidth_Bps, t->latency_s,
                               t->price_usd_per_byte, t->price_usd_per_Bps};
        key = hash_bytes(tier, sizeof tier, hash_name(t->name, key));
    }
    for (uint32_t i = 0; i < design->n_edits; i++)
        key = hash_text(design->edits[i].text, hash_text(design->edits[i].path, key));
    key = hash_name(design->model.name, hash_text(halley_cluster_name(p), key));
    key = hash_name(p->nodes.up.name, hash_name(p->npu.name, key));
    return hash_name(design->stack.name, hash_name(hw_outer_fabric(p)->name, key));
}
