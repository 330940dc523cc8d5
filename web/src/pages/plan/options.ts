/* The keys of a plan beyond the sliders, as fields. tests check the list against the schema. */

export interface PlanOption {
  key: string;
  label: string;
  /* choices make a list, "flag" a tick, else a text */
  kind: "text" | "flag" | readonly string[];
}

function option(key: string, label: string, kind: PlanOption["kind"] = "text"): PlanOption {
  return { key, label, kind };
}

/* Always shown when the details are open. */
export const MAIN_OPTIONS: readonly PlanOption[] = [
  option("global_batch", "Global batch, sequences"),
  option("seq", "Sequence, tokens"),
  option("dtype", "Type of the matmuls", ["bf16", "fp16", "fp32", "tf32", "fp8", "fp4", "int8"]),
  option("schedule", "Pipeline schedule", ["1f1b", "gpipe", "breadth-first", "zb-h1", "zb-h2", "zbv", "dualpipe"]),
  option("sequence_parallel", "Sequence parallel", "flag"),
];

export const OTHER_OPTIONS: readonly PlanOption[] = [
  option("dp", "Data parallel (default: what remains)"),
  option("etp", "Ranks that share each expert"),
  option("attention", "Attention kernel", ["flash", "unfused", "old"]),
  option("kernels", "Norms and activations", ["fused", "eager"]),
  option("graphs", "Captured in graphs", ["none", "router", "layer", "full"]),
  option("dispatcher", "Dispatch of tokens to experts", ["all-to-all", "deepep", "hybridep"]),
  option("capacity", "Capacity factor of experts (0: dropless)"),
  option("expert_skew", "Load of the fullest expert beyond the mean"),
  option("overlap_ep", "Expert messages overlap compute", "flag"),
  option("fp8_recipe", "fp8 scaling", ["tensor", "row", "block", "mx", "nv"]),
  option("fp8_attention", "Attention in fp8", "flag"),
  option("fp8_dispatch", "Routed tokens in fp8", "flag"),
  option("fp8_params", "Weights held in fp8 alone", "flag"),
  option("bf16_layers", "Layers that stay in bf16"),
  option("gradient_bytes", "Bytes of a gradient on the wire", ["2", "4"]),
  option("gradient_memory", "Bytes held per gradient"),
  option("optimizer", "Optimizer", ["adam", "sgd", "adagrad"]),
  option("table_optimizer", "Optimizer of embedding tables", ["row-wise-adagrad", "adagrad", "sgd", "adam"]),
  option("optimizer_memory", "Bytes held per parameter by the optimizer"),
  option("zero_group", "Ranks that share the optimizer (0: all)"),
  option("zero_owner", "ZeRO 1 in whole tensors", "flag"),
  option("gather", "FSDP: weights are gathered per", ["default", "step", "micro-batch"]),
  option("keep_gathered", "FSDP: keep gathered weights", "flag"),
  option("recompute_every", "Full recomputation: keep one input in K layers"),
  option("recompute_layers", "Recompute only the first N layers of a stage"),
  option("recompute_modules", "Recomputed modules, separated by commas"),
  option("recompute_keep", "Kept tensors, separated by commas"),
  option("recompute_offload", "Offloaded tensors, separated by commas"),
  option("offload", "Offloaded classes, separated by commas"),
  option("offload_tier", "Memory tier for offloading"),
  option("offload_layers", "Layers with offloaded activations (0: all)"),
  option("spread", "Spill what does not fit to outer memory", "flag"),
  option("stage_layers", "Layers of each stage, separated by commas"),
  option("embeddings_as_layers", "Embedding and head count as layers", "flag"),
  option("rank_order", "Order of ranks, innermost first"),
  option("expose", "Communication that never hides, separated by commas"),
  option("no_overlap", "Communication never overlaps compute", "flag"),
  option("lora", "LoRA rank (0: train everything)"),
];
