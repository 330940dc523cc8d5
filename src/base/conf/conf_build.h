/*
 * base/conf/conf_build.h - how the YAML and JSON readers build a conf tree; only for
 * conf*.c.
 */
#ifndef BASE_CONF_BUILD_H
#define BASE_CONF_BUILD_H

#include "base/conf/conf.h"

enum { CONF_DEPTH = 64 };

/* NULL when memory ran out. Texts are copied. */
conf_node *conf_node_new(conf_file *file, conf_kind kind);
conf_node *conf_scalar_new(conf_file *file, str text, bool quoted);
/* True if a plain scalar is one of YAML's spellings of null. */
bool conf_is_null(str text);

/* Both functions write file->root; file->path must be set. Errors contain the line but
 * not the file. */
/* `aliases`: resolve anchors, aliases and merges, and allow duplicate keys; otherwise all
 * of these are refused. */
halley_status conf_parse_yaml(conf_file *file, str text, bool aliases, halley_error *err);
/* `lax`: the last of duplicate keys counts, and text after the value is ignored. *used is
 * the number of bytes up to the end of the value; `used` may be NULL. */
halley_status conf_parse_json(conf_file *file, str text, bool lax, size_t *used,
                              halley_error *err);

#endif
