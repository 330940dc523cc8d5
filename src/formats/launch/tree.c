#include "launch/tree.h"

#include "base/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 16, MAX_PATH = 240 };

/* The last value of a key counts, as in Python. */
static const conf_node *find_tree_key(const conf_node *map, str key)
{
    const conf_node *found = NULL;
    for (uint32_t i = 0; map != NULL && map->kind == CONF_MAP && i < map->n; i++)
        if (str_eq(map->keys[i], key))
            found = map->items[i];
    return found;
}

static const conf_node *find_dotted(const conf_node *root, str path)
{
    str part;
    while (root != NULL && str_next(&path, '.', &part))
        root = find_tree_key(root, part);
    return root;
}

const conf_node *launch_tree_find(const conf_node *root, const char *path)
{
    return find_dotted(root, str_from(path));
}

typedef struct resolver {
    const conf_node *root, *parent;
    const halley_launch_opts *opts; /* for --set */
    uint32_t depth;
    bool ok;
} resolver;

static void resolve_text(resolver *r, strbuf *out, str text);

/* The node that ${path} refers to. References from a launcher's file begin with
 * "training.". */
static const conf_node *find_reference(const resolver *r, str path)
{
    if (path.n > 0 && path.at[0] == '.')
        return find_dotted(r->parent, (str){path.at + 1, path.n - 1});
    const conf_node *node = find_dotted(r->root, path);
    if (node == NULL && str_starts(path, STR("training.")))
        node = find_dotted(r->root, (str){path.at + 9, path.n - 9});
    return node;
}

static bool resolve_number(resolver *r, str text, double *out)
{
    strbuf value = {0};
    resolve_text(r, &value, str_trim(text));
    const bool ok = r->ok && number_read(str_trim(strbuf_str(&value)), out);
    strbuf_fini(&value);
    return ok;
}

/* ${multiply:a,b}: two arguments, which may themselves be references. */
static bool compute_function(resolver *r, str name, str rest, double *out)
{
    double x, y;
    size_t comma = 0, open = 0;
    while (comma < rest.n && (rest.at[comma] != ',' || open > 0)) {
        open += rest.at[comma] == '{';
        open -= rest.at[comma] == '}' && open > 0;
        comma++;
    }
    if (comma == rest.n || !resolve_number(r, (str){rest.at, comma}, &x) ||
        !resolve_number(r, (str){rest.at + comma + 1, rest.n - comma - 1}, &y))
        return false;
    if (str_eq(name, STR("multiply")))
        *out = x * y;
    else if (str_eq(name, STR("divide_floor")) && y != 0)
        *out = floor(x / y);
    else if (str_eq(name, STR("divide")) && y != 0)
        *out = x / y;
    else
        return false;
    return true;
}

/* The value that the user sets for a variable with --set; false: none. */
static bool find_set_value(const resolver *r, str name, str *out)
{
    for (size_t i = 0; r->opts != NULL && i < r->opts->n_sets; i++) {
        const str set = str_from(r->opts->sets[i]);
        if (set.n <= name.n || set.at[name.n] != '=' || !str_starts(set, name))
            continue;
        *out = (str){set.at + name.n + 1, set.n - name.n - 1};
        return true;
    }
    return false;
}

/* ${NAME} of the environment, and Hydra's ${oc.env:NAME,default}. */
static bool resolve_variable(resolver *r, strbuf *out, str inside)
{
    static const str env = {"oc.env:", 7};
    str rest = inside, name, value;
    if (str_starts(rest, env))
        rest = (str){rest.at + env.n, rest.n - env.n};
    else if (memchr(inside.at, ':', inside.n) != NULL)
        return false;
    if (!str_next(&rest, ',', &name))
        return false;
    const bool is_set = find_set_value(r, str_trim(name), &value);
    if (!is_set && (!str_starts(inside, env) || rest.n == 0))
        return false;
    strbuf_add(out, is_set ? value : str_trim(rest));
    return true;
}

static void resolve_reference(resolver *r, strbuf *out, str inside)
{
    const char *colon = memchr(inside.at, ':', inside.n);
    if (find_reference(r, inside) == NULL && resolve_variable(r, out, inside))
        return;
    if (colon != NULL) {
        const str name = {inside.at, (size_t)(colon - inside.at)};
        double value;
        r->ok = r->ok && compute_function(
                             r, name, (str){colon + 1, inside.n - name.n - 1}, &value);
        if (r->ok)
            strbuf_double(out, value);
        return;
    }
    const conf_node *node = find_reference(r, inside);
    r->ok = r->ok && node != NULL && node->kind == CONF_SCALAR;
    if (r->ok)
        resolve_text(r, out, node->text);
}

static void resolve_text(resolver *r, strbuf *out, str text)
{
    if (++r->depth > MAX_DEPTH)
        r->ok = false;
    for (size_t i = 0; i < text.n && r->ok; i++) {
        if (text.at[i] != '$' || i + 1 >= text.n || text.at[i + 1] != '{') {
            strbuf_add_char(out, text.at[i]);
            continue;
        }
        size_t end = i + 2, open = 1;
        while (end < text.n && open > 0) {
            open += text.at[end] == '{';
            open -= text.at[end] == '}';
            end++;
        }
        r->ok = open == 0 && out->n < 4096;
        if (r->ok)
            resolve_reference(r, out, (str){text.at + i + 2, end - i - 3});
        i = end - 1;
    }
    r->depth--;
}

static void add_tree_scalar(const launch_args *a, strbuf *out, const conf_node *root,
                            const conf_node *parent, const conf_node *node)
{
    strbuf value = {0};
    resolver r = {.root = root, .parent = parent, .opts = a->opts, .ok = true};
    resolve_text(&r, &value, node->text);
    strbuf_add(out, r.ok && !value.failed ? strbuf_str(&value) : node->text);
    strbuf_fini(&value);
}

const char *launch_tree_text(launch_args *a, const conf_node *root,
                             const conf_node *parent, const conf_node *node)
{
    strbuf text = {0};
    if (node->kind == CONF_SCALAR)
        add_tree_scalar(a, &text, root, parent, node);
    else if (node->kind == CONF_NULL)
        strbuf_add(&text, STR("null"));
    for (uint32_t i = 0; node->kind == CONF_LIST && i < node->n; i++) {
        if (i > 0)
            strbuf_add_char(&text, ' ');
        if (node->items[i]->kind == CONF_SCALAR)
            add_tree_scalar(a, &text, root, parent, node->items[i]);
    }
    const char *copy =
        text.failed ? NULL : arena_copy(&a->launch->memory, strbuf_str(&text));
    if (copy == NULL && a->status == HALLEY_OK)
        a->status = error_nomem(a->err);
    strbuf_fini(&text);
    return copy;
}

static void flatten_map(launch_args *a, const conf_node *root, const conf_node *map,
                        const char *prefix, uint32_t depth)
{
    for (uint32_t i = 0; i < map->n && a->status == HALLEY_OK; i++) {
        const conf_node *node = map->items[i];
        char path[MAX_PATH];
        const int n = snprintf(path, sizeof path, "%s%s%.*s", prefix,
                               prefix[0] != '\0' ? "." : "", STR_ARG(map->keys[i]));
        if (n < 0 || n >= MAX_PATH)
            continue;
        if (node->kind == CONF_MAP && depth < MAX_DEPTH) {
            flatten_map(a, root, node, path, depth + 1);
            continue;
        }
        const char *text = launch_tree_text(a, root, map, node);
        if (text != NULL)
            launch_args_add(a, str_from(path), str_from(text), node->line);
    }
}

void launch_tree_flatten(launch_args *a, const conf_node *root)
{
    if (root->kind == CONF_MAP)
        flatten_map(a, root, root, "", 0);
}
