"""The examples of the README and of the documentation run and print what they show."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

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


#: Named to say that they are gone, or that anything may stand there.
NO_NAMES = {"theano.sandbox.cuda", "theano.p", "theano.compile.exclude", "theano.configdefaults.var"}


def test_names_in_pages_exist():
    import theano

    roots = {"theano": theano, "T": theano.tensor, "config": theano.config}
    missing = []
    for page in [ROOT / "README.md", *examples.pages()]:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        for name in sorted({*re.findall(r"`((?:theano|T|config)(?:\.\w+)+)", text)} - NO_NAMES):
            root, *rest = name.split(".")
            value, module = roots[root], roots[root].__name__ if root != "config" else "theano.config"
            for part in rest:
                module = f"{module}.{part}"
                if not hasattr(value, part) and importlib.util.find_spec(module) is None:
                    missing.append(f"{page.relative_to(ROOT)}: {name}")
                    break
                value = getattr(value, part) if hasattr(value, part) else importlib.import_module(module)
    assert not missing


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


def test_linter_finds_errors_that_are_not_told_and_names_that_are_not_there():
    docstrings = tool("docstrings")

    def refuses(x):
        if x:
            raise ValueError("no")

    def defines(x):
        def inner():
            raise ValueError("no")

        return inner

    assert docstrings._raises(refuses) and not docstrings._raises(defines)
    entries = "numpy.exp, numpy.expp : These.\npathlib.Path.nowhere : That.\n    More: of it.\n"
    text = f"Do.\n\nSee Also\n--------\n{entries}\nNotes\n-----\nx\n"
    assert docstrings._neighbours_that_do_not_exist(text, "numpy") == ["numpy.expp", "pathlib.Path.nowhere"]
    assert docstrings._neighbours_that_do_not_exist("Do.\n\nSee Also\n--------\nlog : The other.\n", "numpy") == []


def test_linter_compares_what_see_also_says_with_what_stands_there():
    docstrings = tool("docstrings")

    def answers(told):
        return docstrings._neighbours_that_say_otherwise(f"Do.\n\nSee Also\n--------\n{told}\n", "theano.tensor.sort")

    summary = "Return the int64 indices that sort `a` along an axis; see `sort`"
    assert answers("argsort : Return indices.") == [("argsort", summary)]
    # A word that is cut in two is no shortening, nor is the middle of the summary.
    assert answers("theano.tensor.argsort : Return the int64 ind") == [("theano.tensor.argsort", summary)]
    assert answers("argsort : The int64 indices that sort `a`.") == [("argsort", summary)]
    assert answers("argsort : Return the int64 indices\n    that sort `a` along an axis; see :func:`sort`.") == []
    for right in ("", " : Return the int64 indices that sort `a` along an axis.", " : The same with indices.", " : For indices."):
        assert answers("argsort" + right) == []
    # What others say of their functions is not compared, nor what a module is.
    assert answers("numpy.argsort : Return whatever.\ntheano.tensor : Arrays.") == []


def test_examples_in_docstrings_run():
    # A process of its own: examples register conversions and constructors.
    command = [sys.executable, str(ROOT / "docs" / "tools" / "docstrings.py"), "--run"]
    # With an empty cache, half a minute on two busy cores.
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) docstrings with examples", done.stdout)[1]) >= 1500


def test_documented_names_have_entries():
    """Every name of the manual of Theano 1.0 is in the reference; the list of them lies beside a checkout, where there is one."""
    tables = sorted((ROOT.parent / "shared" / "conformance" / "manual" / "api").glob("*.tsv"))
    if not tables:
        pytest.skip("the tables of the manual's names are not there")
    command = [sys.executable, str(ROOT / "docs" / "tools" / "coverage.py"), *map(str, tables)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_checks_wheels_imports_what_is_there():
    programs = re.findall(r'python -c "(.*?)"', (ROOT / "packaging" / "check_wheel").read_text(encoding="utf-8"), re.S)
    imports = [line for program in programs for line in re.split(r"[\n;] *", program) if line.startswith(("import ", "from "))]
    assert len(imports) == 4
    exec("\n".join(imports), {})
