/* Any bytes as a configuration file, YAML and JSON; what parses is read in every way. */
#include "base/conf/conf.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

typedef struct values {
    double number, size;
    uint64_t count;
    uint32_t choice;
} values;

static void read_scalar(const conf_file *file, const conf_node *node)
{
    halley_error err;
    double number;
    int64_t whole;
    bool flag;
    (void)conf_to_double(&number, file, node, "key", &err);
    (void)conf_to_i64(&whole, file, node, "key", &err);
    (void)conf_to_bool(&flag, file, node, "key", &err);
    for (int kind = 0; kind < UNITS_N_KINDS; kind++) {
        char text[64];
        if (conf_to_quantity(&number, file, node, (units_kind)kind, "key", &err) ==
            HALLEY_OK)
            units_format(text, sizeof text, number, (units_kind)kind);
    }
}

static void read_node(const conf_file *file, const conf_node *node)
{
    static const char *const names[] = {"a", "key", NULL};
    static const conf_field fields[] = {
        {.key = "a",
         .type = CONF_TYPE_DOUBLE,
         .unit = 0,
         .offset = offsetof(values, number),
         .min = 1,
         .max = 10,
         .doc = NULL},
        {.key = "b",
         .type = CONF_TYPE_QUANTITY,
         .unit = UNITS_BYTES,
         .offset = offsetof(values, size),
         .min = 1,
         .max = 0,
         .doc = NULL},
        {.key = "name",
         .type = CONF_TYPE_U64,
         .unit = 0,
         .offset = offsetof(values, count),
         .required = true,
         .doc = "a count"},
        {.key = "key",
         .type = CONF_TYPE_ENUM,
         .unit = 0,
         .offset = offsetof(values, choice),
         .names = names,
         .doc = NULL},
    };
    values to;
    halley_error err;
    for (int strict = 0; strict < 2; strict++)
        (void)conf_read(&to, file, node, fields, 4, strict == 1, NULL, &err);
    if (node->kind == CONF_SCALAR)
        read_scalar(file, node);
    for (uint32_t i = 0; i < node->n; i++) /* at most 64 deep */
        read_node(file, node->items[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    static const char *const names[] = {"input", "input.yaml", "input.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        conf_file file;
        halley_error err = {0};
        if (conf_parse(&file, (str){(const char *)at, n}, names[i], &err) == HALLEY_OK) {
            read_node(&file, file.root);
            conf_fini(&file);
        } else if (err.text[0] == '\0') {
            abort(); /* a failure without a sentence */
        }
    }
    return 0;
}
