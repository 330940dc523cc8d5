"""Many estimates at once: columns of plan keys in, columns of results out."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _native
from ._errors import Error
from ._frame import frame
from ._native import ffi
from ._progress import Progress, look_of
from ._verbs import Document, plain

METRICS = ("step_s", "tokens_per_s", "mfu", "device_bytes", "fits", "cost_usd", "energy_J")


def _columns_of(designs: Any) -> Dict[str, List[Any]]:
    """A DataFrame, a dict of columns or a list of dicts as columns."""
    if hasattr(designs, "columns") and hasattr(designs, "to_dict"):
        return {str(name): designs[name] for name in designs.columns}
    if isinstance(designs, Mapping):
        for name, values in designs.items():
            if isinstance(values, str) or not hasattr(values, "__len__"):
                raise Error(f"{name} must be a column of values, one per design, not {values!r}",
                            "bad-value")
        return dict(designs)
    if not isinstance(designs, (list, tuple)) or \
            not all(isinstance(row, Mapping) for row in designs):
        raise Error("designs are a DataFrame, a dict of columns or a list of dicts, not "
                    f"{type(designs).__name__}", "usage")
    names = list(dict.fromkeys(key for row in designs for key in row))
    for i, row in enumerate(designs):
        for name in names:
            if name not in row:
                raise Error(f"design {i} has no \"{name}\", but another has; give every design "
                            "the same keys", "bad-value")
    return {name: [row[name] for row in designs] for name in names}


def _check_names(columns: Dict[str, Any], metrics: Any) -> None:
    for name in columns:
        if not isinstance(name, str):
            raise Error(f"a column is named by a key of the plan, not by {name!r}", "bad-value")
    if isinstance(metrics, str) or not isinstance(metrics, (list, tuple)) or \
            not all(isinstance(name, str) for name in metrics):
        raise Error(f"metrics are a list of names, such as {METRICS[:2]}, not {metrics!r}",
                    "bad-value")


def _text(value: Any) -> str:
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return "yes" if value else "no"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)


def _codes(name: str, values: Any) -> Tuple[List[str], Any]:
    """Distinct values as texts, and which one each design has."""
    try:
        import numpy
    except ImportError:
        table: Dict[Any, int] = {}
        codes = [table.setdefault(v, len(table)) for v in values]
        return [_text(v) for v in table], ffi.new("uint32_t[]", codes)
    try:
        array = numpy.asarray(values)
    except ValueError:
        array = numpy.empty((0, 0))
    if array.ndim != 1:
        raise Error(f"{name} must hold one value per design", "bad-value")
    if array.dtype.kind == "f" and not numpy.isfinite(array).all():
        raise Error(f"{name} has a value that is not a number", "bad-value")
    distinct, codes = numpy.unique(array, return_inverse=True)
    return ([_text(v) for v in distinct.tolist()],
            numpy.ascontiguousarray(codes, dtype=numpy.uint32))


def _distinct(coded: List[Tuple[List[str], Any]]) -> Tuple[Any, Any]:
    """Rows that are the first of their kind, and which of them each row equals.

    (None, None) where all rows differ, or numpy is missing.
    """
    try:
        import numpy
    except ImportError:
        return None, None
    if not coded:
        return None, None
    combined, size = numpy.zeros(len(coded[0][1]), numpy.int64), 1
    for texts, codes in coded:
        size *= max(1, len(texts))
        if size >= 1 << 62:
            return None, None
        combined = combined * len(texts) + codes
    _, first, back = numpy.unique(combined, return_index=True, return_inverse=True)
    return (first, back) if len(first) < len(combined) else (None, None)


def _pointer(kind: str, array: Any) -> Any:
    if isinstance(array, ffi.CData):
        return array
    return ffi.cast(kind, ffi.from_buffer(array))


def _outputs(n: int, names: Sequence[str]) -> Tuple[Dict[str, Any], Any]:
    try:
        import numpy
    except ImportError:
        return {name: ffi.new("double[]", [float("nan")] * n) for name in names}, \
            ffi.new("uint32_t[]", n)
    return {name: numpy.full(n, numpy.nan) for name in names}, numpy.zeros(n, numpy.uint32)


class Batch:
    """A model on a cluster, loaded once, for any number of designs; see estimate_many.

    >>> import halley as hl
    >>> batch = hl.Batch("llama3-8b", "dgx-h100:8", global_batch=16)
    >>> len(batch.run([{"tp": 1}, {"tp": 2}])["step_s"])
    2
    """

    def __init__(self, model: Document, cluster: Document, **keys: Any) -> None:
        document = {"do": "estimate", "model": plain(model), "cluster": plain(cluster)}
        document.update((k, plain(v)) for k, v in keys.items() if v is not None)
        self._open(document)

    def _open(self, document: Dict[str, Any]) -> None:
        self._document = document
        native, out, err = _native.lib(), ffi.new("halley_batch **"), ffi.new("halley_error *")
        _native.check(native.halley_batch_open(out, _native.encode(document), err), err)
        self._c = ffi.gc(out[0], native.halley_batch_free)

    def __getstate__(self) -> Dict[str, Any]:
        return self._document

    def __setstate__(self, document: Dict[str, Any]) -> None:
        self._open(document)

    def run(self, designs: Any, metrics: Sequence[str] = METRICS,
            progress: Progress = None) -> Dict[str, Any]:
        """Columns of the metrics and "refused": None, or why that design has no estimate."""
        native = _native.lib()
        columns = _columns_of(designs)
        _check_names(columns, metrics)
        n = len(next(iter(columns.values()))) if columns else 0
        coded: List[Tuple[List[str], Any]] = []
        for name, values in columns.items():
            if len(values) != n:
                raise Error(f"{name} has {len(values)} values, others {n}", "bad-value")
            coded.append(_codes(name, values))
        first, back = _distinct(coded)
        if first is not None:
            found = self._run(native, list(columns), [(t, c[first]) for t, c in coded],
                              len(first), metrics, progress)
            spread = {name: values[back] for name, values in found.items() if name != "refused"}
            spread["refused"] = [found["refused"][i] for i in back.tolist()]
            return spread
        return self._run(native, list(columns), coded, n, metrics, progress)

    def _run(self, native: Any, names: List[str], coded: List[Tuple[List[str], Any]], n: int,
             metrics: Sequence[str], progress: Progress) -> Dict[str, Any]:
        keep: List[Any] = []
        keys = ffi.new("halley_batch_key[]", max(1, len(names)))
        for i, name in enumerate(names):
            texts, codes = coded[i]
            held = [ffi.new("char[]", text.encode()) for text in texts]
            table = ffi.new("char *[]", held)
            key = ffi.new("char[]", name.encode())
            keep += [held, table, key, codes]
            keys[i].key, keys[i].values, keys[i].n_values = key, table, len(texts)
            keys[i].value_of = _pointer("uint32_t *", codes)
        outputs, refusal = _outputs(n, metrics)
        wanted = ffi.new("halley_batch_metric[]", max(1, len(metrics)))
        for i, name in enumerate(metrics):
            label = ffi.new("char[]", name.encode())
            keep.append(label)
            wanted[i].name, wanted[i].values = label, _pointer("double *", outputs[name])
        return self._call(native, n, keys, len(names), wanted, metrics, outputs, refusal,
                          progress)

    def _call(self, native: Any, n: int, keys: Any, n_keys: int, wanted: Any,
              metrics: Sequence[str], outputs: Dict[str, Any], refusal: Any,
              progress: Progress) -> Dict[str, Any]:
        reasons, n_reasons = ffi.new("char ***"), ffi.new("size_t *")
        err = ffi.new("halley_error *")
        watch = _native.Watch(look_of(progress))
        status = native.halley_batch_run(self._c, n, keys, n_keys, wanted, len(metrics),
                                         _pointer("uint32_t *", refusal), reasons, n_reasons,
                                         watch.c, err)
        if watch.problem is not None:
            raise watch.problem
        _native.check(status, err)
        texts: List[Optional[str]] = [None] + [ffi.string(reasons[0][i]).decode("utf-8", "replace")
                                               for i in range(n_reasons[0])]
        native.halley_batch_free_refusals(reasons[0], n_reasons[0])
        result: Dict[str, Any] = {
            name: list(values) if isinstance(values, ffi.CData) else values
            for name, values in outputs.items()}
        if len(texts) == 1:
            result["refused"] = [None] * n
        else:
            result["refused"] = [texts[int(code)] for code in refusal]
        return result


def estimate_many(designs: Any, model: Document, cluster: Document, *,
                  metrics: Sequence[str] = METRICS, progress: Progress = None,
                  **keys: Any) -> Any:
    """Estimate many designs of one model on one cluster.

    ``designs`` is a DataFrame, a dict of columns or a list of dicts with keys of the plan. The
    answer is a DataFrame (a list of dicts without pandas) with these columns, the metrics and
    ``refused``: None, or the sentence that says why a design cannot run; its numbers are NaN.

    >>> import halley as hl
    >>> df = hl.estimate_many({"tp": [1, 2, 4, 8]}, "llama3-8b", "dgx-h100:8", global_batch=16)
    >>> len(df)
    4
    """
    columns = _columns_of(designs)
    found = Batch(model, cluster, **keys).run(columns, metrics, progress)
    merged = {**columns, **found}
    try:
        import pandas
    except ImportError:
        names = list(merged)
        return [dict(zip(names, row)) for row in zip(*merged.values())]
    out = pandas.DataFrame({k: v for k, v in merged.items()})
    if "fits" in out:
        out["fits"] = out["fits"] == 1.0
    return out


__all__ = ["Batch", "estimate_many", "frame"]
