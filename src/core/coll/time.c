/*
 * coll/time.c - closed forms of collectives, inside a node and across nodes.
 *
 * Inside a node the library (NCCL) uses a ring with one of three protocols, or in-switch
 * reduction. It does not choose the fastest: it chooses the minimum of its own estimates,
 * which may be wrong. This is why measured curves have jumps. So halley chooses by NCCL's
 * public tuner table, and times the choice with constants fitted to measurements.
 *
 *   ring: launch + extra + steps hop + ramp S/(S+s) + W/(share L) + (S/n)/(copy L)
 *
 *   Simple: the same, with steps and bytes combined by a norm: they overlap
 *
 *   switch: launch + extra + ramp + S (n+1)/n / (share L)
 *
 *   all-to-all: one peer after the other, small messages with LL
 *
 * W = steps S/n is the number of bytes on the wire; steps = 2(n-1) for all-reduce, else
 * n-1. Across nodes the time is the minimum of ring, tree and switch-tree, each limited
 * by the network cards. The formulas are in the files of the algorithms (ring.c, tree.c,
 * in_switch.c, direct.c, plain_time.c).
 *
 * Measured mean error: 5.4 % over 1,658 points that were not fitted, inside a node.
 * Across nodes it is 2 to 14 % on few points, nearly all of them all-reduce.
 */
#include "coll/algo.h"
#include "coll/dims.h"
#include "coll/time_parts.h"
#include "halley/extend.h"

#include <assert.h>

/* An algorithm with a protocol that the library may choose. */
typedef struct candidate {
    cluster_algo algo;
    coll_protocol protocol;
    const char *name;
} candidate;

static const candidate candidates[] = {
    {CLUSTER_ALGO_RING, COLL_LL, "ring LL"},
    {CLUSTER_ALGO_RING, COLL_LL128, "ring LL128"},
    {CLUSTER_ALGO_RING, COLL_SIMPLE, "ring Simple"},
    {CLUSTER_ALGO_TREE, COLL_LL, "tree LL"},
    {CLUSTER_ALGO_TREE, COLL_LL128, "tree LL128"},
    {CLUSTER_ALGO_TREE, COLL_SIMPLE, "tree Simple"},
    {CLUSTER_ALGO_IN_SWITCH, COLL_SIMPLE, "in-switch"},
};
enum {
    N_CANDIDATES = sizeof candidates / sizeof *candidates,
    RING_SIMPLE = COLL_SIMPLE, /* rings come first, by protocol */
    IN_SWITCH = N_CANDIDATES - 1,
};

static bool switch_reduces(const halley_link *up, const coll_call *c, uint32_t n_in_node)
{
    return c->kind == COLL_ALL_REDUCE && !c->integer && up->in_switch_min &&
           n_in_node >= up->in_switch_min;
}

/* The candidate with the least of the tuner's estimates inside a node. */
static int choose_by_tuner(const halley_link *up, const coll_call *c)
{
    const double n = c->n, steps = count_ring_steps(c);
    const double ring = up->tuner_ring_Bps * get_size_factor(up->tuner_factor, c->n);
    const double bus[3] = {fmin(up->tuner_ll_Bps, ring / 2), up->tuner_ll128_Bps, ring};
    int best = RING_SIMPLE;
    double least = HUGE_VAL;
    for (int p = 0; p < COLL_N_PROTOCOLS; p++) {
        if (bus[p] <= 0)
            continue;
        const double t = up->tuner_base_s[p] + steps * up->tuner_hop_s[p] +
                         c->bytes * steps / (n * bus[p]);
        if (t < least) {
            least = t;
            best = p;
        }
    }
    if (switch_reduces(up, c, c->n) && up->tuner_in_switch > 0) {
        const double b = 2 * up->tuner_in_switch * ring * (n - 1) / (n + 1);
        const double t = up->tuner_base_s[3] + c->bytes * steps / (n * b);
        if (t < least)
            best = IN_SWITCH;
    }
    assert(best >= 0 && best < N_CANDIDATES);
    return best;
}

/* How a call is timed: a closed form and its load. */
typedef struct call_form {
    coll_closed_form *time;
    coll_load_form *load;
    coll_protocol protocol;
    uint32_t variant;
} call_form;
enum { FORM_SEND = N_CANDIDATES, FORM_BOX, FORM_PLAIN, FORM_PAIRS, FORM_SMALL_PAIRS };

static double candidate_time(const candidate *choice, const halley_link *up,
                             const halley_fabric *out, const coll_call *c)
{
    const coll_algo *row = &coll_algos[choice->algo];
    assert(row->time != NULL);
    return row->time(up, out, c, choice->protocol);
}

/* True if the library may use the candidate for a group of several nodes. */
static bool is_possible_across(const candidate *choice, const halley_link *up,
                               const coll_call *c)
{
    if (choice->algo == CLUSTER_ALGO_IN_SWITCH)
        return switch_reduces(up, c, c->per_node);
    return choice->algo == CLUSTER_ALGO_RING || c->kind == COLL_ALL_REDUCE;
}

static int choose_least_across(const halley_link *up, const halley_fabric *out,
                               const coll_call *c)
{
    double least = HUGE_VAL;
    int best = RING_SIMPLE;
    for (int i = 0; i < N_CANDIDATES; i++) {
        const double t = is_possible_across(&candidates[i], up, c)
                             ? candidate_time(&candidates[i], up, out, c)
                             : HUGE_VAL;
        if (t < least) {
            least = t;
            best = i;
        }
    }
    return best;
}

/* The call with its defaults filled in. */
static coll_call complete_call(const halley_fabric *out, const coll_call *c)
{
    assert(c->n > 0);
    assert(c->bytes >= 0);
    assert(c->n_levels <= COLL_MAX_LEVELS);
    coll_call full = *c;
    if (full.per_node == 0 || full.per_node > full.n)
        full.per_node = full.n;
    if (full.nic_Bps <= 0)
        full.nic_Bps = out->bandwidth_Bps;
    if (full.kind == COLL_GATHER || full.kind == COLL_SCATTER)
        full.kind = COLL_ALL_TO_ALL; /* the root's part of an all-to-all */
    if (full.kind == COLL_BROADCAST || full.kind == COLL_REDUCE) {
        /* a pipelined ring moves the data once */
        full.kind = COLL_ALL_GATHER;
        full.bytes *= (double)full.n / (full.n - 1.0);
    }
    return full;
}

/* The form of a complete call. */
static call_form find_form(const halley_link *up, const halley_fabric *out,
                           const coll_call *c)
{
    const bool small = coll_direct_is_small(c);
    if (c->kind == COLL_SEND)
        return (call_form){coll_send_time, coll_send_load, COLL_SIMPLE, FORM_SEND};
    if (c->box != NULL && !is_across_nodes(c))
        return (call_form){coll_box_time, coll_box_load, COLL_SIMPLE, FORM_BOX};
    if (up->torus)
        return (call_form){coll_plain_time, coll_plain_load, COLL_SIMPLE, FORM_PLAIN};
    if (c->kind == COLL_ALL_TO_ALL)
        return (call_form){coll_direct_time, coll_direct_load, COLL_SIMPLE,
                           small ? FORM_SMALL_PAIRS : FORM_PAIRS};
    const int i =
        is_across_nodes(c) ? choose_least_across(up, out, c) : choose_by_tuner(up, c);
    const coll_algo *row = &coll_algos[candidates[i].algo];
    return (call_form){row->time, row->load, candidates[i].protocol, (uint32_t)i};
}

static double time_by_algorithm(const halley_link *up, const halley_fabric *out,
                                const coll_call *c)
{
    if (c->dims != NULL)
        return coll_dims_time(c->dims, c);
    const coll_call full = complete_call(out, c);
    const call_form form = find_form(up, out, &full);
    return form.time(up, out, &full, form.protocol);
}

void coll_call_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                    const coll_call *c)
{
    assert(c->n > 1 && c->bytes > 0);
    const coll_call full = complete_call(out, c);
    const call_form form = find_form(up, out, &full);
    form.load(load, up, out, &full, form.protocol);
    load->time_s = coll_call_time(up, out, c); /* an extension may return another time */
    load->wire_s = fmin(load->wire_s, load->time_s);
    load->variant = form.variant;
    load->above_share = out->share > 0 ? out->share : 1;
    if (c->kind == COLL_GATHER || c->kind == COLL_SCATTER)
        load->pattern = c->kind == COLL_GATHER ? COLL_PATTERN_IN : COLL_PATTERN_OUT;
    assert(load->wire_s > 0 && load->streams > 0);
}

_Static_assert((int)COLL_SEND == (int)HALLEY_COLLECTIVE_SEND &&
                   (int)COLL_ALL_TO_ALL == (int)HALLEY_COLLECTIVE_ALL_TO_ALL &&
                   (int)COLL_SCATTER == (int)HALLEY_COLLECTIVE_SCATTER,
               "kinds have the same order in public");

double coll_call_time(const halley_link *up, const halley_fabric *out, const coll_call *c)
{
    assert(c->per_node <= c->n);
    if (c->n < 2 || !(c->bytes > 0))
        return 0;
    const double standard_s = time_by_algorithm(up, out, c);
    if (up->extensions == NULL || up->extensions->collective == NULL)
        return standard_s;
    const halley_collective_call call = {
        .kind = (halley_collective_kind)c->kind,
        .bytes = c->bytes,
        .n_ranks = c->n,
        .per_node = c->per_node == 0 || c->per_node > c->n ? c->n : c->per_node};
    const double own_s =
        up->extensions->collective(up->extensions->context, &call, standard_s);
    return isfinite(own_s) && own_s >= 0 ? own_s : standard_s;
}

const char *coll_call_choice(const halley_link *up, const coll_call *c)
{
    if (c->n < 2)
        return "none";
    if (c->per_node && c->per_node < c->n)
        return "across nodes";
    if (up->torus)
        return c->box != NULL ? "direct" : "torus ring";
    return c->kind == COLL_ALL_TO_ALL ? "all-to-all"
                                      : candidates[choose_by_tuner(up, c)].name;
}
