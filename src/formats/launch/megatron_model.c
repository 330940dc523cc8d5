/*
 * The model of a Megatron argument list. Absent arguments have Megatron's defaults: tied
 * embeddings, biases everywhere, layer norms, learned positions, a feed-forward without a
 * gate. The code that counts Hugging Face's configurations counts the shape.
 */
#include "base/number/number.h"
#include "base/number/whole.h"
#include "hf/hf.h"
#include "launch/args.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NO_KEY = -1 };

/* Vocabulary sizes by words in a tokenizer's type, name or path; the longest words
 * first. */
static const struct {
    const char *word;
    uint32_t size;
    const char *source;
} tokenizers[] = {
    {"llama2tokenizer", 32000, "Llama 2"},
    {"gpt2bpe", 50257, "GPT-2"},
    {"bertwordpiecelowercase", 30522, "BERT uncased"},
    {"bertwordpiececase", 28996, "BERT cased"},
    {"llama-3", 128256, "Llama 3"},
    {"llama3", 128256, "Llama 3"},
    {"llama-4", 202048, "Llama 4"},
    {"llama-2", 32000, "Llama 2"},
    {"llama2", 32000, "Llama 2"},
    {"mixtral-8x22b", 32768, "Mixtral 8x22B v0.3 tokenizer"},
    {"mixtral", 32000, "Mixtral"},
    {"mistral-7b", 32000, "Mistral 7B"},
    {"deepseekv2tokenizer", 102400, "DeepSeek-V2"},
    {"deepseekv3tokenizer", 129280, "DeepSeek-V3"},
    {"deepseek-v2-lite", 102400, "DeepSeek-V2"},
    {"deepseek-v2", 102400, "DeepSeek-V2"},
    {"distill-qwen", 151936, "Qwen 2, of a distilled DeepSeek-R1"},
    {"distill-llama", 128256, "Llama 3, of a distilled DeepSeek-R1"},
    {"deepseek-v3", 129280, "DeepSeek-V3"},
    {"deepseek-r1", 129280, "DeepSeek-V3"},
    {"qwen3", 151936, "Qwen 3"},
    {"qwen2", 151936, "Qwen 2"},
    {"gpt2", 50257, "GPT-2"},
    {"gpt-neox", 50254, "GPT-NeoX"},
    {"bloom", 250680, "BLOOM"},
};

/* The vocabulary size of a tokenizer's type or name; 0: unknown. */
static uint32_t find_vocab(str tokenizer)
{
    char lower[256];
    size_t n = 0;
    for (; n < tokenizer.n && n < sizeof lower - 1; n++)
        lower[n] =
            tokenizer.at[n] == '_' ? '-' : (char)tolower((unsigned char)tokenizer.at[n]);
    for (size_t i = 0; i < sizeof tokenizers / sizeof *tokenizers; i++)
        if (str_contains((str){lower, n}, str_from(tokenizers[i].word)))
            return tokenizers[i].size;
    return 0;
}

/* The size before padding; 0: the file names a tokenizer that halley does not know.
 * Without a tokenizer it is GPT-2's, as in Megatron's own examples. */
static uint32_t find_vocabulary(launch_args *a, bool is_bert)
{
    static const char *const names[] = {"tokenizer-type",         "tokenizer-model",
                                        "tokenizer-name-or-path", "merge-file",
                                        "patch-tokenizer-type",   "vocab-file"};
    const uint32_t stated = launch_args_whole(a, "vocab-size", 0, NO_KEY);
    if (stated > 0)
        return stated;
    bool is_named = launch_args_has(a, "tokenizer-library");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const launch_arg *arg = launch_args_find(a, names[i]);
        const uint32_t known = arg != NULL ? find_vocab(arg->value) : 0;
        is_named = is_named || arg != NULL;
        if (known > 0 && str_starts(arg->value, STR("BertWordPiece"))) /* two sentinels */
            return known + 2 + launch_args_whole(a, "vocab-extra-ids", 0, NO_KEY);
        if (known > 0)
            return known;
    }
    if (launch_args_has(a, "merge-file"))
        return 50257; /* only GPT-2's kind of tokenizer has a merge file */
    const launch_arg *file = launch_args_find(a, "vocab-file");
    if (is_bert && file != NULL)
        return str_contains(file->value, STR("cased")) &&
                       !str_contains(file->value, STR("uncased"))
                   ? 28996
                   : 30522;
    return is_named ? 0 : is_bert ? 30522 : 50257;
}

static double read_vocabulary(launch_args *a, bool is_bert)
{
    if (a->opts->vocab > 0) {
        import_add_number(a->launch->import, HALLEY_IMPORT_READ, STR("vocab"),
                          a->opts->vocab);
        return a->opts->vocab;
    }
    const uint32_t padded =
        launch_args_whole(a, "padded-vocab-size pad-vocab-size-to", 0, NO_KEY);
    if (padded > 0)
        return padded;
    const uint32_t size = find_vocabulary(a, is_bert);
    const uint32_t tp = launch_args_whole(
        a, "tensor-model-parallel-size model-parallel-size", 1, HALLEY_KEY_TP);
    double unit = launch_args_whole(a, "make-vocab-size-divisible-by", 128, NO_KEY);
    unit *= tp > 0 ? tp : 1;
    if (size > 0) {
        const double vocab = unit > 0 ? ceil(size / unit) * unit : size;
        if (!launch_args_has(a, "vocab-size"))
            import_add_number(a->launch->import, HALLEY_IMPORT_ASSUMED, STR("vocab"),
                              vocab);
        return vocab;
    }
    a->launch->lacks_vocab = true;
    if (!a->opts->may_lack_vocab)
        launch_args_fail(a, HALLEY_EINVAL,
                         "the vocabulary is not stated (the tokenizer is a file of the "
                         "user's); give --vocab N");
    else
        import_note(a->launch->import,
                    "The vocabulary is not stated: parameters are counted without "
                    "embeddings. Give --vocab N.");
    return 0;
}

/* "[0]*3+[1]*58": one bit per layer. This parses [ ] * + ( ) and numbers. */
typedef struct freq_reader {
    str rest;
    uint8_t *out;
    uint32_t n, depth;
    bool ok;
} freq_reader;

static void skip_freq_blanks(freq_reader *f)
{
    while (f->rest.n > 0 && (isspace((unsigned char)f->rest.at[0]) ||
                             f->rest.at[0] == '"' || f->rest.at[0] == '\''))
        f->rest = (str){f->rest.at + 1, f->rest.n - 1};
}

static bool take_freq_char(freq_reader *f, char c)
{
    skip_freq_blanks(f);
    if (f->rest.n == 0 || f->rest.at[0] != c)
        return false;
    f->rest = (str){f->rest.at + 1, f->rest.n - 1};
    return true;
}

static uint32_t take_freq_number(freq_reader *f)
{
    skip_freq_blanks(f);
    uint32_t value = 0;
    size_t n = 0;
    while (n < f->rest.n && isdigit((unsigned char)f->rest.at[n]) && value < 100000)
        value = value * 10 + (uint32_t)(f->rest.at[n++] - '0');
    f->rest = (str){f->rest.at + n, f->rest.n - n};
    f->ok = f->ok && n > 0;
    return value;
}

static void read_freq_sum(freq_reader *f);

static void read_freq_term(freq_reader *f)
{
    const uint32_t from = f->n;
    if (++f->depth > 16) {
        f->ok = false;
    } else if (take_freq_char(f, '(')) {
        read_freq_sum(f);
        f->ok = f->ok && take_freq_char(f, ')');
    } else if (take_freq_char(f, '[')) {
        do {
            const uint32_t bit = take_freq_number(f);
            if (f->ok && f->n < HF_MAX_LAYERS)
                f->out[f->n++] = bit != 0;
        } while (f->ok && take_freq_char(f, ','));
        f->ok = f->ok && take_freq_char(f, ']');
    } else {
        f->ok = false;
    }
    f->depth--;
    while (f->ok && take_freq_char(f, '*')) {
        const uint32_t length = f->n - from;
        const uint32_t times = take_freq_number(f);
        if (times == 0)
            f->n = from;
        for (uint32_t i = 1; i < times && f->n + length <= HF_MAX_LAYERS; i++) {
            memcpy(f->out + f->n, f->out + from, length);
            f->n += length;
        }
    }
}

static void read_freq_sum(freq_reader *f)
{
    read_freq_term(f);
    while (f->ok && take_freq_char(f, '+'))
        read_freq_term(f);
}

static void place_listed_experts(launch_args *a, hf_shape *s, str list)
{
    uint8_t bits[HF_MAX_LAYERS] = {0};
    freq_reader f = {.rest = list, .out = bits, .ok = true};
    read_freq_sum(&f);
    skip_freq_blanks(&f);
    if (!f.ok || f.rest.n > 0 || f.n != s->n_layers) {
        launch_args_fail(
            a, HALLEY_EFORMAT,
            "%smoe-layer-freq must be a number or a list of %u layers such as "
            "[0]*3+[1]*%u, is \"%.*s\"",
            a->dashes, s->n_layers, s->n_layers > 3 ? s->n_layers - 3 : 1, STR_ARG(list));
        return;
    }
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].ffn = bits[i] ? HF_MOE : HF_MLP;
}

/* Megatron-DeepSpeed: by default, one expert per token, and experts in every second
 * layer. */
static void place_deepspeed_experts(launch_args *a, hf_shape *s)
{
    const uint32_t every = launch_args_whole(a, "expert-interval", 2, NO_KEY);
    s->top_k = launch_args_whole(a, "topk", 1, NO_KEY);
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].ffn = every > 0 && (i + 1) % every == 0 ? HF_MOE : HF_MLP;
    const str type = launch_args_text(a, "mlp-type", STR("standard"), NO_KEY);
    if (!str_eq(type, STR("standard")))
        launch_args_fail(a, HALLEY_EINVAL, "%smlp-type %.*s is not modelled", a->dashes,
                         STR_ARG(type));
}

/* Refuse a list: there must be one number for all layers. */
static void refuse_expert_list(launch_args *a)
{
    const launch_arg *arg = launch_args_find(a, "num-experts");
    str rest = arg != NULL ? str_trim(arg->value) : (str){"", 0}, first, next;
    if (!str_next(&rest, ' ', &first))
        return;
    while (str_next(&rest, ' ', &next))
        if (next.n > 0 && !str_eq(next, first))
            launch_args_fail(
                a, HALLEY_EINVAL,
                "%snum-experts %.*s: layers with different numbers of experts "
                "are not modelled",
                a->dashes, STR_ARG(arg->value));
}

static void read_megatron_experts(launch_args *a, hf_shape *s)
{
    refuse_expert_list(a);
    s->experts = launch_args_whole(a, "num-experts", 0, NO_KEY);
    if (s->experts <= 1 || a->status != HALLEY_OK) {
        s->experts = 0;
        return;
    }
    s->top_k = launch_args_whole(a, "moe-router-topk", 2, NO_KEY);
    s->expert_ffn =
        launch_args_whole(a, "moe-ffn-hidden-size", whole_u32(s->ffn), NO_KEY);
    s->shared_ffn =
        launch_args_whole(a, "moe-shared-expert-intermediate-size", 0, NO_KEY);
    s->shared_gate = launch_args_has(a, "moe-shared-expert-gate");
    s->moe_latent = launch_args_whole(a, "moe-latent-size", 0, NO_KEY);
    s->router_bias = launch_args_has(a, "moe-router-enable-expert-bias") ? s->experts : 0;
    s->expert_bias = s->mlp_bias;
    if (launch_args_has(a, "moe-expert-parallel-size deepspeed deepspeed-config")) {
        place_deepspeed_experts(a, s);
        return;
    }
    const str freq = str_trim(launch_args_text(a, "moe-layer-freq", STR("1"), NO_KEY));
    uint64_t every;
    if (!str_to_u64(freq, &every)) {
        place_listed_experts(a, s, freq);
        return;
    }
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].ffn = every > 0 && i % every == 0 ? HF_MOE : HF_MLP;
}

static void read_megatron_attention(launch_args *a, hf_shape *s)
{
    s->heads = launch_args_whole(a, "num-attention-heads", 0, NO_KEY);
    if (s->heads <= 0 && a->status == HALLEY_OK)
        launch_args_fail(a, HALLEY_EFORMAT, "%snum-attention-heads is missing",
                         a->dashes);
    s->kv_heads = s->heads;
    if (launch_args_has(a, "group-query-attention"))
        s->kv_heads = launch_args_whole(a, "num-query-groups", 1, NO_KEY);
    else
        s->kv_heads =
            launch_args_whole(a, "num-key-value-heads", whole_u32(s->heads), NO_KEY);
    if (launch_args_has(a, "attention-output-gate"))
        s->wide_q = 2;
    if (str_eq(launch_args_text(a, "softmax-type", STR(""), NO_KEY), STR("learnable"))) {
        s->extra += s->n_layers * s->heads; /* attention sinks */
        s->extra_active = s->extra;
    }
    s->head_dim = launch_args_whole(a, "kv-channels", 0, NO_KEY);
    if (s->head_dim <= 0 && s->heads > 0)
        s->head_dim = s->hidden / s->heads;
    if (launch_args_has(a, "qk-layernorm"))
        s->qk_norm = HF_QK_HEAD;
    if (!launch_args_has(a, "multi-latent-attention"))
        return;
    s->q_rank = launch_args_whole(a, "q-lora-rank", 0, NO_KEY);
    s->kv_rank = launch_args_whole(a, "kv-lora-rank", 32, NO_KEY);
    s->nope = launch_args_whole(a, "qk-head-dim", 128, NO_KEY);
    s->rope = launch_args_whole(a, "qk-pos-emb-head-dim", 64, NO_KEY);
    s->v_head = launch_args_whole(a, "v-head-dim", 128, NO_KEY);
    s->qk_norm = HF_QK_NONE; /* norms of the ranks, which are counted anyway */
}

/* Layer norms of query and key have biases, too. */
static void add_norm_biases(hf_shape *s)
{
    double n = 0;
    for (uint32_t i = 0; i < s->n_layers; i++)
        n += s->layers[i].mixer == HF_ATTENTION;
    if (s->qk_norm == HF_QK_HEAD && s->norm == HF_LAYER)
        s->extra = s->extra_active = s->extra + n * 2 * s->head_dim;
}

/* --window-size 127,0 covers 128 tokens. With skip frequency N, every N-th layer has full
 * attention. */
static void read_megatron_window(launch_args *a, hf_shape *s)
{
    str list = launch_args_text(a, "window-size", STR(""), NO_KEY), first;
    uint64_t left;
    if (list.n == 0)
        return;
    while (list.n > 0 && (list.at[0] == '(' || list.at[0] == ' '))
        list = (str){list.at + 1, list.n - 1};
    size_t n = 0;
    while (n < list.n && isdigit((unsigned char)list.at[n]))
        n++;
    first = (str){list.at, n};
    if (!str_to_u64(first, &left) || left > INT32_MAX)
        return; /* -1: no window */
    s->window = (uint32_t)left + 1;
    const uint32_t every = launch_args_whole(a, "window-attn-skip-freq", 0, NO_KEY);
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].windowed = every == 0 || (i + 1) % every != 0;
}

static void read_positions(launch_args *a, hf_shape *s)
{
    const str type =
        launch_args_choice(a, "position-embedding-type", STR("learned_absolute"), NO_KEY);
    const bool none = launch_args_has(a, "no-position-embedding") ||
                      launch_args_has(a, "use-rotary-position-embeddings") ||
                      !str_starts(type, STR("learned"));
    const uint32_t rows = launch_args_whole(a, "max-position-embeddings", 0, NO_KEY);
    if (!none)
        s->positions = rows * s->hidden;
}

/* The layers of a hybrid: one letter each; | and / separate stages and prediction
 * layers. */
static str get_hybrid_pattern(launch_args *a)
{
    return launch_args_text(a, "hybrid-layer-pattern hybrid-override-pattern", STR(""),
                            NO_KEY);
}

static uint32_t count_hybrid_layers(str pattern)
{
    uint32_t n = 0;
    for (size_t i = 0; i < pattern.n && pattern.at[i] != '/'; i++)
        n += strchr("M*-EG", pattern.at[i]) != NULL;
    return n;
}

static void place_hybrid_layers(launch_args *a, hf_shape *s, str pattern)
{
    uint32_t n = 0;
    for (size_t i = 0; i < pattern.n && n < s->n_layers && pattern.at[i] != '/'; i++) {
        hf_layer layer = {HF_NO_MIXER, HF_NO_FFN, false};
        switch (pattern.at[i]) {
        case 'M':
            layer.mixer = HF_MAMBA2;
            break;
        case '*':
            layer.mixer = HF_ATTENTION;
            break;
        case '-':
            layer.ffn = HF_MLP;
            break;
        case 'E':
            layer.ffn = HF_MOE;
            break;
        case '|':
            continue;
        default:
            launch_args_fail(
                a, HALLEY_EFORMAT,
                "the hybrid layer pattern has \"%c\"; halley knows M, *, -, E",
                pattern.at[i]);
            return;
        }
        s->layers[n++] = layer;
    }
    s->norms = 1;
    s->mamba.state = launch_args_whole(a, "mamba-state-dim", 128, NO_KEY);
    s->mamba.groups = launch_args_whole(a, "mamba-num-groups", 8, NO_KEY);
    const uint32_t head = launch_args_whole(a, "mamba-head-dim", 64, NO_KEY);
    s->mamba.heads = launch_args_whole(
        a, "mamba-num-heads", (uint32_t)(2 * s->hidden / (head > 0 ? head : 64)), NO_KEY);
    s->mamba.inner = s->mamba.heads * head;
    s->mamba.conv = 4;
    s->mamba.conv_bias = true;
}

static void read_feed_forward(launch_args *a, hf_shape *s)
{
    const bool swiglu = launch_args_has(a, "swiglu");
    s->gated = swiglu || launch_args_has(a, "quick-geglu gated-linear-unit") ||
               launch_args_has(a, "glu-activation");
    launch_args_has(a, "squared-relu");
    const double usual = swiglu ? floor(4 * s->hidden * 2 / 3 / 64) * 64 : 4 * s->hidden;
    s->ffn = launch_args_whole(a, "ffn-hidden-size", whole_u32(usual), NO_KEY);
}

static void read_biases(launch_args *a, hf_shape *s)
{
    const bool biased = !launch_args_has(a, "disable-bias-linear");
    s->qkv_bias = biased || launch_args_has(a, "add-qkv-bias");
    s->o_bias = s->mlp_bias = biased;
    const str norm = launch_args_text(a, "normalization", STR("LayerNorm"), NO_KEY);
    s->norm = str_contains(norm, STR("RMS")) || str_contains(norm, STR("rms")) ? HF_RMS
                                                                               : HF_LAYER;
    launch_args_has(a, "apply-layernorm-1p");
    s->norms += launch_args_has(a, "post-self-attn-layernorm");
    s->norms += launch_args_has(a, "post-mlp-layernorm");
}

static bool starts_program(const launch_args *a, const char *word)
{
    return str_contains(a->program, str_from(word));
}

static uint32_t read_megatron_layers(launch_args *a)
{
    const str pattern = get_hybrid_pattern(a);
    const uint32_t n = launch_args_whole(
        a, "num-layers decoder-num-layers encoder-num-layers", 0, NO_KEY);
    return pattern.n > 0 ? count_hybrid_layers(pattern) : n;
}

static bool read_megatron_sizes(launch_args *a, hf_shape *s)
{
    s->n_layers = read_megatron_layers(a);
    s->hidden = launch_args_whole(a, "hidden-size", 0, NO_KEY);
    if (a->status == HALLEY_OK && (s->n_layers == 0 || s->n_layers > HF_MAX_LAYERS))
        launch_args_fail(a, HALLEY_EFORMAT,
                         s->n_layers == 0 ? "%snum-layers is missing"
                                          : "%snum-layers is larger than any model's",
                         a->dashes);
    if (a->status == HALLEY_OK && (s->hidden <= 0 || s->hidden > 1 << 24))
        launch_args_fail(a, HALLEY_EFORMAT,
                         s->hidden <= 0 ? "%shidden-size is missing"
                                        : "%shidden-size is larger than any model's",
                         a->dashes);
    if (a->status != HALLEY_OK)
        return false;
    s->layers = arena_array(&a->launch->memory, s->n_layers, sizeof *s->layers);
    for (uint32_t i = 0; s->layers != NULL && i < s->n_layers; i++)
        s->layers[i] = (hf_layer){HF_ATTENTION, HF_MLP, false};
    if (s->layers == NULL)
        a->status = error_nomem(a->err);
    return s->layers != NULL;
}

/* BERT: token types, a pooler, the heads for masked words and for the next sentence. */
static void adjust_bert(hf_shape *s, halley_model *m)
{
    const double h = s->hidden;
    m->not_causal = true;
    s->tied = true;
    s->extra = s->extra_active =
        s->extra + 2 * h + h * h + h + h * h + h + 2 * h + s->vocab + 2 * h + 2;
}

/* T5: add an encoder with the same number of layers. The decoder's layers also attend to
 * its output and have a third norm. The head has a bias. */
static void add_encoder(launch_args *a, hf_shape *s)
{
    const double n = launch_args_whole(a, "encoder-num-layers", s->n_layers, NO_KEY);
    const double h = s->hidden, q = s->heads * s->head_dim,
                 kv = s->kv_heads * s->head_dim;
    const double attention =
        2 * h * q + 2 * h * kv + (s->qkv_bias ? q + 2 * kv : 0) + (s->o_bias ? h : 0);
    const double norm = hf_norm_params(s);
    const double encoder = n * (attention + hf_mlp_params(s, s->ffn) + 2 * norm) + norm;
    s->extra += encoder + s->n_layers * (attention + norm) + s->vocab;
    s->extra_active = s->extra;
}

/* A multimodal language model (examples/multimodal): seq-length counts the tokens of an
 * image, decoder-seq-length those of the language model. */
static uint32_t read_multimodal_sequence(launch_args *a, uint32_t seq)
{
    if (!launch_args_has(a, "language-model-type vision-model-type"))
        return seq;
    const str tower = launch_args_text(a, "vision-model-type", STR("clip"), NO_KEY);
    import_note(a->launch->import,
                "The vision tower (%.*s) is neither counted nor timed.", STR_ARG(tower));
    return launch_args_whole(a, "decoder-seq-length", seq, HALLEY_KEY_SEQ);
}

static uint32_t read_sequence(launch_args *a)
{
    const uint32_t seq = read_multimodal_sequence(
        a, launch_args_whole(a, "seq-length encoder-seq-length", 0, HALLEY_KEY_SEQ));
    launch_args_find(a, "decoder-seq-length");
    if (seq > 0 || a->status != HALLEY_OK)
        return seq;
    const uint32_t height = launch_args_whole(a, "img-h", 0, NO_KEY);
    const uint32_t width = launch_args_whole(a, "img-w", height, NO_KEY);
    const uint32_t patch = launch_args_whole(a, "patch-dim", 16, NO_KEY);
    return patch > 0 ? height / patch * (width / patch) : 0;
}

/* --spec MODULE FUNCTION: layers described by Python code. Those of Mamba hybrids are
 * known from their pattern. */
static void note_specification(launch_args *a)
{
    const str spec = launch_args_text(a, "spec", STR(""), NO_KEY);
    if (spec.n > 0 && !str_contains(spec, STR("mamba")) &&
        !str_contains(spec, STR("hybrid")) && !str_contains(spec, STR("local")))
        import_note(a->launch->import,
                    "The layers are those of a specification (%.*s), which is not read; "
                    "they are taken for ordinary ones.",
                    STR_ARG(spec));
}

static const char *find_untimed_kind(bool is_t5, bool is_vision)
{
    if (is_t5)
        return "an encoder and a decoder (T5)";
    return is_vision ? "a vision classifier" : NULL;
}

void launch_megatron_model(launch_args *a)
{
    hf_shape s = {.norms = 2};
    halley_model *m = &a->launch->model;
    const bool is_bert = starts_program(a, "bert");
    const bool is_t5 =
        starts_program(a, "t5") ||
        (launch_args_has(a, "encoder-num-layers") &&
         launch_args_has(a, "decoder-num-layers") && !launch_args_has(a, "num-layers"));
    const bool is_vision = starts_program(a, "vision");
    if (!read_megatron_sizes(a, &s))
        return;
    read_biases(a, &s);
    read_feed_forward(a, &s);
    read_megatron_attention(a, &s);
    read_positions(a, &s);
    read_megatron_window(a, &s);
    read_megatron_experts(a, &s);
    const str pattern = get_hybrid_pattern(a);
    if (pattern.n > 0)
        place_hybrid_layers(a, &s, pattern);
    else if (launch_args_has(a, "is-hybrid-model"))
        launch_args_fail(a, HALLEY_EINVAL,
                         "%sis-hybrid-model needs its layers: give "
                         "%shybrid-override-pattern",
                         a->dashes, a->dashes);
    note_specification(a);
    s.tied = !launch_args_has(a, "untie-embeddings-and-output-weights no-weight-tying");
    s.vocab = is_vision ? 0 : read_vocabulary(a, is_bert);
    s.mtp_layers = launch_args_whole(a, "mtp-num-layers", 0, NO_KEY);
    add_norm_biases(&s);
    if (launch_args_has(a, "embed-layernorm")) /* BLOOM */
        s.extra = s.extra_active = s.extra + 2 * s.hidden;
    if (is_t5)
        add_encoder(a, &s);
    if (is_bert)
        adjust_bert(&s, m);
    if (a->status != HALLEY_OK)
        return;
    hf_shape_to_model(m, &s);
    m->seq = read_sequence(a);
    m->sinks =
        str_eq(launch_args_text(a, "softmax-type", STR(""), NO_KEY), STR("learnable"));
    m->router_groups = launch_args_whole(a, "moe-router-num-groups", 0, NO_KEY);
    m->router_top_groups = launch_args_whole(a, "moe-router-group-topk", 0, NO_KEY);
    const char *untimed = find_untimed_kind(is_t5, is_vision);
    if (untimed != NULL)
        snprintf(m->untimed, sizeof m->untimed, "%s", untimed);
    if (s.mtp_layers > 0)
        import_note(a->launch->import,
                    "%u prediction layer%s (multi-token prediction) are not counted.",
                    s.mtp_layers, s.mtp_layers == 1 ? "" : "s");
    if (a->status == HALLEY_OK)
        a->status = halley_model_check(m, a->err);
    if (a->status != HALLEY_OK)
        return;
    m->extra_params = hf_shape_params(&s) - halley_model_params(m);
    m->extra_active_params = hf_shape_active_params(&s) - halley_model_active_params(m);
    a->launch->has_model = true;
}
