/*
 * topology/import/draft.h - a graph while a file of another tool is read: devices by
 * name, links in the order of the file, warnings.
 */
#ifndef TOPOLOGY_IMPORT_DRAFT_H
#define TOPOLOGY_IMPORT_DRAFT_H

#include "base/conf/conf.h"
#include "base/hash.h"
#include "topology/import/import.h"

typedef struct hw_draft_device {
    uint8_t kind;   /* hw_device_kind */
    uint32_t line;  /* of the file; 0 = unknown */
    uint32_t node;  /* server that contains it; HW_NONE = none */
    uint32_t order; /* NPUs are numbered by this, then by their order in the file */
} hw_draft_device;

typedef struct hw_draft_link {
    uint32_t from, to;
    double bw_Bps, latency_s; /* HW_UNKNOWN = not stated */
    bool one_way;
    uint16_t kind; /* index into kind_names + 1; 0 = named after the devices */
} hw_draft_link;

struct hw_draft {
    str text;
    const char *path;
    const hw_import_options *options;
    halley_error *err;
    intern names; /* the id of a name is the id of its device */
    ARRAY(hw_draft_device) devices;
    ARRAY(hw_draft_link) links;
    intern kind_names; /* kinds of links, if the file names them */
    strbuf warnings;   /* one per line */
    uint32_t n_warnings;
};

/* Set the error, with its line (0 = unknown) and "[code]" at the end. Returns its
 * status. */
halley_status hw_draft_fail(hw_draft *d, uint32_t line, const char *code,
                            const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void hw_draft_warn(hw_draft *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The maximum number of devices in a file. */
uint32_t hw_draft_limit(const hw_draft *d);
/* Add a device; a duplicate name is an error. `out` may be NULL. */
halley_status hw_draft_add_device(uint32_t *out, hw_draft *d, hw_device_kind kind,
                                  str name, uint32_t line);
uint32_t hw_draft_find(const hw_draft *d, str name); /* HW_NONE: no such device */
/* Fails for loops and rates that are not positive. */
halley_status hw_draft_add_link(hw_draft *d, const hw_draft_link *link, uint32_t line);
/* The index of a link kind for hw_draft_link.kind; 0 when memory ran out. */
uint16_t hw_draft_name_kind(hw_draft *d, str name);
str hw_draft_name(const hw_draft *d, uint32_t device);

/* Parse the text as JSON or YAML. Errors get "truncated" or "duplicate-key". */
halley_status hw_draft_parse_conf(conf_file *out, hw_draft *d);
/* hw_draft_fail at a node of the parsed file. */
halley_status hw_draft_fail_at(hw_draft *d, const conf_node *at, const char *code,
                               const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Read "400Gbps" as B/s, "0.5us" as s: units of ns-3 and SimGrid. False: not such a
 * text. */
bool hw_read_rate(str text, double *bw_Bps);
bool hw_read_delay(str text, double *latency_s);
/* The next word of a text, separated by white space; false at the end. */
bool hw_next_word(str *text, str *word);

/* An XML file as a tree in an arena. */
typedef struct hw_xml {
    str name, attributes;
    uint32_t line;
    struct hw_xml *first, *last, *next; /* children; next sibling */
} hw_xml;
halley_status hw_xml_parse(hw_xml **root, arena *memory, hw_draft *d);
bool hw_xml_attribute(const hw_xml *e, const char *name, str *value);
/* The same with entities resolved (&amp; ...); the text may be in `memory`. */
bool hw_xml_text(const hw_xml *e, const char *name, arena *memory, str *value);
const hw_xml *hw_xml_child(const hw_xml *e, const char *name); /* NULL: none */

/* Make the graph of a draft: NPUs first, then NICs, switches by their distance from the
 * endpoints, then the rest. Each kind is in the order of the file. */
halley_status hw_draft_finish(hw_graph **out, hw_draft *d, const char *format);

#endif
