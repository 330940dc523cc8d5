/*
 * Make a trace: one layer of a training step whose gradient is all-reduced.
 *
 *   cc make_trace.c $(pkg-config --cflags --libs halley) -o make_trace
 *   ./make_trace step.0.et
 */
#include <halley/halley.h>
#include <stdio.h>
#include <string.h>

static halley_bytes text(const char *s)
{
    return (halley_bytes){s, strlen(s)};
}

/* Every call after a failed one does nothing; finish tells. */
static void add_nodes(halley_builder *b)
{
    halley_builder_version(b, text("0.0.4"));

    halley_builder_node(b, 0, HALLEY_NODE_COMP, text("backward"));
    halley_builder_time(b, 0, 120);
    halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    halley_builder_attr_u64(b, HALLEY_ATTR_NAME_NUM_OPS, 2000000000);

    halley_builder_node(b, 1, HALLEY_NODE_COLL, text("all-reduce of the gradient"));
    halley_builder_data(b, 0);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_COLL_ALL_REDUCE);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 64 << 20);

    halley_builder_node(b, 2, HALLEY_NODE_COMP, text("update"));
    halley_builder_data(b, 1);
    halley_builder_time(b, 0, 15);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE.et\n", argv[0]);
        return 2;
    }
    halley_error err = {0};
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    halley_status status = halley_builder_new(&b, &err);
    if (status == HALLEY_OK) {
        add_nodes(b);
        status = halley_builder_finish(&trace, b, &err);
    }
    if (status == HALLEY_OK)
        status = halley_trace_save_et(trace, argv[1], &err);
    halley_trace_free(trace);
    if (status != HALLEY_OK) {
        char sentence[2048];
        fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
        return 1;
    }
    return 0;
}
