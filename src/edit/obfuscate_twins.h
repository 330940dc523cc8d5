/*
 * edit/obfuscate_twins.h - traces that differ only in the names of their groups: one of
 * them is worked on, and the others are that under their own groups.
 */
#ifndef EDIT_OBFUSCATE_TWINS_H
#define EDIT_OBFUSCATE_TWINS_H

#include "edit/obfuscate.h"
#include "trace/core/twins.h"

typedef struct obfuscate_twins {
    uint32_t *like;     /* by distinct trace: the one that is worked on for it */
    bool *has_twins;    /* by distinct trace: others are like it */
    trace_twins before; /* of the set */
    trace_twins after;  /* of what is made of it */
    arena memory;       /* of its names */
} obfuscate_twins;

/* `before` and `like`; to be given to fini also on failure. */
halley_status obfuscate_twins_find(obfuscate_twins *out, const halley_trace_set *set,
                                   const trace_distinct *distinct,
                                   const halley_obfuscate_opts *opts, halley_error *err);
/* `after`, once the groups are numbered. */
halley_status obfuscate_twins_name(obfuscate_twins *t, const trace_distinct *distinct,
                                   const obfuscate_job *job, halley_error *err);
void obfuscate_twins_fini(obfuscate_twins *t);

/* What trace `i` of `distinct` becomes, given what the one it is like became. */
halley_status obfuscate_twin(halley_trace **out, const obfuscate_twins *t,
                             const trace_distinct *distinct, uint32_t i,
                             halley_trace *made, halley_error *err);

#endif
