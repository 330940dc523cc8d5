"""bench/python/run: three of the bars of the Python package; see there."""

import itertools
import sys
import time
import tracemalloc

import halley as hl
import numpy
from halley import _native

PLAN = {"tp": 8, "pp": 2, "global_batch": 128}


def best_of(rounds, *functions):
    """The shortest CPU time of each function; they take turns, so that noise meets all."""
    shortest = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            began = time.process_time()
            function()
            shortest[i] = min(shortest[i], time.process_time() - began)
    return shortest


def measure_single():
    """hl.estimate against the call of the library with the same request."""
    text = _native.encode({"do": "estimate", "model": "llama3-70b", "cluster": "dgx-h100:64",
                           **PLAN})
    native, ffi, n = _native.lib(), _native.ffi, 20

    def call_library():
        for _ in range(n):
            reply, err = ffi.new("char **"), ffi.new("halley_error *")
            native.halley_request(reply, text, ffi.NULL, err)
            native.free(reply[0])

    def call_package():
        for _ in range(n):
            hl.estimate("llama3-70b", "dgx-h100:64", **PLAN)

    def call_and_read():
        for _ in range(n):
            hl.estimate("llama3-70b", "dgx-h100:64", **PLAN).step_s

    def call_and_decode():
        for _ in range(n):
            hl.estimate("llama3-70b", "dgx-h100:64", **PLAN).to_dict()

    library, package, read, decoded = [1e6 * t / n for t in best_of(
        150, call_library, call_package, call_and_read, call_and_decode)]
    print(f"hl.estimate: {package:.0f} us, of which the C call {library:.0f}; over it "
          f"{package - library:.0f} us (bar: 50), {read - library:.0f} with step_s read, "
          f"{decoded - library:.0f} with every value decoded")


def grid(**axes):
    names = list(axes)
    rows = list(itertools.product(*axes.values()))
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def measure_many():
    """Designs a second, no two alike; model and cluster are loaded once."""
    batch = hl.Batch("gpt3-175b", "dgx-a100:512", global_batch=1536)
    common = {"tp": [1, 2, 4, 8], "micro_batch": [1, 2, 4], "recompute": ["none", "selective",
              "full"], "zero": [0, 1, 2], "gradient_bytes": [2, 4], "kernels": ["fused", "eager"]}
    spaces = {
        "without pipeline stages": grid(**common, attention=["flash", "unfused"],
                                        seq=list(range(1024, 2048, 64))),
        "1 to 16 stages": grid(**common, pp=[1, 2, 4, 8, 16], seq=list(range(1024, 2048, 128))),
        "8 stages, 24 to 96 micro-batches": grid(**common, pp=[8],
                                                 seq=list(range(1024, 2048, 64))),
        "8 stages in 1 to 12 chunks": grid(**common, pp=[8], virtual=[1, 2, 3, 4, 6, 12],
                                           seq=list(range(1024, 2048, 256))),
        "8 stages in 2 to 12 chunks, none refused":
            grid(**{**common, "tp": [2, 4, 8], "micro_batch": [1, 2]}, pp=[8],
                 virtual=[2, 3, 4, 6, 12], seq=list(range(1024, 2048, 256))),
    }
    for name, columns in spaces.items():
        columns = {key: numpy.array(values) for key, values in columns.items()}
        n = len(columns["tp"])
        (seconds,) = best_of(9, lambda: batch.run(columns))
        print(f"hl.estimate_many, {n} designs, {name}: {n / seconds:,.0f} designs/s on one core "
              "(bar: 200,000)")


def measure_nodes(prefix):
    """The columns of a loaded trace."""
    trace = hl.Trace(prefix)
    tracemalloc.start()
    began = time.process_time()
    nodes = trace.nodes
    durations, types, starts = nodes.duration_us, nodes.type, nodes.start_us
    seconds = time.process_time() - began
    copied = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(durations) == len(types) == len(starts) == len(nodes)
    print(f"Trace.nodes of {len(nodes):,} nodes, type, start and duration: {seconds:.4f} s (bar: "
          f"0.1), {copied / 1e6:.2f} MB allocated for {17 * len(nodes) / 1e6:.0f} MB of columns")
    began = time.process_time()
    assert len(nodes.id) == len(nodes)
    print(f"  and ids: {time.process_time() - began:.4f} s (the library keeps rising ids as "
          "their first one, so numpy counts them out)")


if __name__ == "__main__":
    measure_single()
    measure_many()
    measure_nodes(sys.argv[1])
