/*
 * Turn the operations of a thread block into nodes.
 *
 * Operations of a block run one after the other. On memory channels the block itself
 * moves the data. On port channels a proxy does, in order, and the block continues until
 * it flushes. A pipeline repeats its operations for every unit of its chunks.
 */
#include "msccl/mscclpp/read.h"

#include <assert.h>

/* Make this node the only one that the next operation of the block waits for. */
static bool set_last(mpp_block *b, uint32_t node)
{
    b->last.n = 0;
    return node != MPP_NONE && array_push(&b->last, node);
}

/* Add a node that runs after the block's last nodes. MPP_NONE: no memory. */
static uint32_t add_block_node(mpp_reader *r, mpp_node node)
{
    node.gpu = r->block.gpu;
    node.block = r->block.index;
    node.op = r->op;
    const uint32_t id = mpp_add_node(r->p, node);
    bool ok = id != MPP_NONE;
    for (size_t i = 0; ok && i < r->block.last.n; i++)
        ok = mpp_add_edge(r->p, r->block.last.at[i], id);
    return ok ? id : MPP_NONE;
}

static uint32_t add_computation(mpp_reader *r, const char *what, uint64_t n_bytes,
                                uint32_t n_inputs)
{
    const uint32_t id = add_block_node(r, (mpp_node){.n_bytes = n_bytes,
                                                     .n_inputs = n_inputs,
                                                     .what = what,
                                                     .kind = MPP_COMPUTE});
    return set_last(&r->block, id) ? id : MPP_NONE;
}

/* One side of a message between this GPU and a peer. */
static mpp_node make_message(const mpp_reader *r, mpp_kind kind, uint32_t gpu,
                             uint32_t peer, uint64_t n_bytes)
{
    return (mpp_node){.n_bytes = n_bytes,
                      .gpu = gpu,
                      .peer = peer,
                      .partner = MPP_NONE,
                      .block = r->block.index,
                      .op = r->op,
                      .what = kind == MPP_SEND ? "send" : "receive",
                      .kind = kind,
                      .is_passive = gpu != r->block.gpu};
}

static mpp_node make_signal(const mpp_reader *r, mpp_kind kind, uint32_t peer)
{
    mpp_node node = make_message(r, kind, r->block.gpu, peer, MPP_SIGNAL_BYTES);
    node.what = kind == MPP_SEND ? "signal" : "wait";
    node.is_signal = true;
    return node;
}

/* Add a send of the block's data and the matching receive, which has no other
 * dependency. */
static uint32_t add_put(mpp_reader *r, uint32_t peer, uint64_t n_bytes)
{
    mpp_plan *const p = r->p;
    const uint32_t send =
        add_block_node(r, make_message(r, MPP_SEND, r->block.gpu, peer, n_bytes));
    const uint32_t got =
        mpp_add_node(p, make_message(r, MPP_RECEIVE, peer, r->block.gpu, n_bytes));
    return send != MPP_NONE && got != MPP_NONE && mpp_pair(p, send, got) ? send
                                                                         : MPP_NONE;
}

/* Add a read from a peer: the block sends a request, and the peer sends the data. */
static uint32_t add_get(mpp_reader *r, uint32_t peer, uint64_t n_bytes)
{
    mpp_plan *const p = r->p;
    const uint32_t asked = add_put(r, peer, MPP_SIGNAL_BYTES);
    if (asked == MPP_NONE)
        return MPP_NONE;
    const uint32_t answer =
        mpp_add_node(p, make_message(r, MPP_SEND, peer, r->block.gpu, n_bytes));
    const uint32_t got =
        mpp_add_node(p, make_message(r, MPP_RECEIVE, r->block.gpu, peer, n_bytes));
    const bool ok = answer != MPP_NONE && got != MPP_NONE && mpp_pair(p, answer, got) &&
                    mpp_add_edge(p, p->nodes.at[asked].partner, answer) &&
                    mpp_add_edge(p, asked, got);
    return ok ? got : MPP_NONE;
}

static bool note_sync(mpp_reader *r, mpp_syncs *to, uint64_t key, uint32_t node,
                      uint32_t then)
{
    const uint64_t list = (uint64_t)(to - &r->p->signals);
    const uint64_t counted = key << 3 | list;
    const uint32_t before = map64_find(&r->block.counts, counted);
    assert(list < 5);
    const mpp_sync sync = {.key = key,
                           .block = r->block.index,
                           .k = before == HASH_NONE ? 0 : before,
                           .node = node,
                           .then = then};
    return map64_set(&r->block.counts, counted, sync.k + 1) && array_push(to, sync);
}

static uint64_t name_connection(const mpp_reader *r, uint32_t type, uint32_t channel,
                                bool outgoing)
{
    const mpp_gpu *const gpu = &r->gpus[r->block.gpu];
    const uint32_t peer = gpu->peers[type].at[channel];
    const uint64_t n = gpu->ordinals[type].at[channel];
    const uint64_t from = outgoing ? r->block.gpu : peer;
    const uint64_t to = outgoing ? peer : r->block.gpu;
    return (n << 1 | type) << 32 | from << 16 | to;
}

/* A range of a buffer: offset, bytes, and which GPU. */
typedef struct mpp_range {
    uint64_t from, n_bytes;
    uint32_t rank; /* MPP_NONE: this GPU */
    bool is_scratch;
} mpp_range;

static halley_status find_remote_buffer(mpp_range *out, const mpp_reader *r,
                                        const conf_node *map, uint32_t type)
{
    const mpp_list *const mine = &r->block.buffers[type];
    uint64_t id;
    TRY(mpp_read_number(&id, r, map, "buffer_id", UINT32_MAX));
    if (id >= mine->n)
        return MPP_BAD(r, map, "thread block %u of GPU %u has no remote buffer %llu",
                       r->block.index, r->block.gpu, (unsigned long long)id);
    out->rank = r->gpus[r->block.gpu].buffer_ranks.at[mine->at[id]];
    out->is_scratch = r->gpus[r->block.gpu].buffer_is_scratch.at[mine->at[id]];
    return HALLEY_OK;
}

/* Reduce the range to this block's part, if a group of blocks moves the data. */
static halley_status share_range(mpp_range *range, const mpp_reader *r,
                                 const conf_node *op)
{
    const conf_node *const group = conf_find(op, "tbg_info");
    uint64_t i, n;
    if (group == NULL)
        return HALLEY_OK;
    if (group->kind != CONF_MAP)
        return MPP_BAD(r, group, "tbg_info must be an object");
    TRY(mpp_read_number(&n, r, group, "tbg_size", UINT16_MAX));
    TRY(mpp_read_number(&i, r, group, "tb_id", UINT16_MAX));
    if (i >= n)
        return MPP_BAD(r, group, "thread block %llu of a group of %llu",
                       (unsigned long long)i, (unsigned long long)n);
    const uint64_t each = range->n_bytes / n, rest = range->n_bytes % n;
    const uint64_t first = each * i + rest * i / n;
    range->n_bytes = each * (i + 1) + rest * (i + 1) / n - first;
    range->from += first;
    return HALLEY_OK;
}

static halley_status read_range(mpp_range *out, const mpp_reader *r, const conf_node *op,
                                const conf_node *map, uint32_t type, mpp_unit unit)
{
    uint64_t index, size;
    *out = (mpp_range){.rank = MPP_NONE,
                       .is_scratch = str_eq(mpp_read_text(map, "type"), STR("s"))};
    if (map->kind != CONF_MAP)
        return MPP_BAD(r, map, "a buffer must be an object");
    TRY(mpp_read_number(&index, r, map, "index", MPP_MAX_CHUNKS));
    TRY(mpp_read_number(&size, r, map, "size", MPP_MAX_CHUNKS));
    if (conf_find(map, "buffer_id") != NULL)
        TRY(find_remote_buffer(out, r, map, type));
    out->from = index * r->p->chunk_bytes;
    out->n_bytes = size * r->p->chunk_bytes;
    TRY(share_range(out, r, op));
    const uint64_t skipped = unit.offset < out->n_bytes ? unit.offset : out->n_bytes;
    out->from += skipped;
    out->n_bytes -= skipped;
    out->n_bytes = out->n_bytes < unit.most ? out->n_bytes : unit.most;
    return HALLEY_OK;
}

/* The parts of an operation, in this order. */
enum {
    DOES_GET = 1,      /* reads remote sources */
    DOES_POLL = 2,     /* reads packets of its scratch buffer */
    DOES_COMPUTE = 4,  /* copies or reduces */
    DOES_PUT = 8,      /* writes remote destinations */
    DOES_PACKETS = 16, /* writes packets */
    DOES_SIGNAL = 32,
    DOES_FLUSH = 64
};

static const struct mpp_operation {
    const char *name, *what;
    uint32_t does;
} operations[] = {
    {"put", "put", DOES_PUT},
    {"pws", "put", DOES_PUT | DOES_SIGNAL},
    {"pwsf", "put", DOES_PUT | DOES_SIGNAL | DOES_FLUSH},
    {"ppkt", "put", DOES_PUT | DOES_PACKETS},
    {"rppkt", "put", DOES_POLL | DOES_PUT | DOES_PACKETS},
    {"get", "get", DOES_GET},
    {"copy", "copy", DOES_COMPUTE},
    {"cpkt", "copy", DOES_COMPUTE | DOES_PACKETS},
    {"upkt", "unpack", DOES_POLL | DOES_COMPUTE},
    {"re", "reduce", DOES_COMPUTE},
    {"repkt", "reduce", DOES_POLL | DOES_COMPUTE},
    {"recpkt", "reduce", DOES_POLL | DOES_COMPUTE | DOES_PACKETS},
    {"res", "reduce", DOES_COMPUTE | DOES_PUT},
    {"respkt", "reduce", DOES_POLL | DOES_COMPUTE | DOES_PUT | DOES_PACKETS},
    {"recspkt", "reduce", DOES_POLL | DOES_COMPUTE | DOES_PUT | DOES_PACKETS},
    {"rre", "reduce", DOES_GET | DOES_COMPUTE},
    {"rres", "reduce", DOES_GET | DOES_COMPUTE | DOES_PUT},
    {"signal", "signal", DOES_SIGNAL},
    {"rlxsignal", "signal", DOES_SIGNAL},
    {"flush", "flush", DOES_FLUSH},
};

typedef struct mpp_call {
    const conf_node *op, *channels; /* the operation and its channel_ids */
    const struct mpp_operation *kind;
    uint32_t type; /* of its channels */
    mpp_unit unit;
} mpp_call;

/* The GPU's channel that is the i-th of an operation. Without a list it is the
 * block's. */
static halley_status find_channel(uint32_t *out, const mpp_reader *r, const mpp_call *c,
                                  uint32_t i)
{
    int64_t id = i;
    *out = 0;
    if (i < c->channels->n)
        TRY(conf_to_i64(&id, &r->p->file, c->channels->items[i], "channel_ids", r->err));
    if (id < 0 || (uint64_t)id >= r->block.channels[c->type].n)
        return MPP_BAD(r, c->op, "thread block %u of GPU %u has no %s channel %lld",
                       r->block.index, r->block.gpu,
                       c->type == MPP_PORT ? "port" : "memory", (long long)id);
    *out = r->block.channels[c->type].at[id];
    return HALLEY_OK;
}

/* On port channels a proxy works in order while the block continues. */
static halley_status after_send(mpp_reader *r, mpp_list *ends, uint32_t type,
                                uint32_t channel, uint32_t send)
{
    if (send == MPP_NONE)
        return error_nomem(r->err);
    if (type == MPP_MEMORY)
        return array_push(ends, send) ? HALLEY_OK : error_nomem(r->err);
    uint32_t *const before = &r->block.proxy[type].at[channel];
    if (*before != MPP_NONE && !mpp_add_edge(r->p, *before, send))
        return error_nomem(r->err);
    *before = send;
    return HALLEY_OK;
}

/* Make these nodes the block's last ones. An empty list changes nothing. */
static halley_status take_ends(mpp_reader *r, const mpp_list *ends)
{
    if (ends->n > 0)
        r->block.last.n = 0;
    for (size_t i = 0; i < ends->n; i++)
        if (!array_push(&r->block.last, ends->at[i]))
            return error_nomem(r->err);
    return HALLEY_OK;
}

static halley_status read_sources(mpp_reader *r, const mpp_call *c, uint64_t *n_bytes,
                                  uint32_t *n_inputs, mpp_list *ends)
{
    const conf_node *list;
    TRY(mpp_find_list(&list, r, c->op, "src_buff"));
    *n_inputs = list->n;
    for (uint32_t i = 0; i < list->n; i++) {
        mpp_range range;
        TRY(read_range(&range, r, c->op, list->items[i], c->type, c->unit));
        *n_bytes = range.n_bytes > *n_bytes ? range.n_bytes : *n_bytes;
        if (range.rank == MPP_NONE || range.n_bytes == 0)
            continue;
        if ((c->kind->does & DOES_GET) == 0)
            return MPP_BAD(r, list->items[i], "%s cannot read from another GPU",
                           c->kind->name);
        const uint32_t got = add_get(r, range.rank, range.n_bytes);
        if (got == MPP_NONE || !array_push(ends, got))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

/* An operation polls the packets of its scratch sources. */
static halley_status note_polled(mpp_reader *r, const mpp_call *c, uint32_t node)
{
    const conf_node *list;
    TRY(mpp_find_list(&list, r, c->op, "src_buff"));
    for (uint32_t i = 0; i < list->n; i++) {
        mpp_range range;
        TRY(read_range(&range, r, c->op, list->items[i], c->type, c->unit));
        const mpp_packets polled = {.from = range.from,
                                    .to = range.from + range.n_bytes,
                                    .gpu = r->block.gpu,
                                    .node = node};
        if (range.is_scratch && range.rank == MPP_NONE &&
            !array_push(&r->p->read, polled))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

static halley_status add_destination(mpp_reader *r, const mpp_call *c,
                                     const mpp_range *range, uint32_t n_remote,
                                     mpp_list *ends)
{
    const bool packets = (c->kind->does & DOES_PACKETS) != 0;
    uint32_t channel = 0;
    if (c->type == MPP_PORT) {
        TRY(find_channel(&channel, r, c, n_remote));
    }
    const uint32_t send =
        add_put(r, range->rank, range->n_bytes * (packets ? MPP_PACKET_FACTOR : 1));
    TRY(after_send(r, ends, c->type, channel, send));
    const mpp_packets written = {.from = range->from,
                                 .to = range->from + range->n_bytes,
                                 .gpu = range->rank,
                                 .node = r->p->nodes.at[send].partner};
    return !packets || !range->is_scratch || array_push(&r->p->written, written)
               ? HALLEY_OK
               : error_nomem(r->err);
}

static halley_status read_destinations(mpp_reader *r, const mpp_call *c, uint32_t node,
                                       mpp_list *ends)
{
    const conf_node *list;
    uint32_t n_remote = 0;
    TRY(mpp_find_list(&list, r, c->op, "dst_buff"));
    for (uint32_t i = 0; i < list->n; i++) {
        mpp_range range;
        TRY(read_range(&range, r, c->op, list->items[i], c->type, c->unit));
        const mpp_packets written = {.from = range.from,
                                     .to = range.from + range.n_bytes,
                                     .gpu = r->block.gpu,
                                     .node = node};
        if (range.n_bytes == 0)
            continue;
        if (range.rank != MPP_NONE && (c->kind->does & DOES_PUT) == 0)
            return MPP_BAD(r, list->items[i], "%s cannot write to another GPU",
                           c->kind->name);
        if (range.rank != MPP_NONE)
            TRY(add_destination(r, c, &range, n_remote++, ends));
        else if ((c->kind->does & DOES_PACKETS) && range.is_scratch && node != MPP_NONE &&
                 !array_push(&r->p->written, written))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

static halley_status add_signals(mpp_reader *r, const mpp_call *c, mpp_list *ends)
{
    for (uint32_t i = 0; i < c->channels->n; i++) {
        uint32_t channel;
        TRY(find_channel(&channel, r, c, i));
        const uint32_t peer = r->gpus[r->block.gpu].peers[c->type].at[channel];
        const uint32_t send = add_block_node(r, make_signal(r, MPP_SEND, peer));
        TRY(after_send(r, ends, c->type, channel, send));
        if (!note_sync(r, &r->p->signals, name_connection(r, c->type, channel, true),
                       send, MPP_NONE))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

/* Wait for everything that the proxies of the channels have not finished. */
static halley_status add_flush(mpp_reader *r, const mpp_call *c)
{
    for (uint32_t i = 0; i < c->channels->n; i++) {
        uint32_t channel;
        TRY(find_channel(&channel, r, c, i));
        const uint32_t pending = r->block.proxy[c->type].at[channel];
        if (pending != MPP_NONE && !array_push(&r->block.last, pending))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

static halley_status play_parts(mpp_reader *r, const mpp_call *c, mpp_list *ends)
{
    const uint32_t does = c->kind->does;
    uint64_t n_bytes = 0;
    uint32_t n_inputs = 0, node = MPP_NONE;
    TRY(read_sources(r, c, &n_bytes, &n_inputs, ends));
    TRY(take_ends(r, ends));
    ends->n = 0;
    if ((does & DOES_COMPUTE) || (does & DOES_POLL)) {
        node = add_computation(r, c->kind->what, n_bytes,
                               does & DOES_COMPUTE ? n_inputs : 0);
        if (node == MPP_NONE)
            return error_nomem(r->err);
        if (does & DOES_POLL)
            TRY(note_polled(r, c, node));
    }
    TRY(read_destinations(r, c, node, ends));
    if (c->type == MPP_MEMORY) { /* a signal comes after the puts */
        TRY(take_ends(r, ends));
        ends->n = 0;
    }
    if (does & DOES_SIGNAL)
        TRY(add_signals(r, c, ends));
    TRY(take_ends(r, ends));
    return does & DOES_FLUSH ? add_flush(r, c) : HALLEY_OK;
}

static halley_status add_plan_waits(mpp_reader *r, const mpp_call *c)
{
    mpp_list ends = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < c->channels->n; i++) {
        uint32_t channel;
        status = find_channel(&channel, r, c, i);
        if (status != HALLEY_OK)
            break;
        const uint32_t peer = r->gpus[r->block.gpu].peers[c->type].at[channel];
        const uint32_t got = add_block_node(r, make_signal(r, MPP_RECEIVE, peer));
        if (got == MPP_NONE || !array_push(&ends, got) ||
            !note_sync(r, &r->p->waits, name_connection(r, c->type, channel, false), got,
                       MPP_NONE))
            status = error_nomem(r->err);
    }
    if (status == HALLEY_OK)
        status = take_ends(r, &ends);
    array_fini(&ends);
    return status;
}

static halley_status add_semaphores(mpp_reader *r, const conf_node *op, bool releases)
{
    const conf_node *list;
    TRY(mpp_find_list(&list, r, op, "semaphore_ids"));
    for (uint32_t i = 0; i < list->n; i++) {
        int64_t id;
        TRY(conf_to_i64(&id, &r->p->file, list->items[i], "semaphore_ids", r->err));
        if (id < 0 || id > UINT16_MAX)
            return MPP_BAD(r, list->items[i], "there is no semaphore %lld",
                           (long long)id);
        const uint32_t node = add_computation(r, releases ? "release" : "acquire", 0, 0);
        if (node == MPP_NONE ||
            !note_sync(r, releases ? &r->p->releases : &r->p->acquires,
                       (uint64_t)r->block.gpu << 32 | (uint64_t)id, node, MPP_NONE))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

static halley_status add_barrier(mpp_reader *r, const conf_node *op)
{
    uint64_t id;
    TRY(mpp_read_number(&id, r, op, "barrier_id", UINT16_MAX));
    const uint32_t arrive = add_computation(r, "arrive", 0, 0);
    const uint32_t leave = add_computation(r, "leave", 0, 0);
    const bool ok =
        arrive != MPP_NONE && leave != MPP_NONE &&
        note_sync(r, &r->p->barriers, (uint64_t)r->block.gpu << 32 | id, arrive, leave);
    return ok ? HALLEY_OK : error_nomem(r->err);
}

static halley_status play_pipeline(mpp_reader *r, const conf_node *op, mpp_unit unit)
{
    const conf_node *const context = conf_find(op, "iter_context");
    const conf_node *ops;
    uint64_t unit_bytes, n_chunks;
    if (context == NULL || context->kind != CONF_MAP || unit.most != UINT64_MAX)
        return MPP_BAD(r, op,
                       "a pipeline needs an iter_context and may not be in another");
    TRY(mpp_read_number(&unit_bytes, r, context, "unit_size", INT64_MAX));
    TRY(mpp_read_number(&n_chunks, r, context, "num_chunks", MPP_MAX_CHUNKS));
    TRY(mpp_find_list(&ops, r, op, "ops"));
    if (unit_bytes == 0)
        return MPP_BAD(r, context, "unit_size must be positive");
    const uint64_t n_bytes = ops->n > 0 ? n_chunks * r->p->chunk_bytes : 0;
    for (uint64_t at = 0; at < n_bytes; at += unit_bytes)
        for (uint32_t i = 0; i < ops->n; i++)
            TRY(mpp_play_operation(r, ops->items[i], (mpp_unit){at, unit_bytes}));
    return HALLEY_OK;
}

static halley_status play_transfer(mpp_reader *r, const conf_node *op, mpp_unit unit,
                                   str name)
{
    mpp_call call = {.op = op, .type = MPP_MEMORY, .unit = unit};
    mpp_list ends = {0};
    TRY(mpp_find_list(&call.channels, r, op, "channel_ids"));
    if (conf_find(op, "channel_type") != NULL)
        TRY(mpp_read_channel_type(&call.type, r, op, "channel_type"));
    if (str_eq(name, STR("wait")) || str_eq(name, STR("rlxwait")))
        return add_plan_waits(r, &call);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (str_eq(name, str_from(operations[i].name)))
            call.kind = &operations[i];
    if (call.kind == NULL)
        return MPP_BAD(r, op, "\"%.*s\" is no operation of MSCCL++ that is known",
                       STR_ARG(name));
    const halley_status status = play_parts(r, &call, &ends);
    array_fini(&ends);
    return status;
}

halley_status mpp_play_operation(mpp_reader *r, const conf_node *op, mpp_unit unit)
{
    const str name = mpp_read_text(op, "name");
    if (name.n == 0)
        return MPP_BAD(r, op, "an operation has no name");
    if (r->p->nodes.n > MPP_MAX_NODES || r->n_played++ > MPP_MAX_NODES)
        return error_set(r->err, HALLEY_ELIMIT,
                         "the plan has more than %d steps for this size of data",
                         MPP_MAX_NODES);
    if (str_eq(name, STR("nop")))
        return HALLEY_OK; /* the threads of the block wait for each other */
    if (str_eq(name, STR("pipeline")))
        return play_pipeline(r, op, unit);
    if (str_eq(name, STR("barrier")))
        return add_barrier(r, op);
    if (str_eq(name, STR("sem_release")) || str_eq(name, STR("sem_acquire")))
        return add_semaphores(r, op, str_eq(name, STR("sem_release")));
    return play_transfer(r, op, unit, name);
}
