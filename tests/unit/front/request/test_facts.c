/* Results with rows: every table is sound, and JSON, CSV and the rows say the same. */
#include "base/conf/conf.h"
#include "base/number/number.h"
#include "base/strbuf_stream.h"
#include "halley/halley.h"
#include "report/facts.h"
#include "request/plan_result.h"
#include "request/verbs.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with_unit(const char *key, fact_unit unit)
{
    const char *suffix = fact_unit_suffix(unit);
    const bool is_rate = unit == FACT_PER_SECOND || unit == FACT_FLOP_PER_SECOND;
    return str_ends(str_from(key), str_from(suffix)) ||
           (is_rate && strstr(key, "_per_s") != NULL);
}

/* `unit`: of the object that the rows are in. */
static void check_rows(const fact_table *t, fact_unit unit)
{
    char key[64], other[64];
    for (const fact *f = t->rows; f->key != NULL; f++) {
        if (f->kind == FACT_INLINE) {
            check_rows(f->of, unit);
            continue;
        }
        assert_true(strlen(f->key) > 0 && strlen(f->key) < sizeof key);
        assert_true(f->doc != NULL && f->doc[0] != '\0');
        if (!ends_with_unit(fact_key(key, f), f->unit) && f->unit != unit)
            fail_msg("%s of %s does not end with its unit", key, t->name);
        for (const fact *g = t->rows; g < f; g++)
            if (strcmp(fact_key(other, g), key) == 0)
                fail_msg("%s has two rows in %s", key, t->name);
        if (f->of != NULL && f->of != t)
            check_rows(f->of, f->unit);
    }
}

static void every_row_has_a_meaning_and_its_unit_in_its_key(void **state)
{
    (void)state;
    const fact_table *tables[REQUEST_MAX_TABLES];
    size_t n = 0;
    for (size_t i = 0; request_verbs[i] != NULL; i++) {
        if (request_verbs[i]->result == NULL)
            continue;
        n = fact_tables(tables, n, REQUEST_MAX_TABLES, request_verbs[i]->result);
        check_rows(request_verbs[i]->result, FACT_NO_UNIT);
    }
    assert_true(n > 0 && n < REQUEST_MAX_TABLES);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(tables[i]->name, tables[k]->name) == 0)
                fail_msg("two tables are called %s", tables[i]->name);
}

/* What the rows say about an object that a program got. */
typedef struct checked {
    size_t n_leaves;
    strbuf csv; /* "key,value" of every leaf, written without the program's writer */
} checked;

static void check_object(checked *c, const char *path, const fact_table *t,
                         const conf_node *node, bool is_whole);

static void add_leaf(checked *c, const char *path, const conf_node *node)
{
    c->n_leaves++;
    strbuf_csv(&c->csv, str_from(path));
    strbuf_add_char(&c->csv, ',');
    if (node->quoted)
        strbuf_csv(&c->csv, node->text);
    else
        strbuf_add(&c->csv, node->text);
    strbuf_add_char(&c->csv, '\n');
}

static void add_leaves(checked *c, const char *path, const conf_node *node)
{
    char inside[256];
    if (node->kind == CONF_SCALAR)
        add_leaf(c, path, node);
    for (uint32_t i = 0; i < node->n && node->kind == CONF_LIST; i++) {
        snprintf(inside, sizeof inside, "%.200s.%u", path, i);
        add_leaves(c, inside, node->items[i]);
    }
    for (uint32_t i = 0; i < node->n && node->kind == CONF_MAP; i++) {
        snprintf(inside, sizeof inside, "%.120s.%.*s", path, STR_ARG(node->keys[i]));
        add_leaves(c, inside, node->items[i]);
    }
}

static bool is_word(const fact *f, str text)
{
    for (size_t i = 0; f->words[i] != NULL; i++)
        if (str_eq(text, str_from(f->words[i])))
            return true;
    return false;
}

static void check_scalar(const char *path, const fact *f, const conf_node *node)
{
    double number;
    const bool is_text =
        f->kind == FACT_TEXT || f->kind == FACT_NAME || f->kind == FACT_CHOICE;
    const bool is_flag =
        str_eq(node->text, STR("true")) || str_eq(node->text, STR("false"));
    if (node->kind != CONF_SCALAR || is_text != node->quoted ||
        (f->kind == FACT_FLAG && !is_flag) ||
        (f->kind == FACT_CHOICE && !is_word(f, node->text)) ||
        (fact_is_number(f) && f->kind != FACT_FLAG && !number_read(node->text, &number)))
        fail_msg("%s is not of the type of its row", path);
}

static void check_value(checked *c, const char *path, const fact *f,
                        const conf_node *node)
{
    char inside[256];
    if (f->kind == FACT_GROUP || f->kind == FACT_OBJECT) {
        check_object(c, path, f->of, node, true);
        return;
    }
    if ((f->kind == FACT_LIST || f->kind == FACT_CHAIN) && f->of != NULL) {
        assert_int_equal(node->kind, CONF_LIST);
        for (uint32_t i = 0; i < node->n; i++) {
            snprintf(inside, sizeof inside, "%.200s.%u", path, i);
            check_object(c, inside, f->of, node->items[i], true);
        }
        return;
    }
    if (f->kind == FACT_BITS) {
        assert_int_equal(node->kind, CONF_LIST);
        for (uint32_t i = 0; i < node->n; i++)
            assert_true(is_word(f, node->items[i]->text));
    } else if (f->kind == FACT_MAP)
        assert_int_equal(node->kind, CONF_MAP);
    else if (f->kind == FACT_TEXTS || f->kind == FACT_LIST)
        assert_int_equal(node->kind, CONF_LIST);
    else if (f->kind != FACT_OWN)
        check_scalar(path, f, node);
    add_leaves(c, path, node);
}

/* Every row has its key unless it is rare, in this order. Returns the number of keys. */
static uint32_t check_members(checked *c, const char *path, const fact_table *t,
                              const conf_node *node)
{
    char key[64], inside[256];
    uint32_t n = 0;
    for (const fact *f = t->rows; f->key != NULL; f++) {
        if (f->kind == FACT_INLINE) {
            n += check_members(c, path, f->of, node);
            continue;
        }
        const conf_node *value = conf_find(node, fact_key(key, f));
        snprintf(inside, sizeof inside, "%.180s%s%s", path, *path != '\0' ? "." : "",
                 key);
        if (value == NULL && !f->rare)
            fail_msg("%s is not there, and its row is not rare", inside);
        if (value != NULL)
            check_value(c, inside, f, value);
        n += value != NULL;
    }
    return n;
}

static void check_object(checked *c, const char *path, const fact_table *t,
                         const conf_node *node, bool is_whole)
{
    assert_int_equal(node->kind, CONF_MAP);
    const uint32_t n = check_members(c, path, t, node);
    if (is_whole && n != node->n)
        fail_msg("\"%s\" has %u keys, of which %u have rows", path, node->n, n);
}

static char *write_csv(str json)
{
    strbuf text = {0};
    halley_error err = {0};
    FILE *to = strbuf_stream_open(&text);
    assert_non_null(to);
    assert_int_equal(report_facts_csv(to, json, &err), HALLEY_OK);
    assert_int_equal(fclose(to), 0);
    return text.at;
}

/* Lines are the same; numbers may be written in other ways. */
static void assert_same_lines(str a, str b)
{
    str x, y, key_x, key_y;
    double p, q;
    while (str_next(&a, '\n', &x)) {
        assert_true(str_next(&b, '\n', &y));
        if (str_eq(x, y))
            continue;
        assert_true(str_next(&x, ',', &key_x) && str_next(&y, ',', &key_y));
        if (!str_eq(key_x, key_y) || !number_read(x, &p) || !number_read(y, &q) || p != q)
            fail_msg("%.*s,%.*s is not %.*s,%.*s", STR_ARG(key_x), STR_ARG(x),
                     STR_ARG(key_y), STR_ARG(y));
    }
    assert_false(str_next(&b, '\n', &y));
}

static const request_verb *find_verb(const char *name)
{
    for (size_t i = 0; request_verbs[i] != NULL; i++)
        if (strcmp(request_verbs[i]->name, name) == 0)
            return request_verbs[i];
    fail_msg("no verb %s", name);
    return NULL;
}

static size_t check_result(const char *verb, const char *request)
{
    char *reply = NULL;
    halley_error err = {0};
    conf_file file;
    checked c = {0};
    assert_int_equal(halley_request(&reply, request, NULL, &err), HALLEY_OK);
    const size_t before = strlen("{\"ok\": true, \"result\": ");
    if (strncmp(reply, "{\"ok\": true", 11) != 0)
        fail_msg("%s gave %s", request, reply);
    const str json = {reply + before, strlen(reply) - before - 2};
    assert_int_equal(conf_parse_only_json(&file, json, NULL, &err), HALLEY_OK);
    const uint32_t n = check_members(&c, "", find_verb(verb)->result, file.root) +
                       check_members(&c, "", &request_notes_facts, file.root);
    if (n != file.root->n)
        fail_msg("%s has %u keys, of which %u have rows", request, file.root->n, n);
    char *csv = write_csv(json);
    assert_true(strncmp(csv, "key,value\n", 10) == 0);
    assert_same_lines(str_from(csv + 10), strbuf_str(&c.csv));
    free(csv);
    free(reply);
    strbuf_fini(&c.csv);
    conf_fini(&file);
    return c.n_leaves;
}

static void json_csv_and_rows_of_an_estimate_say_the_same(void **state)
{
    (void)state;
    static const char *const designs[] = {
        "\"model\": \"llama3-8b\", \"cluster\": \"dgx-h100:16\", \"tp\": \"8\"",
        "\"model\": \"llama3-8b\", \"cluster\": \"dgx-h100:8\", \"explain\": true",
        "\"model\": \"mixtral-8x7b\", \"cluster\": \"dgx-h100:64\", \"ep\": \"8\", "
        "\"pp\": \"4\", \"virtual\": \"2\", \"global_batch\": \"256\"",
        "\"model\": \"llama3-405b\", \"cluster\": \"dgx-h100:8\"",
        "\"model\": \"transformer-1t\", \"cluster\": \"comet-baseline:1024\", \"tp\": "
        "\"8\", \"global_batch\": \"1024\", \"spread\": true, \"offload\": \"optimizer\"",
        "\"model\": \"deepseek-v3\", \"cluster\": \"dgx-h100:256\"",
        "\"model\": {\"model_type\": \"llama\", \"hidden_size\": 4096, "
        "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"intermediate_size\": "
        "11008, \"vocab_size\": 32000, \"frobnicate\": 1}, \"cluster\": \"dgx-h100:8\""};
    char request[1024];
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        snprintf(request, sizeof request, "{\"do\": \"estimate\", %s}", designs[i]);
        assert_true(check_result("estimate", request) > 100);
    }
}

static void json_and_rows_of_a_search_say_the_same(void **state)
{
    (void)state;
    static const char *const searches[] = {
        "\"model\": \"gpt-3.6b\", \"cluster\": \"dgx-h100:8\", \"top\": 3",
        "\"model\": \"mixtral-8x7b\", \"cluster\": \"gh200:32\", \"all\": true, "
        "\"top\": 4"};
    char request[512];
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        snprintf(request, sizeof request, "{\"do\": \"plan\", %s}", searches[i]);
        assert_true(check_result("plan", request) > 200);
    }
}

/* The columns are the values of an item; words of a list are joined, texts are cells. */
static void a_list_is_a_table_of_its_values(void **state)
{
    (void)state;
    static plan_row rows[2] = {{.rank = 1, .full = 0.5}, {.rank = 2, .reason = "a, b"}};
    rows[1].plan =
        (halley_plan){.tp = 4,
                      .offload = HALLEY_OFFLOAD_OPTIMIZER | HALLEY_OFFLOAD_WEIGHTS,
                      .n_stage_layers = 2,
                      .stage_layers = {3, 4}};
    rows[1].e.step_s = NAN;
    strbuf text = {0};
    halley_error err = {0};
    FILE *to = strbuf_stream_open(&text);
    assert_int_equal(
        report_facts_list_csv(to, &request_plan_row_facts, (fact_list){rows, 2}, &err),
        HALLEY_OK);
    assert_int_equal(fclose(to), 0);
    str rest = strbuf_str(&text), lines[3], name, cell;
    for (size_t i = 0; i < 3; i++)
        assert_true(str_next(&rest, '\n', &lines[i]));
    assert_int_equal(rest.n, 0);
    const struct {
        const char *column, *first, *second;
    } wanted[] = {{"rank", "1", "2"},
                  {"plan.tp", "", "4"},
                  {"plan.dtype", "bf16", "bf16"},
                  {"plan.offload", "", "optimizer+weights"},
                  {"plan.stage_layers", "", "3+4"},
                  {"step_s", "0", ""},
                  {"parts_s.bubble", "0", "0"},
                  {"full", "0.5", "0"},
                  {"tie", "false", "false"},
                  {"reason", "", "\"a"}};
    size_t n = 0;
    while (str_next(&lines[0], ',', &name)) {
        str cells[2];
        assert_true(str_next(&lines[1], ',', &cells[0]));
        assert_true(str_next(&lines[2], ',', &cells[1]));
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (!str_eq(name, str_from(wanted[i].column)))
                continue;
            assert_true(str_eq(cells[0], str_from(wanted[i].first)));
            assert_true(str_eq(cells[1], str_from(wanted[i].second)));
            n++;
        }
    }
    assert_int_equal(n, sizeof wanted / sizeof *wanted);
    assert_false(str_next(&lines[1], ',', &cell));
    strbuf_fini(&text);
}

static void csv_of_any_json_has_a_row_for_each_leaf(void **state)
{
    (void)state;
    char *csv =
        write_csv(STR("{\"a\": [1, [true, null], {}], \"b\": {\"c,d\": \"x\\ny\", "
                      "\"e\": []}, \"f\": -2.5e3}"));
    assert_string_equal(csv, "key,value\na.0,1\na.1.0,true\na.1.1,\n\"b.c,d\",x\\x0Ay\n"
                             "f,-2.5e3\n");
    free(csv);
    halley_error err = {0};
    strbuf text = {0};
    FILE *to = strbuf_stream_open(&text);
    assert_int_equal(report_facts_csv(to, STR("{\"a\": "), &err), HALLEY_EFORMAT);
    fclose(to);
    strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_meaning_and_its_unit_in_its_key),
        cmocka_unit_test(json_csv_and_rows_of_an_estimate_say_the_same),
        cmocka_unit_test(json_and_rows_of_a_search_say_the_same),
        cmocka_unit_test(a_list_is_a_table_of_its_values),
        cmocka_unit_test(csv_of_any_json_has_a_row_for_each_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
