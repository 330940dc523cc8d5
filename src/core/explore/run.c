/*
 * Run a study. Designs are evaluated in blocks on all cores. A wave of blocks is merged,
 * and a separate thread stores it while the next wave is evaluated. Only the best rows,
 * the Pareto front and sums by axis are kept in memory, not the designs.
 *
 * If each outer design has very many plans to choose from, it is evaluated in pieces. So
 * waves stay short, and a kill loses at most the waves in progress. The best of the
 * pieces so far is carried from wave to wave, and the store records its number.
 */
#include "base/array.h"
#include "base/clock.h"
#include "base/number/number.h"
#include "base/pool.h"
#include "explore/answer.h"
#include "explore/bars.h"
#include "explore/refused.h"
#include "explore/run_state.h"
#include "explore/search.h"
#include "explore/settle.h"
#include "explore/share.h"
#include "explore/state.h"
#include "explore/store/store_check.h"
#include "explore/verify.h"
#include "halley/plan_keys.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

static const double most_exhaustive = 2e10;
static const double check_most_s = 0.1; /* time for checking a resumed store after each
                                           wave */
enum { BETWEEN = 128 };

static void block_fini(explore_block *b)
{
    free(b->rows);
    array_fini(&b->front);
    explore_sums_fini(&b->sums);
}

void explore_run_free(explore_run *r)
{
    if (!r)
        return;
    if (r->writing)
        pthread_join(r->writer, NULL);
    for (int w = 0; w < 2; w++) {
        for (uint32_t i = 0; r->blocks[w] && i < EXPLORE_WAVE; i++)
            block_fini(&r->blocks[w][i]);
        free(r->blocks[w]);
    }
    explore_store_close(r->store, NULL);
    explore_share_free(r->share);
    free(r->workers);
    array_fini(&r->best.rows);
    array_fini(&r->front);
    array_fini(&r->known);
    map64_fini(&r->known_at);
    explore_sums_fini(&r->sums);
    strbuf_fini(&r->writing_state);
    free(r);
}

static halley_status make_blocks(explore_run *r, halley_error *err)
{
    assert(r->per_block > 0);
    for (int w = 0; w < 2; w++) {
        r->blocks[w] = mem_array_zero(EXPLORE_WAVE, sizeof *r->blocks[w]);
        if (!r->blocks[w])
            return error_nomem(err);
        for (uint32_t i = 0; i < EXPLORE_WAVE; i++) {
            explore_block *b = &r->blocks[w][i];
            b->rows = mem_array(r->per_block, sizeof *b->rows);
            if (!b->rows)
                return error_nomem(err);
            TRY(explore_sums_init(&b->sums, r->study, err));
        }
    }
    return HALLEY_OK;
}

static halley_status prepare_run(explore_run *r, halley_error *err)
{
    r->threads = r->threads ? r->threads : pool_cores();
    r->workers = mem_array(r->threads, sizeof *r->workers);
    if (!r->workers)
        return error_nomem(err);
    for (uint32_t i = 0; i < r->threads; i++)
        explore_worker_init(&r->workers[i], r->study);
    TRY(explore_sums_init(&r->sums, r->study, err));
    return make_blocks(r, err);
}

halley_status explore_run_new(explore_run **out, const halley_study *study,
                              uint32_t threads, uint32_t top, halley_error *err)
{
    assert(top > 0);
    assert(study->n_axes > 0 || study->size >= 1);
    explore_run *r = mem_array_zero(1, sizeof *r);
    if (!r)
        return error_nomem(err);
    r->study = study;
    r->threads = threads;
    r->top = top;
    r->best.most = top > EXPLORE_MOST_NEAR ? top : EXPLORE_MOST_NEAR;
    r->per_block =
        study->inner_size < EXPLORE_BLOCK ? EXPLORE_BLOCK / study->inner_size : 1;
    r->n_pieces = (study->inner_size + EXPLORE_PIECE - 1) / EXPLORE_PIECE;
    r->look_every = study->inner_size < BETWEEN ? BETWEEN / study->inner_size : 1;
    watcher_init(&r->look, NULL, "exploring", "designs", 0);
    const halley_status status = prepare_run(r, err);
    r->most_now = r->threads < EXPLORE_WAVE ? r->threads : EXPLORE_WAVE;
    if (status == HALLEY_OK)
        *out = r;
    else
        explore_run_free(r);
    return status;
}

static bool keep_row(explore_block *b, const halley_study *s, const explore_row *row)
{
    assert(row->id != UINT64_MAX);
    b->rows[b->n_rows++] = *row;
    explore_sums_add(&b->sums, s, row);
    return s->n_goals < 2 || explore_front_add(&b->front, s, row);
}

static bool in_pieces(const explore_run *r)
{
    return !r->ids && r->n_pieces > 1;
}

/* A range of plans of one outer design. */
typedef struct part {
    uint64_t first, n;
} part;

/* The k-th outer design of the wave, or piece of one. */
static part part_of(const explore_run *r, uint64_t k)
{
    assert(r->n_pieces > 0);
    const uint64_t inner = r->study->inner_size;
    if (!in_pieces(r))
        return (part){(r->ids ? r->ids[k] : r->first + k) * inner, inner};
    const uint64_t outer = (r->first + k) / r->n_pieces;
    const uint64_t at = (r->first + k) % r->n_pieces * EXPLORE_PIECE;
    return (part){outer * inner + at,
                  inner - at < EXPLORE_PIECE ? inner - at : EXPLORE_PIECE};
}

/* Report what was evaluated since the last call; false when the run was cancelled. */
static bool count_designs(explore_run *r, const explore_block *b, uint64_t *counted)
{
    const uint64_t n = b->n_evaluated - *counted;
    *counted = b->n_evaluated;
    return watcher_add(&r->look, n);
}

halley_status explore_evaluate_block(void *context, size_t i, uint32_t worker,
                                     halley_error *err)
{
    explore_run *r = context;
    assert(r->per_block > 0);
    const halley_study *s = r->study;
    explore_worker *w = &r->workers[worker];
    explore_block *b = &r->blocks[r->wave][i];
    b->n_rows = 0;
    b->n_feasible = b->n_evaluated = 0;
    b->front.n = 0;
    explore_sums_clear(&b->sums, s);
    w->reasons.n = 0;
    const uint64_t from = i * r->per_block;
    const uint64_t to = from + r->per_block < r->n ? from + r->per_block : r->n;
    uint64_t counted = 0;
    for (uint64_t k = from; k < to; k++) {
        if (r->between && k % BETWEEN == 0)
            TRY(r->between(r, err));
        const part p = part_of(r, k);
        explore_row row;
        b->n_evaluated += p.n;
        if (k % r->look_every == 0 && !count_designs(r, b, &counted))
            return watcher_error(&r->look, err);
        if (!explore_worker_best(w, &row, &b->n_feasible, p.first, p.n))
            continue;
        if (in_pieces(r))
            b->rows[b->n_rows++] = row;
        else if (!keep_row(b, s, &row))
            return error_nomem(err);
    }
    b->reasons = w->reasons;
    return count_designs(r, b, &counted) ? HALLEY_OK : watcher_error(&r->look, err);
}

/* Merge a block of one piece: its best row is kept once the outer design is complete. */
static halley_status merge_piece(explore_run *r, explore_block *b, uint64_t piece,
                                 halley_error *err)
{
    assert(r->n_pieces > 1);
    if (b->n_rows &&
        (r->reached.pending == 0 || explore_better(r->study, &b->rows[0], &r->pending))) {
        r->pending = b->rows[0];
        r->reached.pending = r->pending.id + 1;
    }
    b->n_rows = 0;
    if (piece % r->n_pieces != r->n_pieces - 1 || r->reached.pending == 0)
        return HALLEY_OK;
    r->reached.pending = 0;
    return keep_row(b, r->study, &r->pending) ? HALLEY_OK : error_nomem(err);
}

static halley_status merge_block(explore_run *r, const explore_block *b,
                                 halley_error *err)
{
    assert(b->n_feasible <= b->n_evaluated);
    for (uint32_t i = 0; i < b->n_rows; i++) {
        if (!explore_top_add(&r->best, r->study, &b->rows[i]))
            return error_nomem(err);
    }
    for (size_t i = 0; i < b->front.n; i++) {
        if (!explore_front_add(&r->front, r->study, &b->front.at[i]))
            return error_nomem(err);
    }
    explore_sums_merge(&r->sums, &b->sums, r->study);
    r->reached.n_evaluated += b->n_evaluated;
    r->reached.n_feasible += b->n_feasible;
    for (uint32_t i = 0; i < b->reasons.n; i++)
        explore_reasons_add(&r->reached.reasons, b->reasons.at[i].seen.reason,
                            b->reasons.at[i].seen.designs);
    return HALLEY_OK;
}

static void *write_wave(void *context)
{
    explore_run *r = context;
    const explore_row *rows[EXPLORE_WAVE];
    uint32_t n[EXPLORE_WAVE];
    const explore_block *blocks = r->blocks[!r->wave];
    for (uint32_t i = 0; i < r->n_writing; i++) {
        rows[i] = blocks[i].rows;
        n[i] = blocks[i].n_rows;
    }
    const explore_wave wave = {rows, n, r->n_writing, &r->writing_reached,
                               strbuf_str(&r->writing_state)};
    r->write_status = explore_store_write(r->store, &wave, &r->look, &r->write_err);
    if (r->write_status == HALLEY_OK && explore_search_is_exhaustive(r->study))
        r->write_status =
            explore_store_check_some(r->store, check_most_s, &r->look, &r->write_err);
    return NULL;
}

halley_status explore_run_flush(explore_run *r, halley_error *err)
{
    if (!r->writing)
        return HALLEY_OK;
    pthread_join(r->writer, NULL);
    r->writing = false;
    if (r->write_status != HALLEY_OK && err)
        *err = r->write_err;
    assert(!r->writing);
    return r->write_status;
}

/* Pass the finished wave to the storing thread, which has finished the previous one by
 * then. */
static halley_status hand_over(explore_run *r, uint32_t n_blocks, halley_error *err)
{
    assert(n_blocks > 0 && n_blocks <= EXPLORE_WAVE);
    assert(r->wave < 2);
    TRY(explore_run_flush(r, err));
    r->wave = !r->wave;
    if (!r->store)
        return HALLEY_OK;
    r->n_writing = n_blocks;
    r->writing_reached = r->reached;
    if (explore_state_suffices(r->study))
        explore_state_save(&r->writing_state, r);
    if (r->writing_state.failed)
        return error_nomem(err);
    const int failed = pthread_create(&r->writer, NULL, write_wave, r);
    if (failed)
        return error_errno(err, "start a thread", failed);
    r->writing = true;
    return HALLEY_OK;
}

uint64_t explore_run_wave_size(const explore_run *r)
{
    return r->per_block * EXPLORE_WAVE;
}

/* A kill loses the wave that is being evaluated and the one that is being written. If
 * waves take long, the next ones are smaller. Results do not depend on this. */
static void pace_waves(explore_run *r, uint32_t n_blocks, double taken_s)
{
    assert(taken_s >= 0);
    const uint32_t least = r->threads * (r->n_ranks > 1 ? r->n_ranks : 1);
    if (taken_s > 0.3)
        r->most_now = n_blocks / 2 > least ? n_blocks / 2 : least;
    else if (taken_s < 0.1)
        r->most_now *= 2;
    if (r->most_now > EXPLORE_WAVE)
        r->most_now = EXPLORE_WAVE;
}

halley_status explore_run_wave(explore_run *r, const uint64_t *ids, uint64_t first,
                               uint64_t n, halley_error *err)
{
    assert(n > 0 && n <= explore_run_wave_size(r));
    const double start = clock_s();
    const uint64_t n_failures = mem_failure_count();
    r->ids = ids;
    r->first = first;
    r->n = n;
    const uint32_t n_blocks = (uint32_t)((n + r->per_block - 1) / r->per_block);
    TRY(r->n_ranks > 1 ? explore_share_wave(r, n_blocks, err)
                       : pool_run(r->threads, n_blocks, explore_evaluate_block, r, err));
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (in_pieces(r))
            TRY(merge_piece(r, &r->blocks[r->wave][i], first + i, err));
        TRY(merge_block(r, &r->blocks[r->wave][i], err));
    }
    if (n_failures != mem_failure_count())
        return error_nomem(err); /* a design may be incomplete: discard the wave */
    r->reached.next = ids ? r->reached.next + n : first + n;
    TRY(hand_over(r, n_blocks, err));
    pace_waves(r, n_blocks, clock_s() - start);
    return HALLEY_OK;
}

halley_status explore_run_waves(explore_run *r, const uint64_t *ids, uint64_t n,
                                halley_error *err)
{
    if (!ids)
        n *= r->n_pieces;
    for (uint64_t at = r->reached.next; at < n;) {
        const uint64_t most = r->per_block * r->most_now;
        const uint64_t m = n - at < most ? n - at : most;
        TRY(explore_run_wave(r, ids ? ids + at : NULL, at, m, err));
        at += m;
    }
    return explore_run_flush(r, err);
}

static void take_answer(explore_answered *out, const explore_row *row)
{
    out->feasible = true;
    memcpy(out->objective, row->objective, sizeof out->objective);
}

/* Rows of the wave that was just merged are in the order of the requested designs. */
static void match_answers(explore_answered *out, const explore_run *r,
                          const uint64_t *ids, uint64_t n)
{
    assert(out != NULL || n == 0);
    const uint64_t inner = r->study->inner_size;
    for (uint64_t k = 0, b = 0; k < n; b++) {
        const explore_block *at = &r->blocks[!r->wave][b];
        uint32_t row = 0;
        for (uint64_t i = 0; i < r->per_block && k < n; i++, k++) {
            out[k].feasible = false;
            if (row < at->n_rows && at->rows[row].id / inner == ids[k])
                take_answer(&out[k], &at->rows[row++]);
        }
    }
}

halley_status explore_ask(explore_answered *out, explore_run *r, const uint64_t *ids,
                          uint64_t n, halley_error *err)
{
    assert(ids != NULL);
    r->n_asked += n;
    if (r->n_asked > r->n_known) {
        TRY(explore_run_wave(r, ids, 0, n, err));
        match_answers(out, r, ids, n);
        return HALLEY_OK;
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t at = map64_find(&r->known_at, ids[i]);
        out[i].feasible = false;
        if (at != HASH_NONE)
            take_answer(&out[i], &r->known.at[at]);
    }
    return HALLEY_OK;
}

static bool take_stored(void *context, const explore_row *stored)
{
    explore_run *r = context;
    const explore_method method = r->study->search.method;
    explore_row found = *stored;
    const explore_row *row = &found;
    if (!watcher_add(&r->look, 0))
        return false;
    if (stored->settled)
        explore_unsettle(&found, &r->workers[0]);
    explore_sums_add(&r->sums, r->study, row);
    if ((method == EXPLORE_EVOLUTION || method == EXPLORE_NLOPT) &&
        (!map64_set(&r->known_at, row->id / r->study->inner_size, (uint32_t)r->known.n) ||
         !array_push(&r->known, *row)))
        return false;
    return explore_top_add(&r->best, r->study, row) &&
           (r->study->n_goals < 2 || explore_front_add(&r->front, r->study, row));
}

static halley_status load_state(explore_run *r, const char *path, halley_error *err)
{
    str state;
    const uint64_t n_outer = r->reached.next / r->n_pieces; /* complete ones */
    TRY(explore_store_state(&state, r->store, err));
    const uint64_t n_failures = mem_failure_count();
    if ((state.n > 0) != (r->reached.next > 0) ||
        (state.n > 0 && !explore_state_load(r, state)))
        return n_failures != mem_failure_count()
                   ? error_nomem(err)
                   : store_damaged(path, err, "its state is not that of the study");
    if (explore_search_is_exhaustive(r->study) &&
        explore_store_last(r->store) >= n_outer * r->study->inner_size &&
        explore_store_last(r->store) > 0)
        return store_damaged(path, err, "it holds designs that it says are not done");
    return HALLEY_OK;
}

static halley_status open_store(explore_run *r, const halley_explore_opts *o,
                                halley_error *err)
{
    if (!o->store)
        return HALLEY_OK;
    TRY(explore_store_open(&r->store, &r->reached, o->store, o->resume, r->study, err));
    r->n_known = r->reached.next;
    if (r->reached.pending > 0) {
        explore_worker_move(&r->workers[0], r->reached.pending - 1);
        explore_worker_try(&r->workers[0], &r->pending);
    }
    if (explore_state_suffices(r->study))
        return load_state(r, o->store, err);
    const halley_status status = explore_store_read(r->store, take_stored, r, err);
    return watcher_is_cancelled(&r->look) ? watcher_error(&r->look, err) : status;
}

static halley_status run_all(explore_run *r, halley_error *err)
{
    assert(r->study->search.method == EXPLORE_EXHAUSTIVE);
    const halley_study *s = r->study;
    if (s->size > most_exhaustive)
        return error_set(err, HALLEY_ELIMIT,
                         "the space has %s designs, too many to try each (at 1e6 a "
                         "second, %s days): choose search: random, latin-hypercube, "
                         "evolutionary or nlopt, or let less vary",
                         number_digits(s->size, 3).at,
                         number_digits(s->size / 1e6 / 86400, 3).at);
    return explore_run_waves(r, NULL, (uint64_t)s->size / s->inner_size, err);
}

/* Turn rows into candidates. Each is evaluated again to get its plan and its texts. */
static halley_status list_candidates(halley_candidate **out, uint32_t *n_out,
                                     const explore_rows *rows, explore_worker *w,
                                     explore_bars *bars, halley_error *err)
{
    *out = mem_array(rows->n, sizeof **out);
    if (!*out)
        return error_nomem(err);
    *n_out = (uint32_t)rows->n;
    for (size_t i = 0; i < rows->n; i++) {
        explore_row row;
        const bool ok = explore_worker_best_exact(w, &row, rows->at[i].id, 1);
        if (!ok || !row.walked) /* it was feasible when it was settled */
            return error_nomem(err);
        assert(row.objective[0] == rows->at[i].objective[0]);
        explore_candidate_fill(&(*out)[i], w, &row);
        TRY(explore_bars_find(&(*out)[i].error_bar, bars, w, err));
    }
    return HALLEY_OK;
}

static int by_first_objective(const void *a, const void *b, void *context)
{
    return explore_better(context, a, b) ? -1 : explore_better(context, b, a);
}

static halley_status copy_sums(halley_exploration *e, explore_run *r, halley_error *err)
{
    assert(r->study->n_axes <= HALLEY_MAX_AXES);
    /* The exploration takes over the block of memory; exploration_free frees it by its
     * first part. */
    e->n_axes = r->study->n_axes;
    memcpy(e->marginals, r->sums.marginals, sizeof e->marginals);
    e->n_heats = r->sums.n_heats;
    e->heats = mem_array(r->sums.n_heats, sizeof *e->heats);
    if (!e->heats)
        return error_nomem(err);
    memcpy(e->heats, r->sums.heats, r->sums.n_heats * sizeof *e->heats);
    e->memory = r->sums.memory;
    r->sums.memory = NULL;
    return HALLEY_OK;
}

enum { MOST_SLICE = 24 };

/* True for parameters that define a roofline: peak, on-chip memory, bandwidth of local
 * memory. */
static bool moves_roof(const explore_axis *a)
{
    const param_kind kind = a->refs[0].param.kind;
    return a->n_refs == 1 &&
           (kind == PARAM_PEAK || kind == PARAM_NPU ||
            (kind == PARAM_TIER &&
             a->refs[0].param.offset == offsetof(halley_tier, bandwidth_Bps)));
}

static halley_status slice_axis(halley_slice *out, const halley_exploration *e,
                                uint32_t axis, explore_worker *w, explore_bars *bars,
                                halley_error *err)
{
    assert(axis < w->study->n_axes);
    const explore_axis *a = &w->study->axes[axis];
    const uint32_t n = a->seen.n;
    *out = (halley_slice){.axis = axis, .best = mem_array(n, sizeof *out->best)};
    if (moves_roof(a))
        out->roofline = mem_array(n, sizeof *out->roofline);
    if (!out->best || (moves_roof(a) && !out->roofline))
        return error_nomem(err);
    for (uint32_t v = 0; v < n; v++) {
        explore_row row;
        if (e->marginals[axis][v].feasible == 0)
            continue;
        if (!explore_worker_best_exact(w, &row, e->marginals[axis][v].best_id, 1))
            continue;
        if (out->roofline)
            halley_roofline_run(&out->roofline[out->n], &w->design.model, &w->design.plan,
                                &w->design.cluster, &w->design.stack);
        explore_candidate_fill(&out->best[out->n], w, &row);
        TRY(explore_bars_find(&out->best[out->n].error_bar, bars, w, err));
        out->n++;
    }
    assert(out->n <= w->study->axes[axis].seen.n);
    return HALLEY_OK;
}

static halley_status slice_axes(halley_exploration *e, const halley_study *s,
                                explore_worker *w, explore_bars *bars, halley_error *err)
{
    assert(s->n_axes <= HALLEY_MAX_AXES);
    e->slices = mem_array_zero(s->n_outer, sizeof *e->slices);
    if (!e->slices)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->n_outer; i++) {
        if (s->axes[i].seen.n < 2 || s->axes[i].seen.n > MOST_SLICE)
            continue;
        TRY(slice_axis(&e->slices[e->n_slices++], e, i, w, bars, err));
    }
    return HALLEY_OK;
}

static int most_first(const void *a, const void *b)
{
    const halley_refusal *x = a, *y = b;
    if (x->designs != y->designs)
        return x->designs < y->designs ? 1 : -1;
    return strcmp(x->reason, y->reason);
}

/* List the defaults that the best design uses. */
static void list_assumed(halley_exploration *e, explore_worker *w)
{
    explore_row row;
    if (e->n_best == 0 || !explore_worker_best_exact(w, &row, e->best[0].id, 1))
        return;
    while (e->n_assumed < HALLEY_MAX_ASSUMED &&
           halley_plan_assumed(&e->assumed[e->n_assumed], e->n_assumed, &e->best[0].plan,
                               &w->design.model))
        e->n_assumed++;
}

static halley_status finish_exploration(halley_exploration *e, explore_run *r,
                                        halley_error *err)
{
    assert(r->reached.n_feasible <= r->reached.n_evaluated);
    const halley_study *s = r->study;
    const explore_reasons *reasons = &r->reached.reasons;
    explore_worker *w = &r->workers[0];
    e->size = sizeof *e;
    e->n_designs = s->size;
    e->n_evaluated = r->reached.n_evaluated;
    e->n_feasible = r->reached.n_feasible;
    e->headroom = s->headroom;
    e->tokens = s->tokens;
    explore_bars bars = {.n = 0};
    TRY(explore_settle(&e->n_settled, r, err));
    TRY(list_candidates(&e->best, &e->n_best, &r->best.rows, w, &bars, err));
    list_assumed(e, w);
    if (r->front.n)
        qsort_r(r->front.at, r->front.n, sizeof *r->front.at, by_first_objective,
                (void *)(uintptr_t)s);
    TRY(list_candidates(&e->front, &e->n_front, &r->front, w, &bars, err));
    e->refusals = mem_array(reasons->n, sizeof *e->refusals);
    if (!e->refusals)
        return error_nomem(err);
    for (uint32_t i = 0; i < reasons->n; i++)
        e->refusals[i] = reasons->at[i].seen;
    e->n_refusals = reasons->n;
    qsort(e->refusals, e->n_refusals, sizeof *e->refusals, most_first);
    TRY(copy_sums(e, r, err));
    TRY(slice_axes(e, s, w, &bars, err));
    TRY(explore_refused(e, s, w, err));
    TRY(explore_answer(e, s, w, &bars, err));
    return explore_verify(e, w, r->threads, r->look.watch, err);
}

halley_status halley_explore_run(halley_exploration **out, const halley_study *study,
                                 const halley_explore_opts *opts, halley_error *err)
{
    assert(study != NULL);
    const halley_explore_opts none = {0};
    const halley_explore_opts *o = opts ? opts : &none;
    const double start = clock_s();
    halley_exploration *e = mem_array_zero(1, sizeof *e);
    explore_run *r = NULL;
    if (!e)
        return error_nomem(err);
    halley_status status =
        explore_run_new(&r, study, o->threads, o->top ? o->top : 20, err);
    if (o->rank > 0) {
        halley_exploration_free(e);
        if (status == HALLEY_OK) {
            r->job = o->job;
            status = explore_share_work(r, err);
        }
        explore_run_free(r);
        return status;
    }
    if (status == HALLEY_OK) {
        r->n_ranks = o->n_ranks;
        r->job = o->job;
        watcher_init(&r->look, o->watch, "exploring", "designs",
                     halley_study_looked_at(study));
        status = open_store(r, o, err);
    }
    if (status == HALLEY_OK && !watcher_add(&r->look, r->reached.n_evaluated))
        status = watcher_error(&r->look, err);
    if (status == HALLEY_OK) {
        e->n_resumed = r->reached.n_evaluated;
        status = study->search.method == EXPLORE_EXHAUSTIVE ? run_all(r, err)
                                                            : explore_search_run(r, err);
    }
    explore_share_stop(r, o);
    if (status == HALLEY_OK && r->store)
        status = explore_store_check_all(r->store, &r->look, err);
    if (status == HALLEY_OK)
        status = finish_exploration(e, r, err);
    if (status == HALLEY_OK && r->store) {
        explore_store *store = r->store;
        r->store = NULL;
        status = explore_store_complete(store, err);
        const halley_status closed =
            explore_store_close(store, status == HALLEY_OK ? err : NULL);
        if (status == HALLEY_OK)
            status = closed;
    }
    explore_run_free(r);
    e->seconds = clock_s() - start;
    if (status == HALLEY_OK)
        *out = e;
    else
        halley_exploration_free(e);
    return status;
}

void halley_exploration_free(halley_exploration *e)
{
    if (!e)
        return;
    free(e->refusals);
    free(e->best);
    free(e->front);
    free(e->memory);
    free(e->heats);
    for (uint32_t i = 0; i < e->n_slices; i++) {
        free(e->slices[i].best);
        free(e->slices[i].roofline);
    }
    free(e->slices);
    free(e->sensitivities);
    free(e->verified);
    free(e->breaks);
    free(e->refused_values);
    free(e);
}

const halley_study *explore_run_study(const explore_run *r)
{
    return r->study;
}

explore_reached *explore_run_reached(explore_run *r)
{
    return &r->reached;
}

halley_status halley_explore_dry_run(halley_dry_run *out, const halley_study *study,
                                     uint32_t threads, halley_error *err)
{
    assert(study->inner_size > 0);
    explore_run *r = NULL;
    const uint64_t n_outer = (uint64_t)study->size / study->inner_size;
    *out = (halley_dry_run){.size = sizeof *out,
                            .n_designs = study->size,
                            .n_to_evaluate = halley_study_looked_at(study)};
    TRY(explore_run_new(&r, study, threads, 1, err));
    /* An even sample, with a step that has no common factor with the axes. */
    uint64_t n = 200000 / study->inner_size;
    n = n < 1 ? 1 : n > explore_run_wave_size(r) ? explore_run_wave_size(r) : n;
    n = n > n_outer ? n_outer : n;
    uint64_t *ids = mem_array(n, sizeof *ids);
    halley_status status = ids ? HALLEY_OK : error_nomem(err);
    for (uint64_t i = 0; i < n && ids; i++)
        ids[i] = n_outer / n * i + n_outer % n * i / n;
    const double start = clock_s();
    if (status == HALLEY_OK)
        status = explore_run_wave(r, ids, 0, n, err);
    const double taken = clock_s() - start;
    free(ids);
    if (status == HALLEY_OK) {
        out->n_sampled = r->reached.n_evaluated;
        out->n_feasible = r->reached.n_feasible;
        out->designs_per_s = (double)out->n_sampled / (taken > 0 ? taken : 1e-9);
        out->seconds = out->n_to_evaluate / out->designs_per_s;
        for (uint32_t i = 0; i < r->reached.reasons.n && i < 16; i++)
            out->refusals[out->n_refusals++] = r->reached.reasons.at[i].seen;
        qsort(out->refusals, out->n_refusals, sizeof *out->refusals, most_first);
    }
    explore_run_free(r);
    assert(out->n_feasible <= out->n_sampled || status != HALLEY_OK);
    return status;
}
