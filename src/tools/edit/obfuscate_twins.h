/*
 * edit/obfuscate_twins.h - traces that differ only in the names of their groups. One of
 * them is processed. The others are copies of the result with their own groups.
 */
#ifndef EDIT_OBFUSCATE_TWINS_H
#define EDIT_OBFUSCATE_TWINS_H

#include "edit/obfuscate.h"
#include "trace/core/twins.h"

typedef struct obfuscate_twins {
    uint32_t *like;     /* by distinct trace: the one that is processed for it */
    bool *has_twins;    /* by distinct trace: others are copies of it */
    trace_twins before; /* twins of the input set */
    trace_twins after;  /* twins of the result */
    arena memory;       /* holds the names */
} obfuscate_twins;

/* Fills `before` and `like`. Call fini also on failure. */
halley_status obfuscate_twins_find(obfuscate_twins *out, const halley_trace_set *set,
                                   const trace_distinct *distinct,
                                   const halley_obfuscate_opts *opts, halley_error *err);
/* Fills `after`, once the groups are numbered. */
halley_status obfuscate_twins_name(obfuscate_twins *t, const trace_distinct *distinct,
                                   const obfuscate_job *job, halley_error *err);
void obfuscate_twins_fini(obfuscate_twins *t);

/* Makes the result of trace `i` of `distinct` from that of the trace it is like. */
halley_status obfuscate_twin(halley_trace **out, const obfuscate_twins *t,
                             const trace_distinct *distinct, uint32_t i,
                             halley_trace *made, halley_error *err);

#endif
