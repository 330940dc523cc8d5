/* des/timers.h - the heap of timers of des/queue.h; not for use outside this folder.
 */
#ifndef DES_TIMERS_H
#define DES_TIMERS_H

#include "des/queue.h"

void des_timers_fini(des_timers *t);
/* The time of the earliest timer; there must be one. */
uint64_t des_timers_earliest(const des_timers *t);
/* Remove the earliest timer and return its event. */
uint64_t des_timers_take(des_timers *t);

#endif
