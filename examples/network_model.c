/*
 * A network model of your own: every NPU sends one message at a time at 25 GB/s, first
 * come first served, and a message arrives 1 us after its last byte has left. An
 * all-reduce of 64 MB over 4 NPUs by a ring then takes 6 steps of 16 MB.
 *
 *   cc network_model.c $(pkg-config --cflags --libs halley) -o network_model
 *   ./network_model
 */
#include <halley/halley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double bytes_per_tick = 25e9 / 1e12; /* a tick is 1 ps */
static const uint64_t latency = 1000000;

typedef struct ports {
    halley_network *run;
    uint64_t n_messages;
    uint64_t free_at[]; /* by NPU: when its last message has left */
} ports;

static halley_status open_ports(void **state, halley_network *run, void *context,
                                halley_error *err)
{
    ports *p = calloc(1, sizeof *p + halley_network_npus(run) * sizeof *p->free_at);
    (void)context, (void)err;
    if (p == NULL)
        return HALLEY_ENOMEM;
    p->run = run;
    *state = p;
    return HALLEY_OK;
}

static void start_message(void *state, const halley_network_request *r)
{
    ports *p = state;
    const uint64_t now = halley_network_now(p->run);
    uint64_t *free_at = &p->free_at[r->from];
    *free_at = (*free_at > now ? *free_at : now) + (uint64_t)(r->bytes / bytes_per_tick);
    p->n_messages++;
    halley_network_arrive(p->run, r->id, *free_at + latency);
}

static void close_ports(void *state)
{
    free(state);
}

static const halley_network_ops ports_model = {
    .name = "ports", .open = open_ports, .start = start_message, .close = close_ports};

static const char cluster_text[] = "npus: 4\nnetwork: [{topology: switch, size: 4, "
                                   "bandwidth: 50 GB/s, latency: 0.5 us}]\n";

static halley_status simulate(double *seconds, const halley_sim_opts *opts,
                              halley_error *err)
{
    halley_gen *gen = NULL;
    halley_trace_set *traces = NULL;
    halley_cluster *cluster = NULL;
    halley_result *result = NULL;
    halley_status status = halley_gen_new(&gen, "all-reduce", 4, err);
    if (status == HALLEY_OK)
        status = halley_gen_set(gen, "size", "64 MB", err);
    if (status == HALLEY_OK)
        status = halley_gen_traces(&traces, gen, err);
    if (status == HALLEY_OK)
        status =
            halley_cluster_parse(&cluster, cluster_text, strlen(cluster_text), "4", err);
    if (status == HALLEY_OK)
        status = halley_sim_run(&result, traces, cluster, opts, err);
    if (status == HALLEY_OK) {
        *seconds = (double)halley_result_rank(result, 0).finish /
                   halley_result_ticks_per_s(result);
        halley_result_free(result);
    }
    halley_cluster_free(cluster);
    if (traces != NULL)
        halley_trace_set_free(traces);
    if (gen != NULL)
        halley_gen_free(gen);
    return status;
}

int main(void)
{
    halley_error err = {0};
    char sentence[2048];
    double before_s, after_s;
    if (simulate(&before_s, NULL, &err) != HALLEY_OK ||
        simulate(&after_s, &(halley_sim_opts){.network_ops = &ports_model}, &err) !=
            HALLEY_OK) {
        fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
        return 1;
    }
    printf("an all-reduce takes %.0f us, with ports of 25 GB/s %.0f us\n", 1e6 * before_s,
           1e6 * after_s);
    return 0;
}
