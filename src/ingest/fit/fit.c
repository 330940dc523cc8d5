/*
 * What a recording says about its model.
 *
 * Kernels of the busiest stream, as names, repeat from layer to layer; the stretch over
 * the period is the number of layers (two attentions in a period are two layers: windows
 * alternate). Within it: the commonest number of rows of a matmul is the number of
 * tokens; the commonest inner size is the hidden size; a matmul that comes back to it
 * from a larger one is the end of the feed-forward network. Heads, sequence and batch
 * come from the shapes of attention operators, else of softmax; the vocabulary from the
 * embedding.
 */
#include "ingest/fit/fit.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "halley/trace_attr.h"
#include "ingest/tree/tree.h"
#include "trace/core/groups.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const double least_share = 0.35; /* of the kernels, in layers */

typedef struct fitter {
    halley_recorded_model *out;
    const halley_trace *trace;
    ARRAY(fit_kernel) kernels;
    intern names;
    strbuf kind;
    fit_period period;
    size_t n_looked_at; /* kernels among which the layers are */
    int64_t step;       /* the one that is looked at; -1 = all */
} fitter;

/* The dims of the first three tensors of an operator, as [[a, b], [c]] writes them. */
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

/* An encoded list of four numbers, as the linker writes it. */
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

/* The middle one of the steps, whose kernels are all there. */
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

/* Attentions in one period: operators that launch such kernels; of captured graphs, where
 * there are none, how often the commonest such kernel runs, whatever its template
 * arguments. At least 1. */
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

/* A period that holds many layers is a whole pass (a step of diffusion or decoding, a
 * micro-batch): look for the layers within one of them. */
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

/* The commonest value of one size of the matmuls of the period, of those with `n_rows`
 * rows (0 = any: gradients of weights have other rows than tokens); on ties the larger.
 */
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

/* A gate: two matmuls of a layer lead into its feed-forward (or, backward, out of it), or
 * one that is twice as wide. */
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
    /* Where both sizes are equal the ways in and out look alike: three of them are a
     * gate. */
    const uint32_t least = (o->ffn == o->hidden ? 3 : 2) * o->layers_per_period;
    return n_in >= least || n_out >= least || n_wide >= o->layers_per_period;
}

/* A matmul from the hidden size to the vocabulary, anywhere in the step. */
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

/* Does the period hold a matmul of tokens from k to n columns? */
static bool has_matmul(const fitter *f, uint64_t n, uint64_t k)
{
    for (uint32_t i = 0; i < f->period.period; i++) {
        const uint64_t *const g = f->kernels.at[f->period.start + i].gemm;
        if (g[3] == 1 && g[0] == f->out->tokens && g[1] == n && g[2] == k)
            return true;
    }
    return false;
}

/* The feed-forward network leads to its size and back; with a gate that is one matmul,
 * one way is twice as wide. Query, key and value lead one way only, and the projection's
 * size is that of the heads. Where only the way back has shapes, it is the widest. */
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

/* Query, key of an attention operator: [b, h, s, d] of scaled_dot_product, [b, s, h, d]
 * of kernels' own operators, [tokens, h, d] of inference engines. */
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

/* Softmax over [batch, heads, s, s]: the longest is the one over tokens. */
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

/* The innermost operators: under autocast those around them have other types. */
static bool is_matmul_op(str name)
{
    return str_eq(name, STR("aten::addmm")) || str_eq(name, STR("aten::mm"));
}

/* The largest table is that of words; each pass over the model reads it once. */
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

/* Ranks of a group that the recording declares; 0 = not known. */
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

/* Stages send to and receive from each other, in a group that holds them all. What the
 * group of the layers reduce-scatters are activations; gradients that are
 * reduce-scattered belong to an optimizer that is sharded. */
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

/* Two collectives per layer and direction are tensor parallelism, over their group; the
 * rest of a job that trains is data parallel. */
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
                         "layers can be told",
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

/* Kernels before the first one that a recorded call has launched are the end of the step
 * before; where no call was recorded, there are none to leave out. */
static size_t count_leftovers(const fitter *f)
{
    for (size_t i = 0; i < f->kernels.n; i++)
        if (halley_node_ctrl_count(f->trace, f->kernels.at[i].node) > 0)
            return i;
    return 0;
}

/* Fit the trace, and sum up its step where `times` is not NULL. */
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
