"""Recording with the PyTorch that is installed; skipped without it."""

import os
import socket
import subprocess
import sys

import pytest

import halley as hl

torch = pytest.importorskip("torch")

SCRIPT = """
import os, sys, time, torch, torch.distributed as dist
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
if ranks > 1 and len(sys.argv) > 1:  # no group is left, and one rank ends later
    dist.barrier()
    last = dist.get_rank() == ranks - 1
    dist.destroy_process_group()
    time.sleep(1 if last else 0)
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
    assert (done.returncode, done.stderr) == (0, f"recorded: {tmp_path}/out/linked\n")
    assert hl.Trace(str(tmp_path / "out" / "linked")).nodes.names.count("aten::addmm") == 4


def record_ranks(folder, *arguments):
    """Two ranks of the script with gloo: their exit codes and what they said."""
    (folder / "train.py").write_text(SCRIPT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ranks = [subprocess.Popen([sys.executable, "-m", "halley.record", "-o", str(folder / "out"),
                               str(folder / "train.py"), *arguments], stderr=subprocess.PIPE,
                              text=True, env=environment(RANK=str(r), WORLD_SIZE="2",
                                                         MASTER_PORT=port,
                                                         MASTER_ADDR="127.0.0.1"))
             for r in range(2)]
    said = [p.communicate(timeout=300)[1] for p in ranks]
    return [p.returncode for p in ranks], said


needs_gloo = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="this PyTorch has no gloo")


@needs_gloo
@pytest.mark.parametrize("arguments", [[], ["destroy"]])
def test_two_ranks_are_recorded(tmp_path, arguments):
    (tmp_path / "out").mkdir()
    for note in ("linked.note", "written.1"):  # of a recording that was killed
        (tmp_path / "out" / note).write_text("")
    codes, said = record_ranks(tmp_path, *arguments)
    assert codes == [0, 0], said
    assert said == [f"recorded: {tmp_path}/out/linked\n"] * 2
    assert len(hl.Trace(str(tmp_path / "out" / "linked"))) == 2
    assert not list((tmp_path / "out").glob("written.*"))


@needs_gloo
def test_every_rank_says_that_linking_failed(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "host.2.json").write_text("{")  # of a larger job
    codes, said = record_ranks(tmp_path)
    assert codes == [1, 1]
    assert "host.2.json" in said[0] and "rank 0 could not link" in said[1]


def test_the_module_may_be_imported(tmp_path):
    code = ("import halley.record, halley as hl\n"
            f"with hl.record({str(tmp_path / 'out')!r}) as r: import torch; torch.ones(3) + 1\n"
            "print(len(r.trace.nodes) > 0)\n")
    done = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code],
                          env=environment(), capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
