"""Results of the package are those of the program with --json, bit for bit."""

import json
import os
import pickle
import random
import shutil
import subprocess

import pytest

import halley as hl
from conftest import BUILD
from draw_requests import Draw, ask_package, make_folder, words_of

PROGRAM = str(BUILD / "halley")

CASES = int(os.environ.get("HALLEY_REQUESTS", "40"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory, root):
    """Two folders with the same files: the program works in one, the package in the other."""
    one, other = tmp_path_factory.mktemp("program"), tmp_path_factory.mktemp("package")
    make_folder(one, root, PROGRAM)
    shutil.copytree(one, other, dirs_exist_ok=True)
    return one, other


def run_program(folder, words, text=None):
    return subprocess.run([PROGRAM, *words], cwd=folder, input=text, capture_output=True, text=True)


def unify(text):
    """A command line says --micro-batch where a request says micro_batch."""
    return text.replace("--", "").replace("_", "-")


def check_failure(folder, verb, keys, problem, ran):
    """The program fails with the same sentence; as a request it replies with the same error."""
    assert ran.returncode in (1, 2) and unify(problem.message) in unify(ran.stderr)
    ran = run_program(folder, ["request"], json.dumps({"do": verb, **keys}))
    error = json.loads(ran.stdout)["error"]
    assert error == {name: getattr(problem, name) for name in error}


def remove_new(folder, known):
    """The next request finds the folder as the first one did."""
    for path in folder.iterdir():
        if path.name not in known:
            path.unlink() if path.is_file() else shutil.rmtree(path)


def check_request(folders, verb, keys):
    """Whether it has a result; that of the package is that of the program, or so is its error."""
    ran = run_program(folders[0], words_of(verb, keys))
    try:
        found = ask_package(verb, keys)
    except hl.Error as problem:
        check_failure(folders[0], verb, keys, problem, ran)
        return False
    assert json.dumps(found) == json.dumps(json.loads(ran.stdout)), ran.stderr
    for path in folders[0].iterdir():  # and so is what they wrote
        assert path.is_dir() or path.read_bytes() == (folders[1] / path.name).read_bytes(), path
    return True


def test_random_requests_equal_the_program(folders, monkeypatch):
    monkeypatch.chdir(folders[1])
    known = {path.name for path in folders[0].iterdir()}
    draw, results = Draw(random.Random(7)), []
    for case in range(CASES):
        verb, keys = draw.draw()
        try:
            results += [verb] * check_request(folders, verb, keys)
        except Exception as problem:
            raise AssertionError(f"case {case}: {verb} {keys}") from problem
        for folder in folders:
            remove_new(folder, known)
    assert len(results) >= CASES // 3
    assert CASES < 1000 or len(set(results)) >= 24


def test_sim_equals_the_program(program, step):
    printed = json.loads(program("sim", step, "-c", "dgx-h100:8", "--json"))
    assert hl.sim(hl.Trace(step), hl.Cluster("dgx-h100:8")).to_dict() == printed


def test_a_simulation_shows_its_ranks_timeline_and_heat(program, step, tmp_path):
    for run, words in ((hl.sim(hl.Trace(step), "dgx-h100:8"), [step]),
                       (hl.sim(model="gpt-3.6b", cluster="dgx-h100:8", tp=2, global_batch=16),
                        ["-m", "gpt-3.6b", "--tp", 2, "--global-batch", 16])):
        words = ["sim", *words, "-c", "dgx-h100:8"]
        printed = json.loads(program(*words, "--per-rank", "--json"))
        rows = printed.get("rank_rows", printed["ranks"])
        assert pickle.loads(pickle.dumps(run)).ranks.to_dict("records") == rows and len(rows) == 8
        run.timeline(str(tmp_path / "a.json"))
        program(*words, "--timeline", tmp_path / "b.json")
        program(*words, "--heat", tmp_path / "b.csv")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
        heat = run.heat()
        assert len(heat) == len((tmp_path / "b.csv").read_text().splitlines()) - 1 > 0
        assert 0 < heat.use.max() <= 1 and (heat.end_s > heat.begin_s).all()
        run.heat(str(tmp_path / "a.svg"))
        assert (tmp_path / "a.svg").read_text().startswith(("<svg", "<?xml"))


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


def test_what_was_not_stated_is_listed():
    study = {"name": "s", "model": "llama3-8b", "cluster": "dgx-h100:8",
             "plan": {"global-batch": 16}, "vary": {"plan.tp": [1, 2]},
             "objective": {"minimize": "step-time"}}
    priced = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16, tokens=1e12)
    explored = hl.explore(study)
    for result in (priced, explored):
        for one in result.to_dict()["assumed"]:
            assert {"key", "value", "origin", "text"} <= set(one) and one["text"]
    for bill in (priced, explored.best.results):
        assert bill.capital_is == "known" and bill.capital_missing == []
