/*
 * sim/load/compile_compute.c - how long a compute node takes.
 *
 * The time comes from its recorded duration, from the roofline, operations / min(peak,
 * memory bandwidth * operations / bytes), or from the NPU's model (work.c). A node
 * without a duration takes 1 ns under ASTRA-sim's rules, and the model's time under the
 * native ones.
 */
#include "sim/load/compile.h"
#include "sim/work.h"

/* True for kernels of recordings whose operators have no shapes: they keep their recorded
 * time. */
static bool is_uncounted(const sim_compiler *c, uint32_t index)
{
    halley_attr attr;
    double ns;
    return c->rules->keeps_uncounted &&
           !(sim_compile_find_attr(&attr, c, index, SIM_ATTR_NUM_OPS) &&
             sim_compile_find_attr(&attr, c, index, SIM_ATTR_TENSOR_SIZE)) &&
           (halley_node_duration_us(c->trace, index) > 0 ||
            sim_compile_read_ns(&ns, c, index));
}

static halley_status compile_roofline(sim_node *n, const sim_compiler *c, uint32_t index)
{
    const sim_program_opts *s = c->opts;
    uint64_t whole_ops, whole_bytes;
    if (is_uncounted(c, index)) {
        c->p->has_uncounted = true;
        return HALLEY_OK;
    }
    TRY(sim_compile_read_needed(&whole_ops, c, index, SIM_ATTR_NUM_OPS));
    TRY(sim_compile_read_needed(&whole_bytes, c, index, SIM_ATTR_TENSOR_SIZE));
    if (whole_bytes == 0) {
        n->flags |= SIM_NODE_SKIP;
        return HALLEY_OK;
    }
    if (!(s->peak_flops > 0 && s->mem_Bps > 0))
        return sim_compile_error(c, index, HALLEY_EINVAL, c->rules->refuses_no_rates);
    if (whole_ops == 0 && c->rules->refuses_no_ops != NULL)
        return sim_compile_error(c, index, HALLEY_EINVAL, c->rules->refuses_no_ops);
    const double ops = (double)whole_ops, bytes = (double)whole_bytes;
    if (whole_ops == 0) { /* moving data only */
        n->amount =
            sim_compile_convert_ticks(c, bytes / s->mem_Bps * c->opts->ticks_per_s);
        return HALLEY_OK;
    }
    const double intensity = ops / bytes;
    const double limit = s->mem_Bps * intensity;
    const double perf = s->peak_flops < limit ? s->peak_flops : limit;
    assert(perf > 0 && perf <= s->peak_flops);
    n->amount = sim_compile_convert_ticks(c, ops / perf * c->opts->ticks_per_s);
    const double weight = (double)n->amount;
    if (!(perf < s->peak_flops))
        c->p->compute_bound_ticks += n->amount;
    c->p->compute_use += perf / s->peak_flops * weight;
    c->p->memory_use += perf / intensity / s->mem_Bps * weight;
    c->p->intensity += intensity * weight;
    return HALLEY_OK;
}

/* Native rules: true if the model gives the node's time. */
static bool is_modelled(const sim_compiler *c, uint32_t index)
{
    double ns;
    if (!c->rules->models_compute)
        return false;
    return c->opts->cluster->system.modelled ||
           (halley_node_duration_us(c->trace, index) == 0 &&
            !sim_compile_read_ns(&ns, c, index));
}

static void compile_modelled(sim_node *n, const sim_compiler *c, uint32_t index)
{
    double seconds;
    if (sim_work_time(&seconds, c->opts->cluster, c->opts->npu, c->trace, index))
        n->amount = sim_compile_convert_ticks(c, seconds * c->opts->ticks_per_s);
}

static void compile_retimed(sim_node *n, const sim_compiler *c, uint32_t index)
{
    const double seconds = (double)n->amount / c->opts->ticks_per_s;
    assert(c->p->retime >= SIM_RETIME_MEASURED);
    n->amount = sim_compile_convert_ticks(
        c, sim_retime_node(&c->retime, c->trace, index, seconds) * c->opts->ticks_per_s);
}

halley_status sim_compile_compute(sim_node *n, const sim_compiler *c, uint32_t index)
{
    assert(n->type == HALLEY_NODE_COMP && n->trace_index == index);
    n->flags |= SIM_NODE_TIMED;
    n->amount = sim_compile_read_ticks(c, index);
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
    return sim_compile_error(
        c, index, HALLEY_ELIMIT,
        "the node takes more than 26 days, which the clock of picoseconds "
        "does not hold; correct its duration or counts");
}
