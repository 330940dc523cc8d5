/*
 * Metrics are rows of one table: the word in files, the key in JSON, CSV and stores,
 * title, unit. The cost of a token is that of a step over its tokens. The cost of a step
 * is capital over its life and energy (estimate/outer.c). Capital is the sum of the
 * cluster's bill (hw/bill.c).
 */
#include "explore/metric.h"

#include "base/array.h"
#include "base/number/number.h"
#include "estimate/groups.h"
#include "hw/cost.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct metric_row {
    const char *key, *column, *title;
    units_kind unit;
} metric_row;

static const metric_row rows[HALLEY_METRIC_PART] = {
    [HALLEY_METRIC_STEP_TIME] = {"step-time", "step_s", "Step time", UNITS_TIME},
    [HALLEY_METRIC_TOKENS_PER_S] = {"tokens/s", "tokens_per_s", "Tokens/s", UNITS_COUNT},
    [HALLEY_METRIC_MFU] = {"mfu", "mfu", "MFU", UNITS_SHARE},
    [HALLEY_METRIC_MEMORY] = {"memory", "device_bytes", "Memory", UNITS_BYTES},
    [HALLEY_METRIC_OUTER_MEMORY] = {"outer-memory", "offloaded_bytes", "Outer memory",
                                    UNITS_BYTES},
    [HALLEY_METRIC_ENERGY] = {"energy", "energy_J", "Energy/step", UNITS_ENERGY},
    [HALLEY_METRIC_COST] = {"cost", "cost_usd", "Cost/step", UNITS_MONEY},
    [HALLEY_METRIC_COST_PER_TOKEN] = {"cost-per-token", "cost_per_token_usd",
                                      "Cost/token", UNITS_MONEY},
    [HALLEY_METRIC_ENERGY_PER_TOKEN] = {"energy-per-token", "energy_per_token_J",
                                        "Energy/token", UNITS_ENERGY},
    [HALLEY_METRIC_CAPITAL] = {"capital", "capital_usd", "Capital", UNITS_MONEY},
    [HALLEY_METRIC_POWER] = {"average-power", "power_W", "Average power", UNITS_POWER},
    [HALLEY_METRIC_NAMEPLATE] = {"nameplate", "nameplate_W", "Nameplate power",
                                 UNITS_POWER},
    [HALLEY_METRIC_NETWORK_POWER] = {"network-power", "network_power_W", "Network power",
                                     UNITS_POWER},
    [HALLEY_METRIC_BILL + HALLEY_BILL_NPUS] = {"capital.npus", "capital_parts_usd.npus",
                                               "Capital: NPUs", UNITS_MONEY},
    [HALLEY_METRIC_BILL + HALLEY_BILL_HOSTS] = {"capital.hosts",
                                                "capital_parts_usd.hosts",
                                                "Capital: hosts", UNITS_MONEY},
    [HALLEY_METRIC_BILL + HALLEY_BILL_SCALE_UP] = {"capital.scale-up",
                                                   "capital_parts_usd.scale_up",
                                                   "Capital: scale-up", UNITS_MONEY},
    [HALLEY_METRIC_BILL + HALLEY_BILL_NETWORK] = {"capital.network",
                                                  "capital_parts_usd.network",
                                                  "Capital: network", UNITS_MONEY},
    [HALLEY_METRIC_BILL + HALLEY_BILL_MEMORY] = {"capital.memory",
                                                 "capital_parts_usd.memory",
                                                 "Capital: memory", UNITS_MONEY},
    [HALLEY_METRIC_BILL + HALLEY_BILL_RACKS] = {"capital.racks",
                                                "capital_parts_usd.racks",
                                                "Capital: racks", UNITS_MONEY},
    [HALLEY_METRIC_BILL + HALLEY_BILL_BUILDING] = {"capital.building",
                                                   "capital_parts_usd.building",
                                                   "Capital: building", UNITS_MONEY},
    [HALLEY_METRIC_RENT] = {"rent", "rent_usd_per_npu_hour", "Rent/NPU-hour",
                            UNITS_MONEY},
    [HALLEY_METRIC_OWN] = {"own-per-npu-hour", "own_usd_per_npu_hour", "Owned/NPU-hour",
                           UNITS_MONEY},
    [HALLEY_METRIC_CARBON] = {"carbon", "carbon_kg", "Carbon, kg", UNITS_COUNT},
    [HALLEY_METRIC_CARBON_PER_TOKEN] = {"carbon-per-token", "carbon_per_token_kg",
                                        "Carbon/token, kg", UNITS_COUNT},
    [HALLEY_METRIC_RACKS] = {"racks", "racks", "Racks", UNITS_COUNT},
    [HALLEY_METRIC_HOSTS] = {"hosts", "hosts", "Hosts", UNITS_COUNT},
    [HALLEY_METRIC_UNKNOWN_PRICES] = {"unknown-prices", "unknown_prices",
                                      "Unknown prices", UNITS_COUNT},
    [HALLEY_METRIC_NPUS] = {"npus", "npus", "NPUs", UNITS_COUNT},
    [HALLEY_METRIC_COMPUTE] = {"compute", "compute_s", "Compute", UNITS_TIME},
    [HALLEY_METRIC_COMMUNICATION] = {"communication", "communication_s", "Communication",
                                     UNITS_TIME},
    [HALLEY_METRIC_GOODPUT] = {"goodput", "goodput", "Goodput", UNITS_SHARE},
    [HALLEY_METRIC_EFFECTIVE_STEP] = {"effective-step-time", "effective_step_s",
                                      "Effective step", UNITS_TIME},
    [HALLEY_METRIC_EFFECTIVE_TOKEN] = {"effective-cost-per-token",
                                       "effective_cost_per_token_usd",
                                       "Effective cost/token", UNITS_MONEY},
    [HALLEY_METRIC_MTBF] = {"mtbf", "mtbf_s", "MTBF", UNITS_TIME},
    [HALLEY_METRIC_CHECKPOINT] = {"checkpoint-interval", "checkpoint_interval_s",
                                  "Checkpoint every", UNITS_TIME},
    [HALLEY_METRIC_TRAIN_TIME] = {"train-time", "train_s", "Training", UNITS_TIME},
    [HALLEY_METRIC_TRAIN_COST] = {"train-cost", "train_cost_usd", "Training cost",
                                  UNITS_MONEY},
};

/* "time.tp" and "memory.weights", following the estimator's names. */
static const char *const part_keys[HALLEY_N_PARTS] = {
    "time.forward",    "time.backward",  "time.recompute", "time.tp",      "time.cp",
    "time.ep",         "time.pp",        "time.dp",        "time.bubble",  "time.host",
    "time.accumulate", "time.optimizer", "time.offload",   "time.meeting", "time.other"};
static const char *const class_keys[HALLEY_N_MEMORY] = {
    "memory.weights", "memory.gradients", "memory.optimizer", "memory.activations",
    "memory.logits",  "memory.gathered",  "memory.buffers",   "memory.context"};

/* Keys of parts and classes as columns; in JSON a dot is an object. */
static const char *const part_columns[HALLEY_N_PARTS] = {
    [HALLEY_PART_FORWARD] = "forward_s",
    [HALLEY_PART_BACKWARD] = "backward_s",
    [HALLEY_PART_RECOMPUTE] = "parts_s.recompute",
    [HALLEY_PART_TP] = "parts_s.tensor_parallel",
    [HALLEY_PART_CP] = "parts_s.context_parallel",
    [HALLEY_PART_EP] = "parts_s.expert_parallel",
    [HALLEY_PART_PP] = "parts_s.pipeline_transfers",
    [HALLEY_PART_DP] = "parts_s.data_parallel",
    [HALLEY_PART_BUBBLE] = "parts_s.bubble",
    [HALLEY_PART_HOST] = "parts_s.host",
    [HALLEY_PART_ACCUMULATE] = "parts_s.accumulate",
    [HALLEY_PART_OPTIMIZER] = "parts_s.optimizer",
    [HALLEY_PART_OFFLOAD] = "parts_s.offload",
    [HALLEY_PART_MEETING] = "parts_s.meeting",
    [HALLEY_PART_OTHER] = "parts_s.other"};
_Static_assert(HALLEY_N_PARTS == 15, "every part has a key and a column");
_Static_assert(HALLEY_N_MEMORY == 8, "every class has a key and a column");
static const char *const class_columns[HALLEY_N_MEMORY] = {
    [HALLEY_MEMORY_WEIGHTS] = "memory_bytes.weights",
    [HALLEY_MEMORY_GRADIENTS] = "memory_bytes.gradients",
    [HALLEY_MEMORY_OPTIMIZER] = "memory_bytes.optimizer",
    [HALLEY_MEMORY_ACTIVATIONS] = "memory_bytes.activations",
    [HALLEY_MEMORY_LOGITS] = "memory_bytes.logits",
    [HALLEY_MEMORY_CONTEXT] = "memory_bytes.context",
    [HALLEY_MEMORY_GATHERED] = "memory_bytes.gathered",
    [HALLEY_MEMORY_BUFFERS] = "memory_bytes.buffers"};

const char *halley_metric_column(uint32_t metric)
{
    assert(metric < HALLEY_N_METRICS);
    if (metric < HALLEY_METRIC_PART)
        return rows[metric].column;
    if (metric < HALLEY_METRIC_CLASS)
        return part_columns[metric - HALLEY_METRIC_PART];
    return metric < HALLEY_N_METRICS ? class_columns[metric - HALLEY_METRIC_CLASS] : "?";
}

const char *halley_metric_key(uint32_t metric)
{
    assert(metric < HALLEY_N_METRICS);
    if (metric < HALLEY_METRIC_PART)
        return rows[metric].key;
    if (metric < HALLEY_METRIC_CLASS)
        return part_keys[metric - HALLEY_METRIC_PART];
    return metric < HALLEY_N_METRICS ? class_keys[metric - HALLEY_METRIC_CLASS] : "?";
}

const char *halley_metric_title(uint32_t metric)
{
    assert(metric < HALLEY_N_METRICS);
    if (metric < HALLEY_METRIC_PART)
        return rows[metric].title;
    if (metric < HALLEY_METRIC_CLASS)
        return halley_part_name((halley_part)(metric - HALLEY_METRIC_PART));
    if (metric < HALLEY_N_METRICS)
        return halley_memory_name((halley_memory)(metric - HALLEY_METRIC_CLASS));
    return "?";
}

units_kind explore_metric_unit(uint32_t metric)
{
    assert(metric < HALLEY_N_METRICS);
    if (metric < HALLEY_METRIC_PART)
        return rows[metric].unit;
    return metric < HALLEY_METRIC_CLASS ? UNITS_TIME : UNITS_BYTES;
}

explore_dims explore_metric_dims(uint32_t metric)
{
    assert(metric < HALLEY_N_METRICS);
    return explore_dims_of(metric == HALLEY_METRIC_TOKENS_PER_S
                               ? UNITS_FREQUENCY
                               : explore_metric_unit(metric));
}

/* The cost of one token is tiny, so it is shown for a million tokens. */
const char *halley_metric_format(char *to, size_t size, uint32_t metric, double value)
{
    assert(size > 0 && metric <= HALLEY_N_METRICS); /* N: a plain number */
    if (!(value == value)) {
        snprintf(to, size, "-");
        return to;
    }
    if (metric == HALLEY_METRIC_COST_PER_TOKEN || metric == HALLEY_METRIC_EFFECTIVE_TOKEN)
        snprintf(to, size, "%s USD/M", number_digits(value * 1e6, 3).at);
    else if (isinf(value))
        snprintf(to, size, "never");
    else if (metric == HALLEY_METRIC_TRAIN_TIME)
        snprintf(to, size, "%s d", number_digits(value / 86400, 4).at);
    else if (metric == HALLEY_METRIC_MFU || metric == HALLEY_METRIC_GOODPUT)
        snprintf(to, size, "%s %%", number_fixed(value * 100, 1).at);
    else if (metric == HALLEY_METRIC_NPUS || metric == HALLEY_METRIC_RACKS ||
             metric == HALLEY_METRIC_HOSTS)
        snprintf(to, size, "%s", number_fixed(value, 0).at);
    else if (metric >= HALLEY_N_METRICS)
        snprintf(to, size, "%s", number_digits(value, 5).at);
    else
        units_format(to, size, value, explore_metric_unit(metric));
    return to;
}

uint32_t explore_metric_find(str key, const char **nearest)
{
    assert(key.n == 0 || key.at != NULL);
    if (str_eq(key, STR("power"))) /* its name before there was a nameplate */
        return HALLEY_METRIC_POWER;
    const char *names[2 * HALLEY_N_METRICS];
    for (uint32_t i = 0; i < HALLEY_N_METRICS; i++) {
        names[i] = halley_metric_key(i);
        names[HALLEY_N_METRICS + i] = halley_metric_column(i);
        if (str_eq(key, str_from(names[i])) ||
            str_eq(key, str_from(names[HALLEY_N_METRICS + i])))
            return i;
    }
    if (nearest)
        *nearest = str_nearest(key, names, sizeof names / sizeof *names);
    return HALLEY_N_METRICS;
}

static void under_failures(double out[HALLEY_N_METRICS], const halley_failures *failures,
                           double npus)
{
    assert(npus > 0);
    halley_goodput g;
    halley_goodput_run(&g, failures, npus);
    out[HALLEY_METRIC_GOODPUT] = g.share;
    out[HALLEY_METRIC_EFFECTIVE_STEP] = out[HALLEY_METRIC_STEP_TIME] / g.share;
    out[HALLEY_METRIC_EFFECTIVE_TOKEN] = out[HALLEY_METRIC_COST_PER_TOKEN] / g.share;
    out[HALLEY_METRIC_MTBF] = g.mtbf_s;
    out[HALLEY_METRIC_CHECKPOINT] = g.interval_s;
}

static double compute_time(const halley_estimate *e)
{
    return e->part_s[HALLEY_PART_FORWARD] + e->part_s[HALLEY_PART_BACKWARD] +
           e->part_s[HALLEY_PART_RECOMPUTE];
}

/* The whole run, as in halley_numbers_run. */
static void add_training(double out[HALLEY_N_METRICS], const halley_estimate *e,
                         double run, double step)
{
    const double share = fmax(out[HALLEY_METRIC_GOODPUT], 1e-9);
    const double steps = step > 0 ? run / step : 0;
    out[HALLEY_METRIC_TRAIN_TIME] = steps * e->step_s / share;
    out[HALLEY_METRIC_TRAIN_COST] = steps * e->cost_usd / share;
}

/* What is bought, and its power. Training time must be known. */
static void add_bill(double out[HALLEY_N_METRICS], const halley_cluster *c,
                     const halley_estimate *e, double npus, double run)
{
    halley_bill b;
    halley_bill_make(&b, c, npus);
    const double seconds = out[HALLEY_METRIC_TRAIN_TIME];
    const double run_J = e->step_s > 0 ? e->energy_J / e->step_s * seconds : 0;
    double unknown = 0;
    for (uint32_t bits = b.missing; bits != 0; bits &= bits - 1)
        unknown++;
    for (int i = 0; i < HALLEY_N_BILL_ITEMS; i++)
        out[HALLEY_METRIC_BILL + i] = b.usd[i];
    out[HALLEY_METRIC_CAPITAL] = b.capital_usd;
    out[HALLEY_METRIC_NAMEPLATE] = b.nameplate_w;
    out[HALLEY_METRIC_NETWORK_POWER] = b.watts[HALLEY_BILL_NETWORK];
    out[HALLEY_METRIC_RENT] = c->cost.rent_usd_per_s * 3600;
    out[HALLEY_METRIC_OWN] = halley_bill_own_usd_h(&b, c);
    out[HALLEY_METRIC_CARBON] = hw_carbon_kg(&b, c, run_J, seconds);
    out[HALLEY_METRIC_CARBON_PER_TOKEN] = run > 0 ? out[HALLEY_METRIC_CARBON] / run : 0;
    out[HALLEY_METRIC_RACKS] = b.n_racks;
    out[HALLEY_METRIC_HOSTS] = b.n_hosts;
    out[HALLEY_METRIC_UNKNOWN_PRICES] = unknown;
}

void explore_metrics(double out[HALLEY_N_METRICS], const explore_design *design,
                     const halley_estimate *e, double run_tokens)
{
    assert(e->size == sizeof *e);
    assert(design->plan.tp > 0);
    const halley_cluster *c = &design->cluster;
    const halley_plan *plan = &design->plan;
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    const double tokens = e->tokens_per_s * e->step_s;
    const double *t = e->part_s;
    out[HALLEY_METRIC_STEP_TIME] = e->step_s;
    out[HALLEY_METRIC_TOKENS_PER_S] = e->tokens_per_s;
    out[HALLEY_METRIC_MFU] = e->mfu;
    out[HALLEY_METRIC_MEMORY] = e->peak_bytes;
    out[HALLEY_METRIC_OUTER_MEMORY] = e->offloaded_bytes;
    out[HALLEY_METRIC_ENERGY] = e->energy_J;
    out[HALLEY_METRIC_COST] = e->cost_usd;
    out[HALLEY_METRIC_COST_PER_TOKEN] = tokens > 0 ? e->cost_usd / tokens : 0;
    out[HALLEY_METRIC_ENERGY_PER_TOKEN] = tokens > 0 ? e->energy_J / tokens : 0;
    out[HALLEY_METRIC_POWER] = e->step_s > 0 ? e->energy_J / e->step_s : 0;
    out[HALLEY_METRIC_NPUS] = npus;
    out[HALLEY_METRIC_COMPUTE] = compute_time(e);
    out[HALLEY_METRIC_COMMUNICATION] = t[HALLEY_PART_TP] + t[HALLEY_PART_CP] +
                                       t[HALLEY_PART_EP] + t[HALLEY_PART_PP] +
                                       t[HALLEY_PART_DP];
    under_failures(out, &c->failures, npus);
    add_training(out, e, run_tokens, (double)plan->global_batch * plan->seq);
    add_bill(out, c, e, npus, run_tokens);
    for (int i = 0; i < HALLEY_N_PARTS; i++)
        out[HALLEY_METRIC_PART + i] = t[i];
    for (int i = 0; i < HALLEY_N_MEMORY; i++)
        out[HALLEY_METRIC_CLASS + i] = e->memory_bytes[i];
}

/* The largest part other than compute, with the network dimension that it crosses. */
static int largest_other(const halley_estimate *e)
{
    assert(e->step_s > 0);
    int most = HALLEY_PART_TP;
    for (int i = HALLEY_PART_TP; i < HALLEY_N_PARTS; i++) {
        if (e->part_s[i] > e->part_s[most])
            most = i;
    }
    return most;
}

static const char *where_it_goes(const explore_design *d, int part)
{
    assert(part >= 0 && part < HALLEY_N_PARTS);
    static const struct {
        int part;
        workload_group group;
    } groups[] = {{HALLEY_PART_TP, WORKLOAD_TP},
                  {HALLEY_PART_CP, WORKLOAD_CP},
                  {HALLEY_PART_EP, WORKLOAD_EP},
                  {HALLEY_PART_PP, WORKLOAD_PP},
                  {HALLEY_PART_DP, WORKLOAD_DP}};
    uint32_t n[WORKLOAD_N_GROUPS], in_node[WORKLOAD_N_GROUPS];
    plan_group_sizes(n, in_node, &d->plan, plan_ranks_per_node(&d->plan, &d->cluster));
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const workload_group g = groups[i].group;
        if (groups[i].part == part)
            return in_node[g] < n[g] ? " between nodes" : " inside a node";
    }
    return "";
}

void explore_limit(char *to, size_t size, const explore_design *d,
                   const halley_estimate *e)
{
    assert(size > 0);
    static const char *const words[HALLEY_N_PARTS] = {
        [HALLEY_PART_TP] = "tensor-parallel messages",
        [HALLEY_PART_CP] = "context-parallel messages",
        [HALLEY_PART_EP] = "expert messages",
        [HALLEY_PART_PP] = "stage transfers",
        [HALLEY_PART_DP] = "gradient reduction",
        [HALLEY_PART_BUBBLE] = "the pipeline bubble",
        [HALLEY_PART_HOST] = "the host",
        [HALLEY_PART_ACCUMULATE] = "gradient accumulation",
        [HALLEY_PART_OPTIMIZER] = "the optimizer",
        [HALLEY_PART_OFFLOAD] = "expanded memory",
        [HALLEY_PART_MEETING] = "waiting for the slowest",
        [HALLEY_PART_OTHER] = "fixed costs"};
    const int most = largest_other(e);
    const double step = e->step_s > 0 ? e->step_s : 1;
    const double compute = compute_time(e) / step;
    const double other = e->part_s[most] / step;
    const double full = e->capacity_bytes > 0 ? e->peak_bytes / e->capacity_bytes : 0;
    strbuf text = {0};
    if (!e->fits)
        strbuf_printf(&text, "%s",
                      e->fit == HALLEY_FIT_NOT ? "does not fit" : "may not fit");
    if (other > compute)
        strbuf_printf(&text, "%s%s%s %s %%", text.n ? ", " : "", words[most],
                      where_it_goes(d, most), number_fixed(other * 100, 0).at);
    strbuf_printf(&text, "%scompute %s %%", text.n ? ", " : "",
                  number_fixed(compute * 100, 0).at);
    if (other <= compute && other >= 0.05)
        strbuf_printf(&text, ", %s%s %s %%", words[most], where_it_goes(d, most),
                      number_fixed(other * 100, 0).at);
    if (e->fits && full > 1)
        strbuf_printf(&text, ", %s %% in outer memory",
                      number_fixed(100 * (1 - 1 / full), 0).at);
    else if (e->fit == HALLEY_FIT_TIGHT)
        strbuf_printf(&text, ", memory full");
    snprintf(to, size, "%.*s", (int)text.n, text.n ? text.at : "");
    strbuf_fini(&text);
}
