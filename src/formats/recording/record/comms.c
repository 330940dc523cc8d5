/*
 * Communication of a recording.
 *
 * The information comes from the kernel's own arguments, otherwise from the operators
 * around its launch, from the inside out: record_param_comms, the backend's range
 * ("nccl:…"), the c10d operator. Bytes are the size of the input: elements times the
 * element size, otherwise the tensors of the range. A missing size is unknown, never 0:
 * such a kernel stays work of the recorded duration.
 */
#include "recording/record/comms.h"

#include "recording/comm.h"
#include "recording/lit.h"
#include "recording/record/shapes.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *class_name;
    halley_coll_type coll;
} comm_classes[] = {
    {"comm.all_reduce", HALLEY_COLL_ALL_REDUCE},
    {"comm.reduce_scatter", HALLEY_COLL_REDUCE_SCATTER},
    {"comm.all_gather", HALLEY_COLL_ALL_GATHER},
    {"comm.all_to_all", HALLEY_COLL_ALL_TO_ALL},
    {"comm.dispatch", HALLEY_COLL_ALL_TO_ALL},
    {"comm.combine", HALLEY_COLL_ALL_TO_ALL},
    {"comm.broadcast", HALLEY_COLL_BROADCAST},
    {"comm.reduce", HALLEY_COLL_REDUCE},
    {"comm.gather", HALLEY_COLL_GATHER},
    {"comm.scatter", HALLEY_COLL_SCATTER},
    {"comm.barrier", HALLEY_COLL_BARRIER},
};

static void take_said(rec_comm_info *info, const record *r, const rec_comm *said)
{
    const uint64_t element = comm_element_size(rec_text(r, said->dtype));
    if (info->pg_name == REC_NONE)
        info->pg_name = said->pg_name;
    if (info->dtype == REC_NONE)
        info->dtype = said->dtype;
    if (!info->has_size && said->in_elements != REC_NO_ID && element > 0)
        info->has_size =
            !__builtin_mul_overflow(said->in_elements, element, &info->n_bytes);
    if (info->peer == REC_NO_ID)
        info->peer = said->destination != REC_NO_ID ? said->destination : said->source;
    if (info->seq == REC_NO_ID)
        info->seq = said->seq;
}

static bool is_comm_range(str name)
{
    return str_starts(name, STR("nccl:")) || str_starts(name, STR("c10d::")) ||
           str_eq(name, STR("record_param_comms"));
}

static void take_host_event(rec_comm_info *info, const record *r, const rec_host *event)
{
    const rec_detail *const d = rec_host_detail(r, event);
    if (d != NULL && d->comm != REC_NONE)
        take_said(info, r, &r->comms.at[d->comm]);
    uint64_t n_bytes;
    if (!info->has_size && d != NULL && is_comm_range(rec_text(r, event->name)) &&
        rec_input_bytes(&n_bytes, r, d)) {
        info->has_size = true;
        info->n_bytes = n_bytes;
    }
}

/* Is there a "send" or "recv" among the operators around the launch? INVALID =
 * neither. */
static halley_node_type find_direction(const record *r, const rec_work *w)
{
    str name =
        w->comm == REC_NONE ? STR("") : rec_text(r, r->comms.at[w->comm].collective);
    for (uint32_t i = w->op;; i = r->hosts.at[i].parent) {
        if (str_contains(name, STR("send")) && !str_contains(name, STR("recv")))
            return HALLEY_NODE_SEND;
        if (str_contains(name, STR("recv")) && !str_contains(name, STR("send")))
            return HALLEY_NODE_RECV;
        if (i == REC_NONE)
            return HALLEY_NODE_INVALID;
        name = rec_text(r, r->hosts.at[i].name);
    }
}

static bool set_type(rec_comm_info *info, const record *r, const rec_rules *rules,
                     const rec_work *w)
{
    const str name = rec_class_name(rules, w->class_id);
    for (size_t i = 0; i < sizeof comm_classes / sizeof *comm_classes; i++)
        if (str_eq(name, str_from(comm_classes[i].class_name))) {
            info->type = HALLEY_NODE_COLL;
            info->coll = comm_classes[i].coll;
            return true;
        }
    if (str_eq(name, STR("comm.send_recv")))
        info->type = find_direction(r, w);
    return info->type != HALLEY_NODE_INVALID;
}

rec_comm_info rec_comm_of_work(const record *r, const rec_rules *rules, const rec_work *w)
{
    rec_comm_info info = {.type = HALLEY_NODE_INVALID,
                          .dtype = REC_NONE,
                          .pg_name = REC_NONE,
                          .peer = REC_NO_ID,
                          .seq = REC_NO_ID};
    if (!rec_class_is_comm(rules, w->class_id) || !set_type(&info, r, rules, w))
        return info;
    if (w->comm != REC_NONE)
        take_said(&info, r, &r->comms.at[w->comm]);
    for (uint32_t i = w->op; i != REC_NONE; i = r->hosts.at[i].parent)
        take_host_event(&info, r, &r->hosts.at[i]);
    return info;
}

/* Read "[0, 1, 2]" into ranks. False: it is truncated ("...") or not a list. */
static bool read_rank_list(str text, uint64_t *ranks, size_t max, size_t *n)
{
    lit_list list;
    str item;
    *n = 0;
    if (!lit_open(&list, text))
        return false;
    while (lit_next(&list, &item)) {
        if (*n == max || !str_to_u64(str_trim(item), &ranks[*n]))
            return false;
        ++*n;
    }
    return true;
}

enum { MAX_LISTED = 4096 };

/* Find or add the group of that name. NULL: no memory. */
static rec_group_info *add_group_name(rec_groups *g, str name)
{
    const uint32_t id = intern_add(&g->names, name);
    if (id == HASH_NONE)
        return NULL;
    for (size_t i = 0; i < g->groups.n; i++)
        if (g->groups.at[i].name == id)
            return &g->groups.at[i];
    if (!array_push(&g->groups, (rec_group_info){.name = id, .desc = REC_NONE}))
        return NULL;
    return &g->groups.at[g->groups.n - 1];
}

static bool set_group_ranks(rec_groups *g, rec_group_info *group, const uint64_t *ranks,
                            size_t n)
{
    if (group->n_ranks > 0 || n == 0)
        return true;
    group->first = (uint32_t)g->ranks.n;
    group->n_ranks = (uint32_t)n;
    group->is_cut = false;
    for (size_t i = 0; i < n; i++)
        if (!array_push(&g->ranks, ranks[i]))
            return false;
    return true;
}

static bool add_configured(rec_groups *g, const record *r)
{
    for (size_t i = 0; i < r->job.groups.n; i++) {
        const job_group *const from = &r->job.groups.at[i];
        rec_group_info *const group = add_group_name(g, rec_text(r, from->name));
        /* A group may have a name but no ranks. If no group has any, ranks.at is NULL. */
        const uint64_t *const ranks =
            from->n_ranks > 0 ? r->job.ranks.at + from->first : NULL;
        if (group == NULL || !set_group_ranks(g, group, ranks, from->n_ranks))
            return false;
        if (group->desc == REC_NONE && from->desc != REC_NONE)
            group->desc = intern_add(&g->names, rec_text(r, from->desc));
        if (group->size < from->n_ranks)
            group->size = from->n_ranks;
    }
    return true;
}

/* Compute the members from first rank and stride, if a list was truncated or is
 * missing. */
static bool add_strided(rec_groups *g, rec_group_info *group, const rec_comm *c)
{
    uint64_t ranks[MAX_LISTED];
    if (c->rank_start == REC_NO_ID || c->rank_stride == REC_NO_ID ||
        c->rank_stride == 0 || c->rank_stride > UINT32_MAX ||
        c->rank_start > UINT32_MAX || group->size < 2 || group->size > MAX_LISTED)
        return true;
    for (size_t i = 0; i < group->size; i++)
        ranks[i] = c->rank_start + i * c->rank_stride;
    return set_group_ranks(g, group, ranks, (size_t)group->size);
}

static bool add_said_group(rec_groups *g, const record *r, const rec_comm *c)
{
    uint64_t ranks[MAX_LISTED];
    size_t n;
    if (c->pg_name == REC_NONE)
        return true;
    rec_group_info *const group = add_group_name(g, rec_text(r, c->pg_name));
    if (group == NULL)
        return false;
    if (c->group_size != REC_NO_ID && c->group_size > group->size)
        group->size = c->group_size;
    if (group->n_ranks > 0)
        return true;
    if (c->ranks != REC_NONE &&
        read_rank_list(rec_text(r, c->ranks), ranks, MAX_LISTED, &n) &&
        (group->size == 0 || n == group->size))
        return set_group_ranks(g, group, ranks, n);
    group->is_cut = c->ranks != REC_NONE && n > 0;
    return add_strided(g, group, c);
}

static int compare_groups(const void *a, const void *b, void *context)
{
    const intern *const names = context;
    const rec_group_info *const x = a, *const y = b;
    return str_cmp(intern_text(names, x->name), intern_text(names, y->name));
}

/* A name that is a number stays. Other groups get the numbers after the largest of
 * those. */
static void number_groups_of_ranks(rec_groups *g)
{
    uint64_t next = 1, number;
    for (size_t i = 0; i < g->groups.n; i++)
        if (str_to_u64(intern_text(&g->names, g->groups.at[i].name), &number) &&
            number < UINT32_MAX && number >= next)
            next = number + 1;
    for (size_t i = 0; i < g->groups.n; i++) {
        rec_group_info *const group = &g->groups.at[i];
        const bool is_number = str_to_u64(intern_text(&g->names, group->name), &number) &&
                               number < UINT32_MAX;
        group->number = is_number ? number : next++;
    }
}

halley_status rec_groups_init(rec_groups *groups, const rec_list *list, halley_error *err)
{
    bool ok = true;
    *groups = (rec_groups){0};
    for (size_t k = 0; ok && k < list->ranks.n; k++)
        ok = add_configured(groups, &list->ranks.at[k]);
    for (size_t k = 0; ok && k < list->ranks.n; k++)
        for (size_t i = 0; ok && i < list->ranks.at[k].comms.n; i++)
            ok = add_said_group(groups, &list->ranks.at[k],
                                &list->ranks.at[k].comms.at[i]);
    if (!ok)
        return error_nomem(err);
    if (groups->groups.n > 0)
        qsort_r(groups->groups.at, groups->groups.n, sizeof *groups->groups.at,
                compare_groups, &groups->names);
    number_groups_of_ranks(groups);
    return HALLEY_OK;
}

void rec_groups_fini(rec_groups *groups)
{
    intern_fini(&groups->names);
    array_fini(&groups->groups);
    array_fini(&groups->ranks);
}

const rec_group_info *rec_groups_find(const rec_groups *groups, str name)
{
    size_t low = 0, high = groups->groups.n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int order =
            str_cmp(intern_text(&groups->names, groups->groups.at[mid].name), name);
        if (order == 0)
            return &groups->groups.at[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}
