/*
 * Build a conf tree from libyaml's events. Open lists and maps are on a stack of fixed
 * height. Their entries are in one array; those of each frame follow those of its parent.
 * They move to the arena when their list or map ends.
 */
#include "base/array.h"
#include "base/conf/conf_build.h"
#include "base/hash.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

typedef struct entry {
    str key; /* of an entry of a map */
    conf_node *node;
} entry;

/* A node with an anchor. */
typedef struct anchored {
    str name;
    const conf_node *node;
    uint32_t size; /* number of nodes in it; aliased nodes count again */
} anchored;

/* Most nodes that aliases may add to a file: with aliases, a few lines can expand to
 * billions. */
enum { MOST_ALIASED = 100000 };

typedef struct frame {
    conf_node *node;
    str anchor;   /* its name, or empty */
    size_t first; /* of its entries */
    bool has_key; /* a key was read and waits for its value */
    str key;
    uint32_t key_line, key_column;
} frame;

typedef struct builder {
    conf_file *file;
    ARRAY(entry) entries;
    frame frames[CONF_DEPTH];
    uint32_t depth, n_documents;
    bool aliases; /* anchors, aliases and merges are followed */
    bool repeats; /* allow duplicate keys: both are kept, in their order */
    ARRAY(anchored) anchors;
    uint32_t n_aliased;
    halley_error *err;
} builder;

static uint32_t from_1(size_t from_0)
{
    return from_0 < UINT32_MAX - 1 ? (uint32_t)from_0 + 1 : UINT32_MAX;
}

__attribute__((format(printf, 3, 4))) static halley_status
refuse(builder *b, const yaml_mark_t *at, const char *format, ...)
{
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(b->err, HALLEY_EFORMAT, "%s", text);
    error_at_line(b->err, from_1(at->line), from_1(at->column));
    return HALLEY_EFORMAT;
}

static halley_status check_key(builder *b, frame *top, const conf_node *key,
                               const yaml_mark_t *at)
{
    if (key->kind != CONF_SCALAR && key->kind != CONF_NULL)
        return refuse(b, at, "a list or map cannot be a key; use a name");
    if (key->kind == CONF_NULL && key->text.n == 0)
        return refuse(b, at, "a key is missing in front of the colon");
    top->has_key = true;
    top->key = key->text;
    top->key_line = key->line;
    top->key_column = key->column;
    return HALLEY_OK;
}

/* Add a complete node: the root, a key, or an entry of the innermost list or map. */
static halley_status add_node(builder *b, conf_node *node, const yaml_mark_t *at)
{
    if (b->depth == 0) {
        b->file->root = node;
        return HALLEY_OK;
    }
    frame *top = &b->frames[b->depth - 1];
    if (top->node->kind == CONF_MAP && !top->has_key)
        return check_key(b, top, node, at);
    entry e = {.node = node};
    if (top->node->kind == CONF_MAP) {
        e.key = top->key;
        node->key_line = top->key_line;
        node->key_column = top->key_column;
        top->has_key = false;
    }
    return array_push(&b->entries, e) ? HALLEY_OK : error_nomem(b->err);
}

static void mark_node(conf_node *node, const yaml_mark_t *at)
{
    node->line = from_1(at->line);
    node->column = from_1(at->column);
}

static uint32_t count_nodes(const conf_node *node, uint32_t most)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < node->n && n < most; i++)
        n += count_nodes(node->items[i], most - n);
    return n;
}

/* Record a complete node by its anchor; a later anchor of the same name replaces it. */
static halley_status keep_anchor(builder *b, str name, const conf_node *node)
{
    if (name.n == 0)
        return HALLEY_OK;
    const anchored a = {name, node, count_nodes(node, MOST_ALIASED)};
    return array_push(&b->anchors, a) ? HALLEY_OK : error_nomem(b->err);
}

static halley_status copy_anchor(str *out, builder *b, const yaml_char_t *anchor)
{
    *out = (str){"", 0};
    if (anchor == NULL)
        return HALLEY_OK;
    const str name = str_from((const char *)anchor);
    const char *copy = arena_copy(&b->file->memory, name);
    if (copy == NULL)
        return error_nomem(b->err);
    *out = (str){copy, name.n};
    return HALLEY_OK;
}

/* An alias becomes a separate node with the content of the other. */
static halley_status add_alias(builder *b, const yaml_event_t *event)
{
    const str name = str_from((const char *)event->data.alias.anchor);
    size_t i = b->anchors.n;
    while (i > 0 && !str_eq(b->anchors.at[i - 1].name, name))
        i--;
    if (i == 0)
        return refuse(b, &event->start_mark, "there is no anchor &%.*s before this alias",
                      STR_ARG(name));
    const anchored *from = &b->anchors.at[i - 1];
    b->n_aliased += from->size;
    if (b->n_aliased > MOST_ALIASED)
        return refuse(b, &event->start_mark,
                      "aliases represent more than %d values in all", MOST_ALIASED);
    conf_node *node = conf_node_new(b->file, from->node->kind);
    if (node == NULL)
        return error_nomem(b->err);
    *node = *from->node;
    mark_node(node, &event->start_mark);
    return add_node(b, node, &event->start_mark);
}

static bool has_entry(const builder *b, size_t first, str key)
{
    for (size_t i = first; i < b->entries.n; i++)
        if (str_eq(b->entries.at[i].key, key))
            return true;
    return false;
}

/* "<<: *base" at entry i: add the entries of base that the map does not have itself. */
static halley_status merge_map(builder *b, size_t first, size_t i)
{
    const conf_node *from = b->entries.at[i].node;
    b->entries.at[i] = b->entries.at[--b->entries.n];
    if (from->n > MOST_ALIASED / 100)
        return error_set(b->err, HALLEY_ELIMIT, "a merged map has more than %d keys",
                         MOST_ALIASED / 100);
    for (uint32_t k = 0; k < from->n; k++) {
        const entry e = {from->keys[k], from->items[k]};
        if (!has_entry(b, first, e.key) && !array_push(&b->entries, e))
            return error_nomem(b->err);
    }
    return HALLEY_OK;
}

static halley_status merge_maps(builder *b, const frame *top)
{
    for (size_t i = top->first; b->aliases && i < b->entries.n; i++)
        if (top->node->kind == CONF_MAP && str_eq(b->entries.at[i].key, STR("<<")) &&
            b->entries.at[i].node->kind == CONF_MAP)
            return merge_map(b, top->first, i);
    return HALLEY_OK;
}

static halley_status refuse_decoration(builder *b, const yaml_event_t *event,
                                       const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor != NULL && !b->aliases)
        return refuse(b, &event->start_mark,
                      "anchors (&%s) are not supported; write the value out", anchor);
    if (tag != NULL)
        return refuse(b, &event->start_mark, "tags (%s) are not supported; leave it out",
                      tag);
    return HALLEY_OK;
}

static halley_status add_scalar(builder *b, const yaml_event_t *event)
{
    const str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    TRY(refuse_decoration(b, event, event->data.scalar.anchor, event->data.scalar.tag));
    const bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    conf_node *node = conf_scalar_new(b->file, text, quoted);
    if (node == NULL)
        return error_nomem(b->err);
    if (!quoted && conf_is_null(text))
        node->kind = CONF_NULL;
    mark_node(node, &event->start_mark);
    str anchor;
    TRY(copy_anchor(&anchor, b, event->data.scalar.anchor));
    TRY(keep_anchor(b, anchor, node));
    return add_node(b, node, &event->start_mark);
}

static halley_status open_frame(builder *b, const yaml_event_t *event, conf_kind kind,
                                const yaml_char_t *anchor)
{
    assert(kind == CONF_LIST || kind == CONF_MAP);
    str name;
    TRY(copy_anchor(&name, b, anchor));
    if (b->depth == CONF_DEPTH)
        return refuse(b, &event->start_mark,
                      "lists and maps are nested more than %d deep", CONF_DEPTH);
    conf_node *node = conf_node_new(b->file, kind);
    if (node == NULL)
        return error_nomem(b->err);
    mark_node(node, &event->start_mark);
    b->frames[b->depth++] = (frame){.node = node, .anchor = name, .first = b->entries.n};
    return HALLEY_OK;
}

static halley_status refuse_duplicate(builder *b, const entry *first, const entry *again)
{
    assert(first != again);
    error_set(b->err, HALLEY_EFORMAT,
              "key \"%.*s\" is given twice, first in line %u; remove one of them",
              STR_ARG(again->key), first->node->key_line);
    error_at_line(b->err, again->node->key_line, again->node->key_column);
    return HALLEY_EFORMAT;
}

/* For large maps. Equal texts get equal ids and new ids count up. So the first key whose
 * id is not its index is a duplicate. */
static halley_status check_many(builder *b, const entry *entries, uint32_t n)
{
    assert(n > 1);
    intern seen = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < n && status == HALLEY_OK; i++) {
        const uint32_t id = intern_add(&seen, entries[i].key);
        if (id == HASH_NONE)
            status = error_nomem(b->err);
        else if (id != i)
            status = refuse_duplicate(b, &entries[id], &entries[i]);
    }
    intern_fini(&seen);
    return status;
}

static halley_status check_duplicates(builder *b, const entry *entries, uint32_t n)
{
    if (n > 32)
        return check_many(b, entries, n);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (str_eq(entries[i].key, entries[k].key))
                return refuse_duplicate(b, &entries[k], &entries[i]);
    return HALLEY_OK;
}

static halley_status close_frame(builder *b)
{
    assert(b->depth > 0);
    const frame top = b->frames[--b->depth];
    TRY(merge_maps(b, &top));
    const size_t n = b->entries.n - top.first;
    const entry *entries = n > 0 ? b->entries.at + top.first : NULL;
    conf_node *node = top.node;
    if (n > UINT32_MAX)
        return error_set(b->err, HALLEY_ELIMIT, "a list has more than %u items",
                         UINT32_MAX);
    node->n = (uint32_t)n;
    node->items = arena_array(&b->file->memory, n, sizeof(conf_node *));
    node->keys =
        arena_array(&b->file->memory, node->kind == CONF_MAP ? n : 0, sizeof(str));
    if (node->items == NULL || node->keys == NULL)
        return error_nomem(b->err);
    for (size_t i = 0; i < n; i++) {
        node->items[i] = entries[i].node;
        if (node->kind == CONF_MAP)
            node->keys[i] = entries[i].key;
    }
    if (node->kind == CONF_MAP && !b->repeats)
        TRY(check_duplicates(b, entries, node->n));
    b->entries.n = top.first;
    TRY(keep_anchor(b, top.anchor, node));
    const yaml_mark_t at = {.line = node->line - 1, .column = node->column - 1};
    return add_node(b, node, &at);
}

static halley_status handle_event(builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->n_documents++ > 0)
            return refuse(b, &event->start_mark,
                          "a second document starts here; put each in a file of its own");
        return HALLEY_OK;
    case YAML_ALIAS_EVENT:
        if (b->aliases)
            return add_alias(b, event);
        return refuse(b, &event->start_mark,
                      "aliases (*%s) are not supported; write the value out",
                      event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        TRY(refuse_decoration(b, event, event->data.sequence_start.anchor,
                              event->data.sequence_start.tag));
        return open_frame(b, event, CONF_LIST, event->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        TRY(refuse_decoration(b, event, event->data.mapping_start.anchor,
                              event->data.mapping_start.tag));
        return open_frame(b, event, CONF_MAP, event->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_frame(b);
    default:
        return HALLEY_OK;
    }
}

static halley_status report_yaml_error(builder *b, const yaml_parser_t *parser, str text)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return error_nomem(b->err);
    if (parser->error == YAML_READER_ERROR) {
        error_set(b->err, HALLEY_EFORMAT, "not text in UTF-8: %s", parser->problem);
        error_at_offset(b->err, parser->problem_offset);
        return HALLEY_EFORMAT;
    }
    const yaml_mark_t *at = &parser->problem_mark;
    const bool is_tab = at->index < text.n && text.at[at->index] == '\t';
    if (is_tab)
        return refuse(b, at, "there is a tab here; YAML is indented with spaces");
    if (parser->context == NULL)
        return refuse(b, at, "not valid YAML: %s", parser->problem);
    return refuse(b, at, "not valid YAML: %s %s that starts in line %u", parser->problem,
                  parser->context, from_1(parser->context_mark.line));
}

static halley_status read_yaml_events(builder *b, yaml_parser_t *parser, str text)
{
    for (bool done = false; !done;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return report_yaml_error(b, parser, text);
        done = event.type == YAML_STREAM_END_EVENT;
        const halley_status status = handle_event(b, &event);
        yaml_event_delete(&event);
        TRY(status);
    }
    if (b->file->root == NULL)
        b->file->root = conf_node_new(b->file, CONF_NULL);
    return b->file->root != NULL ? HALLEY_OK : error_nomem(b->err);
}

halley_status conf_parse_yaml(conf_file *file, str text, bool aliases, halley_error *err)
{
    builder b = {.file = file, .aliases = aliases, .repeats = aliases, .err = err};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return error_nomem(err);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.at, text.n);
    const halley_status status = read_yaml_events(&b, &parser, text);
    yaml_parser_delete(&parser);
    array_fini(&b.entries);
    array_fini(&b.anchors);
    return status;
}
