/*
 * Ranks and groups of a plan.
 *
 * A rank is a mixed-radix number of four digits, one per parallel dimension. The default
 * order is Megatron's (tp, cp, dp, pp, innermost first); any other order is possible.
 *
 * The members of a tensor-parallel group have the same cp, dp and pp. The members of a
 * context-parallel group have the same tp, dp and pp. The members of a data-parallel
 * group have the same tp and pp: it includes the context-parallel ranks, which hold the
 * same weights. Within a data-parallel group, `fsdp` neighbours shard the weights (with
 * zero-group: the optimizer states). Ranks with the same index in their shard groups
 * reduce with each other (hybrid shard).
 *
 * For experts, the ranks of a stage are divided differently: etp innermost, then ep, then
 * the copies of the same experts. The shard degree determines how many of these copies
 * shard the weights of an expert.
 */
#include "estimate/groups.h"

#include "estimate/mesh.h"
#include "halley/estimate.h"
#include "hw/count.h"
#include "workload/plan_file.h"

#include <assert.h>

enum { TP, CP, DP, PP, N_AXES };
enum { OF_TP = 1 << TP, OF_CP = 1 << CP, OF_DP = 1 << DP, OF_PP = 1 << PP };
enum { OF_COPIES = OF_CP | OF_DP, OF_STAGE = OF_TP | OF_COPIES };
enum { OF_ALL = OF_STAGE | OF_PP };

static const workload_group kinds[] = {
    WORKLOAD_TP,    WORKLOAD_CP, WORKLOAD_EP,  WORKLOAD_DP,    WORKLOAD_FSDP,
    WORKLOAD_OUTER, WORKLOAD_XP, WORKLOAD_ETP, WORKLOAD_XFSDP, WORKLOAD_XOUTER};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
enum { MOST_PLACES = 512 }; /* of groups on nodes that are examined */

/* The digits of a rank: the order of the axes, and the size of each. */
typedef struct digits {
    uint8_t axis[N_AXES]; /* innermost first */
    uint32_t n[N_AXES];   /* by axis */
} digits;

static digits digits_of(const halley_plan *plan)
{
    digits d = {.n = {plan->tp, plan->cp, plan->dp, plan->pp}};
    const char *name = workload_order_names[plan->rank_order];
    for (size_t i = 0; i < N_AXES; i++) { /* "tp-cp-dp-pp": by first letter */
        const char first = name[3 * i];
        d.axis[i] = first == 't' ? TP : first == 'c' ? CP : first == 'd' ? DP : PP;
    }
    return d;
}

/* Split `value`, a number made of the digits in `mask` only, into these digits. The other
 * digits do not change. */
static void split_digits(uint32_t at[N_AXES], const digits *d, uint32_t value,
                         unsigned mask)
{
    assert(mask != 0 || value == 0);
    for (int i = 0; i < N_AXES; i++) {
        const uint32_t n = d->n[d->axis[i]];
        if (!(mask >> d->axis[i] & 1))
            continue;
        at[d->axis[i]] = value % n;
        value /= n;
    }
}

/* The inverse: the number made of the digits in `mask`. */
static uint32_t join_digits(const digits *d, const uint32_t at[N_AXES], unsigned mask)
{
    assert(mask < 1u << N_AXES);
    uint32_t value = 0, unit = 1;
    for (int i = 0; i < N_AXES; i++) {
        const uint8_t axis = d->axis[i];
        if (!(mask >> axis & 1))
            continue;
        value += at[axis] * unit;
        unit *= d->n[axis];
    }
    return value;
}

plan_place plan_place_of(const halley_plan *plan, uint32_t rank)
{
    assert(rank < plan->tp * plan->cp * plan->dp * plan->pp);
    const digits d = digits_of(plan);
    uint32_t at[N_AXES];
    split_digits(at, &d, rank, OF_ALL);
    return (plan_place){.tp = at[TP], .cp = at[CP], .dp = at[DP], .pp = at[PP]};
}

uint32_t plan_rank_at(const halley_plan *plan, plan_place place)
{
    assert(place.tp < plan->tp && place.cp < plan->cp);
    assert(place.dp < plan->dp && place.pp < plan->pp);
    const digits d = digits_of(plan);
    const uint32_t at[N_AXES] = {place.tp, place.cp, place.dp, place.pp};
    return join_digits(&d, at, OF_ALL);
}

static uint32_t stage_ranks(const halley_plan *plan)
{
    return plan->tp * plan->cp * plan->dp;
}

uint32_t plan_shards(const halley_plan *plan)
{
    const uint32_t n = plan->fsdp ? plan->fsdp : plan->zero ? plan->zero_group : 0;
    return n ? n : 1;
}

/* True if a part of the data-parallel group shards weights or optimizer states. */
static bool is_sharded(const halley_plan *plan)
{
    return plan->fsdp > 0 || (plan->zero > 0 && plan->zero_group > 0);
}

static uint32_t etp_of(const halley_plan *plan)
{
    return plan->etp > 0 ? plan->etp : 1;
}

/* The number of ranks that hold all experts once. */
static uint32_t expert_ranks(const halley_plan *plan)
{
    return plan->ep * etp_of(plan);
}

/* The number of copies of an expert. */
static uint32_t expert_copies(const halley_plan *plan)
{
    return plan->has_experts ? stage_ranks(plan) / expert_ranks(plan) : 1;
}

/* The number of these copies that shard the expert's weights. */
static uint32_t expert_shards(const halley_plan *plan)
{
    const uint32_t copies = expert_copies(plan);
    const uint64_t ranks = (uint64_t)plan_shards(plan) * plan->tp;
    const uint64_t n = ranks / expert_ranks(plan);
    const uint32_t most = n < 1 ? 1 : n > copies ? copies : (uint32_t)n;
    return copies % most == 0 ? most : copies;
}

static uint32_t size_of(const halley_plan *plan, workload_group kind)
{
    assert(kind < WORKLOAD_N_GROUPS);
    const uint32_t copies = plan->dp * plan->cp;
    switch (kind) {
    case WORKLOAD_TP:
        return plan->tp;
    case WORKLOAD_CP:
        return plan->cp;
    case WORKLOAD_EP:
        return plan->ep;
    case WORKLOAD_DP:
        return copies;
    case WORKLOAD_FSDP:
        return plan_shards(plan);
    case WORKLOAD_OUTER:
        return is_sharded(plan) ? copies / plan_shards(plan) : 1;
    case WORKLOAD_XP:
        return expert_copies(plan);
    case WORKLOAD_ETP:
        return plan->has_experts ? etp_of(plan) : 1;
    case WORKLOAD_XFSDP:
        return is_sharded(plan) ? expert_shards(plan) : 1;
    case WORKLOAD_XOUTER:
        return is_sharded(plan) ? expert_copies(plan) / expert_shards(plan) : 1;
    case WORKLOAD_PP:
        return plan->pp;
    case WORKLOAD_N_GROUPS:
        break;
    }
    return 1;
}

static uint32_t clamp_to_one(uint32_t x, uint32_t high)
{
    return x < 1 ? 1 : x > high ? high : x;
}

/* Ranks of the whole plan. */
static uint32_t all_ranks(const halley_plan *plan)
{
    return stage_ranks(plan) * plan->pp;
}

/* Are the ranks of a stage numbered without gaps? */
static bool is_stage_contiguous(const halley_plan *plan, const digits *d)
{
    return plan->pp == 1 || d->axis[N_AXES - 1] == PP;
}

/*
 * Groups of `run` neighbours are laid end to end on nodes that hold `room` each. This is
 * how many members share a node in the group that nodes cut worst. Its smallest piece has
 * the fewest network cards, and sends most of its data to other nodes.
 */
static uint32_t smallest_piece(uint32_t room, uint32_t run, uint32_t n_groups)
{
    assert(room > 0 && run > 0);
    uint32_t least = room < run ? room : run;
    if (room % run == 0 || run % room == 0)
        return least;
    for (uint64_t i = 0; i < n_groups && i < room && i < MOST_PLACES; i++) {
        const uint32_t left = room - (uint32_t)(i * run % room);
        const uint32_t first = left < run ? left : run, last = (run - first) % room;
        least = first < least ? first : least;
        least = last > 0 && last < least ? last : least;
    }
    return least;
}

/* How many of the ranks that differ only in the digits of `mask` are in one node. Digits
 * inside the node count fully, and the digit that crosses the node boundary counts
 * partly. */
static uint32_t count_together(const digits *d, unsigned mask, uint32_t per_node,
                               uint32_t all)
{
    assert(per_node > 0);
    uint32_t count = 1, unit = 1;
    for (int i = 0; i < N_AXES;) {
        const bool in = mask >> d->axis[i] & 1;
        uint32_t run = 1; /* neighbouring digits of one kind count as one */
        for (; i < N_AXES && (mask >> d->axis[i] & 1) == in; i++)
            run *= d->n[d->axis[i]];
        if (in)
            count *= unit <= per_node && per_node % unit == 0
                         ? smallest_piece(per_node / unit, run, all / unit / run)
                         : clamp_to_one(per_node / unit, run);
        unit = unit > per_node ? unit : unit * run; /* stays within 32 bits */
    }
    return count;
}

/* Of the ranks that hold all experts once, those in one node. */
static uint32_t count_experts_together(const halley_plan *plan, const digits *d,
                                       uint32_t per_node, uint32_t stage)
{
    const uint32_t experts = expert_ranks(plan);
    return is_stage_contiguous(plan, d)
               ? smallest_piece(per_node, experts, all_ranks(plan) / experts)
               : clamp_to_one(stage, experts);
}

void plan_group_sizes(uint32_t n[WORKLOAD_N_GROUPS], uint32_t in_node[WORKLOAD_N_GROUPS],
                      const halley_plan *plan, uint32_t per_node)
{
    assert(per_node > 0);
    const digits d = digits_of(plan);
    const uint32_t all = all_ranks(plan);
    const uint32_t stage = count_together(&d, OF_STAGE, per_node, all);
    const uint32_t copies = count_together(&d, OF_COPIES, per_node, all);
    const uint32_t shard = plan_shards(plan), experts = expert_ranks(plan);
    const uint32_t near = count_experts_together(plan, &d, per_node, stage);
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        n[g] = size_of(plan, (workload_group)g);
    in_node[WORKLOAD_TP] = count_together(&d, OF_TP, per_node, all);
    in_node[WORKLOAD_CP] = count_together(&d, OF_CP, per_node, all);
    in_node[WORKLOAD_PP] = count_together(&d, OF_PP, per_node, all);
    in_node[WORKLOAD_DP] = copies;
    in_node[WORKLOAD_ETP] = clamp_to_one(near, n[WORKLOAD_ETP]);
    in_node[WORKLOAD_EP] = clamp_to_one(near / etp_of(plan), plan->ep);
    in_node[WORKLOAD_XP] = clamp_to_one(stage / experts, n[WORKLOAD_XP]);
    in_node[WORKLOAD_XFSDP] = clamp_to_one(stage / experts, n[WORKLOAD_XFSDP]);
    in_node[WORKLOAD_XOUTER] =
        clamp_to_one(stage / experts / n[WORKLOAD_XFSDP], n[WORKLOAD_XOUTER]);
    in_node[WORKLOAD_FSDP] = clamp_to_one(copies, shard);
    in_node[WORKLOAD_OUTER] = clamp_to_one(copies / shard, n[WORKLOAD_OUTER]);
}

uint32_t plan_group_distance(const halley_plan *plan, workload_group kind)
{
    static const unsigned masks[WORKLOAD_N_GROUPS] = {
        [WORKLOAD_TP] = OF_TP,       [WORKLOAD_CP] = OF_CP,
        [WORKLOAD_PP] = OF_PP,       [WORKLOAD_DP] = OF_COPIES,
        [WORKLOAD_FSDP] = OF_COPIES, [WORKLOAD_OUTER] = OF_COPIES};
    const digits d = digits_of(plan);
    const plan_cut cut = plan_group_cut(plan, kind);
    const unsigned mask = masks[kind] != 0 ? masks[kind] : OF_STAGE;
    uint32_t at[N_AXES] = {0};
    assert(kind < WORKLOAD_N_GROUPS && cut.every > 0);
    split_digits(at, &d, size_of(plan, kind) > 1 ? cut.every : 0, mask);
    const uint32_t distance = join_digits(&d, at, OF_ALL);
    return distance > 0 ? distance : 1;
}

typedef struct blocks {
    uint32_t ranks[N_AXES + 1], n;
} blocks;

/* Sizes of the blocks of neighbours that talk to each other, the smallest first: the
 * ranks up to each axis, and those that hold all experts once. */
static blocks list_blocks(const halley_plan *plan)
{
    const digits d = digits_of(plan);
    const uint32_t all = all_ranks(plan);
    const bool has_experts = plan->has_experts && is_stage_contiguous(plan, &d);
    uint32_t experts = has_experts ? expert_ranks(plan) : all;
    blocks out = {.n = 0};
    uint32_t ranks = 1;
    for (int i = 0; i < N_AXES; i++) {
        ranks *= d.n[d.axis[i]];
        if (experts < ranks) {
            out.ranks[out.n++] = experts;
            experts = all;
        }
        if (ranks > 1 && ranks < all)
            out.ranks[out.n++] = ranks;
    }
    assert(out.n <= N_AXES + 1);
    return out;
}

/* The smallest block that fits into a node of this size and that nodes split; 0 when
 * they split none. */
static uint32_t find_split_block(const blocks *b, uint32_t per_node)
{
    assert(per_node > 0);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->ranks[i] <= per_node && per_node % b->ranks[i] != 0)
            return b->ranks[i];
    return 0;
}

/* Is the last node less than half as full as the others? Groups across nodes would wait
 * for its few network cards. */
static bool is_last_thin(uint32_t all, uint32_t per_node)
{
    const uint32_t last = all % per_node;
    return last > 0 && 2ull * last < per_node;
}

uint32_t plan_ranks_per_node(const halley_plan *plan, const halley_cluster *cluster)
{
    const uint32_t each = cluster->nodes.npus, all = all_ranks(plan);
    assert(each > 0 && all > 0);
    if (all <= each || all % each == 0 || !hw_nodes_may_idle(cluster))
        return each;
    const blocks b = list_blocks(plan);
    const bool splits = find_split_block(&b, each) > 0;
    if (!splits && !is_last_thin(all, each))
        return each;
    const uint32_t nodes = (all - 1) / each + 1, least = (all - 1) / nodes + 1;
    for (uint32_t u = each - 1, i = 0; u >= least && i < MOST_PLACES; u--, i++)
        if ((all % u == 0 || (splits && !is_last_thin(all, u))) &&
            find_split_block(&b, u) == 0)
            return u;
    return each;
}

halley_node_fill halley_estimate_node_fill(const halley_plan *plan,
                                           const halley_cluster *cluster)
{
    const uint32_t each = cluster->nodes.npus;
    const blocks b = list_blocks(plan);
    halley_node_fill fill = {.npus_per_node = plan_ranks_per_node(plan, cluster)};
    if (all_ranks(plan) <= each) /* one node splits nothing */
        return fill;
    fill.split_ranks = find_split_block(&b, fill.npus_per_node);
    fill.saved_ranks = fill.npus_per_node < each ? find_split_block(&b, each) : 0;
    return fill;
}

halley_status halley_estimate_fill_nodes(halley_cluster *cluster, const halley_plan *plan,
                                         halley_error *err)
{
    assert(cluster->n_npus == all_ranks(plan));
    const uint32_t npus = plan_ranks_per_node(plan, cluster);
    hw_direct grid;
    plan_grid_make(&grid, plan, cluster);
    cluster->mesh = grid.numbering;
    return npus == cluster->nodes.npus ? HALLEY_OK : hw_count_fill(cluster, npus, err);
}

/* The index, from 0, of a rank's group among the groups of its kind in its stage. */
static uint32_t index_in_stage(const halley_plan *plan, workload_group kind,
                               const digits *d, const uint32_t at[N_AXES])
{
    const uint32_t copy = join_digits(d, at, OF_COPIES), shard = plan_shards(plan);
    const uint32_t in_stage = join_digits(d, at, OF_STAGE), etp = etp_of(plan);
    const uint32_t experts = expert_ranks(plan), x = expert_shards(plan);
    switch (kind) {
    case WORKLOAD_TP:
        return join_digits(d, at, OF_COPIES);
    case WORKLOAD_CP:
        return join_digits(d, at, OF_TP | OF_DP);
    case WORKLOAD_DP:
        return at[TP];
    case WORKLOAD_FSDP:
        return at[TP] + plan->tp * (copy / shard);
    case WORKLOAD_OUTER:
        return at[TP] + plan->tp * (copy % shard);
    case WORKLOAD_ETP:
        return in_stage / etp;
    case WORKLOAD_EP:
        return in_stage % etp + etp * (in_stage / experts);
    case WORKLOAD_XP:
        return in_stage % experts;
    case WORKLOAD_XFSDP:
        return in_stage % experts + experts * (in_stage / experts / x);
    case WORKLOAD_XOUTER:
        return in_stage % experts + experts * (in_stage / experts % x);
    case WORKLOAD_PP:
    case WORKLOAD_N_GROUPS:
        break;
    }
    return 0;
}

/* The number of groups of a kind in one stage. If only a part of a data-parallel group
 * shards, neither the whole group nor the group of all copies of an expert is used. */
static uint32_t per_stage(const halley_plan *plan, workload_group kind)
{
    assert(kind < WORKLOAD_N_GROUPS);
    const uint32_t size = size_of(plan, kind);
    if (size < 2 || ((kind == WORKLOAD_DP || kind == WORKLOAD_XP) && is_sharded(plan)))
        return 0;
    return stage_ranks(plan) / size;
}

plan_cut plan_group_cut(const halley_plan *plan, workload_group kind)
{
    const uint32_t shard = plan_shards(plan), etp = etp_of(plan);
    const uint32_t experts = expert_ranks(plan), x = expert_shards(plan);
    plan_cut c = {.size = per_stage(plan, kind) > 0 ? size_of(plan, kind) : 1,
                  .every = 1,
                  .of_stage = kind == WORKLOAD_ETP || kind == WORKLOAD_EP ||
                              kind == WORKLOAD_XP || kind == WORKLOAD_XFSDP ||
                              kind == WORKLOAD_XOUTER};
    if (kind == WORKLOAD_FSDP)
        c.block = shard;
    else if (kind == WORKLOAD_OUTER)
        c.every = shard;
    else if (kind == WORKLOAD_ETP)
        c.block = etp;
    else if (kind == WORKLOAD_EP)
        c.block = experts, c.every = etp;
    else if (kind == WORKLOAD_XP)
        c.every = experts;
    else if (kind == WORKLOAD_XFSDP)
        c.block = experts * x, c.every = experts;
    else if (kind == WORKLOAD_XOUTER)
        c.every = experts * x;
    return c;
}

/* The digits of the numbers `every` * (0 ... size - 1) that are made of the digits in
 * `mask`; of these only those inside a node. */
static uint32_t slice_digits(hw_box_digit to[PLAN_GROUP_DIGITS], const digits *d,
                             unsigned mask, uint64_t every, uint64_t size,
                             uint64_t per_node)
{
    uint64_t unit = 1, stride = 1;
    uint32_t n = 0;
    for (int i = 0; i < N_AXES; stride *= d->n[d->axis[i++]]) {
        const uint64_t radix = d->n[d->axis[i]], high = unit * radix, top = every * size;
        if (!(mask >> d->axis[i] & 1) || radix == 1)
            continue;
        const uint64_t from = every > unit ? every : unit, end = top < high ? top : high;
        if (from < end) {
            hw_box_digit *at = &to[n++];
            *at = (hw_box_digit){end / from, stride * (from / unit)};
            if (from % unit != 0 || high % from != 0 || end % from != 0)
                return UINT32_MAX;
            if (at->stride >= per_node)
                n--;
            else if (at->stride * at->radix > per_node) {
                at->radix = per_node / at->stride;
                if (per_node % at->stride != 0)
                    return UINT32_MAX;
            }
        }
        unit = high;
    }
    return n;
}

uint32_t plan_group_digits(hw_box_digit to[PLAN_GROUP_DIGITS], const halley_plan *plan,
                           workload_group kind, uint32_t per_node)
{
    const digits d = digits_of(plan);
    const plan_cut cut = plan_group_cut(plan, kind);
    const unsigned mask = cut.of_stage          ? OF_STAGE
                          : kind == WORKLOAD_TP ? OF_TP
                          : kind == WORKLOAD_CP ? OF_CP
                                                : OF_COPIES;
    return slice_digits(to, &d, mask, cut.every, cut.size, per_node);
}

/* Add a part of a dimension, as far as it is inside the grid. */
static void add_mesh_part(plan_mesh_dims *dims, uint64_t n, uint32_t hunger,
                          uint64_t *left)
{
    const uint64_t part = n < *left ? n : *left;
    if (part < 2)
        return;
    assert(dims->count < PLAN_MESH_DIMS);
    dims->n[dims->count] = (uint32_t)part;
    dims->hunger[dims->count++] = hunger;
    *left = *left % part == 0 ? *left / part : 1;
}

/* Cut a digit where a group ends that is made of a part of it: at `high`, if the numbers
 * of that group count the digit from `unit` on. */
static uint64_t find_cut(uint64_t unit, uint64_t n, uint64_t high)
{
    assert(unit > 0);
    return high > 0 && high > unit && high < unit * n && high % unit == 0 &&
                   unit * n % high == 0
               ? high / unit
               : 1;
}

/* The dimensions of a plan, from the inside out. Data-parallel ranks are cut into those
 * that share experts or weights and the rest. */
static void list_mesh_dims(plan_mesh_dims *out, const halley_plan *plan, uint64_t left)
{
    enum { HUNGER_TP, HUNGER_EP, HUNGER_CP, HUNGER_DP, HUNGER_PP };
    static const uint32_t hunger[N_AXES] = {HUNGER_TP, HUNGER_CP, HUNGER_DP, HUNGER_PP};
    const digits d = digits_of(plan);
    uint64_t in_stage = 1, in_copies = 1;
    out->count = 0;
    for (uint32_t i = 0; i < N_AXES; i++) {
        const unsigned axis = d.axis[i];
        const uint64_t n = d.n[axis];
        const bool is_stage = axis != PP, is_copy = is_stage && axis != TP;
        const uint64_t experts =
            is_stage && plan->has_experts ? find_cut(in_stage, n, expert_ranks(plan)) : 1;
        const uint64_t shards =
            is_copy && experts == 1 ? find_cut(in_copies, n, plan_shards(plan)) : 1;
        add_mesh_part(out, experts, axis == TP ? HUNGER_TP : HUNGER_EP, &left);
        add_mesh_part(out, shards, hunger[axis], &left);
        add_mesh_part(out, n / experts / shards, hunger[axis], &left);
        in_stage *= is_stage ? n : 1;
        in_copies *= is_copy ? n : 1;
    }
}

void plan_grid_make(hw_direct *out, const halley_plan *plan,
                    const halley_cluster *cluster)
{
    plan_mesh_dims dims;
    hw_direct_make(out, cluster);
    if (out->n_axes == 0)
        return;
    list_mesh_dims(&dims, plan, hw_direct_count(out));
    (void)plan_mesh_choose(&out->numbering, out, &dims);
}

uint32_t plan_group_of(const halley_plan *plan, workload_group kind, uint32_t rank)
{
    assert(kind < WORKLOAD_N_GROUPS);
    assert(rank < plan->tp * plan->cp * plan->dp * plan->pp);
    const digits d = digits_of(plan);
    uint32_t first = 1, at[N_AXES];
    split_digits(at, &d, rank, OF_ALL);
    for (int i = 0; i < N_KINDS; i++) {
        const uint32_t n = per_stage(plan, kinds[i]);
        if (kinds[i] == kind)
            return n ? first + at[PP] * n + index_in_stage(plan, kind, &d, at) : 0;
        first += n * plan->pp;
    }
    return 0;
}

uint32_t plan_group_count(const halley_plan *plan)
{
    uint32_t n = 0;
    for (int i = 0; i < N_KINDS; i++)
        n += per_stage(plan, kinds[i]) * plan->pp;
    return n;
}

/* The ranks of one stage in order, filtered to the members of one group. */
static uint32_t members_of(uint32_t *members, const halley_plan *plan,
                           workload_group kind, uint32_t stage, uint32_t index)
{
    assert(stage < plan->pp);
    assert(index < per_stage(plan, kind));
    const digits d = digits_of(plan);
    uint32_t n = 0, at[N_AXES] = {[PP] = stage};
    for (uint32_t i = 0; i < stage_ranks(plan); i++) {
        split_digits(at, &d, i, OF_STAGE);
        if (index_in_stage(plan, kind, &d, at) == index)
            members[n++] = join_digits(&d, at, OF_ALL);
    }
    return n;
}

uint32_t plan_group_members(uint32_t *members, const halley_plan *plan, uint32_t g)
{
    assert(g > 0 && g <= plan_group_count(plan));
    uint32_t first = 1;
    for (int i = 0; i < N_KINDS; i++) {
        const uint32_t n = per_stage(plan, kinds[i]), count = n * plan->pp;
        if (n && g < first + count)
            return members_of(members, plan, kinds[i], (g - first) / n, (g - first) % n);
        first += count;
    }
    return 0;
}
