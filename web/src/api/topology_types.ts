/* Results of `topology show` and `topology list`, as far as the pages read them. */

export interface DrawnLayer {
  name: string;
  n: number;
  per_box: number;
  first_box: number;
  n_boxes: number;
}

export interface DrawnBox {
  name: string;
  /* "node", or the kind of the device */
  kind: string;
  layer: number;
  /* nodes or devices that the box represents */
  n: number;
  npus: number;
  rail?: number;
  x: number;
  y: number;
}

export interface DrawnLine {
  a: number;
  b: number;
  cables: number;
  /* of them on the chosen rail */
  on_rail?: number;
  gbps?: number;
  one_way?: boolean;
}

export interface DrawnPath {
  stops: { name: string; device: number; box: number }[];
  latency_s?: number;
  gbps?: number;
}

export interface Drawing {
  layout: "layers" | "grid" | "circle";
  rails: number;
  rail_kind?: "rail" | "plane";
  inside_cables: number;
  node_cables: number;
  layers: DrawnLayer[];
  boxes: DrawnBox[];
  lines: DrawnLine[];
  path?: DrawnPath;
  no_path?: string;
}

export interface Bill {
  total: number;
  per_npu: number;
}

export interface Network {
  topology: string;
  devices: { [kind: string]: number };
  dims: number[];
  links: number;
  one_way_links: number;
  endpoint_kind: string;
  endpoints: number;
  connected: boolean;
  components: number;
  diameter_hops: number | null;
  mean_hops: number;
  injection_gbps_min_max?: [number, number];
  half_cut_gbps?: number;
  half_cut_gbps_unknown_rates_unlimited?: number;
  bisection_gbps?: number;
  bisection_gbps_at_most?: number;
  min_bisection_gbps?: number;
  oversubscription: { [tier: string]: number };
  all_reduce_method?: string;
  all_to_all_method?: string;
  all_to_all_busiest_link?: string;
  times_unknown_because?: string;
  cost_usd: Bill | null;
  power_w: Bill | null;
  note?: string;
  collective_times?: { size_bytes: number; all_reduce_s?: number; all_to_all_s?: number }[];
  drawing?: Drawing;
  warnings?: string[];
}

/* With `counts`: sizes of a network that is not built. */
export interface NetworkCounts {
  npus: number;
  nics: number;
  switches: number;
  links: number;
  switch_links: number;
  network_cost_usd?: number;
}

export interface GeneratorKey {
  key: string;
  /* count, list, map, choice, yes or no, text, bandwidth, time */
  type: string;
  least?: number;
  most?: number;
  words?: string[];
  description: string;
}

export interface Generator {
  topology: string;
  description: string;
  example?: string;
  keys: GeneratorKey[];
}
