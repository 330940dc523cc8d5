/*
 * trace/check.h - the parts of `trace check`: findings, the checks of one trace,
 * and those that compare ranks.
 *
 * To add a check: one row here and in the table of check_list.c, the test where the data
 * is available, a unit test, a line in the man page.
 */
#ifndef TRACE_CHECK_H
#define TRACE_CHECK_H

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "halley/trace_check.h"
#include "trace/core/distinct.h"
#include "trace/core/groups.h"
#include "trace/core/roles.h"
#include "trace/core/twins.h"

typedef enum check_code {
    CHECK_UNREADABLE,
    CHECK_EMPTY,
    CHECK_NO_METADATA,
    CHECK_DUPLICATE_ID,
    CHECK_ZERO_ID,
    CHECK_NODE_TYPE,
    CHECK_INVALID_NODE,
    CHECK_NAME_UTF8,
    CHECK_DANGLING_DEP,
    CHECK_SELF_DEP,
    CHECK_CYCLE,
    CHECK_MISSING_ATTR,
    CHECK_ATTR_TYPE,
    CHECK_ATTR_KIND,
    CHECK_ATTR_TWICE,
    CHECK_ATTR_VALUE,
    CHECK_ZERO_SIZE,
    CHECK_NAN,
    CHECK_TIME_OVERFLOW,
    CHECK_SELF_SEND,
    CHECK_PEER_RANGE,
    CHECK_WRONG_RANK,
    CHECK_UNMATCHED_SEND,
    CHECK_UNMATCHED_RECV,
    CHECK_P2P_SIZE,
    CHECK_P2P_TAG,
    CHECK_GROUP_UNKNOWN,
    CHECK_GROUP_RANGE,
    CHECK_GROUP_CONFLICT,
    CHECK_GROUP_ALONE,
    CHECK_GROUP_MEMBER,
    CHECK_COLL_COUNT,
    CHECK_COLL_TYPE,
    CHECK_COLL_SIZE,
    CHECK_COLL_ORDER,
    CHECK_COLL_ORDER_UNSURE,
    CHECK_DEADLOCK,
    CHECK_N_CODES
} check_code;

/* {0} with max_per_code set is empty. If memory runs out, `failed` stays true. */
typedef struct check_list {
    arena memory;
    ARRAY(halley_finding) list;
    uint64_t n[CHECK_N_CODES];
    uint32_t max_per_code;
    bool failed;
} check_list;

/* The place of findings: a trace of a rank. */
typedef struct check_place {
    const halley_trace *trace;
    const char *file;
    uint32_t rank, n_ranks;
} check_place;

/* Add one finding at a node (HALLEY_NO_NODE: about the whole trace). `remedy` is
 * static. */
void check_add(check_list *l, check_code code, const check_place *at, uint32_t node,
               const char *remedy, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
halley_severity check_severity(check_code code);
const char *check_slug(check_code code);
void check_list_fini(check_list *l);
/* Append all findings of `from`, up to the limit, and its counts. */
void check_list_join(check_list *to, const check_list *from);

/* Format a text from a trace for a sentence of that code: quoted, UTF-8, shortened beyond
 * 60 bytes. It is terminated and in l's memory. "" if memory ran out or no more findings
 * of the code are listed. */
const char *check_quote(check_list *l, check_code code, halley_bytes text);

/* A send or receive with all required attributes. */
typedef struct check_message {
    uint32_t node;
    bool sends;
    uint64_t peer;
    int64_t own; /* the rank it gives for itself; CHECK_OWN_UNSAID = none */
    int64_t tag;
    uint64_t size_bytes;
} check_message;
#define CHECK_OWN_UNSAID INT64_MIN

/* A collective with all required attributes. `group` is lent by the trace. */
typedef struct check_collective {
    uint32_t node;
    uint32_t group_id; /* for check_coll.c; 0 until then */
    uint64_t id;
    uint64_t type, size_bytes;
    halley_bytes group;
} check_collective;

/* The data of one trace for the comparison of ranks. */
typedef struct check_one {
    check_list found;
    ARRAY(check_message) messages;
    ARRAY(check_collective) collectives; /* by group_id, node id */
    ARRAY(uint32_t) group_nodes;         /* METADATA nodes that declare groups */
} check_one;

void check_one_fini(check_one *one);
/* The same for a twin of a trace without findings. */
halley_status check_twin(check_one *to, const check_one *twin, const halley_trace *trace,
                         halley_error *err);
/* Run every check that needs one trace only. */
halley_status check_trace(check_one *to, const check_place *at, halley_error *err);
/* Check attributes, times, type and name of one node. Collects messages and
 * collectives. */
bool check_node(check_one *to, const check_place *at, uint32_t node);

/* The input of the comparisons. */
typedef struct check_set {
    const halley_trace_set *set;
    const trace_distinct *distinct;
    check_one *ones; /* distinct->n */
    check_list *found;
    const char *groups_path;    /* NULL = none */
    const trace_groups *groups; /* takes precedence over groups_path; NULL = none */
    const trace_twins *twins;   /* NULL = unknown */
} check_set;

/* halley_trace_check with groups in memory, and with the twins of the set, which need not
 * all be checked (NULL: check all). */
halley_status check_with_groups(halley_check_report **out, const halley_trace_set *set,
                                const halley_check_opts *opts, const trace_groups *groups,
                                const trace_twins *twins, halley_error *err);

check_place check_place_of(const check_set *s, uint32_t rank);
halley_status check_p2p(check_set *s, halley_error *err);
halley_status check_coll(check_set *s, halley_error *err);
/* Call after check_coll, which numbers the groups. */
halley_status check_wait(check_set *s, halley_error *err);

#endif
