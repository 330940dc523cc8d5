/* topology/import/draft.c - functions shared by all readers of topology files. */
#include "topology/import/draft.h"

#include "base/number/number.h"
#include "base/xml.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WARNINGS = 20 };

static halley_status write_failure(hw_draft *d, uint32_t line, const char *code,
                                   const char *format, va_list args)
{
    char text[600];
    vsnprintf(text, sizeof text, format, args);
    const halley_status status = error_set(d->err, HALLEY_EFORMAT, "%s [%s]", text, code);
    error_at_file(d->err, d->path);
    if (line > 0)
        error_at_line(d->err, line, 0);
    return status;
}

halley_status hw_draft_fail(hw_draft *d, uint32_t line, const char *code,
                            const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const halley_status status = write_failure(d, line, code, format, args);
    va_end(args);
    return status;
}

halley_status hw_draft_fail_at(hw_draft *d, const conf_node *at, const char *code,
                               const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const halley_status status =
        write_failure(d, at == NULL ? 0 : at->line, code, format, args);
    va_end(args);
    return status;
}

void hw_draft_warn(hw_draft *d, const char *format, ...)
{
    if (d->n_warnings++ >= MOST_WARNINGS)
        return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';
    strbuf_printf(&d->warnings, "%s\n", text);
}

uint32_t hw_draft_limit(const hw_draft *d)
{
    return d->options->most_devices > 0 ? d->options->most_devices : HW_MAX_DEVICES;
}

halley_status hw_draft_add_device(uint32_t *out, hw_draft *d, hw_device_kind kind,
                                  str name, uint32_t line)
{
    assert(d->names.n == d->devices.n);
    if (name.n == 0)
        return hw_draft_fail(d, line, "bad-id", "a device has an empty name");
    if (d->devices.n >= hw_draft_limit(d))
        return hw_draft_fail(d, line, "unsupported", "the file has more than %d devices",
                             HW_MAX_DEVICES);
    const uint32_t id = intern_add(&d->names, name);
    if (id == HASH_NONE)
        return error_nomem(d->err);
    if (id < d->devices.n)
        return hw_draft_fail(d, line, "duplicate-id", "two devices are called %.*s",
                             STR_ARG(name));
    if (!array_push(&d->devices,
                    (hw_draft_device){(uint8_t)kind, line, HW_NONE, HW_NONE}))
        return error_nomem(d->err);
    if (out != NULL)
        *out = id;
    return HALLEY_OK;
}

uint32_t hw_draft_find(const hw_draft *d, str name)
{
    const uint32_t id = intern_find(&d->names, name);
    return id == HASH_NONE ? HW_NONE : id;
}

str hw_draft_name(const hw_draft *d, uint32_t device)
{
    assert(device < d->devices.n);
    return intern_text(&d->names, device);
}

uint16_t hw_draft_name_kind(hw_draft *d, str name)
{
    const uint32_t id = intern_add(&d->kind_names, name);
    return id < UINT16_MAX - 100 ? (uint16_t)(id + 1) : 0;
}

halley_status hw_draft_add_link(hw_draft *d, const hw_draft_link *link, uint32_t line)
{
    assert(link->from < d->devices.n && link->to < d->devices.n);
    if (link->from == link->to)
        return hw_draft_fail(d, line, "self-loop", "a link connects %.*s with itself",
                             STR_ARG(hw_draft_name(d, link->from)));
    if (link->bw_Bps != HW_UNKNOWN && !(link->bw_Bps > 0 && link->bw_Bps <= 1e18))
        return hw_draft_fail(d, line, "bad-rate",
                             "the link %.*s - %.*s has the rate %s Gb/s; rates must be "
                             "positive and at most 8e9 Gb/s",
                             STR_ARG(hw_draft_name(d, link->from)),
                             STR_ARG(hw_draft_name(d, link->to)),
                             number_digits(link->bw_Bps * 8e-9, 6).at);
    if (link->latency_s != HW_UNKNOWN && !(link->latency_s >= 0 && link->latency_s < 1e6))
        return hw_draft_fail(d, line, "bad-delay",
                             "the link %.*s - %.*s has the latency %s s; latencies must "
                             "not be negative and must be below 1e6 s",
                             STR_ARG(hw_draft_name(d, link->from)),
                             STR_ARG(hw_draft_name(d, link->to)),
                             number_digits(link->latency_s, 6).at);
    if (d->links.n >= HW_MAX_LINKS / 2)
        return hw_draft_fail(d, line, "unsupported", "the file has more than %d links",
                             HW_MAX_LINKS / 2);
    return array_push(&d->links, *link) ? HALLEY_OK : error_nomem(d->err);
}

halley_status hw_draft_parse_conf(conf_file *out, hw_draft *d)
{
    const halley_status status = conf_parse(out, d->text, d->path, d->err);
    if (status == HALLEY_OK || status == HALLEY_ENOMEM || d->err == NULL)
        return status;
    const bool is_twice = strstr(d->err->text, "duplicate object key") != NULL ||
                          strstr(d->err->text, "twice") != NULL;
    const size_t used = strlen(d->err->text);
    snprintf(d->err->text + used, sizeof d->err->text - used, " [%s]",
             is_twice ? "duplicate-key" : "truncated");
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool hw_next_word(str *text, str *word)
{
    if (text->n == 0)
        return false;
    const char *at = text->at, *const end = text->at + text->n;
    while (at < end && is_blank(*at))
        at++;
    word->at = at;
    while (at < end && !is_blank(*at))
        at++;
    word->n = (size_t)(at - word->at);
    *text = (str){at, (size_t)(end - at)};
    return word->n > 0;
}

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || c == 'e' ||
           c == 'E';
}

/* Split "2e5Mbps" after its number. */
static bool split_number(str text, double *number, str *unit)
{
    size_t n = 0;
    while (n < text.n && is_number_char(text.at[n]))
        n++;
    *unit = str_trim((str){text.at + n, text.n - n});
    return number_read((str){text.at, n}, number);
}

typedef struct unit_row {
    const char *name;
    double factor;
} unit_row;

static bool find_unit(str unit, const unit_row *rows, size_t n, double *factor)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(unit, str_from(rows[i].name))) {
            *factor = rows[i].factor;
            return true;
        }
    return false;
}

static const unit_row rate_prefixes[] = {
    {"", 1},     {"k", 1e3},     {"K", 1e3},     {"M", 1e6},     {"G", 1e9},
    {"T", 1e12}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
};
static const unit_row delay_units[] = {
    {"", 1},       {"s", 1},      {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
    {"ps", 1e-12}, {"fs", 1e-15}, {"min", 60},  {"h", 3600},
};

bool hw_read_rate(str text, double *bw_Bps)
{
    str unit;
    double number, factor;
    if (!split_number(text, &number, &unit) || unit.n < 3)
        return false;
    const str base = {unit.at + unit.n - 3, 3};
    const str prefix = {unit.at, unit.n - 3};
    const bool is_bytes = str_eq(base, STR("Bps")) || str_eq(base, STR("B/s"));
    const bool is_bits = str_eq(base, STR("bps")) || str_eq(base, STR("b/s"));
    if ((!is_bytes && !is_bits) ||
        !find_unit(prefix, rate_prefixes, sizeof rate_prefixes / sizeof *rate_prefixes,
                   &factor))
        return false;
    *bw_Bps = number * factor / (is_bits ? 8 : 1);
    return true;
}

bool hw_read_delay(str text, double *latency_s)
{
    str unit;
    double number, factor;
    if (!split_number(text, &number, &unit) ||
        !find_unit(unit, delay_units, sizeof delay_units / sizeof *delay_units, &factor))
        return false;
    *latency_s = number * factor;
    return true;
}

/* Resolve the five entities of XML; others are kept. Overwrites the text, in an arena. */
static str resolve_entities(arena *memory, str text)
{
    static const struct entity {
        const char *name;
        char c;
    } entities[] = {{"&lt;", '<'},   {"&gt;", '>'},    {"&amp;", '&'},
                    {"&quot;", '"'}, {"&apos;", '\''}, {"&#39;", '\''}};
    char *copy = memchr(text.at, '&', text.n) != NULL ? arena_copy(memory, text) : NULL;
    size_t n = 0;
    for (size_t i = 0; copy != NULL && i < text.n;) {
        const str rest = {text.at + i, text.n - i};
        const struct entity *found = NULL;
        for (size_t k = 0; found == NULL && k < sizeof entities / sizeof *entities; k++)
            if (str_starts(rest, str_from(entities[k].name)))
                found = &entities[k];
        copy[n++] = found != NULL ? found->c : text.at[i];
        i += found != NULL ? strlen(found->name) : 1;
    }
    return copy != NULL ? (str){copy, n} : text;
}

bool hw_xml_text(const hw_xml *e, const char *name, arena *memory, str *value)
{
    if (!hw_xml_attribute(e, name, value))
        return false;
    if (value->n > 0)
        *value = resolve_entities(memory, *value);
    return true;
}

bool hw_xml_attribute(const hw_xml *e, const char *name, str *value)
{
    const xml_reader r = {.attributes = e->attributes};
    return xml_attribute(&r, str_from(name), value);
}

const hw_xml *hw_xml_child(const hw_xml *e, const char *name)
{
    for (const hw_xml *c = e->first; c != NULL; c = c->next)
        if (str_eq(c->name, str_from(name)))
            return c;
    return NULL;
}

enum { XML_DEPTH = 64 };
typedef struct xml_stack {
    hw_xml *open[XML_DEPTH];
    uint32_t n;
    hw_xml *root;
} xml_stack;

static halley_status open_element(xml_stack *s, arena *memory, const xml_reader *r,
                                  hw_draft *d)
{
    if (s->n == XML_DEPTH)
        return hw_draft_fail(d, r->line, "bad-xml", "tags are nested more than %d deep",
                             XML_DEPTH);
    if (s->n == 0 && s->root != NULL)
        return hw_draft_fail(d, r->line, "bad-xml", "a second root <%.*s>",
                             STR_ARG(r->name));
    hw_xml *e = arena_array(memory, 1, sizeof *e);
    if (e == NULL)
        return error_nomem(d->err);
    *e = (hw_xml){.name = r->name, .attributes = r->attributes, .line = r->line};
    if (s->n == 0) {
        s->root = e;
    } else {
        hw_xml *parent = s->open[s->n - 1];
        if (parent->last == NULL)
            parent->first = e;
        else
            parent->last->next = e;
        parent->last = e;
    }
    if (!r->is_empty)
        s->open[s->n++] = e;
    return HALLEY_OK;
}

static halley_status close_element(xml_stack *s, const xml_reader *r, hw_draft *d)
{
    if (s->n == 0 || !str_eq(s->open[s->n - 1]->name, r->name))
        return hw_draft_fail(d, r->line, "bad-xml", "</%.*s> closes no open tag",
                             STR_ARG(r->name));
    s->n--;
    return HALLEY_OK;
}

halley_status hw_xml_parse(hw_xml **root, arena *memory, hw_draft *d)
{
    xml_stack s = {0};
    xml_reader r;
    xml_token token;
    xml_init(&r, d->text);
    while ((token = xml_next(&r)) != XML_END) {
        if (token == XML_ERROR)
            return hw_draft_fail(d, r.line,
                                 strstr(r.problem, "cut") ? "truncated" : "bad-xml", "%s",
                                 r.problem);
        TRY(token == XML_OPEN ? open_element(&s, memory, &r, d)
                              : close_element(&s, &r, d));
    }
    if (s.n > 0 || s.root == NULL)
        return hw_draft_fail(d, r.line, "truncated", "the file ends inside <%.*s>",
                             STR_ARG(s.n > 0 ? s.open[s.n - 1]->name : STR("")));
    *root = s.root;
    return HALLEY_OK;
}
