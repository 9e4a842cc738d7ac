"""Lasagne 0.1, Keras 2.3.1 and SymPy 1.8: their own tests of what they do with Theano pass with this package and today's NumPy.

Run with ``THEANO_NIGHTLY=1``: pip downloads the libraries, which are not installed. Their sources stay as they are; names that
Python and NumPy have dropped since are put back by a `sitecustomize`.
"""

import os
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path

import pytest

import theano

pytestmark = pytest.mark.skipif(not os.environ.get("THEANO_NIGHTLY"), reason="set THEANO_NIGHTLY=1: downloads the libraries")

PUT_BACK = """
    import collections, collections.abc
    import numpy
    for name in ("Callable", "Hashable", "Iterable", "Mapping", "Sequence"):
        setattr(collections, name, getattr(collections.abc, name))
    for value in (bool, complex, float, int, object, str):
        numpy.__dict__.setdefault(value.__name__, value)
"""

#: Of each library what is downloaded besides, the files of tests, the environment, what is left out and why.
LIBRARIES = {
    "Lasagne==0.1": (
        ["mock"],
        ["lasagne/tests/layers/test_pool.py", "lasagne/tests/layers/test_conv.py", "lasagne/tests/test_theano_extensions.py"],
        {},
        # It imports theano.sandbox.cuda itself, which says what to do instead; a hook that pytest no longer knows.
        ["--deselect", "lasagne/tests/layers/test_conv.py::TestConv2DDNNLayer::test_import_without_gpu_or_cudnn_raises"],
        ["lasagne/conftest.py"],
    ),
    "Keras==2.3.1": (
        ["Keras_Applications==1.0.8", "Keras_Preprocessing==1.1.2", "six"],
        [f"tests/keras/layers/{name}_test.py" for name in ("pooling", "convolutional", "local")],
        {"KERAS_BACKEND": "theano"},
        [],
        [],
    ),
    "sympy==1.8": (
        ["mpmath==1.3.0"],
        ["sympy/printing/tests/test_theanocode.py"],
        {},
        [],
        [],
    ),
}


def pip(*args):
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", *args], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.skip(f"pip {args[0]} failed: {done.stderr[-300:]}")


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_librarys_own_tests(library, tmp_path):
    besides, files, environment, options, dropped = LIBRARIES[library]
    pip("download", "--no-deps", "--no-binary", ":all:", "--dest", str(tmp_path), library)
    pip("install", "--no-deps", "--target", str(tmp_path / "besides"), *besides)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    for name in dropped:
        (source / name).unlink()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(textwrap.dedent(PUT_BACK))
    ours = Path(theano.__file__).parent.parent
    path = os.pathsep.join(map(str, (tmp_path / "site", ours, tmp_path / "besides", source)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(source)]
    environment = {**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path), **environment}
    done = subprocess.run(
        [*command, *options, *files], cwd=source, env=environment, capture_output=True, text=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
