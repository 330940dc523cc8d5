/*
 * sim/rules.h - the rules of a run as a table of functions and flags. rules_astra.c has
 * ASTRA-sim's behaviour (its clock, its slots, its quirks); rules_native.c has ours. A
 * run selects its rules at set-up; no other code checks which rules apply.
 */
#ifndef SIM_RULES_H
#define SIM_RULES_H

#include "base/str.h"
#include "sim/coll/job.h"

/* How a collective is handled. */
typedef enum sim_coll_support {
    SIM_COLL_REFUSED,
    SIM_COLL_TIMED, /* takes its recorded time */
    SIM_COLL_SIMULATED,
} sim_coll_support;

/* How traces are read (program.c). A string is the error message with which an input is
 * refused; NULL = the input is accepted. */
typedef struct sim_trace_rules {
    bool has_lanes;              /* nodes occupy lanes; else ASTRA-sim's four slots */
    bool has_duration_ns;        /* the attribute duration_ns is read */
    bool models_compute;         /* nodes without a time are timed by cost/ */
    bool keeps_uncounted;        /* roofline: nodes without counts keep their time */
    bool has_uneven;             /* all-to-alls may list what each member gets */
    bool has_prices;             /* collectives may state their rate and fixed time */
    bool cpu_may_communicate;    /* is_cpu_op matters on communication nodes */
    uint64_t default_ticks;      /* of a compute node without a duration */
    uint32_t n_default_involved; /* dimensions known without involved_dim */
    sim_coll_support colls[HALLEY_N_COLL_TYPES];
    const char *refuses_involved; /* involved_dim with more dimensions than those */
    const char *refuses_no_ops;   /* roofline: num_ops 0 */
    const char *refuses_no_rates; /* NPU without peak or bandwidth; never NULL */
    const char *refuses_metadata;
    const char *refuses_dangling; /* dependencies on missing nodes */
} sim_trace_rules;

struct sim_rules {
    const char *name;
    uint64_t ticks_per_ns;
    const char *networks[3]; /* models, by hw_network_model; NULL = not available */
    sim_trace_rules traces;
    bool can_fold;
    bool wraps;              /* times beyond 64 bits wrap, as in ASTRA-sim */
    bool has_roots;          /* broadcast, reduce, gather, scatter have a root */
    bool refuses_empty;      /* messages of no bytes are an error */
    uint64_t max_held_bytes; /* largest message that rendezvous can delay */

    /* set-up */
    halley_status (*check_run)(sim *s, uint32_t n_traces, const net_model *model);
    halley_status (*init_groups)(sim *s);
    halley_status (*init_rank)(sim *s, sim_rank *r);
    bool (*has_own_directions)(const sim *s); /* members of a chunk may differ in them */
    halley_status (*check_start)(sim *s, uint32_t rank); /* the rank has just begun */

    /* The events of an instant are done; see des_flush. NULL: only the network flushes.
     */
    bool (*flush)(void *run);

    /* nodes: the slots or lanes they occupy */
    void (*make_ready)(sim_rank *r, uint32_t node);
    void (*free_child)(sim *s, sim_rank *r,
                       uint32_t node);         /* its last parent has ended */
    uint32_t (*take_ready)(sim_rank *r);       /* the next to issue; UINT32_MAX: none */
    void (*look_again)(sim *s, uint32_t rank); /* a node of the rank has ended */
    void (*occupy)(sim_rank *r, uint32_t slot);
    void (*vacate)(sim_rank *r, uint32_t slot);

    /* collectives: from a node to chunks */
    /* Does a group that is smaller than the world use one logical dimension? */
    bool (*is_one_dimension)(const sim *s, uint32_t group);
    void (*replace_impls)(sim_job *j); /* those that cannot do the collective */
    bool (*check_phases)(sim *s, const sim_job *j);
    bool (*cut_chunks)(sim *s, const sim_job *j, uint64_t *bytes, uint64_t *chunk);
    uint32_t (*number_stream)(sim *s, const sim_job *j);
    void (*choose_queues)(sim *s, sim_job *j, uint32_t stream);

    /* chunks: queues and phases */
    void (*enter_queue)(sim *s, sim_queue *q, uint32_t op, uint32_t member);
    void (*start_waiting)(sim *s, sim_queue *q);
    void (*wake_phase)(sim *s, uint32_t op, uint32_t member); /* a message has arrived */

    /* the end */
    void (*sort_finishers)(sim *s);
    void (*explain_absence)(strbuf *to, const sim *s, uint32_t rank, uint32_t other);
};

extern const sim_rules sim_rules_astra, sim_rules_native;

/* The rules of a cluster. */
static inline const sim_rules *sim_rules_get(const halley_cluster *c)
{
    return c->astra ? &sim_rules_astra : &sim_rules_native;
}

#endif
