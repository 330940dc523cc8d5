/*
 * Reads a Hugging Face config.json as a model. `model_type` decides how. For a wrapper,
 * the text model is planned and timed, and its vision tower and projector are only
 * counted. An unknown type is refused by name: guessing from keys was silently wrong too
 * often.
 */
#include "hf/hf_model.h"

#include "base/file/file.h"
#include "base/number/number.h"
#include "hf/hf.h"
#include "hf/json_text.h"
#include "hw/embedded.h"
#include "workload/model_file.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* "LlamaForCausalLM" becomes "llama": without the suffix, in snake case. */
static str type_of_architecture(char to[64], str class)
{
    static const char *const suffixes[] = {
        "ForConditionalGeneration", "ForCausalLM", "LMHeadModel", "ForMaskedLM",
        "ForPreTraining",           "Model"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (str_ends(class, str_from(suffixes[i]))) {
            class.n -= strlen(suffixes[i]);
            break;
        }
    size_t n = 0;
    for (size_t i = 0; i < class.n && n < 62; i++) {
        const unsigned char c = (unsigned char)class.at[i];
        if (isupper(c) && i > 0 && islower((unsigned char)class.at[i - 1]))
            to[n++] = '_';
        to[n++] = (char)tolower(c);
    }
    return (str){to, n};
}

/* The file's model type, or that of its first architecture; empty if it has neither. */
static str find_type(const conf_node *map, char to[64])
{
    const conf_node *type = conf_find(map, "model_type");
    if (type != NULL && type->kind == CONF_SCALAR && type->text.n > 0)
        return type->text;
    const conf_node *list = conf_find(map, "architectures");
    if (list != NULL && list->kind == CONF_LIST && list->n > 0 &&
        list->items[0]->kind == CONF_SCALAR)
        return type_of_architecture(to, list->items[0]->text);
    return (str){"", 0};
}

static void use_defaults_of(hf_block *b, str type)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", STR_ARG(type));
    hf_use_defaults(b, name);
}

static halley_status read_decoder(halley_model *out, hf_shape *shape, hf_block *b,
                                  const hf_type *type, arena *memory)
{
    use_defaults_of(b, str_from(type->defaults != NULL ? type->defaults : type->name));
    TRY(hf_shape_read(shape, b, type, memory));
    hf_shape_to_model(out, shape);
    b->params = hf_shape_params(shape);
    b->active_params = hf_shape_active_params(shape);
    if (shape->mtp_layers > 0)
        import_note(b->import,
                    "%u prediction layer%s (multi-token prediction) are not counted.",
                    shape->mtp_layers, shape->mtp_layers == 1 ? "" : "s");
    return HALLEY_OK;
}

static halley_status refuse_type(const hf_block *b, str type)
{
    const char *nearest = hf_type_nearest(type);
    return conf_error(b->file, b->map, b->err, HALLEY_ENOTFOUND,
                      "model type \"%.*s\" is not known%s%s. Describe it as a halley "
                      "model (halley help model)",
                      STR_ARG(type), nearest != NULL ? "; nearest: " : "",
                      nearest != NULL ? nearest : "");
}

static void count_vision(hf_block *b, const hf_wrapper *w, const hf_shape *text)
{
    char buffer[64];
    hf_block vision = hf_sub_block(b, "vision_config", NULL);
    if (vision.map == NULL)
        return;
    str type = find_type(vision.map, buffer);
    if (type.n == 0 || hf_tower_params(&(hf_block){.status = HALLEY_EINVAL}, type) < 0)
        type = str_from(w->vision_type);
    use_defaults_of(&vision, type);
    const double tower = hf_tower_params(&vision, type);
    if (tower < 0) {
        import_note(b->import,
                    "The vision tower (%.*s) is not described: it is neither counted nor "
                    "timed.",
                    STR_ARG(type));
        return;
    }
    const double more = tower + w->projector(b, &vision, text);
    b->status = vision.status;
    b->params += more;
    import_note(b->import, "The vision tower (%s B parameters) is not timed.",
                number_fixed(more / 1e9, 2).at);
}

static halley_status read_wrapper(halley_model *out, hf_block *b, const hf_wrapper *w,
                                  arena *memory)
{
    char buffer[64];
    hf_block text = hf_sub_block(b, "text_config", NULL);
    str type = str_from(w->text_type);
    if (text.map == NULL && !w->text_on_top)
        text.map = &(conf_node){.kind = CONF_MAP}; /* all values are defaults */
    else if (text.map == NULL)
        text.map = b->map, text.around = NULL;
    else if (find_type(text.map, buffer).n > 0)
        type = find_type(text.map, buffer);
    const hf_type *row = hf_type_find(type);
    if (row == NULL)
        return refuse_type(&text, type);
    hf_shape shape;
    TRY(read_decoder(out, &shape, &text, row, memory));
    b->params = text.params;
    b->active_params = text.active_params;
    count_vision(b, w, &shape);
    return b->status;
}

/* Refuse configurations that are stored next to a model's and are passed by mistake. */
static halley_status refuse_stranger(const conf_file *file, halley_error *err)
{
    static const struct {
        const char *key, *sentence;
    } strangers[] = {
        {"weight_map", "this looks like an index of weight files; give the config.json "
                       "next to it"},
        {"peft_type", ""}, /* below */
        {"tokenizer_class", "this looks like tokenizer_config.json; give the config.json "
                            "next to it"},
        {"_from_model_config", "this looks like generation_config.json; give the "
                               "config.json next to it"},
        {"do_sample",
         "this looks like generation_config.json; give the config.json next to "
         "it"},
        {"eos_token_id", "this looks like generation_config.json; give the config.json "
                         "next to it"},
        {"dim", "this looks like Meta's params.json; give the Hugging Face config.json"},
    };
    const conf_node *rank = conf_find(file->root, "r");
    uint64_t lora = 16;
    if (rank != NULL && rank->kind == CONF_SCALAR)
        str_to_u64(rank->text, &lora);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        const bool is_shape = conf_find(file->root, "hidden_size") != NULL;
        if (conf_find(file->root, strangers[i].key) == NULL || is_shape)
            continue;
        if (strcmp(strangers[i].key, "peft_type") == 0)
            return conf_error(
                file, file->root, err, HALLEY_EFORMAT,
                "this looks like a LoRA adapter; give the base model with -m, "
                "and --lora %u",
                (unsigned)lora);
        return conf_error(file, file->root, err, HALLEY_EFORMAT, "%s",
                          strangers[i].sentence);
    }
    return conf_error(file, file->root, err, HALLEY_EFORMAT,
                      "the configuration has no model_type: which architecture is it?");
}

static halley_status read_typed(halley_model *out, hf_block *b, arena *memory)
{
    char buffer[64];
    if (conf_find(b->map, "_class_name") != NULL) {
        TRY(hf_diffusers_read(out, b));
        b->active_params = b->params;
        return HALLEY_OK;
    }
    const str type = find_type(b->map, buffer);
    if (type.n == 0)
        return refuse_stranger(b->file, b->err);
    import_add(b->import, HALLEY_IMPORT_READ, STR("model_type"), type);
    const hf_wrapper *wrapper = hf_wrapper_find(type);
    if (wrapper != NULL) {
        use_defaults_of(b, type);
        return read_wrapper(out, b, wrapper, memory);
    }
    const hf_type *row = hf_type_find(type);
    hf_shape shape;
    if (row != NULL)
        return read_decoder(out, &shape, b, row, memory);
    const hf_other *other = hf_other_find(type);
    if (other == NULL)
        return refuse_type(b, type);
    use_defaults_of(b, type);
    other->read(b, out);
    b->active_params = b->params;
    return b->status;
}

/* This is not the training sequence: it is the maximum in the file, limited to usual
 * lengths. */
static void assume_sequence(halley_model *m, hf_block *b)
{
    enum { USUAL = 8192 };
    static const char original[] = "original_max_position_embeddings";
    if (m->seq > 0)
        return;
    hf_block text = hf_sub_block(b, "text_config", NULL);
    hf_block *from = text.map != NULL ? &text : b;
    const uint32_t most = hf_whole(from,
                                   "max_position_embeddings n_positions seq_length "
                                   "max_seq_len model_max_length",
                                   USUAL);
    hf_block rope = hf_sub_block(from, "rope_scaling", NULL);
    uint32_t seq = most < USUAL ? most : USUAL;
    const uint32_t first = hf_whole(
        rope.map != NULL && hf_has(&rope, original) ? &rope : from, original, seq);
    seq = first > 0 && first < seq ? first : seq;
    m->seq = seq;
    m->positions = most;
    char shown[80];
    if (seq < most)
        snprintf(shown, sizeof shown, "%u (the model allows %u)", seq, most);
    else
        snprintf(shown, sizeof shown, "%u", seq);
    import_add(b->import, HALLEY_IMPORT_ASSUMED, STR("seq"), str_from(shown));
}

halley_status import_hf_read(halley_model *out, halley_import *import,
                             const conf_file *file, halley_error *err)
{
    const cluster_embedded *text = cluster_embedded_find("data/hf-defaults.json");
    assert(text != NULL);
    conf_file defaults;
    TRY(conf_parse(&defaults, (str){text->text, text->n}, text->path, err));
    hf_block b = {.file = file,
                  .map = file->root,
                  .all_defaults = &defaults,
                  .import = import,
                  .err = err};
    arena memory = {0};
    halley_status status = read_typed(out, &b, &memory);
    if (status == HALLEY_OK)
        assume_sequence(out, &b);
    if (status == HALLEY_OK)
        status = b.status;
    if (status == HALLEY_OK)
        status = halley_model_check(out, err);
    if (status == HALLEY_OK) { /* biases, norms, towers: what the fields do not express */
        out->extra_params = b.params - halley_model_params(out);
        out->extra_active_params = b.active_params - halley_model_active_params(out);
        hf_note_rest(import, file->root);
    }
    if (status == HALLEY_OK && import->failed)
        status = error_nomem(err);
    arena_fini(&memory);
    conf_fini(&defaults);
    return status;
}

/* halley's files have `name` or `kind`. Configurations of Hugging Face and diffusers name
 * their class. A JSON file with neither is one that is stored next to such a
 * configuration. */
static bool is_hugging_face(const conf_file *file)
{
    if (file->root->kind != CONF_MAP)
        return false;
    static const char *const marks[] = {"model_type", "architectures", "_class_name"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (conf_find(file->root, marks[i]) != NULL)
            return true;
    return str_ends(str_from(file->path), STR(".json")) &&
           conf_find(file->root, "name") == NULL && conf_find(file->root, "kind") == NULL;
}

static bool is_json_name(const char *path)
{
    const str s = str_from(path);
    return str_ends(s, STR(".json")) || str_ends(s, STR(".json.gz"));
}

/* Parse the text as JSON or as YAML. */
static halley_status parse_hf_text(conf_file *out, str text, const char *path,
                                   halley_error *err)
{
    const str body = str_trim(text);
    return is_json_name(path) || (body.n > 0 && body.at[0] == '{')
               ? import_json_parse(out, text, path, err)
               : conf_parse(out, text, path, err);
}

static halley_status open_hf_file(conf_file *out, const format_source *from,
                                  halley_error *err)
{
    if (!from->is_on_disk)
        return parse_hf_text(out, from->text, from->path, err);
    return is_json_name(from->path) || file_is_folder(from->path)
               ? import_json_load(out, from->path, err)
               : conf_load(out, from->path, err);
}

static halley_status read_hf_file(void *out, const format_row *row,
                                  const format_source *from, halley_error *err)
{
    const workload_foreign *const to = out;
    conf_file file;
    TRY(open_hf_file(&file, from, err));
    *to->notes = import_new(row->doc);
    halley_status status = *to->notes == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK && file.root->kind != CONF_MAP)
        status = conf_error(&file, file.root, err, HALLEY_EFORMAT,
                            "a model file is a map of keys");
    if (status == HALLEY_OK) {
        workload_model_name(to->model, from->path);
        status = import_hf_read(to->model, *to->notes, &file, err);
    }
    conf_fini(&file);
    return status;
}

static const format_row hf_row = {.name = "hf",
                                  .doc = "Hugging Face configuration",
                                  .is_map = true,
                                  .read = read_hf_file};

/* A folder holds config.json. JSON that cannot be parsed is reported by the reader. */
static const format_row *detect_hf(str text, const char *path)
{
    conf_file file;
    if (text.n == 0 && file_is_folder(path))
        return &hf_row;
    const halley_status status = parse_hf_text(&file, text, path, NULL);
    if (status != HALLEY_OK)
        return is_json_name(path) && status != HALLEY_ENOMEM ? &hf_row : NULL;
    const bool is = is_hugging_face(&file);
    conf_fini(&file);
    return is ? &hf_row : NULL;
}

static const format_row *const rows[] = {&hf_row, NULL};
const format_set hf_formats = {FORMAT_MODEL, rows, detect_hf};
