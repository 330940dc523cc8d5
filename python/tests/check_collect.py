"""Tests of halley.collect: both halves with stand-ins for PyTorch that write recorded fixtures,
the host half with the PyTorch that is installed, if there is one.

    check_collect.py HALLEY SOURCE_ROOT [unittest's options]
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

HALLEY, ROOT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "halley"))
FIXTURES = os.path.join(ROOT, "tests", "data", "recording")


class FakeObserver:
    """Writes the host fixture when it stops, as PyTorch's writes what it saw."""

    log = []

    def register_callback(self, path):
        self.path = path
        self.log.append("register")
        return self

    def start(self):
        self.log.append("host on")

    def stop(self):
        self.log.append("host off")
        shutil.copy(os.path.join(FIXTURES, "host.0.json"), self.path)

    def unregister_callback(self):
        self.log.append("unregister")


class FakeProfile:
    """Follows its schedule, and hands the device fixture out at the end of it."""

    last = None

    def __init__(self, activities, schedule, record_shapes, with_stack, on_trace_ready, **more):
        self.activities, self.schedule, self.record_shapes = activities, schedule, record_shapes
        self.with_stack, self.ready, self.more = with_stack, on_trace_ready, more
        self.n_steps, self.done = 0, False
        FakeProfile.last = self

    def active(self):
        s = self.schedule
        return s["wait"] + s["warmup"] <= self.n_steps < s["wait"] + s["warmup"] + s["active"]

    def note(self, before):
        if self.active() and not before:
            FakeObserver.log.append("device on")
        if before and not self.active():
            FakeObserver.log.append("device off")
            self.ready(self)
            self.done = True

    def start(self):
        self.note(False)

    def step(self):
        before = self.active()
        self.n_steps += 1
        self.note(before)

    def stop(self):
        if self.active() and not self.done:
            self.ready(self)

    def export_chrome_trace(self, path):
        shutil.copy(os.path.join(FIXTURES, "device.0.json"), path)


def fake_torch(kineto=True, observer="ExecutionTraceObserver", rank=None, sync=True):
    """Modules that stand for those of PyTorch which halley.collect uses."""
    torch = types.ModuleType("torch")
    torch.autograd = types.SimpleNamespace(kineto_available=lambda: kineto)
    torch.cuda = types.SimpleNamespace(is_available=lambda: True)
    profiler = types.ModuleType("torch.profiler")
    setattr(profiler, observer, FakeObserver)
    profiler.profile = FakeProfile
    profiler.schedule = lambda **s: s
    profiler.ProfilerActivity = types.SimpleNamespace(CPU="cpu", CUDA="cuda")
    distributed = types.ModuleType("torch.distributed")
    distributed.is_available = lambda: rank is not None
    distributed.is_initialized = lambda: rank is not None
    distributed.get_rank = lambda: rank
    inner, innermost = types.ModuleType("torch._C"), types.ModuleType("torch._C._profiler")

    def experimental(**options):
        if not sync:
            raise TypeError("unexpected keyword")
        return options

    innermost._ExperimentalConfig = experimental
    torch.profiler, torch.distributed, torch._C = profiler, distributed, inner
    return {"torch": torch, "torch.profiler": profiler, "torch.distributed": distributed,
            "torch._C": inner, "torch._C._profiler": innermost}


class Fakes(unittest.TestCase):
    def setUp(self):
        self.real = {k: v for k, v in sys.modules.items() if k.split(".")[0] == "torch"}
        for name in self.real:
            del sys.modules[name]
        FakeObserver.log = []
        FakeProfile.last = None
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        for name in [k for k in sys.modules if k.split(".")[0] == "torch"]:
            del sys.modules[name]
        sys.modules.update(self.real)
        shutil.rmtree(self.folder)

    def collect(self, steps, fakes=None, **options):
        sys.modules.update(fakes or fake_torch())
        collect = importlib.reload(importlib.import_module("collect"))
        with collect.Recorder(self.folder, **options) as recorder:
            for _ in range(steps):
                FakeObserver.log.append("train")
                recorder.step()
        return recorder

    def test_both_halves_cover_the_same_steps(self):
        self.collect(6, wait=2, warmup=1, active=2)
        log = FakeObserver.log
        self.assertEqual(log, ["register", "train", "train", "train", "device on", "host on",
                               "train", "train", "host off", "device off", "train", "unregister"])

    def test_what_is_recorded_links(self):
        r = self.collect(3, wait=1, warmup=1, active=1)
        out = subprocess.run([HALLEY, "trace", "link", "--json", r.host_path, r.device_path, "-o",
                              os.path.join(self.folder, "step.et")], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
        self.assertEqual(json.loads(out)["ranks"][0]["n_by_record_function"], 11)
        self.assertEqual(json.loads(out)["ranks"][0]["n_linked_kernels"], 4)

    def test_shapes_and_waits_are_asked_for_and_stacks_are_not(self):
        self.collect(3)
        p = FakeProfile.last
        self.assertTrue(p.record_shapes)
        self.assertFalse(p.with_stack)
        self.assertEqual(p.activities, ["cpu", "cuda"])
        self.assertEqual(p.more, {"experimental_config": {"enable_cuda_sync_events": True}})

    def test_an_older_pytorch_does_without_waits(self):
        self.collect(3, fake_torch(sync=False))
        self.assertEqual(FakeProfile.last.more, {})

    def test_without_kineto_the_host_half_is_recorded(self):
        r = self.collect(3, fake_torch(kineto=False, observer="ExecutionGraphObserver"))
        self.assertTrue(os.path.exists(r.host_path))
        self.assertFalse(os.path.exists(r.device_path))

    def test_files_are_named_by_rank(self):
        r = self.collect(3, fake_torch(rank=5))
        self.assertEqual(os.path.basename(r.host_path), "host.5.json")
        self.assertEqual(os.path.basename(r.device_path), "device.5.json")

    def test_an_exception_in_training_ends_the_recording(self):
        sys.modules.update(fake_torch())
        collect = importlib.reload(importlib.import_module("collect"))
        with self.assertRaises(KeyError):
            with collect.Recorder(self.folder, wait=0, warmup=0, active=5) as recorder:
                recorder.step()
                raise KeyError("training")
        self.assertEqual(FakeObserver.log[-2:], ["host off", "unregister"])

    def test_bad_schedules_are_refused(self):
        sys.modules.update(fake_torch())
        collect = importlib.reload(importlib.import_module("collect"))
        for options in ({"wait": -1}, {"warmup": -1}, {"active": 0}):
            with self.assertRaises(ValueError):
                collect.Recorder(self.folder, **options)

    def test_a_pytorch_without_an_observer_is_named(self):
        fakes = fake_torch(observer="Nothing")
        with self.assertRaisesRegex(RuntimeError, "no observer"):
            self.collect(1, fakes)


class Installed(unittest.TestCase):
    """The host half with the PyTorch of this machine."""

    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed (Debian: python3-torch)")
        self.torch = torch
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_one_step_is_recorded_and_links(self):
        from collect import Recorder

        torch = self.torch
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with Recorder(self.folder, wait=2, warmup=1, active=1) as recorder:
            for _ in range(6):
                optimizer.zero_grad()
                model(torch.randn(32, 8)).sum().backward()
                optimizer.step()
                recorder.step()
        path = os.path.join(self.folder, "step.jsonl")
        subprocess.run([HALLEY, "trace", "link", "-q", recorder.host_path, "-o",
                        os.path.join(self.folder, "step.et")], check=True)
        subprocess.run([HALLEY, "trace", "check", os.path.join(self.folder, "step.et")], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([HALLEY, "trace", "convert", "--to", "jsonl",
                        os.path.join(self.folder, "step.et"), path], check=True)
        with open(path) as f:
            nodes = [json.loads(line) for line in f]
        products = [n for n in nodes if n.get("name") == "aten::addmm"]
        self.assertEqual(len(products), 2)  # two layers, one step
        ops = {int(a["int64Val"]) for n in products for a in n["attr"] if a["name"] == "num_ops"}
        self.assertEqual(ops, {2 * 32 * 8 * 16, 2 * 32 * 16 * 4})


if __name__ == "__main__":
    unittest.main()
