/*
 * The host threads: program order, self times, waits, gaps and hand-overs.
 *
 * The events of a thread nest. At each moment the innermost one runs, and the self time
 * of an event excludes its children. Chakra puts all self time of an operator before its
 * first child. That is kept for short pieces. A long piece after a child (for example
 * Python between two operators inside an annotation) becomes its own node. Otherwise
 * launches, and thus kernels, would come late.
 *
 * Time between operators, and inside events that the host trace does not have, also
 * becomes gap nodes. Short pieces are added up until they are long enough for a node, so
 * no time is lost.
 *
 * Calls that wait for a device become wait nodes; streams.c finds what they wait for.
 * What remains are long quiet periods of a thread while others work. Such a thread is
 * taken to wait for the thread that became quiet last in that period. Examples are the
 * main thread in backward(), and autograd's thread before it is called. If no thread
 * became quiet, it waits for a thread that was running at the end of the period. Only the
 * time after the wait is the thread's self time.
 */
#include "recording/comm.h"
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

/* The pieces of a thread's time, in order. */
typedef enum piece_kind { PIECE_OPERATOR, PIECE_WAIT, PIECE_TIME } piece_kind;
typedef struct piece {
    int64_t from_ns, to_ns;
    uint32_t node;  /* OPERATOR: host node; WAIT: event; TIME: operator or LINK_NONE */
    uint32_t owner; /* nearest linked operator around, or LINK_NONE */
    piece_kind kind;
    bool own;        /* TIME: self time of the operator */
    bool may_wait;   /* TIME: outside every operator, so it may be a wait */
    bool waits;      /* TIME: it waits for another thread */
    int64_t wake_ns; /* … until then */
    uint32_t waker;  /* … and this is that thread */
} piece;
typedef ARRAY(piece) piece_array;

/* An event that is open at the current position. */
typedef struct frame {
    int64_t end_ns;
    uint32_t node;  /* its host node, or LINK_NONE */
    uint32_t owner; /* nearest linked operator from here outwards */
    bool is_wait, is_operator;
} frame;
typedef ARRAY(frame) frame_array;

typedef struct walk {
    link_graph *g;
    piece_array pieces;
    frame_array stack;
    int64_t at_ns; /* time up to here is accounted for */
    bool failed;
} walk;

static bool is_step(const link_graph *g, uint32_t host)
{
    const uint32_t name = g->host->nodes.at[host].name;
    return name != HOST_NONE &&
           str_starts(intern_text(&g->host->texts, name), STR("ProfilerStep"));
}

/* Assign the time up to `to` to the innermost open event. */
static void spend(walk *w, int64_t to)
{
    if (to <= w->at_ns)
        return;
    const frame *const top = w->stack.n ? &w->stack.at[w->stack.n - 1] : NULL;
    if (!top || !top->is_wait) {
        const bool own = top && top->node != LINK_NONE && !is_step(w->g, top->node);
        const piece p = {.from_ns = w->at_ns,
                         .to_ns = to,
                         .node = own ? top->node : LINK_NONE,
                         .owner = top ? top->owner : LINK_NONE,
                         .kind = PIECE_TIME,
                         .own = own,
                         .may_wait = !top || !top->is_operator};
        w->failed |= !array_push(&w->pieces, p);
    }
    w->at_ns = to;
}

static void leave(walk *w, int64_t until)
{
    while (w->stack.n > 0 && w->stack.at[w->stack.n - 1].end_ns <= until) {
        spend(w, w->stack.at[w->stack.n - 1].end_ns);
        w->stack.n--;
    }
}

/* A copy that ended before its call returned blocked the caller, if it is not
 * asynchronous or uses pageable memory. */
static bool is_blocking(const link_graph *g, uint32_t call, const uint32_t *launched)
{
    const uint32_t e = launched[call];
    if (e == LINK_NONE || g->device->events.at[e].kind != DEVICE_COPY ||
        g->node_of[e] == LINK_NONE)
        return false;
    const device_event *const c = &g->device->events.at[call];
    const str name = intern_text(&g->device->texts, c->name);
    const bool is_async = str_contains(name, STR("Async"));
    const str copy = intern_text(&g->device->texts, g->device->events.at[e].name);
    return device_end(&g->device->events.at[e]) <= device_end(c) &&
           (!is_async || str_contains(copy, STR("Pageable")));
}

/* Is it an annotation that is the communication itself, as "gloo:all_reduce"? */
static bool is_backend_note(const link_graph *g, uint32_t e)
{
    return comm_is_backend(intern_text(&g->device->texts, g->device->events.at[e].name));
}

/* Rounded times overlap by less than this. */
enum { ROUNDING_NS = 1000 };

/* An open event that ends just after the new event starts, and before it ends, does not
 * contain the new event. The overlap is due to rounding. */
static void leave_rounded(walk *w, const device_event *event)
{
    while (w->stack.n > 0) {
        const int64_t end = w->stack.at[w->stack.n - 1].end_ns;
        const int64_t overlap = end - event->start_ns, beyond = device_end(event) - end;
        if (overlap >= ROUNDING_NS || beyond <= overlap)
            return;
        w->stack.n--;
    }
}

static void enter(walk *w, uint32_t e, bool is_wait)
{
    const device_event *const event = &w->g->device->events.at[e];
    leave(w, event->start_ns);
    spend(w, event->start_ns);
    leave_rounded(w, event);
    const frame *const top = w->stack.n ? &w->stack.at[w->stack.n - 1] : NULL;
    const uint32_t host = device_is_op(event->kind) ? w->g->host_of[e] : LINK_NONE;
    const uint32_t outer = top ? top->owner : LINK_NONE;
    int64_t end = device_end(event);
    if (top && end > top->end_ns)
        end = top->end_ns; /* clock jump: clip to the parent */
    const frame f = {.end_ns = end,
                     .node = host,
                     .owner = host != LINK_NONE ? host : outer,
                     .is_wait = is_wait,
                     .is_operator = event->kind == DEVICE_OP || is_backend_note(w->g, e)};
    w->failed |= !array_push(&w->stack, f);
    if (host != LINK_NONE || is_wait) {
        const piece p = {.from_ns = event->start_ns,
                         .to_ns = end,
                         .node = is_wait ? e : host,
                         .owner = outer,
                         .kind = is_wait ? PIECE_WAIT : PIECE_OPERATOR};
        w->failed |= !array_push(&w->pieces, p);
    }
}

/* Cut a thread into pieces, from its first linked operator to its last. */
static void walk_thread(walk *w, const link_thread *t, const uint32_t *launched)
{
    const link_graph *const g = w->g;
    const device_event *const events = g->device->events.at;
    int64_t last = INT64_MIN;
    uint32_t first = t->n;
    for (uint32_t i = 0; i < t->n; i++) {
        const uint32_t e = g->by_thread[t->first + i];
        if (!device_is_op(events[e].kind) || g->host_of[e] == LINK_NONE)
            continue;
        first = first == t->n ? i : first;
        last = device_end(&events[e]) > last ? device_end(&events[e]) : last;
    }
    w->at_ns = first < t->n ? events[g->by_thread[t->first + first]].start_ns : 0;
    for (uint32_t i = first; i < t->n; i++) {
        const uint32_t e = g->by_thread[t->first + i];
        const device_kind kind = events[e].kind;
        const bool is_wait = kind == DEVICE_SYNC_CALL ||
                             (kind == DEVICE_CALL && is_blocking(g, e, launched));
        if (events[e].start_ns > last && device_is_op(kind))
            break; /* what follows is not in the host trace */
        if (device_is_op(kind) || is_wait)
            enter(w, e, is_wait);
    }
    leave(w, INT64_MAX);
}

/* The pieces of all threads, and their quiet periods. */
typedef struct layout {
    link_graph *g;
    piece_array *pieces; /* by thread */
} layout;

static bool is_quiet(const link_graph *g, const piece *p)
{
    return p->kind == PIECE_TIME && p->may_wait &&
           p->to_ns - p->from_ns >= (int64_t)g->opts.quiet_ns;
}

/* List the quiet periods of a thread in order. The time after its end is the last one. */
static bool collect_quiet(link_thread *t, const link_graph *g, const piece_array *pieces)
{
    for (size_t i = 0; i < pieces->n; i++)
        if (is_quiet(g, &pieces->at[i]) &&
            !array_push(&t->quiet,
                        (link_quiet){pieces->at[i].from_ns, pieces->at[i].to_ns}))
            return false;
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < pieces->n; i++)
        end = pieces->at[i].to_ns > end ? pieces->at[i].to_ns : end;
    return pieces->n == 0 || array_push(&t->quiet, (link_quiet){end, INT64_MAX});
}

/* The last quiet period of a thread that starts at or before `at`; NULL = none. */
static const link_quiet *quiet_before(const link_thread *t, int64_t at)
{
    size_t low = 0, high = t->quiet.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->quiet.at[mid].from_ns <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? &t->quiet.at[low - 1] : NULL;
}

/* Find the thread that a quiet thread waited for during piece `p`. `outside`: it was in
 * no annotation either, so another thread must have woken it. */
static void find_waker(const link_graph *g, piece *p, uint32_t self, bool outside,
                       const piece_array *pieces)
{
    bool busy = false; /* the best candidate so far is a running thread */
    for (uint32_t t = 0; t < g->n_threads; t++) {
        if (t == self || pieces[t].n == 0)
            continue;
        const link_quiet *const q = quiet_before(&g->threads[t], p->to_ns);
        const int64_t begins = pieces[t].at[0].from_ns;
        if (q && q->from_ns > p->from_ns &&
            (!p->waits || busy || q->from_ns > p->wake_ns)) {
            p->waits = true;
            busy = false;
            p->wake_ns = q->from_ns;
            p->waker = t;
        } else if (outside && !p->waits && begins < p->to_ns &&
                   (!q || q->to_ns < p->to_ns)) {
            p->waits = busy = true;
            p->wake_ns = p->to_ns;
            p->waker = t;
        }
    }
}

static void find_wakers(layout *l)
{
    link_graph *const g = l->g;
    for (uint32_t t = 0; t < g->n_threads; t++)
        for (size_t i = 0; i < l->pieces[t].n; i++) {
            piece *const p = &l->pieces[t].at[i];
            if (is_quiet(g, p))
                find_waker(g, p, t, p->owner == LINK_NONE || is_step(g, p->owner),
                           l->pieces);
        }
}

/* A step of a thread that waits for another thread. */
typedef struct hand_over {
    uint32_t node, waker;
    int64_t wake_ns;
} hand_over;
typedef ARRAY(hand_over) hand_over_array;

/* The state of turning a thread's pieces into steps. */
typedef struct steps_maker {
    link_graph *g;
    uint32_t thread;
    link_thread *t;
    hand_over_array *hand_overs;
    int64_t owed_ns; /* time too short for a node so far */
    uint32_t owed_owner;
    int64_t first_ns;       /* where the thread starts */
    uint32_t last_operator; /* entered, with no step after it yet */
} steps_maker;

static bool add_step(steps_maker *m, uint32_t node, int64_t at, int64_t end)
{
    if (node == LINK_NONE)
        return false;
    m->g->nodes.at[node].order = (uint32_t)m->t->steps.n + 1;
    m->last_operator = LINK_NONE;
    return array_push(&m->t->steps, (link_step){at, end, node});
}

static bool add_gap(steps_maker *m, uint32_t owner, int64_t from, int64_t to, int64_t ns)
{
    const link_node gap = {.at_ns = from,
                           .start_ns = from,
                           .duration_ns = ns,
                           .ref = m->thread,
                           .parent = owner,
                           .kind = LINK_GAP,
                           .timed = true};
    return add_step(m, link_add_node(m->g, gap), from, to);
}

/* Add a node for the short times so far, after the last step. */
static bool pay(steps_maker *m)
{
    const size_t n = m->t->steps.n;
    const int64_t at = n ? m->g->nodes.at[m->t->steps.at[n - 1].node].at_ns : m->first_ns;
    const int64_t ns = m->owed_ns;
    m->owed_ns = 0;
    if (ns == 0)
        return true;
    m->g->report->n_gap_nodes++;
    m->g->report->gap_ns += ns;
    return add_gap(m, m->owed_owner, at, n ? m->t->steps.at[n - 1].end_ns : at, ns);
}

static bool add_time(steps_maker *m, const piece *p)
{
    link_graph *const g = m->g;
    if (p->waits) {
        if (!pay(m))
            return false;
        const int64_t own = p->to_ns - p->wake_ns;
        g->report->n_gap_nodes++;
        g->report->gap_ns += own;
        if (!add_gap(m, p->owner, p->wake_ns, p->to_ns, own))
            return false;
        const uint32_t node = m->t->steps.at[m->t->steps.n - 1].node;
        g->nodes.at[node].at_ns =
            p->to_ns; /* after the waker, which may end at wake_ns */
        return array_push(m->hand_overs, (hand_over){node, p->waker, p->wake_ns});
    }
    const int64_t ns = p->to_ns - p->from_ns;
    if (p->own && p->node == m->last_operator) {
        g->nodes.at[p->node].duration_ns += ns;
        m->t->steps.at[m->t->steps.n - 1].end_ns = p->to_ns;
        return true;
    }
    if (p->own && ns < (int64_t)g->opts.split_ns) {
        g->nodes.at[p->node].duration_ns += ns;
        return true;
    }
    if (p->own) {
        g->report->n_split_nodes++;
        g->report->split_ns += ns;
        g->nodes.at[p->node].split_ns += ns;
        if (!add_gap(m, p->node, p->from_ns, p->to_ns, ns))
            return false;
        g->nodes.at[g->nodes.n - 1].is_split = true;
        return true;
    }
    m->owed_ns += ns;
    m->owed_owner = p->owner;
    m->last_operator = LINK_NONE;
    return m->owed_ns < (int64_t)g->opts.split_ns || pay(m);
}

static bool add_piece(steps_maker *m, const piece *p)
{
    link_graph *const g = m->g;
    if (p->kind == PIECE_TIME)
        return add_time(m, p);
    if (p->kind == PIECE_WAIT) {
        const link_node wait = {.at_ns = p->to_ns,
                                .start_ns = p->from_ns,
                                .duration_ns = p->to_ns - p->from_ns,
                                .ref = p->node,
                                .parent = p->owner,
                                .kind = LINK_WAIT,
                                .timed = true};
        g->report->n_wait_nodes++;
        return pay(m) && add_step(m, link_add_node(g, wait), p->from_ns, p->to_ns);
    }
    link_node *const n = &g->nodes.at[p->node];
    n->at_ns = n->start_ns = p->from_ns;
    n->timed = true;
    if (!add_step(m, p->node, p->from_ns, p->from_ns))
        return false;
    m->last_operator = p->node;
    return true;
}

/* The first step of a thread also waits for the thread that started it. */
static bool add_start(steps_maker *m, const layout *l)
{
    piece start = {.from_ns = INT64_MIN,
                   .to_ns = l->pieces[m->thread].at[0].from_ns,
                   .owner = LINK_NONE,
                   .kind = PIECE_TIME};
    find_waker(m->g, &start, m->thread, true, l->pieces);
    return !start.waits || add_time(m, &start);
}

static bool make_steps(layout *l, uint32_t thread, hand_over_array *hand_overs)
{
    const piece_array *const pieces = &l->pieces[thread];
    steps_maker m = {.g = l->g,
                     .thread = thread,
                     .t = &l->g->threads[thread],
                     .hand_overs = hand_overs,
                     .first_ns = pieces->n ? pieces->at[0].from_ns : 0,
                     .owed_owner = LINK_NONE,
                     .last_operator = LINK_NONE};
    bool ok = pieces->n == 0 || add_start(&m, l);
    for (size_t i = 0; ok && i < pieces->n; i++)
        ok = add_piece(&m, &pieces->at[i]);
    return ok && pay(&m);
}

/* The last step of a thread that had ended at `at`; LINK_NONE = none. */
static uint32_t step_over(const link_thread *t, int64_t at)
{
    size_t low = 0, high = t->steps.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->steps.at[mid].end_ns <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? t->steps.at[low - 1].node : LINK_NONE;
}

static bool connect(link_graph *g, const hand_over_array *hand_overs)
{
    for (uint32_t t = 0; t < g->n_threads; t++)
        for (size_t i = 1; i < g->threads[t].steps.n; i++)
            if (!link_add_edge(g, g->threads[t].steps.at[i - 1].node,
                               g->threads[t].steps.at[i].node,
                               &g->report->n_program_order))
                return false;
    for (size_t i = 0; i < hand_overs->n; i++) {
        const hand_over *const h = &hand_overs->at[i];
        const uint32_t from = step_over(&g->threads[h->waker], h->wake_ns);
        if (from != LINK_NONE &&
            !link_add_edge(g, from, h->node, &g->report->n_hand_overs))
            return false;
    }
    return true;
}

/* Place host nodes without a time between their neighbours on the thread. */
static bool place_untimed(link_graph *g)
{
    map64 last = {0}; /* tid → node */
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->host->nodes.n; i++) {
        const uint64_t tid = g->host->nodes.at[i].tid;
        const uint32_t before = map64_find(&last, tid);
        link_node *const n = &g->nodes.at[i];
        if (!n->timed) {
            n->at_ns = before == HASH_NONE ? INT64_MIN : g->nodes.at[before].at_ns;
            n->order = before == HASH_NONE ? 0 : g->nodes.at[before].order;
        }
        if (before != HASH_NONE && (!n->timed || !g->nodes.at[before].timed))
            ok = link_add_edge(g, before, i, &g->report->n_program_order);
        ok = ok && map64_set(&last, tid, i);
    }
    map64_fini(&last);
    return ok;
}

halley_status link_untimed(link_graph *g, halley_error *err)
{
    return place_untimed(g) ? HALLEY_OK : error_nomem(err);
}

/* By call: one event that it launched. */
static uint32_t *collect_launched(const link_graph *g)
{
    const size_t n = g->device->events.n;
    uint32_t *const launched = mem_array(n, sizeof *launched);
    for (size_t e = 0; launched && e < n; e++)
        launched[e] = LINK_NONE;
    for (uint32_t e = 0; launched && e < n; e++)
        if (g->call_of[e] != LINK_NONE) {
            g->report->n_graph_launches += launched[g->call_of[e]] != LINK_NONE;
            launched[g->call_of[e]] = e;
        }
    return launched;
}

halley_status link_threads(link_graph *g, halley_error *err)
{
    layout l = {.g = g, .pieces = mem_array_zero(g->n_threads, sizeof *l.pieces)};
    uint32_t *const launched = collect_launched(g);
    hand_over_array hand_overs = {0};
    bool ok = l.pieces && launched;
    for (uint32_t t = 0; ok && t < g->n_threads; t++) {
        walk w = {.g = g};
        if (g->threads[t].used)
            walk_thread(&w, &g->threads[t], launched);
        l.pieces[t] = w.pieces;
        array_fini(&w.stack);
        ok = !w.failed && collect_quiet(&g->threads[t], g, &l.pieces[t]);
    }
    if (ok)
        find_wakers(&l);
    for (uint32_t t = 0; ok && t < g->n_threads; t++)
        ok = make_steps(&l, t, &hand_overs);
    ok = ok && connect(g, &hand_overs) && place_untimed(g);
    for (uint32_t t = 0; l.pieces && t < g->n_threads; t++)
        array_fini(&l.pieces[t]);
    free(l.pieces);
    free(launched);
    array_fini(&hand_overs);
    return ok ? HALLEY_OK : error_nomem(err);
}
