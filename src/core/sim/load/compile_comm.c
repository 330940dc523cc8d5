/* sim/load/compile_comm.c - messages and collectives, and the objects they name. */
#include "base/number/number.h"
#include "base/str.h"
#include "sim/load/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message of an algorithm may state which chunks of the collective's data it moves. The
 * value -1 (older converters) means that it does not. */
static bool find_chunks(uint64_t *amount, const sim_compiler *c, uint32_t index)
{
    static const sim_attr names[] = {SIM_ATTR_MSG_CHUNK_CNT, SIM_ATTR_MSG_CHUNK_IDX,
                                     SIM_ATTR_TOTAL_CHUNK_CNT};
    int64_t values[3];
    for (size_t i = 0; i < 3; i++) {
        halley_attr attr;
        if (!sim_compile_find_attr(&attr, c, index, names[i]) ||
            !halley_attr_to_i64(&attr, &values[i]) || values[i] < 0 ||
            values[i] > SIM_MAX_CHUNKS)
            return false;
    }
    *amount =
        sim_chunks_pack((uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2]);
    return values[0] > 0 && values[2] > 0;
}

/* Make room for one more element in arrays that grow by doubling. */
static bool grow_names(void *array, uint32_t n, size_t size)
{
    void **at = array;
    if (n != 0 && (n & (n - 1)) != 0)
        return true;
    void *more = realloc(*at, (n == 0 ? 1 : (size_t)n * 2) * size);
    if (more == NULL)
        return false;
    *at = more;
    return true;
}

/* Find or add a name; *out is its index. `of`: the group of a root. */
static halley_status find_name(uint32_t *out, sim_compiler *c, sim_name name,
                               uint32_t value)
{
    sim_program *p = c->p;
    enum { MOST_NAMES = 1 << 28 };
    const uint64_t of = name.of == SIM_NO_NAME ? MOST_NAMES - 1 : name.of;
    const uint64_t key = (uint64_t)name.kind << 60 | of << 32 | value;
    bool fresh;
    if (p->n_names >= MOST_NAMES - 1)
        return error_set(c->err, HALLEY_ELIMIT,
                         "a rank names more than %d groups, peers and roots", MOST_NAMES);
    *out = p->n_names;
    if (!map64_put(&c->names, key, out, &fresh))
        return error_nomem(c->err);
    assert(fresh ? *out == p->n_names : *out < p->n_names);
    if (!fresh)
        return HALLEY_OK;
    if (!grow_names(&p->names, p->n_names, sizeof *p->names) ||
        !grow_names(&p->own.values, p->n_names, sizeof *p->own.values))
        return error_nomem(c->err);
    p->names[p->n_names] = name;
    p->own.values[p->n_names++] = value;
    return HALLEY_OK;
}

/* Find or add a tag of a peer; *out is its index. */
static halley_status find_tag(uint32_t *out, sim_compiler *c, uint32_t peer, uint32_t tag)
{
    sim_program *p = c->p;
    bool fresh;
    *out = p->n_tags;
    if (!map64_put(&c->tags, (uint64_t)peer << 32 | tag, out, &fresh))
        return error_nomem(c->err);
    assert(peer < p->n_names && (fresh ? *out == p->n_tags : *out < p->n_tags));
    if (!fresh)
        return HALLEY_OK;
    if (!grow_names(&p->tag_names, p->n_tags, sizeof *p->tag_names) ||
        !grow_names(&p->own.tags, p->n_tags, sizeof *p->own.tags))
        return error_nomem(c->err);
    p->tag_names[p->n_tags] = peer;
    p->own.tags[p->n_tags++] = tag;
    return HALLEY_OK;
}

static halley_status compile_message_size(sim_node *n, const sim_compiler *c,
                                          uint32_t index)
{
    if (c->opts->custom && find_chunks(&n->amount, c, index)) {
        n->flags |= SIM_NODE_CHUNKS;
        return HALLEY_OK;
    }
    return sim_compile_read_needed(&n->amount, c, index, SIM_ATTR_COMM_SIZE);
}

halley_status sim_compile_message(sim_node *n, sim_compiler *c, uint32_t index)
{
    assert(n->type == HALLEY_NODE_SEND || n->type == HALLEY_NODE_RECV);
    const bool sends = n->type == HALLEY_NODE_SEND;
    uint64_t peer, tag, self;
    bool has_self;
    TRY(compile_message_size(n, c, index));
    TRY(sim_compile_read_needed(&peer, c, index,
                                sends ? SIM_ATTR_COMM_DST : SIM_ATTR_COMM_SRC));
    TRY(sim_compile_read_number(&self, &has_self, c, index,
                                sends ? SIM_ATTR_COMM_SRC : SIM_ATTR_COMM_DST));
    TRY(sim_compile_read_needed(&tag, c, index, SIM_ATTR_COMM_TAG));
    if (peer >= c->opts->cluster->n_npus)
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 sends ? "comm_dst is not a rank of this cluster"
                                       : "comm_src is not a rank of this cluster");
    if (n->amount == 0)
        return sim_compile_error(c, index, HALLEY_EINVAL, "comm_size is 0");
    n->a = (uint32_t)peer;
    n->b = (uint32_t)((int32_t)(uint32_t)tag % 500000000);
    if (c->opts->custom)
        return HALLEY_OK;
    TRY(find_name(&n->a, c, (sim_name){sends ? SIM_NAME_OUT : SIM_NAME_IN, SIM_NO_NAME},
                  (uint32_t)peer));
    TRY(find_tag(&n->b, c, n->a, n->b));
    if (!has_self)
        return HALLEY_OK;
    return find_name(&n->self, c, (sim_name){SIM_NAME_SELF, SIM_NO_NAME},
                     self > UINT32_MAX ? UINT32_MAX : (uint32_t)self);
}

static halley_status compile_group(sim_node *n, sim_compiler *c, uint32_t index)
{
    halley_attr attr;
    if (!sim_compile_find_attr(&attr, c, index, SIM_ATTR_PG_NAME))
        return HALLEY_OK;
    const str name = {attr.bytes.at, attr.bytes.n};
    int64_t id;
    if (attr.kind != HALLEY_ATTR_STRING)
        return sim_compile_error(c, index, HALLEY_EINVAL, "pg_name must be text");
    if (name.n == 0 || str_eq(name, STR("0")))
        return HALLEY_OK;
    if (!str_to_i64(name, &id))
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 "pg_name must be the number of a communicator group");
    const uint32_t group = cluster_find_group(c->opts->cluster, id);
    if (group == UINT32_MAX)
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 "pg_name is not in the communicator group file");
    return find_name(&n->a, c, (sim_name){SIM_NAME_GROUP, SIM_NO_NAME}, group);
}

static bool is_rooted(uint64_t coll)
{
    return coll == HALLEY_COLL_REDUCE || coll == HALLEY_COLL_GATHER ||
           coll == HALLEY_COLL_SCATTER || coll == HALLEY_COLL_BROADCAST;
}

/* The attribute "root" names a rank. Without it, the root is the first member. */
static halley_status compile_root(sim_node *n, sim_compiler *c, uint32_t index)
{
    assert(n->a == SIM_NO_NAME || c->p->names[n->a].kind == SIM_NAME_GROUP);
    halley_attr attr;
    uint64_t rank;
    if (!is_rooted(n->coll) || !sim_rules_get(c->opts->cluster)->has_roots ||
        !halley_node_find_attr(&attr, c->trace, index, "root"))
        return HALLEY_OK;
    if (!halley_attr_to_u64(&attr, &rank) || rank >= c->opts->cluster->n_npus)
        rank = UINT32_MAX; /* no root */
    return find_name(&n->self, c, (sim_name){SIM_NAME_ROOT, n->a}, (uint32_t)rank);
}

static bool find_price(uint32_t *out, const sim_program *p, const net_price *price)
{
    for (*out = 0; *out < p->n_prices; ++*out)
        if (p->prices[*out].rate == price->rate &&
            p->prices[*out].fixed_s == price->fixed_s)
            return true;
    return false;
}

/* Read a double, also one that is written as a whole number. */
static halley_status read_real(double *out, const sim_compiler *c, uint32_t index,
                               sim_attr name, double least, double most)
{
    halley_attr attr;
    double value;
    char text[128];
    if (!sim_compile_find_attr(&attr, c, index, name))
        return HALLEY_OK;
    if (halley_attr_to_double(&attr, &value) && value >= least && value <= most) {
        *out = value;
        return HALLEY_OK;
    }
    snprintf(text, sizeof text, "attribute %s must be a number from %s to %s",
             sim_attr_names[name], number_shortest(least).at, number_shortest(most).at);
    return sim_compile_error(c, index, HALLEY_EINVAL, text);
}

/* A collective of a group may state how it differs from the library's table. */
static halley_status compile_price(sim_node *n, sim_compiler *c, uint32_t index)
{
    sim_program *p = c->p;
    net_price price = {.rate = 1};
    double fixed_ns = 0;
    TRY(read_real(&price.rate, c, index, SIM_ATTR_RATE, 1e-9, 1e9));
    TRY(read_real(&fixed_ns, c, index, SIM_ATTR_FIXED_NS, -1e15, 1e15));
    price.fixed_s = fixed_ns / 1e9;
    if ((price.rate == 1 && price.fixed_s == 0) || find_price(&n->b, p, &price))
        return HALLEY_OK;
    if (!grow_names(&p->prices, p->n_prices, sizeof *p->prices))
        return error_nomem(c->err);
    p->prices[p->n_prices++] = price;
    assert(n->b < p->n_prices);
    return HALLEY_OK;
}

/* Logical dimensions of a collective: the number of entries that ASTRA-sim reads. */
static uint32_t count_logical_dims(const sim_compiler *c, uint64_t type)
{
    static const cluster_coll colls[HALLEY_N_COLL_TYPES] = {
        [HALLEY_COLL_ALL_REDUCE] = CLUSTER_ALL_REDUCE,
        [HALLEY_COLL_ALL_GATHER] = CLUSTER_ALL_GATHER,
        [HALLEY_COLL_REDUCE_SCATTER] = CLUSTER_REDUCE_SCATTER,
        [HALLEY_COLL_ALL_TO_ALL] = CLUSTER_ALL_TO_ALL,
        [HALLEY_COLL_GATHER] = CLUSTER_ALL_GATHER,
        [HALLEY_COLL_SCATTER] = CLUSTER_REDUCE_SCATTER,
        [HALLEY_COLL_REDUCE_SCATTER_BLOCK] = CLUSTER_REDUCE_SCATTER,
    };
    assert(type < HALLEY_N_COLL_TYPES);
    return c->opts->cluster->system.colls[colls[type]].n;
}

static halley_status compile_involved(sim_node *n, sim_compiler *c, uint32_t index)
{
    halley_attr attr;
    uint32_t d = 0;
    n->b = SIM_NO_NAME;
    if (n->a != SIM_NO_NAME) /* plans of groups do not use dimensions */
        return c->rules->has_prices ? compile_price(n, c, index) : HALLEY_OK;
    const uint32_t n_dims = count_logical_dims(c, n->coll);
    if (!sim_compile_find_attr(&attr, c, index, SIM_ATTR_INVOLVED_DIM)) {
        if (n_dims > c->rules->n_default_involved)
            return sim_compile_error(c, index, HALLEY_EINVAL, c->rules->refuses_involved);
        return HALLEY_OK;
    }
    if (attr.kind != HALLEY_ATTR_BOOL_LIST)
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 "involved_dim must be a list of bool");
    halley_attr_item item;
    size_t cursor = 0;
    n->b = 0;
    for (; halley_attr_list_next(&attr, &cursor, &item); d++)
        if (d < 32 && item.bits != 0)
            n->b |= UINT32_C(1) << d;
    if (d < n_dims)
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 "involved_dim has fewer entries than the collective has "
                                 "dimensions");
    return HALLEY_OK;
}

halley_status sim_compile_coll(sim_node *n, sim_compiler *c, uint32_t index)
{
    assert(n->type == HALLEY_NODE_COLL && n->trace_index == index);
    uint64_t type;
    TRY(sim_compile_read_needed(&type, c, index, SIM_ATTR_COMM_TYPE));
    if (type >= HALLEY_N_COLL_TYPES)
        return sim_compile_error(c, index, HALLEY_EINVAL,
                                 "comm_type does not name a collective");
    if (c->rules->colls[type] == SIM_COLL_TIMED) {
        n->coll = (uint32_t)type & 15u;
        n->flags |= SIM_NODE_TIMED;
        n->amount = sim_compile_read_ticks(c, index);
        return HALLEY_OK;
    }
    if (c->rules->colls[type] == SIM_COLL_REFUSED) {
        char text[128];
        snprintf(text, sizeof text, "%s does not simulate %s",
                 sim_rules_get(c->opts->cluster)->name, halley_coll_type_name(type));
        return sim_compile_error(c, index, HALLEY_EINVAL, text);
    }
    n->coll = (uint32_t)type & 15u;
    n->amount = 1;
    if (type != HALLEY_COLL_BARRIER)
        TRY(sim_compile_read_needed(&n->amount, c, index, SIM_ATTR_COMM_SIZE));
    TRY(compile_group(n, c, index));
    TRY(compile_root(n, c, index));
    halley_attr sizes;
    if (c->rules->has_uneven && type == HALLEY_COLL_ALL_TO_ALL &&
        sim_compile_find_attr(&sizes, c, index, SIM_ATTR_COMM_SIZES))
        n->flags |= SIM_NODE_UNEVEN;
    return compile_involved(n, c, index);
}
