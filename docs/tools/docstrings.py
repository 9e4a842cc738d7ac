"""What is wrong with the docstrings of public names, by the rules of numpydoc: ``python docs/tools/docstrings.py [MODULE ...]``.

With ``--run`` their examples are run, and what they print compared with what stands there.
The names are those of the reference: functions, classes and Ops. All have their parameters and what they return explained;
functions that users call have an example besides.
"""

from __future__ import annotations

import doctest
import inspect
import os
import pathlib
import re
import sys
import tempfile
import warnings
from typing import Any

#: Of everything public: there is a docstring with a summary, which explains all parameters, in their order, and no others.
ALWAYS = {"GL08", "SS01", "SS02", "SS04", "PR01", "PR02"}
#: Of functions: what is returned is explained. Of a helper the summary may say it, where the annotation gives the type.
RETURNS = "RT01"
#: Of functions in the modules of users: there is an example, which the tests run.
EXAMPLE = "EX01"
_USERS = """
theano theano.ifelse theano.gradient theano.printing theano.updates theano.raise_op theano.tensor theano.tensor.extra_ops
theano.tensor.nlinalg theano.tensor.slinalg theano.tensor.sort theano.tensor.fft theano.tensor.utils theano.tensor.nnet
theano.tensor.nnet.nnet theano.tensor.nnet.abstract_conv theano.tensor.nnet.bn theano.tensor.nnet.blocksparse
theano.tensor.nnet.ctc theano.tensor.nnet.conv3d2d theano.tensor.signal.pool theano.tensor.signal.conv theano.scan_module
theano.misc theano.d3viz theano.d3viz.d3viz theano.compile.builders theano.misc.pkl_utils theano.sandbox.rng_mrg
"""
USERS = set(_USERS.split())
#: They need what a test cannot have: a run of all tests, a file that is left behind, a kind of pickle that is no longer made.
WITHOUT_EXAMPLE = {"theano.test", "theano.misc.pkl_utils.load_reduce"}


def _excused(code: str, message: str, value: Any) -> bool:
    """Whether it is no mistake: keywords that go on to another function, parameters that are not public."""
    parameters = inspect.signature(value).parameters.values()
    if code == "PR02":
        # The parameters of a class may be those of a base.
        return any(p.kind is p.VAR_KEYWORD for p in parameters) or "__init__" not in vars(value)
    if code == "PR01" and inspect.isclass(value) and "__init__" not in vars(value):
        # The class that has the constructor explains it.
        return True
    if code == "PR01":
        missing = re.findall(r"'\**(\w+)'", message)
        return all(name.startswith("_") for name in missing) or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return False


def _says_what_is_returned(function: Any) -> bool:
    """Whether the summary is a sentence of what is returned, of a type that is annotated."""
    summary = (inspect.getdoc(function) or "").partition("\n")[0]
    annotation = inspect.signature(function).return_annotation
    return summary.startswith(("Return ", "Whether ", "Make ")) and annotation is not inspect.Signature.empty


def documented(modules: set[str] | None = None) -> list[tuple[str, Any]]:
    """Return what the reference describes, with its path."""
    import reference

    with tempfile.TemporaryDirectory() as folder:
        writer = reference.Writer(pathlib.Path(folder))
        for chapter in reference.CHAPTERS.values():
            for name in chapter.split():
                writer.page(name)
    found = [(writer.full[id(value)], value) for value in writer.keep]
    return [(path, value) for path, value in found if modules is None or path.rpartition(".")[0] in modules]


def public(modules: set[str] | None = None) -> list[tuple[str, Any]]:
    """Return the functions and classes of the reference with their paths."""
    return [(path, value) for path, value in documented(modules) if inspect.isfunction(value) or inspect.isclass(value)]


def run(modules: set[str] | None = None) -> tuple[int, int]:
    """Run the examples of functions, classes and operations; return in how many there are any, and how many examples failed."""
    parser, seen = doctest.DocTestParser(), 0
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for path, value in documented(modules):
                text = value.__doc__ if callable(value) else None
                # An operation without a text has that of its class, which has run.
                if text and ">>>" in text and (isinstance(value, type) or text != type(value).__doc__):
                    names = vars(inspect.getmodule(value) or sys.modules["theano"]).copy()
                    runner.run(parser.get_doctest(inspect.cleandoc(text), names, path, None, 0))
                    seen += 1
        finally:
            os.chdir(before)
    return seen, runner.summarize().failed


def wrong(modules: set[str] | None = None) -> list[str]:
    """Return what is wrong: path, code and message."""
    import numpydoc.validate
    from numpydoc.docscrape import get_doc_object

    # It would read and parse the source of each to find its line.
    numpydoc.validate.Validator.source_file_def_line = property(lambda self: None)
    problems = []
    for path, value in public(modules):
        codes = set(ALWAYS)
        if inspect.isfunction(value):
            of_users = path.rpartition(".")[0] in USERS
            if of_users or not _says_what_is_returned(value):
                codes.add(RETURNS)
            if of_users and path not in WITHOUT_EXAMPLE:
                codes.add(EXAMPLE)
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
    arguments = set(sys.argv[1:])
    chosen = arguments - {"--run"} or None
    if "--run" in arguments:
        seen, failed = run(chosen)
        print(f"{seen} docstrings with examples, {failed} examples failed")
        sys.exit(bool(failed))
    lines = wrong(chosen)
    print(*lines, f"{len(lines)} problems", sep="\n")
    sys.exit(bool(lines))
