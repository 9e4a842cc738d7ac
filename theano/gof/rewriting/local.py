"""Local optimizers: rewrites of one Apply node, and groups of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TextIO

import numpy as np

from theano.gof import hooks
from theano.gof.memo import Bounded
from theano.gof.op import PureOp
from theano.gof.rewriting.base import attach_destroy_handler, flatten_optimizers, optimizer_label
from theano.gof.rewriting.index import TrackIndex
from theano.gof.rewriting.profiles import Profile
from theano.gof.sharedvalue import shared
from theano.gof.stack_traces import copy_stack_trace
from theano.gof.utils import AbstractFunctionError


class NewInputs(list):
    """The inputs that a node is to get: what a local optimizer proposes instead of a node that takes its place.

    Examples
    --------
    >>> from theano.tensor import dvector
    >>> x, y = dvector("x"), dvector("y")
    >>> NewInputs([y, x])
    [y, x]
    """


class LocalOptimizer:
    """A rewrite of a single Apply node.

    A subclass implements `transform` and, so that it is only offered nodes that it may
    change, `tracks`. A navigator such as `TopoOptimizer` or an `EquilibriumOptimizer`
    applies it to the nodes of a graph.

    See Also
    --------
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.
    theano.gof.LocalOptGroup : Several local optimizers as one: the first that changes the node wins.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, TopoOptimizer
    >>> class LogOfExp(LocalOptimizer):
    ...     def tracks(self):
    ...         return [T.log]
    ...     def transform(self, node):
    ...         inner = node.inputs[0].owner
    ...         return inner.inputs if inner and inner.op == T.exp else False
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(T.log(T.exp(x)))])
    >>> _ = TopoOptimizer(LogOfExp()).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{sin,no_inplace}(x)]
    """

    name: str | None = None
    #: Nodes are offered only if one of their inputs is a constant (where `Constant` is listed) or is computed by one of
    #: these Ops or Op classes; None means all nodes. An input that is another one rearranged counts as anything.
    among_inputs: Collection | None = None
    #: An `EquilibriumOptimizer` passes over this optimizer while the graph has none of these Ops or Op classes, a
    #: `TopoOptimizer` if it has none at the start; None means that of `among_inputs`, if that says more than `Constant`,
    #: for the former, and nothing for the latter.
    needs: Collection | None = None
    #: Whether it changes only nodes whose inputs are all constants.
    of_constants = False

    def tracks(self) -> Any:
        """Return the Ops and Op classes whose nodes this optimizer may change; None means all."""
        return None

    def forms(self) -> Any:
        """Return by what is tracked pairs of a `Form` and what is to be tried for nodes that have it; None means all nodes."""
        return None

    #: All that `forms` look for in inputs.
    looked_for: Collection = ()

    def transform_by(self, rows: Sequence[Any]) -> Callable[[Any], Any]:
        """Return `transform` for nodes for which only the `rows` of `forms` are to be tried."""
        return self.transform

    #: Where there is such a method it is called instead of `transform` if nodes may change instead of being replaced: it returns
    #: `NewInputs` where `transform` would return the outputs of the same Op on them.
    change: Callable[[Any], Any] | None = None

    def transform(self, node) -> Any:
        """Propose a replacement for the outputs of `node`.

        Parameters
        ----------
        node : Apply

        Returns
        -------
        False, None, list or dict
            False or None: nothing to do. A list: one variable per output of `node`, None for an
            unused output. A dict: maps variables to replacements; the key ``'remove'`` may hold
            variables that must have left the graph after the change.
        """
        raise AbstractFunctionError(type(self), "transform")

    def add_requirements(self, fgraph) -> None:
        """Attach to `fgraph` the features that `transform` relies on."""

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        """Write a line that names this optimizer."""
        print(f"{' ' * level}{self.__class__.__name__} id={id(self)}", file=stream)


class FromFunctionLocalOptimizer(LocalOptimizer):
    """A local optimizer whose `transform` is the function `fn(node)`.

    Parameters
    ----------
    fn : callable
        It takes a node, and returns replacements of its outputs, or False.
    tracks : list, optional
        Ops and classes of Ops whose nodes it is called with; by default those of all.
    requirements : sequence of Callable, optional
        Functions that are called with the graph before.

    See Also
    --------
    theano.gof.opt.FromFunctionOptimizer : A global optimizer whose `apply` is the function `fn(fgraph)`.
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.

    Examples
    --------
    >>> import theano.tensor as T
    >>> def log_of_exp(node):
    ...     inner = node.inputs[0].owner
    ...     return inner.inputs if inner and inner.op == T.exp else False
    >>> rewrite = FromFunctionLocalOptimizer(log_of_exp, tracks=[T.log])
    >>> x = T.vector("x")
    >>> rewrite.transform(T.log(T.exp(x)).owner), rewrite.transform(T.log(x).owner)
    ([x], False)
    """

    def __init__(self, fn: Callable[..., Any], tracks: Any = None, requirements: Iterable[Callable] = ()):
        self.fn = fn
        self.transform = fn  # type: ignore[method-assign]
        self._tracks = tracks
        self.requirements = tuple(requirements)
        self.__name__ = getattr(fn, "__name__", "")
        self.__doc__ = getattr(fn, "__doc__", None)

    def __str__(self) -> str:
        return getattr(self, "__name__", "<FromFunctionLocalOptimizer instance>")

    def tracks(self) -> Any:
        return self._tracks

    def add_requirements(self, fgraph) -> None:
        for require in self.requirements:
            require(fgraph)

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        print(f"{' ' * level}{self.transform} id={id(self)}", file=stream)


def local_optimizer(
    tracks: Any,
    inplace: bool = False,
    requirements: Iterable[Callable] | None = None,
    among_inputs: Iterable[Any] | None = None,
    needs: Iterable[Any] | None = None,
) -> Callable[[Callable], FromFunctionLocalOptimizer]:
    """Decorator that makes a `LocalOptimizer` of a function of an Apply node.

    Parameters
    ----------
    tracks : list or None
        Ops and Op classes whose nodes the function may change; None means every node.
    inplace : bool
        The function may insert Ops that destroy their inputs.
    requirements : list of callables, optional
        Each is called with the FunctionGraph before the optimizer is used on it.
    among_inputs : list, optional
        See `LocalOptimizer.among_inputs`: without such an input the function would return False. It is then not even
        called by the optimizers that look at many nodes.
    needs : list, optional
        See `LocalOptimizer.needs`: the Ops and Op classes of which everything that the function changes has one, be it
        below the node's inputs.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ValueError
        When `tracks` is empty or has something that is neither an Op nor an Op class.

    See Also
    --------
    theano.tensor.raw_random.in2out : Return the `topogroup_optimizer` from the inputs to the outputs.
    theano.gof.opt.out2in : Return the `topogroup_optimizer` from the outputs to the inputs.
    theano.gof.optimizer : Make a global `Optimizer` of a function of a `FunctionGraph`.

    Examples
    --------
    >>> from theano.gof import local_optimizer
    >>> from theano.scalar import neg
    >>> @local_optimizer([neg])
    ... def local_neg_neg(node):
    ...     inner = node.inputs[0].owner
    ...     if node.op == neg and inner and inner.op == neg:
    ...         return [inner.inputs[0]]
    """
    needed = tuple(requirements or ())
    if inplace:
        needed += (attach_destroy_handler,)

    def decorate(f: Callable) -> FromFunctionLocalOptimizer:
        if tracks is not None:
            if len(tracks) == 0:
                raise ValueError("Use None instead of an empty list to apply to all nodes.", f.__module__, f.__name__)
            for track in tracks:
                is_class = isinstance(track, type) and issubclass(track, PureOp)
                if not is_class and not isinstance(track, PureOp):
                    raise ValueError("Tracks are op classes or instances", f.__module__, f.__name__)
        result = FromFunctionLocalOptimizer(f, tracks, needed)
        if among_inputs is not None:
            result.among_inputs = tuple(among_inputs)
        if needs is not None:
            result.needs = tuple(needs)
        result.__name__ = f.__name__
        result.__module__ = f.__module__
        return result

    return decorate


class GroupProfile(Profile):
    """What the members of a `LocalOptGroup` did.

    Parameters
    ----------
    time_opts, process_count, applied_true, node_created : dict
        For each member its seconds, how often it was tried and how often it changed something, and how many nodes it made.
    """

    time_opts: dict[Any, float]
    process_count: dict[Any, int]
    applied_true: dict[Any, int]
    node_created: dict[Any, int]

    def since(self, before: GroupProfile) -> GroupProfile:
        """Return what was added after `before`."""
        names = ("time_opts", "process_count", "applied_true", "node_created")
        pairs = [(getattr(self, name), getattr(before, name)) for name in names]
        return GroupProfile(self.title, *[{opt: new[opt] - old[opt] for opt in new} for new, old in pairs])

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        blanc = "    " * level
        print(blanc, self.title, file=stream)
        print(blanc, "---------------------", file=stream)
        print(blanc, "  time taken - times applied - times tried - name - node_created:", file=stream)
        for opt in sorted(self.time_opts, key=lambda opt: -self.time_opts[opt]):
            if self.process_count[opt]:
                print(
                    blanc,
                    f"  {self.time_opts[opt]:.3f}s - {self.applied_true[opt]} - {self.process_count[opt]} - "
                    f"{optimizer_label(opt)} - {self.node_created[opt]}",
                    file=stream,
                )
        print(file=stream)


class LocalOptGroup(LocalOptimizer):
    """Several local optimizers as one: the first that changes the node wins.

    Parameters
    ----------
    *optimizers : LocalOptimizer
        Tried in this order.
    apply_all_opts : bool
        Go on with the replacement of the node until no optimizer changes it.
    profile : bool
        Count and time each optimizer.

    See Also
    --------
    theano.gof.PatternSub : Replace what matches one pattern by what another pattern builds.
    theano.gof.LocalOptimizer : A rewrite of a single Apply node.
    theano.gof.opt.GraphToGPULocalOptGroup : Groups of optimizers with the signature ``transform(op, context_name, inputs,
        outputs)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, OpSub, TopoOptimizer
    >>> group = LocalOptGroup(OpSub(T.sin, T.cos), OpSub(T.exp, T.exp2))
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))])
    >>> _ = TopoOptimizer(group).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{exp2,no_inplace}(Elemwise{cos,no_inplace}(x))]
    """

    def __init__(self, *optimizers: Any, **kwargs: Any):
        self.apply_all_opts: bool = kwargs.pop("apply_all_opts", False)
        self.profile: bool = kwargs.pop("profile", False)
        if kwargs:
            raise TypeError(f"unexpected keyword arguments: {sorted(kwargs)}")
        self.opts: list[Any] = flatten_optimizers(optimizers)
        self.reentrant = any(getattr(opt, "reentrant", True) for opt in self.opts)
        self.retains_inputs = all(getattr(opt, "retains_inputs", False) for opt in self.opts)
        self.index = TrackIndex()
        self.process_count: dict[Any, int] = {}
        self.applied_true: dict[Any, int] = {}
        self.node_created: dict[Any, int] = {}
        self.time_opts: dict[Any, float] = {}
        for opt in self.opts:
            self.index.add(opt)
            for table in (self.process_count, self.applied_true, self.node_created):
                table[opt] = 0
            self.time_opts[opt] = 0.0
        # The order in which the group was given decides, not what each member tracks.
        self._rank = {opt: i for i, opt in enumerate(self.opts)}
        self._ordered = Bounded(20000)

    def __str__(self) -> str:
        return getattr(self, "__name__", f"<theano.gof.opt.LocalOptGroup instance>{[str(opt) for opt in self.opts]}")

    def tracks(self) -> Any:
        tracked: list[Any] = []
        for opt in self.opts:
            part = opt.tracks()
            if not part:
                return None
            tracked.extend(part)
        return tracked

    def _in_order(self, found: tuple) -> list[Any]:
        return self._ordered.get(found) or self._ordered.keep(found, sorted(found, key=lambda offer: self._rank[offer[0]]))

    def transform(self, node) -> Any:
        return self.propose(node)[0]

    def propose(self, node) -> tuple[Any, Any]:
        """Return what `transform` returns, and whose proposal that is.

        Parameters
        ----------
        node : Apply

        Returns
        -------
        tuple
            The second element is None, the member of the group, or the names of several, joined by ``' + '``.
        """
        result: Any = None
        authors: list[Any] = []
        while self.opts:
            found = False
            for opt, transform in self._in_order(self.index.find_for(node)):
                if self.profile:
                    start = time.perf_counter()
                    new = transform(node)
                    self.time_opts[opt] += time.perf_counter() - start
                    self.process_count[opt] += 1
                else:
                    new = transform(node)
                if not new:
                    continue
                if self.profile:
                    self.applied_true[opt] += 1
                    self.node_created[opt] += len(self._created(node, new))
                result = new
                authors.append(opt)
                found = True
                break
            if not found or not self.apply_all_opts or isinstance(result, dict):
                break
            if len(result) != 1 or result[0] is None or result[0].owner is None:
                break
            copy_stack_trace(node.outputs, result)
            node = result[0].owner
        if len(authors) > 1:
            return result, " + ".join(str(optimizer_label(opt)) for opt in dict.fromkeys(authors))
        return result, authors[0] if authors else None

    @staticmethod
    def _created(node: Any, new: Any) -> list[Any]:
        from theano.gof.graph import ops

        variables = [var for var in (new.values() if isinstance(new, dict) else new) if hasattr(var, "owner")]
        return list(ops(node.inputs, variables))

    def add_requirements(self, fgraph) -> None:
        for opt in self.opts:
            opt.add_requirements(fgraph)

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        super().print_summary(stream, level, depth)
        if depth != 0:
            for opt in self.opts:
                opt.print_summary(stream, level=level + 2, depth=depth - 1)

    def counts(self) -> GroupProfile:
        """Return times, uses and changes of each optimizer of a profiled group so far, over all graphs."""
        tables = (self.time_opts, self.process_count, self.applied_true, self.node_created)
        return GroupProfile("LocalOptGroup", *[dict(table) for table in tables])

    @staticmethod
    def print_profile(stream: TextIO, prof: Any, level: int = 0) -> None:
        """Write what `counts` returned, or a tuple of the same dictionaries."""
        counts = prof if isinstance(prof, GroupProfile) else GroupProfile("LocalOptGroup", *prof[:4])
        counts.write(stream, level)


class GraphToGPULocalOptGroup(LocalOptGroup):
    """Groups of optimizers with the signature ``transform(op, context_name, inputs, outputs)``.

    See Also
    --------
    theano.gof.LocalOptGroup : Several local optimizers as one: the first that changes the node wins.

    Examples
    --------
    >>> import theano.tensor as T
    >>> class Moved(LocalOptimizer):
    ...     def tracks(self):
    ...         return [T.exp]
    ...     def transform(self, op, context_name, inputs, outputs):
    ...         return f"exp on {context_name}"
    >>> x = T.vector("x")
    >>> GraphToGPULocalOptGroup(Moved()).transform(T.exp, "dev0", [x], [T.exp(x)])
    'exp on dev0'
    """

    def __init__(self, *optimizers: Any, **kwargs: Any):
        super().__init__(*optimizers, **kwargs)
        if self.apply_all_opts:
            raise ValueError("GraphToGPULocalOptGroup does not support apply_all_opts")

    def transform(self, op, context_name, inputs, outputs) -> Any:  # type: ignore[override]
        for opt in sorted(self.index.find(op), key=self._rank.__getitem__):
            new = opt.transform(op, context_name, inputs, outputs)
            if new:
                return new
        return None


class LocalMetaOptimizerSkipAssertionError(AssertionError):
    """Raised while a :class:`LocalMetaOptimizer` tries a proposal: it is passed over, and nothing is printed.

    See Also
    --------
    theano.gof.LocalOptimizer : A rewrite of a single Apply node.
    theano.gof.opt.LocalMetaOptimizer : Choose among local optimizers by timing what they propose.

    Examples
    --------
    >>> import theano.tensor as T
    >>> class Distrustful(LocalMetaOptimizer):
    ...     def time_call(self, fn):
    ...         raise LocalMetaOptimizerSkipAssertionError("no clock to be trusted")
    >>> choice = Distrustful()
    >>> choice.register(OpSub(T.exp, T.exp2))
    >>> y = T.exp(T.constant([1.0, 2.0]))
    >>> print(choice.transform(y.owner))
    None
    """


class LocalMetaOptimizer(LocalOptimizer):
    """Choose among local optimizers by timing what they propose.

    Each registered optimizer proposes a replacement; every proposal is compiled and run on
    test inputs, and the fastest is used. `provide_inputs` makes the inputs when the variables
    have no test value. `config.metaopt.verbose` says what is printed: 0 nothing, 1 where something could not be compared,
    2 all times and the choice.

    See Also
    --------
    theano.gof.opt.LocalMetaOptimizerSkipAssertionError : Raised while a `LocalMetaOptimizer` tries a proposal: it is
        passed over, and nothing is printed.
    theano.gof.LocalOptimizer : A rewrite of a single Apply node.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> class FastestSquare(LocalMetaOptimizer):
    ...     def provide_inputs(self, node, inputs):
    ...         return {x: np.ones(10, x.dtype) for x in inputs}
    >>> choice = FastestSquare()
    >>> choice.register(PatternSub((T.sqr, "a"), (T.mul, "a", "a")))
    >>> choice.transform(T.sqr(T.vector("x")).owner)
    [Elemwise{mul,no_inplace}.0]
    """

    def __init__(self) -> None:
        from theano.configdefaults import config

        self.verbose: int = config.metaopt.verbose
        self.track_dict: dict[Any, list[Any]] = {}
        self.tag_dict: dict[str, list[Any]] = {}
        self._tracks: list[Any] = []
        self.optimizers: list[Any] = []

    def register(self, optimizer: Any, tag_list: Iterable[str] = ()) -> None:
        """Add an optimizer to those that are compared."""
        self.optimizers.append(optimizer)
        for op in optimizer.tracks() or ():
            self.track_dict.setdefault(op, []).append(optimizer)
            if op not in self._tracks:
                self._tracks.append(op)
        for tag in tag_list:
            self.tag_dict.setdefault(tag, []).append(optimizer)

    def tracks(self) -> Any:
        return self._tracks or None

    def get_opts(self, node) -> list[Any]:
        """Return the optimizers that may change `node`, as far as the flags of the section `metaopt` let them.

        `metaopt.optimizer_excluding` takes out those with one of its tags; where `metaopt.optimizer_including` is set, only
        those with one of its tags, with the tag ``'default'`` or without any are compared.
        """
        from theano.configdefaults import config

        def tagged(tags: Iterable[str]) -> set[Any]:
            return {opt for tag in tags for opt in self.tag_dict.get(tag, ())}

        opts = self.track_dict.get(type(node.op), []) or self.optimizers
        excluded = tagged(config.metaopt.optimizer_excluding.split(":"))
        wanted = [tag for tag in config.metaopt.optimizer_including.split(":") if tag]
        if wanted:
            excluded |= tagged(self.tag_dict) - tagged(["default", *wanted])
        return [opt for opt in opts if opt not in excluded]

    def provide_inputs(self, node, inputs) -> dict:
        """Return a dict of test values (arrays) for those of `inputs` that have none."""
        raise NotImplementedError

    def _test_inputs(self, node) -> dict | None:
        givens: dict = {}
        missing = []
        for var in node.inputs:
            value = getattr(var.tag, "test_value", None)
            if value is None and hasattr(var, "get_value"):
                value = var.get_value(borrow=True)
            if value is None and hasattr(var, "data"):
                value = var.data
            if value is None:
                missing.append(var)
            else:
                givens[var] = shared(var.type.filter(value), var.name, borrow=True)
        if missing:
            try:
                provided = self.provide_inputs(node, missing)
            except NotImplementedError:
                return None
            for var in missing:
                if var not in provided:
                    return None
                value = provided[var]
                givens[var] = value if hasattr(value, "type") else shared(var.type.filter(value), var.name)
        return givens

    def time_call(self, fn: Callable[[], Any]) -> float:
        """Seconds that one call of `fn` takes."""
        start = time.perf_counter()
        fn()
        return time.perf_counter() - start

    def transform(self, node) -> Any:
        if self._tracks and type(node.op) not in self._tracks and node.op not in self._tracks:
            return None
        givens = self._test_inputs(node)
        if givens is None:
            if self.verbose > 0:
                print(f"{self}: cannot meta-optimize {node}, not every input has a test value")
            return None
        best: Any = None
        best_time = np.inf
        for opt in self.get_opts(node):
            proposal = opt.transform(node)
            if not proposal:
                continue
            try:
                fn = hooks.compile_function([], list(proposal), givens=givens, on_unused_input="ignore")
                fn.trust_input = True
                seconds = min(self.time_call(fn), self.time_call(fn))
            except LocalMetaOptimizerSkipAssertionError:
                continue
            except Exception as exc:
                if self.verbose > 0:
                    print(f"* {opt}: exception {exc!r}")
                continue
            if self.verbose > 1:
                print(f"* {opt}: {seconds:.5g} sec")
            if seconds < best_time:
                best, best_time = proposal, seconds
        if self.verbose > 1 and best is not None:
            print(f"= {best_time:.5g} sec for {best}")
        return best

    def __str__(self) -> str:
        return type(self).__name__
