/*
 * Write an MSCCL algorithm as traces, one per GPU, which a simulator runs for a
 * collective.
 *
 * A step becomes up to three nodes in sequence: a receive, a compute node for its
 * reduction or copy, and a send. It waits for the previous step of its thread block and
 * for the step that it names. Reductions and copies take no time, because MSCCL's files
 * give none. The tag of a message distinguishes it from others between the same two GPUs.
 */
#include "halley/ingest.h"
#include "msccl/msccl.h"
#include "msccl/mscclpp/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct maker {
    const msccl_algorithm *a;
    halley_builder *b;
    uint64_t chunk_bytes;
    uint64_t *last; /* by step: id of its last node */
} maker;

static uint32_t count_msccl_nodes(const msccl_step *step)
{
    const uint32_t n = (uint32_t)__builtin_popcount(step->does);
    return n > 0 ? n : 1;
}

static halley_bytes msccl_bytes_of(str s)
{
    return (halley_bytes){s.at, s.n};
}

static void begin_node(const maker *m, uint64_t id, halley_node_type type,
                       const char *what, const msccl_block *block, uint32_t k)
{
    char name[96];
    snprintf(name, sizeof name, "%s block %" PRId64 " step %u", what, block->id, k);
    (void)halley_builder_node(m->b, id, (uint32_t)type, msccl_bytes_of(str_from(name)));
}

static void add_msccl_message(const maker *m, const msccl_block *block, bool sends,
                              uint32_t message, uint64_t n_bytes)
{
    const uint32_t peer = sends ? block->send : block->recv;
    (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)n_bytes);
    (void)halley_builder_attr_i32(m->b, HALLEY_ATTR_NAME_COMM_SRC,
                                  (int32_t)(sends ? block->gpu : peer));
    (void)halley_builder_attr_i32(m->b, HALLEY_ATTR_NAME_COMM_DST,
                                  (int32_t)(sends ? peer : block->gpu));
    (void)halley_builder_attr_i32(m->b, HALLEY_ATTR_NAME_COMM_TAG,
                                  (int32_t)(message * m->a->n_channels + block->channel));
}

/* Add the nodes of one step; `id` is the first of them. */
static void add_msccl_step(const maker *m, const msccl_block *block, uint32_t k,
                           uint64_t id)
{
    const msccl_step *const step = &m->a->steps.at[block->first + k];
    const uint64_t n_bytes = m->chunk_bytes * step->n;
    static const struct {
        uint32_t does;
        halley_node_type type;
        const char *what;
    } parts[] = {{MSCCL_RECEIVES, HALLEY_NODE_RECV, "receive"},
                 {MSCCL_REDUCES, HALLEY_NODE_COMP, "reduce"},
                 {MSCCL_COPIES, HALLEY_NODE_COMP, "copy"},
                 {MSCCL_SENDS, HALLEY_NODE_SEND, "send"},
                 {0, HALLEY_NODE_COMP, "wait"}};
    bool first = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].does != 0 ? !(step->does & parts[i].does) : step->does != 0)
            continue;
        begin_node(m, id, parts[i].type, parts[i].what, block, k);
        if (!first)
            (void)halley_builder_data(m->b, id - 1);
        else if (k > 0)
            (void)halley_builder_data(m->b, m->last[block->first + k - 1]);
        if (first && step->dep != MSCCL_NONE &&
            (k == 0 || step->dep != block->first + k - 1))
            (void)halley_builder_data(m->b, m->last[step->dep]);
        (void)halley_builder_attr_bool(m->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
        if (parts[i].type == HALLEY_NODE_COMP) {
            /* Give the node work, so that a roofline can time it: each byte is read, and
             * written once. */
            (void)halley_builder_attr_i64(m->b, HALLEY_ATTR_NAME_NUM_OPS,
                                          step->does ? (int64_t)n_bytes : 0);
            (void)halley_builder_attr_u64(m->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                          step->does ? 2 * n_bytes : 0);
        } else {
            const bool sends = parts[i].type == HALLEY_NODE_SEND;
            add_msccl_message(m, block, sends,
                              sends ? step->message : m->a->steps.at[step->from].message,
                              n_bytes);
        }
        first = false;
        id++;
    }
}

static void describe_msccl(const maker *m)
{
    const struct {
        const char *name;
        str text;
    } said[] = {{"msccl_name", m->a->name}, {"msccl_collective", m->a->collective}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const halley_attr attr = {.name = {said[i].name, strlen(said[i].name)},
                                  .kind = HALLEY_ATTR_STRING,
                                  .bytes = msccl_bytes_of(said[i].text)};
        if (str_utf8_valid(said[i].text))
            (void)halley_builder_metadata(m->b, &attr);
    }
}

static halley_status make_gpu(halley_trace **out, maker *m, const msccl_gpu *gpu,
                              halley_error *err)
{
    TRY(halley_builder_new(&m->b, err));
    describe_msccl(m);
    uint64_t id = 0;
    for (uint32_t i = gpu->first; i < gpu->first + gpu->n; i++) {
        const msccl_block *const block = &m->a->blocks.at[i];
        for (uint32_t k = 0; k < block->n; k++) {
            id += count_msccl_nodes(&m->a->steps.at[block->first + k]);
            m->last[block->first + k] = id - 1;
        }
    }
    for (uint32_t i = gpu->first; i < gpu->first + gpu->n; i++) {
        const msccl_block *const block = &m->a->blocks.at[i];
        for (uint32_t k = 0; k < block->n; k++) {
            const uint32_t step = block->first + k;
            add_msccl_step(m, block, k,
                           m->last[step] + 1 - count_msccl_nodes(&m->a->steps.at[step]));
        }
    }
    return halley_builder_finish(out, m->b, err);
}

/* The number of tags that ASTRA-sim has room for. Tags count the messages of a
 * connection. */
enum { MAX_TAG = 500000000 };

static halley_status check_sizes(const maker *m, halley_error *err)
{
    uint64_t most = 0;
    for (size_t i = 0; i < m->a->steps.n; i++)
        most = m->a->steps.at[i].message > most ? m->a->steps.at[i].message : most;
    if ((most + 1) * m->a->n_channels >= MAX_TAG)
        return error_set(err, HALLEY_ELIMIT, "more than %d messages of one pair of GPUs",
                         MAX_TAG);
    if (m->chunk_bytes > (uint64_t)INT64_MAX >> 26)
        return error_set(err, HALLEY_ELIMIT,
                         "the data are too large: %" PRIu64 " bytes a chunk",
                         m->chunk_bytes);
    return HALLEY_OK;
}

static halley_status make_msccl_nodes(halley_trace_set **out, maker *m, halley_error *err)
{
    const uint32_t n = (uint32_t)m->a->gpus.n;
    halley_trace **const traces = mem_array_zero(n, sizeof *traces);
    halley_status status = traces && m->last ? check_sizes(m, err) : error_nomem(err);
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++)
        status = make_gpu(&traces[i], m, &m->a->gpus.at[i], err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, traces, n, err);
    for (uint32_t i = 0; traces && status != HALLEY_OK && i < n; i++)
        halley_trace_free(traces[i]);
    free(traces);
    return status;
}

/* Bytes at the start of a file that are enough to detect its type. */
enum { HEAD = 4096 };

/* Load an MSCCL++ plan, which is JSON. */
static halley_status load_plan(halley_trace_set **out, const msccl_algorithm *a,
                               const char *path, uint64_t n_bytes, halley_error *err)
{
    mpp_plan plan = {0};
    halley_status status =
        mpp_parse(&plan, (str){(const char *)a->in.at, a->in.n}, path, n_bytes, err);
    if (status == HALLEY_OK)
        status = mpp_make_traces(out, &plan, err);
    mpp_fini(&plan);
    return status;
}

halley_status halley_msccl_load(halley_trace_set **out, const char *path,
                                uint64_t n_bytes, halley_error *err)
{
    if (n_bytes == 0)
        return error_set(err, HALLEY_EINVAL,
                         "an algorithm of MSCCL needs the size of the data it is for");
    msccl_algorithm a = {0};
    TRY(file_input_open(&a.in, path, err));
    if (mpp_recognise((str){(const char *)a.in.at, a.in.n < HEAD ? a.in.n : HEAD})) {
        const halley_status loaded = load_plan(out, &a, path, n_bytes, err);
        msccl_fini(&a);
        return loaded;
    }
    halley_status status = msccl_parse(&a, path, err);
    if (status == HALLEY_OK) {
        maker m = {.a = &a,
                   .chunk_bytes = n_bytes / a.n_chunks + (n_bytes % a.n_chunks != 0),
                   .last = mem_array(a.steps.n, sizeof *m.last)};
        status = make_msccl_nodes(out, &m, err);
        free(m.last);
        if (status != HALLEY_OK)
            error_at_file(err, path);
    }
    msccl_fini(&a);
    return status;
}

bool halley_msccl_recognise(const char *path)
{
    char start[HEAD];
    FILE *const f = fopen(path, "re");
    if (f == NULL)
        return false;
    const size_t n = fread(start, 1, sizeof start, f);
    fclose(f);
    const str text = str_trim((str){start, n});
    return n > 0 && (mpp_recognise(text) ||
                     (str_starts(text, STR("<")) && str_contains(text, STR("<algo"))));
}
