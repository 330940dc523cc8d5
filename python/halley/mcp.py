"""halley for assistants: ``python -m halley.mcp`` speaks the Model Context Protocol over stdio.

Each verb of the request interface is a tool; its input schema is the one that
``{"do": "schema"}`` gives. Messages are JSON-RPC 2.0, one per line. Requests read files below one
folder (``--folder FOLDER``, default: the current one), and write there only with ``--write``.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Dict, IO, List, Optional

from ._errors import Error
from ._native import VERSION, confine
from ._verbs import request

PROTOCOL = "2024-11-05"
# Verbs that only read: an assistant gets no tool that writes files unless it was asked for.
READING = ("estimate", "plan", "explore", "results", "sim", "score", "presets", "topology.show",
           "topology.check", "topology.compare", "topology.flows", "trace.info", "trace.check",
           "trace.diff", "version")
# Keys of such verbs that write a file where the schema does not say so (trace.check --fix works in
# place), or run code of a file.
UNSAFE = ("fix", "plugin")


def _tool_name(verb: str) -> str:
    return verb.replace(".", "_")


def is_safe(name: str, schema: Dict[str, Any]) -> bool:
    """Does a key with this schema only read?"""
    return name not in UNSAFE and not schema.get("x-writes", False)


def tools(verbs: Dict[str, Any], writing: bool) -> List[Dict[str, Any]]:
    """The tools for a client: one per verb, without the keys that the client may not give."""
    out = []
    for verb, schema in verbs.items():
        if verb == "schema" or not (writing or verb in READING):
            continue
        properties = {k: v for k, v in schema["properties"].items() if writing or is_safe(k, v)}
        out.append({"name": _tool_name(verb), "description": schema.get("description", verb),
                    "inputSchema": {"type": "object", "properties": properties,
                                    "required": schema.get("required", [])}})
    return out


def verbs_of(schema: Dict[str, Any]) -> Dict[str, Any]:
    """Request schemas by verb, "do" left out: the tool's name says it."""
    out: Dict[str, Any] = {}
    for verb, entry in schema["$defs"]["requests"].items():
        properties = {k: v for k, v in entry["properties"].items() if k != "do"}
        out[verb] = {"description": entry.get("description", ""), "properties": properties,
                     "required": [k for k in entry.get("required", []) if k != "do"]}
    return out


def _as_keys(arguments: Dict[str, Any]) -> List[str]:
    """The names of arguments as the schema spells them: halley takes - for _, too."""
    return [name.replace("-", "_") for name in arguments]


class Server:
    """Answers the messages of one client."""

    def __init__(self, writing: bool = False) -> None:
        self.verbs = verbs_of(request("schema"))
        self.writing = writing
        self.by_tool = {_tool_name(v): v for v in self.verbs
                        if v != "schema" and (writing or v in READING)}

    def answer(self, message: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """The reply to a message; None for a notification."""
        method, number = message.get("method"), message.get("id")
        if number is None:
            return None
        if method == "initialize":
            result: Any = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}},
                           "serverInfo": {"name": "halley", "version": VERSION}}
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            result = {"tools": tools(self.verbs, self.writing)}
        elif method == "tools/call":
            return self.call(number, message.get("params") or {})
        else:
            return _failure(number, -32601, f"there is no method {method}")
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def call(self, number: Any, params: Dict[str, Any]) -> Dict[str, Any]:
        """Run a tool; a failure of the request is a result that says so."""
        verb = self.by_tool.get(params.get("name", ""))
        if verb is None:
            return _failure(number, -32602, f"there is no tool {params.get('name')}")
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict) or "do" in arguments or "progress" in arguments:
            return _failure(number, -32602, "the arguments are an object of the tool's own keys")
        for key, schema in self.verbs[verb]["properties"].items():
            if not self.writing and key in _as_keys(arguments) and not is_safe(key, schema):
                return _failure(number, -32602, f"\"{key}\" writes a file or runs its code; start "
                                "the server with --write")
        try:
            text, failed = json.dumps(request(verb, **arguments)), False
        except Error as problem:
            text = f"{problem.code}: {problem}"
            failed = True
        return {"jsonrpc": "2.0", "id": number,
                "result": {"content": [{"type": "text", "text": text}], "isError": failed}}


def _failure(number: Any, code: int, text: str) -> Dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def serve(lines: IO[str], out: IO[str], writing: bool = False) -> None:
    """Answer one message per line until the input ends."""
    server = Server(writing)
    for line in lines:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
            reply = server.answer(message) if isinstance(message, dict) else \
                _failure(None, -32600, "a message is an object")
        except ValueError:
            reply = _failure(None, -32700, "this line is not JSON")
        if reply is not None:
            out.write(json.dumps(reply) + "\n")
            out.flush()


def main() -> None:
    """Serve standard input and output, confined to the folder."""
    parser = argparse.ArgumentParser(prog="python -m halley.mcp", description="halley for assistants")
    parser.add_argument("--folder", default=".", help="the files that requests may name")
    parser.add_argument("--write", action="store_true", help="requests may write files there")
    options = parser.parse_args()
    try:
        confine(options.folder, not options.write)
    except Error as problem:
        sys.exit(f"halley.mcp: {problem}")
    serve(sys.stdin, sys.stdout, options.write)


if __name__ == "__main__":
    main()
