/*
 * halley/plan_keys.h - the keys of a plan.
 *
 * To add a key, add its id here, its row in workload/plan_facts.c and the member of
 * halley_plan. Then implement its effect on time, memory and traces. Plan files,
 * command-line options, manual pages and JSON are made from the rows.
 */
#ifndef HALLEY_PLAN_KEYS_H
#define HALLEY_PLAN_KEYS_H

#include "halley/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The keys; the row of each is in workload/plan_facts.c, which says what it is. */
typedef enum halley_plan_key {
    HALLEY_KEY_GLOBAL_BATCH,
    HALLEY_KEY_SEQ,
    HALLEY_KEY_DTYPE,
    HALLEY_KEY_TP,
    HALLEY_KEY_PP,
    HALLEY_KEY_DP,
    HALLEY_KEY_CP,
    HALLEY_KEY_EP,
    HALLEY_KEY_VIRTUAL,
    HALLEY_KEY_MICRO_BATCH,
    HALLEY_KEY_ZERO,
    HALLEY_KEY_FSDP,
    HALLEY_KEY_RECOMPUTE,
    HALLEY_KEY_RECOMPUTE_EVERY,
    HALLEY_KEY_RECOMPUTE_LAYERS,
    HALLEY_KEY_RANK_ORDER,
    HALLEY_KEY_FP8_RECIPE,
    HALLEY_KEY_GRADIENT_BYTES,
    HALLEY_KEY_OFFLOAD_TIER,
    HALLEY_KEY_LORA,
    HALLEY_KEY_SCHEDULE,
    HALLEY_KEY_ATTENTION,
    HALLEY_KEY_ETP,
    HALLEY_KEY_ZERO_GROUP,
    HALLEY_KEY_DISPATCHER,
    HALLEY_KEY_CAPACITY,
    HALLEY_KEY_EXPERT_SKEW,
    HALLEY_KEY_GRAPHS,
    HALLEY_KEY_KERNELS,
    HALLEY_KEY_BF16_LAYERS,
    HALLEY_KEY_GATHER,
    HALLEY_KEY_FP8_PARAMS,
    HALLEY_KEY_GRADIENT_MEMORY,
    HALLEY_KEY_OPTIMIZER_MEMORY,
    HALLEY_KEY_OPTIMIZER,
    HALLEY_KEY_TABLE_OPTIMIZER,
    HALLEY_KEY_OFFLOAD_LAYERS,
    HALLEY_KEY_SEQUENCE_PARALLEL,
    HALLEY_KEY_KEEP_GATHERED,
    HALLEY_KEY_EMBEDDINGS_AS_LAYERS,
    HALLEY_KEY_SPREAD,
    HALLEY_KEY_NO_OVERLAP,
    HALLEY_KEY_FP8_ATTENTION,
    HALLEY_KEY_ZERO_OWNER,
    HALLEY_KEY_FP8_DISPATCH,
    HALLEY_KEY_OVERLAP_EP,
    HALLEY_KEY_STAGE_LAYERS,
    HALLEY_KEY_EXPOSE,
    HALLEY_KEY_OFFLOAD,
    HALLEY_KEY_RECOMPUTE_MODULES,
    HALLEY_KEY_RECOMPUTE_KEEP,
    HALLEY_KEY_RECOMPUTE_OFFLOAD,
    HALLEY_N_PLAN_KEYS
} halley_plan_key;

/* ZeRO 1, and sequence parallelism with tensor parallelism; everything else is zero. */
void halley_plan_default(halley_plan *out);
/* Set one key from a text, as on a command line: "8", "full", "yes",
 * "optimizer+gradients". Further calls for a list add to it. HALLEY_EINVAL: the value is
 * not possible. */
halley_status halley_plan_set(halley_plan *plan, halley_plan_key key, const char *text,
                              halley_error *err);
/* Set the keys that a plan file (YAML or JSON) contains; the others do not change. Each
 * key that is set also sets its bit 1 << key in *given (may be NULL). */
halley_status halley_plan_load(halley_plan *plan, uint64_t *given, const char *path,
                               halley_error *err);

/* The same from the text of such a file; errors show `name` in place of the path. */
halley_status halley_plan_parse(halley_plan *plan, uint64_t *given, const char *text,
                                size_t n, const char *name, halley_error *err);

/* The value of one key as JSON: 8, "full", true, ["optimizer"]. The caller frees *out; it
 * is NULL if the key has no value in this plan. Reading the printed values of all keys
 * gives the same plan. */
halley_status halley_plan_print(char **out, const halley_plan *plan, halley_plan_key key,
                                halley_error *err);
/* "micro-batch"; lent, static. */
const char *halley_plan_key_name(halley_plan_key key);
/*
 * Find the key for a word of other training programs: "tensor-model-parallel-size" and
 * "tensor" mean tp. *is_alias (may be NULL) is true if the word is an option of such a
 * program with the same values; command lines accept those. Other words only serve "did
 * you mean". _ is read as -. Returns false if no key matches.
 */
bool halley_plan_key_find(halley_plan_key *out, bool *is_alias, const char *word);
/* The words that a key accepts, or that its list may contain, up to a NULL. NULL for keys
 * with other values. Lent, static. */
const char *const *halley_plan_key_words(halley_plan_key key);
/* True if a key takes several words or numbers. */
bool halley_plan_key_is_list(halley_plan_key key);

#ifdef __cplusplus
}
#endif
#endif
