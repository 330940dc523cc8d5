/* workload/schedule_wave.h - the walk of 1F1B, interleaved or not, without lists. */
#ifndef WORKLOAD_SCHEDULE_WAVE_H
#define WORKLOAD_SCHEDULE_WAVE_H

#include "workload/schedule.h"

/* True if the schedule can be walked in waves: 1F1B with whole rounds. */
bool workload_schedule_is_wave(const workload_schedule *s);
/* workload_schedule_walk for such a schedule; may fail with HALLEY_ENOMEM. */
halley_status workload_schedule_wave(double *with_s, double *without_s,
                                     const workload_schedule *s,
                                     const workload_schedule_times *t, halley_error *err);

#endif
