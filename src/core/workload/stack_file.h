/* workload/stack_file.h - reading stack files and matching them to records. */
#ifndef WORKLOAD_STACK_FILE_H
#define WORKLOAD_STACK_FILE_H

#include "base/conf/conf.h"
#include "halley/stack.h"

/* Compare "25.04.01" with "25.11", part by part as numbers; <0, 0, >0. */
int workload_release_compare(const char *a, const char *b);
bool workload_stack_serves(const halley_stack *stack, const char *framework,
                           const char *release);

#endif
