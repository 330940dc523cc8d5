/* Results of requests, as far as the pages read them; `halley help json` has every key. */

export interface ErrorBar {
  typical: number;
  bound: number;
  runs?: number;
  sources?: number;
  class?: string;
  measured?: boolean;
  unmeasured?: string;
}

export type Fit = "fits" | "tight" | "may-fit" | "may-need-offload" | "does-not-fit";

export type Numbers = { [key: string]: number };

export type PlanValue = number | string | boolean | (number | string)[];
export type Plan = { [key: string]: PlanValue };

export interface Stage {
  stage: number;
  memory_bytes: Numbers;
  device_bytes: number;
}

export interface Explanation {
  name: string;
  formula?: string;
  origin?: string;
  value?: number;
  unit?: string;
  children?: Explanation[];
}

export interface Change {
  change: string;
  key: string;
  value: string | number;
  step_s: number;
  device_bytes: number;
}

/* A value that was used but not stated. */
export interface Assumption {
  key: string;
  value: string;
  origin: string;
  recipe?: string;
  why?: string;
  text: string;
}

export interface ImportReport {
  kind?: string;
  read?: { [key: string]: string };
  assumed?: { [key: string]: string };
  ignored?: string[];
  unknown?: string[];
  notes?: string[];
}

export interface Estimate {
  model: string;
  cluster: string;
  stack?: string;
  npus: number;
  paid_npus?: number;
  plan: Plan;
  step_s: number;
  tokens_per_s: number;
  model_flops: number;
  mfu: number;
  hfu: number;
  parts_s: Numbers;
  memory_bytes: Numbers;
  device_bytes: number;
  offloaded_bytes?: number;
  /* of device_bytes, what a plan with spread keeps in outer memory */
  spilled_bytes?: number;
  capacity_bytes: number;
  headroom: number;
  fullest_stage: number;
  slowest_stage: number;
  fits: boolean;
  fit: Fit;
  verdict?: string;
  loss?: string;
  energy_J?: number;
  cost_usd?: number;
  capital_usd?: number;
  average_W?: number;
  nameplate_W?: number;
  parameters: number;
  active_parameters: number;
  tokens_per_s_per_npu: number;
  model_flops_per_s_per_npu: number;
  train_tokens?: number;
  goodput?: number;
  train_s?: number;
  train_steps_s?: number;
  train_npu_hours?: number;
  train_cost_usd?: number;
  train_energy_J?: number;
  error_bar?: ErrorBar;
  stages?: Stage[];
  explain?: Explanation;
  changes?: Change[];
  import?: ImportReport;
  assumed?: Assumption[];
  warnings?: string[];
}

export interface FoundPlan {
  rank: number;
  plan: Plan;
  step_s: number;
  tie?: boolean;
  mfu: number;
  device_bytes: number;
  capacity_bytes: number;
  fits: boolean;
  fit: Fit;
  reason?: string;
}

export interface PlanSearch {
  npus: number;
  designs: number;
  feasible: number;
  error_bar?: ErrorBar;
  headroom: number;
  plans: FoundPlan[];
  assumed?: Assumption[];
  warnings?: string[];
}

export interface Preset {
  kind: string;
  name: string;
  text?: string;
}
