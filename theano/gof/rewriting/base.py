"""Global optimizers: the base class, sequences of optimizers and optimizers made from functions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any, TextIO

from theano.configdefaults import config
from theano.gof.progress import clear_line
from theano.gof.rewriting.profiles import Overhead, Part, Profile
from theano.gof.toolbox import ReplaceValidate
from theano.process import collection_is_paused, garbage_collection_paused


def log_error(*lines: str) -> None:
    """Log lines as errors of :mod:`theano.gof.opt`."""
    import logging

    clear_line()
    logger = logging.getLogger("theano.gof.opt")
    for line in lines:
        logger.error("%s", line)


def debug_post_mortem() -> None:
    """Start the debugger where the exception that is being handled was raised."""
    import pdb

    clear_line()
    pdb.post_mortem(sys.exc_info()[2])


def optimizer_label(opt: Any) -> str:
    """Return the name under which `opt` appears in summaries, profiles and messages."""
    return getattr(opt, "name", None) or getattr(opt, "__name__", None) or str(opt)


class Optimizer:
    """A global optimization: changes a whole `FunctionGraph` in place.

    Subclasses implement `apply` and, if they need features of the graph,
    `add_requirements`. Users call `optimize`.

    See Also
    --------
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.
    theano.gof.optimizer : Make a global `Optimizer` of a function of a `FunctionGraph`.
    theano.gof.SeqOptimizer : Apply a list of global optimizers one after another.

    Examples
    --------
    >>> from theano import gof
    >>> class Nothing(gof.Optimizer):
    ...     def apply(self, fgraph):
    ...         pass
    """

    name: str | None = None

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def apply(self, fgraph) -> Any:
        """Change `fgraph`; may assume that `add_requirements` was called on it.

        Parameters
        ----------
        fgraph : FunctionGraph

        Returns
        -------
        object
            A `Profile`, something else that `print_profile` understands, or None.
        """

    def optimize(self, fgraph, *args: Any, **kwargs: Any) -> Any:
        """Call `add_requirements` and then `apply`.

        Parameters
        ----------
        fgraph : FunctionGraph

        Returns
        -------
        object
            What `apply` returned.
        """
        with nullcontext() if collection_is_paused() else garbage_collection_paused():
            self.add_requirements(fgraph)
            done = self.apply(fgraph, *args, **kwargs)
        if isinstance(done, Profile):
            done.optimizer = self
        return done

    def __call__(self, fgraph) -> Any:
        """Same as `optimize`."""
        return self.optimize(fgraph)

    def add_requirements(self, fgraph) -> None:
        """Attach to `fgraph` the features that `apply` relies on: here the one that makes replacements."""
        if not hasattr(fgraph, "replace_validate"):
            fgraph.attach_feature(ReplaceValidate())

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        """Write one line for this optimizer and, below it, those of its parts.

        Parameters
        ----------
        stream : file-like
        level : int
            Indentation.
        depth : int
            How many levels of parts to show; -1 shows all of them.
        """
        name = getattr(self, "name", None)
        print(f"{' ' * level}{self.__class__.__name__} {name} id={id(self)}", file=stream)

    @staticmethod
    def print_profile(stream: TextIO, prof: Any, level: int = 0) -> None:
        """Write the profile that `apply` returned; nothing when there is none."""
        if isinstance(prof, Profile):
            prof.write(stream, level)
        elif prof is not None:
            print(f"{'    ' * level}{prof}", file=stream)

    @staticmethod
    def merge_profile(prof1: Any, prof2: Any) -> Any:
        """Return the sum of two profiles, or the second where they have none."""
        return prof1 + prof2 if isinstance(prof1, Profile) else prof2


class FromFunctionOptimizer(Optimizer):
    """A global optimizer whose `apply` is the function `fn(fgraph)`.

    Parameters
    ----------
    fn : callable
        It takes the FunctionGraph, which it may change.
    requirements : sequence of callable
        Functions that are called with the graph before.

    See Also
    --------
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.
    theano.gof.opt.FromFunctionLocalOptimizer : A local optimizer whose `transform` is the function `fn(node)`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> count = FromFunctionOptimizer(lambda fgraph: print(len(fgraph.apply_nodes), "nodes"))
    >>> x = T.vector("x")
    >>> count.optimize(FunctionGraph([x], [T.exp(T.sin(x))]))
    2 nodes
    """

    def __init__(self, fn: Callable[..., Any], requirements: Iterable[Callable[[Any], Any]] = ()):
        self.fn = fn
        self.apply = fn  # type: ignore[method-assign]
        self.requirements = tuple(requirements)
        self.__name__ = getattr(fn, "__name__", "")
        self.__doc__ = getattr(fn, "__doc__", None)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self.fn is other.fn)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.fn)

    def __str__(self) -> str:
        return self.__name__

    def __reduce__(self):
        return (type(self), (self.fn, self.requirements))

    def add_requirements(self, fgraph) -> None:
        for require in self.requirements:
            require(fgraph)

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        print(f"{' ' * level}{self.apply} id={id(self)}", file=stream)


def optimizer(f: Callable[..., Any]) -> FromFunctionOptimizer:
    """Make a global `Optimizer` of a function of a `FunctionGraph`.

    Parameters
    ----------
    f : callable
        It may change the graph.

    See Also
    --------
    theano.gof.inplace_optimizer : Like `optimizer`, for functions that need the graph to have a `DestroyHandler`.
    theano.gof.Optimizer : A global optimization: changes a whole `FunctionGraph` in place.
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.

    Examples
    --------
    >>> from theano.gof.opt import optimizer
    >>> @optimizer
    ... def count_nodes(fgraph):
    ...     fgraph.n_seen = len(fgraph.apply_nodes)
    """
    result = FromFunctionOptimizer(f)
    result.__name__ = f.__name__
    return result


def attach_destroy_handler(fgraph) -> None:
    """Requirement of inplace optimizers: the graph has a `DestroyHandler`.

    Parameters
    ----------
    fgraph : FunctionGraph
        It gets one.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> fgraph = theano.gof.FunctionGraph([x], [T.exp(x)])
    >>> attach_destroy_handler(fgraph)
    >>> handler = fgraph.destroy_handler
    >>> attach_destroy_handler(fgraph)
    >>> fgraph.destroy_handler is handler
    True
    """
    if not getattr(fgraph, "destroy_handler", None):
        from theano.gof.destroyhandler import DestroyHandler

        fgraph.attach_feature(DestroyHandler())


def inplace_optimizer(f: Callable[..., Any]) -> FromFunctionOptimizer:
    """Like `optimizer`, for functions that need the graph to have a `DestroyHandler`.

    Parameters
    ----------
    f : callable
        A function of a FunctionGraph.

    Returns
    -------
    FromFunctionOptimizer
        It asks for the handler before it runs.

    See Also
    --------
    theano.gof.optimizer : Make a global `Optimizer` of a function of a `FunctionGraph`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> @inplace_optimizer
    ... def exp_in_place(fgraph):
    ...     for node in fgraph.toposort():
    ...         if node.op == T.exp:
    ...             fgraph.replace_validate(node.outputs[0], T.inplace.exp_inplace(*node.inputs))
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))])
    >>> exp_in_place.optimize(fgraph)
    >>> print(fgraph)
    [exp_inplace(Elemwise{sin,no_inplace}(x))]
    """
    result = FromFunctionOptimizer(f, (attach_destroy_handler,))
    result.__name__ = f.__name__
    return result


def _add_parts(first: list[Part], second: list[Part]) -> list[Part]:
    """The parts of both, those of optimizers with one name added up."""
    parts: dict[Any, Part] = {}
    for part in first + second:
        key = part.opt.name or part.opt
        parts[key] = parts[key] + part if key in parts else part
    return list(parts.values())


class SequenceProfile(Profile):
    """What a `SeqOptimizer` did.

    Parameters
    ----------
    nb_before, nb_after : int
        Numbers of nodes.
    overhead : Overhead
    parts : list of Part
        What each optimizer did.
    """

    added_by = {**Profile.added_by, "parts": _add_parts}
    nb_before: int
    nb_after: int
    overhead: Overhead
    parts: list[Part]

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        blanc = "    " * level
        print(blanc, "SeqOptimizer", end=" ", file=stream)
        if self.title:
            print(self.title, end="  ", file=stream)
        seconds = sum(part.seconds for part in self.parts)
        print(f"time {seconds:.3f}s for {self.nb_before}/{self.nb_after} nodes before/after optimization", file=stream)
        if self.overhead.validate_time is not None:
            print(blanc, f"  {self.overhead.validate_time:.3f}s for fgraph.validate()", file=stream)
        print(blanc, f"  {self.overhead.callback_time:.3f}s for callback", file=stream)
        by_feature: dict[str, float] = {}
        for feature, seconds in self.overhead.callbacks.items():
            text = str(optimizer_label(feature))
            # Most features have no text of their own, and some (the worklists of passes) come up again and again.
            text = type(feature).__name__ if text.startswith("<") else text
            by_feature[text] = by_feature.get(text, 0.0) + seconds
        for text, seconds in sorted(by_feature.items(), key=lambda item: -item[1]):
            if seconds > 0:
                print(blanc, f"      {text}, {seconds:f}s", file=stream)
        if level == 0:
            print(blanc, "time      - (name, class, index) - validate time", file=stream)
        for i, part in sorted(enumerate(self.parts), key=lambda item: -item[1].seconds):
            name = (optimizer_label(part.opt), part.opt.__class__.__name__, i)
            print(blanc, f"  {part.seconds:f}s - {name} - {part.validate_time:.3f}s", file=stream)
            part.write(stream, level + 1)
        print(file=stream)


class Settled:
    """The local optimizers that have been offered every node of a graph as it is, and changed nothing.

    Stages share many of them: the next stage need not ask again what has just been asked. What they do is taken to depend
    on the graph and on which features it has.
    """

    def __init__(self) -> None:
        self._state: Any = None
        self._opts: set[Any] = set()

    def of(self, fgraph: Any) -> set[Any]:
        """Those of the graph as it is now."""
        # What a feature knows may matter as the graph itself does.
        state = fgraph.state()
        if self._state != state:
            self._state, self._opts = state, set()
        return self._opts

    def add(self, fgraph: Any, opts: Iterable[Any]) -> None:
        """Take note that they leave the graph as it is."""
        self.of(fgraph).update(opts)


class SeqOptimizer(Optimizer, list):
    """Apply a list of global optimizers one after another.

    Parameters
    ----------
    *opts : Optimizer
        The optimizers, or one list of them.
    failure_callback : callable, optional
        Called as ``failure_callback(exception, self, optimizer)`` when one raises;
        without it the exception passes.

    See Also
    --------
    theano.gof.EquilibriumOptimizer : Apply optimizers until none of them changes the graph any more.
    theano.gof.Optimizer : A global optimization: changes a whole `FunctionGraph` in place.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, OpSub
    >>> opts = [TopoOptimizer(OpSub(T.sin, T.cos)), TopoOptimizer(OpSub(T.cos, T.tan))]
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)])
    >>> _ = SeqOptimizer(opts).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{tan,no_inplace}(x)]
    """

    def __init__(self, *opts: Any, **kw: Any):
        if len(opts) == 1 and isinstance(opts[0], (list, tuple)):
            opts = tuple(opts[0])
        list.__init__(self, opts)
        self.failure_callback = kw.pop("failure_callback", None)
        self.name = kw.pop("name", None)
        if kw:
            raise TypeError(f"unexpected keyword arguments: {sorted(kw)}")

    @staticmethod
    def warn(exc: BaseException, self: SeqOptimizer, optimizer: Optimizer) -> None:
        """Failure callback that obeys `config.on_opt_error`."""
        if config.on_opt_error == "ignore":
            return
        import traceback

        log_error(f"SeqOptimizer apply {optimizer}", "Traceback:", traceback.format_exc())
        if config.on_opt_error == "raise":
            raise exc
        if config.on_opt_error == "pdb":
            debug_post_mortem()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return f"SeqOpt({list.__str__(self)})"

    def __repr__(self) -> str:
        return list.__repr__(self)

    def add_requirements(self, fgraph) -> None:
        for opt in self:
            opt.add_requirements(fgraph)

    def apply(self, fgraph) -> Any:
        nb_before = len(fgraph.apply_nodes)
        start_overhead = Overhead.of(fgraph)
        profiled = getattr(fgraph, "profile", None)
        outermost = fgraph.settled is None
        if outermost:
            fgraph.settled = Settled()
        try:
            parts = self._apply_each(fgraph, profiled)
        finally:
            if outermost:
                fgraph.settled = None
        fgraph.current_pass = None
        overhead = start_overhead.until_now(fgraph)
        title = getattr(self, "name", None) or getattr(self, "__name__", None) or ""
        return SequenceProfile(title, nb_before, len(fgraph.apply_nodes), overhead, parts)

    def _apply_each(self, fgraph, profiled: Any) -> list[Part]:
        parts: list[Part] = []
        for opt in self:
            validated = profiled.validate_time if profiled else 0.0
            start = time.perf_counter()
            profile = None
            fgraph.current_pass = optimizer_label(opt)
            try:
                profile = opt.optimize(fgraph)
            except AssertionError:
                # An assertion is a check of the rewriter itself; hiding it would hide a wrong graph.
                raise
            except Exception as exc:
                if self.failure_callback is None:
                    raise
                self.failure_callback(exc, self, opt)
            seconds = time.perf_counter() - start
            parts.append(Part(opt, profile, seconds, profiled.validate_time - validated if profiled else 0.0))
        return parts

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        super().print_summary(stream, level, depth)
        if depth != 0:
            for opt in self:
                opt.print_summary(stream, level=level + 2, depth=depth - 1)


def flatten_optimizers(opts: Sequence[Any]) -> list[Any]:
    """`opts` itself, or the list that it holds as its only element."""
    if len(opts) == 1 and isinstance(opts[0], (list, tuple)):
        return list(opts[0])
    return list(opts)
