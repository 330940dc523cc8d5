/*
 * Threads take tasks from one counter, so tasks start in ascending order. When a task
 * fails, no further task starts. All tasks below it have started by then and run to their
 * end. So the lowest failing task is the same with any number of threads. If a thread
 * cannot be started, the others do its work.
 */
#include "base/pool.h"

#include "base/call.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST_THREADS = 512 };

typedef struct job {
    pool_task *task;
    void *context;
    call_state *call; /* of the thread that started the job */
    size_t n;
    atomic_size_t next;
    pthread_mutex_t lock; /* protects the members below */
    size_t failed;        /* lowest failing task, n = none */
    halley_status status;
    halley_error *err; /* of that task; may be NULL */
} job;

typedef struct worker {
    job *job;
    uint32_t number;
    pthread_t thread;
} worker;

static void note_failure(job *j, size_t i, halley_status status, const halley_error *err)
{
    assert(status != HALLEY_OK && i < j->n);
    pthread_mutex_lock(&j->lock);
    if (i < j->failed) {
        j->failed = i;
        j->status = status;
        if (j->err != NULL)
            *j->err = *err;
    }
    pthread_mutex_unlock(&j->lock);
    atomic_store(&j->next, j->n);
}

static void *work_on_tasks(void *argument)
{
    const worker *w = argument;
    job *j = w->job;
    halley_error err = {0};
    call_join(j->call);
    for (;;) {
        const size_t i = atomic_fetch_add(&j->next, 1);
        if (i >= j->n)
            return NULL;
        halley_status status = call_check(&err);
        if (status == HALLEY_OK)
            status = j->task(j->context, i, w->number, &err);
        if (status != HALLEY_OK)
            note_failure(j, i, status, &err);
    }
}

halley_status pool_run(uint32_t n_threads, size_t n, pool_task *task, void *context,
                       halley_error *err)
{
    assert(task != NULL);
    if (n_threads == 0)
        n_threads = pool_cores();
    if (n_threads > n)
        n_threads = (uint32_t)n;
    if (n_threads > MOST_THREADS)
        n_threads = MOST_THREADS;
    job j = {.task = task,
             .context = context,
             .call = call_current(),
             .n = n,
             .failed = n,
             .err = err};
    worker workers[MOST_THREADS];
    pthread_mutex_init(&j.lock, NULL);
    workers[0] = (worker){.job = &j};
    uint32_t n_started = 1;
    while (n_started < n_threads) {
        worker *w = &workers[n_started];
        *w = (worker){.job = &j, .number = n_started};
        if (pthread_create(&w->thread, NULL, work_on_tasks, w) != 0)
            break;
        n_started++;
    }
    work_on_tasks(&workers[0]);
    for (uint32_t i = 1; i < n_started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&j.lock);
    return j.status;
}

uint32_t pool_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT32_MAX ? (uint32_t)online : 1;
}
