"""What happens when the disk, the compiler or a library fails: the call works all the same, and the next one too."""

import importlib.util
import os
import re
import stat
import subprocess
import sys
import textwrap

import pytest

from tests.tools import run_program
from theano.native.runtime_build import load_runtime
from theano.native.target.cpu import compiler

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions, signals and limits")
native = pytest.mark.skipif(load_runtime() is None or compiler.find_compiler() is None, reason="no native engine")

PROGRAM = """
import numpy as np
import theano
import theano.tensor as T

x = T.dvector("x")
f = theano.function([x], T.exp(x) * 3 + T.tanh(x), name="f")
value = np.linspace(-1, 1, 7)
np.testing.assert_allclose(f(value), np.exp(value) * 3 + np.tanh(value), rtol=1e-14)
print("right")
"""


def run_at_home(home, program=PROGRAM, flags="", preexec_fn=None, **environment):
    """Run a program with a home of its own; returns its output and its errors."""
    environment = {"HOME": str(home), "XDG_CACHE_HOME": None, "CC": None, "THEANORC": None, **environment}
    return run_program(program, flags, preexec_fn=preexec_fn, **environment)


def is_right(done):
    assert done.returncode == 0, done.stderr
    assert "right" in done.stdout
    return done.stderr


def without_privileges():
    """Take from a process that is about to start the right to write everywhere, which root has."""
    if os.geteuid() != 0:
        return
    import ctypes

    drop_capability, override, read_search = 24, 1, 2
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (override, read_search):
        if libc.prctl(drop_capability, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def can_lose_privileges():
    try:
        done = subprocess.run([sys.executable, "-c", ""], preexec_fn=without_privileges, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


@posix
@pytest.mark.skipif(os.name == "posix" and not can_lose_privileges(), reason="root that cannot give up its rights")
def test_a_read_only_home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    errors = is_right(run_at_home(home, preexec_fn=without_privileges))
    assert errors.count("Warning") <= 1
    assert os.listdir(home) == []


@posix
@native
def test_a_home_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    assert is_right(run_at_home(tmp_path / "file")).count("Warning") <= 1


def script(path, text):
    path.write_text("#!/bin/sh\n" + textwrap.dedent(text))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@posix
@native
def test_a_compiler_that_is_killed(tmp_path):
    """The wrapper is killed while the compiler it started runs on; the same process, and the next, compile again."""
    real = compiler.find_compiler().command
    wrapper = script(
        tmp_path / "wrapper",
        f"""
        if [ ! -e {tmp_path}/killed ]; then
            touch {tmp_path}/killed
            {" ".join(real)} "$@" &
            kill -KILL $$
        fi
        exec {" ".join(real)} "$@"
        """,
    )
    program = """
        import theano, theano.tensor as T
        from theano.native.target.cpu.compiler import CompileError
        x = T.dscalar()
        try:
            theano.function([x], T.exp(x) * 3)
            print("no error")
        except CompileError as error:
            print("refused:", error)
    """
    flags = f"cxx={wrapper},base_compiledir={tmp_path}/cache"
    done = run_at_home(tmp_path, textwrap.dedent(program) + PROGRAM, flags)
    errors = is_right(done)
    assert (tmp_path / "killed").exists()
    assert "Functions run on NumPy" in errors and "no error" in done.stdout
    assert "Warning" not in is_right(run_at_home(tmp_path, PROGRAM, flags))
    assert not [f for _, _, files in os.walk(tmp_path / "cache") for f in files if f.startswith("tmp-")]


@posix
@native
def test_a_process_that_is_killed_while_it_compiles(tmp_path):
    real = compiler.find_compiler().command
    wrapper = script(
        tmp_path / "wrapper",
        f"""
        if [ ! -e {tmp_path}/killed ]; then
            touch {tmp_path}/killed
            kill -KILL $PPID
        fi
        exec {" ".join(real)} "$@"
        """,
    )
    flags = f"cxx={wrapper},base_compiledir={tmp_path}/cache"
    first = run_at_home(tmp_path, PROGRAM, flags)
    assert first.returncode != 0 and "right" not in first.stdout
    assert "Warning" not in is_right(run_at_home(tmp_path, PROGRAM, flags))
    assert "Warning" not in is_right(run_at_home(tmp_path, PROGRAM, flags))


def only_small_files(limit):
    def apply():
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return apply


@posix
@native
@pytest.mark.parametrize("limit", [0, 4096, 12000])
def test_a_disk_that_takes_no_more(tmp_path, limit):
    """Writes fail with a real error of the system: of the source, of the compiler, of the linker."""
    flags = f"base_compiledir={tmp_path}/cache"
    errors = is_right(run_at_home(tmp_path, PROGRAM, flags, only_small_files(limit), PYTHONDONTWRITEBYTECODE="1"))
    assert errors.count("Functions run on NumPy") == 1
    # What was left half-written is not taken for a library.
    assert "Warning" not in is_right(run_at_home(tmp_path, PROGRAM, flags))


def test_the_demo_without_matplotlib(tmp_path):
    program = """
        import sys
        sys.modules["matplotlib"] = None
        from theano.cli import main
        sys.exit(main(["demo", "--epochs", "2", "--picture", "wrong.png"]))
    """
    done = run_program(textwrap.dedent(program), f"base_compiledir={tmp_path}/cache", cwd=tmp_path, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert re.search(r"two-layer MLP.*\d%", done.stdout)
    assert re.search(r"convolutional net.*\d%", done.stdout)
    assert not (tmp_path / "wrong.png").exists()


@native
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="the package ziglang is not installed")
def test_zig_as_the_only_compiler(tmp_path):
    program = """
        from theano.native.target.cpu import compiler
        assert compiler.find_compiler().command[1] == "cc"
        assert "zig" in compiler.find_compiler().command[0]
    """
    errors = is_right(
        run_at_home(tmp_path, PROGRAM + textwrap.dedent(program), f"base_compiledir={tmp_path}/cache", PATH=str(tmp_path))
    )
    assert "Warning" not in errors
