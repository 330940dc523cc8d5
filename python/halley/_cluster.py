"""Clusters: presets, files, documents, and graphs of networkx."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Union

from ._errors import Error
from ._result import Result
from ._verbs import plain, request


class Cluster:
    """A cluster by preset name, path, YAML text or dict.

    >>> import halley as hl
    >>> hl.Cluster("dgx-h100:64").npus
    64
    """

    def __init__(self, cluster: Union[str, Mapping[str, Any], "os.PathLike[str]"]) -> None:
        self._spec: Any = plain(cluster)
        if not isinstance(self._spec, (str, dict)):
            raise Error(f"a cluster is a preset's name, a path, YAML text or a dict, not "
                        f"{cluster!r}", "usage")
        self._facts: Optional[Dict[str, Any]] = None

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"], npu: str = "H100-SXM-80GB",
                  **keys: Any) -> "Cluster":
        """A cluster whose network is a topology file of any form halley reads.

        ``npu`` is the device at the graph's endpoints; other keys are those of a cluster file.
        """
        return cls({"npu": npu, "network": {"topology": "file", "file": os.path.abspath(os.fspath(path))},
                    **keys})

    @classmethod
    def from_networkx(cls, graph: Any, npu: str = "H100-SXM-80GB", **keys: Any) -> "Cluster":
        """A cluster whose network is a networkx graph.

        Nodes have a ``kind`` ("npu" or "switch"), edges ``bandwidth_gbps`` and ``latency_ns``, as
        halley's networkx export writes them.
        """
        if not hasattr(graph, "nodes") or not hasattr(graph, "edges"):
            raise Error(f"from_networkx() takes a graph of networkx, not {graph!r}", "usage")
        nodes = [{"id": n, **attributes} for n, attributes in graph.nodes(data=True)]
        links = [{"source": a, "target": b, **attributes}
                 for a, b, attributes in graph.edges(data=True)]
        document = {"directed": bool(graph.is_directed()), "multigraph": False,
                    "graph": dict(graph.graph), "nodes": nodes, "links": links}
        return cls._from_document(document, npu, keys)

    @classmethod
    def _from_document(cls, document: Dict[str, Any], npu: str, keys: Dict[str, Any]) -> "Cluster":
        """A node-link document in a folder of its own."""
        import tempfile

        folder = tempfile.TemporaryDirectory(prefix="halley-")
        path = os.path.join(folder.name, "graph.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        made = cls.from_file(path, npu, **keys)
        made._folder = folder  # removed with the cluster
        made._source = (document, npu, keys)
        return made

    _folder: Any = None
    _source: Any = None

    def __reduce__(self) -> Any:
        if self._source is not None:
            return (Cluster._from_document, self._source)
        return (Cluster, (self._spec,))

    def _halley_spec_(self) -> Any:
        return self._spec

    def __repr__(self) -> str:
        return f"Cluster({self._spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cluster) and other._spec == self._spec

    def __hash__(self) -> int:
        return hash(json.dumps(self._spec, sort_keys=True))

    @property
    def network(self) -> Dict[str, Any]:
        """The network as a node-link document of networkx, read once."""
        if self._facts is None:
            import tempfile

            with tempfile.TemporaryDirectory(prefix="halley-") as folder:
                path = os.path.join(folder, "graph.json")
                request("topology.convert", topology=self._network_spec(), to="node-link",
                        output=path)
                with open(path, encoding="utf-8") as file:
                    self._facts = json.load(file)
        return self._facts

    def _network_spec(self) -> Any:
        spec = self._spec
        if isinstance(spec, dict) and isinstance(spec.get("network"), dict) \
                and spec["network"].get("topology") == "file":
            return spec["network"]["file"]
        return spec

    @property
    def npus(self) -> int:
        """The number of accelerators."""
        if isinstance(self._spec, str) and ":" in self._spec:
            tail = self._spec.rsplit(":", 1)[1]
            if tail.isdigit():
                return int(tail)
        if isinstance(self._spec, dict) and "npus" in self._spec:
            return int(self._spec["npus"])
        return int(self.show(no_times=True, no_cuts=True)["endpoints"])

    def edges(self) -> List[Dict[str, Any]]:
        """The links of the network, as networkx's node-link form has them."""
        document = self.network
        return document.get("links") or document.get("edges") or []

    def graph(self) -> Any:
        """The network as a networkx graph."""
        try:
            import networkx
        except ImportError:
            raise Error("graph() needs networkx (Debian: python3-networkx); edges() does not",
                        "unsupported") from None
        document = self.network
        kind = networkx.DiGraph if document.get("directed") else networkx.Graph
        if document.get("multigraph"):
            kind = networkx.MultiDiGraph if document.get("directed") else networkx.MultiGraph
        made = kind(**document.get("graph", {}))
        for node in document["nodes"]:
            made.add_node(node["id"], **{k: v for k, v in node.items() if k != "id"})
        for edge in self.edges():
            made.add_edge(edge["source"], edge["target"],
                          **{k: v for k, v in edge.items() if k not in ("source", "target", "key")})
        return made

    def show(self, **keys: Any) -> Result:
        """Sizes, diameter, bisection, oversubscription, cost of the network."""
        return Result(request("topology.show", topology=self._network_spec(), **keys))
