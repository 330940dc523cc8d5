/* The table of parameters; reading, setting and getting them. */
#include "explore/study/param.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "base/number/whole.h"
#include "halley/plan_keys.h"
#include "hw/link.h"
#include "workload/plan_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const recomputes[] = {
    "none", "selective", "selective-op", "full", "minimal", "qkv", NULL};
static const char *const dtypes[] = {"bf16", "fp16", "fp32", "tf32",
                                     "fp8",  "fp4",  "int8", NULL};
static const char *const attentions[] = {"flash", "unfused", "old", NULL};
static const char *const kernels[] = {"fused", "eager", NULL};
static const char *const gathers[] = {"default", "step", "micro-batch", NULL};
static const char *const dispatchers[] = {"all-to-all", "deepep", "hybridep", NULL};
static const char *const graphs[] = {"none", "router", "layer", "full", NULL};
static const char *const optimizers[] = {"adam", "sgd", "adagrad", NULL};
static const char *const table_optimizers[] = {"row-wise-adagrad", "adagrad", "sgd",
                                               "adam", NULL};
static const char *const placements[] = {"by-class", "proportional", NULL};
static const char *const offloads[] = {"optimizer", "gradients", "weights", "activations",
                                       NULL};

#define AT(member) offsetof(explore_design, member)
#define U32(path_, member, low, high, doc_)                                              \
    {                                                                                    \
        .path = (path_), .kind = PARAM_U32, .offset = AT(member), .min = (low),          \
        .max = (high), .doc = (doc_)                                                     \
    }
#define NUMBER(path_, unit_, member, low, high, doc_)                                    \
    {                                                                                    \
        .path = (path_), .kind = PARAM_DOUBLE, .unit = (unit_), .offset = AT(member),    \
        .min = (low), .max = (high), .doc = (doc_)                                       \
    }
#define SWITCH(path_, member, doc_)                                                      \
    {                                                                                    \
        .path = (path_), .kind = PARAM_BOOL, .offset = AT(member), .max = 1,             \
        .doc = (doc_)                                                                    \
    }
#define NAMED(path_, member, names_, doc_)                                               \
    {                                                                                    \
        .path = (path_), .kind = PARAM_ENUM, .offset = AT(member), .names = (names_),    \
        .doc = (doc_)                                                                    \
    }
#define WHOLE(path_, kind_, doc_)                                                        \
    {                                                                                    \
        .path = (path_), .kind = (kind_), .doc = (doc_)                                  \
    }
#define TIER(path_, unit_, member, doc_)                                                 \
    {                                                                                    \
        .path = (path_), .kind = PARAM_TIER, .unit = (unit_),                            \
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

    U32("plan.tp", plan.tp, 1, 1e6, "tensor parallelism"),
    U32("plan.pp", plan.pp, 1, 1e6, "pipeline stages"),
    U32("plan.dp", plan.dp, 1, 1e8, "data parallelism"),
    U32("plan.cp", plan.cp, 1, 1e6, "context parallelism"),
    U32("plan.ep", plan.ep, 1, 1e6, "expert parallelism"),
    U32("plan.virtual", plan.virtual_stages, 1, 1e4, "chunks of layers per stage"),
    SWITCH("plan.sequence-parallel", plan.sequence_parallel,
           "sequence parallelism: split tokens between tensor-parallel blocks"),
    U32("plan.zero", plan.zero, 0, 3, "ZeRO stage"),
    U32("plan.fsdp", plan.fsdp, 0, 1e8, "ranks that shard the weights; 0 is off"),
    NAMED("plan.recompute", plan.recompute, recomputes,
          "activations that the backward pass recomputes"),
    U32("plan.recompute-every", plan.recompute_every, 1, 1e5,
        "with full recomputation: keep the input of every K-th layer"),
    U32("plan.recompute-layers", plan.recompute_layers, 0, 1e5,
        "recompute only the first N layers of a stage; 0 = all"),
    NAMED("plan.rank-order", plan.rank_order, workload_order_names,
          "order in which ranks are numbered, innermost dimension first"),
    NAMED("plan.schedule", plan.schedule, workload_schedule_names, "pipeline schedule"),
    U32("plan.micro-batch", plan.micro_batch, 1, 1e8, "sequences in a micro-batch"),
    U32("plan.global-batch", plan.global_batch, 1, 4e9, "sequences in a step"),
    U32("plan.seq", plan.seq, 1, 1e9, "tokens in a sequence, if not the model's"),
    NAMED("plan.dtype", plan.dtype, dtypes, "number format of the matmuls"),
    NAMED("plan.attention", plan.attention, attentions, "attention kernel"),
    {.path = "plan.offload",
     .kind = PARAM_OFFLOAD,
     .names = offloads,
     .doc = "classes kept in expanded memory: none, optimizer+gradients, ..."},
    NAMED("plan.placement", plan.spread, placements,
          "what is stored in expanded memory: the offloaded classes, or all "
          "proportionally"),
    SWITCH("plan.embeddings-as-layers", plan.embeddings_as_layers,
           "count the embedding and the head as one layer each when stages are cut"),
    SWITCH("plan.no-overlap", plan.no_overlap,
           "communication never overlaps with compute"),
    U32("plan.etp", plan.etp, 1, 1e6,
        "expert tensor parallelism: ranks that split each expert"),
    U32("plan.zero-group", plan.zero_group, 0, 1e8,
        "with ZeRO 1 and 2: ranks that shard one copy of the optimizer states; 0 is all"),
    NAMED("plan.gather", plan.gather, gathers,
          "how often sharded weights are gathered (fsdp)"),
    NAMED("plan.dispatcher", plan.dispatcher, dispatchers,
          "how tokens are dispatched to their experts"),
    SWITCH("plan.fp8-dispatch", plan.fp8_dispatch, "dispatch tokens to experts in fp8"),
    SWITCH("plan.overlap-ep", plan.overlap_ep,
           "overlap expert communication with the compute of another micro-batch"),
    NUMBER("plan.capacity", UNITS_COUNT, plan.capacity, 0, 100,
           "capacity factor of experts; 0 = dropless"),
    NUMBER("plan.expert-skew", UNITS_COUNT, plan.expert_skew, 0, 100,
           "load of the busiest expert rank above the mean, as a fraction"),
    NAMED("plan.optimizer", plan.optimizer, optimizers, "optimizer of the weights"),
    NAMED("plan.table-optimizer", plan.table_optimizer, table_optimizers,
          "optimizer of embedding tables"),
    NAMED("plan.graphs", plan.graphs, graphs, "what is captured in CUDA graphs"),
    NAMED("plan.kernels", plan.eager_kernels, kernels,
          "run norms and activations fused or one by one"),
    NAMED("plan.fp8-recipe", plan.recipe, workload_recipe_names,
          "what one scaling factor of fp8 covers"),
    SWITCH("plan.fp8-attention", plan.fp8_attention, "compute attention in fp8"),
    U32("plan.bf16-layers", plan.bf16_layers, 0, 1e5,
        "layers that stay in bf16, half at each end"),
    U32("plan.lora", plan.lora, 0, 1e5, "rank of LoRA adapters; 0 trains all weights"),

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
    NUMBER("cluster.cost.node", UNITS_MONEY, cluster.cost.node_usd, 0, 1e12,
           "price of a node without its NPUs"),
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
enum { N_PARAMS = sizeof params / sizeof *params };

/* Old paths that are still read. */
static const char *const renamed[][2] = {
    {"cluster.per-node", "cluster.nodes.npus"},
    {"cluster.up", "cluster.nodes.up"},
    {"cluster.up.bandwidth", "cluster.nodes.up.bandwidth"},
    {"cluster.out", "cluster.network"},
    {"cluster.out.bandwidth", "cluster.network.bandwidth"},
    {"cluster.cost.per-node", "cluster.cost.node"},
};

bool halley_explore_parameter(halley_parameter *out, size_t i)
{
    if (i >= N_PARAMS)
        return false;
    const explore_param *p = &params[i];
    const bool plain = p->unit == UNITS_COUNT;
    *out = (halley_parameter){p->path, plain ? "" : units_name(p->unit), p->doc};
    return true;
}

bool explore_param_whole(const explore_param *param)
{
    return param->kind >= PARAM_MODEL;
}

bool explore_param_scales(const explore_param *param)
{
    return param->kind == PARAM_PEAK || param->offset == AT(model.hidden) ||
           param->offset == AT(model.heads);
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

bool explore_ref_find(explore_ref *out, str path, const char **nearest)
{
    const char *names[N_PARAMS];
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (str_eq(path, str_from(renamed[i][0])))
            path = str_from(renamed[i][1]);
    for (size_t i = 0; i < N_PARAMS; i++) {
        const explore_param *p = &params[i];
        explore_ref ref = {.param = p, .constant = HALLEY_N_CONSTANTS};
        names[i] = p->path;
        if (str_eq(path, str_from(p->path)) && p->kind != PARAM_TIER &&
            p->kind != PARAM_CONSTANT && p->kind != PARAM_EDIT) {
            *out = ref;
            return true;
        }
        if (match_tier(&ref, p, path) || match_constant(&ref, p, path) ||
            match_edit(&ref, p, path)) {
            *out = ref;
            return true;
        }
    }
    if (nearest)
        *nearest = str_nearest(path, names, N_PARAMS);
    return false;
}

static const halley_constant_info *constant_of(const explore_ref *ref)
{
    return halley_constant_get((halley_constant)ref->constant);
}

bool explore_number_fits(const explore_ref *ref, double number)
{
    assert(ref->param != NULL);
    const explore_param *p = ref->param;
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
    assert(ref->param->kind == PARAM_TIER);
    halley_npu *npu = &d->cluster.npu;
    halley_tier *t = find_tier(d, ref->tier);
    if (!t && npu->n_tiers == HALLEY_MAX_TIERS)
        return;
    if (!t) {
        t = &npu->tiers[npu->n_tiers++];
        *t = (halley_tier){.kind = HALLEY_TIER_PER_NPU};
        memcpy(t->name, ref->tier, sizeof t->name);
    }
    memcpy((char *)t + ref->param->offset, &number, sizeof number);
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
    return p->kind == PARAM_BOOL || p->names == placements || p->names == kernels;
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
    assert(ref->param != NULL);
    const explore_param *p = ref->param;
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
    } else if (p->kind == PARAM_EDIT) {
        set_edit(design, ref->edit, value->text);
    } else if (p->kind == PARAM_CONSTANT) {
        design->stack.k[ref->constant] = number;
    } else if (p->kind == PARAM_OFFLOAD) {
        design->plan.offload = whole_u32(number);
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
    assert(ref->param != NULL);
    const explore_param *p = ref->param;
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
            return number;
        }
        return NAN;
    }
    if (p->kind == PARAM_PEAK)
        return halley_npu_wide_peak(&design->cluster.npu);
    if (p->kind == PARAM_NETWORK)
        return hw_outer_fabric(&design->cluster)->bandwidth_Bps;
    if (p->kind == PARAM_CONSTANT)
        return design->stack.k[ref->constant];
    if (p->kind == PARAM_EDIT)
        return get_edit(design, ref->edit);
    if (p->kind == PARAM_OFFLOAD)
        return design->plan.offload;
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

uint64_t explore_design_key(const explore_design *design)
{
    assert(design->plan.tp > 0);
    const halley_cluster *p = &design->cluster;
    double canonical[N_PARAMS];
    size_t n = 0;
    for (size_t i = 0; i < N_PARAMS; i++) {
        const explore_ref ref = {.param = &params[i]};
        if (!explore_param_whole(&params[i]) && params[i].kind != PARAM_TIER &&
            params[i].kind != PARAM_CONSTANT && params[i].kind != PARAM_EDIT)
            canonical[n++] = explore_get(design, &ref);
    }
    uint64_t key = hash_bytes(canonical, n * sizeof *canonical, 3);
    key = hash_bytes(design->stack.k, sizeof design->stack.k, key);
    for (uint32_t i = 0; i < p->npu.n_tiers; i++) {
        const halley_tier *t = &p->npu.tiers[i];
        const double tier[] = {t->capacity_bytes, t->bandwidth_Bps, t->latency_s};
        key = hash_bytes(tier, sizeof tier, hash_name(t->name, key));
    }
    for (uint32_t i = 0; i < design->n_edits; i++)
        key = hash_text(design->edits[i].text, hash_text(design->edits[i].path, key));
    key = hash_name(design->model.name, hash_text(halley_cluster_name(p), key));
    key = hash_name(p->nodes.up.name, hash_name(p->npu.name, key));
    return hash_name(design->stack.name, hash_name(hw_outer_fabric(p)->name, key));
}
