/*
 * halley/synth.h - make traces that can be shared: anonymize what a trace leaks, change
 * its numbers, and compare it with another.
 */
#ifndef HALLEY_SYNTH_H
#define HALLEY_SYNTH_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* HALLEY_EINVAL, with the first error found, if the set does not pass `trace check`.
 * `groups_path` works as for halley_trace_check. */
halley_status halley_trace_set_passes(const halley_trace_set *set,
                                      const char *groups_path, halley_error *err);

/* The clusters on which simulated times are compared: presets, with as many NPUs as the
 * set has ranks. Compute takes its recorded duration. On the last cluster it is timed by
 * the roofline if all nodes have operation counts. */
enum { HALLEY_N_REFERENCES = 3 };
const char *halley_reference_name(uint32_t i); /* "dgx-a100"; static */

/* Each level includes all levels before it. */
typedef enum halley_obfuscate_level {
    HALLEY_HIDE_IDS,       /* ids renumbered; everything that halley does not interpret
                              removed */
    HALLEY_HIDE_NAMES,     /* names and groups replaced */
    HALLEY_HIDE_SIZES,     /* sizes and durations rounded, recorded starts removed */
    HALLEY_HIDE_STRUCTURE, /* compute nodes split and joined, redundant edges changed */
} halley_obfuscate_level;

/* Parts of IOInfo that may stay, as bits. */
enum {
    HALLEY_KEEP_VALUES = 1,
    HALLEY_KEEP_SHAPES = 2,
    HALLEY_KEEP_TYPES = 4,
};

/* Turn any text into a key, which is as hard to guess as the text. */
void halley_fold_key(uint8_t key[16], const void *text, size_t n);

typedef struct halley_obfuscate_opts {
    halley_obfuscate_level level;
    uint8_t key[16];         /* for pseudonyms and random choices; must be secret and
                                random */
    bool classes;            /* names become operator classes, not pseudonyms */
    const char *const *keep; /* attributes that stay as they are, by name */
    size_t n_keep;
    uint32_t keep_io;        /* HALLEY_KEEP_* */
    double bound;            /* largest relative error of a size, a duration and the
                                simulated time; 0 = 0.05 */
    const char *groups_path; /* ASTRA-sim's {"1": [0, 1]}; NULL = as the traces say */
    uint32_t n_threads;      /* 0 = one per core */
    bool vary;               /* from level `sizes` on: equal sizes and durations become
                                different ones within the bound; message sizes do not
                                change */
    bool hide_device;        /* remove the name of the device that was recorded */
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
    uint64_t n_names, n_groups; /* numbers of different ones that were replaced */
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
    const char **visible;                        /* what the recipient can still see */
    size_t n_visible;
    void *memory; /* holds the texts and groups */
} halley_obfuscation;

/*
 * Make a set that can be shared. Ids keep their order, so simulated time does not change
 * for `ids` and `names`. From `sizes` on, it is measured before and after on the
 * reference clusters. If the set cannot be simulated, the longest chain of durations is
 * used instead. The time stays within the bound: halley uses finer steps or fewer changes
 * if necessary, else it returns HALLEY_EINVAL.
 *
 * The result passes `trace check`. If it does not, the input is the cause, and that is
 * HALLEY_EINVAL, too. From `names` on, the result is searched for every run of 8
 * printable bytes in names, texts and paths of the input. A match is HALLEY_EINVAL. On
 * success the caller owns *out and frees it with halley_obfuscation_free.
 */
halley_status halley_trace_obfuscate(halley_obfuscation **out,
                                     const halley_trace_set *set,
                                     const halley_obfuscate_opts *opts,
                                     halley_error *err);
/* Write the groups under their new names in ASTRA-sim's format. Without groups, no file
 * is written. */
halley_status halley_obfuscation_save_groups(const halley_obfuscation *o,
                                             const char *path, halley_error *err);
void halley_obfuscation_free(halley_obfuscation *o); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
