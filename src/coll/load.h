/*
 * coll/load.h - what a collective puts on the links of the network, for models in which
 * links are shared: the `load` column of the algorithms (coll/algo.h).
 *
 * A collective that is alone takes time_s, its closed form. For wire_s of it, bytes are
 * on their way or copied; the rest is launch, steps and ramps, which other traffic does
 * not change. Links inside nodes are busy for up_s of wire_s, network cards for out_s:
 * the closed form counts what flags, headers and bubbles of the protocol take of a link,
 * so a link that carries the payload in that time is full.
 */
#ifndef COLL_LOAD_H
#define COLL_LOAD_H

#include "coll/time.h"

#include <stdint.h>

/* Who sends to whom. */
typedef enum coll_pattern {
    COLL_PATTERN_RING,  /* each to the next; from node to node a ring over each card */
    COLL_PATTERN_TREE,  /* inside nodes each to the next; nodes form two binary trees */
    COLL_PATTERN_PAIRS, /* each to every other */
    COLL_PATTERN_IN,    /* all to the root */
    COLL_PATTERN_OUT,   /* the root to all */
    COLL_PATTERN_SEND,  /* the first to the second */
} coll_pattern;

typedef struct coll_load {
    double time_s, wire_s;
    double up_bytes;  /* payload that a member sends inside its node, and receives */
    double up_s;      /* its links there are busy with that so long, alone */
    double out_bytes; /* payload of each of the group's network cards, each way */
    double out_s;
    double above_share; /* of a link between switches that payload can fill */
    coll_pattern pattern;
    double streams;   /* at a time on a link: what a fair share of it is */
    uint32_t variant; /* equal for calls whose loads differ by a factor only, given the
                       * kind of collective and the group */
} coll_load;

/* bytes > 0, n > 1. */
void coll_call_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                    const coll_call *c);

#endif
