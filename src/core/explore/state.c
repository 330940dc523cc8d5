/* explore/state.c - serialize what a run keeps of the designs that it has evaluated. */
#include "explore/state.h"

#include "explore/search.h"

#include <assert.h>
#include <string.h>

/* Reads as another number on a machine with another byte order. */
static const uint64_t state_mark = UINT64_C(0x3165746174732e68);

bool explore_state_suffices(const halley_study *s)
{
    return explore_search_is_exhaustive(s) || s->search.method == EXPLORE_RANDOM ||
           s->search.method == EXPLORE_LATIN;
}

static void save_bytes(strbuf *out, const void *at, size_t n)
{
    strbuf_add(out, (str){at, n});
}

static void save_rows(strbuf *out, const explore_rows *rows, uint32_t n_goals)
{
    for (size_t i = 0; i < rows->n; i++) {
        const explore_row *row = &rows->at[i];
        save_bytes(out, &row->id, sizeof row->id);
        save_bytes(out, &row->key, sizeof row->key);
        save_bytes(out, row->objective, n_goals * sizeof *row->objective);
    }
}

void explore_state_save(strbuf *out, const explore_run *r)
{
    const uint64_t head[] = {state_mark, r->study->n_goals, r->best.rows.n,
                             r->best.n_known, r->front.n};
    out->n = 0;
    save_bytes(out, head, sizeof head);
    save_rows(out, &r->best.rows, r->study->n_goals);
    save_rows(out, &r->front, r->study->n_goals);
    save_bytes(out, r->sums.memory, explore_sums_bytes(&r->sums, r->study));
}

/* Read the next n bytes; false if there are fewer. */
static bool load_bytes(void *to, str *from, size_t n)
{
    if (from->n < n)
        return false;
    memcpy(to, from->at, n);
    *from = (str){from->at + n, from->n - n};
    return true;
}

static bool load_rows(explore_rows *out, str *from, uint64_t n, const halley_study *s)
{
    for (uint64_t i = 0; i < n; i++) {
        explore_row row = {0};
        if (!load_bytes(&row.id, from, sizeof row.id) ||
            !load_bytes(&row.key, from, sizeof row.key) ||
            !load_bytes(row.objective, from, s->n_goals * sizeof *row.objective) ||
            (double)row.id >= s->size || !array_push(out, row))
            return false;
    }
    return true;
}

bool explore_state_load(explore_run *r, str bytes)
{
    const halley_study *s = r->study;
    uint64_t head[5];
    assert(r->best.rows.n == 0 && r->front.n == 0);
    if (!load_bytes(head, &bytes, sizeof head) || head[0] != state_mark ||
        head[1] != s->n_goals || head[3] > head[2] || head[3] > r->best.most ||
        !load_rows(&r->best.rows, &bytes, head[2], s) ||
        !load_rows(&r->front, &bytes, head[4], s))
        return false;
    r->best.n_known = head[3];
    return load_bytes(r->sums.memory, &bytes, explore_sums_bytes(&r->sums, s)) &&
           bytes.n == 0 && explore_sums_are_valid(&r->sums, s);
}
