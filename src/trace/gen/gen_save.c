/*
 * Writing a whole set. Ranks with the same trace are made and encoded once. Every file is
 * first written under a name of its own beside the final one; only when all are there do
 * they take their names, so that a full disk leaves the old set as it was.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "trace/core/groups.h"
#include "trace/gen/gen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const unfinished = ".unfinished";

/* same[r] = lowest equal rank, and next[r] = the next equal one, HALLEY_NO_NODE at the
 * end. */
typedef struct classes {
    uint32_t *same, *next;
} classes;

static void classes_fini(classes *c)
{
    free(c->same);
    free(c->next);
}

static halley_status classes_init(classes *c, const halley_gen *gen, halley_error *err)
{
    const uint32_t n = gen->n_npus;
    c->same = mem_array(n, sizeof *c->same);
    c->next = mem_array(n, sizeof *c->next);
    bool ok = c->same && c->next;
    if (ok && gen->pattern->same)
        ok = gen->pattern->same(gen, c->same);
    if (!ok) {
        classes_fini(c);
        return error_nomem(err);
    }
    for (uint32_t r = 0; !gen->pattern->same && r < n; r++)
        c->same[r] = r;
    for (uint32_t r = 0; r < n; r++)
        c->next[r] = HALLEY_NO_NODE;
    for (uint32_t r = n; r-- > 0;) { /* next[first] runs down the list from the end */
        const uint32_t first = c->same[r];
        if (first == r)
            continue;
        c->next[r] = c->next[first];
        c->next[first] = r;
    }
    return HALLEY_OK;
}

halley_status halley_gen_traces(halley_trace_set **out, halley_gen *gen,
                                halley_error *err)
{
    TRY(halley_gen_check(gen, err));
    classes c;
    TRY(classes_init(&c, gen, err));
    halley_trace **traces = mem_array_zero(gen->n_npus, sizeof *traces);
    halley_status status = traces ? HALLEY_OK : error_nomem(err);
    for (uint32_t r = 0; status == HALLEY_OK && r < gen->n_npus; r++) {
        if (c.same[r] == r)
            status = halley_gen_trace(&traces[r], gen, r, err);
        else
            traces[r] = halley_trace_keep(traces[c.same[r]]);
    }
    if (status == HALLEY_OK) /* takes the traces over */
        status = halley_trace_set_new(out, traces, gen->n_npus, err);
    for (uint32_t r = 0; status != HALLEY_OK && traces && r < gen->n_npus; r++)
        halley_trace_free(traces[r]);
    free(traces);
    classes_fini(&c);
    return status;
}

/* The final name of rank r's file; n_npus stands for the group file. */
static bool name_file(strbuf *to, const char *prefix, const halley_gen *gen, uint32_t r)
{
    to->n = 0;
    if (r < gen->n_npus)
        strbuf_printf(to, "%s.%u.et", prefix, r);
    else
        strbuf_printf(to, "%s.comm_group.json", prefix);
    return !to->failed;
}

/* Write one file under its unfinished name. With `sync` the whole file system is made to
 * keep what was written to it, once for the set: syncing file by file takes longer than
 * all else. */
static halley_status write_file(const char *prefix, const halley_gen *gen, uint32_t r,
                                str bytes, bool sync, halley_error *err)
{
    strbuf path = {0};
    (void)name_file(&path, prefix, gen, r);
    const size_t n_name = path.n;
    strbuf_printf(&path, "%s", unfinished);
    if (path.failed) {
        strbuf_fini(&path);
        return error_nomem(err);
    }
    const int fd = open(path.at, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int reason = fd < 0 ? errno : file_write(fd, bytes.at, bytes.n);
    if (reason == 0 && sync && syncfs(fd) != 0)
        reason = errno;
    if (fd >= 0 && close(fd) != 0 && reason == 0)
        reason = errno;
    halley_status status = HALLEY_OK;
    if (reason != 0) {
        path.at[n_name] = 0; /* the name the user knows */
        status = error_errno(err, "write the file", reason);
        error_at_file(err, path.at);
    }
    strbuf_fini(&path);
    return status;
}

/* Make the trace of `first` and write it for every rank that shares it. */
static halley_status write_class(const char *prefix, halley_gen *gen, const classes *c,
                                 uint32_t first, halley_gen_summary *sum,
                                 halley_error *err)
{
    halley_trace *trace = NULL;
    TRY(halley_gen_trace(&trace, gen, first, err));
    uint8_t *bytes = NULL;
    size_t n = 0;
    halley_status status = halley_trace_encode_et(&bytes, &n, trace, err);
    for (uint32_t r = first; status == HALLEY_OK && r != HALLEY_NO_NODE; r = c->next[r]) {
        sum->n_files++;
        const bool last = sum->n_files == gen->n_npus && gen->groups.n == 0;
        status = write_file(prefix, gen, r, (str){(const char *)bytes, n}, last, err);
        sum->n_bytes += n;
        sum->n_nodes += halley_trace_count(trace);
    }
    sum->n_distinct++;
    free(bytes);
    halley_trace_free(trace);
    return status;
}

static halley_status write_groups(const char *prefix, const halley_gen *gen,
                                  halley_error *err)
{
    strbuf text = {0};
    for (uint32_t g = 0; g < gen->groups.n; g++) {
        const gen_group *group = &gen->groups.at[g];
        char name[12];
        snprintf(name, sizeof name, "%u", g + 1);
        trace_groups_text_group(&text, str_from(name));
        for (uint32_t i = 0; i < group->n; i++)
            trace_groups_text_rank(&text, group->ranks[i], false);
    }
    trace_groups_text_end(&text);
    const halley_status status =
        text.failed ? error_nomem(err)
                    : write_file(prefix, gen, gen->n_npus, strbuf_str(&text), true, err);
    strbuf_fini(&text);
    return status;
}

static halley_status write_all(const char *prefix, halley_gen *gen, const classes *c,
                               halley_gen_summary *sum, halley_error *err)
{
    for (uint32_t r = 0; r < gen->n_npus; r++)
        if (c->same[r] == r)
            TRY(write_class(prefix, gen, c, r, sum, err));
    sum->n_groups = (uint32_t)gen->groups.n;
    return gen->groups.n ? write_groups(prefix, gen, err) : HALLEY_OK;
}

/* Room for any name, so that tidying up needs no memory. */
enum { ENDING = 256 }; /* much more than a number, endings and what printing reserves */
typedef struct file_names {
    strbuf now, then;
} file_names;

static bool file_names_init(file_names *names, const char *prefix)
{
    strbuf_printf(&names->now, "%s%*s", prefix, ENDING, "");
    strbuf_printf(&names->then, "%s%*s", prefix, ENDING, "");
    return !names->now.failed && !names->then.failed;
}

static void file_names_fini(file_names *names)
{
    strbuf_fini(&names->now);
    strbuf_fini(&names->then);
}

/* Give every file its final name, or (commit false) remove what was written. */
static halley_status settle(file_names *names, const char *prefix, const halley_gen *gen,
                            bool commit, halley_error *err)
{
    const uint32_t n = gen->n_npus + (gen->groups.n > 0);
    for (uint32_t r = 0; r < n; r++) {
        (void)name_file(&names->then, prefix, gen, r);
        (void)name_file(&names->now, prefix, gen, r);
        strbuf_printf(&names->now, "%s", unfinished);
        if (!commit) {
            (void)unlink(names->now.at);
        } else if (rename(names->now.at, names->then.at) != 0) {
            const halley_status status =
                error_errno(err, "name the finished file", errno);
            error_at_file(err, names->then.at);
            return status;
        }
    }
    return HALLEY_OK;
}

halley_status halley_gen_save(halley_gen *gen, const char *prefix,
                              halley_gen_summary *summary, halley_error *err)
{
    TRY(halley_gen_check(gen, err));
    classes c;
    TRY(classes_init(&c, gen, err));
    file_names names = {0};
    halley_gen_summary sum = {0};
    const bool ready = file_names_init(&names, prefix);
    halley_status status =
        ready ? write_all(prefix, gen, &c, &sum, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = settle(&names, prefix, gen, true, err);
    if (status != HALLEY_OK && ready)
        (void)settle(&names, prefix, gen, false, NULL);
    else if (status == HALLEY_OK && summary)
        *summary = sum;
    file_names_fini(&names);
    classes_fini(&c);
    return status;
}
