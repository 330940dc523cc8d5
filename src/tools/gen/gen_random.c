/*
 * Random graphs that differ from rank to rank but can always run.
 *
 * Time is divided into rounds, and every rank has one node per round. The type of a round
 * is drawn from a random stream that all ranks share. It is one of these:
 *
 * - Compute or memory, with sizes drawn by each rank.
 * - A collective of all ranks, or of one group while the other ranks compute.
 * - Messages: rank r pairs with rank c - r modulo the number of ranks, where c is drawn.
 *
 * Each communication waits for the rank's previous one. So all ranks reach them in the
 * order of the rounds. There is no deadlock, whatever the simulator's schedule is. The
 * other dependencies are drawn by each rank among its latest nodes.
 */
#include "base/call.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "gen/gen.h"

enum { REACH = 16, CTRL_ONE_IN = 4 }; /* nodes to look back; share of control edges */

halley_status gen_random_check(halley_gen *gen, halley_error *err)
{
    if (gen->value[GEN_W_COMP] + gen->value[GEN_W_COLL] + gen->value[GEN_W_P2P] +
            gen->value[GEN_W_MEM] ==
        0)
        return error_set(err, HALLEY_EINVAL,
                         "all weights are 0, so there is no kind of node to draw");
    if (gen->value[GEN_NODES] > INT32_MAX)
        return error_set(err, HALLEY_ELIMIT, "nodes must be at most %d, is %llu",
                         INT32_MAX, (unsigned long long)gen->value[GEN_NODES]);
    return HALLEY_OK;
}

typedef struct random_rank {
    gen_out *o;
    const halley_gen *gen;
    uint32_t rank;
    rng shared, own;
    uint64_t last_comm;
} random_rank;

static void add_comp(random_rank *x)
{
    /* Enough of both to take some nanoseconds on any machine: no node may take zero time.
     */
    const uint64_t flops = 10000000 + rng_below(&x->own, 1000000000);
    const uint64_t bytes = 10000 + rng_below(&x->own, 10000000);
    (void)gen_comp(x->o, "COMP", 1 + rng_below(&x->own, 20), flops, bytes);
}

static void add_mem(random_rank *x)
{
    const bool store = rng_below(&x->own, 2);
    (void)gen_mem(x->o, store, store ? "MEM_STORE" : "MEM_LOAD",
                  1 + rng_below(&x->own, x->gen->value[GEN_SIZE]));
}

static const uint32_t collectives[] = {HALLEY_COLL_ALL_REDUCE, HALLEY_COLL_ALL_GATHER,
                                       HALLEY_COLL_REDUCE_SCATTER,
                                       HALLEY_COLL_ALL_TO_ALL};

/* Add a collective; true if this rank takes part. All ranks draw the same from
 * `shared`. */
static bool draw_coll(random_rank *x)
{
    const halley_gen *gen = x->gen;
    const uint32_t type = collectives[rng_below(&x->shared, 4)];
    /* At least some bytes for every NPU, because simulators divide a collective among
     * them. */
    const uint64_t size =
        64 * (uint64_t)gen->n_npus + rng_below(&x->shared, gen->value[GEN_SIZE]);
    uint32_t group = 0;
    if (gen->groups.n > 0) {
        group = 1 + (uint32_t)rng_below(&x->shared, gen->groups.n);
        if (!gen_group_has(&gen->groups.at[group - 1], x->rank)) {
            add_comp(x);
            return false;
        }
    }
    (void)gen_coll(x->o, halley_coll_type_name(type), type, size, group);
    return true;
}

static bool draw_message(random_rank *x, uint32_t round)
{
    const uint32_t n = x->gen->n_npus;
    const uint32_t c = (uint32_t)rng_below(&x->shared, n);
    const uint64_t size = 1 + rng_below(&x->shared, x->gen->value[GEN_SIZE]);
    const uint64_t flip = rng_u64(&x->shared);
    const uint32_t peer = (c + n - x->rank) % n;
    if (peer == x->rank) {
        add_comp(x);
        return false;
    }
    const uint32_t low = peer < x->rank ? peer : x->rank;
    const bool low_sends = hash_u64(flip ^ low) & 1;
    if (low_sends == (low == x->rank))
        (void)gen_send(x->o, x->rank, peer, round, size);
    else
        (void)gen_recv(x->o, peer, x->rank, round, size);
    return true;
}

static bool draw_node(random_rank *x, uint32_t round)
{
    const uint64_t *v = x->gen->value;
    uint64_t pick = rng_below(&x->shared, v[GEN_W_COMP] + v[GEN_W_COLL] + v[GEN_W_P2P] +
                                              v[GEN_W_MEM]);
    if (pick < v[GEN_W_COLL])
        return draw_coll(x);
    pick -= v[GEN_W_COLL];
    if (pick < v[GEN_W_P2P])
        return draw_message(x, round);
    pick -= v[GEN_W_P2P];
    if (pick < v[GEN_W_MEM])
        add_mem(x);
    else
        add_comp(x);
    return false;
}

/* Draw the dependencies of node `id`: distinct nodes among the last REACH, `degree` on
 * average if there are enough. */
static void add_edges(random_rank *x, uint64_t id)
{
    const uint64_t reach = id < REACH ? id : REACH;
    uint64_t want = x->gen->value[GEN_DEGREE] / 1000;
    want += rng_below(&x->own, 1000) < x->gen->value[GEN_DEGREE] % 1000;
    uint32_t used = 0;
    for (uint64_t i = 0; i < want && i < reach; i++) {
        uint64_t back = rng_below(&x->own, reach);
        while (used >> back & 1)
            back = (back + 1) % reach;
        used |= UINT32_C(1) << back;
        if (rng_below(&x->own, CTRL_ONE_IN) == 0)
            gen_after_ctrl(x->o, id - 1 - back);
        else
            gen_after(x->o, id - 1 - back);
    }
}

void gen_random_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    const uint64_t seed = gen->value[GEN_SEED];
    random_rank x = {.o = o,
                     .gen = gen,
                     .rank = rank,
                     .shared = rng_seed(hash_u64(seed)),
                     .own = rng_seed(hash_u64(hash_u64(seed) + 1 + rank)),
                     .last_comm = GEN_NO_ID};
    for (uint32_t round = 0; round < gen->value[GEN_NODES] && call_goes_on(); round++) {
        const bool comm = draw_node(&x, round);
        add_edges(&x, round);
        if (!comm)
            continue;
        gen_after_ctrl(o, x.last_comm);
        x.last_comm = round;
    }
}
