#include "report/launch.h"

#include "base/number/number.h"
#include "report/model.h"

#include <stdio.h>
#include <string.h>

/* Write a value in its JSON type: a number, a boolean, else a string. */
static void write_value(report_json *j, const char *key, const char *text)
{
    char name[64];
    double number;
    snprintf(name, sizeof name, "%s", key);
    for (size_t i = 0; name[i] != '\0'; i++)
        name[i] = name[i] == '-' ? '_' : name[i];
    if (number_read(str_from(text), &number))
        report_json_double(j, name, number);
    else if (strcmp(text, "yes") == 0 || strcmp(text, "no") == 0)
        report_json_bool(j, name, text[0] == 'y');
    else
        report_json_text(j, name, str_from(text));
}

static void write_launch_counts(report_json *j, const halley_launch *l)
{
    if (halley_launch_npus(l) > 0)
        report_json_u64(j, "npus", halley_launch_npus(l));
    if (halley_launch_local_batch(l) > 0)
        report_json_double(j, "local_batch", halley_launch_local_batch(l));
    if (halley_launch_npu_batch(l) > 0)
        report_json_double(j, "per_device_batch", halley_launch_npu_batch(l));
    if (halley_launch_replicas(l) > 0)
        report_json_u64(j, "replicas", halley_launch_replicas(l));
    if (halley_launch_device(l)[0] != '\0')
        report_json_text(j, "device", str_from(halley_launch_device(l)));
}

void report_launch_json(report_json *j, const halley_launch *l)
{
    const halley_model *model = halley_launch_model(l);
    if (model != NULL) {
        halley_model shown = *model; /* the plan states the sequence length */
        shown.seq = 0;
        report_model_json(j, &shown, NULL);
        if (halley_launch_lacks_vocab(l))
            report_json_null(j, "vocab");
    }
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const char *text = halley_launch_value(l, (halley_plan_key)i);
        if (text != NULL)
            write_value(j, halley_plan_key_name((halley_plan_key)i), text);
    }
    write_launch_counts(j, l);
    report_import_json(j, halley_launch_import(l));
}

static uint32_t count_launch_list(const halley_import *import, halley_import_list list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_import_count(import); i++)
        n += halley_import_get(import, i).list == list;
    return n;
}

static void print_model(FILE *to, const halley_launch *l)
{
    const halley_model *m = halley_launch_model(l);
    if (m == NULL) {
        fprintf(to, "model:   none in this file\n");
        return;
    }
    const double n = halley_model_params(m);
    fprintf(to, "model:   %s %s parameters%s; %u layers, hidden %u, %u heads",
            number_fixed(n / (n < 1e9 ? 1e6 : 1e9), 2).at, n < 1e9 ? "M" : "B",
            halley_launch_lacks_vocab(l) ? " without embeddings" : "", m->layers,
            m->hidden, m->heads);
    if (m->kv_heads != m->heads)
        fprintf(to, " (%u kv)", m->kv_heads);
    fprintf(to, ", ffn %u%s", m->ffn, m->gated ? " gated" : "");
    if (m->experts > 0)
        fprintf(to, ", %u experts (top %u) of %u", m->experts, m->top_k, m->expert_ffn);
    if (m->vocab > 0)
        fprintf(to, ", vocabulary %u", m->vocab);
    fprintf(to, ", %s\n", m->tied ? "tied" : "untied");
    if (m->untimed[0] != '\0')
        fprintf(to, "note:    halley counts %s but cannot time them yet\n", m->untimed);
}

static void print_plan(FILE *to, const halley_launch *l)
{
    const char *before = "plan:    ";
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const char *text = halley_launch_value(l, (halley_plan_key)i);
        if (text == NULL)
            continue;
        fprintf(to, "%s%s %s", before, halley_plan_key_name((halley_plan_key)i), text);
        before = ", ";
    }
    if (halley_launch_local_batch(l) > 0)
        fprintf(to, ", %s sequences per data-parallel rank",
                number_digits(halley_launch_local_batch(l), 6).at);
    if (halley_launch_npu_batch(l) > 0)
        fprintf(to, ", %s sequences per device",
                number_digits(halley_launch_npu_batch(l), 6).at);
    fprintf(to, "\n");
}

void report_launch_text(FILE *to, const halley_launch *l)
{
    const halley_import *import = halley_launch_import(l);
    fprintf(to, "read as: %s; %u keys used, %u without influence, %u unknown",
            halley_import_kind(import), count_launch_list(import, HALLEY_IMPORT_READ),
            count_launch_list(import, HALLEY_IMPORT_IGNORED),
            count_launch_list(import, HALLEY_IMPORT_UNKNOWN));
    if (halley_launch_npus(l) > 0)
        fprintf(to, "; %u accelerators", halley_launch_npus(l));
    fprintf(to, "\n");
    print_model(to, l);
    print_plan(to, l);
    report_import_list(to, import, HALLEY_IMPORT_ASSUMED, "assumed: ");
    report_import_list(to, import, HALLEY_IMPORT_UNKNOWN, "unknown: ");
    for (uint32_t i = 0; i < halley_import_count(import); i++)
        if (halley_import_get(import, i).list == HALLEY_IMPORT_NOTE)
            fprintf(to, "note:    %s\n", halley_import_get(import, i).value);
}
