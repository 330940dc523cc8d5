"""Errors of the library as exceptions."""

from __future__ import annotations

from typing import Any, Dict, Optional


class Error(Exception):
    """A request failed.

    ``code`` is the kind of failure: usage, not-found, bad-file, bad-value, infeasible,
    unsupported, cancelled, limit, internal, or a code of a topology file. ``file``, ``line`` and
    ``column`` say where, ``hint`` what to do; each is None when it is not known.
    """

    def __init__(self, message: str, code: str = "internal", file: Optional[str] = None,
                 line: Optional[int] = None, column: Optional[int] = None,
                 hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        return f"{place}: {self.message}" if place else self.message

    def __reduce__(self) -> Any:
        return (type(self), (self.message, self.code, self.file, self.line, self.column, self.hint))


class Infeasible(Error):
    """The design cannot run: degrees that do not divide, a schedule's rule, an empty study.

    A plan that merely does not fit into memory is a result with ``fits`` False; with
    ``strict=True`` it is Infeasible, too.
    """


class Cancelled(Error):
    """The work was cancelled by its ``progress`` function."""


class LibraryError(Error):
    """libhalley.so is missing, cannot be loaded, or is of another version."""


_CLASSES = {"infeasible": Infeasible, "cancelled": Cancelled}


def from_reply(error: Dict[str, Any]) -> Error:
    """The exception for the "error" object of a reply."""
    kind = _CLASSES.get(error.get("code", ""), Error)
    return kind(error.get("message", "unknown error"), error.get("code", "internal"),
                error.get("file"), error.get("line"), error.get("column"), error.get("hint"))
