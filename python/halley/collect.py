"""Record a training step for `halley trace link`.

    from halley.collect import Recorder

    with Recorder("trace", wait=5, warmup=2, active=1) as recorder:
        for batch in loader:
            train(batch)
            recorder.step()

Each rank writes trace/host.RANK.json (PyTorch's execution trace) and trace/device.RANK.json
(the Kineto trace). Then:

    halley trace link --ranks 'trace/host.%d.json' 'trace/device.%d.json' -o step

Both halves cover the same steps, which is what linking needs: the observer of the execution
trace is registered before the profiler starts and switched on and off with its schedule. Shapes
are recorded, stacks are not (they make files large and steps slow). CUDA's own synchronisation
events are asked for where PyTorch can: with them waits between streams are known, not guessed.

Works with PyTorch 1.13 (host half alone: that build has no Kineto) and 2.x. No dependency but
PyTorch.
"""

import os


def _rank():
    """This process's rank: torch.distributed's if it is set up, else the launcher's."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        return dist.get_rank()
    return int(os.environ.get("RANK", "0"))


def _new_observer(path):
    """The observer of the execution trace under whichever name this PyTorch has."""
    import torch.profiler as profiler

    for name in ("ExecutionTraceObserver", "ExecutionGraphObserver"):
        observer = getattr(profiler, name, None)
        if observer is not None:
            observer = observer()
            observer.register_callback(path)
            return observer
    raise RuntimeError("this PyTorch has no observer of execution traces; 1.13 or later has")


def _has_kineto():
    import torch

    kineto = getattr(torch.autograd, "kineto_available", None)
    return kineto() if kineto is not None else False


def _sync_events():
    """Options that make Kineto record CUDA's synchronisation; none where it cannot."""
    try:
        from torch._C._profiler import _ExperimentalConfig

        return {"experimental_config": _ExperimentalConfig(enable_cuda_sync_events=True)}
    except (ImportError, TypeError):
        return {}


class Recorder:
    """Record `active` steps after `wait` steps unrecorded and `warmup` steps of profiling."""

    def __init__(self, folder, wait=1, warmup=1, active=1, rank=None):
        if min(wait, warmup) < 0 or active < 1:
            raise ValueError("wait and warmup must not be negative, active at least 1")
        self.folder = folder
        self.rank = _rank() if rank is None else rank
        self.host_path = os.path.join(folder, "host.%d.json" % self.rank)
        self.device_path = os.path.join(folder, "device.%d.json" % self.rank)
        self._first = wait + warmup
        self._last = wait + warmup + active
        self._warmup_at = wait
        self._step = 0
        self._observer = None
        self._profiler = None
        self._on = False
        self.recorded = False  # has a step been recorded, or begun to be?

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        self._observer = _new_observer(self.host_path)
        if _has_kineto():
            self._profiler = self._new_profiler()
            self._profiler.start()
        self._switch()
        return self

    def __exit__(self, kind, value, traceback):
        self._stop_host()
        self._observer.unregister_callback()
        if self._profiler is not None:
            self._profiler.stop()
            self._profiler = None
        return False

    def step(self):
        """Call at the end of every training step."""
        self._step += 1
        if self._step == self._last:
            self._stop_host()  # before the profiler writes its file
        if self._profiler is not None:
            self._profiler.step()
        self._switch()

    def _new_profiler(self):
        from torch.profiler import ProfilerActivity, profile, schedule
        import torch

        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        return profile(
            activities=activities,
            schedule=schedule(
                wait=self._warmup_at,
                warmup=self._first - self._warmup_at,
                active=self._last - self._first,
                repeat=1,
            ),
            record_shapes=True,
            with_stack=False,
            on_trace_ready=lambda p: p.export_chrome_trace(self.device_path),
            **_sync_events(),
        )

    def _switch(self):
        if self._first <= self._step < self._last and not self._on:
            self._observer.start()
            self._on = self.recorded = True

    def _stop_host(self):
        if self._on:
            self._observer.stop()
            self._on = False
