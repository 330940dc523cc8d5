/* halley/request.h: requests and their replies. */
#include "base/conf/conf.h"
#include "halley/halley.h"
#include "request/document.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESIGN "\"model\": \"gpt-3.6b\", \"cluster\": \"dgx-h100:8\""

/* The reply of a request; the caller's to free. */
static char *ask(const char *json)
{
    char *reply = NULL;
    halley_error err = {0};
    assert_int_equal(halley_request(&reply, json, NULL, &err), HALLEY_OK);
    assert_non_null(reply);
    return reply;
}

static void expect_error(const char *json, const char *code, const char *words)
{
    char *reply = ask(json), start[96];
    snprintf(start, sizeof start, "{\"ok\": false, \"error\": {\"code\": \"%s\"", code);
    if (strncmp(reply, start, strlen(start)) != 0 || strstr(reply, words) == NULL)
        fail_msg("%s gave %s, not %s with %s", json, reply, code, words);
    free(reply);
}

static void expect_result(const char *json, const char *words)
{
    char *reply = ask(json);
    if (strncmp(reply, "{\"ok\": true, \"result\": {", 24) != 0 ||
        strstr(reply, words) == NULL)
        fail_msg("%s gave %s without %s", json, reply, words);
    free(reply);
}

static void a_request_names_a_verb_that_exists(void **state)
{
    (void)state;
    expect_error("", "usage", "JSON");
    expect_error("[]", "usage", "object");
    expect_error("{\"do\": 3}", "usage", "names its verb");
    expect_error("{}", "usage", "names its verb");
    expect_error("{\"do\": \"estimat\"}", "usage", "did you mean");
    expect_error("{\"do\": \"version\", \"do\": \"plan\"}", "usage", "is there twice");
    expect_result("{\"do\": \"version\"}", HALLEY_VERSION);
}

static void an_unknown_key_is_an_error_with_the_nearest_name(void **state)
{
    (void)state;
    expect_error("{\"do\": \"plan\", \"max_tpp\": 3}", "usage", "\\\"max_tp\\\"");
    expect_error("{\"do\": \"plan\", \"max-tp\": 3}", "usage", "max_tp");
    expect_error("{\"do\": \"plan\", \"json\": true}", "usage", "no key");
    expect_error("{\"do\": \"estimate\", " DESIGN ", \"plan\": {\"tpp\": 1}}",
                 "bad-value", "tpp");
}

static void values_have_the_type_of_their_option(void **state)
{
    (void)state;
    expect_error("{\"do\": \"plan\", \"top\": \"x\"}", "bad-value",
                 "must be a whole number");
    expect_error("{\"do\": \"plan\", \"top\": 0}", "bad-value", "at least 1");
    expect_error("{\"do\": \"plan\", \"all\": 1}", "bad-value", "true or false");
    expect_error("{\"do\": \"plan\", \"top\": [1]}", "bad-value", "single value");
    expect_error("{\"do\": \"plan\", \"top\": null}", "bad-value", "no value");
}

static void failures_have_a_code(void **state)
{
    (void)state;
    expect_error("{\"do\": \"estimate\"}", "usage", "must be given");
    expect_error(
        "{\"do\": \"estimate\", \"model\": \"nope\", \"cluster\": \"dgx-h100:8\"}",
        "not-found", "nope");
    expect_error("{\"do\": \"estimate\", " DESIGN ", \"tp\": 3}", "infeasible", "divide");
    expect_error("{\"do\": \"estimate\", \"model\": \"llama3-405b\", \"cluster\": "
                 "\"dgx-h100:8\", \"strict\": true}",
                 "infeasible", "does not fit");
}

static void a_document_may_be_a_name_an_object_or_text(void **state)
{
    (void)state;
    char *named = ask("{\"do\": \"estimate\", " DESIGN ", \"tp\": 4}");
    char *object = ask("{\"do\": \"estimate\", " DESIGN ", \"plan\": {\"tp\": 4}}");
    char *text = ask("{\"do\": \"estimate\", " DESIGN ", \"plan\": \"tp: 4\"}");
    assert_string_equal(named, object);
    assert_string_equal(named, text);
    free(named);
    free(object);
    free(text);
    expect_result(
        "{\"do\": \"estimate\", \"model\": \"gpt-3.6b\", \"cluster\": {\"npus\": 8, "
        "\"npu\": \"h100-sxm-80gb\", \"nodes\": {\"npus\": 8, \"up\": "
        "\"nvlink4-h100\"}, \"network\": {\"fabric\": \"ib-ndr\"}}}",
        "step_s");
}

/* Keys of documents may have _ where files have -, as all JSON has. */
static void documents_may_be_written_as_json_is(void **state)
{
    (void)state;
    static const char cluster[] =
        "{\"do\": \"sim\", \"write_cluster\": \"/dev/null\", \"cluster\": {\"npus\": 2, "
        "\"network\": [{\"topology\": \"ring\", \"size\": 2, \"bandwidth\": \"1 GB/s\", "
        "\"latency\": \"1 us\"}], \"system\": {\"%s\": \"queue\"%s}}}";
    char text[512];
    snprintf(text, sizeof text, cluster, "network-model", "");
    expect_result(text, "\"npus\": 2");
    snprintf(text, sizeof text, cluster, "network_model", "");
    expect_result(text, "\"npus\": 2");
    snprintf(text, sizeof text, cluster, "networkmodel", "");
    expect_error(text, "bad-value", "network-model");
    snprintf(text, sizeof text, cluster, "network_model",
             ", \"network-model\": \"free\"");
    expect_error(text, "bad-value", "twice");
}

/* The first row of a search gives the same step when it is estimated. */
static void rows_of_plan_are_plans(void **state)
{
    (void)state;
    halley_error err = {0};
    conf_file file;
    char *found = ask("{\"do\": \"plan\", " DESIGN ", \"global_batch\": 64, \"top\": 4}");
    assert_int_equal(conf_parse(&file, str_from(found), "reply.json", &err), HALLEY_OK);
    const conf_node *rows = conf_find(conf_find(file.root, "result"), "plans");
    assert_int_equal(rows->n, 4);
    for (uint32_t i = 0; i < rows->n; i++) {
        strbuf json = {0}, step = {0};
        strbuf_printf(&json, "{\"do\": \"estimate\", " DESIGN ", \"plan\": ");
        conf_node_print(&json, rows->items[i]);
        strbuf_add_char(&json, '}');
        strbuf_printf(&step, "\"step_s\": %.*s,",
                      STR_ARG(conf_find(rows->items[i], "step_s")->text));
        expect_result(json.at, step.at);
        strbuf_fini(&json);
        strbuf_fini(&step);
    }
    conf_fini(&file);
    free(found);
}

static bool refuse_to_go_on(void *context, const halley_progress *now)
{
    int *looks = context;
    assert_non_null(now->what);
    ++*looks;
    return false;
}

static void work_that_is_cancelled_says_so(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "{\"do\": \"plan\", " DESIGN "}",
        "{\"do\": \"explore\", \"study\": {\"name\": \"s\", \"model\": \"gpt-3.6b\", "
        "\"cluster\": \"dgx-h100:64\", \"plan\": {\"global-batch\": 64}, \"vary\": "
        "{\"plan.tp\": [1, 2]}, \"objective\": {\"minimize\": \"step_s\"}}}"};
    for (size_t i = 0; i < 2; i++) {
        int looks = 0;
        const halley_watch watch = {refuse_to_go_on, &looks};
        char *reply = NULL;
        assert_int_equal(halley_request(&reply, requests[i], &watch, NULL), HALLEY_OK);
        if (strstr(reply, "\"code\": \"cancelled\"") == NULL)
            fail_msg("%s", reply);
        assert_true(looks > 0);
        free(reply);
        expect_result(requests[i], "step_s");
    }
}

static void *ask_often(void *context)
{
    for (int i = 0; i < 20; i++) {
        char *reply = ask("{\"do\": \"estimate\", " DESIGN ", \"tp\": 2}");
        assert_string_equal(reply, context);
        free(reply);
    }
    return NULL;
}

static void requests_may_run_on_many_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    char *reply = ask("{\"do\": \"estimate\", " DESIGN ", \"tp\": 2}");
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, reply), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_names_a_verb_that_exists),
        cmocka_unit_test(an_unknown_key_is_an_error_with_the_nearest_name),
        cmocka_unit_test(values_have_the_type_of_their_option),
        cmocka_unit_test(failures_have_a_code),
        cmocka_unit_test(a_document_may_be_a_name_an_object_or_text),
        cmocka_unit_test(documents_may_be_written_as_json_is),
        cmocka_unit_test(rows_of_plan_are_plans),
        cmocka_unit_test(work_that_is_cancelled_says_so),
        cmocka_unit_test(requests_may_run_on_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
