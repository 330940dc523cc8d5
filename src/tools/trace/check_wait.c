/*
 * Check whether the ranks of a set deadlock, although every send has its receive and all
 * collectives agree.
 *
 * Nodes run as soon as their dependencies are done, as if there were room for all at
 * once. A receive is done when a send of its key has started, a collective when it has
 * started on all ranks. What is left over at the end can never run on any machine. The
 * cost is linear in the nodes of all ranks, with 4 bytes for each.
 */
#include "base/error.h"
#include "base/str.h"
#include "trace/check.h"
#include "trace/core/levels.h"

#include <inttypes.h>

/* Sets with more nodes than this over all ranks are not checked. */
#define WAIT_MAX_NODES UINT64_C(200000000)
enum { WAIT_SHOWN = 8 };

#define WAIT_DONE UINT32_MAX
#define WAIT_NONE UINT32_MAX

/* A node of a rank. */
typedef struct spot {
    uint32_t rank, node;
} spot;

/* The dependants of each node of one trace: children[first[v]] … */
typedef struct family {
    uint32_t *first, *children;
    uint32_t *comm; /* by node: its index among messages or collectives */
} family;

/* Nodes that have started and wait: a linked list, oldest first. */
typedef struct waiting {
    uint32_t head, tail; /* WAIT_NONE = empty */
    uint32_t n;
} waiting;

typedef struct link {
    spot at;
    uint32_t next;
} link;

/* Messages of one source, destination, tag and size. */
typedef struct channel {
    uint64_t src, dst, size_bytes;
    int64_t tag;
    uint64_t n_ahead; /* sends that started and have no receive yet */
    waiting recvs;
} channel;

/* One collective of a group. */
typedef struct meeting {
    uint32_t n_members;
    waiting members;
} meeting;

typedef struct waits {
    check_set *s;
    family *families;     /* by distinct trace */
    uint32_t **left;      /* by rank, node: unfinished dependencies; WAIT_DONE */
    uint32_t *first_comm; /* by rank: where its messages start in channel_of */
    ARRAY(uint32_t) channel_of;
    ARRAY(channel) channels;
    map64 index;
    ARRAY(meeting) meetings;
    uint32_t *first_meeting; /* by group */
    uint32_t n_groups;
    ARRAY(link) links;
    ARRAY(spot) done; /* to be reported to their dependants */
    bool failed;
} waits;

static const halley_trace *trace_of(const waits *w, uint32_t rank)
{
    return w->s->distinct->trace[w->s->distinct->which[rank]];
}

static const check_one *one_of(const waits *w, uint32_t rank)
{
    return &w->s->ones[w->s->distinct->which[rank]];
}

static bool count_children(family *f, const halley_trace *trace)
{
    const uint32_t n = halley_trace_count(trace);
    f->first = mem_array_zero((size_t)n + 2, sizeof *f->first);
    f->children = mem_array((size_t)halley_trace_dep_count(trace), sizeof *f->children);
    f->comm = mem_array(n, sizeof *f->comm);
    if (f->first == NULL || f->children == NULL || f->comm == NULL)
        return false;
    for (uint32_t v = 0; v < n; v++) {
        f->comm[v] = WAIT_NONE;
        const uint32_t n_deps = trace_deps_count(trace, v);
        for (uint32_t i = 0; i < n_deps; i++) {
            const uint32_t dep = trace_deps_index(trace, v, i);
            if (dep != HALLEY_NO_NODE)
                f->first[dep + 2]++;
        }
    }
    for (uint32_t v = 2; v < n + 2; v++)
        f->first[v] += f->first[v - 1];
    return true;
}

static bool make_family(family *f, const halley_trace *trace, const check_one *one)
{
    if (!count_children(f, trace))
        return false;
    const uint32_t n = halley_trace_count(trace);
    for (uint32_t v = 0; v < n; v++) {
        const uint32_t n_deps = trace_deps_count(trace, v);
        for (uint32_t i = 0; i < n_deps; i++) {
            const uint32_t dep = trace_deps_index(trace, v, i);
            if (dep != HALLEY_NO_NODE)
                f->children[f->first[dep + 1]++] = v;
        }
    }
    for (uint32_t i = 0; i < one->messages.n; i++)
        f->comm[one->messages.at[i].node] = i;
    for (uint32_t i = 0; i < one->collectives.n; i++)
        f->comm[one->collectives.at[i].node] = i;
    return true;
}

static uint32_t find_waiting_channel(waits *w, const channel *key)
{
    uint64_t hash = hash_u64(key->src + hash_u64(key->dst));
    hash = hash_u64(hash_u64(hash ^ (uint64_t)key->tag) + key->size_bytes);
    for (;; hash++) {
        uint32_t at = (uint32_t)w->channels.n;
        bool fresh = false;
        if (!array_reserve(&w->channels, 1) || !map64_put(&w->index, hash, &at, &fresh))
            return WAIT_NONE;
        if (fresh)
            w->channels.at[w->channels.n++] = *key;
        const channel *c = &w->channels.at[at];
        if (c->src == key->src && c->dst == key->dst && c->tag == key->tag &&
            c->size_bytes == key->size_bytes)
            return at;
    }
}

static bool make_channels(waits *w)
{
    const uint32_t n = w->s->distinct->n_ranks;
    w->first_comm = mem_array(n, sizeof *w->first_comm);
    for (uint32_t rank = 0; w->first_comm != NULL && rank < n; rank++) {
        const check_one *one = one_of(w, rank);
        w->first_comm[rank] = (uint32_t)w->channel_of.n;
        for (size_t i = 0; i < one->messages.n; i++) {
            const check_message *m = &one->messages.at[i];
            const channel key = {.src = m->sends ? rank : m->peer,
                                 .dst = m->sends ? m->peer : rank,
                                 .size_bytes = m->size_bytes,
                                 .tag = m->tag,
                                 .recvs = {WAIT_NONE, WAIT_NONE, 0}};
            const uint32_t at = find_waiting_channel(w, &key);
            if (at == WAIT_NONE || !array_push(&w->channel_of, at))
                return false;
        }
    }
    return w->first_comm != NULL;
}

/* Collectives of one trace are sorted by group. Call the function for each group with its
 * number of collectives. */
static void for_groups(const check_one *one, waits *w,
                       void visit(waits *, uint32_t group, uint32_t n))
{
    const size_t n = one->collectives.n;
    for (size_t i = 0, j = 0; i < n; i = j) {
        const uint32_t group = one->collectives.at[i].group_id;
        while (j < n && one->collectives.at[j].group_id == group)
            j++;
        visit(w, group, (uint32_t)(j - i));
    }
}

static void see_group(waits *w, uint32_t group, uint32_t n)
{
    (void)n;
    if (group + 1 > w->n_groups)
        w->n_groups = group + 1;
}

static void size_group(waits *w, uint32_t group, uint32_t n)
{
    if (n > w->first_meeting[group + 1])
        w->first_meeting[group + 1] = n;
}

static void join_waiting_group(waits *w, uint32_t group, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        w->meetings.at[w->first_meeting[group] + k].n_members++;
}

static bool make_meetings(waits *w)
{
    const trace_distinct *d = w->s->distinct;
    for (uint32_t i = 0; i < d->n; i++)
        for_groups(&w->s->ones[i], w, see_group);
    w->first_meeting = mem_array_zero((size_t)w->n_groups + 1, sizeof *w->first_meeting);
    if (w->first_meeting == NULL)
        return false;
    for (uint32_t i = 0; i < d->n; i++)
        for_groups(&w->s->ones[i], w, size_group);
    for (uint32_t g = 0; g < w->n_groups; g++)
        w->first_meeting[g + 1] += w->first_meeting[g];
    const uint32_t n = w->first_meeting[w->n_groups];
    if (!array_reserve(&w->meetings, n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        w->meetings.at[w->meetings.n++] = (meeting){.members = {WAIT_NONE, WAIT_NONE, 0}};
    for (uint32_t rank = 0; rank < d->n_ranks; rank++)
        for_groups(one_of(w, rank), w, join_waiting_group);
    return true;
}

/* Where the collectives of a group start among those of the rank. */
static uint32_t group_start(const waits *w, uint32_t rank, uint32_t group)
{
    const check_one *one = one_of(w, rank);
    uint32_t low = 0, high = (uint32_t)one->collectives.n;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (one->collectives.at[mid].group_id < group)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The meeting of a collective: the k-th of its group on this rank meets the k-th of the
 * others. */
static uint32_t meeting_of(const waits *w, uint32_t rank, uint32_t i)
{
    const uint32_t group = one_of(w, rank)->collectives.at[i].group_id;
    return w->first_meeting[group] + i - group_start(w, rank, group);
}

static void wait_in(waits *w, waiting *list, spot at)
{
    const uint32_t i = (uint32_t)w->links.n;
    if (!array_push(&w->links, (link){at, WAIT_NONE})) {
        w->failed = true;
        return;
    }
    if (list->tail == WAIT_NONE)
        list->head = i;
    else
        w->links.at[list->tail].next = i;
    list->tail = i;
    list->n++;
}

static void finish_node(waits *w, spot at)
{
    w->left[at.rank][at.node] = WAIT_DONE;
    w->failed |= !array_push(&w->done, at);
}

static void start_message(waits *w, spot at, const check_message *m, uint32_t i)
{
    channel *c = &w->channels.at[w->channel_of.at[w->first_comm[at.rank] + i]];
    if (m->sends) {
        finish_node(w, at);
        if (c->recvs.head == WAIT_NONE) {
            c->n_ahead++;
            return;
        }
        const link first = w->links.at[c->recvs.head];
        c->recvs.head = first.next;
        if (first.next == WAIT_NONE)
            c->recvs.tail = WAIT_NONE;
        finish_node(w, first.at);
    } else if (c->n_ahead > 0) {
        c->n_ahead--;
        finish_node(w, at);
    } else {
        wait_in(w, &c->recvs, at);
    }
}

static void start_collective(waits *w, spot at, uint32_t i)
{
    meeting *m = &w->meetings.at[meeting_of(w, at.rank, i)];
    wait_in(w, &m->members, at);
    if (m->members.n < m->n_members)
        return;
    for (uint32_t l = m->members.head; l != WAIT_NONE; l = w->links.at[l].next)
        finish_node(w, w->links.at[l].at);
}

static void start_node(waits *w, spot at)
{
    const uint32_t i = w->families[w->s->distinct->which[at.rank]].comm[at.node];
    if (i == WAIT_NONE)
        finish_node(w, at);
    else if (halley_node_type_of(trace_of(w, at.rank), at.node) == HALLEY_NODE_COLL)
        start_collective(w, at, i);
    else
        start_message(w, at, &one_of(w, at.rank)->messages.at[i], i);
}

static void tell_children(waits *w)
{
    while (w->done.n > 0 && !w->failed) {
        const spot at = w->done.at[--w->done.n];
        const family *f = &w->families[w->s->distinct->which[at.rank]];
        for (uint32_t i = f->first[at.node]; i < f->first[at.node + 1]; i++) {
            const uint32_t child = f->children[i];
            if (--w->left[at.rank][child] == 0)
                start_node(w, (spot){at.rank, child});
        }
    }
}

static uint32_t count_deps(const halley_trace *trace, uint32_t node)
{
    uint32_t n = 0;
    const uint32_t n_deps = trace_deps_count(trace, node);
    for (uint32_t i = 0; i < n_deps; i++)
        n += trace_deps_index(trace, node, i) != HALLEY_NO_NODE;
    return n;
}

static bool count_left(waits *w, uint32_t rank)
{
    const halley_trace *trace = trace_of(w, rank);
    const uint32_t n = halley_trace_count(trace);
    w->left[rank] = mem_array(n, sizeof **w->left);
    for (uint32_t v = 0; w->left[rank] != NULL && v < n; v++)
        w->left[rank][v] = count_deps(trace, v);
    return w->left[rank] != NULL;
}

static bool run_all_ranks(waits *w)
{
    const trace_distinct *d = w->s->distinct;
    w->families = mem_array_zero(d->n, sizeof *w->families);
    w->left = mem_array_zero(d->n_ranks, sizeof *w->left);
    if (w->families == NULL || w->left == NULL || !make_channels(w) || !make_meetings(w))
        return false;
    for (uint32_t i = 0; i < d->n; i++)
        if (!make_family(&w->families[i], d->trace[i], &w->s->ones[i]))
            return false;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++)
        if (!count_left(w, rank))
            return false;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const halley_trace *trace = trace_of(w, rank);
        const uint32_t n = halley_trace_count(trace);
        for (uint32_t v = 0; v < n && !w->failed; v++) {
            /* Only nodes without dependencies start here; the others start when their
             * last dependency is done. */
            if (w->left[rank][v] == 0 && count_deps(trace, v) == 0)
                start_node(w, (spot){rank, v});
            tell_children(w);
        }
    }
    return !w->failed;
}

/* Find a node that has started and waits, and that prevents `at` from starting or
 * finishing. */
static spot blocked_by(const waits *w, spot at)
{
    const halley_trace *trace = trace_of(w, at.rank);
    while (w->left[at.rank][at.node] > 0) {
        const uint32_t n = trace_deps_count(trace, at.node);
        uint32_t next = at.node;
        for (uint32_t i = 0; i < n && next == at.node; i++) {
            const uint32_t dep = trace_deps_index(trace, at.node, i);
            if (dep != HALLEY_NO_NODE && w->left[at.rank][dep] != WAIT_DONE)
                next = dep;
        }
        if (next == at.node)
            return at;
        at.node = next;
    }
    return at;
}

/* The partner of a waiting node that has not started. */
static spot missing_partner(const waits *w, spot at)
{
    const trace_distinct *d = w->s->distinct;
    const uint32_t i = w->families[d->which[at.rank]].comm[at.node];
    if (halley_node_type_of(trace_of(w, at.rank), at.node) != HALLEY_NODE_COLL) {
        const uint32_t c = w->channel_of.at[w->first_comm[at.rank] + i];
        const uint32_t src = (uint32_t)w->channels.at[c].src;
        const check_one *one = one_of(w, src);
        for (uint32_t j = 0; j < one->messages.n; j++)
            if (w->channel_of.at[w->first_comm[src] + j] == c &&
                one->messages.at[j].sends &&
                w->left[src][one->messages.at[j].node] != WAIT_DONE)
                return (spot){src, one->messages.at[j].node};
        return at;
    }
    const uint32_t group = one_of(w, at.rank)->collectives.at[i].group_id;
    const uint32_t k = i - group_start(w, at.rank, group);
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const check_one *one = one_of(w, rank);
        const uint32_t j = group_start(w, rank, group) + k;
        if (j < one->collectives.n && one->collectives.at[j].group_id == group &&
            w->left[rank][one->collectives.at[j].node] > 0 &&
            w->left[rank][one->collectives.at[j].node] != WAIT_DONE)
            return (spot){rank, one->collectives.at[j].node};
    }
    return at;
}

static bool same_spot(spot a, spot b)
{
    return a.rank == b.rank && a.node == b.node;
}

static void name_spot(strbuf *to, waits *w, spot at)
{
    const halley_trace *trace = trace_of(w, at.rank);
    strbuf_printf(
        to, "node %" PRIu64 " %s of rank %" PRIu32, halley_node_id(trace, at.node),
        check_quote(w->s->found, CHECK_DEADLOCK, halley_node_name(trace, at.node)),
        at.rank);
}

/* Follow who waits for whom from one waiting node until a node repeats, and report the
 * cycle. */
static bool tell_circle(waits *w, spot from)
{
    ARRAY(spot) path = {0};
    size_t first = 0;
    spot at = from;
    for (bool again = false; !again;) {
        if (!array_push(&path, at))
            break;
        at = blocked_by(w, missing_partner(w, at));
        for (first = 0; first < path.n && !same_spot(path.at[first], at); first++)
            ;
        again = first < path.n;
    }
    strbuf b = {0};
    for (size_t i = first; i < path.n && i < first + WAIT_SHOWN; i++) {
        name_spot(&b, w, path.at[i]);
        strbuf_add(&b, STR(" -> "));
    }
    if (path.n > first + WAIT_SHOWN)
        strbuf_printf(&b, "… %zu more … -> ", path.n - first - WAIT_SHOWN);
    const bool ok = path.n > 0 && !b.failed;
    if (ok) {
        const spot start_at = path.at[first];
        const check_place place = check_place_of(w->s, start_at.rank);
        name_spot(&b, w, start_at);
        check_add(w->s->found, CHECK_DEADLOCK, &place, start_at.node,
                  "give all ranks one order of communication",
                  "ranks wait for each other in a circle of %zu: %s (-> reads: cannot go "
                  "on before)",
                  path.n - first, b.at == NULL ? "" : b.at);
    }
    strbuf_fini(&b);
    array_fini(&path);
    return ok;
}

/* Find a node that has started and waits: the first in the file of the lowest such
 * rank. */
static bool find_stuck(const waits *w, spot *out)
{
    const trace_distinct *d = w->s->distinct;
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const uint32_t n = halley_trace_count(trace_of(w, rank));
        for (uint32_t v = 0; v < n; v++)
            if (w->left[rank][v] == 0) {
                *out = (spot){rank, v};
                return true;
            }
    }
    return false;
}

/* Is the check worthwhile? Not if the ranks' plans are the same, or already known to be
 * wrong. */
static bool is_worth_it(const check_set *s)
{
    uint64_t n_nodes = 0, n_messages = 0;
    for (uint32_t i = 0; i < s->distinct->n; i++) {
        n_nodes += (uint64_t)halley_trace_count(s->distinct->trace[i]) *
                   s->distinct->n_sharing[i];
        n_messages += s->ones[i].messages.n;
    }
    for (int code = 0; code < CHECK_N_CODES; code++)
        if (s->found->n[code] > 0 && code != CHECK_DANGLING_DEP &&
            (check_severity((check_code)code) == HALLEY_ERROR ||
             code == CHECK_COLL_ORDER_UNSURE))
            return false;
    return n_nodes <= WAIT_MAX_NODES && (s->distinct->n > 1 || n_messages > 0);
}

halley_status check_wait(check_set *s, halley_error *err)
{
    if (!is_worth_it(s))
        return HALLEY_OK;
    waits w = {.s = s};
    bool ok = run_all_ranks(&w);
    spot stuck;
    if (ok && find_stuck(&w, &stuck))
        ok = tell_circle(&w, stuck);
    for (uint32_t i = 0; w.families != NULL && i < s->distinct->n; i++) {
        free(w.families[i].first);
        free(w.families[i].children);
        free(w.families[i].comm);
    }
    for (uint32_t rank = 0; w.left != NULL && rank < s->distinct->n_ranks; rank++)
        free(w.left[rank]);
    free(w.families);
    free((void *)w.left);
    free(w.first_comm);
    free(w.first_meeting);
    array_fini(&w.channel_of);
    array_fini(&w.channels);
    array_fini(&w.meetings);
    array_fini(&w.links);
    array_fini(&w.done);
    map64_fini(&w.index);
    return ok ? HALLEY_OK : error_nomem(err);
}
