/* learn/model/conditions.h - what a set was made under, as its maker or the set itself
 * says. */
#ifndef LEARN_MODEL_CONDITIONS_H
#define LEARN_MODEL_CONDITIONS_H

#include "learn/model/law.h"

enum { CONDITION_TEXT = 64 };

/* "layers" 12, or "family" "gpt". */
typedef struct condition {
    char name[CONDITION_TEXT];
    char text[CONDITION_TEXT]; /* "" = a number */
    double number;
} condition;

typedef struct conditions {
    condition at[MODEL_CONDITIONS];
    uint32_t n;
} conditions;

condition *conditions_find(conditions *c, const char *name);
/* Add or replace; text NULL = a number. What is too long or too many is left out. */
void conditions_set(conditions *c, const char *name, const char *text, double number);
/* PREFIX.conditions.json: one flat object of numbers and texts. No file is no failure. */
halley_status conditions_load(conditions *c, const char *path, halley_error *err);
/* What the metadata of a trace says in attributes that are numbers or texts. */
void conditions_metadata(conditions *c, const halley_trace *trace);

/* Values of a set as indexes: [condition of the model] = value, or MODEL_NONE. Adds
 * conditions and values that are new. */
halley_status conditions_learn(uint32_t values[MODEL_CONDITIONS], synth_model *m,
                               const conditions *c, halley_error *err);
/* The features of a stage. Conditions that the model does not know are left out. */
void conditions_point(law_point *p, const synth_model *m, const conditions *c,
                      uint32_t stage, uint32_t n_stages);
/* Which value of a condition is nearest; MODEL_NONE: a text never seen. */
uint32_t conditions_value(const synth_model *m, const model_condition *of,
                          const condition *c);
/* What kind of value it is: 0, 1 or more of a number, each value of a text. */
enum { CONDITION_KINDS = MODEL_VALUES };
uint32_t conditions_kind(const model_condition *of, uint32_t value);
/* The features of a whole set, without its ranks: they are to be predicted. */
void conditions_set_point(law_point *p, const synth_model *m, const conditions *c);
/* Index into the model, or MODEL_NONE. */
uint32_t conditions_index(const synth_model *m, const char *name);
/* A hash of the family's name; 0 = none. */
uint64_t conditions_family(const conditions *c);

#endif
