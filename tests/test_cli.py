"""The command line."""

import json
import os
import re
import subprocess
import sys

import pytest

import theano
from tests.tools import run_program
from theano import cli
from theano.cli import demo
from theano.cli.cache import theano_cache


def run_cli(*args, cache, cwd):
    env = dict(os.environ, THEANO_FLAGS=f"base_compiledir={cache}", COLUMNS="200")
    command = [sys.executable, "-m", "theano.cli", *args]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_demo_reaches_its_accuracies(tmp_path):
    done = run_cli("demo", "--picture", "wrong.png", cache=tmp_path / "cache", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    accuracy = {name: float(value) for name, value in re.findall(r"│ ([\w\s-]+?)\s+│.*│ ([\d.]+)%", done.stdout)}
    assert accuracy["two-layer MLP"] >= 95
    assert accuracy["logistic regression"] >= 90
    assert accuracy["convolutional net"] >= 98.5
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return
    assert (tmp_path / "wrong.png").stat().st_size > 1000


def test_digits_are_split_without_overlap():
    digits = demo.load_digits(seed=3)
    assert digits.x_train.shape == (1438, 64)
    assert digits.x_test.shape == (359, 64)
    assert digits.x_train.dtype == theano.config.floatX
    assert digits.x_train.min() >= 0
    assert digits.x_train.max() == 1
    assert set(digits.y_test) == set(range(10))


def test_info_tells_what_a_bug_report_needs(tmp_path):
    done = run_cli("info", cache=tmp_path / "cache", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for word in ("python", "numpy", "scipy", "compiler", "BLAS", "threads", "cache", "floatX", "THEANO_FLAGS"):
        assert word in done.stdout


def test_cache_commands(tmp_path):
    cache = tmp_path / "cache"
    code = "import theano, theano.tensor as T; x = T.dvector('x'); theano.function([x], T.exp(x) * 3)([1.0])"
    done = run_program(code, f"base_compiledir={cache}")
    assert done.returncode == 0, done.stderr
    assert " 1 libraries" in run_cli("cache", "size", cache=cache, cwd=tmp_path).stdout
    assert "1 kernels" in run_cli("cache", "list", cache=cache, cwd=tmp_path).stdout
    assert run_cli("cache", "clear", cache=cache, cwd=tmp_path).stdout.startswith("1 ")
    assert " 0 libraries" in run_cli("cache", "size", cache=cache, cwd=tmp_path).stdout
    assert run_cli("cache", "purge", cache=cache, cwd=tmp_path).returncode == 0


def test_cache_commands_know_the_modules_of_ops_with_c_code(monkeypatch, capsys, tmp_path):
    from theano.gof import cmodule
    from theano.misc import file_cache as store

    monkeypatch.setattr(cmodule, "modules_directory", lambda: str(tmp_path / "modules"))
    monkeypatch.setattr(store, "cache_directory", lambda: str(tmp_path / "kernels"))
    store.open_cache(str(tmp_path / "modules")).store(b"\x7fELF a module", ["key"])
    headers = tmp_path / "modules" / "prelude-1"
    headers.mkdir()
    assert theano_cache(["list"]) == 0
    assert "module " in capsys.readouterr().out
    assert theano_cache(["cleanup"]) == 0
    assert capsys.readouterr().out.startswith("0 ") and headers.exists()
    assert theano_cache(["clear"]) == 0
    assert capsys.readouterr().out.startswith("1 ") and not headers.exists()


def test_theano_cache_prints_the_directory(capsys):
    assert theano_cache([]) == 0
    assert capsys.readouterr().out.strip().startswith(theano.config.compiledir)


def test_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["nothing"])
    assert stop.value.code == 2
    assert "nothing" in capsys.readouterr().err


def test_theano_nose_takes_the_names_of_nose(tmp_path):
    (tmp_path / "testing_rop.py").write_text(
        "import os, unittest, theano\n"
        "class test_DoubleRop(unittest.TestCase):\n"
        "    def test_double_op(self):\n"
        "        assert theano.config.mode == 'DebugMode'\n"
        "    def test_other(self):\n"
        "        assert False\n"
    )
    command = [sys.executable, "-c", "import sys; from theano.cli.nose import main; sys.exit(main())"]
    env = dict(os.environ, THEANO_FLAGS="mode=DebugMode")
    for name, status in (("testing_rop.py:test_DoubleRop.test_double_op", 0), (".", 1)):
        done = subprocess.run([*command, name], env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status, done.stdout
        assert "1 passed" in done.stdout


def test_arguments_of_theano_nose():
    from theano.cli.nose import translate

    assert translate(["a.py:C", "--pdb-failures", "folder"])[-3:] == ["a.py::C", "--pdb", "folder"]
    assert translate(["--theano"])[-1].endswith(("tests", "theano"))


def test_version_and_module(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == f"Theano {theano.__version__}"
    done = subprocess.run(
        [sys.executable, "-m", "theano", "--version"], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.strip() == f"Theano {theano.__version__}"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["demo", "--epochs", "-3"], "-3 is not a positive number"),
        (["demo", "--epochs", "many"], "--epochs"),
        (["demo", "--picture", "no/such/folder/wrong.png"], "no file can be written to no/such/folder"),
        (["cache", "nothing"], "nothing"),
        ([], "COMMAND"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_info_as_json_and_into_a_pipe(capsys):
    assert cli.main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["theano"] == theano.__version__
    assert facts["flags"]["floatX"]["value"] == theano.config.floatX
    assert facts["engine"]["cores"] == str(os.cpu_count())
    assert cli.main(["info"]) == 0
    text = capsys.readouterr().out
    assert "DebugMode.check_preallocated_output_ndim" in text
    assert "…" not in text


def test_base_directory_of_the_cache(capsys):
    theano_cache(["basecompiledir"])
    assert capsys.readouterr().out.strip() == theano.config.base_compiledir
