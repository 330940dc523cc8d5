/*
 * halley/learn.h - learn the statistics of trace sets, and generate new sets that have
 * them.
 *
 * A set is the traces of one job: PREFIX.0.et, PREFIX.1.et, or a single file. Its
 * conditions (family, layers, tp, pp, dp, batch or anything else) are read from
 * PREFIX.conditions.json next to it. That file is one flat JSON object of numbers and
 * words. Without it, the conditions are attributes of the trace's metadata. The number of
 * ranks is always a condition. Sets without any conditions use their total compute and
 * bytes sent instead.
 */
#ifndef HALLEY_LEARN_H
#define HALLEY_LEARN_H

#include "halley/trace.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* {0} is the default. */
typedef struct halley_learn_opts {
    uint32_t min_support; /* keep only what this many sets have; 0 = 5 */
    bool strict; /* a set that fails the check, or a folder that cannot be opened,
                    is an error; else it is skipped */
    /* Called after every set; NULL = none. */
    const halley_watch *watch;
} halley_learn_opts;

typedef struct halley_learn_report {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_sets, n_skipped;
    uint64_t n_traces, n_nodes;
    uint32_t n_templates, n_covered; /* templates kept, and the sets they represent */
    uint32_t n_operators, n_laws, n_conditions;
    char first_skipped[HALLEY_ERROR_TEXT]; /* why; "" = none */
    uint32_t n_folders_skipped;            /* subfolders that could not be opened */
    char first_folder_skipped[HALLEY_ERROR_TEXT];
    uint64_t room[HALLEY_ROOM + 9]; /* reserved for new members; 0 */
} halley_learn_report;

/*
 * Learn from files, prefixes and folders (searched to any depth) and write the model to
 * `path`. Only a few sets are in memory at a time. EINVAL: there are no traces,
 * min_support sets have nothing in common, or `path` is a file that is no model and would
 * be overwritten.
 */
halley_status halley_learn(const char *path, const char *const *from, size_t n_from,
                           const halley_learn_opts *opts, halley_learn_report *report,
                           halley_error *err);

typedef struct halley_synth halley_synth; /* a loaded model that can generate sets */

/* EINVAL, with a sentence for each case: the file is damaged, of another format, or
 * modified. */
halley_status halley_synth_load(halley_synth **out, const char *path, halley_error *err);
void halley_synth_free(halley_synth *synth);

/* What the model has learned about a condition. Texts are lent. */
typedef struct halley_synth_condition {
    const char *name;
    bool is_text;
    double low, high; /* numbers: the range seen */
    uint32_t n_values;
    uint32_t n_sets;
} halley_synth_condition;
uint32_t halley_synth_condition_count(const halley_synth *synth);
halley_synth_condition halley_synth_condition_get(const halley_synth *synth, uint32_t i);

/* Fix a condition for the sets that are made next ("layers=12", "compute=1e18",
 * "bytes=2e9"). EINVAL: the text is not NAME=VALUE. Making a set reports whether the
 * value was seen in training. */
halley_status halley_synth_fix(halley_synth *synth, const char *condition,
                               halley_error *err);
/* {0}: any number of ranks, seed 0, one thread per core. */
typedef struct halley_synth_opts {
    uint32_t n_ranks;
    uint64_t seed;
    bool extrapolate;   /* allow conditions that were never seen */
    uint32_t n_threads; /* 0 = one per core; the sets are the same with any number */
    const halley_watch *watch; /* halley_synth_save: progress in sets; NULL = none */
} halley_synth_opts;

typedef struct halley_synth_summary {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_ranks, n_stages, n_groups;
    uint64_t n_nodes;           /* over all ranks */
    uint64_t n_left_out;        /* messages and collectives without a partner */
    bool is_scaled;             /* no template fits: the nearest one was scaled */
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_synth_summary;

/* Make the set of opts->seed, which is the same every time. On success the caller owns
 * *out. */
halley_status halley_synth_make(halley_trace_set **out, const halley_synth *synth,
                                const halley_synth_opts *opts,
                                halley_synth_summary *summary, halley_error *err);

/* One set of a folder to make. */
typedef struct halley_synth_order {
    const char *name; /* NAME.0.et and so on */
    uint64_t seed;
    /* Path of a file NAME.conditions.json. The conditions in it that the model knows
     * replace those of halley_synth_fix. NULL = none. */
    const char *conditions;
    halley_synth_summary made; /* output */
} halley_synth_order;

/*
 * Make a folder of sets. Each set has NAME.0.et ..., NAME.comm_group.json (if it has
 * groups) and NAME.conditions.json. The folder must be new or empty (else EINVAL). A new
 * folder appears when all sets are complete, or not at all. opts->seed is not used.
 *
 * If no condition is fixed (by halley_synth_fix, opts or the orders), the sets are drawn
 * jointly. Families and sizes then occur in their learned proportions. Each set is still
 * a draw from the model, but which one depends on the number of sets.
 */
halley_status halley_synth_save(const char *folder, const halley_synth *synth,
                                halley_synth_order *orders, size_t n,
                                const halley_synth_opts *opts, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
