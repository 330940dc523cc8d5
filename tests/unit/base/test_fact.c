/* base/fact.h: values of rows, and the schema that follows from them. */
#include "base/fact.h"
#include "base/fact_rows.h"
#include "unit.h"

#include <math.h>
#include <string.h>

typedef struct inner {
    double some_s;
    struct inner *next;
} inner;

typedef struct outer {
    double real, absent;
    uint32_t u32, choice;
    uint64_t u64;
    bool flag, is_walk;
    const char *text, *none;
    char name[8], empty[8];
    inner group;
    const inner *object, *nowhere, *chain;
    fact_list list, texts, nothing;
} outer;

static double twice(const void *from)
{
    return 2 * ((const outer *)from)->real;
}

static bool find_pair(fact_entry *out, const fact *f, const void *from, size_t i)
{
    static const fact_entry pairs[] = {{"a-b", "1"}, {"c", "2"}};
    (void)from;
    if (i >= f->at)
        return false;
    *out = pairs[i];
    return true;
}

static const char *const words[] = {"form", "walk", NULL};

/* clang-format off */
#define THIS inner
static const fact_table inner_facts = {"Inner", "inside", sizeof(THIS), (const fact[]){
    VALUE("some_s", some_s, SECONDS, "some", "a time", .word = "some"),
    {0}}};
#undef THIS
#define THIS outer
static const fact_table outer_facts = {"Outer", "all kinds", sizeof(THIS), (const fact[]){
    VALUE("real", real, NO_UNIT, "real", "a number"),
    VALUE("absent", absent, NO_UNIT, "absent", "a number that is not known", .rare = true),
    DERIVED("twice", twice, NO_UNIT, "twice", "twice the number"),
    VALUE("u32", u32, NO_UNIT, "u32", "a number"),
    VALUE("u64", u64, NO_UNIT, "u64", "a number"),
    VALUE("flag", flag, NO_UNIT, "flag", "yes or no"),
    VALUE("text", text, NO_UNIT, "text", "a text"),
    VALUE("none", none, NO_UNIT, "none", "no text", .rare = true),
    VALUE("name-of", name, NO_UNIT, "name", "a name"),
    VALUE("empty", empty, NO_UNIT, "empty", "no name", .rare = true),
    CHOICE("choice", choice, words, "choice", "one of two"),
    CHOICE("how", is_walk, words, "how", "one of two, from a bool"),
    GROUP("group", group, inner_facts, SECONDS, "group", "a struct"),
    OBJECT("object", object, inner_facts, "object", "a pointer"),
    OBJECT("nowhere", nowhere, inner_facts, "nowhere", "no pointer", .rare = true),
    LIST("list", list, &inner_facts, "list", "structs"),
    LIST("texts", texts, NULL, "texts", "texts"),
    CHAIN("chain", chain, inner_facts, inner, next, "chain", "linked structs"),
    MAP("map", find_pair, 2, "map", "keys that are data"),
    INLINE(group, inner_facts),
    {0}}};
#undef THIS
/* clang-format on */

static inner second = {4, NULL}, first = {3, &second};

static outer make_outer(void)
{
    static const inner items[] = {{.some_s = 5}, {.some_s = 6}};
    static const char *const texts[] = {"x", "y\""};
    return (outer){.real = 0.5,
                   .absent = NAN,
                   .u32 = UINT32_MAX,
                   .choice = 1,
                   .u64 = UINT64_MAX,
                   .flag = true,
                   .text = "",
                   .name = "n",
                   .group = {.some_s = 1},
                   .object = &first,
                   .chain = &first,
                   .list = {items, 2},
                   .texts = {texts, 2}};
}

static const fact *find_row(const char *key)
{
    for (const fact *f = outer_facts.rows; f->key != NULL; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    fail_msg("no row %s", key);
    return NULL;
}

static void a_value_is_printed_as_json_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        const char *key, *wanted;
    } cases[] = {{"real", "0.5"},
                 {"absent", ""},
                 {"twice", "1"},
                 {"u32", "4294967295"},
                 {"u64", "18446744073709551615"},
                 {"flag", "true"},
                 {"text", "\"\""},
                 {"none", ""},
                 {"name-of", "\"n\""},
                 {"empty", ""},
                 {"choice", "\"walk\""},
                 {"how", "\"form\""},
                 {"group", ""},
                 {"list", ""}};
    const outer o = make_outer();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strbuf text = {0};
        fact_print(&text, find_row(cases[i].key), &o);
        assert_string_equal(text.n > 0 ? text.at : "", cases[i].wanted);
        strbuf_fini(&text);
    }
}

static double sum_items(const char *key, const outer *o)
{
    double sum = 0;
    const fact *f = find_row(key);
    for (const void *item = fact_inside(f, o); item != NULL; item = fact_next(f, o, item))
        sum += ((const inner *)item)->some_s;
    return sum;
}

static void items_are_visited_once_and_in_order(void **state)
{
    (void)state;
    outer o = make_outer();
    assert_true(sum_items("list", &o) == 11);
    assert_true(sum_items("chain", &o) == 7);
    o.list.n = 0;
    o.chain = NULL;
    assert_true(sum_items("list", &o) == 0);
    assert_true(sum_items("chain", &o) == 0);
    assert_null(fact_inside(find_row("nowhere"), &o));
}

static double find_number(const outer *o, const char *path)
{
    const void *at;
    const fact *f = fact_find_number(&at, &outer_facts, o, str_from(path));
    return f != NULL ? fact_number(f, at) : NAN;
}

static void a_number_is_found_by_its_path(void **state)
{
    (void)state;
    const outer o = make_outer();
    assert_true(find_number(&o, "real") == 0.5);
    assert_true(find_number(&o, "twice") == 1);
    assert_true(find_number(&o, "group.some_s") == 1);
    assert_true(find_number(&o, "object.some_s") == 3);
    assert_true(find_number(&o, "some_s") == 1); /* of the inline struct */
    assert_true(isnan(find_number(&o, "nowhere.some_s")));
    assert_true(isnan(find_number(&o, "text")));
    assert_true(isnan(find_number(&o, "group")));
    assert_true(isnan(find_number(&o, "groups.some_s")));
}

static void every_table_is_listed_once_without_inline_ones(void **state)
{
    (void)state;
    const fact_table *tables[4];
    assert_int_equal(fact_tables(tables, 0, 4, &outer_facts), 2);
    assert_ptr_equal(tables[0], &outer_facts);
    assert_ptr_equal(tables[1], &inner_facts);
    assert_int_equal(fact_tables(tables, 2, 4, &inner_facts), 2);
    assert_int_equal(fact_tables(tables, 0, 1, &outer_facts), 1);
}

static void the_schema_names_types_units_words_and_what_is_required(void **state)
{
    (void)state;
    strbuf text = {0};
    fact_schema(&text, &inner_facts, "#/");
    assert_string_equal(
        text.at,
        "\"description\": \"inside\", \"type\": \"object\", \"additionalProperties\": "
        "false, \"properties\": {\"some_s\": {\"description\": \"a time\", \"type\": "
        "\"number\", \"x-unit\": \"s\", \"x-word\": \"some\"}}, \"required\": "
        "[\"some_s\"]");
    text.n = 0;
    fact_schema(&text, &outer_facts, "#/");
    static const char *const parts[] = {
        "\"u32\": {\"description\": \"a number\", \"type\": \"integer\"}",
        "\"name_of\": {\"description\": \"a name\", \"type\": \"string\"}",
        "\"choice\": {\"description\": \"one of two\", \"type\": \"string\", \"enum\": "
        "[\"form\", \"walk\"]}",
        "\"group\": {\"description\": \"a struct\", \"$ref\": \"#/Inner\", \"x-unit\": "
        "\"s\"}",
        "\"list\": {\"description\": \"structs\", \"type\": \"array\", \"items\": "
        "{\"$ref\": \"#/Inner\"}}",
        "\"texts\": {\"description\": \"texts\", \"type\": \"array\", \"items\": "
        "{\"type\": \"string\"}}",
        "\"map\": {\"description\": \"keys that are data\", \"type\": \"object\", "
        "\"additionalProperties\": {\"type\": \"string\"}}, \"some_s\": {",
        "\"required\": [\"real\", \"twice\", \"u32\", \"u64\", \"flag\", \"text\", "
        "\"name_of\", \"choice\", \"how\", \"group\", \"object\", \"list\", \"texts\", "
        "\"chain\", \"map\", \"some_s\"]"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(text.at, parts[i]) == NULL)
            fail_msg("%s\nis not in\n%s", parts[i], text.at);
    strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_printed_as_json_or_not_at_all),
        cmocka_unit_test(items_are_visited_once_and_in_order),
        cmocka_unit_test(a_number_is_found_by_its_path),
        cmocka_unit_test(every_table_is_listed_once_without_inline_ones),
        cmocka_unit_test(the_schema_names_types_units_words_and_what_is_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
