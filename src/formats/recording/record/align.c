/*
 * Find rank numbers and clock offsets.
 *
 * A recording states its rank. If any recording does not, the last number in each file
 * name counts, provided that it differs between files. Otherwise the order of the files
 * counts.
 *
 * A collective ends at about the same time on all its ranks. So each rank's clock is
 * shifted by the median difference between the ends on that rank and on rank 0.
 * Collectives match by group and sequence number. Without a sequence number they match by
 * group, type and position among those.
 */
#include "recording/record/align.h"

#include "recording/coll_ends.h"

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

/* Number ranks as the recordings state, else by file name, else by position. */
static void choose_rank_numbers(rank_place *places, const rec_list *list,
                                const char **paths)
{
    bool said = true, named = true;
    for (size_t i = 0; i < list->ranks.n; i++) {
        said &= list->ranks.at[i].job.rank != REC_NO_ID;
        named &= find_number_in_name(paths[i]) != REC_NO_ID;
        for (size_t k = 0; k < i; k++)
            named &= find_number_in_name(paths[i]) != find_number_in_name(paths[k]);
    }
    for (size_t i = 0; i < list->ranks.n; i++)
        places[i] = (rank_place){said    ? list->ranks.at[i].job.rank
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
        const uint64_t a = list->ranks.at[places[i].at].job.world;
        const uint64_t b = list->ranks.at[places[0].at].job.world;
        if (a != REC_NO_ID && b != REC_NO_ID && a != b)
            return error_set(err, HALLEY_EINVAL,
                             "%s is of a run with %" PRIu64 " ranks and %s of one with "
                             "%" PRIu64 ": these are two different runs",
                             paths[places[0].at], b, paths[places[i].at], a);
    }
    if (n > 1 && places[0].rank != 0 &&
        list->ranks.at[places[0].at].job.rank != REC_NO_ID)
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

static bool collect_rec_ends(coll_ends *out, const record *r, const rec_rules *rules)
{
    for (size_t i = 0; i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const rec_comm_info info = rec_comm_of_work(r, rules, w);
        if (info.type != HALLEY_NODE_COLL)
            continue;
        const str group = rec_text(r, info.pg_name);
        const bool has_seq = info.seq != REC_NO_ID;
        const uint64_t key =
            hash_bytes(group.at, group.n, has_seq ? UINT64_C(1) << 32 : info.coll);
        if (!coll_ends_add(out, key, info.seq, r->base_ns + w->end_ns))
            return false;
    }
    coll_ends_sort(out);
    return true;
}

halley_status rec_align_clocks(int64_t *offsets, const rec_list *list,
                               const rec_rules *rules, halley_error *err)
{
    coll_ends first = {0};
    bool ok = collect_rec_ends(&first, &list->ranks.at[0], rules);
    offsets[0] = 0;
    for (size_t i = 1; ok && i < list->ranks.n; i++) {
        coll_ends mine = {0};
        int64_t offset = 0;
        ok = collect_rec_ends(&mine, &list->ranks.at[i], rules) &&
             coll_ends_offset(&offset, &mine, &first);
        coll_ends_fini(&mine);
        /* Times within a recording are relative to its base. */
        offsets[i] = offset + list->ranks.at[i].base_ns - list->ranks.at[0].base_ns;
    }
    coll_ends_fini(&first);
    return ok ? HALLEY_OK : error_nomem(err);
}
