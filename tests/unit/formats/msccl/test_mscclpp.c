/* Plans of MSCCL++: what they send, that they end, and bad ones. */
#include "alloc_fail.h"
#include "halley/ingest.h"
#include "halley/sim.h"
#include "msccl/mscclpp/plan.h"
#include "node_number.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *find_data(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/data/msccl/%s", getenv("HALLEY_SOURCE_ROOT"),
             name);
    return path;
}

static halley_trace_set *load_plan(const char *name, uint64_t n_bytes)
{
    halley_trace_set *set = NULL;
    halley_error err = {0};
    assert_true(halley_msccl_recognise(find_data(name)));
    if (halley_msccl_load(&set, find_data(name), n_bytes, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return set;
}

/* Bytes of a rank's messages that are no signals (8 bytes), sent or received. */
static uint64_t count_bytes(const halley_trace *t, uint32_t type)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        if (halley_node_type_of(t, i) == type && number(t, i, "comm_size") != 8)
            n += number(t, i, "comm_size");
    return n;
}

static void plans_move_what_the_collective_must(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t n_bytes, moved;
    } plans[] = {
        {"plan_ring3.json", 30000, 20000},   /* all-gather: (n - 1) / n of the data */
        {"plan_packets2.json", 4000, 8000},  /* all-reduce: twice that, and flags */
        {"plan_port2.json", 200000, 200000}, /* all-reduce without flags */
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        halley_trace_set *const set = load_plan(plans[i].name, plans[i].n_bytes);
        for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
            const halley_trace *const t = halley_trace_set_get(set, r);
            assert_int_equal(count_bytes(t, HALLEY_NODE_SEND), plans[i].moved);
            assert_int_equal(count_bytes(t, HALLEY_NODE_RECV), plans[i].moved);
        }
        halley_trace_set_free(set);
    }
}

/* A pipeline's turns: 100,000 bytes in units of 1,024, the last one shorter. */
static void a_pipeline_turns_once_per_unit(void **state)
{
    (void)state;
    halley_trace_set *const set = load_plan("plan_port2.json", 200000);
    const halley_trace *const t = halley_trace_set_get(set, 0);
    uint32_t n = 0, n_short = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const halley_bytes name = halley_node_name(t, i);
        if (halley_node_type_of(t, i) != HALLEY_NODE_SEND || name.n < 4 ||
            memcmp(name.at, "send block 0", 12) != 0)
            continue;
        n++;
        n_short += number(t, i, "comm_size") == 100000 % 1024;
    }
    assert_int_equal(n, 98);
    assert_int_equal(n_short, 1);
    halley_trace_set_free(set);
}

static halley_status parse_text(const char *text, uint64_t n_bytes, halley_error *err)
{
    mpp_plan plan = {0};
    const halley_status status =
        mpp_parse(&plan, str_from(text), "plan.json", n_bytes, err);
    mpp_fini(&plan);
    return status;
}

/* Two GPUs with one thread block each, whose operations are given. */
static const char *write_pair(const char *ops0, const char *ops1)
{
    static char text[8192];
    const char *const ops[] = {ops0, ops1};
    int n = snprintf(text, sizeof text,
                     "{\"name\": \"x\", \"collective\": \"c\", "
                     "\"protocol\": \"Simple\", \"gpus\": [");
    for (int i = 0; i < 2; i++)
        n += snprintf(
            text + n, sizeof text - (size_t)n,
            "%s{\"id\": %d, \"input_chunks\": 2, \"output_chunks\": 2, "
            "\"channels\": [{\"channel_type\": \"memory\", \"connected_to\": [%d]}], "
            "\"remote_buffers\": [{\"rank\": %d, \"type\": \"s\"}], "
            "\"threadblocks\": [{\"id\": 0, \"channels\": [{\"channel_type\": "
            "\"memory\", "
            "\"channel_ids\": [0]}], \"remote_buffer_refs\": [{\"access_channel_type\": "
            "\"memory\", \"remote_buffer_ids\": [0]}], \"ops\": [%s]}]}",
            i > 0 ? ", " : "", i, 1 - i, 1 - i, ops[i]);
    snprintf(text + n, sizeof text - (size_t)n, "]}");
    return text;
}

#define SIGNAL                                                                           \
    "{\"name\": \"signal\", \"channel_ids\": [0], \"channel_type\": \"memory\"}"
#define WAIT "{\"name\": \"wait\", \"channel_ids\": [0], \"channel_type\": \"memory\"}"
#define UNPACK                                                                           \
    "{\"name\": \"upkt\", \"src_buff\": [{\"type\": \"s\", \"index\": 0, \"size\": 1}]," \
    " \"dst_buff\": [{\"type\": \"i\", \"index\": 0, \"size\": 1}]}"

static void bad_plans_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *ops[2], *words;
    } cases[] = {
        {{SIGNAL, ""}, "nobody waits for this signal"},
        {{WAIT, ""}, "waits for a signal that nobody sends"},
        {{WAIT ", " SIGNAL, WAIT ", " SIGNAL}, "in a circle"},
        {{UNPACK, ""}, "reads packets that nobody writes"},
        {{"{\"name\": \"dance\"}", ""}, "no operation of MSCCL++ that is known"},
        {{"{\"x\": 1}", ""}, "an operation has no name"},
        {{"{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}", ""},
         "not released that often"},
        {{"{\"name\": \"signal\", \"channel_ids\": [7], \"channel_type\": \"memory\"}",
          ""},
         "has no memory channel 7"},
        {{"{\"name\": \"gstore\", \"channel_type\": \"switch\"}", ""}, "NVLS"},
        {{"{\"name\": \"put\", \"channel_type\": \"memory\", \"dst_buff\": "
          "[{\"buffer_id\": 3, \"index\": 0, \"size\": 1}]}",
          ""},
         "has no remote buffer 3"},
        {{"{\"name\": \"pipeline\", \"iter_context\": {\"unit_size\": 0, "
          "\"num_chunks\": 1}, \"ops\": []}",
          ""},
         "unit_size must be positive"},
        {{"{\"name\": \"pipeline\", \"iter_context\": {\"unit_size\": 1, "
          "\"num_chunks\": 16777216}, \"ops\": [{\"name\": \"nop\"}]}",
          ""},
         "more than 8388608 steps"},
        {{"", ""}, "the plan has no operations"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_error err = {0};
        assert_int_not_equal(
            parse_text(write_pair(cases[i].ops[0], cases[i].ops[1]), 4096, &err),
            HALLEY_OK);
        if (strstr(err.text, cases[i].words) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
        assert_string_equal(err.file, "plan.json");
    }
    halley_error err = {0};
    assert_int_equal(
        parse_text(write_pair(SIGNAL ", " WAIT, SIGNAL ", " WAIT), 4096, &err),
        HALLEY_OK);
}

static void other_documents_are_no_plans(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"{\"gpus\": []}", "1 to 65536 GPUs"},
        {"{\"gpus\": 3}", "gpus must be a list"},
        {"{\"gpus\": [{\"id\": 1}]}", "GPU 1 comes where GPU 0 is due"},
        {"{\"gpus\": [{\"id\": 0, \"inputChunks\": 1}]}", "older MSCCL++"},
        {"{\"gpus\": [{\"id\": 0, \"input_chunks\": 0, \"output_chunks\": 0}]}",
         "input_chunks and output_chunks are 0"},
        {"{\"max_message_size\": 100, \"gpus\": [{\"id\": 0}]}",
         "for at most 100 bytes of data, not for 4096"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_error err = {0};
        assert_int_not_equal(parse_text(cases[i].text, 4096, &err), HALLEY_OK);
        if (strstr(err.text, cases[i].words) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
    }
    assert_false(mpp_recognise(STR("{\"traceEvents\": []}")));
    assert_false(mpp_recognise(STR("<algo name=\"gpus collective protocol\">")));
}

static halley_status load_port(void *context, halley_error *err)
{
    halley_trace_set *set = NULL;
    (void)context;
    const halley_status status =
        halley_msccl_load(&set, find_data("plan_port2.json"), 4096, err);
    if (status == HALLEY_OK)
        halley_trace_set_free(set);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(load_port, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_move_what_the_collective_must),
        cmocka_unit_test(a_pipeline_turns_once_per_unit),
        cmocka_unit_test(bad_plans_are_refused_with_a_reason),
        cmocka_unit_test(other_documents_are_no_plans),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
