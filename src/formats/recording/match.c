/*
 * Match operators of the host trace with events of the device trace.
 *
 * PyTorch numbers the calls of record functions, and since 2.1 both traces have that
 * number. Before, the Kineto "External id" is the same number in some versions. A
 * numbering is used only if enough names agree under it. Otherwise operators are aligned
 * by their order on a thread. Names are compared one by one. Where they differ, alignment
 * continues at the next place where three names in a row agree. Of several such places,
 * the one that skips the fewest names is taken.
 *
 * A host trace of one step may come with a device trace of many steps. Then several
 * starts are tried. The one with the most matching names and the fewest events between
 * them is taken.
 */
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

static str match_host_name(const link_graph *g, uint32_t i)
{
    const uint32_t name = g->host->nodes.at[i].name;
    return name == HOST_NONE ? STR("") : intern_text(&g->host->texts, name);
}

static str match_event_name(const link_graph *g, uint32_t e)
{
    return intern_text(&g->device->texts, g->device->events.at[e].name);
}

/* Is this node a thread or the process, not an operator? */
static bool is_frame(str name)
{
    return str_starts(name, STR("[pytorch|profiler|execution_"));
}

static bool names_agree(str host, str event)
{
    /* The two traces count steps from different zeros. */
    return str_eq(host, event) || (str_starts(host, STR("ProfilerStep")) &&
                                   str_starts(event, STR("ProfilerStep")));
}

/* How well a numbering matches. */
typedef struct fit {
    map64 events;
    uint64_t n_found, n_agree;
} fit;

static bool try_numbers(fit *f, const link_graph *g, bool external)
{
    const device_trace *const d = g->device;
    for (size_t e = 0; e < d->events.n; e++) {
        const device_event *const event = &d->events.at[e];
        const uint64_t number = external ? event->external : event->key;
        if (device_is_op(event->kind) && number != PULL_NONE &&
            !map64_set(&f->events, number, (uint32_t)e))
            return false;
    }
    for (uint32_t i = 0; i < g->host->nodes.n; i++) {
        const uint64_t number = g->host->nodes.at[i].rf_id;
        const uint32_t e = number ? map64_find(&f->events, number) : HASH_NONE;
        if (e == HASH_NONE)
            continue;
        f->n_found++;
        f->n_agree += names_agree(match_host_name(g, i), match_event_name(g, e));
    }
    return true;
}

static void pair_up_names(link_graph *g, uint32_t host, uint32_t event)
{
    g->event_of[host] = event;
    g->host_of[event] = host;
    if (!names_agree(match_host_name(g, host), match_event_name(g, event)))
        g->report->n_other_name++;
}

static void use_numbers(link_graph *g, const fit *f, uint64_t *count)
{
    for (uint32_t i = 0; i < g->host->nodes.n; i++) {
        const uint64_t number = g->host->nodes.at[i].rf_id;
        const uint32_t e = number ? map64_find(&f->events, number) : HASH_NONE;
        if (e == HASH_NONE || g->host_of[e] != LINK_NONE)
            continue;
        pair_up_names(g, i, e);
        (*count)++;
    }
}

/* The sequence of names on one thread, as hashes. */
typedef struct names {
    ARRAY(uint64_t) hash;
    ARRAY(uint32_t) item;
} names;

typedef struct place {
    uint64_t hash;
    uint32_t at;
} place;

static uint64_t name_hash(str name)
{
    return str_starts(name, STR("ProfilerStep")) ? 1 : hash_bytes(name.at, name.n, 0);
}

static bool add_match_name(names *to, str name, uint32_t item)
{
    return array_push(&to->hash, name_hash(name)) && array_push(&to->item, item);
}

static uint64_t three(const names *n, size_t i)
{
    return hash_u64(n->hash.at[i] + 3 * hash_u64(n->hash.at[i + 1]) +
                    7 * hash_u64(n->hash.at[i + 2]));
}

static int by_hash(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The first place, from `from` on, with these three names; SIZE_MAX = none. */
static size_t find_three(const place *places, size_t n, uint64_t hash, size_t from)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (places[mid].hash < hash ||
            (places[mid].hash == hash && places[mid].at < from))
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && places[low].hash == hash ? places[low].at : SIZE_MAX;
}

enum { LOOK_AHEAD = 16 };

/* Find where to continue after a difference at (i, j): the place that skips the fewest
 * names on both sides. False: there is none. */
static bool resume(const names *host, const place *places, size_t n_places, size_t *i,
                   size_t *j)
{
    size_t best = SIZE_MAX, best_i = 0, best_j = 0;
    for (size_t k = 0; k < LOOK_AHEAD && *i + k + 2 < host->hash.n && k < best; k++) {
        const size_t at = find_three(places, n_places, three(host, *i + k), *j);
        if (at == SIZE_MAX || at - *j + k >= best)
            continue;
        best = at - *j + k;
        best_i = *i + k;
        best_j = at;
    }
    if (best == SIZE_MAX)
        return false;
    *i = best_i;
    *j = best_j;
    return true;
}

typedef ARRAY(link_edge) pair_array;
/* All positions of three consecutive event names, sorted by hash. */
typedef struct name_index {
    place *at;
    size_t n;
} name_index;

/* Align from event `j` on. Pairs (host item, event) are appended to `to`; *n_events is
 * the number of events from the first to the last pair. False: no memory. */
static bool align_names_from(pair_array *to, size_t *n_events, const names *host,
                             const names *events, const name_index *places, size_t j)
{
    size_t first = SIZE_MAX, last = 0;
    for (size_t i = 0; i < host->hash.n && j < events->hash.n;) {
        if (host->hash.at[i] == events->hash.at[j]) {
            first = first == SIZE_MAX ? j : first;
            last = j;
            if (!array_push(to, (link_edge){host->item.at[i++], events->item.at[j++]}))
                return false;
        } else if (!resume(host, places->at, places->n, &i, &j)) {
            i += LOOK_AHEAD;
        }
    }
    *n_events = first == SIZE_MAX ? 0 : last - first + 1;
    return true;
}

enum { MOST_STARTS = 128 };

/* The events at which the host trace may start: where the first three consecutive host
 * names that occur in the events are found. */
static const place *find_starts(size_t *n, const names *host, const name_index *places)
{
    for (size_t i = 0; i < LOOK_AHEAD && i + 2 < host->hash.n; i++) {
        const uint64_t hash = three(host, i);
        size_t low = 0, high = places->n;
        while (low < high) {
            const size_t mid = (low + high) / 2;
            if (places->at[mid].hash < hash)
                low = mid + 1;
            else
                high = mid;
        }
        for (high = low; high < places->n && places->at[high].hash == hash;)
            high++;
        *n = high - low < MOST_STARTS ? high - low : MOST_STARTS;
        if (*n > 0)
            return places->at + low;
    }
    *n = 0;
    return NULL;
}

/* Twice the pairs minus the events they span. Equal traces have the highest score. */
static int64_t score_pairs(const pair_array *pairs, size_t n_events)
{
    return 2 * (int64_t)pairs->n - (int64_t)n_events;
}

static bool align_at_best_start(pair_array *to, const names *host, const names *events,
                                const name_index *places)
{
    size_t n_events, n_starts = 0;
    bool ok = align_names_from(to, &n_events, host, events, places, 0);
    /* If the event trace is not longer, both traces cover the same steps and start
     * together. */
    const bool is_longer = events->hash.n > host->hash.n + host->hash.n / 4 + LOOK_AHEAD;
    const place *const starts =
        ok && is_longer ? find_starts(&n_starts, host, places) : NULL;
    int64_t best = score_pairs(to, n_events);
    for (size_t k = 0; ok && k < n_starts; k++) {
        pair_array pairs = {0};
        ok = align_names_from(&pairs, &n_events, host, events, places, starts[k].at);
        if (ok && score_pairs(&pairs, n_events) > best) {
            best = score_pairs(&pairs, n_events);
            const pair_array swap = *to;
            *to = pairs;
            pairs = swap;
        }
        array_fini(&pairs);
    }
    return ok;
}

/* Align all. Pairs (host item, event) are put into `to`, which is empty before. False: no
 * memory. */
static bool align_names(pair_array *to, const names *host, const names *events)
{
    name_index places = {.n = events->hash.n > 2 ? events->hash.n - 2 : 0};
    places.at = mem_array(places.n, sizeof *places.at);
    if (places.at == NULL)
        return false;
    for (size_t j = 0; j < places.n; j++)
        places.at[j] = (place){three(events, j), (uint32_t)j};
    qsort(places.at, places.n, sizeof *places.at, by_hash);
    const bool ok = align_at_best_start(to, host, events, &places);
    free(places.at);
    return ok;
}

static bool collect_host(names *to, const link_graph *g, uint64_t tid)
{
    for (uint32_t i = 0; i < g->host->nodes.n; i++)
        if (g->host->nodes.at[i].tid == tid && !is_frame(match_host_name(g, i)) &&
            !add_match_name(to, match_host_name(g, i), i))
            return false;
    return true;
}

static bool collect_events(names *to, const link_graph *g, uint32_t thread)
{
    for (uint32_t e = 0; e < g->device->events.n; e++) {
        const device_event *const event = &g->device->events.at[e];
        if (device_is_op(event->kind) && event->place == thread &&
            g->host_of[e] == LINK_NONE && !add_match_name(to, match_event_name(g, e), e))
            return false;
    }
    return true;
}

/* Find the device thread that matches a host thread best, and the pairs. */
static bool best_thread(pair_array *best, const link_graph *g, const names *host)
{
    bool ok = true;
    for (uint32_t t = 0; ok && t < g->device->threads.n; t++) {
        names events = {0};
        pair_array pairs = {0};
        ok = collect_events(&events, g, t) && align_names(&pairs, host, &events);
        if (ok && pairs.n > best->n) {
            const pair_array swap = *best;
            *best = pairs;
            pairs = swap;
        }
        array_fini(&pairs);
        array_fini(&events.hash);
        array_fini(&events.item);
    }
    return ok;
}

static bool use_order(link_graph *g)
{
    ARRAY(uint64_t) tids = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < g->host->nodes.n; i++)
        ok = array_push(&tids, g->host->nodes.at[i].tid);
    if (ok)
        mem_sort_u64(tids.at, tids.n);
    for (size_t i = 0; ok && i < tids.n; i++) {
        if (i > 0 && tids.at[i] == tids.at[i - 1])
            continue;
        names host = {0};
        pair_array pairs = {0};
        ok = collect_host(&host, g, tids.at[i]) && best_thread(&pairs, g, &host);
        /* Fewer than half may agree by chance, even between unrelated traces. */
        if (ok && 2 * pairs.n >= host.hash.n)
            for (size_t k = 0; k < pairs.n; k++) {
                pair_up_names(g, pairs.at[k].from, pairs.at[k].to);
                g->report->n_by_order++;
            }
        array_fini(&pairs);
        array_fini(&host.hash);
        array_fini(&host.item);
    }
    array_fini(&tids);
    return ok;
}

static uint64_t count_operators(const link_graph *g)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->host->nodes.n; i++)
        n += !is_frame(match_host_name(g, i));
    return n;
}

static halley_status match_nothing(const link_graph *g, const char *host_path,
                                   const char *device_path, halley_error *err)
{
    error_set(err, HALLEY_EINVAL,
              "none of its %llu operators is in %s (%llu operators): the two are not of "
              "the same run; record both in one run, for one rank",
              (unsigned long long)count_operators(g), device_path,
              (unsigned long long)g->report->n_operators);
    error_at_file(err, host_path);
    return HALLEY_EINVAL;
}

halley_status link_match(link_graph *g, const char *host_path, const char *device_path,
                         halley_error *err)
{
    fit by_rf = {0}, by_external = {0};
    bool ok = try_numbers(&by_rf, g, false);
    if (ok && 2 * by_rf.n_agree > by_rf.n_found) {
        use_numbers(g, &by_rf, &g->report->n_by_record_function);
    } else if (ok && (ok = try_numbers(&by_external, g, true))) {
        if (10 * by_external.n_agree > 9 * by_external.n_found && by_external.n_found > 0)
            use_numbers(g, &by_external, &g->report->n_by_external_id);
        else
            ok = use_order(g);
    }
    map64_fini(&by_rf.events);
    map64_fini(&by_external.events);
    if (!ok)
        return error_nomem(err);
    uint64_t n_linked = 0;
    for (uint32_t i = 0; i < g->host->nodes.n; i++)
        n_linked += g->event_of[i] != LINK_NONE;
    g->report->n_unmatched_host = g->host->nodes.n - n_linked;
    g->report->n_unmatched_operators = g->report->n_operators - n_linked;
    return n_linked > 0 ? HALLEY_OK : match_nothing(g, host_path, device_path, err);
}
