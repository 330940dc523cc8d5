/*
 * make NODES FILE [small]: a trace of the kind PyTorch's converter writes, 12 attributes
 * a node and about 500 bytes; or, small, 3 attributes and 80 bytes as simulators want
 * them.
 */
#include "halley/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static halley_bytes text(const char *s)
{
    return (halley_bytes){s, strlen(s)};
}

static void add_attrs(halley_builder *b, uint64_t i)
{
    halley_builder_attr_i64(b, "rf_id", (int64_t)i);
    halley_builder_attr_i64(b, "fw_parent", 0);
    halley_builder_attr_i64(b, "seq_id", i % 3 ? -1 : (int64_t)(i / 3));
    halley_builder_attr_i64(b, "scope", 7);
    halley_builder_attr_i64(b, "tid", 1);
    halley_builder_attr_i64(b, "fw_tid", 0);
    halley_builder_attr_text(b, "op_schema",
                             text("aten::add.Tensor(Tensor self, Tensor other)"));
    halley_builder_attr_bool(b, "is_cpu_op", i % 4 != 0);
    halley_builder_attr_i64(b, "stream", i % 4 ? 0 : 7);
    halley_builder_attr_i64(b, "num_ops", (int64_t)i * 1000);
    halley_builder_attr_u64(b, "tensor_size", i * 64);
    halley_builder_attr_text(b, "pg_name", text("0"));
}

static void add_node(halley_builder *b, uint64_t i)
{
    char name[64], values[100], shapes[60];
    snprintf(name, sizeof name, "aten::convolution_%u", (unsigned)(i % 977));
    halley_builder_node(b, i + 1, HALLEY_NODE_COMP, text(name));
    halley_builder_time(b, 1000000 + i * 7, i % 300);
    for (uint64_t k = 1; k <= 2 && k <= i; k++)
        halley_builder_data(b, i + 1 - k);
    if (i > 3)
        halley_builder_ctrl(b, i - 2);
    snprintf(values, sizeof values,
             "[[%u, %u, 0, 6144, 4, 'cuda:0'], [%u, 715, 0, 6144]]", (unsigned)i,
             (unsigned)i + 3, (unsigned)i / 2);
    snprintf(shapes, sizeof shapes, "[[64, 3, 7, 7], [%u]]", (unsigned)(i % 512));
    const halley_io io = {.present = true,
                          .values = text(values),
                          .shapes = text(shapes),
                          .types = text("['Tensor(float)', 'Tensor(float)']")};
    halley_builder_inputs(b, &io);
    halley_builder_outputs(b, &io);
    add_attrs(b, i);
}

static void add_small_node(halley_builder *b, uint64_t i)
{
    char name[64];
    snprintf(name, sizeof name, "COMP_%u", (unsigned)i);
    halley_builder_node(b, i + 1, HALLEY_NODE_COMP, text(name));
    halley_builder_time(b, 0, 5);
    if (i > 0)
        halley_builder_data(b, i);
    halley_builder_attr_bool(b, "is_cpu_op", false);
    halley_builder_attr_i64(b, "num_ops", 1000);
    halley_builder_attr_u64(b, "tensor_size", i);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    halley_error err = {0};
    halley_builder *b;
    halley_trace *t;
    const uint64_t n = strtoull(argv[1], NULL, 10);
    if (halley_builder_new(&b, &err))
        return 1;
    for (uint64_t i = 0; i < n; i++)
        (argc > 3 ? add_small_node : add_node)(b, i);
    if (halley_builder_finish(&t, b, &err) || halley_trace_save_et(t, argv[2], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    halley_trace_free(t);
}
