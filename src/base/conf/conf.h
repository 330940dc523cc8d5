/*
 * base/conf/conf.h - a common tree for small configuration files in YAML (libyaml) or
 * JSON, and schema tables that turn one of its maps into a C struct.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/arena.h"
#include "base/error.h"
#include "base/fact.h"
#include "base/number/units.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum conf_kind { CONF_NULL, CONF_SCALAR, CONF_LIST, CONF_MAP } conf_kind;

/* A node of the tree; lent, owned by its conf_file. */
typedef struct conf_node {
    conf_kind kind;
    bool quoted; /* a scalar written in quotes: never a number, boolean or null */
    uint32_t line, column; /* of its first character, from 1; 0 where unknown (JSON) */
    uint32_t key_line, key_column; /* of its key, if it is in a map */
    str text;   /* of a scalar, as written; JSON strings and YAML escapes resolved */
    uint32_t n; /* items of a list, entries of a map */
    str *keys;  /* of a map, in file order; loading refuses duplicate keys */
    struct conf_node **items; /* of a list or map */
} conf_node;

typedef struct conf_file {
    arena memory;
    const char *path; /* as given; used in errors */
    conf_node *root;  /* never NULL after a successful load; an empty file is CONF_NULL */
} conf_file;

/*
 * Read a whole file. It is JSON if its name ends in .json. It is also JSON if it starts
 * with { or [, parses as JSON and is not named .yaml or .yml. Otherwise it is YAML.
 * Anchors, aliases, tags and several documents are refused; nesting is limited to 64.
 * Numbers keep their text, except in JSON: there they are integers up to 2^63 or the
 * shortest text of a double.
 */
halley_status conf_load(conf_file *out, const char *path, halley_error *err);
/* The same for tables and topologies, which may be as large as the memory limit. */
halley_status conf_load_table(conf_file *out, const char *path, halley_error *err);
/* The same for files of programs that accept JSON with duplicate keys (the last counts)
 * and with text after its end. */
halley_status conf_load_lax(conf_file *out, const char *path, halley_error *err);
/* The same from memory; errors show `name` in place of the path. */
halley_status conf_parse(conf_file *out, str text, const char *name, halley_error *err);
/* The same for YAML of other programs: anchors, aliases and merges (<<) are resolved, and
 * duplicate keys appear twice in their map. */
halley_status conf_parse_foreign(conf_file *out, str text, const char *name,
                                 halley_error *err);
/* Parse only JSON, from memory. With `used`, the last of duplicate keys counts, and text
 * may follow the value: *used is the number of bytes up to its end. */
halley_status conf_parse_only_json(conf_file *out, str text, size_t *used,
                                   halley_error *err);
void conf_fini(conf_file *file);

/* Write a node as JSON, formatted like Python's json.dumps. */
void conf_node_print(strbuf *to, const conf_node *node);

/* NULL if absent. '_' in the file matches '-' in the key, because JSON files use it. */
const conf_node *conf_find(const conf_node *map, const char *key);
/* True if `written` is this key, with '_' for '-'. */
bool conf_key_is(str written, const char *key);
/* An error at this node: error_set + file + line. Returns code. */
halley_status conf_error(const conf_file *file, const conf_node *at, halley_error *err,
                         halley_status code, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* How a value is read and stored in the struct. */
typedef enum conf_type {
    CONF_TYPE_U32, /* a whole number: 12, 1e6, 4.0 */
    CONF_TYPE_U64,
    CONF_TYPE_DOUBLE,   /* plain number */
    CONF_TYPE_QUANTITY, /* double with the unit of `unit` */
    CONF_TYPE_BOOL,     /* true false yes no on off; into a bool */
    CONF_TYPE_TEXT,     /* str, lent from the tree */
    CONF_TYPE_ENUM,     /* one of `names` (NULL-terminated), index into a uint32_t */
    CONF_TYPE_NODE,     /* const conf_node *: a list or map the caller reads further */
    CONF_TYPE_FACT,     /* of conf_read_facts: as the row `fact` says */
} conf_type;

typedef struct conf_field {
    const char *key;
    conf_type type;
    units_kind unit; /* for QUANTITY */
    size_t offset;   /* offsetof the struct's member */
    bool required;
    double min,
        max; /* inclusive, for numbers; both 0 = no bound, max < min = no maximum */
    const char *const *names; /* for ENUM */
    const char *doc;          /* one line, for --help, man page and schema */
    const char *by_default;   /* as written in a file; NULL = none, or see doc */
    const char *example;      /* a value with its unit; NULL = not needed */
    const char *was; /* older path from the file's root that is still read; NULL = none */
    const char *const *names_were; /* older words for `names`, one each; NULL = none */
    const fact *fact;              /* of FACT */
} conf_field;
/* A row without bounds for a struct's member. Tables wrap it with the struct's name. */
#define CONF_FIELD(of, key_, type_, unit_, member, required_, doc_)                      \
    {                                                                                    \
        .key = (key_), .type = (type_), .unit = (unit_), .offset = offsetof(of, member), \
        .required = (required_), .doc = (doc_)                                           \
    }

/* The same with a default, as manual pages show it, and an example. */
#define CONF_FIELD_SHOWN(of, key_, type_, unit_, member, required_, doc_, default_,      \
                         example_)                                                       \
    {                                                                                    \
        .key = (key_), .type = (type_), .unit = (unit_), .offset = offsetof(of, member), \
        .required = (required_), .doc = (doc_), .by_default = (default_),                \
        .example = (example_)                                                            \
    }

/*
 * Fill `to` from `map` by a table of n fields. Absent optional keys do not change the
 * member, so set defaults before. Errors name file, line and key: "c.yaml:4:14: bandwidth
 * must be positive, is -900 GB/s". If `strict`, an unknown key is an error that suggests
 * the nearest known key, and a key without a value is an error. Otherwise unknown keys
 * are counted in *n_unknown (may be NULL) and ignored, and a key without a value counts
 * as absent. A NULL `map` is an empty one.
 */
halley_status conf_read(void *to, const conf_file *file, const conf_node *map,
                        const conf_field *fields, size_t n, bool strict,
                        uint32_t *n_unknown, halley_error *err);

/* Fill `to` from `map` by the rows of a table of inputs (base/fact.h), strictly. */
halley_status conf_read_facts(void *to, const conf_file *file, const conf_node *map,
                              const fact_table *table, halley_error *err);

/* One scalar, with the same errors; `key` names it. */
halley_status conf_to_double(double *out, const conf_file *file, const conf_node *node,
                             const char *key, halley_error *err);
halley_status conf_to_i64(int64_t *out, const conf_file *file, const conf_node *node,
                          const char *key, halley_error *err);
halley_status conf_to_quantity(double *out, const conf_file *file, const conf_node *node,
                               units_kind unit, const char *key, halley_error *err);
halley_status conf_to_bool(bool *out, const conf_file *file, const conf_node *node,
                           const char *key, halley_error *err);

#endif
