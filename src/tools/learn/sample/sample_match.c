/*
 * Makes the ranks consistent. All ranks of a stage run one program, so a collective
 * whose groups are within stages always has its partners. Messages between two stages
 * are paired in order, first with first. Unpaired ones are dropped. Collectives of all
 * ranks are kept as long as every stage has the same ones in the same order. Groups that
 * would cross stages in any other way are replaced by the ranks of the stage.
 */
#include "learn/sample/sample.h"

#include <assert.h>
#include <math.h>

#define LEFT_OUT (UINT32_MAX - 1) /* in sample_node.tag */

static bool is_sampled_message(const model_op *op)
{
    return op->type == HALLEY_NODE_SEND || op->type == HALLEY_NODE_RECV;
}

/* Replaces a kind of group that does not fit: size x stride must divide the ranks of a
 * stage. */
static void fit_kind(sample_kind *k, uint32_t block, uint32_t n_ranks)
{
    assert(block > 0 && n_ranks >= block);
    if (k->size >= n_ranks && block == n_ranks) {
        *k = (sample_kind){.size = n_ranks, .stride = 1};
        return;
    }
    if (k->size > 1 && k->stride > 0 && (uint64_t)k->size * k->stride <= block &&
        block % (k->size * k->stride) == 0)
        return;
    if (k->size > 1)
        *k = (sample_kind){.size = block, .stride = 1};
}

static double *find_message_size(const synth_model *m, sample_stage *stage,
                                 sample_node *node)
{
    const uint32_t f = synth_field_of(m, &m->ops.at[node->op], STR("comm_size"));
    return f == MODEL_NONE ? NULL : &stage->values.at[node->first_value + f];
}

/* The stage of a message's peer. Rounds the distance to a multiple of the ranks per
 * stage. */
static uint32_t peer_stage(const sample_set *s, sample_node *node, uint32_t stage)
{
    assert(stage < s->stages.n);
    const uint32_t n = s->outline.n_stages, block = s->block;
    if (n == 1)
        return 0;
    uint32_t steps = (node->where + block / 2) / block % n;
    if (steps == 0)
        steps = 1;
    node->where = steps * block;
    return (stage + steps) % n;
}

typedef struct end {
    uint32_t stage, node, peer;
    uint32_t distance; /* from the sender, upwards */
    bool send;
    uint64_t key; /* hash of the channel */
} end;
typedef ARRAY(end) ends;

static int by_channel(const void *a, const void *b)
{
    const end *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->send != y->send)
        return x->send ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static bool list_messages(ends *out, sample_set *s)
{
    const uint32_t n_ranks = s->outline.n_ranks;
    for (uint32_t k = 0; k < s->stages.n; k++)
        for (uint32_t i = 0; i < s->stages.at[k].nodes.n; i++) {
            sample_node *node = &s->stages.at[k].nodes.at[i];
            const model_op *op = &s->m->ops.at[node->op];
            if (!is_sampled_message(op))
                continue;
            const uint32_t peer = peer_stage(s, node, k);
            const bool send = op->type == HALLEY_NODE_SEND;
            const uint32_t from = send ? k : peer, to = send ? peer : k;
            const uint32_t up = send ? node->where : (n_ranks - node->where) % n_ranks;
            node->tag = LEFT_OUT;
            const uint64_t key = ((uint64_t)from << 40 ^ (uint64_t)to << 20) + up;
            if (!array_push(out, (end){k, i, peer, up, send, key}))
                return false;
        }
    return true;
}

/* Pairs n ends of one channel: sends first, then receives. */
static void pair_channel(sample_set *s, const end *at, size_t n)
{
    assert(n > 0);
    size_t n_sends = 0;
    while (n_sends < n && at[n_sends].send)
        n_sends++;
    const size_t n_pairs = n_sends < n - n_sends ? n_sends : n - n_sends;
    for (size_t i = 0; i < n_pairs; i++) {
        sample_stage *from = &s->stages.at[at[i].stage];
        sample_stage *to = &s->stages.at[at[n_sends + i].stage];
        sample_node *send = &from->nodes.at[at[i].node];
        sample_node *recv = &to->nodes.at[at[n_sends + i].node];
        send->tag = recv->tag = (uint32_t)i;
        double *a = find_message_size(s->m, from, send),
               *b = find_message_size(s->m, to, recv);
        if (!a || !b) {
            send->tag = recv->tag = LEFT_OUT;
            continue;
        }
        *a = *b = fmax(1, *a);
    }
}

static halley_status match_stage_messages(sample_set *s, halley_error *err)
{
    ends list = {0};
    if (!list_messages(&list, s)) {
        array_fini(&list);
        return error_nomem(err);
    }
    if (list.n > 1)
        qsort(list.at, list.n, sizeof *list.at, by_channel);
    for (size_t i = 0; !s->safe && s->outline.n_ranks > 1 && i < list.n;) {
        size_t j = i;
        while (j < list.n && list.at[j].key == list.at[i].key)
            j++;
        pair_channel(s, list.at + i, j - i);
        i = j;
    }
    array_fini(&list);
    return HALLEY_OK;
}

bool sample_of_all(const sample_set *s, const sample_node *node)
{
    assert(node->op < s->m->ops.n);
    if (s->m->ops.at[node->op].type != HALLEY_NODE_COLL)
        return false;
    return node->where == MODEL_NONE ||
           (s->kinds.at[node->where].size == s->outline.n_ranks);
}

static sample_node *next_of_all(const sample_set *s, sample_stage *stage, size_t *at)
{
    assert(*at <= stage->nodes.n);
    for (; *at < stage->nodes.n; (*at)++) {
        sample_node *node = &stage->nodes.at[*at];
        if (sample_of_all(s, node))
            return &stage->nodes.at[(*at)++];
    }
    return NULL;
}

/* Keeps collectives of all ranks as long as all stages agree. */
static halley_status match_of_all(sample_set *s, halley_error *err)
{
    const uint32_t n = (uint32_t)s->stages.n;
    size_t *at = mem_array_zero(n, sizeof *at);
    if (!at)
        return error_nomem(err);
    bool agree = !s->safe || n == 1;
    while (n > 1) {
        bool any = false;
        sample_node *first = NULL;
        double size = 0;
        /* Compares with a copy of the cursors, which move only afterwards. */
        for (uint32_t k = 0; k < n; k++) {
            size_t ahead = at[k];
            sample_node *node = next_of_all(s, &s->stages.at[k], &ahead);
            any = any || node;
            if (k == 0 && node) {
                first = node;
                const double *bytes = find_message_size(s->m, &s->stages.at[0], node);
                size = bytes ? *bytes : 0;
            }
            agree = agree && node && first &&
                    s->m->ops.at[node->op].comm == s->m->ops.at[first->op].comm;
        }
        if (!any)
            break;
        for (uint32_t k = 0; k < n; k++) {
            sample_node *node = next_of_all(s, &s->stages.at[k], &at[k]);
            if (!node)
                continue;
            double *bytes = find_message_size(s->m, &s->stages.at[k], node);
            if (bytes && agree)
                *bytes = size;
            if (!agree)
                node->tag = LEFT_OUT;
        }
    }
    free(at);
    return HALLEY_OK;
}

/* Removes dropped nodes from the list. */
static void drop_left_out(const sample_set *s, sample_stage *stage)
{
    size_t n = 0;
    for (size_t i = 0; i < stage->nodes.n; i++) {
        sample_node node = stage->nodes.at[i];
        const model_op *op = &s->m->ops.at[node.op];
        const bool coll = op->type == HALLEY_NODE_COLL;
        const bool alone =
            coll && (s->outline.n_ranks == 1 ||
                     (node.where != MODEL_NONE && s->kinds.at[node.where].size < 2));
        if (alone || ((coll || is_sampled_message(op)) && node.tag == LEFT_OUT)) {
            stage->n_left_out++;
            continue;
        }
        double *bytes = coll ? find_message_size(s->m, stage, &node) : NULL;
        if (bytes && *bytes < 1 && op->comm != HALLEY_COLL_BARRIER)
            *bytes = 1;
        stage->nodes.at[n++] = node;
    }
    stage->nodes.n = n;
}

halley_status sample_match(sample_set *s, halley_error *err)
{
    assert(s->block > 0);
    uint32_t id = 1;
    for (size_t i = 0; i < s->kinds.n; i++) {
        sample_kind *k = &s->kinds.at[i];
        if (k->size >= s->outline.n_ranks)
            *k = (sample_kind){.size = s->outline.n_ranks, .stride = 1};
        else
            fit_kind(k, s->block, s->outline.n_ranks);
    }
    /* Kinds that became equal share their groups. */
    for (size_t i = 0; i < s->kinds.n; i++) {
        sample_kind *k = &s->kinds.at[i];
        k->first_id = 0;
        for (size_t j = 0; j < i && k->first_id == 0; j++)
            if (s->kinds.at[j].size == k->size && s->kinds.at[j].stride == k->stride)
                k->first_id = s->kinds.at[j].first_id;
        if (k->first_id == 0 && k->size > 0) {
            k->first_id = id;
            id += s->outline.n_ranks / k->size;
        }
    }
    TRY(match_stage_messages(s, err));
    TRY(match_of_all(s, err));
    for (size_t i = 0; i < s->stages.n; i++)
        drop_left_out(s, &s->stages.at[i]);
    return HALLEY_OK;
}
