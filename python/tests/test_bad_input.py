"""Wrong input of every kind is an error with a sentence; nothing crashes, hangs or lies."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import halley as hl

CLUSTER = {"name": "own", "npus": 8, "npu": "h100-sxm-80gb",
           "nodes": {"npus": 8, "up": "nvlink4-h100"}, "network": {"fabric": "ib-ndr"}}


def with_bandwidth(text):
    return {**CLUSTER, "network": {**CLUSTER["network"], "bandwidth": text}}


def built():
    b = hl.TraceBuilder()
    b.compute("a", duration_us=5)
    return b.finish()


@pytest.mark.parametrize("call, text", [
    # types
    (lambda: hl.estimate(5, "dgx-h100:8"), "no model \"5\""),
    (lambda: hl.estimate(None, "dgx-h100:8"), "must be given"),
    (lambda: hl.estimate(b"llama3-8b", "dgx-h100:8"), "type bytes"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", tp=[1, 2]), "single value"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", tp=True), "whole number"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", tp=2.5), "whole number"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", tp=10 ** 30), "whole number"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", sequence_parallel="maybe"), "true or false"),
    (lambda: hl.estimate("llama3-8b\0", "dgx-h100:8"), "u0000"),
    (lambda: hl.explore(7), "7"),
    (lambda: hl.sim(), "needs a trace"),
    (lambda: hl.sim(7, "dgx-h100:8"), "no such trace"),
    (lambda: hl.Trace(7), "not 7"),
    (lambda: hl.Trace(None), "not None"),
    (lambda: hl.Cluster(None), "not None"),
    (lambda: hl.Cluster.from_networkx(3), "networkx"),
    (lambda: hl.request(None), "names its verb"),
    (lambda: hl.estimate_many(5, "llama3-8b", "dgx-h100:8"), "DataFrame"),
    (lambda: hl.estimate_many({"tp": 5}, "llama3-8b", "dgx-h100:8"), "column"),
    (lambda: hl.estimate_many({"tp": [[1, 2], [3]]}, "llama3-8b", "dgx-h100:8"), "one value"),
    (lambda: hl.estimate_many({"tp": [None]}, "llama3-8b", "dgx-h100:8"), "None"),
    (lambda: hl.estimate_many({5: [1]}, "llama3-8b", "dgx-h100:8"), "not by 5"),
    (lambda: hl.estimate_many({"tp": [1]}, "llama3-8b", "dgx-h100:8", metrics=None), "not None"),
    (lambda: hl.estimate_many({"tp": [1]}, "llama3-8b", "dgx-h100:8", metrics="mfu"), "a list"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", progress=5), "not 5"),
    (lambda: hl.plan("llama3-8b", "dgx-h100:8", progress="yes"), "not 'yes'"),
    (lambda: hl.Simulation({"step_s": 1}).ranks, "not made by hl.sim"),
    # units
    (lambda: hl.estimate("llama3-8b", with_bandwidth("900 GB")), "900 GB/s"),
    (lambda: hl.estimate("llama3-8b", with_bandwidth(900)), "needs a unit"),
    (lambda: hl.estimate("llama3-8b", with_bandwidth("900 furlongs")), "furlongs"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", tokens="900 GB"), "unit of size"),
    # unknown words
    (lambda: hl.plan("llama3-8b", "dgx-h100:8", toop=3), "did you mean \"top\""),
    (lambda: hl.request("estimat"), "did you mean \"estimate\""),
    (lambda: hl.estimate("llama3-8b", {**CLUSTER, "npuss": 8}), "npuss"),
    (lambda: hl.estimate("llama3-8b", "dgx-h100:8", plan={1: 2}), "unknown key"),
    (lambda: hl.presets("llama3-8"), "no preset"),
    # not a number
    (lambda: hl.explore({"name": float("nan")}), "nan"),
    (lambda: hl.estimate("llama3-8b", {**CLUSTER, "npus": float("inf")}), "inf"),
    # files
    (lambda: hl.link("no.json"), "no such file"),
    (lambda: hl.kernels("no.json"), "no such"),
    (lambda: hl.score("no.json"), "no such file"),
    (lambda: hl.Cluster("dgx-h100").npus, "NAME:N"),
])
def test_a_sentence_says_what_is_wrong(call, text):
    with pytest.raises(hl.Error) as caught:
        call()
    assert text in str(caught.value)


@pytest.mark.parametrize("keys, text", [
    ({"type": "COMP", "name": "a"}, "COMP_NODE"),
    ({"type": "COMP_NODE", "name": 5}, "is text"),
    ({"type": "COMP_NODE", "name": "a", "duration_us": -1}, "whole number"),
    ({"type": "COMP_NODE", "name": "a", "duration_us": 1.5}, "1.5"),
    ({"type": "COMP_NODE", "name": "a", "start_us": float("nan")}, "nan"),
    ({"type": "COMP_NODE", "name": "a", "after": [-1]}, "after"),
    ({"type": "COMP_NODE", "name": "a", "big": 1 << 63}, "64 bits"),
    ({"type": "COMP_NODE", "name": "a", "list": [1]}, "type list"),
])
def test_a_refused_node_leaves_the_builder_as_it_was(keys, text):
    b = hl.TraceBuilder()
    b.compute("first", duration_us=1)
    with pytest.raises(hl.Error) as caught:
        b.node(**keys)
    assert text in str(caught.value)
    assert b.compute("second", duration_us=2) == 1
    assert b.finish().nodes.names == ["first", "second"]


def test_what_holds_memory_of_the_library_is_not_copied():
    b, t = hl.TraceBuilder(), built()
    for thing in (b, t.nodes, t.rank(0)):
        for make in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(hl.Error, match="cannot be pickled"):
                make(thing)
    assert b.compute("still usable", duration_us=1) == 0
    assert len(copy.copy(t).nodes) == len(copy.deepcopy(t).nodes) == 1


def test_a_drawn_cluster_may_be_pickled(switch_graph):
    cluster = hl.Cluster.from_networkx(switch_graph)
    again = pickle.loads(pickle.dumps(cluster))
    del cluster
    gc.collect()
    assert again.show().endpoints == 4


def test_parts_outlive_what_they_are_part_of():
    t = built()
    nodes, rank = t.nodes, t.rank(0)
    attributes = nodes.attributes(0)
    del t
    gc.collect()
    junk = [bytearray(1 << 20) for _ in range(20)]
    assert nodes.names == ["a"] and nodes.attributes(0) == attributes and junk
    assert len(rank.encode()) > 0
    with pytest.raises(IndexError):
        nodes.name(1)


def test_a_trace_may_be_used_after_a_fork(step):
    t = hl.Trace(step)
    pid = os.fork()
    if pid == 0:
        same = t.nodes.names == hl.Trace(step).nodes.names
        del t
        gc.collect()
        os._exit(0 if same and hl.sim(step, "dgx-h100:8").time_s > 0 else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(t.nodes) > 0


WORK = {
    "sim": "hl.sim(model='llama3-405b', cluster='dgx-h100:16384', tp=8, pp=16, virtual=4,"
           " global_batch=2048)",
    "estimate_many": "hl.estimate_many({'tp': [1, 2, 4, 8] * 50000, 'seq': range(1, 200001)},"
                     " 'llama3-8b', 'dgx-h100:8', global_batch=16)",
    "plan": "hl.plan('gpt3-175b', 'dgx-a100:512', global_batch=1536, all=True)",
}


@pytest.mark.parametrize("work", sorted(WORK))
def test_an_interrupt_ends_the_work_and_the_package_goes_on(work):
    code = ("import halley as hl, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "hl.request('version'); print('ready', flush=True)\n"
            "try:\n"
            f"    while True: {WORK[work]}\n"
            "except KeyboardInterrupt: pass\n"
            "print(hl.estimate('llama3-8b', 'dgx-h100:8', tp=2, global_batch=16).fits)\n")
    path = os.path.dirname(os.path.dirname(hl.__file__))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": path})
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (out, err, child.returncode) == ("True\n", "", 0)
