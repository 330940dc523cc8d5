/*
 * Jobs are in one table under one lock, which no thread holds while it carries out a
 * request. A job is freed when the table, its worker and all waiting clients have
 * released it.
 */
#include "serve/jobs.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/pool.h"
#include "request/reader.h"
#include "serve/random.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MAX_JOBS = 2048, /* in the table */
    MAX_WORKERS = 64,
    ALL_REQUESTS = 64 << 20,  /* bytes of requests that wait or run */
    SMALL_REQUEST = 64 << 10, /* bytes; larger requests are not parsed for their verb */
    LONG_NICE = 10,
};

typedef enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE } job_state;

typedef struct job_lane {
    serve_job *first, *last;
    uint32_t n, most;
    pthread_cond_t work;
    uint32_t n_workers;
    bool is_long;
} job_lane;

struct serve_job {
    char id[SERVE_TOKEN + 1];
    serve_jobs *jobs;
    job_lane *lane;
    char *request, *reply; /* the reply from JOB_DONE on; NULL: there was no memory */
    size_t n_request;      /* bytes */
    job_state state;
    atomic_bool cancelled;
    uint32_t n_references; /* by the table, the queue or worker, and all waiting
                              clients */
    uint32_t n_waiting;
    double idle_s, started_s; /* since when it has no client; since when it runs */
    serve_progress progress;
    pthread_cond_t changed;
    serve_job *next; /* in the queue */
};

struct serve_jobs {
    serve_jobs_options o;
    pthread_mutex_t lock;
    job_lane quick, slow;
    serve_job *table[MAX_JOBS];
    pthread_t workers[MAX_WORKERS];
    uint32_t n_workers;
    size_t n_request_bytes; /* of jobs that are not done */
    bool stopping;
};

typedef struct worker_start {
    serve_jobs *jobs;
    job_lane *lane;
} worker_start;

static const char cancelled_reply[] =
    "{\"ok\": false, \"error\": {\"code\": \"cancelled\", \"message\": \"the request was "
    "cancelled before it began\"}}\n";
static const char memory_reply[] =
    "{\"ok\": false, \"error\": {\"code\": \"limit\", \"message\": \"out of memory\"}}\n";

static int init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int reason = pthread_condattr_init(&attributes);
    if (reason != 0)
        return reason;
    reason = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (reason == 0)
        reason = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return reason;
}

static struct timespec find_deadline(double at_s)
{
    const time_t whole = (time_t)at_s;
    return (struct timespec){whole, (long)(1e9 * (at_s - (double)whole))};
}

/* Under the lock. */
static void drop_reference(serve_job *job)
{
    assert(job->n_references > 0);
    if (--job->n_references > 0)
        return;
    pthread_cond_destroy(&job->changed);
    free(job->request);
    free(job->reply);
    free(job);
}

static void push_job(job_lane *lane, serve_job *job)
{
    job->next = NULL;
    if (lane->last != NULL)
        lane->last->next = job;
    else
        lane->first = job;
    lane->last = job;
    lane->n++;
    pthread_cond_signal(&lane->work);
}

static serve_job *pop_job(job_lane *lane)
{
    serve_job *const job = lane->first;
    assert(job != NULL && lane->n > 0);
    lane->first = job->next;
    if (lane->first == NULL)
        lane->last = NULL;
    lane->n--;
    return job;
}

/* Called by the operation, from any of its threads. */
static bool look_at_job(void *context, const halley_progress *now)
{
    serve_job *const job = context;
    pthread_mutex_lock(&job->jobs->lock);
    serve_progress *const p = &job->progress;
    snprintf(p->what, sizeof p->what, "%s", now->what != NULL ? now->what : "");
    snprintf(p->noun, sizeof p->noun, "%s", now->noun != NULL ? now->noun : "");
    p->done = now->done;
    p->total = now->total;
    p->version++;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->jobs->lock);
    return !atomic_load(&job->cancelled);
}

static char *answer_job(serve_job *job)
{
    char *reply = NULL;
    halley_error err;
    const halley_watch watch = {look_at_job, job};
    const request_terms terms = {.is_foreign = true,
                                 .is_read_only = job->jobs->o.read_only,
                                 .max_output = job->jobs->o.max_output,
                                 .watch = &watch};
    if (request_answer(&reply, job->request, &terms, &err) != HALLEY_OK)
        return strdup(memory_reply);
    return reply;
}

static void finish_job(serve_job *job, char *reply)
{
    job->reply = reply;
    job->state = JOB_DONE;
    if (job->n_waiting == 0)
        job->idle_s = clock_s();
    free(job->request);
    job->request = NULL;
    assert(job->jobs->n_request_bytes >= job->n_request);
    job->jobs->n_request_bytes -= job->n_request;
    pthread_cond_broadcast(&job->changed);
    drop_reference(job);
}

/* Under the lock. A job that has not started leaves the queue at once. */
static void cancel_job(serve_job *job)
{
    atomic_store(&job->cancelled, true);
    if (job->state != JOB_QUEUED)
        return;
    serve_job **at = &job->lane->first, *before = NULL;
    while (*at != job) {
        assert(*at != NULL);
        before = *at;
        at = &before->next;
    }
    *at = job->next;
    if (job->lane->last == job)
        job->lane->last = before;
    job->lane->n--;
    finish_job(job, strdup(cancelled_reply));
}

static void *work_lane(void *context)
{
    const worker_start start = *(worker_start *)context;
    free(context);
    serve_jobs *const jobs = start.jobs;
    if (start.lane->is_long) /* the priority of this thread and of those that it starts */
        (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LONG_NICE);
    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        while (start.lane->first == NULL && !jobs->stopping)
            pthread_cond_wait(&start.lane->work, &jobs->lock);
        if (start.lane->first == NULL)
            break;
        serve_job *const job = pop_job(start.lane);
        job->state = JOB_RUNNING;
        job->started_s = clock_s();
        pthread_mutex_unlock(&jobs->lock);
        char *const reply = answer_job(job);
        pthread_mutex_lock(&jobs->lock);
        finish_job(job, reply);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static halley_status start_workers(serve_jobs *jobs, job_lane *lane, uint32_t n,
                                   halley_error *err)
{
    for (uint32_t i = 0; i < n && jobs->n_workers < MAX_WORKERS; i++) {
        worker_start *const start = mem_array(1, sizeof *start);
        if (start == NULL)
            return error_nomem(err);
        *start = (worker_start){jobs, lane};
        const int reason =
            pthread_create(&jobs->workers[jobs->n_workers], NULL, work_lane, start);
        if (reason != 0) {
            free(start);
            return error_errno(err, "start a thread", reason);
        }
        jobs->n_workers++;
        lane->n_workers++;
    }
    return HALLEY_OK;
}

halley_status serve_jobs_open(serve_jobs **out, const serve_jobs_options *o,
                              halley_error *err)
{
    const uint32_t cores = pool_cores();
    serve_jobs *const jobs = mem_array_zero(1, sizeof *jobs);
    if (jobs == NULL)
        return error_nomem(err);
    jobs->o = *o;
    jobs->slow.is_long = true;
    jobs->quick.most = o->n_queued > 0 ? o->n_queued : 512;
    jobs->slow.most = o->n_queued > 0 ? o->n_queued : 32;
    const uint32_t n_quick = o->n_quick > 0 ? o->n_quick : cores > 2 ? cores : 2;
    pthread_mutex_init(&jobs->lock, NULL);
    if (init_condition(&jobs->quick.work) != 0 || init_condition(&jobs->slow.work) != 0) {
        free(jobs);
        return error_nomem(err);
    }
    halley_status status = start_workers(jobs, &jobs->quick, n_quick, err);
    if (status == HALLEY_OK)
        status = start_workers(jobs, &jobs->slow, o->n_long > 0 ? o->n_long : 2, err);
    if (status != HALLEY_OK) {
        serve_jobs_cancel(jobs);
        serve_jobs_close(jobs);
        return status;
    }
    *out = jobs;
    return HALLEY_OK;
}

void serve_jobs_cancel(serve_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    for (uint32_t i = 0; i < MAX_JOBS; i++) {
        if (jobs->table[i] == NULL)
            continue;
        cancel_job(jobs->table[i]);
        pthread_cond_broadcast(&jobs->table[i]->changed);
    }
    pthread_cond_broadcast(&jobs->quick.work);
    pthread_cond_broadcast(&jobs->slow.work);
    pthread_mutex_unlock(&jobs->lock);
}

void serve_jobs_close(serve_jobs *jobs)
{
    assert(jobs->stopping);
    for (uint32_t i = 0; i < jobs->n_workers; i++)
        pthread_join(jobs->workers[i], NULL);
    assert(jobs->quick.first == NULL && jobs->slow.first == NULL);
    for (uint32_t i = 0; i < MAX_JOBS; i++)
        if (jobs->table[i] != NULL)
            drop_reference(jobs->table[i]);
    pthread_cond_destroy(&jobs->quick.work);
    pthread_cond_destroy(&jobs->slow.work);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

static void tidy_job(serve_jobs *jobs, uint32_t i, double now_s)
{
    serve_job *const job = jobs->table[i];
    const double idle_s = job->n_waiting == 0 ? now_s - job->idle_s : 0;
    if (job->state == JOB_DONE && idle_s > SERVE_KEEP_S) {
        jobs->table[i] = NULL;
        drop_reference(job);
        return;
    }
    /* Finishing a quick job costs less than answering "cancelled" to a client that is
     * late because the machine is busy. */
    const double grace_s = job->lane == &jobs->quick ? SERVE_KEEP_S : SERVE_GRACE_S;
    const bool is_late = job->state == JOB_RUNNING && jobs->o.most_s > 0 &&
                         now_s - job->started_s > jobs->o.most_s;
    if (job->state != JOB_DONE && (idle_s > grace_s || is_late))
        cancel_job(job);
}

void serve_jobs_tidy(serve_jobs *jobs, double now_s)
{
    pthread_mutex_lock(&jobs->lock);
    for (uint32_t i = 0; i < MAX_JOBS; i++)
        if (jobs->table[i] != NULL)
            tidy_job(jobs, i, now_s);
    pthread_mutex_unlock(&jobs->lock);
}

/* A free index of the table. If there is none, the oldest finished job without clients is
 * removed. MAX_JOBS if that is not possible. */
static uint32_t find_place(serve_jobs *jobs)
{
    uint32_t oldest = MAX_JOBS;
    for (uint32_t i = 0; i < MAX_JOBS; i++) {
        const serve_job *const job = jobs->table[i];
        if (job == NULL)
            return i;
        if (job->state == JOB_DONE && job->n_waiting == 0 &&
            (oldest == MAX_JOBS || job->idle_s < jobs->table[oldest]->idle_s))
            oldest = i;
    }
    if (oldest < MAX_JOBS) {
        drop_reference(jobs->table[oldest]);
        jobs->table[oldest] = NULL;
    }
    return oldest;
}

/* Verbs that answer at once. All others may take long, and so may queries of the user's
 * and the traces of an estimate. */
static bool is_quick_verb(str verb)
{
    static const char *const quick[] = {"estimate", "presets", "version", "schema",
                                        "results"};
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        if (str_eq(verb, str_from(quick[i])))
            return true;
    return false;
}

/* A request that cannot be parsed is quick, because it is refused at once. */
static bool is_quick_request(const char *json)
{
    conf_file file;
    if (strnlen(json, SMALL_REQUEST) >= SMALL_REQUEST)
        return false;
    if (conf_parse(&file, str_from(json), "request.json", NULL) != HALLEY_OK)
        return true;
    const conf_node *const verb =
        file.root->kind == CONF_MAP ? conf_find(file.root, "do") : NULL;
    const bool quick =
        verb == NULL || verb->kind != CONF_SCALAR ||
        (is_quick_verb(verb->text) && conf_find(file.root, "sql") == NULL &&
         conf_find(file.root, "trace") == NULL);
    conf_fini(&file);
    return quick;
}

static serve_job *make_job(serve_jobs *jobs, const char *json)
{
    serve_job *const job = mem_array_zero(1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->jobs = jobs;
    job->request = strdup(json);
    job->n_request = strlen(json);
    if (job->request == NULL || !serve_random_hex(job->id) ||
        init_condition(&job->changed) != 0) {
        free(job->request);
        free(job);
        return NULL;
    }
    job->n_references = 3; /* the table, the queue, the client */
    job->n_waiting = 1;
    return job;
}

halley_status serve_job_start(serve_job **out, serve_jobs *jobs, const char *json,
                              halley_error *err)
{
    job_lane *const lane = is_quick_request(json) ? &jobs->quick : &jobs->slow;
    serve_job *const job = make_job(jobs, json);
    if (job == NULL)
        return error_nomem(err);
    pthread_mutex_lock(&jobs->lock);
    const bool has_room = lane->n < lane->most && !jobs->stopping &&
                          jobs->n_request_bytes + job->n_request <= ALL_REQUESTS;
    const uint32_t place = has_room ? find_place(jobs) : MAX_JOBS;
    if (place < MAX_JOBS) {
        jobs->table[place] = job;
        job->lane = lane;
        jobs->n_request_bytes += job->n_request;
        push_job(lane, job);
    } else {
        job->n_references = 1;
        drop_reference(job);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (place == MAX_JOBS)
        return error_set(err, HALLEY_ELIMIT,
                         "the server has too many requests waiting; try again later");
    *out = job;
    return HALLEY_OK;
}

/* Under the lock. */
static uint32_t find_job(const serve_jobs *jobs, const char *id)
{
    for (uint32_t i = 0; i < MAX_JOBS; i++)
        if (jobs->table[i] != NULL && strcmp(jobs->table[i]->id, id) == 0)
            return i;
    return MAX_JOBS;
}

serve_job *serve_job_find(serve_jobs *jobs, const char id[SERVE_TOKEN + 1])
{
    pthread_mutex_lock(&jobs->lock);
    const uint32_t i = find_job(jobs, id);
    serve_job *const job = i < MAX_JOBS ? jobs->table[i] : NULL;
    if (job != NULL) {
        job->n_references++;
        job->n_waiting++;
    }
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

void serve_job_release(serve_job *job)
{
    serve_jobs *const jobs = job->jobs;
    pthread_mutex_lock(&jobs->lock);
    assert(job->n_waiting > 0);
    if (--job->n_waiting == 0)
        job->idle_s = clock_s();
    drop_reference(job);
    pthread_mutex_unlock(&jobs->lock);
}

void serve_job_forget(serve_job *job)
{
    serve_jobs *const jobs = job->jobs;
    pthread_mutex_lock(&jobs->lock);
    const uint32_t i = find_job(jobs, job->id);
    if (i < MAX_JOBS) {
        jobs->table[i] = NULL;
        drop_reference(job);
    }
    pthread_mutex_unlock(&jobs->lock);
    serve_job_release(job);
}

bool serve_job_cancel(serve_jobs *jobs, const char id[SERVE_TOKEN + 1])
{
    pthread_mutex_lock(&jobs->lock);
    const uint32_t i = find_job(jobs, id);
    if (i < MAX_JOBS)
        cancel_job(jobs->table[i]);
    pthread_mutex_unlock(&jobs->lock);
    return i < MAX_JOBS;
}

const char *serve_job_id(const serve_job *job)
{
    return job->id;
}

const char *serve_job_wait(serve_job *job, double seconds)
{
    return serve_job_watch(job, NULL, seconds);
}

const char *serve_job_watch(serve_job *job, serve_progress *seen, double seconds)
{
    serve_jobs *const jobs = job->jobs;
    const struct timespec deadline =
        find_deadline(clock_s() + (seconds > 0 ? seconds : 0));
    int code = 0;
    pthread_mutex_lock(&jobs->lock);
    while (code == 0 && job->state != JOB_DONE &&
           (seen == NULL || job->progress.version == seen->version))
        code = pthread_cond_timedwait(&job->changed, &jobs->lock, &deadline);
    const char *const done = job->reply != NULL ? job->reply : memory_reply;
    const char *const reply = job->state == JOB_DONE ? done : NULL;
    if (seen != NULL)
        *seen = job->progress;
    pthread_mutex_unlock(&jobs->lock);
    return reply;
}
