/*
 * Findings: their codes, how they are stored (the first few of each code, and the count
 * of all), and how they are worded.
 */
#include "base/str.h"
#include "trace/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *slug;
    halley_severity severity;
} codes[CHECK_N_CODES] = {
    [CHECK_UNREADABLE] = {"unreadable", HALLEY_ERROR},
    [CHECK_EMPTY] = {"empty", HALLEY_WARNING},
    [CHECK_NO_METADATA] = {"no-metadata", HALLEY_NOTE},
    [CHECK_DUPLICATE_ID] = {"duplicate-id", HALLEY_ERROR},
    [CHECK_ZERO_ID] = {"zero-id", HALLEY_NOTE},
    [CHECK_NODE_TYPE] = {"node-type", HALLEY_NOTE},
    [CHECK_INVALID_NODE] = {"invalid-node", HALLEY_NOTE},
    [CHECK_NAME_UTF8] = {"bad-utf8", HALLEY_WARNING},
    [CHECK_DANGLING_DEP] = {"dangling-dep", HALLEY_ERROR},
    [CHECK_SELF_DEP] = {"self-dep", HALLEY_ERROR},
    [CHECK_CYCLE] = {"cycle", HALLEY_ERROR},
    [CHECK_MISSING_ATTR] = {"missing-attr", HALLEY_ERROR},
    [CHECK_ATTR_TYPE] = {"attr-type", HALLEY_ERROR},
    [CHECK_ATTR_KIND] = {"attr-kind", HALLEY_NOTE},
    [CHECK_ATTR_TWICE] = {"attr-twice", HALLEY_WARNING},
    [CHECK_ATTR_VALUE] = {"attr-value", HALLEY_ERROR},
    [CHECK_ZERO_SIZE] = {"zero-size", HALLEY_WARNING},
    [CHECK_NAN] = {"not-a-number", HALLEY_WARNING},
    [CHECK_TIME_OVERFLOW] = {"time-overflow", HALLEY_ERROR},
    [CHECK_SELF_SEND] = {"self-send", HALLEY_ERROR},
    [CHECK_PEER_RANGE] = {"peer-range", HALLEY_ERROR},
    [CHECK_WRONG_RANK] = {"wrong-rank", HALLEY_ERROR},
    [CHECK_UNMATCHED_SEND] = {"unmatched-send", HALLEY_ERROR},
    [CHECK_UNMATCHED_RECV] = {"unmatched-recv", HALLEY_ERROR},
    [CHECK_P2P_SIZE] = {"send-recv-size", HALLEY_ERROR},
    [CHECK_P2P_TAG] = {"send-recv-tag", HALLEY_ERROR},
    [CHECK_GROUP_UNKNOWN] = {"group-unknown", HALLEY_ERROR},
    [CHECK_GROUP_RANGE] = {"group-range", HALLEY_ERROR},
    [CHECK_GROUP_CONFLICT] = {"group-conflict", HALLEY_ERROR},
    [CHECK_GROUP_ALONE] = {"group-alone", HALLEY_WARNING},
    [CHECK_GROUP_MEMBER] = {"group-member", HALLEY_ERROR},
    [CHECK_COLL_COUNT] = {"coll-count", HALLEY_ERROR},
    [CHECK_COLL_TYPE] = {"coll-type", HALLEY_ERROR},
    [CHECK_COLL_SIZE] = {"coll-size", HALLEY_ERROR},
    [CHECK_COLL_ORDER] = {"coll-order", HALLEY_ERROR},
    [CHECK_COLL_ORDER_UNSURE] = {"coll-order-unsure", HALLEY_WARNING},
    [CHECK_DEADLOCK] = {"deadlock", HALLEY_ERROR},
};

halley_severity check_severity(check_code code)
{
    return codes[code].severity;
}

const char *check_slug(check_code code)
{
    return codes[code].slug;
}

const char *halley_severity_name(halley_severity severity)
{
    static const char *const words[] = {"note", "warning", "error"};
    return severity < HALLEY_N_SEVERITIES ? words[severity] : "unknown";
}

/* Add bytes as UTF-8 on one line. Invalid bytes and control characters become U+FFFD. */
static void add_clean(strbuf *b, const char *at, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = 1;
        while (len < 4 && i + len < n && ((unsigned char)at[i + len] & 0xC0) == 0x80)
            len++;
        const str one = {at + i, len};
        if ((unsigned char)at[i] >= 0x20 && at[i] != 0x7F && str_utf8_valid(one)) {
            strbuf_add(b, one);
            i += len;
        } else {
            strbuf_add(b, STR("\xEF\xBF\xBD"));
            i++;
        }
    }
}

static const char *keep_message(check_list *l, strbuf *b)
{
    const char *text = b->failed ? NULL : arena_copy(&l->memory, strbuf_str(b));
    strbuf_fini(b);
    if (text == NULL)
        l->failed = true;
    return text == NULL ? "" : text;
}

/* Find where to cut a text without splitting a character. */
static size_t find_cut(halley_bytes text, size_t most)
{
    size_t n = text.n < most ? text.n : most;
    while (n < text.n && n > 0 && ((unsigned char)text.at[n] & 0xC0) == 0x80)
        n--;
    return n;
}

const char *check_quote(check_list *l, check_code code, halley_bytes text)
{
    if (l->n[code] >= l->max_per_code)
        return "";
    strbuf b = {0};
    strbuf_add_char(&b, '"');
    const size_t n = find_cut(text, 60);
    add_clean(&b, text.at, n);
    strbuf_add(&b, n < text.n ? STR("…\"") : STR("\""));
    return keep_message(l, &b);
}

static const char *clean_name(check_list *l, halley_bytes name)
{
    strbuf b = {0};
    add_clean(&b, name.at, find_cut(name, 200));
    return keep_message(l, &b);
}

void check_add(check_list *l, check_code code, const check_place *at, uint32_t node,
               const char *remedy, const char *format, ...)
{
    if (l->n[code]++ >= l->max_per_code || l->failed)
        return;
    halley_finding f = {.severity = codes[code].severity,
                        .code = codes[code].slug,
                        .rank = at->rank,
                        .n_ranks = at->n_ranks,
                        .file = arena_copy(&l->memory, str_from(at->file)),
                        .node = node,
                        .name = "",
                        .remedy = remedy};
    if (node != HALLEY_NO_NODE) {
        f.id = halley_node_id(at->trace, node);
        f.offset = halley_node_offset(at->trace, node);
        f.has_offset = halley_trace_form_of(at->trace) == HALLEY_FORM_ET;
        f.name = clean_name(l, halley_node_name(at->trace, node));
    }
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    f.sentence = arena_copy(&l->memory, str_from(text));
    if (f.file == NULL || f.sentence == NULL || !array_push(&l->list, f))
        l->failed = true;
}

void check_list_join(check_list *to, const check_list *from)
{
    uint64_t listed[CHECK_N_CODES];
    memcpy(listed, to->n, sizeof listed);
    for (size_t i = 0; i < from->list.n && !to->failed; i++) {
        halley_finding f = from->list.at[i];
        int code = 0;
        while (codes[code].slug != f.code)
            code++;
        if (listed[code]++ >= to->max_per_code)
            continue;
        f.file = arena_copy(&to->memory, str_from(f.file));
        f.name = arena_copy(&to->memory, str_from(f.name));
        f.sentence = arena_copy(&to->memory, str_from(f.sentence));
        if (f.file == NULL || f.name == NULL || f.sentence == NULL ||
            !array_push(&to->list, f))
            to->failed = true;
    }
    for (int code = 0; code < CHECK_N_CODES; code++)
        to->n[code] += from->n[code];
    to->failed |= from->failed;
}

void check_list_fini(check_list *l)
{
    array_fini(&l->list);
    arena_fini(&l->memory);
}

const char *halley_finding_format(const halley_finding *finding, char *to, size_t size)
{
    char node[512] = "", byte[64] = "";
    if (finding->node != HALLEY_NO_NODE)
        snprintf(node, sizeof node, ": node %" PRIu64 " \"%s\"", finding->id,
                 finding->name);
    if (finding->node != HALLEY_NO_NODE && finding->has_offset)
        snprintf(byte, sizeof byte, " (byte %" PRIu64 ")", finding->offset);
    snprintf(to, size, "%s%s%s: %s%s%s",
             finding->file[0] != '\0' ? finding->file : "(built)", node, byte,
             finding->sentence, finding->remedy[0] != '\0' ? "; " : "", finding->remedy);
    return to;
}
