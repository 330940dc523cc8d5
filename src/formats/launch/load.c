/*
 * Detects the kind of a launch file and calls its reader. The content decides, not the
 * name. JSON has known keys, TOML has tables, YAML has blocks, and a printed list has
 * dots. Any other text with Megatron's arguments is a script.
 */
#include "base/file/file.h"
#include "base/limit.h"
#include "hf/json_text.h"
#include "launch/tree.h"
#include "workload/model_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum launch_kind {
    LAUNCH_NONE,
    LAUNCH_MEGATRON_SCRIPT,
    LAUNCH_MEGATRON_YAML,
    LAUNCH_MEGATRON_LIST,
    LAUNCH_MEGATRON_JSON,
    LAUNCH_DEEPSPEED,
    LAUNCH_NEMO,
    LAUNCH_TITAN,
    LAUNCH_MAXTEXT,
    LAUNCH_MAXTEXT_SCRIPT,
    LAUNCH_PYTHON,
    LAUNCH_NEOX,
    LAUNCH_FOUNDRY,
} launch_kind;

static const char *const kind_names[] = {
    [LAUNCH_NONE] = "",
    [LAUNCH_MEGATRON_SCRIPT] = "Megatron-LM script",
    [LAUNCH_MEGATRON_YAML] = "Megatron-LM arguments (YAML)",
    [LAUNCH_MEGATRON_LIST] = "Megatron-LM arguments (printed list)",
    [LAUNCH_MEGATRON_JSON] = "Megatron-LM arguments (JSON)",
    [LAUNCH_DEEPSPEED] = "DeepSpeed configuration",
    [LAUNCH_NEMO] = "NeMo or Megatron-Bridge configuration",
    [LAUNCH_TITAN] = "torchtitan configuration",
    [LAUNCH_MAXTEXT] = "MaxText configuration",
    [LAUNCH_MAXTEXT_SCRIPT] = "MaxText command line",
    [LAUNCH_PYTHON] = "Python recipe",
    [LAUNCH_NEOX] = "GPT-NeoX configuration",
    [LAUNCH_FOUNDRY] = "LLM Foundry configuration",
};

/* The stack whose constants apply, of the newest release. */
static const char *const kind_stacks[] = {
    [LAUNCH_NONE] = "",
    [LAUNCH_MEGATRON_SCRIPT] = "megatron-core-2025",
    [LAUNCH_MEGATRON_YAML] = "megatron-core-2025",
    [LAUNCH_MEGATRON_LIST] = "megatron-core-2025",
    [LAUNCH_MEGATRON_JSON] = "megatron-core-2025",
    [LAUNCH_DEEPSPEED] = "deepspeed",
    [LAUNCH_NEMO] = "megatron-bridge",
    [LAUNCH_TITAN] = "torchtitan-2026",
    [LAUNCH_MAXTEXT] = "maxtext-2024",
    [LAUNCH_MAXTEXT_SCRIPT] = "maxtext-2024",
    [LAUNCH_PYTHON] = "",
    [LAUNCH_NEOX] = "",
    [LAUNCH_FOUNDRY] = "llm-foundry-2023",
};

static bool has_launch_key(const conf_node *map, const char *key)
{
    return conf_find(map, key) != NULL;
}

static launch_kind find_json_kind(const conf_node *root)
{
    if (root->kind != CONF_MAP || has_launch_key(root, "model_type") ||
        has_launch_key(root, "architectures") || has_launch_key(root, "_class_name"))
        return LAUNCH_NONE;
    if (has_launch_key(root, "zero_optimization") ||
        has_launch_key(root, "train_batch_size") ||
        has_launch_key(root, "train_micro_batch_size_per_gpu"))
        return LAUNCH_DEEPSPEED;
    if (has_launch_key(root, "num_layers") && has_launch_key(root, "hidden_size") &&
        (has_launch_key(root, "micro_batch_size") ||
         has_launch_key(root, "tensor_model_parallel_size")))
        return LAUNCH_MEGATRON_JSON;
    return LAUNCH_NONE;
}

static bool has_dashed_key(const conf_node *map)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (str_starts(map->keys[i], STR("--")))
            return true;
    return false;
}

static launch_kind find_yaml_kind(const conf_node *root)
{
    if (root->kind != CONF_MAP)
        return LAUNCH_NONE;
    const conf_node *model = conf_find(root, "model");
    const bool has_model = model != NULL && model->kind == CONF_MAP;
    if (has_launch_key(root, "MODEL_ARGS") || has_dashed_key(root))
        return LAUNCH_MEGATRON_YAML;
    if (has_launch_key(root, "base_config") ||
        has_launch_key(root, "per_device_batch_size") ||
        has_launch_key(root, "base_emb_dim") || has_launch_key(root, "max_target_length"))
        return LAUNCH_MAXTEXT;
    if (has_model &&
        (has_launch_key(model, "tensor_model_parallel_size") ||
         has_launch_key(model, "_target_") || has_launch_key(model, "micro_batch_size")))
        return LAUNCH_NEMO;
    if (launch_tree_find(root, "trainer.strategy") != NULL ||
        has_launch_key(root, "ddp") || has_launch_key(root, "comm_overlap"))
        return LAUNCH_NEMO;
    if (has_launch_key(root, "tensor_model_parallel_size") ||
        has_launch_key(root, "language_model"))
        return has_launch_key(root, "num_layers") ||
                       has_launch_key(root, "language_model")
                   ? LAUNCH_MEGATRON_YAML
                   : LAUNCH_NEMO;
    if (has_launch_key(root, "num_layers") && has_launch_key(root, "hidden_size"))
        return LAUNCH_MEGATRON_YAML;
    return LAUNCH_NONE;
}

/* "  num_layers ...................... 24" */
static bool split_printed(str line, str *name, str *value)
{
    const char *dots = NULL;
    for (size_t i = 0; i + 3 < line.n && dots == NULL; i++)
        if (memcmp(line.at + i, " ...", 4) == 0)
            dots = line.at + i;
    if (dots == NULL)
        return false;
    size_t end = (size_t)(dots - line.at), start = end;
    while (start > 0 &&
           (isalnum((unsigned char)line.at[start - 1]) || line.at[start - 1] == '_'))
        start--;
    size_t after = end + 1;
    while (after < line.n && line.at[after] == '.')
        after++;
    *name = (str){line.at + start, end - start};
    *value = str_trim((str){line.at + after, line.n - after});
    return end > start && after < line.n;
}

static bool is_printed_list(str text)
{
    str line, name, value;
    for (uint32_t n = 0; n < 100000 && str_next(&text, '\n', &line); n++)
        if (split_printed(line, &name, &value) &&
            (str_eq(name, STR("num_layers")) || str_eq(name, STR("hidden_size"))))
            return true;
    return false;
}

/* True if a line consists only of a table's name. */
static bool has_toml_table(str text)
{
    str line;
    while (str_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (line.n > 2 && line.at[0] == '[' && isalpha((unsigned char)line.at[1]) &&
            memchr(line.at, ']', line.n) != NULL && memchr(line.at, ',', line.n) == NULL)
            return true;
        if (line.n > 0 && line.at[0] != '#')
            return false;
    }
    return false;
}

static bool is_python(str text, const char *name)
{
    if (str_ends(str_from(name), STR(".py")))
        return true;
    return (str_starts(text, STR("import ")) || str_starts(text, STR("from ")) ||
            str_contains(text, STR("\nimport ")) || str_contains(text, STR("\nfrom "))) &&
           str_contains(text, STR("\ndef "));
}

static bool is_text(str text)
{
    const size_t n = text.n < 65536 ? text.n : 65536;
    size_t strange = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == 0)
            return false;
        strange += c < 32 && c != '\n' && c != '\t' && c != '\r' && c != 27;
    }
    return strange * 20 <= n;
}

static bool has_megatron_argument(str text)
{
    static const char *const names[] = {"--num-layers",  "--hidden-size",
                                        "--num_layers",  "--tensor-model-parallel-size",
                                        "--hidden_size", "--micro-batch-size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_contains(text, str_from(names[i])))
            return true;
    return false;
}

/* True for a command with several of MaxText's keys as name=value. */
static bool has_maxtext_words(str text)
{
    uint32_t n = 0;
    for (size_t i = 0; launch_maxtext_marks[i] != NULL; i++)
        n += str_contains(text, str_from(launch_maxtext_marks[i]));
    return n >= 2 || (n == 1 && str_contains(text, STR("MaxText")));
}

static launch_kind find_script_kind(str text)
{
    if (has_megatron_argument(text))
        return LAUNCH_MEGATRON_SCRIPT;
    return has_maxtext_words(text) ? LAUNCH_MAXTEXT_SCRIPT : LAUNCH_NONE;
}

/* A shell script, detected by its first line or, if nothing else decides, by its name. A
 * script without a known program gets an error about that, not about broken YAML. */
static bool is_shell_script(str body, const char *name)
{
    const char *end = memchr(body.at, '\n', body.n);
    const str first = {body.at, end != NULL ? (size_t)(end - body.at) : body.n};
    return (str_starts(first, STR("#!")) && str_contains(first, STR("sh"))) ||
           str_ends(str_from(name), STR(".sh")) ||
           str_ends(str_from(name), STR(".slurm"));
}

static str drop_mark(str text)
{
    return str_starts(text, STR("\xef\xbb\xbf")) ? (str){text.at + 3, text.n - 3} : text;
}

/* Detect programs whose keys look like Megatron's or DeepSpeed's but have other meanings.
 * Reading half of them would be silently wrong. */
static launch_kind find_foreign_kind(str text)
{
    static const struct {
        const char *mark;
        launch_kind kind;
    } marks[] = {{"pipe_parallel_size\":", LAUNCH_NEOX},
                 {"pipe_parallel_size:", LAUNCH_NEOX},
                 {"pipe-parallel-size\":", LAUNCH_NEOX},
                 {"pipe-parallel-size:", LAUNCH_NEOX},
                 {"global_train_batch_size:", LAUNCH_FOUNDRY},
                 {"device_train_microbatch_size:", LAUNCH_FOUNDRY}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (str_contains(text, str_from(marks[i].mark)))
            return marks[i].kind;
    return LAUNCH_NONE;
}

/* Detect the kind from the content. If the kind has a tree (*has_tree), *tree is the
 * file, and the caller owns it. A tree that cannot be parsed is a launch file only if its
 * name indicates this. */
static launch_kind find_launch_kind(str text, const char *name, conf_file *tree,
                                    bool *has_tree)
{
    *has_tree = false;
    const str body = str_trim(text);
    launch_kind kind = LAUNCH_NONE;
    if (body.n == 0 || !is_text(body))
        return kind;
    if (!str_starts(body, STR("#!")) && body.n < 1 << 20 &&
        find_foreign_kind(body) != LAUNCH_NONE)
        return find_foreign_kind(body);
    if (body.at[0] == '{') {
        if (import_json_parse(tree, text, name, NULL) != HALLEY_OK)
            return kind;
        kind = find_json_kind(tree->root);
        *has_tree = kind != LAUNCH_NONE;
    } else if (is_python(body, name)) {
        return LAUNCH_PYTHON;
    } else if (has_toml_table(body)) {
        kind = LAUNCH_TITAN;
    } else if (is_printed_list(body)) {
        return LAUNCH_MEGATRON_LIST;
    } else if (!str_starts(body, STR("#!")) && !str_starts(body, STR("--")) &&
               memchr(body.at, ':', body.n) != NULL && body.n < 1 << 20 &&
               !str_contains(body, STR("\n#SBATCH")) &&
               conf_parse_foreign(tree, text, name, NULL) == HALLEY_OK) {
        kind = find_yaml_kind(tree->root);
        *has_tree = kind != LAUNCH_NONE;
        if (tree->root->kind != CONF_MAP && find_script_kind(body) != LAUNCH_NONE) {
            conf_fini(tree); /* one long text: a script that contains a colon */
            return find_script_kind(body);
        }
    } else {
        kind = find_script_kind(body);
        return kind == LAUNCH_NONE && is_shell_script(body, name) ? LAUNCH_MEGATRON_SCRIPT
                                                                  : kind;
    }
    if (!*has_tree && kind == LAUNCH_NONE)
        conf_fini(tree);
    return kind;
}

/* ---- wrappings of Megatron's arguments ---- */

static void read_printed(launch_args *a, str text)
{
    str line, name, value;
    a->dashes = "";
    while (str_next(&text, '\n', &line))
        if (split_printed(line, &name, &value) && a->list.n < 1000)
            launch_args_add(a, name, value, 0);
    launch_megatron_read(a);
}

/* Keep the last part of nested keys: Megatron's own YAML has blocks. */
static void drop_blocks(launch_args *a)
{
    for (size_t i = 0; i < a->list.n; i++) {
        str *name = &a->list.at[i].name;
        const char *dot = memrchr(name->at, '.', name->n);
        if (dot != NULL)
            *name = (str){dot + 1, name->n - (size_t)(dot + 1 - name->at)};
    }
}

static void read_tree_arguments(launch_args *a, const conf_file *file)
{
    const conf_node *args = launch_tree_find(file->root, "MODEL_ARGS");
    const conf_node *from = args != NULL ? args : file->root;
    a->dashes = from->kind == CONF_MAP && has_dashed_key(from) ? "--" : "";
    launch_tree_flatten(a, from);
    drop_blocks(a);
    launch_megatron_read(a);
}

/* Parse a here-document as JSON: unknown parts become the word unknown. */
static bool parse_document(conf_file *out, str document)
{
    strbuf text = {0};
    bool quoted = false, unknown = false;
    for (size_t i = 0; i < document.n; i++) {
        const char c = document.at[i];
        quoted = c == '"' ? !quoted : quoted;
        if (c == SHELL_UNKNOWN && !unknown)
            strbuf_add(&text, quoted ? STR("unknown") : STR("\"unknown\""));
        unknown = c == SHELL_UNKNOWN || (unknown && c != SHELL_KNOWN);
        if (!unknown && c != SHELL_KNOWN && c != SHELL_ELEMENT)
            strbuf_add_char(&text, c);
    }
    const bool ok =
        !text.failed &&
        import_json_parse(out, strbuf_str(&text), "DeepSpeed.json", NULL) == HALLEY_OK;
    strbuf_fini(&text);
    return ok;
}

static void read_documents(launch_args *a, const shell_script *script)
{
    for (size_t i = 0; i < script->documents.n && a->status == HALLEY_OK; i++) {
        const str text = str_trim(script->documents.at[i]);
        conf_file file;
        if (text.n == 0 || text.at[0] != '{')
            continue;
        if (!parse_document(&file, text)) {
            import_note(a->launch->import,
                        "A here-document that looks like JSON cannot be read as JSON.");
            continue;
        }
        if (find_json_kind(file.root) == LAUNCH_DEEPSPEED)
            launch_deepspeed_read(a, &file);
        conf_fini(&file);
    }
}

static void get_folder(char *to, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(to, size, ".");
    else
        snprintf(to, size, "%.*s", (int)(slash > path ? slash - path : 1), path);
}

/* Read --deepspeed_config FILE, if the name is known and the file is next to the
 * script. */
static void read_named_document(launch_args *a, const char *folder)
{
    const launch_arg *arg = launch_args_find(a, "deepspeed-config");
    if (arg == NULL || a->status != HALLEY_OK)
        return;
    char path[4096];
    conf_file file;
    bool plain = arg->value.n > 0 && arg->value.n < 256 &&
                 memchr(arg->value.at, '/', arg->value.n) == NULL &&
                 memchr(arg->value.at, SHELL_UNKNOWN, arg->value.n) == NULL;
    if (plain)
        plain = (size_t)snprintf(path, sizeof path, "%s/%.*s", folder,
                                 STR_ARG(arg->value)) < sizeof path;
    if (!plain || !file_exists(path) ||
        import_json_load(&file, path, NULL) != HALLEY_OK) {
        import_note(
            a->launch->import,
            "The DeepSpeed configuration that the script names is not next to it and "
            "is not read.");
        return;
    }
    if (find_json_kind(file.root) == LAUNCH_DEEPSPEED)
        launch_deepspeed_read(a, &file);
    conf_fini(&file);
}

static bool has_deepspeed_document(const shell_script *script)
{
    for (size_t i = 0; i < script->documents.n; i++)
        if (str_contains(script->documents.at[i],
                         STR("train_micro_batch_size_per_gpu")) ||
            str_contains(script->documents.at[i], STR("zero_optimization")))
            return true;
    return false;
}

/* True for a file that contains only arguments. No shell reads it, so lines need no
 * backslash, and | is an ordinary character. */
static bool is_argument_file(str text)
{
    str line;
    while (str_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (line.n > 0 && line.at[0] != '#')
            return str_starts(line, STR("--"));
    }
    return false;
}

static void read_argument_file(launch_args *a, str text)
{
    strbuf words = {0};
    str line;
    while (str_next(&text, '\n', &line)) {
        for (size_t i = 0; i < line.n; i++)
            if (line.at[i] == '#' && (i == 0 || isspace((unsigned char)line.at[i - 1])))
                line.n = i;
        line = str_trim(line);
        if (line.n > 0 && line.at[line.n - 1] == '\\')
            line.n--;
        strbuf_add(&words, line);
        strbuf_add_char(&words, ' ');
    }
    a->dashes = "--";
    if (words.failed)
        a->status = error_nomem(a->err);
    launch_args_split(a, strbuf_str(&words), 0);
    if (a->status == HALLEY_OK)
        launch_megatron_read(a);
    strbuf_fini(&words); /* The arguments refer to this text. */
}

/* True if any of the arguments describes the model or the plan. */
static bool has_known_argument(const launch_args *a)
{
    for (size_t i = 0; i < a->list.n; i++) {
        const launch_key *key = launch_key_find(
            launch_megatron_keys, launch_n_megatron_keys, a->list.at[i].name);
        if (key != NULL && key->meaning != LAUNCH_FREE)
            return true;
    }
    return false;
}

static void read_script(launch_args *a, str text, bool on_disk, bool is_maxtext)
{
    shell_script script;
    char folder[4096];
    get_folder(folder, sizeof folder, a->launch->path);
    const shell_options options = {.sets = a->opts->sets,
                                   .n_sets = a->opts->n_sets,
                                   .marks = is_maxtext ? launch_maxtext_marks : NULL,
                                   .folder = on_disk ? folder : NULL,
                                   .import = a->launch->import};
    a->status = shell_script_read(&script, text, a->launch->path, &options, a->err);
    if (a->status != HALLEY_OK)
        return;
    a->script = &script;
    a->dashes = "--";
    if (is_maxtext && script.command.n > 0)
        launch_maxtext_split(a, script.command, script.command_line);
    else
        launch_args_split(a, script.command, script.command_line);
    if (script.command.n == 0 || (!is_maxtext && !has_known_argument(a)))
        launch_args_fail(a, HALLEY_EFORMAT, "no command with %s is found",
                         is_maxtext ? "per_device_batch_size= or another key of MaxText"
                                    : "--num-layers or another argument of Megatron's");
    if (a->status == HALLEY_OK && !is_maxtext)
        launch_megatron_read(a);
    if (is_maxtext) {
        /* no file next to it is read */
    } else if (a->status == HALLEY_OK && has_deepspeed_document(&script))
        read_documents(a, &script);
    else if (a->status == HALLEY_OK && on_disk)
        read_named_document(a, folder);
    a->script = NULL;
    shell_script_fini(&script);
}

/* Find a device by its usual names in the file's name or the beginning of its text. */
static void find_launch_device(halley_launch *l, str text)
{
    static const char *const devices[] = {
        "gb300", "gb200",  "b300",   "b200",   "h200", "h100", "h800", "a100",
        "v100",  "mi355x", "mi325x", "mi300x", "v6e",  "v5p",  "v5e",  "v4-"};
    char lower[8192];
    const char *slash = strrchr(l->path, '/');
    const char *base = slash != NULL ? slash + 1 : l->path;
    const int at = snprintf(lower, sizeof lower, "%s %.*s", base,
                            (int)(text.n < 7000 ? text.n : 7000), text.at);
    for (int i = 0; i < at && i < (int)sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)lower[i]);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strstr(lower, devices[i]) != NULL) {
            snprintf(l->device, sizeof l->device, "%s", devices[i]);
            return;
        }
}

static void read_launch_kind(launch_args *a, launch_kind kind, const conf_file *tree,
                             str text, bool on_disk)
{
    conf_file toml;
    switch (kind) {
    case LAUNCH_MEGATRON_SCRIPT:
        if (is_argument_file(text) && memchr(text.at, '$', text.n) == NULL)
            read_argument_file(a, text);
        else
            read_script(a, text, on_disk, false);
        break;
    case LAUNCH_MAXTEXT_SCRIPT:
        read_script(a, text, on_disk, true);
        break;
    case LAUNCH_MEGATRON_LIST:
        read_printed(a, text);
        break;
    case LAUNCH_MEGATRON_YAML:
    case LAUNCH_MEGATRON_JSON:
        read_tree_arguments(a, tree);
        break;
    case LAUNCH_DEEPSPEED:
        launch_deepspeed_read(a, tree);
        break;
    case LAUNCH_NEMO:
        launch_nemo_read(a, tree);
        break;
    case LAUNCH_MAXTEXT:
        launch_maxtext_read(a, tree);
        break;
    case LAUNCH_TITAN:
        a->status = launch_toml_parse(&toml, text, a->launch->path, a->err);
        if (a->status == HALLEY_OK) {
            launch_titan_read(a, &toml);
            conf_fini(&toml);
        }
        break;
    case LAUNCH_PYTHON:
        launch_args_fail(
            a, HALLEY_EFORMAT,
            "a Python recipe is never run; print its configuration as YAML and "
            "give that file");
        break;
    case LAUNCH_NEOX:
    case LAUNCH_FOUNDRY:
        launch_args_fail(a, HALLEY_EFORMAT,
                         "a configuration of %s is not read; give the model with -m (its "
                         "Hugging Face config.json) and the plan as options (--tp, --pp, "
                         "--zero, --micro-batch, --global-batch)",
                         kind == LAUNCH_NEOX ? "GPT-NeoX" : "LLM Foundry");
        break;
    case LAUNCH_NONE:
        launch_args_fail(a, HALLEY_EFORMAT, "this is no launch file that halley knows");
        break;
    }
}

static halley_status read_text(halley_launch *l, str text, bool on_disk,
                               const halley_launch_opts *opts, halley_error *err)
{
    conf_file tree = {0};
    bool has_tree;
    text = drop_mark(text);
    const launch_kind kind = find_launch_kind(text, l->path, &tree, &has_tree);
    l->import = import_new(kind_names[kind]);
    l->stack = kind_stacks[kind];
    halley_status status = HALLEY_OK;
    if (l->import == NULL) {
        status = error_nomem(err);
    } else {
        launch_args a = {.launch = l, .opts = opts, .dashes = "", .err = err};
        find_launch_device(l, text);
        read_launch_kind(&a, kind, &tree, text, on_disk);
        launch_args_fini(&a);
        status = a.status;
        if (status == HALLEY_OK && l->import->failed)
            status = error_nomem(err);
    }
    if (has_tree)
        conf_fini(&tree);
    if (status == HALLEY_OK && l->has_model && l->model.name[0] == '\0')
        workload_model_name(&l->model, l->path);
    return status;
}

static halley_status make_launch(halley_launch **out, str text, const char *name,
                                 bool on_disk, const halley_launch_opts *opts,
                                 halley_error *err)
{
    static const halley_launch_opts nothing = {0};
    halley_launch *l = calloc(1, sizeof *l);
    if (l == NULL)
        return error_nomem(err);
    l->path = arena_copy(&l->memory, str_from(name));
    const halley_status status =
        l->path == NULL
            ? error_nomem(err)
            : read_text(l, text, on_disk, opts != NULL ? opts : &nothing, err);
    if (status != HALLEY_OK) {
        error_at_file(err, name);
        halley_launch_free(l);
        return status;
    }
    *out = l;
    return HALLEY_OK;
}

halley_status halley_launch_load(halley_launch **out, const char *path,
                                 const halley_launch_opts *opts, halley_error *err)
{
    file_input in;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, err));
    const halley_status status =
        make_launch(out, (str){(const char *)in.at, in.n}, path, true, opts, err);
    file_input_close(&in);
    return status;
}

halley_status halley_launch_parse(halley_launch **out, const char *text, size_t n,
                                  const char *name, const halley_launch_opts *opts,
                                  halley_error *err)
{
    return make_launch(out, (str){text, n}, name, false, opts, err);
}

static bool launch_text_is(str text, const char *name)
{
    conf_file tree = {0};
    bool has_tree;
    const launch_kind kind = find_launch_kind(drop_mark(text), name, &tree, &has_tree);
    if (has_tree)
        conf_fini(&tree);
    return kind != LAUNCH_NONE;
}

halley_status halley_launch_detect(bool *is, const char *path, halley_error *err)
{
    *is = false;
    if (!file_exists(path) || file_is_folder(path))
        return HALLEY_OK;
    file_input in;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, err));
    *is = launch_text_is((str){(const char *)in.at, in.n}, path);
    file_input_close(&in);
    return HALLEY_OK;
}

void halley_launch_free(halley_launch *launch)
{
    if (launch == NULL)
        return;
    halley_model_fini(&launch->model);
    halley_import_free(launch->import);
    arena_fini(&launch->memory);
    free(launch);
}

/* Move the model of a launch file to `to`, and free the launch. */
static halley_status take_model(const workload_foreign *to, halley_launch *launch,
                                halley_error *err)
{
    halley_status status = HALLEY_OK;
    if (!launch->has_model) {
        status =
            error_set(err, HALLEY_EINVAL,
                      "this is a %s, which holds no model: give it with --plan, and a "
                      "model with -m",
                      launch->import->kind);
        error_at_file(err, launch->path);
    } else {
        *to->model = launch->model;
        launch->model.ops = NULL;
        *to->notes = launch->import;
        launch->import = NULL;
    }
    halley_launch_free(launch);
    return status;
}

static halley_status read_launch_model(void *out, const format_row *row,
                                       const format_source *from, halley_error *err)
{
    halley_launch *launch = NULL;
    (void)row;
    TRY(from->is_on_disk ? halley_launch_load(&launch, from->path, NULL, err)
                         : halley_launch_parse(&launch, from->text.at, from->text.n,
                                               from->path, NULL, err));
    return take_model(out, launch, err);
}

static const format_row launch_row = {.name = "launch",
                                      .doc = "launch file of a training program",
                                      .read = read_launch_model};

static const format_row *detect_launch(str text, const char *path)
{
    return text.n > 0 && launch_text_is(text, path) ? &launch_row : NULL;
}

static const format_row *const rows[] = {&launch_row, NULL};
const format_set launch_formats = {FORMAT_MODEL, rows, detect_launch};
