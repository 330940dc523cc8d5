/* The ends of collectives, and the clock offset between two ranks. */
#include "recording/coll_ends.h"

static int compare_coll_ends(const void *a, const void *b)
{
    const coll_end *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

bool coll_ends_add(coll_ends *e, uint64_t key, uint64_t number, int64_t end_ns)
{
    const uint32_t found = map64_find(&e->counts, key);
    const uint32_t before = found == HASH_NONE ? 0 : found;
    const coll_end end = {key, number == UINT64_MAX ? before : number, end_ns};
    return map64_set(&e->counts, key, before + 1) && array_push(&e->ends, end);
}

void coll_ends_sort(coll_ends *e)
{
    if (e->ends.n > 1)
        qsort(e->ends.at, e->ends.n, sizeof *e->ends.at, compare_coll_ends);
}

bool coll_ends_offset(int64_t *out, const coll_ends *mine, const coll_ends *theirs)
{
    ARRAY(int64_t) differences = {0};
    bool ok = true;
    for (size_t i = 0, j = 0; ok && i < mine->ends.n && j < theirs->ends.n;) {
        const coll_end *const a = &mine->ends.at[i], *const b = &theirs->ends.at[j];
        const int order = compare_coll_ends(a, b);
        if (order == 0)
            ok = array_push(&differences, b->end_ns - a->end_ns);
        i += order <= 0;
        j += order >= 0;
    }
    *out = 0;
    if (ok && differences.n > 0) {
        mem_sort_i64(differences.at, differences.n);
        *out = differences.at[differences.n / 2];
    }
    array_fini(&differences);
    return ok;
}

void coll_ends_fini(coll_ends *e)
{
    array_fini(&e->ends);
    map64_fini(&e->counts);
}
