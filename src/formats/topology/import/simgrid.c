/*
 * topology/import/simgrid.c - SimGrid platforms (XML 4.1) in the form that halley writes:
 * hosts (NPUs), routers, links, and one route over one link per cable.
 */
#include "base/number/number.h"
#include "topology/import/draft.h"

#include <string.h>
#include <strings.h>

typedef struct simgrid_link {
    double bw_Bps, latency_s;
    bool is_shared, is_fat_pipe, used;
} simgrid_link;

typedef struct simgrid_reader {
    hw_draft *d;
    arena memory;
    intern names;
    ARRAY(simgrid_link) links;
    uint32_t n_half_duplex, n_long_routes, n_loopbacks;
    uint32_t n_unread; /* elements with links or routes in a form that is not supported */
    str first_unread;
} simgrid_reader;

static halley_status get_attribute(str *out, simgrid_reader *r, const hw_xml *e,
                                   const char *key)
{
    if (hw_xml_text(e, key, &r->memory, out) && out->n > 0)
        return HALLEY_OK;
    return hw_draft_fail(r->d, e->line, "missing-key", "<%.*s> has no %s",
                         STR_ARG(e->name), key);
}

/* In SimGrid, a number without a unit is in B/s. */
static bool read_simgrid_rate(str text, double *out)
{
    return number_read(str_trim(text), out) || hw_read_rate(str_trim(text), out);
}

static halley_status read_simgrid_link(simgrid_reader *r, const hw_xml *e)
{
    str id, rate, delay, policy = STR("SHARED");
    simgrid_link link = {0};
    TRY(get_attribute(&id, r, e, "id"));
    TRY(get_attribute(&rate, r, e, "bandwidth"));
    const uint32_t at = intern_add(&r->names, id);
    if (at == HASH_NONE)
        return error_nomem(r->d->err);
    if (at < r->links.n)
        return hw_draft_fail(r->d, e->line, "duplicate-id",
                             "the link %.*s is there twice", STR_ARG(id));
    if (!read_simgrid_rate(rate, &link.bw_Bps) || !(link.bw_Bps > 0))
        return hw_draft_fail(r->d, e->line, "bad-rate",
                             "the link %.*s has the bandwidth \"%.*s\"", STR_ARG(id),
                             STR_ARG(rate));
    if (hw_xml_attribute(e, "latency", &delay) &&
        (!hw_read_delay(str_trim(delay), &link.latency_s) || !(link.latency_s >= 0)))
        return hw_draft_fail(r->d, e->line, "bad-delay",
                             "the link %.*s has the latency \"%.*s\"", STR_ARG(id),
                             STR_ARG(delay));
    hw_xml_attribute(e, "sharing_policy", &policy);
    link.is_shared = str_eq(policy, STR("SHARED"));
    link.is_fat_pipe = str_eq(policy, STR("FATPIPE"));
    return array_push(&r->links, link) ? HALLEY_OK : error_nomem(r->d->err);
}

static bool is_one_of(str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (str_eq(name, str_from(*names)))
            return true;
    return false;
}

/* Refuse short forms of many hosts or links that SimGrid expands: without them there
 * would be no network. Other unsupported elements contain a part of the wiring and are
 * counted. */
static halley_status check_form(simgrid_reader *r, const hw_xml *e)
{
    static const char *const short_forms[] = {"cluster", "cabinet", "peer", "include",
                                              NULL};
    static const char *const wiring[] = {
        "zoneRoute",     "ASroute",   "bypassRoute", "bypassZoneRoute",
        "bypassASroute", "host_link", "backbone",    NULL};
    if (is_one_of(e->name, short_forms))
        return hw_draft_fail(r->d, e->line, "unsupported",
                             "<%.*s> is not read; use zones with hosts, routers and "
                             "routes",
                             STR_ARG(e->name));
    if (is_one_of(e->name, wiring) && r->n_unread++ == 0)
        r->first_unread = e->name;
    return HALLEY_OK;
}

/* Read devices and links of all zones. */
static halley_status read_declared(simgrid_reader *r, const hw_xml *e)
{
    str id;
    for (const hw_xml *c = e->first; c != NULL; c = c->next) {
        const bool is_host = str_eq(c->name, STR("host"));
        TRY(check_form(r, c));
        if (is_host || str_eq(c->name, STR("router"))) {
            TRY(get_attribute(&id, r, c, "id"));
            TRY(hw_draft_add_device(
                NULL, r->d, is_host ? HW_DEVICE_NPU : HW_DEVICE_SWITCH, id, c->line));
        } else if (str_eq(c->name, STR("link"))) {
            TRY(read_simgrid_link(r, c));
        }
        TRY(read_declared(r, c));
    }
    return HALLEY_OK;
}

static halley_status find_route_end(uint32_t *out, simgrid_reader *r, const hw_xml *e,
                                    const char *key)
{
    str id;
    TRY(get_attribute(&id, r, e, key));
    *out = hw_draft_find(r->d, id);
    if (*out == HW_NONE)
        return hw_draft_fail(r->d, e->line, "dangling-link",
                             "a route names %.*s, which does not exist", STR_ARG(id));
    return HALLEY_OK;
}

static halley_status read_simgrid_route(simgrid_reader *r, const hw_xml *e)
{
    str id, symmetrical = STR("YES");
    uint32_t n = 0;
    hw_draft_link link = {0};
    for (const hw_xml *c = e->first; c != NULL; c = c->next)
        n += str_eq(c->name, STR("link_ctn"));
    if (n != 1) {
        r->n_long_routes++;
        return HALLEY_OK;
    }
    TRY(get_attribute(&id, r, hw_xml_child(e, "link_ctn"), "id"));
    const uint32_t at = intern_find(&r->names, id);
    if (at == HASH_NONE)
        return hw_draft_fail(r->d, e->line, "dangling-link",
                             "a route uses the link %.*s, which does not exist",
                             STR_ARG(id));
    simgrid_link *used = &r->links.at[at];
    TRY(find_route_end(&link.from, r, e, "src"));
    TRY(find_route_end(&link.to, r, e, "dst"));
    if (link.from == link.to && used->is_fat_pipe) {
        r->n_loopbacks++; /* the speed at which a host copies to itself: no cable */
        return HALLEY_OK;
    }
    if (used->used && !used->is_fat_pipe)
        return hw_draft_fail(r->d, e->line, "duplicate-id",
                             "the link %.*s is used by two routes", STR_ARG(id));
    used->used = true;
    hw_xml_attribute(e, "symmetrical", &symmetrical);
    link.one_way = symmetrical.n == 2 && strncasecmp(symmetrical.at, "NO", 2) == 0;
    r->n_half_duplex += used->is_shared && !link.one_way;
    link.bw_Bps = used->bw_Bps;
    link.latency_s = used->latency_s;
    return hw_draft_add_link(r->d, &link, e->line);
}

static halley_status read_routes(simgrid_reader *r, const hw_xml *e)
{
    for (const hw_xml *c = e->first; c != NULL; c = c->next) {
        if (str_eq(c->name, STR("route")))
            TRY(read_simgrid_route(r, c));
        TRY(read_routes(r, c));
    }
    return HALLEY_OK;
}

static halley_status read_platform(simgrid_reader *r, const hw_xml *root)
{
    if (!str_eq(root->name, STR("platform")))
        return hw_draft_fail(r->d, root->line, "bad-root",
                             "<%.*s>; <platform> is expected", STR_ARG(root->name));
    TRY(read_declared(r, root));
    TRY(read_routes(r, root));
    if (r->n_half_duplex > 0)
        hw_draft_warn(r->d,
                      "%u links are half duplex in SimGrid (SHARED) and read as full "
                      "duplex",
                      r->n_half_duplex);
    if (r->n_long_routes > 0)
        hw_draft_warn(r->d,
                      "%u routes over several links are not cables and are left out",
                      r->n_long_routes);
    if (r->n_loopbacks > 0)
        hw_draft_warn(r->d, "%u loopbacks of hosts are not cables and are left out",
                      r->n_loopbacks);
    if (r->n_unread > 0)
        hw_draft_warn(r->d,
                      "%u elements with links or routes are not read, the first <%.*s>: "
                      "cables are missing",
                      r->n_unread, STR_ARG(r->first_unread));
    return HALLEY_OK;
}

static halley_status read_simgrid(hw_draft *d)
{
    simgrid_reader r = {.d = d};
    hw_xml *root;
    halley_status status = hw_xml_parse(&root, &r.memory, d);
    if (status == HALLEY_OK)
        status = read_platform(&r, root);
    intern_fini(&r.names);
    array_fini(&r.links);
    arena_fini(&r.memory);
    return status;
}

const hw_import_format hw_import_simgrid = {.row = {.name = "simgrid",
                                                    .doc = "SimGrid platforms, XML 4.1",
                                                    .read = hw_import_read},
                                            .read = read_simgrid};
