/* Kinds of boxes and classes of kernels: words, colour, and the tone of text on them. Blue computes,
 * orange and magenta communicate, grey waits or copies, teal is the optimizer. */

export interface Kind {
  name: string;
  colour: string;
  /* text on the mark: dark marks take light text in light mode */
  tone: "dark" | "light";
}

function kind(name: string, colour: string, tone: "dark" | "light"): Kind {
  return { name, colour, tone };
}

const KINDS: { [key: string]: Kind } = {
  forward: kind("forward", "--t-matmul", "dark"),
  backward: kind("backward", "--t-memory", "light"),
  weights: kind("weight gradients", "--t-recompute", "light"),
  compute: kind("compute", "--t-attention", "dark"),
  host: kind("host", "--t-other", "light"),
  memory: kind("outer memory", "--t-optimizer", "dark"),
  send: kind("send", "--t-pp", "dark"),
  receive: kind("receive", "--t-pp", "dark"),
  message: kind("messages", "--t-pp", "dark"),
  all_reduce: kind("all-reduce", "--t-dp", "light"),
  all_gather: kind("all-gather", "--t-tp", "dark"),
  reduce_scatter: kind("reduce-scatter", "--t-cp", "light"),
  all_to_all: kind("all-to-all", "--t-ep", "light"),
  broadcast: kind("broadcast", "--t-ep", "light"),
  send_recv: kind("send and receive", "--t-pp", "dark"),
  matmul: kind("matmuls", "--t-matmul", "dark"),
  conv: kind("convolutions", "--t-attention", "dark"),
  attention: kind("attention", "--t-attention", "dark"),
  elementwise: kind("elementwise", "--t-memory", "light"),
  norm: kind("norms", "--t-recompute", "light"),
  softmax: kind("softmax", "--t-recompute", "light"),
  reduction: kind("reductions", "--t-recompute", "light"),
  embedding: kind("embedding lookups", "--t-attention", "dark"),
  optimizer: kind("optimizer", "--t-optimizer", "dark"),
  copy_h2d: kind("host-to-device copies", "--t-host", "dark"),
  copy_d2h: kind("device-to-host copies", "--t-host", "dark"),
  copy_d2d: kind("copies on the device", "--t-host", "dark"),
  copy: kind("copies", "--t-host", "dark"),
  memset: kind("memory sets", "--t-host", "dark"),
  other: kind("other", "--t-other", "light"),
};

/* The kind of a word of the engine: "ALL_REDUCE", "comm.all_reduce", "matmul". */
export function findKind(word: string): Kind {
  const key = word.toLowerCase().replace(/^comm\./, "").replaceAll("-", "_");
  const known = KINDS[key];
  if (known !== undefined) return known;
  if (word.startsWith("comm.")) return kind(key.replaceAll("_", " "), "--t-cp", "light");
  if (key.startsWith("copy")) return kind(key.replaceAll("_", " "), "--t-host", "dark");
  return kind(word.replaceAll("_", " "), "--t-recompute", "light");
}
