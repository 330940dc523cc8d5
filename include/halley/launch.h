/*
 * halley/launch.h - launch files of training programs, as a model and a plan:
 * Megatron-LM's arguments (file, script, YAML, printed list, JSON), DeepSpeed's JSON,
 * NeMo and Megatron-Bridge YAML, torchtitan TOML, MaxText YAML. Files are told apart by
 * content. Scripts are read, never run.
 */
#ifndef HALLEY_LAUNCH_H
#define HALLEY_LAUNCH_H

#include "halley/plan_keys.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the caller knows better than the file; {0} is fine. */
typedef struct halley_launch_opts {
    const char *const *sets; /* "NAME=VALUE": variables of a script */
    size_t n_sets;
    uint64_t given; /* keys (1 << halley_plan_key) that the caller sets himself: a value
                       of the file that cannot be known is no error there */
    uint32_t vocab; /* 0 = as the file says */
    bool plan_only; /* the model comes from elsewhere: one that is not known is no
                       error */
    bool may_lack_vocab; /* only to show the file: a vocabulary that it does not state is
                            no error; the model then counts no embeddings */
} halley_launch_opts;

typedef struct halley_launch halley_launch; /* opaque; free with halley_launch_free */

/* Whether a file is a launch file. HALLEY_EFORMAT with a remedy: a file that is handed
 * over by mistake (a Python recipe). Files that cannot be opened are none. */
halley_status halley_launch_detect(bool *is, const char *path, halley_error *err);
halley_status halley_launch_load(halley_launch **out, const char *path,
                                 const halley_launch_opts *opts, halley_error *err);
/* The same from the text of such a file; `name` stands for its path. */
halley_status halley_launch_parse(halley_launch **out, const char *text, size_t n,
                                  const char *name, const halley_launch_opts *opts,
                                  halley_error *err);
void halley_launch_free(halley_launch *launch);

/* What was read, assumed and ignored; lent. */
const halley_import *halley_launch_import(const halley_launch *launch);
/* The model, lent; NULL: the file describes only a plan. */
const halley_model *halley_launch_model(const halley_launch *launch);
bool halley_launch_lacks_vocab(const halley_launch *launch);
/* NPUs that the file starts; 0: it does not say. */
uint32_t halley_launch_npus(const halley_launch *launch);
/* The kind of device that the file names ("h100"), or "". */
const char *halley_launch_device(const halley_launch *launch);
/* The value of a plan's key as text, as halley_plan_set takes it; NULL: the file leaves
 * it to halley. */
const char *halley_launch_value(const halley_launch *launch, halley_plan_key key);
/* Where the global batch follows from the number of NPUs: sequences per data-parallel
 * rank (torchtitan) or per NPU (MaxText) and step; 0 = otherwise. */
double halley_launch_local_batch(const halley_launch *launch);
double halley_launch_npu_batch(const halley_launch *launch);
/* Copies of sharded weights (HSDP); 0 = the file does not shard weights. */
uint32_t halley_launch_replicas(const halley_launch *launch);

/*
 * Set the keys of the file in `plan` for n_npus NPUs, but for those of `except` (bits 1
 * << key). In *given (may be NULL) a bit is set for each key. HALLEY_EINVAL names the key
 * that halley cannot model yet.
 */
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
/*
 * A checked plan, and the model where the form describes it, as the arguments people
 * paste into their launch script. *text and *left_out are the caller's, to free; the
 * second lists what the form cannot say ("rank-order pp-dp-tp-cp, capacity 1.25"), or is
 * NULL.
 */
halley_status halley_launch_write(char **text, char **left_out, halley_launch_form form,
                                  const halley_model *model, const halley_plan *plan,
                                  halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
