/* The NPU's own memory over time: what lies in it follows from what nodes write, read,
 * load and store. */
#include "alloc_fail.h"
#include "halley/sim.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fixture {
    halley_builder *b;
    halley_cluster *cluster;
    halley_trace_set *set;
    halley_result *result;
} fixture;

static halley_bytes text(const char *s)
{
    return (halley_bytes){s, strlen(s)};
}

static int set_up(void **state)
{
    static const char yaml[] = "network: [{topology: ring, size: 1, bandwidth: 1 GB/s}]\n"
                               "remote-memory: {kind: per-npu, bandwidth: 1 GB/s}\n";
    char path[] = "/tmp/halley-test-XXXXXX";
    fixture *f = calloc(1, sizeof *f);
    const int fd = mkstemp(path);
    const bool written = f != NULL && write(fd, yaml, sizeof yaml - 1) > 0;
    close(fd);
    *state = f;
    const bool ready = written &&
                       halley_cluster_load(&f->cluster, path, NULL) == HALLEY_OK &&
                       halley_builder_new(&f->b, NULL) == HALLEY_OK;
    unlink(path);
    return ready ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    halley_result_free(f->result);
    halley_trace_set_free(f->set);
    halley_cluster_free(f->cluster);
    free(f);
    return 0;
}

/* A node of so many microseconds, behind the one before it. */
static void add(fixture *f, uint64_t id, uint32_t type, uint64_t us)
{
    halley_builder_node(f->b, id, type, text("x"));
    halley_builder_time(f->b, 0, us);
    if (id > 1)
        halley_builder_data(f->b, id - 1);
}

/* What PyTorch records: [id, storage, offset, elements, bytes of one, device]. */
static void io(fixture *f, const char *inputs, const char *outputs)
{
    halley_builder_inputs(f->b, &(halley_io){.present = true, .values = text(inputs)});
    halley_builder_outputs(f->b, &(halley_io){.present = true, .values = text(outputs)});
}

/* A list of texts as it stands in the file: field 1, length, bytes. */
static void pairs(fixture *f, const char *name, const char *const *words, size_t n)
{
    char list[256];
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(words[i]);
        list[at++] = 0x0a;
        list[at++] = (char)length;
        memcpy(list + at, words[i], length);
        at += length;
    }
    halley_builder_attr(f->b, &(halley_attr){.name = text(name),
                                             .kind = HALLEY_ATTR_STRING_LIST,
                                             .bytes = {list, at}});
}

static halley_status simulate(fixture *f, halley_error *err)
{
    const halley_sim_opts opts = {.record = true};
    halley_trace *t;
    assert_int_equal(halley_builder_finish(&t, f->b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_set_new(&f->set, &t, 1, NULL), HALLEY_OK);
    return halley_sim_run(&f->result, f->set, f->cluster, &opts, err);
}

static void run(fixture *f)
{
    halley_error err = {0};
    if (simulate(f, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void assert_peak(const fixture *f, uint64_t bytes)
{
    const halley_rank_result r = halley_result_rank(f->result, 0);
    assert_true(r.has_local);
    assert_int_equal(r.local_peak_bytes, bytes);
}

static void a_tensor_lives_from_its_writer_to_its_last_reader(void **state)
{
    fixture *f = *state;
    const halley_memory_level *levels;
    add(f, 1, HALLEY_NODE_COMP, 10);
    io(f, "[]", "[[1, 7, 0, 100, 4, 'cuda:0']]"); /* 400 bytes, storage 7 */
    add(f, 2, HALLEY_NODE_COMP, 10);
    io(f, "[[1, 7, 0, 100, 4, 'cuda:0'], 3, 'a']", "[[2, 8, 0, 10, 2, 'cuda:0']]");
    add(f, 3, HALLEY_NODE_COMP, 10); /* reads a view of 7, nested in a list */
    io(f, "[[[9, 7, 50, 50, 4, 'cuda:0']]]", "[]");
    add(f, 4, HALLEY_NODE_COMP, 10);
    io(f, "[[2, 8, 0, 10, 2, 'cuda:0'], [3, 9, 0, 1000, 4, 'cpu']]", "[]");
    run(f);
    assert_peak(f, 420);
    assert_int_equal(halley_result_memory(&levels, f->result, 0), 4);
    const halley_memory_level wanted[] = {
        {0, 400}, {10000000, 420}, {30000000, 20}, {40000000, 0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(levels[i].at, wanted[i].at);
        assert_int_equal(levels[i].bytes, wanted[i].bytes);
    }
}

static void what_nobody_wrote_was_there_from_the_start(void **state)
{
    fixture *f = *state;
    const char *const weights[] = {"w", "1000"}, *const out[] = {"y", "24"};
    add(f, 1, HALLEY_NODE_COMP, 10);
    add(f, 2, HALLEY_NODE_COMP, 10);
    pairs(f, "inputs", weights, 2);
    pairs(f, "outputs", out, 2);
    run(f);
    assert_peak(f, 1024);
}

static void a_size_that_is_no_number_is_left_out_with_a_warning(void **state)
{
    fixture *f = *state;
    const char *const weights[] = {"w", "large", "x", "512.0"};
    halley_error err = {0};
    add(f, 1, HALLEY_NODE_COMP, 10);
    pairs(f, "inputs", weights, 4);
    assert_int_equal(simulate(f, &err), HALLEY_OK);
    assert_peak(f, 512);
    assert_int_equal(halley_result_warning_count(f->result), 1);
    assert_non_null(strstr(halley_result_warning(f->result, 0), "lists of tensors"));
}

static void what_a_load_brings_stays_until_its_last_child_is_done(void **state)
{
    fixture *f = *state;
    const halley_memory_level *levels;
    add(f, 1, HALLEY_NODE_MEM_LOAD, 0);
    halley_builder_attr_u64(f->b, "tensor_size", 1000);
    add(f, 2, HALLEY_NODE_COMP, 10);
    add(f, 3, HALLEY_NODE_MEM_STORE, 0);
    halley_builder_attr_u64(f->b, "tensor_size", 3000);
    run(f);
    assert_peak(f, 3000);
    assert_int_equal(halley_result_memory(&levels, f->result, 0), 3);
    assert_int_equal(levels[1].at, 11000000); /* 1 us of loading, 10 of computing */
    assert_int_equal(levels[2].at, 14000000);
}

static void attributes_of_our_own_take_and_give(void **state)
{
    fixture *f = *state;
    add(f, 1, HALLEY_NODE_COMP, 10);
    halley_builder_attr_u64(f->b, "alloc_bytes", 500);
    add(f, 2, HALLEY_NODE_COMP, 10);
    halley_builder_attr_u64(f->b, "alloc_bytes", 700);
    halley_builder_attr_u64(f->b, "free_bytes", 1200);
    add(f, 3, HALLEY_NODE_COMP, 10);
    halley_builder_attr_u64(f->b, "alloc_bytes", 1100);
    run(f);
    assert_peak(f, 1200);
}

/* At one instant one tensor goes and another comes: they are never both there. */
static void what_comes_takes_the_place_of_what_goes(void **state)
{
    fixture *f = *state;
    for (uint64_t i = 1; i < 20; i++) {
        char in[64], out[64];
        snprintf(in, sizeof in, "[[0, %d, 0, 64, 1, 'cuda:0']]", (int)i - 1);
        snprintf(out, sizeof out, "[[0, %d, 0, 64, 1, 'cuda:0']]", (int)i);
        add(f, i, HALLEY_NODE_COMP, 1);
        io(f, i == 1 ? "[]" : in, out);
    }
    run(f);
    assert_peak(f, 128);
}

static halley_status run_once(void *context, halley_error *err)
{
    fixture *f = context;
    const halley_sim_opts opts = {.record = true};
    halley_result *r;
    const halley_status status = halley_sim_run(&r, f->set, f->cluster, &opts, err);
    if (status == HALLEY_OK)
        halley_result_free(r);
    return status;
}

static void running_out_of_memory_is_survived(void **state)
{
    fixture *f = *state;
    add(f, 1, HALLEY_NODE_COMP, 10);
    io(f, "[]", "[[1, 7, 0, 100, 4, 'cuda:0'], [1, 8, 0, 100, 4, 'cuda:0']]");
    add(f, 2, HALLEY_NODE_COMP, 10);
    io(f, "[[1, 7, 0, 100, 4, 'cuda:0']]", "[]");
    run(f);
    assert_true(alloc_fail_everywhere(run_once, f) > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tensor_lives_from_its_writer_to_its_last_reader),
        TEST(what_nobody_wrote_was_there_from_the_start),
        TEST(a_size_that_is_no_number_is_left_out_with_a_warning),
        TEST(what_a_load_brings_stays_until_its_last_child_is_done),
        TEST(attributes_of_our_own_take_and_give),
        TEST(what_comes_takes_the_place_of_what_goes),
        TEST(running_out_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
