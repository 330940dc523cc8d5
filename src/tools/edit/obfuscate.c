/*
 * Obfuscates a set. What all ranks share (groups, the earliest start) is decided first.
 * Then each distinct trace is processed, in parallel. From level sizes on, the result
 * and the exact set are both simulated. While the time differs by more than the bound,
 * the steps are halved and fewer changes are made.
 */
#include "edit/obfuscate.h"

#include "base/array.h"
#include "base/call.h"
#include "base/error.h"
#include "base/number/number.h"
#include "base/pool.h"
#include "edit/obfuscate_twins.h"
#include "edit/passes.h"
#include "edit/times.h"
#include "trace/core/slots.h"
#include "trace/format/et.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTEMPTS = 6, KEPT_BYTES = 1 << 30 };

/* The result and the memory it uses. */
typedef struct whole {
    halley_obfuscation o;
    arena memory;
    trace_groups groups; /* under their new names */
} whole;

typedef struct work {
    obfuscate_job job;
    const halley_trace_set *set;
    trace_distinct distinct;
    obfuscate_twins twins;
    obfuscate_counts *counts; /* by distinct trace that is processed */
    obfuscate_scanned *scanned;
    halley_trace **made; /* by distinct trace, of the current pass */
    halley_trace_set *exact, *rough;
    const trace_groups *new_groups;
    synth_timing timing; /* how the set can be timed; from level sizes on */
} work;

void halley_fold_key(uint8_t key[16], const void *text, size_t n)
{
    const siphash_tag tag = siphash((siphash_key){{0, 0}}, text, n);
    for (unsigned i = 0; i < 16; i++)
        key[i] = (uint8_t)(tag.t[i / 8] >> (8 * (i % 8)));
}

static void free_counts(obfuscate_counts *c)
{
    intern_fini(&c->whats);
    intern_fini(&c->names);
    array_fini(&c->n);
}

bool obfuscate_count(obfuscate_counts *c, str what, uint64_t n)
{
    assert(what.n > 0);
    const uint32_t id = intern_add(&c->whats, what);
    if (id == HASH_NONE || (id >= c->n.n && !array_push(&c->n, 0)))
        return false;
    c->n.at[id] += n;
    return true;
}

typedef ARRAY(str) str_array;

/* Sorts numbers by value, then other names by their bytes, so that the order of groups
 * is kept. */
static int by_group_name(const void *a, const void *b)
{
    const str x = *(const str *)a, y = *(const str *)b;
    uint64_t p = 0, q = 0;
    const bool number_x = str_to_u64(x, &p), number_y = str_to_u64(y, &q);
    if (number_x != number_y)
        return number_x ? -1 : 1;
    return p != q ? (p < q ? -1 : 1) : str_cmp(x, y);
}

static bool note_group_name(str_array *names, map64 *seen, str name)
{
    assert(names != NULL);
    uint32_t one = 1;
    bool fresh;
    if (name.n == 0 || str_eq(name, STR("0")))
        return true;
    if (!map64_put(seen, hash_bytes(name.at, name.n, 0), &one, &fresh))
        return false;
    return !fresh || array_push(names, name);
}

/* Adds the names of the groups that the nodes of a trace use. */
static bool add_used(str_array *names, map64 *seen, const halley_trace *t)
{
    static const char *const group[] = {"pg_name"};
    trace_slots slots;
    bool fine = trace_slots_init(&slots, t, group, 1);
    halley_attr attr;
    for (uint32_t i = 0; fine && i < halley_trace_count(t); i++)
        if (trace_slots_find(&attr, &slots, i, 0) && attr.kind == HALLEY_ATTR_STRING)
            fine = note_group_name(names, seen, (str){attr.bytes.at, attr.bytes.n});
    trace_slots_fini(&slots);
    return fine;
}

static bool add_groups_of(str_array *names, map64 *seen, const work *w, uint32_t i)
{
    assert(i < w->distinct.n);
    const trace_twins *const t = &w->twins.before;
    const uint32_t rank = w->distinct.first_rank[i];
    bool fine = true;
    if (t->names_at[rank] == t->names_at[rank + 1]) /* none, or too many */
        return add_used(names, seen, w->distinct.trace[i]);
    for (uint32_t k = t->names_at[rank]; fine && k < t->names_at[rank + 1]; k++)
        fine = note_group_name(names, seen, t->names.at[k]);
    return fine;
}

static halley_status renumber_groups(work *w, halley_error *err)
{
    str_array names = {0};
    map64 seen = {0};
    bool fine = true;
    for (size_t i = 0; fine && i < w->job.old.list.n; i++)
        fine = note_group_name(&names, &seen, w->job.old.list.at[i].name);
    for (uint32_t i = 0; fine && i < w->distinct.n; i++)
        fine = add_groups_of(&names, &seen, w, i);
    if (names.n > 1)
        qsort(names.at, names.n, sizeof *names.at, by_group_name);
    for (uint32_t i = 0; fine && i < names.n; i++)
        fine = map64_set(&w->job.group_number,
                         hash_bytes(names.at[i].at, names.at[i].n, 0), i + 1);
    array_fini(&names);
    map64_fini(&seen);
    return fine ? HALLEY_OK : error_nomem(err);
}

static uint64_t take_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static halley_status find_earliest(work *w, halley_error *err)
{
    static const char *const start_ns[] = {"start_ns"};
    uint64_t us = UINT64_MAX, ns = UINT64_MAX, value;
    halley_attr attr;
    for (uint32_t i = 0; i < w->distinct.n; i++) {
        const halley_trace *const t = w->distinct.trace[i];
        trace_slots slots;
        if (w->twins.like[i] != i)
            continue;
        if (!trace_slots_init(&slots, t, start_ns, 1))
            return error_nomem(err);
        for (uint32_t node = 0; node < halley_trace_count(t) && call_goes_on(); node++) {
            const uint64_t start = halley_node_start_us(t, node);
            us = start > 0 ? take_smaller(us, start) : us;
            if (trace_slots_find(&attr, &slots, node, 0) &&
                halley_attr_to_u64(&attr, &value))
                ns = take_smaller(ns, value);
        }
        trace_slots_fini(&slots);
    }
    w->job.start_us = us == UINT64_MAX ? 0 : us;
    w->job.start_ns = ns == UINT64_MAX ? 0 : ns;
    return HALLEY_OK;
}

static halley_status rename_groups(whole *out, const work *w, halley_error *err)
{
    assert(out != NULL);
    for (size_t i = 0; i < w->job.old.list.n; i++) {
        trace_group group = w->job.old.list.at[i];
        const uint32_t number =
            map64_find(&w->job.group_number, hash_bytes(group.name.at, group.name.n, 0));
        const char *const name =
            w->job.opts->level >= HALLEY_HIDE_NAMES
                ? arena_printf(&out->groups.memory, "%" PRIu32, number)
                : arena_copy(&out->groups.memory, group.name);
        uint32_t *const ranks =
            arena_array(&out->groups.memory, group.n_ranks, sizeof *ranks);
        if (!name || (!ranks && group.n_ranks > 0))
            return error_nomem(err);
        if (group.n_ranks > 0)
            memcpy(ranks, group.ranks, group.n_ranks * sizeof *ranks);
        group.name = str_from(name);
        group.ranks = ranks;
        if (!array_push(&out->groups.list, group))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

static halley_status do_trace(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    work *const w = context;
    halley_trace *clean = NULL;
    if (w->twins.like[i] != i)
        return HALLEY_OK;
    free_counts(&w->counts[i]);
    w->counts[i] = (obfuscate_counts){0};
    TRY(obfuscate_clean(&clean, &w->counts[i], &w->job, w->distinct.trace[i], err));
    w->made[i] = clean;
    if (w->job.level >= HALLEY_HIDE_STRUCTURE) {
        w->made[i] = NULL;
        const halley_status status =
            obfuscate_structure(&w->made[i], &w->counts[i], &w->job, clean, err);
        halley_trace_free(clean);
        TRY(status);
    }
    if (!w->twins.has_twins[i])
        return HALLEY_OK;
    return et_keep_layout(w->made[i], KEPT_BYTES / w->distinct.n, err);
}

/* Makes the trace of a twin from the processed one. */
static halley_status do_twin(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    work *const w = context;
    const uint32_t like = w->twins.like[i];
    if (like == i)
        return HALLEY_OK;
    return obfuscate_twin(&w->made[i], &w->twins, &w->distinct, (uint32_t)i,
                          w->made[like], err);
}

static halley_status gather_ranks(halley_trace_set **out, const work *w,
                                  halley_error *err)
{
    assert(w->made != NULL);
    const uint32_t n = w->distinct.n_ranks;
    halley_trace **const ranks = mem_array(n, sizeof *ranks);
    if (!ranks)
        return error_nomem(err);
    for (uint32_t r = 0; r < n; r++)
        ranks[r] = w->made[w->distinct.which[r]];
    const halley_status status = halley_trace_set_new(out, ranks, n, err);
    for (uint32_t r = 0; status == HALLEY_OK && r < n; r++)
        (void)halley_trace_keep(ranks[r]);
    free(ranks);
    return status;
}

/* Collects the traces of a pass into a set. */
static halley_status take_made(halley_trace_set **out, work *w, halley_status status,
                               halley_error *err)
{
    assert(w->made != NULL);
    halley_trace_set *set = NULL;
    if (status == HALLEY_OK)
        status = pool_run(w->job.opts->n_threads, w->distinct.n, do_twin, w, err);
    if (status == HALLEY_OK)
        status = gather_ranks(&set, w, err);
    for (uint32_t i = 0; i < w->distinct.n; i++) {
        halley_trace_free(w->made[i]);
        w->made[i] = NULL;
    }
    if (status == HALLEY_OK)
        *out = set;
    return status;
}

/* Processes all traces at the current level of the job. */
static halley_status change_all_traces(halley_trace_set **out, work *w, halley_error *err)
{
    const halley_status status =
        pool_run(w->job.opts->n_threads, w->distinct.n, do_trace, w, err);
    return take_made(out, w, status, err);
}

static const halley_trace_set *result_of(const work *w)
{
    return w->rough ? w->rough : w->exact;
}

static halley_status scan_trace(void *context, size_t i, uint32_t worker,
                                halley_error *err)
{
    (void)worker;
    work *const w = context;
    if (i == 0) /* takes longest: checks the whole result */
        return synth_passes(result_of(w), w->new_groups, &w->twins.after, err);
    i--;
    if (w->job.opts->level < HALLEY_HIDE_NAMES)
        return HALLEY_OK;
    const halley_trace *const made =
        halley_trace_set_get(result_of(w), w->distinct.first_rank[i]);
    w->scanned[i] = (obfuscate_scanned){0};
    return obfuscate_scan(&w->scanned[i], w->job.opts, w->distinct.trace[i],
                          (halley_trace *)(uintptr_t)made, KEPT_BYTES / w->distinct.n,
                          w->distinct.n > 1 ? 1 : w->job.opts->n_threads, err);
}

/* Tasks on the traces that run at the same time as simulations of a set that they do not
 * change. */
typedef struct beside {
    work *w;
    pool_task *task; /* with w, for i < n_tasks */
    size_t n_tasks;
    synth_timed timed;
    double seconds[HALLEY_N_REFERENCES];
    halley_status status[HALLEY_N_REFERENCES];
    halley_error why[HALLEY_N_REFERENCES];
} beside;

/* Starts the longest work first: a large trace, or the simulations of many traces. */
static halley_status do_either(void *context, size_t i, uint32_t worker,
                               halley_error *err)
{
    beside *const b = context;
    const size_t n = HALLEY_N_REFERENCES;
    const bool tasks_first = b->w->distinct.n <= n;
    const size_t first = tasks_first ? b->n_tasks : n;
    if ((i < first) == tasks_first)
        return b->task(b->w, tasks_first ? i : i - n, worker, err);
    const uint32_t k = (uint32_t)(tasks_first ? i - first : i);
    b->status[k] = synth_time(&b->seconds[k], k, &b->timed, &b->why[k]);
    return HALLEY_OK;
}

static halley_status run_beside(beside *b, halley_error *err)
{
    return pool_run(b->w->job.opts->n_threads, b->n_tasks + HALLEY_N_REFERENCES,
                    do_either, b, err);
}

/* The first cluster on which the simulation failed. HALLEY_N_REFERENCES: none. */
static uint32_t first_failed(const beside *b)
{
    uint32_t i = 0;
    while (i < HALLEY_N_REFERENCES && b->status[i] == HALLEY_OK)
        i++;
    return i;
}

static void note_exact(halley_obfuscation *o, const double *seconds)
{
    assert(seconds != NULL);
    o->n_times = HALLEY_N_REFERENCES;
    for (uint32_t i = 0; i < o->n_times; i++)
        o->times[i] = (halley_before_after){halley_reference_name(i), seconds[i], 0};
}

/* Times a set that cannot be simulated as it is (dangling dependencies, names of
 * groups). It simulates the cleaned set instead. If that also fails, it uses the
 * critical path. */
static halley_status time_cleaned(whole *out, work *w, const synth_timing *how,
                                  halley_error *err)
{
    halley_obfuscation *const o = &out->o;
    double seconds[HALLEY_N_REFERENCES];
    halley_error why = {0};
    w->job.level = HALLEY_HIDE_NAMES;
    TRY(change_all_traces(&w->exact, w, err));
    w->job.level = w->job.opts->level;
    const halley_status status = synth_times(seconds, w->exact, &out->groups, how, &why);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status == HALLEY_OK) {
        note_exact(o, seconds);
        return HALLEY_OK;
    }
    char text[HALLEY_ERROR_TEXT + HALLEY_ERROR_FILE];
    o->unverified =
        arena_copy(&out->memory, str_from(halley_error_format(&why, text, sizeof text)));
    if (!o->unverified)
        return error_nomem(err);
    o->n_times = 1;
    o->times[0] = (halley_before_after){.cluster = ""};
    return synth_critical_s(&o->times[0].before_s, w->exact, err);
}

/* Makes the first attempt while the exact set is simulated. *w->rough stays NULL if the
 * exact times had to be found in another way, which must come first. */
static halley_status start_attempt(whole *out, work *w, const synth_timing *how,
                                   halley_error *err)
{
    beside b = {.w = w,
                .task = do_trace,
                .n_tasks = w->distinct.n,
                .timed = {w->set, &w->job.old, how, &w->twins.before}};
    TRY(take_made(&w->rough, w, run_beside(&b, err), err));
    const uint32_t failed = first_failed(&b);
    if (failed == HALLEY_N_REFERENCES) {
        note_exact(&out->o, b.seconds);
        return HALLEY_OK;
    }
    halley_trace_set_free(w->rough);
    w->rough = NULL;
    if (b.status[failed] == HALLEY_ENOMEM)
        return error_nomem(err);
    return time_cleaned(out, w, how, err);
}

/* Simulates and scans the result of an attempt. Findings in an attempt whose time is too
 * far off do not matter, because it is not returned. */
static halley_status examine_set(bool *fine, whole *out, work *w, const synth_timing *how,
                                 halley_error *err)
{
    assert(fine != NULL);
    halley_obfuscation *const o = &out->o;
    beside b = {.w = w,
                .task = scan_trace,
                .n_tasks = (size_t)w->distinct.n + 1,
                .timed = {w->rough, &out->groups, how, &w->twins.after}};
    const halley_status status =
        o->unverified ? pool_run(w->job.opts->n_threads, b.n_tasks, scan_trace, w, err)
                      : run_beside(&b, err);
    if (status == HALLEY_ENOMEM)
        return status;
    if (o->unverified)
        TRY(synth_critical_s(&b.seconds[0], w->rough, err));
    else if (first_failed(&b) < HALLEY_N_REFERENCES) {
        const uint32_t failed = first_failed(&b);
        if (err)
            *err = b.why[failed];
        return b.status[failed];
    }
    *fine = true;
    for (uint32_t i = 0; i < o->n_times; i++) {
        const double before = o->times[i].before_s, after = b.seconds[i];
        o->times[i].after_s = after;
        *fine &= fabs(after - before) <= o->bound * before;
    }
    return *fine ? status : HALLEY_OK;
}

static void set_attempt(whole *out, work *w, int attempt)
{
    obfuscate_scale_init(&w->job.scale, ldexp(out->o.bound, -attempt));
    w->job.strength = ldexp(1, -attempt);
}

/* Rounds sizes and perhaps changes the structure, until the simulated time is within the
 * bound. */
static halley_status make_rough_set(whole *out, work *w, halley_error *err)
{
    assert(w->job.opts->level >= HALLEY_HIDE_SIZES);
    const synth_timing how = w->timing;
    bool fine = false;
    set_attempt(out, w, 0);
    TRY(start_attempt(out, w, &how, err));
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        set_attempt(out, w, attempt);
        if (attempt > 0) {
            halley_trace_set_free(w->rough);
            w->rough = NULL;
        }
        if (!w->rough)
            TRY(change_all_traces(&w->rough, w, err));
        TRY(examine_set(&fine, out, w, &how, err));
        if (fine)
            return HALLEY_OK;
    }
    return error_set(err, HALLEY_EINVAL,
                     "even small changes move the simulated time by more than the bound "
                     "of %s %%; take a lower level or a wider bound",
                     number_digits(100 * out->o.bound, 6).at);
}

/* Makes the set with exact sizes: only names and unknown attributes are removed. */
static halley_status make_exact_set(work *w, halley_error *err)
{
    assert(w->job.opts->level < HALLEY_HIDE_SIZES);
    TRY(change_all_traces(&w->exact, w, err));
    return pool_run(w->job.opts->n_threads, (size_t)w->distinct.n + 1, scan_trace, w,
                    err);
}

static int by_count(const void *a, const void *b)
{
    const halley_tally *const x = a, *const y = b;
    return x->n != y->n ? (x->n > y->n ? -1 : 1) : strcmp(x->what, y->what);
}

static halley_status sum_removed(whole *out, const obfuscate_counts *sum,
                                 halley_error *err)
{
    halley_obfuscation *const o = &out->o;
    o->removed = arena_array(&out->memory, sum->n.n, sizeof *o->removed);
    if (!o->removed && sum->n.n > 0)
        return error_nomem(err);
    for (uint32_t i = 0; i < sum->n.n; i++) {
        const char *const what = arena_copy(&out->memory, intern_text(&sum->whats, i));
        if (!what)
            return error_nomem(err);
        o->removed[o->n_removed++] = (halley_tally){what, sum->n.at[i]};
    }
    if (o->n_removed > 1)
        qsort(o->removed, o->n_removed, sizeof *o->removed, by_count);
    return HALLEY_OK;
}

static bool add_counts(obfuscate_counts *sum, const obfuscate_counts *c)
{
    for (uint32_t i = 0; i < c->n.n; i++)
        if (!obfuscate_count(sum, intern_text(&c->whats, i), c->n.at[i]))
            return false;
    for (uint32_t i = 0; i < c->names.n; i++)
        if (intern_add(&sum->names, intern_text(&c->names, i)) == HASH_NONE)
            return false;
    sum->size_error = fmax(sum->size_error, c->size_error);
    sum->duration_error = fmax(sum->duration_error, c->duration_error);
    sum->n_split += c->n_split;
    sum->n_joined += c->n_joined;
    sum->n_edges_added += c->n_edges_added;
    sum->n_edges_dropped += c->n_edges_dropped;
    return true;
}

static uint64_t count_set_nodes(const halley_trace_set *set)
{
    uint64_t n = 0;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++)
        n += halley_trace_count(halley_trace_set_get(set, r));
    return n;
}

/* Lists what remains visible, starting with the least hidden. */
static halley_status list_visible(whole *out, const work *w, halley_error *err)
{
    const halley_obfuscate_level level = w->job.opts->level;
    const struct {
        bool seen;
        const char *what;
    } rows[] = {
        {level < HALLEY_HIDE_NAMES, "all names of nodes and groups"},
        {level >= HALLEY_HIDE_NAMES && !w->job.opts->classes,
         "which nodes had the same name, within and across ranks, and with the key all "
         "names"},
        {level >= HALLEY_HIDE_NAMES && w->job.opts->classes,
         "the class of each operator: matrix product, attention, norm and so on"},
        {level < HALLEY_HIDE_SIZES, "exact durations, operations and bytes, from which "
                                    "layer shapes can be computed"},
        {level >= HALLEY_HIDE_SIZES,
         w->job.opts->vary
             ? "durations, operations and bytes within the bound, and which messages "
               "have equal sizes"
             : "durations, operations and bytes within the bound, and which of them are "
               "equal"},
        {level < HALLEY_HIDE_STRUCTURE,
         "the exact graph: number of layers, micro-batches and steps"},
        {level >= HALLEY_HIDE_STRUCTURE,
         w->job.opts->vary
             ? "exactly how many layers, micro-batches, tensor-, data- and "
               "pipeline-parallel ranks there are, from the order and the groups of "
               "communication"
             : "exactly how many layers, micro-batches, tensor-, data- and "
               "pipeline-parallel ranks there are, from equal sizes (--vary-sizes breaks "
               "these) and from the order and the groups of communication"},
        {true,
         "number of ranks; type, order, group, peers and tags of all communication"},
        {w->job.opts->n_keep > 0 || w->job.opts->keep_io != 0,
         "everything that was asked to stay, as it was"},
    };
    const size_t n = sizeof rows / sizeof *rows;
    out->o.visible = arena_array(&out->memory, n, sizeof *out->o.visible);
    if (!out->o.visible)
        return error_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (rows[i].seen)
            out->o.visible[out->o.n_visible++] = rows[i].what;
    return HALLEY_OK;
}

static halley_status report_losses(whole *out, work *w, halley_error *err)
{
    assert(out != NULL);
    halley_obfuscation *const o = &out->o;
    obfuscate_counts sum = {0};
    bool fine = true;
    for (uint32_t i = 0; fine && i < w->distinct.n; i++) {
        fine = add_counts(&sum, &w->counts[w->twins.like[i]]);
        o->scanned_bytes += w->scanned[i].n_bytes;
        o->scanned_texts_bytes += w->scanned[i].n_text_bytes;
    }
    o->n_names = sum.names.n;
    o->n_groups = w->job.opts->level >= HALLEY_HIDE_NAMES ? w->job.group_number.n : 0;
    o->size_error = sum.size_error;
    o->duration_error = sum.duration_error;
    o->quantum = w->job.opts->level >= HALLEY_HIDE_SIZES ? w->job.scale.step : 0;
    o->n_split = sum.n_split;
    o->n_joined = sum.n_joined;
    o->n_edges_added = sum.n_edges_added;
    o->n_edges_dropped = sum.n_edges_dropped;
    o->n_nodes_before = count_set_nodes(w->set);
    halley_status status = fine ? sum_removed(out, &sum, err) : error_nomem(err);
    free_counts(&sum);
    if (status == HALLEY_OK)
        status = list_visible(out, w, err);
    if (status == HALLEY_OK) {
        o->set = w->rough ? w->rough : w->exact;
        o->n_nodes = count_set_nodes(o->set);
        if (w->rough)
            w->rough = NULL;
        else
            w->exact = NULL;
    }
    return status;
}

/* Decides what must be known before any trace is changed. */
static halley_status prepare_job(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    work *const w = context;
    (void)worker;
    if (i == 0)
        return renumber_groups(w, err);
    TRY(find_earliest(w, err));
    if (w->job.opts->level >= HALLEY_HIDE_SIZES)
        TRY(synth_timing_of(&w->timing, w->set, &w->twins.before, err));
    return HALLEY_OK;
}

static halley_status obfuscate_set(whole *out, work *w, halley_error *err)
{
    const halley_obfuscate_level level = w->job.opts->level;
    TRY(trace_distinct_init(&w->distinct, w->set, err));
    w->counts = mem_array_zero(w->distinct.n, sizeof *w->counts);
    w->scanned = mem_array_zero(w->distinct.n, sizeof *w->scanned);
    w->made = mem_array_zero(w->distinct.n, sizeof *w->made);
    if (!w->counts || !w->scanned || !w->made)
        return error_nomem(err);
    TRY(synth_groups_of(&w->job.old, w->set, w->job.opts->groups_path, err));
    TRY(obfuscate_twins_find(&w->twins, w->set, &w->distinct, w->job.opts, err));
    TRY(pool_run(w->job.opts->n_threads, 2, prepare_job, w, err));
    TRY(rename_groups(out, w, err));
    TRY(obfuscate_twins_name(&w->twins, &w->distinct, &w->job, err));
    w->job.level = level;
    w->new_groups = &out->groups;
    TRY(level >= HALLEY_HIDE_SIZES ? make_rough_set(out, w, err)
                                   : make_exact_set(w, err));
    return report_losses(out, w, err);
}

static void free_work(work *w)
{
    for (uint32_t i = 0; w->counts && i < w->distinct.n; i++)
        free_counts(&w->counts[i]);
    free(w->counts);
    free(w->scanned);
    free(w->made);
    halley_trace_set_free(w->exact);
    halley_trace_set_free(w->rough);
    obfuscate_twins_fini(&w->twins);
    trace_distinct_fini(&w->distinct);
    trace_groups_fini(&w->job.old);
    map64_fini(&w->job.group_number);
}

halley_status halley_trace_obfuscate(halley_obfuscation **out,
                                     const halley_trace_set *set,
                                     const halley_obfuscate_opts *opts, halley_error *err)
{
    assert(out != NULL && opts != NULL);
    assert(opts->level <= HALLEY_HIDE_STRUCTURE);
    const double bound = opts->bound == 0 ? 0.05 : opts->bound;
    if (!(bound > 0 && bound <= 0.5))
        return error_set(err, HALLEY_EINVAL,
                         "the bound must be above 0 and at most 50 %%, is %s %%",
                         number_digits(100 * bound, 6).at);
    whole *const made = mem_array_zero(1, sizeof *made);
    if (!made)
        return error_nomem(err);
    made->o.size = sizeof made->o;
    made->o.memory = made;
    made->o.bound = bound;
    made->o.level = opts->level;
    work w = {.set = set, .job = {.opts = opts, .key = siphash_key_from(opts->key)}};
    const halley_status status = obfuscate_set(made, &w, err);
    free_work(&w);
    if (status == HALLEY_OK)
        *out = &made->o;
    else
        halley_obfuscation_free(&made->o);
    return status;
}

halley_status halley_obfuscation_save_groups(const halley_obfuscation *o,
                                             const char *path, halley_error *err)
{
    const whole *const w = o->memory;
    return w->groups.list.n == 0 ? HALLEY_OK
                                 : trace_groups_save(&w->groups, path, true, err);
}

void halley_obfuscation_free(halley_obfuscation *o)
{
    if (!o)
        return;
    whole *const w = o->memory;
    halley_trace_set_free(o->set);
    trace_groups_fini(&w->groups);
    arena_fini(&w->memory);
    free(w);
}
