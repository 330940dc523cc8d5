/*
 * hw/graph/own.c - generators supplied by a program (halley_topology_ops). All their
 * output is checked. A mistake is recorded and reported when the graph is finished; later
 * calls do nothing.
 */
#include "base/array.h"
#include "base/number/number.h"
#include "hw/graph/measure.h"
#include "hw/graph/topology.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct halley_topology_builder {
    hw_builder b;
    const char *name;
    halley_status status; /* of the first mistake */
    halley_error *err;
};

static void note_mistake(halley_topology_builder *t, halley_status status)
{
    if (t->status == HALLEY_OK)
        t->status = status;
}

static bool find_device_kind(hw_device_kind *out, const char *word)
{
    for (int i = 0; word != NULL && i < HW_DEVICE_N_KINDS; i++)
        if (strcmp(word, hw_device_kind_name((hw_device_kind)i)) == 0) {
            *out = (hw_device_kind)i;
            return true;
        }
    return false;
}

static bool is_amount(double x)
{
    return isfinite(x) && x >= 0;
}

/* NPUs, then NICs, then the others. */
static bool is_in_order(const hw_builder *b, hw_device_kind kind)
{
    const hw_device_kind last =
        b->groups.n == 0 ? HW_DEVICE_NPU : b->groups.at[b->groups.n - 1].kind;
    const int before = last <= HW_DEVICE_NIC ? (int)last : HW_DEVICE_SWITCH;
    return before <= (kind <= HW_DEVICE_NIC ? (int)kind : HW_DEVICE_SWITCH);
}

static halley_status refuse_devices(const halley_topology_builder *t, const char *name,
                                    const char *what)
{
    return error_set(t->err, HALLEY_EINVAL, "topology %s: devices \"%s\": %s", t->name,
                     name == NULL ? "" : name, what);
}

uint32_t halley_topology_add_devices(halley_topology_builder *t,
                                     const halley_topology_devices *d)
{
    hw_device_kind kind = HW_DEVICE_OTHER;
    const char *wrong =
        d->name == NULL || d->name[0] == '\0' ? "they need a name"
        : !find_device_kind(&kind, d->kind)
            ? "kind must be npu, nic, switch, cpu, host, memory or other"
        : !is_amount(d->latency_s) || !is_amount(d->cost_usd) || !is_amount(d->power_w)
            ? "latency, cost and power must not be negative"
        : !is_in_order(&t->b, kind) ? "NPUs come first, then NICs, then the others"
                                    : NULL;
    if (t->status != HALLEY_OK)
        return 0;
    if (wrong != NULL) {
        note_mistake(t, refuse_devices(t, d->name, wrong));
        return 0;
    }
    return hw_builder_add_group(
        &t->b, &(hw_device_group){.name = d->name,
                                  .kind = kind,
                                  .n = d->n,
                                  .tier = d->tier,
                                  .per_node = d->per_node,
                                  .forwards = d->forwards || kind == HW_DEVICE_SWITCH,
                                  .latency_s = d->latency_s,
                                  .cost_usd = d->cost_usd,
                                  .power_w = d->power_w});
}

uint32_t halley_topology_add_kind(halley_topology_builder *t,
                                  const halley_topology_cables *c)
{
    if (t->status != HALLEY_OK)
        return 0;
    if (c->name == NULL || !(isfinite(c->bw_Bps) && c->bw_Bps > 0) ||
        !is_amount(c->latency_s) || !is_amount(c->cost_usd) || !is_amount(c->power_w)) {
        note_mistake(t, error_set(t->err, HALLEY_EINVAL,
                                  "topology %s: cables \"%s\" need a name, a positive "
                                  "bandwidth (%s B/s given), and no negative latency, "
                                  "cost or power",
                                  t->name, c->name == NULL ? "" : c->name,
                                  number_digits(c->bw_Bps, 6).at));
        return 0;
    }
    return hw_builder_add_kind(
        &t->b,
        &(hw_link_kind){.name = c->name,
                        .medium = c->optical ? HW_MEDIUM_OPTICAL : HW_MEDIUM_COPPER,
                        .tier = c->tier,
                        .bw_Bps = c->bw_Bps,
                        .latency_s = c->latency_s,
                        .cost_usd = c->cost_usd,
                        .power_w = c->power_w});
}

void halley_topology_add_cable(halley_topology_builder *t, uint32_t a, uint32_t b,
                               uint32_t kind)
{
    if (t->status != HALLEY_OK || t->b.failed != HALLEY_OK)
        return;
    if (a < t->b.n_devices && b < t->b.n_devices && a != b && kind < t->b.kinds.n) {
        hw_builder_add_cable(&t->b, a, b, (uint16_t)kind);
        return;
    }
    note_mistake(t, error_set(t->err, HALLEY_EINVAL,
                              "topology %s: a cable of kind %u joins devices %u and %u, "
                              "and there are %u devices and %zu kinds of cables",
                              t->name, kind, a, b, t->b.n_devices, t->b.kinds.n));
}

static halley_status check_own(const hw_graph *g, const char *name, uint32_t n_npus,
                               halley_error *err)
{
    if (g->n_npus != n_npus)
        return error_set(err, HALLEY_EINVAL,
                         "topology %s: %u NPUs were asked for, and it has %u", name,
                         n_npus, g->n_npus);
    return hw_graph_check_connected(g, err);
}

halley_status hw_own_generate(hw_graph **out, const halley_topology_ops *generator,
                              uint32_t n_npus, halley_error *err)
{
    halley_error own = {0};
    halley_topology_builder t = {.name = generator->name,
                                 .err = err == NULL ? &own : err};
    hw_graph *g = NULL;
    assert(n_npus > 0 && generator->build != NULL);
    hw_builder_init(&t.b, generator->name);
    halley_status status = t.b.failed;
    if (status == HALLEY_OK)
        status = generator->build(&t, n_npus, generator->context, t.err);
    status = t.status != HALLEY_OK ? t.status : status;
    if (status != HALLEY_OK) {
        hw_builder_fini(&t.b);
        return status;
    }
    if (t.b.graph != NULL) {
        t.b.graph->n_dims = 1;
        t.b.graph->dims[0] = n_npus;
    }
    TRY(hw_builder_finish(&g, &t.b, err));
    status = check_own(g, generator->name, n_npus, err);
    if (status == HALLEY_OK)
        *out = g;
    else
        hw_graph_free(g);
    return status;
}

halley_status hw_own_check(const halley_topology_ops *generator, halley_error *err)
{
    if (generator != NULL && generator->name != NULL && generator->build != NULL)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "a generator of topologies needs name and build");
}

halley_status halley_topology_generate(halley_topology **out,
                                       const halley_topology_ops *generator,
                                       uint32_t n_npus, halley_error *err)
{
    TRY(hw_own_check(generator, err));
    if (n_npus == 0)
        return error_set(err, HALLEY_EINVAL, "topology %s: 0 NPUs", generator->name);
    halley_topology *t = mem_array_zero(1, sizeof *t);
    if (t == NULL)
        return error_nomem(err);
    const halley_status status = hw_own_generate(&t->graph, generator, n_npus, err);
    if (status == HALLEY_OK)
        *out = t;
    else
        free(t);
    return status;
}
