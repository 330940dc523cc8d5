"""Chakra execution traces: sets of ranks, zero-copy columns, and a builder."""

from __future__ import annotations

import operator
import os
import struct
import tempfile
import weakref
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

from . import _native
from ._errors import Error
from ._frame import frame
from ._native import ffi
from ._result import Result
from ._verbs import request

NODE_TYPES = ("INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",
              "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE")
COLLECTIVES = ("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST",
               "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER")

# AttributeProto's oneof: field numbers 3 to 32, scalars odd, their lists one more.
_KINDS = ("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32",
          "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes")
_UNSIGNED = frozenset(("uint32", "uint64", "fixed32", "fixed64"))


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder that is removed with its last user."""
    return tempfile.TemporaryDirectory(prefix="halley-")


def _text(view: Any) -> str:
    return ffi.buffer(view.at, view.n)[:].decode("utf-8", "replace") if view.n else ""


def _scalar(kind: str, bits: int, data: Any) -> Any:
    if kind == "double":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if kind == "float":
        return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
    if kind == "bool":
        return bool(bits)
    if kind == "string":
        return _text(data)
    if kind == "bytes":
        return ffi.buffer(data.at, data.n)[:] if data.n else b""
    return bits if kind in _UNSIGNED or bits < 1 << 63 else bits - (1 << 64)


def _value(attr: Any) -> Any:
    if attr.kind == 0:
        return None
    kind = _KINDS[(attr.kind - 3) // 2]
    if attr.kind % 2:
        return _scalar(kind, attr.bits, attr.bytes)
    cursor, item = ffi.new("size_t *"), ffi.new("halley_attr_item *")
    view = ffi.new("halley_attr *", attr)
    out = []
    while _native.lib().halley_attr_list_next(view, cursor, item):
        out.append(_scalar(kind, item.bits, item.bytes))
    return out


class _NoCopy:
    """Objects of the library's memory that neither pickle nor copy."""

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise Error(f"a {type(self).__name__} cannot be pickled or copied; pass the Trace, or the "
                    "bytes of encode()", "unsupported")


class Nodes(_NoCopy):
    """The nodes of one rank as columns.

    With numpy, ``id``, ``type``, ``start_us`` and ``duration_us`` are read-only arrays over the
    library's own memory; no element is copied unless the library keeps the column in a shorter
    form (rising ids, trailing zeros). Without numpy they are lists.
    """

    def __init__(self, owner: "_Rank") -> None:
        self._owner = owner
        self._columns = ffi.new("halley_columns *", {"size": ffi.sizeof("halley_columns")})
        err = ffi.new("halley_error *")
        _native.check(_native.lib().halley_trace_columns(self._columns, owner.c, err), err)
        self._cache: Dict[str, Any] = {}

    def __len__(self) -> int:
        return int(self._columns.n)

    def _array(self, at: Any, n: int, width: int) -> Any:
        """The library's memory as an array that keeps the trace alive."""
        try:
            import numpy
        except ImportError:
            return [int(at[i]) for i in range(n)] if n else []
        dtype = {1: numpy.uint8, 4: numpy.uint32, 8: numpy.uint64}[width]
        if n == 0:
            return numpy.zeros(0, dtype)
        view = _Memory(self._owner, at, n * width)
        array = numpy.frombuffer(view.buffer, dtype=dtype)
        array.flags.writeable = False
        _keep_alive(array, self._owner)
        return array

    def _padded(self, column: Any) -> Any:
        n, kept = len(self), int(column.n)
        if kept == n:
            return self._array(column.at, n, 8)
        try:
            import numpy
        except ImportError:
            return [int(column.at[i]) for i in range(kept)] + [0] * (n - kept)
        if kept == 0:  # one zero that stands for all
            return numpy.broadcast_to(numpy.uint64(0), (n,))
        out = numpy.zeros(n, numpy.uint64)
        out[:kept] = self._array(column.at, kept, 8)
        out.flags.writeable = False
        return out

    def _ids(self) -> Any:
        c, n = self._columns, len(self)
        if c.ids != ffi.NULL:
            return self._array(c.ids, n, 8)
        try:
            import numpy
        except ImportError:
            return list(range(c.first_id, c.first_id + n))
        return numpy.arange(c.first_id, c.first_id + n, dtype=numpy.uint64)

    def _cached(self, name: str, make: Any) -> Any:
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]

    @property
    def id(self) -> Any:
        """Ids as the file has them."""
        return self._cached("id", self._ids)

    @property
    def type(self) -> Any:
        """Numbers of NODE_TYPES; 255 is a type that Chakra does not have."""
        return self._cached("type", lambda: self._array(self._columns.types, len(self), 1))

    @property
    def start_us(self) -> Any:
        """Start times in microseconds."""
        return self._cached("start", lambda: self._padded(self._columns.starts_us))

    @property
    def duration_us(self) -> Any:
        """Durations in microseconds."""
        return self._cached("duration", lambda: self._padded(self._columns.durations_us))

    def name(self, node: int) -> str:
        """The name of node number ``node``."""
        return _text(_native.lib().halley_node_name(self._owner.c, self._index(node)))

    @property
    def names(self) -> List[str]:
        """All names, decoded."""
        return self._cached("names", lambda: [self.name(i) for i in range(len(self))])

    def _index(self, node: int) -> int:
        n = len(self)
        if not -n <= node < n:
            raise IndexError(f"node {node} of {n}")
        return node % n

    def dependencies(self, node: int, control: bool = False) -> List[int]:
        """Numbers of the nodes that this one waits for; those that no node has are left out."""
        c = self._columns
        first, at = (c.ctrl_first, c.ctrl) if control else (c.data_first, c.data)
        i = self._index(node)
        if first == ffi.NULL:
            return []
        return [at[k] for k in range(first[i], first[i + 1]) if at[k] < c.n]

    def attributes(self, node: int) -> Dict[str, Any]:
        """The attributes of one node."""
        native, i = _native.lib(), self._index(node)
        out = {}
        for k in range(native.halley_node_attr_count(self._owner.c, i)):
            attr = native.halley_node_attr(self._owner.c, i, k)
            out[_text(attr.name)] = _value(attr)
        return out

    def attribute(self, name: str) -> List[Any]:
        """One attribute of every node; None where a node has none."""
        native, attr, key = _native.lib(), ffi.new("halley_attr *"), name.encode()
        return [_value(attr[0])
                if native.halley_node_find_attr(attr, self._owner.c, i, key) else None
                for i in range(len(self))]

    @property
    def df(self) -> Any:
        """The columns with names as a DataFrame (a list of dicts without pandas)."""
        ids, types = self.id, self.type
        starts, durations = self.start_us, self.duration_us
        return frame([{"id": int(ids[i]), "type": _type_name(int(types[i])), "name": self.name(i),
                       "start_us": int(starts[i]), "duration_us": int(durations[i])}
                      for i in range(len(self))])


def _type_name(number: int) -> str:
    return NODE_TYPES[number] if number < len(NODE_TYPES) else "UNKNOWN"


class _Memory:
    """A range of the library's memory as a buffer."""

    def __init__(self, owner: "_Rank", at: Any, n: int) -> None:
        self.owner = owner
        self.buffer = ffi.buffer(ffi.cast("char *", at), n)


_alive: Dict[int, Any] = {}


def _forget(key: int) -> None:
    _alive.pop(key, None)


def _keep_alive(array: Any, owner: "_Rank") -> None:
    """The trace lives as long as any array over its memory, views of it included."""
    base = array
    while getattr(base, "base", None) is not None and hasattr(base.base, "flags"):
        base = base.base
    key = id(base)
    _alive[key] = owner
    weakref.finalize(base, _forget, key)


def _paths_of(path: Any) -> List[str]:
    """One path or several as texts."""
    several = [path] if isinstance(path, (str, os.PathLike)) else path
    try:
        return [os.fspath(p) for p in several]
    except TypeError:
        raise Error(f"a trace is a path or a list of paths, not {path!r}", "usage") from None


class _Rank:
    """A reference to one halley_trace."""

    def __init__(self, c: Any) -> None:
        self.c = ffi.gc(_native.lib().halley_trace_keep(ffi.cast("halley_trace *", c)),
                        _native.lib().halley_trace_free)


class Trace:
    """A set of ranks: a path, a prefix, a folder or a list of files; one file is a set of one.

    ``trace.nodes`` are the columns of rank 0, ``trace.rank(i).nodes`` those of rank i.

    >>> import halley as hl
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "t")
    ...     made = hl.request("trace.gen", pattern="all-reduce", npus=4, out=path)
    ...     trace = hl.Trace(path)
    ...     len(trace.nodes) == len(trace.rank(3).nodes)
    True
    """

    def __init__(self, path: Union[str, Sequence[str], "os.PathLike[str]"], *,
                 _folder: Any = None, _info: Optional[Dict[str, Any]] = None) -> None:
        paths = _paths_of(path)
        self._paths = paths
        self._folder = _folder
        self.linked = Result(_info) if _info is not None else None
        self._open([p.encode() for p in paths])

    def _open(self, paths: List[bytes]) -> None:
        native, out, err = _native.lib(), ffi.new("halley_trace_set **"), ffi.new("halley_error *")
        texts = [ffi.new("char[]", p) for p in paths]
        _native.check(native.halley_trace_set_load(out, ffi.new("char *[]", texts), len(texts),
                                                   ffi.NULL, err), err)
        self._set = ffi.gc(out[0], native.halley_trace_set_free)
        self._ranks: Dict[int, Rank] = {}

    @classmethod
    def from_ranks(cls, traces: Sequence[bytes]) -> "Trace":
        """A set of encoded .et traces, rank i the i-th."""
        folder = temporary_folder()
        for i, data in enumerate(traces):
            with open(os.path.join(folder.name, f"trace.{i}.et"), "wb") as file:
                file.write(data)
        return cls(os.path.join(folder.name, "trace"), _folder=folder)

    def __len__(self) -> int:
        return int(_native.lib().halley_trace_set_count(self._set))

    def __iter__(self) -> Iterator["Rank"]:
        return (self.rank(i) for i in range(len(self)))

    def __getitem__(self, rank: int) -> "Rank":
        return self.rank(rank)

    def rank(self, rank: int) -> "Rank":
        """One rank of the set."""
        if not -len(self) <= rank < len(self):
            raise IndexError(f"rank {rank} of {len(self)}")
        rank %= len(self)
        if rank not in self._ranks:
            self._ranks[rank] = Rank(
                _Rank(_native.lib().halley_trace_set_get(self._set, rank)), rank)
        return self._ranks[rank]

    @property
    def nodes(self) -> Nodes:
        """The columns of rank 0."""
        return self.rank(0).nodes

    def __repr__(self) -> str:
        return f"Trace({self._paths[0] if len(self._paths) == 1 else self._paths!r}, " \
               f"{len(self)} ranks)"

    def __reduce__(self) -> Any:
        if self._folder is not None:
            return (Trace.from_ranks, ([r.encode() for r in self],))
        return (Trace, (self._paths,))

    def _halley_spec_(self) -> Any:
        return self._paths[0] if len(self._paths) == 1 else self._paths

    def info(self, **keys: Any) -> Result:
        """Sizes, types, collectives, critical path (``halley trace info``)."""
        return Result(request("trace.info", trace=self, **keys))

    def check(self, **keys: Any) -> Result:
        """What is wrong with the set (``halley trace check``)."""
        return Result(request("trace.check", trace=self, **keys))

    def kernels(self, **keys: Any) -> Result:
        """Where the device's time goes in a recording (``halley trace info --kernels``)."""
        return Result(request("trace.info", trace=self, kernels=True, **keys))

    def diff(self, other: Any, **keys: Any) -> Result:
        """What differs from another set (``halley trace diff``)."""
        return Result(request("trace.diff", a=self, b=other, **keys))

    def view(self, output: str, **keys: Any) -> Result:
        """Draw the graph into a file (``halley trace view``)."""
        return Result(request("trace.view", trace=self, out=output, **keys))

    def timeline(self, output: str, **keys: Any) -> Result:
        """Write a timeline for Perfetto (``halley trace timeline``)."""
        return Result(request("trace.timeline", trace=self, out=output, **keys))

    def to_networkx(self, rank: int = 0) -> Any:
        """The graph of one rank for networkx: nodes by id with name, type and times."""
        try:
            import networkx
        except ImportError:
            raise Error("to_networkx() needs networkx (Debian: python3-networkx)",
                        "unsupported") from None
        nodes, graph = self.rank(rank).nodes, networkx.DiGraph()
        ids, types, durations = nodes.id, nodes.type, nodes.duration_us
        for i in range(len(nodes)):
            graph.add_node(int(ids[i]), name=nodes.name(i), type=_type_name(int(types[i])),
                           duration_us=int(durations[i]))
        for i in range(len(nodes)):
            for control in (False, True):
                for before in nodes.dependencies(i, control):
                    graph.add_edge(int(ids[before]), int(ids[i]),
                                   kind="control" if control else "data")
        return graph

    def _repr_html_(self) -> str:
        from . import _html

        facts = self.info().to_dict()
        return _html.rows([("trace", repr(self)), ("ranks", str(facts.get("n_ranks"))),
                           ("nodes", f"{facts.get('nodes'):,}"),
                           ("critical path", _html.seconds(facts.get("critical_path_s", 0.0)))])


class Rank(_NoCopy):
    """One rank of a Trace."""

    def __init__(self, owner: _Rank, rank: int) -> None:
        self._owner = owner
        self.number = rank
        self._nodes: Optional[Nodes] = None

    @property
    def nodes(self) -> Nodes:
        """Its nodes as columns."""
        if self._nodes is None:
            self._nodes = Nodes(self._owner)
        return self._nodes

    @property
    def metadata(self) -> Dict[str, Any]:
        """The attributes of the trace itself."""
        native = _native.lib()
        out = {}
        for i in range(native.halley_trace_metadata_count(self._owner.c)):
            attr = native.halley_trace_metadata(self._owner.c, i)
            out[_text(attr.name)] = _value(attr)
        return out

    def encode(self) -> bytes:
        """The trace as the bytes of an .et file."""
        native, out, n = _native.lib(), ffi.new("uint8_t **"), ffi.new("size_t *")
        err = ffi.new("halley_error *")
        _native.check(native.halley_trace_encode_et(out, n, self._owner.c, err), err)
        try:
            return ffi.buffer(out[0], n[0])[:]
        finally:
            native.free(out[0])


def _type_number(type_: Union[int, str]) -> int:
    if isinstance(type_, str) and type_ not in NODE_TYPES:
        raise Error(f"there is no type of nodes \"{type_}\"; there are {', '.join(NODE_TYPES)}",
                    "bad-value")
    return NODE_TYPES.index(type_) if isinstance(type_, str) else _whole("type", type_, 1 << 32)


def _whole(name: str, value: Any, end: int = 1 << 64) -> int:
    """A whole number from 0 on; fractions are refused, not cut."""
    try:
        number = operator.index(value)
    except TypeError:
        number = int(value) if isinstance(value, float) and value.is_integer() else -1
    if not 0 <= number < end:
        raise Error(f"{name} must be a whole number from 0 to {end - 1}, not {value!r}",
                    "bad-value")
    return number


def _check_attribute(key: str, value: Any) -> None:
    if not isinstance(value, (bool, int, str, float)):
        raise Error(f"attribute {key} has type {value.__class__.__name__}; expected a number, "
                    "text or bool", "bad-value")
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise Error(f"attribute {key} is {value}; whole numbers have 64 bits", "bad-value")


class TraceBuilder(_NoCopy):
    """Makes the trace of one rank node by node.

    >>> import halley as hl
    >>> b = hl.TraceBuilder()
    >>> first = b.compute("matmul", duration_us=100)
    >>> last = b.collective("sum", "ALL_REDUCE", 1 << 20, after=[first])
    >>> t = b.finish()
    >>> len(t.nodes), t.nodes.dependencies(1)
    (2, [0])
    """

    def __init__(self) -> None:
        native, out, err = _native.lib(), ffi.new("halley_builder **"), ffi.new("halley_error *")
        _native.check(native.halley_builder_new(out, err), err)
        self._c = out[0]
        self._next = 0

    def __del__(self) -> None:
        if getattr(self, "_c", None) is not None:
            self._drop()

    def _drop(self) -> None:
        out, c = ffi.new("halley_trace **"), self._c
        self._c = None
        if _native.lib().halley_builder_finish(out, c, ffi.NULL) == 0:
            _native.lib().halley_trace_free(out[0])

    def _call(self, status: int) -> None:
        if status != 0:
            raise Error("the node cannot be added; finish() says why", "bad-value")

    def node(self, type: Union[int, str], name: str, *, start_us: int = 0, duration_us: int = 0,
             after: Sequence[int] = (), control: Sequence[int] = (), **attributes: Any) -> int:
        """Add a node; returns its id. ``after`` and ``control`` are ids it waits for."""
        if self._c is None:
            raise Error("this builder is finished", "usage")
        if not isinstance(name, str):
            raise Error(f"the name of a node is text, not {name!r}", "bad-value")
        number, data = _type_number(type), name.encode()
        start, duration = _whole("start_us", start_us), _whole("duration_us", duration_us)
        first = [_whole("after", before) for before in after]
        second = [_whole("control", before) for before in control]
        for key, value in attributes.items():
            _check_attribute(key, value)
        native, node_id = _native.lib(), self._next
        self._call(native.halley_builder_node(self._c, node_id, number,
                                              (ffi.from_buffer(data), len(data))))
        self._next += 1
        if start or duration:
            self._call(native.halley_builder_time(self._c, start, duration))
        for before in first:
            self._call(native.halley_builder_data(self._c, before))
        for before in second:
            self._call(native.halley_builder_ctrl(self._c, before))
        for key, value in attributes.items():
            self._attribute(key, value)
        return node_id

    def _attribute(self, key: str, value: Any) -> None:
        native, name = _native.lib(), key.encode()
        if isinstance(value, bool):
            self._call(native.halley_builder_attr_bool(self._c, name, value))
        elif isinstance(value, int):
            self._call(native.halley_builder_attr_i64(self._c, name, value))
        elif isinstance(value, str):
            data = value.encode()
            self._call(native.halley_builder_attr_text(self._c, name,
                                                       (ffi.from_buffer(data), len(data))))
        elif isinstance(value, float):
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            label = ffi.from_buffer(name)
            attr = ffi.new("halley_attr *", {"name": (label, len(name)), "kind": 3, "bits": bits})
            self._call(native.halley_builder_attr(self._c, attr))

    def compute(self, name: str, *, duration_us: int = 0, flops: int = 0, bytes: int = 0,
                after: Sequence[int] = ()) -> int:
        """A kernel: a duration, or operations and bytes for the roofline."""
        extra: Dict[str, Any] = {"is_cpu_op": False}
        if flops:
            extra["num_ops"] = flops
        if bytes:
            extra["tensor_size"] = bytes
        return self.node("COMP_NODE", name, duration_us=duration_us, after=after, **extra)

    def collective(self, name: str, kind: str, bytes: int, *, group: str = "",
                   after: Sequence[int] = ()) -> int:
        """A collective of COLLECTIVES over a group ("" = all ranks)."""
        if kind not in COLLECTIVES:
            raise Error(f"there is no collective \"{kind}\"; there are {', '.join(COLLECTIVES)}",
                        "bad-value")
        extra: Dict[str, Any] = {"is_cpu_op": False, "comm_type": COLLECTIVES.index(kind),
                                 "comm_size": bytes}
        if group:
            extra["pg_name"] = group
        return self.node("COMM_COLL_NODE", name, after=after, **extra)

    def send(self, name: str, to: int, bytes: int, *, tag: int = 0,
             after: Sequence[int] = ()) -> int:
        """A message to another rank."""
        return self.node("COMM_SEND_NODE", name, after=after, is_cpu_op=False, comm_dst=to,
                         comm_size=bytes, comm_tag=tag)

    def receive(self, name: str, source: int, bytes: int, *, tag: int = 0,
                after: Sequence[int] = ()) -> int:
        """A message from another rank."""
        return self.node("COMM_RECV_NODE", name, after=after, is_cpu_op=False, comm_src=source,
                         comm_size=bytes, comm_tag=tag)

    def encode(self) -> bytes:
        """End the trace; its bytes as an .et file."""
        if self._c is None:
            raise Error("this builder is finished", "usage")
        native, out, err = _native.lib(), ffi.new("halley_trace **"), ffi.new("halley_error *")
        c, self._c = self._c, None
        _native.check(native.halley_builder_finish(out, c, err), err)
        owner = _Rank(out[0])
        native.halley_trace_free(out[0])
        return Rank(owner, 0).encode()

    def finish(self) -> Trace:
        """End the trace, as a set of one rank. For several, Trace.from_ranks([b.encode(), ...])."""
        return Trace.from_ranks([self.encode()])
