/* A tag ends at the first '>' outside quotes. The reader needs no other syntax rule. */
#include "base/xml.h"

#include <assert.h>
#include <string.h>

void xml_init(xml_reader *r, str text)
{
    *r = (xml_reader){.rest = text, .line = 1};
}

static void skip_text(xml_reader *r, size_t n)
{
    assert(n <= r->rest.n);
    for (const char *at = r->rest.at;
         (at = memchr(at, '\n', n - (size_t)(at - r->rest.at))); at++)
        r->line++;
    r->rest.at += n;
    r->rest.n -= n;
}

/* Advance past the next occurrence of `end`; false if there is none. */
static bool skip_past(xml_reader *r, str end)
{
    assert(end.n > 0);
    const char *const at = memmem(r->rest.at, r->rest.n, end.at, end.n);
    if (!at)
        return false;
    skip_text(r, (size_t)(at - r->rest.at) + end.n);
    return true;
}

static xml_token fail_xml(xml_reader *r, const char *problem)
{
    r->problem = problem;
    return XML_ERROR;
}

/* Bytes up to the '>' that ends the tag; SIZE_MAX if there is none. */
static size_t find_tag_end(str tag)
{
    char quote = '\0';
    for (size_t i = 0; i < tag.n; i++) {
        const char c = tag.at[i];
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            return i;
    }
    return SIZE_MAX;
}

static bool is_xml_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool ends_name(char c)
{
    return is_xml_space(c) || c == '/' || c == '=';
}

static size_t measure_name(str s)
{
    size_t n = 0;
    while (n < s.n && !ends_name(s.at[n]))
        n++;
    return n;
}

/* After "<", at a name or at '/'. */
static xml_token read_tag(xml_reader *r)
{
    const size_t n = find_tag_end(r->rest);
    if (n == SIZE_MAX)
        return fail_xml(r, "a tag does not end; the file is cut");
    str tag = {r->rest.at, n};
    const bool closes = n > 0 && tag.at[0] == '/';
    r->is_empty = !closes && n > 0 && tag.at[n - 1] == '/';
    if (closes)
        tag = (str){tag.at + 1, tag.n - 1};
    if (r->is_empty)
        tag.n--;
    r->name = (str){tag.at, measure_name(tag)};
    r->attributes = (str){tag.at + r->name.n, tag.n - r->name.n};
    if (r->name.n == 0)
        return fail_xml(r, "a tag has no name");
    skip_text(r, n + 1);
    return closes ? XML_CLOSE : XML_OPEN;
}

xml_token xml_next(xml_reader *r)
{
    for (;;) {
        const char *const at = r->rest.n ? memchr(r->rest.at, '<', r->rest.n) : NULL;
        if (!at)
            return XML_END;
        skip_text(r, (size_t)(at - r->rest.at) + 1);
        const bool comment = str_starts(r->rest, STR("!--"));
        if (!comment && !str_starts(r->rest, STR("!")) && !str_starts(r->rest, STR("?")))
            return read_tag(r);
        if (!skip_past(r, comment ? STR("-->") : STR(">")))
            return fail_xml(r, "a comment or declaration does not end; the file is cut");
    }
}

bool xml_attribute(const xml_reader *r, str name, str *value)
{
    assert(name.n > 0 && value != NULL);
    str s = r->attributes;
    for (;;) {
        while (s.n > 0 && (is_xml_space(s.at[0]) || s.at[0] == '/'))
            s.at++, s.n--;
        const str key = {s.at, measure_name(s)};
        size_t i = key.n;
        while (i < s.n && is_xml_space(s.at[i]))
            i++;
        if (i >= s.n || s.at[i] != '=')
            return false;
        i++;
        while (i < s.n && is_xml_space(s.at[i]))
            i++;
        if (i >= s.n || (s.at[i] != '"' && s.at[i] != '\''))
            return false;
        const char *const start = s.at + i + 1;
        const char *const end = memchr(start, s.at[i], s.n - i - 1);
        if (!end)
            return false;
        if (str_eq(key, name)) {
            *value = (str){start, (size_t)(end - start)};
            return true;
        }
        s.n -= (size_t)(end + 1 - s.at);
        s.at = end + 1;
    }
}
