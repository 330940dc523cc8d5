/*
 * The self-check of `trace learn`.
 *
 * Sets are sampled under the conditions of sets of the corpus, in pairs. Four figures
 * are summed over both sides: operations, bytes of communication, the share of
 * communication in the device's recorded time, and simulated time. Pairs and sums reduce
 * the effect of chance, because corpora span orders of magnitude. A share also counts as
 * reproduced within two percentage points: a quarter of 1 % is noise.
 */
#include "base/error.h"
#include "base/number/number.h"
#include "edit/times.h"
#include "halley/learn_check.h"
#include "halley/trace_attr.h"
#include "learn/sample/sample.h"
#include "learn/source.h"
#include "trace/core/roles.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SETS = 32, NODE_BYTES = 24000 };
static const double memory_bytes = 1e9, share_points = 0.02;

/* The figures of one set. comm_s and device_s are divided only after all sets are
 * summed. */
typedef struct set_figures {
    double operations, bytes, comm_s, device_s, time_s;
} set_figures;

static double read_node_s(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    double ns;
    if (halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_DURATION_NS) &&
        halley_attr_to_double(&attr, &ns))
        return ns / 1e9;
    return (double)halley_node_duration_us(t, node) / 1e6;
}

static bool is_comm(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    const uint32_t type = halley_node_type_of(t, node);
    if (type == HALLEY_NODE_COLL || type == HALLEY_NODE_SEND || type == HALLEY_NODE_RECV)
        return true;
    return halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_KERNEL_CLASS) &&
           str_starts((str){attr.bytes.at, attr.bytes.n}, STR("comm."));
}

static void add_trace_figures(set_figures *f, const halley_trace *t)
{
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        trace_roles r;
        uint64_t value;
        trace_roles_read(&r, t, i);
        if (trace_roles_u64(&r, TRACE_ROLE_NUM_OPS, &value))
            f->operations += (double)value;
        if (trace_roles_u64(&r, TRACE_ROLE_COMM_SIZE, &value))
            f->bytes += (double)value;
        if (trace_roles_is_cpu(&r))
            continue;
        const double s = read_node_s(t, i);
        f->device_s += s;
        f->comm_s += is_comm(t, i) ? s : 0;
    }
}

/* The time on the first reference cluster. For sets that cannot be simulated (one rank
 * of many), the critical path. */
static halley_status time_set(double *seconds, const halley_trace_set *set,
                              const trace_groups *groups, halley_error *err)
{
    synth_timing how;
    TRY(synth_timing_of(&how, set, NULL, err));
    const synth_timed what = {.set = set, .groups = groups, .how = &how};
    if (synth_time(seconds, 0, &what, NULL) == HALLEY_OK)
        return HALLEY_OK;
    return synth_critical_s(seconds, set, err);
}

static halley_status measure_set(set_figures *f, const halley_trace_set *set,
                                 const trace_groups *groups, halley_error *err)
{
    *f = (set_figures){0};
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++)
        add_trace_figures(f, halley_trace_set_get(set, r));
    return time_set(&f->time_s, set, groups, err);
}

static void add_figures(set_figures *sum, const set_figures *f)
{
    sum->operations += f->operations;
    sum->bytes += f->bytes;
    sum->comm_s += f->comm_s;
    sum->device_s += f->device_s;
    sum->time_s += f->time_s;
}

static halley_learn_figures finish_figures(const set_figures *sum)
{
    return (halley_learn_figures){sum->operations, sum->bytes,
                                  sum->device_s > 0 ? sum->comm_s / sum->device_s : 0,
                                  sum->time_s};
}

/* Fixes the conditions of a set of the corpus, as far as the model knows them. */
static void fix_conditions(halley_synth *synth, const conditions *like)
{
    for (uint32_t i = 0; i < like->n; i++) {
        const condition *const c = &like->at[i];
        char text[2 * CONDITION_TEXT + 40];
        snprintf(text, sizeof text, "%s=%s", c->name,
                 c->text[0] != '\0' ? c->text : number_repr(c->number).at);
        if (conditions_index(sample_model_of(synth), c->name) != MODEL_NONE)
            (void)halley_synth_fix(synth, text, NULL);
    }
}

/* Samples a set under the conditions of one of the corpus, and measures it. */
static halley_status measure_made(set_figures *made, halley_synth *synth,
                                  const synth_source *like, uint64_t seed,
                                  halley_error *err)
{
    sample_set s = {0};
    halley_trace_set *set = NULL;
    trace_groups groups = {0};
    const halley_synth_opts opts = {
        .n_ranks = halley_trace_set_count(like->set), .seed = seed, .extrapolate = true};
    fix_conditions(synth, &like->conditions);
    TRY(sample_make(&set, &s, synth, sample_wish_of(synth), &opts, err));
    halley_status status = sample_groups(&groups, &s, err);
    if (status == HALLEY_OK)
        status = measure_set(made, set, &groups, err);
    trace_groups_fini(&groups);
    halley_trace_set_free(set);
    sample_set_fini(&s);
    return status;
}

static halley_status compare_one(set_figures *real, set_figures *made,
                                 const char *model_path, const synth_source *source,
                                 uint64_t seed, halley_error *err)
{
    trace_groups groups = {0};
    halley_synth *synth = NULL;
    halley_status status =
        synth_groups_of(&groups, source->set, synth_source_groups(source), err);
    if (status == HALLEY_OK)
        status = measure_set(real, source->set, &groups, err);
    trace_groups_fini(&groups);
    TRY(status);
    TRY(halley_synth_load(&synth, model_path, err));
    status = measure_made(made, synth, source, seed, err);
    halley_synth_free(synth);
    return status;
}

/* The distance of a set from the mean set: the sum of absolute log ratios. */
static double find_distance(const set_figures *f, const set_figures *sum, uint32_t n)
{
    const double part[] = {f->operations, f->bytes, f->time_s};
    const double whole[] = {sum->operations / n, sum->bytes / n, sum->time_s / n};
    double distance = 0;
    for (size_t i = 0; i < 3; i++)
        if (whole[i] > 0)
            distance += fabs(log(fmax(part[i], 1e-12) / whole[i]));
    return distance;
}

static void judge_figure(halley_learn_check *out, const char *name, double corpus,
                         double model, bool is_share)
{
    const double error = corpus > 0 ? fabs(model / corpus - 1) : model > 0 ? INFINITY : 0;
    const bool is_small = is_share && fabs(model - corpus) <= share_points;
    if (is_small || (corpus == 0 && model == 0))
        return;
    out->largest_error = fmax(out->largest_error, error);
    if (error <= HALLEY_LEARN_BOUND)
        return;
    const size_t used = strlen(out->failed);
    snprintf(out->failed + used, sizeof out->failed - used, "%s%s %s of the corpus",
             used > 0 ? ", " : "", name,
             corpus > 0 ? number_digits(model / corpus, 3).at : "without any");
}

static void judge_model(halley_learn_check *out)
{
    const halley_learn_figures *const c = &out->corpus, *const m = &out->model;
    judge_figure(out, "operations", c->operations, m->operations, false);
    judge_figure(out, "bytes", c->bytes, m->bytes, false);
    judge_figure(out, "share of communication", c->comm_share, m->comm_share, true);
    judge_figure(out, "simulated time", c->time_s, m->time_s, false);
}

typedef struct verifier {
    halley_learn_check *out;
    trace_found found;
    set_figures real[MOST_SETS], sums[2];
    size_t index[MOST_SETS]; /* in found */
} verifier;

static halley_status compare_with_corpus(verifier *v, const char *model_path,
                                         halley_error *err)
{
    const size_t n = v->found.list.n;
    const size_t n_wanted = n < MOST_SETS ? n : MOST_SETS;
    for (size_t k = 0; k < n_wanted; k++) {
        const size_t i = k * n / n_wanted;
        synth_source source;
        set_figures made;
        halley_status status = synth_source_open(&source, &v->found, i, 0, err);
        if (status != HALLEY_OK && !synth_source_is_unread(status))
            continue; /* learning skipped it too */
        TRY(status);
        const uint32_t at = v->out->n_sets;
        status = compare_one(&v->real[at], &made, model_path, &source, k, err);
        synth_source_close(&source);
        TRY(status);
        add_figures(&v->sums[0], &v->real[at]);
        add_figures(&v->sums[1], &made);
        v->index[at] = i;
        v->out->n_sets++;
    }
    return HALLEY_OK;
}

static void name_nearest(verifier *v)
{
    uint32_t best = 0;
    assert(v->out->n_sets <= MOST_SETS);
    for (uint32_t k = 1; k < v->out->n_sets; k++)
        if (find_distance(&v->real[k], &v->sums[0], v->out->n_sets) <
            find_distance(&v->real[best], &v->sums[0], v->out->n_sets))
            best = k;
    if (v->out->n_sets > 0)
        snprintf(v->out->nearest, sizeof v->out->nearest, "%s",
                 v->found.list.at[v->index[best]].name);
}

halley_status halley_learn_verify(halley_learn_check *out, const char *model_path,
                                  const char *const *from, size_t n_from,
                                  halley_error *err)
{
    verifier v = {.out = out};
    *out = (halley_learn_check){0};
    halley_status status = trace_find(&v.found, from, n_from, false, err);
    if (status == HALLEY_OK)
        status = compare_with_corpus(&v, model_path, err);
    if (status == HALLEY_OK) {
        out->corpus = finish_figures(&v.sums[0]);
        out->model = finish_figures(&v.sums[1]);
        name_nearest(&v);
        judge_model(out);
    }
    trace_found_fini(&v.found);
    return status;
}

static bool is_recording(const halley_trace_set *set)
{
    const halley_trace *const t = halley_trace_set_get(set, 0);
    for (uint32_t i = 0; i < halley_trace_metadata_count(t); i++) {
        const halley_bytes name = halley_trace_metadata(t, i).name;
        if (str_eq((str){name.at, name.n}, STR("recording")))
            return true;
    }
    return false;
}

/* A hash of the node names without numbers: equal programs are learned once. */
static uint64_t hash_node_names(const halley_trace_set *set)
{
    const halley_trace *const t = halley_trace_set_get(set, 0);
    uint64_t hash = hash_u64(halley_trace_set_count(set));
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const halley_bytes name = halley_node_name(t, i);
        hash = hash_less_numbers((str){name.at, name.n}, hash);
    }
    return hash;
}

halley_status halley_learn_budget(const char *const *from, size_t n_from,
                                  halley_error *err)
{
    trace_found found = {0};
    map64 seen = {0};
    uint64_t n_nodes = 0, n_sets = 0;
    const char *smallest = NULL;
    uint64_t least = UINT64_MAX;
    halley_status status = trace_find(&found, from, n_from, false, err);
    for (size_t i = 0; status == HALLEY_OK && i < found.list.n; i++) {
        halley_trace_set *set;
        if (trace_found_load(&set, &found, i, 0, NULL) != HALLEY_OK)
            continue; /* learning reports why */
        uint64_t n = 0;
        for (uint32_t r = 0; r < halley_trace_set_count(set); r++)
            n += halley_trace_count(halley_trace_set_get(set, r));
        uint32_t value = 0;
        bool fresh = true;
        if (is_recording(set) && !map64_put(&seen, hash_node_names(set), &value, &fresh))
            status = error_nomem(err);
        if (is_recording(set) && fresh) {
            n_nodes += n;
            n_sets++;
            smallest = n < least ? found.list.at[i].name : smallest;
            least = n < least ? n : least;
        }
        halley_trace_set_free(set);
    }
    if (status == HALLEY_OK && (double)n_nodes * NODE_BYTES > memory_bytes)
        status = error_set(
            err, HALLEY_ELIMIT,
            "%llu recordings of %llu nodes have different programs, so a model would "
            "hold all of them and take about %s GB; share a recording instead: `halley "
            "trace obfuscate %s -o OUT -l structure`, changed with `halley trace scale`",
            (unsigned long long)n_sets, (unsigned long long)n_nodes,
            number_fixed(ceil((double)n_nodes * NODE_BYTES / 1e9), 0).at, smallest);
    map64_fini(&seen);
    trace_found_fini(&found);
    return status;
}
