/* report/sim.c - a simulation's result as tables, JSON, CSV and ASTRA-sim's lines. */
#include "report/sim.h"

#include "base/file/file.h"
#include "base/number/number.h"
#include "report/json.h"
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Quantities of a rank, in ticks. */
typedef uint64_t measure(const halley_rank_result *r, uint64_t end);

static uint64_t get_finish(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->finish;
}
static uint64_t get_gpu(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->gpu;
}
static uint64_t get_comm(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->comm;
}
static uint64_t get_bare_comm(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->bare_comm;
}
static uint64_t get_memory(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->memory;
}
static uint64_t get_cpu(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->cpu;
}
static uint64_t get_idle(const halley_rank_result *r, uint64_t end)
{
    return end - r->busy;
}

static const struct {
    const char *title, *key;
    measure *of;
    bool always; /* shown even when it is zero everywhere */
} measures[] = {
    {"Finish", "finish_s", get_finish, true},
    {"GPU compute", "compute_s", get_gpu, true},
    {"Communication", "comm_s", get_comm, true},
    {"  not hidden by compute", "exposed_comm_s", get_bare_comm, true},
    {"Remote memory", "memory_s", get_memory, false},
    {"CPU", "cpu_s", get_cpu, false},
    {"Idle", "idle_s", get_idle, true},
};
enum { N_MEASURES = sizeof measures / sizeof *measures };

static uint64_t last_finish(const halley_result *result)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint64_t at = halley_result_rank(result, i).finish;
        last = at > last ? at : last;
    }
    return last;
}

typedef struct spread {
    double mean, least, most;
    uint32_t at; /* the rank with the largest value */
} spread;

static spread measure_all_ranks(const halley_result *result, measure *of, double per_s)
{
    const uint32_t n = halley_result_ranks(result);
    const uint64_t end = last_finish(result);
    spread s = {0};
    for (uint32_t i = 0; i < n; i++) {
        const halley_rank_result r = halley_result_rank(result, i);
        const double value = (double)of(&r, end) / per_s;
        s.mean += value / n;
        s.least = i == 0 || value < s.least ? value : s.least;
        if (i == 0 || value > s.most) {
            s.most = value;
            s.at = i;
        }
    }
    return s;
}

static const report_column time_columns[] = {
    {"Per rank", "what", REPORT_WORDS, UNITS_COUNT, 0},
    {"Mean", "mean_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Least", "least_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Most", "most_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"On rank", "most_rank", REPORT_COUNT, UNITS_COUNT, 0},
};

static report_table *make_time_table(const halley_result *result, bool keys)
{
    report_table *t = report_table_new(time_columns, 5);
    for (int i = 0; t != NULL && i < N_MEASURES; i++) {
        const spread s =
            measure_all_ranks(result, measures[i].of, halley_result_ticks_per_s(result));
        if (!measures[i].always && s.most == 0)
            continue;
        report_table_words(t, str_from(keys ? measures[i].key : measures[i].title));
        report_table_number(t, s.mean);
        report_table_number(t, s.least);
        report_table_number(t, s.most);
        report_table_count(t, s.at);
    }
    return t;
}

static uint64_t local_peak(const halley_rank_result *r, uint64_t end)
{
    (void)end;
    return r->local_peak_bytes;
}

static const report_column memory_columns[] = {
    {"Memory of the NPU", "what", REPORT_WORDS, UNITS_COUNT, 0},
    {"Mean", "mean_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Least", "least_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Most", "most_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"On rank", "most_rank", REPORT_COUNT, UNITS_COUNT, 0},
};

/* Empty if no trace describes what is in memory. */
static report_table *memory_table(const halley_result *result)
{
    report_table *t = report_table_new(memory_columns, 5);
    const spread s = measure_all_ranks(result, local_peak, 1);
    if (t == NULL || s.most == 0)
        return t;
    report_table_words(t, STR("peak"));
    report_table_number(t, s.mean);
    report_table_number(t, s.least);
    report_table_number(t, s.most);
    report_table_count(t, s.at);
    return t;
}

static const report_column traffic_columns[] = {
    {"Communication", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Group", "group", REPORT_WORDS, UNITS_COUNT, 0},
    {"Members", "members", REPORT_COUNT, UNITS_COUNT, 0},
    {"Nodes", "nodes", REPORT_COUNT, UNITS_COUNT, 0},
    {"Data a node", "bytes_per_node", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Time a node", "time_per_node_s", REPORT_QUANTITY, UNITS_TIME, 0},
};

static const char *kind_name(const halley_traffic *t)
{
    if (t->type == HALLEY_NODE_COLL)
        return halley_coll_type_name(t->coll);
    return t->type == HALLEY_NODE_SEND ? "SEND" : "RECEIVE";
}

static void traffic_row(report_table *t, const halley_traffic *row, const char *group,
                        double per_s)
{
    report_table_words(t, str_from(kind_name(row)));
    report_table_words(t, str_from(group));
    report_table_count(t, row->n_members);
    report_table_count(t, row->count);
    report_table_number(t, row->bytes / (double)row->count);
    report_table_number(t, row->ticks / (double)row->count / per_s);
}

/* True if rows may share a line in tables: the same kind in groups of the same size. */
static bool are_alike(const halley_traffic *a, const halley_traffic *b)
{
    return a->type == b->type && a->coll == b->coll && a->n_members == b->n_members &&
           (a->group == 0) == (b->group == 0);
}

static bool seen_before(const halley_result *result, uint32_t i)
{
    const halley_traffic row = halley_result_traffic(result, i);
    for (uint32_t k = 0; k < i; k++) {
        const halley_traffic other = halley_result_traffic(result, k);
        if (are_alike(&row, &other))
            return true;
    }
    return false;
}

/* Tables join groups of one size into one line; for programs every group has its own. */
static report_table *traffic_table(const halley_result *result, bool every)
{
    const double per_s = halley_result_ticks_per_s(result);
    report_table *t = report_table_new(traffic_columns, 6);
    for (uint32_t i = 0; t != NULL && i < halley_result_traffic_count(result); i++) {
        halley_traffic row = halley_result_traffic(result, i);
        char group[32];
        uint32_t n_groups = 1;
        if (every) {
            snprintf(group, sizeof group, "%" PRId64, row.group);
            traffic_row(t, &row, row.group == 0 ? "" : group, per_s);
            continue;
        }
        if (seen_before(result, i))
            continue;
        for (uint32_t k = i + 1; k < halley_result_traffic_count(result); k++) {
            const halley_traffic other = halley_result_traffic(result, k);
            if (!are_alike(&row, &other))
                continue;
            n_groups++;
            row.count += other.count;
            row.bytes += other.bytes;
            row.ticks += other.ticks;
        }
        snprintf(group, sizeof group, n_groups == 1 ? "%" PRId64 : "%" PRId64 " groups",
                 n_groups == 1 ? row.group : (int64_t)n_groups);
        traffic_row(t, &row, row.group == 0 ? "all" : group, per_s);
    }
    return t;
}

static const report_column dim_columns[] = {
    {"Dimension", "dimension", REPORT_COUNT, UNITS_COUNT, 0},
    {"Topology", "topology", REPORT_WORDS, UNITS_COUNT, 0},
    {"NPUs", "npus", REPORT_COUNT, UNITS_COUNT, 0},
    {"Link", "bandwidth_Bps", REPORT_QUANTITY, UNITS_BANDWIDTH, 0},
    {"Messages", "messages", REPORT_COUNT, UNITS_COUNT, 0},
    {"Data", "bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Use", "use", REPORT_QUANTITY, UNITS_SHARE, 0},
};

static report_table *dim_table(const halley_result *result)
{
    report_table *t = report_table_new(dim_columns, 7);
    for (uint32_t i = 0; t != NULL && i < halley_result_dims(result); i++) {
        const halley_dim_result d = halley_result_dim(result, i);
        report_table_count(t, i);
        report_table_words(t, str_from(d.topology));
        report_table_count(t, d.n);
        report_table_number(t, d.bw_Bps);
        report_table_count(t, d.messages);
        report_table_number(t, d.bytes);
        report_table_number(t, d.use);
    }
    return t;
}

static const report_column link_columns[] = {
    {"Hottest links", "link", REPORT_WORDS, UNITS_COUNT, 0},
    {"Kind", "kind", REPORT_WORDS, UNITS_COUNT, 0},
    {"Bandwidth", "bandwidth_Bps", REPORT_QUANTITY, UNITS_BANDWIDTH, 0},
    {"Payload", "bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"On the wire", "wire_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
    {"Use", "use", REPORT_QUANTITY, UNITS_SHARE, 0},
    {"Mostly by", "mostly_by", REPORT_WORDS, UNITS_COUNT, 0},
    {"Share", "share", REPORT_QUANTITY, UNITS_SHARE, 0},
};

/* The `most` busiest links. With `distinct`, links of one kind with equal use are listed
 * once. */
static report_table *link_table(const halley_result *result, uint32_t most, bool distinct)
{
    report_table *t = report_table_new(link_columns, 8);
    halley_link_result last = {.kind = ""};
    uint32_t n = 0;
    for (uint32_t i = 0; t != NULL && n < most && i < halley_result_links(result); i++) {
        const halley_link_result l = halley_result_link(result, i);
        if (distinct && strcmp(l.kind, last.kind) == 0 &&
            fabs(l.use - last.use) < 1e-6 * l.use)
            continue;
        last = l;
        n++;
        char name[256];
        snprintf(name, sizeof name, "%s", l.name);
        if (l.n_alike > 1)
            snprintf(name, sizeof name, "%s (%u alike)", l.name, l.n_alike);
        report_table_words(t, str_from(name));
        report_table_words(t, str_from(l.kind));
        report_table_number(t, l.bw_Bps);
        report_table_number(t, l.bytes);
        report_table_number(t, l.wire_bytes);
        report_table_number(t, l.use);
        report_table_words(t, str_from(l.users[0] == NULL ? "" : l.users[0]));
        report_table_number(t, l.user_shares[0]);
    }
    return t;
}

halley_status report_sim_links(const halley_result *result, const char *path,
                               halley_error *err)
{
    file_output *to;
    TRY(file_output_open(&to, path, err));
    file_output_str(to, STR("link,kind,bandwidth_Bps,bytes,wire_bytes,use,messages,"
                            "mostly_by,share\n"));
    for (uint32_t i = 0; i < halley_result_links(result); i++) {
        const halley_link_result l = halley_result_link(result, i);
        file_output_printf(
            to, "\"%s\",%s,%s,%s,%s,%s,%" PRIu64 ",\"%s\",%s\n", l.name, l.kind,
            number_shortest(l.bw_Bps).at, number_shortest(l.bytes).at,
            number_shortest(l.wire_bytes).at, number_shortest(l.use).at, l.messages,
            l.users[0] == NULL ? "" : l.users[0], number_shortest(l.user_shares[0]).at);
    }
    return file_output_commit(to, err);
}

static const report_column rank_columns[] = {
    {"Rank", "rank", REPORT_COUNT, UNITS_COUNT, 0},
    {"Finish", "finish_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"GPU compute", "compute_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Communication", "comm_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Not hidden", "exposed_comm_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Remote memory", "memory_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"CPU", "cpu_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"Idle", "idle_s", REPORT_QUANTITY, UNITS_TIME, 0},
    {"NPU memory", "npu_memory_peak_bytes", REPORT_QUANTITY, UNITS_BYTES, 0},
};

static report_table *rank_table(const halley_result *result)
{
    const double per_s = halley_result_ticks_per_s(result);
    const uint64_t end = last_finish(result);
    report_table *t = report_table_new(rank_columns, N_MEASURES + 2);
    for (uint32_t i = 0; t != NULL && i < halley_result_ranks(result); i++) {
        const halley_rank_result r = halley_result_rank(result, i);
        report_table_count(t, i);
        for (int k = 0; k < N_MEASURES; k++)
            report_table_number(t, (double)measures[k].of(&r, end) / per_s);
        report_table_number(t, (double)r.local_peak_bytes);
    }
    return t;
}

/* Write a table and free it. NULL: there was no memory for it. */
static halley_status write_sim_table(report_table *t, report_form form, FILE *to,
                                     halley_error *err)
{
    if (t == NULL)
        return error_nomem(err);
    const halley_status status = report_table_write(t, form, to, err);
    report_table_free(t);
    return status;
}

halley_status report_sim_text(const halley_result *result, FILE *to, halley_error *err)
{
    char time[32];
    const double seconds =
        (double)last_finish(result) / halley_result_ticks_per_s(result);
    fprintf(to, "%s on %u rank%s\n\n",
            units_format(time, sizeof time, seconds, UNITS_TIME),
            halley_result_ranks(result), halley_result_ranks(result) == 1 ? "" : "s");
    TRY(write_sim_table(make_time_table(result, false), REPORT_TEXT, to, err));
    if (measure_all_ranks(result, local_peak, 1).most > 0) {
        fputc('\n', to);
        TRY(write_sim_table(memory_table(result), REPORT_TEXT, to, err));
    }
    if (halley_result_traffic_count(result) == 0)
        return HALLEY_OK;
    fputc('\n', to);
    TRY(write_sim_table(traffic_table(result, false), REPORT_TEXT, to, err));
    return report_sim_network(result, to, err);
}

halley_status report_sim_network(const halley_result *result, FILE *to, halley_error *err)
{
    fputc('\n', to);
    TRY(write_sim_table(dim_table(result), REPORT_TEXT, to, err));
    if (halley_result_links(result) == 0)
        return HALLEY_OK;
    fputc('\n', to);
    return write_sim_table(link_table(result, 5, true), REPORT_TEXT, to, err);
}

halley_status report_sim_ranks(const halley_result *result, FILE *to, halley_error *err)
{
    return write_sim_table(rank_table(result), REPORT_CSV, to, err);
}

halley_status report_sim_hottest(const halley_result *result, FILE *to, halley_error *err)
{
    return write_sim_table(link_table(result, 5, true), REPORT_TEXT, to, err);
}

halley_status report_sim_hottest_json(report_json *j, const char *key,
                                      const halley_result *result, halley_error *err)
{
    return report_table_member(link_table(result, 5, true), j, key, err);
}

halley_status report_sim_ranks_json(report_json *j, const char *key,
                                    const halley_result *result, halley_error *err)
{
    return report_table_member(rank_table(result), j, key, err);
}

halley_status report_sim_json(report_json *j, const halley_result *result,
                              halley_error *err)
{
    report_table *tables[] = {make_time_table(result, true), memory_table(result),
                              traffic_table(result, true),   dim_table(result),
                              link_table(result, 20, false), rank_table(result)};
    static const char *const names[] = {"per_rank", "npu_memory",    "communication",
                                        "network",  "hottest_links", "ranks"};
    bool room = true;
    report_json_double(j, "time_s",
                       (double)last_finish(result) / halley_result_ticks_per_s(result));
    report_json_u64(j, "npus", halley_result_ranks(result));
    report_json_u64(j, "events", halley_result_events(result));
    for (int i = 0; i < 6; i++) {
        room = room && tables[i] != NULL;
        if (room)
            report_table_json(tables[i], j, names[i]);
        report_table_free(tables[i]);
    }
    return room ? HALLEY_OK : error_nomem(err);
}
