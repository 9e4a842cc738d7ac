"""What is wrong with the docstrings of public names, by the rules of numpydoc: ``python docs/tools/docstrings.py [MODULE ...]``.

The names are those of the reference. Functions that users call have all of their parameters and what they return explained;
everything public has a docstring whose parameters are there, in their order.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import sys
import tempfile
from typing import Any

#: Of every public function and class: there is a docstring, with a summary, and no parameters that there are not.
ALWAYS = {"GL08", "SS01", "SS02", "SS04", "PR02"}
#: Of functions in the modules of users: all parameters, and what is returned.
EXPLAINED = {"PR01", "RT01"}
_USERS = """
theano theano.ifelse theano.gradient theano.printing theano.updates theano.raise_op theano.tensor theano.tensor.extra_ops
theano.tensor.nlinalg theano.tensor.slinalg theano.tensor.sort theano.tensor.fft theano.tensor.utils theano.tensor.nnet
theano.tensor.nnet.nnet theano.tensor.nnet.abstract_conv theano.tensor.nnet.bn theano.tensor.nnet.blocksparse
theano.tensor.nnet.ctc theano.tensor.nnet.conv3d2d theano.tensor.signal.pool theano.tensor.signal.conv theano.scan_module
theano.misc theano.d3viz theano.d3viz.d3viz theano.compile.builders theano.misc.pkl_utils theano.sandbox.rng_mrg
"""
USERS = set(_USERS.split())
#: Still to be done.
KNOWN = {"theano.tensor.opt.AlgebraicCanonizer", "theano.tensor.opt.is_dot_of_matrices"}


def _excused(code: str, message: str, value: Any) -> bool:
    """Whether it is no mistake: keywords that go on to another function, parameters that are not public."""
    parameters = inspect.signature(value).parameters.values()
    if code == "PR02":
        # The parameters of a class may be those of a base.
        return any(p.kind is p.VAR_KEYWORD for p in parameters) or "__init__" not in vars(value)
    if code == "PR01":
        missing = re.findall(r"'\**(\w+)'", message)
        return all(name.startswith("_") for name in missing) or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return False


def public(modules: set[str] | None = None) -> list[tuple[str, Any]]:
    """Return the functions and classes of the reference with their paths."""
    import reference

    with tempfile.TemporaryDirectory() as folder:
        writer = reference.Writer(pathlib.Path(folder))
        for chapter in reference.CHAPTERS.values():
            for name in chapter.split():
                writer.page(name)
    found = [(writer.full[id(value)], value) for value in writer.keep if inspect.isfunction(value) or inspect.isclass(value)]
    return [(path, value) for path, value in found if modules is None or path.rpartition(".")[0] in modules]


def wrong(modules: set[str] | None = None) -> list[str]:
    """Return what is wrong: path, code and message."""
    import numpydoc.validate
    from numpydoc.docscrape import get_doc_object

    # It would read and parse the source of each to find its line.
    numpydoc.validate.Validator.source_file_def_line = property(lambda self: None)
    problems = []
    for path, value in public(modules):
        if path in KNOWN:
            continue
        codes = ALWAYS
        if inspect.isfunction(value) and path.rpartition(".")[0] in USERS:
            codes = ALWAYS | EXPLAINED
        try:
            found = numpydoc.validate.validate(get_doc_object(value))["errors"]
        except ValueError as error:
            problems.append(f"{path}: {error}")
            continue
        for code, message in found:
            if code in codes and not _excused(code, message, value):
                problems.append(f"{path} {code} {message}")
    return problems


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
    lines = wrong(set(sys.argv[1:]) or None)
    print(*lines, f"{len(lines)} problems", sep="\n")
    sys.exit(bool(lines))
