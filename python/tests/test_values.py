"""Results, errors, wrong input, threads, progress, pickling."""

import json
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest

import halley as hl

STUDY = {"name": "large", "model": "llama3-70b", "cluster": "dgx-h100:1024",
         "plan": {"global-batch": 2048},
         "vary": {"plan.tp": [1, 2, 4, 8], "plan.pp": [1, 2, 4, 8], "plan.micro-batch": [1, 2, 4],
                  "plan.recompute": ["none", "selective", "full"],
                  "cluster.npu.power": [f"{i} W" for i in range(500, 1300)]},
         "objective": {"minimize": "step-time"}}


def test_parts_sum_to_the_step():
    e = hl.estimate("llama3-70b", "dgx-h100:64", tp=8, pp=2, global_batch=128)
    assert sum(e.parts_s.values()) == pytest.approx(e.step_s, rel=1e-9)
    assert list(e.breakdown["time_s"]) == list(e.parts_s.values())
    assert len(e.memory) == 2
    assert "per step" in e._repr_html_()


def test_attributes_are_keys():
    e = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16)
    assert e["mfu"] == e.mfu and "mfu" in e and e.plan.tp == 2
    with pytest.raises(AttributeError, match="step_s"):
        e.steps


@pytest.mark.parametrize("keys, text", [
    ({"tpp": 2}, "did you mean"),
    ({"tp": "two"}, "tp"),
    ({"tp": float("nan")}, "tp is nan"),
    ({"global_batch": float("inf")}, "global_batch is inf"),
    ({"headroom": "900 GB"}, "headroom"),
    ({"tp": object()}, "type object"),
    ({"plan": {"tp": 2, "ppp": 1}}, "ppp"),
])
def test_wrong_values_are_named(keys, text):
    with pytest.raises(hl.Error) as caught:
        hl.estimate("llama3-8b", "dgx-h100:8", **{"global_batch": 16, **keys})
    assert text in str(caught.value)


def test_invalid_and_unfit_plans_are_told_apart():
    with pytest.raises(hl.Infeasible):
        hl.estimate("llama3-8b", "dgx-h100:8", tp=3)
    unfit = hl.estimate("llama3-70b", "dgx-h100:8", global_batch=8)
    assert not unfit.fits
    with pytest.raises(hl.Infeasible):
        hl.estimate("llama3-70b", "dgx-h100:8", global_batch=8, strict=True)


def test_a_bad_file_is_named(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_text("layers: 4\nhidden: many\n")
    with pytest.raises(hl.Error) as caught:
        hl.estimate(str(path), "dgx-h100:8")
    assert caught.value.file == str(path) and caught.value.line == 2


def test_an_unknown_preset_has_a_hint():
    with pytest.raises(hl.Error) as caught:
        hl.estimate("llama3-8", "dgx-h100:8")
    assert caught.value.code == "not-found" and "llama3-8b" in str(caught.value)


def test_pickle(step):
    e = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16)
    assert pickle.loads(pickle.dumps(e)).to_dict() == e.to_dict()
    assert len(pickle.loads(pickle.dumps(hl.Trace(step)))) == 8
    assert pickle.loads(pickle.dumps(hl.Cluster("dgx-h100:8"))) == hl.Cluster("dgx-h100:8")
    with pytest.raises(hl.Error) as caught:
        hl.estimate("llama3-8b", "dgx-h100:8", tpp=1)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_threads_give_the_same_answers():
    wanted = [hl.estimate("llama3-8b", "dgx-h100:8", tp=tp, global_batch=16).to_dict()
              for tp in (1, 2, 4, 8)]
    wrong = []

    def work(i):
        for _ in range(10):
            if hl.estimate("llama3-8b", "dgx-h100:8", tp=1 << i, global_batch=16).to_dict() \
                    != wanted[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_progress_is_called_and_cancels():
    seen = []

    def stop(what, done, total, noun):
        seen.append((what, done, total, noun))
        return len(seen) < 3

    with pytest.raises(hl.Cancelled):
        hl.explore(STUDY, progress=stop)
    assert len(seen) >= 3 and seen[0][3] == "designs"


def test_an_exception_of_progress_is_raised():
    def fail(*_):
        raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        hl.explore(STUDY, progress=fail)


def test_ctrl_c_cancels():
    code = ("import halley as hl, os, signal, threading, time\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may ignore it
            f"study = {STUDY!r}\n"
            "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n"
            "    for _ in range(100): hl.explore(study)\n"
            "except KeyboardInterrupt: print('stopped')\n")
    began = time.monotonic()
    assert run_python(code, PYTHONPATH=package_path()).stdout == "stopped\n"
    assert time.monotonic() - began < 20


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, **environment})


def package_path():
    return os.path.dirname(os.path.dirname(hl.__file__))


def test_a_missing_library_is_named(tmp_path):
    done = run_python("import halley as hl\ntry: hl.request('version')\n"
                      "except hl.LibraryError as e: print(e.code, e)",
                      HALLEY_LIBRARY=str(tmp_path / "no.so"), PYTHONPATH=package_path())
    assert done.stdout.startswith("not-found") and "no.so" in done.stdout


def test_a_library_of_another_version_is_named(tmp_path):
    source = tmp_path / "other.c"
    source.write_text('const char *halley_version(void) { return "9.9.9"; }\n'
                      "int halley_api(void) { return 9; }\n")
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "o.so"),
                       str(source)]).returncode != 0:
        pytest.skip("no C compiler")
    done = run_python("import halley as hl\ntry: hl.request('version')\n"
                      "except hl.LibraryError as e: print(e)",
                      HALLEY_LIBRARY=str(tmp_path / "o.so"), PYTHONPATH=package_path())
    assert "9.9.9" in done.stdout and hl.__version__ in done.stdout


def test_nothing_is_printed_to_stdout(capfd):
    hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16)
    hl.explore({**STUDY, "vary": {"plan.tp": [4, 8]}}, progress=True)
    assert capfd.readouterr().out == ""


def test_fork():
    pid = os.fork()
    if pid == 0:
        ok = hl.estimate("llama3-8b", "dgx-h100:8", tp=2, global_batch=16).fits
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_without_numpy_and_pandas():
    code = ("import sys\n"
            "for name in ('numpy', 'pandas', 'networkx', 'matplotlib'): sys.modules[name] = None\n"
            "import halley as hl\n"
            "e = hl.estimate('llama3-8b', 'dgx-h100:8', tp=2, global_batch=16)\n"
            "assert isinstance(e.breakdown, list)\n"
            "rows = hl.estimate_many([{'tp': 1}, {'tp': 3}], 'llama3-8b', 'dgx-h100:8',"
            " global_batch=16)\n"
            "assert rows[0]['refused'] is None and 'divide' in rows[1]['refused']\n"
            "b = hl.TraceBuilder(); b.compute('a', duration_us=5); t = b.finish()\n"
            "assert t.nodes.duration_us == [5]\n"
            "print('fine')\n")
    done = run_python(code, PYTHONPATH=package_path())
    assert done.stdout == "fine\n", done.stderr


def test_the_version_is_that_of_the_headers(root):
    text = (root / "include/halley/version.h").read_text()
    assert f'#define HALLEY_VERSION "{hl.__version__}"' in text


def test_declarations_are_those_of_the_headers(root, tmp_path):
    """The cdef and the headers in one C file: a difference does not compile."""
    from halley._native import CDEF
    calls = "\n".join(line for line in CDEF[CDEF.index("const char *halley_version"):].splitlines())
    source = tmp_path / "same.c"
    source.write_text("#include <halley/halley.h>\n#include <halley/batch.h>\n" +
                      calls.replace("int halley_", "halley_status halley_")
                      .replace("halley_status halley_api", "int halley_api")
                      .replace("const void *opts", "const halley_load_opts *opts") +
                      "\nint main(void) { return 0; }\n")
    done = subprocess.run(["cc", "-std=c17", "-fsyntax-only", "-I", str(root / "include"),
                           str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ODD = "{\n  \"mfu\": 7, \"x\": \"\\\n  \"step_s\": 5"


def named(name):
    """A model with that name."""
    text = hl.presets("llama3-8b").presets[0].text
    return "\n".join(line for line in text.splitlines() if not line.startswith("name:")) + \
        "\nname: " + json.dumps(name, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("keys", [{"explain": True}, {"tokens": 1e12}, {"tp": 8, "pp": 1}, {}])
@pytest.mark.parametrize("name", ["plain", ODD, "\u00e9\u4e2d\U0001f600"])
def test_a_value_that_is_read_alone_is_that_of_the_whole(name, keys):
    model = named(name)

    def ask():
        return hl.estimate(model, "dgx-h100:8", global_batch=16, **keys)

    whole = ask().to_dict()
    for name, value in whole.items():
        alone = ask()
        item, attribute = alone[name], getattr(alone, name)
        assert "_data" not in vars(alone)
        assert item == attribute == value and alone.to_dict() == whole
    for name in ("steps", "x", 5, None, "", "tp", "step_s\": 5", "model\": \"llama3-8b\",\n  \"mfu"):
        with pytest.raises(KeyError):
            ask()[name]
    assert "step_s" in ask() and "steps" not in ask() and len(ask()) == len(whole)
    assert list(ask()) == list(whole) and dict(pickle.loads(pickle.dumps(ask()))) == dict(ask())


def test_errors_are_raised_by_the_call():
    with pytest.raises(hl.Infeasible):
        hl.estimate("llama3-8b", "dgx-h100:8", tp=3)
    with pytest.raises(TypeError):
        hl.estimate("llama3-8b", "dgx-h100:8", do="version")
