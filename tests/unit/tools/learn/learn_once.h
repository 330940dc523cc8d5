/* learn_once.h - a model of one corpus, and one set from it. */
#ifndef LEARN_ONCE_H
#define LEARN_ONCE_H

#include "halley/learn.h"

#include <stdio.h>

/* For alloc_fail_everywhere: `context` is the corpus, the model is CORPUS.hsm. */
static inline halley_status learn_once(void *context, halley_error *err)
{
    const char *const from = context;
    char model[300];
    halley_synth *synth = NULL;
    halley_trace_set *set = NULL;
    const halley_learn_opts opts = {.strict = true, .min_support = 1};
    snprintf(model, sizeof model, "%s.hsm", from);
    halley_status status = halley_learn(model, &from, 1, &opts, NULL, err);
    if (status == HALLEY_OK)
        status = halley_synth_load(&synth, model, err);
    if (status == HALLEY_OK)
        status = halley_synth_make(&set, synth, NULL, NULL, err);
    if (status == HALLEY_OK)
        halley_trace_set_free(set);
    halley_synth_free(synth);
    return status;
}

#endif
