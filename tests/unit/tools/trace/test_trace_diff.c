/* Differences between traces: each is found, and found where it is. */
#include "alloc_fail.h"
#include "halley/trace_diff.h"
#include "make_trace.h"

/* One change to a small trace; 0 = none. */
typedef enum change {
    NO_CHANGE,
    VERSION,
    NODE_GONE,
    NODE_NEW,
    SWAPPED,
    OTHER_TYPE,
    OTHER_NAME,
    OTHER_DURATION,
    DEP_GONE,
    DEP_KIND,
    DEPS_SWAPPED,
    ATTR_VALUE,
    ATTR_KIND,
    ATTR_GONE,
    ATTRS_SWAPPED,
    IO_VALUE,
    UNKNOWN_FIELD,
    N_CHANGES
} change;

static void add_third(halley_builder *b, change c)
{
    halley_builder_node(b, 3, c == OTHER_TYPE ? HALLEY_NODE_COLL : HALLEY_NODE_COMP,
                        text(c == OTHER_NAME ? "new" : "third"));
    halley_builder_time(b, 1, c == OTHER_DURATION ? 8 : 7);
    halley_builder_data(b, c == DEPS_SWAPPED ? 2 : 1);
    if (c == DEP_KIND)
        halley_builder_ctrl(b, 2);
    else if (c != DEP_GONE)
        halley_builder_data(b, c == DEPS_SWAPPED ? 1 : 2);
    if (c == ATTRS_SWAPPED)
        halley_builder_attr_bool(b, "flag", true);
    if (c == ATTR_KIND)
        halley_builder_attr_u64(b, "x", 5);
    else if (c != ATTR_GONE)
        halley_builder_attr_i64(b, "x", c == ATTR_VALUE ? 6 : 5);
    if (c != ATTRS_SWAPPED)
        halley_builder_attr_bool(b, "flag", true);
    const halley_io io = {.present = true, .values = text(c == IO_VALUE ? "b" : "a")};
    halley_builder_inputs(b, &io);
    if (c == UNKNOWN_FIELD)
        halley_builder_unknown(b, text("\xf8\x07\x01"));
}

static halley_trace_set *make(change c)
{
    halley_builder *b = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_version(b, text(c == VERSION ? "2" : "1"));
    make_comp(b, c == SWAPPED ? 2 : 1, 1);
    if (c != NODE_GONE)
        make_comp(b, c == SWAPPED ? 1 : 2, 1);
    add_third(b, c);
    if (c == NODE_NEW)
        make_comp(b, 4, 1);
    halley_trace *t = make_finish(b);
    return make_set(&t, 1);
}

static halley_diff_report *compare(change c, uint32_t ignore)
{
    halley_trace_set *a = make(NO_CHANGE), *b = make(c);
    halley_diff_report *r = NULL;
    const halley_diff_opts opts = {.ignore = ignore};
    assert_int_equal(halley_trace_diff(&r, a, b, &opts, NULL), HALLEY_OK);
    halley_trace_set_free(a);
    halley_trace_set_free(b);
    return r;
}

static void each_change_is_one_difference_of_its_kind(void **state)
{
    (void)state;
    static const struct {
        change change;
        halley_diff_kind kind;
        const char *sentence;
    } cases[] = {
        {VERSION, HALLEY_DIFF_METADATA, "version \"1\" is now \"2\""},
        {NODE_GONE, HALLEY_DIFF_NODES, "COMP_NODE \"comp\" is gone"},
        {NODE_NEW, HALLEY_DIFF_NODES, "COMP_NODE \"comp\" is new"},
        {SWAPPED, HALLEY_DIFF_ORDER, "nodes are in another order"},
        {OTHER_TYPE, HALLEY_DIFF_TYPE, "type 4 (COMP_NODE) is now 7 (COMM_COLL_NODE)"},
        {OTHER_NAME, HALLEY_DIFF_NAME, "name \"third\" is now \"new\""},
        {OTHER_DURATION, HALLEY_DIFF_TIME, "duration 7 us is now 8 us"},
        {DEP_GONE, HALLEY_DIFF_DEPS, "data dependency on 2 is gone"},
        {DEPS_SWAPPED, HALLEY_DIFF_ORDER, "data dependencies are in another order"},
        {ATTR_VALUE, HALLEY_DIFF_ATTRS,
         "attribute \"x\": 5 (int64_val) is now 6 (int64_val)"},
        {ATTR_KIND, HALLEY_DIFF_ATTRS,
         "attribute \"x\": 5 (int64_val) is now 5 (uint64_val)"},
        {ATTR_GONE, HALLEY_DIFF_ATTRS, "attribute \"x\", 5 (int64_val), is gone"},
        {ATTRS_SWAPPED, HALLEY_DIFF_ORDER, "attributes are in another order"},
        {IO_VALUE, HALLEY_DIFF_IO, "values of inputs: \"a\" is now \"b\""},
        {UNKNOWN_FIELD, HALLEY_DIFF_UNKNOWN, "unknown fields differ"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        halley_diff_report *r = compare(cases[i].change, 0);
        assert_int_equal(r->n_total, 1);
        assert_int_equal(r->n[cases[i].kind], 1);
        assert_string_equal(r->list[0].sentence, cases[i].sentence);
        halley_diff_report_free(r);
        r = compare(cases[i].change, UINT32_C(1) << cases[i].kind);
        assert_int_equal(r->n_total, 0);
        halley_diff_report_free(r);
    }
}

static void a_dependency_that_changes_its_kind_is_two_differences(void **state)
{
    (void)state;
    halley_diff_report *r = compare(DEP_KIND, 0);
    assert_int_equal(r->n[HALLEY_DIFF_DEPS], 2);
    assert_int_equal(r->n_nodes_changed, 1);
    assert_int_equal(r->n_nodes_same, 2);
    assert_true(r->list[0].has_node && r->list[0].id == 3);
    halley_diff_report_free(r);
}

static void equal_traces_have_no_difference(void **state)
{
    (void)state;
    halley_diff_report *r = compare(NO_CHANGE, 0);
    assert_int_equal(r->n_total, 0);
    assert_int_equal(r->n_ranks_same, 1);
    assert_int_equal(r->n_nodes_same, 3);
    halley_diff_report_free(r);
}

static void equal_files_with_duplicate_ids_are_equal(void **state)
{
    (void)state;
    halley_trace_set *sets[2];
    for (int i = 0; i < 2; i++) {
        halley_builder *b = make_start();
        make_comp(b, 1, 1);
        make_comp(b, 1, 2);
        halley_trace *t = make_finish(b);
        sets[i] = make_set(&t, 1);
    }
    halley_diff_report *r = NULL;
    assert_int_equal(halley_trace_diff(&r, sets[0], sets[1], NULL, NULL), HALLEY_OK);
    assert_int_equal(r->n_total, 0);
    halley_diff_report_free(r);
    halley_trace_set_free(sets[0]);
    halley_trace_set_free(sets[1]);
}

static void differences_are_limited_but_counted_on_every_rank(void **state)
{
    (void)state;
    halley_trace_set *sets[2];
    for (uint64_t i = 0; i < 2; i++) {
        halley_builder *b = make_start();
        for (uint64_t id = 1; id <= 20; id++)
            make_comp(b, id, i);
        halley_trace *t = make_finish(b);
        halley_trace *ranks[] = {t, halley_trace_keep(t), t};
        if (i == 0)
            halley_trace_keep(t);
        sets[i] = make_set(ranks, i == 0 ? 3 : 2);
    }
    halley_diff_report *r = NULL;
    assert_int_equal(halley_trace_diff(&r, sets[0], sets[1], NULL, NULL), HALLEY_OK);
    assert_int_equal(r->n[HALLEY_DIFF_TIME], 40);
    assert_int_equal(r->n[HALLEY_DIFF_RANKS], 1);
    assert_int_equal(r->n_listed, 11);
    assert_int_equal(r->n_ranks_changed, 2);
    halley_diff_report_free(r);
    halley_trace_set_free(sets[0]);
    halley_trace_set_free(sets[1]);
}

static halley_status compare_again(void *context, halley_error *err)
{
    halley_trace_set **sets = context;
    halley_diff_report *r = NULL;
    const halley_status status = halley_trace_diff(&r, sets[0], sets[1], NULL, err);
    halley_diff_report_free(r);
    return status;
}

static void running_out_of_memory_while_comparing_is_an_error(void **state)
{
    (void)state;
    static const change changes[] = {VERSION, NODE_GONE, DEP_KIND, ATTR_GONE, IO_VALUE};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        halley_trace_set *sets[] = {make(NO_CHANGE), make(changes[i])};
        assert_true(alloc_fail_everywhere(compare_again, sets) > 3);
        halley_trace_set_free(sets[0]);
        halley_trace_set_free(sets[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_one_difference_of_its_kind),
        cmocka_unit_test(a_dependency_that_changes_its_kind_is_two_differences),
        cmocka_unit_test(equal_traces_have_no_difference),
        cmocka_unit_test(equal_files_with_duplicate_ids_are_equal),
        cmocka_unit_test(differences_are_limited_but_counted_on_every_rank),
        cmocka_unit_test(running_out_of_memory_while_comparing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
