"""The examples of the README and of the documentation run and print what they show."""

import doctest
import os
import pathlib
import re
import warnings

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", [p for p in PAGES if ">>>" in p.read_text()], ids=lambda p: p.name)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0


def test_readme_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_documentation_builds(tmp_path):
    sphinx = pytest.importorskip("sphinx.cmd.build")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status = sphinx.main(["-q", "-b", "html", str(ROOT / "docs"), str(tmp_path / "html"), "-d", str(tmp_path / "trees")])
    assert status == 0
    assert "function" in (tmp_path / "html" / "api.html").read_text()
    assert os.path.exists(tmp_path / "html" / "tutorial.html")
