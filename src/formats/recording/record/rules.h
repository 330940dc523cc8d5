/*
 * recording/record/rules.h - the class of a kernel, from its name and the operator around
 * it.
 *
 * Rules are regular expressions (base/pattern.h) in kernel-rules.json, which is compiled
 * in. The first rule that matches wins. The user's rules are tried before the built-in
 * ones.
 */
#ifndef RECORDING_RECORD_RULES_H
#define RECORDING_RECORD_RULES_H

#include "base/hash.h"
#include "base/pattern.h"
#include "recording/record/record.h"

typedef enum rec_rule_on { RULE_ON_KERNEL, RULE_ON_OP, RULE_OVERRIDE } rec_rule_on;

typedef struct rec_rule {
    rec_rule_on on;
    pattern *match;
    uint32_t class_id;   /* in rec_rules.classes */
    uint32_t from;       /* RULE_OVERRIDE: the class it replaces */
    uint32_t collective; /* type of collective of this class; or none */
} rec_rule;

typedef struct rec_rules {
    intern classes; /* names; the ids are the record's class_id */
    ARRAY(rec_rule) rules;
    uint32_t other, sync, unknown_comm, send_recv; /* ids of special classes */
    uint32_t copy_h2d, copy_d2h, copy_d2d, copy_p2p, set, elementwise;
} rec_rules;

/* Load the built-in rules after those of `path` (NULL = none). Call rec_rules_fini also
 * after a failure. Not shared between threads. */
halley_status rec_rules_init(rec_rules *rules, const char *path, halley_error *err);
void rec_rules_fini(rec_rules *rules);
/* Read rules from text; `name` is for errors. For rec_rules_init and fuzzers. */
halley_status rec_rules_read(rec_rules *rules, str text, const char *name,
                             halley_error *err);
/* The class by name alone; REC_NONE = no rule matches. */
uint32_t rec_rules_kernel(const rec_rules *rules, str name);
uint32_t rec_rules_op(const rec_rules *rules, str name);
/* The class of a collective: "comm." and its type. REC_NONE: no memory. */
uint32_t rec_rules_comm(rec_rules *rules, const char *type);
static inline str rec_class_name(const rec_rules *rules, uint32_t id)
{
    return intern_text(&rules->classes, id);
}
bool rec_class_is_comm(const rec_rules *rules, uint32_t id);

/* The type of a collective from one of its names: "all_reduce", …; NULL = none.
 * Static. */
const char *rec_collective_type(str name);

/* Set the class of every work of the recording. False: no memory. */
bool rec_classify(record *r, rec_rules *rules);

/* If no steps are marked, find them from the period of the kernels. Call rec_classify
 * before. False: no memory. */
bool rec_find_period(record *r, const rec_rules *rules);

#endif
