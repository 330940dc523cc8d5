/*
 * edit/obfuscate.h - the parts of `trace obfuscate`: what is kept of a node
 * (obfuscate_node.c), what names become (obfuscate_names.c), how sizes are rounded
 * (obfuscate_sizes.c), how the graph is changed (obfuscate_structure.c), and the search
 * for what should not be there (obfuscate_scan.c).
 *
 * To let a further attribute through: one row in the table of obfuscate_node.c, which
 * says what becomes of it, and a test.
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

/* Ids from here on: in a list of them no eight bytes in a row are ASCII, so that none can
 * read like a name. */
enum { OBFUSCATE_FIRST_ID = 128 };

/* A geometric scale on which every value has a point at most `step` of it away. */
enum { OBFUSCATE_POINTS = 2048 };
typedef struct obfuscate_scale {
    double step; /* 0 = values stay */
    double ratio, log_ratio;
    double point[OBFUSCATE_POINTS]; /* the first powers of the ratio */
} obfuscate_scale;
void obfuscate_scale_init(obfuscate_scale *s, double step);

/* What holds for all traces of a set; only read while they are worked on. */
typedef struct obfuscate_job {
    const halley_obfuscate_opts *opts;
    siphash_key key;
    halley_obfuscate_level level;
    obfuscate_scale scale;       /* of sizes */
    double strength;             /* share of the changes of structure that are made */
    trace_groups old;            /* groups of the input */
    map64 group_number;          /* hash of a group's name -> its new number */
    uint64_t start_us, start_ns; /* earliest of the set */
} obfuscate_job;

/* What happened to one trace. {0} is nothing. */
typedef struct obfuscate_counts {
    intern whats;
    ARRAY(uint64_t) n; /* by whats */
    intern names;      /* that were replaced */
    uint64_t n_nodes;
    double size_error, duration_error;
    uint64_t n_split, n_joined, n_edges_added, n_edges_dropped;
} obfuscate_counts;

/* Count something as removed; false: no memory. */
bool obfuscate_count(obfuscate_counts *c, str what, uint64_t n);

/* All levels but structure: a copy that holds only what is understood. */
halley_status obfuscate_clean(halley_trace **out, obfuscate_counts *counts,
                              const obfuscate_job *job, const halley_trace *trace,
                              halley_error *err);
/* A cleaned trace with another graph that runs as long. */
halley_status obfuscate_structure(halley_trace **out, obfuscate_counts *counts,
                                  const obfuscate_job *job, const halley_trace *trace,
                                  halley_error *err);

/* Room for a pseudonym and its end. */
enum { OBFUSCATE_NAME = 20 };
/* "x" and 16 letters and digits that only the key connects with the text. */
void obfuscate_pseudonym(char to[OBFUSCATE_NAME], siphash_key key, str text);
/* What a group is called at a level: its own name, or a number, written into `room`. */
enum { OBFUSCATE_GROUP = 24 };
str obfuscate_group(char room[OBFUSCATE_GROUP], const obfuscate_job *job,
                    halley_obfuscate_level level, str name);
/* What kind of operator a node is, in at most 7 letters; static. */
str obfuscate_class(const halley_trace *trace, uint32_t node);

/* The nearest point of a scale. Whole numbers too small for its step stay. */
uint64_t obfuscate_round(uint64_t value, const obfuscate_scale *s);
double obfuscate_round_real(double value, const obfuscate_scale *s);

/* Which texts of a trace may stay: attributes that --keep names. */
bool obfuscate_keeps(const halley_obfuscate_opts *opts, str name);
/* The words of the schema that every trace holds. */
str obfuscate_word(uint32_t i); /* {NULL, 0} after the last */

/* HALLEY_EINVAL: a run of 8 or more printable bytes of the texts of `before`, or of its
 * path, stands in the bytes of `after`; the sentence quotes it. `keep`: those bytes stay
 * with `after`, to be saved. */
typedef struct obfuscate_scanned {
    uint64_t n_bytes, n_text_bytes;
} obfuscate_scanned;
halley_status obfuscate_scan(obfuscate_scanned *out, const halley_obfuscate_opts *opts,
                             const halley_trace *before, halley_trace *after, size_t keep,
                             uint32_t n_threads, halley_error *err);

#endif
