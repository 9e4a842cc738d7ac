"""Features of FunctionGraphs: they watch a graph's changes, and offer services on it."""

from __future__ import annotations

import inspect
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable
from functools import partial
from typing import Any

from theano import aliases
from theano.configdefaults import config
from theano.gof import graph


class InconsistencyError(Exception):
    """A change of a graph would make it invalid.

    See Also
    --------
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.
    theano.gof.DestroyHandler : Sees to it that in-place Ops do no harm.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import DestroyHandler
    >>> x = T.vector("x")
    >>> both = [T.inplace.exp_inplace(x), T.inplace.sqr_inplace(x)]
    >>> fgraph = FunctionGraph([x], both, features=[DestroyHandler()])
    >>> fgraph.toposort()
    Traceback (most recent call last):
        ...
    theano.gof.fg.InconsistencyError: Multiple destroyers of x
    """

    __module__ = "theano.gof.fg"


class AlreadyThere(Exception):
    """Raised by ``on_attach`` where the graph has such a feature already: it is not attached.

    See Also
    --------
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)], features=[History()])
    >>> fgraph.attach_feature(History())  # The graph passes over it.
    >>> History().on_attach(fgraph)
    Traceback (most recent call last):
        ...
    theano.gof.toolbox.AlreadyThere: History feature is already present or in conflict with another plugin.
    """


class ReplacementDidntRemovedError(Exception):
    """A replacement was to remove a variable from the graph and did not.

    See Also
    --------
    theano.gof.ReplaceValidate : Makes replacements that are undone where they leave the graph invalid.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)], features=[ReplaceValidate()])
    >>> out = fgraph.outputs[0]
    >>> fgraph.replace_all_validate_remove([(out, abs(out))], remove=[out.owner], reason="abs", warn=False)
    Traceback (most recent call last):
        ...
    theano.gof.toolbox.ReplacementDidntRemovedError
    """


class Feature:
    """The base class of features.  Its callbacks do nothing.

    `reason` is what the author of a change gave as its reason: a rewrite, a text or None.

    See Also
    --------
    theano.InconsistencyError : A change of a graph would make it invalid.
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.
    theano.gof.DestroyHandler : Sees to it that in-place Ops do no harm.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> class Diary(Feature):
    ...     def on_change_input(self, fgraph, node, i, r, new_r, reason=None):
    ...         print(f"{reason}: {r} -> {new_r}")
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)], features=[Diary()])
    >>> fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]), reason="to_cos")
    to_cos: Elemwise{sin,no_inplace}.0 -> Elemwise{cos,no_inplace}.0
    """

    #: Attributes that the feature puts on a graph and that are not pickled with it.
    pickle_rm_attr: tuple = ()
    #: Whether a class with `on_change_input` may be told by `on_prune` and `on_import` that a node gets another Op.
    follows_ops = False

    def on_attach(self, fgraph: Any) -> None:
        """Called when the feature is attached.

        Put methods on the graph here.  Raise `AlreadyThere` if the graph has the feature already.
        """

    def on_detach(self, fgraph: Any) -> None:
        """Called when the feature is removed.  Remove what `on_attach` put on the graph."""

    def on_import(self, fgraph: Any, node: Any, reason: Any) -> None:
        """Called when a node has been added to the graph, after those that it needs."""

    def on_prune(self, fgraph: Any, node: Any, reason: Any) -> None:
        """Called when a node has been removed from the graph."""

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        """Called when ``node.inputs[i]`` (or, if `node` is ``'output'``, an output) has been changed from r to new_r."""

    def orderings(self, fgraph: Any) -> OrderedDict:
        """Return which nodes must come before which others: from a node to the list of those before it."""
        return OrderedDict()

    def clone(self) -> Any:
        """Return what is attached to a copy of the graph; the feature itself, if it can serve several."""
        return self


class Bookkeeper(Feature):
    """A feature that is told of the nodes that are there when it is attached or removed as if they came or went.

    See Also
    --------
    theano.gof.Validator : Asks the graph's features whether it is valid.
    theano.gof.History : Remembers the changes of a graph, so that they can be undone.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> class Census(Bookkeeper):
    ...     nodes = 0
    ...     def on_import(self, fgraph, node, reason):
    ...         self.nodes += 1
    ...     def on_prune(self, fgraph, node, reason):
    ...         self.nodes -= 1
    >>> x = T.vector("x")
    >>> fgraph, census = FunctionGraph([x], [T.exp(T.sin(x))]), Census()
    >>> fgraph.attach_feature(census)
    >>> census.nodes
    2
    >>> fgraph.replace(fgraph.outputs[0], T.exp(fgraph.inputs[0]))
    >>> census.nodes
    1
    """

    def on_attach(self, fgraph: Any) -> None:
        for node in fgraph.depth_first():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: Any) -> None:
        for node in graph.io_toposort(fgraph.inputs, fgraph.outputs):
            self.on_prune(fgraph, node, "Bookkeeper.detach")


class Provider(Feature):
    """A feature that puts methods on its graph.

    See Also
    --------
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> class Counter(Provider):
    ...     provides = {"number_of": "count"}
    ...     def count(self, fgraph, op):
    ...         return sum(node.op == op for node in fgraph.apply_nodes)
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(T.sin(x))], features=[Counter()])
    >>> fgraph.number_of(T.sin)
    2
    """

    #: The names of the methods on the graph, and those of the feature's own, which get the graph as their first argument.
    provides: dict[str, str] = {}

    def on_attach(self, fgraph: Any) -> None:
        if any(hasattr(fgraph, name) for name in self.provides):
            name = type(self).__name__
            raise AlreadyThere(f"{name} feature is already present or in conflict with another plugin.")
        self.unpickle(fgraph)

    def unpickle(self, fgraph: Any) -> None:
        """Put the methods on the graph, which may have been unpickled."""
        for name, method in self.provides.items():
            setattr(fgraph, name, partial(getattr(self, method), fgraph))

    def on_detach(self, fgraph: Any) -> None:
        for name in self.provides:
            delattr(fgraph, name)


class GetCheckpoint:
    """What `History` puts on a graph as ``checkpoint``.

    Parameters
    ----------
    history : History
        It knows the changes.
    fgraph : FunctionGraph
        The graph.

    See Also
    --------
    theano.gof.toolbox.LambdExtract : Undoes one change of a graph when it is called: input `i` of `node` is `r` again.
    theano.gof.History : Remembers the changes of a graph, so that they can be undone.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)], features=[History()])
    >>> isinstance(fgraph.checkpoint, GetCheckpoint), fgraph.checkpoint()
    (True, 0)
    >>> fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]))
    >>> fgraph.checkpoint()
    1
    """

    def __init__(self, history: History, fgraph: Any):
        self.history = history
        self.fgraph = fgraph

    def __call__(self) -> int:
        return self.history._mark(self.fgraph)


class LambdExtract:
    """Undoes one change of a graph when it is called: input `i` of `node` is `r` again.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph.
    node : Apply or 'output'
        Whose input was changed.
    i : int
        Which input.
    r : Variable
        What it was before.
    reason : object
        What the change is told to be for.

    See Also
    --------
    theano.gof.History : Remembers the changes of a graph, so that they can be undone.
    theano.gof.toolbox.GetCheckpoint : What `History` puts on a graph as ``checkpoint``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)])
    >>> undo = LambdExtract(fgraph, "output", 0, fgraph.outputs[0])
    >>> fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]))
    >>> undo()
    >>> print(fgraph)
    [Elemwise{sin,no_inplace}(x)]
    """

    def __init__(self, fgraph: Any, node: Any, i: int, r: Any, reason: Any = None):
        self.fgraph = fgraph
        self.node = node
        self.i = i
        self.r = r
        self.reason = reason

    def __call__(self) -> Any:
        return self.fgraph.change_input(self.node, self.i, self.r, reason=("Revert", self.reason))


class History(Provider):
    """Remembers the changes of a graph, so that they can be undone.

    It puts on the graph ``checkpoint()``, which returns a mark, and ``revert(mark)``, which undoes everything since.
    Any mark can be reverted to, as long as no earlier one has been.

    See Also
    --------
    theano.gof.Bookkeeper : A feature that is told of the nodes that are there when it is attached or removed as if they
        came or went.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.
    theano.gof.toolbox.GetCheckpoint : What `History` puts on a graph as ``checkpoint``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)], features=[History()])
    >>> mark = fgraph.checkpoint()
    >>> fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]))
    >>> fgraph.revert(mark)
    >>> print(fgraph)
    [Elemwise{sin,no_inplace}(x)]
    """

    follows_ops = True
    provides = {"checkpoint": "_mark", "revert": "revert"}
    pickle_rm_attr = tuple(provides)

    def __init__(self) -> None:
        self.history: dict = {}

    def unpickle(self, fgraph: Any) -> None:
        super().unpickle(fgraph)
        fgraph.checkpoint = GetCheckpoint(self, fgraph)
        self.history[fgraph] = []

    def on_detach(self, fgraph: Any) -> None:
        super().on_detach(fgraph)
        del self.history[fgraph]

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        changes = self.history[fgraph]
        if changes is not None:
            changes.append((node, i, r, reason))

    def on_change_op(self, fgraph: Any, node: Any, op: Any, reason: Any = None) -> None:
        changes = self.history[fgraph]
        if changes is not None:
            changes.append((node, None, node.op, reason))

    def on_put_inputs(self, fgraph: Any, node: Any, inputs: Any, reason: Any = None) -> None:
        changes = self.history[fgraph]
        if changes is not None:
            changes.append((node, None, node.inputs, reason))

    def _mark(self, fgraph: Any) -> int:
        return len(self.history[fgraph])

    def revert(self, fgraph: Any, checkpoint: int) -> None:
        """Undo the changes since `checkpoint`, the last first."""
        changes = self.history[fgraph]
        self.history[fgraph] = None
        try:
            while len(changes) > checkpoint:
                node, i, r, reason = changes.pop()
                if i is None and isinstance(r, list):
                    fgraph.put_inputs(node, r, reason=("Revert", reason))
                elif i is None:
                    fgraph.change_op(node, r, reason=("Revert", reason))
                else:
                    fgraph.change_input(node, i, r, reason=("Revert", reason))
        finally:
            self.history[fgraph] = changes

    def __getstate__(self) -> dict:
        state = dict(self.__dict__)
        state["history"] = {}
        return state


class Validator(Provider):
    """Asks the graph's features whether it is valid.

    It puts on the graph ``validate()``, which raises what a feature's ``validate`` raises (`InconsistencyError`), and
    ``consistent()``, which returns whether it raises nothing.

    See Also
    --------
    theano.gof.ReplaceValidate : Makes replacements that are undone where they leave the graph invalid.
    theano.gof.Bookkeeper : A feature that is told of the nodes that are there when it is attached or removed as if they
        came or went.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import DestroyHandler, FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(x), T.sin(x)], features=[DestroyHandler(), Validator()])
    >>> for out, inplace in zip(list(fgraph.outputs), (T.inplace.exp_inplace, T.inplace.sin_inplace)):
    ...     fgraph.replace(out, inplace(fgraph.inputs[0]))
    ...     print(fgraph.consistent())
    True
    False
    """

    provides = {"validate": "validate_", "consistent": "consistent_"}
    pickle_rm_attr = tuple(provides)

    def validate_(self, fgraph: Any) -> Any:
        """Ask all features; raise what the first that is not content raises."""
        start = time.perf_counter() if fgraph.profile else 0.0
        try:
            fgraph.execute_callbacks("validate")
        except Exception as e:
            if config.optimizer_verbose:
                frame = inspect.currentframe()
                caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
                where = caller.f_code.co_name if caller is not None else "?"
                print(f"validate failed on node in {where}. Reason: {e}", file=sys.stdout)
            raise
        if fgraph.profile:
            fgraph.profile.validate_time += time.perf_counter() - start
        return None

    def consistent_(self, fgraph: Any) -> bool:
        """Return whether all features are content."""
        try:
            fgraph.validate()
            return True
        except Exception:
            return False


class ReplaceValidate(History, Validator):
    """Makes replacements that are undone where they leave the graph invalid.

    It puts on the graph, besides what `History` and `Validator` do, ``replace_validate(r, new_r, reason=None)``,
    ``replace_all_validate(pairs, reason=None)`` and ``replace_all_validate_remove(pairs, remove, reason=None)``.

    See Also
    --------
    theano.gof.NodeFinder : Knows the nodes of each Op.  It puts on the graph ``get_nodes(op)``.
    theano.gof.Validator : Asks the graph's features whether it is valid.
    theano.gof.NoOutputFromInplace : Refuses to let in-place Ops compute outputs of the graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import DestroyHandler, FunctionGraph
    >>> x = T.vector("x")
    >>> y = T.sin(x)
    >>> fgraph = FunctionGraph([x], [T.exp(y), T.cos(y)], features=[DestroyHandler(), ReplaceValidate()])
    >>> for out, inplace in zip(list(fgraph.outputs), (T.inplace.exp_inplace, T.inplace.cos_inplace)):
    ...     fgraph.replace_validate(out, inplace(*out.owner.inputs))
    Traceback (most recent call last):
        ...
    theano.gof.fg.InconsistencyError: Multiple destroyers of Elemwise{sin,no_inplace}.0
    >>> print(fgraph)  # The second replacement has been undone.
    [exp_inplace(*1 -> Elemwise{sin,no_inplace}(x)), Elemwise{cos,no_inplace}(*1)]
    """

    follows_ops = True
    provides = {
        "replace_validate": "replace_validate",
        "replace_all_validate": "replace_all_validate",
        "replace_all_validate_remove": "replace_all_validate_remove",
        **History.provides,
        **Validator.provides,
    }
    pickle_rm_attr = tuple(provides)

    def on_attach(self, fgraph: Any) -> None:
        # A graph may have one of the two features on its own; this one then takes its place.
        for feature in [f for f in fgraph._features if type(f) in (History, Validator)]:
            fgraph.remove_feature(feature)
        super().on_attach(fgraph)

    def clone(self) -> ReplaceValidate:
        return self.__class__()

    def replace_validate(self, fgraph: Any, r: Any, new_r: Any, reason: Any = None) -> None:
        """Replace `r` by `new_r`, or raise and leave the graph as it was."""
        self.replace_all_validate(fgraph, [(r, new_r)], reason=reason)

    def replace_all_validate(
        self, fgraph: Any, replacements: Iterable[tuple], reason: Any = None, verbose: bool | None = None
    ) -> Any:
        """Make several replacements, or raise and leave the graph as it was.

        Parameters
        ----------
        fgraph : FunctionGraph
        replacements : iterable of (Variable, Variable)
        reason : optional
        verbose : bool, optional
            Whether to print the replacements.

        Returns
        -------
        The checkpoint before the replacements.
        """
        chk = fgraph.checkpoint()
        for r, new_r in replacements:
            try:
                fgraph.replace(r, new_r, reason=reason, verbose=False)
            except Exception as e:
                text = str(e)
                mismatch = (
                    "The type of the replacement must be the same",
                    "does not belong to this FunctionGraph",
                    "maximum recursion depth exceeded",
                )
                if not any(m in text for m in mismatch):
                    import logging

                    logging.getLogger("theano.gof.toolbox").error(
                        "%s: replace(%s, %s, %s) raised %s", type(e).__name__, r, new_r, reason, text
                    )
                fgraph.revert(chk)
                raise
        try:
            fgraph.validate()
        except Exception as e:
            fgraph.revert(chk)
            if verbose is None:
                verbose = config.optimizer_verbose
            if verbose:
                print("validate failed on", reason, e)
            raise
        if verbose is None:
            verbose = config.optimizer_verbose
        if verbose:
            ignored = config.optimizer_verbose_ignore.split(",")
            if str(reason) not in ignored:
                for r, new_r in replacements:
                    print(reason, r, new_r)
        return chk

    def replace_all_validate_remove(
        self, fgraph: Any, replacements: Iterable[tuple], remove: Iterable, reason: Any = None, warn: bool = True
    ) -> None:
        """As `replace_all_validate`, and check that the nodes in `remove` are gone.

        Raises
        ------
        ReplacementDidntRemovedError
            One is still there; the graph is left as it was.
        """
        chk = fgraph.replace_all_validate(list(replacements), reason=reason)
        self._check_removed(fgraph, chk, remove, reason, warn)

    def _check_removed(self, fgraph: Any, chk: Any, remove: Iterable, reason: Any, warn: bool) -> None:
        for rm in remove:
            if rm in fgraph.apply_nodes or rm in fgraph.variables:
                fgraph.revert(chk)
                if warn:
                    out = sys.stderr
                    out.write(
                        "WARNING: An optimization wanted to replace a Variable in the graph, but the replacement for "
                        "it doesn't remove it. We disabled the optimization. Your function runs correctly, but it "
                        "would be appreciated if you submit this problem.\n"
                        f"{reason}\n"
                    )
                raise ReplacementDidntRemovedError()


class NodeFinder(Provider, Bookkeeper):
    """Knows the nodes of each Op.  It puts on the graph ``get_nodes(op)``.

    See Also
    --------
    theano.gof.PrintListener : Prints what happens to a graph.
    theano.gof.ReplaceValidate : Makes replacements that are undone where they leave the graph invalid.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x)) + T.sin(x)], features=[NodeFinder()])
    >>> fgraph.get_nodes(T.exp), len(fgraph.get_nodes(T.sin))
    ([Elemwise{exp,no_inplace}(Elemwise{sin,no_inplace}.0)], 2)
    """

    provides = {"get_nodes": "query"}
    pickle_rm_attr = tuple(provides)

    def __init__(self) -> None:
        self.d: dict = {}
        self.fgraph: Any = None

    def on_attach(self, fgraph: Any) -> None:
        if self.fgraph is not None:
            raise Exception("A NodeFinder instance can only serve one FunctionGraph.")
        super().on_attach(fgraph)
        self.fgraph = fgraph
        Bookkeeper.on_attach(self, fgraph)

    def clone(self) -> NodeFinder:
        return self.__class__()

    def on_detach(self, fgraph: Any) -> None:
        if self.fgraph is not fgraph:
            raise Exception("This NodeFinder instance was not attached to the provided fgraph.")
        self.fgraph = None
        self.d = {}
        super().on_detach(fgraph)

    def on_import(self, fgraph: Any, node: Any, reason: Any) -> None:
        try:
            self.d.setdefault(node.op, {})[node] = None
        except TypeError:
            # An Op that cannot be hashed cannot be asked for either.
            return

    def on_prune(self, fgraph: Any, node: Any, reason: Any) -> None:
        try:
            nodes = self.d[node.op]
        except (TypeError, KeyError):
            return
        nodes.pop(node, None)
        if not nodes:
            del self.d[node.op]

    def query(self, fgraph: Any, op: Any) -> list:
        """Return the nodes of `op`, in the order in which they came.

        Raises
        ------
        TypeError
            The Op cannot be hashed.
        """
        try:
            return list(self.d.get(op, ()))
        except TypeError:
            raise TypeError(f"{op} in unhashable and cannot be queried by the optimizer") from None


class PrintListener(Feature):
    """Prints what happens to a graph.

    Parameters
    ----------
    active : bool
        Whether it prints.

    See Also
    --------
    theano.compile.PrintCurrentFunctionGraph : Print the graph as it is at a certain place of the sequence of rewrites.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.
    theano.gof.NodeFinder : Knows the nodes of each Op.  It puts on the graph ``get_nodes(op)``.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.sin(x)])
    >>> fgraph.attach_feature(PrintListener())
    -- attaching to:  [Elemwise{sin,no_inplace}(x)]
    >>> fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]), reason="to_cos")
    -- importing: Elemwise{cos,no_inplace}(x), reason: to_cos
    -- pruning: Elemwise{sin,no_inplace}(x), reason: to_cos
    -- changing (output.inputs[0]) from Elemwise{sin,no_inplace}.0 to Elemwise{cos,no_inplace}.0
    """

    def __init__(self, active: bool = True):
        self.active = active

    def on_attach(self, fgraph: Any) -> None:
        if self.active:
            print("-- attaching to: ", fgraph)

    def on_detach(self, fgraph: Any) -> None:
        if self.active:
            print("-- detaching from: ", fgraph)

    def on_import(self, fgraph: Any, node: Any, reason: Any) -> None:
        if self.active:
            print(f"-- importing: {node}, reason: {reason}")

    def on_prune(self, fgraph: Any, node: Any, reason: Any) -> None:
        if self.active:
            print(f"-- pruning: {node}, reason: {reason}")

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        if self.active:
            print(f"-- changing ({node}.inputs[{i}]) from {r} to {new_r}")


class PreserveNames(Feature):
    """Gives the name of a variable that is replaced to its replacement, if that has none.

    See Also
    --------
    theano.gof.toolbox.PreserveVariableAttributes : Gives the name, and the tag `nan_guard_mode_check`, of a variable that
        is replaced to its replacement.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> y = T.sin(x)
    >>> y.name = "signal"
    >>> fgraph = FunctionGraph([x], [y], features=[PreserveNames()])
    >>> fgraph.replace(fgraph.outputs[0], T.cos(fgraph.inputs[0]))
    >>> fgraph.outputs
    [signal]
    """

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        if r.name is not None and new_r.name is None:
            new_r.name = r.name


class PreserveVariableAttributes(Feature):
    """Gives the name, and the tag `nan_guard_mode_check`, of a variable that is replaced to its replacement.

    See Also
    --------
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.
    theano.gof.toolbox.PreserveNames : Gives the name of a variable that is replaced to its replacement, if that has none.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> y = T.log(x)
    >>> y.tag.nan_guard_mode_check = True
    >>> fgraph = FunctionGraph([x], [y], features=[PreserveVariableAttributes()])
    >>> fgraph.replace(fgraph.outputs[0], T.log1p(fgraph.inputs[0]))
    >>> fgraph.outputs[0].tag.nan_guard_mode_check
    True
    """

    follows_ops = True

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Any, new_r: Any, reason: Any = None) -> None:
        if r.name is not None and new_r.name is None:
            new_r.name = r.name
        check = getattr(r.tag, "nan_guard_mode_check", None)
        if check and not getattr(new_r.tag, "nan_guard_mode_check", None):
            new_r.tag.nan_guard_mode_check = check


class NoOutputFromInplace(Feature):
    """Refuses to let in-place Ops compute outputs of the graph.

    Parameters
    ----------
    first_output_idx : int
        The first output that is protected.
    last_output_idx : int, optional
        The end of those that are protected; None means all.

    See Also
    --------
    theano.gof.ReplaceValidate : Makes replacements that are undone where they leave the graph invalid.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import DestroyHandler, FunctionGraph
    >>> x = T.vector("x")
    >>> features = [DestroyHandler(), NoOutputFromInplace(), ReplaceValidate()]
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))], features=features)
    >>> out = fgraph.outputs[0]
    >>> fgraph.replace_validate(out, T.inplace.exp_inplace(out.owner.inputs[0]))
    Traceback (most recent call last):
        ...
    theano.gof.fg.InconsistencyError: A function graph Feature has requested (probably for efficiency reasons) ...
    """

    def __init__(self, first_output_idx: int = 0, last_output_idx: int | None = None):
        self.first_idx = first_output_idx
        self.last_idx = last_output_idx

    def validate(self, fgraph: Any) -> bool:
        """Raise InconsistencyError if a protected output is computed in place."""
        if not hasattr(fgraph, "destroyers"):
            return True
        for out in fgraph.outputs[self.first_idx : self.last_idx]:
            node = out.owner
            if node is None:
                continue
            destroy_map = getattr(node.op, "destroy_map", None)
            if destroy_map and destroy_map.get(out.index):
                raise InconsistencyError(f"A function graph Feature has requested (probably for efficiency reasons) "
                                         f"that outputs of the graph be prevented from being the result of in-place "
                                         f"operations. This has prevented output {out} from being computed by "
                                         f"modifying another variable in-place.")  # fmt: skip
        return True


__getattr__, __dir__ = aliases.lazy(__name__)
