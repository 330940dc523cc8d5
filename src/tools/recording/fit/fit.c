/*
 * Infer the model from a recording.
 *
 * The kernel names of the busiest stream repeat from layer to layer. The length of the
 * repeating section divided by the period is the number of layers. (Two attentions in one
 * period are two layers, because window sizes may alternate.) Within a period:
 *
 * - The most common number of rows of a matmul is the number of tokens.
 * - The most common inner size is the hidden size.
 * - A matmul from a larger size back to the hidden size ends the feed-forward network.
 *
 * Heads, sequence and batch come from the shapes of attention operators, otherwise from
 * softmax. The vocabulary comes from the embedding.
 */
#include "recording/fit/fit.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "halley/trace_attr.h"
#include "recording/tree/tree.h"
#include "trace/core/groups.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const double least_share = 0.35; /* minimum share of kernels in layers */

typedef struct fitter {
    halley_recorded_model *out;
    const halley_trace *trace;
    ARRAY(fit_kernel) kernels;
    intern names;
    strbuf kind;
    fit_period period;
    size_t n_looked_at; /* kernels among which layers are searched */
    int64_t step;       /* the step that is analysed; -1 = all */
} fitter;

/* The dims of an operator's first three tensors, written as [[a, b], [c]]. */
typedef struct op_dims {
    uint64_t at[3][8];
    uint32_t n[3], n_tensors;
} op_dims;

static bool read_op_dims(op_dims *out, const halley_trace *t, uint32_t node)
{
    const halley_io in = halley_node_inputs(t, node);
    *out = (op_dims){0};
    if (!in.present)
        return false;
    uint32_t depth = 0;
    for (size_t i = 0; i < in.shapes.n && out->n_tensors < 3; i++) {
        const char c = in.shapes.at[i];
        depth += c == '[';
        if (c >= '0' && c <= '9' && depth == 2 && out->n[out->n_tensors] < 8) {
            uint64_t value = 0;
            for (; i < in.shapes.n && in.shapes.at[i] >= '0' && in.shapes.at[i] <= '9';
                 i++)
                value = value * 10 + (uint64_t)(in.shapes.at[i] - '0');
            out->at[out->n_tensors][out->n[out->n_tensors]++] = value;
            i--;
        }
        if (c == ']' && depth > 0 && --depth == 1)
            out->n_tensors++;
    }
    return out->n_tensors > 0 && out->n[0] > 0;
}

/* Decode a list of four numbers that the linker wrote. */
static void read_gemm(uint64_t to[4], const halley_trace *t, uint32_t node)
{
    halley_attr a;
    if (!halley_node_find_attr(&a, t, node, HALLEY_ATTR_NAME_OPERATOR_GEMM) ||
        a.kind != HALLEY_ATTR_INT64_LIST || a.bytes.n < 3)
        return;
    size_t at = 2;
    for (uint32_t i = 0; i < 4 && at < a.bytes.n; i++) {
        uint64_t value = 0;
        uint32_t shift = 0;
        for (; at < a.bytes.n && shift < 63; shift += 7) {
            const uint8_t byte = (uint8_t)a.bytes.at[at++];
            value |= (uint64_t)(byte & 127) << shift;
            if (byte < 128)
                break;
        }
        to[i] = value;
    }
}

static int compare_fit_kernels(const void *a, const void *b)
{
    const fit_kernel *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The stream with most device time. */
static int64_t find_main_stream(const halley_trace *t)
{
    map64 slots = {0};
    int64_t total[64] = {0}, streams[64] = {0}, best = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const str class_name = trace_find_text(t, i, HALLEY_ATTR_NAME_KERNEL_CLASS);
        if (class_name.n == 0 || str_starts(class_name, STR("comm.")))
            continue;
        const int64_t stream = trace_find_i64(t, i, HALLEY_ATTR_NAME_STREAM, 0);
        uint32_t slot = (uint32_t)slots.n;
        bool fresh;
        if (slots.n >= 64 || !map64_put(&slots, (uint64_t)stream, &slot, &fresh))
            break;
        streams[slot] = stream;
        total[slot] += trace_find_i64(t, i, HALLEY_ATTR_NAME_DURATION_NS, 0);
    }
    for (size_t i = 1; i < slots.n; i++)
        best = total[i] > total[best] ? (int64_t)i : best;
    map64_fini(&slots);
    return streams[best];
}

/* Choose the middle step, whose kernels are all recorded. */
static int64_t choose_step(const halley_trace *t)
{
    int64_t least = INT64_MAX, most = -1;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const int64_t step = trace_find_i64(t, i, HALLEY_ATTR_NAME_STEP, -1);
        if (step < 0 || trace_find_text(t, i, HALLEY_ATTR_NAME_KERNEL_CLASS).n == 0)
            continue;
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    return most < 0 ? -1 : least + (most - least) / 2;
}

static bool add_fit_kernel(fitter *f, uint32_t node, str class_name)
{
    const halley_bytes name = halley_node_name(f->trace, node);
    tree_kind_of(&f->kind, (str){name.at, name.n});
    fit_kernel k = {
        .begin_ns = trace_find_i64(f->trace, node, HALLEY_ATTR_NAME_START_NS, 0),
        .duration_ns = trace_find_i64(f->trace, node, HALLEY_ATTR_NAME_DURATION_NS, 0),
        .node = node,
        .name = intern_add(&f->names, (str){name.at, name.n}),
        .kind = intern_add(&f->names, strbuf_str(&f->kind)),
        .is_attention = str_eq(class_name, STR("attention")),
        .is_comm = str_starts(class_name, STR("comm.")),
        .is_moe = str_eq(class_name, STR("moe"))};
    read_gemm(k.gemm, f->trace, node);
    return k.name != HASH_NONE && k.kind != HASH_NONE && !f->kind.failed &&
           array_push(&f->kernels, k);
}

static halley_status list_fit_kernels(fitter *f, halley_error *err)
{
    const int64_t stream = find_main_stream(f->trace);
    f->step = choose_step(f->trace);
    for (uint32_t i = 0; i < halley_trace_count(f->trace); i++) {
        const str class_name =
            trace_find_text(f->trace, i, HALLEY_ATTR_NAME_KERNEL_CLASS);
        const int64_t step = trace_find_i64(f->trace, i, HALLEY_ATTR_NAME_STEP, -1);
        const bool is_kernel = class_name.n > 0 && !str_eq(class_name, STR("sync")) &&
                               trace_find_text(f->trace, i, "memory_op").n == 0;
        if (!is_kernel || (f->step >= 0 && step != f->step) ||
            trace_find_i64(f->trace, i, HALLEY_ATTR_NAME_STREAM, 0) != stream)
            continue;
        if (!add_fit_kernel(f, i, class_name))
            return error_nomem(err);
    }
    if (f->kernels.n > 1)
        qsort(f->kernels.at, f->kernels.n, sizeof *f->kernels.at, compare_fit_kernels);
    return HALLEY_OK;
}

static uint32_t find_caller(const fitter *f, uint32_t node)
{
    return halley_node_ctrl_count(f->trace, node) == 0 ||
                   trace_find_i64(f->trace, node, HALLEY_ATTR_NAME_FROM_GRAPH, 0) != 0
               ? HALLEY_NO_NODE
               : halley_node_ctrl(f->trace, node, 0).index;
}

/* The number of attentions in one period, at least 1: operators that launch attention
 * kernels. Captured graphs have no operators. There it is how often the most common
 * attention kernel runs, ignoring template arguments. */
static uint32_t count_attentions(const fitter *f)
{
    uint32_t most = 1, n_callers = 0, last = HALLEY_NO_NODE;
    const fit_kernel *const k = f->kernels.at + f->period.start;
    for (uint32_t i = 0; i < f->period.period; i++) {
        uint32_t n = 0;
        if (!k[i].is_attention)
            continue;
        for (uint32_t j = 0; j < f->period.period; j++)
            n += k[j].is_attention && k[j].kind == k[i].kind;
        most = n > most ? n : most;
        const uint32_t caller = find_caller(f, k[i].node);
        n_callers += caller != HALLEY_NO_NODE && caller != last;
        last = caller;
    }
    return n_callers > 0 ? n_callers : most;
}

/* A period that holds many layers is a whole pass (a diffusion or decoding step, or a
 * micro-batch). Find the layers within one of them. */
static void find_inner_period(fitter *f)
{
    if (count_attentions(f) <= 2)
        return;
    const fit_period inner =
        fit_find_period(f->kernels.at + f->period.start, f->period.period);
    if (inner.period > 0 && inner.length >= least_share * f->period.period) {
        f->n_looked_at = f->period.period;
        f->period =
            (fit_period){inner.period, f->period.start + inner.start, inner.length};
    }
}

static void fit_layers(fitter *f)
{
    halley_recorded_model *const o = f->out;
    int64_t ns = 0;
    for (uint32_t i = 0; i < f->period.length; i++)
        ns += f->kernels.at[f->period.start + i].duration_ns;
    o->kernels_per_period = f->period.period;
    o->layers_per_period = count_attentions(f);
    const uint32_t n = (f->period.length + f->period.period / 2) / f->period.period;
    o->layers = n * o->layers_per_period;
    o->period_s = (double)ns / (double)f->period.length * f->period.period / 1e9;
    o->covered_share = (double)f->period.length / (double)f->n_looked_at;
}

/* The most common value of one matmul size in the period, among matmuls with `n_rows`
 * rows. n_rows 0 = any, because weight gradients have other rows than tokens. Ties go to
 * the larger value. */
static uint64_t find_commonest(const fitter *f, uint32_t which, uint64_t n_rows)
{
    uint64_t best = 0;
    uint32_t most = 0;
    const fit_kernel *const k = f->kernels.at + f->period.start;
    for (uint32_t i = 0; i < f->period.period; i++) {
        uint32_t n = 0;
        if (k[i].gemm[3] != 1 || (n_rows > 0 && k[i].gemm[0] != n_rows))
            continue;
        for (uint32_t j = 0; j < f->period.period; j++)
            n += k[j].gemm[3] == 1 && (n_rows == 0 || k[j].gemm[0] == n_rows) &&
                 k[j].gemm[which] == k[i].gemm[which];
        if (n > most || (n == most && n > 0 && k[i].gemm[which] > best)) {
            most = n;
            best = k[i].gemm[which];
        }
    }
    return best;
}

/* Is the feed-forward network gated? Then two matmuls per layer lead into it (or out of
 * it in the backward pass), or one that is twice as wide. */
static bool has_gate(const fitter *f)
{
    const halley_recorded_model *const o = f->out;
    const fit_kernel *const k = f->kernels.at + f->period.start;
    uint32_t n_in = 0, n_out = 0, n_wide = 0, last = HALLEY_NO_NODE;
    for (uint32_t i = 0; i < f->period.period && o->ffn > 0; i++) {
        const uint32_t caller = find_caller(f, k[i].node);
        const bool is_again = caller != HALLEY_NO_NODE && caller == last;
        if (k[i].gemm[3] != 1 || k[i].gemm[0] != o->tokens || is_again)
            continue;
        last = caller;
        n_in += k[i].gemm[1] == o->ffn && k[i].gemm[2] == o->hidden;
        n_out += k[i].gemm[1] == o->hidden && k[i].gemm[2] == o->ffn;
        n_wide += (k[i].gemm[1] == 2 * o->ffn && k[i].gemm[2] == o->hidden) ||
                  (k[i].gemm[1] == o->hidden && k[i].gemm[2] == 2 * o->ffn);
    }
    /* If both sizes are equal, the matmuls in and out look the same; three of them mean a
     * gate. */
    const uint32_t least = (o->ffn == o->hidden ? 3 : 2) * o->layers_per_period;
    return n_in >= least || n_out >= least || n_wide >= o->layers_per_period;
}

/* Is there a matmul from the hidden size to the vocabulary anywhere in the step? */
static bool has_head(const fitter *f)
{
    const halley_recorded_model *const o = f->out;
    for (size_t i = 0; i < f->kernels.n && o->vocab > 0; i++) {
        const uint64_t *const g = f->kernels.at[i].gemm;
        if (g[3] == 1 && g[2] == o->hidden && g[1] == o->vocab)
            return true;
    }
    return false;
}

static void fit_matmuls(fitter *f)
{
    halley_recorded_model *const o = f->out;
    const fit_kernel *const k = f->kernels.at + f->period.start;
    bool has_moe = false;
    uint64_t smallest = UINT64_MAX;
    o->tokens = find_commonest(f, 0, 0);
    o->hidden = find_commonest(f, 2, o->tokens);
    for (uint32_t i = 0; i < f->period.period; i++) {
        has_moe |= k[i].is_moe;
        if (k[i].gemm[3] != 1)
            continue;
        if (k[i].gemm[2] == o->hidden && k[i].gemm[1] < smallest)
            smallest = k[i].gemm[1];
    }
    if (has_moe && smallest < o->hidden)
        o->experts = smallest;
}

/* Does the period contain a matmul of the tokens from k to n columns? */
static bool has_matmul(const fitter *f, uint64_t n, uint64_t k)
{
    for (uint32_t i = 0; i < f->period.period; i++) {
        const uint64_t *const g = f->kernels.at[f->period.start + i].gemm;
        if (g[3] == 1 && g[0] == f->out->tokens && g[1] == n && g[2] == k)
            return true;
    }
    return false;
}

/* Find the size of the feed-forward network. Matmuls lead to that size and back. With a
 * fused gate, the matmul in one direction is twice as wide. Query, key and value have
 * matmuls in one direction only. The size of the projection is that of the heads. If only
 * the matmuls back have shapes, the widest is taken. */
static void fit_feed_forward(fitter *f)
{
    halley_recorded_model *const o = f->out;
    const uint64_t h = o->hidden, heads = o->heads * o->head_dim;
    uint64_t widest = 0;
    for (uint32_t i = 0; i < f->period.period; i++) {
        const uint64_t *const g = f->kernels.at[f->period.start + i].gemm;
        if (g[3] != 1 || g[1] != h)
            continue;
        const uint64_t x = g[2];
        widest = x > h && x > widest ? x : widest;
        if (x == heads || (heads == 0 && x == h))
            continue;
        if ((has_matmul(f, x, h) || has_matmul(f, 2 * x, h)) && x > o->ffn)
            o->ffn = x;
        else if (x % 2 == 0 && has_matmul(f, x / 2, h) && x / 2 != heads &&
                 x / 2 > o->ffn)
            o->ffn = x / 2;
    }
    if (o->ffn == 0)
        o->ffn = widest;
    o->is_gated = has_gate(f);
}

/* Read query and key of an attention operator. The layouts are [b, h, s, d] for
 * scaled_dot_product, [b, s, h, d] for operators of attention libraries, and [tokens, h,
 * d] for inference engines. */
static void fit_attention_op(halley_recorded_model *o, str name, const op_dims *d)
{
    const bool is_sdpa = str_contains(name, STR("scaled_dot_product"));
    if (d->n[0] == 4) {
        o->heads = d->at[0][is_sdpa ? 1 : 2];
        o->seq = d->at[0][is_sdpa ? 2 : 1];
        o->head_dim = d->at[0][3];
        o->batch = d->at[0][0];
        o->kv_heads = d->n[1] == 4 ? d->at[1][is_sdpa ? 1 : 2] : 0;
    } else if (d->n[0] == 3) {
        o->heads = d->at[0][1];
        o->head_dim = d->at[0][2];
        o->kv_heads = d->n[1] == 3 ? d->at[1][1] : 0;
    }
}

/* Softmax over [batch, heads, s, s]: the longest one is over tokens. */
static void fit_softmax_op(halley_recorded_model *o, const op_dims *d)
{
    if (d->n[0] != 4 || d->at[0][2] != d->at[0][3] || d->at[0][3] <= o->seq)
        return;
    o->heads = d->at[0][1];
    o->seq = d->at[0][3];
    o->batch = d->at[0][0];
    o->head_dim = o->heads > 0 ? o->hidden / o->heads : 0;
}

static bool is_attention_op(str name)
{
    return str_contains(name, STR("scaled_dot_product")) ||
           str_contains(name, STR("attention_forward")) ||
           str_contains(name, STR("unified_attention")) ||
           str_contains(name, STR("flash_attn"));
}

/* Only the innermost operators count, because under autocast the outer ones have other
 * types. */
static bool is_matmul_op(str name)
{
    return str_eq(name, STR("aten::addmm")) || str_eq(name, STR("aten::mm"));
}

/* The largest table is the word embedding. Each pass over the model reads it once. */
static void fit_embedding_op(fitter *f, uint32_t node, uint64_t n_rows)
{
    halley_recorded_model *const o = f->out;
    const int64_t step = trace_find_i64(f->trace, node, HALLEY_ATTR_NAME_STEP, -1);
    const halley_bytes name = halley_node_name(f->trace, node);
    if (n_rows < o->vocab || !str_eq((str){name.at, name.n}, STR("aten::embedding")))
        return;
    if (n_rows > o->vocab)
        o->micro_batches = 0;
    o->vocab = n_rows;
    o->micro_batches += f->step < 0 || step == f->step;
}

static void fit_operators(fitter *f)
{
    halley_recorded_model *const o = f->out;
    bool has_attention = false;
    uint32_t n_of_type[HALLEY_N_DTYPES + 1] = {0};
    for (uint32_t i = 0; i < halley_trace_count(f->trace); i++) {
        const halley_bytes bytes = halley_node_name(f->trace, i);
        const str name = {bytes.at, bytes.n};
        op_dims d;
        o->has_backward |= trace_find_i64(f->trace, i, "fw_tid", 0) != 0;
        if (str_starts(name, STR("aten::embedding")) && read_op_dims(&d, f->trace, i) &&
            d.n[0] == 2 && d.at[0][1] == o->hidden)
            fit_embedding_op(f, i, d.at[0][0]);
        if (is_matmul_op(name)) {
            const halley_bytes types = halley_node_inputs(f->trace, i).types;
            n_of_type[fit_read_dtype((str){types.at, types.n})]++;
        }
        if (is_attention_op(name) && !str_contains(name, STR("backward")) &&
            !has_attention && read_op_dims(&d, f->trace, i)) {
            fit_attention_op(o, name, &d);
            has_attention = o->heads > 0;
        }
        if (!has_attention && str_eq(name, STR("aten::softmax")) &&
            read_op_dims(&d, f->trace, i))
            fit_softmax_op(o, &d);
    }
    o->dtype = HALLEY_N_DTYPES;
    for (int i = HALLEY_N_DTYPES - 1; i >= 0; i--)
        if (n_of_type[i] > 0 &&
            (o->dtype == HALLEY_N_DTYPES || n_of_type[i] >= n_of_type[o->dtype]))
            o->dtype = (halley_dtype)i;
}

/* The number of ranks of a group that the recording declares; 0 = unknown. */
static uint32_t find_group_size(const fitter *f, str name, halley_error *err)
{
    trace_groups groups = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_trace_count(f->trace); i++) {
        const halley_bytes node = halley_node_name(f->trace, i);
        if (str_eq((str){node.at, node.n}, STR("## process_group:init ##")))
            (void)trace_groups_parse(&groups, halley_node_inputs(f->trace, i).values,
                                     err);
    }
    for (size_t i = 0; i < groups.list.n; i++)
        if (str_eq(groups.list.at[i].name, name))
            n = groups.list.at[i].n_ranks;
    trace_groups_fini(&groups);
    return n;
}

/* Pipeline stages send to and receive from each other in a group that holds them all. A
 * reduce-scatter in the layers' own group moves activations. Any other reduce-scatter
 * moves gradients, which means a sharded optimizer. */
static void fit_stages(fitter *f, str layers_group)
{
    halley_recorded_model *const o = f->out;
    o->pp = 1;
    for (uint32_t i = 0; i < halley_trace_count(f->trace); i++) {
        const str name = trace_find_text(f->trace, i, HALLEY_ATTR_NAME_KERNEL_CLASS);
        const str group = trace_find_text(f->trace, i, HALLEY_ATTR_NAME_PG_NAME);
        if (str_eq(name, STR("comm.reduce_scatter")) && str_eq(group, layers_group))
            o->has_sequence_parallel = true;
        else if (str_eq(name, STR("comm.reduce_scatter")))
            o->has_sharded_optimizer = true;
        if (o->pp > 1 || !str_eq(name, STR("comm.send_recv")))
            continue;
        const uint32_t n = find_group_size(f, group, NULL);
        o->pp = n > 1 ? n : o->pp;
    }
}

/* Collectives of one group and type. */
typedef struct coll_count {
    str group;
    uint64_t n, n_equal, bytes; /* n_equal: with the size of the first */
} coll_count;
enum { MOST_GROUPS = 16 };

static void count_call(coll_count *counts, size_t *n_counts, str group, uint64_t bytes)
{
    size_t i = 0;
    while (i < *n_counts && !str_eq(counts[i].group, group))
        i++;
    if (i == MOST_GROUPS)
        return;
    if (i == *n_counts)
        counts[(*n_counts)++] = (coll_count){.group = group, .bytes = bytes};
    counts[i].n++;
    counts[i].n_equal += counts[i].bytes == bytes;
}

/* How many collectives of the type a group has, if they move equal amounts, as
 * activations do; buckets of gradients differ. */
static uint64_t count_equal(const coll_count *counts, size_t n, str group)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(counts[i].group, group))
            return 5 * counts[i].n_equal >= 4 * counts[i].n ? counts[i].n_equal : 0;
    return 0;
}

/* On any stream: a group with two all-reduces, or two pairs of all-gather and
 * reduce-scatter, per layer and direction. Sharded weights have one pair per layer, or
 * two gathers per scatter. Returns the ranks of the group; 1 = none. */
static uint32_t find_tensor_group(const fitter *f, uint64_t world)
{
    coll_count counts[3][MOST_GROUPS];
    size_t n[3] = {0};
    static const char *const types[3] = {"comm.all_reduce", "comm.all_gather",
                                         "comm.reduce_scatter"};
    const uint64_t wanted = 2 * (uint64_t)f->out->layers * (f->out->has_backward ? 2 : 1);
    for (uint32_t i = 0; i < halley_trace_count(f->trace); i++) {
        const str type = trace_find_text(f->trace, i, HALLEY_ATTR_NAME_KERNEL_CLASS);
        for (size_t k = 0; k < 3; k++)
            if (str_eq(type, str_from(types[k])))
                count_call(
                    counts[k], &n[k],
                    trace_find_text(f->trace, i, HALLEY_ATTR_NAME_PG_NAME),
                    (uint64_t)trace_find_i64(f->trace, i, HALLEY_ATTR_NAME_COMM_SIZE, 0));
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < n[k]; i++) {
            const str group = counts[k][i].group;
            const uint64_t gathers = count_equal(counts[1], n[1], group),
                           scatters = count_equal(counts[2], n[2], group);
            const bool is_sharding = 2 * gathers > 3 * scatters;
            const uint64_t pairs = is_sharding || k == 0 ? 0 : scatters;
            if (wanted == 0 || count_equal(counts[0], n[0], group) + pairs < wanted)
                continue;
            const uint32_t size = find_group_size(f, group, NULL);
            return size > 0 && world % size == 0 ? size : (uint32_t)(world / f->out->pp);
        }
    return 1;
}

/* Two collectives per layer and direction mean tensor parallelism over their group. The
 * rest of a training job is data parallel. */
static void fit_parallelism(fitter *f)
{
    halley_recorded_model *const o = f->out;
    const uint64_t world = trace_recorded_number(f->trace, "world", 0);
    uint32_t in_period = 0, group_size = 0;
    str group = {0};
    bool any = false;
    for (uint32_t i = 0; i < f->period.period; i++) {
        const fit_kernel *const k = &f->kernels.at[f->period.start + i];
        in_period += k->is_comm;
        if (!k->is_comm || group_size > 0)
            continue;
        group = trace_find_text(f->trace, k->node, HALLEY_ATTR_NAME_PG_NAME);
        group_size = find_group_size(f, group, NULL);
    }
    for (uint32_t i = 0; i < halley_trace_count(f->trace) && !any; i++)
        any = str_starts(trace_find_text(f->trace, i, HALLEY_ATTR_NAME_KERNEL_CLASS),
                         STR("comm."));
    o->tp = o->dp = 1;
    fit_stages(f, group);
    if (world > 1 && in_period >= 2 * o->layers_per_period)
        o->tp = group_size > 0 && world % group_size == 0 ? group_size
                                                          : (uint32_t)(world / o->pp);
    else if (world > 1)
        o->tp = find_tensor_group(f, world);
    if (world > 1 && any && o->has_backward && world % ((uint64_t)o->tp * o->pp) == 0)
        o->dp = (uint32_t)(world / o->tp / o->pp);
}

static void fit_batch(halley_recorded_model *o)
{
    if (o->seq > 0 && o->tokens > 0 && o->tokens % o->seq == 0)
        o->batch = o->tokens / o->seq;
}

static halley_status fit_recording(fitter *f, halley_error *err)
{
    TRY(list_fit_kernels(f, err));
    f->period = fit_find_period(f->kernels.at, (uint32_t)f->kernels.n);
    if (f->period.period == 0)
        return error_set(err, HALLEY_EINVAL,
                         "nothing repeats in the %zu kernels of the busiest stream: no "
                         "layers can be found",
                         f->kernels.n);
    f->n_looked_at = f->kernels.n;
    find_inner_period(f);
    fit_layers(f);
    if (f->out->covered_share < least_share)
        return error_set(err, HALLEY_EINVAL,
                         "what repeats most (every %u kernels) covers %s %% of the "
                         "kernels of a step only: this is no stack of equal layers",
                         f->period.period,
                         number_fixed(100 * f->out->covered_share, 0).at);
    fit_matmuls(f);
    fit_operators(f);
    fit_feed_forward(f);
    fit_parallelism(f);
    fit_batch(f->out);
    f->out->has_head = has_head(f);
    for (size_t i = 0; i < f->kernels.n; i++)
        f->out->has_fused_attention |= f->kernels.at[i].is_attention;
    const fit_kernel *const last = &f->kernels.at[f->kernels.n - 1];
    f->out->step_s =
        (double)(last->begin_ns + last->duration_ns - f->kernels.at[0].begin_ns) / 1e9;
    return HALLEY_OK;
}

/* Kernels before the first one that a recorded call launched belong to the end of the
 * previous step. If no call was recorded, none are left out. */
static size_t count_leftovers(const fitter *f)
{
    for (size_t i = 0; i < f->kernels.n; i++)
        if (halley_node_ctrl_count(f->trace, f->kernels.at[i].node) > 0)
            return i;
    return 0;
}

/* Fit the trace. If `times` is not NULL, also add up the times of its step. */
static halley_status run_fit(halley_recorded_model *out, halley_recorded_times *times,
                             const halley_trace *trace, halley_error *err)
{
    if (!tree_is_recorded(trace))
        return error_set(err, HALLEY_EINVAL,
                         "the trace was not linked from a profiler's recording, so its "
                         "kernels say nothing about its model");
    *out = (halley_recorded_model){.size = sizeof *out};
    fitter f = {.out = out, .trace = trace};
    const halley_status status = fit_recording(&f, err);
    if (status == HALLEY_OK && times != NULL) {
        const size_t n_before = count_leftovers(&f);
        *times = (halley_recorded_times){.size = sizeof *times};
        assert(f.n_looked_at > 0);
        times->n_passes = f.n_looked_at > 0 ? (uint32_t)(f.kernels.n / f.n_looked_at) : 1;
        fit_sum_times(times, trace, f.kernels.at + n_before, f.kernels.n - n_before);
    }
    array_fini(&f.kernels);
    intern_fini(&f.names);
    strbuf_fini(&f.kind);
    return status;
}

halley_status halley_recording_fit(halley_recorded_model *out, const halley_trace *trace,
                                   halley_error *err)
{
    return run_fit(out, NULL, trace, err);
}

halley_status halley_recording_times(halley_recorded_times *out,
                                     const halley_trace *trace, halley_error *err)
{
    halley_recorded_model model;
    return run_fit(&model, out, trace, err);
}
