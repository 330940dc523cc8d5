/*
 * topology/import/infragraph_build.c - expands an InfraGraph file to nodes and edges.
 *
 * Instances are expanded in order. An instance with ports or NICs but without an
 * accelerator becomes one switch: its inside is contracted. A second edge between the
 * same two nodes replaces the first.
 */
#include "topology/import/infragraph.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The limit on devices also limits the edges. */
static size_t limit_pairs(const infra *f)
{
    const uint64_t n = (uint64_t)hw_draft_limit(f->d) * 16;
    return n < HW_MAX_LINKS / 2 ? (size_t)n : HW_MAX_LINKS / 2;
}

/* A bound of a slice; empty means `otherwise`. */
static bool read_bound(str text, int64_t otherwise, int64_t *out)
{
    text = str_trim(text);
    *out = otherwise;
    return text.n == 0 || str_to_i64(text, out);
}

static bool read_bounds(infra_slice *out, str inside, uint32_t count)
{
    str parts[3];
    uint32_t n = 0;
    while (n < 3 && str_next(&inside, ':', &parts[n]))
        n++;
    if (inside.at != NULL)
        return false;
    out->step = 1;
    if (n == 1 && str_trim(parts[0]).n > 0) {
        const bool ok = str_to_i64(str_trim(parts[0]), &out->first);
        out->end = out->first == INT64_MAX ? INT64_MAX : out->first + 1;
        return ok;
    }
    return read_bound(parts[0], 0, &out->first) &&
           read_bound(n > 1 ? parts[1] : STR(""), count, &out->end) &&
           (n < 3 || read_bound(parts[2], 1, &out->step));
}

static halley_status read_infra_slice(infra_slice *out, infra *f, str text,
                                      uint32_t count, const char *where)
{
    const char *open = memchr(text.at, '[', text.n);
    *out = (infra_slice){text, 0, count, 1};
    if (open == NULL && text.n > 0 && memchr(text.at, ']', text.n) == NULL)
        return HALLEY_OK;
    const size_t n = open == NULL ? 0 : (size_t)(open - text.at);
    const str inside = {text.at + n + 1, text.n >= n + 2 ? text.n - n - 2 : 0};
    if (n == 0 || text.at[text.n - 1] != ']' || memchr(inside.at, ']', inside.n) != NULL)
        return hw_draft_fail(f->d, 0, "bad-slice", "%s: \"%.*s\" is not name[slice]",
                             where, STR_ARG(text));
    out->name = (str){text.at, n};
    if (inside.n == 0)
        return HALLEY_OK;
    if (!read_bounds(out, inside, count))
        return hw_draft_fail(f->d, 0, "bad-slice", "%s: \"%.*s\" is not name[slice]",
                             where, STR_ARG(text));
    if (out->step <= 0 || out->first < 0 || out->end > count || out->first >= out->end)
        return hw_draft_fail(f->d, 0, "slice-out-of-range", "%s: \"%.*s\": there are %u",
                             where, STR_ARG(text), count);
    return HALLEY_OK;
}

static const infra_component *find_component(const infra_device *device, str part)
{
    const char *open = part.n > 0 ? memchr(part.at, '[', part.n) : NULL;
    const str name = {part.at, open == NULL ? part.n : (size_t)(open - part.at)};
    for (uint32_t i = 0; i < device->n_components; i++)
        if (str_eq(device->components[i].name, name))
            return &device->components[i];
    return NULL;
}

/* Combine every node so far with every index of the slice. */
static halley_status multiply_nodes(infra_nodes *nodes, infra *f,
                                    const infra_component *c, const infra_slice *slice)
{
    infra_nodes next = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < nodes->n; i++)
        for (int64_t k = slice->first; ok && k < slice->end; k += slice->step)
            ok = next.n < limit_pairs(f) &&
                 array_push(&next, nodes->at[i] + c->offset + (uint64_t)k * c->size);
    array_fini(nodes);
    *nodes = next;
    return ok ? HALLEY_OK : error_nomem(f->d->err);
}

static halley_status expand_path(infra_nodes *out, infra *f, uint32_t device, str path,
                                 const char *where)
{
    str rest = path, part;
    if (!array_push(out, 0))
        return error_nomem(f->d->err);
    while (str_next(&rest, '.', &part)) {
        infra_slice slice;
        if (device == HW_NONE)
            return hw_draft_fail(f->d, 0, "dangling-id",
                                 "%s: \"%.*s\": no device to look in", where,
                                 STR_ARG(path));
        const infra_component *c = find_component(&f->devices[device], part);
        if (c == NULL)
            return hw_draft_fail(f->d, 0, "dangling-id",
                                 "%s: the device %.*s has no component \"%.*s\"", where,
                                 STR_ARG(f->devices[device].name), STR_ARG(part));
        TRY(read_infra_slice(&slice, f, part, c->count, where));
        TRY(multiply_nodes(out, f, c, &slice));
        device = c->device;
    }
    return HALLEY_OK;
}

static halley_status push_pair(infra_pairs *out, infra *f, uint64_t a, uint64_t b,
                               const infra_link *link)
{
    if (a == b)
        return HALLEY_OK;
    if (out->n >= limit_pairs(f))
        return hw_draft_fail(f->d, 0, "unsupported", "the file has more than %zu edges",
                             limit_pairs(f));
    return array_push(out, (infra_pair){a, b, link}) ? HALLEY_OK : error_nomem(f->d->err);
}

static halley_status join_fabric(infra_pairs *out, infra *f, const infra_nodes *ends,
                                 const infra_link *link)
{
    for (size_t i = 0; i < ends[0].n; i++)
        for (size_t k = 0; k < ends[1].n; k++)
            TRY(push_pair(out, f, ends[0].at[i], ends[1].at[k], link));
    return HALLEY_OK;
}

static halley_status join_ring(infra_pairs *out, infra *f, const infra_nodes *nodes,
                               const infra_link *link)
{
    const size_t n = nodes->n == 2 ? 1 : nodes->n;
    for (size_t i = 0; i < n; i++)
        TRY(push_pair(out, f, nodes->at[i], nodes->at[(i + 1) % nodes->n], link));
    return HALLEY_OK;
}

static halley_status join_endpoints(infra_pairs *out, infra *f, const conf_node *edge,
                                    const infra_nodes *ends, const infra_link *link,
                                    const char *where)
{
    const conf_node *node = conf_find(edge, "scheme");
    const str scheme =
        node != NULL && node->kind == CONF_SCALAR ? node->text : STR("one2one");
    if (str_eq(scheme, STR("many2many")))
        return join_fabric(out, f, ends, link);
    if (str_eq(scheme, STR("ring")))
        return join_ring(out, f, &ends[0], link);
    if (!str_eq(scheme, STR("one2one")))
        return hw_draft_fail_at(f->d, edge, "bad-scheme",
                                "%s: \"%.*s\" is not one2one, many2many or ring", where,
                                STR_ARG(scheme));
    const size_t n = ends[0].n < ends[1].n ? ends[0].n : ends[1].n;
    if (ends[0].n != ends[1].n)
        hw_draft_warn(f->d,
                      "%s: one2one joins %zu with %zu endpoints; the rest is left out",
                      where, ends[0].n, ends[1].n);
    for (size_t i = 0; i < n; i++)
        TRY(push_pair(out, f, ends[0].at[i], ends[1].at[i], link));
    return HALLEY_OK;
}

static halley_status get_fabric_end(const conf_node **out, infra *f,
                                    const conf_node *edge, const char *key,
                                    const char *where)
{
    *out = conf_find(edge, key);
    if (*out == NULL || (*out)->kind != CONF_MAP ||
        conf_find(*out, "component") == NULL ||
        conf_find(*out, "component")->kind != CONF_SCALAR)
        return hw_draft_fail_at(f->d, edge, "missing-key", "%s: %s has no component",
                                where, key);
    return HALLEY_OK;
}

static const char *const end_keys[2] = {"ep1", "ep2"};

/* ep {device?, component} inside a device. */
static halley_status expand_inner_end(infra_nodes *out, infra *f, uint32_t device,
                                      const conf_node *end, const char *where)
{
    const conf_node *inner = conf_find(end, "device");
    const str component = conf_find(end, "component")->text;
    if (inner == NULL || inner->kind != CONF_SCALAR || inner->text.n == 0)
        return expand_path(out, f, device, component, where);
    const char *path =
        arena_printf(&f->memory, "%.*s.%.*s", STR_ARG(inner->text), STR_ARG(component));
    if (path == NULL)
        return error_nomem(f->d->err);
    return expand_path(out, f, device, str_from(path), where);
}

/* ep {instance, component} at the top level. */
static halley_status expand_outer_end(infra_nodes *out, infra *f, const conf_node *end,
                                      const char *where)
{
    const conf_node *text = conf_find(end, "instance");
    if (text == NULL || text->kind != CONF_SCALAR || text->text.n == 0)
        return hw_draft_fail_at(f->d, end, "missing-key", "%s: an end has no instance",
                                where);
    const char *open = memchr(text->text.at, '[', text->text.n);
    const str name = {text->text.at,
                      open == NULL ? text->text.n : (size_t)(open - text->text.at)};
    const infra_instance *instance = NULL;
    for (uint32_t i = 0; i < f->n_instances; i++)
        if (str_eq(f->instances[i].name, name))
            instance = &f->instances[i];
    if (instance == NULL)
        return hw_draft_fail_at(f->d, end, "dangling-id",
                                "%s: the instance %.*s does not exist", where,
                                STR_ARG(name));
    infra_slice slice;
    TRY(read_infra_slice(&slice, f, text->text, instance->count, where));
    infra_nodes inner = {0};
    halley_status status = expand_path(&inner, f, instance->device,
                                       conf_find(end, "component")->text, where);
    const uint64_t size = f->devices[instance->device].size;
    for (int64_t i = slice.first; status == HALLEY_OK && i < slice.end; i += slice.step)
        for (size_t k = 0; status == HALLEY_OK && k < inner.n; k++)
            if (out->n >= limit_pairs(f) ||
                !array_push(out, instance->base + (uint64_t)i * size + inner.at[k]))
                status = error_nomem(f->d->err);
    array_fini(&inner);
    return status;
}

/* One edge of a device, or (device = HW_NONE) of the infrastructure. */
static halley_status expand_edge(infra_pairs *out, infra *f, uint32_t device,
                                 const conf_node *edge, const char *where)
{
    const bool is_top = device == HW_NONE;
    const infra_links *links = is_top ? &f->links : &f->devices[device].links;
    const conf_node *ends[2], *name = conf_find(edge, "link");
    infra_nodes nodes[2] = {{0}, {0}};
    halley_status status = HALLEY_OK;
    for (int i = 0; i < 2; i++)
        TRY(get_fabric_end(&ends[i], f, edge, end_keys[i], where));
    for (int i = 0; status == HALLEY_OK && i < 2; i++)
        status = is_top ? expand_outer_end(&nodes[i], f, ends[i], where)
                        : expand_inner_end(&nodes[i], f, device, ends[i], where);
    const infra_link *link = infra_find_link(links, name);
    if (status == HALLEY_OK && link == NULL)
        status = hw_draft_fail_at(
            f->d, edge, "dangling-id", "%s: the link %.*s is not described there", where,
            STR_ARG(name != NULL && name->kind == CONF_SCALAR ? name->text
                                                              : STR("(none)")));
    if (status == HALLEY_OK)
        status = join_endpoints(out, f, edge, nodes, link, where);
    array_fini(&nodes[0]);
    array_fini(&nodes[1]);
    return status;
}

static halley_status expand_edges(infra_pairs *out, infra *f, uint32_t device)
{
    const conf_node *map = device == HW_NONE ? f->root : f->devices[device].node;
    const conf_node *list = conf_find(map, "edges");
    if (list == NULL || list->kind == CONF_NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST)
        return hw_draft_fail_at(f->d, list, "bad-line", "edges must be a list");
    for (uint32_t i = 0; i < list->n; i++) {
        char where[300];
        if (device == HW_NONE)
            snprintf(where, sizeof where, "edge %u", i);
        else
            snprintf(where, sizeof where, "device %.200s edge %u",
                     arena_copy(&f->memory, f->devices[device].name), i);
        if (list->items[i]->kind != CONF_MAP)
            return hw_draft_fail_at(f->d, list->items[i], "bad-line", "%s is no map",
                                    where);
        TRY(expand_edge(out, f, device, list->items[i], where));
    }
    return HALLEY_OK;
}

/* All edges of the file, with consecutive node numbers; later edges replace earlier
 * ones. */
typedef struct edge_set {
    infra_pairs pairs;
    map64 by_ends;
} edge_set;

static halley_status put_edge(edge_set *set, infra *f, uint64_t a, uint64_t b,
                              const infra_link *link)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    uint32_t at = (uint32_t)set->pairs.n;
    bool fresh;
    if (!map64_put(&set->by_ends, low << 32 | high, &at, &fresh))
        return error_nomem(f->d->err);
    if (fresh)
        return push_pair(&set->pairs, f, a, b, link);
    set->pairs.at[at].link = link;
    return HALLEY_OK;
}

static halley_status put_device_edges(edge_set *set, infra *f, uint32_t device,
                                      uint64_t base)
{
    const infra_device *type = &f->devices[device];
    for (uint32_t i = 0; i < type->n_components; i++) {
        const infra_component *c = &type->components[i];
        for (uint32_t k = 0; c->device != HW_NONE && k < c->count; k++)
            TRY(put_device_edges(set, f, c->device, base + c->offset + k * c->size));
    }
    for (size_t i = 0; i < type->pairs.n; i++)
        TRY(put_edge(set, f, base + type->pairs.at[i].a, base + type->pairs.at[i].b,
                     type->pairs.at[i].link));
    return HALLEY_OK;
}

static halley_status collect_fabric_edges(edge_set *set, infra *f)
{
    infra_pairs top = {0};
    for (uint32_t i = 0; i < f->n_devices; i++)
        TRY(expand_edges(&f->devices[i].pairs, f, i));
    for (uint32_t i = 0; i < f->n_instances; i++)
        for (uint32_t k = 0; k < f->instances[i].count; k++)
            TRY(put_device_edges(set, f, f->instances[i].device,
                                 f->instances[i].base +
                                     k * f->devices[f->instances[i].device].size));
    halley_status status = expand_edges(&top, f, HW_NONE);
    for (size_t i = 0; status == HALLEY_OK && i < top.n; i++)
        status = put_edge(set, f, top.at[i].a, top.at[i].b, top.at[i].link);
    array_fini(&top);
    return status;
}

static bool has_choice(const infra *f, uint32_t device, infra_choice choice)
{
    const infra_device *type = &f->devices[device];
    for (uint32_t i = 0; i < type->n_components; i++) {
        const infra_component *c = &type->components[i];
        if (c->count > 0 && (c->choice == choice ||
                             (c->device != HW_NONE && has_choice(f, c->device, choice))))
            return true;
    }
    return false;
}

/* The place of the file's nodes in the draft. */
typedef struct node_map {
    uint32_t *to; /* by node */
    uint64_t at;
    uint32_t server; /* number of the instance being added */
} node_map;

static hw_device_kind choose_fabric_kind(infra_choice choice)
{
    switch (choice) {
    case INFRA_XPU:
        return HW_DEVICE_NPU;
    case INFRA_NIC:
        return HW_DEVICE_NIC;
    case INFRA_SWITCH:
        return HW_DEVICE_SWITCH;
    case INFRA_CPU:
        return HW_DEVICE_CPU;
    default:
        return HW_DEVICE_OTHER;
    }
}

static halley_status add_fabric_parts(node_map *map, infra *f, uint32_t device,
                                      const char *prefix)
{
    const infra_device *type = &f->devices[device];
    for (uint32_t i = 0; i < type->n_components; i++) {
        const infra_component *c = &type->components[i];
        for (uint32_t k = 0; k < c->count; k++) {
            char name[512];
            snprintf(name, sizeof name, "%.400s.%.*s.%u", prefix,
                     (int)(c->name.n < 80 ? c->name.n : 80), c->name.at, k);
            if (c->device != HW_NONE) {
                TRY(add_fabric_parts(map, f, c->device, name));
                continue;
            }
            uint32_t id;
            TRY(hw_draft_add_device(&id, f->d, choose_fabric_kind(c->choice),
                                    str_from(name), type->node->line));
            f->d->devices.at[id].node = map->server;
            map->to[map->at++] = id;
        }
    }
    return HALLEY_OK;
}

static halley_status add_fabric_instance(node_map *map, infra *f,
                                         const infra_instance *instance, uint32_t i)
{
    char name[300];
    uint32_t id;
    snprintf(name, sizeof name, "%.*s.%u",
             (int)(instance->name.n < 200 ? instance->name.n : 200), instance->name.at,
             i);
    const bool has_npu = has_choice(f, instance->device, INFRA_XPU);
    const bool has_port = has_choice(f, instance->device, INFRA_PORT) ||
                          has_choice(f, instance->device, INFRA_NIC);
    if (has_npu || !has_port) {
        map->server = has_npu ? map->server : HW_NONE;
        return add_fabric_parts(map, f, instance->device, name);
    }
    TRY(hw_draft_add_device(&id, f->d, HW_DEVICE_SWITCH, str_from(name), 0));
    for (uint64_t k = 0; k < f->devices[instance->device].size; k++)
        map->to[map->at++] = id;
    return HALLEY_OK;
}

static halley_status add_instances(node_map *map, infra *f)
{
    uint32_t n_servers = 0;
    for (uint32_t i = 0; i < f->n_instances; i++)
        for (uint32_t k = 0; k < f->instances[i].count; k++) {
            map->server = n_servers;
            TRY(add_fabric_instance(map, f, &f->instances[i], k));
            n_servers += has_choice(f, f->instances[i].device, INFRA_XPU);
        }
    return HALLEY_OK;
}

static halley_status add_fabric_edges(infra *f, const edge_set *set, const node_map *map)
{
    for (size_t i = 0; i < set->pairs.n; i++) {
        const infra_pair *pair = &set->pairs.at[i];
        assert(pair->a < map->at && pair->b < map->at);
        const hw_draft_link link = {.from = map->to[pair->a],
                                    .to = map->to[pair->b],
                                    .bw_Bps = pair->link->bw_Bps,
                                    .latency_s = pair->link->latency_s,
                                    .kind = pair->link->kind};
        if (link.from != link.to)
            TRY(hw_draft_add_link(f->d, &link, 0));
    }
    return HALLEY_OK;
}

halley_status infra_build(infra *f)
{
    const infra_instance *last = &f->instances[f->n_instances - 1];
    const uint64_t n = last->base + last->count * f->devices[last->device].size;
    edge_set set = {0};
    node_map map = {.to = mem_array(n, sizeof *map.to)};
    halley_status status =
        map.to == NULL ? error_nomem(f->d->err) : collect_fabric_edges(&set, f);
    if (status == HALLEY_OK)
        status = add_instances(&map, f);
    assert(status != HALLEY_OK || map.at == n);
    if (status == HALLEY_OK)
        status = add_fabric_edges(f, &set, &map);
    free(map.to);
    array_fini(&set.pairs);
    map64_fini(&set.by_ends);
    return status;
}
