/*
 * hw/rename.c - keys and words of older files. A table row with `was` had that path in
 * older files. A value found there is moved to the present path, and a note names it. The
 * rest of the reader therefore needs to know present names only.
 */
#include "hw/schema.h"

#include <string.h>

/* Split "cost.per-node" into the map that holds it and its key; the map may be NULL. */
static conf_node *find_parent(conf_node *root, const char *path, str *key)
{
    str rest = str_from(path), head;
    (void)str_next(&rest, '.', &head);
    if (rest.n == 0) {
        *key = head;
        return root;
    }
    *key = rest;
    for (uint32_t i = 0; i < root->n; i++)
        if (str_eq(root->keys[i], head))
            return root->items[i]->kind == CONF_MAP ? root->items[i] : NULL;
    return NULL;
}

static uint32_t find_key(const conf_node *map, str key)
{
    uint32_t i = 0;
    while (map != NULL && i < map->n && !str_eq(map->keys[i], key))
        i++;
    return map == NULL ? 0 : i;
}

static bool add_entry(conf_file *file, conf_node *map, str key, conf_node *item)
{
    str *keys = arena_array(&file->memory, map->n + 1, sizeof *keys);
    conf_node **items = arena_array(&file->memory, map->n + 1, sizeof *items);
    if (keys == NULL || items == NULL)
        return false;
    if (map->n > 0) {
        memcpy(keys, map->keys, map->n * sizeof *keys);
        memcpy(items, map->items, map->n * sizeof(conf_node *));
    }
    keys[map->n] = key;
    items[map->n] = item;
    map->keys = keys;
    map->items = items;
    map->n++;
    return true;
}

static void remove_entry(conf_node *map, uint32_t at)
{
    map->n--;
    memmove(&map->keys[at], &map->keys[at + 1], (map->n - at) * sizeof *map->keys);
    memmove(&map->items[at], &map->items[at + 1], (map->n - at) * sizeof *map->items);
}

/* The map of a part, made if it is missing; NULL: no memory, or it is not a map. */
static conf_node *need_map(conf_file *file, const char *path, const conf_node *like)
{
    conf_node *root = file->root;
    const uint32_t at = find_key(root, str_from(path));
    if (path[0] == '\0')
        return root;
    if (at < root->n)
        return root->items[at]->kind == CONF_MAP ? root->items[at] : NULL;
    conf_node *map = arena_array(&file->memory, 1, sizeof *map);
    if (map == NULL)
        return NULL;
    *map = (conf_node){.kind = CONF_MAP,
                       .line = like->line,
                       .column = like->column,
                       .key_line = like->key_line,
                       .key_column = like->key_column,
                       .text = {"", 0}};
    return add_entry(file, root, str_from(path), map) ? map : NULL;
}

static halley_status move_key(halley_cluster *c, conf_file *file, const hw_part *part,
                              const conf_field *field, halley_error *err)
{
    str old_key;
    conf_node *from = find_parent(file->root, field->was, &old_key);
    const uint32_t at = find_key(from, old_key);
    if (from == NULL || at == from->n)
        return HALLEY_OK;
    conf_node *item = from->items[at];
    const char *dot = part->path[0] == '\0' ? "" : ".";
    conf_node *to = need_map(file, part->path, item);
    if (to == NULL)
        return conf_error(file, item, err, HALLEY_EINVAL,
                          "%s is now %s%s%s, and %s is no map", field->was, part->path,
                          dot, field->key, part->path);
    if (find_key(to, str_from(field->key)) < to->n)
        return conf_error(file, item, err, HALLEY_EINVAL,
                          "%s is the older name of %s%s%s, which is given too",
                          field->was, part->path, dot, field->key);
    if (from == to)
        from->keys[at] = str_from(field->key);
    else if (add_entry(file, to, str_from(field->key), item))
        remove_entry(from, find_key(from, old_key));
    else
        return error_nomem(err);
    hw_note(c, "%s: %s is now called %s%s%s", file->path, field->was, part->path, dot,
            field->key);
    return HALLEY_OK;
}

static void move_word(halley_cluster *c, conf_file *file, const hw_part *part,
                      const conf_field *field)
{
    conf_node *map = part->path[0] == '\0' ? file->root : NULL;
    const uint32_t at_part = find_key(file->root, str_from(part->path));
    if (map == NULL && at_part < file->root->n)
        map = file->root->items[at_part];
    if (map == NULL || map->kind != CONF_MAP)
        return;
    const uint32_t at = find_key(map, str_from(field->key));
    for (uint32_t i = 0; at < map->n && field->names_were[i] != NULL; i++) {
        if (map->items[at]->kind != CONF_SCALAR ||
            !str_eq(map->items[at]->text, str_from(field->names_were[i])))
            continue;
        map->items[at]->text = str_from(field->names[i]);
        hw_note(c, "%s: %s: %s is now called %s", file->path, field->key,
                field->names_were[i], field->names[i]);
    }
}

halley_status hw_names_renew(halley_cluster *c, conf_file *file, halley_error *err)
{
    const hw_part *part;
    for (size_t i = 0; (part = hw_part_get(i)) != NULL; i++) {
        for (size_t k = 0; k < part->n; k++) {
            if (part->fields[k].was != NULL)
                TRY(move_key(c, file, part, &part->fields[k], err));
            if (part->fields[k].names_were != NULL)
                move_word(c, file, part, &part->fields[k]);
        }
    }
    return HALLEY_OK;
}
