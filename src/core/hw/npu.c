/* NPU files: peaks per type, memory tiers, kernel rates. There is one table per map. */
#include "hw/npu.h"

#include "hw/embedded.h"
#include "hw/levels.h"
#include "hw/link.h"
#include "hw/memory.h"
#include "hw/schema.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const dtype_names[HALLEY_N_DTYPES] = {
    [HALLEY_BF16] = "bf16", [HALLEY_FP16] = "fp16", [HALLEY_FP32] = "fp32",
    [HALLEY_TF32] = "tf32", [HALLEY_FP8] = "fp8",   [HALLEY_FP4] = "fp4",
    [HALLEY_INT8] = "int8"};

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

double halley_npu_wide_peak(const halley_npu *npu)
{
    const double *peak = npu->peak_flops;
    return peak[HALLEY_BF16] > 0 ? peak[HALLEY_BF16] : peak[HALLEY_FP16];
}

/* "bf16, fp16, fp8": the data types for which matmuls can be timed. */
static void list_dtypes(strbuf *to, const halley_npu *npu)
{
    for (int t = 0; t < HALLEY_N_DTYPES; t++)
        if (npu->peak_flops[t] > 0)
            strbuf_printf(to, "%s%s", to->n == 0 ? "" : ", ", dtype_names[t]);
}

const char *halley_npu_label(const halley_npu *npu)
{
    return npu->name[0] != '\0' ? npu->name : "unnamed NPU";
}

halley_status halley_npu_check_dtype(const halley_npu *npu, halley_dtype dtype,
                                     halley_error *err)
{
    assert((unsigned)dtype < HALLEY_N_DTYPES);
    const bool has_fp8 = npu->peak_flops[HALLEY_FP8] > 0;
    if (npu->peak_flops[dtype] > 0 && (dtype != HALLEY_FP4 || has_fp8))
        return HALLEY_OK;
    strbuf have = {0};
    list_dtypes(&have, npu);
    const halley_status status =
        error_set(err, HALLEY_EINVAL, "%s has no %s (it has %.*s)", halley_npu_label(npu),
                  dtype_names[dtype], (int)have.n, have.n > 0 ? have.at : "");
    strbuf_fini(&have);
    return status;
}

halley_status halley_npu_check_scales(const halley_npu *npu, halley_dtype dtype,
                                      halley_scales needed, halley_error *err)
{
    static const char *const prefixes[HALLEY_N_SCALES] = {"", "mx", "nv"};
    assert((unsigned)dtype < HALLEY_N_DTYPES && (unsigned)needed < HALLEY_N_SCALES);
    if (needed <= npu->scales)
        return HALLEY_OK;
    const char *name = dtype_names[dtype];
    if (npu->scales == HALLEY_SCALES_NONE)
        return error_set(err, HALLEY_EINVAL,
                         "%s has no %s%s: its matmul units scale no blocks (it has %s "
                         "with fp8-recipe tensor, row or block)",
                         halley_npu_label(npu), prefixes[needed], name, name);
    return error_set(err, HALLEY_EINVAL, "%s has no %s%s (it has %s%s)",
                     halley_npu_label(npu), prefixes[needed], name, prefixes[npu->scales],
                     name);
}

halley_status cluster_name_copy(char to[HALLEY_NAME], str name, halley_error *err)
{
    if (name.n >= HALLEY_NAME)
        return error_set(err, HALLEY_ELIMIT,
                         "the name \"%.*s\" is longer than %d characters", STR_ARG(name),
                         HALLEY_NAME - 1);
    if (name.n > 0) /* the address of an absent name is NULL */
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

const hw_part hw_part_gemm = {"gemm", "npu.gemm", HW_FIELDS(rate_fields)};

const halley_gemm_rates hw_gemm_default = {.efficiency = 0.8,
                                           .memory_share = 0.93,
                                           .serial_share = 0.45,
                                           .throttle = 0.2,
                                           .throttle_s = 2e-3,
                                           .launch_s = 2.3e-6};

static halley_status read_rates(halley_gemm_rates *out, const conf_file *file,
                                const conf_node *map, halley_error *err)
{
    *out = hw_gemm_default;
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
                "no type \"%s\": bf16, fp16, fp32, tf32, fp8, fp4 and int8 are known",
                name);
        TRY(conf_to_quantity(&out->peak_flops[type], file, map->items[i], UNITS_FLOPS,
                             name, err));
        if (!(out->peak_flops[type] > 0))
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "peak of %s must be positive", name);
    }
    return HALLEY_OK;
}

static halley_status read_tiers(halley_npu *out, const conf_file *file,
                                const conf_node *list, halley_error *err)
{
    if (list->kind != CONF_LIST || list->n == 0 || list->n > HALLEY_MAX_TIERS)
        return conf_error(file, list, err, HALLEY_EFORMAT,
                          "memory must be a list of 1 to %d tiers, nearest first",
                          HALLEY_MAX_TIERS);
    for (uint32_t i = 0; i < list->n; i++)
        TRY(hw_tier_read(&out->tiers[i], i == 0, file, list->items[i], err));
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
    ATTENTION("batched", CONF_TYPE_DOUBLE, batched, "batched matmuls against plain ones"),
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

const hw_part hw_part_misaligned = {"misaligned", "npu.misaligned",
                                    HW_FIELDS(misaligned_fields)};
const hw_part hw_part_cast = {"cast", "npu.cast", HW_FIELDS(cast_fields)};

typedef struct npu_text {
    str name;
    const conf_node *peak, *memory, *gemm, *gemm_fp8, *gemm_fp8_cast, *cast, *attention,
        *misaligned, *sources;
    uint32_t type, cores, scales;
    bool fp8_any_order, sold;
    double on_chip, memory_share, round_to, power, price;
} npu_text;
#define NPU(key_, type_, member, doc_)                                                   \
    .key = key_, .type = type_, .offset = offsetof(npu_text, member), .doc = doc_
static const char *const type_names[] = {[HALLEY_NPU_OTHER] = "accelerator",
                                         [HALLEY_NPU_GPU] = "gpu",
                                         [HALLEY_NPU_TPU] = "tpu",
                                         [HALLEY_N_NPU_TYPES] = NULL};
static const char *const scales_names[] = {[HALLEY_SCALES_NONE] = "none",
                                           [HALLEY_SCALES_MX] = "mx",
                                           [HALLEY_SCALES_NV] = "nv",
                                           [HALLEY_N_SCALES] = NULL};
static const conf_field npu_fields[] = {
    {NPU("name", CONF_TYPE_TEXT, name,
         "name of the device; without other keys, name of a preset"),
     .example = "H100-SXM-80GB", .by_default = "none"},
    {NPU("type", CONF_TYPE_ENUM, type, "what sentences call it"), .names = type_names,
     .by_default = "accelerator"},
    {NPU("peak", CONF_TYPE_NODE, peak,
         "dense FLOP/s: one number for 16-bit work, or by number format"),
     .example = "{bf16: 989 TFLOP/s, fp8: 1979 TFLOP/s}",
     .by_default = "required for compute times"},
    {NPU("cores", CONF_TYPE_U32, cores,
         "cores that the tiles of a matmul are distributed over"),
     .by_default = "100", .example = "132"},
    {NPU("on-chip", CONF_TYPE_QUANTITY, on_chip, "memory on the chip (shared cache)"),
     .unit = UNITS_BYTES, .by_default = "0", .example = "50 MB"},
    {NPU("memory", CONF_TYPE_NODE, memory, "memories, nearest first"),
     .example = "[{name: hbm, capacity: 80 GB, bandwidth: 3350 GB/s}]",
     .by_default = "none"},
    {NPU("gemm", CONF_TYPE_NODE, gemm, "measured rates of 16-bit matmuls"),
     .by_default = "those of a generic device",
     .example = "{efficiency: 0.8, launch: 3 us}"},
    {NPU("gemm-fp8", CONF_TYPE_NODE, gemm_fp8, "measured rates of 8-bit matmuls"),
     .by_default = "gemm", .example = "{efficiency: 0.7}"},
    {NPU("gemm-fp8-cast", CONF_TYPE_NODE, gemm_fp8_cast,
         "rates of 8-bit matmuls with a cast, as in serving kernels"),
     .by_default = "those of a generic device", .example = "{efficiency: 0.6}"},
    {NPU("fp8-any-order", CONF_TYPE_BOOL, fp8_any_order,
         "whether 8-bit matmuls read operands in either order, so that no transposed "
         "copy of the weights is kept"),
     .by_default = "no", .example = "yes"},
    {NPU("scales", CONF_TYPE_ENUM, scales,
         "block scales that matmul units apply: mx (mxfp8, mxfp4), or nv (nvfp4, too)"),
     .names = scales_names, .by_default = "nv where peak has fp4, else none",
     .example = "mx"},
    {NPU("cast", CONF_TYPE_NODE, cast, "launch time and memory share of that cast"),
     .by_default = "none", .example = "{launch: 3 us, memory-share: 50 %}"},
    {NPU("round-to", CONF_TYPE_DOUBLE, round_to,
         "matmul sizes are rounded up to a multiple of this"),
     .by_default = "0, no rounding", .example = "128"},
    {NPU("attention", CONF_TYPE_NODE, attention, "measured rates of fused attention"),
     .by_default = "those of a generic device",
     .example = "{share: [0.54, 0.68, 0.78, 0.8], half-length: 500}"},
    {NPU("memory-share", CONF_TYPE_QUANTITY, memory_share,
         "share of the memory bandwidth that streaming kernels reach"),
     .unit = UNITS_SHARE, .by_default = "80 %", .example = "90 %"},
    {NPU("misaligned", CONF_TYPE_NODE, misaligned,
         "factors of time for matmul sizes that tensor cores handle badly"),
     .by_default = "{n64: 1.1, n8: 1.5, head-8: 2, head-2: 4}", .example = "{n64: 1.2}"},
    {NPU("power", CONF_TYPE_QUANTITY, power, "power at full load"), .unit = UNITS_POWER,
     .by_default = "0", .example = "700 W"},
    {NPU("price", CONF_TYPE_QUANTITY, price, "price of one device"), .unit = UNITS_MONEY,
     .by_default = "unknown: money is then a lower bound", .example = "28000 USD"},
    {NPU("sold", CONF_TYPE_BOOL, sold,
         "no: it is only rented, and `price` is imputed from its rent"),
     .by_default = "yes", .example = "no"},
    {NPU("sources", CONF_TYPE_NODE, sources,
         "where the numbers come from; for readers only"),
     .by_default = "none", .example = "[https://www.nvidia.com]"},
};
const hw_part hw_part_npu = {"npu", "npu", HW_FIELDS(npu_fields)};

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
    return (halley_npu){.type = (halley_npu_type)t->type,
                        .n_cores = t->cores,
                        .on_chip_bytes = t->on_chip,
                        .fitted_on_chip_bytes = t->on_chip,
                        .fp8_any_order = t->fp8_any_order,
                        .memory_share = t->memory_share,
                        .round_to = t->round_to,
                        .power_w = t->power,
                        .price_usd = t->price,
                        .not_sold = !t->sold,
                        .misaligned_64 = 1.1,
                        .misaligned_8 = 1.5,
                        .head_misaligned_8 = 2,
                        .head_misaligned_2 = 4};
}

static const npu_text usual_npu = {.memory_share = 0.8,
                                   .cores = 100,
                                   .sold = true,
                                   .scales = HALLEY_N_SCALES /* by its peaks */};

halley_scales hw_npu_usual_scales(const halley_npu *npu)
{
    return npu->peak_flops[HALLEY_FP4] > 0 ? HALLEY_SCALES_NV : HALLEY_SCALES_NONE;
}

void hw_npu_make(halley_npu *out, double peak_flops, double mem_Bps)
{
    *out = npu_of(&usual_npu);
    (void)read_rest(out, NULL, &usual_npu, NULL); /* all defaults: cannot fail */
    if (peak_flops > 0)
        out->peak_flops[HALLEY_BF16] = out->peak_flops[HALLEY_FP16] = peak_flops;
    if (!(mem_Bps > 0))
        return;
    out->n_tiers = 1;
    memcpy(out->tiers[0].name, "local", sizeof "local");
    out->tiers[0].bandwidth_Bps = mem_Bps;
}

halley_status cluster_npu_read(halley_npu *out, const conf_file *file,
                               const conf_node *map, halley_error *err)
{
    npu_text t = usual_npu;
    TRY(conf_read(&t, file, map, npu_fields, sizeof npu_fields / sizeof *npu_fields, true,
                  NULL, err));
    *out = npu_of(&t);
    TRY(cluster_name_copy(out->name, t.name, err));
    if (t.peak != NULL)
        TRY(read_peaks(out, file, t.peak, err));
    out->scales =
        t.scales < HALLEY_N_SCALES ? (halley_scales)t.scales : hw_npu_usual_scales(out);
    if (t.memory != NULL)
        TRY(read_tiers(out, file, t.memory, err));
    return read_rest(out, file, &t, err);
}

/* Load the preset that `node` names. */
static halley_status load_named(halley_npu *out, const conf_file *file,
                                const conf_node *node, halley_error *err)
{
    char name[HALLEY_NAME];
    halley_status status = cluster_name_copy(name, node->text, err);
    if (status == HALLEY_OK)
        status = cluster_npu_load(out, name, err);
    if (status != HALLEY_OK && err != NULL && err->file[0] == '\0') {
        error_at_file(err, file->path);
        error_at_line(err, node->line, node->column);
    }
    return status;
}

halley_status hw_npu_read_any(halley_npu *out, const conf_file *file,
                              const conf_node *node, halley_error *err)
{
    const conf_node *name = conf_find(node, "name");
    if (node->kind == CONF_SCALAR)
        return load_named(out, file, node, err);
    if (node->kind == CONF_MAP && node->n == 1 && name != NULL &&
        name->kind == CONF_SCALAR)
        return load_named(out, file, name, err);
    if (node->kind != CONF_MAP)
        return conf_error(
            file, node, err, HALLEY_EFORMAT,
            "npu must be the name of a preset, or a map with peak and memory");
    return cluster_npu_read(out, file, node, err);
}

halley_status hw_read_npu(const hw_reader *r, const conf_node *node)
{
    TRY(hw_npu_read_any(&r->c->npu, r->file, node, r->err));
    const conf_node *list = conf_find(node, "memory");
    if (list != NULL && list->kind == CONF_LIST && list->n > 1)
        TRY(hw_remote_read_tier(r, list->items[1]));
    hw_npu_follow(r->c);
    return HALLEY_OK;
}

halley_status halley_cluster_check_estimate(const halley_cluster *cluster,
                                            halley_error *err)
{
    const halley_npu *npu = &cluster->npu;
    const char *name = halley_cluster_name(cluster);
    if (cluster->n_kinds > 1)
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\" has %u kinds of NPU, and estimates know one so "
                         "far",
                         name, cluster->n_kinds);
    if (!(halley_npu_wide_peak(npu) > 0))
        return error_set(
            err, HALLEY_EINVAL,
            "cluster \"%s\" does not say the peak of its NPU: an estimate "
            "needs npu, the name of a preset or a map with peak: {bf16: ...}",
            name);
    if (npu->n_tiers == 0 || !(npu->tiers[0].capacity_bytes > 0))
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\" does not say how much memory its NPU has: an "
                         "estimate needs npu: memory with capacity and bandwidth",
                         name);
    for (uint32_t i = 1; i < npu->n_tiers; i++)
        if (!(npu->tiers[i].capacity_bytes > 0))
            return error_set(err, HALLEY_EINVAL,
                             "cluster \"%s\": memory \"%s\" of the NPU has no capacity, "
                             "which an estimate needs",
                             name, npu->tiers[i].name);
    return HALLEY_OK;
}

const halley_tier *hw_npu_outer_tier(const halley_npu *npu)
{
    const halley_tier *best = NULL;
    for (uint32_t i = 1; i < npu->n_tiers; i++) {
        const halley_tier *t = &npu->tiers[i];
        if (t->capacity_bytes > 0 &&
            (best == NULL || t->bandwidth_Bps > best->bandwidth_Bps))
            best = t;
    }
    return best;
}
