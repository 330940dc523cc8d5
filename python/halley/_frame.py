"""Tables of results: a pandas.DataFrame where pandas is installed, else a list of dicts."""

from __future__ import annotations

from typing import Any, Dict, List, Sequence


def flatten(row: Dict[str, Any], prefix: str = "") -> Dict[str, Any]:
    """Nested objects as columns: {"plan": {"tp": 8}} is {"plan.tp": 8}."""
    out: Dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(flatten(value, f"{prefix}{key}."))
        else:
            out[prefix + key] = value
    return out


def frame(rows: Sequence[Dict[str, Any]]) -> Any:
    """A DataFrame of the rows, or the rows themselves without pandas."""
    flat: List[Dict[str, Any]] = [flatten(row) for row in rows]
    try:
        import pandas
    except ImportError:
        return flat
    return pandas.DataFrame(flat)
