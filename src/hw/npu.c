/* NPU files: peaks per type, memory tiers, rates of kernels. One table per map. */
#include "hw/npu.h"

#include "hw/embedded.h"

#include <string.h>
#include <strings.h>

static const char *const dtype_names[HALLEY_N_DTYPES] = {
    [HALLEY_BF16] = "bf16", [HALLEY_FP16] = "fp16", [HALLEY_FP32] = "fp32",
    [HALLEY_TF32] = "tf32", [HALLEY_FP8] = "fp8",   [HALLEY_FP4] = "fp4"};

const char *halley_dtype_name(halley_dtype dtype)
{
    return (unsigned)dtype < HALLEY_N_DTYPES ? dtype_names[dtype] : "?";
}

bool halley_dtype_find(halley_dtype *out, const char *name)
{
    for (unsigned i = 0; i < HALLEY_N_DTYPES; i++) {
        if (strcasecmp(dtype_names[i], name) == 0) {
            *out = (halley_dtype)i;
            return true;
        }
    }
    return false;
}

halley_status cluster_name_copy(char to[HALLEY_NAME], str name, halley_error *err)
{
    if (name.n >= HALLEY_NAME)
        return error_set(err, HALLEY_ELIMIT,
                         "the name \"%.*s\" is longer than %d letters", STR_ARG(name),
                         HALLEY_NAME - 1);
    memcpy(to, name.at, name.n);
    to[name.n] = '\0';
    return HALLEY_OK;
}

halley_status cluster_list_read(double *out, size_t max, size_t *n, const conf_file *file,
                                const conf_node *list, units_kind unit, const char *key,
                                halley_error *err)
{
    if (!list)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n > max)
        return conf_error(file, list, err, HALLEY_EFORMAT,
                          "%s must be a list of at most %zu numbers", key, max);
    for (uint32_t i = 0; i < list->n; i++)
        TRY(conf_to_quantity(&out[i], file, list->items[i], unit, key, err));
    if (n)
        *n = list->n;
    return HALLEY_OK;
}

#define RATE(key, type, unit, member, doc)                                               \
    CONF_FIELD(halley_gemm_rates, key, type, unit, member, false, doc)
static const conf_field rate_fields[] = {
    RATE("launch", CONF_TYPE_QUANTITY, UNITS_TIME, launch_s, "fixed time of a kernel"),
    RATE("efficiency", CONF_TYPE_QUANTITY, UNITS_SHARE, efficiency,
         "main loop, share of peak"),
    RATE("fill", CONF_TYPE_QUANTITY, UNITS_TIME, fill_s, "start and drain of a wave"),
    RATE("memory-share", CONF_TYPE_QUANTITY, UNITS_SHARE, memory_share,
         "share of the memory bandwidth"),
    RATE("load", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, load_Bps,
         "operands into one core; 0 = no limit"),
    RATE("quantisation", CONF_TYPE_QUANTITY, UNITS_SHARE, quantisation,
         "1: tiles and waves round up"),
    RATE("serial-share", CONF_TYPE_QUANTITY, UNITS_SHARE, serial_share,
         "of the shorter of compute and memory that shows"),
    RATE("split", CONF_TYPE_QUANTITY, UNITS_TIME, split_s, "cost of splitting k"),
    RATE("throttle", CONF_TYPE_QUANTITY, UNITS_SHARE, throttle,
         "slow-down under sustained load"),
    RATE("throttle-time", CONF_TYPE_QUANTITY, UNITS_TIME, throttle_s,
         "burst at which half of it shows"),
    RATE("sustained", CONF_TYPE_QUANTITY, UNITS_SHARE, sustained,
         "efficiency in training; 0 = as throttled"),
    RATE("splits", CONF_TYPE_BOOL, UNITS_COUNT, splits, "the library splits k"),
};

static halley_status read_rates(halley_gemm_rates *out, const conf_file *file,
                                const conf_node *map, halley_error *err)
{
    *out = (halley_gemm_rates){.efficiency = 0.8,
                               .memory_share = 0.93,
                               .serial_share = 0.45,
                               .throttle = 0.2,
                               .throttle_s = 2e-3,
                               .launch_s = 2.3e-6};
    if (!map)
        return HALLEY_OK;
    return conf_read(out, file, map, rate_fields,
                     sizeof rate_fields / sizeof *rate_fields, true, NULL, err);
}

static halley_status read_peaks(halley_npu *out, const conf_file *file,
                                const conf_node *map, halley_error *err)
{
    if (map->kind == CONF_SCALAR) { /* one peak for all 16-bit work */
        TRY(conf_to_quantity(&out->peak_flops[HALLEY_BF16], file, map, UNITS_FLOPS,
                             "peak", err));
        out->peak_flops[HALLEY_FP16] = out->peak_flops[HALLEY_BF16];
        return HALLEY_OK;
    }
    for (uint32_t i = 0; i < map->n; i++) {
        char name[16];
        halley_dtype type;
        const str key = map->keys[i];
        if (key.n >= sizeof name)
            return conf_error(file, map->items[i], err, HALLEY_EFORMAT, "no such type");
        memcpy(name, key.at, key.n);
        name[key.n] = '\0';
        if (!halley_dtype_find(&type, name))
            return conf_error(
                file, map->items[i], err, HALLEY_EFORMAT,
                "no type \"%s\": bf16, fp16, fp32, tf32, fp8 and fp4 are known", name);
        TRY(conf_to_quantity(&out->peak_flops[type], file, map->items[i], UNITS_FLOPS,
                             name, err));
        if (!(out->peak_flops[type] > 0))
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "peak of %s must be positive", name);
    }
    return HALLEY_OK;
}

static const char *const tier_kinds[] = {"per-npu", "per-node", "pool", "hierarchical",
                                         NULL};
typedef struct tier_text {
    str name;
    uint32_t kind;
    double capacity_bytes, bandwidth_Bps, latency_s;
} tier_text;
#define TIER(key, type, unit, member, required, doc)                                     \
    CONF_FIELD(tier_text, key, type, unit, member, required, doc)
static const conf_field tier_fields[] = {
    TIER("name", CONF_TYPE_TEXT, UNITS_COUNT, name, true, "name of the tier"),
    {"kind", CONF_TYPE_ENUM, UNITS_COUNT, offsetof(tier_text, kind), false, 0, 0,
     tier_kinds, "whose it is"},
    TIER("capacity", CONF_TYPE_QUANTITY, UNITS_BYTES, capacity_bytes, true, "bytes"),
    TIER("bandwidth", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, bandwidth_Bps, true,
         "per NPU"),
    TIER("latency", CONF_TYPE_QUANTITY, UNITS_TIME, latency_s, false, "of one access"),
};

static halley_status read_tiers(halley_npu *out, const conf_file *file,
                                const conf_node *list, halley_error *err)
{
    if (list->kind != CONF_LIST || list->n == 0 || list->n > HALLEY_MAX_TIERS)
        return conf_error(file, list, err, HALLEY_EFORMAT,
                          "memory must be a list of 1 to %d tiers, nearest first",
                          HALLEY_MAX_TIERS);
    for (uint32_t i = 0; i < list->n; i++) {
        tier_text t = {0};
        TRY(conf_read(&t, file, list->items[i], tier_fields,
                      sizeof tier_fields / sizeof *tier_fields, true, NULL, err));
        if (!(t.bandwidth_Bps > 0) || !(t.capacity_bytes > 0))
            return conf_error(file, list->items[i], err, HALLEY_EINVAL,
                              "capacity and bandwidth of a memory must be positive");
        halley_tier *to = &out->tiers[i];
        TRY(cluster_name_copy(to->name, t.name, err));
        to->kind = (halley_tier_kind)t.kind;
        to->capacity_bytes = t.capacity_bytes;
        to->bandwidth_Bps = t.bandwidth_Bps;
        to->latency_s = t.latency_s;
    }
    out->n_tiers = list->n;
    return HALLEY_OK;
}

typedef struct attention_text {
    const conf_node *share;
    double half, backward, batched, old;
} attention_text;
#define ATTENTION(key, type, member, doc)                                                \
    CONF_FIELD(attention_text, key, type, UNITS_COUNT, member, false, doc)
static const conf_field attention_fields[] = {
    ATTENTION("share", CONF_TYPE_NODE, share, "of 16-bit peak at head size 64 to 256"),
    ATTENTION("half-length", CONF_TYPE_DOUBLE, half, "sequence at which half is reached"),
    ATTENTION("backward", CONF_TYPE_DOUBLE, backward, "share of backward over forward"),
    ATTENTION("old", CONF_TYPE_DOUBLE, old, "kernels of an earlier generation"),
    ATTENTION("batched", CONF_TYPE_DOUBLE, batched, "batched products against plain"),
};

static halley_status read_attention(halley_npu *out, const conf_file *file,
                                    const conf_node *map, halley_error *err)
{
    static const double usual[4] = {0.45, 0.6, 0.62, 0.62};
    memcpy(out->attention_share, usual, sizeof usual);
    attention_text t = {.half = 500, .backward = 0.8, .batched = 1.1, .old = 1};
    if (map)
        TRY(conf_read(&t, file, map, attention_fields,
                      sizeof attention_fields / sizeof *attention_fields, true, NULL,
                      err));
    TRY(cluster_list_read(out->attention_share, 4, NULL, file, t.share, UNITS_SHARE,
                          "share", err));
    out->attention_half = t.half;
    out->attention_backward = t.backward;
    out->batched_factor = t.batched;
    out->attention_old = t.old;
    return HALLEY_OK;
}

#define MEMBER(key, type, unit, member, doc)                                             \
    CONF_FIELD(halley_npu, key, type, unit, member, false, doc)
static const conf_field misaligned_fields[] = {
    MEMBER("n64", CONF_TYPE_DOUBLE, UNITS_COUNT, misaligned_64, "no multiple of 64"),
    MEMBER("n8", CONF_TYPE_DOUBLE, UNITS_COUNT, misaligned_8, "no multiple of 8"),
    MEMBER("head-8", CONF_TYPE_DOUBLE, UNITS_COUNT, head_misaligned_8,
           "head size no multiple of 8"),
    MEMBER("head-2", CONF_TYPE_DOUBLE, UNITS_COUNT, head_misaligned_2, "odd head size"),
};
static const conf_field cast_fields[] = {
    MEMBER("launch", CONF_TYPE_QUANTITY, UNITS_TIME, cast_launch_s, "of a cast"),
    MEMBER("memory-share", CONF_TYPE_QUANTITY, UNITS_SHARE, cast_memory_share,
           "of a cast"),
};

typedef struct npu_text {
    str name;
    const conf_node *peak, *memory, *gemm, *gemm_fp8, *gemm_fp8_cast, *cast, *attention,
        *misaligned, *sources;
    uint32_t cores;
    double on_chip, memory_share, round_to, power, price;
} npu_text;
#define NPU(key, type, unit, member, required, doc)                                      \
    CONF_FIELD(npu_text, key, type, unit, member, required, doc)
static const conf_field npu_fields[] = {
    NPU("name", CONF_TYPE_TEXT, UNITS_COUNT, name, true, "name of the NPU"),
    NPU("peak", CONF_TYPE_NODE, UNITS_COUNT, peak, true, "dense FLOP/s by type"),
    NPU("cores", CONF_TYPE_U32, UNITS_COUNT, cores, false, "what tiles are dealt to"),
    NPU("on-chip", CONF_TYPE_QUANTITY, UNITS_BYTES, on_chip, false, "shared cache"),
    NPU("memory", CONF_TYPE_NODE, UNITS_COUNT, memory, true, "tiers, nearest first"),
    NPU("gemm", CONF_TYPE_NODE, UNITS_COUNT, gemm, false, "16-bit products"),
    NPU("gemm-fp8", CONF_TYPE_NODE, UNITS_COUNT, gemm_fp8, false, "8-bit products"),
    NPU("gemm-fp8-cast", CONF_TYPE_NODE, UNITS_COUNT, gemm_fp8_cast, false,
        "8-bit products as serving kernels do them"),
    NPU("cast", CONF_TYPE_NODE, UNITS_COUNT, cast, false, "their cast"),
    NPU("round-to", CONF_TYPE_DOUBLE, UNITS_COUNT, round_to, false,
        "sizes round up to a multiple"),
    NPU("attention", CONF_TYPE_NODE, UNITS_COUNT, attention, false, "fused attention"),
    NPU("memory-share", CONF_TYPE_QUANTITY, UNITS_SHARE, memory_share, false,
        "of the bandwidth for streaming"),
    NPU("misaligned", CONF_TYPE_NODE, UNITS_COUNT, misaligned, false,
        "factors for awkward sizes"),
    NPU("power", CONF_TYPE_QUANTITY, UNITS_POWER, power, false, "at full load"),
    NPU("price", CONF_TYPE_QUANTITY, UNITS_MONEY, price, false, "to buy"),
    NPU("sources", CONF_TYPE_NODE, UNITS_COUNT, sources, false,
        "where numbers come from"),
};

static halley_status read_rest(halley_npu *out, const conf_file *file, const npu_text *t,
                               halley_error *err)
{
    TRY(read_rates(&out->gemm, file, t->gemm, err));
    TRY(read_rates(&out->gemm_fp8, file, t->gemm_fp8 ? t->gemm_fp8 : t->gemm, err));
    TRY(read_rates(&out->gemm_fp8_cast, file, t->gemm_fp8_cast, err));
    TRY(read_attention(out, file, t->attention, err));
    if (t->cast)
        TRY(conf_read(out, file, t->cast, cast_fields, 2, true, NULL, err));
    if (t->misaligned)
        TRY(conf_read(out, file, t->misaligned, misaligned_fields, 4, true, NULL, err));
    return HALLEY_OK;
}

static halley_npu npu_of(const npu_text *t)
{
    return (halley_npu){.n_cores = t->cores,
                        .on_chip_bytes = t->on_chip,
                        .memory_share = t->memory_share,
                        .round_to = t->round_to,
                        .power_w = t->power,
                        .price_usd = t->price,
                        .misaligned_64 = 1.1,
                        .misaligned_8 = 1.5,
                        .head_misaligned_8 = 2,
                        .head_misaligned_2 = 4};
}
static const npu_text usual_npu = {.memory_share = 0.8, .cores = 100};

void cluster_npu_usual(halley_npu *out, double peak_flops, double mem_Bps)
{
    *out = npu_of(&usual_npu);
    out->peak_flops[HALLEY_BF16] = out->peak_flops[HALLEY_FP16] = peak_flops;
    out->n_tiers = 1;
    out->tiers[0].bandwidth_Bps = mem_Bps;
    (void)read_rest(out, NULL, &usual_npu, NULL); /* all by default: nothing to fail */
}

halley_status cluster_npu_read(halley_npu *out, const conf_file *file,
                               const conf_node *map, halley_error *err)
{
    npu_text t = usual_npu;
    TRY(conf_read(&t, file, map, npu_fields, sizeof npu_fields / sizeof *npu_fields, true,
                  NULL, err));
    *out = npu_of(&t);
    TRY(cluster_name_copy(out->name, t.name, err));
    TRY(read_peaks(out, file, t.peak, err));
    if (!(out->peak_flops[HALLEY_BF16] > 0))
        return conf_error(file, t.peak, err, HALLEY_EINVAL, "npu \"%s\": peak needs bf16",
                          out->name);
    TRY(read_tiers(out, file, t.memory, err));
    return read_rest(out, file, &t, err);
}
