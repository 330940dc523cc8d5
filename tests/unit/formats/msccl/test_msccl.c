/* Algorithms of MSCCL: what becomes of them, what they take, and bad ones. */
#include "alloc_fail.h"
#include "base/xml.h"
#include "halley/ingest.h"
#include "halley/sim.h"
#include "msccl/msccl.h"
#include "node_number.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *data(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/data/msccl/%s", getenv("HALLEY_SOURCE_ROOT"),
             name);
    return path;
}

static halley_trace_set *load(const char *name, uint64_t n_bytes)
{
    halley_trace_set *set = NULL;
    halley_error err = {0};
    if (halley_msccl_load(&set, data(name), n_bytes, &err))
        fail_msg("%s", err.text);
    return set;
}

/* A new file with this text; the caller removes it. */
static const char *write_text(const char *text)
{
    static char path[] = "/tmp/halley-test-XXXXXX";
    strcpy(path + sizeof path - 7, "XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void a_ring_sends_what_a_ring_must(void **state)
{
    (void)state;
    halley_trace_set *const set = load("ring4.xml", 8000);
    assert_int_equal(halley_trace_set_count(set), 4);
    for (uint32_t r = 0; r < 4; r++) {
        const halley_trace *const t = halley_trace_set_get(set, r);
        uint64_t sent = 0, got = 0;
        for (uint32_t i = 0; i < halley_trace_count(t); i++) {
            const uint32_t type = halley_node_type_of(t, i);
            if (type == HALLEY_NODE_SEND) {
                sent += number(t, i, "comm_size");
                assert_int_equal(number(t, i, "comm_dst"), (r + 1) % 4);
            } else if (type == HALLEY_NODE_RECV) {
                got += number(t, i, "comm_size");
                assert_int_equal(number(t, i, "comm_src"), (r + 3) % 4);
            }
        }
        assert_int_equal(sent, 12000); /* 2 (n - 1) / n of the data */
        assert_int_equal(got, 12000);
    }
    halley_trace_set_free(set);
}

static void a_wait_joins_what_it_names(void **state)
{
    (void)state;
    halley_trace_set *const set = load("pairs4.xml", 100);
    const halley_trace *const t = halley_trace_set_get(set, 0);
    /* Block 0: send, receive, two waits, three reductions; blocks 1, 2: send, receive. */
    assert_int_equal(halley_trace_count(t), 11);
    assert_int_equal(halley_node_data_count(t, 2), 2);
    assert_int_equal(halley_node_data(t, 2, 0).index, 1);
    assert_int_equal(halley_node_data(t, 2, 1).index, 8); /* block 1 has received */
    assert_int_equal(halley_node_data(t, 3, 1).index, 10);
    assert_int_equal(halley_node_data(t, 4, 0).index, 3);
    halley_trace_set_free(set);
}

/* Ticks of an all-reduce over a ring of four with link queues; prefix NULL: built in. */
static uint64_t run_all_reduce(const char *prefix)
{
    char text[512];
    snprintf(text, sizeof text,
             "network: [{topology: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]\n"
             "system: {model: link-queue, chunks: 1%s%s%s}\n",
             prefix ? ", custom: {all-reduce: " : "", prefix ? prefix : "",
             prefix ? "}" : "");
    const char *const path = write_text(text);
    halley_cluster *cluster = NULL;
    halley_error err = {0};
    if (halley_cluster_load(&cluster, path, &err))
        fail_msg("%s", err.text);
    unlink(path);
    halley_builder *b;
    halley_trace *t, *all[4];
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_node(b, 0, HALLEY_NODE_COLL, (halley_bytes){"x", 1});
    halley_builder_attr_bool(b, "is_cpu_op", false);
    halley_builder_attr_i64(b, "comm_type", HALLEY_COLL_ALL_REDUCE);
    halley_builder_attr_i64(b, "comm_size", 64 << 20);
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    for (int i = 0; i < 4; i++)
        all[i] = i == 0 ? t : halley_trace_keep(t);
    halley_trace_set *set;
    assert_int_equal(halley_trace_set_new(&set, all, 4, NULL), HALLEY_OK);
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_LINKS};
    halley_result *r;
    if (halley_sim_run(&r, set, cluster, &opts, &err))
        fail_msg("%s", err.text);
    const uint64_t ticks = halley_result_rank(r, 0).finish;
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(cluster);
    return ticks;
}

static void it_takes_as_long_as_the_ring_that_is_built_in(void **state)
{
    (void)state;
    char folder[] = "/tmp/halley-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    halley_trace_set *const set = load("ring4.xml", 64 << 20);
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/ring.%u.et", folder, i);
        assert_int_equal(halley_trace_save_et(halley_trace_set_get(set, i), path, NULL),
                         HALLEY_OK);
    }
    snprintf(path, sizeof path, "%s/ring", folder);
    const double own = (double)run_all_reduce(path),
                 built_in = (double)run_all_reduce(NULL);
    if (own < 0.98 * built_in || own > 1.02 * built_in)
        fail_msg("%.0f against %.0f ticks", own, built_in);
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/ring.%u.et", folder, i);
        unlink(path);
    }
    rmdir(folder);
    halley_trace_set_free(set);
}

#define GPU(id, inside) "<gpu id='" id "' i_chunks='1'>" inside "</gpu>"
#define TB(id, send, recv, inside)                                                       \
    "<tb id='" id "' send='" send "' recv='" recv "'>" inside "</tb>"
#define STEP(s, type, cnt, depid, deps)                                                  \
    "<step s='" s "' type='" type "' cnt='" cnt "' depid='" depid "' deps='" deps "'/>"
#define SEND STEP("0", "s", "1", "-1", "-1")
#define RECV STEP("0", "r", "1", "-1", "-1")

static void bad_algorithms_are_refused_in_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } files[] = {
        {"", "no <algo>"},
        {"<algo", "a tag does not end"},
        {"<algo><!-- ", "does not end"},
        {"<algo>", "<algo> does not end"},
        {"<algo/>", "no steps"},
        {"<algo></gpu>", "</gpu> closes what is not open"},
        {"<html></html>", "<html> does not belong here; want algo"},
        {"<algo/><algo/>", "does not belong here"},
        {"< x>", "a tag has no name"},
        {"<algo><gpu/></algo>", "<gpu> has no attribute id"},
        {"<algo ngpus='x'/>", "whole number"},
        {"<algo>" GPU("1", TB("0", "0", "-1", SEND)) "</algo>", "not all before it"},
        {"<algo>" GPU("0", TB("0", "-1", "-1", STEP("0", "cpy", "1", "-1", "-1")))
             GPU("0", "") "</algo>",
         "GPU 0 is there twice"},
        {"<algo ngpus='3'>" GPU(
             "0", TB("0", "-1", "-1", STEP("0", "re", "1", "-1", "-1"))) "</algo>",
         "ngpus is 3, but there are 1"},
        {"<algo>" GPU("0", TB("0", "-1", "-1", SEND)) "</algo>", "no send peer"},
        {"<algo>" GPU("0", TB("0", "-1", "-1", RECV)) "</algo>", "no recv peer"},
        {"<algo>" GPU("0", TB("0", "0", "-1", SEND)) "</algo>", "cannot talk to GPU 0"},
        {"<algo>" GPU("0", TB("0", "7", "-1", SEND)) "</algo>", "cannot talk to GPU 7"},
        {"<algo>" GPU("0", TB("0", "1", "-1", SEND)) GPU("1", "") "</algo>",
         "GPU 1 does not receive message 0 of GPU 0"},
        {"<algo>" GPU("0", "") GPU("1", TB("0", "-1", "0", RECV)) "</algo>",
         "a message that nobody sends"},
        {"<algo>" GPU("0", TB("0", "1", "-1", SEND))
             GPU("1", TB("0", "-1", "0", RECV STEP("1", "r", "1", "-1", "-1"))) "</algo>",
         "GPU 1 waits for message 1 of GPU 0 on channel 0, which is not sent"},
        {"<algo>" GPU("0", TB("0", "1", "-1", SEND))
             GPU("1", TB("0", "-1", "0", STEP("0", "r", "2", "-1", "-1"))) "</algo>",
         "receives 2 chunks, but GPU 0 sends 1"},
        {"<algo>" GPU("0", TB("0", "1", "-1", SEND) TB("1", "1", "-1", SEND))
             GPU("1", TB("0", "-1", "0", RECV)) "</algo>",
         "two thread blocks of GPU 0 send to GPU 1"},
        {"<algo>" GPU("0", TB("0", "-1", "1", "")
                               TB("0", "-1", "-1", STEP("0", "re", "1", "-1", "-1")))
             GPU("1", "") "</algo>",
         "two thread blocks 0"},
        {"<algo>" GPU("0",
                      TB("0", "-1", "-1", STEP("0", "spin", "1", "-1", "-1"))) "</algo>",
         "\"spin\" is not a type of a step"},
        {"<algo>" GPU("0",
                      TB("0", "-1", "-1", STEP("1", "re", "1", "-1", "-1"))) "</algo>",
         "step 1 comes where step 0 is due"},
        {"<algo>" GPU("0",
                      TB("0", "-1", "-1", STEP("0", "re", "0", "-1", "-1"))) "</algo>",
         "cnt of <step> must be a whole number from 1"},
        {"<algo>" GPU("0", TB("0", "-1", "-1", STEP("0", "re", "1", "4", "0"))) "</algo>",
         "waits for step 0 of thread block 4, which GPU 0 does not have"},
        {"<algo>" GPU("0", TB("0", "-1", "-1", STEP("0", "re", "1", "0", "0"))) "</algo>",
         "wait for each other in a circle"},
        {"<algo>" GPU("0", TB("0", "1", "1", RECV STEP("1", "s", "1", "-1", "-1")))
             GPU("1", TB("0", "0", "0", RECV STEP("1", "s", "1", "-1", "-1"))) "</algo>",
         "wait for each other in a circle"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        halley_trace_set *set = NULL;
        halley_error err = {0};
        const char *const path = write_text(files[i].text);
        const halley_status status = halley_msccl_load(&set, path, 1024, &err);
        unlink(path);
        if (status == HALLEY_OK || !strstr(err.text, files[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", files[i].text, err.text,
                     files[i].says);
        assert_null(set);
    }
}

static void attributes_are_found_in_any_order_and_quotes(void **state)
{
    (void)state;
    xml_reader r;
    str value;
    xml_init(&r, STR("<?xml?>\n<!-- <x> -->\n<a b = 'c>d' e=\"f'g\" h='' />text</a>"));
    assert_int_equal(xml_next(&r), XML_OPEN);
    assert_int_equal(r.line, 3);
    assert_true(r.is_empty);
    assert_true(xml_attribute(&r, STR("e"), &value) && str_eq(value, STR("f'g")));
    assert_true(xml_attribute(&r, STR("b"), &value) && str_eq(value, STR("c>d")));
    assert_true(xml_attribute(&r, STR("h"), &value) && value.n == 0);
    assert_false(xml_attribute(&r, STR("c"), &value));
    assert_int_equal(xml_next(&r), XML_CLOSE);
    assert_int_equal(xml_next(&r), XML_END);
}

static halley_status load_ring(void *context, halley_error *err)
{
    (void)context;
    halley_trace_set *set = NULL;
    const halley_status status = halley_msccl_load(&set, data("ring4.xml"), 4096, err);
    if (status == HALLEY_OK)
        halley_trace_set_free(set);
    return status;
}

static void running_out_of_memory_is_said(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(load_ring, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_sends_what_a_ring_must),
        cmocka_unit_test(a_wait_joins_what_it_names),
        cmocka_unit_test(it_takes_as_long_as_the_ring_that_is_built_in),
        cmocka_unit_test(bad_algorithms_are_refused_in_a_sentence),
        cmocka_unit_test(attributes_are_found_in_any_order_and_quotes),
        cmocka_unit_test(running_out_of_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
