/*
 * Read a set of traces and count its nodes by type.
 *
 *   cc read_trace.c $(pkg-config --cflags --libs halley) -o read_trace
 *   ./read_trace step            all of step.0.et, step.1.et, ...
 */
#include <halley/trace.h>
#include <inttypes.h>
#include <stdio.h>

static void count_nodes(uint64_t counts[HALLEY_N_NODE_TYPES], const halley_trace *trace)
{
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        const uint32_t type = halley_node_type_of(trace, i);
        counts[type < HALLEY_N_NODE_TYPES ? type : HALLEY_NODE_INVALID]++;
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE...\n", argv[0]);
        return 2;
    }
    halley_error err = {0};
    halley_trace_set *set = NULL;
    const char *const *paths = (const char *const *)argv + 1;
    if (halley_trace_set_load(&set, paths, (size_t)argc - 1, NULL, &err) != HALLEY_OK) {
        char sentence[2048];
        fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
        return 1;
    }
    uint64_t counts[HALLEY_N_NODE_TYPES] = {0};
    for (uint32_t rank = 0; rank < halley_trace_set_count(set); rank++)
        count_nodes(counts, halley_trace_set_get(set, rank));
    for (uint32_t type = 0; type < HALLEY_N_NODE_TYPES; type++)
        if (counts[type] > 0)
            printf("%s %" PRIu64 "\n", halley_node_type_name(type), counts[type]);
    halley_trace_set_free(set);
    return 0;
}
