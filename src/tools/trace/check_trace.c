/* Checks of one trace: ids, dependencies and cycles, and each node by check_node. */
#include "base/error.h"
#include "base/str.h"
#include "trace/check.h"
#include "trace/core/levels.h"
#include "trace/core/slots.h"

#include <inttypes.h>

enum { CYCLE_SHOWN = 12 };

void check_one_fini(check_one *one)
{
    check_list_fini(&one->found);
    array_fini(&one->messages);
    array_fini(&one->collectives);
    array_fini(&one->group_nodes);
}

static void check_id(check_list *l, const check_place *at, uint32_t node)
{
    const uint64_t id = halley_node_id(at->trace, node);
    const uint32_t last = halley_trace_find(at->trace, id);
    if (last != node)
        check_add(l, CHECK_DUPLICATE_ID, at, node,
                  "ids are unique, most readers keep just the last one",
                  "id %" PRIu64 " comes again, as node number %" PRIu32
                  " of the file (counted from 1)",
                  id, last + 1);
    else if (id == 0)
        check_add(l, CHECK_ZERO_ID, at, node,
                  "it is not written to the file, readers must take a missing id for 0",
                  "the id is 0");
}

static void check_dep(check_list *l, const check_place *at, uint32_t node, halley_dep dep,
                      const char *kind)
{
    if (dep.index == HALLEY_NO_NODE)
        check_add(l, CHECK_DANGLING_DEP, at, node,
                  "drop it with halley trace check --fix, or add the node",
                  "%s dependency on %" PRIu64 ", which no node has as its id", kind,
                  dep.id);
    else if (dep.id == halley_node_id(at->trace, node))
        check_add(l, CHECK_SELF_DEP, at, node,
                  "it can never start, drop it with halley trace check --fix --self",
                  "%s dependency on itself", kind);
}

static void check_deps(check_list *l, const check_place *at, uint32_t node)
{
    const uint32_t n_data = halley_node_data_count(at->trace, node);
    for (uint32_t i = 0; i < n_data; i++)
        check_dep(l, at, node, halley_node_data(at->trace, node, i), "data");
    const uint32_t n_ctrl = halley_node_ctrl_count(at->trace, node);
    for (uint32_t i = 0; i < n_ctrl; i++)
        check_dep(l, at, node, halley_node_ctrl(at->trace, node, i), "control");
}

static void add_cycle(check_list *l, const check_place *at, const uint32_t *cycle,
                      uint32_t n, uint32_t n_cyclic)
{
    strbuf b = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (i == CYCLE_SHOWN && n > CYCLE_SHOWN + 1) {
            strbuf_printf(&b, "… %" PRIu32 " more … -> ", n - i);
            break;
        }
        halley_bytes name = halley_node_name(at->trace, cycle[i]);
        strbuf_printf(&b, "%" PRIu64, halley_node_id(at->trace, cycle[i]));
        if (i < 4)
            strbuf_printf(&b, " %s", check_quote(l, CHECK_CYCLE, name));
        strbuf_add(&b, STR(" -> "));
    }
    strbuf_printf(&b, "%" PRIu64, halley_node_id(at->trace, cycle[0]));
    if (b.failed)
        l->failed = true;
    else
        check_add(l, CHECK_CYCLE, at, cycle[0], "drop one of these dependencies",
                  "%" PRIu32 " nodes depend on each other in a cycle: %s "
                  "(-> reads: depends on); %" PRIu32
                  " nodes are in or after cycles and can never start",
                  n, b.at, n_cyclic);
    strbuf_fini(&b);
}

static halley_status check_cycles(check_list *l, const check_place *at, halley_error *err)
{
    trace_levels levels;
    TRY(trace_levels_init(&levels, at->trace, &(trace_levels_opts){.ignore_self = true},
                          err));
    halley_status status = HALLEY_OK;
    if (levels.n_cyclic > 0) {
        uint32_t *cycle = NULL, n = 0;
        status = trace_cycle_find(&cycle, &n, at->trace, &levels, true, err);
        if (status == HALLEY_OK)
            add_cycle(l, at, cycle, n, levels.n_cyclic);
        free(cycle);
    }
    trace_levels_fini(&levels);
    return status;
}

halley_status check_twin(check_one *to, const check_one *twin, const halley_trace *trace,
                         halley_error *err)
{
    static const char *const pg_name[] = {"pg_name"};
    trace_slots slots;
    halley_attr name;
    bool fine = trace_slots_init(&slots, trace, pg_name, 1) &&
                array_reserve(&to->messages, twin->messages.n) &&
                array_reserve(&to->collectives, twin->collectives.n) &&
                array_reserve(&to->group_nodes, twin->group_nodes.n);
    for (size_t i = 0; fine && i < twin->messages.n; i++)
        to->messages.at[to->messages.n++] = twin->messages.at[i];
    for (size_t i = 0; fine && i < twin->group_nodes.n; i++)
        to->group_nodes.at[to->group_nodes.n++] = twin->group_nodes.at[i];
    for (size_t i = 0; fine && i < twin->collectives.n; i++) {
        check_collective c = twin->collectives.at[i];
        if (trace_slots_find(&name, &slots, c.node, 0))
            c.group = name.bytes;
        to->collectives.at[to->collectives.n++] = c;
    }
    trace_slots_fini(&slots);
    return fine ? HALLEY_OK : error_nomem(err);
}

halley_status check_trace(check_one *to, const check_place *at, halley_error *err)
{
    check_list *l = &to->found;
    const uint32_t n = halley_trace_count(at->trace);
    if (!halley_trace_has_metadata(at->trace))
        check_add(l, CHECK_NO_METADATA, at, HALLEY_NO_NODE,
                  "readers take the first message for it",
                  "there is no GlobalMetadata message");
    if (n == 0)
        check_add(l, CHECK_EMPTY, at, HALLEY_NO_NODE, "the rank will do nothing",
                  "there are no nodes");
    for (uint32_t node = 0; node < n; node++) {
        check_id(l, at, node);
        if (!check_node(to, at, node))
            return error_nomem(err);
        check_deps(l, at, node);
    }
    TRY(check_cycles(l, at, err));
    return l->failed ? error_nomem(err) : HALLEY_OK;
}
