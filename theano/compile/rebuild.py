"""Cloning of the user's graph for a function: substitutions, shared variables and their updates."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from operator import is_
from typing import Any

from theano.compile.io import Out, SymbolicOutput
from theano.gof import Constant, Variable
from theano.gof.sharedvalue import SharedVariable
from theano.gof.stack_traces import warn_user


def iter_over_pairs(pairs: Any) -> Iterable[tuple[Any, Any]]:
    """Return the pairs of a dictionary, or of something that iterates over pairs."""
    return pairs.items() if isinstance(pairs, dict) else pairs


def _state_of_loop(variable: SharedVariable, how: str, draws: str) -> str:
    """What a function does to a shared variable of a loop whose updates it was not given."""
    from theano.tensor.raw_random import RandomStateType

    is_random = isinstance(variable.type, RandomStateType) or getattr(variable.tag, "is_rng", False)
    name = variable.name or variable.type
    return f"a call leaves {name} {how}" + (f", and the next call draws {draws} numbers" if is_random else "") + ". "


#: Says that an argument that is called otherwise today was not given.
DEPRECATED_ARG = object()


class _GraphRebuilder:
    """State of one cloning: old to new variables, shared variables met and their updates."""

    def __init__(self, rebuild_strict: bool, copy_inputs_over: bool, no_default_updates: Any, keeps: bool = False):
        # Whether nodes on which nothing changes stand for their clones.
        self.keeps = keeps
        # Whether something may change; until then, the nodes that do not.
        self.changes = False
        self.kept: set[Any] = set()
        self.rebuild_strict = rebuild_strict
        self.copy_inputs_over = copy_inputs_over
        self.no_default_updates = no_default_updates
        self.clone_d: dict[Any, Any] = {}
        self.update_d: dict[SharedVariable, Variable] = {}
        self.update_expr: list[tuple[SharedVariable, Variable]] = []
        self.shared_inputs: list[SharedVariable] = []
        self._shared_seen: set[SharedVariable] = set()

    def clone(self, variable: Variable) -> Variable:
        """Return the clone of a variable, cloning its ancestors first where needed."""
        clone_d = self.clone_d
        if variable in clone_d:
            return clone_d[variable]
        if self.keeps and not self.changes and self._stays(variable):
            clone_d[variable] = variable
            return variable
        stack = [variable]
        while stack:
            current = stack[-1]
            if current in clone_d:
                stack.pop()
                continue
            node = current.owner
            if node is None:
                self._clone_leaf(current)
                stack.pop()
                continue
            if node not in clone_d:
                pending = [i for i in node.inputs if i not in clone_d]
                if pending:
                    pending.reverse()
                    stack.extend(pending)
                    continue
                new_inputs = [clone_d[i] for i in node.inputs]
                if self.keeps and all(map(is_, new_inputs, node.inputs)) and not hasattr(node, "fgraph"):
                    new_node = node
                else:
                    new_node = node.clone_with_new_inputs(new_inputs, strict=self.rebuild_strict)
                clone_d[node] = new_node
                for old, new in zip(node.outputs, new_node.outputs):
                    clone_d.setdefault(old, new)
            stack.pop()
        return clone_d[variable]

    def _stays(self, variable: Variable) -> bool:
        """Whether a variable is its own clone; visits the leaves before it in the same order, without a note of each node."""
        clone_d, kept = self.clone_d, self.kept
        stack = [iter([variable])]
        while stack:
            for var in stack[-1]:
                node = var.owner
                if node is None:
                    if var not in clone_d:
                        self._clone_leaf(var)
                    self.changes = clone_d[var] is not var
                elif node in kept:
                    continue
                else:
                    self.changes = hasattr(node, "fgraph")
                    kept.add(node)
                    stack.append(iter(node.inputs))
                if self.changes:
                    return False
                if node is not None:
                    break
            else:
                stack.pop()
        return True

    def add_shared(self, variable: SharedVariable) -> None:
        if variable not in self._shared_seen:
            self._shared_seen.add(variable)
            self.shared_inputs.append(variable)

    def add_update(self, target: SharedVariable, expression: Variable) -> None:
        self.update_d[target] = expression
        self.update_expr.append((target, expression))

    def _clone_leaf(self, variable: Variable) -> None:
        clone_d = self.clone_d
        if isinstance(variable, SharedVariable):
            self.add_shared(variable)
            if self._wants_default_update(variable):
                update = variable.default_update
                try:
                    update = variable.type.filter_variable(update, allow_convert=False)
                except TypeError as error:
                    raise TypeError(_bad_update(variable, update)) from error
                if variable not in self.update_d:
                    loop = getattr(update.tag, "single_step_of", None)
                    if loop is not None:
                        moved = _state_of_loop(variable, "where one step of the loop does", "nearly the same")
                        warn_user(
                            f"The function uses the loop {loop!r}, but not the updates that scan returned with it: {moved}"
                            "Pass them: function(..., updates=updates)."
                        )
                    self.add_update(variable, update)
            elif hasattr(variable.tag, "unmoved_by") and not (variable in self.update_d or self.no_default_updates):
                kept = _state_of_loop(variable, "as it is", "the same")
                warn_user(
                    f"The function uses the loop {variable.tag.unmoved_by!r}, but not the updates that scan returned with it:"
                    f" {kept}Pass them: function(..., updates=updates)."
                )
        # A constant that lives in a FunctionGraph belongs to that graph.
        in_fgraph = isinstance(variable, Constant) and hasattr(variable, "fgraph")
        if not self.copy_inputs_over or in_fgraph:
            clone_d[variable] = variable.clone()
        else:
            clone_d[variable] = variable

    def _wants_default_update(self, variable: SharedVariable) -> bool:
        if getattr(variable, "default_update", None) is None:
            return False
        skip = self.no_default_updates
        if isinstance(skip, (list, tuple, set, frozenset)):
            return not any(variable is other for other in skip)
        return not skip


def _bad_update(target: Any, expression: Any) -> str:
    wanted, given = target.type, getattr(expression, "type", None)
    advice = ""
    if getattr(given, "ndim", None) == getattr(wanted, "ndim", None) and wanted != given:
        if getattr(given, "dtype", None) != getattr(wanted, "dtype", None):
            advice = f" To convert it, write theano.tensor.cast(update, {wanted.dtype!r})."
        else:
            advice = (
                " If the difference is related to the broadcast pattern, you can call the "
                "tensor.unbroadcast(var, axis_to_unbroadcast[, ...]) function to remove broadcastable dimensions."
            )
    return (
        "An update must have the same type as the original shared variable "
        f"(shared_var={target}, shared_var.type={wanted}, update_val={expression}, update_val.type={given}).{advice}"
    )


def _check_update(target: Any, expression: Any) -> Variable:
    """Return the update expression as a variable of the target's type."""
    try:
        filtered = target.type.filter_variable(expression, allow_convert=False)
    except TypeError as error:
        raise TypeError(_bad_update(target, expression)) from error
    if filtered.type != target.type:
        raise TypeError(f"The update of {target} has type {filtered.type} instead of {target.type}.")
    return filtered


def rebuild_collect_shared(
    outputs: Any,
    inputs: list[Variable] | None = None,
    replace: Any = None,
    updates: Any = None,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    no_default_updates: bool | list[Variable] = False,
) -> tuple[list[Variable], Any, list[Any]]:
    """Clone the graph of a function and collect its shared variables.

    Parameters
    ----------
    outputs : Variable, Out, list, dict or None
        Expressions to compute.
    inputs : list of Variable, optional
        Inputs of the function.
    replace : dict or iterable of pairs, optional
        Variables to replace, with their replacements.
    updates : dict or iterable of pairs, optional
        Shared variables with the expressions of their new values.
    rebuild_strict : bool
        Whether replacements must keep the types.
    copy_inputs_over : bool
        Whether the clone uses the same leaves instead of clones of them.
    no_default_updates : bool or list of Variable
        Shared variables whose ``default_update`` is not wanted; True for all.

    Returns
    -------
    inputs : list of Variable
        The inputs of the clone.
    outputs : object
        The outputs of the clone, in the form of `outputs`.
    other : list
        ``[clone_d, update_d, update_expr, shared_inputs]``: the map from old to
        new variables, the updates as dictionary and as list of pairs, and the
        shared variables that the graph needs.

    Raises
    ------
    TypeError
        If an output, an update or a substitution is of the wrong kind or type.
    ValueError
        If a shared variable has two updates.
    AssertionError
        If a substitution depends on another one.

    See Also
    --------
    theano.clone : Return a copy of a graph, with some variables replaced by others.
    theano.compile.pfunc : Compile a function with shared variables, updates and substitutions.

    Examples
    --------
    >>> import theano
    >>> x, y = theano.tensor.dscalars("xy")
    >>> rate = theano.shared(0.5, "rate")
    >>> inputs, output, (_, updates, _, used) = rebuild_collect_shared(
    ...     rate * x, [y], replace={x: y + 1}, updates={rate: rate / 2}
    ... )
    >>> theano.pp(output), used, list(updates)
    ('(rate * (y + TensorConstant{1}))', [rate], [rate])
    """
    rebuilder = _GraphRebuilder(rebuild_strict, copy_inputs_over, no_default_updates)
    return _rebuild(rebuilder, outputs, inputs, replace, updates)


def with_replacements(
    outputs: Any, inputs: list[Variable], replace: Any, updates: Any, rebuild_strict: bool, no_default_updates: Any
) -> tuple[list[Variable], Any, list[Any]]:
    """As `rebuild_collect_shared`, but what depends on no replacement is not cloned: for what is cloned once more."""
    return _rebuild(_GraphRebuilder(rebuild_strict, True, no_default_updates, True), outputs, inputs, replace, updates)


def _rebuild(
    rebuilder: _GraphRebuilder, outputs: Any, inputs: list[Variable] | None, replace: Any, updates: Any
) -> tuple[list[Variable], Any, list[Any]]:
    clone_d = rebuilder.clone_d

    # Explicit updates are known before the graph is walked, so that they win
    # over the default ones.
    pairs = [] if updates is None else list(iter_over_pairs(updates))
    for target, expression in pairs:
        if not isinstance(target, SharedVariable):
            raise TypeError(f"update target must be a SharedVariable, not {target!r}")
        if target in rebuilder.update_d:
            raise ValueError(f"this shared variable already has an update expression: {target} <- {rebuilder.update_d[target]}")
        rebuilder.add_update(target, _check_update(target, expression))

    replacements = [] if replace is None else [(old, new) for old, new in iter_over_pairs(replace)]
    rebuilder.changes = bool(replacements)
    for old, _ in replacements:
        if not isinstance(old, Variable):
            raise TypeError(f"given keys must be Variable, not {old!r} of type {type(old).__name__}")
    for old, new in replacements:
        if not isinstance(new, Variable):
            from theano.gof.sharedvalue import shared

            new = shared(new)
        if old in clone_d:
            raise AssertionError(
                "The substitutions of 'givens' or 'replace' must be independent: no new variable may depend on an "
                f"old one, as in givens={{a: b, b: a + 1}}. Here {old}, which is to be replaced by {new}, is used "
                "to compute the replacement of another variable."
            )
        clone_d[old] = rebuilder.clone(new)

    input_variables = [rebuilder.clone(v) for v in inputs or []]
    cloned_outputs = _clone_outputs(rebuilder, outputs)

    # The list grows while updates bring in shared variables with default updates.
    for target, expression in rebuilder.update_expr:
        rebuilder.update_d[target] = rebuilder.clone(expression)
        rebuilder.add_shared(target)

    other = [clone_d, rebuilder.update_d, rebuilder.update_expr, rebuilder.shared_inputs]
    return input_variables, cloned_outputs, other


def _clone_outputs(rebuilder: _GraphRebuilder, outputs: Any) -> Any:
    def one(output: Any) -> Any:
        if isinstance(output, Variable):
            return rebuilder.clone(output)
        if isinstance(output, SymbolicOutput):
            return Out(rebuilder.clone(output.variable), borrow=output.borrow)
        if isinstance(output, (list, tuple)):
            return [one(item) for item in output]
        raise TypeError(f"Outputs must be theano Variable or Out instances. Received {output} of type {type(output)}")

    if outputs is None:
        return []
    if isinstance(outputs, dict):
        return {key: one(value) for key, value in outputs.items()}
    return one(outputs)


def clone(
    output: Any, replace: Any = None, strict: bool = True, share_inputs: bool = True, copy_inputs: Any = DEPRECATED_ARG
) -> Any:
    """Return a copy of a graph, with some variables replaced by others.

    Parameters
    ----------
    output : Variable, list or dict of Variable
        What to copy, with everything it is computed from.
    replace : dict or iterable of pairs, optional
        Variables of the graph with what to put in their place, which may itself depend
        on the replaced variables.
    strict : bool
        Whether replacements must keep the types.
    share_inputs : bool
        Whether the copy has the same inputs and shared variables as the original, or
        copies of them.
    copy_inputs : bool, optional
        The older name of `share_inputs`.

    Returns
    -------
    Variable, list or dict of Variable
        The copy, in the form of `output`.

    Raises
    ------
    ValueError
        If `replace` is none of these.

    See Also
    --------
    theano.gof.graph.clone : Copy the graph between inputs and outputs.
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.
    theano.compile.pfunc : Compile a function with shared variables, updates and substitutions.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x, y = T.dscalars('x', 'y')
    >>> z = theano.clone(x ** 2, replace={x: y + 1})
    >>> float(z.eval({y: 2.0}))
    9.0
    """
    if copy_inputs is not DEPRECATED_ARG:
        warnings.warn("The argument copy_inputs of clone is called share_inputs now.", stacklevel=2)
        share_inputs = copy_inputs
    if not isinstance(replace, Iterable | None) or isinstance(replace, Variable | str):
        raise ValueError(f"replace has to be a dictionary, a list or tuple of pairs, or None, got {replace} of {type(replace)}")
    pairs = [] if replace is None else list(iter_over_pairs(replace))
    # In two steps, so that what is put in may contain what is taken out.
    stand_ins = [(old, old.type()) for old, _ in pairs]
    swapped = rebuild_collect_shared(
        output, [], stand_ins, [], rebuild_strict=strict, copy_inputs_over=share_inputs, no_default_updates=True
    )[1]
    final = [(stand_in, new) for (_, stand_in), (_, new) in zip(stand_ins, pairs)]
    return rebuild_collect_shared(
        swapped, [], final, [], rebuild_strict=strict, copy_inputs_over=True, no_default_updates=True
    )[1]
