/*
 * halley/learn.h - learn the statistics of trace sets, and make new sets that have them.
 *
 * A set is the traces of one job: PREFIX.0.et, PREFIX.1.et, or a single file. What it was
 * made under (its conditions: family, layers, tp, pp, dp, batch, anything) is read from
 * PREFIX.conditions.json beside it, one flat JSON object of numbers and words, else from
 * the attributes of the trace's metadata; the number of ranks is always known, and of
 * sets that say nothing, compute and bytes sent are taken in place of the rest.
 */
#ifndef HALLEY_LEARN_H
#define HALLEY_LEARN_H

#include "halley/trace.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the programs and numbers of new sets come from. */
typedef enum halley_learn_kind {
    HALLEY_LEARN_GRAMMAR, /* templates, loops and laws */
    HALLEY_LEARN_NEURAL,  /* a network, trained on the same programs; also keeps those */
} halley_learn_kind;

/* {0} is the default. */
typedef struct halley_learn_opts {
    halley_learn_kind kind;
    uint64_t seed;        /* of the network: the same, the same model */
    uint32_t n_steps;     /* of its training at most; 0 = 1000 */
    uint32_t min_support; /* keep only what this many sets have; 0 = 5 */
    bool strict; /* a set that fails the check, or a folder that cannot be opened,
                    is an error; else it is skipped */
    bool fresh;  /* do not go on from where an earlier training of the network stopped */
    /* Looks after every set, and now and then while a network is trained; NULL = none. A
     * training that was cancelled can be resumed. */
    const halley_watch *watch;
} halley_learn_opts;

typedef struct halley_learn_report {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_sets, n_skipped;
    uint64_t n_traces, n_nodes;
    uint32_t n_templates, n_covered; /* kept, and the sets they stand for */
    uint32_t n_operators, n_laws, n_conditions;
    char first_skipped[HALLEY_ERROR_TEXT]; /* why; "" = none */
    uint32_t n_folders_skipped;            /* within those named, cannot be opened */
    char first_folder_skipped[HALLEY_ERROR_TEXT];
    uint32_t n_steps;         /* of training until the network was best; 0 = no network */
    uint32_t n_resumed_steps; /* of training by an earlier run */
    double loss, op_loss; /* of held-out programs, nats an item: in all, of operators */
    uint64_t room[HALLEY_ROOM + 6]; /* for members to come; 0 */
} halley_learn_report;

/*
 * Learn from files, prefixes and folders (searched to any depth) and write the model to
 * `path`. A few sets are in memory at a time. Now and then, and when cancelled, the state
 * of a network's training goes to PATH.part, from which the same call goes on; it is as
 * secret as the traces. EINVAL: no traces, nothing that min_support sets
 * have in common, or `path` is a file that is no model and would be lost.
 */
halley_status halley_learn(const char *path, const char *const *from, size_t n_from,
                           const halley_learn_opts *opts, halley_learn_report *report,
                           halley_error *err);

typedef struct halley_synth halley_synth; /* a model, ready to make sets */

/* Damaged, foreign and changed files are EINVAL with a sentence each. */
halley_status halley_synth_load(halley_synth **out, const char *path, halley_error *err);
void halley_synth_free(halley_synth *synth);

/* What the model knows of a condition. Texts are lent. */
typedef struct halley_synth_condition {
    const char *name;
    bool is_text;
    double low, high; /* numbers: the range seen */
    uint32_t n_values;
    uint32_t n_sets;
} halley_synth_condition;
uint32_t halley_synth_condition_count(const halley_synth *synth);
halley_synth_condition halley_synth_condition_get(const halley_synth *synth, uint32_t i);

/* Fix a condition for the sets that follow ("layers=12", "compute=1e18", "bytes=2e9").
 * EINVAL: not of that form. Whether it was seen is said when a set is made. */
halley_status halley_synth_fix(halley_synth *synth, const char *condition,
                               halley_error *err);
/* {0}: ranks as they come, seed 0, threads on all cores. */
typedef struct halley_synth_opts {
    uint32_t n_ranks;
    uint64_t seed;
    bool extrapolate;   /* conditions that were never seen are tried */
    uint32_t n_threads; /* 0 = one per core; the sets are the same with any number */
    const halley_watch *watch; /* halley_synth_save: progress in sets; NULL = none */
} halley_synth_opts;

typedef struct halley_synth_summary {
    size_t size; /* filled by the library, see error.h */
    uint32_t n_ranks, n_stages, n_groups;
    uint64_t n_nodes;           /* over all ranks */
    uint64_t n_left_out;        /* messages and collectives that found no partner */
    bool is_scaled;             /* no template fits: made from the nearest one, scaled */
    uint64_t room[HALLEY_ROOM]; /* for members to come; 0 */
} halley_synth_summary;

/* The set of opts->seed: the same every time. *out is the caller's. */
halley_status halley_synth_make(halley_trace_set **out, const halley_synth *synth,
                                const halley_synth_opts *opts,
                                halley_synth_summary *summary, halley_error *err);

/* One of the sets of a folder. */
typedef struct halley_synth_order {
    const char *name; /* NAME.0.et and so on */
    uint64_t seed;
    /* Path of a file NAME.conditions.json: it decides, as far as the model knows its
     * conditions, in place of what was fixed. NULL = none. */
    const char *conditions;
    halley_synth_summary made; /* filled in */
} halley_synth_order;

/*
 * Make a folder of sets: of each NAME.0.et ..., NAME.comm_group.json (when there are
 * groups) and NAME.conditions.json. The folder must be new or empty (else EINVAL); a new
 * one appears when all are done, or not at all. opts->seed is not looked at.
 *
 * Where nothing is fixed, neither by halley_synth_fix nor by opts nor by conditions of
 * orders, the sets are drawn together, so that families and sizes come in their shares:
 * each is a draw from the model, but which one depends on how many there are.
 */
halley_status halley_synth_save(const char *folder, const halley_synth *synth,
                                halley_synth_order *orders, size_t n,
                                const halley_synth_opts *opts, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
