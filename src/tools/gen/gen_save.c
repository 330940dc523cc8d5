/*
 * Write a whole set. Ranks with the same trace are made and encoded once. Files get their
 * final names only after all are written, so a full disk leaves the old set unchanged.
 */
#include "base/error.h"
#include "base/file/file.h"
#include "base/str.h"
#include "gen/gen.h"
#include "trace/core/groups.h"

#include <stdio.h>
#include <stdlib.h>

/* same[r] = lowest rank with the same trace. next[r] = next rank with it, HALLEY_NO_NODE
 * at the end. */
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
    for (uint32_t r = n; r-- > 0;) { /* next[first]: built from the end */
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

/* Write one file of the set: PREFIX.ENDING. */
static halley_status put_rank_file(file_set *files, const char *prefix,
                                   const char *ending, str bytes, halley_error *err)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.%s", prefix, ending);
    const halley_status status =
        path.failed ? error_nomem(err)
                    : file_set_put(files, path.at, bytes.at, bytes.n, err);
    strbuf_fini(&path);
    return status;
}

/* The destination of the files, and counts of what was written. */
typedef struct saving {
    file_set *files;
    const char *prefix;
    halley_gen_summary sum;
} saving;

/* Make the trace of `first` and write it for every rank that shares it. */
static halley_status write_class(saving *to, halley_gen *gen, const classes *c,
                                 uint32_t first, halley_error *err)
{
    halley_trace *trace = NULL;
    TRY(halley_gen_trace(&trace, gen, first, err));
    uint8_t *bytes = NULL;
    size_t n = 0;
    halley_status status = halley_trace_encode_et(&bytes, &n, trace, err);
    for (uint32_t r = first; status == HALLEY_OK && r != HALLEY_NO_NODE; r = c->next[r]) {
        char ending[16];
        snprintf(ending, sizeof ending, "%u.et", r);
        status = put_rank_file(to->files, to->prefix, ending,
                               (str){(const char *)bytes, n}, err);
        to->sum.n_files++;
        to->sum.n_bytes += n;
        to->sum.n_nodes += halley_trace_count(trace);
    }
    to->sum.n_distinct++;
    free(bytes);
    halley_trace_free(trace);
    return status;
}

static halley_status write_groups(saving *to, const halley_gen *gen, halley_error *err)
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
                    : put_rank_file(to->files, to->prefix, "comm_group.json",
                                    strbuf_str(&text), err);
    strbuf_fini(&text);
    return status;
}

static halley_status write_rank_files(saving *to, halley_gen *gen, const classes *c,
                                      halley_error *err)
{
    for (uint32_t r = 0; r < gen->n_npus; r++)
        if (c->same[r] == r)
            TRY(write_class(to, gen, c, r, err));
    to->sum.n_groups = (uint32_t)gen->groups.n;
    return gen->groups.n ? write_groups(to, gen, err) : HALLEY_OK;
}

halley_status halley_gen_save(halley_gen *gen, const char *prefix,
                              halley_gen_summary *summary, halley_error *err)
{
    TRY(halley_gen_check(gen, err));
    classes c;
    TRY(classes_init(&c, gen, err));
    saving to = {.prefix = prefix, .sum = {.size = sizeof to.sum}};
    halley_status status = file_set_open(&to.files, err);
    if (status == HALLEY_OK) {
        status = write_rank_files(&to, gen, &c, err);
        if (status == HALLEY_OK)
            status = file_set_commit(to.files, err);
        else
            file_set_abort(to.files);
    }
    if (status == HALLEY_OK && summary)
        *summary = to.sum;
    classes_fini(&c);
    return status;
}
