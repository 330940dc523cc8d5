/*
 * Read an MSCCL++ execution plan:
 *
 *   {"name", "collective", "protocol", "inplace", "gpus": [{"id", "input_chunks",
 *    "output_chunks", "scratch_chunks",
 *    "channels": [{"channel_type": "memory" | "port", "connected_to": [rank, …]}, …],
 *    "remote_buffers": [{"rank", "type": "i" | "o" | "s"}, …],
 *    "threadblocks": [{"id", "channels": [{"channel_type", "channel_ids"}],
 *      "remote_buffer_refs": [{"access_channel_type", "remote_buffer_ids"}], "ops": […]}]
 *
 * An operation refers to channels and remote buffers by their index in the lists of its
 * thread block. ops.c describes how operations run.
 */
#include "msccl/mscclpp/read.h"

#include <stdlib.h>
#include <string.h>
halley_status mpp_read_number(uint64_t *out, const mpp_reader *r, const conf_node *map,
                              const char *key, uint64_t most)
{
    const conf_node *const node = conf_find(map, key);
    int64_t value = 0;
    *out = 0;
    if (node == NULL)
        return MPP_BAD(r, map, "\"%s\" is missing", key);
    TRY(conf_to_i64(&value, &r->p->file, node, key, r->err));
    if (value < 0 || (uint64_t)value > most)
        return MPP_BAD(r, node, "%s must be from 0 to %llu, is %lld", key,
                       (unsigned long long)most, (long long)value);
    *out = (uint64_t)value;
    return HALLEY_OK;
}

/* The list of a key; an empty list if the key is absent. */
halley_status mpp_find_list(const conf_node **out, const mpp_reader *r,
                            const conf_node *map, const char *key)
{
    static const conf_node none = {.kind = CONF_LIST};
    const conf_node *const node = map->kind == CONF_MAP ? conf_find(map, key) : NULL;
    *out = node == NULL ? &none : node;
    if (map->kind != CONF_MAP)
        return MPP_BAD(r, map, "expected an object with \"%s\"", key);
    return (*out)->kind == CONF_LIST ? HALLEY_OK
                                     : MPP_BAD(r, node, "%s must be a list", key);
}

static halley_status read_id_list(mpp_list *out, const mpp_reader *r,
                                  const conf_node *list, const char *what, uint64_t end)
{
    for (uint32_t i = 0; i < list->n; i++) {
        int64_t value;
        TRY(conf_to_i64(&value, &r->p->file, list->items[i], what, r->err));
        if (value < 0 || (uint64_t)value >= end)
            return MPP_BAD(r, list->items[i], "GPU %u has no %s %lld", r->block.gpu, what,
                           (long long)value);
        if (!array_push(out, (uint32_t)value))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

str mpp_read_text(const conf_node *map, const char *key)
{
    const conf_node *const node = map->kind == CONF_MAP ? conf_find(map, key) : NULL;
    return node != NULL && node->kind == CONF_SCALAR ? node->text : STR("");
}

/* memory or port. Switch channels are refused: they are multicast, which no pair of
 * messages can represent. */
halley_status mpp_read_channel_type(uint32_t *out, const mpp_reader *r,
                                    const conf_node *map, const char *key)
{
    const str text = mpp_read_text(map, key);
    *out = str_eq(text, STR("port")) ? MPP_PORT : MPP_MEMORY;
    if (str_eq(text, STR("memory")) || str_eq(text, STR("port")))
        return HALLEY_OK;
    if (str_eq(text, STR("switch")))
        return MPP_BAD(
            r, map,
            "the plan uses switch channels (NVLS): multicast and reduction in the "
            "switch cannot be written as messages between two GPUs");
    return MPP_BAD(r, map, "%s must be memory, port or switch, is \"%.*s\"", key,
                   STR_ARG(text));
}

/* Count the channels to each peer. The n-th channel to a peer connects to the peer's n-th
 * channel back. */
static halley_status number_channels(mpp_reader *r, mpp_gpu *gpu, const conf_node *at)
{
    map64 counts = {0};
    bool ok = true;
    for (uint32_t t = 0; t < MPP_N_CHANNEL_TYPES; t++) {
        for (size_t i = 0; ok && i < gpu->peers[t].n; i++) {
            const uint64_t key = (uint64_t)t << 32 | gpu->peers[t].at[i];
            const uint32_t before = map64_find(&counts, key);
            const uint32_t n = before == HASH_NONE ? 0 : before;
            ok = map64_set(&counts, key, n + 1) && array_push(&gpu->ordinals[t], n);
        }
    }
    const bool to_itself =
        map64_find(&counts, r->block.gpu) != HASH_NONE ||
        map64_find(&counts, UINT64_C(1) << 32 | r->block.gpu) != HASH_NONE;
    map64_fini(&counts);
    if (ok && to_itself)
        return MPP_BAD(r, at, "GPU %u has a channel to itself", r->block.gpu);
    return ok ? HALLEY_OK : error_nomem(r->err);
}

static halley_status read_gpu_channels(mpp_reader *r, mpp_gpu *gpu, const conf_node *map)
{
    const conf_node *list, *peers;
    uint32_t type;
    TRY(mpp_find_list(&list, r, map, "channels"));
    for (uint32_t i = 0; i < list->n; i++) {
        TRY(mpp_read_channel_type(&type, r, list->items[i], "channel_type"));
        TRY(mpp_find_list(&peers, r, list->items[i], "connected_to"));
        TRY(read_id_list(&gpu->peers[type], r, peers, "peer", r->p->n_gpus));
    }
    return number_channels(r, gpu, list);
}

static halley_status read_remote_buffers(mpp_reader *r, mpp_gpu *gpu,
                                         const conf_node *map)
{
    const conf_node *list;
    TRY(mpp_find_list(&list, r, map, "remote_buffers"));
    for (uint32_t i = 0; i < list->n; i++) {
        uint64_t rank;
        if (list->items[i]->kind != CONF_MAP)
            return MPP_BAD(r, list->items[i], "a remote buffer must be an object");
        TRY(mpp_read_number(&rank, r, list->items[i], "rank", r->p->n_gpus - 1));
        const bool is_scratch = str_eq(mpp_read_text(list->items[i], "type"), STR("s"));
        if (rank == r->block.gpu)
            return MPP_BAD(r, list->items[i], "a remote buffer of GPU %u is its own",
                           r->block.gpu);
        if (!array_push(&gpu->buffer_ranks, (uint32_t)rank) ||
            !array_push(&gpu->buffer_is_scratch, is_scratch))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

static halley_status read_block_refs(mpp_reader *r, const conf_node *map, const char *key,
                                     const char *type_key, const char *ids_key)
{
    const bool channels = strcmp(key, "channels") == 0;
    const mpp_gpu *const gpu = &r->gpus[r->block.gpu];
    const conf_node *list, *ids;
    uint32_t type;
    TRY(mpp_find_list(&list, r, map, key));
    for (uint32_t i = 0; i < list->n; i++) {
        TRY(mpp_read_channel_type(&type, r, list->items[i], type_key));
        TRY(mpp_find_list(&ids, r, list->items[i], ids_key));
        TRY(read_id_list(channels ? &r->block.channels[type] : &r->block.buffers[type], r,
                         ids, channels ? "channel" : "remote buffer",
                         channels ? gpu->peers[type].n : gpu->buffer_ranks.n));
    }
    return HALLEY_OK;
}

static bool begin_block(mpp_reader *r, uint32_t index)
{
    mpp_block *const b = &r->block;
    b->index = index;
    b->last.n = 0;
    map64_fini(&b->counts);
    for (uint32_t t = 0; t < MPP_N_CHANNEL_TYPES; t++) {
        b->channels[t].n = b->buffers[t].n = b->proxy[t].n = 0;
        for (size_t i = 0; i < r->gpus[b->gpu].peers[t].n; i++)
            if (!array_push(&b->proxy[t], MPP_NONE))
                return false;
    }
    return true;
}

static halley_status read_plan_block(mpp_reader *r, const conf_node *map, uint32_t index)
{
    const conf_node *ops;
    if (!begin_block(r, index))
        return error_nomem(r->err);
    if (map->kind != CONF_MAP)
        return MPP_BAD(r, map, "a thread block must be an object");
    TRY(read_block_refs(r, map, "channels", "channel_type", "channel_ids"));
    TRY(read_block_refs(r, map, "remote_buffer_refs", "access_channel_type",
                        "remote_buffer_ids"));
    TRY(mpp_find_list(&ops, r, map, "ops"));
    for (r->op = 0; r->op < ops->n; r->op++)
        TRY(mpp_play_operation(r, ops->items[r->op], (mpp_unit){0, UINT64_MAX}));
    return HALLEY_OK;
}

static halley_status read_plan_semaphores(mpp_reader *r, const conf_node *map)
{
    const conf_node *list;
    TRY(mpp_find_list(&list, r, map, "semaphores"));
    for (uint32_t i = 0; i < list->n; i++) {
        uint64_t value;
        if (list->items[i]->kind != CONF_MAP)
            return MPP_BAD(r, list->items[i], "a semaphore must be an object");
        TRY(mpp_read_number(&value, r, list->items[i], "init_value", UINT16_MAX));
        if (value > 0 &&
            !map64_set(&r->p->initial, (uint64_t)r->block.gpu << 32 | i, (uint32_t)value))
            return error_nomem(r->err);
    }
    return HALLEY_OK;
}

static halley_status play_gpus(mpp_reader *r, const conf_node *gpus)
{
    for (r->block.gpu = 0; r->block.gpu < gpus->n; r->block.gpu++) {
        const conf_node *blocks;
        TRY(read_plan_semaphores(r, gpus->items[r->block.gpu]));
        TRY(mpp_find_list(&blocks, r, gpus->items[r->block.gpu], "threadblocks"));
        for (uint32_t i = 0; i < blocks->n; i++)
            TRY(read_plan_block(r, blocks->items[i], i));
    }
    return HALLEY_OK;
}

/* The number of chunks of the larger of input and output, which is the whole data. */
static halley_status count_plan_chunks(uint64_t *most, mpp_reader *r,
                                       const conf_node *gpu)
{
    static const char *const keys[] = {"input_chunks", "output_chunks"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t n;
        TRY(mpp_read_number(&n, r, gpu, keys[i], MPP_MAX_CHUNKS));
        *most = n > *most ? n : *most;
    }
    return HALLEY_OK;
}

static halley_status read_plan_gpus(mpp_reader *r, const conf_node *gpus,
                                    uint64_t *n_chunks)
{
    for (r->block.gpu = 0; r->block.gpu < gpus->n; r->block.gpu++) {
        const conf_node *const gpu = gpus->items[r->block.gpu];
        uint64_t id;
        if (gpu->kind != CONF_MAP)
            return MPP_BAD(r, gpu, "a GPU must be an object");
        if (conf_find(gpu, "inputChunks") != NULL)
            return MPP_BAD(
                r, gpu,
                "this is a plan of an older MSCCL++ (inputChunks): write it anew "
                "with mscclpp.language");
        TRY(mpp_read_number(&id, r, gpu, "id", MPP_MAX_GPUS));
        if (id != r->block.gpu)
            return MPP_BAD(r, gpu, "GPU %llu comes where GPU %u is due",
                           (unsigned long long)id, r->block.gpu);
        TRY(count_plan_chunks(n_chunks, r, gpu));
        TRY(read_gpu_channels(r, &r->gpus[r->block.gpu], gpu));
        TRY(read_remote_buffers(r, &r->gpus[r->block.gpu], gpu));
    }
    return HALLEY_OK;
}

/* MSCCL++ uses a plan only for a range of message sizes. */
static halley_status check_message_size(const mpp_reader *r, uint64_t n_bytes)
{
    static const char *const keys[] = {"min_message_size", "max_message_size"};
    const conf_node *const root = r->p->file.root;
    for (size_t i = 0; i < 2; i++) {
        uint64_t limit = i == 0 ? 0 : UINT64_MAX;
        const str text = mpp_read_text(root, keys[i]);
        if (text.n > 0 && str_to_u64(text, &limit) &&
            (i == 0 ? n_bytes < limit : n_bytes > limit))
            return MPP_BAD(r, root, "the plan is for %s %llu bytes of data, not for %llu",
                           i == 0 ? "at least" : "at most", (unsigned long long)limit,
                           (unsigned long long)n_bytes);
    }
    return HALLEY_OK;
}

static halley_status read_plan(mpp_reader *r, uint64_t n_bytes)
{
    mpp_plan *const p = r->p;
    const conf_node *gpus;
    uint64_t n_chunks = 0;
    p->name = mpp_read_text(p->file.root, "name");
    p->collective = mpp_read_text(p->file.root, "collective");
    TRY(mpp_find_list(&gpus, r, p->file.root, "gpus"));
    if (gpus->n == 0 || gpus->n > MPP_MAX_GPUS)
        return MPP_BAD(r, gpus, "a plan has 1 to %d GPUs, this one %u", MPP_MAX_GPUS,
                       gpus->n);
    TRY(check_message_size(r, n_bytes));
    p->n_gpus = gpus->n;
    r->gpus = mem_array_zero(gpus->n, sizeof *r->gpus);
    if (r->gpus == NULL)
        return error_nomem(r->err);
    TRY(read_plan_gpus(r, gpus, &n_chunks));
    if (n_chunks == 0)
        return MPP_BAD(r, gpus, "input_chunks and output_chunks are 0");
    p->chunk_bytes = n_bytes / n_chunks + (n_bytes % n_chunks != 0);
    if (p->chunk_bytes > (uint64_t)INT64_MAX >> 26)
        return error_set(r->err, HALLEY_ELIMIT, "the data are too large: %llu bytes",
                         (unsigned long long)n_bytes);
    return play_gpus(r, gpus);
}

static void fini_reader(mpp_reader *r)
{
    for (uint32_t i = 0; r->gpus != NULL && i < r->p->n_gpus; i++) {
        for (size_t t = 0; t < MPP_N_CHANNEL_TYPES; t++) {
            array_fini(&r->gpus[i].peers[t]);
            array_fini(&r->gpus[i].ordinals[t]);
        }
        array_fini(&r->gpus[i].buffer_ranks);
        array_fini(&r->gpus[i].buffer_is_scratch);
    }
    free(r->gpus);
    for (size_t t = 0; t < MPP_N_CHANNEL_TYPES; t++) {
        array_fini(&r->block.channels[t]);
        array_fini(&r->block.buffers[t]);
        array_fini(&r->block.proxy[t]);
    }
    array_fini(&r->block.last);
    map64_fini(&r->block.counts);
}

halley_status mpp_parse(mpp_plan *p, str text, const char *path, uint64_t n_bytes,
                        halley_error *err)
{
    mpp_reader r = {.p = p, .err = err};
    TRY(conf_parse(&p->file, text, path, err));
    halley_status status = read_plan(&r, n_bytes);
    fini_reader(&r);
    if (status == HALLEY_OK)
        status = mpp_match(p, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}

bool mpp_recognise(str head)
{
    const str text = str_trim(head);
    return str_starts(text, STR("{")) && str_contains(text, STR("\"gpus\"")) &&
           str_contains(text, STR("\"collective\"")) &&
           str_contains(text, STR("\"protocol\""));
}
