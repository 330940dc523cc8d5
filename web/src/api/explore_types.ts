/* Results of explore and results, as far as the pages read them. */

import type { Assumption, ErrorBar, Plan } from "./types.js";

export type Varied = { [parameter: string]: string | number | boolean };

export interface Design {
  id: number;
  model: string;
  cluster: string;
  varied: Varied;
  plan: Plan;
  objective_values: number[];
  results: { [key: string]: number | string | string[] | { [key: string]: number } };
  fits: boolean;
  capacity_bytes: number;
  /* the part of device_bytes in outer memory */
  spilled_bytes?: number;
  error_bar?: ErrorBar;
  limit?: string;
}

export interface Axis {
  parameter: string;
  values: (string | number | boolean)[];
  best_values: (number | null)[];
}

export interface HeatMap {
  row_parameter: string;
  column_parameter: string;
  best_values: (number | null)[][];
}

export interface Sensitivity {
  parameter: string;
  elasticity?: number;
  low: number;
  high: number;
  space_low: number;
  space_high: number;
}

export interface Objective {
  minimize?: string;
  maximize?: string;
}

export interface RefusedValue {
  parameter: string;
  label: string | number;
  reason: string;
  over_bytes?: number;
}

export interface Slice {
  parameter: string;
  best: Design[];
  roofline?: { peak_flops: number; bandwidth_Bps: number; operators: { name: string; flops: number; bytes: number; forward_s: number }[] }[];
}

export interface Exploration {
  study: string;
  description?: string;
  designs: number;
  evaluated: number;
  feasible: number;
  headroom: number;
  train_tokens: number;
  objectives: Objective[];
  best: Design[];
  front: Design[];
  baseline?: Design;
  axes: Axis[];
  heat_maps: HeatMap[];
  slices: Slice[];
  sensitivities: Sensitivity[];
  break_even: { question: string; answer: string }[];
  verified: { id: number; estimated_s: number; simulated_s?: number; note?: string }[];
  refusals: { reason: string; designs: number }[];
  refused_values?: RefusedValue[];
  prices?: { name: string; words: string }[];
  assumed?: Assumption[];
  warnings?: string[];
}

export interface DryRun {
  study: string;
  designs: number;
  to_evaluate: number;
  feasible: number;
  designs_per_s: number;
  time_s: number;
}

export interface StudyParameter {
  parameter: string;
  unit: string;
  meaning: string;
}
