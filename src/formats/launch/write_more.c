/* Writes plans as DeepSpeed JSON, torchtitan TOML and MaxText YAML. */
#include "launch/write.h"
#include "workload/plan_file.h"

#include <string.h>

/* Note what none of these formats can express. */
static void leave_out_common(launch_writer *w)
{
    const halley_plan *p = w->plan;
    if (p->rank_order > 0)
        launch_leave_out(w, "rank-order %s", workload_order_names[p->rank_order]);
    if (p->n_stage_layers > 0)
        launch_leave_out(w, "stage-layers");
    if (p->spread)
        launch_leave_out(w, "spread");
    if (p->recompute_layers > 0)
        launch_leave_out(w, "recompute-layers %u", p->recompute_layers);
    if (p->recompute_every > 1)
        launch_leave_out(w, "recompute-every %u", p->recompute_every);
}

static void leave_out_degree(launch_writer *w, const char *name, uint32_t degree)
{
    if (degree > 1)
        launch_leave_out(w, "%s %u", name, degree);
}

static const char *write_bool(bool on)
{
    return on ? "true" : "false";
}

static void write_zero(launch_writer *w)
{
    const halley_plan *p = w->plan;
    const uint32_t stage = p->fsdp > 0 ? 3 : p->zero;
    strbuf_printf(&w->text, "  \"zero_optimization\": {\n    \"stage\": %u", stage);
    strbuf_printf(&w->text, ",\n    \"overlap_comm\": %s",
                  write_bool((p->expose & HALLEY_EXPOSE_DP) == 0 && !p->no_overlap));
    if (p->fsdp > 0 && p->fsdp != p->dp * p->cp)
        strbuf_printf(&w->text, ",\n    \"zero_hpz_partition_size\": %u", p->fsdp);
    const char *device = p->offload_tier > 1 ? "nvme" : "cpu";
    if ((p->offload & HALLEY_OFFLOAD_OPTIMIZER) != 0)
        strbuf_printf(&w->text, ",\n    \"offload_optimizer\": {\"device\": \"%s\"}",
                      device);
    if ((p->offload & HALLEY_OFFLOAD_WEIGHTS) != 0)
        strbuf_printf(&w->text, ",\n    \"offload_param\": {\"device\": \"%s\"}", device);
    strbuf_add(&w->text, STR("\n  }"));
}

void launch_write_deepspeed(launch_writer *w)
{
    const halley_plan *p = w->plan;
    strbuf_printf(
        &w->text,
        "{\n  \"train_batch_size\": %u,\n  \"train_micro_batch_size_per_gpu\": %u,\n",
        p->global_batch, p->micro_batch);
    write_zero(w);
    if (p->dtype == HALLEY_BF16 || p->dtype == HALLEY_FP16)
        strbuf_printf(&w->text, ",\n  \"%s\": {\"enabled\": true}",
                      p->dtype == HALLEY_BF16 ? "bf16" : "fp16");
    else if (p->dtype != HALLEY_FP32)
        launch_leave_out(w, "dtype %s", halley_dtype_name(p->dtype));
    strbuf_printf(&w->text, ",\n  \"communication_data_type\": \"%s\"",
                  p->gradient_bytes == 4    ? "fp32"
                  : p->dtype == HALLEY_FP16 ? "fp16"
                                            : "bf16");
    if (p->tp > 1)
        strbuf_printf(&w->text, ",\n  \"tensor_parallel\": {\"autotp_size\": %u}", p->tp);
    if (p->pp > 1)
        strbuf_printf(&w->text, ",\n  \"pipeline\": {\"stages\": %u}", p->pp);
    if (p->cp > 1)
        strbuf_printf(&w->text, ",\n  \"sequence_parallel_size\": %u", p->cp);
    if (p->recompute == HALLEY_RECOMPUTE_FULL)
        strbuf_add(
            &w->text,
            STR(",\n  \"activation_checkpointing\": {\"partition_activations\": false}"));
    else if (p->recompute != HALLEY_RECOMPUTE_NONE)
        launch_leave_out(w, "recompute %s", halley_recompute_name(p->recompute));
    strbuf_add(&w->text, STR("\n}\n"));
    launch_leave_out(w, "the model and seq %u (set in the training script)", p->seq);
    leave_out_degree(w, "ep", p->ep);
    leave_out_degree(w, "virtual", p->virtual_stages);
    leave_out_common(w);
}

static void write_titan_recompute(launch_writer *w)
{
    const halley_plan *p = w->plan;
    const char *mode = p->recompute == HALLEY_RECOMPUTE_NONE           ? "none"
                       : p->recompute == HALLEY_RECOMPUTE_SELECTIVE_OP ? "selective"
                                                                       : "full";
    strbuf_printf(&w->text, "\n[activation_checkpoint]\nmode = \"%s\"\n", mode);
    if (p->recompute == HALLEY_RECOMPUTE_SELECTIVE_OP)
        strbuf_add(&w->text, STR("selective_ac_option = \"op\"\n"));
    else if (p->recompute != HALLEY_RECOMPUTE_NONE &&
             p->recompute != HALLEY_RECOMPUTE_FULL)
        launch_leave_out(w, "recompute %s (full is written)",
                         halley_recompute_name(p->recompute));
}

static void write_titan_model(launch_writer *w)
{
    const char *name = launch_name_of(STR("torchtitan"), str_from(w->model->name));
    if (name == NULL) {
        launch_leave_out(w, "the model %s", w->model->name);
        return;
    }
    const char *slash = strchr(name, '/');
    strbuf_printf(&w->text, "[model]\nname = \"%.*s\"\nflavor = \"%s\"\n",
                  (int)(slash - name), name, slash + 1);
    if (w->plan->dtype == HALLEY_FP8)
        strbuf_add(&w->text, STR("converters = [\"float8\"]\n"));
    strbuf_add_char(&w->text, '\n');
}

void launch_write_titan(launch_writer *w)
{
    const halley_plan *p = w->plan;
    const uint32_t of_rank = p->global_batch / (p->dp > 0 ? p->dp : 1);
    const uint32_t shards = p->fsdp > 0 ? p->fsdp / (p->cp > 0 ? p->cp : 1) : 1;
    write_titan_model(w);
    strbuf_printf(
        &w->text,
        "[training]\nlocal_batch_size = %u\nglobal_batch_size = %u\nseq_len = %u\n"
        "mixed_precision_reduce = \"%s\"\n",
        p->pp > 1 ? of_rank : p->micro_batch, p->global_batch, p->seq,
        p->gradient_bytes == 4 ? "float32" : "bfloat16");
    strbuf_printf(&w->text,
                  "\n[parallelism]\ndata_parallel_replicate_degree = %u\n"
                  "data_parallel_shard_degree = %u\ntensor_parallel_degree = %u\n"
                  "pipeline_parallel_degree = %u\ncontext_parallel_degree = %u\n"
                  "expert_parallel_degree = %u\n",
                  shards > 0 ? p->dp / shards : 1, shards, p->tp, p->pp, p->cp, p->ep);
    if (p->pp > 1)
        strbuf_printf(&w->text,
                      "pipeline_parallel_microbatch_size = %u\n"
                      "pipeline_parallel_schedule = \"%s\"\n",
                      p->micro_batch,
                      p->schedule == HALLEY_SCHEDULE_GPIPE ? "GPipe"
                      : p->virtual_stages > 1              ? "Interleaved1F1B"
                                                           : "1F1B");
    if (p->tp > 1)
        strbuf_printf(&w->text, "enable_async_tensor_parallel = %s\n",
                      write_bool((p->expose & HALLEY_EXPOSE_TP) == 0));
    write_titan_recompute(w);
    strbuf_printf(&w->text, "\n[compile]\nenable = %s\n", write_bool(!p->eager_kernels));
    if (p->fsdp == 0 && p->zero > 0)
        launch_leave_out(w, "zero %u (torchtitan shards weights or nothing)", p->zero);
    if (p->dtype != HALLEY_BF16 && p->dtype != HALLEY_FP8)
        launch_leave_out(w, "dtype %s", halley_dtype_name(p->dtype));
    if (p->virtual_stages > 2)
        launch_leave_out(w, "virtual %u", p->virtual_stages);
    if (p->offload != 0)
        launch_leave_out(w, "offload");
    leave_out_common(w);
}

static void write_maxtext_model(launch_writer *w)
{
    const halley_model *m = w->model;
    const char *name = launch_name_of(STR("maxtext"), str_from(m->name));
    if (name != NULL) {
        strbuf_printf(&w->text, "model_name: %s\n", name);
        return;
    }
    strbuf_printf(&w->text,
                  "base_emb_dim: %u\nbase_num_query_heads: %u\nbase_num_kv_heads: %u\n"
                  "head_dim: %u\nbase_mlp_dim: %u\nbase_num_decoder_layers: %u\n"
                  "vocab_size: %u\nmlp_activations: [%s]\nlogits_via_embedding: %s\n",
                  m->hidden, m->heads, m->kv_heads, m->head_dim, m->ffn, m->layers,
                  m->vocab, m->gated ? "silu, linear" : "gelu", write_bool(m->tied));
    if (m->experts > 0)
        strbuf_printf(&w->text,
                      "num_experts: %u\nnum_experts_per_tok: %u\nbase_moe_mlp_dim: %u\n"
                      "first_num_dense_layers: %u\n",
                      m->experts, m->top_k, m->expert_ffn, m->dense_layers);
    if (m->kv_rank > 0 || m->shared_ffn > 0)
        launch_leave_out(w, "latent attention and shared experts of %s", m->name);
}

static const char *get_remat_word(halley_recompute recompute)
{
    switch (recompute) {
    case HALLEY_RECOMPUTE_FULL:
        return "full";
    case HALLEY_RECOMPUTE_MINIMAL:
        return "minimal";
    case HALLEY_RECOMPUTE_QKV:
        return "save_qkv_proj";
    case HALLEY_RECOMPUTE_NONE:
        return "none";
    default:
        return NULL;
    }
}

static void write_maxtext_batch(launch_writer *w)
{
    const halley_plan *p = w->plan;
    const uint32_t cut = p->tp * p->cp * p->pp;
    const double device = (double)p->micro_batch / cut;
    const uint32_t steps = p->global_batch / (p->micro_batch * p->dp);
    strbuf_add(&w->text, STR("per_device_batch_size: "));
    strbuf_double(&w->text, p->pp > 1 ? device * steps : device);
    strbuf_printf(&w->text, "\nmax_target_length: %u\n", p->seq);
    if (p->pp > 1)
        strbuf_printf(&w->text,
                      "num_pipeline_microbatches: %u\nnum_pipeline_repeats: %u\n", steps,
                      p->virtual_stages);
    else
        strbuf_printf(&w->text, "gradient_accumulation_steps: %u\n", steps);
}

void launch_write_maxtext(launch_writer *w)
{
    const halley_plan *p = w->plan;
    write_maxtext_model(w);
    write_maxtext_batch(w);
    const uint32_t shards = p->fsdp > 0 ? p->fsdp / (p->cp > 0 ? p->cp : 1) : 1;
    strbuf_printf(&w->text,
                  "ici_tensor_parallelism: %u\nici_pipeline_parallelism: %u\n"
                  "ici_context_parallelism: %u\nici_expert_parallelism: %u\n"
                  "ici_fsdp_parallelism: %u\nici_data_parallelism: %u\n",
                  p->tp, p->pp, p->cp, p->ep, shards, shards > 0 ? p->dp / shards : 1);
    const char *word = get_remat_word(p->recompute);
    if (word != NULL)
        strbuf_printf(&w->text, "remat_policy: %s\n", word);
    else
        launch_leave_out(w, "recompute %s", halley_recompute_name(p->recompute));
    if (p->dtype == HALLEY_FP8)
        strbuf_add(&w->text, STR("quantization: fp8\n"));
    else
        strbuf_printf(&w->text, "dtype: %s\n",
                      p->dtype == HALLEY_FP32 ? "float32" : "bfloat16");
    strbuf_printf(&w->text, "grad_dtype: %s\n",
                  p->gradient_bytes == 4 ? "float32" : "bfloat16");
    if ((p->offload & HALLEY_OFFLOAD_OPTIMIZER) != 0)
        strbuf_add(&w->text, STR("optimizer_memory_host_offload: true\n"));
    if (p->fsdp == 0 && p->zero > 0)
        launch_leave_out(w, "zero %u (MaxText shards weights or nothing)", p->zero);
    leave_out_common(w);
}
