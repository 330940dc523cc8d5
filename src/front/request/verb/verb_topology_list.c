/* halley topology list - the networks that halley generates, and their parameters. */
#include "base/error.h"
#include "base/number/number.h"
#include "request/topology.h"
#include "request/verbs.h"

#include <string.h>

typedef struct list_options {
    request_output output;
} list_options;

static const request_option options[] = {
    REQUEST_OUTPUT_OPTIONS(list_options, output),
    {0},
};

static const report_column columns[] = {
    {"topology", "topology", REPORT_WORDS, 0, 0},
    {"what it is", "description", REPORT_WORDS, 0, 0},
    {"example", "example", REPORT_WORDS, 0, 0},
};

static void write_key(report_json *j, const halley_topology_key_info *key)
{
    report_json_flat_object(j, NULL);
    report_json_text(j, "key", str_from(key->name));
    report_json_text(j, "type", str_from(key->type));
    if (key->min != 0 || key->max != 0) {
        report_json_double(j, "least", key->min);
        report_json_double(j, "most", key->max);
    }
    if (key->choices != NULL) {
        report_json_flat_array(j, "words");
        for (size_t i = 0; key->choices[i] != NULL; i++)
            report_json_text(j, NULL, str_from(key->choices[i]));
        report_json_end(j);
    }
    report_json_text(j, "description", str_from(key->doc));
    report_json_end(j);
}

static halley_status write_list_json(const request_call *call, halley_error *err)
{
    report_json j;
    const char *name, *doc;
    halley_topology_key_info key;
    request_json_begin(&j, call);
    report_json_array(&j, "topologies");
    for (size_t i = 0; halley_topology_generator(i, &name, &doc); i++) {
        report_json_object(&j, NULL);
        report_json_text(&j, "topology", str_from(name));
        report_json_text(&j, "description", str_from(doc));
        if (halley_topology_example(i) != NULL)
            report_json_text(&j, "example", str_from(halley_topology_example(i)));
        report_json_array(&j, "keys");
        for (size_t k = 0; halley_topology_generator_key(&key, i, k); k++)
            write_key(&j, &key);
        report_json_end(&j);
        report_json_end(&j);
    }
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

static halley_status list_run(request_call *call, halley_error *err)
{
    const list_options *o = call->options;
    const char *name, *doc;
    report_form form;
    TRY(request_output_form(&form, call, &o->output, err));
    if (form == REPORT_JSON)
        return write_list_json(call, err);
    report_table *t = report_table_new(columns, sizeof columns / sizeof *columns);
    if (t == NULL)
        return error_nomem(err);
    for (size_t i = 0; halley_topology_generator(i, &name, &doc); i++) {
        const char *example = halley_topology_example(i);
        report_table_words(t, str_from(name));
        report_table_words(t, str_from(doc));
        report_table_words(t, str_from(example != NULL ? example : ""));
    }
    return request_table_write(call, t, "topologies", form, err);
}

static const request_example examples[] = {
    {"halley topology list", "every topology with a description that builds"},
    {"halley topology list --json", "with the keys that each takes and their ranges"},
    {0},
};

const request_verb request_verb_topology_list = {
    .name = "topology list",
    .summary = "list the networks that halley builds",
    .arguments = "",
    .description =

        "Lists the topologies that halley builds from a few numbers, each with one "
        "sentence and an example, which is a FILE of halley topology show. With "
        "--json, also lists the keys of each topology with meaning, type, smallest "
        "and largest value. The types are count, list, map, choice, yes or no, text, "
        "bandwidth (B/s) and time (s).",
    .examples = examples,
    .options = options,
    .options_size = sizeof(list_options),
    .run = list_run,
};
