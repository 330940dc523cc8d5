/*
 * halley cases - the figures and tables of papers that halley repeats.
 *
 * The list is a file that is compiled in (cases/papers.yaml). A case with a request or a
 * study runs it through halley_request, as any program would, and takes its number from
 * the reply by a path. What the paper says is stated with its source; where we do not
 * know it, nothing is compared.
 */
#include "base/conf/conf.h"
#include "base/error.h"
#include "base/number/number.h"
#include "halley/cluster.h"
#include "halley/request.h"
#include "request/verbs.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cases_options {
    bool list;
    request_output output;
} cases_options;

static const request_option options[] = {
    {.name = "list",
     .letter = 'l',
     .kind = REQUEST_FLAG,
     .offset = offsetof(cases_options, list),
     .doc = "list the cases without running them"},
    REQUEST_OUTPUT_OPTIONS(cases_options, output),
    {0},
};

typedef struct paper_case {
    str paper, item, what, command, picture, request, study, value, over, under, unit,
        source;
    double published, tolerance;
} paper_case;

#define TEXT(k, m) CONF_FIELD(paper_case, k, CONF_TYPE_TEXT, UNITS_COUNT, m, false, k)
#define REAL(k, m) CONF_FIELD(paper_case, k, CONF_TYPE_DOUBLE, UNITS_COUNT, m, false, k)
static const conf_field fields[] = {
    TEXT("paper", paper),         TEXT("item", item),           TEXT("what", what),
    TEXT("command", command),     TEXT("picture", picture),     TEXT("request", request),
    TEXT("study", study),         TEXT("value", value),         TEXT("over", over),
    TEXT("under", under),         TEXT("unit", unit),           TEXT("source", source),
    REAL("published", published), REAL("tolerance", tolerance),
};

static const report_column columns[] = {
    {"Paper", "paper", REPORT_WORDS, UNITS_COUNT, 0},
    {"Item", "item", REPORT_WORDS, UNITS_COUNT, 0},
    {"What", "what", REPORT_WORDS, UNITS_COUNT, 0},
    {"Published", "published", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Obtained", "obtained", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Unit", "unit", REPORT_WORDS, UNITS_COUNT, 0},
    {"Ratio", "ratio", REPORT_NUMBER, UNITS_COUNT, 0},
    {"Verdict", "case_verdict", REPORT_WORDS, UNITS_COUNT, 0},
    {"Picture", "picture", REPORT_WORDS, UNITS_COUNT, 0},
    {"Command", "command", REPORT_WORDS, UNITS_COUNT, 0},
};

/* The item at a path like "best/0/results/step_s"; NULL: there is none. */
static const conf_node *find_reply_node(const conf_node *at, str path)
{
    str part;
    while (at != NULL && str_next(&path, '/', &part)) {
        char key[64];
        uint64_t i;
        snprintf(key, sizeof key, "%.*s", STR_ARG(part));
        if (at->kind == CONF_LIST)
            at = str_to_u64(part, &i) && i < at->n ? at->items[i] : NULL;
        else
            at = at->kind == CONF_MAP ? conf_find(at, key) : NULL;
    }
    return at;
}

static halley_status read_reply_number(double *out, const conf_file *reply, str path,
                                       halley_error *err)
{
    const conf_node *at = find_reply_node(conf_find(reply->root, "result"), path);
    if (at == NULL)
        return error_set(err, HALLEY_EINVAL, "the reply has no %.*s", STR_ARG(path));
    return conf_to_double(out, reply, at, "the number of a case", err);
}

/* {"do": "explore", "study": TEXT}, or the request as it is. */
static halley_status make_case_request(strbuf *to, const paper_case *c, halley_error *err)
{
    char path[128];
    if (c->study.n == 0) {
        strbuf_add(to, c->request);
        return HALLEY_OK;
    }
    snprintf(path, sizeof path, "%.*s", STR_ARG(c->study));
    const char *text = halley_builtin_text(path);
    if (text == NULL)
        return error_set(err, HALLEY_ENOTFOUND, "%s is not part of halley", path);
    strbuf_add(to, STR("{\"do\": \"explore\", \"study\": "));
    strbuf_json(to, str_from(text));
    strbuf_add(to, STR("}"));
    return HALLEY_OK;
}

static halley_status take_case_number(double *out, const paper_case *c,
                                      const conf_file *reply, halley_error *err)
{
    double over = 0, under = 1;
    if (c->value.n > 0)
        return read_reply_number(out, reply, c->value, err);
    TRY(read_reply_number(&over, reply, c->over, err));
    TRY(read_reply_number(&under, reply, c->under, err));
    *out = over / under;
    return HALLEY_OK;
}

/* NaN: the case has no number. */
static halley_status run_case(double *out, const paper_case *c, const halley_watch *watch,
                              halley_error *err)
{
    strbuf request = {0};
    char *text = NULL;
    conf_file reply = {0};
    *out = NAN;
    if (c->request.n == 0 && c->study.n == 0)
        return HALLEY_OK;
    halley_status status = make_case_request(&request, c, err);
    strbuf_add_char(&request, '\0');
    if (status == HALLEY_OK && request.failed)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        status = halley_request(&text, request.at, watch, err);
    if (status == HALLEY_OK)
        status = conf_parse(&reply, str_from(text), "the reply", err);
    if (status == HALLEY_OK) {
        status = take_case_number(out, c, &reply, err);
        conf_fini(&reply);
    }
    free(text);
    strbuf_fini(&request);
    if (status != HALLEY_OK)
        error_prefix(err, "%.*s, %.*s", STR_ARG(c->paper), STR_ARG(c->item));
    return status;
}

static const char *judge_case(const paper_case *c, double obtained)
{
    if (!(c->published > 0) || isnan(obtained))
        return "not compared";
    return fabs(obtained / c->published - 1) <= c->tolerance ? "reproduced" : "differs";
}

static void add_case(report_table *t, const paper_case *c, double obtained)
{
    const bool is_known = c->published > 0;
    report_table_words(t, c->paper);
    report_table_words(t, c->item);
    report_table_words(t, c->what);
    report_table_number_or_empty(t, is_known ? c->published : NAN);
    report_table_number_or_empty(t, obtained);
    report_table_words(t, c->unit);
    report_table_number_or_empty(t, is_known ? obtained / c->published : NAN);
    report_table_words(t, str_from(judge_case(c, obtained)));
    report_table_words(t, c->picture);
    report_table_words(t, c->command);
}

/* True if the words occur in "paper, item". */
static bool is_wanted(const paper_case *c, const char *words)
{
    char name[160];
    snprintf(name, sizeof name, "%.*s, %.*s", STR_ARG(c->paper), STR_ARG(c->item));
    return words == NULL || strcasestr(name, words) != NULL;
}

static halley_status add_cases(report_table *t, request_call *call, const conf_file *file,
                               halley_error *err)
{
    const cases_options *o = call->options;
    const conf_node *list = conf_find(file->root, "cases");
    const char *words = call->n_args > 0 ? call->args[0] : NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        paper_case c = {0};
        double obtained = NAN;
        TRY(conf_read(&c, file, list->items[i], fields, sizeof fields / sizeof *fields,
                      true, NULL, err));
        if (!is_wanted(&c, words))
            continue;
        if (!o->list)
            TRY(run_case(&obtained, &c, call->watch, err));
        add_case(t, &c, obtained);
        n++;
    }
    if (n == 0)
        return request_usage(
            call, err, "no case is named \"%s\"; halley cases --list names all", words);
    return HALLEY_OK;
}

static halley_status cases_run(request_call *call, halley_error *err)
{
    const cases_options *o = call->options;
    static const char path[] = "cases/papers.yaml";
    const char *papers = halley_builtin_text(path);
    conf_file file;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    assert(papers != NULL);
    TRY(conf_parse(&file, str_from(papers), path, err));
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    halley_status status = t != NULL ? add_cases(t, call, &file, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = request_table_write(call, t, "cases", form, err);
    else
        report_table_free(t);
    conf_fini(&file);
    return status;
}

static const request_example examples[] = {
    {"halley cases", "run what is quick, and compare with what is published"},
    {"halley cases --list", "every figure and table with its command"},
    {"halley cases 'COMET, figures 8'", "one of them"},
    {0},
};
static const char *const name_key[] = {"name", NULL};

const request_verb request_verb_cases = {
    .name = "cases",
    .summary = "repeat figures and tables of published papers",
    .arguments = "[NAME]",
    .arg_keys = name_key,
    .description =

        "Lists the figures and tables of COMET, ASTRA-sim 2.0 and Chakra that halley "
        "repeats: what each shows, the command and the picture it makes. Where one "
        "number represents a figure, halley computes it and prints it next to the "
        "published one with their ratio. A verdict is \"reproduced\", \"differs\" or, "
        "where the published number is not known to us, \"not compared\": we had only "
        "the abstracts and captions. Commands that name studies/ run in a copy of "
        "halley's source.",
    .examples = examples,
    .options = options,
    .options_size = sizeof(cases_options),
    .max_args = 1,
    .run = cases_run,
};
