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
import types
from typing import Any, List, Optional, Sequence

from ._errors import Error
from ._record import Recording, record


class _Callable(types.ModuleType):
    """``import halley.record`` puts this module in the place of ``hl.record``: it may be called,
    too."""

    def __call__(self, folder: str, **keys: Any) -> record:
        return record(folder, **keys)


sys.modules[__name__].__class__ = _Callable


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
