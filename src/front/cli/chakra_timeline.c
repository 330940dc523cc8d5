/*
 * The log of issues and callbacks that Chakra's timeline visualizer reads, line by line:
 *
 *     issue,npu=0,cycle=0,id=1,name=COMP_NODE_conv1
 *     callback,npu=0,cycle=1500,id=1,name=COMP_NODE_conv1
 *
 * Other lines are skipped. Times in the result are milliseconds, as Chakra writes them.
 */
#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "base/str.h"
#include "cli/chakra.h"

#include <inttypes.h>

typedef struct log_line {
    bool is_issue;
    uint64_t npu, cycle, id;
    str name;
} log_line;

typedef struct timeline_writer {
    strbuf text;
    map64 issued; /* npu and id -> its issue */
    ARRAY(log_line) issues;
    double npu_mhz;
    bool has_events;
} timeline_writer;

/* What follows '=' in the next field. */
static bool take_value(str *rest, str *value)
{
    str field;
    if (!str_next(rest, ',', &field))
        return false;
    for (size_t i = 0; i < field.n; i++)
        if (field.at[i] == '=') {
            *value = str_trim((str){field.at + i + 1, field.n - i - 1});
            return true;
        }
    return false;
}

static bool read_line(log_line *l, str line)
{
    str type, npu, cycle, id, rest = line;
    return str_next(&rest, ',', &type) && take_value(&rest, &npu) &&
           take_value(&rest, &cycle) && take_value(&rest, &id) &&
           take_value(&rest, &l->name) && str_to_u64(npu, &l->npu) &&
           str_to_u64(cycle, &l->cycle) && str_to_u64(id, &l->id) &&
           (l->is_issue = str_contains(type, STR("issue")), true);
}

/* The row of a node: its kind is a part of its name. 0: not known. */
static int find_row(str name)
{
    return str_contains(name, STR("LOCAL_MEMORY"))    ? 1
           : str_contains(name, STR("REMOTE_MEMORY")) ? 2
           : str_contains(name, STR("COMP"))          ? 3
           : str_contains(name, STR("COMM"))          ? 4
                                                      : 0;
}

/* The name is that of the issue. */
static void write_event(timeline_writer *w, const log_line *l, uint64_t end)
{
    char ts[40], ms[40];
    const double start = (double)l->cycle / w->npu_mhz / 1000;
    const double length = (double)(end - l->cycle) / (w->npu_mhz * 1000);
    snprintf(ts, sizeof ts, "%s", number_repr(start).at);
    snprintf(ms, sizeof ms, "%s", number_repr(length).at);
    strbuf_printf(&w->text,
                  "%s{\"pid\": %" PRIu64
                  ", \"tid\": %d, \"ts\": %s, \"dur\": %s, \"ph\": "
                  "\"X\", \"name\": ",
                  w->has_events ? ", " : "", l->npu, find_row(l->name), ts, ms);
    strbuf_json(&w->text, l->name);
    strbuf_printf(&w->text, ", \"args\": {\"ms\": %s}}", ms);
    w->has_events = true;
}

static halley_status add_line(timeline_writer *w, const log_line *l, halley_error *err)
{
    const uint64_t key = l->npu << 40 ^ l->id;
    if (l->is_issue) {
        const bool ok = map64_set(&w->issued, key, (uint32_t)w->issues.n) &&
                        array_push(&w->issues, *l);
        return ok ? HALLEY_OK : error_nomem(err);
    }
    const uint32_t at = map64_find(&w->issued, key);
    if (at == HASH_NONE || w->issues.at[at].cycle > l->cycle)
        return error_set(err, HALLEY_EINVAL,
                         "node %" PRIu64 " of NPU %" PRIu64 " has a callback without an "
                         "earlier issue",
                         l->id, l->npu);
    const log_line *const issue = &w->issues.at[at];
    if (find_row(issue->name) == 0)
        return error_set(
            err, HALLEY_EINVAL,
            "the name \"%.*s\" has none of LOCAL_MEMORY, REMOTE_MEMORY, COMP "
            "and COMM, so its row is not known",
            STR_ARG(issue->name));
    write_event(w, issue, l->cycle);
    return HALLEY_OK;
}

static halley_status add_lines(timeline_writer *w, str text, halley_error *err)
{
    str line;
    while (str_next(&text, '\n', &line)) {
        log_line l;
        if (!str_contains(line, STR("issue")) && !str_contains(line, STR("callback")))
            continue;
        if (!read_line(&l, line))
            return error_set(err, HALLEY_EINVAL,
                             "expected issue or callback, NPU, cycle, id and name, found "
                             "\"%.*s\"",
                             (int)(line.n < 80 ? line.n : 80), line.at);
        TRY(add_line(w, &l, err));
    }
    return HALLEY_OK;
}

static halley_status save_timeline(const timeline_writer *w, const char *path,
                                   halley_error *err)
{
    file_output *out;
    TRY(file_output_open(&out, path, err));
    file_output_str(out, strbuf_str(&w->text));
    return file_output_commit(out, err);
}

halley_status chakra_timeline(const char *in, const char *out, uint64_t n_npus,
                              double npu_mhz, halley_error *err)
{
    file_input file;
    timeline_writer w = {.npu_mhz = npu_mhz};
    if (!(npu_mhz > 0))
        return error_set(err, HALLEY_EINVAL, "the clock of the NPUs must be above 0 MHz");
    TRY(file_input_open(&file, in, err));
    strbuf_add(&w.text, STR("{\"meta_user\": \"aras\", \"traceEvents\": ["));
    halley_status status = add_lines(&w, (str){(const char *)file.at, file.n}, err);
    if (status == HALLEY_EINVAL)
        error_at_file(err, in);
    strbuf_printf(&w.text, "], \"meta_cpu_count\": %" PRIu64 "}", n_npus);
    if (status == HALLEY_OK && w.text.failed)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = save_timeline(&w, out, err);
    file_input_close(&file);
    strbuf_fini(&w.text);
    map64_fini(&w.issued);
    array_fini(&w.issues);
    return status;
}
