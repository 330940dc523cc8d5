/* Saves the traces of all ranks of a plan as files, and their groups in ASTRA-sim's
 * format. */
#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "halley/plan_trace.h"
#include "trace/core/template.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Where the files go, and counts of the written data. */
typedef struct saving {
    file_set *files;
    const char *prefix;
    map64 seen; /* a hash of every distinct trace so far */
    halley_gen_summary sum;
} saving;

/* Write one file of the set: PREFIX.ENDING. */
static halley_status put_file(const saving *to, const char *ending, str bytes,
                              halley_error *err)
{
    strbuf path = {0};
    strbuf_printf(&path, "%s.%s", to->prefix, ending);
    const halley_status status =
        path.failed ? error_nomem(err)
                    : file_set_put(to->files, path.at, bytes.at, bytes.n, err);
    strbuf_fini(&path);
    return status;
}

static void write_rule(strbuf *to, const trace_template *t, uint32_t rule)
{
    const trace_template_group *g = &t->groups.at[rule];
    for (uint32_t key = 0; key < g->n_keys; key++) {
        const uint32_t id = g->first_id + key,
                       n = trace_template_group_size(t, rule, key);
        strbuf_printf(to, "%s\n  \"%u\": [", id > 1 ? "," : "", id);
        for (uint32_t i = 0; i < n; i++)
            strbuf_printf(to, "%s%u", i ? ", " : "",
                          trace_template_member(t, rule, key, i));
        strbuf_printf(to, "]");
    }
}

static halley_status save_groups(const saving *to, const trace_template *t,
                                 halley_error *err)
{
    strbuf text = {0};
    strbuf_printf(&text, "{");
    for (uint32_t i = 0; i < t->groups.n; i++)
        write_rule(&text, t, i);
    strbuf_printf(&text, "\n}\n");
    const halley_status status =
        text.failed ? error_nomem(err)
                    : put_file(to, "comm_group.json", strbuf_str(&text), err);
    strbuf_fini(&text);
    return status;
}

static halley_status save_rank(saving *to, uint32_t rank, const halley_trace *trace,
                               halley_error *err)
{
    assert(trace != NULL);
    uint8_t *bytes = NULL;
    size_t n = 0;
    uint32_t first = rank;
    bool fresh = false;
    char ending[16];
    TRY(halley_trace_encode_et(&bytes, &n, trace, err));
    snprintf(ending, sizeof ending, "%u.et", rank);
    halley_status status = put_file(to, ending, (str){(const char *)bytes, n}, err);
    if (status == HALLEY_OK &&
        !map64_put(&to->seen, hash_bytes(bytes, n, 0), &first, &fresh))
        status = error_nomem(err);
    free(bytes);
    to->sum.n_files++;
    to->sum.n_distinct += fresh;
    to->sum.n_nodes += halley_trace_count(trace);
    to->sum.n_bytes += n;
    return status;
}

static halley_status save_ranks(saving *to, const trace_template *t, halley_error *err)
{
    halley_trace_set *set = NULL;
    TRY(trace_template_expand_all(&set, t, err));
    halley_status status = HALLEY_OK;
    for (uint32_t rank = 0; rank < t->n_ranks && status == HALLEY_OK; rank++)
        status = save_rank(to, rank, halley_trace_set_get(set, rank), err);
    halley_trace_set_free(set);
    if (status == HALLEY_OK && to->sum.n_groups)
        status = save_groups(to, t, err);
    return status;
}

static halley_status save_template(saving *to, const trace_template *t, halley_error *err)
{
    for (size_t i = 0; i < t->groups.n; i++)
        to->sum.n_groups += t->groups.at[i].n_keys;
    TRY(file_set_open(&to->files, err));
    const halley_status status = save_ranks(to, t, err);
    map64_fini(&to->seen);
    if (status != HALLEY_OK) {
        file_set_abort(to->files);
        return status;
    }
    return file_set_commit(to->files, err);
}

halley_status halley_plan_trace_save(const char *prefix, const halley_model *model,
                                     const halley_plan *plan,
                                     const halley_cluster *cluster,
                                     const halley_stack *stack,
                                     halley_trace_prices prices,
                                     halley_gen_summary *summary, halley_error *err)
{
    saving to = {.prefix = prefix, .sum = {.size = sizeof to.sum}};
    halley_template *t = NULL;
    TRY(halley_plan_template_labelled(&t, model, plan, cluster, stack, prices, err));
    const halley_status status = save_template(&to, t, err);
    halley_template_free(t);
    if (status == HALLEY_OK && summary)
        *summary = to.sum;
    return status;
}
