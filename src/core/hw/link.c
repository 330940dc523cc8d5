/* Reads link and fabric files: what the collective library achieves on the wires. */
#include "hw/link.h"

#include "hw/embedded.h"
#include "hw/npu.h"
#include "hw/schema.h"

#include <stddef.h>

#define PROTOCOL(key, unit, member, doc)                                                 \
    CONF_FIELD(halley_protocol, key, CONF_TYPE_QUANTITY, unit, member, false, doc)
static const conf_field protocol_fields[] = {
    PROTOCOL("extra", UNITS_TIME, extra_s, "fixed time beyond the launch"),
    PROTOCOL("hop", UNITS_TIME, hop_s, "one neighbour step"),
    PROTOCOL("ramp", UNITS_TIME, ramp_s, "fixed time that grows in with size"),
    PROTOCOL("ramp-size", UNITS_BYTES, ramp_bytes, "size at which half of it shows"),
    PROTOCOL("share", UNITS_SHARE, share, "of the link"),
    PROTOCOL("copy-share", UNITS_SHARE, copy_share, "of the link, local copy"),
};

const hw_part hw_part_protocol = {"protocol", "link.simple", HW_FIELDS(protocol_fields)};

typedef struct tuner_text {
    double ring, ll, ll128, in_switch;
    const conf_node *hop, *base;
} tuner_text;
#define TUNER(key, type, unit, member, doc)                                              \
    CONF_FIELD(tuner_text, key, type, unit, member, false, doc)
static const conf_field tuner_fields[] = {
    TUNER("ring", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, ring, "believed bus bandwidth"),
    TUNER("ll", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, ll, "the same, LL"),
    TUNER("ll128", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, ll128,
          "the same, LL128; 0 = off"),
    TUNER("in-switch", CONF_TYPE_DOUBLE, UNITS_COUNT, in_switch, "share in the switch"),
    TUNER("hop", CONF_TYPE_NODE, UNITS_COUNT, hop, "believed step times"),
    TUNER("base", CONF_TYPE_NODE, UNITS_COUNT, base, "believed base times"),
};

typedef struct link_text {
    str name;
    double bandwidth, launch, overlap, integer;
    const conf_node *ll, *ll128, *simple, *in_switch, *peer_small, *peer, *tuner,
        *ring_factor, *peer_factor, *tuner_factor, *sources;
    uint32_t in_switch_from;
    bool torus;
} link_text;
#define LINK(key, type, unit, member, required, doc)                                     \
    CONF_FIELD(link_text, key, type, unit, member, required, doc)
static const conf_field link_fields[] = {
    LINK("name", CONF_TYPE_TEXT, UNITS_COUNT, name, true, "name of the link"),
    LINK("bandwidth", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, bandwidth, true,
         "per direction and NPU"),
    LINK("launch", CONF_TYPE_QUANTITY, UNITS_TIME, launch, true, "of a collective"),
    LINK("ll", CONF_TYPE_NODE, UNITS_COUNT, ll, false, "protocol for small messages"),
    LINK("ll128", CONF_TYPE_NODE, UNITS_COUNT, ll128, false, "for middling ones"),
    LINK("simple", CONF_TYPE_NODE, UNITS_COUNT, simple, true, "for large ones"),
    LINK("in-switch", CONF_TYPE_NODE, UNITS_COUNT, in_switch, false, "switch reduces"),
    LINK("peer-small", CONF_TYPE_NODE, UNITS_COUNT, peer_small, false,
         "all-to-all, small"),
    LINK("peer", CONF_TYPE_NODE, UNITS_COUNT, peer, false, "all-to-all, large"),
    LINK("simple-overlap", CONF_TYPE_DOUBLE, UNITS_COUNT, overlap, false,
         "how far step latency hides"),
    LINK("integer-slowdown", CONF_TYPE_DOUBLE, UNITS_COUNT, integer, false,
         "of integer reductions"),
    LINK("tuner", CONF_TYPE_NODE, UNITS_COUNT, tuner, false, "what the library believes"),
    LINK("tuner-ring-factor", CONF_TYPE_NODE, UNITS_COUNT, tuner_factor, false,
         "by group size"),
    LINK("ring-factor", CONF_TYPE_NODE, UNITS_COUNT, ring_factor, false, "by group size"),
    LINK("peer-factor", CONF_TYPE_NODE, UNITS_COUNT, peer_factor, false, "by group size"),
    LINK("in-switch-from", CONF_TYPE_U32, UNITS_COUNT, in_switch_from, false,
         "ranks from which the switch reduces"),
    LINK("torus", CONF_TYPE_BOOL, UNITS_COUNT, torus, false, "rings of a torus"),
    LINK("sources", CONF_TYPE_NODE, UNITS_COUNT, sources, false, "origin of the numbers"),
};

static halley_status read_protocol(halley_protocol *out, const conf_file *file,
                                   const conf_node *map, halley_error *err)
{
    if (!map)
        return HALLEY_OK;
    return conf_read(out, file, map, protocol_fields,
                     sizeof protocol_fields / sizeof *protocol_fields, true, NULL, err);
}

typedef struct factor_text {
    uint32_t size;
    double value;
} factor_text;

/* Read [{size: 4, value: 0.5}, ...] into a table by group size. */
static halley_status read_factors(double out[17], const conf_file *file,
                                  const conf_node *list, halley_error *err)
{
    static const conf_field fields[] = {
        {.key = "size",
         .type = CONF_TYPE_U32,
         .offset = offsetof(factor_text, size),
         .required = true,
         .min = 1,
         .max = 16,
         .doc = "ranks of a group"},
        {.key = "value",
         .type = CONF_TYPE_DOUBLE,
         .offset = offsetof(factor_text, value),
         .required = true,
         .doc = "factor of the bandwidth"},
    };
    if (!list)
        return HALLEY_OK;
    if (list->kind != CONF_LIST)
        return conf_error(file, list, err, HALLEY_EFORMAT,
                          "expected a list of {size: ..., value: ...}");
    for (uint32_t i = 0; i < list->n; i++) {
        factor_text t = {0};
        TRY(conf_read(&t, file, list->items[i], fields, 2, true, NULL, err));
        out[t.size] = t.value;
    }
    return HALLEY_OK;
}

static halley_status read_tuner(halley_link *out, const conf_file *file,
                                const conf_node *map, halley_error *err)
{
    tuner_text t = {.ring = out->bandwidth_Bps * 0.8, .ll = out->bandwidth_Bps * 0.3};
    if (map)
        TRY(conf_read(&t, file, map, tuner_fields,
                      sizeof tuner_fields / sizeof *tuner_fields, true, NULL, err));
    out->tuner_ring_Bps = t.ring;
    out->tuner_ll_Bps = t.ll;
    out->tuner_ll128_Bps = t.ll128;
    out->tuner_in_switch = t.in_switch;
    TRY(cluster_list_read(out->tuner_hop_s, 3, NULL, file, t.hop, UNITS_TIME, "hop",
                          err));
    return cluster_list_read(out->tuner_base_s, 4, NULL, file, t.base, UNITS_TIME, "base",
                             err);
}

static halley_status read_tables(halley_link *out, const conf_file *file,
                                 const link_text *t, halley_error *err)
{
    TRY(read_protocol(&out->ll, file, t->ll, err));
    TRY(read_protocol(&out->ll128, file, t->ll128, err));
    TRY(read_protocol(&out->simple, file, t->simple, err));
    TRY(read_protocol(&out->in_switch, file, t->in_switch, err));
    TRY(read_protocol(&out->peer_small, file, t->peer_small, err));
    TRY(read_protocol(&out->peer, file, t->peer, err));
    TRY(read_factors(out->ring_factor, file, t->ring_factor, err));
    TRY(read_factors(out->peer_factor, file, t->peer_factor, err));
    TRY(read_factors(out->tuner_factor, file, t->tuner_factor, err));
    return read_tuner(out, file, t->tuner, err);
}

halley_status cluster_link_read(halley_link *out, const conf_file *file,
                                const conf_node *map, halley_error *err)
{
    link_text t = {.overlap = 0.7};
    TRY(conf_read(&t, file, map, link_fields, sizeof link_fields / sizeof *link_fields,
                  true, NULL, err));
    if (!(t.bandwidth > 0))
        return conf_error(file, map, err, HALLEY_EINVAL, "bandwidth must be positive");
    *out = (halley_link){.bandwidth_Bps = t.bandwidth,
                         .launch_s = t.launch,
                         .simple_overlap = t.overlap,
                         .int_slowdown = t.integer,
                         .in_switch_min = t.in_switch_from,
                         .all_to_all = t.torus ? HALLEY_A2A_ROUND : HALLEY_A2A_IN_TURN,
                         .torus = t.torus};
    TRY(cluster_name_copy(out->name, t.name, err));
    return read_tables(out, file, &t, err);
}

typedef struct fabric_text {
    str name;
    double bandwidth, share;
    const conf_node *hop, *sources;
} fabric_text;
static const conf_field fabric_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(fabric_text, name),
     .required = true,
     .doc = "name of the network"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(fabric_text, bandwidth),
     .required = true,
     .doc = "per direction and NPU"},
    {.key = "hop",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(fabric_text, hop),
     .required = true,
     .doc = "step between nodes: LL, LL128, Simple"},
    {.key = "share",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_SHARE,
     .offset = offsetof(fabric_text, share),
     .doc = "of the bandwidth that is reached"},
    {.key = "sources",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(fabric_text, sources),
     .doc = "origin of the numbers"},
};

halley_status cluster_fabric_read(halley_fabric *out, const conf_file *file,
                                  const conf_node *map, halley_error *err)
{
    fabric_text t = {.share = HW_FABRIC_SHARE};
    TRY(conf_read(&t, file, map, fabric_fields,
                  sizeof fabric_fields / sizeof *fabric_fields, true, NULL, err));
    if (!(t.bandwidth > 0))
        return conf_error(file, map, err, HALLEY_EINVAL, "bandwidth must be positive");
    *out = (halley_fabric){.bandwidth_Bps = t.bandwidth, .share = t.share};
    TRY(cluster_name_copy(out->name, t.name, err));
    return cluster_list_read(out->hop_s, 3, NULL, file, t.hop, UNITS_TIME, "hop", err);
}

halley_status cluster_link_load(halley_link *out, const char *name, halley_error *err)
{
    conf_file file;
    TRY(cluster_preset_load(&file, "links", name, err));
    const halley_status status = cluster_link_read(out, &file, file.root, err);
    conf_fini(&file);
    return status;
}

halley_status cluster_fabric_load(halley_fabric *out, const char *name, halley_error *err)
{
    conf_file file;
    TRY(cluster_preset_load(&file, "fabrics", name, err));
    const halley_status status = cluster_fabric_read(out, &file, file.root, err);
    conf_fini(&file);
    return status;
}

halley_status cluster_npu_load(halley_npu *out, const char *name, halley_error *err)
{
    conf_file file;
    TRY(cluster_preset_load(&file, "npus", name, err));
    const halley_status status = cluster_npu_read(out, &file, file.root, err);
    conf_fini(&file);
    return status;
}
