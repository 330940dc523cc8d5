"""Results of the package are those of the program with --json, bit for bit."""

import json
import os
import random

import pytest

import halley as hl

MODELS = ["llama3-8b", "llama3-70b", "gpt3-175b", "mixtral-8x7b", "qwen3-30b-a3b", "bert-large"]
CLUSTERS = ["dgx-h100", "dgx-a100", "dgx-b200", "gb200-nvl72", "tpu-v5p", "mi300x"]
CASES = int(os.environ.get("HALLEY_REQUESTS", "40"))


def draw_request(rng):
    """A random request: the verb's words for the program, and keys for the package."""
    n = rng.choice([8, 16, 32, 64, 72])
    keys = {"tp": rng.choice([1, 2, 4, 8, 3]), "pp": rng.choice([1, 2, 4]),
            "global_batch": rng.choice([8, 32, 128]), "micro_batch": rng.choice([1, 2]),
            "recompute": rng.choice(["none", "selective", "full"]),
            "zero": rng.choice([0, 1, 2]), "tokens": rng.choice([1e9, 1e12])}
    if rng.random() < 0.2:
        keys["dtype"] = rng.choice(["fp8", "fp16", "bf16"])
    if rng.random() < 0.3:
        keys["explain"] = True
    for key in rng.sample(sorted(keys), rng.randrange(len(keys))):
        del keys[key]
    return rng.choice(MODELS), f"{rng.choice(CLUSTERS)}:{n}", keys


def words_of(model, cluster, keys):
    words = ["estimate", "-m", model, "-c", cluster, "--json"]
    for key, value in keys.items():
        words.append("--" + key.replace("_", "-"))
        if value is not True:
            words.append(str(int(value)) if isinstance(value, float) else str(value))
    return words


def test_random_requests_equal_the_program(program):
    import subprocess
    rng = random.Random(7)
    good = 0
    for _ in range(CASES):
        model, cluster, keys = draw_request(rng)
        try:
            printed = program(*words_of(model, cluster, keys))
        except subprocess.CalledProcessError as refused:
            with pytest.raises(hl.Error) as caught:
                hl.estimate(model, cluster, **keys)
            assert caught.value.message in refused.stderr
            continue
        good += 1
        assert hl.estimate(model, cluster, **keys).to_dict() == json.loads(printed)
    assert good >= CASES // 3


def test_sim_equals_the_program(program, step):
    printed = json.loads(program("sim", step, "-c", "dgx-h100:8", "--json"))
    assert hl.sim(hl.Trace(step), hl.Cluster("dgx-h100:8")).to_dict() == printed


def test_plan_rows_feed_back(program):
    plans = hl.plan("llama3-8b", "dgx-h100:16", global_batch=32, top=3)
    assert len(plans.df) == 3
    for i in range(3):
        assert plans.take(i).step_s == plans.plans[i].step_s
    assert plans.best.step_s == plans.plans[0].step_s


def test_documents_may_be_given_as_objects():
    named = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16)
    text = hl.presets("llama3-8b").presets[0].text
    assert hl.estimate(text, "dgx-h100:8", plan={"tp": 2, "global_batch": 16}).step_s == named.step_s


def test_explore_from_a_dict(tmp_path):
    study = {"name": "small", "model": "llama3-8b", "cluster": "dgx-h100:8",
             "plan": {"global-batch": 16}, "vary": {"plan.tp": [1, 2, 4, 8]},
             "objective": {"minimize": "step-time"}}
    found = hl.explore(study)
    assert found.evaluated == 4
    assert found.best.results.step_s == min(row["step_s"] for row in found.df.to_dict("records"))
    page = tmp_path / "page.html"
    found.report(str(page))
    assert "<html" in page.read_text()[:2000]


def test_topology_of_a_file(root, tmp_path):
    graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": [
        {"id": "npu0", "kind": "npu"}, {"id": "npu1", "kind": "npu"}, {"id": "s", "kind": "switch"}],
        "links": [{"source": "npu0", "target": "s", "bandwidth_gbps": 400, "latency_ns": 500},
                  {"source": "npu1", "target": "s", "bandwidth_gbps": 400, "latency_ns": 500}]}
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph))
    assert hl.topology.show(str(path)).endpoints == 2
    drawn = hl.Cluster.from_file(path).graph()
    assert sorted(drawn.nodes) == sorted(n["id"] for n in graph["nodes"])
    again = hl.Cluster.from_networkx(drawn)
    assert again.show().endpoints == 2
