#include "report/model.h"

#include "base/number/number.h"
#include "report/facts.h"

#include <stddef.h>

/* Sizes of a model by their names in JSON. */
static const struct {
    const char *key;
    size_t offset;
} sizes[] = {
#define SIZE(member)                                                                     \
    {                                                                                    \
#member, offsetof(halley_model, member)                                          \
    }
    SIZE(layers),           SIZE(hidden),       SIZE(heads),         SIZE(kv_heads),
    SIZE(head_dim),         SIZE(ffn),          SIZE(vocab),         SIZE(seq),
    SIZE(window),           SIZE(window_every), SIZE(experts),       SIZE(top_k),
    SIZE(expert_ffn),       SIZE(shared_ffn),   SIZE(dense_layers),  SIZE(moe_every),
    SIZE(q_rank),           SIZE(kv_rank),      SIZE(qk_nope),       SIZE(qk_rope),
    SIZE(v_head),           SIZE(tables),       SIZE(table_dim),     SIZE(lookups),
    SIZE(attention_layers), SIZE(ffn_layers),   SIZE(expert_layers), SIZE(expert_hidden),
#undef SIZE
};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static uint32_t get_size(const halley_model *m, size_t i)
{
    return *(const uint32_t *)(const void *)((const char *)m + sizes[i].offset);
}

void report_import_json(report_json *j, const halley_import *import)
{
    report_facts_object(j, "import", false, &report_import_facts, import);
}

static void write_recurrent(report_json *j, const halley_recurrent *r)
{
    report_json_text(j, "recurrent", str_from(halley_mixer_name(r->mixer)));
    report_json_u64(j, "recurrent_layers", r->layers);
    report_json_u64(j, "recurrent_heads", r->heads);
    report_json_u64(j, "state_keys", r->key_dim);
    report_json_u64(j, "state_values", r->value_dim);
}

void report_model_json(report_json *j, const halley_model *model,
                       const halley_import *import)
{
    report_json_text(j, "model", str_from(model->name));
    report_json_double(j, "parameters", halley_model_params(model));
    report_json_double(j, "active_parameters", halley_model_active_params(model));
    for (size_t i = 0; i < N_SIZES; i++)
        if (get_size(model, i) != 0)
            report_json_u64(j, sizes[i].key, get_size(model, i));
    report_json_bool(j, "gated", model->gated);
    report_json_bool(j, "tied", model->tied);
    report_json_bool(j, "causal", !model->not_causal);
    if (model->recurrent.layers > 0)
        write_recurrent(j, &model->recurrent);
    report_json_bool(j, "timed", model->untimed[0] == '\0');
    if (model->untimed[0] != '\0')
        report_json_text(j, "untimed", str_from(model->untimed));
    if (import != NULL)
        report_import_json(j, import);
}

void report_import_list(FILE *to, const halley_import *import, halley_import_list list,
                        const char *title)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_import_count(import); i++) {
        const halley_import_entry e = halley_import_get(import, i);
        if (e.list != list)
            continue;
        fprintf(to, "%s%s", n++ == 0 ? title : ", ", e.key);
        if (list == HALLEY_IMPORT_ASSUMED)
            fprintf(to, " %s", e.value);
    }
    if (n > 0)
        fprintf(to, "\n");
}

static void print_import(FILE *to, const halley_import *import)
{
    fprintf(to, "file:        %s\n", halley_import_kind(import));
    report_import_list(to, import, HALLEY_IMPORT_ASSUMED, "assumed:     ");
    report_import_list(to, import, HALLEY_IMPORT_UNKNOWN, "unknown:     ");
    for (uint32_t i = 0; i < halley_import_count(import); i++)
        if (halley_import_get(import, i).list == HALLEY_IMPORT_NOTE)
            fprintf(to, "note:        %s\n", halley_import_get(import, i).value);
}

/* "8.03 B" or "137 M". */
static void print_count(FILE *to, const char *title, double n)
{
    if (n >= 1e9)
        fprintf(to, "%s%s B (%s)\n", title, number_fixed(n / 1e9, 2).at,
                number_fixed(n, 0).at);
    else
        fprintf(to, "%s%s M (%s)\n", title, number_fixed(n / 1e6, 1).at,
                number_fixed(n, 0).at);
}

void report_model_text(FILE *to, const halley_model *model, const halley_import *import)
{
    fprintf(to, "model:       %s\n", model->name);
    print_count(to, "parameters:  ", halley_model_params(model));
    if (halley_model_active_params(model) != halley_model_params(model))
        print_count(to, "active:      ", halley_model_active_params(model));
    fprintf(to, "shape:       ");
    uint32_t n = 0;
    for (size_t i = 0; i < N_SIZES; i++)
        if (get_size(model, i) != 0)
            fprintf(to, "%s%s %u", n++ == 0 ? "" : ", ", sizes[i].key,
                    get_size(model, i));
    fprintf(to, "%s%s%s\n", model->gated ? ", gated" : "", model->tied ? ", tied" : "",
            model->not_causal ? ", not causal" : "");
    if (model->recurrent.layers > 0)
        fprintf(to, "recurrent:   %u %s, %u heads with a state of %u x %u\n",
                model->recurrent.layers, halley_mixer_name(model->recurrent.mixer),
                model->recurrent.heads, model->recurrent.key_dim,
                model->recurrent.value_dim);
    if (model->untimed[0] != '\0')
        fprintf(to, "not timed:   halley counts %s but cannot time them yet\n",
                model->untimed);
    if (import != NULL)
        print_import(to, import);
}
