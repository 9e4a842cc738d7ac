"""The examples of the README and of the documentation run and print what they show."""

import doctest
import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys
import warnings

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


examples = tool("examples")
PAGES = [p for p in examples.pages() if examples.FENCE.search(p.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT / "docs")))
def test_page(page):
    # A process of its own: pages register rewrites and constructors, which must not reach other tests.
    command = [sys.executable, str(ROOT / "docs" / "tools" / "examples.py"), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("program", sorted((ROOT / "docs" / "programs").glob("plot_*.py")), ids=lambda p: p.stem)
def test_program_of_the_gallery(program, tmp_path):
    pytest.importorskip("matplotlib")
    env = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(program)], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_readme_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    log_p, gradient = names["f"]([0.0, 1000.0])
    assert log_p.tolist() == [-1000.0, 0.0] and gradient.tolist() == [1.0, -1.0]


WRONG = """
```python
>>> 1 + 1
3
```

```python
print("shown")
```

```output
hidden
```

```python
print("nothing stands below")
```
"""


def test_wrong_output_is_found_and_corrected(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(WRONG)
    page = examples.Page(path).run()
    assert page.blocks == 3
    assert len(page.problems) == 3
    assert ">>> 1 + 1\n2\n" in page.text
    assert "```output\nshown\n```" in page.text


REFERENCE = """
import pathlib, sys
sys.path[:0] = [{root!r}, {tools!r}]
import reference
names = reference.write(pathlib.Path({folder!r})).names
missing = {{"theano.function", "theano.tensor.exp", "theano.tensor.dmatrix", "theano.tensor.TensorType",
            "theano.tensor.nnet.conv2d", "theano.config.floatX", "theano.config.profiling.n_ops"}} - names
assert not missing, missing
assert any(name.endswith(".TensorType.filter") for name in names)
"""


def test_reference_has_instances_methods_and_flags(tmp_path):
    program = REFERENCE.format(root=str(ROOT), tools=str(ROOT / "docs" / "tools"), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "theano.tensor.exp(a)" in (tmp_path / "theano.tensor-elementwise.rst").read_text(encoding="utf-8")
    assert ".. py:attribute:: theano.config.floatX" in (tmp_path / "flags.rst").read_text(encoding="utf-8")


def test_docstrings():
    pytest.importorskip("numpydoc")
    command = [sys.executable, str(ROOT / "docs" / "tools" / "docstrings.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "module, least",
    [
        ("theano", 15),
        ("theano.gradient", 8),
        ("theano.printing", 6),
        ("theano.tensor", 200),
        ("theano.tensor.extra_ops", 10),
        ("theano.tensor.fft", 2),
        ("theano.tensor.nlinalg", 10),
        ("theano.tensor.nnet", 16),
        ("theano.tensor.signal.pool", 2),
        ("theano.tensor.slinalg", 4),
    ],
)
def test_examples_in_docstrings_run(module, least, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    package = importlib.import_module(module)
    parser, done = doctest.DocTestParser(), 0
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for name in [*(getattr(package, "__all__", None) or dir(package)), *getattr(package, "_lazy_names", ())]:
        value = getattr(package, name, None)
        if name.startswith("_") or not callable(value) or ">>>" not in (value.__doc__ or ""):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runner.run(parser.get_doctest(value.__doc__, vars(inspect.getmodule(value) or package).copy(), name, None, 0))
        done += 1
    assert done >= least
    assert runner.summarize().failed == 0


def test_documented_names_have_entries():
    """Every name of the manual of Theano 1.0 is in the reference; the list of them lies beside a checkout, where there is one."""
    tables = sorted((ROOT.parent / "shared" / "conformance" / "manual" / "api").glob("*.tsv"))
    if not tables:
        pytest.skip("the tables of the manual's names are not there")
    command = [sys.executable, str(ROOT / "docs" / "tools" / "coverage.py"), *map(str, tables)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
