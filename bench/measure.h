/* bench/measure.h - seconds and anonymous memory of this process, for programs that time
 * one thing each. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

double measure_wall_s(void);
double measure_cpu_s(void); /* of all threads of the process */
/* A thread that looks at the process's anonymous resident memory every half millisecond.
 */
void measure_memory_start(void);
/* Stop it: the most it saw, in bytes, less what there was at the start. */
size_t measure_memory_stop(void);
/* Whole file into memory; exits on failure. */
uint8_t *measure_read_file(const char *path, size_t *n);

#ifdef __cplusplus
}
#endif
#endif
