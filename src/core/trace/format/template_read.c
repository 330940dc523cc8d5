/* Read the index of a template set. Every error names its line and the expected form. */
#include "base/file/file.h"
#include "trace/format/template.h"

#include <assert.h>
#include <string.h>

static const char magic[16] = "halley-bind 1\n";

typedef struct reader {
    trace_template *t;
    const conf_file *f;
    const trace_template_files *files;
    halley_error *err;
} reader;

typedef ARRAY(trace_range) range_list;

static halley_status refuse_node(const reader *r, const conf_node *at, const char *text)
{
    return conf_error(r->f, at, r->err, HALLEY_EFORMAT, "%s", text);
}

/* Add the position of a node to an error sentence that a rule has written. */
static halley_status place_error(const reader *r, const conf_node *at,
                                 halley_status status)
{
    if (status == HALLEY_OK || status == HALLEY_ENOMEM || r->err == NULL)
        return status;
    char text[sizeof r->err->text];
    memcpy(text, r->err->text, sizeof text);
    return conf_error(r->f, at, r->err, status, "%s", text);
}

static halley_status read_role_number(const reader *r, const conf_node *node,
                                      const char *key, uint32_t *out)
{
    int64_t value;
    TRY(conf_to_i64(&value, r->f, node, key, r->err));
    if (value < 0 || value > TRACE_TEMPLATE_MAX_RANKS)
        return conf_error(r->f, node, r->err, HALLEY_EFORMAT,
                          "%s must be between 0 and %u, is %lld", key,
                          TRACE_TEMPLATE_MAX_RANKS, (long long)value);
    *out = (uint32_t)value;
    return HALLEY_OK;
}

static halley_status expect_kind(const reader *r, const conf_node *node, conf_kind kind,
                                 const char *text)
{
    return node->kind == kind ? HALLEY_OK : refuse_node(r, node, text);
}

/* Read a range: 3 or 1-14. */
static halley_status read_role_range(const reader *r, const conf_node *node,
                                     range_list *to)
{
    static const char wanted[] = "expected a number or a range such as 1-14";
    uint64_t first, last;
    str rest = node->text, head;
    TRY(expect_kind(r, node, CONF_SCALAR, wanted));
    if (!str_next(&rest, '-', &head) || !str_to_u64(head, &first))
        return refuse_node(r, node, wanted);
    last = first;
    if (head.n < node->text.n && !str_to_u64(rest, &last))
        return refuse_node(r, node, wanted);
    if (last < first || last >= TRACE_TEMPLATE_MAX_RANKS)
        return refuse_node(r, node, "a range goes from the smaller to the larger number");
    return array_push(to, (trace_range){(uint32_t)first, (uint32_t)last})
               ? HALLEY_OK
               : error_nomem(r->err);
}

static halley_status read_ranges(const reader *r, const conf_node *node, range_list *to)
{
    if (node->kind != CONF_LIST)
        return read_role_range(r, node, to);
    for (uint32_t i = 0; i < node->n; i++)
        TRY(read_role_range(r, node->items[i], to));
    return HALLEY_OK;
}

static halley_status find_axis(const reader *r, const conf_node *at, str name,
                               uint32_t *out)
{
    *out = trace_template_find_axis(r->t, name);
    return *out != TRACE_TEMPLATE_NONE
               ? HALLEY_OK
               : conf_error(r->f, at, r->err, HALLEY_EFORMAT, "there is no axis \"%.*s\"",
                            STR_ARG(name));
}

static halley_status read_axes(reader *r, const conf_node *axes)
{
    static const char wanted[] = "axes are a list such as [{tp: 8}, {pp: 4}]";
    TRY(expect_kind(r, axes, CONF_LIST, wanted));
    for (uint32_t i = 0; i < axes->n; i++) {
        const conf_node *item = axes->items[i];
        uint32_t size = 0;
        if (item->kind != CONF_MAP || item->n != 1)
            return refuse_node(r, item, wanted);
        TRY(read_role_number(r, item->items[0], "the size of an axis", &size));
        TRY(place_error(r, item,
                        trace_template_add_axis(r->t, item->keys[0], size, r->err)));
    }
    return HALLEY_OK;
}

/* Read the conditions of a role. Their ranges are appended to `ranges`. */
static halley_status read_when(const reader *r, const conf_node *map, trace_when *when,
                               range_list *ranges)
{
    size_t starts[TRACE_TEMPLATE_MAX_AXES];
    TRY(expect_kind(r, map, CONF_MAP, "`when` is a map such as {pp: 0}"));
    if (map->n > TRACE_TEMPLATE_MAX_AXES)
        return refuse_node(r, map, "`when` has more conditions than there can be axes");
    for (uint32_t i = 0; i < map->n; i++) {
        starts[i] = ranges->n;
        TRY(find_axis(r, map, map->keys[i], &when[i].axis));
        TRY(read_ranges(r, map->items[i], ranges));
        when[i].n_ranges = (uint32_t)(ranges->n - starts[i]);
    }
    for (uint32_t i = 0; i < map->n; i++)
        when[i].ranges = ranges->at + starts[i];
    return HALLEY_OK;
}

static halley_status check_role_keys(const reader *r, const conf_node *map,
                                     const char *const *known)
{
    for (uint32_t i = 0; i < map->n; i++) {
        size_t n = 0;
        bool found = false;
        for (; known[n] != NULL; n++)
            found |= conf_key_is(map->keys[i], known[n]);
        if (found)
            continue;
        const char *near = str_nearest(map->keys[i], known, n);
        return conf_error(r->f, map->items[i], r->err, HALLEY_EFORMAT,
                          "unknown key \"%.*s\"%s%s%s", STR_ARG(map->keys[i]),
                          near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                          near != NULL ? "?" : "");
    }
    return HALLEY_OK;
}

static halley_status add_role_file(reader *r, const conf_node *item,
                                   trace_template_role *role)
{
    const conf_node *file = conf_find(item, "file");
    if (file == NULL || file->kind != CONF_SCALAR || file->text.n == 0)
        return refuse_node(r, item, "a role needs a file, such as file: step.role0.et");
    role->file = file->text;
    TRY(r->files->load_trace(&role->trace, r->files->context, role->file, r->err));
    return trace_template_add_role(r->t, role, r->err);
}

static halley_status read_role(reader *r, const conf_node *item)
{
    static const char *const known[] = {"file", "when", NULL};
    trace_when when[TRACE_TEMPLATE_MAX_AXES];
    range_list ranges = {0};
    trace_template_role role = {.when = when, .rank = TRACE_TEMPLATE_NONE};
    TRY(expect_kind(r, item, CONF_MAP, "a role is a map: {file: ..., when: ...}"));
    TRY(check_role_keys(r, item, known));
    const conf_node *map = conf_find(item, "when");
    halley_status status = HALLEY_OK;
    if (map != NULL) {
        status = read_when(r, map, when, &ranges);
        role.n_when = map->kind == CONF_MAP ? map->n : 0;
    }
    if (status == HALLEY_OK)
        status = add_role_file(r, item, &role);
    array_fini(&ranges);
    return status;
}

static halley_status read_exception(reader *r, const conf_node *item)
{
    static const char *const known[] = {"rank", "file", NULL};
    trace_template_role role = {0};
    TRY(expect_kind(r, item, CONF_MAP, "an exception is a map: {rank: 7, file: ...}"));
    TRY(check_role_keys(r, item, known));
    const conf_node *rank = conf_find(item, "rank");
    if (rank == NULL)
        return refuse_node(r, item, "an exception needs its rank");
    TRY(read_role_number(r, rank, "rank", &role.rank));
    return add_role_file(r, item, &role);
}

static halley_status read_along(const reader *r, const conf_node *list, uint32_t *axes)
{
    TRY(expect_kind(r, list, CONF_LIST, "`along` is a list of axes such as [tp, dp]"));
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t axis;
        TRY(expect_kind(r, list->items[i], CONF_SCALAR, "an axis is a name"));
        TRY(find_axis(r, list->items[i], list->items[i]->text, &axis));
        *axes |= 1u << axis;
    }
    return HALLEY_OK;
}

static halley_status read_role_group(reader *r, str name, const conf_node *map)
{
    static const char *const known[] = {"along", "block", "every", "values", NULL};
    trace_template_group g = {.name = name, .every = 1};
    range_list values = {0};
    TRY(expect_kind(r, map, CONF_MAP, "a group is a map such as {along: [dp]}"));
    TRY(check_role_keys(r, map, known));
    const conf_node *along = conf_find(map, "along"), *block = conf_find(map, "block");
    const conf_node *every = conf_find(map, "every"), *list = conf_find(map, "values");
    if (along == NULL)
        return refuse_node(r, map, "a group needs the axes along which it extends");
    TRY(read_along(r, along, &g.axes));
    if (block != NULL)
        TRY(read_role_number(r, block, "block", &g.block));
    if (every != NULL)
        TRY(read_role_number(r, every, "every", &g.every));
    halley_status status = list != NULL ? read_ranges(r, list, &values) : HALLEY_OK;
    g.values = values.at;
    g.n_values = (uint32_t)values.n;
    if (status == HALLEY_OK)
        status = place_error(r, map, trace_template_add_group(r->t, &g, r->err));
    array_fini(&values);
    return status;
}

static halley_status read_role_peer(reader *r, str name, const conf_node *map)
{
    static const char wanted[] = "a peer is a map such as {pp: +1, wrap: yes}";
    trace_template_peer p = {.name = name};
    const conf_node *wrap;
    TRY(expect_kind(r, map, CONF_MAP, wanted));
    wrap = conf_find(map, "wrap");
    if (wrap != NULL)
        TRY(conf_to_bool(&p.wrap, r->f, wrap, "wrap", r->err));
    if (map->n != (wrap != NULL ? 2u : 1u))
        return refuse_node(r, map, wanted);
    const uint32_t k = conf_key_is(map->keys[0], "wrap") ? 1 : 0;
    const conf_node *distance = map->items[k];
    str text = distance->text;
    int64_t value;
    if (distance->kind == CONF_SCALAR && text.n > 1 && text.at[0] == '+')
        text = (str){text.at + 1, text.n - 1};
    if (distance->kind != CONF_SCALAR || !str_to_i64(text, &value) || value == 0 ||
        value < -(int64_t)TRACE_TEMPLATE_MAX_RANKS || value > TRACE_TEMPLATE_MAX_RANKS)
        return refuse_node(r, distance, "the distance of a peer is +1, -1, +2 ...");
    p.distance = (int32_t)value;
    TRY(find_axis(r, map, map->keys[k], &p.axis));
    return place_error(r, map, trace_template_add_peer(r->t, &p, r->err));
}

/* Read names from a list if there is a table, otherwise rules from a map. */
static halley_status read_role_rules(reader *r, const conf_node *rules,
                                     const uint32_t *table, uint32_t *column, bool groups)
{
    const bool is_list = table != NULL;
    if (rules == NULL || (rules->kind == CONF_NULL && rules->n == 0))
        return HALLEY_OK;
    TRY(expect_kind(r, rules, is_list ? CONF_LIST : CONF_MAP,
                    is_list ? "with a table, groups and peers are lists of names"
                            : "expected a map of rules by name"));
    for (uint32_t i = 0; i < rules->n; i++) {
        const conf_node *item = rules->items[i];
        if (!is_list) {
            TRY(groups ? read_role_group(r, rules->keys[i], item)
                       : read_role_peer(r, rules->keys[i], item));
            continue;
        }
        TRY(expect_kind(r, item, CONF_SCALAR, "expected a name"));
        const uint32_t *at = table + (size_t)(*column)++ * r->t->n_ranks;
        const trace_template_group g = {.name = item->text, .table = at};
        const trace_template_peer p = {.name = item->text, .table = at};
        TRY(place_error(r, item,
                        groups ? trace_template_add_group(r->t, &g, r->err)
                               : trace_template_add_peer(r->t, &p, r->err)));
    }
    return HALLEY_OK;
}

static halley_status check_role_format(const reader *r, const conf_node *root)
{
    const conf_node *format = conf_find(root, "format");
    if (format == NULL || format->kind != CONF_SCALAR ||
        !str_starts(format->text, STR("halley-roles ")))
        return refuse_node(r, root,
                           "not an index of a template set: the first line must be "
                           "format: halley-roles 1");
    if (!str_eq(format->text, STR("halley-roles 1")))
        return conf_error(r->f, format, r->err, HALLEY_EFORMAT,
                          "format %.*s is newer than this program, which reads "
                          "halley-roles 1",
                          STR_ARG(format->text));
    return HALLEY_OK;
}

/* Load the columns of the table, as many as roles, groups and peers need. */
static halley_status load_columns(const reader *r, const conf_node *root,
                                  const conf_node *table, uint32_t **out)
{
    const conf_node *groups = conf_find(root, "groups"),
                    *peers = conf_find(root, "peers");
    const size_t n_columns =
        1 + (groups != NULL ? groups->n : 0) + (size_t)(peers != NULL ? peers->n : 0);
    const size_t n = n_columns * r->t->n_ranks;
    uint8_t *bytes = NULL;
    size_t size = 0;
    TRY(expect_kind(r, table, CONF_SCALAR, "table is the name of a file"));
    TRY(r->files->load_table(&bytes, &size, r->files->context, table->text, r->err));
    if (size != sizeof magic + 4 * n || memcmp(bytes, magic, sizeof magic) != 0) {
        free(bytes);
        return conf_error(
            r->f, table, r->err, HALLEY_EFORMAT,
            "the table %.*s has %zu bytes; %zu columns of %u ranks need %zu",
            STR_ARG(table->text), size, n_columns, r->t->n_ranks, sizeof magic + 4 * n);
    }
    uint32_t *columns = mem_array(n, sizeof *columns);
    for (size_t i = 0; columns != NULL && i < n; i++) {
        const uint8_t *b = bytes + sizeof magic + 4 * i;
        columns[i] = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                     (uint32_t)b[3] << 24;
    }
    free(bytes);
    *out = columns;
    return columns != NULL ? HALLEY_OK : error_nomem(r->err);
}

static halley_status read_role_lists(reader *r, const conf_node *root,
                                     const uint32_t *columns)
{
    const conf_node *roles = conf_find(root, "roles");
    const conf_node *exceptions = conf_find(root, "exceptions");
    uint32_t column = 1;
    if (roles == NULL || roles->kind != CONF_LIST || roles->n == 0)
        return refuse_node(r, roles != NULL ? roles : root,
                           "an index needs a list of roles: [{file: step.role0.et}]");
    for (uint32_t i = 0; i < roles->n; i++)
        TRY(read_role(r, roles->items[i]));
    if (exceptions != NULL)
        TRY(expect_kind(r, exceptions, CONF_LIST, "exceptions are a list"));
    for (uint32_t i = 0; exceptions != NULL && i < exceptions->n; i++)
        TRY(read_exception(r, exceptions->items[i]));
    TRY(read_role_rules(r, conf_find(root, "groups"), columns, &column, true));
    TRY(read_role_rules(r, conf_find(root, "peers"), columns, &column, false));
    if (columns == NULL)
        return HALLEY_OK;
    uint32_t *by_rank = arena_array(&r->t->memory, r->t->n_ranks, sizeof *by_rank);
    if (by_rank == NULL)
        return error_nomem(r->err);
    memcpy(by_rank, columns, r->t->n_ranks * sizeof *by_rank);
    r->t->role_table = by_rank;
    return HALLEY_OK;
}

halley_status trace_template_parse(trace_template *t, const conf_file *index,
                                   const trace_template_files *files, halley_error *err)
{
    static const char *const known[] = {"format",     "ranks",  "axes",
                                        "roles",      "groups", "peers",
                                        "exceptions", "table",  NULL};
    reader r = {t, index, files, err};
    const conf_node *root = index->root;
    uint32_t *columns = NULL;
    TRY(expect_kind(&r, root, CONF_MAP, "not an index of a template set"));
    TRY(check_role_format(&r, root));
    TRY(check_role_keys(&r, root, known));
    const conf_node *ranks = conf_find(root, "ranks"), *axes = conf_find(root, "axes");
    const conf_node *table = conf_find(root, "table");
    if (ranks == NULL)
        return refuse_node(&r, root, "an index needs the number of ranks");
    TRY(read_role_number(&r, ranks, "ranks", &t->n_ranks));
    if ((axes != NULL) == (table != NULL))
        return refuse_node(&r, root, "an index needs axes, or a table, and not both");
    if (axes != NULL)
        TRY(read_axes(&r, axes));
    else
        TRY(load_columns(&r, root, table, &columns));
    halley_status status = read_role_lists(&r, root, columns);
    free(columns);
    if (status == HALLEY_OK)
        status = place_error(&r, root, trace_template_end(t, err));
    return status;
}
