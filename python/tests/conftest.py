"""Where the package, the program and test data are."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HALLEY_BUILD", ROOT / "build")).resolve()
if "HALLEY_INSTALLED" not in os.environ:
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.setdefault("HALLEY_LIBRARY", str(BUILD / "libhalley.so"))


@pytest.fixture(scope="session")
def program():
    """Runs the program; its standard output."""
    def run(*words):
        return subprocess.run([str(BUILD / "halley"), *map(str, words)], check=True,
                              capture_output=True, text=True).stdout
    return run


@pytest.fixture(scope="session")
def step(tmp_path_factory, program):
    """A trace set of 8 ranks."""
    prefix = tmp_path_factory.mktemp("traces") / "step"
    program("trace", "gen", "transformer", "-n", 8, "--tp", 2, "--pp", 2, "-o", prefix)
    return str(prefix)


@pytest.fixture(scope="session")
def root():
    """The source tree."""
    return ROOT


@pytest.fixture
def switch_graph():
    """Four NPUs on one switch, as a graph of networkx."""
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("s", kind="switch")
    for i in range(4):
        graph.add_node(f"npu{i}", kind="npu")
        graph.add_edge(f"npu{i}", "s", bandwidth_gbps=400, latency_ns=500)
    return graph
