"""Random requests of every verb that is deterministic, and the command lines for them.

A request is a verb and its keys. The schema of the library says which keys a command takes as
arguments; the others are options of the same name with - for _. Some values are wrong on purpose.
"""

import json
import shutil
import subprocess

import halley as hl

SCHEMA = hl.request("schema")["$defs"]["requests"]

FILES = {
    "torus.yaml": "topology: torus\ndims: [4, 4]\nlink: 400 Gb/s\nlatency: 1 us\n",
    "tree.yaml": "topology: fat-tree\nn: 256\nlink: 400 Gb/s\nlatency: 500 ns\ntiers:\n"
                 "  - {name: leaf, npus: 16}\n  - {name: spine, npus: 64, oversubscription: 2}\n"
                 "  - {name: core}\n",
    "wrong.yaml": "topology: torus\ndims: [4, 4]\nlinks: 400 Gb/s\n",
    "flows.json": json.dumps({"cases": [{"id": "two", "links": [[0, 1, 1e9, 1e-6]], "flows": [
        {"start": 0, "bytes": 1000000, "route": [0], "latency": 1e-6},
        {"start": 0, "bytes": 500000, "route": [0], "latency": 1e-6}]}]}),
    "study.yaml": "name: s\nmodel: gpt-3.6b\ncluster: dgx-h100:16\nplan: {global-batch: 64}\n"
                  "vary: {plan.tp: [1, 2, 4, 8], cluster.network.bandwidth: [25 GB/s, 50 GB/s]}\n"
                  "objective: [{minimize: step-time}, {minimize: cost-per-token}]\n",
    "empty.yaml": "name: s\nmodel: llama3-405b\ncluster: dgx-h100:8\nplan: {global-batch: 64}\n"
                  "vary: {plan.tp: [1, 2]}\nobjective: {minimize: step-time}\n",
    "run.sh": "torchrun --nproc_per_node 8 t.py --num-layers 32 --hidden-size 4096 "
              "--num-attention-heads 32 --seq-length 4096 --vocab-size 32000 "
              "--tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 "
              "--global-batch-size 64 --bf16 --frob 1\n",
}
MADE = [["trace", "gen", "transformer", "-n", "8", "--tp", "2", "--pp", "2", "--layers", "4",
         "-o", "t"],
        ["trace", "gen", "all-reduce", "-n", "8", "--size", "1 MiB", "--repeat", "3", "-o", "ar"],
        ["trace", "gen", "-m", "gpt-3.6b", "-c", "dgx-h100:8", "--tp", "2", "--pp", "2",
         "--global-batch", "16", "--template", "-o", "roles"],
        ["trace", "link", "model.json.gz", "-o", "linked.et"],
        ["explore", "study.yaml", "--store", "s.db"]]


def make_folder(folder, root, halley):
    """What the requests name."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    shutil.copy(root / "tests/data/recordings/model.json.gz", folder)
    for words in MADE:
        subprocess.run([halley, *words], cwd=folder, check=True, capture_output=True)
    (folder / "cut.et").write_bytes((folder / "t.0.et").read_bytes()[:21])


class Draw:
    """One request after the other."""

    def __init__(self, rng):
        self.rng = rng

    def one(self, values):
        """One of the values; seldom one of those after None, which are wrong."""
        at = values.index(None) if None in values else len(values)
        wrong = values[at + 1:]
        return self.rng.choice(wrong if wrong and self.rng.random() < 0.05 else values[:at])

    def some(self, share, **choices):
        """Each key with this chance, one of its values."""
        return {key: self.one(values) for key, values in choices.items()
                if self.rng.random() < share}

    def plan_keys(self):
        return self.some(
            0.3, tp=[1, 2, 4, 8, None, 3, 0, "two"], pp=[1, 1, 2], global_batch=[32, 64, 128],
            micro_batch=[1, 2, None, -1], zero=[0, 1, 2, None, 4], seq=[2048, 4096, None, "4 k"],
            recompute=["none", "selective", "full", None, "ful"], no_overlap=[True],
            attention=["flash", "unfused"], gradient_bytes=[2, 4]) | self.some(
                0.07, cp=[1, 2], ep=[1, 2, 8], virtual=[1, 2, None, 3], fsdp=["all", 8],
                dtype=["bf16", "fp8", "fp16", "mxfp8", None, "int3"], sequence_parallel=[True],
                schedule=["1f1b", "gpipe", "zb-h1", "dualpipe", None, "2f2b"])

    def place(self):
        return {"model": self.one(["gpt-3.6b", "llama3-8b", "llama3-70b", "mixtral-8x7b",
                                          "bert-large", "run.sh", None, "dlrm-1.2t", "nothing"]),
                "cluster": self.one(["dgx-h100:8", "dgx-a100:64", "dgx-b200:16", "gh200:16",
                                            "gb200-nvl72:72", "tpu-v5p-pod:64", "mi300x:8", None,
                                      "dgx-h100", "a:b"])}

    def estimate(self):
        options = self.some(
            0.15, explain=[True], tokens=[1e9, 1e12, "2 T", None, "many"], strict=[True],
            headroom=[0.04, 0.1, None, 2], plan=["tp: 2", "{pp: 2, tp: 2}", None, "tpp: 2"],
            stack=["megatron-2022", "torchtitan-2024", None, "no-stack"])
        return {**self.place(), **self.plan_keys(), **options}

    def plan(self):
        """Some keys are given, so that the search is short."""
        keys = self.some(0.4, top=[1, 3, None, 0, "x"], global_batch=[16, 64], all=[True],
                         stack=["megatron-2022"], tokens=[1e11])
        keys.update(recompute="none", zero=1, pp=1, **self.some(0.9, tp=[1, 2, 8, None, 3]))
        return {"model": self.one(["gpt-3.6b", "llama3-8b", "run.sh"]),
                "cluster": self.one(["dgx-h100:8", "gh200:8", None, "dgx-h100:12"]), **keys}

    def explore(self):
        """Not dry_run, which says how long it took."""
        study = self.one(["study.yaml", None, "empty.yaml", "wrong.yaml", "no.yaml"])
        return {"study": study, **self.some(0.4, top=[1, 2, 5], jobs=[1, 2])}

    def results(self):
        return {"store": self.one(["s.db", None, "no.db", "t.0.et"]),
                **self.some(0.4, top=[1, 2], all=[True],
                            sql=["SELECT id, 2 * step_s AS x, 'text' AS y FROM design", None,
                                 "SELECT frob FROM design", "DROP TABLE design"])}

    def trace_name(self):
        return self.one(["t", "ar", "roles", "t.0.et", "ar.1.et", None, "cut.et", "nowhere"])

    def sim(self):
        options = self.some(0.3, explain=[True], per_rank=[True], compute_scale=[0.5, 2],
                            network_model=["flow", "free", "queue", None, "x"],
                            comm_scale=[2, None, -1])
        cluster = self.one(["dgx-h100:8", "dgx-a100:8", "gh200:8", "dgx-h100:16", None, "a:b"])
        if self.rng.random() < 0.5:
            return {"trace": self.trace_name(), "cluster": cluster, **options}
        return {"model": self.one(["gpt-3.6b", "llama3-8b"]), "cluster": cluster,
                **self.plan_keys(), **options}

    def topology(self):
        verb = self.one(["show", "check", "compare", "convert", "flows", "list"])
        name = self.one(["torus.yaml", "tree.yaml", "dgx-h100:16", None, "wrong.yaml", "no.yaml"])
        if verb == "flows":
            return "topology.flows", {"flows": self.one(["flows.json", None, "torus.yaml"])}
        if verb == "list":
            return "topology.list", {}
        if verb == "convert":
            return "topology.convert", {"topology": name, "output": "converted",
                                        **self.some(0.8, to=["ns3", "node-link", "dot", None, "x"])}
        keys = self.some(0.4, no_times=[True], no_cuts=[True])
        if verb == "compare":
            return "topology.compare", {"topologies": [name, "torus.yaml"], **keys}
        if verb == "show":
            keys.update(self.some(0.3, counts=[True], path=["0,5", None, "0,5000"],
                                  size=[["1 MiB"], ["1 MiB", "64 MiB"], None, ["1 h"]]))
        return f"topology.{verb}", {"topology": name, **keys}

    def trace(self):
        verb = self.one(["info", "check", "kernels", "diff", "slice", "convert", "merge",
                                "gen", "timeline", "scale", "compare", "view"])
        draw = getattr(self, f"trace_{verb}", None)
        if draw is not None:
            return draw()
        return f"trace.{verb}", {"trace": self.trace_name(), **self.some(
            0.4, all=[True], **({"attrs": [True], "path": [True]} if verb == "info" else {}))}

    def trace_timeline(self):
        return "trace.timeline", {"trace": self.one(["linked.et", None, "t"]), "out": "times.json",
                                  **self.some(0.5, form=["chrome", "columns", None, "frob"])}

    def trace_view(self):
        return "trace.view", {"trace": self.one(["t.0.et", "ar.1.et", None, "t", "nowhere"]),
                              "out": self.one(["t.svg", "t.dot", "t.html", None, "t.frob"]),
                              **self.some(0.3, depth=[1, 2], collapse=[True], limit=[5, 100])}

    def trace_scale(self):
        return "trace.scale", {"trace": self.one(["t", "ar", None, "nowhere"]), "out": "scaled",
                               **self.some(0.6, compute=[0.5, 2], bytes=[2, None, -1],
                                           layers=["4:8", None, "x"], force=[True])}

    def trace_kernels(self):
        return "trace.info", {"trace": self.one(["model.json.gz", None, "t", "no.json"]),
                              "kernels": True, **self.some(0.5, all=[True])}

    def trace_diff(self):
        return "trace.diff", {"a": self.trace_name(), "b": self.trace_name(),
                              **self.some(0.4, all=[True], by_id=[True],
                                          ignore=[["name"], None, ["frob"]])}

    def trace_slice(self):
        return "trace.slice", {"trace": self.trace_name(), "out": "part",
                               **self.some(0.4, ranks=["0-3", "1", None, "9", "x"], cut=[True],
                                           type=[["comp"], ["coll", "send"], None, ["FROB"]], keep_unmatched=[True])}

    def trace_convert(self):
        return "trace.convert", {"trace": self.trace_name(), "out": "other",
                                 **self.some(0.5, to=["et", "json", "jsonl", "et.gz", None, "x"],
                                             lossy=[True])}

    def trace_merge(self):
        names = [self.one(["t.0.et", "ar.1.et", "t.3.et", None, "t", "cut.et"]) for _ in range(2)]
        return "trace.merge", {"trace": names, "out": "merged", **self.some(
            0.5, **self.rng.choice([{"chain": [True]}, {"renumber": [True]}]))}

    def trace_gen(self):
        return "trace.gen", {"pattern": self.one(["all-reduce", "transformer", "random",
                                                   None, "frob"]),
                             "npus": self.one([2, 4, 8, None, 0]), "out": "made",
                             **self.some(0.4, seed=[1, 2], layers=[2, None, "x"], size=["1 MiB"])}

    def trace_compare(self):
        return "trace.compare", {"real": self.one(["t", "ar", None, "nowhere"]),
                                 "synth": self.one(["t", "ar"])}

    def score(self):
        return {"runs": self.one([["bloom"], ["mlperf-405b"], ["internevo"], None, ["frob"]]),
                **self.some(0.4, rows=[True], by_device=[True], worst=[True])}

    def presets(self):
        return self.some(0.9, name=["dgx-h100", "llama3-70b", "run.sh", None, "torus.yaml", "nothing"],
                         values=[True])

    def draw(self):
        """The verb and the keys of a request."""
        kind = self.rng.choices(["estimate", "plan", "explore", "results", "sim", "topology",
                                 "trace", "score", "presets"], [8, 1, 1, 1, 3, 3, 5, 1, 1])[0]
        drawn = getattr(self, kind)()
        return drawn if isinstance(drawn, tuple) else (kind, drawn)


def text_of(value):
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def words_of(verb, keys):
    """The command line of a request."""
    words, arguments = verb.split("."), SCHEMA[verb].get("x-arguments") or []
    for key, value in keys.items():
        values = value if isinstance(value, list) else [value]
        if key not in arguments:
            for one in values:
                words.append("--" + key.replace("_", "-"))
                words += [] if one is True else [text_of(one)]
    words.append("--json")
    for key in arguments:
        value = keys.get(key, [])
        words += value if isinstance(value, list) else [value]
    return words


def ask_package(verb, keys):
    """The same of the package, by the function of the verb where it has one."""
    functions = {"estimate": hl.estimate, "plan": hl.plan, "explore": hl.explore, "sim": hl.sim,
                 "results": hl.results}
    if verb == "score":
        keys = dict(keys)
        return hl.score(keys.pop("runs"), **keys).to_dict()
    if verb in ("topology.show", "topology.check", "topology.convert"):
        return getattr(hl.topology, verb.split(".")[1])(**keys).to_dict()
    if verb in functions:
        return functions[verb](**keys).to_dict()
    return hl.request(verb, **keys)
