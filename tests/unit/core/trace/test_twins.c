/* Traces that are equal but for the names of their groups, and traces made by renaming
 * those. */
#include "alloc_fail.h"
#include "trace/core/regroup.h"
#include "trace/core/twins.h"
#include "trace/format/et.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { N_NODES = 6 };

static halley_bytes bytes_of(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

/* A trace whose nodes name the groups, NULL: none; `size` is that of the last one. */
static halley_trace *trace_of(const char *const groups[N_NODES], int64_t size)
{
    halley_builder *b;
    halley_trace *t;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_version(b, bytes_of("1.0.0"));
    for (uint32_t i = 0; i < N_NODES; i++) {
        halley_builder_node(b, i + 1, groups[i] ? HALLEY_NODE_COLL : HALLEY_NODE_COMP,
                            bytes_of("a name"));
        if (i > 0)
            halley_builder_data(b, i);
        halley_builder_attr_i64(b, "comm_size", i + 1 < N_NODES ? 7 : size);
        if (groups[i])
            halley_builder_attr_text(b, "pg_name", bytes_of(groups[i]));
        halley_builder_attr_i64(b, "comm_type", 0);
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    return t;
}

static const char *const plain[N_NODES] = {"1", NULL, "9", "1", "9", NULL};

static const struct {
    const char *what;
    const char *groups[N_NODES];
    int64_t size;
    bool twin;
} others[] = {
    {"other names", {"2", NULL, "10", "2", "10", NULL}, 5, true},
    {"the names swapped", {"9", NULL, "1", "9", "1", NULL}, 5, true},
    {"one name for two", {"2", NULL, "2", "2", "2", NULL}, 5, false},
    {"two names for one", {"2", NULL, "10", "3", "10", NULL}, 5, false},
    {"another number", {"2", NULL, "10", "2", "10", NULL}, 6, false},
    {"a node without a group", {"2", NULL, NULL, "2", "10", NULL}, 5, false},
};

static void twins_differ_in_names_of_groups_one_for_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        halley_trace *traces[] = {trace_of(plain, 5),
                                  trace_of(others[i].groups, others[i].size)};
        halley_trace_set *set;
        trace_twins t;
        assert_int_equal(halley_trace_set_new(&set, traces, 2, NULL), HALLEY_OK);
        assert_int_equal(trace_twins_init(&t, set, 1, NULL), HALLEY_OK);
        if ((t.first[1] == 0) != others[i].twin)
            fail_msg("%s", others[i].what);
        assert_int_equal(t.n_kinds, others[i].twin ? 1 : 2);
        assert_int_equal(t.names_at[1], 2);
        assert_true(str_eq(t.names.at[1], STR("9")));
        if (i == 0)
            assert_true(str_eq(t.names.at[3], STR("10")));
        trace_twins_fini(&t);
        halley_trace_set_free(set);
    }
}

static void assert_same_bytes(const halley_trace *a, const halley_trace *b)
{
    uint8_t *x, *y;
    size_t n, m;
    assert_int_equal(halley_trace_encode_et(&x, &n, a, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_encode_et(&y, &m, b, NULL), HALLEY_OK);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* Longer and shorter names, and one that needs another byte for every length around it.
 */
static void a_renamed_trace_has_the_bytes_of_one_made_with_those_names(void **state)
{
    (void)state;
    char large[200];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    const char *const to[][2] = {{"2", "8"}, {"1", "100"}, {"9", "1"}, {large, ""}};
    const str from[] = {STR("1"), STR("9")};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        const str new[] = {str_from(to[i][0]), str_from(to[i][1])};
        const char *const groups[N_NODES] = {to[i][0], NULL,     to[i][1],
                                             to[i][0], to[i][1], NULL};
        halley_trace *const wanted = trace_of(groups, 5);
        halley_trace *const lender = trace_of(plain, 5);
        halley_trace *twin;
        assert_int_equal(trace_regrouped(&twin, lender, from, new, 2, NULL), HALLEY_OK);
        assert_same_bytes(twin, wanted); /* node by node */
        assert_int_equal(et_keep_layout(lender, SIZE_MAX, NULL), HALLEY_OK);
        assert_non_null(lender->layout);
        halley_trace_free(lender);
        assert_same_bytes(twin, wanted); /* by copying */
        halley_trace_free(twin);
        halley_trace_free(wanted);
    }
}

static halley_status find_and_rename(void *context, halley_error *err)
{
    halley_trace_set *const set = context;
    const str from = STR("1"), to = STR("200");
    trace_twins t;
    TRY(trace_twins_init(&t, set, 1, err));
    trace_twins_fini(&t);
    halley_trace *twin;
    halley_trace *const first = (halley_trace *)(uintptr_t)halley_trace_set_get(set, 0);
    TRY(trace_regrouped(&twin, first, &from, &to, 1, err));
    uint8_t *bytes = NULL;
    size_t n;
    const halley_status status = halley_trace_encode_et(&bytes, &n, twin, err);
    free(bytes);
    halley_trace_free(twin);
    return status;
}

static void memory_may_run_out_at_any_time(void **state)
{
    (void)state;
    halley_trace *traces[] = {trace_of(plain, 5), trace_of(others[0].groups, 5)};
    halley_trace_set *set;
    assert_int_equal(et_keep_layout(traces[0], SIZE_MAX, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_set_new(&set, traces, 2, NULL), HALLEY_OK);
    assert_true(alloc_fail_everywhere(find_and_rename, set) > 10);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_differ_in_names_of_groups_one_for_one),
        cmocka_unit_test(a_renamed_trace_has_the_bytes_of_one_made_with_those_names),
        cmocka_unit_test(memory_may_run_out_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
