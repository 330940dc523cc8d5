"""Many estimates at once are the estimates one by one, whatever the designs share."""

import math
import os
import pickle
import random

import pytest

import halley as hl

CASES = int(os.environ.get("HALLEY_DESIGNS", "250"))

# Values of every kind that prices of layers depend on, and of every kind that they do not.
CHOICES = {
    "tp": [1, 2, 4, 8], "pp": [1, 2, 4, 8], "virtual": [1, 2], "cp": [1, 2], "ep": [1, 2, 4],
    "etp": [1, 2], "micro_batch": [1, 2], "zero": [0, 1, 2, 3], "fsdp": ["0", "all", "8"],
    "gather": ["step", "micro-batch"], "zero_group": [0, 4], "gradient_bytes": [2, 4],
    "schedule": ["1f1b", "gpipe", "zb-h1", "zbv", "dualpipe"], "dtype": ["bf16", "fp8", "mxfp8"],
    "fp8_recipe": ["tensor", "block"], "recompute": ["none", "selective", "full"],
    "recompute_every": [1, 2], "recompute_layers": [0, 3], "sequence_parallel": [True, False],
    "rank_order": ["tp-cp-dp-pp", "tp-cp-pp-dp"], "attention": ["flash", "unfused"],
    "kernels": ["fused", "eager"], "bf16_layers": [0, 2], "lora": [0, 16],
    "dispatcher": ["all-to-all", "deepep"], "overlap_ep": [False, True], "graphs": ["none", "full"],
    "offload": ["none", "optimizer"], "gradient_memory": [2, 4], "optimizer_memory": [8, 12],
    "expose": ["none", "dp"], "seq": [2048, 4096], "embeddings_as_layers": [False, True],
}
PLACES = [("llama3-70b", "dgx-h100:64", 64), ("mixtral-8x7b", "dgx-b200:64", 128),
          ("deepseek-v3", "dgx-h100:256", 512), ("llama3-8b", "gh200:16", 32)]
METRICS = ("step_s", "tokens_per_s", "mfu", "device_bytes", "offloaded_bytes", "energy_J")


def draw_designs(rng, n):
    """Random columns; half of the designs repeat another one but for a key or two."""
    names = sorted(rng.sample(sorted(CHOICES), 9))
    designs = []
    for _ in range(n):
        one = {name: rng.choice(CHOICES[name]) for name in names}
        if designs and rng.random() < 0.5:
            one = {**rng.choice(designs), **{k: one[k] for k in rng.sample(names, 2)}}
        designs.append(one)
    return designs


def compare_with_single(designs, found, model, cluster, keys):
    estimated = 0
    for i, design in enumerate(designs):
        if found["refused"][i] is not None:
            assert math.isnan(found["step_s"][i])
            with pytest.raises(hl.Error):
                hl.estimate(model, cluster, **keys, **design)
            continue
        one = hl.estimate(model, cluster, **keys, **design).to_dict()
        estimated += 1
        for name in METRICS:
            if name in one:  # equal, not almost: it is the same computation
                assert found[name][i] == one[name], (design, name)
        assert (found["fits"][i] == 1) == one["fits"]
    return estimated


def test_estimates_of_a_batch_are_single_estimates():
    rng = random.Random(3)
    estimated, n = 0, 25
    for round_ in range(max(1, CASES // n)):
        model, cluster, batch = PLACES[round_ % len(PLACES)]
        designs = draw_designs(rng, n)
        keys = {"global_batch": batch}
        found = hl.Batch(model, cluster, **keys).run(designs, METRICS + ("fits",))
        estimated += compare_with_single(designs, found, model, cluster, keys)
    assert estimated >= CASES // 10


def test_the_order_of_designs_and_columns_does_not_matter():
    rng = random.Random(4)
    designs = draw_designs(rng, 60)
    batch = hl.Batch("llama3-70b", "dgx-h100:64", global_batch=64)
    there = batch.run(designs)
    back = batch.run([dict(reversed(list(d.items()))) for d in reversed(designs)])
    assert list(map(str, there["step_s"])) == list(map(str, reversed(back["step_s"])))
    assert there["refused"] == list(reversed(back["refused"]))


@pytest.mark.parametrize("designs, text", [
    ({"tpp": [1]}, "no key \"tpp\""),
    ({"tp": ["two"]}, "two"),
    ({"tp": [1, 2], "pp": [1]}, "pp has 1 values"),
    ({"tp": [1.5]}, "1.5"),
    ({"tp": [float("nan")]}, "not a number"),
    ({"micro_batch": [1], "micro-batch": [2]}, "given twice"),
    ([{"tp": 1}, {"pp": 1}], "has no"),
])
def test_wrong_columns_are_named(designs, text):
    with pytest.raises(hl.Error) as caught:
        hl.estimate_many(designs, "llama3-8b", "dgx-h100:8", global_batch=16)
    assert text in str(caught.value)


def test_an_unknown_metric_is_named():
    with pytest.raises(hl.Error, match="did you mean \"step_s\""):
        hl.estimate_many({"tp": [1]}, "llama3-8b", "dgx-h100:8", metrics=("steps_s",))


def test_a_batch_may_be_pickled():
    batch = hl.Batch("llama3-8b", "dgx-h100:8", global_batch=16)
    again = pickle.loads(pickle.dumps(batch))
    assert list(again.run({"tp": [1, 2]})["step_s"]) == list(batch.run({"tp": [1, 2]})["step_s"])
