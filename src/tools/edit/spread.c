/*
 * Makes all ranks of a job from one recorded rank.
 *
 * A rank has coordinates (t, d, p) with rank = t + tp * (d + dp * p). The members of a
 * recorded group must be all ranks that agree with the recorded rank on some axes and
 * differ on the others. The group of any other rank is found by varying the same axes
 * around it. Instances of groups are numbered from 1 in the order in which ranks use
 * them. Each rank declares all of them.
 */
#include "halley/spread.h"

#include "base/error.h"
#include "base/hash.h"
#include "halley/trace_attr.h"
#include "trace/core/edit.h"
#include "trace/core/groups.h"
#include "trace/core/roles.h"
#include "trace/core/slots.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_AXES = 3, MAX_RANKS = 1 << 16 };

/* A recorded group. */
typedef struct axis_group {
    str name;
    uint32_t mask; /* bit a: it varies along axis a */
} axis_group;

typedef struct spreader {
    const halley_trace *trace;
    const halley_spread_opts *opts;
    halley_spread_report *report;
    uint32_t size[N_AXES]; /* tp, dp, pp */
    uint32_t n_ranks, self;
    trace_groups recorded;
    ARRAY(axis_group) groups;
    map64 numbers;  /* mask and lowest member -> number of the instance */
    strbuf declare; /* values of the node that declares the groups */
    bool matches_messages;
} spreader;

static void place_rank(uint32_t at[N_AXES], const spreader *s, uint32_t rank)
{
    at[0] = rank % s->size[0];
    at[1] = rank / s->size[0] % s->size[1];
    at[2] = rank / s->size[0] / s->size[1];
}

static uint32_t find_rank_at(const uint32_t at[N_AXES], const spreader *s)
{
    return at[0] + s->size[0] * (at[1] + s->size[1] * at[2]);
}

static uint32_t count_members(const spreader *s, uint32_t mask)
{
    uint32_t n = 1;
    for (uint32_t a = 0; a < N_AXES; a++)
        n *= mask >> a & 1 ? s->size[a] : 1;
    return n;
}

/* The i-th member of the group of a rank that varies along the axes of `mask`. */
static uint32_t find_axis_member(const spreader *s, uint32_t rank, uint32_t mask,
                                 uint32_t i)
{
    uint32_t at[N_AXES];
    place_rank(at, s, rank);
    for (uint32_t a = 0; a < N_AXES; a++)
        if (mask >> a & 1) {
            at[a] = i % s->size[a];
            i /= s->size[a];
        }
    return find_rank_at(at, s);
}

static halley_status check_layout(spreader *s, halley_error *err)
{
    const uint64_t world = trace_recorded_number(s->trace, "world", 0);
    const uint64_t n = (uint64_t)s->size[0] * s->size[1] * s->size[2];
    if (n < 2 || n > MAX_RANKS)
        return error_set(err, HALLEY_EINVAL,
                         "tp x dp x pp is %" PRIu64 ", but a job has 2 to %d ranks", n,
                         MAX_RANKS);
    if (world > 1 && world != n)
        return error_set(err, HALLEY_EINVAL,
                         "the recorded job has %" PRIu64 " ranks, but tp x dp x pp is "
                         "%" PRIu64 "; spread it as it was recorded, then change it with "
                         "`halley trace scale --dp`",
                         world, n);
    s->n_ranks = (uint32_t)n;
    s->self = (uint32_t)trace_recorded_number(s->trace, "rank", s->opts->rank);
    if (s->self >= s->n_ranks)
        return error_set(err, HALLEY_EINVAL,
                         "the recorded rank is %" PRIu32 ", but there are %" PRIu32
                         " ranks",
                         s->self, s->n_ranks);
    return HALLEY_OK;
}

/* The axes along which a recorded group varies. */
static halley_status find_group_mask(uint32_t *mask, const spreader *s,
                                     const trace_group *g, halley_error *err)
{
    uint32_t own[N_AXES], at[N_AXES];
    bool fits = true, has_self = false;
    *mask = 0;
    place_rank(own, s, s->self);
    for (uint32_t i = 0; i < g->n_ranks; i++) {
        fits &= g->ranks[i] < s->n_ranks;
        has_self |= g->ranks[i] == s->self;
        place_rank(at, s, g->ranks[i]);
        for (uint32_t a = 0; a < N_AXES; a++)
            *mask |= at[a] != own[a] ? UINT32_C(1) << a : 0;
    }
    if (!has_self) { /* a group of other ranks */
        *mask = UINT32_MAX;
        return HALLEY_OK;
    }
    if (fits && count_members(s, *mask) == g->n_ranks)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "group %.*s of %" PRIu32 " ranks (from %" PRIu32
                     ") does not fit tp %" PRIu32 ", dp %" PRIu32 ", pp %" PRIu32
                     ": ranks count tensor-parallel ones first, then data-parallel "
                     "ones, then stages; --groups names the members",
                     STR_ARG(g->name), g->n_ranks, g->n_ranks > 0 ? g->ranks[0] : 0,
                     s->size[0], s->size[1], s->size[2]);
}

static halley_status read_recorded_groups(spreader *s, halley_error *err)
{
    halley_trace_set *set;
    halley_trace *kept = halley_trace_keep((halley_trace *)(uintptr_t)s->trace);
    if (s->opts->groups_path != NULL) {
        halley_trace_free(kept);
        TRY(trace_groups_load(&s->recorded, s->opts->groups_path, err));
    } else {
        const halley_status made = halley_trace_set_new(&set, &kept, 1, err);
        if (made != HALLEY_OK) {
            halley_trace_free(kept);
            return made;
        }
        const halley_status status = trace_groups_collect(&s->recorded, set, err);
        halley_trace_set_free(set);
        TRY(status);
    }
    for (size_t i = 0; i < s->recorded.list.n; i++) {
        axis_group group = {.name = s->recorded.list.at[i].name};
        TRY(find_group_mask(&group.mask, s, &s->recorded.list.at[i], err));
        if (group.mask != UINT32_MAX && !array_push(&s->groups, group))
            return error_nomem(err);
    }
    s->report->n_groups_before = (uint32_t)s->groups.n;
    return HALLEY_OK;
}

static uint64_t hash_instance(const spreader *s, uint32_t rank, uint32_t mask)
{
    return hash_u64((uint64_t)mask << 32 | find_axis_member(s, rank, mask, 0));
}

static void declare_instance(spreader *s, uint32_t rank, uint32_t mask, uint32_t number)
{
    const uint32_t n = count_members(s, mask);
    strbuf_printf(&s->declare, "%s{\"pg_name\": \"%" PRIu32 "\", \"ranks\": [",
                  number > 1 ? ", " : "", number);
    for (uint32_t i = 0; i < n; i++)
        strbuf_printf(&s->declare, "%s%" PRIu32, i > 0 ? ", " : "",
                      find_axis_member(s, rank, mask, i));
    strbuf_printf(&s->declare, "], \"group_size\": %" PRIu32 "}", n);
}

static halley_status number_instances(spreader *s, halley_error *err)
{
    uint32_t next = 1;
    strbuf_add(&s->declare, STR("['["));
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (size_t g = 0; g < s->groups.n; g++) {
            uint32_t number = next;
            bool fresh;
            const uint32_t mask = s->groups.at[g].mask;
            if (!map64_put(&s->numbers, hash_instance(s, rank, mask), &number, &fresh))
                return error_nomem(err);
            if (fresh)
                declare_instance(s, rank, mask, next++);
        }
    strbuf_add(&s->declare, STR("]']"));
    s->report->n_groups = next - 1;
    return s->declare.failed ? error_nomem(err) : HALLEY_OK;
}

static bool read_peer(int64_t *peer, const spreader *s, uint32_t node, bool *sends)
{
    halley_attr src, dst;
    int64_t from, to;
    if (!halley_node_find_attr(&src, s->trace, node, HALLEY_ATTR_NAME_COMM_SRC) ||
        !halley_node_find_attr(&dst, s->trace, node, HALLEY_ATTR_NAME_COMM_DST) ||
        !halley_attr_to_i64(&src, &from) || !halley_attr_to_i64(&dst, &to))
        return false;
    *sends = from == (int64_t)s->self;
    *peer = *sends ? to : from;
    return true;
}

/* The direction of a recorded message: +1 to or from the next stage, -1 the previous
 * one, 0 = it is not between neighbouring stages. */
static int find_stage_direction(const spreader *s, uint32_t node, bool *sends)
{
    int64_t peer;
    const int64_t stride = (int64_t)s->size[0] * s->size[1];
    if (s->size[2] < 2 || !read_peer(&peer, s, node, sends))
        return 0;
    const int64_t distance = peer - (int64_t)s->self;
    return distance == stride ? 1 : distance == -stride ? -1 : 0;
}

/* Stages match if a stage sends as many messages forward as it receives from the
 * previous stage, and the same backward. */
static void judge_messages(spreader *s)
{
    uint64_t n[2][2] = {{0}};
    for (uint32_t i = 0; i < halley_trace_count(s->trace); i++) {
        bool sends = false;
        const int direction = find_stage_direction(s, i, &sends);
        if (direction != 0)
            n[direction > 0][sends]++;
        int64_t peer;
        s->report->n_messages += read_peer(&peer, s, i, &sends);
    }
    s->matches_messages = s->report->n_messages > 0 && n[1][1] == n[0][0] &&
                          n[0][1] == n[1][0] &&
                          n[0][0] + n[0][1] + n[1][0] + n[1][1] == s->report->n_messages;
    if (!s->matches_messages)
        s->report->n_lone = s->report->n_messages;
}

static bool says_embedding(const spreader *s)
{
    for (uint32_t i = 0; i < halley_trace_count(s->trace); i++) {
        halley_attr attr;
        if (halley_node_find_attr(&attr, s->trace, i, HALLEY_ATTR_NAME_KERNEL_CLASS) &&
            str_eq((str){attr.bytes.at, attr.bytes.n}, STR("embedding")))
            return true;
    }
    return false;
}

/* One rank being written. */
typedef struct rank_writer {
    const spreader *s;
    halley_builder *b;
    uint32_t rank;
} rank_writer;

static const axis_group *find_axis_group(const spreader *s, str name)
{
    for (size_t i = 0; i < s->groups.n; i++)
        if (str_eq(s->groups.at[i].name, name))
            return &s->groups.at[i];
    return NULL;
}

static halley_status put_spread_group(const rank_writer *w, halley_attr attr)
{
    const axis_group *const g = find_axis_group(w->s, (str){attr.bytes.at, attr.bytes.n});
    char text[16];
    if (g == NULL)
        return halley_builder_attr(w->b, &attr);
    const uint32_t number =
        map64_find(&w->s->numbers, hash_instance(w->s, w->rank, g->mask));
    assert(number != HASH_NONE);
    attr.bytes =
        (halley_bytes){text, (size_t)snprintf(text, sizeof text, "%" PRIu32, number)};
    return halley_builder_attr(w->b, &attr);
}

static bool is_word(halley_bytes name, const char *word)
{
    return str_eq((str){name.at, name.n}, str_from(word));
}

/* The peer of a message of this rank. UINT32_MAX: there is no such stage. */
static uint32_t find_new_peer(const rank_writer *w, int direction)
{
    const int64_t stride = (int64_t)w->s->size[0] * w->s->size[1];
    const int64_t peer = (int64_t)w->rank + direction * stride;
    return peer < 0 || peer >= (int64_t)w->s->n_ranks ? UINT32_MAX : (uint32_t)peer;
}

static halley_status put_spread_attrs(const rank_writer *w, uint32_t node, bool sends,
                                      uint32_t peer, bool is_message)
{
    const halley_trace *const t = w->s->trace;
    for (uint32_t i = 0; i < halley_node_attr_count(t, node); i++) {
        halley_attr attr = halley_node_attr(t, node, i);
        const bool is_src = is_word(attr.name, HALLEY_ATTR_NAME_COMM_SRC);
        const bool is_dst = is_word(attr.name, HALLEY_ATTR_NAME_COMM_DST);
        if (is_word(attr.name, HALLEY_ATTR_NAME_PG_NAME) &&
            attr.kind == HALLEY_ATTR_STRING) {
            TRY(put_spread_group(w, attr));
            continue;
        }
        if (is_message && (is_src || is_dst))
            edit_set_u64(&attr, is_src == sends ? w->rank : peer);
        TRY(halley_builder_attr(w->b, &attr));
    }
    return halley_builder_unknown(w->b, halley_node_unknown(t, node));
}

static halley_status copy_io(const rank_writer *w, uint32_t node)
{
    const halley_io in = halley_node_inputs(w->s->trace, node);
    const halley_io out = halley_node_outputs(w->s->trace, node);
    if (in.present)
        TRY(halley_builder_inputs(w->b, &in));
    return out.present ? halley_builder_outputs(w->b, &out) : HALLEY_OK;
}

static halley_status copy_deps(const rank_writer *w, uint32_t node)
{
    const halley_trace *const t = w->s->trace;
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++)
        TRY(halley_builder_data(w->b, halley_node_data(t, node, i).id));
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, node); i++)
        TRY(halley_builder_ctrl(w->b, halley_node_ctrl(t, node, i).id));
    return HALLEY_OK;
}

static halley_status write_spread_node(const rank_writer *w, uint32_t node)
{
    const halley_trace *const t = w->s->trace;
    bool sends = false;
    const int direction =
        w->s->matches_messages ? find_stage_direction(w->s, node, &sends) : 0;
    const uint32_t peer = direction != 0 ? find_new_peer(w, direction) : UINT32_MAX;
    const bool is_message = peer != UINT32_MAX, is_gone = direction != 0 && !is_message;
    const uint32_t type = !is_message ? halley_node_type_of(t, node)
                          : sends     ? (uint32_t)HALLEY_NODE_SEND
                                      : (uint32_t)HALLEY_NODE_RECV;
    TRY(halley_builder_node(w->b, halley_node_id(t, node),
                            is_gone ? (uint32_t)HALLEY_NODE_COMP : type,
                            halley_node_name(t, node)));
    TRY(copy_deps(w, node));
    if (is_gone) /* there is no such stage: a node without work */
        return halley_builder_attr_bool(w->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    TRY(halley_builder_time(w->b, halley_node_start_us(t, node),
                            halley_node_duration_us(t, node)));
    TRY(copy_io(w, node));
    return put_spread_attrs(w, node, sends, peer, is_message);
}

static bool declares_spread_groups(const halley_trace *t, uint32_t node)
{
    return is_word(halley_node_name(t, node), "## process_group:init ##");
}

static halley_status write_declaration(const rank_writer *w, uint64_t id)
{
    static const char name[] = "## process_group:init ##";
    const str values = strbuf_str(&w->s->declare);
    const halley_io io = {.present = true,
                          .values = {values.at, values.n},
                          .shapes = {"[[]]", 4},
                          .types = {"['String']", 10}};
    TRY(halley_builder_node(w->b, id, HALLEY_NODE_METADATA,
                            (halley_bytes){name, sizeof name - 1}));
    TRY(halley_builder_inputs(w->b, &io));
    return halley_builder_attr_bool(w->b, HALLEY_ATTR_NAME_IS_CPU_OP, true);
}

static halley_status write_nodes(const rank_writer *w)
{
    const halley_trace *const t = w->s->trace;
    uint64_t next_id = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        next_id = halley_node_id(t, i) >= next_id ? halley_node_id(t, i) + 1 : next_id;
        if (!declares_spread_groups(t, i))
            TRY(write_spread_node(w, i));
    }
    return w->s->report->n_groups > 0 ? write_declaration(w, next_id) : HALLEY_OK;
}

static halley_status write_rank(halley_trace **out, const spreader *s, uint32_t rank,
                                halley_error *err)
{
    rank_writer w = {.s = s, .rank = rank};
    TRY(edit_start(&w.b, s->trace, err));
    return edit_finish(out, w.b, write_nodes(&w), err);
}

/* Writes all ranks. Without groups and messages they are identical, so they share one
 * trace. */
static halley_status write_ranks(halley_trace_set **out, const spreader *s,
                                 halley_error *err)
{
    const bool all_same = s->groups.n == 0 && !s->matches_messages;
    halley_trace **const traces = mem_array_zero(s->n_ranks, sizeof(halley_trace *));
    halley_status status = traces == NULL ? error_nomem(err) : HALLEY_OK;
    for (uint32_t rank = 0; status == HALLEY_OK && rank < s->n_ranks; rank++) {
        if (all_same && rank > 0)
            traces[rank] = halley_trace_keep(traces[0]);
        else
            status = write_rank(&traces[rank], s, rank, err);
    }
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, traces, s->n_ranks, err);
    for (uint32_t rank = 0; status != HALLEY_OK && traces != NULL && rank < s->n_ranks;
         rank++)
        halley_trace_free(traces[rank]);
    free((void *)traces);
    return status;
}

static uint32_t default_to_one(uint32_t n)
{
    return n == 0 ? 1 : n;
}

halley_status halley_trace_spread(halley_trace_set **out, halley_spread_report *report,
                                  const halley_trace *trace,
                                  const halley_spread_opts *opts, halley_error *err)
{
    halley_spread_report unused = {0};
    spreader s = {.trace = trace,
                  .opts = opts,
                  .report = report != NULL ? report : &unused,
                  .size = {default_to_one(opts->tp), default_to_one(opts->dp),
                           default_to_one(opts->pp)}};
    *s.report = (halley_spread_report){0};
    halley_status status = check_layout(&s, err);
    if (status == HALLEY_OK)
        status = read_recorded_groups(&s, err);
    if (status == HALLEY_OK)
        status = number_instances(&s, err);
    if (status == HALLEY_OK) {
        judge_messages(&s);
        s.report->n_ranks = s.n_ranks;
        s.report->recorded_rank = s.self;
        s.report->has_embedding = says_embedding(&s);
        for (uint32_t i = 0; i < halley_trace_count(trace); i++)
            s.report->n_collectives += halley_node_type_of(trace, i) == HALLEY_NODE_COLL;
        status = write_ranks(out, &s, err);
    }
    trace_groups_fini(&s.recorded);
    array_fini(&s.groups);
    map64_fini(&s.numbers);
    strbuf_fini(&s.declare);
    return status;
}
