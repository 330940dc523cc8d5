"""Recording with the PyTorch that is installed; skipped without it."""

import os
import subprocess
import sys

import pytest

import halley as hl

torch = pytest.importorskip("torch")

SCRIPT = """
import os, sys, torch, torch.distributed as dist
ranks = int(os.environ.get("WORLD_SIZE", "1"))
if ranks > 1:
    dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    model(torch.randn(32, 8)).sum().backward()
    if ranks > 1:
        for p in model.parameters():
            dist.all_reduce(p.grad)
    optimizer.step()
"""


def train(steps, each):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(32, 8)).sum().backward()
        optimizer.step()
        each()


def test_a_block_is_recorded_linked_and_opened(tmp_path):
    with hl.record(str(tmp_path / "step"), steps=2, wait=1) as r:
        train(4, r.step)
    names = r.trace.nodes.names
    assert names.count("aten::addmm") == 4  # two layers, two steps
    assert r.trace.check().n_errors == 0


def test_nothing_recorded_is_an_error(tmp_path):
    with pytest.raises(hl.Error, match="nothing was recorded"):
        with hl.record(str(tmp_path / "step"), steps=1, wait=5):
            pass


def environment(**more):
    path = os.path.dirname(os.path.dirname(hl.__file__))
    return {**os.environ, "PYTHONPATH": path, **more}


def test_a_script_is_recorded(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "halley.record", "-o", str(tmp_path / "out"),
                           "--steps", "2", str(tmp_path / "train.py")], env=environment(),
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert hl.Trace(str(tmp_path / "out" / "linked")).nodes.names.count("aten::addmm") == 4


def test_two_ranks_are_recorded(tmp_path):
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    (tmp_path / "train.py").write_text(SCRIPT)
    ranks = [subprocess.Popen([sys.executable, "-m", "halley.record", "-o", str(tmp_path / "out"),
                               str(tmp_path / "train.py")], stderr=subprocess.PIPE, text=True,
                              env=environment(RANK=str(r), WORLD_SIZE="2", MASTER_PORT="29533",
                                              MASTER_ADDR="127.0.0.1")) for r in range(2)]
    said = [p.communicate(timeout=300)[1] for p in ranks]
    assert [p.returncode for p in ranks] == [0, 0], said
    t = hl.Trace(str(tmp_path / "out" / "linked"))
    assert len(t) == 2
