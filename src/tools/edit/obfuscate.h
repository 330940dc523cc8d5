/*
 * edit/obfuscate.h - the parts of `trace obfuscate`.
 *
 *   Attributes of nodes that are kept: obfuscate_node.c.
 *   Texts and metadata that are kept: obfuscate_words.c.
 *   Replacement of names: obfuscate_names.c.
 *   Rounding of sizes: obfuscate_sizes.c.
 *   Changes of the graph: obfuscate_structure.c.
 *   Search for text that should have been removed: obfuscate_scan.c.
 *
 * To keep a further attribute, add one row to the table of obfuscate_node.c, which says
 * how the attribute is changed, and a test.
 */
#ifndef EDIT_OBFUSCATE_H
#define EDIT_OBFUSCATE_H

#include "base/arena.h"
#include "base/hash.h"
#include "edit/siphash.h"
#include "halley/synth.h"
#include "trace/core/distinct.h"
#include "trace/core/groups.h"
#include "trace/core/store.h"

/* The first id. In a list of ids from here on, no eight consecutive bytes are ASCII, so
 * none can look like a name. */
enum { OBFUSCATE_FIRST_ID = 128 };

/* A geometric scale. Every value has a point within a relative distance of `step`. */
enum { OBFUSCATE_POINTS = 2048 };
typedef struct obfuscate_scale {
    double step; /* 0 = values are not changed */
    double ratio, log_ratio;
    double point[OBFUSCATE_POINTS]; /* the first powers of the ratio */
} obfuscate_scale;
void obfuscate_scale_init(obfuscate_scale *s, double step);

/* The facts about all traces of a set. They are only read while traces are processed. */
typedef struct obfuscate_job {
    const halley_obfuscate_opts *opts;
    siphash_key key;
    halley_obfuscate_level level;
    obfuscate_scale scale; /* of sizes */
    double strength;       /* fraction of the possible structure changes that are made */
    trace_groups old;      /* groups of the input */
    map64 group_number;    /* hash of a group's name -> its new number */
    uint64_t start_us, start_ns; /* earliest start in the set */
} obfuscate_job;

/* What was changed in one trace. {0} is nothing. */
typedef struct obfuscate_counts {
    intern whats;
    ARRAY(uint64_t) n; /* by `whats` */
    intern names;      /* replaced names */
    uint64_t n_nodes;
    double size_error, duration_error;
    uint64_t n_split, n_joined, n_edges_added, n_edges_dropped;
} obfuscate_counts;

/* Counts something as removed. False: no memory. */
bool obfuscate_count(obfuscate_counts *c, str what, uint64_t n);

/* All levels but structure: makes a copy that holds only known attributes. */
halley_status obfuscate_clean(halley_trace **out, obfuscate_counts *counts,
                              const obfuscate_job *job, const halley_trace *trace,
                              halley_error *err);
/* Makes a cleaned trace with a different graph of the same duration. */
halley_status obfuscate_structure(halley_trace **out, obfuscate_counts *counts,
                                  const obfuscate_job *job, const halley_trace *trace,
                                  halley_error *err);

/* Room for a pseudonym and its terminator. */
enum { OBFUSCATE_NAME = 20 };
/* A pseudonym: "x" and 16 letters and digits. Only the key connects it with the text. */
void obfuscate_pseudonym(char to[OBFUSCATE_NAME], siphash_key key, str text);
/* The name of a group at a level: its own name, or a number that is written into
 * `room`. */
enum { OBFUSCATE_GROUP = 24 };
str obfuscate_group(char room[OBFUSCATE_GROUP], const obfuscate_job *job,
                    halley_obfuscate_level level, str name);
/* The class of an operator, in at most 7 characters. The string is static. */
str obfuscate_class(const halley_trace *trace, uint32_t node);

/* The nearest point of the scale. Integers that are too small for its step are not
 * changed. */
uint64_t obfuscate_round(uint64_t value, const obfuscate_scale *s);
double obfuscate_round_real(double value, const obfuscate_scale *s);

/* True if --keep names the attribute, so its text may stay. */
bool obfuscate_keeps(const halley_obfuscate_opts *opts, str name);
/* The names of the attributes that are kept. */
str obfuscate_schema_word(uint32_t i); /* {NULL, 0} after the last */
/* The words of halley's own vocabulary: class of a kernel, type of elements, direction of
 * a copy. They say nothing about whose trace it is. */
bool obfuscate_is_public(str text);
/* Both, and the keys of metadata that stay. */
str obfuscate_word(uint32_t i); /* {NULL, 0} after the last */
/* Appends what may stay of a metadata entry at the level of the job. False: nothing. */
bool obfuscate_metadata(strbuf *to, str name, str text, const obfuscate_job *job);

/* Searches the bytes of `after` for text of the input. HALLEY_EINVAL: a run of 8 or more
 * printable bytes of the texts of `before`, or of its path, was found; the message
 * quotes it. Up to `keep` bytes stay with `after`, to be saved. */
typedef struct obfuscate_scanned {
    uint64_t n_bytes, n_text_bytes;
} obfuscate_scanned;
halley_status obfuscate_scan(obfuscate_scanned *out, const halley_obfuscate_opts *opts,
                             const halley_trace *before, halley_trace *after, size_t keep,
                             uint32_t n_threads, halley_error *err);

#endif
