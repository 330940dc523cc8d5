/* One walk over the rows, or over the JSON made from them, per form. */
#include "report/facts.h"

#include "base/json.h"
#include "base/number/number.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Into the member `key`, or NULL for an item of an array. */
static void write_value(report_json *j, const char *key, const fact *f, const void *from)
{
    strbuf value = {0};
    fact_print(&value, f, from);
    if (value.n > 0)
        report_json_raw(j, key, strbuf_str(&value));
    j->scratch.failed |= value.failed;
    strbuf_fini(&value);
}

static void write_items(report_json *j, const char *key, const fact *f, const void *from)
{
    if (f->flat)
        report_json_flat_array(j, key);
    else
        report_json_array(j, key);
    for (const void *item = fact_inside(f, from); item != NULL;
         item = fact_next(f, from, item))
        if (f->of != NULL)
            report_facts_object(j, NULL, !f->tall, f->of, item);
        else
            report_json_text(j, NULL, str_from(*(const char *const *)item));
    report_json_end(j);
}

static void write_entries(report_json *j, const char *key, const fact *f,
                          const void *from)
{
    fact_entry entry;
    if (f->rare && !f->each(&entry, f, from, 0))
        return;
    if (f->kind == FACT_MAP)
        report_json_object(j, key);
    else
        report_json_array(j, key);
    for (size_t i = 0; f->each(&entry, f, from, i); i++)
        report_json_text(j, f->kind == FACT_MAP ? entry.key : NULL, str_from(entry.text));
    report_json_end(j);
}

static void write_row(report_json *j, const fact *f, const void *from)
{
    char key[64];
    const void *inside;
    fact_key(key, f);
    switch (f->kind) {
    case FACT_INLINE:
        report_facts_json(j, f->of, fact_inside(f, from));
        break;
    case FACT_GROUP:
    case FACT_OBJECT:
        inside = fact_inside(f, from);
        assert(inside != NULL || f->rare);
        if (inside != NULL)
            report_facts_object(j, key, f->flat, f->of, inside);
        break;
    case FACT_LIST:
    case FACT_CHAIN:
        if (fact_inside(f, from) != NULL || !f->rare)
            write_items(j, key, f, from);
        break;
    case FACT_TEXTS:
    case FACT_MAP:
        write_entries(j, key, f, from);
        break;
    default:
        write_value(j, key, f, from);
    }
}

void report_facts_json(report_json *j, const fact_table *t, const void *from)
{
    for (const fact *f = t->rows; f->key != NULL; f++)
        write_row(j, f, from);
}

void report_facts_object(report_json *j, const char *key, bool flat, const fact_table *t,
                         const void *from)
{
    if (flat)
        report_json_flat_object(j, key);
    else
        report_json_object(j, key);
    report_facts_json(j, t, from);
    report_json_end(j);
}

void report_facts_text(FILE *to, const fact_table *t, const void *from, double total)
{
    char amount[32];
    for (const fact *f = t->rows; f->key != NULL; f++) {
        if (!fact_is_number(f) || f->title == NULL)
            continue;
        const double value = fact_number(f, from);
        if (!isfinite(value) || !(value > 1e-9 * total))
            continue;
        fprintf(to, "  %-24s %10s", f->title,
                units_format(amount, sizeof amount, value, fact_unit_kind(f->unit)));
        if (total > 0)
            fprintf(to, "  %5s %%", number_fixed(100 * value / total, 1).at);
        fprintf(to, "\n");
    }
}

/* A value without the marks of JSON: ["a", "b"] is a+b. */
static void add_cell(strbuf *to, const fact *f, const void *from)
{
    strbuf value = {0};
    if (f->kind == FACT_TEXT || f->kind == FACT_NAME || f->kind == FACT_CHOICE) {
        strbuf_csv(to, str_from(fact_text(f, from)));
        return;
    }
    fact_print(&value, f, from);
    for (size_t i = 0; i < value.n; i++)
        if (value.at[i] == ',')
            strbuf_add_char(to, '+');
        else if (strchr("[]\" ", value.at[i]) == NULL)
            strbuf_add_char(to, value.at[i]);
    to->failed |= value.failed;
    strbuf_fini(&value);
}

/* Add the cells of an item, or the names of its columns (from == NULL). */
static void add_cells(strbuf *to, const char *object, const fact_table *t,
                      const void *from, const char **comma)
{
    char key[64], path[130];
    for (const fact *f = t->rows; f->key != NULL; f++) {
        snprintf(path, sizeof path, "%s%s%s", object, *object != '\0' ? "." : "",
                 fact_key(key, f));
        const bool is_inline = f->kind == FACT_INLINE;
        if (is_inline || f->kind == FACT_GROUP) {
            add_cells(to, is_inline ? object : path, f->of,
                      from != NULL ? fact_inside(f, from) : NULL, comma);
            continue;
        }
        if (f->of != NULL || f->each != NULL)
            continue;
        strbuf_add(to, str_from(*comma));
        *comma = ",";
        if (from == NULL)
            strbuf_add(to, str_from(path));
        else
            add_cell(to, f, from);
    }
}

halley_status report_facts_list_csv(FILE *to, const fact_table *of, fact_list list,
                                    halley_error *err)
{
    strbuf line = {0};
    for (size_t i = 0; i <= list.n; i++) {
        const char *comma = "";
        const void *item = i > 0 ? (const char *)list.at + (i - 1) * of->size : NULL;
        line.n = 0;
        add_cells(&line, "", of, item, &comma);
        strbuf_add_char(&line, '\n');
        if (!line.failed)
            fwrite(line.at, 1, line.n, to);
    }
    const bool failed = line.failed;
    strbuf_fini(&line);
    return failed ? error_nomem(err) : HALLEY_OK;
}

/* Reads JSON and knows the path of the value that comes next. */
typedef struct flat_reader {
    json_reader json;
    strbuf path, text, line; /* text: the last string */
    size_t depth,
        ends[REPORT_JSON_DEPTH]; /* where the path of each open container ends */
    bool is_array[REPORT_JSON_DEPTH];
    uint64_t n_items[REPORT_JSON_DEPTH];
} flat_reader;

/* Set the path to that of the open container. */
static void cut_path(flat_reader *r)
{
    assert(r->depth > 0);
    r->path.n = r->ends[r->depth - 1];
    if (r->path.n > 0)
        strbuf_add_char(&r->path, '.');
}

static void start_item(flat_reader *r)
{
    if (r->depth == 0 || !r->is_array[r->depth - 1])
        return;
    cut_path(r);
    strbuf_printf(&r->path, "%llu", (unsigned long long)r->n_items[r->depth - 1]++);
}

static bool open_level(flat_reader *r, bool is_array)
{
    if (r->depth == REPORT_JSON_DEPTH)
        return false;
    r->ends[r->depth] = r->path.n;
    r->is_array[r->depth] = is_array;
    r->n_items[r->depth++] = 0;
    return true;
}

/* A null has an empty cell. */
static bool write_leaf(FILE *to, flat_reader *r, json_token token)
{
    r->line.n = r->text.n = 0;
    strbuf_csv(&r->line, strbuf_str(&r->path));
    strbuf_add_char(&r->line, ',');
    if (token == JSON_STRING) {
        if (!json_unescape(&r->json, &r->text))
            return false;
        strbuf_csv(&r->line, strbuf_str(&r->text));
    } else if (token == JSON_NUMBER) {
        strbuf_add(&r->line, r->json.text);
    } else if (token != JSON_NULL) {
        strbuf_add(&r->line, token == JSON_TRUE ? STR("true") : STR("false"));
    }
    strbuf_add_char(&r->line, '\n');
    fwrite(r->line.at, 1, r->line.n, to);
    return !r->line.failed;
}

static bool read_token(FILE *to, flat_reader *r, json_token token)
{
    switch (token) {
    case JSON_KEY:
        cut_path(r);
        return json_unescape(&r->json, &r->path);
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        r->depth--;
        return true;
    case JSON_OBJECT:
    case JSON_ARRAY:
        start_item(r);
        return open_level(r, token == JSON_ARRAY);
    default:
        start_item(r);
        return write_leaf(to, r, token);
    }
}

halley_status report_facts_csv(FILE *to, str json, halley_error *err)
{
    flat_reader r = {0};
    bool ok = true;
    json_token token = JSON_ERROR;
    json_open(&r.json, json);
    fprintf(to, "key,value\n");
    while (ok && (token = json_next(&r.json)) != JSON_END && token != JSON_ERROR)
        ok = read_token(to, &r, token);
    halley_status status = HALLEY_OK;
    if (r.path.failed || r.text.failed || r.line.failed)
        status = error_nomem(err);
    else if (!ok || token == JSON_ERROR)
        status = json_error(&r.json, err, ok ? NULL : "too many levels");
    strbuf_fini(&r.path);
    strbuf_fini(&r.text);
    strbuf_fini(&r.line);
    json_close(&r.json);
    return status;
}
