"""Record a training step, link it and open it.

    import halley as hl

    with hl.record("step", steps=3) as r:
        for batch in loader:
            train(batch)
            r.step()
    r.trace.info(), r.kernels()

Also ``python -m halley.record [-o FOLDER] [--steps N] TRAIN.py ARGS``, alone or under torchrun.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from typing import Any, List, Optional, Sequence

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
        _meet()
        if self._recorder.rank == 0:
            link_folder(self.folder)
        _meet()
        self._linked = True


def _meet() -> None:
    """Wait for the other ranks, where there are any."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized():
        dist.barrier()


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
        return self._recording

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        self._recorder.__exit__(kind, value, traceback)
        if kind is None:
            self._recording.finish()


def _count_optimizer_steps(recording: Recording) -> None:
    """The first optimizer that the script makes ends a step with each of its steps."""
    import torch

    made = torch.optim.Optimizer.__init__
    seen: List[Any] = []

    def init(self: Any, *args: Any, **keys: Any) -> None:
        made(self, *args, **keys)
        if seen:
            return
        seen.append(self)
        step = self.step

        def counted(*step_args: Any, **step_keys: Any) -> Any:
            answer = step(*step_args, **step_keys)
            recording.step()
            return answer

        self.step = counted

    setattr(torch.optim.Optimizer, "__init__", init)


def main(words: Optional[Sequence[str]] = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m halley.record",
                                     description="Run a training script and record some steps.")
    parser.add_argument("-o", "--output", default="recording", help="folder (default: recording)")
    parser.add_argument("--steps", type=int, default=1, help="steps to record (default: 1)")
    parser.add_argument("--wait", type=int, default=1, help="steps to leave out first (default: 1)")
    parser.add_argument("--warmup", type=int, default=1,
                        help="profiled steps to throw away (default: 1)")
    parser.add_argument("script", help="the training script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(words)
    try:
        with record(given.output, steps=given.steps, wait=given.wait,
                    warmup=given.warmup) as recording:
            _count_optimizer_steps(recording)
            sys.argv = [given.script, *given.arguments]
            sys.path.insert(0, os.path.dirname(os.path.abspath(given.script)))
            runpy.run_path(given.script, run_name="__main__")
    except Error as problem:
        print(f"halley.record: {problem}", file=sys.stderr)
        return 1
    print(f"recorded: {os.path.join(given.output, 'linked')}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
