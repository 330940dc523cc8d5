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


def test_failures_are_answers():
    refused, unknown, garbage, writes = talk(
        message(1, "tools/call", name="estimate", arguments={"model": "x", "cluster": "y:8"}),
        message(2, "tools/call", name="erase", arguments={}), "not json",
        message(4, "tools/call", name="explore", arguments={"study": "s", "store": "f.db"}))
    assert refused["result"]["isError"] and "not-found" in refused["result"]["content"][0]["text"]
    assert unknown["error"]["code"] == -32602
    assert garbage["error"]["code"] == -32700
    assert "--write" in writes["error"]["message"]
