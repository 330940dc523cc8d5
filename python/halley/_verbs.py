"""One function per verb of the request interface."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Dict, Optional, Sequence, Union

from . import _native
from ._errors import Error
from ._progress import Bar, Progress, look_of
from ._result import Estimate, Exploration, Plans, Result, Simulation

Document = Union[str, "Mapping[str, Any]", "os.PathLike[str]"]


_AS_THEY_ARE = frozenset((str, int, float, bool, type(None)))


def plain(value: Any) -> Any:
    """What a request takes: our own objects and paths as names or documents."""
    if type(value) in _AS_THEY_ARE:
        return value
    spec = getattr(value, "_halley_spec_", None)
    if spec is not None:
        return spec()
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def request(do: str, *, progress: Progress = None, **keys: Any) -> Dict[str, Any]:
    """Carry out any request; its result as a plain dict.

    ``do`` is the verb ("estimate", "trace.info"), the other arguments are its keys;
    ``request("schema")`` describes them all. An argument that is None is left out.

    >>> import halley as hl
    >>> hl.request("version")["api"]
    1
    """
    text = _encode(do, **keys)
    look = look_of(progress)
    if look is None and do in _QUICK:
        return _native.result_of(_native.call(text))
    watch = _native.Watch(look)
    try:
        return _native.result_of(_native.call_in_thread(text, watch))
    finally:
        if isinstance(look, Bar):
            look.close()


def _encode(do: str, **keys: Any) -> bytes:
    """The text of a request without the keys that are None."""
    document: Dict[str, Any] = {"do": do}
    for key, value in keys.items():
        try:
            if value is not None:
                document[key] = value if type(value) in _AS_THEY_ARE else plain(value)
        except RecursionError:
            raise Error(f"{key} contains itself, or is nested too deeply", "bad-value") from None
    return _native.encode(document)


# Verbs that take milliseconds: no thread of their own.
_QUICK = frozenset(("estimate", "presets", "schema", "version"))


def estimate(model: Document, cluster: Document, *, stack: Optional[Document] = None,
             plan: Optional[Document] = None, **keys: Any) -> Estimate:
    """Estimate one design: how long a step takes, why, and whether it fits.

    Model, cluster, stack and plan are a preset's name, a path, or the document itself (a dict or
    YAML text). Keys of the plan (tp, pp, virtual, micro_batch, ...) and options (tokens, headroom,
    explain, strict) are keyword arguments.

    >>> import halley as hl
    >>> e = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16)
    >>> e.fits and 0.3 < e.mfu < 0.7
    True
    """
    if "progress" in keys:
        return Estimate(request("estimate", model=model, cluster=cluster, stack=stack, plan=plan,
                                **keys))
    text = _encode("estimate", model=model, cluster=cluster, stack=stack, plan=plan, **keys)
    return Estimate._of_reply(_native.check_reply(_native.call(text)))


def plan(model: Document, cluster: Document, *, progress: Progress = None, **keys: Any) -> Plans:
    """Find the best parallelizations of a model on a cluster.

    >>> import halley as hl
    >>> hl.plan("llama3-8b", "dgx-h100:8", global_batch=16, top=2).best.fits
    True
    """
    given = {"model": model, "cluster": cluster, **keys}
    return Plans(request("plan", progress=progress, **given), plain(given))


def explore(study: Document, *, progress: Progress = None, **keys: Any) -> Exploration:
    """Evaluate every design of a study: a path, YAML text or a dict.

    ``store`` keeps the designs, ``resume=True`` continues a run that was cancelled, ``report``
    writes a page of figures.

    >>> import halley as hl
    >>> study = {"name": "tp", "model": "llama3-8b", "cluster": "dgx-h100:8",
    ...          "plan": {"global-batch": 16}, "vary": {"plan.tp": [1, 2, 4, 8]},
    ...          "objective": {"minimize": "step-time"}}
    >>> hl.explore(study).evaluated
    4
    """
    given = {"study": study, **keys}
    return Exploration(request("explore", progress=progress, **given), plain(given))


def results(store: Union[str, "os.PathLike[str]"], **keys: Any) -> Result:
    """Read a store of designs; ``sql`` runs a SELECT on it.

    >>> import halley as hl
    >>> import os, tempfile
    >>> study = {"name": "tp", "model": "llama3-8b", "cluster": "dgx-h100:8",
    ...          "plan": {"global-batch": 16}, "vary": {"plan.tp": [1, 2]},
    ...          "objective": {"minimize": "step-time"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = os.path.join(folder, "tp.db")
    ...     explored = hl.explore(study, store=store)
    ...     len(hl.results(store).to_dict()) > 0
    True
    """
    return Result(request("results", store=store, **keys))


def _trace_paths(trace: Any) -> Any:
    spec = getattr(trace, "_halley_spec_", None)
    return spec() if spec is not None else plain(trace)


def sim(trace: Any = None, cluster: Optional[Document] = None, *,
        model: Optional[Document] = None, progress: Progress = None,
        **keys: Any) -> Simulation:
    """Simulate a trace set, or (with ``model``) the step of a plan, on a cluster.

    ``trace`` is a Trace, a path or prefix, or a list of paths.

    >>> import halley as hl
    >>> run = hl.sim(model="llama3-8b", cluster="dgx-h100:8", tp=2, global_batch=16)
    >>> 0.1 < run.time_s < 10
    True
    """
    if trace is None and model is None:
        raise Error("sim needs a trace, or a model with its plan", "usage")
    paths = None if trace is None else _trace_paths(trace)
    given = {"trace": paths, "cluster": cluster, "model": model, **keys}
    return Simulation(request("sim", progress=progress, **given), plain(given), (trace, cluster))


def score(files: Union[str, Sequence[str], None] = None, *, progress: Progress = None,
          **keys: Any) -> Result:
    """Compare predictions with measured runs: sets by name, or your own file.

    >>> import halley as hl
    >>> hl.score("mlperf-405b").sets[0]["set"]
    'mlperf-405b'
    """
    return Result(request("score", progress=progress, runs=files, **keys))


def calibrate(*args: Any, progress: Progress = None, **keys: Any) -> Result:
    """Fit the constants of a stack to measured runs."""
    if args:
        keys["runs"] = list(args)
    return Result(request("calibrate", progress=progress, **keys))


def presets(name: Optional[str] = None) -> Any:
    """All presets as a table, those of one kind ("npus"), or the text of one by name.

    A path shows what halley reads from that file.

    >>> import halley as hl
    >>> len(hl.presets("npus")) > 20
    True
    """
    from ._frame import frame

    if name is None or name in _KINDS:
        rows = request("presets")["presets"]
        kind = _KINDS.get(name or "")
        return frame([row for row in rows if kind is None or row["kind"] == kind])
    return Result(request("presets", name=name))


_KINDS = {"models": "model", "clusters": "cluster", "npus": "npu", "stacks": "stack",
          "fabrics": "fabric", "studies": "study"}


def link(files: Union[str, Sequence[str]], output: Optional[str] = None, *,
         progress: Progress = None, **keys: Any) -> Any:
    """Turn a profiler's recording into a trace set, and open it.

    One file (Kineto, nsys, xplane, rocprofv3), two of them (execution trace and Kineto), or a
    folder. Without ``output`` the set is kept in a temporary folder as long as the Trace lives.
    """
    from ._trace import Trace, temporary_folder

    folder = None
    if output is None:
        folder = temporary_folder()
        output = os.path.join(folder.name, "linked")
    found = request("trace.link", progress=progress, recording=files, out=output, **keys)
    return Trace(found.get("written", output) if isinstance(found.get("written"), str) else output,
                 _folder=folder, _info=found)


def kernels(file: str, **keys: Any) -> Result:
    """Where the device's time goes in a recording: classes, idle causes, verdict."""
    return Result(request("trace.info", trace=file, kernels=True, **keys))


class topology:
    """Networks as graphs: sizes, bisection, cost, pictures, flows.

    >>> import halley as hl
    >>> ring = {"topology": "ring", "n": 8, "link": "50 GB/s", "latency": "1 us"}
    >>> hl.topology.show(ring).diameter_hops
    4
    >>> hl.topology.check(ring).connected
    True
    """

    @staticmethod
    def show(topology: Document, **keys: Any) -> Result:
        """Sizes, diameter, bisection, oversubscription, cost."""
        return Result(request("topology.show", topology=topology, **keys))

    @staticmethod
    def check(topology: Document, **keys: Any) -> Result:
        """Is the graph connected, are its numbers possible?"""
        return Result(request("topology.check", topology=topology, **keys))

    @staticmethod
    def convert(topology: Document, output: str, **keys: Any) -> Result:
        """Write it in another program's form."""
        return Result(request("topology.convert", topology=topology, output=output, **keys))

    @staticmethod
    def compare(a: Document, b: Document, **keys: Any) -> Result:
        """Two networks side by side."""
        return Result(request("topology.compare", topologies=[a, b], **keys))

    @staticmethod
    def flows(file: Document, **keys: Any) -> Result:
        """Run a file of flows through the max-min solver."""
        return Result(request("topology.flows", flows=file, **keys))
