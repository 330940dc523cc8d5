/*
 * Ranks and clocks. A recording's rank is what it says; where some say nothing, the last
 * number in the names of the files counts, if it tells them apart.
 *
 * The same collective ends at the same time on all its ranks, so each rank's clock is
 * shifted by the median of the differences of ends to rank 0's. Collectives match by
 * group and sequence number, else by group, type and their number in it.
 */
#include "ingest/record/align.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The last number in the name of a file; REC_NO_ID = none. */
static uint64_t find_number_in_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const name = slash != NULL ? slash + 1 : path;
    uint64_t number = REC_NO_ID;
    for (const char *p = name; *p != '\0';) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        const char *const from = p;
        while (*p >= '0' && *p <= '9')
            p++;
        uint64_t value;
        if (str_to_u64((str){from, (size_t)(p - from)}, &value) && p - from < 8)
            number = value;
    }
    return number;
}

typedef struct rank_place {
    uint64_t rank;
    size_t at;
} rank_place;

static int compare_ranks(const void *a, const void *b)
{
    const rank_place *const x = a, *const y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* By what they say, else by name, else as they come. */
static void choose_rank_numbers(rank_place *places, const rec_list *list,
                                const char **paths)
{
    bool said = true, named = true;
    for (size_t i = 0; i < list->ranks.n; i++) {
        said &= list->ranks.at[i].rank != REC_NO_ID;
        named &= find_number_in_name(paths[i]) != REC_NO_ID;
        for (size_t k = 0; k < i; k++)
            named &= find_number_in_name(paths[i]) != find_number_in_name(paths[k]);
    }
    for (size_t i = 0; i < list->ranks.n; i++)
        places[i] = (rank_place){said    ? list->ranks.at[i].rank
                                 : named ? find_number_in_name(paths[i])
                                         : i,
                                 i};
}

static halley_status check_rank_order(const rank_place *places, const rec_list *list,
                                      const char **paths, halley_error *err)
{
    const size_t n = list->ranks.n;
    for (size_t i = 1; i < n; i++) {
        if (places[i].rank == places[i - 1].rank)
            return error_set(
                err, HALLEY_EINVAL,
                "%s and %s are both rank %" PRIu64 ": are these two different runs?",
                paths[places[i - 1].at], paths[places[i].at], places[i].rank);
        if (places[i].rank != places[i - 1].rank + 1)
            return error_set(err, HALLEY_EINVAL,
                             "rank %" PRIu64 " is missing: there are recordings of ranks "
                             "%" PRIu64 " and %" PRIu64 ", but none between them",
                             places[i - 1].rank + 1, places[i - 1].rank, places[i].rank);
        const uint64_t a = list->ranks.at[places[i].at].world;
        const uint64_t b = list->ranks.at[places[0].at].world;
        if (a != REC_NO_ID && b != REC_NO_ID && a != b)
            return error_set(err, HALLEY_EINVAL,
                             "%s is of a run with %" PRIu64 " ranks and %s of one with "
                             "%" PRIu64 ": these are two different runs",
                             paths[places[0].at], b, paths[places[i].at], a);
    }
    if (n > 1 && places[0].rank != 0 && list->ranks.at[places[0].at].rank != REC_NO_ID)
        return error_set(err, HALLEY_EINVAL,
                         "rank 0 is missing: the first recording is of rank %" PRIu64,
                         places[0].rank);
    return HALLEY_OK;
}

static halley_status sort_by_rank(rec_list *list, const char **paths,
                                  const rank_place *places, halley_error *err)
{
    const size_t n = list->ranks.n;
    record *const sorted = mem_array(n, sizeof *sorted);
    const char **const names = mem_array(n, sizeof *names);
    if (sorted != NULL && names != NULL) {
        for (size_t i = 0; i < n; i++) {
            sorted[i] = list->ranks.at[places[i].at];
            names[i] = paths[places[i].at];
        }
        memcpy(list->ranks.at, sorted, n * sizeof *sorted);
        memcpy(paths, names, n * sizeof *names);
    }
    const bool ok = sorted != NULL && names != NULL;
    free(sorted);
    free(names);
    return ok ? HALLEY_OK : error_nomem(err);
}

halley_status rec_order_ranks(rec_list *list, const char **paths, halley_error *err)
{
    if (list->ranks.n < 2)
        return HALLEY_OK;
    rank_place *const places = mem_array(list->ranks.n, sizeof *places);
    if (places == NULL)
        return error_nomem(err);
    choose_rank_numbers(places, list, paths);
    qsort(places, list->ranks.n, sizeof *places, compare_ranks);
    halley_status status = check_rank_order(places, list, paths, err);
    if (status == HALLEY_OK)
        status = sort_by_rank(list, paths, places, err);
    free(places);
    return status;
}

/* The end of a collective, and which one it is. */
typedef struct coll_end {
    uint64_t key, number;
    int64_t end_ns;
} coll_end;
typedef ARRAY(coll_end) coll_ends;

static int compare_coll_ends(const void *a, const void *b)
{
    const coll_end *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool collect_coll_ends(coll_ends *out, const record *r, const rec_rules *rules)
{
    map64 counts = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const rec_comm_info info = rec_comm_of_work(r, rules, w);
        if (info.type != HALLEY_NODE_COLL)
            continue;
        const str group = rec_text(r, info.pg_name);
        const bool has_seq = info.seq != REC_NO_ID;
        const uint64_t key =
            hash_bytes(group.at, group.n, has_seq ? UINT64_C(1) << 32 : info.coll);
        const uint32_t before = map64_find(&counts, key);
        const uint32_t number = before == HASH_NONE ? 0 : before;
        ok = map64_set(&counts, key, number + 1) &&
             array_push(out, (coll_end){key, has_seq ? info.seq : number,
                                        r->base_ns + w->end_ns});
    }
    map64_fini(&counts);
    if (ok && out->n > 0)
        qsort(out->at, out->n, sizeof *out->at, compare_coll_ends);
    return ok;
}

static int compare_offsets(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The median of what to add to `mine`; 0 when nothing is common. */
static bool find_offset(int64_t *out, const coll_ends *mine, const coll_ends *theirs)
{
    ARRAY(int64_t) differences = {0};
    bool ok = true;
    for (size_t i = 0, j = 0; ok && i < mine->n && j < theirs->n;) {
        const int order = compare_coll_ends(&mine->at[i], &theirs->at[j]);
        if (order == 0)
            ok = array_push(&differences, theirs->at[j].end_ns - mine->at[i].end_ns);
        i += order <= 0;
        j += order >= 0;
    }
    *out = 0;
    if (ok && differences.n > 0) {
        qsort(differences.at, differences.n, sizeof *differences.at, compare_offsets);
        *out = differences.at[differences.n / 2];
    }
    array_fini(&differences);
    return ok;
}

halley_status rec_align_clocks(int64_t *offsets, const rec_list *list,
                               const rec_rules *rules, halley_error *err)
{
    coll_ends first = {0};
    bool ok = collect_coll_ends(&first, &list->ranks.at[0], rules);
    offsets[0] = 0;
    for (size_t i = 1; ok && i < list->ranks.n; i++) {
        coll_ends mine = {0};
        int64_t offset = 0;
        ok = collect_coll_ends(&mine, &list->ranks.at[i], rules) &&
             find_offset(&offset, &mine, &first);
        array_fini(&mine);
        /* Times within a recording do not have its base. */
        offsets[i] = offset + list->ranks.at[i].base_ns - list->ranks.at[0].base_ns;
    }
    array_fini(&first);
    return ok ? HALLEY_OK : error_nomem(err);
}
