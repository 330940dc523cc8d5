/*
 * hw/vary.c - makes a cluster with other values in its file. The cluster is written as
 * text, parsed into a tree, changed there, and read as a cluster again. Only the reader
 * needs to know what a value means and which values are allowed.
 */
#include "hw/vary.h"

#include "base/array.h"
#include "hw/read/read_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct editor {
    conf_file *file;
    halley_error *err;
} editor;

/* Add an entry to a map; NULL: no memory. */
static conf_node **add_entry(const editor *e, conf_node *map, str key)
{
    arena *memory = &e->file->memory;
    str *keys = arena_array(memory, map->n + 1, sizeof *keys);
    conf_node **items = arena_array(memory, map->n + 1, sizeof(conf_node *));
    conf_node *fresh = arena_array(memory, 1, sizeof *fresh);
    const char *copy = arena_copy(memory, key);
    if (keys == NULL || items == NULL || fresh == NULL || copy == NULL)
        return NULL;
    if (map->n > 0) {
        memcpy(keys, map->keys, map->n * sizeof *keys);
        memcpy(items, map->items, map->n * sizeof(conf_node *));
    }
    keys[map->n] = (str){copy, key.n};
    items[map->n] = fresh;
    map->keys = keys;
    map->items = items;
    return &items[map->n++];
}

/* Find an item of a list by its `name`, or by its number. */
static conf_node **find_item(conf_node *list, str word)
{
    uint64_t number;
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *name =
            list->items[i]->kind == CONF_MAP ? conf_find(list->items[i], "name") : NULL;
        if (name != NULL && str_eq(name->text, word))
            return &list->items[i];
    }
    return str_to_u64(word, &number) && number < list->n ? &list->items[number] : NULL;
}

static conf_node **find_entry(conf_node *map, str word)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (str_eq(map->keys[i], word))
            return &map->items[i];
    return NULL;
}

/* Find the place of a path; *out may be a new, empty node. */
static halley_status find_place(conf_node ***out, const editor *e, const char *path)
{
    str rest = str_from(path), word;
    conf_node **at = &e->file->root;
    while (str_next(&rest, '.', &word)) {
        conf_node *node = *at;
        if (node->kind == CONF_NULL && rest.n > 0)
            node->kind = CONF_MAP;
        if (node->kind == CONF_LIST)
            at = find_item(node, word);
        else if (node->kind == CONF_MAP)
            at = find_entry(node, word) != NULL ? find_entry(node, word)
                                                : add_entry(e, node, word);
        else
            at = NULL;
        if (at == NULL)
            return error_set(e->err, HALLEY_ENOTFOUND,
                             "the cluster has no cluster.%s to vary: \"%.*s\" is not "
                             "there",
                             path, STR_ARG(word));
    }
    *out = at;
    return HALLEY_OK;
}

/* Copy a tree to another arena; NULL: no memory. Trees are not deep (conf.h). */
static conf_node *copy_tree(arena *memory, const conf_node *from)
{
    conf_node *to = arena_array(memory, 1, sizeof *to);
    const char *text = arena_copy(memory, from->text);
    if (to == NULL || text == NULL)
        return NULL;
    *to = *from;
    to->text.at = text;
    to->keys = arena_array(memory, from->n + 1, sizeof *to->keys);
    to->items = arena_array(memory, from->n + 1, sizeof(conf_node *));
    if (to->keys == NULL || to->items == NULL)
        return NULL;
    for (uint32_t i = 0; i < from->n; i++) {
        to->items[i] = copy_tree(memory, from->items[i]);
        const char *key = from->kind == CONF_MAP ? arena_copy(memory, from->keys[i]) : "";
        if (to->items[i] == NULL || key == NULL)
            return NULL;
        if (from->kind == CONF_MAP)
            to->keys[i] = (str){key, from->keys[i].n};
    }
    return to;
}

static halley_status apply_edit(const editor *e, const hw_edit *edit)
{
    conf_node **place = NULL;
    conf_file value;
    TRY(find_place(&place, e, edit->path));
    TRY(conf_parse(&value, str_from(edit->text), edit->path, e->err));
    *place = copy_tree(&e->file->memory, value.root);
    conf_fini(&value);
    return *place == NULL ? error_nomem(e->err) : HALLEY_OK;
}

static halley_status apply_edits(conf_file *file, const hw_edit *edits, uint32_t n,
                                 halley_error *err)
{
    const editor e = {file, err};
    for (uint32_t whole = 0; whole < 2; whole++) /* whole parts before their members */
        for (uint32_t i = 0; i < n; i++)
            if ((strchr(edits[i].path, '.') == NULL) == (whole == 0))
                TRY(apply_edit(&e, &edits[i]));
    return HALLEY_OK;
}

/* Remove lists with one algorithm per dimension of the old network: the new network uses
 * defaults. */
static void drop_lists(conf_file *file)
{
    static const char *const lists[] = {"algorithms", "all-reduce", "all-gather",
                                        "reduce-scatter", "all-to-all"};
    conf_node **place = find_entry(file->root, STR("system"));
    if (place == NULL || (*place)->kind != CONF_MAP)
        return;
    conf_node *system = *place;
    uint32_t n = 0;
    for (uint32_t i = 0; i < system->n; i++) {
        bool is_list = false;
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            is_list = is_list || str_eq(system->keys[i], str_from(lists[k]));
        system->keys[n] = system->keys[i];
        system->items[n] = system->items[i];
        n += !is_list;
    }
    system->n = n;
}

halley_status hw_cluster_vary(halley_cluster **out, const halley_cluster *c,
                              const hw_edit *edits, uint32_t n_edits, uint32_t n_npus,
                              halley_error *err)
{
    char *text;
    conf_file file;
    TRY(halley_cluster_print(&text, c, err));
    halley_status status = conf_parse(&file, str_from(text), "the design's cluster", err);
    if (status != HALLEY_OK) {
        free(text);
        return status;
    }
    drop_lists(&file);
    status = apply_edits(&file, edits, n_edits, err);
    halley_cluster *made = status == HALLEY_OK ? cluster_new() : NULL;
    if (status == HALLEY_OK)
        status = made == NULL ? error_nomem(err) : hw_file_read(made, &file, n_npus, err);
    conf_fini(&file);
    free(text);
    if (status == HALLEY_OK)
        *out = made;
    else
        halley_cluster_free(made);
    return status;
}
