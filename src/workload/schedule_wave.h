/* workload/schedule_wave.h - the walk of 1F1B, interleaved or not, without lists. */
#ifndef WORKLOAD_SCHEDULE_WAVE_H
#define WORKLOAD_SCHEDULE_WAVE_H

#include "workload/schedule.h"

/* Can the schedule be walked in waves? 1F1B whose rounds are whole can. */
bool workload_schedule_is_wave(const workload_schedule *s);
/* workload_schedule_walk of such a schedule; HALLEY_ENOMEM. */
halley_status workload_schedule_wave(double *with_s, double *without_s,
                                     const workload_schedule *s,
                                     const workload_schedule_times *t, halley_error *err);

#endif
