"""Tests that Lasagne 0.1, Keras 2.3.1, SymPy and PyMC3 3.8 have of what they do with Theano, with this package and today's NumPy.

Run with ``THEANO_NIGHTLY=1``: pip downloads the libraries, which are not installed. Their sources stay as they are; names that
Python, NumPy and SciPy have dropped since are put back by a `sitecustomize`. What fails for another reason than this package
is listed in `EXPLAINED`; docs/differences.md has the table of passed and failed.
"""

import os
import re
import subprocess
import sys
import tarfile
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

import theano
from tests.tools import run_program

pytestmark = pytest.mark.skipif(not os.environ.get("THEANO_NIGHTLY"), reason="set THEANO_NIGHTLY=1: downloads the libraries")

PUT_BACK = """
    import collections, collections.abc
    import numpy
    for name in ("Callable", "Hashable", "Iterable", "Mapping", "Sequence"):
        setattr(collections, name, getattr(collections.abc, name))
    for value in (bool, complex, float, int, object, str):
        numpy.__dict__.setdefault(value.__name__, value)
    class Cast(dict):
        def __missing__(self, dtype):
            return lambda x: numpy.asarray(x, dtype=dtype)
    numpy.__dict__.setdefault("cast", Cast())
"""

#: What PyMC3 and the libraries that it needs take besides.
PUT_BACK_MORE = """
    import inspect, types
    import numpy.testing, scipy.integrate, scipy.signal, scipy.signal.windows, scipy.stats
    dropped = {
        "asscalar": lambda a: a.item(), "product": numpy.prod, "cumproduct": numpy.cumprod, "in1d": numpy.isin,
        "float_": numpy.float64, "complex_": numpy.complex128, "unicode_": numpy.str_, "string_": numpy.bytes_, "Inf": numpy.inf,
        "NaN": numpy.nan, "infty": numpy.inf, "alltrue": numpy.all, "sometrue": numpy.any, "row_stack": numpy.vstack,
        "trapz": getattr(numpy, "trapezoid", None),
    }
    for name, value in dropped.items():
        numpy.__dict__.setdefault(name, value)
    numpy.testing.__dict__.setdefault("Tester", type("Tester", (), {"test": lambda self: None}))
    if not hasattr(inspect, "getargspec"):
        inspect.getargspec = lambda f: inspect.FullArgSpec(*inspect.getfullargspec(f)[:7])
    scipy.signal.gaussian = scipy.signal.windows.gaussian
    for old, new in {"trapz": "trapezoid", "simps": "simpson", "cumtrapz": "cumulative_trapezoid"}.items():
        if not hasattr(scipy.integrate, old):
            setattr(scipy.integrate, old, getattr(scipy.integrate, new))
"""

#: SymPy 1.10 says at two places that its printer is deprecated, its tests look for one: they run without that check.
SYMPY = """
    import sys
    sys._running_pytest = True
    import sympy.testing.pytest
    from sympy.utilities.exceptions import SymPyDeprecationWarning, ignore_warnings
    sympy.testing.pytest.warns_deprecated_sympy = lambda: ignore_warnings(SymPyDeprecationWarning)
"""

#: What theanets takes of a package for command lines that is not to be had any more.
CLIMATE = """
    import logging
    get_logger = logging.getLogger
    def enable_default_logging(): pass
"""

LSTM = """
    import numpy as np, theano, theano.tensor as T
    from theano_lstm import LSTM, Layer, StackedCells, create_optimization_updates
    model = StackedCells(4, layers=[10, 10], activation=T.tanh, celltype=LSTM)
    model.layers.append(Layer(10, 3, activation=lambda x: T.nnet.softmax(x)[0] if x.ndim == 1 else T.nnet.softmax(x)))
    x, t = T.matrix("x"), T.ivector("t")
    states = [dict(initial=layer.initial_hidden_state, taps=[-1]) if hasattr(layer, "initial_hidden_state") else None
              for layer in model.layers]
    outputs, _ = theano.scan(lambda x, *before: model.forward(x, before), sequences=x, outputs_info=states)
    cost = -T.log(outputs[-1][T.arange(t.shape[0]), t]).mean()
    data = np.random.RandomState(0).randn(6, 4), np.array([0, 1, 2, 0, 1, 2])
    for method in ("adagrad", "adadelta", "sgd"):
        updates = create_optimization_updates(cost, model.params, method=method)[0]
        train = theano.function([x, t], cost, updates=updates, allow_input_downcast=True)
        costs = [float(train(*data)) for _ in range(30)]
        print(method, costs[0] > costs[-1])
"""

DOWNHILL = """
    import numpy as np, theano, theano.tensor as T, downhill
    rng = np.random.RandomState(0)
    x = T.dmatrix("x")
    u, v = theano.shared(rng.randn(20, 3), name="u"), theano.shared(rng.randn(3, 5), name="v")
    target = np.dot(rng.randn(20, 3), rng.randn(3, 5))
    start = u.get_value(), v.get_value()
    loss = T.sqr(x - T.dot(u, v)).mean()
    for algo in ("sgd", "nag", "rprop", "rmsprop", "adagrad", "adadelta", "adam"):
        u.set_value(start[0])
        v.set_value(start[1])
        steps = downhill.build(algo, loss=loss).iterate([[target]], learning_rate=0.01, max_updates=30, monitor_gradients=True)
        losses = [float(train["loss"]) for train, _ in steps]
        print(algo, losses[0] > losses[-1])
"""

THEANETS = """
    import numpy as np, theanets
    rng = np.random.RandomState(0)
    x = rng.randn(64, 8)
    y = x @ rng.randn(8, 2)
    s = rng.randn(16, 7, 3)
    z = s.cumsum(axis=1)[:, :, :1]
    networks = {
        "regressor": (theanets.Regressor([8, 10, 2]), [x, y]),
        "classifier": (theanets.Classifier([8, (10, "relu"), 2]), [x, (y[:, 0] > 0).astype("int32")]),
        "autoencoder": (theanets.Autoencoder([8, 4, 8]), [x]),
    }
    for form in ("rnn", "lstm", "gru", "clockwork", "scrn"):
        layer = dict(size=6, form=form, **({"periods": (1, 2)} if form == "clockwork" else {}))
        networks[form] = theanets.recurrent.Regressor([3, layer, 1]), [s, z]
    for name, (network, data) in networks.items():
        data = [a.astype("float32") if a.dtype.kind == "f" else a for a in data]
        losses = []
        for train, _ in network.itertrain(data, algo="rmsprop", learning_rate=0.01, train_batches=5):
            losses.append(float(train["loss"]))
            if len(losses) > 8:
                break
        print(name, losses[0] > losses[-1])
"""

#: Libraries whose archives have no tests: what is downloaded, what is installed besides, a program, the number of its results.
PROGRAMS = {
    "theano-lstm": (["theano-lstm==0.0.15"], [], LSTM, 3),
    "downhill": (["downhill==0.4.0"], ["click"], DOWNHILL, 7),
    "theanets": (["theanets==0.7.3", "downhill==0.4.0"], ["click"], THEANETS, 8),
}

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
    # The last one whose tests of its printer were run with Theano: 38, and two that SymPy skips.
    "sympy==1.8": (["mpmath==1.3.0"], ["sympy/printing/tests/test_theanocode.py"], {}, [], []),
    # The first ones with 39 tests that SymPy does not skip.
    "sympy==1.10.1": (["mpmath==1.3.0"], ["sympy/printing/tests/test_theanocode.py"], {}, ["-p", "without_deprecation"], []),
    "pymc3==3.8": (
        [
            "arviz==0.11.0", "matplotlib==3.8.4", "xarray", "pandas", "netCDF4", "cftime", "contourpy", "cycler", "fonttools",
            "kiwisolver", "pillow", "pyparsing", "python-dateutil", "pytz", "tzdata", "six", "packaging", "patsy", "h5py", "tqdm",
        ],
        [f"pymc3/tests/test_{name}.py" for name in (
            "hmc", "quadpotential", "tuning", "step", "distributions", "distributions_random")],
        {"MPLBACKEND": "agg"},
        [],
        [],
    ),
}  # fmt: skip

#: Of tests that fail for another reason than this package: what fails, and what its message has.
EXPLAINED = {
    # An index that is a list of slices, which NumPy 1.23 refuses.
    "pymc3==3.8": [("test_distributions_random", "only integers, slices|too many indices for array|setting an array element")],
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
    more = textwrap.dedent(PUT_BACK_MORE) if library.startswith("pymc3") else ""
    (tmp_path / "site" / "sitecustomize.py").write_text(textwrap.dedent(PUT_BACK) + more)
    (tmp_path / "site" / "without_deprecation.py").write_text(textwrap.dedent(SYMPY))
    ours = Path(theano.__file__).parent.parent
    path = os.pathsep.join(map(str, (tmp_path / "site", ours, tmp_path / "besides", source)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(source)]
    environment = {**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path), **environment}
    command += [f"--junit-xml={tmp_path / 'results.xml'}", *options, *files]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode in (0, 1), done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    failed = []
    for case in ElementTree.parse(tmp_path / "results.xml").iter("testcase"):
        for failure in [*case.findall("failure"), *case.findall("error")]:
            name, message = f"{case.get('classname')}.{case.get('name')}", failure.get("message", "") + (failure.text or "")
            if not any(re.search(n, name) and re.search(m, message) for n, m in EXPLAINED.get(library, [])):
                failed.append((name, message[-500:]))
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_libraries(name, tmp_path):
    libraries, besides, program, results = PROGRAMS[name]
    pip("download", "--no-deps", "--no-binary", ":all:", "--dest", str(tmp_path), *libraries)
    if besides:
        pip("install", "--no-deps", "--target", str(tmp_path / "besides"), *besides)
    sources = []
    for archive in tmp_path.glob("*.tar.gz"):
        with tarfile.open(archive) as tar:
            tar.extractall(tmp_path, filter="data")
        sources.append(tmp_path / archive.name.removesuffix(".tar.gz"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(textwrap.dedent(PUT_BACK))
    (tmp_path / "site" / "climate.py").write_text(textwrap.dedent(CLIMATE))
    path = [tmp_path / "site", Path(theano.__file__).parent.parent, tmp_path / "besides", *sources]
    done = run_program(textwrap.dedent(program), cwd=tmp_path, PYTHONPATH=os.pathsep.join(map(str, path)), HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    found = [line for line in done.stdout.splitlines() if line.endswith((" True", " False")) and len(line.split()) == 2]
    assert len(found) == results
    assert all(line.endswith(" True") for line in found), found
