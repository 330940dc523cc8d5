"""HTML for notebooks. Every text from outside passes through ``escape``."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, Iterable, List, Sequence, Tuple

# Time: blue advances the model, orange and magenta are exposed communication, grey waits, teal is
# once per step.
PART_COLOURS = {
    "matmul": "#1d4ed8", "attention": "#3b82f6", "memory_bound": "#7dabf8", "recompute": "#93b8ee",
    "tensor_parallel": "#c2410c", "context_parallel": "#ea7a3c", "expert_parallel": "#b5338a",
    "pipeline_transfers": "#d977b8", "data_parallel": "#f0a35e", "bubble": "#9ca3af",
    "host": "#b8bec8", "meeting": "#6b7280", "accumulate": "#0f766e", "optimizer": "#2aa198",
    "offload": "#77c4bb", "other": "#cbd0d8",
}


def seconds(value: float) -> str:
    """Three digits with a unit."""
    for limit, scale, unit in ((86400.0, 86400.0, "days"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"),
                               (0.0, 1e-6, "us")):
        if value >= limit:
            return f"{digits(value / scale)} {unit}"
    return f"{digits(value)} s"


def size(value: float) -> str:
    """Bytes in decimal units."""
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= scale:
            return f"{digits(value / scale)} {unit}"
    return f"{value:.0f} B"


def digits(value: float) -> str:
    """Three significant digits without an exponent, thousands separated."""
    if value >= 1000:
        return f"{value:,.0f}"
    places = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{places}f}"


def label(key: str) -> str:
    """A key in words."""
    return key.replace("_", " ")


def rows(pairs: Iterable[Tuple[str, str]]) -> str:
    """A table of names and values."""
    body = "".join(f"<tr><th style='text-align:left'>{escape(a)}</th><td>{escape(b)}</td></tr>"
                   for a, b in pairs)
    return f"<table>{body}</table>"


def table(columns: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """A table with a header."""
    head = "".join(f"<th>{escape(str(c))}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in line) + "</tr>"
                   for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def stacked(parts: Dict[str, float]) -> str:
    """A bar of shares with its key below."""
    total = sum(v for v in parts.values() if v > 0)
    if total <= 0:
        return ""
    boxes: List[str] = []
    keys: List[str] = []
    for name, value in parts.items():
        share = value / total
        if share < 5e-4:
            continue
        colour = PART_COLOURS.get(name, "#cbd0d8")
        title = f"{label(name)}: {seconds(value)}, {100 * share:.1f} %"
        boxes.append(f"<div title='{escape(title)}' style='width:{100 * share:.3f}%;"
                     f"background:{colour}'></div>")
        keys.append(f"<span style='white-space:nowrap;margin-right:1em'><span style='display:"
                    f"inline-block;width:.8em;height:.8em;background:{colour}'></span> "
                    f"{escape(title)}</span>")
    return (f"<div style='display:flex;height:22px;max-width:720px'>{''.join(boxes)}</div>"
            f"<div style='max-width:720px;font-size:90%'>{' '.join(keys)}</div>")


def memory(parts: Dict[str, float], capacity: float, headroom: float) -> str:
    """A bar of memory classes against the capacity."""
    whole = max(capacity, sum(parts.values()))
    greys = ["#166534", "#22894b", "#63b27f", "#b7791f", "#d9a441", "#8d94a0", "#c3c8d0"]
    boxes = "".join(
        f"<div title='{escape(label(name))}: {size(value)}' style='width:{100 * value / whole:.3f}%;"
        f"background:{greys[i % len(greys)]}'></div>"
        for i, (name, value) in enumerate(parts.items()) if value > 0)
    used = sum(parts.values())
    return (f"<div style='display:flex;height:16px;max-width:720px;background:#eef0f3'>{boxes}"
            f"</div><div style='font-size:90%'>memory {size(used)} of {size(capacity)} "
            f"({100 * used / capacity:.0f} %), {100 * headroom:.0f} % headroom</div>")
