/* The pages of halley: every option and key has a default, and an example that works. */
#include "cli/commands.h"
#include "halley/plan_keys.h"
#include "unit.h"
#include "workload/plan_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool takes_value(const request_option *o)
{
    return o->kind != REQUEST_FLAG;
}

/* Does the option accept the text? Stored in a fresh options struct, which it leaves in
 * *options. */
static bool accepts_text(char **options, arena *memory, const request_verb *verb,
                         const request_option *o, const char *text)
{
    halley_error err = {0};
    request_call call = {.program = &cli_halley, .verb = verb};
    *options = request_options_make(verb, memory);
    assert_non_null(*options);
    return request_option_set(&call, *options, memory, o, o->name, text, &err) ==
           HALLEY_OK;
}

static void every_option_has_a_default_and_an_example_it_accepts(void **state)
{
    (void)state;
    size_t n = 0;
    for (size_t c = 0; cli_halley.commands[c] != NULL; c++) {
        const request_verb *verb = cli_halley.commands[c];
        for (request_option_walk w = {.verb = verb}; request_option_next(&w);) {
            const request_option *const o = &w.option;
            arena memory = {0};
            char *options;
            if (!takes_value(o))
                continue;
            if (o->by_default == NULL ||
                (o->kind != REQUEST_CHOICE && o->example == NULL))
                fail_msg("%s --%s lacks its default or an example", verb->name, o->name);
            if (o->example != NULL &&
                !accepts_text(&options, &memory, verb, o, o->example))
                fail_msg("%s --%s refuses its example %s", verb->name, o->name,
                         o->example);
            arena_fini(&memory);
            n++;
        }
    }
    assert_true(n > 300); /* the tables were read */
}

/* Bytes of the member that an option is stored in; 0 for texts. */
static size_t size_of_member(const request_option *o)
{
    switch (o->kind) {
    case REQUEST_U32:
    case REQUEST_CHOICE:
        return sizeof(uint32_t);
    case REQUEST_U64:
    case REQUEST_DOUBLE:
    case REQUEST_QUANTITY:
        return 8;
    case REQUEST_FLAG:
    case REQUEST_TEXT:
    case REQUEST_TEXTS:
    case REQUEST_PLAN_KEYS:
        break;
    }
    return 0;
}

/* Where the verb starts from a struct of defaults, pages say what is in it. */
static void stated_defaults_are_those_that_hold(void **state)
{
    (void)state;
    size_t n = 0;
    for (size_t c = 0; cli_halley.commands[c] != NULL; c++) {
        const request_verb *verb = cli_halley.commands[c];
        for (request_option_walk w = {.verb = verb}; request_option_next(&w);) {
            const request_option *const o = &w.option;
            arena memory = {0};
            char *stated;
            const uint64_t zero = 0;
            const size_t size = size_of_member(o);
            const char *holds =
                verb->defaults == NULL ? NULL : (const char *)verb->defaults + o->offset;
            if (size == 0 || holds == NULL || memcmp(holds, &zero, size) == 0)
                continue;
            if (!accepts_text(&stated, &memory, verb, o, o->by_default))
                fail_msg("%s --%s: the default %s is no value", verb->name, o->name,
                         o->by_default);
            if (memcmp(stated + o->offset, holds, size) != 0)
                fail_msg("%s --%s: the default is not %s", verb->name, o->name,
                         o->by_default);
            arena_fini(&memory);
            n++;
        }
    }
    assert_true(n > 10);
}

static void check_list(const char *format, const request_list *list)
{
    request_entry e = {0};
    for (size_t i = 0; e = (request_entry){0}, list->entry(&e, i); i++) {
        if (e.by_default == NULL && strcmp(list->title, "keys of a range") != 0)
            fail_msg("%s, %s: %s lacks its default", format, list->title, e.name);
        if (e.example == NULL && e.values == NULL && e.form == NULL &&
            e.by_default != e.room)
            fail_msg("%s, %s: %s lacks an example", format, list->title, e.name);
    }
}

static void every_key_of_a_file_has_a_default_and_an_example(void **state)
{
    (void)state;
    for (size_t f = 0; cli_halley.formats[f] != NULL; f++) {
        const cli_format *format = cli_halley.formats[f];
        if (format == &format_json) /* keys of results */
            continue;
        for (const request_list *l = format->lists; l->title != NULL; l++)
            if (strcmp(l->title, "parameters") != 0 && strcmp(l->title, "results") != 0)
                check_list(format->name, l);
    }
}

static void examples_of_plan_keys_are_read(void **state)
{
    (void)state;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        halley_plan plan;
        halley_error err = {0};
        halley_plan_default(&plan);
        const char *text = workload_plan_facts.rows[i].example != NULL
                               ? workload_plan_facts.rows[i].example
                               : "yes";
        if (halley_plan_set(&plan, (halley_plan_key)i, text, &err) != HALLEY_OK)
            fail_msg("%s: %s", workload_plan_facts.rows[i].key, err.text);
    }
}

/* The default of a key, set in words, changes nothing in a plan of defaults. */
static void stated_defaults_of_plan_keys_are_those_that_hold(void **state)
{
    (void)state;
    size_t n = 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        halley_plan plan, same;
        halley_model model = {.layers = 8,
                              .heads = 8,
                              .hidden = 64,
                              .ffn = 256,
                              .vocab = 128,
                              .seq = 128,
                              .kv_heads = 8,
                              .head_dim = 8};
        halley_error err = {0};
        char text[32];
        snprintf(text, sizeof text, "%.*s",
                 (int)strcspn(workload_plan_facts.rows[i].by_default, ","),
                 workload_plan_facts.rows[i].by_default);
        halley_plan_default(&plan);
        same = plan;
        if (halley_plan_set(&same, (halley_plan_key)i, text, &err) != HALLEY_OK)
            continue; /* in words */
        assert_int_equal(halley_plan_check(&plan, &model, 1, &err), HALLEY_OK);
        if (halley_plan_check(&same, &model, 1, &err) != HALLEY_OK)
            continue; /* only with another key */
        same.given = plan.given;
        char *a = NULL, *b = NULL;
        assert_int_equal(halley_plan_print(&a, &plan, (halley_plan_key)i, &err),
                         HALLEY_OK);
        assert_int_equal(halley_plan_print(&b, &same, (halley_plan_key)i, &err),
                         HALLEY_OK);
        if (a != NULL && b != NULL && strcmp(a, b) != 0)
            fail_msg("%s: the default is %s, not %s", workload_plan_facts.rows[i].key, a,
                     b);
        n += a != NULL && b != NULL;
        free(a);
        free(b);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_has_a_default_and_an_example_it_accepts),
        cmocka_unit_test(stated_defaults_are_those_that_hold),
        cmocka_unit_test(every_key_of_a_file_has_a_default_and_an_example),
        cmocka_unit_test(examples_of_plan_keys_are_read),
        cmocka_unit_test(stated_defaults_of_plan_keys_are_those_that_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
