/*
 * workload/plan_facts.h - the keys of a plan, once. Plan files, options, manual pages,
 * JSON and studies use these rows. To add one, read base/fact.h.
 */
#ifndef WORKLOAD_PLAN_FACTS_H
#define WORKLOAD_PLAN_FACTS_H

#include "base/fact.h"

/* Of halley_plan; rows[key] is the row of a halley_plan_key. */
extern const fact_table workload_plan_facts;

#endif
