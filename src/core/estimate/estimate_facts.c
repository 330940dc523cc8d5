/* The rows of estimates. Every part and class of memory has its row. */
#include "estimate/estimate_facts.h"

#include "base/fact_rows.h"
#include "halley/estimate.h"
#include "halley/numbers.h"

#include <math.h>

static double get_matmul(const void *from)
{
    const halley_estimate *e = from;
    return e->class_s[HALLEY_CLASS_MATMUL] + e->class_s[HALLEY_CLASS_EXPERTS] +
           e->class_s[HALLEY_CLASS_LOGITS];
}

static double get_steps_s(const void *from)
{
    return ((const halley_numbers *)from)->days * 86400;
}

static double get_train_s(const void *from)
{
    return ((const halley_numbers *)from)->wall_days * 86400;
}

static double get_explained(const void *from)
{
    const halley_explanation *e = from;
    return e->has_value ? e->value : NAN;
}

static const char *get_explained_unit(const void *from)
{
    const halley_explanation *e = from;
    return e->has_value ? e->unit : NULL;
}

/* ["npu price", "cxl price-per-gb"] */
static void print_missing(strbuf *to, const fact *f, const void *from)
{
    str rest = str_from(((const halley_numbers *)from)->missing), name;
    (void)f;
    strbuf_add_char(to, '[');
    for (const char *by = ""; rest.n > 0 && str_next(&rest, ',', &name); by = ", ") {
        strbuf_add(to, str_from(by));
        strbuf_json(to, str_trim(name));
    }
    strbuf_add_char(to, ']');
}

/* In the order of halley_price_state. */
static const char *const price_states[] = {"known", "imputed", "lower-bound", NULL};
static const char *const walks[] = {"form", "walk", NULL};
/* In the order of halley_memory_fit. */
static const char *const fits[] = {"fits",         "tight", "may-fit", "may-need-offload",
                                   "does-not-fit", NULL};
_Static_assert(sizeof fits / sizeof *fits == HALLEY_N_FITS + 1,
               "every degree has a word");

/* Backward compute is for gradients of inputs and of weights. */
static double get_input_gradient_s(const void *from)
{
    const halley_estimate *e = from;
    return e->part_s[HALLEY_PART_BACKWARD] - e->weight_gradient_s;
}

/* clang-format off */
#define THIS halley_estimate
#define PART(k, id, t, ...) VALUE(k, part_s[HALLEY_PART_##id], SECONDS, t, __VA_ARGS__)
#define CLASS(k, id, t, ...) VALUE(k, class_s[HALLEY_CLASS_##id], SECONDS, t, __VA_ARGS__)
const fact_table estimate_parts_facts = {"StepParts", "where the time of a step goes; the parts add up to step_s", sizeof(THIS), (const fact[]){
    DERIVED("matmul", get_matmul, SECONDS, "matmuls", "matrix multiplications"),
    CLASS("attention", ATTENTION, "attention", "attention kernels"),
    CLASS("memory_bound", MEMORY_BOUND, "memory-bound ops", "norms, activations, casts, embedding, loss"),
    PART("recompute", RECOMPUTE, "recomputation", "recomputed forward passes, with their communication", .word = "time.recompute"),
    PART("tensor_parallel", TP, "tensor parallel", "exposed tensor-parallel communication", .word = "time.tp"),
    PART("context_parallel", CP, "context parallel", "exposed context-parallel communication", .word = "time.cp"),
    PART("expert_parallel", EP, "expert parallel", "exposed expert-parallel communication", .word = "time.ep"),
    PART("pipeline_transfers", PP, "pipeline transfers", "exposed transfers between pipeline stages", .word = "time.pp"),
    PART("data_parallel", DP, "data parallel", "exposed gradient reduction and weight gathering", .word = "time.dp"),
    PART("bubble", BUBBLE, "pipeline bubble", "pipeline stages wait for each other", .word = "time.bubble"),
    PART("host", HOST, "host", "the device waits for its host", .word = "time.host"),
    PART("accumulate", ACCUMULATE, "gradient accumulation", "gradient accumulation", .word = "time.accumulate"),
    PART("optimizer", OPTIMIZER, "optimizer", "optimizer update", .word = "time.optimizer"),
    PART("offload", OFFLOAD, "offload", "exposed transfers to and from outer memory", .word = "time.offload"),
    PART("meeting", MEETING, "waiting for the slowest", "ranks wait for the slowest of those they meet", .word = "time.meeting"),
    PART("other", OTHER, "other", "fixed costs of a step and of micro-batches", .word = "time.other"),
    {0}}};
/* The same keys in the words of recommendation models; for text only. */
const fact_table estimate_recommender_facts = {"RecommenderParts", "where the time of a step goes, of a recommendation model", sizeof(THIS), (const fact[]){
    DERIVED("matmul", get_matmul, SECONDS, "matmuls", "matrix multiplications"),
    CLASS("attention", ATTENTION, "feature interaction", "products of pairs of vectors"),
    CLASS("memory_bound", MEMORY_BOUND, "lookups and activations", "embedding rows and their update, activations"),
    PART("expert_parallel", EP, "embedding exchange", "exposed exchange of indexes and embedding vectors"),
    PART("data_parallel", DP, "data parallel", "exposed gradient reduction"),
    PART("host", HOST, "host", "the device waits for its host"),
    PART("accumulate", ACCUMULATE, "gradient accumulation", "gradient accumulation"),
    PART("optimizer", OPTIMIZER, "optimizer", "optimizer update"),
    PART("offload", OFFLOAD, "offload", "exposed transfers to and from outer memory"),
    PART("meeting", MEETING, "waiting for the slowest", "ranks wait for the slowest of those they meet"),
    PART("other", OTHER, "other", "fixed costs of a step"),
    {0}}};
#undef THIS

typedef struct memory_classes { double by[HALLEY_MAX_MEMORY]; } memory_classes;
#define THIS memory_classes
#define MEMORY(k, id, d) VALUE(k, by[HALLEY_MEMORY_##id], BYTES, k, d, .word = "memory." k)
/* In the order of halley_memory. */
const fact_table estimate_memory_facts = {"MemoryClasses", "memory of a pipeline stage by class", sizeof(THIS), (const fact[]){
    MEMORY("weights", WEIGHTS, "weights"),
    MEMORY("gradients", GRADIENTS, "gradients"),
    MEMORY("optimizer", OPTIMIZER, "optimizer states"),
    MEMORY("activations", ACTIVATIONS, "activations kept for the backward pass"),
    MEMORY("logits", LOGITS, "logits, loss and temporaries of the head"),
    MEMORY("gathered", GATHERED, "whole weights and gradients of layers in work (FSDP)"),
    MEMORY("buffers", BUFFERS, "fixed buffers of the framework"),
    MEMORY("context", CONTEXT, "context of the driver and libraries, outside the allocator"),
    {0}}};
#undef THIS

#define THIS halley_estimate
const fact_table estimate_facts = {"Step", "time and memory of one training step", sizeof(THIS), (const fact[]){
    VALUE("step_s", step_s, SECONDS, "step", "time of a training step", .word = "step-time"),
    VALUE("tokens_per_s", tokens_per_s, PER_SECOND, "tokens/s", "tokens per second, all NPUs", .word = "tokens/s"),
    VALUE("model_flops", model_flops, FLOP, "FLOP", "operations of the model in a step, all NPUs"),
    VALUE("mfu", mfu, SHARE, "MFU", "model FLOPs over the peak of all NPUs", .word = "mfu"),
    VALUE("hfu", hfu, SHARE, "HFU", "the same with recomputed operations"),
    PART("forward_s", FORWARD, "forward", "forward compute of the slowest stage", .word = "time.forward"),
    PART("backward_s", BACKWARD, "backward", "backward compute of the slowest stage", .word = "time.backward"),
    DERIVED("input_gradient_s", get_input_gradient_s, SECONDS, "input gradients", "the part of backward_s for gradients of inputs"),
    VALUE("weight_gradient_s", weight_gradient_s, SECONDS, "weight gradients", "the part of backward_s for gradients of weights"),
    SELF("parts_s", estimate_parts_facts, SECONDS, "where the time goes", "where the time of a step goes; the parts add up to step_s"),
    GROUP("memory_bytes", memory_bytes, estimate_memory_facts, BYTES, "memory", "memory of the fullest stage by class; adds up to device_bytes"),
    VALUE("allocated_bytes", allocated_bytes, BYTES, "allocated", "memory that the framework's allocator holds: device_bytes without the context"),
    VALUE("device_bytes", peak_bytes, BYTES, "device", "memory that the fullest stage needs on the device", .word = "memory"),
    VALUE("offloaded_bytes", offloaded_bytes, BYTES, "outer memory", "what that stage keeps in outer memory", .word = "outer-memory"),
    VALUE("capacity_bytes", capacity_bytes, BYTES, "capacity", "memory of the device"),
    VALUE("headroom", headroom, SHARE, "headroom", "share of the memory that a plan must leave free"),
    CHOICE("schedule_time", schedule_walked, walks, "schedule", "walk: the schedule was run pass by pass; form: by its closed form"),
    VALUE("slowest_stage", slow_stage, NO_UNIT, "slowest stage", "pipeline stage that sets the pace, from 0"),
    VALUE("fullest_stage", full_stage, NO_UNIT, "fullest stage", "pipeline stage with the most memory, from 0"),
    VALUE("fits", fits, NO_UNIT, "fits", "whether device_bytes fits into the memory with its headroom", .word = "fits"),
    CHOICE("fit", fit, fits, "fit", "whether it fits, by degrees"),
    VALUE("energy_J", energy_J, JOULES, "energy/step", "energy of a step, all NPUs", .word = "energy"),
    VALUE("cost_usd", cost_usd, USD, "cost/step", "cost of a step: capital over its life, and energy", .word = "cost"),
    {0}}};
#undef THIS

#define THIS halley_bill
#define ITEM(k, id, t, d) VALUE(k, usd[HALLEY_BILL_##id], USD, t, d, .word = "capital." k)
static const fact_table capital_facts = {"Capital", "capital by what is bought", sizeof(THIS), (const fact[]){
    ITEM("npus", NPUS, "accelerators", "NPUs, in whole hosts or domains"),
    ITEM("hosts", HOSTS, "hosts", "hosts without their NPUs"),
    VALUE("scale_up", usd[HALLEY_BILL_SCALE_UP], USD, "scale-up", "switches and optics inside scale-up domains", .word = "capital.scale-up"),
    ITEM("network", NETWORK, "network", "network cards, switches and cables"),
    ITEM("memory", MEMORY, "memory", "memory beyond that of NPUs and hosts"),
    ITEM("racks", RACKS, "racks", "racks"),
    ITEM("building", BUILDING, "building", "the building, if it is bought"),
    {0}}};
#undef ITEM
#undef THIS

#define THIS halley_numbers
const fact_table estimate_numbers_facts = {"Run", "rates, and a training run: time, money, power", sizeof(THIS), (const fact[]){
    VALUE("parameters", params, NO_UNIT, "parameters", "parameters of the model"),
    VALUE("active_parameters", active_params, NO_UNIT, "active", "parameters that one token uses"),
    VALUE("unit", counted, NO_UNIT, "counted", "what tokens_per_s and train_tokens count: tokens, or samples"),
    VALUE("paid_npus", n_paid, NO_UNIT, "paid", "NPUs of the whole nodes or racks that are paid for"),
    VALUE("tokens_per_s_per_npu", tokens_per_s_npu, PER_SECOND, "tokens/s each", "tokens per second and NPU"),
    VALUE("model_flops_per_s", flops_per_s, FLOP_PER_SECOND, "FLOP/s", "rate of the model's operations, all NPUs"),
    VALUE("model_flops_per_s_per_npu", flops_per_s_npu, FLOP_PER_SECOND, "FLOP/s each", "the same per NPU"),
    VALUE("mfu_full_attention", mfu_full, SHARE, "MFU, full attention", "mfu when attention counts the full square"),
    VALUE("mfu_of_bf16", mfu_wide, SHARE, "MFU of bf16", "mfu against the peak of bf16"),
    VALUE("train_tokens", tokens, NO_UNIT, "tokens", "tokens of the whole training run"),
    VALUE("goodput", goodput, SHARE, "goodput", "share of the time that makes progress", .word = "goodput"),
    DERIVED("train_steps_s", get_steps_s, SECONDS, "steps", "time of all its steps, without failures"),
    DERIVED("train_s", get_train_s, SECONDS, "time", "time of the whole training run, with restarts", .word = "train-time"),
    VALUE("train_npu_hours", npu_hours, HOURS, "NPU-hours", "time of the training run times the number of NPUs"),
    VALUE("train_cost_usd", cost_usd, USD, "cost", "cost of the training run", .word = "train-cost"),
    VALUE("train_energy_J", energy_J, JOULES, "energy", "energy of the training run"),
    VALUE("train_carbon_kg", carbon_kg, NO_UNIT, "carbon", "kilograms of carbon dioxide of the training run", .word = "carbon"),
    VALUE("own_usd_per_npu_hour", own_usd_h, NO_UNIT, "owned", "USD for owning an NPU for an hour at full use", .word = "own-per-npu-hour"),
    VALUE("capital_usd", bill.capital_usd, USD, "capital", "price of the cluster; capital_is says how far it is known", .word = "capital"),
    CHOICE("capital_is", bill.state, price_states, "prices", "known, imputed (the device is not sold), or lower-bound (a price is not known)"),
    OWN("capital_missing", print_missing, "missing", "prices that are needed and not known"),
    GROUP("capital_parts_usd", bill, capital_facts, USD, "capital", "capital by what is bought", .flat = true),
    VALUE("nameplate_W", bill.nameplate_w, WATTS, "power, nameplate", "power of whole hosts by their nameplates, with network and building", .word = "nameplate"),
    VALUE("network_power_W", bill.watts[HALLEY_BILL_NETWORK], WATTS, "power, network", "power of network cards, switches and optics", .word = "network-power"),
    VALUE("hosts", bill.n_hosts, NO_UNIT, "hosts", "hosts that are bought", .word = "hosts"),
    VALUE("racks", bill.n_racks, NO_UNIT, "racks", "racks that the cluster fills", .word = "racks"),
    VALUE("network_switches", bill.n_switches, NO_UNIT, "switches", "switches between hosts"),
    VALUE("network_cables", bill.n_cables, NO_UNIT, "cables", "cables between hosts and switches"),
    VALUE("average_W", average_w, WATTS, "power, average", "power on average while training, with the building"),
    {0}}};
#undef THIS

#define THIS halley_explanation
const fact_table estimate_explanation_facts = {"Explanation", "how a number comes about", sizeof(THIS), (const fact[]){
    VALUE("name", name, NO_UNIT, "name", "what this number is"),
    VALUE("formula", formula, NO_UNIT, "formula", "how it is computed, with numbers", .rare = true),
    VALUE("origin", origin, NO_UNIT, "origin", "of a constant: fitted, given or default", .rare = true),
    DERIVED("value", get_explained, NO_UNIT, "value", "the number", .rare = true),
    DERIVED_TEXT("unit", get_explained_unit, "unit", "its unit", .rare = true),
    CHAIN("children", children, estimate_explanation_facts, THIS, next, "children", "what it is made of", .rare = true, .tall = true),
    {0}}};
#undef THIS
