/* launch/tree.h - converts trees of YAML, JSON and TOML to lists of
 * arguments. */
#ifndef LAUNCH_TREE_H
#define LAUNCH_TREE_H

#include "launch/args.h"

/* The node at "a.b.c", or NULL. */
const conf_node *launch_tree_find(const conf_node *root, const char *path);
/* Add every leaf as an argument named by its path: "model.num-layers". A list of scalars
 * is one value, its items separated by blanks. ${a.b}, ${.x}, ${multiply:a,b} and
 * ${divide_floor:a,b} are resolved. References that cannot be resolved stay as
 * written. */
void launch_tree_flatten(launch_args *a, const conf_node *root);
/* The value of a node as text in the launch's memory; NULL: none. */
const char *launch_tree_text(launch_args *a, const conf_node *root,
                             const conf_node *parent, const conf_node *node);

#endif
