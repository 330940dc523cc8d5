/* score/csv_sets.h - measured matmuls and collectives. */
#ifndef SCORE_CSV_SETS_H
#define SCORE_CSV_SETS_H

#include "base/conf/conf.h"
#include "halley/score.h"

/*
 * Read a CSV file. Its first line shows whether it contains matmuls
 * (system,source,dtype,m,n,k,latency_ms) or collectives
 * (system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms). Makes one set per
 * system and type. The caller frees *sets.
 */
halley_status score_csv(halley_score_set **sets, size_t *n, const char *path,
                        halley_error *err);

/* Collectives as a list of records (published-collectives). */
bool score_is_collectives(const conf_file *file);
halley_status score_collectives(halley_score_set **sets, size_t *n, const conf_file *file,
                                halley_error *err);

#endif
