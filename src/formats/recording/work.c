/*
 * Work of operators.
 *
 * Bytes are all input and output tensors, each counted once: what a roofline calls
 * compulsory traffic. Operations are:
 *
 * - Matmul: 2·M·N·K.
 * - Convolution: 2·(output elements)·(weights of one output channel). The backward pass
 *   has twice that.
 * - Attention: 4·batch·heads·S·T·D for its two matmuls. Causal masks are unknown and not
 *   counted. The backward pass has 2.5 times that (five matmuls instead of two).
 * - All else: a factor per element of the larger side. It is 1 for elementwise operators
 *   and reductions, more for norms, softmax and optimizers.
 *
 * The factors per element are counts from the usual formulas, not measurements.
 */
#include "recording/work.h"

#include "recording/lit.h"

#include <string.h>

typedef enum formula {
    PER_ELEMENT, /* factor × elements of the larger side */
    NO_WORK,     /* views: no data is read or written */
    MATMUL,      /* a × b are inputs `first` and `first` + 1 */
    LINEAR,      /* x, weight [N, K] */
    CONV,        /* input, weight */
    CONV_BACK,   /* gradient, input, weight */
    ATTENTION,   /* Q, K are inputs `first` and on; × factor / 2 */
    LOOKUP       /* reads as many rows as it writes */
} formula;

static const struct {
    const char *name; /* * at the end = begins with */
    formula formula;
    uint8_t first, factor;
} operators[] = {
    {"aten::mm", MATMUL, 0, 0},
    {"aten::bmm", MATMUL, 0, 0},
    {"aten::matmul", MATMUL, 0, 0},
    {"aten::addmm", MATMUL, 1, 0},
    {"aten::addmm_", MATMUL, 1, 0},
    {"aten::_addmm_activation", MATMUL, 1, 0},
    {"aten::baddbmm", MATMUL, 1, 0},
    {"aten::baddbmm_", MATMUL, 1, 0},
    {"aten::addbmm", MATMUL, 1, 0},
    {"aten::_scaled_mm", MATMUL, 0, 0},
    {"aten::linear", LINEAR, 0, 0},
    {"aten::mkldnn_linear", LINEAR, 0, 0},
    {"aten::conv1d", CONV, 0, 0},
    {"aten::conv2d", CONV, 0, 0},
    {"aten::conv3d", CONV, 0, 0},
    {"aten::convolution", CONV, 0, 0},
    {"aten::_convolution", CONV, 0, 0},
    {"aten::cudnn_convolution", CONV, 0, 0},
    {"aten::cudnn_convolution_relu", CONV, 0, 0},
    {"aten::cudnn_convolution_add_relu", CONV, 0, 0},
    {"aten::miopen_convolution", CONV, 0, 0},
    {"aten::mkldnn_convolution", CONV, 0, 0},
    {"aten::_conv_depthwise2d", CONV, 0, 0},
    {"aten::convolution_backward", CONV_BACK, 0, 0},
    {"aten::cudnn_convolution_backward", CONV_BACK, 0, 0},
    {"aten::_scaled_dot_product_flash_attention_backward", ATTENTION, 1, 5},
    {"aten::_scaled_dot_product_efficient_attention_backward", ATTENTION, 1, 5},
    {"aten::_flash_attention_backward", ATTENTION, 1, 5},
    {"aten::_efficient_attention_backward", ATTENTION, 1, 5},
    {"aten::_scaled_dot_product_*", ATTENTION, 0, 2},
    {"aten::scaled_dot_product_attention", ATTENTION, 0, 2},
    {"aten::_flash_attention_forward", ATTENTION, 0, 2},
    {"aten::_efficient_attention_forward", ATTENTION, 0, 2},
    {"flash_attn::_flash_attn_forward", ATTENTION, 0, 2},
    {"flash_attn::_flash_attn_backward", ATTENTION, 1, 5},
    {"aten::embedding", LOOKUP, 0, 0},
    {"aten::index_select", LOOKUP, 0, 0},
    {"aten::gather", LOOKUP, 0, 0},
    {"aten::index", LOOKUP, 0, 0},
    {"aten::_embedding_bag*", LOOKUP, 0, 0},
    {"aten::native_layer_norm_backward", PER_ELEMENT, 0, 14},
    {"aten::native_layer_norm", PER_ELEMENT, 0, 8},
    {"aten::_fused_rms_norm*", PER_ELEMENT, 0, 6},
    {"aten::native_group_norm*", PER_ELEMENT, 0, 8},
    {"aten::native_batch_norm_backward", PER_ELEMENT, 0, 14},
    {"aten::native_batch_norm", PER_ELEMENT, 0, 8},
    {"aten::cudnn_batch_norm_backward", PER_ELEMENT, 0, 14},
    {"aten::cudnn_batch_norm", PER_ELEMENT, 0, 8},
    {"aten::miopen_batch_norm*", PER_ELEMENT, 0, 8},
    {"aten::_softmax_backward_data", PER_ELEMENT, 0, 4},
    {"aten::_softmax", PER_ELEMENT, 0, 5},
    {"aten::_log_softmax_backward_data", PER_ELEMENT, 0, 4},
    {"aten::_log_softmax", PER_ELEMENT, 0, 5},
    {"aten::gelu_backward", PER_ELEMENT, 0, 12},
    {"aten::gelu", PER_ELEMENT, 0, 8},
    {"aten::silu*", PER_ELEMENT, 0, 5},
    {"aten::_fused_adam*", PER_ELEMENT, 0, 4}, /* of parameter, gradient, two moments */
    {"aten::_fused_sgd*", PER_ELEMENT, 0, 2},
    {"aten::addcmul*", PER_ELEMENT, 0, 3},
    {"aten::addcdiv*", PER_ELEMENT, 0, 3},
    {"aten::view", NO_WORK, 0, 0},
    {"aten::reshape", NO_WORK, 0, 0},
    {"aten::t", NO_WORK, 0, 0},
    {"aten::transpose", NO_WORK, 0, 0},
    {"aten::permute", NO_WORK, 0, 0},
    {"aten::as_strided", NO_WORK, 0, 0},
    {"aten::slice", NO_WORK, 0, 0},
    {"aten::select", NO_WORK, 0, 0},
    {"aten::empty*", NO_WORK, 0, 0},
    {"aten::expand*", NO_WORK, 0, 0},
    {"aten::detach*", NO_WORK, 0, 0},
    {"aten::unsqueeze", NO_WORK, 0, 0},
    {"aten::squeeze", NO_WORK, 0, 0},
    {"aten::resize_*", NO_WORK, 0, 0},
    {"aten::resolve_*", NO_WORK, 0, 0},
};

static bool product(uint64_t *out, const uint64_t *dims, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(*out, dims[i], out))
            return false;
    return true;
}

typedef struct shape {
    uint64_t dims[LIT_MAX_DIMS];
    size_t n;
} shape;

static bool input_shape(shape *out, const host_io *io, size_t i)
{
    str item;
    return lit_item(io->shapes, i, &item) && lit_dims(item, out->dims, &out->n) &&
           out->n > 0;
}

/* Matmul: a is … × M × K, b is … × K × N. The batch dimensions of a count. */
static bool matmul_ops(uint64_t *out, const host_io *io, size_t first)
{
    shape a, b;
    if (!input_shape(&a, io, first) || !input_shape(&b, io, first + 1))
        return false;
    *out = 2;
    const uint64_t columns = b.n > 1 ? b.dims[b.n - 1] : 1;
    return product(out, a.dims, a.n) && !__builtin_mul_overflow(*out, columns, out);
}

static bool linear_ops(uint64_t *out, const host_io *io)
{
    shape x, weight;
    if (!input_shape(&x, io, 0) || !input_shape(&weight, io, 1))
        return false;
    *out = 2;
    return product(out, x.dims, x.n) &&
           !__builtin_mul_overflow(*out, weight.dims[0], out);
}

/* Convolution: weight is out channels × (in channels / groups) × kernel. */
static bool conv_ops(uint64_t *out, const shape *result, const shape *weight,
                     uint64_t factor)
{
    *out = factor;
    return weight->n > 1 && product(out, result->dims, result->n) &&
           product(out, weight->dims + 1, weight->n - 1);
}

static bool forward_conv_ops(uint64_t *out, const host_io *io)
{
    shape weight, result;
    str item;
    return input_shape(&weight, io, 1) && lit_item(io->out_shapes, 0, &item) &&
           lit_dims(item, result.dims, &result.n) && result.n > 0 &&
           conv_ops(out, &result, &weight, 2);
}

static bool backward_conv_ops(uint64_t *out, const host_io *io)
{
    shape gradient, weight;
    return input_shape(&gradient, io, 0) && input_shape(&weight, io, 2) &&
           conv_ops(out, &gradient, &weight, 4);
}

/* Attention: Q is batch × heads × S × D or batch × S × heads × D; K is the same with
 * T. */
static bool attention_ops(uint64_t *out, const host_io *io, size_t first, uint64_t factor)
{
    shape q, k;
    if (!input_shape(&q, io, first) || !input_shape(&k, io, first + 1) || q.n < 3 ||
        k.n != q.n)
        return false;
    uint64_t per_head = k.n == 4 && k.dims[1] != q.dims[1] ? k.dims[1] : k.dims[k.n - 2];
    *out = 2 * factor;
    return product(out, q.dims, q.n) && !__builtin_mul_overflow(*out, per_head, out);
}

static size_t find_operator(str name)
{
    const size_t n = sizeof operators / sizeof *operators;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(operators[i].name);
        const bool open = operators[i].name[length - 1] == '*';
        const str wanted = {operators[i].name, length - open};
        if (open ? str_starts(name, wanted) : str_eq(name, wanted))
            return i;
    }
    return n;
}

bool work_is_product(str name)
{
    const size_t i = find_operator(name);
    if (i == sizeof operators / sizeof *operators)
        return false;
    const formula kind = operators[i].formula;
    return kind == MATMUL || kind == LINEAR || kind == CONV || kind == CONV_BACK ||
           kind == ATTENTION;
}

bool work_of(work *out, str name, const host_io *io)
{
    const size_t i = find_operator(name);
    const bool known = i < sizeof operators / sizeof *operators;
    const formula kind = known ? operators[i].formula : PER_ELEMENT;
    if (kind == NO_WORK)
        return false;
    const lit_tensors in = lit_tensors_of(io->values),
                      to = lit_tensors_of(io->out_values);
    if (in.n + to.n == 0)
        return false;
    const uint64_t factor = known && operators[i].factor ? operators[i].factor : 1;
    const uint64_t elements =
        in.n_elements > to.n_elements ? in.n_elements : to.n_elements;
    const size_t first = known ? operators[i].first : 0;
    out->n_bytes = in.n_bytes + to.n_bytes;
    if (kind == LOOKUP)
        out->n_bytes = 2 * to.n_bytes;
    uint64_t n_ops;
    const bool counted = kind == MATMUL      ? matmul_ops(&n_ops, io, first)
                         : kind == LINEAR    ? linear_ops(&n_ops, io)
                         : kind == CONV      ? forward_conv_ops(&n_ops, io)
                         : kind == CONV_BACK ? backward_conv_ops(&n_ops, io)
                         : kind == ATTENTION ? attention_ops(&n_ops, io, first, factor)
                         : kind == LOOKUP
                             ? (n_ops = to.n_elements, true)
                             : !__builtin_mul_overflow(elements, factor, &n_ops);
    out->n_ops = counted ? n_ops : elements;
    return true;
}
