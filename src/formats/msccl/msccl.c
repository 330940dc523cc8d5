/*
 * Read MSCCL's XML:
 *
 *   <algo name coll ngpus nchannels nchunksperloop …>
 *     <gpu id i_chunks o_chunks s_chunks>
 *       <tb id send recv chan>
 *         <step s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep/>
 *
 * Buffers and offsets are not read. The time depends only on how many chunks a step
 * moves, over which connection, and after which steps. A connection is (sender, receiver,
 * channel): its k-th send matches its k-th receive. nchunksperloop is the number of
 * chunks that the whole data is cut into. The whole data is the input of an all-reduce
 * and the output of an all-gather. Without nchunksperloop the largest buffer gives the
 * number.
 */
#include "msccl/msccl.h"

#include "base/hash.h"
#include "base/xml.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GPUS = 1 << 20, MAX_CHANNELS = 1 << 16, MAX_CHUNKS = 1 << 24 };

typedef struct msccl_reader {
    xml_reader xml;
    msccl_algorithm *a;
    halley_error *err;
    uint64_t n_said;      /* number of GPUs according to the file; 0 = not given */
    uint64_t most_chunks; /* of an input or output buffer */
} msccl_reader;

static halley_status bad_at(const msccl_reader *r, uint32_t line)
{
    error_at_line(r->err, line, 0);
    return HALLEY_EFORMAT;
}

#define BAD(r, at_line, ...)                                                             \
    (error_set((r)->err, HALLEY_EFORMAT, __VA_ARGS__), bad_at((r), (at_line)))

/* Read an integer from least to most. */
static halley_status read_msccl_integer(int64_t *out, const msccl_reader *r,
                                        const char *name, int64_t least, int64_t most)
{
    str text;
    if (!xml_attribute(&r->xml, str_from(name), &text))
        return BAD(r, r->xml.line, "<%.*s> has no attribute %s", STR_ARG(r->xml.name),
                   name);
    if (!str_to_i64(text, out) || *out < least || *out > most)
        return BAD(r, r->xml.line,
                   "%s of <%.*s> must be a whole number from %lld to %lld, "
                   "is \"%.*s\"",
                   name, STR_ARG(r->xml.name), (long long)least, (long long)most,
                   STR_ARG(text));
    return HALLEY_OK;
}

/* Read an integer from 0 on, or `missing` if the attribute is absent. */
static halley_status read_msccl_integer_or(int64_t *out, const msccl_reader *r,
                                           const char *name, int64_t most,
                                           int64_t missing)
{
    str text;
    *out = missing;
    return xml_attribute(&r->xml, str_from(name), &text)
               ? read_msccl_integer(out, r, name, 0, most)
               : HALLEY_OK;
}

static halley_status read_algo(msccl_reader *r)
{
    msccl_algorithm *const a = r->a;
    int64_t n_gpus, n_chunks;
    if (!xml_attribute(&r->xml, STR("name"), &a->name))
        a->name = STR("");
    if (!xml_attribute(&r->xml, STR("coll"), &a->collective))
        a->collective = STR("");
    TRY(read_msccl_integer_or(&n_gpus, r, "ngpus", MAX_GPUS, 0));
    TRY(read_msccl_integer_or(&n_chunks, r, "nchunksperloop", MAX_CHUNKS, 0));
    r->n_said = (uint64_t)n_gpus;
    a->n_chunks = (uint32_t)n_chunks;
    return HALLEY_OK;
}

static halley_status read_gpu(msccl_reader *r)
{
    msccl_algorithm *const a = r->a;
    int64_t id, in, out;
    TRY(read_msccl_integer(&id, r, "id", 0, MAX_GPUS - 1));
    TRY(read_msccl_integer_or(&in, r, "i_chunks", MAX_CHUNKS, 0));
    TRY(read_msccl_integer_or(&out, r, "o_chunks", MAX_CHUNKS, 0));
    const uint64_t most = (uint64_t)(in > out ? in : out);
    r->most_chunks = most > r->most_chunks ? most : r->most_chunks;
    const msccl_gpu gpu = {
        .id = (uint32_t)id, .first = (uint32_t)a->blocks.n, .line = r->xml.line};
    return array_push(&a->gpus, gpu) ? HALLEY_OK : error_nomem(r->err);
}

static halley_status read_block(msccl_reader *r)
{
    msccl_algorithm *const a = r->a;
    int64_t id, send, recv, channel;
    TRY(read_msccl_integer(&id, r, "id", 0, INT32_MAX));
    TRY(read_msccl_integer(&send, r, "send", -1, MAX_GPUS - 1));
    TRY(read_msccl_integer(&recv, r, "recv", -1, MAX_GPUS - 1));
    TRY(read_msccl_integer_or(&channel, r, "chan", MAX_CHANNELS - 1, 0));
    if ((uint32_t)channel >= a->n_channels)
        a->n_channels = (uint32_t)channel + 1;
    const msccl_block block = {.gpu = (uint32_t)a->gpus.n - 1,
                               .id = id,
                               .send = send < 0 ? MSCCL_NONE : (uint32_t)send,
                               .recv = recv < 0 ? MSCCL_NONE : (uint32_t)recv,
                               .channel = (uint32_t)channel,
                               .first = (uint32_t)a->steps.n,
                               .line = r->xml.line};
    a->gpus.at[a->gpus.n - 1].n++;
    return array_push(&a->blocks, block) ? HALLEY_OK : error_nomem(r->err);
}

static bool step_type(str text, uint32_t *does)
{
    static const struct {
        const char *name;
        uint32_t does;
    } types[] = {
        {"nop", 0},
        {"s", MSCCL_SENDS},
        {"r", MSCCL_RECEIVES},
        {"rcs", MSCCL_RECEIVES | MSCCL_SENDS},
        {"rrs", MSCCL_RECEIVES | MSCCL_REDUCES | MSCCL_SENDS},
        {"rrc", MSCCL_RECEIVES | MSCCL_REDUCES},
        {"rrcs", MSCCL_RECEIVES | MSCCL_REDUCES | MSCCL_SENDS},
        {"cpy", MSCCL_COPIES},
        {"re", MSCCL_REDUCES},
        {"ra", MSCCL_REDUCES},
        {"res", MSCCL_REDUCES},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(text, str_from(types[i].name))) {
            *does = types[i].does;
            return true;
        }
    return false;
}

static halley_status read_step(msccl_reader *r)
{
    msccl_algorithm *const a = r->a;
    msccl_block *const block = &a->blocks.at[a->blocks.n - 1];
    str type = STR("");
    int64_t s, n;
    msccl_step step = {.line = r->xml.line, .dep = MSCCL_NONE, .from = MSCCL_NONE};
    TRY(read_msccl_integer(&s, r, "s", 0, INT32_MAX));
    if (s != (int64_t)block->n)
        return BAD(r, step.line, "step %lld comes where step %u is due", (long long)s,
                   block->n);
    (void)xml_attribute(&r->xml, STR("type"), &type);
    if (!step_type(type, &step.does))
        return BAD(
            r, step.line,
            "\"%.*s\" is not a type of a step; expected s, r, rcs, rrs, rrc, rrcs, cpy, "
            "re or nop",
            STR_ARG(type));
    TRY(read_msccl_integer(&n, r, "cnt", step.does ? 1 : 0, MAX_CHUNKS));
    step.n = (uint32_t)n;
    TRY(read_msccl_integer(&step.dep_block, r, "depid", -1, INT32_MAX));
    TRY(read_msccl_integer(&step.dep_step, r, "deps", -1, INT32_MAX));
    if ((step.does & MSCCL_SENDS) && block->send == MSCCL_NONE)
        return BAD(r, step.line, "a step sends, but its thread block has no send peer");
    if ((step.does & MSCCL_RECEIVES) && block->recv == MSCCL_NONE)
        return BAD(r, step.line,
                   "a step receives, but its thread block has no recv peer");
    block->n++;
    return a->steps.n < MSCCL_NONE - 1 && array_push(&a->steps, step)
               ? HALLEY_OK
               : error_nomem(r->err);
}

static const struct {
    const char *name;
    halley_status (*read)(msccl_reader *r);
} levels[] = {
    {"algo", read_algo}, {"gpu", read_gpu}, {"tb", read_block}, {"step", read_step}};
enum { N_LEVELS = sizeof levels / sizeof *levels };

static halley_status read_tags(msccl_reader *r)
{
    size_t depth = 0;
    bool seen = false;
    for (;;) {
        const xml_token token = xml_next(&r->xml);
        const uint32_t line = r->xml.line;
        if (token == XML_ERROR)
            return BAD(r, line, "%s", r->xml.problem);
        if (token == XML_END && depth > 0)
            return BAD(r, line, "<%s> does not end; the file is cut",
                       levels[depth - 1].name);
        if (token == XML_END)
            return seen ? HALLEY_OK : BAD(r, line, "no <algo>: not a file of MSCCL");
        if (token == XML_OPEN) {
            if (depth == N_LEVELS || (depth == 0 && seen) ||
                !str_eq(r->xml.name, str_from(levels[depth].name)))
                return BAD(r, line, "<%.*s> does not belong here%s%s",
                           STR_ARG(r->xml.name), depth < N_LEVELS ? "; want " : "",
                           depth < N_LEVELS ? levels[depth].name : "");
            TRY(levels[depth].read(r));
            seen = true;
            depth += !r->xml.is_empty;
        } else if (depth == 0 || !str_eq(r->xml.name, str_from(levels[depth - 1].name))) {
            return BAD(r, line, "</%.*s> closes what is not open", STR_ARG(r->xml.name));
        } else {
            depth--;
        }
    }
}

static int by_msccl_id(const void *a, const void *b)
{
    const msccl_gpu *const x = a, *const y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Sort the GPUs by id and check that none is missing. */
static halley_status sort_gpus(msccl_reader *r)
{
    msccl_algorithm *const a = r->a;
    if (a->gpus.n == 0 || a->steps.n == 0)
        return BAD(r, r->xml.line, "the algorithm has no steps");
    qsort(a->gpus.at, a->gpus.n, sizeof *a->gpus.at, by_msccl_id);
    for (uint32_t i = 0; i < a->gpus.n; i++) {
        const msccl_gpu *const gpu = &a->gpus.at[i];
        if (gpu->id != i)
            return BAD(r, gpu->line,
                       gpu->id < i ? "GPU %u is there twice"
                                   : "GPU %u is there, but not all before it",
                       gpu->id);
        for (uint32_t k = 0; k < gpu->n; k++)
            a->blocks.at[gpu->first + k].gpu = i;
    }
    if (r->n_said != 0 && r->n_said != a->gpus.n)
        return BAD(r, r->xml.line, "ngpus is %llu, but there are %zu",
                   (unsigned long long)r->n_said, a->gpus.n);
    a->n_chunks = a->n_chunks ? a->n_chunks : (uint32_t)r->most_chunks;
    if (a->n_chunks == 0)
        return BAD(r, r->xml.line,
                   "neither nchunksperloop nor i_chunks and o_chunks say how many chunks "
                   "the data have");
    return HALLEY_OK;
}

/* Find the step, of a thread block of the same GPU, that each step waits for. */
static halley_status find_deps(msccl_reader *r, map64 *ids)
{
    msccl_algorithm *const a = r->a;
    for (uint32_t b = 0; b < a->blocks.n; b++) {
        const msccl_block *const block = &a->blocks.at[b];
        uint32_t value = b;
        bool fresh;
        if (!map64_put(ids, (uint64_t)block->gpu << 32 | (uint64_t)block->id, &value,
                       &fresh))
            return error_nomem(r->err);
        if (!fresh)
            return BAD(r, block->line, "GPU %u has two thread blocks %lld", block->gpu,
                       (long long)block->id);
    }
    for (uint32_t b = 0; b < a->blocks.n; b++)
        for (uint32_t k = 0; k < a->blocks.at[b].n; k++) {
            msccl_step *const step = &a->steps.at[a->blocks.at[b].first + k];
            if (step->dep_block < 0)
                continue;
            const uint32_t on = map64_find(ids, (uint64_t)a->blocks.at[b].gpu << 32 |
                                                    (uint64_t)step->dep_block);
            if (on == HASH_NONE || step->dep_step < 0 ||
                step->dep_step >= (int64_t)a->blocks.at[on].n)
                return BAD(r, step->line,
                           "waits for step %lld of thread block %lld, which GPU %u does "
                           "not have",
                           (long long)step->dep_step, (long long)step->dep_block,
                           a->blocks.at[b].gpu);
            step->dep = a->blocks.at[on].first + (uint32_t)step->dep_step;
        }
    return HALLEY_OK;
}

static uint64_t connection(uint32_t from, uint32_t to, uint32_t channel)
{
    return ((uint64_t)from << 20 | to) << 16 | channel;
}

/* The next step of a block that sends, or that receives; block->n = none. */
static uint32_t next_of(const msccl_algorithm *a, const msccl_block *block, uint32_t k,
                        uint32_t does)
{
    while (k < block->n && !(a->steps.at[block->first + k].does & does))
        k++;
    return k;
}

/* Match the k-th send of a connection with its k-th receive. */
static halley_status match_msccl_block(msccl_reader *r, const msccl_block *sends,
                                       const msccl_block *receives)
{
    msccl_algorithm *const a = r->a;
    uint32_t i = 0, k = 0, n = 0;
    for (;; i++, k++, n++) {
        i = next_of(a, sends, i, MSCCL_SENDS);
        k = receives ? next_of(a, receives, k, MSCCL_RECEIVES) : 0;
        const bool more = i < sends->n, wanted = receives && k < receives->n;
        if (!more && !wanted)
            return HALLEY_OK;
        if (!more || !wanted)
            return BAD(r,
                       more ? a->steps.at[sends->first + i].line
                            : a->steps.at[receives->first + k].line,
                       more
                           ? "GPU %u does not receive message %u of GPU %u on channel %u"
                           : "GPU %u waits for message %u of GPU %u on channel %u, which "
                             "is not sent",
                       sends->send, n, sends->gpu, sends->channel);
        msccl_step *const from = &a->steps.at[sends->first + i];
        msccl_step *const to = &a->steps.at[receives->first + k];
        if (from->n != to->n)
            return BAD(r, to->line, "receives %u chunks, but GPU %u sends %u", to->n,
                       sends->gpu, from->n);
        from->message = n;
        to->from = sends->first + i;
    }
}

static halley_status match_msccl_messages(msccl_reader *r, map64 *receivers)
{
    msccl_algorithm *const a = r->a;
    for (uint32_t b = 0; b < a->blocks.n; b++) {
        const msccl_block *const block = &a->blocks.at[b];
        const uint32_t peers[] = {block->send, block->recv};
        for (int i = 0; i < 2; i++)
            if (peers[i] != MSCCL_NONE &&
                (peers[i] >= a->gpus.n || peers[i] == block->gpu))
                return BAD(r, block->line, "GPU %u cannot talk to GPU %u of %zu",
                           block->gpu, peers[i], a->gpus.n);
        uint32_t value = b;
        bool fresh = true;
        if (block->recv != MSCCL_NONE &&
            !map64_put(receivers, connection(block->recv, block->gpu, block->channel),
                       &value, &fresh))
            return error_nomem(r->err);
        if (!fresh)
            return BAD(r, block->line,
                       "two thread blocks of GPU %u receive from GPU %u on channel %u",
                       block->gpu, block->recv, block->channel);
    }
    map64 senders = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t b = 0; status == HALLEY_OK && b < a->blocks.n; b++) {
        const msccl_block *const block = &a->blocks.at[b];
        if (block->send == MSCCL_NONE)
            continue;
        const uint64_t key = connection(block->gpu, block->send, block->channel);
        const uint32_t to = map64_find(receivers, key);
        uint32_t value = b;
        bool fresh;
        if (!map64_put(&senders, key, &value, &fresh))
            status = error_nomem(r->err);
        else if (!fresh)
            status = BAD(r, block->line,
                         "two thread blocks of GPU %u send to GPU %u on channel %u",
                         block->gpu, block->send, block->channel);
        else
            status =
                match_msccl_block(r, block, to == HASH_NONE ? NULL : &a->blocks.at[to]);
    }
    map64_fini(&senders);
    for (size_t i = 0; status == HALLEY_OK && i < a->steps.n; i++)
        if ((a->steps.at[i].does & MSCCL_RECEIVES) && a->steps.at[i].from == MSCCL_NONE)
            status = BAD(r, a->steps.at[i].line, "waits for a message that nobody sends");
    return status;
}

/* Steps as a graph: how many each waits for, and linked lists of the steps that wait for
 * it. */
typedef struct waits {
    uint32_t *n_before; /* by step */
    uint32_t *after;    /* by step: the next of its thread block, or MSCCL_NONE */
    uint32_t *head;     /* by step: its first waiter, as 2 * step + which; MSCCL_NONE */
    uint32_t *next;     /* by 2 * step + which */
    uint32_t *ready;    /* steps that can run */
    size_t n_ready;
} waits;

static void wait_for_msccl(waits *w, uint32_t step, uint32_t which, uint32_t on)
{
    w->n_before[step]++;
    w->next[2 * (size_t)step + which] = w->head[on];
    w->head[on] = 2 * step + which;
}

static void release(waits *w, uint32_t step)
{
    if (--w->n_before[step] == 0)
        w->ready[w->n_ready++] = step;
}

static void collect_waits(waits *w, const msccl_algorithm *a)
{
    const uint32_t n = (uint32_t)a->steps.n;
    for (uint32_t i = 0; i < n; i++) {
        w->head[i] = w->after[i] = MSCCL_NONE;
        w->n_before[i] = 1; /* so that no step runs before all edges are known */
    }
    for (uint32_t b = 0; b < a->blocks.n; b++)
        for (uint32_t k = 1; k < a->blocks.at[b].n; k++) {
            w->n_before[a->blocks.at[b].first + k]++;
            w->after[a->blocks.at[b].first + k - 1] = a->blocks.at[b].first + k;
        }
    for (uint32_t i = 0; i < n; i++) {
        if (a->steps.at[i].dep != MSCCL_NONE)
            wait_for_msccl(w, i, 0, a->steps.at[i].dep);
        if (a->steps.at[i].from != MSCCL_NONE)
            wait_for_msccl(w, i, 1, a->steps.at[i].from);
    }
}

/* Run every step once. Returns the first step that can never run, or MSCCL_NONE. */
static uint32_t run_steps(waits *w, const msccl_algorithm *a)
{
    const uint32_t n = (uint32_t)a->steps.n;
    collect_waits(w, a);
    for (uint32_t i = 0; i < n; i++)
        release(w, i);
    for (size_t at = 0; at < w->n_ready; at++) {
        const uint32_t step = w->ready[at];
        for (uint32_t e = w->head[step]; e != MSCCL_NONE; e = w->next[e])
            release(w, e / 2);
        if (w->after[step] != MSCCL_NONE)
            release(w, w->after[step]);
    }
    for (uint32_t i = 0; i < n; i++)
        if (w->n_before[i] > 0)
            return i;
    return MSCCL_NONE;
}

static halley_status check_order(msccl_reader *r)
{
    const msccl_algorithm *const a = r->a;
    const size_t n = a->steps.n;
    if (n > UINT32_MAX / 2 - 1)
        return error_set(r->err, HALLEY_ELIMIT, "more than 2^31 steps");
    waits w = {.n_before = mem_array(n, sizeof *w.n_before),
               .after = mem_array(n, sizeof *w.after),
               .head = mem_array(n, sizeof *w.head),
               .next = mem_array(2 * n, sizeof *w.next),
               .ready = mem_array(n, sizeof *w.ready)};
    halley_status status = HALLEY_OK;
    if (!w.n_before || !w.after || !w.head || !w.next || !w.ready) {
        status = error_nomem(r->err);
    } else {
        const uint32_t stuck = run_steps(&w, a);
        if (stuck != MSCCL_NONE)
            status =
                BAD(r, a->steps.at[stuck].line,
                    "this step can never run: steps wait for each other in a circle");
    }
    free(w.n_before);
    free(w.after);
    free(w.head);
    free(w.next);
    free(w.ready);
    return status;
}

halley_status msccl_parse(msccl_algorithm *a, const char *path, halley_error *err)
{
    msccl_reader r = {.a = a, .err = err};
    map64 ids = {0}, receivers = {0};
    xml_init(&r.xml, (str){(const char *)a->in.at, a->in.n});
    halley_status status = read_tags(&r);
    if (status == HALLEY_OK)
        status = sort_gpus(&r);
    if (status == HALLEY_OK)
        status = find_deps(&r, &ids);
    if (status == HALLEY_OK)
        status = match_msccl_messages(&r, &receivers);
    if (status == HALLEY_OK)
        status = check_order(&r);
    map64_fini(&ids);
    map64_fini(&receivers);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    return status;
}

void msccl_fini(msccl_algorithm *a)
{
    array_fini(&a->gpus);
    array_fini(&a->blocks);
    array_fini(&a->steps);
    file_input_close(&a->in);
}
