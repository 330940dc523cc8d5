/*
 * net/flow/cases_read.c - reads flow files token by token.
 */
#include "base/array.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/number/number.h"
#include "base/number/whole.h"
#include "net/flow/cases.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef ARRAY(net_flow_hop) hop_list;
typedef ARRAY(net_case_flow) flow_list;
typedef ARRAY(net_case_change) change_list;
typedef ARRAY(double) double_list;

/* One case while it is read. */
typedef struct case_reader {
    json_reader json;
    net_flow_cases *out;
    ARRAY(net_flow_case) cases;
    double_list links;
    flow_list flows;
    change_list changes;
    hop_list hops;
} case_reader;

static halley_status fail_at(const case_reader *r, halley_error *err, const char *what)
{
    return json_error(&r->json, err, what);
}

static halley_status read_number(double *out, case_reader *r, json_token token,
                                 const char *what, halley_error *err)
{
    if (token != JSON_NUMBER || !number_read(r->json.text, out) || !isfinite(*out))
        return fail_at(r, err, token == JSON_ERROR ? NULL : what);
    return HALLEY_OK;
}

static halley_status next_number(double *out, case_reader *r, const char *what,
                                 halley_error *err)
{
    return read_number(out, r, json_next(&r->json), what, err);
}

static halley_status expect_token(case_reader *r, json_token want, const char *what,
                                  halley_error *err)
{
    const json_token token = json_next(&r->json);
    if (token == want)
        return HALLEY_OK;
    return fail_at(r, err, token == JSON_ERROR ? NULL : what);
}

/* Read the items of a list, each with a function. The opening bracket comes first. */
typedef halley_status read_item(case_reader *r, json_token first, halley_error *err);
static halley_status read_list(case_reader *r, read_item *item, const char *what,
                               halley_error *err)
{
    TRY(expect_token(r, JSON_ARRAY, what, err));
    for (;;) {
        const json_token token = json_next(&r->json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token == JSON_ERROR || token == JSON_END)
            return fail_at(r, err, token == JSON_ERROR ? NULL : "the list is not closed");
        TRY(item(r, token, err));
    }
}

/* [from, to, B/s, s] */
static halley_status read_link(case_reader *r, json_token first, halley_error *err)
{
    static const char what[] = "a link is [from, to, B/s, s]";
    double n[4] = {0};
    if (first != JSON_ARRAY)
        return fail_at(r, err, what);
    for (int i = 0; i < 4; i++)
        TRY(next_number(&n[i], r, what, err));
    TRY(expect_token(r, JSON_ARRAY_END, what, err));
    if (n[2] != 0 && !(n[2] >= 1e3 && n[2] <= 128e12))
        return fail_at(
            r, err, "the capacity of a link must be 0, or between 1 kB/s and 128 TB/s");
    return array_push(&r->links, n[2]) ? HALLEY_OK : error_nomem(err);
}

/* [s, link, B/s] */
static halley_status read_change(case_reader *r, json_token first, halley_error *err)
{
    static const char what[] = "a change is [s, link, B/s]";
    double n[3] = {0};
    if (first != JSON_ARRAY)
        return fail_at(r, err, what);
    for (int i = 0; i < 3; i++)
        TRY(next_number(&n[i], r, what, err));
    TRY(expect_token(r, JSON_ARRAY_END, what, err));
    if (!(n[0] >= 0 && n[0] < 1e6) || !(n[1] >= 0 && n[1] < 1e9) || n[1] != floor(n[1]) ||
        (n[2] != 0 && !(n[2] >= 1e3 && n[2] <= 128e12)))
        return fail_at(r, err,
                       "a change is [s, link, B/s] with a time from 0 on, a link of the "
                       "case and 0 or 1 kB/s to 128 TB/s");
    const net_case_change change = {n[0], n[2], whole_u32(n[1])};
    return array_push(&r->changes, change) ? HALLEY_OK : error_nomem(err);
}

/* A link, or [link, num, den]. */
static halley_status read_hop(case_reader *r, json_token first, halley_error *err)
{
    static const char what[] = "a route is a list of links or [link, num, den]";
    double n[3] = {0, 1, 1};
    if (first == JSON_ARRAY) {
        for (int i = 0; i < 3; i++)
            TRY(next_number(&n[i], r, what, err));
        TRY(expect_token(r, JSON_ARRAY_END, what, err));
    } else {
        TRY(read_number(&n[0], r, first, what, err));
    }
    if (!(n[0] >= 0 && n[0] < 1e9) || n[0] != floor(n[0]))
        return fail_at(r, err, "a route names a link that does not exist");
    if (!(n[1] > 0) || !(n[2] > 0) || n[1] / n[2] < 0x1p-39 || n[1] / n[2] > 0x1p17)
        return fail_at(r, err, "a coefficient must be between 2^-39 and 2^17");
    double share = n[1] / n[2] * 0x1p40;
    if (n[1] == floor(n[1]) && n[2] == floor(n[2]) && n[1] < 0x1p53 && n[2] < 0x1p53) {
        __extension__ typedef unsigned __int128 wide;
        share = (double)(uint64_t)(((wide)whole_u64(n[1]) << 40) / whole_u64(n[2]));
    }
    const net_flow_hop hop = {whole_u32(n[0]), whole_u64(share)};
    return array_push(&r->hops, hop) ? HALLEY_OK : error_nomem(err);
}

static void *copy_array(case_reader *r, const void *at, size_t n, size_t size)
{
    void *copy = arena_array(&r->out->memory, n + 1, size);
    if (copy != NULL && n > 0)
        memcpy(copy, at, n * size);
    return copy;
}

static halley_status read_route(case_reader *r, net_case_flow *flow, halley_error *err)
{
    r->hops.n = 0;
    TRY(read_list(r, read_hop, "route must be a list", err));
    if (r->hops.n > NET_FLOW_MAX_HOPS)
        return fail_at(r, err, "a route has too many links");
    flow->hops = copy_array(r, r->hops.at, r->hops.n, sizeof *r->hops.at);
    flow->n_hops = (uint32_t)r->hops.n;
    return flow->hops == NULL ? error_nomem(err) : HALLEY_OK;
}

/* The field of a flow for a key with a number; "events" is a count. */
static double *find_member(net_case_flow *flow, str key)
{
    const struct {
        const char *name;
        double *member;
    } members[] = {{"start", &flow->start_s},       {"bytes", &flow->bytes},
                   {"cap", &flow->cap_Bps},         {"latency", &flow->latency_s},
                   {"rate", &flow->want_rate_Bps},  {"drain", &flow->want_drain_s},
                   {"finish", &flow->want_finish_s}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (str_eq(key, str_from(members[i].name)))
            return members[i].member;
    return NULL;
}

static halley_status read_flow_value(case_reader *r, net_case_flow *flow, str key,
                                     halley_error *err)
{
    double events = 0;
    if (str_eq(key, STR("route")))
        return read_route(r, flow, err);
    double *member = find_member(flow, key);
    const bool is_events = str_eq(key, STR("events"));
    const json_token token = json_next(&r->json);
    if (member == NULL && !is_events)
        return json_skip(&r->json, token) ? HALLEY_OK : fail_at(r, err, NULL);
    if (token == JSON_NULL)
        return HALLEY_OK;
    TRY(read_number(is_events ? &events : member, r, token, "a number is expected", err));
    if (is_events)
        flow->want_events = events >= 0 && events < 1e15 ? (uint64_t)events : 0;
    return HALLEY_OK;
}

static halley_status check_flow(case_reader *r, const net_case_flow *flow, bool has_route,
                                halley_error *err)
{
    if (!(flow->start_s >= 0 && flow->start_s <= 1e6))
        return fail_at(r, err, "start must be between 0 and 1e6 s");
    if (!(flow->bytes >= 0 && flow->bytes <= 1e18))
        return fail_at(r, err, "bytes must be between 0 and 1e18");
    if (!(flow->latency_s >= 0))
        return fail_at(r, err, "latency must not be negative");
    if (flow->cap_Bps != 0 && !(flow->cap_Bps >= 1e-3))
        return fail_at(r, err, "cap must be positive");
    if (!has_route)
        return fail_at(r, err, "a flow needs a route");
    if (flow->n_hops == 0 && flow->cap_Bps == 0 && flow->bytes > 0)
        return fail_at(r, err, "a flow with an empty route needs a cap");
    return HALLEY_OK;
}

static halley_status read_flow(case_reader *r, json_token first, halley_error *err)
{
    net_case_flow flow = {.want_rate_Bps = -1, .want_drain_s = -1, .want_finish_s = -1};
    bool has_route = false;
    if (first != JSON_OBJECT)
        return fail_at(r, err, "a flow is an object with start, bytes and route");
    for (;;) {
        const json_token token = json_next(&r->json);
        if (token == JSON_OBJECT_END)
            break;
        if (token != JSON_KEY)
            return fail_at(r, err, NULL);
        const str key = r->json.text;
        has_route |= str_eq(key, STR("route"));
        TRY(read_flow_value(r, &flow, key, err));
    }
    TRY(check_flow(r, &flow, has_route, err));
    return array_push(&r->flows, flow) ? HALLEY_OK : error_nomem(err);
}

/* Merge links that occur twice in a route into one with the sum of both. */
static void merge_hops(net_case_flow *flow, uint32_t *place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < flow->n_hops; i++) {
        const net_flow_hop hop = flow->hops[i];
        if (place[hop.link] < n && flow->hops[place[hop.link]].link == hop.link) {
            flow->hops[place[hop.link]].coefficient += hop.coefficient;
            continue;
        }
        place[hop.link] = n;
        flow->hops[n++] = hop;
    }
    flow->n_hops = n;
}

/* Check that all links that flows and changes name exist. */
static halley_status check_links(case_reader *r, halley_error *err)
{
    for (size_t i = 0; i < r->changes.n; i++)
        if (r->changes.at[i].link >= r->links.n)
            return fail_at(r, err, "a change names a link that does not exist");
    for (size_t i = 0; i < r->flows.n; i++)
        for (uint32_t k = 0; k < r->flows.at[i].n_hops; k++)
            if (r->flows.at[i].hops[k].link >= r->links.n)
                return fail_at(r, err, "a route names a link that does not exist");
    uint32_t *place = mem_array_zero(r->links.n, sizeof *place);
    if (place == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < r->flows.n; i++)
        merge_hops(&r->flows.at[i], place);
    free(place);
    return HALLEY_OK;
}

static halley_status close_case(case_reader *r, const char *id, halley_error *err)
{
    TRY(check_links(r, err));
    net_flow_case c = {.id = id,
                       .n_links = (uint32_t)r->links.n,
                       .n_flows = (uint32_t)r->flows.n,
                       .n_changes = (uint32_t)r->changes.n};
    c.link_Bps = copy_array(r, r->links.at, r->links.n, sizeof *r->links.at);
    c.flows = copy_array(r, r->flows.at, r->flows.n, sizeof *r->flows.at);
    c.changes = copy_array(r, r->changes.at, r->changes.n, sizeof *r->changes.at);
    r->links.n = r->flows.n = r->changes.n = 0;
    if (c.link_Bps == NULL || c.flows == NULL || c.changes == NULL ||
        !array_push(&r->cases, c))
        return error_nomem(err);
    return HALLEY_OK;
}

static halley_status read_id(case_reader *r, const char **id, halley_error *err)
{
    const json_token token = json_next(&r->json);
    if (token != JSON_STRING && token != JSON_NUMBER)
        return fail_at(r, err, token == JSON_ERROR ? NULL : "id must be a text");
    *id = arena_copy(&r->out->memory, r->json.text);
    return *id == NULL ? error_nomem(err) : HALLEY_OK;
}

static halley_status read_case(case_reader *r, json_token first, halley_error *err)
{
    const char *id = "";
    if (first != JSON_OBJECT)
        return fail_at(r, err, "a case is an object with id, links and flows");
    for (;;) {
        const json_token token = json_next(&r->json);
        if (token == JSON_OBJECT_END)
            return close_case(r, id, err);
        if (token != JSON_KEY)
            return fail_at(r, err, NULL);
        const str key = r->json.text;
        if (str_eq(key, STR("id")))
            TRY(read_id(r, &id, err));
        else if (str_eq(key, STR("links")))
            TRY(read_list(r, read_link, "links must be a list", err));
        else if (str_eq(key, STR("flows")))
            TRY(read_list(r, read_flow, "flows must be a list", err));
        else if (str_eq(key, STR("changes")))
            TRY(read_list(r, read_change, "changes must be a list", err));
        else if (!json_skip(&r->json, json_next(&r->json)))
            return fail_at(r, err, NULL);
    }
}

static halley_status read_file(case_reader *r, halley_error *err)
{
    bool has_cases = false;
    TRY(expect_token(r, JSON_OBJECT, "a flow file is an object with cases", err));
    for (;;) {
        const json_token token = json_next(&r->json);
        if (token == JSON_OBJECT_END)
            break;
        if (token != JSON_KEY)
            return fail_at(r, err, NULL);
        if (str_eq(r->json.text, STR("cases"))) {
            TRY(read_list(r, read_case, "cases must be a list", err));
            has_cases = true;
        } else if (!json_skip(&r->json, json_next(&r->json))) {
            return fail_at(r, err, NULL);
        }
    }
    TRY(expect_token(r, JSON_END, "the file goes on after its end", err));
    return has_cases ? HALLEY_OK
                     : error_set(err, HALLEY_EFORMAT,
                                 "the file has no \"cases\": it is no flow file");
}

halley_status net_flow_cases_parse(net_flow_cases **out, str text, halley_error *err)
{
    case_reader r = {0};
    r.out = mem_array_zero(1, sizeof *r.out);
    if (r.out == NULL)
        return error_nomem(err);
    json_open(&r.json, text);
    halley_status status = read_file(&r, err);
    if (status == HALLEY_OK) {
        r.out->at = copy_array(&r, r.cases.at, r.cases.n, sizeof *r.cases.at);
        r.out->n = (uint32_t)r.cases.n;
        status = r.out->at == NULL ? error_nomem(err) : HALLEY_OK;
    }
    json_close(&r.json);
    array_fini(&r.cases);
    array_fini(&r.links);
    array_fini(&r.flows);
    array_fini(&r.changes);
    array_fini(&r.hops);
    if (status == HALLEY_OK)
        *out = r.out;
    else
        net_flow_cases_free(r.out);
    return status;
}

halley_status net_flow_cases_load(net_flow_cases **out, const char *path,
                                  halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status =
        net_flow_cases_parse(out, (str){(const char *)in.at, in.n}, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    file_input_close(&in);
    return status;
}

void net_flow_cases_free(net_flow_cases *cases)
{
    if (cases == NULL)
        return;
    arena_fini(&cases->memory);
    free(cases);
}
