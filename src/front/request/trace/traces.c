/* Code that the trace commands share. */
#include "request/trace/traces.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/pool.h"
#include "halley/ingest.h"
#include "request/trace/recordings.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const traces_key[] = {"trace", NULL};

/* True if the argument itself is a trace, as JSON. */
static bool is_trace_text(const char *arg)
{
    return (arg[0] == '{' || arg[0] == '[') && !file_exists(arg);
}

/* Parse the arguments; each is a rank. */
static halley_status parse_traces(halley_trace_set **out, const char *const *args,
                                  size_t n, halley_error *err)
{
    halley_trace **traces = mem_array(n, sizeof *traces);
    size_t n_read = 0;
    halley_status status = traces != NULL ? HALLEY_OK : error_nomem(err);
    while (status == HALLEY_OK && n_read < n) {
        char name[32];
        snprintf(name, sizeof name, "trace %zu", n_read);
        status = halley_trace_parse(&traces[n_read], args[n_read], strlen(args[n_read]),
                                    name, NULL, err);
        n_read += status == HALLEY_OK;
    }
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, traces, (uint32_t)n, err);
    for (size_t i = 0; status != HALLEY_OK && i < n_read; i++)
        halley_trace_free(traces[i]); /* else the set owns them */
    free(traces);
    return status;
}

halley_status traces_load(halley_trace_set **out, const request_call *call, size_t first,
                          size_t n, halley_error *err)
{
    return traces_load_by(out, call, first, n, NULL, err);
}

halley_status traces_load_by(halley_trace_set **out, const request_call *call,
                             size_t first, size_t n, const halley_load_opts *opts,
                             halley_error *err)
{
    const char *const *args = call->args + first;
    size_t n_texts = 0;
    for (size_t i = 0; i < n; i++)
        n_texts += is_trace_text(args[i]);
    if (n_texts == 0)
        return traces_explain(args, n, halley_trace_set_load(out, args, n, opts, err),
                              err);
    if (n_texts < n)
        return error_set(err, HALLEY_EINVAL,
                         "traces are all named, or all in the request itself");
    return parse_traces(out, args, n, err);
}

/* True for a folder with recordings and no trace. */
static bool holds_recordings(const char *folder)
{
    DIR *const entries = file_is_folder(folder) ? opendir(folder) : NULL;
    bool any = false, has_trace = false;
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        strbuf path = {0};
        strbuf_printf(&path, "%s/%s", folder, e->d_name);
        const str name = str_from(e->d_name);
        has_trace |= str_ends(name, STR(".et")) || str_ends(name, STR(".et.gz"));
        if (!any && !path.failed && e->d_name[0] != '.' && !file_is_folder(path.at))
            any = traces_is_recording(path.at);
        strbuf_fini(&path);
    }
    if (entries != NULL)
        closedir(entries);
    return any && !has_trace;
}

halley_status traces_load_any(halley_trace_set **out, const request_call *call,
                              size_t first, size_t n, const halley_recording_opts *opts,
                              halley_error *err)
{
    const char *const *const paths = call->args + first;
    bool all = n > 0;
    for (size_t i = 0; i < n; i++)
        all = all && (traces_is_recording(paths[i]) || holds_recordings(paths[i]));
    if (!all)
        return traces_load(out, call, first, n, err);
    const halley_link_opts pairs = {.classes = true, .watch = call->watch};
    const recordings_input in = {
        .paths = paths, .n_paths = n, .pairs = &pairs, .alone = opts};
    halley_link_report *reports = NULL;
    const halley_status status = recordings_link(out, &reports, &in, err);
    free(reports);
    return status;
}

bool traces_is_recording(const char *path)
{
    if (strcmp(path, "-") == 0 || !file_exists(path) || file_is_folder(path))
        return false;
    const halley_file_kind kind = halley_file_recognise(path);
    return kind == HALLEY_FILE_RECORDING || kind == HALLEY_FILE_EXECUTION_TRACE;
}

halley_status traces_explain(const char *const *paths, size_t n, halley_status status,
                             halley_error *err)
{
    char text[256];
    if (err != NULL && str_starts(str_from(err->text), STR("this is ")))
        return status; /* the reader knew what it is */
    for (size_t i = 0; status != HALLEY_OK && i < n; i++) {
        if (strcmp(paths[i], "-") == 0 || !file_exists(paths[i]) ||
            file_is_folder(paths[i]))
            continue;
        const halley_file_kind kind = halley_file_recognise(paths[i]);
        if (kind == HALLEY_FILE_RECORDING)
            status = error_set(err, HALLEY_EFORMAT,
                               "this is the recording of a profiler: halley trace link "
                               "%s makes a trace of it",
                               paths[i]);
        else if (kind == HALLEY_FILE_EXECUTION_TRACE)
            status = error_set(err, HALLEY_EFORMAT,
                               "this is an execution trace of PyTorch: halley trace link "
                               "%s makes a trace of it",
                               paths[i]);
        else if (kind == HALLEY_FILE_OTHER &&
                 halley_file_describe(paths[i], text, sizeof text) != NULL)
            status = error_set(err, HALLEY_EFORMAT, "%s", text);
        else
            continue;
        error_at_file(err, paths[i]);
        return status;
    }
    return status;
}

void traces_warn(const request_call *call, const halley_trace_set *set)
{
    halley_kernels *kernels = NULL;
    if (halley_kernels_count(&kernels, set, NULL) != HALLEY_OK)
        return;
    for (size_t i = 0; i < kernels->n_warnings; i++)
        request_note(call, "%s", kernels->warnings[i]);
    halley_kernels_free(kernels);
}

bool traces_is_file(const request_call *call)
{
    const char *path = call->args[0];
    return strcmp(path, "-") == 0 || (file_exists(path) && !file_is_folder(path));
}

void traces_ranks(strbuf *to, const uint32_t *which, uint32_t n_ranks, uint32_t wanted)
{
    const char *comma = "";
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        if (which[rank] != wanted)
            continue;
        uint32_t last = rank;
        while (last + 1 < n_ranks && which[last + 1] == wanted)
            last++;
        strbuf_printf(to, "%s%" PRIu32, comma, rank);
        if (last > rank)
            strbuf_printf(to, "-%" PRIu32, last);
        comma = ",";
        rank = last;
    }
}

static bool parse_rank_range(traces_range *out, str text)
{
    str rest = text, head = {0};
    if (!str_next(&rest, '-', &head) || !str_to_u64(str_trim(head), &out->first))
        return false;
    out->last = out->first;
    const bool open = head.n == text.n;
    return (open || str_to_u64(str_trim(rest), &out->last)) && out->first <= out->last;
}

halley_status traces_parse_ranges(traces_range **out, size_t *n, request_call *call,
                                  const char *list, const char *what, halley_error *err)
{
    ARRAY(traces_range) ranges = {0};
    str rest = str_from(list), item = {0};
    while (str_next(&rest, ',', &item)) {
        traces_range range;
        halley_status status = HALLEY_OK;
        if (!parse_rank_range(&range, str_trim(item)))
            status =
                request_usage(call, err, "a list of %ss is like 0,2,4-7; \"%.*s\" is not",
                              what, STR_ARG(item));
        else if (!array_push(&ranges, range))
            status = error_nomem(err);
        if (status != HALLEY_OK) {
            array_fini(&ranges);
            return status;
        }
    }
    *out = ranges.at;
    *n = ranges.n;
    return HALLEY_OK;
}

const char *const traces_form_names[] = {"name",  "et",          "et.gz", "json",
                                         "jsonl", "chakra-json", NULL};

static const char *const endings[TRACES_N_FORMS] = {
    [TRACES_BY_NAME] = ".et", [TRACES_ET] = ".et",       [TRACES_ET_GZ] = ".et.gz",
    [TRACES_JSON] = ".json",  [TRACES_JSONL] = ".jsonl", [TRACES_CHAKRA_JSON] = ".json",
};

/* The form that the name of a file implies. */
static traces_form form_of_name(const char *path)
{
    const str s = str_from(path);
    if (str_ends(s, STR(".et.gz")))
        return TRACES_ET_GZ;
    if (str_ends(s, STR(".json")) || str_ends(s, STR(".json.gz")))
        return TRACES_JSON;
    if (str_ends(s, STR(".jsonl")) || str_ends(s, STR(".jsonl.gz")))
        return TRACES_JSONL;
    return TRACES_ET;
}

static bool names_a_folder(const char *path)
{
    return str_ends(str_from(path), STR("/")) || file_is_folder(path);
}

char *traces_stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    str name = str_from(slash == NULL ? path : slash + 1);
    const size_t whole = name.n;
    for (int form = TRACES_ET_GZ; form <= TRACES_JSONL; form++)
        if (str_ends(name, str_from(endings[form])))
            name.n -= strlen(endings[form]);
    if (name.n == whole && str_ends(name, STR(".et")))
        name.n -= 3;
    size_t digits = name.n;
    while (digits > 0 && name.at[digits - 1] >= '0' && name.at[digits - 1] <= '9')
        digits--;
    if (digits < name.n && digits > 1 && name.at[digits - 1] == '.')
        name.n = digits - 1;
    return name.n == 0 ? strdup("trace") : strndup(name.at, name.n);
}

typedef struct saving {
    const halley_trace_set *set;
    const traces_output *output;
    traces_form form;
    uint32_t n; /* ranks */
    file_set *files;
    uint64_t *n_dropped; /* by rank */
} saving;

/* Write the prefix of "RANK.et" and "comm_group.json". */
static void prefix_of(strbuf *to, const traces_output *o, const char *stem)
{
    const bool folder = names_a_folder(o->path);
    const bool slash = str_ends(str_from(o->path), STR("/"));
    strbuf_printf(to, "%s%s%s%s", o->path, folder && !slash ? "/" : "",
                  folder ? stem : "", folder && *stem == '\0' ? "" : ".");
}

/* Write the path of a rank's file, or (rank = n_ranks) of the groups' file. */
static void path_of(strbuf *to, const saving *s, uint32_t rank)
{
    const traces_output *o = s->output;
    if (rank == s->n) {
        prefix_of(to, o, o->stem == NULL ? "" : o->stem);
        strbuf_add(to, STR("comm_group.json"));
    } else if (o->one && !names_a_folder(o->path)) {
        strbuf_add(to, str_from(o->path));
    } else {
        prefix_of(to, o, o->stem == NULL ? "trace" : o->stem);
        strbuf_printf(to, "%" PRIu32 "%s", rank, endings[s->form]);
    }
}

static halley_status save_as(const saving *s, uint32_t rank, const char *path,
                             halley_error *err)
{
    static const halley_json_style styles[TRACES_N_FORMS] = {
        [TRACES_JSON] = HALLEY_JSON_DOCUMENT,
        [TRACES_JSONL] = HALLEY_JSON_LINES,
        [TRACES_CHAKRA_JSON] = HALLEY_JSON_CHAKRA,
    };
    if (rank == s->n)
        return s->output->save_groups(s->output->groups, path, err);
    const halley_trace *trace = halley_trace_set_get(s->set, rank);
    if (s->form == TRACES_ET || s->form == TRACES_ET_GZ)
        return halley_trace_save_et(trace, path, err);
    return halley_trace_save_json(trace, path, styles[s->form], s->output->lossy,
                                  &s->n_dropped[rank], err);
}

static halley_status save_one(const saving *s, uint32_t rank, halley_error *err)
{
    strbuf path = {0};
    path_of(&path, s, rank);
    halley_status status = path.failed ? error_nomem(err) : HALLEY_OK;
    const char *name = NULL;
    if (status == HALLEY_OK)
        status = file_set_add(s->files, &name, path.at, rank == s->n, err);
    if (status == HALLEY_OK) {
        status = save_as(s, rank, name, err);
        if (status != HALLEY_OK)
            error_rename_file(err, name, path.at);
    }
    strbuf_fini(&path);
    return status;
}

static halley_status save_task(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    (void)worker;
    return save_one(context, (uint32_t)i + 1, err);
}

static void tell_dropped(const saving *s, const request_call *call)
{
    uint64_t n_dropped = 0;
    for (uint32_t rank = 0; rank < s->n; rank++)
        n_dropped += s->n_dropped[rank];
    if (n_dropped > 0)
        request_note(call, "JSON cannot carry %" PRIu64 " fields or texts; left out",
                     n_dropped);
}

void traces_note_leftover(const request_call *call, const char *path)
{
    if (file_exists(path))
        request_note(
            call, "%s is of an earlier set of more ranks: remove it and those after it",
            path);
}

static void look_behind(const saving *s, const request_call *call)
{
    strbuf path = {0};
    prefix_of(&path, s->output, s->output->stem == NULL ? "trace" : s->output->stem);
    strbuf_printf(&path, "%" PRIu32 "%s", s->n, endings[s->form]);
    if (!path.failed && !s->output->one)
        traces_note_leftover(call, path.at);
    strbuf_fini(&path);
}

static halley_status save_ranks(saving *s, halley_error *err)
{
    assert(s->n > 0); /* a set has at least one rank; "rank" n represents the groups */
    TRY(pool_run(s->output->n_threads, s->n - 1, save_task, s, err));
    if (s->output->save_groups != NULL && strcmp(s->output->path, "-") != 0)
        TRY(save_one(s, s->n, err));
    return save_one(s, 0, err);
}

static halley_status save_extra(const saving *s, const traces_extra *extra,
                                halley_error *err)
{
    const char *name = NULL;
    TRY(file_set_add(s->files, &name, extra->path, false, err));
    const halley_status status = extra->save(extra->context, name, err);
    if (status != HALLEY_OK)
        error_rename_file(err, name, extra->path);
    return status;
}

static halley_status save_files(saving *s, halley_error *err)
{
    TRY(file_set_open(&s->files, err));
    halley_status status = HALLEY_OK;
    if (s->output->extra != NULL)
        status = save_extra(s, s->output->extra, err);
    if (status == HALLEY_OK)
        status = save_ranks(s, err);
    if (status == HALLEY_OK)
        return file_set_commit(s->files, err);
    file_set_abort(s->files);
    return status;
}

/* Create the folder of the output if it is missing. If that fails, the error appears when
 * the first file is written. */
static halley_status make_folder(const char *path, halley_error *err)
{
    const char *const slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        return HALLEY_OK;
    char *const folder = strndup(path, (size_t)(slash - path));
    const halley_status status =
        folder != NULL ? file_folder_make(folder, NULL) : HALLEY_ENOMEM;
    free(folder);
    return status == HALLEY_ENOMEM ? error_nomem(err) : HALLEY_OK;
}

static halley_status save_set(const halley_trace_set *set, const traces_output *output,
                              request_call *call, halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    saving s = {.set = set,
                .output = output,
                .form = output->form,
                .n = n,
                .n_dropped = mem_array_zero(n, sizeof *s.n_dropped)};
    if (s.form == TRACES_BY_NAME)
        s.form = output->one && !names_a_folder(output->path) ? form_of_name(output->path)
                                                              : TRACES_ET;
    const halley_status status = s.n_dropped ? save_files(&s, err) : error_nomem(err);
    if (status == HALLEY_OK) {
        tell_dropped(&s, call);
        look_behind(&s, call);
    }
    free(s.n_dropped);
    return status;
}

halley_status traces_save(const halley_trace_set *set, const traces_output *output,
                          request_call *call, halley_error *err)
{
    TRY(make_folder(output->path, err));
    return save_set(set, output, call, err);
}

/* A file that has a temporary name until all files are written. */
typedef struct sink_file {
    const char *name; /* lent by the file set */
    char *path;       /* owned */
} sink_file;

struct traces_sink {
    saving s;
    traces_output output;
    ARRAY(sink_file) files;
    const char *groups_path; /* lent by the file set; NULL = no groups are written */
};

halley_status traces_sink_open(traces_sink **out, const traces_output *output,
                               halley_error *err)
{
    const bool to_file = !names_a_folder(output->path);
    const traces_form form = output->form != TRACES_BY_NAME ? output->form
                             : to_file                      ? form_of_name(output->path)
                                                            : TRACES_ET;
    *out = NULL;
    if ((form != TRACES_ET && form != TRACES_ET_GZ) || strcmp(output->path, "-") == 0)
        return HALLEY_OK;
    traces_sink *const sink = mem_array_zero(1, sizeof *sink);
    if (sink == NULL)
        return error_nomem(err);
    sink->output = *output;
    sink->s.output = &sink->output;
    sink->s.form = form;
    *out = sink;
    return HALLEY_OK;
}

/* Set up what depends on the number of ranks. */
static halley_status begin_sink(traces_sink *sink, uint32_t n_ranks, halley_error *err)
{
    saving *const s = &sink->s;
    s->n = n_ranks;
    sink->output.one = sink->output.one && n_ranks == 1;
    if (sink->output.one)
        sink->output.save_groups = NULL;
    else if (sink->output.form == TRACES_BY_NAME)
        s->form = TRACES_ET;
    TRY(make_folder(sink->output.path, err));
    return file_set_open(&s->files, err);
}

/* Add the file of a rank, or (rank = n) of the groups. Files get their final names in
 * this order. */
static halley_status add_sink_file(traces_sink *sink, const char **path, uint32_t rank,
                                   halley_error *err)
{
    strbuf name = {0};
    path_of(&name, &sink->s, rank);
    const sink_file file = {.path = name.at};
    if (name.failed || !array_push(&sink->files, file)) {
        strbuf_fini(&name);
        return error_nomem(err);
    }
    sink_file *const added = &sink->files.at[sink->files.n - 1];
    TRY(file_set_add(sink->s.files, &added->name, added->path, rank == sink->s.n, err));
    *path = added->name;
    return HALLEY_OK;
}

halley_status traces_sink_path(const char **path, void *context, uint32_t rank,
                               uint32_t n_ranks, halley_error *err)
{
    traces_sink *const sink = context;
    if (sink->s.files == NULL)
        TRY(begin_sink(sink, n_ranks, err));
    assert(rank < n_ranks && n_ranks == sink->s.n);
    if (rank == 0 && sink->output.save_groups != NULL)
        TRY(add_sink_file(sink, &sink->groups_path, n_ranks, err));
    return add_sink_file(sink, path, rank, err);
}

static halley_status end_sink(traces_sink *sink, const halley_trace_set *set,
                              halley_error *err)
{
    halley_status status = HALLEY_OK;
    if (sink->groups_path != NULL)
        status = sink->output.save_groups(set, sink->groups_path, err);
    if (status != HALLEY_OK)
        traces_sink_name_files(sink, err);
    file_set *const files = sink->s.files;
    sink->s.files = NULL;
    if (status == HALLEY_OK)
        return file_set_commit(files, err);
    file_set_abort(files);
    return status;
}

halley_status traces_sink_close(traces_sink *sink, const halley_trace_set *set,
                                request_call *call, halley_error *err)
{
    halley_status status = HALLEY_OK;
    if (sink == NULL)
        return HALLEY_OK;
    if (set != NULL && sink->s.files != NULL)
        status = end_sink(sink, set, err);
    else
        file_set_abort(sink->s.files);
    if (set != NULL && status == HALLEY_OK && sink->s.n > 0)
        look_behind(&sink->s, call);
    for (size_t i = 0; i < sink->files.n; i++)
        free(sink->files.at[i].path);
    array_fini(&sink->files);
    free(sink);
    return status;
}

void traces_sink_name_files(const traces_sink *sink, halley_error *err)
{
    for (size_t i = 0; sink != NULL && i < sink->files.n; i++)
        if (sink->files.at[i].name != NULL)
            error_rename_file(err, sink->files.at[i].name, sink->files.at[i].path);
}

bool traces_sink_is_used(const traces_sink *sink)
{
    return sink != NULL && sink->s.files != NULL;
}

halley_status traces_save_declared(const void *groups, const char *path,
                                   halley_error *err)
{
    return halley_groups_save(groups, path, NULL, err);
}

halley_status traces_written_json(const halley_trace_set *set, const request_call *call,
                                  const char *out, halley_error *err)
{
    report_json j;
    request_json_begin(&j, call);
    report_json_text(&j, "out", str_from(out));
    report_json_u64(&j, "n_ranks", halley_trace_set_count(set));
    report_json_u64(&j, "n_distinct", halley_trace_set_distinct(set));
    return request_json_end(&j, call, err);
}

bool traces_are_untimed(const halley_trace_set *set, bool *has_work)
{
    bool is_linked = false;
    *has_work = false;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const t = halley_trace_set_get(set, r);
        if (r > 0 && t == halley_trace_set_get(set, r - 1))
            continue;
        for (uint32_t i = 0; i < halley_trace_count(t); i++) {
            halley_attr attr;
            if (halley_node_duration_us(t, i) > 0 ||
                halley_node_find_attr(&attr, t, i, HALLEY_ATTR_NAME_DURATION_NS))
                return false;
            is_linked |= halley_node_find_attr(&attr, t, i, "rf_id");
            *has_work |=
                halley_node_find_attr(&attr, t, i, HALLEY_ATTR_NAME_NUM_OPS) &&
                (!halley_node_find_attr(&attr, t, i, HALLEY_ATTR_NAME_IS_CPU_OP) ||
                 attr.bits == 0);
        }
    }
    return is_linked;
}

halley_status traces_take_groups(halley_cluster *cluster, const halley_trace_set *set,
                                 halley_error *err)
{
    char *text = NULL;
    if (halley_cluster_has_groups(cluster))
        return HALLEY_OK;
    char *const path = halley_trace_set_groups(set);
    halley_status status = path != NULL
                               ? halley_cluster_load_groups(cluster, path, err)
                               : halley_trace_set_declared_groups(&text, set, err);
    if (status == HALLEY_OK && text != NULL)
        status = halley_cluster_parse_groups(cluster, text, strlen(text),
                                             "process_group:init", err);
    free(path);
    free(text);
    return status;
}
