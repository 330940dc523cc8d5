/*
 * halley/launch.h - read launch files of training programs as a model and a plan.
 * Supported are Megatron-LM's arguments (file, script, YAML, printed list, JSON),
 * DeepSpeed's JSON, NeMo and Megatron-Bridge YAML, torchtitan TOML and MaxText YAML. The
 * format is detected from the content. Scripts are read, never run.
 */
#ifndef HALLEY_LAUNCH_H
#define HALLEY_LAUNCH_H

#include "halley/plan_keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the caller sets in addition to the file; {0} is fine. */
typedef struct halley_launch_opts {
    const char *const *sets; /* "NAME=VALUE": variables of a script */
    size_t n_sets;
    uint64_t given; /* keys (1 << halley_plan_key) that the caller sets: for them, a value
                       that cannot be determined from the file is no error */
    uint32_t vocab; /* 0 = as the file says */
    bool plan_only; /* the model comes from elsewhere: an unknown model is no error */
    bool may_lack_vocab; /* only to display the file: a missing vocabulary size is no
                            error; the model then has no embeddings */
} halley_launch_opts;

typedef struct halley_launch halley_launch; /* opaque; free with halley_launch_free */

/* Find out whether a file is a launch file. HALLEY_EFORMAT, with a remedy: the file is
 * one that users pass by mistake (a Python recipe). Files that cannot be opened are not
 * launch files. */
halley_status halley_launch_detect(bool *is, const char *path, halley_error *err);
halley_status halley_launch_load(halley_launch **out, const char *path,
                                 const halley_launch_opts *opts, halley_error *err);
/* The same from the text of such a file; `name` replaces its path. */
halley_status halley_launch_parse(halley_launch **out, const char *text, size_t n,
                                  const char *name, const halley_launch_opts *opts,
                                  halley_error *err);
void halley_launch_free(halley_launch *launch);

/* What was read, assumed and ignored; lent. */
const halley_import *halley_launch_import(const halley_launch *launch);
/* The model, lent; NULL: the file describes only a plan. */
const halley_model *halley_launch_model(const halley_launch *launch);
bool halley_launch_lacks_vocab(const halley_launch *launch);
/* The number of NPUs that the file starts; 0: not stated. */
uint32_t halley_launch_npus(const halley_launch *launch);
/* The preset of the software that starts from such a file ("torchtitan-2026"), or "". */
const char *halley_launch_stack(const halley_launch *launch);
/* The kind of device that the file names ("h100"), or "". */
const char *halley_launch_device(const halley_launch *launch);
/*
 * The value of a plan's key as text for halley_plan_set; NULL: the file does not set it.
 */
const char *halley_launch_value(const halley_launch *launch, halley_plan_key key);
/* For files in which the global batch follows from the number of NPUs: sequences per step
 * and data-parallel rank (torchtitan) or NPU (MaxText); 0 = otherwise. */
double halley_launch_local_batch(const halley_launch *launch);
double halley_launch_npu_batch(const halley_launch *launch);
/* Copies of sharded weights (HSDP); 0 = the file does not shard weights. */
uint32_t halley_launch_replicas(const halley_launch *launch);

/* Set the keys of the file in `plan` for n_npus NPUs, except those in `except` (bits 1 <<
 * key). Each key that is set also sets its bit in *given (may be NULL). HALLEY_EINVAL
 * names a key that halley cannot model yet. */
halley_status halley_launch_plan(halley_plan *plan, uint64_t *given,
                                 const halley_launch *launch, uint32_t n_npus,
                                 uint64_t except, halley_error *err);

/* Launch files that halley can write. */
typedef enum halley_launch_form {
    HALLEY_LAUNCH_MEGATRON,
    HALLEY_LAUNCH_DEEPSPEED,
    HALLEY_LAUNCH_TORCHTITAN,
    HALLEY_LAUNCH_MAXTEXT,
    HALLEY_N_LAUNCH_FORMS
} halley_launch_form;
/* "megatron"; NULL past the last. Lent, static. */
const char *halley_launch_form_name(unsigned form);
/* Write a checked plan, and the model if the format describes it, as arguments to paste
 * into a launch script. The caller frees *text and *left_out. *left_out lists what the
 * format cannot express ("rank-order pp-dp-tp-cp, capacity 1.25"), or is NULL. */
halley_status halley_launch_write(char **text, char **left_out, halley_launch_form form,
                                  const halley_model *model, const halley_plan *plan,
                                  halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
