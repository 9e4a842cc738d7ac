"""Linkers under their documented names, and the compilation of the C code that Ops bring themselves.

The C code of a graph becomes one struct: its members are the code's state, its method ``run`` computes the graph.  In
``run`` each variable and each Op opens a block that holds all that come after it; a failure jumps to the label at the end
of the block where it happened, and from there falls through the ends of all blocks around it, which clean up::

    declarations of all variables
    {   V0 = ...                      c_extract of an input
        {   V1 = ...                  c_init or c_extract_out of an output
            {   V1 = V0 * 2           c_code
            label_3:                  c_code_cleanup
            }
        label_2:                      c_sync, c_cleanup of the output
        }
    label_1:                          c_cleanup of the input
    }
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from theano import aliases
from theano.configdefaults import config
from theano.gof import cmodule
from theano.gof.c_interface import CLinkerOp, takes
from theano.gof.engine import linkers
from theano.gof.fg import FunctionGraph
from theano.gof.graph import Constant, NoParams
from theano.gof.link import Linker, storage_containers
from theano.gof.utils import MethodNotDefined, uniq

__all__ = ["CLinker", "HideC", *aliases.names(__name__)]
__getattr__, __dir__ = aliases.lazy(__name__)


def _optional(method: Callable | None, *args: Any) -> Any:
    # What an optional method of the C interface returns, or None where it is not there.
    if method is None:
        return None
    try:
        return method(*args)
    except (MethodNotDefined, NotImplementedError):
        return None


def _with_compiler(method: Callable | None, compiler: Any) -> Any:
    # These methods may or may not take the compiler.
    if method is None:
        return None
    try:
        takes_it = bool(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        takes_it = False
    return _optional(method, compiler) if takes_it else _optional(method)


#: The size of an element, as a member of the dtype: NumPy 2 hides the member.
_ELEMENT_SIZE = re.compile(r"PyArray_DESCR\(((?:[^()]|\([^()]*\))*)\)\s*->\s*elsize\b|\b(\w+)\s*->\s*descr\s*->\s*elsize\b")


def _without_hidden_members(code: str) -> str:
    # Code for NumPy 1 in terms of what NumPy 2 offers.
    return _ELEMENT_SIZE.sub(lambda found: f"PyArray_ITEMSIZE({found[1] or found[2]})", code)


_PRELUDE = '#include "theano_prelude.h"\n'
_STANDARD_NAMES = re.compile(r"\b(?:std|cout|cerr|clog|cin|endl)\b")


def _with_streams(code: str) -> str:
    # C code may use <iostream>, and what comes with it, without asking for it.
    return code.replace(_PRELUDE, f"{_PRELUDE}#include <iostream>\n", 1)


def _list(value: Any) -> list:
    if not value:
        return []
    return [value] if isinstance(value, str) else list(value)


class _Block:
    # One level of the nest.
    def __init__(self, number: int, behavior: str, cleanup: str):
        self.number = number
        self.behavior = behavior
        self.cleanup = cleanup


def _fail(number: int) -> str:
    return (
        "{\n"
        f"        __failure = {number};\n"
        "        if (!PyErr_Occurred()) {\n"
        "            PyErr_SetString(PyExc_RuntimeError,\n"
        '                "Unexpected error in an Op\'s C code. No Python exception was set.");\n'
        "        }\n"
        f"        goto __label_{number};}}"
    )


_INIT_FAIL = """{
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError,
                "Unexpected error in an Op's C code. No Python exception was set.");
        }
        return 1;}"""


class _Source:
    """The C++ text of a graph.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : list of Apply
    no_recycling : collection of Variable
    """

    def __init__(self, fgraph: Any, order: list, no_recycling: Iterable):
        self.fgraph = fgraph
        self.order = order
        self.no_recycling = set(no_recycling)
        self.names: dict = {}
        self.blocks: list[_Block] = []
        self.declarations: list[str] = []
        self.storages: list = []
        self.constants: list = []
        self.params: list = []
        self.members: list[str] = []
        self.init: list[str] = []
        self.destroy: list[str] = []
        # The node that each failure number belongs to.
        self.tasks: dict[int, Any] = {}
        self._variables()
        for i, node in enumerate(order):
            self._node(i, node)

    def _next(self) -> int:
        return len(self.blocks) + 1

    def _check_input(self, var: Any) -> bool:
        takers = [client for client, _ in var.clients if client != "output"]
        return not takers or any(getattr(node.op, "check_input", config.check_input) for node in takers)

    def _declare(self, var: Any, name: str) -> None:
        type_ = var.type
        sub = {"fail": "{}", "name": name}
        check = self._check_input(var)
        try:
            code = type_.c_declare(name, sub, check) if takes(type_.c_declare, 3) else type_.c_declare(name, sub)
        except TypeError:
            code = type_.c_declare(name, sub)
        self.declarations.append(f"PyObject* py_{name} = NULL;\n{code}")

    def _variables(self) -> None:
        inputs, outputs = list(self.fgraph.inputs), list(self.fgraph.outputs)
        computed = [out for node in self.order for out in node.outputs]
        needed = dict.fromkeys(inputs)
        for node in self.order:
            needed.update(dict.fromkeys(node.inputs))
        needed.update(dict.fromkeys(outputs))
        orphans = [v for v in needed if v.owner is None and v not in inputs]
        for var in [*inputs, *orphans, *computed]:
            if var in self.names:
                continue
            if isinstance(var, Constant) and var not in outputs and var not in inputs:
                literal = _optional(getattr(var.type, "c_literal", None), var.data)
                if literal is not None:
                    self.names[var] = f"({literal})"
                    continue
            name = self.names[var] = f"V{len(self.names) + 1}"
            self._declare(var, name)
            is_output = var in outputs
            if var.owner is None:
                self._block_of_variable(var, name, "extract", is_output)
                if var not in inputs:
                    self.constants.append(var)
            else:
                keep = is_output and var not in self.no_recycling
                self._block_of_variable(var, name, "extract_out" if keep else "init", is_output)

    def _block_of_variable(self, var: Any, name: str, how: str, sync: bool) -> None:
        number = self._next()
        sub = {"fail": _fail(number), "name": name}
        type_ = var.type
        if how == "init":
            behavior = f"py_{name} = Py_None;\nPy_XINCREF(py_{name});\n{type_.c_init(name, sub)}"
        else:
            method = type_.c_extract
            if how == "extract_out":
                method = getattr(type_, "c_extract_out", None) or _extract_out(type_)
            check = self._check_input(var) if how == "extract" else True
            code = method(name, sub, check) if takes(method, 3) else method(name, sub)
            behavior = f"py_{name} = PyList_GET_ITEM(storage_{name}, 0);\nPy_XINCREF(py_{name});\n{code}"
        cleanup = _optional(type_.c_cleanup, name, sub) or ""
        if sync:
            cleanup = (
                "if (!__failure) {\n"
                f"{type_.c_sync(name, sub)}\n"
                f"PyObject* old = PyList_GET_ITEM(storage_{name}, 0);\n"
                f"Py_XINCREF(py_{name});\n"
                f"PyList_SET_ITEM(storage_{name}, 0, py_{name});\n"
                "Py_XDECREF(old);\n"
                "}\n" + cleanup
            )
        cleanup += f"\nPy_XDECREF(py_{name});"
        if how != "init" or sync:
            self.storages.append((var, name))
        self.blocks.append(_Block(number, behavior, cleanup))

    def _node(self, i: int, node: Any) -> None:
        op = node.op
        name = f"node_{i}"
        number = self._next()
        self.tasks[number] = node
        sub = {"fail": _fail(number)}
        init_sub = {"fail": _INIT_FAIL}
        params = node.run_params()
        if params is not NoParams:
            params_name = f"p{i}"
            self._params(node, params, params_name)
            sub["params"] = init_sub["params"] = params_name
        member = _optional(getattr(op, "c_support_code_struct", None), node, name)
        if member:
            self.members.append(member)
        stage = len(self.init) + 1
        init = _optional(getattr(op, "c_init_code_struct", None), node, name, init_sub)
        cleanup = _optional(getattr(op, "c_cleanup_code_struct", None), node, name)
        if init or cleanup:
            self.init.append(f"{{\n{init or ''}\n}}\n__stage = {stage};")
            self.destroy.append(f"if (__stage >= {stage}) {{\n{cleanup or ''}\n}}")
        ins = [self.names[v] for v in node.inputs]
        outs = [self.names[v] for v in node.outputs]
        behavior = op.c_code(node, name, ins, outs, sub)
        cleanup = _optional(getattr(op, "c_code_cleanup", None), node, name, ins, outs, sub) or ""
        self.blocks.append(_Block(number, f"{{\n{behavior}\n}}", cleanup))

    def _params(self, node: Any, params: Any, name: str) -> None:
        type_ = node.params_type
        sub = {"fail": _INIT_FAIL, "name": name}
        self.params.append(type_.filter(params))
        self.members.append(f"PyObject* py_{name};\n{type_.c_declare(name, sub)}")
        stage = len(self.init) + 1
        k = len(self.params) - 1
        self.init.append(
            f"py_{name} = PyTuple_GET_ITEM(params, {k});\nPy_INCREF(py_{name});\n{{\n{type_.c_extract(name, sub)}\n}}\n"
            f"__stage = {stage};"
        )
        cleanup = _optional(type_.c_cleanup, name, sub) or ""
        self.destroy.append(f"if (__stage >= {stage}) {{\n{cleanup}\nPy_XDECREF(py_{name});\n}}")

    def _run(self) -> str:
        opening, closing = [], []
        for block in self.blocks:
            opening.append(f"{{\n{block.behavior}\n")
            closing.append(f"__label_{block.number}:\n{block.cleanup}\ndouble __DUMMY_{block.number};\n}}\n")
        return "".join(opening) + "".join(reversed(closing))

    def parts(self) -> dict[str, list]:
        """Return what the Ops and Types say about headers, libraries, flags and code for the global scope."""
        types = uniq([v.type for v in self.names])
        ops = uniq([node.op for node in self.order])
        types += uniq([node.params_type for node in self.order if node.run_params() is not NoParams])
        things = [*types, *ops]
        compilers = uniq([c for c in (_optional(getattr(t, "c_compiler", None)) for t in things) if c is not None])
        if len(compilers) > 1:
            raise NotImplementedError(f"Ops and Types ask for different compilers: {compilers}")
        self.compiler = compilers[0] if compilers else cmodule.GCC_compiler
        found: dict[str, list] = {}
        for key in ("headers", "header_dirs", "libraries", "lib_dirs", "compile_args", "no_compile_args"):
            values: list = []
            for thing in things:
                values += _list(_with_compiler(getattr(thing, f"c_{key}", None), self.compiler))
            found[key] = uniq(values)
        support, init = [], []
        for thing in things:
            support += _list(_optional(getattr(thing, "c_support_code", None)))
            init += _list(_optional(getattr(thing, "c_init_code", None)))
        support, init = uniq(support), uniq(init)
        for i, node in enumerate(self.order):
            support += _list(_optional(getattr(node.op, "c_support_code_apply", None), node, f"node_{i}"))
            init += _list(_optional(getattr(node.op, "c_init_code_apply", None), node, f"node_{i}"))
        found["support"], found["init"] = support, init
        return found

    def version(self) -> tuple | None:
        """Return the versions of all Ops and Types, or None if one has none."""
        versions = []
        for node in self.order:
            versions.append(node.op.c_code_cache_version_apply(node))
            if node.run_params() is not NoParams:
                versions.append(node.params_type.c_code_cache_version())
        for var in self.names:
            versions.append(var.type.c_code_cache_version())
        if not all(versions):
            if config.cmodule.warn_no_version:
                names = [str(n.op) for n in self.order if not n.op.c_code_cache_version_apply(n)]
                warnings.warn(f"C code without a version is compiled anew by each process: {names}", stacklevel=5)
            return None
        return tuple(versions)

    def text(self, parts: dict[str, list]) -> str:
        """Return the C++ text."""
        headers = uniq([h if h[:1] in '<"' else f'"{h}"' for h in parts["headers"]])
        nl = "\n"
        n = len(self.storages)
        debug = "#ifndef DEBUG\n#define DEBUG\n#endif\n" if config.cmodule.debug else ""
        storages = nl.join(f"    PyObject* storage_{name};" for _, name in self.storages)
        take = nl.join(
            f"        storage_{name} = PyTuple_GET_ITEM(storages, {i}); Py_INCREF(storage_{name});"
            for i, (_, name) in enumerate(self.storages)
        )
        drop = nl.join(f"        Py_XDECREF(storage_{name});" for _, name in self.storages)
        null = nl.join(f"        storage_{name} = NULL;" for _, name in self.storages)
        return f"""{_PRELUDE}{debug}{nl.join(f"#include {h}" for h in headers)}

{nl.join(parts["support"])}

namespace {{
struct theano_struct {{
    int __stage;
    int __failed;
{storages}
{nl.join(self.members)}

    theano_struct() {{
        __stage = 0;
        __failed = 0;
{null}
    }}

    ~theano_struct() {{
{nl.join(reversed(self.destroy))}
{drop}
    }}

    int init(PyObject* storages, PyObject* params) {{
{take}
{nl.join(self.init)}
        return 0;
    }}

    int run(void) {{
        int __failure = 0;
{nl.join(self.declarations)}
{self._run()}
        __failed = __failure;
        return __failure;
    }}
}};

void theano_struct_free(PyObject* capsule) {{
    theano_struct* self = (theano_struct*)PyCapsule_GetPointer(capsule, NULL);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    delete self;
    PyErr_Restore(type, value, traceback);
}}

PyObject* theano_instantiate(PyObject*, PyObject* args) {{
    PyObject *storages, *params;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &storages, &PyTuple_Type, &params)) return NULL;
    if (PyTuple_GET_SIZE(storages) != {n}) {{
        PyErr_SetString(PyExc_TypeError, "wrong number of storages");
        return NULL;
    }}
    theano_struct* self = new theano_struct();
    if (self->init(storages, params) != 0) {{
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        delete self;
        PyErr_Restore(type, value, traceback);
        return NULL;
    }}
    PyObject* capsule = PyCapsule_New((void*)self, NULL, theano_struct_free);
    if (capsule == NULL) delete self;
    return capsule;
}}

PyObject* theano_run(PyObject*, PyObject* capsule) {{
    theano_struct* self = (theano_struct*)PyCapsule_GetPointer(capsule, NULL);
    if (self == NULL) return NULL;
    if (self->run() != 0) return NULL;
    Py_RETURN_NONE;
}}

PyObject* theano_failed(PyObject*, PyObject* capsule) {{
    theano_struct* self = (theano_struct*)PyCapsule_GetPointer(capsule, NULL);
    return self == NULL ? NULL : PyLong_FromLong(self->__failed);
}}

PyMethodDef theano_methods[] = {{
    {{"instantiate", theano_instantiate, METH_VARARGS, NULL}},
    {{"run", theano_run, METH_O, NULL}},
    {{"failed", theano_failed, METH_O, NULL}},
    {{NULL, NULL, 0, NULL}}
}};

struct PyModuleDef theano_module = {{PyModuleDef_HEAD_INIT, "@MODULE@", NULL, -1, theano_methods, NULL, NULL, NULL, NULL}};
}}

PyMODINIT_FUNC PyInit_@MODULE@(void) {{
    import_array();
{nl.join(f"    {{{nl}{code}{nl}    }}" for code in parts["init"])}
    PyObject* m = PyModule_Create(&theano_module);
    return m;
}}
"""


def _has_c_code(node: Any) -> bool:
    code = getattr(node.op, "c_code", None)
    return code is not None and getattr(code, "__func__", code) is not CLinkerOp.c_code


def _extract_out(type_: Any) -> Callable:
    def c_extract_out(name: str, sub: dict) -> str:
        extract = type_.c_extract(name, sub)
        return f"if (py_{name} == Py_None) {{\n{type_.c_init(name, sub)}\n}} else {{\n{extract}\n}}"

    return c_extract_out


def _named(nodes: list) -> str:
    # What a compile error says of whose code it is.
    lines = []
    for node in nodes[:5]:
        cls = type(node.op)
        lines.append(f"The C code of {node} (an Op of the class {cls.__module__}.{cls.__qualname__}) does not compile.")
    if len(nodes) > 5:
        lines.append(f"... and of {len(nodes) - 5} more nodes that are compiled together with them.")
    return "\n".join(lines)


class CLinker(Linker):
    """Compiles the C code that the Ops of a graph bring themselves, to one function.

    Parameters
    ----------
    schedule : callable, optional
        Returns the nodes of a FunctionGraph in the order in which they are run.
    strict : bool
        Whether it is an error if an Op or Type has no C code; else such a graph is run by the native linker.

    See Also
    --------
    theano.OpWiseCLinker : The native linker, under the name of the linker that compiled Ops one by one.
    theano.DualLinker : Runs each node by its `perform` and by compiled code, and compares.
    theano.PerformLinker : Runs the nodes in order, each by its Op's `perform`.

    Examples
    --------
    >>> from theano.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> linker = CLinker().accept(FunctionGraph([x, y], [x + y]))
    >>> print(*[line.strip() for line in linker.source().splitlines() if " + " in line])
    V3 = V1 + V2;
    """

    def __init__(self, schedule: Callable | None = None, strict: bool = False):
        self.strict = strict
        self.fgraph: Any = None
        self.no_recycling: list = []
        if schedule is not None:
            self.schedule = schedule

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> CLinker:
        """Take the graph to compile.

        Parameters
        ----------
        fgraph : FunctionGraph
        no_recycling : list of Variable, optional
            Outputs whose earlier values must not be used again.
        profile : optional

        Returns
        -------
        CLinker
            This one, or a new one if it has a graph already.
        """
        if self.fgraph is not None and self.fgraph is not fgraph:
            return self.clone().accept(fgraph, no_recycling, profile)
        self.fgraph = fgraph
        self.no_recycling = list(no_recycling or ())
        return self

    def clone(self, allow_gc: Any = None) -> CLinker:
        """Return a new linker of the same kind."""
        new = type(self)(strict=self.strict)
        new.__dict__.update((k, v) for k, v in self.__dict__.items() if k == "schedule")
        return new

    def source(self) -> str:
        """Return the C++ text of the graph."""
        source = _Source(self.fgraph, self.schedule(self.fgraph), self.no_recycling)
        return source.text(source.parts())

    def code_gen(self) -> str:
        """Return the C++ text of the graph; the same as :meth:`source`."""
        return self.source()

    def schedule(self, fgraph: Any) -> list:
        """Return the nodes in the order in which they are run."""
        return fgraph.toposort()

    def _compile(self, storage_of: dict) -> tuple[Callable, _Source]:
        source = _Source(self.fgraph, self.schedule(self.fgraph), self.no_recycling)
        parts = source.parts()
        text = _without_hidden_members(source.text(parts))
        load = functools.partial(
            cmodule.load_module,
            include_dirs=parts["header_dirs"],
            lib_dirs=parts["lib_dirs"],
            libs=parts["libraries"],
            args=parts["compile_args"],
            no_args=parts["no_compile_args"],
            version=source.version(),
            compiler=source.compiler,
        )
        try:
            try:
                module = load(_with_streams(text) if _STANDARD_NAMES.search(text) else text)
            except cmodule.CompileError:
                # A header of the user may count on what comes with <iostream>.
                if _STANDARD_NAMES.search(text) or not parts["headers"]:
                    raise
                module = load(_with_streams(text))
        except cmodule.CompileError as error:
            raise cmodule.CompileError(f"{_named(source.order)}\n{error}") from error
        storages = tuple(
            storage_of[var] if var in storage_of else [var.data]  # noqa: SIM401 (inputs have no data)
            for var, _ in source.storages
        )
        capsule = module.instantiate(storages, tuple(source.params))
        # A call of this runs no Python code.
        thunk: Any = functools.partial(module.run, capsule)
        thunk.cthunk = capsule
        thunk.failed_node = lambda: source.tasks.get(module.failed(capsule))
        return thunk, source

    def make_thunk(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None) -> Any:
        """Compile the graph.

        Parameters
        ----------
        input_storage, output_storage : list of list, optional
            Where the values are: lists of one element.
        storage_map : dict, optional
            The same, by variable.

        Returns
        -------
        thunk, input containers, output containers

        Raises
        ------
        MethodNotDefined, NotImplementedError
            The linker is strict, and an Op or Type has no C code.
        """
        if not self.strict and not all(_has_c_code(node) for node in self.fgraph.apply_nodes):
            native = linkers["cvm"].clone(allow_gc=config.allow_gc)
            native.accept(self.fgraph, no_recycling=self.no_recycling)
            return native.make_thunk(input_storage, output_storage, storage_map)
        inputs, outputs = self.fgraph.inputs, self.fgraph.outputs
        storage_of: dict = dict(storage_map or {})
        if input_storage is None:
            input_storage = [storage_of.get(v, [None]) for v in inputs]
        storage_of.update(zip(inputs, input_storage, strict=True))
        if output_storage is None:
            output_storage = [storage_of.get(v, [None]) for v in outputs]
        for var, storage in zip(outputs, output_storage, strict=True):
            storage_of.setdefault(var, storage)
        thunk, _ = self._compile(storage_of)
        twice = [(a, storage_of[v]) for v, a in zip(outputs, output_storage, strict=True) if a is not storage_of[v]]
        if twice:
            # An output that is an input, or that comes twice.
            inner = thunk

            def thunk() -> None:
                inner()
                for target, origin in twice:
                    target[0] = origin[0]

            thunk.cthunk = inner.cthunk
            thunk.failed_node = inner.failed_node
        return thunk, *storage_containers(inputs, outputs, input_storage, output_storage)


def node_thunk(node: Any, storage_map: dict, compute_map: Any, no_recycling: Any) -> Callable:
    """Return a function without arguments that computes a node by the C code of its Op.

    Parameters
    ----------
    node : Apply
        The node.
    storage_map : dict
        The cell, a list of one value, of each variable.
    compute_map : dict or None
        For each variable a cell that is set to True when it has been computed.
    no_recycling : collection of Variable
        Outputs whose old values must not be written over.

    Examples
    --------
    >>> import theano
    >>> class Twice(theano.Op):
    ...     def make_node(self, x):
    ...         return theano.Apply(self, [x], [x.type()])
    ...     def perform(self, node, inputs, output_storage):
    ...         output_storage[0][0] = 2 * inputs[0]
    >>> x = theano.tensor.vector("x")
    >>> node = Twice()(x).owner
    >>> node_thunk(node, {x: [None], node.outputs[0]: [None]}, None, [])
    Traceback (most recent call last):
        ...
    theano.gof.utils.MethodNotDefined: ('c_code', <class 'theano.gof.cc.Twice'>, 'Twice')
    """
    ins = [storage_map[r] for r in node.inputs]
    outs = [storage_map[r] for r in node.outputs]
    graph = FunctionGraph(node.inputs, node.outputs)
    keep = [new for new, old in zip(graph.outputs, node.outputs, strict=True) if old in no_recycling]
    linker = CLinker(strict=True).accept(graph, no_recycling=keep)
    run, in_filters, out_filters = linker.make_thunk(input_storage=ins, output_storage=outs)
    computed = [compute_map[r] for r in node.outputs] if compute_map is not None else []

    def rval() -> None:
        run()
        for flag in computed:
            flag[0] = True

    if hasattr(run, "cthunk"):
        rval.cthunk = run.cthunk
        rval.without_flags = run
    rval.inputs = ins
    rval.outputs = outs
    rval.lazy = False
    return rval


class HideC:
    """A mix-in for Ops that hides the C code of the classes after it.

    See Also
    --------
    theano.gof.op.CLinkerOp : The C interface of Ops.

    Examples
    --------
    >>> import theano.scalar
    >>> class SlowAdd(HideC, theano.scalar.Add):
    ...     pass
    >>> hidden = SlowAdd(theano.scalar.upcast_out)
    >>> hidden.c_code(None, "node", ["x", "y"], ["z"], {})
    Traceback (most recent call last):
        ...
    theano.gof.utils.MethodNotDefined
    """

    def _hide(self, *args: Any, **kwargs: Any) -> Any:
        raise MethodNotDefined()

    c_code = _hide
    c_code_cleanup = _hide
    c_headers = _hide
    c_header_dirs = _hide
    c_libraries = _hide
    c_lib_dirs = _hide
    c_support_code = _hide
    c_support_code_apply = _hide
    c_compile_args = _hide
    c_no_compile_args = _hide
    c_init_code = _hide
    c_init_code_apply = _hide
    c_init_code_struct = _hide
    c_support_code_struct = _hide
    c_cleanup_code_struct = _hide

    def c_code_cache_version(self) -> tuple:
        """Return the empty tuple."""
        return ()

    def c_code_cache_version_apply(self, node: Any) -> tuple:
        """Return the empty tuple."""
        return ()
