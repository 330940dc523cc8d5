/*
 * Read execution traces.
 *
 * Each node is read key by key into a scratch node, in whatever order its keys come, and
 * is kept at its closing bracket. Schema 1.0.1 has flat keys (parent, rf_id, input_shapes
 * …). From 1.0.2 on inputs and outputs are objects, and the rest are attributes with a
 * name, a type and a value. The reader accepts both forms whatever the schema string is,
 * which is only reported. Newer schemas only add attributes.
 */
#include "recording/host.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 18 };

struct host_block {
    uint32_t n_nodes; /* that still need it */
    uint32_t used, size;
    char bytes[];
};

enum { IO_TEXTS = 6 };

typedef struct host_reader {
    pull_reader p;
    host_trace *host;
    strbuf io[IO_TEXTS]; /* of the node being read */
    host_node node;
    host_comm comm;
    host_timing timing;
    bool has_id, has_comm, has_start, has_duration, saw_nodes;
} host_reader;

/* The error if a Kineto trace was given in place of an execution trace. */
static halley_status not_host(host_reader *r, halley_error *err)
{
    return pull_bad(
        &r->p, err,
        "this is a Kineto (device) trace, not a PyTorch execution trace; name the "
        "host trace first and the device trace second");
}

static void put_host_u64(uint64_t *to, const host_reader *r, json_token token)
{
    const uint64_t value = pull_u64(&r->p.json, token);
    if (value != PULL_NONE)
        *to = value;
}

/* Take one of the values that are flat keys in 1.0.1 and attributes later. False: unknown
 * key. */
static bool take_host_field(host_reader *r, str key, json_token token)
{
    host_node *const n = &r->node;
    if (PULL_IS(key, "rf_id"))
        put_host_u64(&n->rf_id, r, token);
    else if (PULL_IS(key, "fw_parent"))
        put_host_u64(&n->fw_parent, r, token);
    else if (PULL_IS(key, "seq_id"))
        n->seq_id = (int64_t)pull_u64(&r->p.json, token);
    else if (PULL_IS(key, "scope"))
        put_host_u64(&n->scope, r, token);
    else if (PULL_IS(key, "tid"))
        put_host_u64(&n->tid, r, token);
    else if (PULL_IS(key, "fw_tid"))
        put_host_u64(&n->fw_tid, r, token);
    else if (PULL_IS(key, "op_schema"))
        n->op_schema = pull_intern(&r->p, token);
    else
        return false;
    return true;
}

/* Take a communication attribute, which exist since 1.1.0. */
static bool take_comm(host_reader *r, str key, json_token token)
{
    host_comm *const c = &r->comm;
    if (PULL_IS(key, "collective_name"))
        c->collective = pull_intern(&r->p, token);
    else if (PULL_IS(key, "dtype"))
        c->dtype = pull_intern(&r->p, token);
    else if (PULL_IS(key, "pg_name"))
        c->pg_name = pull_intern(&r->p, token);
    else if (PULL_IS(key, "pg_desc"))
        c->pg_desc = pull_intern(&r->p, token);
    else if (PULL_IS(key, "in_msg_nelems"))
        c->in_elements = pull_u64(&r->p.json, token);
    else if (PULL_IS(key, "out_msg_nelems"))
        c->out_elements = pull_u64(&r->p.json, token);
    else if (!PULL_IS(key, "pg_size")) /* known, but follows from the group */
        return false;
    r->has_comm = true;
    return true;
}

static bool is_scalar(json_token token)
{
    return token >= JSON_STRING;
}

/* Read {"name": …, "type": …, "value": …} after its opening bracket. The name is copied,
 * because the window may move before the value is read. */
static halley_status read_attr(host_reader *r, halley_error *err)
{
    char name[64] = "";
    size_t n_name = 0;
    while (pull_key(&r->p)) {
        const bool is_name = PULL_IS(r->p.json.text, "name");
        const bool is_value = PULL_IS(r->p.json.text, "value");
        const json_token token = json_next(&r->p.json);
        if (is_name && token == JSON_STRING) {
            n_name = r->p.json.text.n < sizeof name ? r->p.json.text.n : 0;
            memcpy(name, r->p.json.text.at, n_name);
        } else if (is_value && is_scalar(token)) {
            const str key = {name, n_name};
            if (!take_host_field(r, key, token) && !take_comm(r, key, token))
                r->host->n_unknown_keys++;
        } else {
            TRY(pull_skip(&r->p, token, err));
        }
    }
    return pull_ended(&r->p, err);
}

static halley_status read_attrs(host_reader *r, halley_error *err)
{
    for (;;) {
        const json_token token = json_next(&r->p.json);
        if (token == JSON_ARRAY_END)
            return HALLEY_OK;
        if (token == JSON_OBJECT)
            TRY(read_attr(r, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
}

static halley_status read_repr(host_reader *r, uint32_t which, json_token token,
                               halley_error *err)
{
    r->io[which].n = 0;
    if (!pull_repr(&r->p.json, token, &r->io[which]))
        return pull_bad(&r->p, err, NULL);
    r->p.no_memory |= r->io[which].failed;
    return HALLEY_OK;
}

/* Read {"values": …, "shapes": …, "types": …, "strides": …} after its opening bracket. */
static halley_status read_io(host_reader *r, uint32_t first, halley_error *err)
{
    while (pull_key(&r->p)) {
        const str key = r->p.json.text;
        const uint32_t which = PULL_IS(key, "values")   ? 0
                               : PULL_IS(key, "shapes") ? 1
                               : PULL_IS(key, "types")  ? 2
                                                        : 3;
        const json_token token = json_next(&r->p.json);
        if (which < 3)
            TRY(read_repr(r, first + which, token, err));
        else
            TRY(pull_skip(&r->p, token, err));
    }
    return pull_ended(&r->p, err);
}

/* The index of a 1.0.1 key for inputs or outputs; IO_TEXTS = it is another key. */
static uint32_t flat_io(str key)
{
    static const struct {
        str key;
        uint32_t which;
    } keys[] = {{{"inputs", 6}, 0},         {{"input_shapes", 12}, 1},
                {{"input_types", 11}, 2},   {{"outputs", 7}, 3},
                {{"output_shapes", 13}, 4}, {{"output_types", 12}, 5}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (str_eq(key, keys[i].key))
            return keys[i].which;
    return IO_TEXTS;
}

/* Read the parent. ctrl_deps is a number in every schema so far; of a list the first item
 * counts. */
static halley_status read_parent(host_reader *r, json_token token, halley_error *err)
{
    if (token == JSON_ARRAY) {
        token = json_next(&r->p.json);
        put_host_u64(&r->node.parent, r, token);
        while (token != JSON_ARRAY_END) {
            if (!json_leap(&r->p.json, token))
                return pull_bad(&r->p, err, NULL);
            token = json_next(&r->p.json);
        }
        return HALLEY_OK;
    }
    put_host_u64(&r->node.parent, r, token);
    return json_leap(&r->p.json, token) ? HALLEY_OK : pull_bad(&r->p, err, NULL);
}

static host_place host_place_of(str category)
{
    return PULL_IS(category, "gpu_memcpy")   ? HOST_ON_COPY
           : PULL_IS(category, "gpu_memset") ? HOST_ON_SET
                                             : HOST_ON_KERNEL;
}

/* Take a key that Chakra's trace_link adds to a node. False: unknown key. */
static bool take_timing(host_reader *r, str key, json_token token)
{
    host_timing *const t = &r->timing;
    if (PULL_IS(key, "ts"))
        r->has_start = pull_us_as_ns(r->p.json.text, &t->start_ns);
    else if (PULL_IS(key, "inclusive_dur"))
        r->has_duration = pull_us_as_ns(r->p.json.text, &t->duration_ns);
    else if (PULL_IS(key, "cat"))
        t->place = host_place_of(r->p.json.text);
    else if (PULL_IS(key, "stream"))
        put_host_u64(&t->stream, r, token);
    else
        return false;
    return true;
}

static halley_status read_host_key(host_reader *r, str key, halley_error *err)
{
    host_node *const n = &r->node;
    char name[32];
    const size_t n_name = key.n < sizeof name ? key.n : 0;
    memcpy(name, key.at, n_name);
    key = (str){name, n_name};
    const json_token token = json_next(&r->p.json);
    const uint32_t which = flat_io(key);
    if (PULL_IS(key, "id") && is_scalar(token)) {
        n->id = pull_u64(&r->p.json, token);
        r->has_id = n->id != PULL_NONE;
    } else if (PULL_IS(key, "name")) {
        n->name = pull_intern(&r->p, token);
    } else if (PULL_IS(key, "ctrl_deps") || PULL_IS(key, "parent")) {
        return read_parent(r, token, err);
    } else if (PULL_IS(key, "attrs") && token == JSON_ARRAY) {
        return read_attrs(r, err);
    } else if (which < IO_TEXTS && token == JSON_OBJECT && which % 3 == 0) {
        return read_io(r, which, err);
    } else if (which < IO_TEXTS) {
        return read_repr(r, which, token, err);
    } else if (is_scalar(token) &&
               (take_host_field(r, key, token) || take_timing(r, key, token))) {
        return HALLEY_OK;
    } else {
        r->host->n_unknown_keys++;
    }
    return json_leap(&r->p.json, token) ? HALLEY_OK : pull_bad(&r->p, err, NULL);
}

/* Append the six texts, each with its length before it. */
static bool keep_io(host_reader *r)
{
    host_trace *const h = r->host;
    size_t n = 0;
    for (int i = 0; i < IO_TEXTS; i++)
        n += sizeof(uint32_t) + r->io[i].n;
    host_block *block = h->blocks.n ? h->blocks.at[h->blocks.n - 1] : NULL;
    if (!block || block->size - block->used < n) {
        const size_t size = n > BLOCK ? n : BLOCK;
        if (size > UINT32_MAX / 2)
            return false;
        block = malloc(sizeof *block + size);
        if (!block || !array_push(&h->blocks, block)) {
            free(block);
            return false;
        }
        block->n_nodes = block->used = 0;
        block->size = (uint32_t)size;
    }
    r->node.io_block = (uint32_t)h->blocks.n - 1;
    r->node.io_at = block->used;
    block->n_nodes++;
    for (int i = 0; i < IO_TEXTS; i++) {
        const uint32_t length = (uint32_t)r->io[i].n;
        memcpy(block->bytes + block->used, &length, sizeof length);
        block->used += (uint32_t)sizeof length;
        if (length > 0)
            memcpy(block->bytes + block->used, r->io[i].at, length);
        block->used += length;
    }
    return true;
}

static bool keep_timing(host_reader *r)
{
    host_timing *const t = &r->timing;
    if (!r->has_start || !r->has_duration || r->node.name == HOST_NONE)
        return true;
    t->id = r->node.id;
    t->parent = r->node.parent;
    t->rf_id = r->node.rf_id;
    t->tid = r->node.tid;
    t->name = r->node.name;
    t->duration_ns = t->duration_ns > 0 ? t->duration_ns : 0;
    return array_push(&r->host->timings, *t);
}

static halley_status keep_host_node(host_reader *r, halley_error *err)
{
    host_trace *const h = r->host;
    if (!r->has_id) {
        h->n_no_id++;
        return HALLEY_OK;
    }
    if (h->nodes.n >= HOST_NONE - 1)
        return error_set(err, HALLEY_ELIMIT, "more than 4294967294 nodes");
    const bool on_device = r->timing.place != HOST_ON_HOST;
    if (!keep_timing(r))
        return error_nomem(err);
    if (on_device)
        return HALLEY_OK;
    r->comm.node = (uint32_t)h->nodes.n;
    if (!keep_io(r) || !array_push(&h->nodes, r->node) ||
        (r->has_comm && !array_push(&h->comms, r->comm)))
        r->p.no_memory = true;
    return r->p.no_memory ? error_nomem(err) : HALLEY_OK;
}

static halley_status read_node(host_reader *r, halley_error *err)
{
    r->node = (host_node){.name = HOST_NONE, .op_schema = HOST_NONE, .seq_id = -1};
    r->node.parent = PULL_NONE;
    r->comm = (host_comm){.collective = HOST_NONE,
                          .dtype = HOST_NONE,
                          .pg_name = HOST_NONE,
                          .pg_desc = HOST_NONE,
                          .in_elements = PULL_NONE,
                          .out_elements = PULL_NONE};
    r->timing = (host_timing){0};
    r->has_id = r->has_comm = r->has_start = r->has_duration = false;
    for (int i = 0; i < IO_TEXTS; i++)
        r->io[i].n = 0;
    while (pull_key(&r->p)) {
        TRY(read_host_key(r, r->p.json.text, err));
        if (r->p.no_memory)
            return error_nomem(err);
    }
    TRY(pull_ended(&r->p, err));
    return keep_host_node(r, err);
}

static halley_status read_host_nodes(host_reader *r, halley_error *err)
{
    r->saw_nodes = true;
    while (pull_object(&r->p))
        TRY(read_node(r, err));
    return pull_list_ended(&r->p, "a node must be an object", err);
}

static halley_status read_host_top(host_reader *r, halley_error *err)
{
    host_trace *const h = r->host;
    while (pull_key(&r->p)) {
        const str key = r->p.json.text;
        if (PULL_IS(key, "traceEvents"))
            return not_host(r, err);
        const int which = PULL_IS(key, "nodes")       ? 0
                          : PULL_IS(key, "schema")    ? 1
                          : PULL_IS(key, "time")      ? 2
                          : PULL_IS(key, "pid")       ? 3
                          : PULL_IS(key, "start_ts")  ? 4
                          : PULL_IS(key, "finish_ts") ? 5
                                                      : 6;
        const json_token token = json_next(&r->p.json);
        if (which == 0 && token == JSON_ARRAY) {
            TRY(read_host_nodes(r, err));
            continue;
        }
        if (which == 1 || which == 2)
            *(which == 1 ? &h->schema : &h->time) = pull_intern(&r->p, token);
        else if (which > 2 && which < 6)
            put_host_u64(which == 3   ? &h->pid
                         : which == 4 ? &h->start_ts
                                      : &h->finish_ts,
                         r, token);
        if (!json_leap(&r->p.json, token) || r->p.no_memory)
            return pull_bad(&r->p, err, NULL);
    }
    return pull_ended(&r->p, err);
}

static halley_status read_host_document(host_reader *r, halley_error *err)
{
    const json_token token = json_next(&r->p.json);
    if (token == JSON_ARRAY)
        return not_host(r, err);
    if (token != JSON_OBJECT)
        return pull_bad(&r->p, err,
                        token == JSON_ERROR ? NULL
                                            : "not a PyTorch execution trace: no object");
    TRY(read_host_top(r, err));
    if (!r->saw_nodes)
        return pull_bad(
            &r->p, err,
            "not a PyTorch execution trace: it has no \"nodes\"; record one with "
            "ExecutionTraceObserver");
    return HALLEY_OK;
}

static int by_host_id(const void *a, const void *b)
{
    const host_node *const x = a, *const y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    /* Of two nodes with the same id, the later one in the file sorts last. */
    if (x->io_block != y->io_block)
        return x->io_block < y->io_block ? -1 : 1;
    return x->io_at < y->io_at ? -1 : x->io_at > y->io_at;
}

static int by_host_node(const void *a, const void *b)
{
    const host_comm *const x = a, *const y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Sort nodes by id. Of several with the same id, the last in the file is kept. */
static halley_status sort_host_nodes(host_trace *h, halley_error *err)
{
    uint64_t *const comm_ids = mem_array(h->comms.n, sizeof *comm_ids);
    if (!comm_ids)
        return error_nomem(err);
    for (size_t i = 0; i < h->comms.n; i++)
        comm_ids[i] = h->nodes.at[h->comms.at[i].node].id;
    qsort(h->nodes.at, h->nodes.n, sizeof *h->nodes.at, by_host_id);
    size_t n = 0;
    for (size_t i = 0; i < h->nodes.n; i++) {
        if (i + 1 < h->nodes.n && h->nodes.at[i + 1].id == h->nodes.at[i].id)
            h->n_duplicates++;
        else
            h->nodes.at[n++] = h->nodes.at[i];
    }
    h->nodes.n = n;
    for (size_t i = 0; i < h->comms.n; i++)
        h->comms.at[i].node = host_find(h, comm_ids[i]);
    if (h->comms.n > 0)
        qsort(h->comms.at, h->comms.n, sizeof *h->comms.at, by_host_node);
    free(comm_ids);
    return HALLEY_OK;
}

halley_status host_read_stream(host_trace *host, file_stream *file, const char *path,
                               halley_error *err)
{
    host_reader r = {.p = {.texts = &host->texts}, .host = host};
    host->schema = host->time = HOST_NONE;
    halley_status status = json_open_stream(&r.p.json, file, err);
    if (status == HALLEY_OK) {
        r.p.json.foreign = true;
        status = read_host_document(&r, err);
        json_close(&r.p.json);
    }
    for (int i = 0; i < IO_TEXTS; i++)
        strbuf_fini(&r.io[i]);
    strbuf_fini(&r.p.scratch);
    if (status == HALLEY_OK && host->nodes.n > 0)
        status = sort_host_nodes(host, err);
    array_trim(&host->nodes);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}

halley_status host_read(host_trace *host, const char *path, halley_error *err)
{
    file_stream *file;
    TRY(file_stream_open(&file, path, err));
    const halley_status status = host_read_stream(host, file, path, err);
    file_stream_close(file);
    return status;
}

void host_fini(host_trace *host)
{
    for (size_t i = 0; i < host->blocks.n; i++)
        free(host->blocks.at[i]);
    array_fini(&host->blocks);
    array_fini(&host->nodes);
    array_fini(&host->comms);
    array_fini(&host->timings);
    intern_fini(&host->texts);
}

host_io host_io_get(const host_trace *host, uint32_t node)
{
    host_io io = {0};
    const host_node *const n = &host->nodes.at[node];
    const host_block *const block = host->blocks.at[n->io_block];
    str *const to[IO_TEXTS] = {&io.values,     &io.shapes,     &io.types,
                               &io.out_values, &io.out_shapes, &io.out_types};
    size_t at = n->io_at;
    for (int i = 0; i < IO_TEXTS; i++) {
        uint32_t length;
        memcpy(&length, block->bytes + at, sizeof length);
        at += sizeof length;
        *to[i] = (str){block->bytes + at, length};
        at += length;
    }
    return io;
}

void host_io_release(host_trace *host, uint32_t node)
{
    const uint32_t i = host->nodes.at[node].io_block;
    if (--host->blocks.at[i]->n_nodes == 0) {
        free(host->blocks.at[i]);
        host->blocks.at[i] = NULL;
    }
}

uint32_t host_find(const host_trace *host, uint64_t id)
{
    size_t low = 0, high = host->nodes.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (host->nodes.at[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < host->nodes.n && host->nodes.at[low].id == id ? (uint32_t)low
                                                               : HOST_NONE;
}
