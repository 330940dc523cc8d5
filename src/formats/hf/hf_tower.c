/*
 * Wrappers: a text model with a vision tower and a projector between them. Towers are
 * counted, not timed.
 *
 *   h  width of the tower
 *   f  its feed-forward width
 *   L  layers
 *   c  channels
 *   p  patch size
 *   n  patches, (image / p)^2
 *   B  one layer with biases and two layer norms
 */
#include "hf/hf.h"

#include <math.h>
#include <stddef.h>

/* Keys that nearly all towers share. */
typedef struct tower {
    double h, f, layers, channels, patch, image, patches;
} tower;

static tower read_tower(hf_block *v)
{
    tower t = {.h = hf_whole_needed(v, "hidden_size"),
               .f = hf_whole(v, "intermediate_size", 0),
               .layers = hf_whole_needed(v, "num_hidden_layers depth"),
               .channels = hf_whole(v, "num_channels in_channels in_chans", 3),
               .patch = hf_whole_needed(v, "patch_size spatial_patch_size"),
               .image = hf_whole(v, "image_size", 0)};
    const double side = t.patch > 0 ? floor(t.image / t.patch) : 0;
    t.patches = side * side;
    return t;
}

static double patch_weights(const tower *t)
{
    return t->channels * t->patch * t->patch * t->h;
}

/* Pooling of the patches by queries: attention, an MLP, a norm, and the probe. */
static double siglip_head(const tower *t)
{
    return t->h + 4 * t->h * t->h + 4 * t->h + 2 * t->h * t->f + t->f + t->h + 2 * t->h;
}

static double count_siglip(hf_block *v)
{
    const tower t = read_tower(v);
    double p = patch_weights(&t) + t.h + t.patches * t.h +
               t.layers * hf_plain_layer_params(t.h, t.f) + 2 * t.h;
    return p + (hf_flag(v, "vision_use_head", true) ? siglip_head(&t) : 0);
}

static double count_clip(hf_block *v)
{
    const tower t = read_tower(v);
    return patch_weights(&t) + t.h + (t.patches + 1) * t.h +
           t.layers * hf_plain_layer_params(t.h, t.f) + 4 * t.h;
}

static double count_pixtral(hf_block *v)
{
    const tower t = read_tower(v);
    return patch_weights(&t) + t.h + t.layers * (4 * t.h * t.h + 3 * t.h * t.f + 2 * t.h);
}

static double count_llama4_vision(hf_block *v)
{
    const tower t = read_tower(v);
    const double in = hf_whole(v, "projector_input_dim", 4096);
    const double out = hf_whole(v, "projector_output_dim", 4096);
    return patch_weights(&t) + t.h + (t.patches + 1) * t.h +
           t.layers * hf_plain_layer_params(t.h, t.f) + 4 * t.h + t.f * in + out * out;
}

/* Qwen's merger of `merge` patches into one token of width `out`. */
static double count_merger(double h, double merge, double out)
{
    const double wide = h * merge;
    return wide * wide + wide + wide * out + out;
}

static double count_qwen2_vision(hf_block *v)
{
    const double h = hf_whole(v, "embed_dim", 1280), layers = hf_whole(v, "depth", 32);
    const double f = h * hf_real(v, "mlp_ratio", 4);
    const double patch = hf_whole(v, "patch_size spatial_patch_size", 14);
    const double channels = hf_whole(v, "in_channels in_chans num_channels", 3);
    const double side = hf_whole(v, "spatial_merge_size", 2);
    return 2 * channels * patch * patch * h + layers * hf_plain_layer_params(h, f) +
           count_merger(h, side * side, hf_whole(v, "hidden_size", 3584)) + 2 * h;
}

static double count_qwen25_vision(hf_block *v)
{
    const double h = hf_whole(v, "hidden_size", 1280), layers = hf_whole(v, "depth", 32);
    const double f = hf_whole(v, "intermediate_size", 3420);
    const double patch = hf_whole(v, "patch_size spatial_patch_size", 14);
    const double channels = hf_whole(v, "in_channels in_chans num_channels", 3);
    const double side = hf_whole(v, "spatial_merge_size", 2);
    const double out = hf_whole(v, "out_hidden_size", 3584);
    return 2 * channels * patch * patch * h +
           layers * (4 * h * h + 4 * h + 3 * h * f + 2 * f + h + 2 * h) + h +
           count_merger(h, side * side, out);
}

static double count_qwen3_vision(hf_block *v)
{
    const double h = hf_whole(v, "hidden_size", 1152), layers = hf_whole(v, "depth", 27);
    const double f = hf_whole(v, "intermediate_size", 4304);
    const double patch = hf_whole(v, "patch_size spatial_patch_size", 16);
    const double channels = hf_whole(v, "in_channels in_chans num_channels", 3);
    const double side = hf_whole(v, "spatial_merge_size", 2);
    const double out = hf_whole(v, "out_hidden_size", 3584);
    const conf_node *deep = hf_node(v, "deepstack_visual_indexes");
    const double n_deep = deep != NULL && deep->kind == CONF_LIST ? deep->n : 0;
    const double merger = count_merger(h, side * side, out);
    return 2 * channels * patch * patch * h + h +
           hf_whole(v, "num_position_embeddings", 2304) * h +
           layers * hf_plain_layer_params(h, f) + 2 * h + merger +
           n_deep * (merger + 2 * h * side * side);
}

static double count_mllama_vision(hf_block *v)
{
    const tower t = read_tower(v);
    const double global = hf_whole(v, "num_global_layers", 8);
    const double tiles = hf_whole(v, "max_num_tiles", 4), n = t.patches + 1;
    const conf_node *ratios = hf_node(v, "supported_aspect_ratios");
    const double a =
        (ratios != NULL && ratios->kind == CONF_LIST ? (double)ratios->n : 8) + 1;
    const double layer = 4 * t.h * t.h + 2 * t.h * t.f + t.f + t.h + 4 * t.h;
    return patch_weights(&t) + t.h + (t.layers + global) * layer + 2 * global + 4 * t.h +
           n * t.h + 1 + a * tiles * n * t.h + 2 * (a * tiles * t.h + 1);
}

/* InternViT: scaled residuals, RMS or layer norms, optional norms of q and k. */
static double count_internvl(hf_block *v)
{
    const tower t = read_tower(v);
    const bool rms = str_eq(hf_text(v, "norm_type", STR("layer_norm")), STR("rms_norm"));
    const double attention = 4 * t.h * t.h + t.h +
                             (hf_flag(v, "attention_bias", false) ? 3 * t.h : 0) +
                             (hf_flag(v, "use_qk_norm", false) ? 2 * t.h : 0);
    const double layer = attention + 2 * t.h * t.f + t.f + t.h + (rms ? 2 : 4) * t.h +
                         2 * t.h; /* the scales of both residuals */
    return patch_weights(&t) + 2 * t.h + t.layers * layer +
           (hf_flag(v, "use_mask_token", false) ? t.h : 0) +
           (hf_flag(v, "use_absolute_position_embeddings", true) ? (t.patches + 1) * t.h
                                                                 : 0) +
           (hf_flag(v, "use_mean_pooling", true) ? 0 : 2 * t.h);
}

static double count_idefics3(hf_block *v)
{
    const tower t = read_tower(v);
    return patch_weights(&t) + t.h + t.patches * t.h +
           t.layers * hf_plain_layer_params(t.h, t.f) + 2 * t.h;
}

typedef struct tower_row {
    const char *type;
    double (*count)(hf_block *v);
} tower_row;
static const tower_row towers[] = {
    {"siglip_vision_model", count_siglip},
    {"clip_vision_model", count_clip},
    {"pixtral", count_pixtral},
    {"llama4_vision_model", count_llama4_vision},
    {"qwen2_vl", count_qwen2_vision},
    {"qwen2_5_vl", count_qwen25_vision},
    {"qwen3_vl", count_qwen3_vision},
    {"qwen3_vl_moe", count_qwen3_vision},
    {"qwen3_5", count_qwen3_vision},
    {"qwen3_5_moe", count_qwen3_vision},
    {"mllama_vision_model", count_mllama_vision},
    {"internvl_vision", count_internvl},
    {"idefics3", count_idefics3},
    {"idefics3_vision", count_idefics3},
    {"smolvlm_vision", count_idefics3},
};

double hf_tower_params(hf_block *vision, str type)
{
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (str_eq(type, str_from(towers[i].type)))
            return towers[i].count(vision);
    return -1;
}

static double tower_width(hf_block *v)
{
    return hf_whole_needed(v, "hidden_size");
}

static double no_projector(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w, (void)v, (void)text;
    return 0;
}

static double project_gemma3(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w;
    const double width = tower_width(v);
    return width * text->hidden + width;
}

static double project_llava(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w;
    const double h = text->hidden;
    return tower_width(v) * h + h + h * h + h;
}

static double project_mistral3(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w;
    const double width = tower_width(v), h = text->hidden;
    return width + 4 * width * width + width * h + h * h;
}

static double project_paligemma(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w;
    return tower_width(v) * text->hidden + text->hidden;
}

static double project_llama4(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w;
    return hf_whole(v, "vision_output_dim", 4096) * text->hidden;
}

static double project_mllama(hf_block *w, hf_block *v, const hf_shape *text)
{
    (void)w;
    return hf_whole(v, "vision_output_dim", 7680) * text->hidden + text->hidden;
}

/* Adds a learned token for the end of an image's rows. */
static double project_llava_next(hf_block *w, hf_block *v, const hf_shape *text)
{
    return project_llava(w, v, text) + text->hidden;
}

static double project_internvl(hf_block *w, hf_block *v, const hf_shape *text)
{
    const double ratio = hf_real(w, "downsample_ratio", 0.5);
    const double side = ratio > 0 ? floor(1 / ratio) : 1;
    const double wide = tower_width(v) * side * side, h = text->hidden;
    return 2 * wide + wide * h + h + h * h + h;
}

static double project_idefics3(hf_block *w, hf_block *v, const hf_shape *text)
{
    const double side = hf_whole(w, "scale_factor", 2);
    return tower_width(v) * side * side * text->hidden;
}

static const hf_wrapper wrappers[] = {
    {"gemma3", "gemma3_text", "siglip_vision_model", false, project_gemma3},
    {"gemma4", "gemma4_text", "gemma4_vision", false, no_projector},
    {"llama4", "llama4_text", "llama4_vision_model", false, project_llama4},
    {"mistral3", "mistral", "pixtral", false, project_mistral3},
    {"llava", "llama", "clip_vision_model", false, project_llava},
    {"paligemma", "gemma", "siglip_vision_model", false, project_paligemma},
    {"mllama", "mllama_text_model", "mllama_vision_model", false, project_mllama},
    {"qwen2_vl", "qwen2_vl_text", "qwen2_vl", true, no_projector},
    {"qwen2_5_vl", "qwen2_5_vl_text", "qwen2_5_vl", true, no_projector},
    {"qwen3_vl", "qwen3_vl_text", "qwen3_vl", false, no_projector},
    {"qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_vl_moe", false, no_projector},
    {"qwen3_5", "qwen3_5_text", "qwen3_5", false, no_projector},
    {"qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_moe", false, no_projector},
    {"llava_next", "llama", "clip_vision_model", false, project_llava_next},
    {"llava_onevision", "qwen2", "siglip_vision_model", false, project_llava_next},
    {"internvl", "qwen2", "internvl_vision", false, project_internvl},
    {"idefics3", "llama", "idefics3_vision", false, project_idefics3},
    {"smolvlm", "llama", "smolvlm_vision", false, project_idefics3},
    {"glm4v", "glm4v_text", "glm4v_vision", false, no_projector},
    {"kimi_k25", "kimi_k2", "kimi_k25_vision", false, no_projector},
    {"glm4v_moe", "glm4v_moe_text", "glm4v_moe_vision", false, no_projector},
};

const hf_wrapper *hf_wrapper_get(size_t i)
{
    return i < sizeof wrappers / sizeof *wrappers ? &wrappers[i] : NULL;
}

const hf_wrapper *hf_wrapper_find(str name)
{
    for (size_t i = 0; hf_wrapper_get(i) != NULL; i++)
        if (str_eq(name, str_from(wrappers[i].name)))
            return &wrappers[i];
    return NULL;
}
