/*
 * estimate/estimate_facts.h - every number of an estimate, once: key, unit, title and
 * meaning. To add one, read base/fact.h.
 */
#ifndef ESTIMATE_ESTIMATE_FACTS_H
#define ESTIMATE_ESTIMATE_FACTS_H

#include "base/fact.h"

extern const fact_table estimate_facts; /* of halley_estimate */
extern const fact_table estimate_parts_facts,
    estimate_recommender_facts;                     /* of halley_estimate, too */
extern const fact_table estimate_memory_facts;      /* of an array by halley_memory */
extern const fact_table estimate_numbers_facts;     /* of halley_numbers */
extern const fact_table estimate_explanation_facts; /* of halley_explanation */

#endif
