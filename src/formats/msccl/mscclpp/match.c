/*
 * Match the counterparts in an MSCCL++ plan: signals and waits, barriers, semaphores,
 * packets. Then check that the whole plan can run.
 */
#include "msccl/mscclpp/plan.h"

#include <stdlib.h>

uint32_t mpp_add_node(mpp_plan *p, mpp_node node)
{
    const uint32_t id = (uint32_t)p->nodes.n;
    return p->nodes.n < MPP_NONE - 1 && array_push(&p->nodes, node) ? id : MPP_NONE;
}

bool mpp_add_edge(mpp_plan *p, uint32_t from, uint32_t to)
{
    assert(from < p->nodes.n && to < p->nodes.n);
    assert(p->nodes.at[from].gpu == p->nodes.at[to].gpu);
    return array_push(&p->edges, (mpp_edge){from, to});
}

bool mpp_pair(mpp_plan *p, uint32_t send, uint32_t receive)
{
    mpp_node *const a = &p->nodes.at[send], *const b = &p->nodes.at[receive];
    const uint64_t pair = (uint64_t)a->gpu << 32 | b->gpu;
    const uint32_t before = map64_find(&p->n_messages, pair);
    assert(a->kind == MPP_SEND && b->kind == MPP_RECEIVE);
    assert(a->peer == b->gpu && b->peer == a->gpu && a->n_bytes == b->n_bytes);
    a->partner = receive;
    b->partner = send;
    a->tag = b->tag = before == HASH_NONE ? 0 : before;
    return map64_set(&p->n_messages, pair, a->tag + 1);
}

static int compare_syncs(const void *a, const void *b)
{
    const mpp_sync *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->k != y->k)
        return x->k < y->k ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void sort_syncs(mpp_syncs *list)
{
    if (list->n > 1)
        qsort(list->at, list->n, sizeof *list->at, compare_syncs);
}

static halley_status refuse_node(const mpp_plan *p, uint32_t i, halley_error *err,
                                 const char *why)
{
    const mpp_node *const n = &p->nodes.at[i];
    return error_set(err, HALLEY_EFORMAT,
                     "GPU %u, thread block %u, operation %u (%s): %s", n->gpu, n->block,
                     n->op, n->what, why);
}

/* Match the k-th signal of a connection with its k-th wait. */
static halley_status match_signals(mpp_plan *p, halley_error *err)
{
    sort_syncs(&p->signals);
    sort_syncs(&p->waits);
    for (size_t i = 0; i < p->signals.n || i < p->waits.n; i++) {
        const mpp_sync *const s = i < p->signals.n ? &p->signals.at[i] : NULL;
        const mpp_sync *const w = i < p->waits.n ? &p->waits.at[i] : NULL;
        if (s == NULL || (w != NULL && w->key < s->key))
            return refuse_node(p, w->node, err, "waits for a signal that nobody sends");
        if (w == NULL || s->key < w->key)
            return refuse_node(p, s->node, err, "nobody waits for this signal");
        if (!mpp_pair(p, s->node, w->node))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* Blocks continue when all of them have arrived for the k-th time. */
static bool match_barriers(mpp_plan *p)
{
    sort_syncs(&p->barriers);
    for (size_t i = 0, end; i < p->barriers.n; i = end) {
        const mpp_sync *const first = &p->barriers.at[i];
        for (end = i; end < p->barriers.n && p->barriers.at[end].key == first->key &&
                      p->barriers.at[end].k == first->k;)
            end++;
        for (size_t b = i + 1; b < end; b++) /* all wait for all through the first */
            if (!mpp_add_edge(p, p->barriers.at[b].node, first->then) ||
                !mpp_add_edge(p, first->then, p->barriers.at[b].then))
                return false;
    }
    return true;
}

/* The first entry with that key in the sorted list; n = none. */
static size_t find_syncs(const mpp_syncs *list, uint64_t key)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (list->at[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The k-th acquire takes the (k - initial)-th release, counted over all blocks. If
 * several blocks release, their order is assumed to be: each releases once before any
 * releases twice. */
static halley_status match_semaphores(mpp_plan *p, halley_error *err)
{
    uint64_t key = UINT64_MAX;
    size_t taken = 0;
    sort_syncs(&p->releases);
    sort_syncs(&p->acquires);
    for (size_t i = 0; i < p->acquires.n; i++) {
        const mpp_sync *const a = &p->acquires.at[i];
        taken = a->key == key ? taken + 1 : 0;
        key = a->key;
        const uint32_t found = map64_find(&p->initial, key);
        const size_t initial = found == HASH_NONE ? 0 : found;
        if (taken < initial)
            continue;
        const size_t at = find_syncs(&p->releases, key) + taken - initial;
        if (at >= p->releases.n || p->releases.at[at].key != key)
            return refuse_node(p, a->node, err,
                               "acquires a semaphore that is not released that often");
        if (!mpp_add_edge(p, p->releases.at[at].node, a->node))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

static int compare_packets(const void *a, const void *b)
{
    const mpp_packets *const x = a, *const y = b;
    if (x->gpu != y->gpu)
        return x->gpu < y->gpu ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The first packets of this GPU. */
static size_t find_packets(const mpp_plan *p, uint32_t gpu)
{
    size_t low = 0, high = p->written.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (p->written.at[mid].gpu < gpu)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* A read waits for all packets that are written to the range it polls. The writes must
 * cover the whole range. */
static halley_status match_packets(mpp_plan *p, halley_error *err)
{
    if (p->written.n > 1)
        qsort(p->written.at, p->written.n, sizeof *p->written.at, compare_packets);
    for (size_t i = 0; i < p->read.n; i++) {
        const mpp_packets *const r = &p->read.at[i];
        uint64_t covered = r->from;
        for (size_t k = find_packets(p, r->gpu); k < p->written.n; k++) {
            const mpp_packets *const w = &p->written.at[k];
            if (w->gpu != r->gpu || w->from >= r->to)
                break;
            if (w->to <= r->from)
                continue;
            if (p->edges.n > MPP_MAX_EDGES)
                return error_set(err, HALLEY_ELIMIT,
                                 "the plan has more than %d dependencies", MPP_MAX_EDGES);
            covered = w->from <= covered && w->to > covered ? w->to : covered;
            if (w->node != r->node && !mpp_add_edge(p, w->node, r->node))
                return error_nomem(err);
        }
        if (covered < r->to)
            return refuse_node(p, r->node, err, "reads packets that nobody writes");
    }
    return HALLEY_OK;
}

/* A block that waits for a signal may use the data that was put before the signal. So the
 * wait also depends on the receives of what the signal's block sent to the same GPU
 * before. */
static bool add_data_of_signals(mpp_plan *p)
{
    for (size_t i = 0; i < p->signals.n; i++) {
        const mpp_node *const s = &p->nodes.at[p->signals.at[i].node];
        for (uint32_t k = p->signals.at[i].node; k-- > 0;) {
            const mpp_node *const n = &p->nodes.at[k];
            if (n->is_passive)
                continue;
            if (n->gpu != s->gpu || n->block != s->block ||
                (n->is_signal && n->kind == MPP_SEND && n->peer == s->peer))
                break; /* the previous signal covers what came before it */
            if (n->kind == MPP_SEND && n->peer == s->peer &&
                !mpp_add_edge(p, n->partner, s->partner))
                return false;
        }
    }
    return true;
}

/* Find all nodes that can run. The edges are sorted by `from` here. */
typedef struct mpp_order {
    uint32_t *n_before, *first, *ready; /* by node; first: n + 1, in the edges */
    size_t n_ready;
} mpp_order;

static int compare_edge_starts(const void *a, const void *b)
{
    const mpp_edge *const x = a, *const y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

static void release_node(mpp_order *o, uint32_t node)
{
    if (--o->n_before[node] == 0)
        o->ready[o->n_ready++] = node;
}

static void run_plan(mpp_order *o, const mpp_plan *p)
{
    const uint32_t n = (uint32_t)p->nodes.n;
    for (size_t i = 0; i < p->edges.n; i++) {
        o->first[p->edges.at[i].from + 1]++;
        o->n_before[p->edges.at[i].to]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        o->first[i + 1] += o->first[i];
        o->n_before[i] += 1u + (p->nodes.at[i].kind == MPP_RECEIVE);
    }
    for (uint32_t i = 0; i < n; i++)
        release_node(o, i);
    for (size_t at = 0; at < o->n_ready; at++) {
        const uint32_t node = o->ready[at];
        for (uint32_t e = o->first[node]; e < o->first[node + 1]; e++)
            release_node(o, p->edges.at[e].to);
        if (p->nodes.at[node].kind == MPP_SEND)
            release_node(o, p->nodes.at[node].partner);
    }
}

static halley_status check_plan_order(mpp_plan *p, halley_error *err)
{
    const size_t n = p->nodes.n;
    if (p->edges.n >= UINT32_MAX)
        return error_set(err, HALLEY_ELIMIT, "the plan has more than 2^32 dependencies");
    if (p->edges.n > 1)
        qsort(p->edges.at, p->edges.n, sizeof *p->edges.at, compare_edge_starts);
    mpp_order o = {.n_before = mem_array_zero(n, sizeof *o.n_before),
                   .first = mem_array_zero(n + 1, sizeof *o.first),
                   .ready = mem_array(n, sizeof *o.ready)};
    halley_status status = HALLEY_OK;
    if (o.n_before == NULL || o.first == NULL || o.ready == NULL) {
        status = error_nomem(err);
    } else {
        run_plan(&o, p);
        for (uint32_t i = 0; status == HALLEY_OK && i < n; i++)
            if (o.n_before[i] > 0)
                status = refuse_node(
                    p, i, err,
                    "can never run: operations wait for each other in a circle");
    }
    free(o.n_before);
    free(o.first);
    free(o.ready);
    return status;
}

halley_status mpp_match(mpp_plan *p, halley_error *err)
{
    if (p->nodes.n == 0)
        return error_set(err, HALLEY_EFORMAT, "the plan has no operations");
    TRY(match_signals(p, err));
    TRY(match_semaphores(p, err));
    TRY(match_packets(p, err));
    if (!match_barriers(p) || !add_data_of_signals(p))
        return error_nomem(err);
    return check_plan_order(p, err);
}

void mpp_fini(mpp_plan *p)
{
    array_fini(&p->nodes);
    array_fini(&p->edges);
    array_fini(&p->written);
    array_fini(&p->read);
    array_fini(&p->signals);
    array_fini(&p->waits);
    array_fini(&p->barriers);
    array_fini(&p->releases);
    array_fini(&p->acquires);
    map64_fini(&p->n_messages);
    map64_fini(&p->initial);
    conf_fini(&p->file);
}
