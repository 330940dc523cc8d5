/* A call: whether it goes on, and what files it reads and writes. */
#include "base/call.h"

#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 20, WORDS = 64 };

/* A file that the call will write over. */
typedef struct written_file {
    dev_t device;
    ino_t inode;
    char words[WORDS];
} written_file;

struct call_state {
    uint32_t depth;                /* of nested calls */
    uint64_t n_failures;           /* of allocations, at the beginning */
    halley_watch watch;            /* of the parts of the call */
    const halley_watch *asked;     /* of the caller; NULL = none */
    halley_progress last;          /* what a part reported last */
    atomic_uint_least64_t next_ms; /* time of the next look */
    atomic_flag busy;              /* a thread is asking */
    atomic_bool cancelled;
    uint64_t most_output; /* bytes in files; 0 = any number */
    atomic_uint_least64_t n_output;
    pthread_mutex_t lock; /* of the members below */
    map64 read;           /* hashes of device and inode */
    ARRAY(written_file) written;
    const char *remedy;
    bool may_replace;
    halley_error failure; /* HALLEY_OK: none */
};

/* An exception to "no mutable globals". Passing the call to all functions that may loop
 * or open a file would give each of them a parameter that most only hand on. */
static _Thread_local call_state *current;

/* The coarse clock costs a few nanoseconds, and is precise to some milliseconds. */
static uint64_t read_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Ask the caller's watch, unless another thread is asking. */
static bool ask_watch(call_state *c, const halley_progress *now)
{
    if (!atomic_flag_test_and_set(&c->busy)) {
        if (now != NULL)
            c->last = *now;
        if (!atomic_load(&c->cancelled) && !c->asked->look(c->asked->context, &c->last))
            atomic_store(&c->cancelled, true);
        atomic_store(&c->next_ms, read_clock_ms() + LOOK_MS);
        atomic_flag_clear(&c->busy);
    }
    return !atomic_load(&c->cancelled);
}

static bool look_for_part(void *context, const halley_progress *now)
{
    return ask_watch(context, now);
}

halley_status call_begin(const halley_watch **watch, const char *what, halley_error *err)
{
    assert(what != NULL);
    if (current == NULL) {
        call_state *const c = mem_array_zero(1, sizeof *c);
        if (c == NULL || pthread_mutex_init(&c->lock, NULL) != 0) {
            free(c);
            return error_nomem(err);
        }
        c->n_failures = mem_failure_count();
        c->asked = *watch != NULL && (*watch)->look != NULL ? *watch : NULL;
        c->watch = (halley_watch){look_for_part, c};
        c->last = (halley_progress){.what = what, .noun = ""};
        c->remedy = "";
        atomic_flag_clear(&c->busy);
        current = c;
    }
    current->depth++;
    if (current->asked != NULL && *watch != NULL)
        *watch = &current->watch;
    return HALLEY_OK;
}

void call_end(void)
{
    call_state *const c = current;
    assert(c != NULL && c->depth > 0);
    if (--c->depth > 0)
        return;
    current = NULL;
    map64_fini(&c->read);
    array_fini(&c->written);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

call_state *call_current(void)
{
    return current;
}

void call_join(call_state *c)
{
    current = c;
}

bool call_goes_on(void)
{
    call_state *const c = current;
    if (c == NULL || c->asked == NULL)
        return true;
    if (atomic_load_explicit(&c->cancelled, memory_order_relaxed))
        return false;
    return read_clock_ms() < atomic_load_explicit(&c->next_ms, memory_order_relaxed) ||
           ask_watch(c, NULL);
}

halley_status call_check(halley_error *err)
{
    return call_goes_on()
               ? HALLEY_OK
               : error_set(err, HALLEY_ECANCELED, "%s was cancelled", current->last.what);
}

uint64_t call_failures(void)
{
    return current != NULL ? current->n_failures : mem_failure_count();
}

static uint64_t hash_file(const struct stat *about)
{
    const uint64_t words[2] = {about->st_dev, about->st_ino};
    return hash_bytes(words, sizeof words, 0);
}

/* Under the lock. */
static void keep_failure(call_state *c, const halley_error *failure)
{
    if (c->failure.code == HALLEY_OK)
        c->failure = *failure;
}

/* Under the lock. */
static halley_status refuse_same(call_state *c, const char *words, const char *path,
                                 halley_error *err)
{
    halley_error same;
    error_set(&same, HALLEY_EINVAL,
              "%s would write over this file, which the command reads; choose another "
              "name%s",
              words, c->remedy);
    error_at_file(&same, path);
    keep_failure(c, &same);
    if (err != NULL)
        *err = same;
    return HALLEY_EINVAL;
}

static halley_status note_reading(call_state *c, const struct stat *about,
                                  const char *path, halley_error *err)
{
    uint32_t value = 0;
    bool fresh;
    for (size_t i = 0; i < c->written.n; i++)
        if (c->written.at[i].inode == about->st_ino &&
            c->written.at[i].device == about->st_dev)
            return refuse_same(c, c->written.at[i].words, path, err);
    return map64_put(&c->read, hash_file(about), &value, &fresh) ? HALLEY_OK
                                                                 : error_nomem(err);
}

static halley_status note_writing(call_state *c, const struct stat *about,
                                  const char *words, const char *path, halley_error *err)
{
    if (map64_find(&c->read, hash_file(about)) != HASH_NONE)
        return refuse_same(c, words, path, err);
    written_file file = {.device = about->st_dev, .inode = about->st_ino};
    snprintf(file.words, sizeof file.words, "%s", words);
    return array_push(&c->written, file) ? HALLEY_OK : error_nomem(err);
}

halley_status call_reads(const struct stat *about, const char *path, halley_error *err)
{
    call_state *const c = current;
    if (c == NULL || !S_ISREG(about->st_mode))
        return HALLEY_OK;
    pthread_mutex_lock(&c->lock);
    const halley_status status =
        c->may_replace ? HALLEY_OK : note_reading(c, about, path, err);
    pthread_mutex_unlock(&c->lock);
    return status;
}

halley_status call_writes(const struct stat *about, const char *words, const char *path,
                          halley_error *err)
{
    call_state *const c = current;
    if (c == NULL || !S_ISREG(about->st_mode))
        return HALLEY_OK;
    pthread_mutex_lock(&c->lock);
    const halley_status status =
        c->may_replace
            ? HALLEY_OK
            : note_writing(c, about, words != NULL ? words : "an output", path, err);
    pthread_mutex_unlock(&c->lock);
    return status;
}

void call_set_remedy(const char *remedy)
{
    assert(current != NULL && remedy != NULL);
    current->remedy = remedy;
}

void call_allow_replacing(void)
{
    assert(current != NULL);
    current->may_replace = true;
}

void call_fault(const char *doing, const char *path, int reason)
{
    call_state *const c = current;
    halley_error failure;
    if (c == NULL)
        return;
    error_errno(&failure, doing, reason);
    error_at_file(&failure, path);
    pthread_mutex_lock(&c->lock);
    keep_failure(c, &failure);
    pthread_mutex_unlock(&c->lock);
}

void call_limit_output(uint64_t most_bytes)
{
    assert(current != NULL);
    current->most_output = most_bytes;
}

uint64_t call_output_left(void)
{
    if (current == NULL || current->most_output == 0)
        return UINT64_MAX;
    const uint64_t n = atomic_load(&current->n_output);
    return n < current->most_output ? current->most_output - n : 0;
}

bool call_may_write(uint64_t n_bytes)
{
    call_state *const c = current;
    halley_error failure;
    if (c == NULL || c->most_output == 0 ||
        atomic_fetch_add(&c->n_output, n_bytes) + n_bytes <= c->most_output)
        return true;
    error_set(&failure, HALLEY_ELIMIT,
              "the request would write more than %llu bytes, which is all that it may "
              "(--max-output)",
              (unsigned long long)c->most_output);
    pthread_mutex_lock(&c->lock);
    keep_failure(c, &failure);
    pthread_mutex_unlock(&c->lock);
    return false;
}

halley_status call_failure(halley_error *err)
{
    const halley_error *const first = current != NULL ? &current->failure : NULL;
    if (first == NULL || first->code == HALLEY_OK)
        return HALLEY_OK;
    if (err != NULL && strstr(err->text, first->text) == NULL)
        *err = *first;
    return first->code;
}
