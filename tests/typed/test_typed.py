"""What type checkers say of programs that use this package, and what completion offers."""

import importlib.util
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import theano
from tests.tools import run_program
from tests.typed.stubs import PACKAGE, stubs

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAM = (FOLDER / "program.py").read_text(encoding="utf-8")

#: Mistakes as people make them: what the program says, what it says with the mistake.
MISTAKES = [
    ("T.exp(v).sum()", "T.exp(v).summ()"),
    ("T.tanh(self.hidden(x))", "T.tanhh(self.hidden(x))"),
    ("row = pooled.mean(axis=0, keepdims=True)", "row = pooled.mean(axis=0, keep_dims=True)"),
    ('predict = theano.function([x], network', 'predict = theano.function([x], outputz=network'),
    ("T.nnet.softmax(", "T.nnet.sofmax("),
    ("T.gt(chosen, 0)", "T.gt(chosen)"),
    ("parameter.get_value()", "parameter.getvalue()"),
    ("theano.scan(step, sequences=x", "theano.scan(step, sequence=x"),
    ("images.shape[0]", "len(images)"),
    ("return stacked.ndim, limited.dtype", "return stacked.shape, limited.dtype"),
    ("count.set_value(4)", "count.set_value()"),
    ('T.dvectors("v", "direction")', 'T.dvector("v", "direction")'),
    ("T.grad(energy, v)", 'T.grad(energy, "v")'),
    ("kept = T.set_subtensor(column[0], 1.0)", "kept = column; column[0] = 1.0"),
    ("self.streams.binomial(", "self.streams.binomal("),
]  # fmt: skip
assert all(PROGRAM.count(right) >= 1 for right, _ in MISTAKES)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The program, and the programs with one mistake each, with the lines where these are."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    lines = {}
    for number, (right, wrong) in enumerate(MISTAKES):
        text = PROGRAM.replace(right, wrong, 1)
        (folder / f"wrong{number:02}.py").write_text(text)
        lines[f"wrong{number:02}.py"] = text[: text.index(wrong)].count("\n") + 1
    return folder, lines


def check(said, lines):
    """Each mistake is found in its line, and nothing else is complained of."""
    found = {(pathlib.Path(path).name, int(line)) for path, line in re.findall(r"([\w./-]+\.py):(\d+)[^\n]*error", said)}
    missed = [MISTAKES[int(name[5:7])][1] for name, line in lines.items() if (name, line) not in found]
    assert not missed, said
    # A mistake in one line may make another wrong; a program without mistakes has none.
    assert not [name for name, _ in found if name == "program.py"], said


def test_the_program_runs():
    assert len(PROGRAM.splitlines()) >= 200
    done = run_program(PROGRAM)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_mypy(programs):
    pytest.importorskip("mypy")
    folder, lines = programs
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={folder / 'cache'}"]
    files = ["program.py", *lines]
    command = [sys.executable, "-m", "mypy", *options, *files]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    check(done.stdout, lines)


@pytest.mark.slow
def test_pyright(programs):
    command = shutil.which("pyright") or _beside_python("pyright") or _beside_python("basedpyright")
    if command is None:
        pytest.skip("pyright is not installed")
    folder, lines = programs
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard", "extraPaths": ["%s"]}' % PACKAGE.parent)
    done = subprocess.run(
        [command, "-p", ".", "--pythonpath", sys.executable], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert "program.py" in done.stdout or done.returncode in (0, 1), done.stdout + done.stderr
    check(done.stdout, lines)


def _beside_python(name):
    path = pathlib.Path(sys.executable).parent / name
    return str(path) if path.exists() else None


def environment():
    import os

    return {**os.environ, "MYPYPATH": str(PACKAGE.parent)}


def test_stubs_are_those_of_the_package():
    """``python -m tests.typed.stubs`` writes them anew."""
    program = "from tests.typed.stubs import stubs\nfor path, text in stubs().items():\n    assert path.read_text() == text, path"
    done = run_program(program, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr


def test_stubs_name_what_is_there():
    assert theano.PY3  # now a name of the module, which no stub has
    for path, text in stubs().items():
        if path.name != "__init__.pyi":
            continue
        package = importlib.import_module(".".join(path.parent.relative_to(PACKAGE.parent).parts))
        names = re.findall(r"^(?:def (\w+)|(\w+): |from [\w.]+ import \w+ as (\w+)$)", text, re.M)
        names = {name for group in names for name in group if name} - {"_Any", "_Generic"}
        assert len(names) > 50
        missing = [name for name in sorted(names) if not hasattr(package, name)]
        assert not missing


def test_completion_offers_the_methods_of_a_matrix():
    jedi = pytest.importorskip("jedi")
    program = "import theano.tensor as T\nx = T.matrix('x')\nx.su"
    assert "sum" in [c.name for c in jedi.Script(program).complete(3, 4)]
    program = "import theano.tensor as T\ny = T.exp(T.dmatrix())\ny.dim"
    assert "dimshuffle" in [c.name for c in jedi.Script(program).complete(3, 5)]


def test_signatures_of_operations():
    assert list(inspect.signature(theano.tensor.exp).parameters) == ["a"]
    assert list(inspect.signature(theano.tensor.arctan2).parameters) == ["a", "b"]
    assert str(inspect.signature(theano.tensor.add)) == "(*inputs)"
    assert list(inspect.signature(theano.tensor.switch).parameters) == ["cond", "ift", "iff"]
    assert list(inspect.signature(theano.tensor.nlinalg.det).parameters) == ["x"]
    assert list(inspect.signature(theano.tensor.alloc).parameters) == ["value", "shapes", "kwargs"]
    assert list(inspect.signature(theano.tensor.Reshape).parameters) == ["ndim", "name"]
    assert "signature" in dir(inspect) and importlib.util.find_spec("theano") is not None
