/* Findings of `trace check`: each defect is found, sound traces have none. */
#include "alloc_fail.h"
#include "halley/trace_check.h"
#include "make_trace.h"

#include <stdio.h>
#include <stdlib.h>

static halley_check_report *check(halley_trace_set *set)
{
    halley_check_report *r = NULL;
    halley_error err = {0};
    if (halley_trace_check(&r, set, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_trace_set_free(set);
    return r;
}

static halley_check_report *check_one_trace(halley_trace *t)
{
    return check(make_set(&t, 1));
}

static uint64_t count(const halley_check_report *r, const char *code)
{
    for (size_t i = 0; i < r->n_codes; i++)
        if (strcmp(r->codes[i].code, code) == 0)
            return r->codes[i].n;
    return 0;
}

static const halley_finding *find(const halley_check_report *r, const char *code)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (strcmp(r->findings[i].code, code) == 0)
            return &r->findings[i];
    fail_msg("no finding %s", code);
    return NULL;
}

/* The report has exactly one error, of this code, with these words in it. */
static void has_one_error(halley_check_report *r, const char *code, const char *words)
{
    char line[2048] = "";
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].severity == HALLEY_ERROR)
            halley_finding_format(&r->findings[i], line, sizeof line);
    if (r->n[HALLEY_ERROR] != 1 || count(r, code) != 1 || strstr(line, words) == NULL)
        fail_msg("want one %s with \"%s\"; %d errors, the last: %s", code, words,
                 (int)r->n[HALLEY_ERROR], line);
    halley_check_report_free(r);
}

static void is_sound(halley_check_report *r)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].severity != HALLEY_NOTE)
            fail_msg("%s: %s", r->findings[i].code, r->findings[i].sentence);
    halley_check_report_free(r);
}

static void a_sound_trace_has_no_findings(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 5);
    make_coll(b, 2, HALLEY_COLL_BARRIER, 0, NULL);
    halley_builder_data(b, 1);
    make_p2p(b, 3, true, 1, -7, 10);
    halley_check_report *r = check_one_trace(make_finish(b));
    assert_int_equal(r->n_findings, 0);
    assert_false(r->compared_ranks);
    halley_check_report_free(r);
}

static void a_dependency_on_a_missing_node_is_reported(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 5);
    halley_builder_ctrl(b, 99);
    has_one_error(check_one_trace(make_finish(b)), "dangling-dep",
                  "control dependency on 99");
}

static void a_dependency_on_itself_is_reported_once_and_not_as_a_cycle(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 4, 5);
    halley_builder_data(b, 4);
    has_one_error(check_one_trace(make_finish(b)), "self-dep", "on itself");
}

static void a_cycle_is_printed_node_by_node(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    for (uint64_t id = 1; id <= 6; id++) {
        make_comp(b, id, 5);
        halley_builder_data(b, id == 5 ? 3 : id + 1); /* 1 2 → 3 4 5 → 3, 6 → 7 */
    }
    make_comp(b, 7, 1);
    has_one_error(check_one_trace(make_finish(b)), "cycle",
                  "3 nodes depend on each other in a cycle: 3 \"comp\" -> 4 \"comp\" -> "
                  "5 \"comp\" -> 3 (-> reads: depends on); 5 nodes are in or after");
}

static void the_same_id_twice_is_reported(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 5);
    make_comp(b, 2, 5);
    make_comp(b, 1, 5);
    has_one_error(check_one_trace(make_finish(b)), "duplicate-id", "id 1 comes again");
}

/* One node each with one thing wrong. */
static void add_missing_size(halley_builder *b)
{
    halley_builder_node(b, 17, HALLEY_NODE_COLL, text("allreduce_3"));
    halley_builder_attr_i64(b, "comm_type", 0);
}
static void add_text_size(halley_builder *b)
{
    halley_builder_node(b, 17, HALLEY_NODE_COLL, text("c"));
    halley_builder_attr_i64(b, "comm_type", 0);
    halley_builder_attr_text(b, "comm_size", text("4 KB"));
}
static void add_negative_size(halley_builder *b)
{
    make_coll(b, 17, 0, -5, NULL);
}
static void add_bad_type(halley_builder *b)
{
    make_coll(b, 17, 10, 5, NULL);
}
static void add_number_group(halley_builder *b)
{
    make_coll(b, 17, 0, 5, NULL);
    halley_builder_attr_i32(b, "pg_name", 3);
}
static void add_text_cpu(halley_builder *b)
{
    halley_builder_node(b, 17, HALLEY_NODE_COMP, text("c"));
    halley_builder_attr_text(b, "is_cpu_op", text("true"));
}
static void add_no_tag(halley_builder *b)
{
    halley_builder_node(b, 17, HALLEY_NODE_SEND, text("c"));
    halley_builder_attr_i32(b, "comm_dst", 1);
    halley_builder_attr_i64(b, "comm_size", 1);
}
static void add_no_src(halley_builder *b)
{
    halley_builder_node(b, 17, HALLEY_NODE_RECV, text("c"));
    halley_builder_attr_i32(b, "comm_tag", 1);
    halley_builder_attr_i64(b, "comm_size", 1);
}
static void add_no_tensor(halley_builder *b)
{
    halley_builder_node(b, 17, HALLEY_NODE_MEM_STORE, text("c"));
}
static void add_late(halley_builder *b)
{
    make_comp(b, 17, 0);
    halley_builder_time(b, UINT64_MAX - 3, 4);
}
static void add_long(halley_builder *b)
{
    make_comp(b, 17, UINT64_MAX / 1000 + 1);
}

static void what_a_node_lacks_or_has_wrong_is_reported(void **state)
{
    (void)state;
    static const struct {
        void (*add)(halley_builder *);
        const char *code, *words;
    } cases[] = {
        {add_missing_size, "missing-attr",
         "node 17 \"allreduce_3\": comm_size is missing; a collective needs its "
         "size in bytes, add attribute comm_size (int64)"},
        {add_text_size, "attr-type", "comm_size is a string, \"4 KB\""},
        {add_negative_size, "attr-value", "comm_size is -5"},
        {add_bad_type, "attr-value", "comm_type is 10"},
        {add_number_group, "attr-type", "pg_name is of kind int32_val"},
        {add_text_cpu, "attr-type", "is_cpu_op is a string"},
        {add_no_tag, "missing-attr", "comm_tag is missing; a send"},
        {add_no_src, "missing-attr", "comm_src is missing; a receive"},
        {add_no_tensor, "missing-attr", "tensor_size is missing; a memory store"},
        {add_late, "time-overflow", "beyond 64 bits"},
        {add_long, "time-overflow", "nanoseconds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        halley_builder *b = make_start();
        cases[i].add(b);
        has_one_error(check_one_trace(make_finish(b)), cases[i].code, cases[i].words);
    }
}

static void numbers_as_text_and_types_of_later_schemas_are_notes(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    halley_builder_node(b, 17, 8, text("checkpoint"));
    halley_builder_node(b, 18, HALLEY_NODE_COLL, text("c"));
    halley_builder_attr_i64(b, "comm_type", 0);
    halley_builder_attr_text(b, "comm_size", text("4096.0"));
    halley_check_report *r = check_one_trace(make_finish(b));
    assert_int_equal(r->n[HALLEY_ERROR], 0);
    assert_int_equal(count(r, "node-type"), 1);
    assert_int_equal(count(r, "attr-kind"), 1);
    halley_check_report_free(r);
}

static void what_is_merely_odd_is_no_error(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    halley_builder_node(b, 0, HALLEY_NODE_COMP, text("a\xff"));
    halley_builder_attr_i32(b, "is_cpu_op", 1);
    const double nan = strtod("nan", NULL);
    halley_attr attr = {.name = text("x"), .kind = HALLEY_ATTR_DOUBLE};
    memcpy(&attr.bits, &nan, sizeof nan);
    halley_builder_attr(b, &attr);
    halley_builder_attr(b, &attr);
    make_coll(b, 1, 0, 0, NULL);
    halley_check_report *r = check_one_trace(make_finish(b));
    assert_int_equal(r->n[HALLEY_ERROR], 0);
    assert_int_equal(count(r, "zero-id"), 1);
    assert_int_equal(count(r, "attr-kind"), 1);
    assert_int_equal(count(r, "bad-utf8"), 1);
    assert_int_equal(count(r, "not-a-number"), 2);
    assert_int_equal(count(r, "zero-size"), 1);
    assert_string_equal(find(r, "bad-utf8")->name, "a\xEF\xBF\xBD");
    halley_check_report_free(r);
}

static void findings_of_one_code_are_limited_but_counted(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    for (uint64_t id = 1; id <= 50; id++) {
        make_comp(b, id, 5);
        halley_builder_data(b, id + 1000);
    }
    halley_check_report *r = check_one_trace(make_finish(b));
    assert_int_equal(r->n_findings, 10);
    assert_int_equal(r->n[HALLEY_ERROR], 50);
    assert_int_equal(r->codes[0].n, 50);
    assert_int_equal(r->codes[0].n_listed, 10);
    halley_check_report_free(r);
}

/* Two ranks: messages of rank 0 and of rank 1. {sends, peer, tag, size}; peer -1 ends. */
typedef struct message {
    bool sends;
    int32_t peer, tag;
    int64_t size;
} message;
enum { N_MESSAGES = 4 };

static halley_trace_set *make_messages(const message (*ranks)[N_MESSAGES])
{
    halley_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        halley_builder *b = make_start();
        make_comp(b, 1, 1);
        for (uint32_t i = 0; i < N_MESSAGES && ranks[rank][i].size > 0; i++)
            make_p2p(b, 10 + i, ranks[rank][i].sends, ranks[rank][i].peer,
                     ranks[rank][i].tag, ranks[rank][i].size);
        traces[rank] = make_finish(b);
    }
    return make_set(traces, 2);
}

static void sends_and_receives_match_by_all_four_and_how_often(void **state)
{
    (void)state;
    static const struct {
        message ranks[2][N_MESSAGES];
        const char *code, *words;
    } cases[] = {
        {{{{true, 1, 3, 8}, {true, 1, 3, 8}}, {{false, 0, 3, 8}, {false, 0, 3, 8}}},
         NULL,
         NULL},
        {{{{true, 1, 3, 8}}, {{0}}}, "unmatched-send", "to rank 1 with tag 3"},
        {{{{true, 1, 3, 8}, {true, 1, 3, 8}}, {{false, 0, 3, 8}}},
         "unmatched-send",
         "node 11"},
        {{{{0}}, {{false, 0, 3, 8}}}, "unmatched-recv", "from rank 0 with tag 3"},
        {{{{true, 1, 3, 8}}, {{false, 0, 3, 9}}}, "send-recv-size", "waits for 9 bytes"},
        {{{{true, 1, 3, 8}}, {{false, 0, 4, 8}}}, "send-recv-tag", "waits for tag 4"},
        {{{{true, 2, 3, 8}}, {{0}}}, "peer-range", "ranks 0 to 1 only"},
        {{{{true, 0, 3, 8}}, {{0}}}, "self-send", "own rank"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        halley_check_report *r = check(make_messages(cases[i].ranks));
        if (cases[i].code == NULL)
            is_sound(r);
        else
            has_one_error(r, cases[i].code, cases[i].words);
    }
}

static void a_send_from_another_rank_than_its_own_is_reported(void **state)
{
    (void)state;
    halley_builder *b = make_start(), *c = make_start();
    make_p2p(b, 1, true, 1, 3, 8);
    halley_builder_attr_i32(b, "comm_src", 1);
    make_comp(c, 1, 1);
    halley_trace *traces[] = {make_finish(b), make_finish(c)};
    has_one_error(check(make_set(traces, 2)), "wrong-rank", "but the node is on rank 0");
}

/* Collectives of a rank: type, size, group, whether it depends on the one before. */
typedef struct coll {
    int64_t type, size;
    const char *group;
    bool chained;
} coll;
enum { N_COLLS = 3, N_RANKS = 3 };

static halley_trace_set *make_colls(const coll (*ranks)[N_COLLS])
{
    halley_trace *traces[N_RANKS];
    for (int rank = 0; rank < N_RANKS; rank++) {
        halley_builder *b = make_start();
        make_comp(b, 1, (uint64_t)rank); /* so that no two are equal */
        for (uint32_t i = 0; i < N_COLLS && ranks[rank][i].size > 0; i++) {
            make_coll(b, 10 + i, ranks[rank][i].type, ranks[rank][i].size,
                      ranks[rank][i].group);
            if (ranks[rank][i].chained)
                halley_builder_data(b, i == 0 ? 1 : 9 + i);
        }
        traces[rank] = make_finish(b);
    }
    return make_set(traces, N_RANKS);
}

static void collectives_agree_across_the_ranks_of_their_group(void **state)
{
    (void)state;
    static const struct {
        coll ranks[N_RANKS][N_COLLS];
        const char *code, *words;
    } cases[] = {
        {{{{0, 8, NULL, 0}, {2, 4, "", 0}},
          {{0, 8, "0", 0}, {2, 4, "", 0}},
          {{0, 8, "", 0}, {2, 4, "", 0}}},
         NULL,
         NULL},
        {{{{0, 8, "a", 0}}, {{0, 8, "a", 0}, {1, 1, "b", 0}}, {{1, 1, "b", 0}}},
         NULL,
         NULL},
        {{{{0, 8, NULL, 0}}, {{0, 9, NULL, 0}}, {{0, 8, NULL, 0}}},
         "coll-size",
         "is ALL_REDUCE of 9 bytes (node 10), but on rank 0 ALL_REDUCE of 8 bytes"},
        {{{{0, 8, NULL, 0}}, {{0, 8, NULL, 0}}, {{2, 8, NULL, 0}}},
         "coll-type",
         "ALL_GATHER"},
        {{{{0, 8, NULL, 0}}, {{0, 8, NULL, 0}}, {{0}}},
         "coll-count",
         "0 collectives of the group of all ranks, but rank 0 has 1"},
        {{{{0, 8, NULL, 1}, {2, 8, NULL, 1}},
          {{2, 8, NULL, 1}, {0, 8, NULL, 1}},
          {{0, 8, NULL, 1}, {2, 8, NULL, 1}}},
         "coll-order",
         "collective 1 of"},
        {{{{0, 8, NULL, 0}, {2, 8, NULL, 0}},
          {{2, 8, NULL, 0}, {0, 8, NULL, 0}},
          {{0, 8, NULL, 0}, {2, 8, NULL, 0}}},
         "coll-order",
         "collective 1 of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        halley_check_report *r = check(make_colls(cases[i].ranks));
        if (cases[i].code == NULL)
            is_sound(r);
        else
            has_one_error(r, cases[i].code, cases[i].words);
    }
}

static void an_uneven_all_to_all_may_differ_in_size(void **state)
{
    (void)state;
    halley_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        halley_builder *b = make_start();
        make_coll(b, 10, HALLEY_COLL_ALL_TO_ALL, 8 + rank, NULL);
        const halley_attr sizes = {.name = text("comm_sizes"),
                                   .kind = HALLEY_ATTR_INT64_LIST};
        halley_builder_attr(b, &sizes);
        traces[rank] = make_finish(b);
    }
    is_sound(check(make_set(traces, 2)));
}

static void an_order_that_nothing_forces_is_a_warning(void **state)
{
    (void)state;
    halley_trace *traces[N_RANKS];
    for (int rank = 0; rank < N_RANKS; rank++) {
        halley_builder *b = make_start();
        make_comp(b, 1, 1);
        make_comp(b, 2, 1);
        for (uint32_t i = 0; i < 2; i++) {
            make_coll(b, 10 + i, (rank == 1) == (i == 0) ? 2 : 0, 8, NULL);
            halley_builder_data(b, 1 + i); /* ready in whatever order */
        }
        traces[rank] = make_finish(b);
    }
    halley_check_report *r = check(make_set(traces, N_RANKS));
    assert_int_equal(r->n[HALLEY_ERROR], 0);
    assert_int_equal(count(r, "coll-order-unsure"), 1);
    halley_check_report_free(r);
}

static void declare(halley_builder *b, const char *values)
{
    halley_builder_node(b, 5, HALLEY_NODE_METADATA, text("## process_group:init ##"));
    const halley_io io = {.present = true, .values = text(values)};
    halley_builder_inputs(b, &io);
}

static void declared_members_must_take_part_and_others_must_not(void **state)
{
    (void)state;
    static const char *const values =
        "['[{\"pg_name\": \"7\", \"ranks\": [0, 2], \"group_size\": 2}]']";
    halley_trace *traces[3];
    for (int rank = 0; rank < 3; rank++) {
        halley_builder *b = make_start();
        declare(b, values);
        if (rank < 2)
            make_coll(b, 10, 0, 8, "7");
        traces[rank] = make_finish(b);
    }
    halley_check_report *r = check(make_set(traces, 3));
    assert_int_equal(r->n[HALLEY_ERROR], 2);
    assert_int_equal(find(r, "group-member")->rank, 1);
    assert_int_equal(find(r, "coll-count")->rank, 2);
    halley_check_report_free(r);
}

static void a_file_of_groups_decides_membership(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-groups-XXXXXX";
    const int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fputs("{\"1\": [0, 1]}", f);
    fclose(f);
    halley_trace *traces[3];
    for (int rank = 0; rank < 3; rank++) {
        halley_builder *b = make_start();
        make_coll(b, 10, 0, 8, rank < 2 ? "1" : "2");
        traces[rank] = make_finish(b);
    }
    halley_trace_set *set = make_set(traces, 3);
    halley_check_report *r = NULL;
    const halley_check_opts opts = {.groups_path = path};
    assert_int_equal(halley_trace_check(&r, set, &opts, NULL), HALLEY_OK);
    assert_int_equal(r->n[HALLEY_ERROR], 1);
    assert_int_equal(find(r, "group-unknown")->rank, 2);
    halley_check_report_free(r);
    halley_trace_set_free(set);
    remove(path);
}

/* Two ranks, chained nodes each: sends, receives and collectives of groups "a" and "b".
 */
static halley_check_report *check_chains(const char *first, const char *second)
{
    const char *plans[] = {first, second};
    halley_trace *traces[2];
    for (int32_t rank = 0; rank < 2; rank++) {
        halley_builder *b = make_start();
        make_comp(b, 1, (uint64_t)rank);
        halley_builder_data(b, 99); /* dangling: counts as met */
        for (uint64_t i = 0; plans[rank][i] != '\0'; i++) {
            const char c = plans[rank][i];
            if (c == 'a' || c == 'b')
                make_coll(b, 2 + i, 0, 8, c == 'a' ? "a" : "b");
            else
                make_p2p(b, 2 + i, c == 's', 1 - rank, 0, 8);
            halley_builder_data(b, 1 + i);
        }
        traces[rank] = make_finish(b);
    }
    return check(make_set(traces, 2));
}

static void ranks_that_wait_for_each_other_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool stuck;
    } cases[] = {
        {"ab", "ab", false},     {"ab", "ba", true},      {"sr", "rs", false},
        {"sr", "sr", false},     {"rs", "rs", true},      {"rsrs", "srsr", false},
        {"sar", "rsa", false},   {"sarb", "rasb", false}, {"srsr", "srsr", false},
        {"ssrr", "srsr", false}, {"rasb", "arsb", true},  {"ras", "asr", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        halley_check_report *r = check_chains(cases[i].first, cases[i].second);
        if ((count(r, "deadlock") > 0) != cases[i].stuck)
            fail_msg("%s against %s", cases[i].first, cases[i].second);
        halley_check_report_free(r);
    }
    halley_check_report *r = check_chains("rs", "rs");
    assert_string_equal(find(r, "deadlock")->sentence,
                        "ranks wait for each other in a circle of 2: node 2 \"recv\" of "
                        "rank 0 -> node 2 \"recv\" of rank 1 -> node 2 \"recv\" of rank "
                        "0 (-> reads: cannot go on before)");
    halley_check_report_free(r);
}

static halley_status check_again(void *context, halley_error *err);

static void running_out_of_memory_while_looking_for_circles_is_an_error(void **state)
{
    (void)state;
    halley_trace *traces[2];
    for (int32_t rank = 0; rank < 2; rank++) {
        halley_builder *b = make_start();
        make_p2p(b, 1, false, 1 - rank, 0, 8);
        make_p2p(b, 2, true, 1 - rank, 0, 8);
        halley_builder_data(b, 1);
        make_coll(b, 3, 0, 8, NULL);
        traces[rank] = make_finish(b);
    }
    halley_trace_set *set = make_set(traces, 2);
    assert_true(alloc_fail_everywhere(check_again, set) > 50);
    halley_trace_set_free(set);
}

static void equal_ranks_are_reported_once_with_their_number(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_coll(b, 1, 0, 8, NULL);
    halley_builder_data(b, 9);
    halley_trace *t = make_finish(b);
    halley_trace *traces[64];
    for (uint32_t i = 0; i < 64; i++)
        traces[i] = i == 0 ? t : halley_trace_keep(t);
    halley_check_report *r = check(make_set(traces, 64));
    assert_int_equal(r->n[HALLEY_ERROR], 1);
    assert_int_equal(r->findings[0].n_ranks, 64);
    halley_check_report_free(r);
}

static halley_status check_again(void *context, halley_error *err)
{
    halley_check_report *r = NULL;
    const halley_check_opts opts = {.n_threads = 1};
    const halley_status status = halley_trace_check(&r, context, &opts, err);
    halley_check_report_free(r);
    return status;
}

static void running_out_of_memory_while_checking_is_an_error(void **state)
{
    (void)state;
    halley_trace *traces[3];
    for (int rank = 0; rank < 3; rank++) {
        halley_builder *b = make_start();
        declare(b, "['[{\"pg_name\": \"7\", \"ranks\": [0, 1]}]']");
        make_comp(b, 1, 5);
        halley_builder_data(b, 2);
        halley_builder_data(b, 99);
        make_comp(b, 2, 5);
        halley_builder_data(b, 1);
        make_coll(b, 10, rank == 0 ? 0 : 2, 8, NULL);
        halley_builder_data(b, 2);
        make_coll(b, 11, rank == 0 ? 2 : 0, 8, NULL);
        halley_builder_data(b, 10);
        make_coll(b, 12, 0, 8 + rank, "7");
        make_p2p(b, 13, rank == 0, rank == 0 ? 1 : 0, rank, 8);
        make_p2p(b, 14, true, 9, 0, 8);
        traces[rank] = make_finish(b);
    }
    halley_trace_set *set = make_set(traces, 3);
    assert_true(alloc_fail_everywhere(check_again, set) > 50);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_trace_has_no_findings),
        cmocka_unit_test(a_dependency_on_a_missing_node_is_reported),
        cmocka_unit_test(a_dependency_on_itself_is_reported_once_and_not_as_a_cycle),
        cmocka_unit_test(a_cycle_is_printed_node_by_node),
        cmocka_unit_test(the_same_id_twice_is_reported),
        cmocka_unit_test(what_a_node_lacks_or_has_wrong_is_reported),
        cmocka_unit_test(numbers_as_text_and_types_of_later_schemas_are_notes),
        cmocka_unit_test(what_is_merely_odd_is_no_error),
        cmocka_unit_test(findings_of_one_code_are_limited_but_counted),
        cmocka_unit_test(sends_and_receives_match_by_all_four_and_how_often),
        cmocka_unit_test(a_send_from_another_rank_than_its_own_is_reported),
        cmocka_unit_test(collectives_agree_across_the_ranks_of_their_group),
        cmocka_unit_test(an_uneven_all_to_all_may_differ_in_size),
        cmocka_unit_test(an_order_that_nothing_forces_is_a_warning),
        cmocka_unit_test(declared_members_must_take_part_and_others_must_not),
        cmocka_unit_test(a_file_of_groups_decides_membership),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_reported),
        cmocka_unit_test(running_out_of_memory_while_looking_for_circles_is_an_error),
        cmocka_unit_test(equal_ranks_are_reported_once_with_their_number),
        cmocka_unit_test(running_out_of_memory_while_checking_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
