/* Files that are written while their nodes are built. */
#include "base/rng.h"
#include "trace/format/et.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

static void succeed(halley_status status)
{
    assert_int_equal(status, HALLEY_OK);
}

/* Nodes enough for several pieces of a file, each with something of every kind. */
static void add_many_nodes(halley_builder *b, rng *random, uint32_t n)
{
    char text[300];
    memset(text, 'x', sizeof text);
    for (uint64_t i = 0; i < n; i++) {
        const halley_io io = {.present = rng_below(random, 3) == 0,
                              .shapes = {"[[2]]", 5},
                              .types = {"['Tensor']", 10}};
        const uint64_t type = rng_below(random, 50) == 0 ? 300 : 1 + rng_below(random, 7);
        const uint64_t id = 7 + 2 * i + (i > n / 2);
        succeed(halley_builder_node(b, id, (uint32_t)type,
                                    (halley_bytes){text, rng_below(random, 200)}));
        succeed(halley_builder_time(b, rng_below(random, 1000), rng_below(random, 9)));
        for (uint64_t k = rng_below(random, 4); k > 0; k--)
            succeed(halley_builder_data(b, 7 + rng_below(random, 2 * n)));
        if (rng_below(random, 2) == 0)
            succeed(halley_builder_ctrl(b, rng_below(random, 2 * n)));
        succeed(halley_builder_inputs(b, &io));
        succeed(halley_builder_attr_i64(b, "number", (int64_t)rng_below(random, 99)));
        if (rng_below(random, 100) == 0)
            succeed(halley_builder_attr_text(b, "text", (halley_bytes){text, i % 300}));
        if (rng_below(random, 90) == 0)
            succeed(halley_builder_unknown(b, (halley_bytes){"\xf8\x07\x01", 3}));
    }
}

static halley_builder *start_with_metadata(void)
{
    halley_builder *b = NULL;
    succeed(halley_builder_new(&b, NULL));
    const halley_attr attr = {
        .name = {"facts", 5}, .kind = HALLEY_ATTR_STRING, .bytes = {"{\"a\": 1}", 8}};
    succeed(halley_builder_metadata(b, &attr));
    return b;
}

/* A file that is written while its nodes are built has the bytes of the saved trace; the
 * builder goes on with the metadata and what comes after. */
static void a_stream_of_nodes_has_the_bytes_of_the_trace(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 1023, 1024, 1025, 20000};
    char path[] = "/tmp/halley-stream-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        rng random = rng_seed(k + 1), again = rng_seed(k + 1);
        halley_trace *whole = NULL, *rest = NULL;
        uint8_t *encoded = NULL;
        size_t n = 0;
        file_input in;
        halley_builder *const b = start_with_metadata();
        add_many_nodes(b, &random, counts[k]);
        succeed(halley_builder_finish(&whole, b, NULL));
        succeed(halley_trace_encode_et(&encoded, &n, whole, NULL));
        halley_builder *const s = start_with_metadata();
        succeed(builder_stream_begin(s, path, NULL));
        add_many_nodes(s, &again, counts[k]);
        succeed(builder_stream_end(s, NULL));
        succeed(halley_builder_node(s, 1, 4, (halley_bytes){"last", 4}));
        succeed(halley_builder_finish(&rest, s, NULL));
        succeed(file_input_open(&in, path, NULL));
        assert_int_equal(in.n, n);
        assert_memory_equal(in.at, encoded, n);
        assert_int_equal(halley_trace_count(rest), 1);
        assert_int_equal(halley_trace_metadata_count(rest), 1);
        assert_memory_equal(halley_trace_metadata(rest, 0).bytes.at, "{\"a\": 1}", 8);
        file_input_close(&in);
        free(encoded);
        halley_trace_free(whole);
        halley_trace_free(rest);
    }
    unlink(path);
}

/* A failure on the way leaves no file. */
static void a_stream_that_fails_writes_nothing(void **state)
{
    (void)state;
    char folder[] = "/tmp/halley-stream-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.et", folder);
    rng random = rng_seed(1);
    halley_builder *const b = start_with_metadata();
    succeed(builder_stream_begin(b, path, NULL));
    add_many_nodes(b, &random, 9000);
    assert_int_equal(halley_builder_unknown(b, (halley_bytes){"x", 1}), HALLEY_EINVAL);
    halley_error err = {0};
    assert_int_equal(builder_stream_end(b, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "unknown to the schema"));
    halley_trace *t = NULL;
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_EINVAL);
    assert_null(t);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_of_nodes_has_the_bytes_of_the_trace),
        cmocka_unit_test(a_stream_that_fails_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
