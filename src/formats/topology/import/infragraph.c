/*
 * topology/import/infragraph.c - InfraGraph 2.x: device types with components and edges,
 * instances of them, and edges between instances, all with slices.
 *
 * A device type is laid out once: every component gets an offset. A path such as
 * "cx5[0:2].port" then becomes a list of numbers, and later lookups by name are
 * unnecessary.
 */
#include "topology/import/infragraph.h"

#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 32 };

static const char *const choice_names[INFRA_N_CHOICES] = {
    "custom", "device", "cpu", "xpu", "nic", "memory", "port", "switch"};

static str get_infragraph_text(const conf_node *map, const char *key)
{
    const conf_node *node = map->kind == CONF_MAP ? conf_find(map, key) : NULL;
    return node != NULL && node->kind == CONF_SCALAR ? node->text : (str){"", 0};
}

/* The list at a key; empty if absent. */
static halley_status get_list(const conf_node **out, infra *f, const conf_node *map,
                              const char *key)
{
    static const conf_node empty = {.kind = CONF_LIST};
    const conf_node *node = map->kind == CONF_MAP ? conf_find(map, key) : NULL;
    *out = node == NULL || node->kind == CONF_NULL ? &empty : node;
    if ((*out)->kind != CONF_LIST)
        return hw_draft_fail_at(f->d, node, "bad-line", "%s must be a list", key);
    for (uint32_t i = 0; i < (*out)->n; i++)
        if ((*out)->items[i]->kind != CONF_MAP)
            return hw_draft_fail_at(f->d, (*out)->items[i], "bad-line",
                                    "an entry of %s must be a map", key);
    return HALLEY_OK;
}

static halley_status get_infragraph_name(str *out, infra *f, const conf_node *map,
                                         const char *what)
{
    *out = get_infragraph_text(map, "name");
    return out->n > 0
               ? HALLEY_OK
               : hw_draft_fail_at(f->d, map, "missing-key", "a %s has no name", what);
}

static halley_status get_infragraph_count(uint32_t *out, infra *f, const conf_node *map,
                                          str name)
{
    const conf_node *node = conf_find(map, "count");
    uint64_t count = 1;
    if (node != NULL && (node->kind != CONF_SCALAR || !str_to_u64(node->text, &count) ||
                         count > HW_MAX_DEVICES))
        return hw_draft_fail_at(f->d, node, "bad-number",
                                "the count of %.*s must be a whole number up to %d",
                                STR_ARG(name), HW_MAX_DEVICES);
    *out = (uint32_t)count;
    return HALLEY_OK;
}

typedef struct rate_unit {
    const char *name;
    double factor; /* to B/s or s; 0 = not a rate without a width */
} rate_unit;
static const rate_unit rate_units[] = {
    {"gigabits_per_second", 1e9 / 8},
    {"gigabytes_per_second", 1e9},
    {"gigatransfers_per_second", 0},
    {"giga_bits_per_second", 1e9 / 8},
    {"giga_bytes_per_second", 1e9},
    {"giga_transfers_per_second", 0},
    {NULL, 0},
};
static const rate_unit delay_units[] = {
    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};

/* Read {choice: UNIT, UNIT: number}; `choice` is optional. */
static halley_status read_measure(double *out, infra *f, const conf_node *map,
                                  const rate_unit *units, str link)
{
    const bool is_rate = units == rate_units;
    const char *code = is_rate ? "bad-rate" : "bad-delay";
    const str choice = get_infragraph_text(map, "choice");
    for (const rate_unit *u = units; u->name != NULL; u++) {
        const str text = get_infragraph_text(map, u->name);
        double value;
        if (choice.n > 0 ? !str_eq(choice, str_from(u->name)) : text.n == 0)
            continue;
        if (!number_read(text, &value) || (is_rate && !(value > 0)))
            return hw_draft_fail_at(f->d, map, code, "the link %.*s has %s %.*s",
                                    STR_ARG(link), u->name, STR_ARG(text));
        *out = u->factor > 0 ? value * u->factor : HW_UNKNOWN;
        if (u->factor == 0)
            hw_draft_warn(f->d,
                          "the link %.*s has gigatransfers without a width: its rate is "
                          "unknown",
                          STR_ARG(link));
        return HALLEY_OK;
    }
    if (choice.n > 0)
        return hw_draft_fail_at(f->d, map, code, "the link %.*s has the unit %.*s",
                                STR_ARG(link), STR_ARG(choice));
    return HALLEY_OK;
}

static halley_status read_infragraph_link(infra_link *out, infra *f, const conf_node *map)
{
    const conf_node *physical = conf_find(map, "physical");
    out->bw_Bps = out->latency_s = HW_UNKNOWN;
    out->kind = hw_draft_name_kind(f->d, out->name);
    if (physical == NULL || physical->kind != CONF_MAP)
        physical = map;
    const conf_node *rate = conf_find(physical, "bandwidth");
    const conf_node *delay = conf_find(physical, "latency");
    if (rate != NULL && rate->kind == CONF_MAP)
        TRY(read_measure(&out->bw_Bps, f, rate, rate_units, out->name));
    if (delay != NULL && delay->kind == CONF_MAP)
        TRY(read_measure(&out->latency_s, f, delay, delay_units, out->name));
    return HALLEY_OK;
}

const infra_link *infra_find_link(const infra_links *links, const conf_node *name)
{
    for (uint32_t i = 0; name != NULL && name->kind == CONF_SCALAR && i < links->n; i++)
        if (str_eq(links->at[i].name, name->text))
            return &links->at[i];
    return NULL;
}

static halley_status read_infragraph_links(infra_links *out, infra *f,
                                           const conf_node *map)
{
    const conf_node *list;
    TRY(get_list(&list, f, map, "links"));
    out->at = arena_array(&f->memory, list->n + 1, sizeof *out->at);
    if (out->at == NULL)
        return error_nomem(f->d->err);
    for (uint32_t i = 0; i < list->n; i++) {
        TRY(get_infragraph_name(&out->at[i].name, f, list->items[i], "link"));
        if (infra_find_link(out, conf_find(list->items[i], "name")) != NULL)
            return hw_draft_fail_at(f->d, list->items[i], "duplicate-id",
                                    "the link %.*s is described twice",
                                    STR_ARG(out->at[i].name));
        TRY(read_infragraph_link(&out->at[i], f, list->items[i]));
        out->n++;
    }
    return HALLEY_OK;
}

static halley_status read_infragraph_choice(infra_choice *out, infra *f,
                                            const conf_node *map, str name)
{
    str choice = get_infragraph_text(map, "choice");
    for (int i = 0; choice.n == 0 && i < INFRA_N_CHOICES; i++)
        if (conf_find(map, choice_names[i]) != NULL)
            choice = str_from(choice_names[i]);
    if (choice.n == 0)
        choice = get_infragraph_text(map, "type");
    if (choice.n == 0)
        return hw_draft_fail_at(
            f->d, map, "missing-key",
            "the component %.*s has no choice (xpu, nic, switch, ...)", STR_ARG(name));
    *out = INFRA_CUSTOM;
    for (int i = 0; i < INFRA_N_CHOICES; i++)
        if (str_eq(choice, str_from(choice_names[i])))
            *out = (infra_choice)i;
    return HALLEY_OK;
}

static halley_status read_components(infra_device *device, infra *f)
{
    const conf_node *list;
    TRY(get_list(&list, f, device->node, "components"));
    device->components = arena_array(&f->memory, list->n + 1, sizeof *device->components);
    if (device->components == NULL)
        return error_nomem(f->d->err);
    for (uint32_t i = 0; i < list->n; i++) {
        infra_component *c = &device->components[i];
        TRY(get_infragraph_name(&c->name, f, list->items[i], "component"));
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(device->components[k].name, c->name))
                return hw_draft_fail_at(f->d, list->items[i], "duplicate-id",
                                        "the component %.*s is twice in device %.*s",
                                        STR_ARG(c->name), STR_ARG(device->name));
        TRY(read_infragraph_choice(&c->choice, f, list->items[i], c->name));
        TRY(get_infragraph_count(&c->count, f, list->items[i], c->name));
        device->n_components++;
    }
    return HALLEY_OK;
}

static uint32_t find_infra_device(const infra *f, str name)
{
    for (uint32_t i = 0; i < f->n_devices; i++)
        if (str_eq(f->devices[i].name, name))
            return i;
    return HW_NONE;
}

static halley_status read_infragraph_devices(infra *f)
{
    const conf_node *list;
    TRY(get_list(&list, f, f->root, "devices"));
    f->devices = arena_array(&f->memory, list->n + 1, sizeof *f->devices);
    if (f->devices == NULL)
        return error_nomem(f->d->err);
    for (uint32_t i = 0; i < list->n; i++) {
        infra_device *device = &f->devices[i];
        device->node = list->items[i];
        TRY(get_infragraph_name(&device->name, f, device->node, "device"));
        if (find_infra_device(f, device->name) != HW_NONE)
            return hw_draft_fail_at(f->d, device->node, "duplicate-id",
                                    "the device %.*s is described twice",
                                    STR_ARG(device->name));
        f->n_devices++;
        TRY(read_components(device, f));
        TRY(read_infragraph_links(&device->links, f, device->node));
    }
    return HALLEY_OK;
}

/* Compute offsets and sizes, inner devices first. */
static halley_status lay_out_device(infra *f, uint32_t id, uint32_t depth)
{
    infra_device *device = &f->devices[id];
    if (device->state == 1)
        return hw_draft_fail_at(f->d, device->node, "loop",
                                "the device %.*s contains itself", STR_ARG(device->name));
    if (device->state == 2)
        return HALLEY_OK;
    if (depth > MOST_DEPTH)
        return hw_draft_fail_at(f->d, device->node, "unsupported",
                                "devices are nested more than %d deep", MOST_DEPTH);
    device->state = 1;
    device->work = 1;
    for (uint32_t i = 0; i < device->n_components; i++) {
        infra_component *c = &device->components[i];
        c->device = HW_NONE;
        c->size = 1;
        c->offset = device->size;
        uint64_t work = 1;
        if (c->choice == INFRA_DEVICE) {
            c->device = find_infra_device(f, c->name);
            if (c->device == HW_NONE)
                return hw_draft_fail_at(
                    f->d, device->node, "dangling-id",
                    "the component %.*s of %.*s is a device that does "
                    "not exist",
                    STR_ARG(c->name), STR_ARG(device->name));
            TRY(lay_out_device(f, c->device, depth + 1));
            c->size = f->devices[c->device].size;
            work = f->devices[c->device].work;
        }
        device->size += c->count * c->size;
        device->work += c->count * work;
        if (device->size > hw_draft_limit(f->d) || device->work > hw_draft_limit(f->d))
            return hw_draft_fail_at(f->d, device->node, "unsupported",
                                    "the device %.*s has more than %u parts",
                                    STR_ARG(device->name), hw_draft_limit(f->d));
    }
    device->state = 2;
    return HALLEY_OK;
}

static halley_status read_instance(infra_instance *out, infra *f, const conf_node *map)
{
    TRY(get_infragraph_name(&out->name, f, map, "instance"));
    for (uint32_t i = 0; i < f->n_instances; i++)
        if (str_eq(f->instances[i].name, out->name))
            return hw_draft_fail_at(f->d, map, "duplicate-id",
                                    "the instance %.*s is described twice",
                                    STR_ARG(out->name));
    const str device = get_infragraph_text(map, "device");
    if (device.n == 0)
        return hw_draft_fail_at(f->d, map, "missing-key",
                                "the instance %.*s has no device", STR_ARG(out->name));
    out->device = find_infra_device(f, device);
    if (out->device == HW_NONE)
        return hw_draft_fail_at(
            f->d, map, "dangling-id",
            "the instance %.*s is of device %.*s, which does not exist",
            STR_ARG(out->name), STR_ARG(device));
    return get_infragraph_count(&out->count, f, map, out->name);
}

static halley_status read_instances(infra *f)
{
    const conf_node *list;
    uint64_t base = 0, work = 0;
    TRY(get_list(&list, f, f->root, "instances"));
    if (list->n == 0)
        return hw_draft_fail(f->d, 0, "missing-key", "no instances: nothing to build");
    f->instances = arena_array(&f->memory, list->n, sizeof *f->instances);
    if (f->instances == NULL)
        return error_nomem(f->d->err);
    for (uint32_t i = 0; i < list->n; i++) {
        infra_instance *instance = &f->instances[i];
        TRY(read_instance(instance, f, list->items[i]));
        instance->base = base;
        base += instance->count * f->devices[instance->device].size;
        work += instance->count * f->devices[instance->device].work;
        if (base > hw_draft_limit(f->d) || work > hw_draft_limit(f->d))
            return hw_draft_fail_at(f->d, list->items[i], "unsupported",
                                    "the instances have more than %u parts",
                                    hw_draft_limit(f->d));
        f->n_instances++;
    }
    return HALLEY_OK;
}

static halley_status refuse_old(infra *f, const conf_node *at)
{
    return hw_draft_fail_at(f->d, at, "unsupported",
                            "this is InfraGraph before 2.0 (connections); convert it to "
                            "2.x (edges)");
}

/* Files before 2.0 have connections, at the top level or in a device. */
static halley_status check_version(infra *f)
{
    const conf_node *list = conf_find(f->root, "devices");
    if (conf_find(f->root, "connections") != NULL)
        return refuse_old(f, f->root);
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++)
        if (list->items[i]->kind == CONF_MAP &&
            conf_find(list->items[i], "connections") != NULL)
            return refuse_old(f, list->items[i]);
    return HALLEY_OK;
}

static halley_status check_root(infra *f)
{
    static const char *const keys[] = {"name",  "description", "devices",
                                       "links", "instances",   "edges"};
    if (f->root->kind != CONF_MAP)
        return hw_draft_fail_at(f->d, f->root, "bad-root", "a map is expected");
    TRY(check_version(f));
    for (uint32_t i = 0; i < f->root->n; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            known |= str_eq(f->root->keys[i], str_from(keys[k]));
        if (!known)
            return hw_draft_fail_at(f->d, f->root->items[i], "unknown-key",
                                    "\"%.*s\" is no key of InfraGraph",
                                    STR_ARG(f->root->keys[i]));
    }
    return HALLEY_OK;
}

/* Read and check the devices, links and instances of the file. */
static halley_status read_infra_parts(infra *f)
{
    TRY(check_root(f));
    TRY(read_infragraph_devices(f));
    for (uint32_t i = 0; i < f->n_devices; i++)
        TRY(lay_out_device(f, i, 0));
    TRY(read_infragraph_links(&f->links, f, f->root));
    return read_instances(f);
}

static void free_infra(infra *f)
{
    for (uint32_t i = 0; i < f->n_devices; i++)
        array_fini(&f->devices[i].pairs);
    arena_fini(&f->memory);
}

static halley_status read_infragraph(hw_draft *d)
{
    conf_file file;
    TRY(hw_draft_parse_conf(&file, d));
    infra f = {.d = d, .root = file.root};
    const conf_node *inner =
        file.root->kind == CONF_MAP ? conf_find(file.root, "infrastructure") : NULL;
    if (inner != NULL)
        f.root = inner;
    halley_status status = read_infra_parts(&f);
    if (status == HALLEY_OK)
        status = infra_build(&f);
    free_infra(&f);
    conf_fini(&file);
    return status;
}

const hw_import_format hw_import_infragraph = {
    .row = {.name = "infragraph",
            .doc = "InfraGraph 2.x of the Chakra group, YAML or JSON",
            .read = hw_import_read,
            .is_map = true},
    .read = read_infragraph};
