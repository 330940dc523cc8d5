/* Kernel classes of an execution trace linked with a Kineto file. */
#include "recording/classes.h"

#include "base/error.h"
#include "base/file/file.h"
#include "recording/record/facts.h"

static uint64_t hash_work(int64_t begin_ns, int64_t end_ns, str name)
{
    const int64_t times[] = {begin_ns, end_ns};
    return hash_bytes(name.at, name.n, hash_bytes(times, sizeof times, 0));
}

static bool index_works(link_classes *c)
{
    const record *const r = &c->list.ranks.at[0];
    for (uint32_t i = 0; i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const uint64_t key = hash_work(w->begin_ns, w->end_ns, rec_text(r, w->name));
        if (!map64_set(&c->work_of, key, i))
            return false;
    }
    return true;
}

/* Write the facts with the times of the linked pair, whose graph differs from that of the
 * recording alone. */
static bool write_pair_facts(link_classes *c, const rec_groups *groups,
                             const halley_link_report *report, int64_t zero_ns)
{
    const record *const r = &c->list.ranks.at[0];
    const rec_graph times = {
        .rec = r, .to_ns = report->recorded_ns, .replayed_ns = report->replayed_ns};
    rec_hta hta;
    const rec_facts_input in = {.rec = r,
                                .graph = &times,
                                .hta = &hta,
                                .rules = &c->rules,
                                .groups = groups,
                                .n_ranks = 1,
                                .is_pair = true,
                                .zero_ns = zero_ns};
    return rec_count_as_hta(&hta, r) && rec_write_facts(&c->facts, &in);
}

halley_status link_classes_read(link_classes *c, const char *path,
                                const halley_link_report *report, int64_t zero_ns,
                                halley_error *err)
{
    const rec_read_opts opts = {0};
    rec_groups groups = {0};
    halley_error problem = {0};
    const halley_status status = rec_read_file(&c->list, path, &opts, &problem);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    if (status == HALLEY_EIO && file_is_regular(path)) { /* a pipe is read once */
        if (err != NULL)
            *err = problem;
        return status;
    }
    if (status != HALLEY_OK || c->list.ranks.n != 1 || c->list.ranks.at[0].works.n == 0) {
        rec_list_fini(&c->list);
        c->list = (rec_list){0};
        return HALLEY_OK;
    }
    TRY(rec_rules_init(&c->rules, NULL, err));
    c->has_rules = true;
    TRY(rec_groups_init(&groups, &c->list, err));
    const bool ok = rec_classify(&c->list.ranks.at[0], &c->rules) &&
                    rec_find_period(&c->list.ranks.at[0], &c->rules) && index_works(c) &&
                    write_pair_facts(c, &groups, report, zero_ns);
    rec_groups_fini(&groups);
    return ok ? HALLEY_OK : error_nomem(err);
}

void link_classes_fini(link_classes *c)
{
    rec_list_fini(&c->list);
    if (c->has_rules)
        rec_rules_fini(&c->rules);
    map64_fini(&c->work_of);
    strbuf_fini(&c->facts);
    *c = (link_classes){0};
}

const rec_work *link_classes_find(const link_classes *c, int64_t begin_ns, int64_t end_ns,
                                  str name)
{
    if (c->list.ranks.n == 0)
        return NULL;
    const uint32_t found = map64_find(&c->work_of, hash_work(begin_ns, end_ns, name));
    return found == HASH_NONE ? NULL : &c->list.ranks.at[0].works.at[found];
}
