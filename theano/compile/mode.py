"""Modes: how a graph is optimized and what evaluates it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from theano import gof
from theano.configparser import config
from theano.gof.engine import linkers
from theano.gof.link import PerformLinker
from theano.gof.rewriting.stages import (  # noqa: F401
    AddDestroyHandler,
    AddFeatureOptimizer,
    AddNoOutputFromInplace,
    PrintCurrentFunctionGraph,
    local_useless,
    optdb,
)
from theano.gof.supervisor import Supervisor  # noqa: F401
from theano.gof.vm import VM_Linker

#: The linkers by name: Python's here, those of the engine put in by itself.
predefined_linkers = linkers
predefined_linkers.update(
    py=PerformLinker(), vm=VM_Linker(use_cloop=False), vm_nogc=VM_Linker(allow_gc=False, use_cloop=False)
)


def register_linker(name: str, linker: Any) -> None:
    """Add a linker that :class:`Mode` can take by name.

    Parameters
    ----------
    name : str
        A name that is not taken.
    linker : Linker
        The linker.

    Raises
    ------
    ValueError
        If the name is taken.

    See Also
    --------
    theano.compile.register_optimizer : Add an optimizer that `Mode` can take by name.
    theano.compile.register_mode : Add a mode that can be given by name.

    Examples
    --------
    >>> register_linker("patient_py", gof.PerformLinker(allow_gc=False))
    >>> Mode(linker="patient_py").linker.allow_gc
    False
    >>> del predefined_linkers["patient_py"]
    """
    if name in predefined_linkers:
        raise ValueError(f"Linker name already taken: {name}")
    predefined_linkers[name] = linker


# Rewrites that make sense only for compiled code are left out when there is no compiler.
_exclude = [] if config.cxx else ["cxx_only"]
OPT_NONE = gof.Query(include=[], exclude=_exclude)
OPT_MERGE = gof.Query(include=["merge"], exclude=_exclude)
OPT_FAST_RUN = gof.Query(include=["fast_run"], exclude=_exclude)
OPT_FAST_RUN_STABLE = OPT_FAST_RUN.requiring("stable")
OPT_FAST_COMPILE_GPU = gof.Query(include=["fast_compile", "gpuarray"], exclude=_exclude)
OPT_FAST_COMPILE = gof.Query(include=["fast_compile"], exclude=_exclude)
OPT_STABILIZE = gof.Query(include=["fast_run"], exclude=_exclude)
OPT_STABILIZE.position_cutoff = 1.5000001
OPT_O2 = OPT_FAST_COMPILE.including("fusion")
OPT_O3 = OPT_FAST_RUN.excluding("inplace")
OPT_UNSAFE = OPT_O3.including("local_remove_all_assert")
for _name, _query in (
    ("OPT_NONE", OPT_NONE),
    ("OPT_MERGE", OPT_MERGE),
    ("OPT_FAST_RUN", OPT_FAST_RUN),
    ("OPT_FAST_RUN_STABLE", OPT_FAST_RUN_STABLE),
    ("OPT_FAST_COMPILE_GPU", OPT_FAST_COMPILE_GPU),
    ("OPT_FAST_COMPILE", OPT_FAST_COMPILE),
    ("OPT_STABILIZE", OPT_STABILIZE),
    ("OPT_O2", OPT_O2),
    ("OPT_O3", OPT_O3),
    ("OPT_UNSAFE", OPT_UNSAFE),
):
    _query.name = _name

predefined_optimizers: dict[str | None, Any] = {
    None: OPT_NONE,
    "None": OPT_NONE,
    "merge": OPT_MERGE,
    "o4": OPT_FAST_RUN,
    "o3": OPT_O3,
    "o2": OPT_O2,
    "o1": OPT_FAST_COMPILE,
    "unsafe": OPT_UNSAFE,
    "fast_compile": OPT_FAST_COMPILE,
    "fast_run": OPT_FAST_RUN,
    "fast_run_stable": OPT_FAST_RUN_STABLE,
    "fast_compile_gpu": OPT_FAST_COMPILE_GPU,
    "stabilize": OPT_STABILIZE,
    "Stabilization": OPT_STABILIZE,
}


def register_optimizer(name: str, opt: Any) -> None:
    """Add an optimizer that :class:`Mode` can take by name.

    Parameters
    ----------
    name : str
        A name that is not taken.
    opt : Optimizer or Query
        The optimizer.

    Raises
    ------
    ValueError
        If the name is taken.

    See Also
    --------
    theano.compile.register_mode : Add a mode that can be given by name.
    theano.compile.register_linker : Add a linker that `Mode` can take by name.

    Examples
    --------
    >>> import theano
    >>> register_optimizer("only_merge", gof.MergeOptimizer())
    >>> x = theano.tensor.dscalar("x")
    >>> f = theano.function([x], x * 1 + x * 1, mode=Mode(linker="py", optimizer="only_merge"))
    >>> len(f.maker.fgraph.apply_nodes)
    2
    >>> del predefined_optimizers["only_merge"]
    """
    if name in predefined_optimizers:
        raise ValueError(f"Optimizer name already taken: {name}")
    predefined_optimizers[name] = opt


def register_OutputGuard_c_code(type: Any) -> None:
    """Say that OutputGuard supports a Type in C; it needs nothing for that here.

    Parameters
    ----------
    type : type
        A subclass of Type.

    See Also
    --------
    theano.compile.OutputGuard : Return a view of the input, and claim to destroy it.

    Examples
    --------
    >>> import theano
    >>> class Table(theano.Type):
    ...     pass
    >>> register_OutputGuard_c_code(Table)
    >>> theano.compile.OutputGuard()(Table()("prices")).owner
    OutputGuard(prices)
    """


class Mode:
    """An optimizer, which transforms graphs, and a linker, which evaluates them.

    Parameters
    ----------
    linker : Linker or str, optional
        What evaluates the graph: ``'cvm'``, ``'cvm_nogc'``, ``'c|py'``,
        ``'c|py_nogc'``, ``'c'`` (the native engine), ``'vm'``, ``'vm_nogc'``,
        ``'py'`` (Python), ``'reference'`` (the native programs in NumPy, to compare), or a linker.
        ``config.linker`` by default.
    optimizer : Optimizer, Query or str, optional
        What transforms the graph: ``'fast_run'``, ``'fast_compile'``, ``'o4'`` to
        ``'o1'``, ``'unsafe'``, ``'merge'``, None, a query of
        :data:`optdb`, or an optimizer. ``config.optimizer`` by default.

    See Also
    --------
    theano.function : Return a callable that computes `outputs` from `inputs`.
    theano.In : An input of a compiled function, with everything a caller may choose about it.

    Examples
    --------
    >>> import theano
    >>> mode = theano.Mode(linker='py', optimizer='fast_compile').excluding('fusion')
    """

    def __init__(self, linker: Any = None, optimizer: Any = "default"):
        if linker is None:
            linker = config.linker
        if isinstance(optimizer, str) and optimizer == "default":
            optimizer = config.optimizer
        self.__setstate__((linker, optimizer))
        self.call_time = 0
        self.fn_time = 0

    def __getstate__(self) -> tuple[Any, Any]:
        return self.provided_linker, self.provided_optimizer

    def __setstate__(self, state: tuple[Any, Any] | dict[str, Any]) -> None:
        if isinstance(state, dict):
            # Modes with options of their own keep these.
            self.__init__(**state)  # type: ignore[misc]
            return
        linker, optimizer = state
        self.provided_linker = linker
        self.provided_optimizer = optimizer
        if isinstance(linker, str) or linker is None:
            try:
                linker = predefined_linkers[linker]
            except KeyError:
                names = ", ".join(map(repr, predefined_linkers))
                raise ValueError(f"No linker is called {linker!r}. There are {names}.") from None
        self.linker = linker
        if isinstance(optimizer, str) or optimizer is None:
            try:
                optimizer = predefined_optimizers[optimizer]
            except KeyError:
                names = ", ".join(repr(name) for name in predefined_optimizers if name)
                raise ValueError(f"No optimizer is called {optimizer!r}. There are {names}.") from None
        if isinstance(optimizer, gof.Query):
            self.provided_optimizer = optimizer
        self._optimizer = optimizer
        self.call_time = 0
        self.fn_time = 0

    def __str__(self) -> str:
        return f"{type(self).__name__}(linker = {self.provided_linker}, optimizer = {self.provided_optimizer})"

    def _get_optimizer(self) -> Any:
        if isinstance(self._optimizer, gof.Query):
            return optdb.query(self._optimizer)
        return self._optimizer

    def _shared_optimizer(self) -> Any:
        """Return the optimizer, the same one until the databases of rewrites change; it must not be modified."""
        if not isinstance(self._optimizer, gof.Query):
            return self.optimizer
        key = (gof.optdb.DB.changes, config.optdb.max_use_ratio, config.optdb.position_cutoff)
        kept = self.__dict__.get("_kept_optimizer")
        if kept is None or kept[0] != key:
            kept = self._kept_optimizer = (key, self.optimizer)
        return kept[1]

    @property
    def optimizer(self) -> Any:
        """The optimizer; a new one each time if the mode was made from a query."""
        return self._get_optimizer()

    def get_linker_optimizer(self, linker: Any, optimizer: Any) -> tuple[Any, Any]:
        """Return the linker and the optimizer or query that names stand for."""
        if isinstance(linker, str) or linker is None:
            linker = predefined_linkers[linker]
        if isinstance(optimizer, str) or optimizer is None:
            optimizer = predefined_optimizers[optimizer]
        return linker, optimizer

    def including(self, *tags: str) -> Mode:
        """Return a mode like this one that also applies the rewrites with any of the tags."""
        _, optimizer = self.get_linker_optimizer(self.provided_linker, self.provided_optimizer)
        return self.clone(optimizer=optimizer.including(*tags))

    def excluding(self, *tags: str) -> Mode:
        """Return a mode like this one that applies no rewrite with any of the tags."""
        _, optimizer = self.get_linker_optimizer(self.provided_linker, self.provided_optimizer)
        return self.clone(optimizer=optimizer.excluding(*tags))

    def requiring(self, *tags: str) -> Mode:
        """Return a mode like this one that applies only rewrites that have all the tags."""
        _, optimizer = self.get_linker_optimizer(self.provided_linker, self.provided_optimizer)
        return self.clone(optimizer=optimizer.requiring(*tags))

    def register(self, *optimizations: tuple[Any, float]) -> Mode:
        """Return a mode like this one with further optimizers.

        Parameters
        ----------
        *optimizations
            Pairs of an optimizer and its position in :data:`optdb`.

        Returns
        -------
        Mode
            The new mode.
        """
        _, optimizer = self.get_linker_optimizer(self.provided_linker, self.provided_optimizer)
        return self.clone(optimizer=optimizer.register(*optimizations))

    def clone(self, link_kwargs: dict[str, Any] | None = None, optimizer: Any = "", **kwargs: Any) -> Mode:
        """Return a copy of the mode.

        Parameters
        ----------
        link_kwargs : dict, optional
            Options for a copy of the linker.
        optimizer : Optimizer, Query or str
            The optimizer of the copy; by default that of this mode.

        Returns
        -------
        Mode
            The copy.
        """
        linker = self.linker.clone(**link_kwargs) if link_kwargs else self.provided_linker
        if isinstance(optimizer, str) and optimizer == "":
            optimizer = self.provided_optimizer
        return type(self)(linker=linker, optimizer=optimizer, **kwargs)


# Names documented as modes; get_mode makes the ones that are missing here when they are asked for.
FAST_COMPILE = Mode(VM_Linker(use_cloop=False, c_thunks=False), "fast_compile")
FAST_RUN = Mode("cvm" if config.cxx else "vm", "fast_run")

predefined_modes: dict[str, Mode] = {"FAST_COMPILE": FAST_COMPILE, "FAST_RUN": FAST_RUN}

_defaults = threading.local()


#: Functions that make the modes of these names when they are asked for, in capitals; who defines such a mode puts it here.
modes_by_need: dict[str, Callable[[], Mode]] = {}


def _make_default_mode(name: str) -> Mode:
    """Make the mode that ``config.mode`` names, with the flags that act on the default mode."""
    if name == "Mode":
        mode = Mode(linker=config.linker, optimizer=config.optimizer)
    elif name.upper() in modes_by_need:
        mode = modes_by_need[name.upper()]()
    else:
        mode = _predefined(name)
    for flag, method in (
        (config.optimizer_excluding, "excluding"),
        (config.optimizer_including, "including"),
        (config.optimizer_requiring, "requiring"),
    ):
        tags = [tag for tag in flag.split(":") if tag]
        if tags:
            mode = getattr(mode, method)(*tags)
    return mode


def _predefined(name: str) -> Mode:
    try:
        return predefined_modes[name]
    except KeyError:
        names = ", ".join([*predefined_modes, "DebugMode", "NanGuardMode"])
        raise Exception(f"No predefined mode exists for string: {name}. There are {names}.") from None


def get_mode(orig_string: Any) -> Any:
    """Return the mode that something given as ``mode`` stands for.

    Parameters
    ----------
    orig_string : str, Mode or None
        A mode, the name of one, or None for the default.

    Returns
    -------
    Mode
        The mode.

    Raises
    ------
    Exception
        If no mode has the name.

    See Also
    --------
    theano.compile.get_default_mode : Return the mode of functions that are compiled without one, from the flags as they
        are now.
    theano.compile.register_mode : Add a mode that can be given by name.
    theano.compile.mode.filter_mode : Return the value of the flag ``mode`` as it is: a name of a mode that may stand
        there, or a mode.

    Examples
    --------
    >>> isinstance(get_mode("FAST_RUN"), Mode), get_mode(None) is get_default_mode()
    (True, True)
    >>> get_mode("FASTEST")
    Traceback (most recent call last):
        ...
    Exception: No predefined mode exists for string: FASTEST. There are...
    """
    if orig_string is None:
        return get_default_mode()
    if not isinstance(orig_string, str):
        return orig_string
    if orig_string.upper() in modes_by_need:
        return modes_by_need[orig_string.upper()]()
    if orig_string == "Mode":
        return get_default_mode()
    return _predefined(orig_string)


def get_default_mode() -> Mode:
    """Return the mode of functions that are compiled without one, from the flags as they are now.

    See Also
    --------
    theano.compile.register_mode : Add a mode that can be given by name.
    theano.compile.get_mode : Return the mode that something given as ``mode`` stands for.

    Examples
    --------
    >>> with config.change_flags(mode="FAST_COMPILE"):
    ...     get_default_mode() is get_mode("FAST_COMPILE")
    True
    """
    key = (
        config.mode,
        config.linker,
        config.optimizer,
        config.optimizer_excluding,
        config.optimizer_including,
        config.optimizer_requiring,
    )
    cached = getattr(_defaults, "mode", None)
    if cached is None or cached[0] != key:
        name = config.mode
        flags = any(key[3:])
        cached = (key, _predefined(name) if name in predefined_modes and not flags else _make_default_mode(name))
        _defaults.mode = cached
    return cached[1]


def __getattr__(name: str) -> Any:
    if name == "instantiated_default_mode":
        return get_default_mode()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def filter_mode(val: Any) -> Any:
    """Return the value of the flag ``mode`` as it is: a name of a mode that may stand there, or a mode.

    Parameters
    ----------
    val : str or Mode
        The value of the flag.

    Raises
    ------
    ValueError
        It is neither.

    See Also
    --------
    theano.compile.get_mode : Return the mode that something given as ``mode`` stands for.

    Examples
    --------
    >>> filter_mode("FAST_RUN")
    'FAST_RUN'
    >>> filter_mode("FASTEST")
    Traceback (most recent call last):
        ...
    ValueError: Expected one of 'Mode', 'DebugMode', 'FAST_RUN', 'NanGuardMode', 'FAST_COMPILE', 'DEBUG_MODE', or an ...
    """
    names = ("Mode", "DebugMode", "FAST_RUN", "NanGuardMode", "FAST_COMPILE", "DEBUG_MODE")
    if isinstance(val, Mode) or val in names:
        return val
    raise ValueError(f"Expected one of {', '.join(map(repr, names))}, or an instance of Mode, got {val!r}.")


def register_mode(name: str, mode: Mode) -> None:
    """Add a mode that can be given by name.

    Parameters
    ----------
    name : str
        A name that is not taken.
    mode : Mode
        The mode.

    Raises
    ------
    ValueError
        If the name is taken.

    See Also
    --------
    theano.compile.get_mode : Return the mode that something given as ``mode`` stands for.
    theano.compile.get_default_mode : Return the mode of functions that are compiled without one, from the flags as they
        are now.
    theano.compile.register_linker : Add a linker that `Mode` can take by name.

    Examples
    --------
    >>> mode = Mode(linker="py", optimizer="fast_compile")
    >>> register_mode("MY_PYTHON", mode)
    >>> get_mode("MY_PYTHON") is mode
    True
    >>> register_mode("MY_PYTHON", mode)
    Traceback (most recent call last):
        ...
    ValueError: Mode name already taken: MY_PYTHON
    >>> del predefined_modes["MY_PYTHON"]
    """
    if name in predefined_modes:
        raise ValueError(f"Mode name already taken: {name}")
    predefined_modes[name] = mode
