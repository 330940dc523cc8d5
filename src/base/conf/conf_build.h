/* base/conf/conf_build.h - how the YAML and the JSON reader make a conf tree; for conf*.c
 * only. */
#ifndef BASE_CONF_BUILD_H
#define BASE_CONF_BUILD_H

#include "base/conf/conf.h"

enum { CONF_DEPTH = 64 };

/* NULL when memory ran out. Texts are copied. */
conf_node *conf_node_new(conf_file *file, conf_kind kind);
conf_node *conf_scalar_new(conf_file *file, str text, bool quoted);
/* Whether a plain scalar is how YAML writes null. */
bool conf_is_null(str text);

/* Both write file->root; file->path is set. Errors have their line but not the file. */
/* `aliases`: anchors, aliases and merges are followed and a key may be given twice, else
 * both are refused. */
halley_status conf_parse_yaml(conf_file *file, str text, bool aliases, halley_error *err);
/* `lax`: the last of equal keys counts, and text after the value is ignored. *used is the
 * number of bytes up to there; NULL is fine. */
halley_status conf_parse_json(conf_file *file, str text, bool lax, size_t *used,
                              halley_error *err);

#endif
