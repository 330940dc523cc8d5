/* learn/model/conditions.h - the conditions under which a trace set was made. */
#ifndef LEARN_MODEL_CONDITIONS_H
#define LEARN_MODEL_CONDITIONS_H

#include "learn/model/law.h"

enum { CONDITION_TEXT = 64 };

/* For example "layers" 12, or "family" "gpt". */
typedef struct condition {
    char name[CONDITION_TEXT];
    char text[CONDITION_TEXT]; /* "" = the condition is a number */
    double number;
} condition;

typedef struct conditions {
    condition at[MODEL_CONDITIONS];
    uint32_t n;
} conditions;

condition *conditions_find(conditions *c, const char *name);
/* Adds or replaces a condition. text NULL means a number. Conditions that are too long
 * or too many are ignored. */
void conditions_set(conditions *c, const char *name, const char *text, double number);
/* Reads PREFIX.conditions.json: one flat object of numbers and texts. A missing file is
 * not an error. */
halley_status conditions_load(conditions *c, const char *path, halley_error *err);
/* Takes the metadata attributes of a trace that are numbers or texts. */
void conditions_metadata(conditions *c, const halley_trace *trace);

/* Adds new conditions and values to the model. Writes the index of the set's value of
 * each condition of the model, or MODEL_NONE. */
halley_status conditions_learn(uint32_t values[MODEL_CONDITIONS], synth_model *m,
                               const conditions *c, halley_error *err);
/* The features of a stage. Conditions that the model does not know are left out. */
void conditions_point(law_point *p, const synth_model *m, const conditions *c,
                      uint32_t stage, uint32_t n_stages);
/* The nearest value of a condition. MODEL_NONE: a text that was never seen. */
uint32_t conditions_value(const synth_model *m, const model_condition *of,
                          const condition *c);
/* The class of a value: numbers have the classes 0, 1 and more; each text is a class of
 * its own. */
enum { CONDITION_KINDS = MODEL_VALUES };
uint32_t conditions_kind(const model_condition *of, uint32_t value);
/* The features of a whole set. The number of ranks is left out because it is to be
 * predicted. */
void conditions_set_point(law_point *p, const synth_model *m, const conditions *c);
/* The index of the condition in the model, or MODEL_NONE. */
uint32_t conditions_index(const synth_model *m, const char *name);
/* A hash of the family's name; 0 = the set has no family. */
uint64_t conditions_family(const conditions *c);

#endif
