/* Linking recordings: what comes out of the small one in tests/data/recording, and of bad
 * ones. */
#include "alloc_fail.h"
#include "halley/ingest.h"
#include "halley/sim.h"
#include "halley/trace_check.h"
#include "node_number.h"
#include "recording/device.h"
#include "recording/host.h"
#include "recording/lit.h"
#include "recording/pull.h"
#include "recording/work.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *data(const char *name)
{
    static char paths[4][512];
    static int next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/tests/data/recording/%s",
             getenv("HALLEY_SOURCE_ROOT"), name);
    return path;
}

static halley_trace *link_rank0(halley_link_report *report)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_trace_link(&t, report, data("host.0.json"), data("device.0.json"), NULL,
                          &err))
        fail_msg("%s", err.text);
    return t;
}

static uint32_t find(const halley_trace *t, const char *name, int which)
{
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const halley_bytes n = halley_node_name(t, i);
        if (n.n == strlen(name) && memcmp(n.at, name, n.n) == 0 && which-- == 0)
            return i;
    }
    fail_msg("no node %s", name);
    return 0;
}

static bool waits_for(const halley_trace *t, uint32_t node, uint32_t on)
{
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++)
        if (halley_node_data(t, node, i).index == on)
            return true;
    return false;
}

/* Directly or through others. Small traces: plain depth first. */
static bool comes_after(const halley_trace *t, uint32_t node, uint32_t first)
{
    if (node == first)
        return true;
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++)
        if (comes_after(t, halley_node_data(t, node, i).index, first))
            return true;
    return false;
}

static void every_operator_and_kernel_is_linked(void **state)
{
    (void)state;
    halley_link_report r;
    halley_trace *t = link_rank0(&r);
    assert_int_equal(r.n_by_record_function, 11);
    assert_int_equal(r.n_unmatched_host, 3); /* the process and two threads */
    assert_int_equal(r.n_linked_kernels, 4);
    assert_int_equal(r.n_linked_copies, 1);
    assert_int_equal(r.n_no_launch + r.n_no_operator + r.n_against_time, 0);
    assert_string_equal(r.schema, "1.1.0-chakra.0.0.4");
    const uint32_t kernel = find(t, "sgemm_64x64", 0);
    assert_int_equal(halley_node_ctrl(t, kernel, 0).index, find(t, "aten::mm", 0));
    assert_int_equal(number(t, kernel, "duration_ns"), 400250);
    assert_int_equal(halley_node_duration_us(t, kernel), 400);
    halley_trace_free(t);
}

static void edges_are_what_the_hardware_waits_for(void **state)
{
    (void)state;
    halley_trace *t = link_rank0(NULL);
    const uint32_t first = find(t, "sgemm_64x64", 0), relu = find(t, "relu_kernel", 0);
    const uint32_t back = find(t, "sgemm_128x64", 0);
    const uint32_t nccl = find(
        t, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        0);
    const uint32_t sync = find(t, "cudaDeviceSynchronize", 0);
    assert_true(waits_for(t, relu, first));                    /* its stream */
    assert_true(waits_for(t, relu, find(t, "aten::relu", 0))); /* its launch */
    assert_true(comes_after(t, nccl, back));                   /* an event */
    assert_true(waits_for(t, sync, nccl));                     /* the device */
    assert_true(comes_after(t, find(t, "aten::item", 0),
                            find(t, "nccl:all_reduce", 0))); /* the other thread */
    const uint32_t wakes = find(t, "autograd::engine::evaluate_function: MmBackward0", 0);
    assert_true(comes_after(t, wakes, find(t, "## backward ##", 0)));
    halley_trace_free(t);
}

static void waiting_is_not_counted_as_work(void **state)
{
    (void)state;
    halley_trace *t = link_rank0(NULL);
    /* 700 us, all but 200 of them waiting for the other thread. */
    assert_int_equal(halley_node_duration_us(t, find(t, "## backward ##", 0)), 0);
    /* 440 us, of which 46 after the last kernel. */
    assert_int_equal(number(t, find(t, "cudaDeviceSynchronize", 0), "duration_ns"),
                     46000);
    halley_trace_free(t);
}

static void own_times_add_up_in_both_units(void **state)
{
    (void)state;
    halley_trace *t = link_rank0(NULL);
    uint64_t us = 0, ns = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        halley_attr attr;
        us += halley_node_duration_us(t, i);
        if (halley_node_find_attr(&attr, t, i, "duration_ns"))
            ns += attr.bits;
    }
    assert_in_range(ns, us * 1000 - 4000, us * 1000 + 4000);
    halley_trace_free(t);
}

static void the_replay_takes_as_long_as_the_recording(void **state)
{
    (void)state;
    halley_link_report r;
    halley_trace_free(link_rank0(&r));
    assert_int_equal(r.recorded_ns, 1450000);
    assert_in_range(r.replayed_ns, 1450000 * 97 / 100, 1450000 * 103 / 100);
}

static void what_replay_loses_is_accounted_for(void **state)
{
    (void)state;
    halley_link_report r;
    halley_trace_free(link_rank0(&r));
    assert_true(r.replayed_ns != r.recorded_ns);
    assert_int_equal(r.lost_host_ns + r.lost_launch_ns + r.lost_device_ns +
                         r.lost_wait_ns + r.lost_ends_ns,
                     r.recorded_ns - r.replayed_ns);
}

static void the_simulator_replays_what_the_linker_says(void **state)
{
    (void)state;
    halley_link_report report;
    halley_trace *t = link_rank0(&report);
    halley_trace_set *set = NULL;
    halley_cluster *machine = NULL;
    halley_result *result = NULL;
    assert_int_equal(halley_trace_set_new(&set, &t, 1, NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_recorded(&machine, 1, NULL), HALLEY_OK);
    assert_int_equal(halley_sim_run(&result, set, machine, NULL, NULL), HALLEY_OK);
    assert_int_equal(halley_result_rank(result, 0).finish, report.replayed_ns * 1000);
    halley_result_free(result);
    halley_cluster_free(machine);
    halley_trace_set_free(set);
}

static void communication_says_what_it_is(void **state)
{
    (void)state;
    halley_trace *t = link_rank0(NULL);
    const uint32_t n = find(
        t, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        0);
    assert_int_equal(halley_node_type_of(t, n), HALLEY_NODE_COLL);
    assert_int_equal(number(t, n, "comm_type"), HALLEY_COLL_ALL_REDUCE);
    assert_int_equal(number(t, n, "comm_size"), 8192 * 4);
    halley_attr group;
    assert_true(halley_node_find_attr(&group, t, n, "pg_name"));
    assert_memory_equal(group.bytes.at, "1", group.bytes.n);
    const uint32_t groups = find(t, "## process_group:init ##", 0);
    assert_int_equal(halley_node_type_of(t, groups), HALLEY_NODE_METADATA);
    halley_trace_free(t);
}

static void kernels_know_their_operations(void **state)
{
    (void)state;
    halley_trace *t = link_rank0(NULL);
    const uint32_t n = find(t, "sgemm_64x64", 0);
    assert_int_equal(number(t, n, "num_ops"), 2 * 64 * 128 * 64);
    assert_int_equal(number(t, n, "tensor_size"), (8192 + 8192 + 4096) * 4);
    halley_trace_free(t);
}

static void clocks_of_ranks_are_aligned_by_collectives(void **state)
{
    (void)state;
    halley_trace_set *set = NULL;
    halley_link_report *reports = NULL;
    halley_error err = {0};
    if (halley_trace_link_ranks(&set, &reports, data("host.%d.json"),
                                data("device.%d.json"), NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(halley_trace_set_count(set), 2);
    assert_int_equal(reports[1].clock_offset_ns, -2500250);
    halley_check_report *check = NULL;
    assert_int_equal(halley_trace_check(&check, set, NULL, NULL), HALLEY_OK);
    assert_int_equal(check->n[HALLEY_ERROR] + check->n[HALLEY_WARNING], 0);
    assert_true(check->compared_ranks);
    halley_check_report_free(check);
    halley_trace_set_free(set);
    free(reports);
}

static void a_host_trace_alone_keeps_order_and_shapes(void **state)
{
    (void)state;
    halley_trace *t = NULL;
    halley_link_report r;
    assert_int_equal(halley_trace_link(&t, &r, data("host.0.json"), NULL, NULL, NULL), 0);
    assert_int_equal(halley_trace_count(t), 14);
    const uint32_t comm = find(t, "nccl:all_reduce", 0); /* no kernel to stand for it */
    assert_int_equal(halley_node_type_of(t, comm), HALLEY_NODE_COLL);
    assert_int_equal(number(t, find(t, "aten::mm", 0), "num_ops"), 2 * 64 * 128 * 64);
    halley_trace_free(t);
}

/* A file with this text; the path is the caller's to unlink. */
static char *write_text(const char *text, size_t n)
{
    static char paths[4][64];
    static int next;
    char *const path = paths[next++ % 4];
    strcpy(path, "/tmp/halley-link-XXXXXX");
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
    return path;
}

#define NODE(id, parent, rf)                                                             \
    "{\"id\": " #id ", \"name\": \"op" #rf "\", \"ctrl_deps\": " #parent                 \
    ", \"inputs\": {\"values\": [], \"shapes\": [], \"types\": []}, \"attrs\": "         \
    "[{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": " #rf "}]}"
#define HOST(nodes) "{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [" nodes "]}"
#define OP(rf, ts, dur)                                                                  \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op" #rf                            \
    "\", \"pid\": 1, \"tid\": 1, \"ts\": " #ts ", \"dur\": " #dur                        \
    ", \"args\": {\"Record function id\": " #rf "}}"
#define DEVICE(events) "{\"traceEvents\": [" events "]}"

/* A copy of a file of the recording with another text in it; to unlink. */
static char *replaced(const char *name, const char *from, const char *to)
{
    static char text[1 << 16], out[1 << 16];
    FILE *const f = fopen(data(name), "r");
    assert_non_null(f);
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    size_t k = 0;
    for (const char *at = text; *at;) {
        const bool here = strncmp(at, from, strlen(from)) == 0;
        assert_true(k + strlen(to) + 1 < sizeof out);
        if (here)
            k += (size_t)sprintf(out + k, "%s", to);
        else
            out[k++] = *at;
        at += here ? strlen(from) : 1;
    }
    return write_text(out, k);
}

static void groups_named_by_text_get_a_number(void **state)
{
    (void)state;
    halley_link_report r;
    halley_trace *t = NULL;
    char *const host = replaced("host.0.json", "\"1\"", "\"c180dae_0\"");
    char *const device = replaced("device.0.json", "\"1\"", "\"c180dae_0\"");
    assert_int_equal(halley_trace_link(&t, &r, host, device, NULL, NULL), HALLEY_OK);
    unlink(host);
    unlink(device);
    assert_int_equal(r.n_renamed_groups, 1);
    halley_attr attr;
    const uint32_t comm = find(
        t, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        0);
    assert_true(halley_node_find_attr(&attr, t, comm, "pg_name"));
    assert_memory_equal(attr.bytes.at, "1", attr.bytes.n); /* "0" is taken */
    const halley_bytes said =
        halley_node_inputs(t, find(t, "## process_group:init ##", 0)).values;
    assert_non_null(memmem(said.at, said.n, "\"pg_name\": \"1\"", 14));
    assert_null(memmem(said.at, said.n, "c180dae_0", 9));
    halley_trace_free(t);
}

#define CALLED(id, parent, name, values, shapes)                                         \
    "{\"id\": " #id ", \"name\": \"" name "\", \"ctrl_deps\": " #parent                  \
    ", \"inputs\": {\"values\": " values ", \"shapes\": " shapes                         \
    ", \"types\": []}, \"attrs\": []}"
#define MATRIX(id, n) "[" #id ", " #id ", 0, " #n ", 4, \"cpu\"]"

static bool has_work(const halley_trace *t, const char *name)
{
    halley_attr attr;
    return halley_node_find_attr(&attr, t, find(t, name, 0), "num_ops");
}

static void on_a_host_the_innermost_operator_computes(void **state)
{
    (void)state;
    static const char *const nodes[] = {
        CALLED(1, 1, "root", "[]", "[]"),
        CALLED(2, 1, "aten::linear", "[" MATRIX(7, 256) ", " MATRIX(8, 128) "]",
               "[[32, 8], [16, 8]]"),
        CALLED(3, 2, "aten::addmm",
               "[" MATRIX(9, 16) ", " MATRIX(7, 256) ", " MATRIX(8, 128) "]",
               "[[16], [32, 8], [8, 16]]"),
        CALLED(4, 3, "aten::copy_", "[" MATRIX(5, 512) ", " MATRIX(6, 512) "]",
               "[[32, 16], [32, 16]]"),
        CALLED(5, 1, "aten::sum", "[" MATRIX(5, 512) "]", "[[32, 16]]"),
        CALLED(6, 5, "aten::fill_", "[" MATRIX(4, 1) "]", "[[1]]"),
        CALLED(7, 1, "aten::relu", "[" MATRIX(5, 512) "]", "[[32, 16]]"),
        CALLED(8, 7, "aten::clamp_min", "[" MATRIX(5, 512) "]", "[[32, 16]]"),
    };
    char text[4096];
    size_t n = (size_t)sprintf(text, "{\"schema\": \"1.1.1\", \"nodes\": [");
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        n += (size_t)sprintf(text + n, "%s%s", i ? ", " : "", nodes[i]);
    n += (size_t)sprintf(text + n, "]}");
    const char *const path = write_text(text, n);
    halley_trace *t = NULL;
    assert_int_equal(halley_trace_link(&t, NULL, path, NULL, NULL, NULL), HALLEY_OK);
    unlink(path);
    assert_int_equal(number(t, find(t, "aten::addmm", 0), "num_ops"), 2 * 32 * 8 * 16);
    assert_true(has_work(t, "aten::copy_"));
    assert_true(has_work(t, "aten::sum"));
    assert_true(has_work(t, "aten::clamp_min"));
    assert_false(has_work(t, "aten::linear"));
    assert_false(has_work(t, "aten::relu"));
    halley_trace_free(t);
}

static const struct {
    const char *what, *host, *device, *says;
} refused[] = {
    {"swapped", DEVICE(OP(1, 0, 1)), HOST(NODE(1, 1, 1)), "this is a Kineto (device)"},
    {"two hosts", HOST(NODE(1, 1, 1)), HOST(NODE(1, 1, 1)), "execution trace (host)"},
    {"bare array as host", "[]", DEVICE(OP(1, 0, 1)), "this is a Kineto (device)"},
    {"another run", HOST(NODE(1, 1, 1)), DEVICE(OP(7, 0, 1)), "not of the same run"},
    {"cut host", "{\"nodes\": [{\"id\": 1, \"na", DEVICE(OP(1, 0, 1)), "the file is cut"},
    {"cut device", HOST(NODE(1, 1, 1)), "{\"traceEvents\": [{\"ph\": \"X\"", "is cut"},
    {"no nodes", "{\"schema\": \"1.0.1\"}", DEVICE(OP(1, 0, 1)), "no \"nodes\""},
    {"empty nodes", HOST(""), DEVICE(OP(1, 0, 1)), "has no nodes"},
    {"no events", HOST(NODE(1, 1, 1)), "{\"a\": 1}", "no \"traceEvents\""},
    {"zero events", HOST(NODE(1, 1, 1)), DEVICE(""), "none of its 0 events"},
    {"a number", "17", DEVICE(OP(1, 0, 1)), "no object"},
    {"not JSON", HOST(NODE(1, 1, 1)), "# hello", "no JSON value"},
    {"empty file", "", DEVICE(OP(1, 0, 1)), "no object"},
};

static void what_is_no_recording_is_refused_in_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *host = write_text(refused[i].host, strlen(refused[i].host));
        const char *device = write_text(refused[i].device, strlen(refused[i].device));
        halley_error err = {0};
        halley_trace *t = NULL;
        assert_int_not_equal(halley_trace_link(&t, NULL, host, device, NULL, &err), 0);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: %s", refused[i].what, err.text);
        assert_true(err.file[0] != '\0');
        unlink(host);
        unlink(device);
    }
}

static halley_trace *link_text(halley_link_report *r, const char *host,
                               const char *device)
{
    const char *h = write_text(host, strlen(host)),
               *d = write_text(device, strlen(device));
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_trace_link(&t, r, h, d, NULL, &err))
        fail_msg("%s", err.text);
    unlink(h);
    unlink(d);
    halley_trace_set *set = NULL;
    halley_check_report *check = NULL;
    halley_trace *kept = halley_trace_keep(t);
    assert_int_equal(halley_trace_set_new(&set, &kept, 1, NULL), 0);
    assert_int_equal(halley_trace_check(&check, set, NULL, NULL), 0);
    assert_int_equal(check->n[HALLEY_ERROR], 0);
    halley_check_report_free(check);
    halley_trace_set_free(set);
    return t;
}

#define PARAMS(id, what, tensor)                                                         \
    "{\"id\": " #id ", \"name\": \"record_param_comms\", \"ctrl_deps\": 1, \"inputs\": " \
    "{\"values\": [[" tensor "], 7, [\"0\", \"default_pg\"], 1, \"" what                 \
    "\", [], []], \"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": \"rf_id\", "    \
    "\"type\": \"uint64\", \"value\": " #id "}]}"
#define PARAMS_EVENT(rf, ts)                                                             \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"record_param_comms\", "            \
    "\"pid\": 1, \"tid\": 1, \"ts\": " #ts                                               \
    ", \"dur\": 8, \"args\": {\"Record function id\": " #rf "}}"

static void one_kernel_may_send_and_receive(void **state)
{
    (void)state;
    static const char host[] =
        HOST(NODE(1, 1, 1) "," PARAMS(2, "send", MATRIX(5, 256)) "," PARAMS(
            3, "recv", MATRIX(6, 512)) "," PARAMS(4, "coalesced", ""));
    static const char device[] = DEVICE(
        OP(1, 0, 100) "," PARAMS_EVENT(2, 10) "," PARAMS_EVENT(3, 20) "," PARAMS_EVENT(
            4, 30) ",{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
                   "\"cudaLaunchKernelExC\", \"pid\": 1, \"tid\": 1, \"ts\": 32, "
                   "\"dur\": 2, \"args\": {\"correlation\": 9}},"
                   "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
                   "\"ncclDevKernel_SendRecv(x)\", \"pid\": 0, \"tid\": 7, \"ts\": 40, "
                   "\"dur\": 50, \"args\": {\"correlation\": 9, \"stream\": 7}}");
    halley_link_report r;
    halley_trace *const t = link_text(&r, host, device);
    assert_int_equal(r.n_sends, 1);
    assert_int_equal(r.n_recvs, 1);
    assert_int_equal(r.n_batched, 2);
    const uint32_t a = find(t, "ncclDevKernel_SendRecv(x)", 0),
                   b = find(t, "ncclDevKernel_SendRecv(x)", 1);
    assert_int_equal(halley_node_type_of(t, a), HALLEY_NODE_SEND);
    assert_int_equal(number(t, a, "comm_size"), 1024);
    assert_int_equal(number(t, a, "comm_dst"), 1);
    assert_int_equal(number(t, a, "duration_ns"), 50000);
    assert_int_equal(halley_node_type_of(t, b), HALLEY_NODE_RECV);
    assert_int_equal(number(t, b, "comm_size"), 2048);
    assert_int_equal(number(t, b, "comm_src"), 1);
    assert_int_equal(number(t, b, "duration_ns"), 0);
    assert_false(comes_after(t, b, a) || comes_after(t, a, b));
    halley_trace_free(t);
}

static void odd_recordings_are_linked_and_counted(void **state)
{
    (void)state;
    halley_link_report r;
    /* Negative durations, no time, NaN, the same event twice, a text as pid. */
    halley_trace_free(link_text(
        &r, HOST(NODE(1, 1, 1) "," NODE(2, 1, 2)),
        DEVICE(OP(1, 10, -5) "," OP(2, NaN, 1) "," OP(2, 20, 5) "," OP(
            2, 20,
            5) ",{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": \"GPU\","
               "\"tid\": \"s\", \"ts\": 1, \"dur\": 1}")));
    assert_int_equal(r.n_negative, 1);
    assert_int_equal(r.n_bad_times, 1);
    assert_int_equal(r.n_duplicate_events, 1);
    assert_int_equal(r.n_no_launch, 1);
    /* Parents in a circle, a parent that is not there, one id twice. */
    halley_trace_free(link_text(
        &r, HOST(NODE(1, 2, 1) "," NODE(2, 1, 2) "," NODE(3, 99, 3) "," NODE(3, 99, 3)),
        DEVICE(OP(1, 0, 9) "," OP(2, 1, 2) "," OP(3, 4, 2))));
    assert_int_equal(r.n_bad_parents, 2);
    assert_int_equal(r.n_duplicate_ids, 1);
    /* A clock that jumps: a child that ends behind its parent. */
    halley_trace_free(link_text(&r, HOST(NODE(1, 1, 1) "," NODE(2, 1, 2)),
                                DEVICE(OP(1, 0, 10) "," OP(2, 5, 50))));
    assert_int_equal(r.n_by_record_function, 2);
}

static void without_record_functions_order_links(void **state)
{
    (void)state;
    halley_link_report r;
    static const char host[] = HOST(NODE(1, 1, 1) "," NODE(2, 1, 2) "," NODE(
        3, 1, 3) "," NODE(4, 1, 4) "," NODE(5, 1, 5));
#define PLAIN(n, ts)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op" #n                             \
    "\", \"pid\": 1, \"tid\": 1, \"ts\": " #ts ", \"dur\": 1, \"args\": {}}"
    halley_trace_free(
        link_text(&r, host,
                  DEVICE(PLAIN(8, 0) "," PLAIN(1, 2) "," PLAIN(2, 4) "," PLAIN(
                      3, 6) "," PLAIN(9, 8) "," PLAIN(4, 10) "," PLAIN(5, 12))));
    assert_int_equal(r.n_by_order, 3); /* four and five stand alone behind a stranger */
}

static const struct {
    const char *text;
    int64_t ns;
} times[] = {
    {"4458676522690.655", 4458676522690655},
    {"1694128201435418", 1694128201435418000},
    {"0", 0},
    {"1.5", 1500},
    {"1.0005", 1001},
    {"1.0004", 1000},
    {"-3.25", -3250},
    {"1e3", 1000000},
    {"12.3456789", 12346},
};

static void times_are_exact_to_the_nanosecond(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        int64_t ns = 0;
        assert_true(pull_us_as_ns(str_from(times[i].text), &ns));
        assert_int_equal(ns, times[i].ns);
    }
    int64_t ns;
    assert_false(pull_us_as_ns(STR("NaN"), &ns));
    assert_false(pull_us_as_ns(STR(""), &ns));
    assert_false(pull_us_as_ns(STR("1e300"), &ns));
}

static const struct {
    const char *json, *repr;
} reprs[] = {
    {"[]", "[]"},
    {"[1,[2,\"a\"],null,true,false]", "[1, [2, 'a'], None, True, False]"},
    {"\"it's\"", "\"it's\""},
    {"\"it's \\\"x\\\"\"", "'it\\'s \"x\"'"},
    {"\"a\\nb\\\\c\"", "'a\\nb\\\\c'"},
    {"[0.1,1e22,1e-5,100.0,1234567.891,-0.0,1e16,123456789012345680.0]",
     "[0.1, 1e+22, 1e-05, 100.0, 1234567.891, -0.0, 1e+16, 1.2345678901234568e+17]"},
    {"[NaN,-Infinity]", "[nan, -inf]"},
    {"{\"a\":[{}],\"b\":1}", "{'a': [{}], 'b': 1}"},
    {"[9007199254740993,12345678901234567890123]",
     "[9007199254740993, 12345678901234567890123]"},
};

static void values_are_kept_as_python_prints_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reprs / sizeof *reprs; i++) {
        json_reader r;
        strbuf out = {0};
        json_open(&r, str_from(reprs[i].json));
        r.foreign = true;
        assert_true(pull_repr(&r, json_next(&r), &out));
        assert_string_equal(out.at, reprs[i].repr);
        strbuf_fini(&out);
    }
}

static const struct {
    const char *name, *shapes, *out_shapes;
    uint64_t n_ops;
} works[] = {
    {"aten::addmm", "[[64], [32, 128], [128, 64], [], []]", "[[32, 64]]",
     2 * 32 * 128 * 64},
    {"aten::bmm", "[[8, 4, 16], [8, 16, 2]]", "[[8, 4, 2]]", 2 * 8 * 4 * 16 * 2},
    {"aten::linear", "[[2, 10, 16], [32, 16], [32]]", "[[2, 10, 32]]", 2 * 20 * 16 * 32},
    {"aten::conv2d", "[[1, 3, 8, 8], [6, 3, 3, 3]]", "[[1, 6, 8, 8]]", 2 * 384 * 27},
    {"aten::convolution_backward", "[[1, 6, 8, 8], [1, 3, 8, 8], [6, 3, 3, 3]]", "[]",
     4 * 384 * 27},
    {"aten::_scaled_dot_product_flash_attention",
     "[[2, 4, 16, 8], [2, 4, 16, 8], [2, 4, 16, 8]]", "[]", 4 * 2 * 4 * 16 * 16 * 8},
    {"aten::add", "[[100], [100]]", "[[100]]", 100},
};

static void operations_follow_from_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        const host_io io = {.values = STR("[[1, 2, 0, 100, 4, 'cuda:0']]"),
                            .shapes = str_from(works[i].shapes),
                            .types = STR("[]"),
                            .out_values = STR("[[3, 2, 0, 100, 4, 'cuda:0']]"),
                            .out_shapes = str_from(works[i].out_shapes)};
        work w;
        assert_true(work_of(&w, str_from(works[i].name), &io));
        assert_int_equal(w.n_ops, works[i].n_ops);
        assert_int_equal(w.n_bytes, 800);
    }
}

static void calls_are_known_by_their_names(void **state)
{
    (void)state;
    assert_int_equal(device_call_kind(STR("cudaLaunchKernel")), DEVICE_CALL);
    assert_int_equal(device_call_kind(STR("hipExtModuleLaunchKernel")), DEVICE_CALL);
    assert_int_equal(device_call_kind(STR("cudaGraphLaunch")), DEVICE_CALL);
    assert_int_equal(device_call_kind(STR("cudaMemsetAsync")), DEVICE_CALL);
    assert_int_equal(device_call_kind(STR("hipDeviceSynchronize")), DEVICE_SYNC_CALL);
    assert_int_equal(device_call_kind(STR("cudaStreamSynchronize")), DEVICE_SYNC_CALL);
    assert_int_equal(device_call_kind(STR("cudaEventRecordWithFlags")), DEVICE_RECORD);
    assert_int_equal(device_call_kind(STR("cuStreamWaitEvent")), DEVICE_WAIT);
    assert_int_equal(device_call_kind(STR("cudaEventQuery")), DEVICE_QUIET);
}

static halley_status link_both(void *context, halley_error *err)
{
    (void)context;
    halley_trace_set *set = NULL;
    halley_link_report *reports = NULL;
    const halley_link_opts one_thread = {.n_threads = 1};
    const halley_status status = halley_trace_link_ranks(
        &set, &reports, data("host.%d.json"), data("device.%d.json"), &one_thread, err);
    if (status == HALLEY_OK) {
        halley_trace_set_free(set);
        free(reports);
    }
    return status;
}

static void running_out_of_memory_is_said(void **state)
{
    (void)state;
    alloc_fail_everywhere(link_both, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_and_kernel_is_linked),
        cmocka_unit_test(edges_are_what_the_hardware_waits_for),
        cmocka_unit_test(waiting_is_not_counted_as_work),
        cmocka_unit_test(own_times_add_up_in_both_units),
        cmocka_unit_test(the_replay_takes_as_long_as_the_recording),
        cmocka_unit_test(what_replay_loses_is_accounted_for),
        cmocka_unit_test(the_simulator_replays_what_the_linker_says),
        cmocka_unit_test(communication_says_what_it_is),
        cmocka_unit_test(kernels_know_their_operations),
        cmocka_unit_test(clocks_of_ranks_are_aligned_by_collectives),
        cmocka_unit_test(a_host_trace_alone_keeps_order_and_shapes),
        cmocka_unit_test(groups_named_by_text_get_a_number),
        cmocka_unit_test(one_kernel_may_send_and_receive),
        cmocka_unit_test(on_a_host_the_innermost_operator_computes),
        cmocka_unit_test(what_is_no_recording_is_refused_in_a_sentence),
        cmocka_unit_test(odd_recordings_are_linked_and_counted),
        cmocka_unit_test(without_record_functions_order_links),
        cmocka_unit_test(times_are_exact_to_the_nanosecond),
        cmocka_unit_test(values_are_kept_as_python_prints_them),
        cmocka_unit_test(operations_follow_from_shapes),
        cmocka_unit_test(calls_are_known_by_their_names),
        cmocka_unit_test(running_out_of_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
