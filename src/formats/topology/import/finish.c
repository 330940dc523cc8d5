/*
 * topology/import/finish.c - converts a draft to a graph: order, tiers, nodes, warnings.
 *
 * Devices are sorted by kind (NPUs, NICs, switches, others). Switches are also sorted by
 * their distance from the endpoints, which is their tier. NPUs forward traffic only if
 * they could not reach each other otherwise (rings, tori, meshes).
 */
#include "hw/graph/measure.h"
#include "topology/import/draft.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The order and tiers of a draft's devices in the graph. */
typedef struct device_order {
    uint32_t *sorted; /* draft ids in the order of the graph */
    uint32_t *new_id; /* by draft id */
    uint32_t *tier;   /* by draft id */
    uint32_t *first;  /* neighbours in CSR form */
    uint32_t *near;
} device_order;

static bool allocate_order(device_order *o, const hw_draft *d)
{
    const size_t n = d->devices.n;
    o->sorted = mem_array(n, sizeof *o->sorted);
    o->new_id = mem_array(n, sizeof *o->new_id);
    o->tier = mem_array(n, sizeof *o->tier);
    o->first = mem_array_zero(n + 1, sizeof *o->first);
    o->near = mem_array(2 * d->links.n, sizeof *o->near);
    return o->sorted != NULL && o->new_id != NULL && o->tier != NULL &&
           o->first != NULL && o->near != NULL;
}

static void free_order(device_order *o)
{
    free(o->sorted);
    free(o->new_id);
    free(o->tier);
    free(o->first);
    free(o->near);
}

static void list_neighbours(device_order *o, const hw_draft *d)
{
    const size_t n = d->devices.n;
    for (size_t i = 0; i < d->links.n; i++) {
        o->first[d->links.at[i].from]++;
        o->first[d->links.at[i].to]++;
    }
    for (size_t i = 0; i < n; i++)
        o->first[i + 1] += o->first[i];
    for (size_t i = d->links.n; i-- > 0;) {
        const hw_draft_link *l = &d->links.at[i];
        o->near[--o->first[l->from]] = l->to;
        o->near[--o->first[l->to]] = l->from;
    }
}

static hw_device_kind choose_endpoint_kind(const hw_draft *d)
{
    bool has[HW_DEVICE_N_KINDS] = {false};
    for (size_t i = 0; i < d->devices.n; i++)
        has[d->devices.at[i].kind] = true;
    return has[HW_DEVICE_NPU]   ? HW_DEVICE_NPU
           : has[HW_DEVICE_NIC] ? HW_DEVICE_NIC
                                : HW_DEVICE_HOST;
}

/* Distances from the nearest endpoint, counting only switches, by breadth-first
 * search. */
static void find_tiers(device_order *o, const hw_draft *d)
{
    const hw_device_kind kind = choose_endpoint_kind(d);
    uint32_t *queue = o->sorted, n = 0;
    for (uint32_t i = 0; i < d->devices.n; i++) {
        o->tier[i] = HW_NONE;
        if (d->devices.at[i].kind == kind) {
            o->tier[i] = 0;
            queue[n++] = i;
        }
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = o->first[queue[k]]; e < o->first[queue[k] + 1]; e++)
            if (o->tier[o->near[e]] == HW_NONE) {
                o->tier[o->near[e]] = o->tier[queue[k]] + 1;
                queue[n++] = o->near[e];
            }
    for (uint32_t i = 0; i < d->devices.n; i++) {
        const bool is_switch = d->devices.at[i].kind == HW_DEVICE_SWITCH;
        if (!is_switch)
            o->tier[i] = 0;
        else if (o->tier[i] == HW_NONE)
            o->tier[i] = 1;
    }
}

typedef struct sort_key {
    uint64_t key; /* kind, tier, order */
    uint32_t id;
} sort_key;

static int compare_sort_keys(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool sort_devices(device_order *o, const hw_draft *d)
{
    sort_key *keys = mem_array(d->devices.n, sizeof *keys);
    if (keys == NULL)
        return false;
    for (uint32_t i = 0; i < d->devices.n; i++) {
        const hw_draft_device *v = &d->devices.at[i];
        const uint64_t tier = o->tier[i] < 1 << 20 ? o->tier[i] : (1 << 20) - 1;
        const uint64_t order = v->kind == HW_DEVICE_NPU ? v->order : 0;
        keys[i] = (sort_key){(uint64_t)v->kind << 56 | tier << 32 | order, i};
    }
    bool is_sorted = true;
    for (uint32_t i = 1; is_sorted && i < d->devices.n; i++)
        is_sorted = compare_sort_keys(&keys[i - 1], &keys[i]) < 0;
    if (!is_sorted)
        qsort(keys, d->devices.n, sizeof *keys, compare_sort_keys);
    for (uint32_t i = 0; i < d->devices.n; i++) {
        o->sorted[i] = keys[i].id;
        o->new_id[keys[i].id] = i;
    }
    free(keys);
    return true;
}

/* Make groups of equal kind and tier, with a name for each device. */
static void add_groups(hw_builder *b, const hw_draft *d, const device_order *o)
{
    const uint32_t n = (uint32_t)d->devices.n;
    for (uint32_t i = 0; i < n && b->failed == HALLEY_OK;) {
        const hw_device_kind kind = (hw_device_kind)d->devices.at[o->sorted[i]].kind;
        const uint32_t tier = o->tier[o->sorted[i]], begin = i;
        while (i < n && d->devices.at[o->sorted[i]].kind == (uint8_t)kind &&
               o->tier[o->sorted[i]] == tier) {
            const char *name =
                arena_copy(&b->graph->memory, intern_text(&d->names, o->sorted[i++]));
            if (name == NULL || !array_push(&b->names, name))
                b->failed = HALLEY_ENOMEM;
        }
        hw_builder_add_group(b, &(hw_device_group){.name = hw_device_kind_name(kind),
                                                   .kind = kind,
                                                   .n = i - begin,
                                                   .tier = tier,
                                                   .forwards = kind != HW_DEVICE_NPU});
    }
}

static uint16_t add_link_kind(hw_builder *b, const hw_draft *d, const device_order *o,
                              const hw_draft_link *l)
{
    char name[160];
    const uint32_t ends[2] = {l->from, l->to};
    uint32_t tier = 0;
    for (int i = 0; i < 2; i++)
        tier = o->tier[ends[i]] > tier ? o->tier[ends[i]] : tier;
    if (l->kind > 0) {
        const str text = intern_text(&d->kind_names, l->kind - 1U);
        snprintf(name, sizeof name, "%.*s", (int)(text.n < 100 ? text.n : 100), text.at);
    } else {
        snprintf(name, sizeof name, "%s-%s",
                 hw_device_kind_name((hw_device_kind)d->devices.at[ends[0]].kind),
                 hw_device_kind_name((hw_device_kind)d->devices.at[ends[1]].kind));
    }
    return hw_builder_add_kind(b, &(hw_link_kind){.name = name,
                                                  .medium = HW_MEDIUM_COPPER,
                                                  .tier = tier,
                                                  .bw_Bps = HW_UNKNOWN,
                                                  .latency_s = HW_UNKNOWN});
}

static void add_links(hw_builder *b, const hw_draft *d, const device_order *o)
{
    uint64_t last = UINT64_MAX;
    uint16_t kind = 0;
    if (b->failed == HALLEY_OK && !array_reserve(&b->links, d->links.n))
        b->failed = HALLEY_ENOMEM;
    for (size_t i = 0; i < d->links.n && b->failed == HALLEY_OK; i++) {
        const hw_draft_link *l = &d->links.at[i];
        const uint64_t key = (uint64_t)l->kind << 48 |
                             (uint64_t)d->devices.at[l->from].kind << 44 |
                             (uint64_t)d->devices.at[l->to].kind << 40 |
                             ((uint64_t)o->tier[l->from] & 0xfffff) << 20 |
                             ((uint64_t)o->tier[l->to] & 0xfffff);
        if (key != last)
            kind = add_link_kind(b, d, o, l);
        last = key;
        hw_builder_add_link(b, &(hw_raw_link){.from = o->new_id[l->from],
                                              .to = o->new_id[l->to],
                                              .bw_Bps = l->bw_Bps,
                                              .latency_s = l->latency_s,
                                              .kind = kind,
                                              .one_way = l->one_way});
    }
}

/* Nodes of equal size with consecutive NPUs give two coordinates. */
static void find_coordinates(hw_graph *g)
{
    g->n_dims = 1;
    g->dims[0] = g->n_npus;
    uint32_t size = 0;
    while (size < g->n_npus && g->dev_node[size] != HW_NONE &&
           g->dev_node[size] == g->dev_node[0])
        size++;
    if (size < 2 || size == g->n_npus || g->n_npus % size != 0)
        return;
    for (uint32_t i = 0; i < g->n_npus; i++)
        if (g->dev_node[i] != g->dev_node[i - i % size] ||
            (i >= size && i % size == 0 && g->dev_node[i] == g->dev_node[i - 1]))
            return;
    g->n_dims = 2;
    g->dims[0] = size;
    g->dims[1] = g->n_npus / size;
    g->groups[0].per_node = size;
}

static bool copy_places(hw_graph *g, const hw_draft *d, const device_order *o)
{
    uint32_t *lines = arena_array(&g->memory, g->n_devices, sizeof *lines);
    if (lines == NULL)
        return false;
    for (uint32_t i = 0; i < g->n_devices; i++) {
        lines[i] = d->devices.at[o->sorted[i]].line;
        g->dev_node[i] = d->devices.at[o->sorted[i]].node;
    }
    g->lines = lines;
    return true;
}

static bool copy_warnings(hw_graph *g, hw_draft *d)
{
    str rest = strbuf_str(&d->warnings), line;
    uint32_t n = 0;
    for (size_t i = 0; i < rest.n; i++)
        n += rest.at[i] == '\n';
    const char **list = arena_array(&g->memory, n + 1, sizeof *list);
    if (list == NULL || d->warnings.failed)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        str_next(&rest, '\n', &line);
        list[i] = arena_copy(&g->memory, line);
        if (list[i] == NULL)
            return false;
    }
    if (d->n_warnings > n) {
        list[n] = arena_printf(&g->memory, "and %u more warnings", d->n_warnings - n);
        n += list[n] != NULL;
    }
    g->warnings = list;
    g->n_warnings = n;
    return true;
}

/* NPUs forward traffic if they cannot reach each other otherwise. */
static void allow_forwarding(hw_graph *g)
{
    if (g->n_npus < 2 || hw_graph_check_connected(g, NULL) == HALLEY_OK)
        return;
    assert(g->groups[0].kind == HW_DEVICE_NPU && g->groups[0].n == g->n_npus);
    g->groups[0].forwards = true;
}

static halley_status build_graph(hw_graph **out, hw_draft *d, device_order *o,
                                 const char *format)
{
    hw_builder b;
    list_neighbours(o, d);
    find_tiers(o, d);
    if (!sort_devices(o, d))
        return error_nomem(d->err);
    hw_builder_init(&b, format);
    add_groups(&b, d, o);
    add_links(&b, d, o);
    array_fini(&d->links); /* large files need the memory */
    TRY(hw_builder_finish(out, &b, d->err));
    hw_graph *g = *out;
    g->is_imported = true;
    if (!copy_places(g, d, o) || !copy_warnings(g, d)) {
        hw_graph_free(g);
        *out = NULL;
        return error_nomem(d->err);
    }
    if (g->n_npus > 0)
        find_coordinates(g);
    allow_forwarding(g);
    return HALLEY_OK;
}

/* Only the first n_used NPUs take part. The others become hosts, which send nothing. */
static bool demote_idle(hw_draft *d, uint32_t n_used)
{
    sort_key *const keys = mem_array(d->devices.n + 1, sizeof *keys);
    uint32_t n = 0;
    if (keys == NULL)
        return false;
    for (uint32_t i = 0; i < d->devices.n; i++)
        if (d->devices.at[i].kind == HW_DEVICE_NPU)
            keys[n++] = (sort_key){d->devices.at[i].order, i};
    qsort(keys, n, sizeof *keys, compare_sort_keys);
    for (uint32_t i = n_used; i < n; i++)
        d->devices.at[keys[i].id].kind = HW_DEVICE_HOST;
    free(keys);
    return true;
}

halley_status hw_draft_finish(hw_graph **out, hw_draft *d, const char *format)
{
    device_order o = {0};
    if (d->options->n_used > 0 && !demote_idle(d, d->options->n_used))
        return error_nomem(d->err);
    const hw_device_kind kind = choose_endpoint_kind(d);
    bool has_ends = false;
    for (size_t i = 0; i < d->devices.n; i++)
        has_ends |= d->devices.at[i].kind == (uint8_t)kind;
    if (!has_ends)
        return hw_draft_fail(d, 0, "no-npu", "the file has no NPU, NIC or host");
    hw_graph *graph = NULL;
    const halley_status status =
        allocate_order(&o, d) ? build_graph(&graph, d, &o, format) : error_nomem(d->err);
    free_order(&o);
    if (status == HALLEY_OK)
        *out = graph;
    return status;
}
