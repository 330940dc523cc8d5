/*
 * sim/load/program.c - compiles a trace into a program: its nodes by ascending id, each
 * with the numbers that the engine needs.
 */
#include "sim/load/program.h"

#include "base/array.h"
#include "sim/load/compile.h"

#include <stdlib.h>

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

static halley_status compile_by_type(sim_node *n, sim_compiler *c, uint32_t index)
{
    if (c->opts->cluster->system.replay_only && !c->opts->custom) {
        n->flags |= SIM_NODE_TIMED;
        n->amount = sim_compile_read_ticks(c, index);
        return HALLEY_OK;
    }
    if (!c->opts->custom && (n->flags & SIM_NODE_CPU) && is_communication(n))
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 "a communication node cannot be a CPU operation");
    switch (n->type) {
    case HALLEY_NODE_COMP:
        return sim_compile_compute(n, c, index);
    case HALLEY_NODE_SEND:
    case HALLEY_NODE_RECV:
        return sim_compile_message(n, c, index);
    case HALLEY_NODE_COLL:
        return sim_compile_coll(n, c, index);
    case HALLEY_NODE_MEM_LOAD:
    case HALLEY_NODE_MEM_STORE:
        return sim_compile_read_needed(&n->amount, c, index, SIM_ATTR_TENSOR_SIZE);
    case HALLEY_NODE_INVALID:
        n->flags |= SIM_NODE_SKIP;
        return HALLEY_OK;
    case HALLEY_NODE_METADATA:
        if (c->rules->refuses_metadata != NULL)
            return sim_compile_error(c, index, HALLEY_EINVAL, c->rules->refuses_metadata);
        n->flags |= SIM_NODE_SKIP;
        return HALLEY_OK;
    default:
        if (!c->rules->has_lanes || c->opts->custom)
            return sim_compile_error(c, index, HALLEY_EINVAL, "unknown node type");
        c->p->has_unknown_types = true; /* of a later schema: it takes its duration */
        n->flags |= SIM_NODE_TIMED;
        n->amount = sim_compile_read_ticks(c, index);
        return HALLEY_OK;
    }
}

static halley_status compile_node(sim_node *n, sim_compiler *c, uint32_t index)
{
    const uint32_t type = halley_node_type_of(c->trace, index);
    uint64_t cpu = 0;
    bool found;
    *n = (sim_node){.trace_index = index,
                    .a = SIM_NO_NAME,
                    .self = SIM_NO_NAME,
                    .type = type < HALLEY_N_NODE_TYPES ? type & 15 : 15};
    TRY(sim_compile_read_number(&cpu, &found, c, index, SIM_ATTR_IS_CPU_OP));
    if (cpu != 0 && (c->rules->cpu_may_communicate || !is_communication(n)))
        n->flags |= SIM_NODE_CPU;
    n->slot = (uint16_t)choose_slot(n);
    assert(n->slot < SIM_N_SLOTS);
    halley_attr list;
    if (c->opts->cluster->system.track_memory && !c->opts->custom &&
        !(sim_compile_find_attr(&list, c, index, SIM_ATTR_INPUTS) &&
          sim_compile_find_attr(&list, c, index, SIM_ATTR_OUTPUTS)))
        return sim_compile_error(
            c, index, HALLEY_EINVAL,
            "track-local-mem needs an attribute inputs and one outputs on every node; "
            "without them ASTRA-sim never finishes");
    return compile_by_type(n, c, index);
}

static int compare_ids(const void *a, const void *b, void *trace)
{
    const uint64_t x = halley_node_id(trace, *(const uint32_t *)a);
    const uint64_t y = halley_node_id(trace, *(const uint32_t *)b);
    return x < y ? -1 : x > y;
}

/* Sort trace indexes by ascending id. Most traces are sorted already. */
static halley_status order_nodes(uint32_t *order, const sim_compiler *c)
{
    const uint32_t n = halley_trace_count(c->trace);
    bool sorted = true;
    uint64_t before = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t id = halley_node_id(c->trace, i);
        order[i] = i;
        sorted = sorted && (i == 0 || before < id);
        before = id;
    }
    if (sorted)
        return HALLEY_OK;
    halley_trace *trace = (halley_trace *)(uintptr_t)c->trace;
    qsort_r(order, n, sizeof *order, compare_ids, trace);
    for (uint32_t i = 1; i < n; i++)
        if (compare_ids(&order[i - 1], &order[i], trace) == 0)
            return sim_compile_error(c, order[i], HALLEY_EINVAL,
                                     "two nodes have this id");
    return HALLEY_OK;
}

static halley_status compile_trace(sim_compiler *c)
{
    sim_program *p = c->p;
    p->nodes = mem_array((size_t)p->n + 1, sizeof *p->nodes);
    uint32_t *order = mem_array(p->n, sizeof *order);
    c->place = mem_array(p->n, sizeof *c->place);
    c->mark = mem_array(p->n, sizeof *c->mark);
    const bool room =
        trace_slots_init(&c->slots, c->trace, sim_attr_names, SIM_N_ATTRS) &&
        p->nodes != NULL && order != NULL && c->place != NULL && c->mark != NULL;
    const bool has_lanes = c->rules->has_lanes && !c->opts->custom;
    halley_status status = room ? order_nodes(order, c) : error_nomem(c->err);
    p->n_sets = has_lanes ? 0 : 1;
    assert(p->n == halley_trace_count(c->trace) && p->n_names == 0);
    if (status == HALLEY_OK && has_lanes)
        status = sim_compile_init_lanes(c);
    for (uint32_t i = 0; status == HALLEY_OK && i < p->n; i++) {
        assert(order[i] < p->n);
        c->place[order[i]] = i;
        status = compile_node(&p->nodes[i], c, order[i]);
        if (status == HALLEY_OK && has_lanes)
            status = sim_compile_choose_lane(&p->nodes[i], c);
    }
    map64_fini(&c->lanes);
    map64_fini(&c->names);
    map64_fini(&c->tags);
    free(order);
    if (status == HALLEY_OK) {
        p->nodes[p->n] = (sim_node){0};
        status = sim_compile_link_children(c);
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
    sim_compiler c = {.p = out,
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
    free(p->prices);
    free(p->own.values);
    free(p->own.tags);
    sim_tensors_fini(&p->tensors);
    *p = (sim_program){0};
}
