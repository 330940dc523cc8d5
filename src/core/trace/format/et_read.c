/*
 * Read whole .et files.
 *
 * Messages follow one another, and only their lengths show where they are. To decode a
 * large file on several threads, each thread looks for a likely message start near the
 * beginning of its share. A likely start is a chain of messages that look like nodes. The
 * thread decodes from there into its own columns.
 *
 * If the previous share ends exactly at that start, the guess was right and the columns
 * are appended. Otherwise the rest is decoded again in order. So a wrong guess costs
 * time, but never gives a wrong trace.
 */
#include "base/call.h"
#include "base/pool.h"
#include "trace/format/et.h"

#include <string.h>

enum {
    SHARE_BYTES = 8 << 20, /* minimum bytes per thread */
    LOOK_BYTES = 1 << 16,  /* how far to look for a message start */
    SAMPLE = 1024,         /* nodes after which the final size is estimated */
    CHAIN = 6              /* nodes in a row that make a start likely */
};

halley_status et_read_length(const et_decoder *d, const uint8_t **at, const uint8_t *end,
                             size_t *n)
{
    const uint8_t *const start = *at;
    uint64_t length;
    if (!wire_varint(at, end, &length)) {
        if (end - start >= 10)
            return et_bad(d, start,
                          "a message length of more than ten bytes; the file is damaged "
                          "or no .et");
        return et_bad(d, start,
                      "the file ends inside a message length; it is cut, copy it again");
    }
    const uint64_t left = (uint64_t)(end - *at);
    if (length > left)
        return et_bad(
            d, start,
            "a message of %llu bytes, but the file ends after %llu; it is cut (copy it "
            "again) or no .et",
            (unsigned long long)length, (unsigned long long)left);
    *n = (size_t)length;
    return HALLEY_OK;
}

/*
 * Reserve room for `times` as much again as there is, so that columns seldom move while
 * they grow. Memory that is not written to costs nothing, so a failure is ignored. An
 * implausible estimate is ignored too.
 */
static void foresee_size(trace_store *s, double times)
{
    u64_array *const wide[] = {&s->names,    &s->starts,  &s->durations,
                               &s->inputs,   &s->outputs, &s->data_ids,
                               &s->ctrl_ids, &s->values,  &s->ids};
    u32_array *const narrow[] = {&s->data_at, &s->ctrl_at, &s->shape, &s->value_at};
    enum {
        N_WIDE = sizeof wide / sizeof *wide,
        N_NARROW = sizeof narrow / sizeof *narrow
    };
    if (times > UINT32_MAX)
        return;
    bool fine = true;
    for (size_t i = 0; i < N_WIDE; i++)
        fine &= array_reserve(wide[i], (size_t)((double)wide[i]->n * times * 1.03));
    for (size_t i = 0; i < N_NARROW; i++)
        fine &= array_reserve(narrow[i], (size_t)((double)narrow[i]->n * times * 1.03));
    fine &= array_reserve(&s->types, (size_t)((double)s->types.n * times * 1.03));
    fine &= array_reserve(&s->own, (size_t)((double)s->own.n * times * 1.03));
    (void)fine;
}

halley_status et_read_nodes(const et_decoder *d, const uint8_t **at, const uint8_t *stop,
                            const uint8_t *end, size_t n_room, uint32_t max_nodes)
{
    trace_store *const s = d->s;
    const uint8_t *const begin = *at;
    while (*at < stop) {
        const uint8_t *const start = *at;
        size_t n = 0;
        if (s->n % MARK_EVERY == 0)
            TRY(call_check(d->err));
        if (s->n == SAMPLE && start > begin)
            foresee_size(s, (double)n_room / (double)(start - begin) - 1);
        TRY(et_read_length(d, at, end, &n));
        if (n == 0)
            return et_bad(
                d, start,
                "a node of zero length, at which Chakra's own reader would stop; "
                "remove the zero byte or give the node a type");
        if (s->n >= max_nodes) {
            error_set(d->err, HALLEY_ELIMIT, "more than %u nodes in one trace",
                      max_nodes);
            error_at_offset(d->err, et_offset(d, start));
            return HALLEY_ELIMIT;
        }
        const node_mark mark = {et_offset(d, start), s->n};
        if (s->n % MARK_EVERY == 0 && !d->copies && !array_push(&s->marks, mark))
            return error_nomem(d->err);
        TRY(et_read_node(d, *at, n));
        *at += n;
    }
    return HALLEY_OK;
}

/* Does a message that looks like a node start here, followed by others? */
static bool likely_start(const uint8_t *at, const uint8_t *end)
{
    for (int i = 0; i < CHAIN; i++) {
        uint64_t n;
        if (at == end)
            return i > 0;
        if (!wire_varint(&at, end, &n) || n < 4 || n > (uint64_t)(end - at))
            return false;
        const uint8_t *field = at;
        uint64_t id;
        if (*field++ != (1 << 3 | WIRE_VARINT) || !wire_varint(&field, at + n, &id))
            return false;
        if (field < at + n && *field != (2 << 3 | WIRE_LEN) &&
            *field != (3 << 3 | WIRE_VARINT))
            return false;
        at += n;
    }
    return true;
}

static const uint8_t *guess_start(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *const far = end - at > LOOK_BYTES ? at + LOOK_BYTES : end;
    for (; at < far; at++)
        if (likely_start(at, end))
            return at;
    return NULL;
}

/* One thread's share of a file. The first share uses the trace's own columns. */
typedef struct share {
    trace_store own, *s;
    const uint8_t *start, *stop; /* decode messages that start in [start, stop) */
    const uint8_t *reached;      /* where the next message starts */
    bool done;
} share;

typedef struct job {
    const uint8_t *base, *end;
    share *shares;
    uint32_t max_nodes;
} job;

static halley_status read_share(void *context, size_t i, uint32_t worker,
                                halley_error *err)
{
    (void)worker;
    const job *const j = context;
    share *const part = &j->shares[i];
    /* The first share starts at the right place, so its errors are the file's. Other
     * shares may have started from a wrong guess. If their errors are real, they are
     * found again when the rest is decoded in order. */
    const et_decoder d = {.s = part->s, .base = j->base, .err = i == 0 ? err : NULL};
    part->reached = part->start;
    const uint8_t *const room_to = i == 0 ? j->end : part->stop; /* others are appended */
    halley_status status = HALLEY_EFORMAT;
    if (part->start)
        status = et_read_nodes(&d, &part->reached, part->stop, j->end,
                               (size_t)(room_to - part->start), j->max_nodes);
    part->done = status == HALLEY_OK;
    return i == 0 ? status : HALLEY_OK;
}

/* Elements to be copied to the end of a column once all columns have room. Copies run in
 * parallel. */
typedef struct copy {
    void *to;
    const void *from;
    size_t n;            /* elements */
    uint32_t size;       /* bytes of one */
    uint32_t shift;      /* added to each, when size is 4 */
    const uint32_t *map; /* replaces each, when size is 4 */
    void *owned;         /* freed when done, so that little is in memory twice */
} copy;
typedef ARRAY(copy) copy_array;

static halley_status run_copy(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    (void)err;
    copy *const c = &((copy *)context)[i];
    if (c->size == 4) {
        uint32_t *const to = c->to;
        const uint32_t *const from = c->from;
        for (size_t k = 0; k < c->n; k++)
            to[k] = c->map ? c->map[from[k]] : from[k] + c->shift;
    } else {
        memcpy(c->to, c->from, c->n * c->size);
    }
    free(c->owned);
    c->owned = NULL;
    return HALLEY_OK;
}

static bool plan_column64(copy_array *plan, u64_array *to, u64_array *from)
{
    if (from->n == 0)
        return true;
    if (!array_reserve(to, from->n))
        return false;
    const copy c = {.to = to->at + to->n,
                    .from = from->at,
                    .n = from->n,
                    .size = 8,
                    .owned = from->at};
    if (!array_push(plan, c))
        return false;
    to->n += from->n;
    from->at = NULL;
    return true;
}

/* Plan the copy of a column that is zero after its end: fill it up to n nodes first. */
static bool plan_column(copy_array *plan, u64_array *to, uint32_t n, u64_array *from)
{
    if (from->n == 0)
        return true;
    if (!array_reserve(to, n - to->n + from->n))
        return false;
    memset(to->at + to->n, 0, (n - to->n) * sizeof *to->at);
    to->n = n;
    return plan_column64(plan, to, from);
}

/* Plan the copy of positions, shifted by the length of what precedes them. The first
 * `skip` are left out. */
static bool plan_column32(copy_array *plan, u32_array *to, u32_array *from, size_t skip,
                          size_t shift)
{
    if (!array_reserve(to, from->n))
        return false;
    const copy c = {.to = to->at + to->n,
                    .from = from->at + skip,
                    .n = from->n - skip,
                    .size = 4,
                    .shift = (uint32_t)shift,
                    .owned = from->at};
    if (!array_push(plan, c))
        return false;
    to->n += c.n;
    from->at = NULL;
    return true;
}

static bool plan_ids(copy_array *plan, trace_store *to, trace_store *from)
{
    if (to->ids.n == 0 && from->ids.n == 0 && from->first_id == to->first_id + to->n)
        return true;
    if (to->ids.n == 0) {
        if (!array_reserve(&to->ids, (size_t)to->n + from->n))
            return false;
        for (uint32_t i = 0; i < to->n; i++)
            to->ids.at[i] = to->first_id + i;
        to->ids.n = to->n;
    }
    if (from->ids.n)
        return plan_column64(plan, &to->ids, &from->ids);
    if (!array_reserve(&to->ids, from->n))
        return false;
    for (uint32_t i = 0; i < from->n; i++)
        to->ids.at[to->ids.n++] = from->first_id + i;
    return true;
}

static bool plan_shapes(copy_array *plan, uint32_t **map, trace_store *to,
                        const trace_store *from)
{
    const size_t n = from->shapes.shapes.n;
    *map = mem_array(n, sizeof **map);
    if (!*map || !array_reserve(&to->shape, from->n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        (*map)[i] = attr_shapes_import(&to->shapes, &from->shapes, i);
        if ((*map)[i] == HASH_NONE)
            return false;
    }
    const copy c = {.to = to->shape.at + to->shape.n,
                    .from = from->shape.at,
                    .n = from->n,
                    .size = 4,
                    .map = *map};
    to->shape.n += from->n;
    return array_push(plan, c);
}

static bool append_extras(trace_store *to, const trace_store *from)
{
    if (!array_reserve(&to->extras, from->extras.n))
        return false;
    for (size_t i = 0; i < from->extras.n; i++) {
        node_extra extra = from->extras.at[i];
        extra.node += to->n;
        to->extras.at[to->extras.n++] = extra;
    }
    return true;
}

static bool append_marks(trace_store *to, const trace_store *from)
{
    if (!array_reserve(&to->marks, from->marks.n))
        return false;
    for (size_t i = 0; i < from->marks.n; i++) {
        node_mark mark = from->marks.at[i];
        mark.node += to->n;
        to->marks.at[to->marks.n++] = mark;
    }
    return true;
}

/* Do both fit in 32-bit positions, and is all text in the file? */
static bool can_append(const trace_store *to, const trace_store *from, uint32_t max_nodes)
{
    return from->own.n == 0 && from->longs.n == 0 && from->n <= max_nodes - to->n &&
           to->values.n + from->values.n <= UINT32_MAX &&
           to->data_ids.n + from->data_ids.n <= UINT32_MAX &&
           to->ctrl_ids.n + from->ctrl_ids.n <= UINT32_MAX;
}

static bool plan_append(copy_array *plan, uint32_t **map, trace_store *to,
                        trace_store *from)
{
    if (to->n == 0)
        to->first_id = from->first_id;
    if (!array_reserve(&to->types, from->n))
        return false;
    const copy types = {.to = to->types.at + to->types.n,
                        .from = from->types.at,
                        .n = from->n,
                        .size = 1};
    to->types.n += from->n;
    const size_t n_values = to->values.n;
    /* The largest column first, while the least is in memory twice. Positions come before
     * what they point into, because the shift is the length of the target so far. */
    return plan_column64(plan, &to->values, &from->values) && array_push(plan, types) &&
           plan_ids(plan, to, from) && plan_shapes(plan, map, to, from) &&
           append_extras(to, from) && append_marks(to, from) &&
           plan_column(plan, &to->names, to->n, &from->names) &&
           plan_column(plan, &to->starts, to->n, &from->starts) &&
           plan_column(plan, &to->durations, to->n, &from->durations) &&
           plan_column(plan, &to->inputs, to->n, &from->inputs) &&
           plan_column(plan, &to->outputs, to->n, &from->outputs) &&
           plan_column32(plan, &to->value_at, &from->value_at, 0, n_values) &&
           plan_column32(plan, &to->data_at, &from->data_at, 1, to->data_ids.n) &&
           plan_column32(plan, &to->ctrl_at, &from->ctrl_at, 1, to->ctrl_ids.n) &&
           plan_column64(plan, &to->data_ids, &from->data_ids) &&
           plan_column64(plan, &to->ctrl_ids, &from->ctrl_ids);
}

static halley_status append_part(trace_store *to, trace_store *from, uint32_t n_threads,
                                 halley_error *err)
{
    if (from->n == 0)
        return HALLEY_OK;
    copy_array plan = {0};
    uint32_t *map = NULL;
    halley_status status = HALLEY_OK;
    if (plan_append(&plan, &map, to, from))
        status = pool_run(n_threads, plan.n, run_copy, plan.at, err);
    else
        status = error_nomem(err);
    for (size_t i = 0; i < plan.n && status; i++)
        free(plan.at[i].owned);
    to->n += from->n;
    array_fini(&plan);
    free(map);
    trace_store_fini(from);
    return status;
}

/* Append the shares, as long as each starts where the previous one ended. */
static halley_status join_shares(const et_decoder *d, const uint8_t **at, const job *j,
                                 uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        share *const part = &j->shares[i];
        if (!part->done || *at != part->start)
            break;
        if (i > 0) {
            if (!can_append(d->s, part->s, j->max_nodes))
                break;
            TRY(append_part(d->s, part->s, n, d->err));
        }
        *at = part->reached;
    }
    return HALLEY_OK;
}

/* Split [at, end) over threads. On return *at is where the in-order reader must
 * continue. */
static halley_status read_in_shares(const et_decoder *d, const uint8_t **at,
                                    const uint8_t *end, uint32_t n_threads,
                                    uint32_t max_nodes)
{
    const size_t n_bytes = (size_t)(end - *at);
    const uint32_t most = n_threads ? n_threads : pool_cores();
    const uint32_t n =
        n_bytes / SHARE_BYTES < most ? (uint32_t)(n_bytes / SHARE_BYTES) : most;
    if (n < 2)
        return HALLEY_OK;
    share *const shares = mem_array_zero(n, sizeof *shares);
    if (!shares)
        return error_nomem(d->err);
    halley_status status = HALLEY_OK;
    shares[0].start = *at;
    shares[0].s = d->s;
    for (uint32_t i = 1; i < n && !status; i++) {
        shares[i].start = guess_start(*at + n_bytes / n * i, end);
        shares[i].s = &shares[i].own;
        if (!trace_store_init(&shares[i].own))
            status = error_nomem(d->err);
        shares[i].own.base = d->base;
    }
    for (uint32_t i = 0; i < n; i++)
        shares[i].stop = i + 1 < n && shares[i + 1].start ? shares[i + 1].start : end;
    job j = {d->base, end, shares, max_nodes};
    if (!status)
        status = pool_run(n, n, read_share, &j, d->err);
    if (!status)
        status = join_shares(d, at, &j, n);
    for (uint32_t i = 1; i < n; i++)
        trace_store_fini(&shares[i].own);
    free(shares);
    return status;
}

/* Is the message plausible as a node: no unknown fields and a valid name? */
static halley_status reads_as_node(const et_decoder *d, bool *out, const uint8_t *at,
                                   size_t n)
{
    trace_store s;
    const et_decoder probe = {.s = &s, .base = d->base};
    halley_status status = trace_store_init(&s) ? HALLEY_OK : HALLEY_ENOMEM;
    s.base = d->base;
    if (!status)
        status = et_read_node(&probe, at, n);
    const str name = status ? (str){0} : trace_text(&s, column_get(&s.names, 0));
    *out = !status && s.extras.n == 0;
    for (size_t i = 0; i < name.n && *out; i++)
        *out = (uint8_t)name.at[i] >= 0x20;
    trace_store_fini(&s);
    return status == HALLEY_ENOMEM ? error_nomem(d->err) : HALLEY_OK;
}

halley_status et_first_is_meta(bool *out, const uint8_t *at, size_t n, halley_error *err)
{
    trace_store s;
    const et_decoder d = {.s = &s, .base = at, .err = err};
    if (!trace_store_init(&s))
        return error_nomem(err);
    s.base = at;
    bool is_node = false;
    halley_status status = et_read_meta(&d, at, n);
    *out = status == HALLEY_OK;
    if (status == HALLEY_OK && s.meta.unknown)
        status = reads_as_node(&d, &is_node, at, n);
    *out &= !is_node;
    trace_store_fini(&s);
    return status == HALLEY_EFORMAT ? HALLEY_OK : status;
}

/*
 * Read the metadata. Some writers leave it out. Then the first message is already a node,
 * *at does not move, and *why has the reason why it is not metadata. A node without an id
 * and with a short name can look like metadata with unknown fields, so that case is
 * checked as both.
 */
halley_status et_read_first(const et_decoder *d, const uint8_t **at, const uint8_t *end,
                            halley_error *why)
{
    const uint8_t *const start = *at;
    size_t n = 0;
    TRY(et_read_length(d, at, end, &n));
    halley_status status = et_read_meta(d, *at, n);
    bool is_node = false;
    if (status == HALLEY_OK && d->s->meta.unknown)
        status = reads_as_node(d, &is_node, *at, n);
    if (status != HALLEY_EFORMAT && !is_node) {
        *at += n;
        return status;
    }
    if (!is_node && n > 0 && **at != (1 << 3 | WIRE_VARINT) && d->err)
        *why = *d->err;
    trace_store_fini(d->s);
    if (!trace_store_init(d->s))
        return error_nomem(d->err);
    d->s->base = d->base;
    *at = start;
    return HALLEY_OK;
}

static halley_status read_all_nodes(const et_decoder *d, const file_input *in,
                                    const halley_load_opts *opts)
{
    const uint8_t *at = in->at, *const end = in->at + in->n;
    const uint32_t max_nodes = opts->max_nodes ? opts->max_nodes : UINT32_MAX - 1;
    if (in->n == 0)
        return error_set(d->err, HALLEY_EFORMAT,
                         "the file is empty; a trace has at least a metadata message");
    halley_error no_meta = {0};
    TRY(et_read_first(d, &at, end, &no_meta));
    if (opts->n_threads != 1 && !d->copies)
        TRY(read_in_shares(d, &at, end, opts->n_threads, max_nodes));
    const halley_status status =
        et_read_nodes(d, &at, end, end, (size_t)(end - at), max_nodes);
    /* It is neither metadata nor a node, so it was meant to be metadata. */
    if (status == HALLEY_EFORMAT && d->s->n == 0 && no_meta.code)
        *d->err = no_meta;
    return status;
}

halley_status et_read(halley_trace **out, file_input *in, const char *path,
                      const halley_load_opts *opts, halley_error *err)
{
    trace_store s;
    const et_decoder d = {
        .s = &s, .base = in->at, .err = err, .copies = opts->frees_bytes};
    halley_status status = trace_store_init(&s) ? HALLEY_OK : error_nomem(err);
    s.base = in->at;
    if (!status)
        status = read_all_nodes(&d, in, opts);
    if (!status && d.copies) {
        file_input_close(in);
        s.base = NULL;
    }
    if (!status)
        return trace_finish(out, &s, in, path, HALLEY_FORM_ET, err);
    trace_store_fini(&s);
    file_input_close(in);
    return status;
}
