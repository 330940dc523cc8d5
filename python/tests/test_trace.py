"""Traces: columns without a copy, attributes, the builder."""

import gc

import numpy
import pytest

import halley as hl


def test_columns_are_those_of_the_trace(step, program):
    import json
    t = hl.Trace(step)
    assert len(t) == 8 and len(list(t)) == 8
    rows = t.rank(3).nodes
    info = json.loads(program("trace", "info", step, "--json"))
    assert sum(len(r.nodes) for r in t) == info["nodes"]
    assert int(rows.duration_us.sum()) * 8 * 1e-6 == pytest.approx(info["device_s"])


def test_columns_are_not_copied_and_read_only():
    b = hl.TraceBuilder()
    for i in range(1000):
        b.compute(f"n{i}", duration_us=i + 1)
    nodes = b.finish().nodes
    a, again = nodes.duration_us, nodes._padded(nodes._columns.durations_us)
    assert a.__array_interface__["data"][0] == again.__array_interface__["data"][0]
    with pytest.raises(ValueError):
        a[0] = 1


def test_arrays_outlive_the_trace():
    b = hl.TraceBuilder()
    for i in range(100000):
        b.compute("n", duration_us=i + 1)
    t = b.finish()
    durations = t.nodes.duration_us[10:]
    del t, b
    gc.collect()
    junk = [bytearray(1 << 20) for _ in range(20)]
    assert int(durations.sum()) == sum(range(11, 100001)) and junk


def test_attributes_and_dependencies():
    b = hl.TraceBuilder()
    first = b.node("COMP_NODE", "a", duration_us=3, text="x", whole=-5, share=0.25, yes=True)
    b.node("COMP_NODE", "b", after=[first], control=[first])
    nodes = b.finish().nodes
    assert nodes.attributes(0) == {"text": "x", "whole": -5, "share": 0.25, "yes": True}
    assert nodes.attribute("whole") == [-5, None]
    assert nodes.dependencies(1) == [0] and nodes.dependencies(1, control=True) == [0]
    assert nodes.names == ["a", "b"]


def test_a_built_set_is_simulated():
    ranks = []
    for _ in range(2):
        b = hl.TraceBuilder()
        b.collective("sum", "ALL_REDUCE", 1 << 24, after=[b.compute("work", duration_us=100)])
        ranks.append(b.encode())
    t = hl.Trace.from_ranks(ranks)
    assert t.check().n_errors == 0
    assert hl.sim(t, "dgx-h100:2").time_s > 1e-4


def test_graphs_for_networkx(step):
    graph = hl.Trace(step).to_networkx()
    assert graph.number_of_nodes() == len(hl.Trace(step).nodes)


def test_wrong_use():
    b = hl.TraceBuilder()
    with pytest.raises(hl.Error, match="ALL_REDUCE"):
        b.collective("c", "SUM", 1)
    b.encode()
    with pytest.raises(hl.Error, match="finished"):
        b.compute("late")
    with pytest.raises(hl.Error):
        hl.Trace("no-such-file")
    with pytest.raises(IndexError):
        hl.TraceBuilder().finish().rank(1)


def test_batch_equals_single_estimates():
    designs = {"tp": [1, 2, 4, 8, 3, 2], "pp": [1, 2, 1, 1, 1, 2],
               "recompute": ["none", "full", "none", "selective", "none", "full"]}
    df = hl.estimate_many(designs, "llama3-8b", "dgx-h100:8", global_batch=16)
    for i, row in df.iterrows():
        if row["refused"] is not None:
            with pytest.raises(hl.Infeasible, match=row["refused"]):
                hl.estimate("llama3-8b", "dgx-h100:8", global_batch=16, tp=int(row["tp"]))
            continue
        e = hl.estimate("llama3-8b", "dgx-h100:8", global_batch=16, tp=int(row["tp"]),
                        pp=int(row["pp"]), recompute=row["recompute"])
        assert (row["step_s"], row["mfu"], row["fits"]) == (e.step_s, e.mfu, e.fits)
    assert df["refused"].notna().sum() == 1


def test_batch_refuses_wrong_columns():
    with pytest.raises(hl.Error, match="no key"):
        hl.estimate_many({"tpp": [1]}, "llama3-8b", "dgx-h100:8")
    with pytest.raises(hl.Error, match="did you mean"):
        hl.estimate_many({"tp": [1]}, "llama3-8b", "dgx-h100:8", metrics=["step"])
    with pytest.raises(hl.Error, match="not a number"):
        hl.estimate_many({"tp": numpy.array([1, numpy.nan])}, "llama3-8b", "dgx-h100:8")
    with pytest.raises(hl.Error, match="others"):
        hl.estimate_many({"tp": [1], "pp": [1, 2]}, "llama3-8b", "dgx-h100:8")
