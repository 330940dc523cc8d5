/*
 * Find the class of every kernel.
 *
 * The class comes from the kernel's name, otherwise from the operators around its launch,
 * from the innermost outwards. Then overrides apply (a matmul kernel inside a
 * convolution). If the name shows no type of collective, or only "SendRecv", which is
 * used for any type, the type comes from the kernel's own arguments. Without these it
 * comes from the calls around its launch.
 */
#include "recording/record/rules.h"

#include <stdlib.h>
#include <string.h>

typedef struct classifier {
    record *rec;
    rec_rules *rules;
    uint32_t *kernel_of, *op_of; /* by text: class, REC_NONE, or NOT_ASKED */
    bool failed;
} classifier;
#define NOT_ASKED (UINT32_MAX - 1)

static uint32_t remember_kernel(classifier *c, uint32_t name)
{
    uint32_t *const known = &c->kernel_of[name];
    if (*known == NOT_ASKED)
        *known = rec_rules_kernel(c->rules, rec_text(c->rec, name));
    return *known;
}

static uint32_t remember_op(classifier *c, uint32_t name)
{
    uint32_t *const known = &c->op_of[name];
    if (*known == NOT_ASKED)
        *known = rec_rules_op(c->rules, rec_text(c->rec, name));
    return *known;
}

static bool is_copy_class(const rec_rules *rules, uint32_t id)
{
    return id == rules->copy_h2d || id == rules->copy_d2h || id == rules->copy_d2d ||
           id == rules->copy_p2p;
}

/* XLA: the category of the operation is certain. The operation's name helps if the
 * kernel's name gives no class or only that of a fusion. */
static uint32_t class_by_hint(classifier *c, const rec_work *w, uint32_t id)
{
    if (w->hint_is_class) {
        id = intern_add(&c->rules->classes, rec_text(c->rec, w->hint));
        c->failed |= id == REC_NONE;
        return id;
    }
    const uint32_t by_name = remember_kernel(c, w->hint);
    const bool vague = id == REC_NONE || id == c->rules->elementwise;
    return vague && by_name != REC_NONE ? by_name : id;
}

static uint32_t class_by_name(classifier *c, const rec_work *w)
{
    if (w->kind == REC_SET)
        return c->rules->set;
    const uint32_t id = remember_kernel(c, w->name);
    if (w->kind != REC_COPY)
        return w->hint == REC_NONE ? id : class_by_hint(c, w, id);
    return is_copy_class(c->rules, id) ? id : c->rules->copy_d2d;
}

static uint32_t class_by_operators(classifier *c, const rec_work *w)
{
    for (uint32_t i = w->op; i != REC_NONE; i = c->rec->hosts.at[i].parent) {
        const rec_host *const event = &c->rec->hosts.at[i];
        const uint32_t id =
            event->kind == REC_CALL ? REC_NONE : remember_op(c, event->name);
        if (id != REC_NONE)
            return id;
    }
    return REC_NONE;
}

static uint32_t override_class(const classifier *c, const rec_work *w, uint32_t id)
{
    uint32_t op = w->op;
    while (op != REC_NONE && c->rec->hosts.at[op].kind != REC_OP)
        op = c->rec->hosts.at[op].parent;
    if (op == REC_NONE)
        return id;
    const str name = rec_text(c->rec, c->rec->hosts.at[op].name);
    for (size_t i = 0; i < c->rules->rules.n; i++) {
        const rec_rule *const rule = &c->rules->rules.at[i];
        if (rule->on == RULE_OVERRIDE && rule->from == id &&
            pattern_search(rule->match, name))
            id = rule->class_id;
    }
    return id;
}

/* The type of collective from the kernel's arguments or the host events around its
 * launch; NULL = unknown. */
static const char *find_host_type(const classifier *c, const rec_work *w)
{
    const record *const r = c->rec;
    if (w->comm != REC_NONE && r->comms.at[w->comm].collective != REC_NONE)
        return rec_collective_type(rec_text(r, r->comms.at[w->comm].collective));
    for (uint32_t i = w->op; i != REC_NONE; i = r->hosts.at[i].parent) {
        const rec_host *const event = &r->hosts.at[i];
        const str name = rec_text(r, event->name);
        const rec_detail *const d = rec_host_detail(r, event);
        const uint32_t comm = d == NULL ? REC_NONE : d->comm;
        const bool says = comm != REC_NONE && r->comms.at[comm].collective != REC_NONE;
        const char *type =
            says ? rec_collective_type(rec_text(r, r->comms.at[comm].collective))
            : str_starts(name, STR("nccl:")) || str_starts(name, STR("c10d::"))
                ? rec_collective_type(name)
                : NULL;
        if (type != NULL)
            return type;
    }
    return NULL;
}

static uint32_t refine_comm(classifier *c, const rec_work *w, uint32_t id)
{
    if (id != c->rules->unknown_comm && id != c->rules->send_recv)
        return id;
    const char *const type = find_host_type(c, w);
    if (type == NULL)
        return id;
    id = rec_rules_comm(c->rules, type);
    c->failed |= id == REC_NONE;
    return id;
}

static void classify_work(classifier *c, rec_work *w)
{
    /* XLA's host events are named after whole compiled functions, "jit_conv_net:XLA GPU
     * module". The user's name for a function does not describe one of its kernels. */
    const bool has_operators = c->rec->format != REC_XPLANE || w->hint == REC_NONE;
    uint32_t id = class_by_name(c, w);
    if (id == REC_NONE && has_operators)
        id = class_by_operators(c, w);
    if (id != REC_NONE && has_operators)
        id = override_class(c, w, id);
    if (id == REC_NONE)
        id = c->rules->other;
    w->class_id = refine_comm(c, w, id);
    w->is_sync |= w->class_id == c->rules->sync;
}

static uint32_t *make_memory(const record *r)
{
    uint32_t *const known = mem_array(r->texts.n, sizeof *known);
    for (size_t i = 0; known != NULL && i < r->texts.n; i++)
        known[i] = NOT_ASKED;
    return known;
}

bool rec_classify(record *r, rec_rules *rules)
{
    classifier c = {
        .rec = r, .rules = rules, .kernel_of = make_memory(r), .op_of = make_memory(r)};
    const bool ok = c.kernel_of != NULL && c.op_of != NULL;
    for (size_t i = 0; ok && i < r->works.n; i++)
        classify_work(&c, &r->works.at[i]);
    for (size_t i = 0; i < rules->rules.n; i++)
        r->n_costly += pattern_count_ended(rules->rules.at[i].match);
    free(c.kernel_of);
    free(c.op_of);
    return ok && !c.failed;
}
