"""Building the runtime where the installation has none."""

import os
import subprocess
import sys
import textwrap

import pytest

from theano.native import runtime_build
from theano.native.target.cpu.compiler import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")

PROGRAM = """
    import os, sys, warnings
    import numpy as np
    import theano.native
    sys.modules["theano.native._runtime"] = None  # as in an installation without it
    vars(theano.native).pop("_runtime", None)
    from theano.native import runtime_build
    runtime_build._load_once.cache_clear()
    runtime_build.FLAGS = tuple("-O0" if f == "-O3" else f for f in runtime_build.FLAGS)
    runtime_build._import = lambda: None
    warnings.simplefilter("error")
"""

USE = """
    runtime = runtime_build.build_runtime(sys.argv[1])
    cell = ("tensor", np.dtype("f8").num, 1)
    p = runtime.Program([cell, cell], [("copy", (0,), (1,), (), 0, ())], 1, [(0, [None])], [], [(1, [None])])
    assert p.call([np.ones(2)])[0].tolist() == [1, 1]
    from theano.native import _runtime
    assert _runtime is runtime
    print(runtime.__file__)
"""


def python(code, *args):
    text = textwrap.dedent(PROGRAM) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", text, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_built_once_and_again_when_damaged(tmp_path):
    directory = tmp_path / 'a folder\'s "name"'
    path = python(USE, directory)
    assert os.path.dirname(path) == str(directory)
    before = os.stat(path).st_mtime_ns
    assert python(USE, directory) == path
    assert os.stat(path).st_mtime_ns == before
    with open(path, "r+b") as file:
        file.truncate(1000)
    assert python(USE, directory) == path
    assert os.path.getsize(path) > 1000
    assert [name for name in os.listdir(directory) if not name.startswith("index-")] == [os.path.basename(path)]


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path):
    code = """
        import stat
        os.chmod(sys.argv[1], 0o777)
        print(runtime_build._safe_directory(sys.argv[1]) == sys.argv[1])
        os.chmod(sys.argv[1], 0o700)
        print(runtime_build._safe_directory(sys.argv[1]) == sys.argv[1])
    """
    assert python(code, tmp_path).split() == ["False", "True"]


def test_a_failing_compiler_is_one_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(runtime_build, "FLAGS", ("--no-such-flag",))
    with pytest.warns(RuntimeWarning, match="could not be built"):
        assert runtime_build.build_runtime(str(tmp_path)) is None
    assert os.listdir(tmp_path) == []


def test_no_compiler_is_silent(tmp_path, monkeypatch):
    monkeypatch.setattr("theano.native.target.cpu.toolchain.find_compiler", lambda: None)
    assert runtime_build.build_runtime(str(tmp_path)) is None
