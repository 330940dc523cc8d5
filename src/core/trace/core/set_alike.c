/*
 * trace/core/set_alike.c - read each file into one buffer and compare it with the files
 * decoded so far. A file that is like none of them is decoded.
 *
 * Threads share the decoded files. Which of several similar files is decoded depends on
 * which thread comes first. The resulting traces do not depend on it.
 */
#include "trace/core/set_alike.h"

#include "base/file/file.h"
#include "base/hash.h"
#include "base/pool.h"
#include "trace/core/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_DECODED = 256 }; /* maximum of decoded files to compare with */

typedef struct decoded_file {
    halley_trace *trace;
    trace_holes *holes;
} decoded_file;

struct trace_alike {
    uint32_t n, n_distinct;
    decoded_file decoded[MOST_DECODED];
    uint32_t n_decoded;
    uint32_t *decoded_of;            /* by rank; UINT32_MAX = none */
    trace_differences **differences; /* by rank; NULL = none: the trace is complete */
};

typedef struct alike_job {
    trace_alike *to;
    halley_trace **traces;
    const trace_files *files;
    halley_load_opts opts;
    file_buffer *buffers; /* by worker */
    uint32_t *recent;     /* by worker: the decoded file that matched last */
    pthread_mutex_t lock; /* protects `decoded` and its number */
} alike_job;

static uint32_t count_decoded(alike_job *j)
{
    pthread_mutex_lock(&j->lock);
    const uint32_t n = j->to->n_decoded;
    pthread_mutex_unlock(&j->lock);
    return n;
}

/* Compare with decoded files from_to[0] … from_to[1] - 1, beginning with the recent
 * one. */
static halley_status find_alike(uint32_t *out, alike_job *j, size_t i,
                                const file_input *in, const uint32_t from_to[2],
                                uint32_t recent, halley_error *err)
{
    const uint32_t n = from_to[1] - from_to[0];
    *out = UINT32_MAX;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t id = from_to[0] + (recent + k) % n;
        TRY(trace_holes_compare(&j->to->differences[i], j->to->decoded[id].holes, in->at,
                                in->n, err));
        if (j->to->differences[i] == NULL)
            continue;
        *out = id;
        return HALLEY_OK;
    }
    return HALLEY_OK;
}

static void take_alike(alike_job *j, size_t i, uint32_t id)
{
    trace_alike *a = j->to;
    assert(id < MOST_DECODED && a->differences[i] != NULL);
    j->traces[i] = halley_trace_keep(a->decoded[id].trace);
    a->decoded_of[i] = id;
    if (a->differences[i]->n > 0)
        return;
    free(a->differences[i]);
    a->differences[i] = NULL;
}

/* Decode a file that is like none of the first `n`. Others may have been decoded
 * since. */
static halley_status decode_file(alike_job *j, size_t i, const file_input *in, uint32_t n,
                                 halley_error *err)
{
    trace_alike *a = j->to;
    trace_holes *holes = NULL;
    TRY(halley_trace_load(&j->traces[i], j->files->at[i].path, &j->opts, err));
    if (count_decoded(j) >= MOST_DECODED)
        return HALLEY_OK;
    TRY(trace_holes_new(&holes, j->traces[i], err));
    if (holes == NULL)
        return HALLEY_OK;
    pthread_mutex_lock(&j->lock);
    uint32_t id;
    halley_status status =
        find_alike(&id, j, i, in, (uint32_t[2]){n, a->n_decoded}, 0, err);
    if (status == HALLEY_OK && id == UINT32_MAX && a->n_decoded < MOST_DECODED) {
        a->decoded_of[i] = a->n_decoded;
        a->decoded[a->n_decoded++] =
            (decoded_file){halley_trace_keep(j->traces[i]), holes};
        holes = NULL;
    }
    pthread_mutex_unlock(&j->lock);
    trace_holes_free(holes);
    if (status == HALLEY_OK && id != UINT32_MAX) {
        halley_trace_free(j->traces[i]);
        take_alike(j, i, id);
    }
    return status;
}

static halley_status read_alike_rank(void *context, size_t i, uint32_t worker,
                                     halley_error *err)
{
    alike_job *j = context;
    file_input in;
    uint32_t id;
    assert(i < j->to->n);
    if (j->traces[i] != NULL)
        return HALLEY_OK; /* the first file is already loaded */
    TRY(file_buffer_read(&in, &j->buffers[worker], j->files->at[i].path, err));
    const uint32_t n = count_decoded(j);
    TRY(find_alike(&id, j, i, &in, (uint32_t[2]){0, n}, j->recent[worker], err));
    if (id == UINT32_MAX)
        return decode_file(j, i, &in, n, err);
    take_alike(j, i, id);
    j->recent[worker] = id;
    return HALLEY_OK;
}

/* Count files with the same bytes once. */
static halley_status count_distinct(trace_alike *a, halley_error *err)
{
    map64 seen = {0};
    bool room = true;
    for (uint32_t i = 0; room && i < a->n; i++) {
        const trace_differences *d = a->differences[i];
        uint64_t h =
            hash_u64(a->decoded_of[i] == UINT32_MAX ? UINT64_MAX - i : a->decoded_of[i]);
        for (uint32_t k = 0; d != NULL && k < d->n; k++) {
            const trace_difference *one = &d->at[k];
            const bool text = one->n > 0;
            h = hash_u64(h ^ one->hole) ^ one->n;
            h = text ? hash_bytes(d->texts + one->bits, one->n, h)
                     : hash_u64(h ^ one->bits);
        }
        uint32_t first = i;
        bool fresh;
        room = map64_put(&seen, h, &first, &fresh);
        a->n_distinct += room && fresh;
    }
    map64_fini(&seen);
    return room ? HALLEY_OK : error_nomem(err);
}

static halley_status read_all_ranks(alike_job *j, uint32_t n_threads, halley_error *err)
{
    const uint32_t most = n_threads == 0 ? pool_cores() : n_threads;
    j->buffers = mem_array_zero(most, sizeof *j->buffers);
    j->recent = mem_array_zero(most, sizeof *j->recent);
    halley_status status = j->buffers != NULL && j->recent != NULL
                               ? read_alike_rank(j, 0, 0, err)
                               : error_nomem(err);
    if (status == HALLEY_OK)
        status = pool_run(most, j->to->n, read_alike_rank, j, err);
    for (uint32_t i = 0; j->buffers != NULL && i < most; i++)
        file_buffer_fini(&j->buffers[i]);
    free(j->buffers);
    free(j->recent);
    return status;
}

halley_status trace_alike_load(trace_alike **out, halley_trace **traces,
                               const trace_files *files, const halley_load_opts *opts,
                               halley_error *err)
{
    assert(files->n > 0 && files->n < UINT32_MAX);
    trace_alike *a = mem_array_zero(1, sizeof *a);
    if (a == NULL)
        return error_nomem(err);
    a->n = (uint32_t)files->n;
    a->decoded_of = mem_array(a->n, sizeof *a->decoded_of);
    a->differences = mem_array_zero(a->n, sizeof *a->differences);
    alike_job j = {.to = a, .traces = traces, .files = files, .opts = *opts};
    j.opts.n_threads = 1;
    j.opts.frees_bytes = false; /* the comparison needs the bytes */
    halley_status status =
        a->decoded_of != NULL && a->differences != NULL ? HALLEY_OK : error_nomem(err);
    for (uint32_t i = 0; status == HALLEY_OK && i < a->n; i++)
        a->decoded_of[i] = UINT32_MAX;
    pthread_mutex_init(&j.lock, NULL);
    if (status == HALLEY_OK)
        status = read_all_ranks(&j, opts->n_threads, err);
    pthread_mutex_destroy(&j.lock);
    if (status == HALLEY_OK)
        status = count_distinct(a, err);
    if (status == HALLEY_OK)
        *out = a;
    else
        trace_alike_free(a);
    return status;
}

void trace_alike_free(trace_alike *a)
{
    if (a == NULL)
        return;
    for (uint32_t i = 0; i < a->n_decoded; i++) {
        trace_holes_free(a->decoded[i].holes);
        halley_trace_free(a->decoded[i].trace);
    }
    for (uint32_t i = 0; a->differences != NULL && i < a->n; i++)
        free(a->differences[i]);
    free(a->differences);
    free(a->decoded_of);
    free(a);
}

bool trace_alike_get(trace_alike_rank *out, const trace_alike *a, uint32_t rank)
{
    assert(rank < a->n);
    if (a->differences[rank] == NULL)
        return false;
    *out =
        (trace_alike_rank){a->decoded[a->decoded_of[rank]].holes, a->differences[rank]};
    return true;
}

uint32_t trace_alike_count(const trace_alike *a)
{
    return a->n_distinct;
}
