/*
 * Read ASTRA-sim 1.0 workload files. The first line names the type of parallelism with
 * its arguments, the second the number of layers. Then there is one line per layer:
 *
 *   name dependency time comm bytes time comm bytes time comm bytes update-time
 *
 * The three groups are forward, input gradient and weight gradient. COMET files have
 * operations and bytes moved before each time. Times are nanoseconds. The dependency and
 * the update time are not used; ASTRA-sim's own converter ignores them too.
 */
#include "astra/text.h"

#include <string.h>

static const struct {
    const char *name;
    text_kind kind;
} kinds[] = {
    {"MICRO", TEXT_MICRO},
    {"DATA", TEXT_DATA},
    {"MODEL", TEXT_MODEL},
    {"HYBRID_DATA_MODEL", TEXT_DATA_MODEL},
    {"HYBRID_MODEL_DATA", TEXT_MODEL_DATA},
    {"HYBRID_DLRM", TEXT_DLRM},
    {"HYBRID_DLRM_ENHANCED", TEXT_DLRM},
    {"HYBRID_TRANSFORMER", TEXT_TRANSFORMER},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", TEXT_RECOMPUTE},
    {"HYBRID_CUSTOMIZED", TEXT_CUSTOMIZED},
    {"DISTRIBUTED_INFERENCE", TEXT_INFERENCE},
};

static bool find_text_kind(str word, text_kind *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eq(word, str_from(kinds[i].name))) {
            *kind = kinds[i].kind;
            return true;
        }
    return false;
}

bool text_comm_type(str name, halley_coll_type *out)
{
    static const struct {
        const char *name;
        halley_coll_type type;
    } types[] = {{"ALLREDUCE", HALLEY_COLL_ALL_REDUCE},
                 {"ALLTOALL", HALLEY_COLL_ALL_TO_ALL},
                 {"ALLGATHER", HALLEY_COLL_ALL_GATHER},
                 {"REDUCESCATTER", HALLEY_COLL_REDUCE_SCATTER},
                 {"BROADCAST", HALLEY_COLL_BROADCAST}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(name, str_from(types[i].name))) {
            *out = types[i].type;
            return true;
        }
    return false;
}

/* Read the next word of a line. False: the line has ended. */
static bool next_text_word(str *line, str *word)
{
    size_t i = 0;
    while (i < line->n && strchr(" \t\r\f\v", line->at[i]) && line->at[i])
        i++;
    const size_t start = i;
    while (i < line->n && !(line->at[i] && strchr(" \t\r\f\v", line->at[i])))
        i++;
    *word = (str){line->at + start, i - start};
    line->at += i;
    line->n -= i;
    return word->n > 0;
}

typedef struct cursor {
    str rest; /* the rest of the file */
    uint32_t line;
    const char *path;
    halley_error *err;
} cursor;

static bool next_text_line(cursor *c, str *line)
{
    if (c->rest.n == 0)
        return false;
    const char *const end = memchr(c->rest.at, '\n', c->rest.n);
    line->at = c->rest.at;
    line->n = end ? (size_t)(end - c->rest.at) : c->rest.n;
    const size_t used = line->n + (end != NULL);
    c->rest.at += used;
    c->rest.n -= used;
    c->line++;
    return true;
}

static halley_status bad(const cursor *c, halley_status status)
{
    error_at_file(c->err, c->path);
    error_at_line(c->err, c->line, 0);
    return status;
}

enum { COLUMNS = 12, COMET_COLUMNS = 18, MAX_COLUMNS = 24 };

static halley_status take_number(const cursor *c, str word, const char *what,
                                 uint64_t *out)
{
    if (str_to_u64(word, out))
        return HALLEY_OK;
    return bad(c,
               error_set(c->err, HALLEY_EFORMAT, "%s must be a whole number, is \"%.*s\"",
                         what, STR_ARG(word)));
}

/* Read "time comm bytes" or, in COMET files, "operations bytes time comm bytes". */
static halley_status take_part(const cursor *c, const str *words, bool comet,
                               text_part *part)
{
    *part = (text_part){.comm = words[comet ? 3 : 1]};
    if (comet) {
        TRY(take_number(c, words[0], "the number of operations", &part->n_ops));
        TRY(take_number(c, words[1], "the number of bytes", &part->n_bytes));
    }
    TRY(take_number(c, words[comet ? 2 : 0], "a compute time", &part->time));
    TRY(take_number(c, words[comet ? 4 : 2], "a communication size", &part->comm_size));
    halley_coll_type type;
    if (!str_eq(part->comm, STR("NONE")) && !text_comm_type(part->comm, &type))
        return bad(
            c, error_set(
                   c->err, HALLEY_EFORMAT,
                   "\"%.*s\" is not a kind of communication; expected NONE, ALLREDUCE, "
                   "ALLTOALL, ALLGATHER, REDUCESCATTER or BROADCAST",
                   STR_ARG(part->comm)));
    return HALLEY_OK;
}

static halley_status take_layer(const cursor *c, text_file *file, const str *words,
                                size_t n)
{
    uint64_t number;
    const bool comet = n >= COMET_COLUMNS && str_to_u64(words[3], &number);
    if (n < COLUMNS)
        return bad(c,
                   error_set(c->err, HALLEY_EFORMAT,
                             "a layer needs %d columns (%d in COMET's form), this line "
                             "has %zu",
                             COLUMNS, COMET_COLUMNS, n));
    const size_t step = comet ? 5 : 3;
    text_layer layer = {.name = words[0]};
    TRY(take_part(c, words + 2, comet, &layer.forward));
    TRY(take_part(c, words + 2 + step, comet, &layer.input));
    TRY(take_part(c, words + 2 + 2 * step, comet, &layer.weight));
    return array_push(&file->layers, layer) ? HALLEY_OK : error_nomem(c->err);
}

/* The numbers after the parallelism type in the first line. */
typedef ARRAY(uint64_t) number_array;
typedef struct arguments {
    number_array checkpoints, initiates;
} arguments;

static halley_status take_text_list(const cursor *c, str *line, number_array *list)
{
    str word;
    uint64_t n, value;
    if (!next_text_word(line, &word))
        word = STR("");
    TRY(take_number(c, word, "the number of layers after checkpoints", &n));
    for (uint64_t i = 0; i < n; i++) {
        if (!next_text_word(line, &word))
            word = STR("");
        TRY(take_number(c, word, "a layer's number", &value));
        if (!array_push(list, value))
            return error_nomem(c->err);
    }
    return HALLEY_OK;
}

static halley_status take_text_arguments(const cursor *c, text_file *file, str line,
                                         arguments *args)
{
    str word;
    if (file->kind == TEXT_DLRM) {
        if (!next_text_word(&line, &word))
            word = STR("");
        return take_number(c, word, "the last bottom layer after HYBRID_DLRM",
                           &file->last_bottom);
    }
    while (next_text_word(&line, &word)) {
        if (str_eq(word, STR("model_parallel_NPU_group:"))) {
            if (!next_text_word(&line, &word))
                word = STR("");
            TRY(take_number(c, word, "model_parallel_NPU_group", &file->group));
        } else if (str_eq(word, STR("checkpoints:"))) {
            TRY(take_text_list(c, &line, &args->checkpoints));
        } else if (str_eq(word, STR("checkpoint_initiates:"))) {
            TRY(take_text_list(c, &line, &args->initiates));
        } else if (file->kind >= TEXT_TRANSFORMER && file->kind != TEXT_INFERENCE) {
            return bad(c, error_set(c->err, HALLEY_EFORMAT,
                                    "\"%.*s\" is not known here; expected "
                                    "model_parallel_NPU_group:, checkpoints: or "
                                    "checkpoint_initiates:",
                                    STR_ARG(word)));
        }
    }
    return HALLEY_OK;
}

static halley_status mark_layers(const cursor *c, text_file *file, const arguments *args)
{
    for (size_t i = 0; i < args->checkpoints.n + args->initiates.n; i++) {
        const bool initiate = i >= args->checkpoints.n;
        const uint64_t at = initiate ? args->initiates.at[i - args->checkpoints.n]
                                     : args->checkpoints.at[i];
        if (at >= file->layers.n)
            return error_set(c->err, HALLEY_EINVAL,
                             "checkpoint at layer %llu, but there are %zu layers",
                             (unsigned long long)at, file->layers.n);
        if (initiate)
            file->layers.at[at].starts_again = true;
        else
            file->layers.at[at].is_checkpoint = true;
    }
    return HALLEY_OK;
}

static halley_status read_layers(cursor *c, text_file *file, bool strict)
{
    str line, words[MAX_COLUMNS];
    while (next_text_line(c, &line)) {
        size_t n = 0;
        while (n < MAX_COLUMNS && next_text_word(&line, &words[n]))
            n++;
        if (n > 0)
            TRY(take_layer(c, file, words, n));
        else if (str_trim(c->rest).n > 0)
            return bad(c,
                       error_set(c->err, HALLEY_EFORMAT, "a blank line between layers"));
    }
    if (file->layers.n == 0 || (strict && file->layers.n != file->n_declared))
        return bad(c, error_set(c->err, HALLEY_EFORMAT,
                                "the second line says %llu layers, but there are %zu",
                                (unsigned long long)file->n_declared, file->layers.n));
    return HALLEY_OK;
}

static halley_status read_whole_text(cursor *c, text_file *file, bool strict,
                                     arguments *args)
{
    str line = STR(""), word = STR("");
    if (!next_text_line(c, &line) || !next_text_word(&line, &word) ||
        !find_text_kind(word, &file->kind))
        return bad(c,
                   error_set(c->err, HALLEY_EFORMAT,
                             "\"%.*s\" is no kind of parallelism that ASTRA-sim 1.0 has",
                             STR_ARG(word)));
    TRY(take_text_arguments(c, file, line, args));
    if (!next_text_line(c, &line) || !next_text_word(&line, &word))
        word = STR("");
    TRY(take_number(c, word, "the number of layers", &file->n_declared));
    TRY(read_layers(c, file, strict));
    return mark_layers(c, file, args);
}

halley_status text_read(text_file *file, const char *path, bool strict, halley_error *err)
{
    TRY(file_input_open(&file->in, path, err));
    return text_parse(file, path, strict, err);
}

halley_status text_parse(text_file *file, const char *path, bool strict,
                         halley_error *err)
{
    cursor c = {{(const char *)file->in.at, file->in.n}, 0, path, err};
    arguments args = {0};
    const halley_status status = read_whole_text(&c, file, strict, &args);
    array_fini(&args.checkpoints);
    array_fini(&args.initiates);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}

void text_fini(text_file *file)
{
    array_fini(&file->layers);
    file_input_close(&file->in);
}

bool text_is_workload(str head)
{
    const char *const end = memchr(head.at, '\n', head.n);
    str line = {head.at, end != NULL ? (size_t)(end - head.at) : head.n}, word;
    text_kind kind;
    return next_text_word(&line, &word) && find_text_kind(word, &kind);
}

bool halley_text_recognise(const char *path)
{
    char start[64] = "";
    FILE *const f = fopen(path, "re");
    if (f == NULL)
        return false;
    const size_t n = fread(start, 1, sizeof start - 1, f);
    fclose(f);
    return text_is_workload((str){start, n});
}
