/*
 * sim/load/program.c - reading what a node needs. A compute node's time is known here:
 * its recorded duration (when there is none: ASTRA-sim's rules 1 ns, native ones the
 * model of the NPU), the roofline's operations / min(peak, memory bandwidth * operations
 * / bytes), or that model's (work.c).
 */
#include "sim/load/program.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/number/number.h"
#include "base/str.h"
#include "des/ticks.h"
#include "sim/load/attrs.h"
#include "sim/rules.h"
#include "sim/work.h"
#include "trace/core/slots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const attr_names[SIM_N_ATTRS] = {
    [SIM_ATTR_IS_CPU_OP] = HALLEY_ATTR_NAME_IS_CPU_OP,
    [SIM_ATTR_NUM_OPS] = HALLEY_ATTR_NAME_NUM_OPS,
    [SIM_ATTR_TENSOR_SIZE] = HALLEY_ATTR_NAME_TENSOR_SIZE,
    [SIM_ATTR_DURATION_NS] = HALLEY_ATTR_NAME_DURATION_NS,
    [SIM_ATTR_TID] = HALLEY_ATTR_NAME_TID,
    [SIM_ATTR_STREAM] = HALLEY_ATTR_NAME_STREAM,
    [SIM_ATTR_COMM_TYPE] = HALLEY_ATTR_NAME_COMM_TYPE,
    [SIM_ATTR_COMM_SIZE] = HALLEY_ATTR_NAME_COMM_SIZE,
    [SIM_ATTR_COMM_SIZES] = HALLEY_ATTR_NAME_COMM_SIZES,
    [SIM_ATTR_COMM_SRC] = HALLEY_ATTR_NAME_COMM_SRC,
    [SIM_ATTR_COMM_DST] = HALLEY_ATTR_NAME_COMM_DST,
    [SIM_ATTR_COMM_TAG] = HALLEY_ATTR_NAME_COMM_TAG,
    [SIM_ATTR_PG_NAME] = HALLEY_ATTR_NAME_PG_NAME,
    [SIM_ATTR_INVOLVED_DIM] = HALLEY_ATTR_NAME_INVOLVED_DIM,
    [SIM_ATTR_INPUTS] = HALLEY_ATTR_NAME_INPUTS,
    [SIM_ATTR_OUTPUTS] = HALLEY_ATTR_NAME_OUTPUTS,
    [SIM_ATTR_ALLOC_BYTES] = HALLEY_ATTR_NAME_ALLOC_BYTES,
    [SIM_ATTR_FREE_BYTES] = HALLEY_ATTR_NAME_FREE_BYTES,
    [SIM_ATTR_FREE_LANE] = HALLEY_ATTR_NAME_FREE_LANE,
    [SIM_ATTR_MSG_CHUNK_CNT] = HALLEY_ATTR_NAME_MSG_CHUNK_CNT,
    [SIM_ATTR_MSG_CHUNK_IDX] = HALLEY_ATTR_NAME_MSG_CHUNK_IDX,
    [SIM_ATTR_TOTAL_CHUNK_CNT] = HALLEY_ATTR_NAME_TOTAL_CHUNK_CNT,
};

typedef struct compiler {
    sim_program *p;
    const halley_trace *trace;
    trace_slots slots; /* of attr_names */
    const sim_program_opts *opts;
    const sim_trace_rules *rules;
    halley_error *err;
    uint32_t *place;    /* trace index -> place in the program */
    map64 lanes;        /* group or peer -> its lane */
    map64 names;        /* kind and value -> place among the names */
    map64 tags;         /* peer's name and tag -> place among the tags */
    uint32_t *mark;     /* trace index -> the last node that named it a dependency */
    cost_retime retime; /* when the program is re-timed */
} compiler;

static halley_status node_error(const compiler *c, uint32_t index, halley_status code,
                                const char *sentence)
{
    error_set(c->err, code, "%s", sentence);
    error_at_file(c->err, halley_trace_path(c->trace));
    error_at_node(c->err, halley_node_id(c->trace, index));
    return code;
}

static bool find_attr(halley_attr *out, const compiler *c, uint32_t index, sim_attr name)
{
    return trace_slots_find(out, &c->slots, index, name);
}

/* Native rules also take a whole number that is written as 524288.0, also as text. */
static bool read_written_number(uint64_t *out, const halley_attr *attr)
{
    double value;
    const str text = {attr->bytes.at, attr->bytes.n};
    const bool is_text = attr->kind == HALLEY_ATTR_STRING;
    if ((is_text ? !number_read(text, &value) : !halley_attr_to_double(attr, &value)) ||
        !(value >= 0 && value < 9e18) || value != floor(value))
        return false;
    *out = (uint64_t)value;
    return true;
}

/* Not inlined: the text would give its caller a frame that is checked for overflow. */
static __attribute__((noinline, format(printf, 4, 0))) halley_status
refuse_attr(const compiler *c, uint32_t index, sim_attr name, const char *format)
{
    char text[128];
    snprintf(text, sizeof text, format, attr_names[name]);
    return node_error(c, index, HALLEY_EINVAL, text);
}
/* A whole number attribute; `found` tells whether the node has it. */
static halley_status read_number(uint64_t *out, bool *found, const compiler *c,
                                 uint32_t index, sim_attr name)
{
    halley_attr attr;
    *found = find_attr(&attr, c, index, name);
    if (!*found)
        return HALLEY_OK;
    const bool real = attr.kind == HALLEY_ATTR_DOUBLE || attr.kind == HALLEY_ATTR_FLOAT;
    if ((!real && halley_attr_to_u64(&attr, out)) ||
        (c->rules->has_lanes && read_written_number(out, &attr)))
        return HALLEY_OK;
    return refuse_attr(c, index, name,
                       "attribute %s must be a whole number that is not negative");
}

static halley_status read_needed_number(uint64_t *out, const compiler *c, uint32_t index,
                                        sim_attr name)
{
    bool found;
    TRY(read_number(out, &found, c, index, name));
    return found ? HALLEY_OK
                 : refuse_attr(c, index, name,
                               "the node has no attribute %s, which its type needs");
}

/* Nanoseconds in an attribute of our own go before the schema's microseconds. */
static bool read_duration_ns(double *ns, const compiler *c, uint32_t index)
{
    halley_attr attr;
    return (c->rules->has_duration_ns || c->opts->cluster->system.reads_ns) &&
           find_attr(&attr, c, index, SIM_ATTR_DURATION_NS) &&
           halley_attr_to_double(&attr, ns) && *ns >= 0;
}

static uint64_t convert_ticks(const compiler *c, double ticks)
{
    c->p->wrapped |= !ticks_hold(ticks);
    return ticks_from(ticks);
}

static uint64_t read_duration_ticks(const compiler *c, uint32_t index)
{
    double ns;
    if (read_duration_ns(&ns, c, index))
        return convert_ticks(c, ns * (c->opts->ticks_per_s / 1e9));
    const uint64_t us = halley_node_duration_us(c->trace, index);
    const uint64_t per_us = (uint64_t)(c->opts->ticks_per_s / 1e6);
    c->p->wrapped |= us > TICKS_LONGEST / per_us;
    return us == 0 ? c->rules->default_ticks : us * per_us;
}

/* Kernels of recordings whose operators have no shapes: their recorded time stays. */
static bool is_uncounted(const compiler *c, uint32_t index)
{
    halley_attr attr;
    double ns;
    return c->rules->keeps_uncounted &&
           !(find_attr(&attr, c, index, SIM_ATTR_NUM_OPS) &&
             find_attr(&attr, c, index, SIM_ATTR_TENSOR_SIZE)) &&
           (halley_node_duration_us(c->trace, index) > 0 ||
            read_duration_ns(&ns, c, index));
}

static halley_status compile_roofline(sim_node *n, const compiler *c, uint32_t index)
{
    const sim_program_opts *s = c->opts;
    uint64_t whole_ops, whole_bytes;
    if (is_uncounted(c, index)) {
        c->p->has_uncounted = true;
        return HALLEY_OK;
    }
    TRY(read_needed_number(&whole_ops, c, index, SIM_ATTR_NUM_OPS));
    TRY(read_needed_number(&whole_bytes, c, index, SIM_ATTR_TENSOR_SIZE));
    if (whole_bytes == 0) {
        n->flags |= SIM_NODE_SKIP;
        return HALLEY_OK;
    }
    if (!(s->peak_flops > 0 && s->mem_Bps > 0))
        return node_error(c, index, HALLEY_EINVAL, c->rules->refuses_no_rates);
    if (whole_ops == 0 && c->rules->refuses_no_ops != NULL)
        return node_error(c, index, HALLEY_EINVAL, c->rules->refuses_no_ops);
    const double ops = (double)whole_ops, bytes = (double)whole_bytes;
    if (whole_ops == 0) { /* moving data only */
        n->amount = convert_ticks(c, bytes / s->mem_Bps * c->opts->ticks_per_s);
        return HALLEY_OK;
    }
    const double intensity = ops / bytes;
    const double limit = s->mem_Bps * intensity;
    const double perf = s->peak_flops < limit ? s->peak_flops : limit;
    n->amount = convert_ticks(c, ops / perf * c->opts->ticks_per_s);
    const double weight = (double)n->amount;
    if (!(perf < s->peak_flops))
        c->p->compute_bound_ticks += n->amount;
    c->p->compute_use += perf / s->peak_flops * weight;
    c->p->memory_use += perf / intensity / s->mem_Bps * weight;
    c->p->intensity += intensity * weight;
    return HALLEY_OK;
}

/* Native rules: is the node's time the model's business? */
static bool is_modelled(const compiler *c, uint32_t index)
{
    double ns;
    if (!c->rules->models_compute)
        return false;
    return c->opts->cluster->system.modelled ||
           (halley_node_duration_us(c->trace, index) == 0 &&
            !read_duration_ns(&ns, c, index));
}

static void compile_modelled(sim_node *n, const compiler *c, uint32_t index)
{
    double seconds;
    if (sim_work_time(&seconds, c->opts->cluster, c->opts->npu, c->trace, index))
        n->amount = convert_ticks(c, seconds * c->opts->ticks_per_s);
}

static void compile_retimed(sim_node *n, const compiler *c, uint32_t index)
{
    const double seconds = (double)n->amount / c->opts->ticks_per_s;
    n->amount = convert_ticks(c, sim_retime_node(&c->retime, c->trace, index, seconds) *
                                     c->opts->ticks_per_s);
}

static halley_status compile_compute(sim_node *n, const compiler *c, uint32_t index)
{
    n->flags |= SIM_NODE_TIMED;
    n->amount = read_duration_ticks(c, index);
    const bool computed = !c->opts->custom && !(n->flags & SIM_NODE_CPU);
    if (computed && c->opts->cluster->system.roofline)
        TRY(compile_roofline(n, c, index));
    else if (computed && is_modelled(c, index))
        compile_modelled(n, c, index);
    else if (computed && c->p->retime >= SIM_RETIME_MEASURED)
        compile_retimed(n, c, index);
    const uint64_t more = n->flags & SIM_NODE_SKIP ? 0 : n->amount;
    c->p->wrapped |=
        __builtin_add_overflow(c->p->compute_ticks, more, &c->p->compute_ticks);
    if (!c->p->wrapped || !c->rules->has_lanes)
        return HALLEY_OK;
    return node_error(c, index, HALLEY_ELIMIT,
                      "the node takes more than 26 days, which the clock of picoseconds "
                      "does not hold; correct its duration or counts");
}

/* The message of an algorithm may say which chunks of the collective's data it moves;
 * -1 (older converters) means that it does not. */
static bool find_chunks(uint64_t *amount, const compiler *c, uint32_t index)
{
    static const sim_attr names[] = {SIM_ATTR_MSG_CHUNK_CNT, SIM_ATTR_MSG_CHUNK_IDX,
                                     SIM_ATTR_TOTAL_CHUNK_CNT};
    int64_t values[3];
    for (size_t i = 0; i < 3; i++) {
        halley_attr attr;
        if (!find_attr(&attr, c, index, names[i]) ||
            !halley_attr_to_i64(&attr, &values[i]) || values[i] < 0 ||
            values[i] > SIM_MAX_CHUNKS)
            return false;
    }
    *amount =
        sim_chunks_pack((uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2]);
    return values[0] > 0 && values[2] > 0;
}

/* Room for one element more in arrays that grow by doubling. */
static bool grow_names(void *array, uint32_t n, size_t size)
{
    void **at = array;
    if (n != 0 && (n & (n - 1)) != 0)
        return true;
    void *more = realloc(*at, (n == 0 ? 1 : (size_t)n * 2) * size);
    if (more == NULL)
        return false;
    *at = more;
    return true;
}

/* The place of a name, made when there is none yet. `of`: the group of a root. */
static halley_status find_name(uint32_t *out, compiler *c, sim_name name, uint32_t value)
{
    sim_program *p = c->p;
    enum { MOST_NAMES = 1 << 28 };
    const uint64_t of = name.of == SIM_NO_NAME ? MOST_NAMES - 1 : name.of;
    const uint64_t key = (uint64_t)name.kind << 60 | of << 32 | value;
    bool fresh;
    if (p->n_names >= MOST_NAMES - 1)
        return error_set(c->err, HALLEY_ELIMIT,
                         "a rank names more than %d groups, peers and roots", MOST_NAMES);
    *out = p->n_names;
    if (!map64_put(&c->names, key, out, &fresh))
        return error_nomem(c->err);
    if (!fresh)
        return HALLEY_OK;
    if (!grow_names(&p->names, p->n_names, sizeof *p->names) ||
        !grow_names(&p->own.values, p->n_names, sizeof *p->own.values))
        return error_nomem(c->err);
    p->names[p->n_names] = name;
    p->own.values[p->n_names++] = value;
    return HALLEY_OK;
}

/* The place of a tag among those that go with a peer. */
static halley_status find_tag(uint32_t *out, compiler *c, uint32_t peer, uint32_t tag)
{
    sim_program *p = c->p;
    bool fresh;
    *out = p->n_tags;
    if (!map64_put(&c->tags, (uint64_t)peer << 32 | tag, out, &fresh))
        return error_nomem(c->err);
    if (!fresh)
        return HALLEY_OK;
    if (!grow_names(&p->tag_names, p->n_tags, sizeof *p->tag_names) ||
        !grow_names(&p->own.tags, p->n_tags, sizeof *p->own.tags))
        return error_nomem(c->err);
    p->tag_names[p->n_tags] = peer;
    p->own.tags[p->n_tags++] = tag;
    return HALLEY_OK;
}

static halley_status compile_message_size(sim_node *n, const compiler *c, uint32_t index)
{
    if (c->opts->custom && find_chunks(&n->amount, c, index)) {
        n->flags |= SIM_NODE_CHUNKS;
        return HALLEY_OK;
    }
    return read_needed_number(&n->amount, c, index, SIM_ATTR_COMM_SIZE);
}

static halley_status compile_message(sim_node *n, compiler *c, uint32_t index)
{
    const bool sends = n->type == HALLEY_NODE_SEND;
    uint64_t peer, tag, self;
    bool has_self;
    TRY(compile_message_size(n, c, index));
    TRY(read_needed_number(&peer, c, index,
                           sends ? SIM_ATTR_COMM_DST : SIM_ATTR_COMM_SRC));
    TRY(read_number(&self, &has_self, c, index,
                    sends ? SIM_ATTR_COMM_SRC : SIM_ATTR_COMM_DST));
    TRY(read_needed_number(&tag, c, index, SIM_ATTR_COMM_TAG));
    if (peer >= c->opts->cluster->n_npus)
        return node_error(c, index, HALLEY_EINVAL,
                          sends ? "comm_dst is not a rank of this cluster"
                                : "comm_src is not a rank of this cluster");
    if (n->amount == 0)
        return node_error(c, index, HALLEY_EINVAL, "comm_size is 0");
    n->a = (uint32_t)peer;
    n->b = (uint32_t)((int32_t)(uint32_t)tag % 500000000);
    if (c->opts->custom)
        return HALLEY_OK;
    TRY(find_name(&n->a, c, (sim_name){sends ? SIM_NAME_OUT : SIM_NAME_IN, SIM_NO_NAME},
                  (uint32_t)peer));
    TRY(find_tag(&n->b, c, n->a, n->b));
    if (!has_self)
        return HALLEY_OK;
    return find_name(&n->self, c, (sim_name){SIM_NAME_SELF, SIM_NO_NAME},
                     self > UINT32_MAX ? UINT32_MAX : (uint32_t)self);
}

static halley_status compile_group(sim_node *n, compiler *c, uint32_t index)
{
    halley_attr attr;
    if (!find_attr(&attr, c, index, SIM_ATTR_PG_NAME))
        return HALLEY_OK;
    const str name = {attr.bytes.at, attr.bytes.n};
    int64_t id;
    if (attr.kind != HALLEY_ATTR_STRING)
        return node_error(c, index, HALLEY_EINVAL, "pg_name must be text");
    if (name.n == 0 || str_eq(name, STR("0")))
        return HALLEY_OK;
    if (!str_to_i64(name, &id))
        return node_error(c, index, HALLEY_EINVAL,
                          "pg_name must be the number of a communicator group");
    const uint32_t group = cluster_find_group(c->opts->cluster, id);
    if (group == UINT32_MAX)
        return node_error(c, index, HALLEY_EINVAL,
                          "pg_name is not in the communicator group file");
    return find_name(&n->a, c, (sim_name){SIM_NAME_GROUP, SIM_NO_NAME}, group);
}

static bool is_rooted(uint64_t coll)
{
    return coll == HALLEY_COLL_REDUCE || coll == HALLEY_COLL_GATHER ||
           coll == HALLEY_COLL_SCATTER || coll == HALLEY_COLL_BROADCAST;
}

/* The attribute "root" names a rank; without one the root is the first member. */
static halley_status compile_root(sim_node *n, compiler *c, uint32_t index)
{
    halley_attr attr;
    uint64_t rank;
    if (!is_rooted(n->coll) || !sim_rules_get(c->opts->cluster)->has_roots ||
        !halley_node_find_attr(&attr, c->trace, index, "root"))
        return HALLEY_OK;
    if (!halley_attr_to_u64(&attr, &rank) || rank >= c->opts->cluster->n_npus)
        rank = UINT32_MAX; /* nobody */
    return find_name(&n->self, c, (sim_name){SIM_NAME_ROOT, n->a}, (uint32_t)rank);
}

/* Logical dimensions of a collective: the reference looks at so many entries. */
static uint32_t count_logical_dims(const compiler *c, uint64_t type)
{
    static const cluster_coll colls[HALLEY_N_COLL_TYPES] = {
        [HALLEY_COLL_ALL_REDUCE] = CLUSTER_ALL_REDUCE,
        [HALLEY_COLL_ALL_GATHER] = CLUSTER_ALL_GATHER,
        [HALLEY_COLL_REDUCE_SCATTER] = CLUSTER_REDUCE_SCATTER,
        [HALLEY_COLL_ALL_TO_ALL] = CLUSTER_ALL_TO_ALL,
        [HALLEY_COLL_GATHER] = CLUSTER_ALL_GATHER,
        [HALLEY_COLL_SCATTER] = CLUSTER_REDUCE_SCATTER,
        [HALLEY_COLL_REDUCE_SCATTER_BLOCK] = CLUSTER_REDUCE_SCATTER,
    };
    assert(type < HALLEY_N_COLL_TYPES);
    return c->opts->cluster->system.colls[colls[type]].n;
}

static halley_status compile_involved(sim_node *n, const compiler *c, uint32_t index)
{
    halley_attr attr;
    uint32_t d = 0;
    n->b = UINT32_MAX;
    if (n->a != SIM_NO_NAME)
        return HALLEY_OK; /* a group's plan does not ask */
    const uint32_t n_dims = count_logical_dims(c, n->coll);
    if (!find_attr(&attr, c, index, SIM_ATTR_INVOLVED_DIM)) {
        if (n_dims > c->rules->n_default_involved)
            return node_error(c, index, HALLEY_EINVAL, c->rules->refuses_involved);
        return HALLEY_OK;
    }
    if (attr.kind != HALLEY_ATTR_BOOL_LIST)
        return node_error(c, index, HALLEY_EINVAL, "involved_dim must be a list of bool");
    halley_attr_item item;
    size_t cursor = 0;
    n->b = 0;
    for (; halley_attr_list_next(&attr, &cursor, &item); d++)
        if (d < 32 && item.bits != 0)
            n->b |= UINT32_C(1) << d;
    if (d < n_dims)
        return node_error(c, index, HALLEY_EINVAL,
                          "involved_dim has fewer entries than the collective has "
                          "dimensions");
    return HALLEY_OK;
}

static halley_status compile_coll(sim_node *n, compiler *c, uint32_t index)
{
    uint64_t type;
    TRY(read_needed_number(&type, c, index, SIM_ATTR_COMM_TYPE));
    if (type >= HALLEY_N_COLL_TYPES)
        return node_error(c, index, HALLEY_EINVAL,
                          "comm_type does not name a collective");
    if (c->rules->colls[type] == SIM_COLL_TIMED) {
        n->coll = (uint32_t)type & 15u;
        n->flags |= SIM_NODE_TIMED;
        n->amount = read_duration_ticks(c, index);
        return HALLEY_OK;
    }
    if (c->rules->colls[type] == SIM_COLL_REFUSED) {
        char text[128];
        snprintf(text, sizeof text, "%s does not simulate %s",
                 sim_rules_get(c->opts->cluster)->name, halley_coll_type_name(type));
        return node_error(c, index, HALLEY_EINVAL, text);
    }
    n->coll = (uint32_t)type & 15u;
    n->amount = 1;
    if (type != HALLEY_COLL_BARRIER)
        TRY(read_needed_number(&n->amount, c, index, SIM_ATTR_COMM_SIZE));
    TRY(compile_group(n, c, index));
    TRY(compile_root(n, c, index));
    halley_attr sizes;
    if (c->rules->has_uneven && type == HALLEY_COLL_ALL_TO_ALL &&
        find_attr(&sizes, c, index, SIM_ATTR_COMM_SIZES))
        n->flags |= SIM_NODE_UNEVEN;
    return compile_involved(n, c, index);
}

static bool is_send_or_recv(uint32_t type)
{
    return type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV;
}

static bool is_communication(const sim_node *n)
{
    return is_send_or_recv(n->type) || n->type == HALLEY_NODE_COLL;
}

static sim_slot choose_slot(const sim_node *n)
{
    if (n->flags & SIM_NODE_CPU)
        return SIM_SLOT_CPU;
    if (n->type == HALLEY_NODE_COMP)
        return SIM_SLOT_COMP;
    const bool is_free = n->type == HALLEY_NODE_RECV || n->type >= HALLEY_N_NODE_TYPES;
    return is_free ? SIM_SLOT_FREE : SIM_SLOT_COMM;
}

static halley_status compile_by_type(sim_node *n, compiler *c, uint32_t index)
{
    if (c->opts->cluster->system.replay_only && !c->opts->custom) {
        n->flags |= SIM_NODE_TIMED;
        n->amount = read_duration_ticks(c, index);
        return HALLEY_OK;
    }
    if (!c->opts->custom && (n->flags & SIM_NODE_CPU) && is_communication(n))
        return node_error(c, index, HALLEY_EINVAL,
                          "a communication node cannot be a CPU operation");
    switch (n->type) {
    case HALLEY_NODE_COMP:
        return compile_compute(n, c, index);
    case HALLEY_NODE_SEND:
    case HALLEY_NODE_RECV:
        return compile_message(n, c, index);
    case HALLEY_NODE_COLL:
        return compile_coll(n, c, index);
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return read_needed_number(&n->amount, c, index, SIM_ATTR_TENSOR_SIZE);
    case HALLEY_NODE_INVALID:
        n->flags |= SIM_NODE_SKIP;
        return HALLEY_OK;
    case HALLEY_NODE_METADATA:
        if (c->rules->refuses_metadata != NULL)
            return node_error(c, index, HALLEY_EINVAL, c->rules->refuses_metadata);
        n->flags |= SIM_NODE_SKIP;
        return HALLEY_OK;
    default:
        if (!c->rules->has_lanes || c->opts->custom)
            return node_error(c, index, HALLEY_EINVAL, "unknown node type");
        c->p->has_unknown_types = true; /* of a later schema: it takes its duration */
        n->flags |= SIM_NODE_TIMED;
        n->amount = read_duration_ticks(c, index);
        return HALLEY_OK;
    }
}

static halley_status compile_node(sim_node *n, compiler *c, uint32_t index)
{
    const uint32_t type = halley_node_type_of(c->trace, index);
    uint64_t cpu = 0;
    bool found;
    *n = (sim_node){.trace_index = index,
                    .a = SIM_NO_NAME,
                    .self = SIM_NO_NAME,
                    .type = type < HALLEY_N_NODE_TYPES ? type & 15 : 15};
    TRY(read_number(&cpu, &found, c, index, SIM_ATTR_IS_CPU_OP));
    if (cpu != 0 && (c->rules->cpu_may_communicate || !is_communication(n)))
        n->flags |= SIM_NODE_CPU;
    n->slot = (uint16_t)choose_slot(n);
    assert(n->slot < SIM_N_SLOTS);
    halley_attr list;
    if (c->opts->cluster->system.track_memory && !c->opts->custom &&
        !(find_attr(&list, c, index, SIM_ATTR_INPUTS) &&
          find_attr(&list, c, index, SIM_ATTR_OUTPUTS)))
        return node_error(
            c, index, HALLEY_EINVAL,
            "track-local-mem needs an attribute inputs and one outputs on every node; "
            "without them ASTRA-sim never finishes");
    return compile_by_type(n, c, index);
}

enum { MOST_LANES = 60000 };

/* The lane of a key, made when there is none yet. */
static halley_status find_lane(uint16_t *out, compiler *c, uint64_t key, bool group)
{
    sim_program *p = c->p;
    uint32_t lane = p->n_lanes;
    bool fresh;
    if (!map64_put(&c->lanes, key, &lane, &fresh))
        return error_nomem(c->err);
    assert(lane <= MOST_LANES);
    *out = (uint16_t)lane;
    if (!fresh)
        return HALLEY_OK;
    if (p->n_lanes >= MOST_LANES)
        return error_set(c->err, HALLEY_ELIMIT,
                         "a rank communicates with more than %d groups and peers",
                         MOST_LANES);
    sim_lane *lanes = realloc(p->lanes, (p->n_lanes + 1) * sizeof *lanes);
    if (lanes == NULL)
        return error_nomem(c->err);
    p->lanes = lanes;
    p->lanes[p->n_lanes++] = (sim_lane){.capacity = 1, .set = group ? p->n_sets++ : 0};
    return HALLEY_OK;
}

/*
 * Recordings say which host thread and which stream a node ran on: each is a lane; what
 * has its order in its dependencies alone (lags, overlapping kernels) takes none. But
 * kernels whose time is computed share one device, however many streams they had.
 */
static halley_status choose_recorded_lane(sim_node *n, compiler *c)
{
    const cluster_system *s = &c->opts->cluster->system;
    const bool on_cpu = n->flags & SIM_NODE_CPU;
    if (!on_cpu && (!(n->flags & SIM_NODE_TIMED) || (s->roofline && !s->replay_only)))
        return HALLEY_OK;
    halley_attr attr;
    uint64_t lane;
    if (find_attr(&attr, c, n->trace_index, SIM_ATTR_FREE_LANE) && attr.bits != 0) {
        n->slot = SIM_SLOT_FREE;
        return HALLEY_OK;
    }
    if (!find_attr(&attr, c, n->trace_index, on_cpu ? SIM_ATTR_TID : SIM_ATTR_STREAM) ||
        !halley_attr_to_u64(&attr, &lane) || lane >> 62 != 0)
        return HALLEY_OK;
    return find_lane(&n->slot, c, lane | (on_cpu ? UINT64_C(3) : UINT64_C(2)) << 62,
                     false);
}

/* Native rules: every group and every peer has a lane of its own, memory another. */
static halley_status choose_lane(sim_node *n, compiler *c)
{
    const bool one = c->opts->cluster->system.one_channel;
    if (n->flags & (SIM_NODE_CPU | SIM_NODE_TIMED))
        return choose_recorded_lane(n, c);
    if (n->type == HALLEY_NODE_COLL && !(n->flags & SIM_NODE_TIMED))
        return find_lane(&n->slot, c, one ? 0 : n->a, true);
    if (n->type == HALLEY_NODE_SEND)
        return find_lane(&n->slot, c, one ? 0 : UINT64_C(1) << 32 | n->a, one);
    return HALLEY_OK;
}

static halley_status init_fixed_lanes(compiler *c)
{
    sim_program *p = c->p;
    const uint32_t streams = c->opts->cluster->system.streams;
    p->lanes = mem_array(SIM_N_SLOTS, sizeof *p->lanes);
    if (p->lanes == NULL)
        return error_nomem(c->err);
    p->n_lanes = SIM_N_SLOTS;
    for (uint32_t i = 0; i < SIM_N_SLOTS; i++)
        p->lanes[i] = (sim_lane){.capacity = 1};
    p->lanes[SIM_SLOT_COMP].capacity = streams == 0 ? 1 : streams;
    p->lanes[SIM_SLOT_FREE].capacity = UINT32_MAX;
    return HALLEY_OK;
}

static int compare_ids(const void *a, const void *b, void *trace)
{
    const uint64_t x = halley_node_id(trace, *(const uint32_t *)a);
    const uint64_t y = halley_node_id(trace, *(const uint32_t *)b);
    return x < y ? -1 : x > y;
}

/* Trace indexes by ascending id. Most traces are in order already. */
static halley_status order_nodes(uint32_t *order, const compiler *c)
{
    const uint32_t n = halley_trace_count(c->trace);
    bool sorted = true;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        sorted = sorted && (i == 0 || halley_node_id(c->trace, i - 1) <
                                          halley_node_id(c->trace, i));
    }
    if (sorted)
        return HALLEY_OK;
    halley_trace *trace = (halley_trace *)(uintptr_t)c->trace;
    qsort_r(order, n, sizeof *order, compare_ids, trace);
    for (uint32_t i = 1; i < n; i++)
        if (compare_ids(&order[i - 1], &order[i], trace) == 0)
            return node_error(c, order[i], HALLEY_EINVAL, "two nodes have this id");
    return HALLEY_OK;
}

static halley_dep get_dependency(const halley_trace *t, uint32_t index, uint32_t k)
{
    const uint32_t n_data = halley_node_data_count(t, index);
    return k < n_data ? halley_node_data(t, index, k)
                      : halley_node_ctrl(t, index, k - n_data);
}

/* A dependency named twice, as data and control or within one, counts once. */
static bool mark_dependency(const compiler *c, uint32_t index, uint32_t dep)
{
    assert(dep < c->p->n && index < c->p->n);
    const bool before = c->mark[dep] == index;
    c->mark[dep] = index;
    return before;
}

static uint32_t count_dependencies(const halley_trace *t, uint32_t index)
{
    return halley_node_data_count(t, index) + halley_node_ctrl_count(t, index);
}

/* Count children, sum up, fill: the usual three passes of a compressed table. */
static halley_status link_children(const compiler *c)
{
    sim_program *p = c->p;
    uint64_t total = 0;
    for (uint32_t i = 0; i < p->n; i++)
        c->mark[i] = HALLEY_NO_NODE;
    for (uint32_t i = 0; i < p->n; i++) {
        const uint32_t index = p->nodes[i].trace_index;
        const uint32_t n_deps = count_dependencies(c->trace, index);
        for (uint32_t k = 0; k < n_deps; k++) {
            const halley_dep dep = get_dependency(c->trace, index, k);
            if (dep.index == HALLEY_NO_NODE && c->rules->refuses_dangling != NULL)
                return node_error(c, index, HALLEY_EINVAL, c->rules->refuses_dangling);
            if (dep.index == HALLEY_NO_NODE) { /* Chakra's converter leaves such ones */
                p->dangling = true;
                continue;
            }
            if (!mark_dependency(c, index, dep.index)) {
                p->nodes[c->place[dep.index] + 1].first_child++;
                total++;
            }
        }
    }
    if (total > UINT32_MAX)
        return error_set(c->err, HALLEY_ELIMIT, "more than 2^32 dependencies");
    for (uint32_t i = 0; i < p->n; i++)
        p->nodes[i + 1].first_child += p->nodes[i].first_child;
    p->children = mem_array((size_t)total, sizeof *p->children);
    if (p->children == NULL)
        return error_nomem(c->err);
    for (uint32_t i = 0; i < p->n; i++)
        c->mark[i] = HALLEY_NO_NODE;
    for (uint32_t i = p->n; i-- > 0;) { /* backwards, so that children come ascending */
        const uint32_t index = p->nodes[i].trace_index;
        const uint32_t n_deps = count_dependencies(c->trace, index);
        for (uint32_t k = 0; k < n_deps; k++) {
            const halley_dep dep = get_dependency(c->trace, index, k);
            if (dep.index != HALLEY_NO_NODE && !mark_dependency(c, index, dep.index))
                p->children[--p->nodes[c->place[dep.index] + 1].first_child] = i;
        }
    }
    /* Each end has moved down to its start: shift them back by one. */
    for (uint32_t i = 0; i < p->n; i++)
        p->nodes[i].first_child = p->nodes[i + 1].first_child;
    assert(p->n == 0 || p->nodes[0].first_child == 0);
    p->nodes[p->n].first_child = (uint32_t)total;
    return HALLEY_OK;
}

static halley_status compile_trace(compiler *c)
{
    sim_program *p = c->p;
    p->nodes = mem_array((size_t)p->n + 1, sizeof *p->nodes);
    uint32_t *order = mem_array(p->n, sizeof *order);
    c->place = mem_array(p->n, sizeof *c->place);
    c->mark = mem_array(p->n, sizeof *c->mark);
    const bool room = trace_slots_init(&c->slots, c->trace, attr_names, SIM_N_ATTRS) &&
                      p->nodes != NULL && order != NULL && c->place != NULL &&
                      c->mark != NULL;
    const bool has_lanes = c->rules->has_lanes && !c->opts->custom;
    halley_status status = room ? order_nodes(order, c) : error_nomem(c->err);
    p->n_sets = has_lanes ? 0 : 1;
    if (status == HALLEY_OK && has_lanes)
        status = init_fixed_lanes(c);
    for (uint32_t i = 0; status == HALLEY_OK && i < p->n; i++) {
        assert(order[i] < p->n);
        c->place[order[i]] = i;
        status = compile_node(&p->nodes[i], c, order[i]);
        if (status == HALLEY_OK && has_lanes)
            status = choose_lane(&p->nodes[i], c);
    }
    map64_fini(&c->lanes);
    map64_fini(&c->names);
    map64_fini(&c->tags);
    free(order);
    if (status == HALLEY_OK) {
        p->nodes[p->n] = (sim_node){0};
        status = link_children(c);
    }
    if (status == HALLEY_OK && !c->opts->times_only &&
        (has_lanes || c->opts->cluster->system.track_memory))
        status = sim_tensors_init(&p->tensors, p, &c->slots, c->err);
    trace_slots_fini(&c->slots);
    free(c->place);
    free(c->mark);
    return status;
}

halley_status sim_program_init(sim_program *out, const halley_trace *trace,
                               const sim_program_opts *opts, halley_error *err)
{
    *out = (sim_program){.trace = trace, .n = halley_trace_count(trace)};
    compiler c = {.p = out,
                  .trace = trace,
                  .opts = opts,
                  .rules = &sim_rules_get(opts->cluster)->traces,
                  .err = err};
    if (c.rules->models_compute && !opts->custom && !opts->cluster->system.replay_only)
        out->retime = sim_retime_init(&c.retime, trace, opts->recorded_on, opts->npu);
    const halley_status status = compile_trace(&c);
    if (status != HALLEY_OK)
        sim_program_fini(out);
    return status;
}

void sim_program_fini(sim_program *p)
{
    free(p->nodes);
    free(p->children);
    free(p->lanes);
    free(p->names);
    free(p->tag_names);
    free(p->own.values);
    free(p->own.tags);
    sim_tensors_fini(&p->tensors);
    *p = (sim_program){0};
}
