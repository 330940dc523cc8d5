/* Template sets: roles, groups and peers of a rank by rule, against the definition. */
#include "alloc_fail.h"
#include "base/rng.h"
#include "trace/core/template.h"
#include "unit.h"

#include <string.h>

static halley_bytes bytes_of(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

/* A role that computes, calls `group` n times, sends to `to` and receives from `from`. */
typedef struct sketch {
    const char *group;
    uint32_t n_calls;
    const char *to, *from;
    int32_t tag;
} sketch;

static void add_message_node(halley_builder *b, uint64_t id, bool send, const char *peer,
                             int32_t tag)
{
    (void)halley_builder_node(b, id, send ? HALLEY_NODE_SEND : HALLEY_NODE_RECV,
                              bytes_of("message"));
    (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_COMM_PEER, bytes_of(peer));
    (void)halley_builder_attr_i32(b, HALLEY_ATTR_NAME_COMM_TAG, tag);
    (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 64);
}

static halley_trace *draw_role(const sketch *s)
{
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    uint64_t id = 0;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    (void)halley_builder_node(b, id++, HALLEY_NODE_COMP, bytes_of("compute"));
    for (uint32_t i = 0; i < s->n_calls; i++) {
        (void)halley_builder_node(b, id++, HALLEY_NODE_COLL, bytes_of("collective"));
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE,
                                      HALLEY_COLL_ALL_REDUCE);
        (void)halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 1000 + i);
        (void)halley_builder_attr_text(b, HALLEY_ATTR_NAME_PG_NAME, bytes_of(s->group));
    }
    if (s->to != NULL)
        add_message_node(b, id++, true, s->to, s->tag);
    if (s->from != NULL)
        add_message_node(b, id++, false, s->from, s->tag);
    assert_int_equal(halley_builder_finish(&trace, b, NULL), HALLEY_OK);
    return trace;
}

static void add_axis(trace_template *t, const char *name, uint32_t size)
{
    assert_int_equal(trace_template_add_axis(t, str_from(name), size, NULL), HALLEY_OK);
    t->n_ranks = t->n_axes == 1 ? size : t->n_ranks * size;
}

static void add_role(trace_template *t, const sketch *s, uint32_t axis, uint32_t first,
                     uint32_t last)
{
    const trace_range range = {first, last};
    const trace_when when = {axis, 1, &range};
    const trace_template_role role = {.trace = draw_role(s),
                                      .file = STR("step.role.et"),
                                      .when = &when,
                                      .n_when = 1,
                                      .rank = TRACE_TEMPLATE_NONE};
    assert_int_equal(trace_template_add_role(t, &role, NULL), HALLEY_OK);
}

static void add_group(trace_template *t, const char *name, uint32_t axes, uint32_t block,
                      uint32_t every)
{
    const trace_template_group g = {
        .name = str_from(name), .axes = axes, .block = block, .every = every};
    assert_int_equal(trace_template_add_group(t, &g, NULL), HALLEY_OK);
}

static void add_peer(trace_template *t, const char *name, uint32_t axis, int32_t distance,
                     bool wrap)
{
    const trace_template_peer p = {
        .name = str_from(name), .axis = axis, .distance = distance, .wrap = wrap};
    assert_int_equal(trace_template_add_peer(t, &p, NULL), HALLEY_OK);
}

/* The definition, written down slowly. */
static bool are_together(const trace_template *t, const trace_template_group *g,
                         uint32_t a, uint32_t b)
{
    uint32_t x = 0, y = 0, unit = 1;
    for (uint32_t i = 0; i < t->n_axes; i++) {
        const uint32_t da = a / t->axes[i].stride % t->axes[i].size;
        const uint32_t db = b / t->axes[i].stride % t->axes[i].size;
        if (g->axes >> i & 1) {
            x += da * unit;
            y += db * unit;
            unit *= t->axes[i].size;
        } else if (da != db) {
            return false;
        }
    }
    return x / g->block == y / g->block && x % g->every == y % g->every;
}

static void check_rule(const trace_template *t, uint32_t rule)
{
    const trace_template_group *const g = &t->groups.at[rule];
    for (uint32_t a = 0; a < t->n_ranks; a++) {
        const uint32_t key = trace_template_group_of(t, rule, a);
        const uint32_t n = trace_template_group_size(t, rule, key);
        uint32_t count = 0;
        assert_true(key < g->n_keys);
        for (uint32_t b = 0; b < t->n_ranks; b++) {
            const bool together = are_together(t, g, a, b);
            assert_int_equal(together, trace_template_group_of(t, rule, b) == key);
            if (together) {
                assert_true(count < n);
                assert_int_equal(trace_template_member(t, rule, key, count++), b);
            }
        }
        assert_int_equal(count, n);
    }
}

static uint32_t draw_divisor(rng *r, uint32_t n)
{
    uint32_t d = 1 + (uint32_t)rng_below(r, n);
    while (n % d != 0)
        d--;
    return d;
}

static void groups_are_those_of_the_definition(void **state)
{
    (void)state;
    rng r = rng_seed(7);
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int trial = 0; trial < 200; trial++) {
        trace_template t = {0};
        const sketch plain = {0};
        for (int i = 0; i < 4; i++)
            add_axis(&t, names[i], 1 + (uint32_t)rng_below(&r, 4));
        const uint32_t mask = (uint32_t)rng_below(&r, 16);
        uint32_t along = 1;
        for (uint32_t i = 0; i < 4; i++)
            along *= mask >> i & 1 ? t.axes[i].size : 1;
        const uint32_t block = draw_divisor(&r, along);
        add_role(&t, &plain, 0, 0, t.axes[0].size - 1);
        add_group(&t, "g", mask, block, draw_divisor(&r, block));
        assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
        check_rule(&t, 0);
        trace_template_fini(&t);
    }
}

/* DESIGN.md: etp innermost, then ep, then the replicas; here over tp 2, cp 2, dp 4. */
static void experts_cut_a_stage_anew(void **state)
{
    (void)state;
    trace_template t = {0};
    const sketch plain = {0};
    add_axis(&t, "tp", 2);
    add_axis(&t, "cp", 2);
    add_axis(&t, "dp", 4);
    add_axis(&t, "pp", 2);
    add_role(&t, &plain, 3, 0, 1);
    add_group(&t, "etp", 7, 2, 1);
    add_group(&t, "ep", 7, 8, 2);
    add_group(&t, "replicas", 7, 0, 8);
    assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
    static const uint32_t etp[] = {20, 21}, ep[] = {17, 19, 21, 23}, copies[] = {21, 29};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t a = trace_template_group_of(&t, 0, 21);
        const uint32_t c = trace_template_group_of(&t, 2, 21);
        assert_int_equal(trace_template_member(&t, 0, a, i), etp[i]);
        assert_int_equal(trace_template_member(&t, 2, c, i), copies[i]);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(
            trace_template_member(&t, 1, trace_template_group_of(&t, 1, 21), i), ep[i]);
    trace_template_fini(&t);
}

static void peers_wrap_or_end(void **state)
{
    (void)state;
    trace_template t = {0};
    const sketch plain = {0};
    add_axis(&t, "tp", 3);
    add_axis(&t, "pp", 4);
    add_role(&t, &plain, 1, 0, 3);
    add_peer(&t, "next", 1, 1, true);
    add_peer(&t, "prev", 1, -1, false);
    assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
    assert_int_equal(trace_template_peer_of(&t, 0, 4), 7);
    assert_int_equal(trace_template_peer_of(&t, 0, 10), 1);
    assert_int_equal(trace_template_peer_of(&t, 1, 10), 7);
    assert_int_equal(trace_template_peer_of(&t, 1, 2), TRACE_TEMPLATE_NONE);
    trace_template_fini(&t);
}

static void expanded_traces_name_ranks(void **state)
{
    (void)state;
    trace_template t = {0};
    halley_trace *trace = NULL;
    halley_attr a;
    int64_t value;
    const sketch ring = {.group = "tp", .n_calls = 2, .to = "next", .from = "prev"};
    add_axis(&t, "tp", 2);
    add_axis(&t, "pp", 3);
    add_role(&t, &ring, 1, 0, 2);
    add_group(&t, "tp", 1, 0, 1);
    add_peer(&t, "next", 1, 1, true);
    add_peer(&t, "prev", 1, -1, true);
    assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
    assert_int_equal(trace_template_check(&t, NULL), HALLEY_OK);
    assert_int_equal(trace_template_expand(&trace, &t, 5, NULL), HALLEY_OK);
    assert_true(halley_node_find_attr(&a, trace, 2, HALLEY_ATTR_NAME_PG_NAME));
    assert_int_equal(a.bytes.n, 1);
    assert_int_equal(a.bytes.at[0], '3');
    assert_true(halley_node_find_attr(&a, trace, 3, HALLEY_ATTR_NAME_COMM_DST));
    assert_true(halley_attr_to_i64(&a, &value));
    assert_int_equal(value, 1);
    assert_true(halley_node_find_attr(&a, trace, 4, HALLEY_ATTR_NAME_COMM_SRC));
    assert_true(halley_attr_to_i64(&a, &value));
    assert_int_equal(value, 3);
    assert_false(halley_node_find_attr(&a, trace, 4, HALLEY_ATTR_NAME_COMM_PEER));
    halley_trace_free(trace);
    trace_template_fini(&t);
}

/* Two roles over pp; what is wrong is said in a sentence. */
static void expect_error(const sketch *a, const sketch *b, uint32_t last_a,
                         uint32_t first_b, const char *sentence)
{
    trace_template t = {0};
    halley_error err = {0};
    add_axis(&t, "tp", 2);
    add_axis(&t, "pp", 4);
    add_role(&t, a, 1, 0, last_a);
    add_role(&t, b, 1, first_b, 3);
    add_group(&t, "all", 3, 0, 1);
    add_peer(&t, "next", 1, 1, true);
    add_peer(&t, "prev", 1, -1, true);
    add_peer(&t, "up", 1, 1, false);
    halley_status status = trace_template_end(&t, &err);
    if (status == HALLEY_OK)
        status = trace_template_check(&t, &err);
    assert_int_not_equal(status, HALLEY_OK);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, sentence);
    trace_template_fini(&t);
}

static void errors_are_sentences(void **state)
{
    (void)state;
    const sketch ok = {.group = "all", .n_calls = 2, .to = "next", .from = "prev"};
    sketch other = ok;
    expect_error(&ok, &ok, 1, 3, "rank 4 is in no role");
    expect_error(&ok, &ok, 2, 2, "rank 4 is in two roles");
    other.n_calls = 3;
    expect_error(&ok, &other, 1, 2, "call it 2 times");
    other = ok;
    other.tag = 7;
    expect_error(&ok, &other, 1, 2, "has no send on rank 6");
    other = ok;
    other.group = "tpp";
    expect_error(&ok, &other, 1, 2, "\"tpp\" has no rule");
    other = ok;
    other.to = "nxet";
    expect_error(&ok, &other, 1, 2, "\"nxet\" has no rule");
    other = ok;
    other.to = "up";
    expect_error(&ok, &other, 1, 2, "has no peer \"up\"");
    other = ok;
    other.from = NULL;
    expect_error(&ok, &other, 1, 2, "has no receive on rank");
}

static void wrong_sizes_are_refused(void **state)
{
    (void)state;
    trace_template t = {0};
    halley_error err = {0};
    const sketch plain = {0};
    add_axis(&t, "tp", 6);
    add_role(&t, &plain, 0, 0, 5);
    t.n_ranks = 7;
    assert_int_equal(trace_template_end(&t, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "the axes make 6 ranks, but ranks is 7"));
    t.n_ranks = 6;
    add_group(&t, "g", 1, 4, 1);
    assert_int_equal(trace_template_end(&t, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "block 4 does not divide"));
    t.groups.at[0].block = 6;
    t.groups.at[0].every = 4;
    assert_int_equal(trace_template_end(&t, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "every 4 does not divide"));
    assert_int_equal(trace_template_add_axis(&t, STR("dp"), 1u << 20, &err),
                     HALLEY_ELIMIT);
    trace_template_fini(&t);
}

/* A table in place of rules gives what the rules give. */
static void tables_stand_for_rules(void **state)
{
    (void)state;
    trace_template t = {0};
    const sketch plain = {0};
    uint32_t keys[12], peers[12];
    add_axis(&t, "tp", 3);
    add_axis(&t, "pp", 4);
    add_role(&t, &plain, 0, 0, 2);
    add_group(&t, "rule", 2, 0, 1);
    add_peer(&t, "rule", 1, 1, true);
    assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
    for (uint32_t r = 0; r < 12; r++) {
        keys[r] = trace_template_group_of(&t, 0, r);
        peers[r] = trace_template_peer_of(&t, 0, r);
    }
    const trace_template_group g = {.name = STR("table"), .table = keys};
    const trace_template_peer p = {.name = STR("table"), .table = peers};
    assert_int_equal(trace_template_add_group(&t, &g, NULL), HALLEY_OK);
    assert_int_equal(trace_template_add_peer(&t, &p, NULL), HALLEY_OK);
    assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
    for (uint32_t r = 0; r < 12; r++) {
        const uint32_t key = trace_template_group_of(&t, 1, r);
        assert_int_equal(key, keys[r]);
        assert_int_equal(trace_template_peer_of(&t, 1, r), peers[r]);
        assert_int_equal(trace_template_group_size(&t, 1, key), 4);
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(trace_template_member(&t, 1, key, i),
                             trace_template_member(&t, 0, key, i));
    }
    trace_template_fini(&t);
}

/* Ranks of one role whose peers are in tables: every channel is compared, not one for
 * each pair of roles. */
static void every_channel_of_a_table_is_checked(void **state)
{
    (void)state;
    static const uint32_t to[] = {1, 2, 0, 4, 5, 3}, right[] = {2, 0, 1, 5, 3, 4},
                          wrong[] = {2, 0, 1, 4, 5, 3};
    for (int i = 0; i < 2; i++) {
        trace_template t = {0};
        halley_error err = {0};
        const sketch messages = {.to = "to", .from = "from"};
        const trace_template_peer peers[] = {
            {.name = STR("to"), .table = to},
            {.name = STR("from"), .table = i == 0 ? right : wrong}};
        add_axis(&t, "dp", 6);
        add_role(&t, &messages, 0, 0, 5);
        for (int k = 0; k < 2; k++)
            assert_int_equal(trace_template_add_peer(&t, &peers[k], NULL), HALLEY_OK);
        assert_int_equal(trace_template_end(&t, NULL), HALLEY_OK);
        assert_int_equal(trace_template_check(&t, &err),
                         i == 0 ? HALLEY_OK : HALLEY_EINVAL);
        trace_template_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_those_of_the_definition),
        cmocka_unit_test(experts_cut_a_stage_anew),
        cmocka_unit_test(peers_wrap_or_end),
        cmocka_unit_test(expanded_traces_name_ranks),
        cmocka_unit_test(errors_are_sentences),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(tables_stand_for_rules),
        cmocka_unit_test(every_channel_of_a_table_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
