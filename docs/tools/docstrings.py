"""What is wrong with the docstrings of public names, by the rules of numpydoc: ``python docs/tools/docstrings.py [MODULE ...]``.

Besides, functions that raise errors say so, and the names under See Also exist and have their own summaries there.

With ``--run`` their examples are run, and what they print compared with what stands there.
The names are those of the reference: functions, classes and Ops. All have their parameters and what they return explained, and
an example.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import re
import sys
import tempfile
import textwrap
import warnings
from typing import Any

#: Rules of numpydoc that are not asked for, each with its reason. All others are: of functions, classes and instances of Ops.
LEFT_OUT = {
    "ES01": "A summary that says everything needs no second paragraph.",
    "GL01": "Docstrings begin on the line of their opening quotes: the other of numpydoc's two styles.",
    "RT01": "Asked for by `_says_what_is_returned`: the summary of a helper may say it, where the annotation gives the type.",
    "RT03": "Asked for by `_says_what_is_returned` as well.",
    "EX01": "Asked for by `_has_example`: an Op may have that of its class.",
    "PR06": "An integer vector is one of any integer dtype; numpydoc would have it be an int.",
    "SA01": "Asked for where there is something to choose from; see `WITHOUT_NEIGHBOURS`.",
}
#: Parts of the package whose names programs do not choose among: the manual names them, each stands for itself.
_WITHOUT_NEIGHBOURS = """
theano.configdefaults theano.configparser theano.misc theano.misc.check_blas theano.misc.elemwise_openmp_speedup
theano.misc.foreign_functions theano.misc.may_share_memory theano.misc.ordered_set theano.tests.unittest_tools
theano.tests.breakpoint theano.tests.test_rop theano.tensor.tests.test_basic theano.sparse.tests.test_basic theano.gof.cmodule
theano.gof.compilelock theano.gof.sched theano.gof.vm theano.gof.link theano.gof.cc theano.gof.cop theano.gof.utils
theano.gof.unify theano.gof.destroyhandler theano.tensor.opt theano.tensor.nnet.opt theano.tensor.nnet.sigm theano.sparse.opt
theano.scan_module.scan_op theano.scan_module.scan_opt theano.scan_module.scan_utils theano.sandbox.linalg
theano.sandbox.linalg.ops theano.sandbox.fourier theano.d3viz.formatting theano.compile.debugmode theano.gof.op
theano.gof.type
"""
WITHOUT_NEIGHBOURS = set(_WITHOUT_NEIGHBOURS.split())
#: Modules of functions that users call: what these return has a section.
_USERS = """
theano theano.ifelse theano.gradient theano.printing theano.updates theano.raise_op theano.tensor theano.tensor.extra_ops
theano.tensor.nlinalg theano.tensor.slinalg theano.tensor.sort theano.tensor.fft theano.tensor.utils theano.tensor.nnet
theano.tensor.nnet.nnet theano.tensor.nnet.abstract_conv theano.tensor.nnet.bn theano.tensor.nnet.blocksparse
theano.tensor.nnet.ctc theano.tensor.nnet.conv3d2d theano.tensor.signal.pool theano.tensor.signal.conv theano.scan_module
theano.misc theano.d3viz theano.d3viz.d3viz theano.compile.builders theano.misc.pkl_utils theano.sandbox.rng_mrg
"""
USERS = set(_USERS.split())
#: They need what a test cannot have: a run of all tests, processes of their own, many seconds.
WITHOUT_EXAMPLE = {
    "theano.test",
    "theano.distributed.ray_actor",
    "theano.misc.check_blas.test",
    "theano.misc.check_blas.jobman_job",
    "theano.misc.elemwise_openmp_speedup.runScript",
}
#: How a neighbour differs from what is described, instead of a summary.
_RELATION = re.compile("(The same|All|For|With|An instance) ")
_NOWHERE = object()


def _excused(code: str, message: str, value: Any) -> bool:
    """Whether it is no mistake: keywords that go on to another function, parameters that are not public."""
    parameters = inspect.signature(value).parameters.values()
    if code == "PR04":
        # "a, b : as for `f`": the other docstring has the types.
        (name,) = re.findall(r'"(.*?)"', message)
        lines = iter((inspect.getdoc(value) or "").split("\n"))
        return any(name in line.split(", ") and re.match(r" +(As|Those|See|For)\b", next(lines, "")) for line in lines)
    if code == "PR03":
        # "x, z : number" explains together what does not stand together.
        return re.search(r"^\**\w+, [*\w, ]+( :|$)", inspect.getdoc(value) or "", re.M) is not None
    if code == "SS03":
        # A formula: what a rewrite or a reduction does, first of all.
        return re.match("``|.*``$", (inspect.getdoc(value) or "").partition("\n\n")[0]) is not None
    if code == "PR08":
        # The name of a format, which is written so.
        return re.search(r"^ +(csc|csr) ", inspect.getdoc(value) or "", re.M) is not None
    if code == "RT02":
        # "left, right : list": several values, of one type.
        return re.search(r"^Returns\n-+\n\w+, ", inspect.getdoc(value) or "", re.M) is not None
    if code == "YD01":
        # A context manager, whose summary says what holds within the block.
        return hasattr(value, "__wrapped__")
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
    """Whether the summary is a sentence of what is returned, of a type that is annotated or has a section."""
    text = inspect.getdoc(function) or ""
    annotation = inspect.signature(function).return_annotation
    return text.startswith(("Return ", "Whether ", "Make ")) and (
        annotation is not inspect.Signature.empty or "\nReturns\n-------\n" in text
    )


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


def _neighbours(text: str) -> list[tuple[list[str], str]]:
    """The entries under See Also: names, and what is said of them."""
    section = re.search(r"^See Also\n-+\n(.*?)(?:\n\n(?=\w+[\w ]*\n-)|\Z)", text, re.S | re.M)
    entries = re.findall(r"^(\S[^:]*?)(?: :(.*(?:\n .*)*))?$", section[1], re.M) if section else []
    return [([name.strip().strip("`") for name in names.split(",") if name.strip()], text) for names, text in entries]


def _neighbours_that_do_not_exist(text: str, module: str) -> list[str]:
    """The names under See Also that nothing has: of this package by their path, of others by importing these."""
    return [name for names, _ in _neighbours(text) for name in names if _find(name, module) is _NOWHERE]


def _neighbours_that_say_otherwise(text: str, module: str) -> list[tuple[str, str]]:
    """The functions, classes and Ops of this package that See Also describes in other words than they do, and these.

    It may shorten them, or say how a neighbour differs from what has the section.
    """
    import theano

    found = []
    for names, told in _neighbours(text):
        for name in names:
            value = _find(name, module)
            described = inspect.isfunction(value) or inspect.isclass(value) or isinstance(value, theano.Op)
            if not described or not (getattr(value, "__module__", None) or "").startswith("theano"):
                continue
            summary = (inspect.getdoc(value) or "").partition("\n\n")[0]
            said, summary = _plain(told), _plain(summary)
            begins = summary.startswith(said) and (said == summary or summary[len(said)] in ".:;,")
            if said and not begins and not _RELATION.match(said):
                found.append((name, summary))
    return found


def _plain(sentence: str) -> str:
    """A sentence in one line, without the full stop and the roles of names."""
    return re.sub(":[a-z]+:(?=`)", "", " ".join(sentence.split())).removesuffix(".")


def _find(name: str, module: str) -> Any:
    """What has a name, by its path or within a module."""
    value = _value(name)
    return _value(f"{module}.{name}") if value is _NOWHERE else value


def _value(path: str) -> Any:
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        try:
            for part in parts[count:]:
                value = getattr(value, part)
        except AttributeError:
            return _NOWHERE
        return value
    return _NOWHERE


def _raises(function: Any) -> bool:
    """Whether the body of a function has a `raise`, in no function or class that it defines."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    rest = list(ast.iter_child_nodes(definition))
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Raise):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            rest.extend(ast.iter_child_nodes(node))
    return False


def _describes_itself(value: Any) -> bool:
    """Whether an instance is an Op with a text of its own, not that of its class."""
    import theano

    return isinstance(value, theano.Op) and isinstance(value.__doc__, str) and value.__doc__ != type(value).__doc__


def _has_example(path: str, value: Any) -> bool:
    """Whether a function, a class or an Op has one; rewrites, which are neither, are shown on a page of their own."""
    import theano

    if not (inspect.isfunction(value) or inspect.isclass(value) or isinstance(value, theano.Op)):
        return True
    return ">>> " in (value.__doc__ or "") or path in WITHOUT_EXAMPLE


def wrong(modules: set[str] | None = None) -> list[str]:
    """Return what is wrong: path, code and message."""
    import numpydoc.validate
    from numpydoc.docscrape import get_doc_object

    # It would read and parse the source of each to find its line.
    numpydoc.validate.Validator.source_file_def_line = property(lambda self: None)
    problems = []
    for path, value in documented(modules):
        function, module = inspect.isfunction(value), path.rpartition(".")[0]
        if not _has_example(path, value):
            problems.append(f"{path} has no example")
        if not (function or inspect.isclass(value) or _describes_itself(value)):
            continue
        codes = set(numpydoc.validate.ERROR_MSGS) - LEFT_OUT.keys()
        of_users = module in USERS
        if function and not _says_what_is_returned(value):
            codes |= {"RT01", "RT03"}
        elif function and of_users:
            codes.add("RT01")
        if module not in WITHOUT_NEIGHBOURS and not _is_scalar_operation(value):
            codes.add("SA01")
        try:
            found = numpydoc.validate.validate(get_doc_object(value))["errors"]
        except ValueError as error:
            problems.append(f"{path}: {error}")
            continue
        left = [(code, message) for code, message in found if code in codes and not _excused(code, message, value)]
        problems += [f"{path} {code} {message}" for code, message in left]
        text = inspect.getdoc(value) or ""
        if function and _raises(value) and "\nRaises\n------\n" not in text:
            problems.append(f"{path} raises errors and has no section Raises")
        # A name that is a class's own is looked for in the class's module.
        problems += [f"{path}: no {name} (See Also)" for name in _neighbours_that_do_not_exist(text, module)]
        others = _neighbours_that_say_otherwise(text, module)
        problems += [f"{path}: {name} is not what See Also says, but: {summary}" for name, summary in others]
    return problems


def _is_scalar_operation(value: Any) -> bool:
    """Whether it is the class of a scalar operation: that of tensors, of the same name, says what is related."""
    from theano.scalar import ScalarOp

    return inspect.isclass(value) and issubclass(value, ScalarOp)


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
