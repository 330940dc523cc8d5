/* Writes plans as launch files. Settings that a format cannot express are listed, never
 * dropped silently. */
#include "launch/write.h"

#include "base/error.h"
#include "workload/plan_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*write)(launch_writer *w);
} forms[HALLEY_N_LAUNCH_FORMS] = {
    [HALLEY_LAUNCH_MEGATRON] = {"megatron", launch_write_megatron},
    [HALLEY_LAUNCH_DEEPSPEED] = {"deepspeed", launch_write_deepspeed},
    [HALLEY_LAUNCH_TORCHTITAN] = {"torchtitan", launch_write_titan},
    [HALLEY_LAUNCH_MAXTEXT] = {"maxtext", launch_write_maxtext},
};

const char *halley_launch_form_name(unsigned form)
{
    return form < HALLEY_N_LAUNCH_FORMS ? forms[form].name : NULL;
}

void launch_leave_out(launch_writer *w, const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    strbuf_printf(&w->left_out, "%s%s", w->left_out.n > 0 ? ", " : "", text);
}

halley_status halley_launch_write(char **text, char **left_out, halley_launch_form form,
                                  const halley_model *model, const halley_plan *plan,
                                  halley_error *err)
{
    if ((unsigned)form >= HALLEY_N_LAUNCH_FORMS)
        return error_set(err, HALLEY_EINVAL, "there is no launch form %u",
                         (unsigned)form);
    if (model->kind != HALLEY_TRANSFORMER)
        return error_set(
            err, HALLEY_EINVAL,
            "model \"%s\" is no transformer; launch files describe only those",
            model->name);
    launch_writer w = {.model = model, .plan = plan};
    forms[form].write(&w);
    if (w.text.failed || w.left_out.failed || w.text.n == 0) {
        strbuf_fini(&w.text);
        strbuf_fini(&w.left_out);
        return error_nomem(err);
    }
    *text = w.text.at;
    *left_out = w.left_out.at;
    return HALLEY_OK;
}

/* ---- Megatron ---- */

static void add_launch_number(launch_writer *w, const char *name, uint32_t value)
{
    strbuf_printf(&w->text, "--%s %u\n", name, value);
}

static void add_word(launch_writer *w, const char *name)
{
    strbuf_printf(&w->text, "--%s\n", name);
}

static bool has_experts_at(const halley_model *m, uint32_t layer)
{
    const uint32_t every = m->moe_every > 0 ? m->moe_every : 1;
    return layer >= m->dense_layers && (layer - m->dense_layers + 1) % every == 0;
}

/* Which layers have experts, as [0]*3+[1]*58. */
static void write_layer_freq(launch_writer *w)
{
    const halley_model *m = w->model;
    strbuf_add(&w->text, STR("--moe-layer-freq "));
    for (uint32_t i = 0; i < m->layers;) {
        uint32_t end = i;
        while (end < m->layers && has_experts_at(m, end) == has_experts_at(m, i))
            end++;
        strbuf_printf(&w->text, "%s[%d]*%u", i > 0 ? "+" : "", has_experts_at(m, i),
                      end - i);
        i = end;
    }
    strbuf_add_char(&w->text, '\n');
}

static void write_experts(launch_writer *w)
{
    const halley_model *m = w->model;
    add_launch_number(w, "num-experts", m->experts);
    add_launch_number(w, "moe-router-topk", m->top_k);
    add_launch_number(w, "moe-ffn-hidden-size", m->expert_ffn);
    if (m->shared_ffn > 0)
        add_launch_number(w, "moe-shared-expert-intermediate-size", m->shared_ffn);
    if (m->dense_layers > 0 || m->moe_every > 1)
        write_layer_freq(w);
    strbuf_add(&w->text,
               STR("--moe-token-dispatcher-type alltoall\n--moe-grouped-gemm\n"));
}

static void write_attention(launch_writer *w)
{
    const halley_model *m = w->model;
    add_launch_number(w, "num-attention-heads", m->heads);
    if (m->kv_heads != m->heads && m->kv_rank == 0) {
        add_word(w, "group-query-attention");
        add_launch_number(w, "num-query-groups", m->kv_heads);
    }
    if (m->head_dim * m->heads != m->hidden)
        add_launch_number(w, "kv-channels", m->head_dim);
    if (m->kv_rank > 0) {
        add_word(w, "multi-latent-attention");
        if (m->q_rank > 0)
            add_launch_number(w, "q-lora-rank", m->q_rank);
        add_launch_number(w, "kv-lora-rank", m->kv_rank);
        add_launch_number(w, "qk-head-dim", m->qk_nope);
        add_launch_number(w, "qk-pos-emb-head-dim", m->qk_rope);
        add_launch_number(w, "v-head-dim", m->v_head);
    }
    if (m->window > 0) {
        strbuf_printf(&w->text, "--window-size %u,0\n", m->window - 1);
        if (m->window_every > 0)
            add_launch_number(w, "window-attn-skip-freq", m->window_every);
    }
}

static void write_shape(launch_writer *w)
{
    const halley_model *m = w->model;
    add_launch_number(w, "num-layers", m->layers);
    add_launch_number(w, "hidden-size", m->hidden);
    add_launch_number(w, "ffn-hidden-size", m->ffn);
    write_attention(w);
    add_launch_number(w, "seq-length", w->plan->seq);
    add_launch_number(w, "max-position-embeddings", w->plan->seq);
    add_launch_number(w, "padded-vocab-size", m->vocab);
    if (m->gated)
        add_word(w, "swiglu");
    if (!m->tied)
        add_word(w, "untie-embeddings-and-output-weights");
    strbuf_add(&w->text, STR("--disable-bias-linear\n--normalization RMSNorm\n"
                             "--position-embedding-type rope\n"));
    if (m->experts > 0)
        write_experts(w);
    if (m->not_causal)
        launch_leave_out(w, "attention that is not causal");
}

/* Stages with their own numbers of layers: E tt... | tt... | ... L. */
static void write_layout(launch_writer *w)
{
    const halley_plan *p = w->plan;
    if (p->virtual_stages > 1) {
        launch_leave_out(w, "stage-layers with virtual stages");
        return;
    }
    strbuf_add(&w->text, STR("--pipeline-model-parallel-layout E"));
    for (uint32_t i = 0; i < p->n_stage_layers; i++)
        strbuf_printf(&w->text, "%st*%u", i > 0 ? "|" : "", p->stage_layers[i]);
    strbuf_add(&w->text, STR("L\n"));
}

static void write_degrees(launch_writer *w)
{
    const halley_plan *p = w->plan;
    add_launch_number(w, "tensor-model-parallel-size", p->tp);
    add_launch_number(w, "pipeline-model-parallel-size", p->pp);
    if (p->cp > 1)
        add_launch_number(w, "context-parallel-size", p->cp);
    if (p->ep > 1)
        add_launch_number(w, "expert-model-parallel-size", p->ep);
    if (w->model->experts > 0)
        add_launch_number(w, "expert-tensor-parallel-size", 1);
    if (p->virtual_stages > 1)
        add_launch_number(w, "num-virtual-stages-per-pipeline-rank", p->virtual_stages);
    if (p->n_stage_layers > 0)
        write_layout(w);
    if (p->embeddings_as_layers)
        strbuf_add(&w->text, STR("--account-for-embedding-in-pipeline-split\n"
                                 "--account-for-loss-in-pipeline-split\n"));
    if (p->sequence_parallel)
        add_word(w, "sequence-parallel");
    add_launch_number(w, "micro-batch-size", p->micro_batch);
    add_launch_number(w, "global-batch-size", p->global_batch);
    if (strcmp(workload_order_names[p->rank_order], "tp-cp-pp-dp") == 0)
        add_word(w, "use-tp-pp-dp-mapping");
    else if (p->rank_order > 0)
        launch_leave_out(w, "rank-order %s", workload_order_names[p->rank_order]);
    if (p->schedule != HALLEY_SCHEDULE_1F1B)
        launch_leave_out(w, "the pipeline schedule");
}

static void write_precision(launch_writer *w)
{
    static const char *const recipes[] = {"delayed", "rowwise", "blockwise", "mxfp8"};
    const halley_plan *p = w->plan;
    const bool low = p->dtype == HALLEY_FP8 || p->dtype == HALLEY_FP4;
    if (p->dtype == HALLEY_FP16)
        add_word(w, "fp16");
    else if (p->dtype == HALLEY_BF16 || low)
        add_word(w, "bf16");
    else if (p->dtype != HALLEY_FP32)
        launch_leave_out(w, "dtype %s", halley_dtype_name(p->dtype));
    if (p->dtype == HALLEY_FP8)
        strbuf_printf(&w->text, "--fp8-format hybrid\n--fp8-recipe %s\n",
                      recipes[(unsigned)p->recipe < 4 ? (unsigned)p->recipe : 0]);
    if (p->dtype == HALLEY_FP4)
        strbuf_add(&w->text, STR("--fp4-format e2m1\n"));
    if (p->gradient_bytes == 4)
        add_word(w, "accumulate-allreduce-grads-in-fp32");
    else if (p->dtype != HALLEY_FP16)
        add_word(w, "grad-reduce-in-bf16");
}

static void write_sharding(launch_writer *w)
{
    static const char *const strategies[] = {"no_shard", "optim", "optim_grads",
                                             "optim_grads_params"};
    const halley_plan *p = w->plan;
    const bool sharded = p->fsdp > 0 || p->zero >= 2;
    if (p->fsdp > 0 && p->fsdp != p->dp * p->cp)
        launch_leave_out(w, "fsdp %u (hybrid sharding)", p->fsdp);
    if (sharded)
        strbuf_printf(&w->text,
                      "--use-megatron-fsdp\n--data-parallel-sharding-strategy %s\n",
                      strategies[p->fsdp > 0 ? 3 : p->zero]);
    else if (p->zero == 1)
        add_word(w, "use-distributed-optimizer");
    if (p->fsdp_keep)
        launch_leave_out(w, "keep-gathered");
}

static void write_recompute(launch_writer *w)
{
    const halley_plan *p = w->plan;
    if (p->recompute == HALLEY_RECOMPUTE_SELECTIVE)
        strbuf_add(&w->text, STR("--recompute-granularity selective\n"));
    else if (p->recompute == HALLEY_RECOMPUTE_FULL)
        strbuf_printf(&w->text,
                      "--recompute-granularity full\n--recompute-method %s\n"
                      "--recompute-num-layers %u\n",
                      p->recompute_layers > 0 ? "block" : "uniform",
                      p->recompute_layers > 0  ? p->recompute_layers
                      : p->recompute_every > 0 ? p->recompute_every
                                               : 1);
    else if (p->recompute != HALLEY_RECOMPUTE_NONE)
        launch_leave_out(w, "recompute %s", halley_recompute_name(p->recompute));
    if (p->recompute_layers > 0 && p->recompute != HALLEY_RECOMPUTE_FULL)
        launch_leave_out(w, "recompute-layers %u", p->recompute_layers);
}

static void write_overlap(launch_writer *w)
{
    const halley_plan *p = w->plan;
    const bool reduce = (p->expose & HALLEY_EXPOSE_DP) == 0 && !p->no_overlap;
    if (reduce)
        add_word(w, "overlap-grad-reduce");
    if (reduce && (p->zero > 0 || p->fsdp > 0))
        add_word(w, "overlap-param-gather");
    if ((p->expose & HALLEY_EXPOSE_TP) == 0 && p->tp > 1 && !p->no_overlap)
        add_word(w, "tp-comm-overlap");
    if ((p->expose & HALLEY_EXPOSE_PP) != 0 && p->pp > 1)
        add_word(w, "no-overlap-p2p-communication");
    if (p->no_overlap)
        launch_leave_out(w, "no-overlap");
    if ((p->expose & HALLEY_EXPOSE_CP) != 0 && p->cp > 1)
        launch_leave_out(w, "expose cp");
    if ((p->expose & HALLEY_EXPOSE_EP) != 0 && p->ep > 1)
        launch_leave_out(w, "expose ep");
}

static void write_offload(launch_writer *w)
{
    const halley_plan *p = w->plan;
    if ((p->offload & HALLEY_OFFLOAD_OPTIMIZER) != 0)
        add_word(w, "optimizer-cpu-offload");
    if ((p->offload & ~(uint32_t)HALLEY_OFFLOAD_OPTIMIZER) != 0)
        launch_leave_out(w, "offload of gradients, weights or activations");
    if (p->offload_tier > 1)
        launch_leave_out(w, "offload-tier %u", p->offload_tier);
    if (p->spread)
        launch_leave_out(w, "spread");
    if (p->attention == HALLEY_ATTENTION_UNFUSED)
        strbuf_add(&w->text, STR("--attention-backend unfused\n"));
}

void launch_write_megatron(launch_writer *w)
{
    write_shape(w);
    write_degrees(w);
    write_precision(w);
    write_sharding(w);
    write_recompute(w);
    write_overlap(w);
    write_offload(w);
}
