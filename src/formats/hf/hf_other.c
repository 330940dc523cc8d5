/*
 * Models that are not decoders: encoders, encoder-decoders, image models, pairs of
 * towers, diffusion transformers. All are counted. Those whose layers form a plain stack
 * can be timed as a transformer with non-causal attention. The others are refused by
 * name.
 */
#include "base/number/whole.h"
#include "hf/hf.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* A stack of layers with biases that the engines can time. */
static void set_stack(halley_model *m, double layers, double hidden, double heads,
                      double ffn, double vocab)
{
    m->kind = HALLEY_TRANSFORMER;
    m->layers = whole_u32(layers);
    m->hidden = whole_u32(hidden);
    m->heads = whole_u32(heads);
    m->ffn = whole_u32(ffn);
    m->vocab = whole_u32(vocab);
    m->not_causal = true;
    m->tied = true;
}

static void set_untimed(halley_model *m, const char *why)
{
    snprintf(m->untimed, sizeof m->untimed, "%s", why);
}

static void read_bert(hf_block *b, halley_model *m)
{
    const double h = hf_whole_needed(b, "hidden_size");
    const double layers = hf_whole_needed(b, "num_hidden_layers");
    const double f = hf_whole(b, "intermediate_size", whole_u32(4 * h));
    const double v = hf_whole_needed(b, "vocab_size");
    const double positions = hf_whole(b, "max_position_embeddings", 512);
    const double types = hf_whole(b, "type_vocab_size", 2);
    set_stack(m, layers, h, hf_whole_needed(b, "num_attention_heads"), f, v);
    b->params = (v + positions + types) * h + 2 * h +
                layers * hf_plain_layer_params(h, f) + h * h + h;
}

static void read_electra(hf_block *b, halley_model *m)
{
    const double h = hf_whole_needed(b, "hidden_size");
    const double layers = hf_whole_needed(b, "num_hidden_layers");
    const double f = hf_whole(b, "intermediate_size", whole_u32(4 * h));
    const double v = hf_whole_needed(b, "vocab_size");
    const double e = hf_whole(b, "embedding_size", 128);
    const double rows = v + hf_whole(b, "max_position_embeddings", 512) +
                        hf_whole(b, "type_vocab_size", 2);
    set_stack(m, layers, h, hf_whole_needed(b, "num_attention_heads"), f, v);
    b->params = rows * e + 2 * e + (e != h ? e * h + h : 0) +
                layers * hf_plain_layer_params(h, f);
}

/* pos_att_type is a list or "p2c|c2p". */
static double count_position_kinds(hf_block *b)
{
    const conf_node *node = hf_node(b, "pos_att_type");
    if (node == NULL)
        return 0;
    if (node->kind == CONF_LIST)
        return node->n;
    double n = node->text.n > 0 ? 1 : 0;
    for (size_t i = 0; i < node->text.n; i++)
        n += node->text.at[i] == '|';
    return n;
}

static double count_deberta_relative(hf_block *b, double h, double layers,
                                     double positions)
{
    if (!hf_flag(b, "relative_attention", false))
        return 0;
    const double buckets = hf_real(b, "position_buckets", -1);
    double p = 2 * (buckets < 1 ? positions : buckets) * h;
    if (str_contains(hf_text(b, "norm_rel_ebd", STR("none")), STR("layer_norm")))
        p += 2 * h;
    if (!hf_flag(b, "share_att_key", false))
        p += layers * (h * h + h) * count_position_kinds(b);
    return p;
}

static void read_deberta(hf_block *b, halley_model *m)
{
    const double h = hf_whole_needed(b, "hidden_size");
    const double layers = hf_whole_needed(b, "num_hidden_layers");
    const double f = hf_whole(b, "intermediate_size", whole_u32(4 * h));
    const double v = hf_whole_needed(b, "vocab_size");
    const double e = hf_whole(b, "embedding_size", whole_u32(h));
    const double positions = hf_whole(b, "max_position_embeddings", 512);
    const double kernel = hf_whole(b, "conv_kernel_size", 0);
    double p =
        v * e + (e != h ? e * h : 0) + 2 * h + layers * hf_plain_layer_params(h, f);
    p += hf_flag(b, "position_biased_input", true) ? positions * e : 0;
    p += hf_whole(b, "type_vocab_size", 0) * e;
    p += count_deberta_relative(b, h, layers, positions);
    p += kernel > 0 ? kernel * h * h + 3 * h : 0;
    set_stack(m, layers, h, hf_whole_needed(b, "num_attention_heads"), f, v);
    b->params = p;
    set_untimed(m, "disentangled attention");
}

static double count_t5_mlp(hf_block *b, double h, bool gated_if_absent)
{
    const double f = hf_whole_needed(b, "d_ff");
    const str kind = hf_text(b, "feed_forward_proj", STR(""));
    const bool gated = kind.n > 0 ? str_starts(kind, STR("gated")) : gated_if_absent;
    return (gated ? 3 : 2) * h * f;
}

static void count_t5(hf_block *b, halley_model *m, bool is_mt5)
{
    const double h = hf_whole_needed(b, "d_model");
    const double heads = hf_whole_needed(b, "num_heads");
    const double inner = heads * hf_whole_needed(b, "d_kv");
    const double encoder = hf_whole_needed(b, "num_layers");
    const double decoder =
        hf_has(b, "num_decoder_layers") ? hf_whole(b, "num_decoder_layers", 0) : encoder;
    const double v = hf_whole_needed(b, "vocab_size");
    const double mlp = count_t5_mlp(b, h, is_mt5);
    const double buckets = hf_whole(b, "relative_attention_num_buckets", 32);
    const bool tied = hf_flag(b, "tie_word_embeddings", !is_mt5);
    b->params = v * h * (tied ? 1 : 2) + encoder * (4 * h * inner + mlp + 2 * h) +
                decoder * (8 * h * inner + mlp + 3 * h) + 2 * h + 2 * buckets * heads;
    set_stack(m, encoder + decoder, h, heads, 4 * h, v);
    set_untimed(m, "an encoder and a decoder");
}

static void read_t5(hf_block *b, halley_model *m)
{
    count_t5(b, m, false);
}

static void read_mt5(hf_block *b, halley_model *m)
{
    count_t5(b, m, true);
}

/* Layers of BART and Whisper; `attention`: the parameters of one attention. */
static double count_seq2seq(hf_block *b, double h, double attention)
{
    const double fe = hf_whole_needed(b, "encoder_ffn_dim");
    const double fd = hf_whole_needed(b, "decoder_ffn_dim");
    return hf_whole_needed(b, "encoder_layers") *
               (attention + 2 * h * fe + fe + h + 4 * h) +
           hf_whole_needed(b, "decoder_layers") *
               (2 * attention + 2 * h * fd + fd + h + 6 * h);
}

static void set_seq2seq(hf_block *b, halley_model *m, double h, double v)
{
    set_stack(m, hf_whole(b, "encoder_layers", 1) + hf_whole(b, "decoder_layers", 1), h,
              hf_whole_needed(b, "encoder_attention_heads"), 4 * h, v);
    set_untimed(m, "an encoder and a decoder");
}

static void read_bart(hf_block *b, halley_model *m)
{
    const double h = hf_whole_needed(b, "d_model"), v = hf_whole_needed(b, "vocab_size");
    const double positions = hf_whole(b, "max_position_embeddings", 1024);
    b->params =
        v * h + 2 * (positions + 2) * h + 4 * h + count_seq2seq(b, h, 4 * h * h + 4 * h);
    set_seq2seq(b, m, h, v);
}

static void read_whisper(hf_block *b, halley_model *m)
{
    const double h = hf_whole_needed(b, "d_model"), v = hf_whole_needed(b, "vocab_size");
    const double mel = hf_whole(b, "num_mel_bins", 80);
    b->params = v * h + count_seq2seq(b, h, 4 * h * h + 3 * h) + 3 * mel * h + h +
                3 * h * h + h + hf_whole(b, "max_source_positions", 1500) * h + 2 * h +
                hf_whole(b, "max_target_positions", 448) * h + 2 * h;
    set_seq2seq(b, m, h, v);
}

static double square(double x)
{
    return x * x;
}

static void read_vit(hf_block *b, halley_model *m)
{
    const double h = hf_whole_needed(b, "hidden_size");
    const double layers = hf_whole_needed(b, "num_hidden_layers");
    const double f = hf_whole(b, "intermediate_size", whole_u32(4 * h));
    const double patch = hf_whole_needed(b, "patch_size");
    const double n =
        square(floor(hf_whole(b, "image_size", 224) / (patch > 0 ? patch : 1)));
    const double channels = hf_whole(b, "num_channels", 3);
    const conf_node *labels = hf_node(b, "id2label");
    const double classes = labels != NULL && labels->kind == CONF_MAP ? labels->n : 0;
    b->params = channels * patch * patch * h + 2 * h + (n + 1) * h +
                layers * hf_plain_layer_params(h, f) + 2 * h + classes * (h + 1);
    set_stack(m, layers, h, hf_whole_needed(b, "num_attention_heads"), f, classes);
    m->seq = whole_u32(n + 1);
}

/* A text tower of CLIP or SigLIP. */
static double count_text_tower(hf_block *t)
{
    const double h = hf_whole_needed(t, "hidden_size");
    const double f = hf_whole_needed(t, "intermediate_size");
    const double rows =
        hf_whole_needed(t, "vocab_size") + hf_whole(t, "max_position_embeddings", 77);
    return rows * h +
           hf_whole_needed(t, "num_hidden_layers") * hf_plain_layer_params(h, f) + 2 * h;
}

static void count_pair(hf_block *b, halley_model *m, const char *text_type,
                       const char *vision_type, bool projects)
{
    hf_block text = hf_sub_block(b, "text_config", text_type);
    hf_block vision = hf_sub_block(b, "vision_config", vision_type);
    const double h_text = hf_whole_needed(&text, "hidden_size");
    const double h_vision = hf_whole_needed(&vision, "hidden_size");
    double p = count_text_tower(&text) + hf_tower_params(&vision, str_from(vision_type));
    const double out = hf_whole(b, "projection_dim", 512);
    p += projects ? h_text * out + h_vision * out + 1 : h_text * h_text + h_text + 2;
    b->status = text.status != HALLEY_OK ? text.status : vision.status;
    b->params = p;
    set_stack(m, 1, h_vision, hf_whole_needed(&vision, "num_attention_heads"), 0, 0);
    set_untimed(m, "two towers");
}

static void read_clip(hf_block *b, halley_model *m)
{
    count_pair(b, m, "clip_text_model", "clip_vision_model", true);
}

static void read_siglip(hf_block *b, halley_model *m)
{
    count_pair(b, m, "siglip_text_model", "siglip_vision_model", false);
}

static const hf_other others[] = {
    {"bert", read_bert},       {"roberta", read_bert},       {"xlm-roberta", read_bert},
    {"electra", read_electra}, {"deberta-v2", read_deberta}, {"t5", read_t5},
    {"mt5", read_mt5},         {"bart", read_bart},          {"whisper", read_whisper},
    {"vit", read_vit},         {"clip", read_clip},          {"siglip", read_siglip},
};

const hf_other *hf_other_get(size_t i)
{
    return i < sizeof others / sizeof *others ? &others[i] : NULL;
}

const hf_other *hf_other_find(str name)
{
    for (size_t i = 0; hf_other_get(i) != NULL; i++)
        if (str_eq(name, str_from(others[i].name)))
            return &others[i];
    return NULL;
}

/* DiT: blocks of attention, MLP and an adaptive norm that depends on time and label. */
halley_status hf_diffusers_read(halley_model *out, hf_block *b)
{
    const str class = hf_text(b, "_class_name", STR(""));
    if (!str_eq(class, STR("DiTTransformer2DModel")) &&
        !str_eq(class, STR("Transformer2DModel")))
        hf_fail(b, NULL,
                "diffusers class \"%.*s\" is not known; halley reads "
                "DiTTransformer2DModel",
                STR_ARG(class));
    const double h = hf_whole_needed(b, "num_attention_heads") *
                     (double)hf_whole_needed(b, "attention_head_dim");
    const double layers = hf_whole_needed(b, "num_layers");
    const double classes = hf_whole(b, "num_embeds_ada_norm", 1000);
    const double patch = hf_whole(b, "patch_size", 2), in = hf_whole(b, "in_channels", 4);
    const double side = hf_whole(b, "sample_size", 32);
    const double o = hf_whole(b, "out_channels", whole_u32(in));
    const double block = 4 * (h * h + h) + 8 * h * h + 5 * h + 6 * h * h + 6 * h;
    b->params = layers * block + 256 * h + h + h * h + h + (classes + 1) * h +
                patch * patch * in * h + h +
                square(floor(side / (patch > 0 ? patch : 1))) * h + 2 * h * h + 2 * h +
                patch * patch * o * (h + 1);
    set_stack(out, layers, h, hf_whole_needed(b, "num_attention_heads"), 4 * h, 0);
    set_untimed(out, "diffusion blocks");
    return b->status;
}
