/*
 * halley/synth.h - traces one can share: hide what a trace gives away, change what it
 * says, compare it with another.
 */
#ifndef HALLEY_SYNTH_H
#define HALLEY_SYNTH_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* HALLEY_EINVAL, with the first of its errors, when the set does not pass `trace check`.
 * `groups_path` as for halley_trace_check. */
halley_status halley_trace_set_passes(const halley_trace_set *set,
                                      const char *groups_path, halley_error *err);

/* The clusters on which simulated times are compared: presets, with as many NPUs as the
 * set has ranks. Compute takes its recorded duration; on the last it is timed by the
 * roofline where all nodes say how much they do. */
enum { HALLEY_N_REFERENCES = 3 };
const char *halley_reference_name(uint32_t i); /* "dgx-a100"; static */

/* Each level does what those before it do. */
typedef enum halley_obfuscate_level {
    HALLEY_HIDE_IDS,       /* ids renumbered; all that is not understood removed */
    HALLEY_HIDE_NAMES,     /* names and groups replaced */
    HALLEY_HIDE_SIZES,     /* sizes and durations rounded, recorded starts removed */
    HALLEY_HIDE_STRUCTURE, /* compute nodes split and joined, redundant edges changed */
} halley_obfuscate_level;

/* What of IOInfo may stay, as bits. */
enum {
    HALLEY_KEEP_VALUES = 1,
    HALLEY_KEEP_SHAPES = 2,
    HALLEY_KEEP_TYPES = 4,
};

/* Any text as a key: as hard to guess as the text. */
void halley_fold_key(uint8_t key[16], const void *text, size_t n);

typedef struct halley_obfuscate_opts {
    halley_obfuscate_level level;
    uint8_t key[16];         /* of pseudonyms and choices; secret and random */
    bool classes;            /* names become operator classes, not pseudonyms */
    const char *const *keep; /* attributes that stay as they are, by name */
    size_t n_keep;
    uint32_t keep_io;        /* HALLEY_KEEP_* */
    double bound;            /* largest relative error of a size, a duration and the
                                simulated time; 0 = 0.05 */
    const char *groups_path; /* ASTRA-sim's {"1": [0, 1]}; NULL = as the traces say */
    uint32_t n_threads;      /* 0 = one per core */
    bool vary;               /* from level sizes on: equal sizes and durations become
                                different ones within the bound; messages stay */
} halley_obfuscate_opts;

/* Something and how often. */
typedef struct halley_tally {
    const char *what;
    uint64_t n;
} halley_tally;

typedef struct halley_before_after {
    const char *cluster; /* "" = the longest chain of durations */
    double before_s, after_s;
} halley_before_after;

typedef struct halley_obfuscation {
    size_t size;           /* filled by the library, see error.h */
    halley_trace_set *set; /* the result */
    halley_obfuscate_level level;
    uint64_t n_nodes, n_nodes_before;
    uint64_t n_names, n_groups; /* different ones that were replaced */
    halley_tally *removed;      /* by count, then by name; each distinct trace once */
    size_t n_removed;
    double bound;
    double size_error, duration_error; /* the largest relative ones */
    double quantum;                    /* relative step of the sizes; 0 = none */
    uint64_t n_split, n_joined, n_edges_added, n_edges_dropped;
    halley_before_after times[HALLEY_N_REFERENCES]; /* from level sizes on */
    uint32_t n_times;
    const char *unverified; /* why the set could not be simulated; NULL: it was */
    uint64_t scanned_bytes, scanned_texts_bytes; /* from level names on */
    const char **visible;                        /* what whoever gets it can still see */
    size_t n_visible;
    void *memory; /* behind the texts; groups, too */
} halley_obfuscation;

/*
 * A set that can be shown. Ids keep their order, so simulated time stays the same for
 * `ids` and `names`; from `sizes` on it is measured before and after on the reference
 * clusters (where the set cannot be simulated, as the longest chain of durations) and
 * stays within the bound: with finer steps or fewer changes if need be, else
 * HALLEY_EINVAL. The result passes `trace check`; if it does not, that is HALLEY_EINVAL,
 * too, and has its cause in the input. From `names` on the result is searched for every
 * run of 8 printable bytes of names, texts and paths of the input; HALLEY_EINVAL if one
 * is found. On success *out is the caller's, to free with halley_obfuscation_free.
 */
halley_status halley_trace_obfuscate(halley_obfuscation **out,
                                     const halley_trace_set *set,
                                     const halley_obfuscate_opts *opts,
                                     halley_error *err);
/* The groups under their new names, as ASTRA-sim reads them; no groups, no file. */
halley_status halley_obfuscation_save_groups(const halley_obfuscation *o,
                                             const char *path, halley_error *err);
void halley_obfuscation_free(halley_obfuscation *o); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
