"""A scripted client talks to the MCP server over its standard input and output."""

import json
import os
import subprocess
import sys

import halley as hl


def talk(*messages):
    path = os.path.dirname(os.path.dirname(hl.__file__))
    done = subprocess.run([sys.executable, "-m", "halley.mcp"], capture_output=True, text=True,
                          input="".join(m + "\n" for m in messages), timeout=60,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def message(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def test_a_client_lists_and_calls_tools():
    first, listed, called = talk(
        message(1, "initialize", protocolVersion="2024-11-05", capabilities={}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        message(2, "tools/list"),
        message(3, "tools/call", name="estimate",
                arguments={"model": "llama3-8b", "cluster": "dgx-h100:8", "tp": 2,
                           "global_batch": 16}))
    assert first["result"]["serverInfo"]["name"] == "halley"
    tools = {t["name"]: t for t in listed["result"]["tools"]}
    assert {"estimate", "plan", "sim", "trace_info"} <= set(tools) and "trace_gen" not in tools
    assert "tp" in tools["estimate"]["inputSchema"]["properties"]
    content = json.loads(called["result"]["content"][0]["text"])
    assert content == hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16).to_dict()
    assert not called["result"]["isError"]


def test_a_reading_server_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hl.request("trace.gen", pattern="all-reduce", npus=2, out="t")
    step = {"model": "llama3-8b", "cluster": "dgx-h100:8", "tp": 2, "global_batch": 16}
    tries = [("estimate", {**step, "trace": "w"}), ("estimate", {**step, "report": "w.html"}),
             ("trace_check", {"trace": "t", "fix": True}),
             ("topology_show", {"topology": "dgx-h100:8", "picture": "w.svg"}),
             ("topology_show", {"topology": "dgx-h100:8", "plugin": "w.so"}),
             ("explore", {"study": "s", "plots": "w"})]
    tries += [("sim", {**step, key: "w.csv"})
              for key in ("per_node", "per-node", "columns", "links", "memory", "write_cluster",
                          "timeline", "heat", "report", "logging_folder")]
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    answers = talk(*[message(i, "tools/call", name=name, arguments=arguments)
                     for i, (name, arguments) in enumerate(tries)])
    assert ["--write" in answer.get("error", {}).get("message", "") for answer in answers] == \
        [True] * len(tries)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    listed = talk(message(1, "tools/list"))[0]["result"]["tools"]
    sim = next(tool for tool in listed if tool["name"] == "sim")["inputSchema"]["properties"]
    assert "tp" in sim and not {"heat", "columns", "report"} & set(sim)


def test_failures_are_answers():
    refused, unknown, garbage, writes = talk(
        message(1, "tools/call", name="estimate", arguments={"model": "x", "cluster": "y:8"}),
        message(2, "tools/call", name="erase", arguments={}), "not json",
        message(4, "tools/call", name="explore", arguments={"study": "s", "store": "f.db"}))
    assert refused["result"]["isError"] and "not-found" in refused["result"]["content"][0]["text"]
    assert unknown["error"]["code"] == -32602
    assert garbage["error"]["code"] == -32700
    assert "--write" in writes["error"]["message"]


def test_files_outside_the_folder_do_not_exist(tmp_path, monkeypatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.yaml").write_text("secret-word: 1\n")
    (inside / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (inside / ".hidden.yaml").write_text("secret-word: 1\n")
    (inside / "study.yaml").write_text("name: s\nmodel: ../secret.yaml\ncluster: dgx-h100:8\nvary: {plan.tp: [1]}\n")
    monkeypatch.chdir(inside)
    names = ["/etc/shadow", "/etc/passwd", "../secret.yaml", str(tmp_path / "secret.yaml"), "link.yaml", ".hidden.yaml"]
    tries = [("estimate", {"model": name, "cluster": "dgx-h100:8"}) for name in names]
    tries += [("estimate", {"model": "llama3-8b", "cluster": name}) for name in names]
    tries += [("explore", {"study": "study.yaml"}), ("trace_info", {"trace": ["../secret.yaml"]})]
    for answer in talk(*[message(i, "tools/call", name=name, arguments=arguments)
                         for i, (name, arguments) in enumerate(tries)]):
        text = answer["result"]["content"][0]["text"]
        assert answer["result"]["isError"] and ("not-found" in text or "no such file" in text), text
        assert "secret-word" not in text and "root:" not in text


def test_arguments_that_contain_themselves_are_refused():
    own = {}
    own["x"] = own
    for call in (lambda: hl.request("estimate", model=own), lambda: hl.estimate([own], "dgx-h100:8"),
                 lambda: hl.explore(own)):
        try:
            call()
        except hl.Error as problem:
            assert problem.code == "bad-value" and "itself" in str(problem)
        else:
            raise AssertionError("it was taken")
