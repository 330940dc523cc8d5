/* Workload files of ASTRA-sim 1.0 and COMET. */
#include "alloc_fail.h"
#include "base/file/file.h"
#include "halley/ingest.h"
#include "node_number.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *data(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/data/text/%s", getenv("HALLEY_SOURCE_ROOT"),
             name);
    return path;
}

static halley_trace_set *load(const char *name, halley_text_opts opts)
{
    halley_trace_set *set = NULL;
    halley_error err = {0};
    if (halley_text_load(&set, data(name), &opts, &err))
        fail_msg("%s", err.text);
    return set;
}

static void chakras_bytes_come_out_when_asked_for(void **state)
{
    (void)state;
    static const char *const names[] = {"synth_data_mixed", "synth_dlrm_enh",
                                        "synth_micro2", "synth_model_one"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s.txt", names[i]);
        halley_trace_set *set =
            load(path, (halley_text_opts){.n_npus = 2, .n_passes = 2, .chakra = true});
        for (uint32_t rank = 0; rank < 2; rank++) {
            uint8_t *bytes = NULL;
            size_t n = 0;
            file_input golden;
            snprintf(path, sizeof path, "%s.n2p2.%u.et", names[i], rank);
            assert_int_equal(file_input_open(&golden, data(path), NULL), HALLEY_OK);
            assert_int_equal(
                halley_trace_encode_et(&bytes, &n, halley_trace_set_get(set, rank), NULL),
                HALLEY_OK);
            assert_int_equal(n, golden.n);
            assert_memory_equal(bytes, golden.at, n);
            free(bytes);
            file_input_close(&golden);
        }
        halley_trace_set_free(set);
    }
}

static uint32_t find(const halley_trace *t, const char *name, int which)
{
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const halley_bytes n = halley_node_name(t, i);
        if (n.n == strlen(name) && memcmp(n.at, name, n.n) == 0 && which-- == 0)
            return i;
    }
    return HALLEY_NO_NODE;
}

static void no_communication_is_no_node(void **state)
{
    (void)state;
    halley_trace_set *set = load("synth_data_mixed.txt", (halley_text_opts){.n_npus = 4});
    const halley_trace *t = halley_trace_set_get(set, 3);
    assert_int_equal(halley_trace_set_distinct(set), 1);
    assert_int_equal(find(t, "COMM_COLL_NODE_a_NONE", 0), HALLEY_NO_NODE);
    assert_int_not_equal(find(t, "COMM_COLL_NODE_b_REDUCESCATTER", 0), HALLEY_NO_NODE);
    halley_trace_set_free(set);
}

static void times_are_nanoseconds(void **state)
{
    (void)state;
    halley_trace_set *set = load("comet.txt", (halley_text_opts){0});
    const halley_trace *t = halley_trace_set_get(set, 0);
    const uint32_t node = find(t, "COMP_NODE_mlp_FWD", 0);
    assert_int_equal(number(t, node, "duration_ns"), 600);
    assert_int_equal(halley_node_duration_us(t, node), 1);
    halley_trace_set_free(set);
}

static void comet_gives_operations_and_bytes(void **state)
{
    (void)state;
    halley_trace_set *set = load("comet.txt", (halley_text_opts){0});
    assert_int_equal(halley_trace_set_count(set), 2); /* one model-parallel group */
    const halley_trace *t = halley_trace_set_get(set, 0);
    const uint32_t node = find(t, "COMP_NODE_out_BWD_WG", 0);
    assert_int_equal(number(t, node, "num_ops"), 7200);
    assert_int_equal(number(t, node, "tensor_size"), 8200);
    halley_trace_set_free(set);
}

static void forward_is_done_again_between_checkpoint_and_start(void **state)
{
    (void)state;
    halley_trace_set *set = load("comet.txt", (halley_text_opts){.n_npus = 4});
    const halley_trace *t = halley_trace_set_get(set, 0);
    const uint32_t again = find(t, "COMP_NODE_mlp_FWD", 1);
    const uint32_t gradient = find(t, "COMP_NODE_out_BWD_IG", 0);
    assert_int_not_equal(find(t, "COMP_NODE_emb_FWD", 1), HALLEY_NO_NODE);
    assert_int_equal(find(t, "COMP_NODE_out_FWD", 1), HALLEY_NO_NODE);
    assert_int_equal(halley_node_data(t, gradient, 0).index, again);
    halley_trace_set_free(set);
}

static void model_and_data_groups_cross(void **state)
{
    (void)state;
    halley_trace_set *set = load("comet.txt", (halley_text_opts){.n_npus = 4});
    static const char *const model[] = {"1", "1", "2", "2"};
    static const char *const replicas[] = {"3", "4", "3", "4"};
    for (uint32_t r = 0; r < 4; r++) {
        const halley_trace *t = halley_trace_set_get(set, r);
        halley_attr group;
        assert_true(halley_node_find_attr(
            &group, t, find(t, "COMM_COLL_NODE_out_ALLREDUCE", 0), "pg_name"));
        assert_memory_equal(group.bytes.at, model[r], 1);
        assert_true(halley_node_find_attr(
            &group, t, find(t, "COMM_COLL_NODE_mlp_ALLREDUCE", 1), "pg_name"));
        assert_memory_equal(group.bytes.at, replicas[r], 1);
    }
    char path[] = "/tmp/halley-groups-XXXXXX";
    close(mkstemp(path));
    uint32_t n = 0;
    assert_int_equal(halley_groups_save(set, path, &n, NULL), HALLEY_OK);
    assert_int_equal(n, 4);
    file_input in;
    assert_int_equal(file_input_open(&in, path, NULL), HALLEY_OK);
    assert_string_equal(
        (const char *)in.at,
        "{\n  \"1\": [0, 1],\n  \"2\": [2, 3],\n  \"3\": [0, 2],\n  \"4\": "
        "[1, 3]\n}\n");
    file_input_close(&in);
    unlink(path);
    halley_trace_set_free(set);
}

static const struct {
    const char *text, *says;
    uint32_t line;
} refused[] = {
    {"DATA\n1\nx -1 5 NONE 0 5 NONE\n", "needs 12 columns", 3},
    {"DATA\n2\nx -1 5 NONE 0 5 NONE 0 5 NONE 0 5\n", "says 2 layers, but there are 1", 3},
    {"DATA\nmany\n", "number of layers must be a whole number", 2},
    {"DATA\n1\nx -1 5 SUM 0 5 NONE 0 5 NONE 0 5\n",
     "\"SUM\" is not a kind of communication", 3},
    {"DATA\n1\nx -1 -5 NONE 0 5 NONE 0 5 NONE 0 5\n", "compute time must be", 3},
    {"HYBRID_DLRM\n1\n", "last bottom layer", 1},
    {"SIDEWAYS\n1\n", "no kind of parallelism", 1},
    {"HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\nx -1 5 NONE 0 5 NONE 0 5 NONE 0 "
     "5",
     "does not divide 4", 0},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 1 7\n1\nx -1 5 NONE 0 5 NONE 0 5 NONE "
     "0 "
     "5",
     "checkpoint at layer 7", 0},
};

static void bad_files_are_refused_with_their_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char path[] = "/tmp/halley-text-XXXXXX";
        const int fd = mkstemp(path);
        assert_int_equal(write(fd, refused[i].text, strlen(refused[i].text)),
                         strlen(refused[i].text));
        close(fd);
        halley_trace_set *set = NULL;
        halley_error err = {0};
        const halley_text_opts opts = {.n_npus = 4};
        assert_int_not_equal(halley_text_load(&set, path, &opts, &err), HALLEY_OK);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s", err.text);
        assert_int_equal(err.line, refused[i].line);
        unlink(path);
    }
}

static halley_status load_all(void *context, halley_error *err)
{
    (void)context;
    halley_trace_set *set = NULL;
    const halley_text_opts opts = {.n_npus = 4};
    const halley_status status = halley_text_load(&set, data("comet.txt"), &opts, err);
    if (status == HALLEY_OK)
        halley_trace_set_free(set);
    return status;
}

static void running_out_of_memory_is_said(void **state)
{
    (void)state;
    alloc_fail_everywhere(load_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chakras_bytes_come_out_when_asked_for),
        cmocka_unit_test(no_communication_is_no_node),
        cmocka_unit_test(times_are_nanoseconds),
        cmocka_unit_test(comet_gives_operations_and_bytes),
        cmocka_unit_test(forward_is_done_again_between_checkpoint_and_start),
        cmocka_unit_test(model_and_data_groups_cross),
        cmocka_unit_test(bad_files_are_refused_with_their_line),
        cmocka_unit_test(running_out_of_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
