"""hl.record: a training step, recorded, linked and opened."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, List, Optional

from ._errors import Error


class Recording:
    """What ``record`` writes: ``trace`` and ``kernels()`` once the block has ended."""

    def __init__(self, folder: str, recorder: Any) -> None:
        self.folder = folder
        self._recorder = recorder
        self._trace: Any = None
        self._linked = False

    def step(self) -> None:
        """Call at the end of every training step."""
        self._recorder.step()

    @property
    def files(self) -> List[str]:
        """The files that the profilers wrote."""
        return sorted(os.path.join(self.folder, name) for name in os.listdir(self.folder)
                      if name.startswith(("host.", "device.")) and name.endswith(".json"))

    @property
    def trace(self) -> Any:
        """The linked recording, a Trace."""
        if self._trace is None:
            from ._trace import Trace

            if not self._linked:
                raise Error("the recording has not been linked: rank 0 links it when its block "
                            "has ended", "usage")
            self._trace = Trace(os.path.join(self.folder, "linked"))
        return self._trace

    def kernels(self, **keys: Any) -> Any:
        """Where the device's time goes: classes, idle causes, verdict."""
        from ._verbs import kernels

        devices = [f for f in self.files if os.path.basename(f).startswith("device.")]
        if not devices:
            raise Error("this PyTorch wrote no device trace (it was built without Kineto)",
                        "unsupported")
        return kernels(devices[0], **keys)

    def finish(self) -> None:
        """All ranks have written their files: link them (rank 0)."""
        if not self._recorder.recorded:
            raise Error("nothing was recorded: the block ended before the steps to record began",
                        "bad-value", self.folder)
        ranks = _count_ranks()
        _write_note(self.folder, f"written.{self._recorder.rank}", "")
        if self._recorder.rank == 0:
            _link_ranks(self.folder, ranks)
        elif (problem := _wait_for(self.folder, "linked.note")) != "":
            raise Error(f"rank 0 could not link the recording: {problem}", "bad-file", self.folder)
        self._linked = True


# Ranks meet by small files next to the recording: when a script ends, its process group is often
# gone, and files are complete only then. They are removed when a recording begins and ends.
PATIENCE_S = 600.0  # of a rank with the others


def _count_ranks() -> int:
    """Ranks of this job: torch.distributed's if it is set up, else the launcher's."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        return int(dist.get_world_size())
    return int(os.environ.get("WORLD_SIZE", "1"))


def _write_note(folder: str, name: str, text: str) -> None:
    """Whole or not at all."""
    path = os.path.join(folder, name)
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)


def _remove_note(folder: str, name: str) -> None:
    try:
        os.remove(os.path.join(folder, name))
    except FileNotFoundError:
        pass


def _wait_for(folder: str, name: str) -> str:
    """The text of a note that another rank writes."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            time.sleep(0.02)
    raise Error(f"another rank did not finish its recording: there is no {name} after "
                f"{PATIENCE_S:.0f} s", "not-found", folder)


def _link_ranks(folder: str, ranks: int) -> None:
    """Rank 0: link when all ranks have written, and leave a note on how it went."""
    problem = "it was interrupted"
    try:
        for rank in range(ranks):
            _wait_for(folder, f"written.{rank}")
        link_folder(folder)
        problem = ""
    except Error as error:
        problem = str(error)
        raise
    finally:
        for rank in range(ranks):
            _remove_note(folder, f"written.{rank}")
        if ranks > 1:
            _write_note(folder, "linked.note", problem)


def link_folder(folder: str) -> Any:
    """Link host.R.json and device.R.json of a folder into the set ``linked``."""
    from ._verbs import request

    names = os.listdir(folder)
    ranks = sorted(int(n.split(".")[1]) for n in names
                   if n.startswith("host.") and n.endswith(".json"))
    if not ranks:
        raise Error("there is no host.RANK.json to link", "not-found", folder)
    out = os.path.join(folder, "linked")
    files = [os.path.join(folder, "host.%d.json")]
    if f"device.{ranks[0]}.json" in names:
        files.append(os.path.join(folder, "device.%d.json"))
    if len(ranks) > 1:
        return request("trace.link", recording=files, ranks=True, out=out)
    return request("trace.link", recording=[f % ranks[0] for f in files], out=out + ".0.et")


class record:
    """Record ``steps`` steps of a training loop into ``folder``, after ``wait`` steps that are not
    recorded and ``warmup`` steps of profiling that are thrown away.

    Without calls of ``step`` the whole block is one step. Under torchrun every rank records;
    rank 0 links the set when all have left the block.
    """

    def __init__(self, folder: str, *, steps: int = 1, wait: int = 0, warmup: int = 0) -> None:
        from .collect import Recorder

        try:
            import torch  # noqa: F401
        except ImportError:
            raise Error("record needs PyTorch, which is not installed", "unsupported") from None
        self._recorder = Recorder(folder, wait=wait, warmup=warmup, active=steps)
        self._recording = Recording(folder, self._recorder)

    def __enter__(self) -> Recording:
        self._recorder.__enter__()
        for name in ("linked.note", f"written.{self._recorder.rank}"):
            _remove_note(self._recording.folder, name)
        return self._recording

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self._recorder.__exit__(kind, value, traceback)
        if kind is None:
            self._recording.finish()
