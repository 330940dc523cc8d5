"""Every line of Python in doc/python.md runs, and the page is not too long."""

import re
import shutil

import pytest

import halley as hl

WORDS = 1500


def blocks_of(root):
    text = (root / "doc/python.md").read_text()
    return [(text.count("\n", 0, m.start()) + 2, m.group(1))
            for m in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)]


@pytest.fixture
def place(root, tmp_path, monkeypatch, step, program):
    """A folder with the files that the page names."""
    monkeypatch.chdir(tmp_path)
    program("trace", "convert", step, "step")
    program("trace", "convert", step, "other")
    shutil.copy(root / "tests/data/recordings/model.json.gz", "kineto.json.gz")
    (tmp_path / "fabric.yaml").write_text("topology: torus\ndims: [4, 4]\nlink: 400 Gb/s\nlatency: 1 us\n")
    program("topology", "convert", "fabric.yaml", "--to", "ns3", "-o", "fabric.topo")
    return tmp_path


def names_of_the_page(graph):
    """What the page takes for granted: a graph, a training loop."""
    names = {"graph": graph, "loader": [], "train": print}
    try:
        import torch
    except ImportError:
        return names
    layer = torch.nn.Linear(64, 64)
    names["loader"] = [torch.zeros(8, 64)] * 5
    names["train"] = lambda batch: layer(batch).sum().backward()
    return names


def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def test_every_line_of_the_page_runs(root, place, switch_graph):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("Agg")
    names, blocks = names_of_the_page(switch_graph), blocks_of(root)
    assert len(blocks) >= 6
    for line, block in blocks:
        if "hl.record" in block and not has_torch():
            block = block[:block.index("with hl.record")]
        code = compile("\n" * (line - 1) + block, "doc/python.md", "exec")
        try:
            exec(code, names)  # noqa: S102
        except hl.Error as missing:  # the last line of its block: Debian's PyTorch has none
            assert "Kineto" in str(missing) and "hl.record" in block
    assert names["e"].fits and (place / "page.html").exists()


def test_answers_of_the_page_are_current(root):
    """The table of question 1 and 2 says what the engine says."""
    text = (root / "doc/python.md").read_text()
    e = hl.estimate("gpt3-175b", "dgx-a100:64", stack="megatron-2022", tp=8, pp=8, virtual=3,
                    global_batch=64, recompute="full", sequence_parallel=False,
                    attention="unfused", zero=0)
    assert f"{e.step_s:.2f} s ({100 * (e.step_s / 18.13 - 1):+.1f} %)" in text
    assert f"{e.allocated_bytes / 2**30:.1f} GiB" in text
    best = hl.plan("gpt3-175b", "dgx-a100:512", stack="megatron-2022", global_batch=1536,
                   zero=1).best
    assert f"{best.step_s:.1f} s: tp {best.plan.tp}, pp {best.plan.pp}" in text


def test_the_page_is_short(root):
    assert len((root / "doc/python.md").read_text().split()) <= WORDS
