/* The schema of a table, from its rows. */
#include "base/fact.h"

#include <assert.h>

static const char *find_type(const fact *f)
{
    static const char *const types[] = {
        [FACT_REAL] = "number",   [FACT_U32] = "integer", [FACT_U64] = "integer",
        [FACT_FLAG] = "boolean",  [FACT_TEXT] = "string", [FACT_NAME] = "string",
        [FACT_CHOICE] = "string", [FACT_BITS] = "array",  [FACT_OWN] = NULL,
        [FACT_GROUP] = NULL,      [FACT_OBJECT] = NULL,   [FACT_INLINE] = NULL,
        [FACT_LIST] = "array",    [FACT_CHAIN] = "array", [FACT_TEXTS] = "array",
        [FACT_MAP] = "object"};
    return types[f->kind];
}

static void add_member(strbuf *to, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    strbuf_printf(to, ", \"%s\": ", key);
    strbuf_json(to, str_from(text));
}

static void add_words(strbuf *to, const fact *f)
{
    strbuf_add(to, STR("\"enum\": ["));
    for (size_t i = 0; f->words[i] != NULL; i++)
        strbuf_printf(to, "%s\"%s\"", i > 0 ? ", " : "", f->words[i]);
    strbuf_add_char(to, ']');
}

static void add_items(strbuf *to, const fact *f, const char *base)
{
    if (f->kind == FACT_BITS) {
        strbuf_add(to, STR(", \"items\": {"));
        add_words(to, f);
        strbuf_add_char(to, '}');
    } else if (f->of != NULL)
        strbuf_printf(to, ", \"items\": {\"$ref\": \"%s%s\"}", base, f->of->name);
    else
        strbuf_add(to, STR(", \"items\": {\"type\": \"string\"}"));
}

static void add_row(strbuf *to, const fact *f, const char *base)
{
    char key[64];
    strbuf_printf(to, "\"%s\": {\"description\": ", fact_key(key, f));
    strbuf_json(to, str_from(f->doc));
    add_member(to, "type", find_type(f));
    if (f->kind == FACT_CHOICE) {
        strbuf_add(to, STR(", "));
        add_words(to, f);
    }
    if (f->kind == FACT_GROUP || f->kind == FACT_OBJECT)
        strbuf_printf(to, ", \"$ref\": \"%s%s\"", base, f->of->name);
    if (f->kind == FACT_LIST || f->kind == FACT_CHAIN || f->kind == FACT_TEXTS ||
        f->kind == FACT_BITS)
        add_items(to, f, base);
    if (f->kind == FACT_MAP)
        strbuf_add(to, STR(", \"additionalProperties\": {\"type\": \"string\"}"));
    add_member(to, "x-unit", fact_unit_name(f->unit));
    add_member(to, "x-word", f->word);
    strbuf_add_char(to, '}');
}

static void add_properties(strbuf *to, const fact_table *t, const char *base,
                           const char **comma)
{
    for (const fact *f = t->rows; f->key != NULL; f++) {
        if (f->kind == FACT_INLINE) {
            add_properties(to, f->of, base, comma);
            continue;
        }
        assert(f->doc != NULL);
        strbuf_add(to, str_from(*comma));
        add_row(to, f, base);
        *comma = ", ";
    }
}

static void add_required(strbuf *to, const fact_table *t, const char **comma)
{
    char key[64];
    for (const fact *f = t->rows; f->key != NULL; f++) {
        if (f->kind == FACT_INLINE)
            add_required(to, f->of, comma);
        if (f->kind == FACT_INLINE || f->rare)
            continue;
        strbuf_printf(to, "%s\"%s\"", *comma, fact_key(key, f));
        *comma = ", ";
    }
}

void fact_schema(strbuf *to, const fact_table *t, const char *base)
{
    const char *comma = "";
    strbuf_add(to, STR("\"description\": "));
    strbuf_json(to, str_from(t->doc));
    strbuf_add(to, STR(", \"type\": \"object\", \"additionalProperties\": false, "
                       "\"properties\": {"));
    add_properties(to, t, base, &comma);
    strbuf_add(to, STR("}, \"required\": ["));
    comma = "";
    add_required(to, t, &comma);
    strbuf_add_char(to, ']');
}
