"""The reference of all public names and of all flags, made from docstrings and from the table of flags.

Each name has a full entry under its shortest path; other paths to it are listed with links.
"""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import types
import warnings
from typing import Any

#: The pages: title of a chapter -> modules. A module in capitals' place has all that its namespace offers, not only its own.
CHAPTERS: dict[str, str] = {
    "Entry points": "theano theano.updates theano.ifelse theano.gradient theano.printing theano.raise_op",
    "Tensors": (
        "theano.tensor theano.tensor.extra_ops theano.tensor.nlinalg theano.tensor.slinalg theano.tensor.sort theano.tensor.fft "
        "theano.tensor.io theano.tensor.utils theano.tensor.inplace"
    ),
    "Networks and signals": (
        "theano.tensor.nnet theano.tensor.nnet.nnet theano.tensor.nnet.abstract_conv theano.tensor.nnet.bn "
        "theano.tensor.nnet.blocksparse theano.tensor.nnet.ctc theano.tensor.nnet.neighbours theano.tensor.nnet.sigm "
        "theano.tensor.nnet.conv theano.tensor.nnet.corr theano.tensor.nnet.corr3d theano.tensor.nnet.conv3d2d "
        "theano.tensor.signal.pool theano.tensor.signal.conv theano.tensor.signal.downsample"
    ),
    "Random numbers": (
        "theano.tensor.shared_randomstreams theano.tensor.raw_random theano.tensor.randomstreams theano.sandbox.rng_mrg "
        "theano.sandbox.multinomial"
    ),
    "Loops and lists": (
        "theano.scan_module theano.scan_module.scan_views theano.scan_module.scan_utils theano.typed_list theano.typed_list.basic"
    ),
    "Several processes": (
        "theano.distributed theano.distributed.agreement theano.distributed.checkpoint theano.distributed.streams "
        "theano.distributed.traces theano.distributed.workers"
    ),
    "Sparse matrices": "theano.sparse theano.sparse.basic theano.sparse.sandbox.sp theano.sparse.sandbox.sp2",
    "Scalars": "theano.scalar theano.scalar.basic theano.scalar.basic_scipy theano.scalar.sharedvar",
    "Functions and modes": (
        "theano.compile theano.compile.function theano.compile.function_module theano.compile.io theano.compile.pfunc "
        "theano.compile.mode theano.compile.sharedvalue theano.compile.builders theano.compile.ops theano.compile.debugmode "
        "theano.compile.nanguardmode theano.compile.monitormode theano.compile.profiling theano.d3viz theano.d3viz.d3viz "
        "theano.d3viz.formatting"
    ),
    "Graphs, Ops and rewrites": (
        "theano.gof theano.gof.graph theano.gof.op theano.gof.cop theano.gof.type theano.gof.enum_type theano.gof.params_type "
        "theano.gof.fg theano.gof.toolbox theano.gof.destroyhandler theano.gof.opt theano.gof.optdb theano.gof.unify "
        "theano.gof.link theano.gof.vm theano.gof.cc theano.gof.sched theano.gof.null_type theano.gof.utils theano.gof.cmodule "
        "theano.gof.compilelock"
    ),
    "Tensor types, Ops and their rewrites": (
        "theano.tensor.type theano.tensor.var theano.tensor.sharedvar theano.tensor.basic theano.tensor.elemwise "
        "theano.tensor.subtensor theano.tensor.blas theano.tensor.type_other theano.tensor.opt theano.tensor.nnet.opt "
        "theano.sparse.opt theano.scan_module.scan_op theano.scan_module.scan_opt"
    ),
    "Helpers": (
        "theano.configparser theano.configdefaults theano.misc theano.misc.foreign_functions "
        "theano.misc.pkl_utils theano.misc.may_share_memory theano.misc.check_blas "
        "theano.misc.elemwise_openmp_speedup "
        "theano.misc.ordered_set theano.sandbox.linalg theano.sandbox.linalg.ops theano.sandbox.fourier "
        "theano.sandbox.neighbours "
        "theano.tests.unittest_tools theano.tests.breakpoint theano.tests.test_rop theano.tensor.tests.test_basic "
        "theano.sparse.tests.test_basic"
    ),
}
#: Modules that gather names of others: all that they offer is listed.
_GATHER = """
theano theano.compile theano.compile.debugmode theano.compile.mode theano.compile.ops theano.gof theano.gof.graph
theano.configparser theano.gof.op theano.gof.opt theano.gof.type theano.gof.utils theano.ifelse theano.printing
theano.sandbox.linalg theano.scalar
theano.scalar.basic theano.scan_module theano.scan_module.scan_opt theano.sparse theano.sparse.basic theano.sparse.opt
theano.tensor theano.tensor.basic theano.tensor.elemwise theano.tensor.nnet theano.tensor.nnet.conv
theano.tensor.nnet.nnet theano.tensor.opt theano.tensor.signal.downsample theano.tensor.subtensor theano.typed_list
theano.typed_list.basic
"""
GATHER = set(_GATHER.split())
_VARIABLES = re.compile("[a-z]?(scalar|vector|row|col|matrix|tensor[3-7])s?|[a-z]?(vectors|matrices|rows|cols)")
#: Attributes that instances get when they are made, by the path of the class.
ATTRIBUTES = {
    "theano.compile.Function": {
        "maker": "The ``FunctionMaker``; ``maker.fgraph`` is the graph after the rewrites, ``maker.mode`` the mode.",
        "finder": "From an input, its index or its name to its container.",
        "inv_finder": "From a container to its input.",
        "value": "The values of inputs, shared variables included, by variable or name.",
        "container": "The containers of inputs, by variable or name.",
    },
    "theano.Op": {"default_output": "Which output calling the Op gives, where it has several; None for all."},
}
#: Documented names whose values are plain containers.
DATA = {
    "theano.compile.predefined_optimizers": "The optimizers by name, from ``'fast_compile'`` to ``'unsafe'``: a dictionary.",
    "theano.sparse.all_dtypes": "The names of the dtypes that sparse matrices may have: a set.",
}
CALLABLE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def _home(value: Any) -> str:
    return getattr(value, "__module__", None) or ""


def _public(module: types.ModuleType) -> dict[str, Any]:
    from theano import aliases

    name = module.__name__
    words = " ".join(aliases.NAMES.get(name, {}).values()).split()
    offered = {*getattr(module, "__all__", ()), *getattr(module, "_lazy_names", ()), *(w.split("=")[0] for w in words)}
    found = {}
    for key in sorted(set(dir(module)) | offered):
        if key.startswith("_") and key not in offered:
            continue
        value = getattr(module, key, None)
        if value is None or inspect.ismodule(value):
            continue
        defined = isinstance(value, (type, *CALLABLE))
        of_package = (_home(value) if defined else type(value).__module__).startswith("theano")
        if not of_package or (type(value).__module__ == "typing" and not isinstance(value, type)):
            continue
        if name in GATHER or key in offered or not defined or _home(value) == name:
            found[key] = value
    return found


def _signature(value: Any, skip_first: bool = False) -> str:
    operands = getattr(getattr(value, "scalar_op", None), "nin", None)
    if operands is not None and not isinstance(value, type):
        return {1: "(a)", 2: "(a, b)", 3: "(a, b, c)"}.get(operands, "(a, b, ...)")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    params = list(signature.parameters.values())[skip_first:]
    plain = []
    for param in params:
        if re.search(r"0x[0-9a-f]+", repr(param.default)):
            param = param.replace(default=Ellipsis)
        plain.append(param.replace(annotation=inspect.Parameter.empty))
    text = str(inspect.Signature(plain)).replace("Ellipsis", "...")
    return text.replace("\n", " ") if len(text) < 400 else "(...)"


def _doc(value: Any) -> str:
    doc = value.__doc__ if not isinstance(value, type) or "__doc__" in value.__dict__ else None
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


class Writer:
    """Writes the pages; remembers which objects have an entry already."""

    def __init__(self, folder: pathlib.Path, app: Any = None) -> None:
        self.folder, self.app = folder, app
        self.full: dict[int, str] = {}
        self.keep: list[Any] = []
        #: Every documented dotted name, those that are only listed included.
        self.names: set[str] = set()

    def _lines(self, doc: str, what: str, indent: str) -> list[str]:
        if self.app is not None:
            from sphinx.ext.napoleon import NumpyDocstring

            doc = str(NumpyDocstring(doc, self.app.config, self.app, what))
        return [(indent + line).rstrip() for line in doc.split("\n")]

    def _entry(self, path: str, value: Any) -> list[str]:
        self.names.add(path)
        if isinstance(value, type):
            what = "exception" if issubclass(value, BaseException) else "class"
            lines = [f".. py:{what}:: {path}{_signature(value)}", "", *self._lines(_doc(value), "class", "   "), ""]
            return lines + self._members(path, value) + self._attributes(path)
        if isinstance(value, CALLABLE) or callable(value):
            extra = [] if isinstance(value, CALLABLE) else [f"   *An instance of* ``{type(value).__name__}``\\ *.*", ""]
            doc = _doc(value)
            if not isinstance(value, CALLABLE) and type(value).__doc__ == value.__doc__:
                shown = _short(value)
                text = "" if shown.startswith("<") else f": ``{shown}``"
                extra = [f"   An instance of ``{type(value).__name__}``{text}.", ""]
                doc = doc.split("\n\n")[0]
            return [f".. py:function:: {path}{_signature(value)}", "", *self._lines(doc, "function", "   "), "", *extra]
        return [f".. py:data:: {path}", "", f"   An instance of ``{type(value).__name__}``: ``{_short(value)}``.", ""]

    def _members(self, path: str, cls: type) -> list[str]:
        lines = []
        modules = " ".join(CHAPTERS.values()).split()
        private = [
            c
            for c in cls.__mro__[1:]
            if c.__module__.startswith("theano") and (c.__name__.startswith("_") or c.__module__ not in modules)
        ]
        spaces: dict[str, Any] = {}
        for base in reversed([cls, *private]):
            spaces.update(vars(base))
        for name, raw in sorted(spaces.items()):
            if name.startswith("_") or inspect.isclass(raw):
                continue
            value = getattr(cls, name, None)
            dotted = f"{path}.{name}"
            if isinstance(raw, property) or inspect.isdatadescriptor(raw):
                self.names.add(dotted)
                lines += [f"   .. py:property:: {name}", "", *self._lines(_doc(raw), "attribute", "      "), ""]
            elif isinstance(value, CALLABLE):
                if isinstance(value, types.FunctionType) and value.__name__ == "<lambda>":
                    continue
                self.names.add(dotted)
                option = {staticmethod: ["      :staticmethod:"], classmethod: ["      :classmethod:"]}.get(type(raw), [])
                signature = _signature(value, isinstance(raw, types.FunctionType))
                doc = inspect.getdoc(value) or ""
                lines += [f"   .. py:method:: {name}{signature}", *option, "", *self._lines(doc, "method", "      "), ""]
            elif isinstance(value, (str, int, bool, tuple)) and name not in ("dtype",):
                self.names.add(dotted)
                lines += [f"   .. py:attribute:: {name}", f"      :value: {_short(value)}", ""]
        return lines

    def _attributes(self, path: str) -> list[str]:
        lines = []
        for name, text in ATTRIBUTES.get(path, {}).items():
            self.names.add(f"{path}.{name}")
            lines += [f"   .. py:attribute:: {name}", "", f"      {text}", ""]
        return lines

    def _section(self, module: str, items: dict[str, Any]) -> tuple[list[str], list[str]]:
        # Of several names of an object the one that it was defined with comes first.
        own, also = {}, []
        order = sorted(items, key=lambda key: (getattr(items[key], "__name__", key) != key, key.lower()))
        for key, value in ((key, items[key]) for key in order):
            path = f"{module}.{key}"
            if id(value) in self.full:
                self.names.add(path)
                also.append(f":py:obj:`{key} <{self.full[id(value)]}>`")
            else:
                self.full[id(value)] = path
                self.keep.append(value)
                own[key] = [*self._entry(path, value), ""]
        full = [line for key in sorted(own, key=str.lower) for line in own[key]]
        return full, also

    def page(self, module_name: str) -> list[str]:
        """Write the pages of one module and return their names."""
        module = importlib.import_module(module_name)
        self.names.add(module_name)
        items = _public(module)
        groups = {"": items}
        if module_name == "theano.tensor":
            from theano.tensor.elemwise import Elemwise
            from theano.tensor.type import TensorType

            groups = {"": {}, "-variables": {}, "-elementwise": {}}
            for key, value in items.items():
                variables = isinstance(value, TensorType) or _VARIABLES.fullmatch(key)
                groups["-variables" if variables else "-elementwise" if isinstance(value, Elemwise) else ""][key] = value
        made = []
        for suffix, group in groups.items():
            full, also = self._section(module_name, group)
            if not full and not also:
                continue
            title = module_name + suffix.replace("-", ": ")
            # Not in the table of contents of every page, which would be long and slow to make.
            lines = [":orphan:", "", title, "=" * len(title), "", ":doc:`Reference <index>`", ""]
            if not suffix:
                summary = _doc(module).split("\n\n")[0]
                lines += [summary, ""]
            lines += full
            for path in DATA if not suffix else ():
                if path.rpartition(".")[0] == module_name:
                    self.names.add(path)
                    lines += [f".. py:data:: {path}", "", f"   {DATA[path]}", ""]
            if also:
                title = "Also here" if full else "All of it is elsewhere"
                lines += [title, "-" * len(title), "", "Documented under another path: " + ", ".join(also) + ".", ""]
            self._write(module_name + suffix + ".rst", "\n".join(lines) + "\n")
            made.append(module_name + suffix)
        return made

    def _write(self, name: str, text: str) -> None:
        # A page that did not change is not read again.
        path = self.folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def flags(self) -> None:
        """Write the page of all flags."""
        from theano.configparser import _config_var_list

        lines = ["All flags", "=" * 9, "", "Made from the table of flags, ``theano/configdefaults.py``.", ""]
        section = None
        for param in sorted(_config_var_list, key=lambda p: ("." in p.fullname and p.fullname.split(".")[0] or "", p.fullname)):
            head = param.fullname.rpartition(".")[0]
            if head != section:
                section = head
                title = f"Flags of ``{head}``" if head else "Flags without a section"
                lines += [title, "-" * len(title), ""]
            name = f"theano.config.{param.fullname}"
            self.names.add(name)
            computed = callable(param.default)
            default = "found out when it is first asked for" if computed else f"``{param.default!r}``"
            lines += [f".. py:attribute:: {name}", "", f"   {_escaped(param.doc)}", ""]
            values = _values(param)
            lines += [f"   Values: ``{values}``. Default: {default}." if values else f"   Default: {default}."]
            if not param.allow_override:
                lines[-1] += " Cannot be changed once Theano is imported."
            lines.append("")
        self._write("flags.rst", "\n".join(lines))

    def run(self) -> Writer:
        """Write everything."""
        self.folder.mkdir(exist_ok=True)
        index = ["Reference", "=" * 9, ""]
        index += [
            "Every public name, made from the docstrings. A name that can be reached by several paths has its entry under",
            "the shortest one; the others link to it. :doc:`All flags <flags>` have a page of their own.",
            "",
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for chapter, modules in CHAPTERS.items():
                made = [name for module in modules.split() for name in self.page(module)]
                index += [chapter, "-" * len(chapter), "", *(f"- :doc:`{name}`" for name in made), ""]
            self.flags()
        index += ["Flags", "-----", "", ".. toctree::", "", "   flags", ""]
        self._write("index.rst", "\n".join(index))
        return self


def _values(param: Any) -> str:
    # What a plain parameter takes is said by its text.
    known = {"ConfigParam": "", "BoolParam": "True, False"}
    return known.get(type(param).__name__, param.describe().strip("{}<>"))


def _escaped(text: str) -> str:
    return re.sub(r"([*`|\\])", r"\\\1", text)


def _short(value: Any) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("\n", " ").replace("`", "'")
    return text if len(text) <= 120 else text[:117] + "..."


def write(folder: pathlib.Path, app: Any = None) -> Writer:
    """Write all pages of the reference into a folder."""
    return Writer(folder, app).run()
