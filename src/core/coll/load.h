/*
 * coll/load.h - the load of a collective on the network's links, for models in which
 * links are shared. It is the `load` column of the algorithms (coll/algo.h).
 *
 * A collective that is alone takes time_s, its closed form. During wire_s of it, bytes
 * are sent or copied. The rest is launch, steps and ramps, which other traffic does not
 * change. Links inside nodes are busy for up_s of wire_s, network cards for out_s. The
 * closed form includes the share of a link that flags, headers and bubbles of the
 * protocol take. So a link that carries the payload in that time is full.
 */
#ifndef COLL_LOAD_H
#define COLL_LOAD_H

#include "coll/time.h"

#include <stdint.h>

/* Which members send to which. */
typedef enum coll_pattern {
    COLL_PATTERN_RING,  /* each to the next; between nodes, one ring over each card */
    COLL_PATTERN_TREE,  /* inside nodes, each to the next; the nodes form two binary
                           trees */
    COLL_PATTERN_PAIRS, /* each to every other */
    COLL_PATTERN_IN,    /* all to the root */
    COLL_PATTERN_OUT,   /* the root to all */
    COLL_PATTERN_SEND,  /* the first to the second */
} coll_pattern;

typedef struct coll_load {
    double time_s, wire_s;
    double up_bytes;  /* payload that a member sends inside its node, and receives */
    double up_s;      /* time for which this keeps its links there busy, if alone */
    double out_bytes; /* payload of each of the group's network cards, per direction */
    double out_s;
    double above_share; /* share of a link between switches that payload can fill */
    coll_pattern pattern;
    double streams;   /* number of concurrent streams on a link, which sets its fair
                         share */
    uint32_t variant; /* equal for calls of the same kind and group whose loads differ
                         only by a factor */
} coll_load;

/* bytes > 0, n > 1. */
void coll_call_load(coll_load *load, const halley_link *up, const halley_fabric *out,
                    const coll_call *c);

#endif
