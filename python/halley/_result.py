"""Results: the objects of the JSON vocabulary with attributes, tables and pictures."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, Optional

from . import _html
from ._errors import Error
from ._frame import frame
from ._native import member_of, result_of


def wrap(value: Any) -> Any:
    """Objects as Result, so that ``e.error_bar.typical`` works."""
    if isinstance(value, dict):
        return Result(value)
    if isinstance(value, list):
        return [wrap(item) for item in value]
    return value


class Result(Mapping):
    """A JSON object whose keys are attributes, too: ``r["step_s"]`` is ``r.step_s``.

    ``halley help json`` lists every key with its unit. ``to_dict()`` gives the plain object.

    >>> import halley as hl
    >>> e = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16)
    >>> e["step_s"] == e.step_s == e.to_dict()["step_s"]
    True
    """

    _data: Dict[str, Any]
    _reply: bytes

    def __init__(self, data: Dict[str, Any]) -> None:
        self._data = data

    @classmethod
    def _of_reply(cls, reply: bytes) -> Any:
        """The result of a reply that is known to have one; it is decoded when first looked at."""
        made = cls.__new__(cls)
        made._reply = reply
        return made

    def _member(self, key: str) -> Any:
        """One value; a reply that is not decoded yet is asked for this value alone."""
        if "_data" not in self.__dict__ and isinstance(key, str) and key.isidentifier():
            try:
                return wrap(member_of(self._reply, key))
            except KeyError:
                pass
        return wrap(self._data[key])

    def __getitem__(self, key: str) -> Any:
        return self._member(key)

    def __getattr__(self, name: str) -> Any:
        if name == "_data":  # of _of_reply; from now on it is an attribute like any other
            self._data = result_of(self._reply)
            return self._data
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._member(name)
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no \"{name}\"; it has "
                                 f"{', '.join(self._data)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __dir__(self) -> List[str]:
        return sorted(set(super().__dir__()) | set(self._data))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({json.dumps(self._data)[:200]})"

    def __getstate__(self) -> Dict[str, Any]:
        return {"_data": self._data}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)

    def to_dict(self) -> Dict[str, Any]:
        """The plain object, as the command prints it with --json."""
        return self._data

    def table(self, key: str) -> Any:
        """The list of objects under ``key`` as a DataFrame (a list of dicts without pandas)."""
        return frame(self._data.get(key, []))


class Estimate(Result):
    """One design: time, where it goes, memory, whether it fits, money.

    >>> import halley as hl
    >>> e = hl.estimate("llama3-70b", "dgx-h100:64", tp=8, pp=2, global_batch=128)
    >>> e.fits, round(sum(e.parts_s.values()) / e.step_s, 6)
    (True, 1.0)
    """

    @property
    def breakdown(self) -> Any:
        """Where the time goes: part, seconds, share. A DataFrame with pandas."""
        return frame([{"part": name, "time_s": value, "share": value / self._data["step_s"]}
                      for name, value in self._data["parts_s"].items()])

    @property
    def memory(self) -> Any:
        """Memory of every pipeline stage by class. A DataFrame with pandas."""
        return frame(self._data.get("stages", []))

    def _error_text(self) -> str:
        bar = self._data.get("error_bar") or {}
        if "typical" not in bar:
            return "no error bar"
        text = f"+- {100 * bar['typical']:.0f} % typical, {100 * bar['bound']:.0f} % bound"
        return text if bar.get("measured", True) else text + "; no run of this chip was compared"

    def _repr_html_(self) -> str:
        d = self._data
        head = (f"<b>{_html.escape(str(d.get('model')))}</b> on "
                f"<b>{_html.escape(str(d.get('cluster')))}:{d.get('npus')}</b>")
        fit = _html.escape(str(d.get("fit", "")))
        return (f"<div>{head}<div style='font-size:180%'>{_html.seconds(d['step_s'])} "
                f"<span style='font-size:55%;color:#667'>per step, "
                f"{_html.escape(self._error_text())}</span></div>"
                f"<div>MFU {100 * d['mfu']:.1f} %, {_html.digits(d['tokens_per_s'])} tokens/s, "
                f"{fit}</div>{_html.stacked(d['parts_s'])}"
                f"{_html.memory(d['memory_bytes'], d['capacity_bytes'], d['headroom'])}</div>")

    def plot(self, ax: Any = None) -> Any:
        """The parts of the step as bars (matplotlib); returns the axes."""
        ax = axes_of(ax)
        parts = {k: v for k, v in self._data["parts_s"].items()
                 if v > 5e-4 * self._data["step_s"]}
        names = [_html.label(k) for k in parts]
        ax.barh(names, list(parts.values()),
                color=[_html.PART_COLOURS.get(k, "#cbd0d8") for k in parts])
        ax.invert_yaxis()
        ax.set_xlabel("seconds per step")
        ax.set_title(f"{self._data['model']} on {self._data['cluster']}: "
                     f"{_html.seconds(self._data['step_s'])} per step")
        return ax


class Plans(Result):
    """The best parallelizations, fastest first.

    ``df`` is a DataFrame with one row per plan; ``best`` the Estimate of the first.

    >>> import halley as hl
    >>> plans = hl.plan("llama3-8b", "dgx-h100:8", global_batch=16, top=2)
    >>> len(plans.df), plans.take(1).step_s >= plans.best.step_s
    (2, True)
    """

    def __init__(self, data: Dict[str, Any], request: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(data)
        self._request: Dict[str, Any] = request or {}

    def __getstate__(self) -> Dict[str, Any]:
        return {"_data": self._data, "_request": self._request}

    @property
    def df(self) -> Any:
        """One row per plan; its keys as plan.tp and so on. A DataFrame with pandas."""
        return frame(self._data["plans"])

    def take(self, index: int = 0) -> Estimate:
        """The Estimate of a plan of the list."""
        from ._verbs import estimate

        if not self._data["plans"]:
            raise Error("no plan fits; ask with all=True for plans that do not", "infeasible")
        keep = {k: v for k, v in self._request.items()
                if k in ("model", "cluster", "stack", "headroom", "tokens", "set", "vocab")}
        return estimate(**keep, plan=self._data["plans"][index]["plan"])

    @property
    def best(self) -> Estimate:
        """The Estimate of the fastest plan."""
        return self.take(0)

    def _repr_html_(self) -> str:
        lines = []
        for row in self._data["plans"]:
            p = row["plan"]
            lines.append([row["rank"], _html.seconds(row["step_s"]), f"{100 * row['mfu']:.1f} %",
                          _html.size(row["device_bytes"]), row["fit"], p["tp"], p["pp"], p["dp"],
                          p["cp"], p["ep"], p["virtual"], p["micro_batch"], p["zero"],
                          p["recompute"], "tie" if row.get("tie") else ""])
        return _html.table(["", "step", "MFU", "memory", "fit", "tp", "pp", "dp", "cp", "ep",
                            "virtual", "micro-batch", "zero", "recompute", ""], lines)


class Simulation(Result):
    """One simulated step: when every rank is done, what the links carried, and why.

    What the simulation did not keep (rows of ranks, timeline, heat) is simulated again when it is
    asked for.

    >>> import halley as hl
    >>> run = hl.sim(model="llama3-8b", cluster="dgx-h100:8", tp=2, global_batch=16)
    >>> len(run.ranks), run["ranks"]
    (8, 8)
    """

    def __init__(self, data: Dict[str, Any], request: Optional[Dict[str, Any]] = None,
                 keep: Any = None) -> None:
        super().__init__(data)
        self._request: Dict[str, Any] = request or {}
        self._keep = keep  # whose files the request names
        self._rank_rows: Optional[List[Dict[str, Any]]] = None

    def __getstate__(self) -> Dict[str, Any]:
        return {"_data": self._data, "_request": self._request, "_keep": self._keep,
                "_rank_rows": self._rank_rows}

    def _again(self, **more: Any) -> Dict[str, Any]:
        from ._verbs import request

        if not self._request:
            raise Error("this simulation was not made by hl.sim, which could repeat it", "usage")
        return request("sim", **{**self._request, **more})

    @property
    def ranks(self) -> Any:
        """One row per rank. A DataFrame with pandas."""
        if self._rank_rows is None:
            rows = self._data.get("rank_rows", self._data.get("ranks"))
            if not isinstance(rows, list):  # of a plan: how many there are
                rows = self._again(per_rank=True)["rank_rows"]
            self._rank_rows = rows
        return frame(self._rank_rows)

    def timeline(self, path: str, **keys: Any) -> None:
        """Write a timeline for Perfetto to ``path``. It shows one rank of each symmetry class,
        and those that ``expand`` names."""
        self._again(timeline=path, **keys)

    def heat(self, path: Optional[str] = None) -> Any:
        """How busy the links are over time: a DataFrame with pandas. With ``path`` it is written
        there instead: as CSV, or as a picture where the name ends in .svg."""
        if path is not None:
            self._again(heat=path)
            return None
        with tempfile.TemporaryDirectory(prefix="halley-") as folder:
            file = os.path.join(folder, "heat.csv")
            self._again(heat=file)
            with open(file, encoding="utf-8", newline="") as lines:
                rows = [{key: float(value) if key.endswith(("_s", "use")) else int(value)
                         for key, value in row.items()} for row in csv.DictReader(lines)]
        return frame(rows)

    @property
    def links(self) -> Any:
        """The hottest links with who used them. A DataFrame with pandas."""
        return frame(self._data.get("links") or self._data.get("hottest_links") or [])

    @property
    def critical_path(self) -> Any:
        """The longest steps of the critical path. A DataFrame with pandas."""
        path = self._data.get("critical_path") or {}
        return frame(path.get("longest", []))

    @property
    def time_s(self) -> float:
        """When the last rank is done."""
        return self._data["step_s"] if "step_s" in self._data else self._data["time_s"]

    def _repr_html_(self) -> str:
        d = self._data
        facts = [("time", _html.seconds(self.time_s)),
                 ("accelerators", str(d.get("npus", ""))), ("events", str(d.get("events", "")))]
        links = d.get("links") or d.get("hottest_links") or []
        shown = [[link.get("link"), f"{100 * link.get('use', 0):.1f} %", link.get("mostly_by", "")]
                 for link in links[:5]]
        return _html.rows(facts) + (_html.table(["link", "use", "mostly by"], shown)
                                    if shown else "")


class Exploration(Result):
    """The answer of a study: every design that was asked for, the best, the front, why."""

    def __init__(self, data: Dict[str, Any], request: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(data)
        self._request: Dict[str, Any] = request or {}

    def __getstate__(self) -> Dict[str, Any]:
        return {"_data": self._data, "_request": self._request}

    @staticmethod
    def _rows(designs: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        out = []
        for d in designs:
            row = {"id": d.get("id"), "model": d.get("model"), "cluster": d.get("cluster")}
            row.update(d.get("varied", {}))
            row.update(d.get("results", {}))
            row["fits"] = d.get("fits")
            row["limit"] = d.get("limit")
            out.append(row)
        return out

    @property
    def df(self) -> Any:
        """The designs that were kept, best first; varied parameters and results as columns."""
        return frame(self._rows(self._data.get("best", [])))

    @property
    def front(self) -> Any:
        """The Pareto front. A DataFrame with pandas."""
        return frame(self._rows(self._data.get("front", [])))

    @property
    def best(self) -> Result:
        """The best design."""
        if not self._data.get("best"):
            raise Error("no design of the study is feasible", "infeasible")
        return Result(self._data["best"][0])

    @property
    def sensitivity(self) -> Any:
        """How much each parameter matters around the best design. A DataFrame with pandas."""
        return frame(self._data.get("sensitivities", []))

    def plot(self, x: str, y: str, ax: Any = None) -> Any:
        """Two results against each other, Pareto front marked (matplotlib); returns the axes."""
        from ._frame import flatten

        ax = axes_of(ax)
        points = [flatten(r) for r in self._rows(self._data.get("best", []))]
        front = {r["id"] for r in self._rows(self._data.get("front", []))}
        for axis in (x, y):
            if points and axis not in points[0]:
                raise Error(f"no result is called \"{axis}\"; there are "
                            f"{', '.join(sorted(points[0]))}", "bad-value")
        for group, marker, face in ((True, "o", "#1d4ed8"), (False, "o", "none")):
            chosen = [p for p in points if (p["id"] in front) == group]
            ax.plot([p[x] for p in chosen], [p[y] for p in chosen], marker, color="#1d4ed8",
                    markerfacecolor=face, linestyle="none",
                    label="on the Pareto front" if group else "beaten")
        ax.set_xlabel(x)
        ax.set_ylabel(y)
        if front:
            ax.legend()
        return ax

    def report(self, path: str) -> None:
        """Write the study's page of figures (HTML) to ``path``."""
        from ._verbs import explore

        keys: Dict[str, Any] = {k: v for k, v in self._request.items() if k != "study"}
        keys["report"] = path
        explore(self._request["study"], **keys)

    def _repr_html_(self) -> str:
        d = self._data
        facts = [("study", str(d.get("study", ""))), ("designs", str(d.get("evaluated", ""))),
                 ("feasible", str(d.get("feasible", "")))]
        shown = [[i + 1, row["cluster"], _html.seconds(row.get("step_s", 0.0)), row["limit"]]
                 for i, row in enumerate(self._rows(d.get("best", []))[:10])]
        return _html.rows(facts) + _html.table(["", "cluster", "step", "limit"], shown)


def axes_of(ax: Any) -> Any:
    """The given axes, or new ones; an Error where matplotlib is missing."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise Error("plots need matplotlib (Debian: python3-matplotlib)",
                    "unsupported") from None
    return pyplot.subplots()[1]
