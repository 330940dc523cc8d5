"""The shared library: found, checked and called through cffi in ABI mode.

cffi releases the GIL during every call, so many threads may estimate and simulate at once.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import threading
from typing import Any, Callable, Dict, List, Optional

from ._errors import Cancelled, Error, LibraryError, from_reply

try:
    import cffi
except ImportError as _missing:  # pragma: no cover - depends on the machine
    raise LibraryError("the Python module cffi is missing; install it (Debian: python3-cffi)",
                       "unsupported") from _missing

VERSION = "0.2.0"  # of the library this package was made for; tests compare it with the headers
API = 1

CDEF = """
typedef struct halley_error {
    int code; char text[1024]; char file[512]; uint32_t line, column;
    int has_offset, has_node; uint64_t offset, node;
} halley_error;
typedef struct halley_progress {
    const char *what; const char *noun; uint64_t done; double total;
} halley_progress;
typedef struct halley_watch {
    bool (*look)(void *context, const halley_progress *progress); void *context;
} halley_watch;
typedef struct halley_bytes { const char *at; size_t n; } halley_bytes;
typedef struct halley_attr {
    halley_bytes name, doc; int kind; uint64_t bits; halley_bytes bytes, unknown;
} halley_attr;
typedef struct halley_attr_item { uint64_t bits; halley_bytes bytes; } halley_attr_item;
typedef struct halley_column { const uint64_t *at; uint32_t n; } halley_column;
typedef struct halley_columns {
    size_t size; uint32_t n; uint64_t first_id; const uint64_t *ids; const uint8_t *types;
    halley_column starts_us, durations_us;
    const uint32_t *data_first, *data; const uint32_t *ctrl_first, *ctrl;
} halley_columns;
typedef struct halley_batch_key {
    const char *key; const char *const *values; uint32_t n_values; const uint32_t *value_of;
} halley_batch_key;
typedef struct halley_batch_metric { const char *name; double *values; } halley_batch_metric;
typedef struct halley_trace halley_trace;
typedef struct halley_trace_set halley_trace_set;
typedef struct halley_builder halley_builder;
typedef struct halley_batch halley_batch;

void free(void *at);
const char *halley_version(void);
int halley_api(void);
int halley_request(char **reply, const char *json, const halley_watch *watch, halley_error *err);
int halley_request_confine(const char *folder, int read_only, halley_error *err);

int halley_trace_parse(halley_trace **out, const void *at, size_t n, const char *name,
                       const void *opts, halley_error *err);
halley_trace *halley_trace_keep(halley_trace *trace);
void halley_trace_free(halley_trace *trace);
uint32_t halley_trace_count(const halley_trace *trace);
const char *halley_trace_path(const halley_trace *trace);
int halley_trace_columns(halley_columns *out, const halley_trace *trace, halley_error *err);
halley_bytes halley_node_name(const halley_trace *trace, uint32_t node);
uint32_t halley_node_type_of(const halley_trace *trace, uint32_t node);
uint32_t halley_node_attr_count(const halley_trace *trace, uint32_t node);
halley_attr halley_node_attr(const halley_trace *trace, uint32_t node, uint32_t i);
bool halley_node_find_attr(halley_attr *out, const halley_trace *trace, uint32_t node,
                           const char *name);
bool halley_attr_list_next(const halley_attr *attr, size_t *cursor, halley_attr_item *item);
const char *halley_node_type_name(uint32_t type);
const char *halley_coll_type_name(uint64_t type);
uint32_t halley_trace_metadata_count(const halley_trace *trace);
halley_attr halley_trace_metadata(const halley_trace *trace, uint32_t i);
int halley_trace_save_et(const halley_trace *trace, const char *path, halley_error *err);
int halley_trace_encode_et(uint8_t **out, size_t *n, const halley_trace *trace,
                           halley_error *err);
int halley_trace_set_load(halley_trace_set **out, const char *const *paths, size_t n_paths,
                          const void *opts, halley_error *err);
int halley_trace_set_new(halley_trace_set **out, halley_trace *const *traces, uint32_t n,
                         halley_error *err);
void halley_trace_set_free(halley_trace_set *set);
uint32_t halley_trace_set_count(const halley_trace_set *set);
const halley_trace *halley_trace_set_get(const halley_trace_set *set, uint32_t rank);
const char *halley_trace_set_path(const halley_trace_set *set, uint32_t rank);
char *halley_trace_set_groups(const halley_trace_set *set);

int halley_builder_new(halley_builder **out, halley_error *err);
int halley_builder_node(halley_builder *b, uint64_t id, uint32_t type, halley_bytes name);
int halley_builder_time(halley_builder *b, uint64_t start_us, uint64_t duration_us);
int halley_builder_data(halley_builder *b, uint64_t id);
int halley_builder_ctrl(halley_builder *b, uint64_t id);
int halley_builder_attr(halley_builder *b, const halley_attr *attr);
int halley_builder_attr_i64(halley_builder *b, const char *name, int64_t value);
int halley_builder_attr_u64(halley_builder *b, const char *name, uint64_t value);
int halley_builder_attr_i32(halley_builder *b, const char *name, int32_t value);
int halley_builder_attr_bool(halley_builder *b, const char *name, bool value);
int halley_builder_attr_text(halley_builder *b, const char *name, halley_bytes value);
int halley_builder_finish(halley_trace **out, halley_builder *b, halley_error *err);

int halley_batch_open(halley_batch **out, const char *json, halley_error *err);
void halley_batch_free(halley_batch *batch);
const char *halley_batch_metric_name(size_t i);
int halley_batch_run(const halley_batch *batch, size_t n, const halley_batch_key *keys,
                     size_t n_keys, const halley_batch_metric *metrics, size_t n_metrics,
                     uint32_t *refusal_of, char ***refusals, size_t *n_refusals,
                     const halley_watch *watch, halley_error *err);
void halley_batch_free_refusals(char **refusals, size_t n);
"""

ffi = cffi.FFI()
ffi.cdef(CDEF)

_lock = threading.Lock()
_lib: Any = None

# Words of INTERFACES for a halley_status.
_STATUS = {1: "limit", 2: "bad-file", 3: "bad-file", 4: "bad-value", 5: "not-found", 6: "limit",
           7: "infeasible", 8: "cancelled"}


def _candidates() -> List[pathlib.Path]:
    named = os.environ.get("HALLEY_LIBRARY")
    if named:
        return [pathlib.Path(named)]
    here = pathlib.Path(__file__).resolve().parent
    return [here / "libhalley.so", here.parents[1] / "build" / "libhalley.so"]


def _open_library() -> Any:
    for path in _candidates():
        if path.exists():
            try:
                return ffi.dlopen(str(path))
            except OSError as problem:
                raise LibraryError(
                    f"libhalley.so cannot be loaded: {problem}; on Debian its libraries are "
                    "libisal2 libzstd1 libpcre2-8-0 liblzma5 libyaml-0-2 libsqlite3-0 libnlopt0",
                    "unsupported", str(path)) from problem
    if os.environ.get("HALLEY_LIBRARY"):
        raise LibraryError("there is no such file; HALLEY_LIBRARY names it", "not-found",
                           os.environ["HALLEY_LIBRARY"])
    for name in ("libhalley.so.0", "libhalley.so"):  # installed without, and with, its headers
        try:
            return ffi.dlopen(name)
        except OSError as problem:
            missing = problem
    raise LibraryError(
        "libhalley.so was not found; build it with 'make', install the wheel, or name the "
        "file in HALLEY_LIBRARY", "not-found") from missing


def _check_version(loaded: Any) -> None:
    try:
        api, version = loaded.halley_api(), ffi.string(loaded.halley_version()).decode()
    except AttributeError as problem:
        raise LibraryError("this libhalley.so is older than the Python package; rebuild it",
                           "unsupported") from problem
    if api != API or version.split(".")[:2] != VERSION.split(".")[:2]:
        raise LibraryError(
            f"libhalley.so is version {version} (API {api}), but this package was made for "
            f"{VERSION} (API {API}); install both from one release", "unsupported")


def lib() -> Any:
    """The loaded library; loads it at the first call."""
    global _lib
    if _lib is None:
        with _lock:
            if _lib is None:
                loaded = _open_library()
                _check_version(loaded)
                _lib = loaded
    return _lib


def check(status: int, err: Any) -> None:
    """Raise the error of a direct call."""
    if status == 0:
        return
    text = ffi.string(err.text).decode("utf-8", "replace")
    file = ffi.string(err.file).decode("utf-8", "replace") or None
    kind = Cancelled if status == 8 else Error
    raise kind(text or "the library ran out of memory", _STATUS.get(status, "internal"), file,
               err.line or None, err.column or None)


Look = Callable[[str, int, float, str], Optional[bool]]


class Watch:
    """A halley_watch whose ``look`` runs Python: progress, and cancellation by exception.

    An exception of the function cancels the work and is raised again when the work has ended.
    """

    def __init__(self, look: Optional[Look] = None) -> None:
        self.look = look
        self.cancelled = False
        self.problem: Optional[BaseException] = None
        self._callback = ffi.callback("bool(void *, const halley_progress *)", self._on_look,
                                      error=False, onerror=self._on_error)
        self.c = ffi.new("halley_watch *", {"look": self._callback, "context": ffi.NULL})

    def _on_look(self, _context: Any, progress: Any) -> bool:
        if self.cancelled:
            return False
        if self.look is None:
            return True
        answer = self.look(ffi.string(progress.what).decode(), progress.done, progress.total,
                           ffi.string(progress.noun).decode())
        return answer is not False

    def _on_error(self, _kind: Any, problem: Any, _where: Any) -> None:
        """An exception of ``look``, or a Ctrl-C on the way to it: the caller raises it again."""
        self.problem = problem


def _refuse_nan(value: Any, name: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise Error(f"{name} is {value}, which is not a number that halley can use", "bad-value")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_nan(item, str(key))
    elif isinstance(value, (list, tuple)):
        for item in value:
            _refuse_nan(item, name)


def _plain(value: Any) -> Any:
    """What json does not know: numpy's numbers, paths."""
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise Error(f"a value of type {type(value).__name__} cannot be part of a request; expected a "
                "number, text, list or dict", "bad-value")


# Made once: json.dumps with options makes an encoder for every call.
_encode = json.JSONEncoder(default=_plain, allow_nan=False).encode
_decoder = json.JSONDecoder()
_decode, _scan = _decoder.decode, _decoder.raw_decode


def encode(request: Dict[str, Any]) -> bytes:
    """The text of a request. NaN and infinity are refused by name."""
    try:
        return _encode(request).encode()
    except ValueError:
        try:
            _refuse_nan(request, "a value")
        except RecursionError:
            pass
        raise Error("the request refers to itself", "bad-value") from None
    except RecursionError:
        raise Error("the request is nested too deeply", "bad-value") from None
    except TypeError as problem:
        raise Error(f"the request cannot be written as JSON: {problem}", "bad-value") from None


def confine(folder: str, read_only: bool) -> None:
    """From now on, requests read (and write) files below this folder only."""
    err = ffi.new("halley_error *")
    check(lib().halley_request_confine(os.fsencode(folder), read_only, err), err)


def call(text: bytes, watch: Optional[Watch] = None) -> bytes:
    """Carry out a request; the reply's bytes."""
    native = lib()
    reply = ffi.new("char **")
    err = ffi.new("halley_error *")
    status = native.halley_request(reply, text, watch.c if watch else ffi.NULL, err)
    if watch is not None and watch.problem is not None:
        if status == 0:
            native.free(reply[0])
        raise watch.problem
    check(status, err)
    try:
        return ffi.string(reply[0])
    finally:
        native.free(reply[0])


def call_in_thread(text: bytes, watch: Watch) -> bytes:
    """The same on another thread, so that Ctrl-C reaches this one and cancels the work."""
    if threading.current_thread() is not threading.main_thread():
        return call(text, watch)
    box: List[Any] = []

    def work() -> None:
        try:
            box.append((True, call(text, watch)))
        except BaseException as problem:  # noqa: BLE001 - raised again below
            box.append((False, problem))

    worker = threading.Thread(target=work, name="halley")
    worker.start()
    try:
        while worker.is_alive():
            worker.join(0.05)
    except BaseException:
        watch.cancelled = True
        worker.join()
        raise
    done, value = box[0]
    if not done:
        raise value
    return value


_GOOD = b'{"ok": true, "result": '  # how every reply of halley_request with a result begins


def check_reply(reply: bytes) -> bytes:
    """The reply itself, which has a result; raises its "error"."""
    if not reply.startswith(_GOOD):
        raise from_reply(_decode(reply.decode())["error"])
    return reply


def result_of(reply: bytes) -> Dict[str, Any]:
    """The "result" of a reply; raises its "error"."""
    return _scan(check_reply(reply).decode(), len(_GOOD))[0]


def member_of(reply: bytes, name: str) -> Any:
    """One member of the "result" of a good reply, without decoding the others.

    Texts of JSON hold no line breaks, so a line that is indented by two blanks is a member of the
    result itself. KeyError when there is no such line; the result may still have the member.
    """
    head = f'\n  "{name}": '.encode()
    at = reply.find(head)
    if at < 0:
        raise KeyError(name)
    at += len(head)
    end = reply.find(b'\n  "', at)
    return _scan(reply[at:end if end >= 0 else None].decode(), 0)[0]
