/*
 * Writes new sets to files. Sets are made in parallel, one thread each; with few sets,
 * their ranks are also made in parallel. Each set depends only on its own seed, so the
 * bytes are the same for any number of threads. All sets go into one folder, which
 * appears when they are complete.
 */
#include "base/file/file.h"
#include "base/pool.h"
#include "base/watch.h"
#include "learn/sample/sample.h"

#include <assert.h>
#include <stdatomic.h>

typedef struct saver {
    file_folder *folder;
    const halley_synth *synth;
    halley_synth_order *orders;
    joint_row *plan;        /* by order; NULL: each set is drawn independently */
    halley_synth_opts opts; /* for one set */
    watcher look;
} saver;

halley_status sample_groups(trace_groups *to, const sample_set *s, halley_error *err)
{
    assert(to->list.n == 0);
    for (size_t i = 0; i < s->kinds.n; i++) {
        const sample_kind *k = &s->kinds.at[i];
        bool again = k->size < 2 || k->size >= s->outline.n_ranks;
        for (size_t j = 0; j < i && !again; j++)
            again = s->kinds.at[j].first_id == k->first_id;
        for (uint32_t g = 0; !again && g < s->outline.n_ranks / k->size; g++) {
            const uint32_t first = g / k->stride * k->stride * k->size + g % k->stride;
            char *const name = arena_printf(&to->memory, "%u", k->first_id + g);
            uint32_t *const ranks = arena_array(&to->memory, k->size, sizeof *ranks);
            if (!name || !ranks ||
                !array_push(&to->list, (trace_group){str_from(name), ranks, k->size}))
                return error_nomem(err);
            for (uint32_t r = 0; r < k->size; r++)
                ranks[r] = first + r * k->stride;
        }
    }
    return HALLEY_OK;
}

static void write_conditions(strbuf *to, const conditions *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        strbuf_add(to, i > 0 ? STR(",\n  ") : STR("{\n  "));
        strbuf_json(to, str_from(c->at[i].name));
        strbuf_add(to, STR(": "));
        if (c->at[i].text[0])
            strbuf_json(to, str_from(c->at[i].text));
        else
            strbuf_double(to, c->at[i].number);
    }
    strbuf_add(to, STR("\n}\n"));
}

static halley_status put_text_file(const saver *v, const char *set, const char *what,
                                   const strbuf *text, halley_error *err)
{
    assert(set != NULL && what != NULL);
    strbuf name = {0};
    strbuf_printf(&name, "%s.%s", set, what);
    const halley_status status =
        name.failed || text->failed
            ? error_nomem(err)
            : file_folder_put(v->folder, name.at, text->at, text->n, err);
    strbuf_fini(&name);
    return status;
}

typedef struct ranks {
    const saver *saver;
    const char *name;
    const halley_trace_set *set;
} ranks;

static halley_status put_rank(void *context, size_t i, uint32_t worker, halley_error *err)
{
    const ranks *r = context;
    strbuf name = {0};
    uint8_t *bytes = NULL;
    size_t n = 0;
    (void)worker;
    TRY(halley_trace_encode_et(&bytes, &n, halley_trace_set_get(r->set, (uint32_t)i),
                               err));
    strbuf_printf(&name, "%s.%zu.et", r->name, i);
    const halley_status status =
        name.failed ? error_nomem(err)
                    : file_folder_put(r->saver->folder, name.at, bytes, n, err);
    strbuf_fini(&name);
    free(bytes);
    return status;
}

static halley_status put_set(const saver *v, halley_synth_order *order,
                             const sample_set *s, const halley_trace_set *set,
                             halley_error *err)
{
    assert(order->name != NULL);
    ranks r = {v, order->name, set};
    trace_groups groups = {0};
    strbuf text = {0}, listed = {0};
    sample_sum_up(&order->made, s);
    halley_status status = sample_groups(&groups, s, err);
    order->made.n_groups = (uint32_t)groups.list.n;
    trace_groups_print(&text, &groups, false);
    trace_groups_fini(&groups);
    write_conditions(&listed, &s->outline.conditions);
    if (status == HALLEY_OK)
        status =
            pool_run(v->opts.n_threads, halley_trace_set_count(set), put_rank, &r, err);
    if (status == HALLEY_OK && order->made.n_groups > 0)
        status = put_text_file(v, order->name, "comm_group.json", &text, err);
    if (status == HALLEY_OK && s->outline.conditions.n > 0)
        status = put_text_file(v, order->name, "conditions.json", &listed, err);
    strbuf_fini(&text);
    strbuf_fini(&listed);
    return status;
}

static halley_status do_order(void *context, size_t i, uint32_t worker, halley_error *err)
{
    saver *v = context;
    halley_synth_order *order = &v->orders[i];
    halley_synth_opts opts = v->opts;
    sample_wish wish = *sample_wish_of(v->synth);
    sample_set s = {0};
    halley_trace_set *set = NULL;
    (void)worker;
    opts.seed = order->seed;
    wish.plan = v->plan ? &v->plan[i] : NULL;
    if (order->conditions)
        TRY(sample_wish_load(&wish, v->synth, order->conditions, err));
    TRY(sample_make(&set, &s, v->synth, &wish, &opts, err));
    const halley_status status = put_set(v, order, &s, set, err);
    halley_trace_set_free(set);
    sample_set_fini(&s);
    if (status == HALLEY_OK && !watcher_add(&v->look, 1))
        return watcher_error(&v->look, err);
    return status;
}

/* Sets for which nothing is fixed are drawn together (sample_plan.c). */
static halley_status plan_orders(saver *v, size_t n, uint32_t n_threads,
                                 halley_error *err)
{
    assert(n > 0);
    const sample_wish *const wish = sample_wish_of(v->synth);
    bool free = n > 1 && v->opts.n_ranks == 0 && sample_is_free(wish);
    for (size_t i = 0; i < n; i++)
        free = free && !v->orders[i].conditions;
    if (!free)
        return HALLEY_OK;
    v->plan = mem_array(n, sizeof *v->plan);
    if (!v->plan)
        return error_nomem(err);
    return sample_plan(v->plan, n, sample_model_of(v->synth), v->orders[0].seed,
                       n_threads, err);
}

halley_status halley_synth_save(const char *folder, const halley_synth *synth,
                                halley_synth_order *orders, size_t n,
                                const halley_synth_opts *opts, halley_error *err)
{
    assert(folder != NULL && (orders != NULL || n == 0));
    static const halley_synth_opts defaults;
    saver v = {.synth = synth, .orders = orders, .opts = opts ? *opts : defaults};
    const uint32_t n_threads = v.opts.n_threads > 0 ? v.opts.n_threads : pool_cores();
    v.opts.n_threads = n < n_threads ? n_threads : 1;
    watcher_init(&v.look, v.opts.watch, "making sets of traces", "sets", (double)n);
    if (watcher_is_cancelled(&v.look))
        return watcher_error(&v.look, err);
    TRY(file_folder_open(&v.folder, folder, err));
    halley_status status = plan_orders(&v, n, n_threads, err);
    if (status == HALLEY_OK)
        status = pool_run(n_threads, n, do_order, &v, err);
    free(v.plan);
    if (status == HALLEY_OK)
        return file_folder_commit(v.folder, err);
    file_folder_abort(v.folder);
    return status;
}
