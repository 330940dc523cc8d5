/* score/record.h - fields of one record of published runs. */
#ifndef SCORE_RECORD_H
#define SCORE_RECORD_H

#include "base/conf/conf.h"
#include "score/rows.h"

/* A field is looked up in the record, then in the values that are common to its file. */
typedef struct score_record {
    const conf_node *row, *common; /* common may be NULL */
} score_record;

/* record.group.key, or record.key if group is NULL; NULL if absent or null. */
const conf_node *record_find(const score_record *r, const char *group, const char *key);
double record_number(const score_record *r, const char *group, const char *key,
                     double otherwise);
/* Numbers that are not counts (negative, above 4e9, a fraction) give `otherwise`. */
uint32_t record_count(const score_record *r, const char *group, const char *key,
                      uint32_t otherwise);
bool record_is_true(const score_record *r, const char *group, const char *key);
/* The text of a field, cut to `size`; "" when absent. */
void record_text(char *to, size_t size, const score_record *r, const char *group,
                 const char *key);
bool record_is(const score_record *r, const char *group, const char *key,
               const char *value);

/* Record why a row cannot be expressed; the first reason is kept. */
void score_row_skip(score_row *row, const char *format, const char *what);
/* Put the model and the plan of a record into its row, or the reason why this is
 * impossible. */
void score_record_model(score_row *row, const score_record *r);
void score_record_plan(score_row *row, const score_record *r);
/* The cluster of a record: shared by records with the same NPU and links. */
halley_status score_record_cluster(score_rows *to, score_row *row, const score_record *r,
                                   halley_error *err);

#endif
