"""Navigators: global optimizers that apply a local optimizer to the nodes of a graph."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from theano.configdefaults import config
from theano.gof import toolbox
from theano.gof.graph import Variable
from theano.gof.rewriting.base import Optimizer, debug_post_mortem, log_error, optimizer_label
from theano.gof.rewriting.local import GroupProfile, LocalOptGroup
from theano.gof.rewriting.profiles import Profile
from theano.gof.traverse import depth_first_order


class ChangeTracker(toolbox.Feature):
    """Notes whether a graph changed and how many nodes were brought into it.

    See Also
    --------
    theano.gof.opt.Updater : Passes the events of a graph on to functions.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)])
    >>> tracker = ChangeTracker()
    >>> fgraph.attach_feature(tracker)
    >>> fgraph.replace(fgraph.outputs[0], T.exp(T.cos(fgraph.inputs[0])))
    >>> tracker.changed, tracker.nb_imported
    (True, 2)
    """

    follows_ops = True

    def __init__(self) -> None:
        self.changed = False
        self.nb_imported = 0

    def on_import(self, fgraph, node, reason) -> None:
        self.nb_imported += 1
        self.changed = True

    def on_change_input(self, fgraph, node, i, r, new_r, reason) -> None:
        self.changed = True

    def reset(self) -> None:
        """Forget the changes seen so far."""
        self.changed = False

    def on_attach(self, fgraph) -> None:
        fgraph.change_tracker = self

    def on_detach(self, fgraph) -> None:
        if getattr(fgraph, "change_tracker", None) is self:
            del fgraph.change_tracker


class Updater(toolbox.Feature):
    """Passes the events of a graph on to functions.

    Parameters
    ----------
    importer, pruner : callable
        Called with each node that is added, and removed.
    chin : callable
        Called with a node, the number of its input, the old and the new variable, when an input changes.
    name : str
        For messages.

    See Also
    --------
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.
    theano.gof.opt.ChangeTracker : Notes whether a graph changed and how many nodes were brought into it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)])
    >>> fgraph.attach_feature(Updater(lambda node: print("in:", node), lambda node: print("out:", node), None, "log"))
    >>> fgraph.replace(fgraph.outputs[0], T.exp(fgraph.inputs[0]))
    in: Elemwise{exp,no_inplace}(x)
    out: Elemwise{sin,no_inplace}(x)
    """

    def __init__(self, importer: Callable | None, pruner: Callable | None, chin: Callable | None, name: str | None):
        self.importer = importer
        self.pruner = pruner
        self.chin = chin
        self.name = name

    def __str__(self) -> str:
        return f"Updater{{{self.name}}}" if self.name else "Updater"

    def on_import(self, fgraph, node, reason) -> None:
        if self.importer is not None:
            self.importer(node)

    def on_prune(self, fgraph, node, reason) -> None:
        if self.pruner is not None:
            self.pruner(node)

    def on_change_input(self, fgraph, node, i, r, new_r, reason) -> None:
        if self.chin is not None:
            self.chin(node, i, r, new_r, reason)


class NavigatorOptimizer(Optimizer):
    """Base of the optimizers that apply a local optimizer to many nodes.

    Parameters
    ----------
    local_opt : LocalOptimizer or None
        None if the subclass chooses the optimizer for each node.
    ignore_newtrees : bool or 'auto'
        Do not look at nodes that a replacement brings in. 'auto' does as ``not local_opt.reentrant``.
    failure_callback : callable, optional
        Called as ``failure_callback(exception, navigator, pairs, local_opt, node)`` with the
        replacements that failed; without it the exception passes.

    See Also
    --------
    theano.gof.Optimizer : A global optimization: changes a whole `FunctionGraph` in place.
    theano.gof.OpKeyOptimizer : Apply a local optimizer to the nodes of the Op that its `op_key` names.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, OpSub
    >>> class OnlyTheLast(NavigatorOptimizer):
    ...     def apply(self, fgraph):
    ...         self.process_node(fgraph, fgraph.toposort()[-1])
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(T.sin(x))])
    >>> OnlyTheLast(OpSub(T.sin, T.cos)).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{cos,no_inplace}(Elemwise{sin,no_inplace}(x))]
    """

    @staticmethod
    def warn(exc: BaseException, nav: Any, repl_pairs: Any, local_opt: Any, node: Any) -> None:
        """Failure callback that obeys `config.on_opt_error`."""
        if config.on_opt_error == "ignore":
            return
        import traceback

        log_error(f"Optimization failure due to: {local_opt}", f"node: {node}", "TRACEBACK:", traceback.format_exc())
        if config.on_opt_error == "pdb":
            debug_post_mortem()
        elif isinstance(exc, AssertionError) or config.on_opt_error == "raise":
            raise exc

    @staticmethod
    def warn_inplace(exc: BaseException, nav: Any, repl_pairs: Any, local_opt: Any, node: Any) -> None:
        """Like `warn`, but an `InconsistencyError` only means that the replacement was not possible."""
        from theano.gof.fg import InconsistencyError

        if isinstance(exc, InconsistencyError):
            return
        NavigatorOptimizer.warn(exc, nav, repl_pairs, local_opt, node)

    @staticmethod
    def warn_ignore(exc: BaseException, nav: Any, repl_pairs: Any, local_opt: Any, node: Any) -> None:
        """Failure callback that ignores the failure."""

    def __init__(
        self, local_opt: Any, ignore_newtrees: bool | str = "auto", failure_callback: Callable | None = None
    ):
        self.local_opt = local_opt
        if ignore_newtrees == "auto":
            self.ignore_newtrees = not getattr(local_opt, "reentrant", True)
        else:
            self.ignore_newtrees = bool(ignore_newtrees)
        self.failure_callback = failure_callback

    def attach_updater(
        self,
        fgraph: Any,
        importer: Callable | None,
        pruner: Callable | None,
        chin: Callable | None = None,
        name: str | None = None,
    ) -> Updater | None:
        """Have functions called when nodes enter, leave or change.

        Parameters
        ----------
        fgraph : FunctionGraph
        importer, pruner : callable or None
            Called with the node. `importer` is not used when new trees are ignored.
        chin : callable, optional
            Called as ``chin(node, i, r, new_r, reason)``.
        name : str, optional

        Returns
        -------
        Updater or None
            What `detach_updater` takes.
        """
        if self.ignore_newtrees:
            importer = None
        if importer is None and pruner is None and chin is None:
            return None
        updater = Updater(importer, pruner, chin, name)
        fgraph.attach_feature(updater)
        return updater

    def detach_updater(self, fgraph: Any, updater: Updater | None) -> None:
        """Undo `attach_updater`."""
        if updater is not None:
            fgraph.remove_feature(updater)

    def process_node(self, fgraph: Any, node: Any, lopt: Any = None) -> bool:
        """Apply the local optimizer to `node` and make the replacement it proposes.

        Parameters
        ----------
        fgraph : FunctionGraph
        node : Apply
        lopt : LocalOptimizer, optional
            Instead of `self.local_opt`.

        Returns
        -------
        bool
            Whether the graph changed.

        Raises
        ------
        TypeError, ValueError
            When the proposal is not of the documented form.
        """
        lopt = lopt or self.local_opt
        author = lopt
        try:
            if type(lopt).transform is LocalOptGroup.transform:
                # Features and messages name the member of the group.
                proposed, author = lopt.propose(node)
            else:
                proposed = lopt.transform(node)
        except Exception as exc:
            if self.failure_callback is None:
                raise
            self.failure_callback(exc, self, [(out, None) for out in node.outputs], lopt, node)
            return False
        if proposed is False or proposed is None:
            return False
        return self.replace_outputs(fgraph, node, author, proposed)

    def replace_outputs(self, fgraph: Any, node: Any, lopt: Any, proposed: Any) -> bool:
        """Make the replacement that `lopt` proposed for `node`; says whether the graph changed."""
        remove: list[Variable] = []
        if isinstance(proposed, dict):
            proposed = dict(proposed)
            remove = list(proposed.pop("remove", ()))
            old_vars: list[Variable] = list(proposed)
            new_vars = list(proposed.values())
        elif isinstance(proposed, (tuple, list)):
            old_vars = node.outputs
            new_vars = list(proposed)
        else:
            raise TypeError(
                f"Optimizer {lopt} gave wrong type of replacement. Expected list or tuple. Got {proposed!r}"
            )
        if len(old_vars) != len(new_vars):
            raise ValueError(f"Optimizer {lopt} gave wrong number of replacements")
        pairs = []
        for old, new in zip(old_vars, new_vars):
            if new is None:
                if old.clients:
                    raise ValueError(f"Optimizer {lopt} tried to remove a Variable that is used: {old}")
            elif new is not old:
                pairs.append((old, new))
        if not pairs:
            return False
        try:
            if remove:
                fgraph.replace_all_validate_remove(pairs, reason=lopt, remove=remove)
            else:
                fgraph.replace_all_validate(pairs, reason=lopt)
            return True
        except Exception as exc:
            # The replacement was undone; a different one may still work elsewhere.
            if self.failure_callback is None:
                raise
            self.failure_callback(exc, self, pairs, lopt, node)
            return False

    def add_requirements(self, fgraph) -> None:
        super().add_requirements(fgraph)
        if self.local_opt is not None:
            self.local_opt.add_requirements(fgraph)

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        name = getattr(self, "name", None) or getattr(self, "__name__", None)
        print(f"{' ' * level}{self.__class__.__name__}{f' {name}' if name else ''} id={id(self)}", file=stream)
        if depth != 0 and self.local_opt is not None:
            self.local_opt.print_summary(stream, level=level + 2, depth=depth - 1)


def nodes_in_order(fgraph: Any, start_from: Any = None) -> list:
    """Return the nodes behind `start_from` (by default all), each after those it needs.

    What in-place Ops demand of the order does not matter here: it may even be impossible to run the graph as yet.
    """
    return fgraph.depth_first() if start_from is None else depth_first_order(start_from)


def _one_of(wanted: Iterable[Any]) -> Callable[[Any], bool]:
    """Return the test of an Op for being one of some Ops, or of one of some classes."""
    wanted = list(wanted)
    classes = tuple([t for t in wanted if isinstance(t, type)])
    instances = [t for t in wanted if not isinstance(t, type)]
    # By comparison: an Op need not be hashable.
    return lambda op: isinstance(op, classes) or op in instances


class TopoProfile(Profile):
    """What a `TopoOptimizer` did.

    Parameters
    ----------
    nb_changed, nb_before, nb_after : int
        Numbers of replacements, and of nodes before and after.
    sort_time, loop_time, callback_time : float
        Seconds to sort the graph, in the loop over the nodes, and in callbacks.
    group : GroupProfile or None
        What each member of a profiled group did.
    """

    nb_changed: int
    nb_before: int
    nb_after: int
    sort_time: float
    loop_time: float
    callback_time: float
    group: GroupProfile | None = None

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        blanc = "    " * level
        print(blanc, "TopoOptimizer", blanc, self.title, file=stream)
        print(blanc, "  nb_node (start, end, changed)", (self.nb_before, self.nb_after, self.nb_changed), file=stream)
        print(blanc, "  init io_toposort", self.sort_time, file=stream)
        print(blanc, "  loop time", self.loop_time, file=stream)
        print(blanc, "  callback_time", self.callback_time, file=stream)
        if self.group is not None:
            self.group.write(stream, level + 1)


class TopoOptimizer(NavigatorOptimizer):
    """Apply a local optimizer to all nodes once, in (or against) topological order.

    Parameters
    ----------
    local_opt : LocalOptimizer
        What is applied to each node.
    order : {'in_to_out', 'out_to_in'}
        Whether nodes near the inputs or near the outputs come first.
    ignore_newtrees : bool
        Do not look at nodes that a replacement brings in.
    failure_callback : callable, optional
        See `NavigatorOptimizer`.

    See Also
    --------
    theano.gof.OpKeyOptimizer : Apply a local optimizer to the nodes of the Op that its `op_key` names.
    theano.gof.EquilibriumOptimizer : Apply optimizers until none of them changes the graph any more.
    theano.gof.optdb.TopoDB : Queries another database and wraps the local optimizer it gives into a `TopoOptimizer`.

    Notes
    -----
    `optimize` returns a `TopoProfile`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, local_optimizer
    >>> @local_optimizer([T.sin, T.exp])
    ... def tell(node):
    ...     print(node.op)
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))])
    >>> _ = TopoOptimizer(tell, order="out_to_in").optimize(fgraph)
    Elemwise{exp,no_inplace}
    Elemwise{sin,no_inplace}
    """

    def __init__(
        self,
        local_opt: Any,
        order: str = "in_to_out",
        ignore_newtrees: bool | str = False,
        failure_callback: Callable | None = None,
    ):
        if order not in ("in_to_out", "out_to_in"):
            raise ValueError("order must be 'out_to_in' or 'in_to_out'")
        self.order = order
        super().__init__(local_opt, ignore_newtrees, failure_callback)

    def apply(self, fgraph, start_from: Any = None) -> Any:
        """Apply the local optimizer to the nodes that compute `start_from` (default: the outputs)."""
        start = time.perf_counter()
        callback_start = fgraph.execute_callbacks_time
        nb_before = len(fgraph.apply_nodes)
        # The optimizer is used for many graphs; its counts for this one are the difference.
        group = self.local_opt if isinstance(self.local_opt, LocalOptGroup) and self.local_opt.profile else None
        counts_before = group.counts() if group and getattr(fgraph, "profile", None) else None
        nodes, concerns = self._nodes_to_try(fgraph, start_from)
        sort_time = time.perf_counter() - start
        queue = deque(reversed(nodes) if self.order == "in_to_out" else nodes)  # type: ignore[call-overload]
        current: Any = None

        def importer(node: Any) -> None:
            # A replacement that fails is undone, which brings the current node back into the graph.
            if node is not current and concerns(node.op):
                queue.append(node)

        # New nodes are looked at next, whatever the order.
        updater = self.attach_updater(fgraph, importer, None, name=optimizer_label(self))
        apply_nodes = fgraph.apply_nodes
        # Of a group it is known at a glance which of its members a node is for, if any.
        members = self.local_opt.index.find_for if type(self.local_opt) is LocalOptGroup else None
        changed = 0
        start = time.perf_counter()
        try:
            while queue:
                current = queue.pop()
                if current in apply_nodes and (members is None or members(current)):
                    changed += self.process_node(fgraph, current)
        finally:
            self.detach_updater(fgraph, updater)
        loop_time = time.perf_counter() - start
        callback_time = fgraph.execute_callbacks_time - callback_start
        nb_after = len(fgraph.apply_nodes)
        counted = group.counts().since(counts_before) if group and counts_before else None
        title = getattr(self, "name", None) or getattr(self, "__name__", "")
        return TopoProfile(title, changed, nb_before, nb_after, sort_time, loop_time, callback_time, counted)

    def _nodes_to_try(self, fgraph: Any, start_from: Any) -> tuple[list, Callable[[Any], bool]]:
        """The nodes whose Op the local optimizer tracks, in order, and the test of an Op for that.

        Most of these optimizers track Ops of which a graph has few or none: then sorting it and asking them is waste.
        """
        tracked = getattr(self.local_opt, "tracks", lambda: None)()
        if not tracked:
            # The manual's example of an optimizer that looks at all nodes returns an empty list.
            return nodes_in_order(fgraph, start_from), lambda op: True
        concerns = _one_of(tracked)
        ops = fgraph.present_ops()
        wanted = [op for op in ops if concerns(op)]
        needs = getattr(self.local_opt, "needs", None)
        if not wanted or (needs is not None and not any(map(_one_of(needs), ops))):
            return [], concerns
        if start_from is None:
            return fgraph.nodes_of_ops(wanted), concerns
        return [n for n in nodes_in_order(fgraph, start_from) if any(n.op is op for op in wanted)], concerns

    def __str__(self) -> str:
        return getattr(self, "__name__", "<TopoOptimizer instance>")


def topogroup_optimizer(order: str, *local_opts: Any, **kwargs: Any) -> TopoOptimizer:
    """Apply a group of local optimizers to all nodes in the given order.

    Parameters
    ----------
    order : {'in_to_out', 'out_to_in'}
        Where to begin.
    *local_opts : LocalOptimizer
        What is applied.
    name : str, optional
        Name of the result; by default that of the single optimizer.
    **kwargs
        For `TopoOptimizer`.

    Returns
    -------
    TopoOptimizer
        To be registered, or applied to a graph.

    See Also
    --------
    theano.gof.opt.out2in : Return the `topogroup_optimizer` from the outputs to the inputs.
    theano.tensor.raw_random.in2out : Return the `topogroup_optimizer` from the inputs to the outputs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, OpSub
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))])
    >>> rewrite = topogroup_optimizer("in_to_out", OpSub(T.sin, T.cos), OpSub(T.exp, T.log), name="swap")
    >>> _ = rewrite.optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{log,no_inplace}(Elemwise{cos,no_inplace}(x))]
    """
    name = kwargs.pop("name", None)
    if len(local_opts) > 1:
        local_opt: Any = LocalOptGroup(*local_opts)
    else:
        (local_opt,) = local_opts
        if not name:
            name = getattr(local_opt, "__name__", None)
    kwargs.setdefault("failure_callback", TopoOptimizer.warn_inplace)
    result = TopoOptimizer(local_opt, order=order, **kwargs)
    if name:
        result.__name__ = name
    return result


def in2out(*local_opts: Any, **kwargs: Any) -> TopoOptimizer:
    """Return the `topogroup_optimizer` from the inputs to the outputs.

    See Also
    --------
    theano.gof.opt.out2in : Return the `topogroup_optimizer` from the outputs to the inputs.
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.
    theano.gof.opt.topogroup_optimizer : Apply a group of local optimizers to all nodes in the given order.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof.opt import local_optimizer
    >>> @local_optimizer([T.neg])
    ... def twice_negated(node):
    ...     inner = node.inputs[0].owner
    ...     return [inner.inputs[0]] if inner is not None and inner.op == T.neg else None
    >>> x = T.dscalar("x")
    >>> fgraph = theano.gof.FunctionGraph([x], [-(-x)], clone=False)
    >>> change = in2out(twice_negated, name="negations").optimize(fgraph)
    >>> fgraph.outputs
    [x]
    """
    return topogroup_optimizer("in_to_out", *local_opts, **kwargs)


def out2in(*local_opts: Any, **kwargs: Any) -> TopoOptimizer:
    """Return the `topogroup_optimizer` from the outputs to the inputs.

    See Also
    --------
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.
    theano.tensor.raw_random.in2out : Return the `topogroup_optimizer` from the inputs to the outputs.
    theano.gof.opt.topogroup_optimizer : Apply a group of local optimizers to all nodes in the given order.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, PatternSub
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sqrt(T.sqr(x))])
    >>> _ = out2in(PatternSub((T.sqrt, (T.sqr, "a")), (T.abs_, "a"))).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{abs_,no_inplace}(x)]
    """
    return topogroup_optimizer("out_to_in", *local_opts, **kwargs)


class OpKeyOptimizer(NavigatorOptimizer):
    """Apply a local optimizer to the nodes of the Op that its `op_key` names.

    Parameters
    ----------
    local_opt : LocalOptimizer
        Must have a method `op_key`, as `OpSub`, `OpRemove` and `PatternSub` have.
    ignore_newtrees, failure_callback
        See `NavigatorOptimizer`.

    See Also
    --------
    theano.gof.NavigatorOptimizer : Base of the optimizers that apply a local optimizer to many nodes.
    theano.gof.TopoOptimizer : Apply a local optimizer to all nodes once, in (or against) topological order.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph, PatternSub
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(T.log(T.exp(x)))])
    >>> OpKeyOptimizer(PatternSub((T.log, (T.exp, "a")), "a")).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{sin,no_inplace}(x)]
    """

    def __init__(
        self, local_opt: Any, ignore_newtrees: bool | str = False, failure_callback: Callable | None = None
    ):
        if not hasattr(local_opt, "op_key"):
            raise TypeError("LocalOptimizer for OpKeyOptimizer must have an 'op_key' method.")
        super().__init__(local_opt, ignore_newtrees, failure_callback)

    def apply(self, fgraph) -> None:
        op = self.local_opt.op_key()
        keys = list(op) if isinstance(op, (list, tuple)) else [op]
        queue: list[Any] = []
        for key in keys:
            queue.extend(fgraph.get_nodes(key))

        current: Any = None

        def importer(node: Any) -> None:
            if node is not current and node.op in keys:
                queue.append(node)

        updater = self.attach_updater(fgraph, importer, None, name=optimizer_label(self))
        try:
            while queue:
                current = queue.pop()
                if current in fgraph.apply_nodes:
                    self.process_node(fgraph, current)
        finally:
            self.detach_updater(fgraph, updater)

    def add_requirements(self, fgraph) -> None:
        super().add_requirements(fgraph)
        if not hasattr(fgraph, "get_nodes"):
            fgraph.attach_feature(toolbox.NodeFinder())


def pre_greedy_local_optimizer(list_optimizations: list[Any], out: Variable) -> Variable:
    """Apply local optimizers to the graph of `out`, which belongs to no `FunctionGraph`.

    Inputs of Apply nodes are replaced in place, so only optimizers that do not need
    features of a `FunctionGraph` may be given (constant folding, say).

    Parameters
    ----------
    list_optimizations : list of LocalOptimizer
        What is applied.
    out : Variable
        The end of the graph.

    Returns
    -------
    Variable
        `out` or what replaces it.

    See Also
    --------
    theano.gof.opt.pre_constant_merge : Unify equal constants in the graphs of `vars`.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.gof import PatternSub
    >>> x = T.vector("x")
    >>> rewrite = PatternSub((T.log, (T.exp, "a")), "a")
    >>> print(theano.pp(pre_greedy_local_optimizer([rewrite], T.sin(T.log(T.exp(x))))))
    sin(x)
    """
    replaced: dict[Variable, Variable] = {}

    def rewrite(node: Any) -> None:
        for opt in list_optimizations:
            tracked = opt.tracks()
            if tracked is not None and node.op not in tracked and type(node.op) not in tracked:
                continue
            new = opt.transform(node)
            if new is False or new is None:
                continue
            if isinstance(new, dict):
                replaced.update((old, var) for old, var in new.items() if old != "remove")
            else:
                replaced.update((old, var) for old, var in zip(node.outputs, new) if var is not None)
            fresh = [var.owner for var in (new.values() if isinstance(new, dict) else new) if var.owner]
            for other in fresh:
                if other is not node and node.outputs[0] not in other.inputs:
                    visit(other)
            return

    def visit(node: Any) -> None:
        for i, var in enumerate(node.inputs):
            new = resolve(var)
            if new is not var:
                node.inputs[i] = new
        rewrite(node)

    def resolve(var: Variable) -> Variable:
        seen = {var}
        while var in replaced:
            var = replaced[var]
            if var in seen:
                break
            seen.add(var)
        return var

    for node in depth_first_order([out]):
        if not hasattr(node, "fgraph"):
            visit(node)
    return resolve(out)
