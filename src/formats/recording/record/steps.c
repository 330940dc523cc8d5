/*
 * Find the steps of a recording.
 *
 * PyTorch writes them as ranges "ProfilerStep#N". In recordings of other profilers, steps
 * are ranges whose names differ only in a number ("step 0", "step 1"). Among families of
 * at least two ranges that do not overlap, the one with the longest total time is taken:
 * the outermost. Layers are numbered too ("Identity_3" of TensorRT). So a family that
 * launches less than a tenth of the device time is not taken as steps.
 */
#include "recording/record/record.h"

#include <stdlib.h>
#include <string.h>

/* Find the last number of a name and where it starts. False: there is none. */
static bool find_step_number(str name, size_t *at, uint64_t *number)
{
    size_t end = name.n;
    while (end > 0 && (name.at[end - 1] < '0' || name.at[end - 1] > '9'))
        end--;
    size_t from = end;
    while (from > 0 && name.at[from - 1] >= '0' && name.at[from - 1] <= '9')
        from--;
    *at = from;
    return from < end && str_to_u64((str){name.at + from, end - from}, number);
}

static bool add_step_range(record *r, const rec_host *event, uint64_t number)
{
    return array_push(&r->steps, (rec_step){.begin_ns = event->begin_ns,
                                            .end_ns = event->end_ns,
                                            .name = event->name,
                                            .number = number});
}

static bool add_profiler_steps(record *r)
{
    for (size_t i = 0; i < r->hosts.n; i++) {
        const rec_host *const event = &r->hosts.at[i];
        const str name = rec_text(r, event->name);
        size_t at;
        uint64_t number = r->steps.n;
        if (event->kind == REC_CALL || !str_starts(name, STR("ProfilerStep")))
            continue;
        (void)find_step_number(name, &at, &number);
        if (!add_step_range(r, event, number))
            return false;
    }
    return true;
}

/* A family of ranges whose names differ in a number only. */
typedef struct step_family {
    uint64_t key;
    uint32_t n;
    int64_t total_ns, last_end_ns;
    uint64_t last_number;
    bool overlaps, repeats; /* repeats: two of them have the same number */
} step_family;
typedef ARRAY(step_family) step_families;

static uint64_t hash_step_name(const record *r, const rec_host *event, uint64_t *number)
{
    const str name = rec_text(r, event->name);
    size_t at;
    if (event->kind != REC_ANNOTATION || !find_step_number(name, &at, number))
        return 0;
    const uint64_t key = hash_bytes(
        name.at, at, rec_host_thread(r, (uint32_t)(event - r->hosts.at)) + UINT64_C(1));
    return key == 0 ? 1 : key;
}

static bool count_family(step_families *all, map64 *of, const rec_host *event,
                         uint64_t key, uint64_t number)
{
    uint32_t id = (uint32_t)all->n;
    bool fresh;
    if (!map64_put(of, key, &id, &fresh) ||
        (fresh && !array_push(all, (step_family){.key = key, .last_end_ns = INT64_MIN})))
        return false;
    step_family *const f = &all->at[id];
    f->overlaps |= f->n > 0 && event->begin_ns < f->last_end_ns;
    f->repeats |= f->n > 0 && number == f->last_number;
    f->n++;
    f->total_ns += event->end_ns - event->begin_ns;
    f->last_end_ns = event->end_ns;
    f->last_number = number;
    return true;
}

static const step_family *choose_family(const step_families *all)
{
    const step_family *best = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const step_family *const f = &all->at[i];
        if (f->n < 2 || f->overlaps || f->repeats)
            continue;
        if (best == NULL || f->total_ns > best->total_ns)
            best = f;
    }
    return best;
}

static bool add_repeated_ranges(record *r)
{
    step_families all = {0};
    map64 of = {0};
    bool ok = true;
    uint64_t number = 0;
    for (size_t i = 0; ok && i < r->hosts.n; i++) {
        const uint64_t key = hash_step_name(r, &r->hosts.at[i], &number);
        if (key != 0)
            ok = count_family(&all, &of, &r->hosts.at[i], key, number);
    }
    const step_family *const family = ok ? choose_family(&all) : NULL;
    for (size_t i = 0; ok && family != NULL && i < r->hosts.n; i++)
        if (hash_step_name(r, &r->hosts.at[i], &number) == family->key)
            ok = add_step_range(r, &r->hosts.at[i], number);
    map64_fini(&of);
    array_fini(&all);
    return ok;
}

/* Do the steps, sorted, launch at least a tenth of the device time that has a known
 * launch? */
static bool launch_enough(const record *r)
{
    int64_t all_ns = 0, in_steps_ns = 0;
    for (size_t i = 0; i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const int64_t ns = w->launch == REC_NONE ? 0 : w->end_ns - w->begin_ns;
        all_ns += ns;
        if (ns > 0 && rec_step_at(r, r->hosts.at[w->launch].begin_ns) != REC_NONE)
            in_steps_ns += ns;
    }
    return in_steps_ns >= all_ns / 10;
}

static int compare_steps(const void *a, const void *b)
{
    const rec_step *const x = a, *const y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

bool rec_find_steps(record *r)
{
    if (r->steps.n == 0 && !add_profiler_steps(r))
        return false;
    const bool is_marked = r->steps.n > 0;
    if (!is_marked && r->format != REC_KINETO && !add_repeated_ranges(r))
        return false;
    if (r->steps.n > 1)
        qsort(r->steps.at, r->steps.n, sizeof *r->steps.at, compare_steps);
    if (!is_marked && !launch_enough(r))
        r->steps.n = 0;
    return true;
}

uint32_t rec_step_at(const record *r, int64_t at_ns)
{
    size_t low = 0, high = r->steps.n;
    while (low < high) { /* find the last step that begins at or before this time */
        const size_t mid = low + (high - low) / 2;
        if (r->steps.at[mid].begin_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && at_ns < r->steps.at[low - 1].end_ns ? (uint32_t)(low - 1)
                                                          : REC_NONE;
}
