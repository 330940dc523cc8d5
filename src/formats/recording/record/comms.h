/*
 * recording/record/comms.h - the communication of kernels: type, bytes, group, peers.
 */
#ifndef RECORDING_RECORD_COMMS_H
#define RECORDING_RECORD_COMMS_H

#include "halley/trace.h"
#include "recording/record/read.h"
#include "recording/record/rules.h"

typedef struct rec_comm_info {
    halley_node_type type; /* COLL, SEND, RECV; INVALID = work of recorded duration */
    uint32_t coll;         /* halley_coll_type */
    bool has_size;
    uint64_t n_bytes;
    uint32_t dtype;   /* text of the record; REC_NONE */
    uint32_t pg_name; /* text of the record; REC_NONE */
    uint64_t peer;    /* REC_NO_ID */
    uint64_t seq;     /* REC_NO_ID */
} rec_comm_info;

/* What a work of a communication class does. `type` is INVALID for all others. */
rec_comm_info rec_comm_of_work(const record *r, const rec_rules *rules,
                               const rec_work *w);

/* A process group, merged over the recordings of all ranks. */
typedef struct rec_group_info {
    uint32_t name;           /* in rec_groups.names */
    uint32_t first, n_ranks; /* in rec_groups.ranks; n_ranks 0 = members not known */
    uint64_t size;           /* according to the recordings; 0 = not given */
    uint64_t number;         /* its name in the result */
    uint32_t desc;           /* in names; REC_NONE */
    bool is_cut; /* the list of its ranks was cut and could not be filled in */
} rec_group_info;

typedef struct rec_groups {
    intern names;
    ARRAY(rec_group_info) groups; /* by name */
    ARRAY(uint64_t) ranks;
} rec_groups;

/* Collect the groups of all ranks and number them. rec_groups_fini also on failure. */
halley_status rec_groups_init(rec_groups *groups, const rec_list *list,
                              halley_error *err);
void rec_groups_fini(rec_groups *groups);
/* The group of that name; NULL = none. */
const rec_group_info *rec_groups_find(const rec_groups *groups, str name);

#endif
