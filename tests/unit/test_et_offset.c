/* Where in an .et file a node stands. */
#include "et_bytes.h"

static void every_node_finds_its_message_in_the_file(void **state)
{
    (void)state;
    enum { N = 1000 };
    bytes file = start_file();
    size_t starts[N];
    for (uint32_t i = 0; i < N; i++) {
        bytes node = start_node(i * 3, "some longer name than usual", i % 8);
        for (uint32_t k = 0; k < i % 5; k++)
            put_u64(&node, 5, i * 3 - k);
        starts[i] = file.n;
        put_framed(&file, node);
    }
    halley_trace *t = parse_file(file);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(halley_node_offset(t, i), starts[i]);
    halley_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_finds_its_message_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
