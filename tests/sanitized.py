"""Plugin of pytest for `tests.sanitizers`: this process, not those that it starts, has the sanitized runtime and kernels."""

import importlib.util
import os
import sys

NAME = "theano.native._runtime"

runtime, reports, *flags = os.environ.pop("THEANO_SANITIZED").split()
for variable in ("LD_PRELOAD", "PYTHONMALLOC"):
    os.environ.pop(variable)


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, runtime) if name == NAME else None


sys.meta_path.insert(0, Finder)

import theano  # noqa: E402
from theano.native.runtime_build import load_runtime  # noqa: E402

theano.config.gcc.cxxflags = " ".join(flags)
if load_runtime().__file__ != runtime:
    raise RuntimeError(f"the runtime is {load_runtime().__file__}, not the sanitized one")


def pytest_collection_modifyitems(items):
    """Leave out the tests of how much memory is resident and how long something takes."""
    items[:] = [item for item in items if not any(word in item.name for word in ("leak_nothing", "quickly", "at_once"))]


def pytest_runtest_logreport(report):
    """Keep what UndefinedBehaviorSanitizer writes to the standard error, beside AddressSanitizer its only way."""
    if "runtime error:" in report.capstderr:
        with open(reports, "a") as file:
            file.write(f"{report.nodeid}\n{report.capstderr}\n")
