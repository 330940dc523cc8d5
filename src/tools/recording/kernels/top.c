/* The kernels that took longest, by name, and the verdict. */
#include "base/error.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "halley/recording_job.h"
#include "recording/kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A loss needs this share of the span to be the main verdict, or to be mentioned
 * second. */
static const double FIRST_LOSS = 0.15, SECOND_LOSS = 0.10;

static int compare_rows(const void *a, const void *b)
{
    const halley_kernel_row *const x = a, *const y = b;
    if (x->s != y->s)
        return x->s > y->s ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Take operator and shapes from the first run of a kernel. */
static void describe_row(kernel_counter *c, halley_kernel_row *row, const kernel_event *e)
{
    const halley_trace *const trace = halley_trace_set_get(c->set, e->rank);
    row->operator_name = row->shapes = "";
    if (halley_node_ctrl_count(trace, e->node) == 0)
        return;
    const halley_dep parent = halley_node_ctrl(trace, e->node, 0);
    if (parent.index == HALLEY_NO_NODE)
        return;
    const halley_bytes name = halley_node_name(trace, parent.index);
    const halley_io io = halley_node_inputs(trace, parent.index);
    row->operator_name = kernels_keep_text(c, (str){name.at, name.n});
    if (io.present)
        row->shapes = kernels_keep_text(c, (str){io.shapes.at, io.shapes.n});
}

static halley_status add_kernel_rows(kernel_counter *c, map64 *of, int64_t *ns,
                                     halley_error *err)
{
    halley_kernels *const k = &c->k;
    for (size_t i = 0; i < c->events.n; i++) {
        const kernel_event *const e = &c->events.at[i];
        const halley_bytes name =
            halley_node_name(halley_trace_set_get(c->set, e->rank), e->node);
        uint32_t id = (uint32_t)k->n_top;
        bool fresh;
        if (!map64_put(of, hash_bytes(name.at, name.n, e->class_id), &id, &fresh))
            return error_nomem(err);
        if (fresh) {
            k->n_top++;
            k->top[id].name = kernels_keep_text(c, (str){name.at, name.n});
            const str class_name = intern_text(&c->classes, e->class_id);
            k->top[id].class_name = kernels_keep_text(c, class_name);
            describe_row(c, &k->top[id], e);
        }
        k->top[id].n += !e->is_part;
        ns[id] += e->end_ns - e->begin_ns;
    }
    return HALLEY_OK;
}

halley_status kernels_list_top(kernel_counter *c, halley_error *err)
{
    map64 of = {0};
    c->k.top = arena_array(&c->memory, c->events.n + 1, sizeof *c->k.top);
    int64_t *const ns = mem_array_zero(c->events.n + 1, sizeof *ns);
    halley_status status = c->k.top == NULL || ns == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK)
        status = add_kernel_rows(c, &of, ns, err);
    for (size_t i = 0; status == HALLEY_OK && i < c->k.n_top; i++)
        c->k.top[i].s = (double)ns[i] / 1e9;
    if (status == HALLEY_OK)
        qsort(c->k.top, c->k.n_top, sizeof *c->k.top, compare_rows);
    free(ns);
    map64_fini(&of);
    return status;
}

static const char *find_longest_class(const kernel_counter *c, bool comm)
{
    for (size_t i = 0; i < c->k.n_classes; i++) {
        const bool is_comm = strncmp(c->k.classes[i].name, "comm.", 5) == 0;
        if (is_comm == comm && strcmp(c->k.classes[i].name, "sync") != 0)
            return c->k.classes[i].name;
    }
    return "";
}

/* A cause of lost time, as a share of the span. */
typedef struct loss {
    double share;
    const char *sentence; /* with one %s for the share in percent, and one for `what` */
    const char *what;
} loss;

static int compare_losses(const void *a, const void *b)
{
    const loss *const x = a, *const y = b;
    return x->share > y->share ? -1 : x->share < y->share;
}

static const char *write_verdict(kernel_counter *c, const loss *losses)
{
    const halley_kernels *const k = &c->k;
    char first[400], second[400] = "";
    if (losses[0].share >= FIRST_LOSS) {
        snprintf(first, sizeof first, losses[0].sentence,
                 number_fixed(100 * losses[0].share, 0).at, losses[0].what);
    } else {
        const halley_kernel_class *const top = &k->classes[0];
        const bool moves = strcmp(top->name, "copy_d2d") == 0;
        snprintf(first, sizeof first,
                 moves
                     ? "memory-bound: %s %% of device time copies tensors on the device%s"
                     : "compute-bound: %s %% %s",
                 number_fixed(100 * top->share, 0).at, moves ? "" : top->name);
    }
    const loss *const next = losses[0].share >= FIRST_LOSS ? &losses[1] : &losses[0];
    if (next->share >= SECOND_LOSS) {
        char text[340];
        snprintf(text, sizeof text, next->sentence, number_fixed(100 * next->share, 0).at,
                 next->what);
        snprintf(second, sizeof second, ". Also %s", text);
    }
    static const double LAYOUT_SHARE = 0.03;
    if (k->causes.layout_share < LAYOUT_SHARE)
        return arena_printf(&c->memory, "%s%s", first, second);
    return arena_printf(&c->memory,
                        "%s%s. Also %s %% of device time only changes the layout of "
                        "tensors; channels_last may avoid it",
                        first, second, number_fixed(100 * k->causes.layout_share, 1).at);
}

/* Why the host launches late, as far as there is evidence for a cause. */
static const char *judge_host(const char **evidence, kernel_counter *c)
{
    enum { SHORT_QUEUE = 2 };
    static const double LOADING_SHARE = 0.1, LOADING_IDLE = 0.5, SHORT_KERNEL_S = 10e-6;
    const halley_causes *const k = &c->k.causes;
    char kernel[32], call[32];
    units_format(kernel, sizeof kernel, k->median_kernel_s, UNITS_TIME);
    units_format(call, sizeof call, k->median_call_s, UNITS_TIME);
    *evidence = "";
    if (k->loading_share >= LOADING_SHARE && k->loading_idle >= LOADING_IDLE) {
        *evidence = arena_printf(
            &c->memory,
            ": the host waits %s %% of the time for its data loader, and the device is "
            "idle in %s %% of that; use more workers and pinned memory",
            number_fixed(100 * k->loading_share, 0).at,
            number_fixed(100 * k->loading_idle, 0).at);
        return "data loading: the device is idle %s %% of the time waiting for the "
               "host%s";
    }
    if (k->mean_queue > SHORT_QUEUE)
        return "host-bound: the device is idle %s %% of the time waiting for launches%s";
    if (k->median_kernel_s <= k->median_call_s || k->median_kernel_s <= SHORT_KERNEL_S) {
        *evidence = arena_printf(&c->memory,
                                 ": the median kernel takes %s, its launch call %s, and "
                                 "%s launches are queued "
                                 "on average; CUDA graphs or torch.compile launch less",
                                 kernel, call, number_fixed(k->mean_queue, 1).at);
        return "launch-bound: the device is idle %s %% of the time waiting for "
               "launches%s";
    }
    *evidence = arena_printf(&c->memory,
                             ": kernels are long (median %s), but only %s launches are "
                             "queued on average",
                             kernel, number_fixed(k->mean_queue, 1).at);
    return "host-bound: the device is idle %s %% of the time waiting for launches%s";
}

/* Of several ranks, see the job: only transfer that compute does not hide is
 * communication. *transfer is its share of the time in collectives. *verdict stays NULL
 * if waiting for other ranks is not the main loss. */
static halley_status judge_job(const char **verdict, double *transfer, kernel_counter *c,
                               halley_error *err)
{
    halley_job *job;
    halley_error why = {0};
    *verdict = NULL;
    *transfer = 1;
    if (c->n_ranks < 2)
        return HALLEY_OK;
    const halley_status status = halley_job_analyse(&job, c->set, &why);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status != HALLEY_OK) /* ranks without recorded times */
        return HALLEY_OK;
    if (job->wait_share >= FIRST_LOSS)
        *verdict = kernels_keep_text(c, str_from(job->verdict));
    if (job->wait_share + job->transfer_share > 0)
        *transfer = job->transfer_share / (job->wait_share + job->transfer_share);
    halley_job_free(job);
    return HALLEY_OK;
}

halley_status kernels_judge(kernel_counter *c, halley_error *err)
{
    halley_kernels *const k = &c->k;
    double transfer;
    k->exposed_class = find_longest_class(c, true);
    const char *const kind = k->exposed_class[0] != '\0' ? k->exposed_class + 5 : "";
    const char *const type =
        strcmp(kind, "unknown") == 0 ? "communication of unknown type" : kind;
    if (k->span_s <= 0 || k->n_classes == 0) {
        k->verdict = "no device work to judge";
        return HALLEY_OK;
    }
    TRY(judge_job(&k->verdict, &transfer, c, err));
    if (k->verdict != NULL)
        return HALLEY_OK;
    const char *evidence;
    const char *const host = judge_host(&evidence, c);
    if (evidence == NULL)
        return error_nomem(err);
    loss losses[] = {
        {(k->idle.host + k->idle.launch_latency) / k->span_s, host, evidence},
        {transfer * k->exposed_comm_s / k->span_s,
         "communication-bound: %s %% is %s that compute does not hide", type},
        {k->copies_alone_s / k->span_s,
         "copy-bound: %s %% is copies between host and device with nothing else "
         "running%s",
         ""},
        {k->idle.synchronisation / k->span_s,
         "synchronisation-bound: the device is idle %s %% of the time after the host "
         "waited for it%s",
         ""},
        {k->idle.nothing / k->span_s,
         "idle: the device has nothing to do %s %% of the time%s", ""},
    };
    qsort(losses, sizeof losses / sizeof *losses, sizeof *losses, compare_losses);
    k->verdict = write_verdict(c, losses);
    return k->verdict != NULL ? HALLEY_OK : error_nomem(err);
}
