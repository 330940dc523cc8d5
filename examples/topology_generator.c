/*
 * A generator of topologies of your own: a hypercube. NPUs are joined when their numbers
 * differ in one bit, and pass traffic on.
 *
 *   cc topology_generator.c $(pkg-config --cflags --libs halley) -o topology_generator
 *   ./topology_generator
 */
#include <halley/halley.h>
#include <stdio.h>
#include <string.h>

static halley_status build_cube(halley_topology_builder *b, uint32_t n_npus,
                                void *context, halley_error *err)
{
    const double *link_Bps = context;
    if ((n_npus & (n_npus - 1)) != 0) {
        snprintf(err->text, sizeof err->text,
                 "a hypercube has 2, 4, 8 ... NPUs, not %u; choose a power of two",
                 n_npus);
        return HALLEY_EINVAL;
    }
    halley_topology_add_devices(
        b, &(halley_topology_devices){
               .name = "npu", .kind = "npu", .n = n_npus, .forwards = true});
    const uint32_t cable = halley_topology_add_kind(
        b,
        &(halley_topology_cables){
            .name = "edge", .bw_Bps = *link_Bps, .latency_s = 500e-9, .cost_usd = 200});
    for (uint32_t i = 0; i < n_npus; i++)
        for (uint32_t bit = 1; bit < n_npus; bit <<= 1)
            if ((i & bit) == 0)
                halley_topology_add_cable(b, i, i | bit, cable);
    return HALLEY_OK;
}

static const char cluster_text[] = "npus: 16\nnpu: h100-sxm-80gb\nnetwork: [{topology: "
                                   "ring, size: 16, bandwidth: 50 GB/s}]\n";

static halley_status simulate(double *seconds, const halley_topology_ops *generator,
                              halley_error *err)
{
    halley_gen *gen = NULL;
    halley_trace_set *traces = NULL;
    halley_cluster *cluster = NULL;
    halley_result *result = NULL;
    halley_status status = halley_gen_new(&gen, "all-to-all", 16, err);
    if (status == HALLEY_OK)
        status = halley_gen_set(gen, "size", "160 MB", err);
    if (status == HALLEY_OK)
        status = halley_gen_traces(&traces, gen, err);
    if (status == HALLEY_OK)
        status =
            halley_cluster_parse(&cluster, cluster_text, strlen(cluster_text), "16", err);
    if (status == HALLEY_OK && generator != NULL)
        status = halley_cluster_set_topology(cluster, generator, err);
    if (status == HALLEY_OK)
        status = halley_sim_run(&result, traces, cluster, NULL, err);
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
    double link_Bps = 50e9, ring_s, cube_s;
    const halley_topology_ops cube = {"hypercube", build_cube, &link_Bps};
    halley_topology *topology;
    halley_topology_report *report;
    halley_error err = {0};
    char sentence[2048];
    if (halley_topology_generate(&topology, &cube, 16, &err) != HALLEY_OK ||
        halley_topology_measure(&report, topology, HALLEY_TOPOLOGY_CUTS, &err) !=
            HALLEY_OK ||
        simulate(&ring_s, NULL, &err) != HALLEY_OK ||
        simulate(&cube_s, &cube, &err) != HALLEY_OK) {
        fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
        return 1;
    }
    printf("a hypercube of 16 has %u cables and diameter %u\n", report->links,
           report->diameter_hops);
    printf("an all-to-all takes %.2f ms on a ring, %.2f ms on the hypercube\n",
           1e3 * ring_s, 1e3 * cube_s);
    halley_topology_report_free(report);
    halley_topology_free(topology);
    return 0;
}
