"""Helpers of scan: conditions, parsing of arguments, copying and comparing of graphs."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from theano import aliases
from theano.compile.rebuild import clone as _clone
from theano.configdefaults import config
from theano.gof import traverse
from theano.gof.fg import MissingInputError
from theano.gof.graph import Apply, Constant, Variable, get_test_value
from theano.gof.sharedvalue import SharedVariable
from theano.scan_module.scan_layout import KINDS
from theano.tensor import as_tensor_variable
from theano.updates import OrderedUpdates

clone = _clone


class until:
    """The condition that ends a scan, as the last thing that its step function returns.

    Parameters
    ----------
    condition : scalar Variable
        The loop ends after the step in which it is true.

    See Also
    --------
    theano.scan : Loop: apply a step function again and again, over sequences and to its own results.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> values, _ = theano.scan(lambda p: (p * 2, theano.scan_module.until(p * 2 > 45)),
    ...                         outputs_info=T.constant(1.), n_steps=1024)
    >>> theano.function([], values)().tolist()
    [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    """

    def __init__(self, condition: Any):
        self.condition = as_tensor_variable(condition)
        if self.condition.ndim != 0:
            raise ValueError(f"The condition of until must be a scalar, it has {self.condition.ndim} dimensions")


def safe_new(x: Any, tag: str = "", dtype: str | None = None) -> Any:
    """Return a new variable of the type of `x`, with its test value.

    Parameters
    ----------
    x : Variable or value
        What to make a stand-in for. A constant stays a constant.
    tag : str
        Added to the name.
    dtype : str, optional
        Another dtype, for a tensor.

    Returns
    -------
    Variable
        It has no owner.

    Examples
    --------
    >>> import theano.tensor as T
    >>> y = T.exp(T.dvector("x"))
    >>> y.name = "y"
    >>> new = safe_new(y, "_new", dtype="float32")
    >>> new, new.type, new.owner
    (y_new, TensorType(float32, vector), None)
    """
    name = None if getattr(x, "name", None) is None else x.name + tag
    if isinstance(x, Constant):
        result = x.clone() if dtype is None or dtype == x.type.dtype else as_tensor_variable(x.data.astype(dtype))
        result.name = name
        return result
    if not isinstance(x, Variable):
        x = as_tensor_variable(x)
    type_: Any = x.type
    if dtype is not None and dtype != getattr(type_, "dtype", dtype):
        type_ = type_.clone(dtype=dtype)
    result = type_()
    result.name = name
    copy_test_value(x, result)
    return result


def copy_test_value(source: Any, target: Any) -> None:
    """Give `target` a copy of the test value of `source`, if there is one and test values are in use.

    Parameters
    ----------
    source, target : Variable
        From which, and to which.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> x.tag.test_value = np.ones(3)
    >>> with theano.config.change_flags(compute_test_value="ignore"):
    ...     copy_test_value(x, y)
    >>> y.tag.test_value.tolist()
    [1.0, 1.0, 1.0]
    """
    if config.compute_test_value == "off":
        return
    try:
        target.tag.test_value = copy.deepcopy(get_test_value(source))
    except (AttributeError, TypeError):
        pass


def isNaN_or_Inf_or_None(x: Any) -> bool:
    """Whether `x` is None, or a number or constant that is not finite.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        False for variables and texts.

    Examples
    --------
    >>> import theano.tensor as T
    >>> [isNaN_or_Inf_or_None(v) for v in (None, float("nan"), T.constant(float("inf")), 3, T.dscalar())]
    [True, True, True, False, False]
    """
    if x is None:
        return True
    value = x.data if isinstance(x, Constant) else x
    if isinstance(value, Variable | str):
        return False
    try:
        return not bool(np.all(np.isfinite(value)))
    except TypeError:
        return False


def expand_empty(tensor_var: Any, size: Any, n_rows: int | None = None) -> Any:
    """Return `tensor_var` with `size` more, uninitialized rows behind its own.

    Parameters
    ----------
    tensor_var : TensorVariable
        Of at least one dimension.
    size : int or integer scalar Variable
        How many rows.
    n_rows : int, optional
        The number of rows that `tensor_var` must have.

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> import theano.tensor as T
    >>> longer = expand_empty(T.constant([1.0, 2.0]), 3)
    >>> longer.eval().shape, longer[:2].eval().tolist()
    ((5,), [1.0, 2.0])
    """
    from theano import tensor

    if not isinstance(size, Variable) and size == 0:
        return tensor_var
    shape = [tensor_var.shape[i] for i in range(tensor_var.ndim)]
    rows = shape[0] if n_rows is None else n_rows
    empty = tensor.AllocEmpty(tensor_var.dtype)(size + rows, *shape[1:])
    return tensor.set_subtensor(empty[:rows], tensor_var)


def equal_computations(
    xs: Sequence[Any], ys: Sequence[Any], in_xs: Sequence[Any] | None = None, in_ys: Sequence[Any] | None = None
) -> bool:
    """Whether two lists of variables are computed in the same way.

    Parameters
    ----------
    xs, ys : list of Variable
        What to compare, one by one.
    in_xs, in_ys : list of Variable, optional
        Inputs of both graphs; those at the same position count as the same variable. All other variables that
        nothing computes must be identical, or equal constants.

    Returns
    -------
    bool
        False also where the types or the numbers of variables differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars('x', 'y')
    >>> equal_computations([x + 1], [y + 1]), equal_computations([x + 1], [y + 1], [x], [y])
    (False, True)
    """
    in_xs, in_ys = list(in_xs or ()), list(in_ys or ())
    if len(xs) != len(ys) or len(in_xs) != len(in_ys):
        return False
    if any(x.type != y.type for x, y in zip([*xs, *in_xs], [*ys, *in_ys], strict=True)):
        return False
    # Inputs get numbers below zero, all else numbers from the table.
    given_x: dict[Any, int] = {}
    given_y: dict[Any, int] = {}
    for i, (x, y) in enumerate(zip(in_xs, in_ys, strict=True)):
        number = given_x.setdefault(x, -1 - i)
        if given_y.setdefault(y, number) != number:
            return False
    table: dict = {}
    number_x = traverse._canonical(list(xs), table, given_x)
    number_y = traverse._canonical(list(ys), table, given_y)
    return all(number_x[x] == number_y[y] for x, y in zip(xs, ys, strict=True))


def forced_replace(out: Any, x: Any, y: Any) -> Any:
    """Return `out` with every variable that computes the same as `x` replaced by `y`.

    Parameters
    ----------
    out : Variable or None
        None is given back.
    x, y : Variable
        What to replace, and by what.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> theano.pp(forced_replace(T.log(T.exp(x) + 1), T.exp(x), y))
    'log((y + TensorConstant{1}))'
    """
    if out is None:
        return None
    nodes = traverse.io_toposort([], [out])
    table: dict = {}
    variables = [v for node in nodes for v in node.outputs]
    numbers = traverse._canonical([out, x, *variables], table, {})
    same = {v: y for v in [out, *variables] if numbers[v] == numbers[x]}
    return clone(out, replace=same) if same else out


def reconstruct_graph(inputs: Sequence[Any], outputs: Sequence[Any], tag: str | None = None) -> tuple[list, list]:
    """Return a copy of a graph whose inputs are new variables.

    Parameters
    ----------
    inputs : list of Variable
        Where the graph begins.
    outputs : list of Variable
        Where it ends.
    tag : str, optional
        Added to the names of the inputs.

    Returns
    -------
    tuple of lists
        The new inputs and outputs.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> inputs, outputs = reconstruct_graph([x], [2 * x], tag="_copy")
    >>> inputs, theano.pp(outputs[0]), inputs[0] is x
    ([x_copy], '(TensorConstant{2} * x_copy)', False)
    """
    new_inputs = [safe_new(x, tag or "") for x in inputs]
    replace = dict(zip(inputs, new_inputs, strict=True))
    return new_inputs, clone(list(outputs), replace=replace)


def find_up(l_node: Any, f_node: Any) -> bool:
    """Whether `l_node` is among the ancestors of `f_node`, or they are the same.

    Parameters
    ----------
    l_node, f_node : Apply
        The nodes.

    Returns
    -------
    bool
        See above.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = T.exp(x)
    >>> z = y + 1
    >>> find_up(y.owner, z.owner), find_up(z.owner, y.owner)
    (True, False)
    """
    return traverse.is_in_ancestors(f_node, l_node)


def hash_listsDictsTuples(x: Any) -> int:
    """A hash of nested lists, tuples and dictionaries.

    Parameters
    ----------
    x : object
        Its elements can be hashed.

    Returns
    -------
    int
        Equal for equal arguments.

    Examples
    --------
    >>> a, b = {"taps": [-1, -2], "name": "x"}, {"name": "x", "taps": [-1, -2]}
    >>> hash_listsDictsTuples(a) == hash_listsDictsTuples(b)
    True
    >>> hash_listsDictsTuples([1, 2]) == hash_listsDictsTuples((1, 2))
    False
    """
    if isinstance(x, dict):
        return hash(("dict", frozenset((hash_listsDictsTuples(k), hash_listsDictsTuples(v)) for k, v in x.items())))
    if isinstance(x, list | tuple):
        return hash((type(x).__name__, *(hash_listsDictsTuples(v) for v in x)))
    return hash(x)


# -- what a step function returns ----------------------------------------------------------------------------------


def _is_update_pair(x: Any) -> bool:
    return isinstance(x, list | tuple) and len(x) == 2 and isinstance(x[0], SharedVariable)


def _as_updates(x: Any) -> OrderedUpdates | None:
    """`x` as updates if it is a non-empty dictionary or a list of pairs with shared variables, else None."""
    if isinstance(x, dict):
        return OrderedUpdates(x)
    if isinstance(x, list | tuple) and x and all(_is_update_pair(pair) for pair in x):
        return OrderedUpdates(x)
    return None


def _as_outputs(x: Any) -> list[Any] | None:
    """`x` as a list of outputs, or None if it is none."""
    items = list(x) if isinstance(x, list | tuple) else [x]
    outputs = []
    for item in items:
        if isinstance(item, until | dict) or item is None:
            return None
        if isinstance(item, Variable):
            outputs.append(item)
            continue
        try:
            outputs.append(as_tensor_variable(item))
        except (TypeError, ValueError, AttributeError):
            return None
    return outputs


def get_updates_and_outputs(ls: Any) -> tuple[until | None, list[Any], OrderedUpdates]:
    """Sort what a step function returned.

    Parameters
    ----------
    ls : object
        A variable, a list or tuple of variables, updates (a dictionary or a list of pairs), an `until`, or a list or
        tuple of those, in which the condition comes last.

    Returns
    -------
    tuple
        The condition or None, the list of outputs, and the updates.

    Raises
    ------
    ValueError
        If it is nothing of this kind, or the condition is not last.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, count = T.dscalar("x"), theano.shared(0, name="count")
    >>> condition, outputs, updates = get_updates_and_outputs([x, {count: count + 1}, until(x > 3)])
    >>> theano.pp(condition.condition), outputs, list(updates)
    ('gt(x, TensorConstant{3})', [x], [count])
    """
    error = ValueError(
        "The step function of a scan must return its outputs, updates of shared variables and optionally a condition: a "
        "variable, a list of variables, a dictionary or list of pairs (shared variable, new value), the pair of both in "
        f"any order, each followed by theano.scan_module.until(condition) if there is one. It returned {ls!r}."
    )
    if isinstance(ls, until):
        return ls, [], OrderedUpdates()
    updates = _as_updates(ls)
    if updates is not None:
        return None, [], updates
    if not isinstance(ls, list | tuple):
        outputs = _as_outputs(ls)
        if outputs is None:
            raise error
        return None, outputs, OrderedUpdates()

    items = list(ls)
    condition = None
    if items and isinstance(items[-1], until):
        condition = items.pop()
    if any(isinstance(item, until) for item in items):
        raise ValueError("The condition of a scan must be the last thing that its step function returns.")
    if len(items) == 1:
        updates = _as_updates(items[0])
        if updates is not None:
            return condition, [], updates
        outputs = _as_outputs(items[0])
        if outputs is not None:
            return condition, outputs, OrderedUpdates()
        raise error
    updates = _as_updates(items) if items else OrderedUpdates()
    if updates is not None:
        return condition, [], updates
    if len(items) == 2:
        first, second = _as_updates(items[0]), _as_updates(items[1])
        # An empty list or dictionary beside outputs stands for no updates, beside updates for no outputs.
        for updates, other in ((second, items[0]), (first, items[1])):
            if updates is not None:
                outputs = [] if isinstance(other, list | tuple | dict) and not other else _as_outputs(other)
                if outputs is not None:
                    return condition, outputs, updates
        for other, empty in ((items[0], items[1]), (items[1], items[0])):
            if isinstance(empty, list | tuple) and not empty:
                outputs = _as_outputs(other)
                if outputs is not None:
                    return condition, outputs, OrderedUpdates()
    outputs = _as_outputs(items)
    if outputs is None:
        raise error
    return condition, outputs, OrderedUpdates()


# -- shapes --------------------------------------------------------------------------------------------------------


def infer_shape(outs: list[Any], inputs: list[Any], input_shapes: list[Any]) -> list[Any]:
    """Return the shapes of variables, given those of the inputs of their graph.

    Parameters
    ----------
    outs : list of Variable
        Whose shapes are wanted.
    inputs : list of Variable
        The inputs of their graph.
    input_shapes : list
        For each input its shape as a sequence of variables, or None.

    Returns
    -------
    list
        For each output its shape as a tuple of variables, or None.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dmatrices("x", "y")
    >>> rows, inner, columns = T.lscalars("rows", "inner", "columns")
    >>> infer_shape([T.dot(x, y)], [x, y], [(rows, inner), (inner, columns)])
    [(rows, columns)]
    """
    from theano.compile.builders import infer_shape as infer

    return infer(outs, inputs, input_shapes)


def infer_inner_shapes(op: Any, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
    """Return the shapes of the outputs of a Scan from the shapes of its outer inputs.

    Parameters
    ----------
    op : Scan
        The Op.
    node : Apply
        Its node.
    input_shapes : list of tuple
        A tuple of lengths for each input.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, start = T.dmatrix("x"), T.dvector("start")
    >>> sums, _ = theano.scan(lambda row, total: total + row, sequences=x, outputs_info=start)
    >>> node = sums.owner.inputs[0].owner
    >>> infer_inner_shapes(node.op, node, [(), (4, 3), (5, 3)])
    [(5, 3)]
    """
    from theano.tensor.shapes import Shape_i

    n_states, n_shared = op.n_outs, op.n_shared_outs
    first_state = op.seqs_arg_offset
    result: list[Any] = []
    for i in range(n_states):
        shape = tuple(input_shapes[first_state + i])
        if op.as_while and i >= op.n_mit_mot:
            shape = (Shape_i(0)(node.outputs[i]), *shape[1:])
        result.append(shape)
    if op.n_nit_sot:
        result += _nit_sot_shapes(op, node, input_shapes)
    result += [
        input_shapes[op.shared_arg_offset + k] if hasattr(node.outputs[n_states + op.n_nit_sot + k], "ndim") else None
        for k in range(n_shared)
    ]
    return result


def _nit_sot_shapes(op: Any, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
    from theano.tensor.shapes import Shape_i

    inner_shapes: list[Any] = [tuple(shape[1:]) for shape in op.outer_seqs(input_shapes)]
    states = op.outer_mitmot(input_shapes) + op.outer_mitsot(input_shapes) + op.outer_sitsot(input_shapes)
    for shape, taps in zip(states, op.tap_array, strict=True):
        inner_shapes += [tuple(shape[1:])] * len(taps)
    inner_shapes += op.outer_shared(input_shapes) + op.outer_non_seqs(input_shapes)
    outs = op.inner_nitsot_outs(op.outputs)
    shapes = infer_shape(outs, op.inputs, inner_shapes)

    # A length computed from the values of arguments that stay the same is known outside; one that changes is not.
    constant_inputs = dict(zip(op.inner_non_seqs(op.inputs), op.outer_non_seqs(node), strict=True))
    inner_inputs = set(op.inputs)
    result = []
    for k, shape in enumerate(shapes):
        output = node.outputs[op.n_outs + k]
        length = _rows_kept(node.inputs[0], node.inputs[op.nit_sot_arg_offset + k])
        dims: list[Any] = [Shape_i(0)(output) if op.as_while else length]
        for axis in range(1, output.ndim):
            dim = None if shape is None else shape[axis - 1]
            if isinstance(dim, Variable):
                leaves = [v for v in traverse.inputs([dim]) if v in inner_inputs]
                if any(v not in constant_inputs for v in leaves):
                    dim = None
                elif leaves:
                    dim = clone(dim, replace={v: constant_inputs[v] for v in leaves})
            dims.append(Shape_i(axis)(output) if dim is None else dim)
        result.append(tuple(dims))
    return result


def _rows_kept(n_steps: Any, length: Any) -> Any:
    """Number of rows of an output of which `length` values are kept: none if there is no step."""
    from theano.tensor import NotScalarConstantError, eq, get_scalar_constant_value, switch

    if length is n_steps:
        return length
    try:
        return length if get_scalar_constant_value(n_steps) else 0
    except NotScalarConstantError:
        return switch(eq(n_steps, 0), 0, length)


# -- arguments by kind ---------------------------------------------------------------------------------------------


class scan_args:
    """The inputs and outputs of a Scan, sorted by kind.

    Parameters
    ----------
    outer_inputs, outer_outputs : list of Variable
        Inputs and outputs of the Apply node.
    _inner_inputs, _inner_outputs : list of Variable
        Inputs and outputs of the inner graph.
    info : dict
        The `info` of the Op.
    clone : bool
        Whether to copy the inner graph.

    Attributes
    ----------
    n_steps, outer_in_seqs, outer_in_mit_mot, outer_in_mit_sot, outer_in_sit_sot, outer_in_shared, outer_in_nit_sot, \
outer_in_non_seqs
        Outer inputs.
    inner_in_seqs, inner_in_mit_mot, inner_in_mit_sot, inner_in_sit_sot, inner_in_shared, inner_in_non_seqs
        Inner inputs; those of mit_mot and mit_sot are lists of lists, one variable a tap.
    inner_out_mit_mot, inner_out_mit_sot, inner_out_sit_sot, inner_out_nit_sot, inner_out_shared, cond
        Inner outputs; those of the mit_mot are lists of lists.
    outer_out_mit_mot, outer_out_mit_sot, outer_out_sit_sot, outer_out_nit_sot, outer_out_shared
        Outer outputs.
    mit_mot_in_slices, mit_mot_out_slices, mit_sot_in_slices
        Taps.
    other_info
        What `info` holds beside counts and taps.
    inner_inputs, inner_outputs, outer_inputs, outer_outputs, info
        Put together again; computed on access.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, start = T.dvector("x"), T.dscalar("start")
    >>> sums, _ = theano.scan(lambda e, total: total + e, sequences=x, outputs_info=start)
    >>> node = sums.owner.inputs[0].owner
    >>> args = scan_args(node.inputs, node.outputs, node.op.inputs, node.op.outputs, node.op.info)
    >>> len(args.outer_in_seqs), len(args.outer_in_sit_sot), len(args.inner_out_sit_sot)
    (1, 1, 1)
    """

    def __init__(
        self,
        outer_inputs: Sequence[Any],
        outer_outputs: Sequence[Any],
        _inner_inputs: Sequence[Any],
        _inner_outputs: Sequence[Any],
        info: dict[str, Any],
        clone: bool = True,
    ):
        self.n_steps = outer_inputs[0]
        self.as_while = info["as_while"]
        inner_in, inner_out = list(_inner_inputs), list(_inner_outputs)
        if clone:
            inner_in, inner_out = reconstruct_graph(inner_in, inner_out, "")
        self.cond = [inner_out.pop()] if self.as_while else []

        n_mit_mot, n_mit_sot = info["n_mit_mot"], info["n_mit_sot"]
        taps = list(info["tap_array"])
        self.mit_mot_in_slices = [list(t) for t in taps[:n_mit_mot]]
        self.mit_sot_in_slices = [list(t) for t in taps[n_mit_mot : n_mit_mot + n_mit_sot]]
        self.mit_mot_out_slices = [list(t) for t in info["mit_mot_out_slices"][:n_mit_mot]]

        counts = {
            "seqs": info["n_seqs"],
            "mit_mot": n_mit_mot,
            "mit_sot": n_mit_sot,
            "sit_sot": info["n_sit_sot"],
            "nit_sot": info["n_nit_sot"],
            "shared": info["n_shared_outs"],
        }
        groups = {
            ("inner_in", "mit_mot"): self.mit_mot_in_slices,
            ("inner_in", "mit_sot"): self.mit_sot_in_slices,
            ("inner_out", "mit_mot"): self.mit_mot_out_slices,
        }
        sides = {"outer_in": outer_inputs[1:], "inner_in": inner_in, "inner_out": inner_out, "outer_out": outer_outputs}
        for side, variables in sides.items():
            take = _Taker(variables)
            for kind in KINDS[side]:
                if kind != "n_steps":
                    taps = groups.get((side, kind))
                    part = take(counts.get(kind)) if taps is None else [take(len(t)) for t in taps]
                    setattr(self, f"{side}_{kind}", part)

        kept = (
            "truncate_gradient",
            "name",
            "mode",
            "destroy_map",
            "gpua",
            "as_while",
            "profile",
            "allow_gc",
            "strict",
            "inplace",
        )
        self.other_info = {key: info[key] for key in kept if key in info}

    def _all(self, side: str) -> list[Any]:
        parts = [getattr(self, f"{side}_{kind}") for kind in KINDS[side] if kind != "n_steps"]
        return [v for part in parts for item in part for v in (item if isinstance(item, list) else [item])]

    @property
    def inner_inputs(self) -> list[Any]:
        return self._all("inner_in")

    @property
    def outer_inputs(self) -> list[Any]:
        return [self.n_steps, *self._all("outer_in")]

    @property
    def inner_outputs(self) -> list[Any]:
        return self._all("inner_out") + self.cond

    @property
    def outer_outputs(self) -> list[Any]:
        return self._all("outer_out")

    @property
    def info(self) -> dict[str, Any]:
        return {
            "n_seqs": len(self.outer_in_seqs),
            "n_mit_mot": len(self.outer_in_mit_mot),
            "n_mit_mot_outs": sum(len(t) for t in self.mit_mot_out_slices),
            "n_mit_sot": len(self.outer_in_mit_sot),
            "n_sit_sot": len(self.outer_in_sit_sot),
            "n_shared_outs": len(self.outer_in_shared),
            "n_nit_sot": len(self.outer_in_nit_sot),
            "tap_array": self.mit_mot_in_slices + self.mit_sot_in_slices + [[-1]] * len(self.inner_in_sit_sot),
            "mit_mot_out_slices": self.mit_mot_out_slices,
            **self.other_info,
        }

    def __copy__(self) -> scan_args:
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__)
        for key, value in self.__dict__.items():
            if isinstance(value, list):
                setattr(result, key, copy.copy(value))
        return result

    def merge(self, other: scan_args) -> scan_args:
        """Return the arguments of both loops, which must have the same number of steps."""
        result = copy.copy(self)
        for key, value in self.__dict__.items():
            if isinstance(value, list) and key != "cond":
                setattr(result, key, value + getattr(other, key))
        return result


class _Taker:
    """Hands out the elements of a list one group after another."""

    def __init__(self, items: Iterable[Any]):
        self.items = list(items)
        self.position = 0

    def __call__(self, n: int | None = None) -> list[Any]:
        end = len(self.items) if n is None else self.position + n
        part = self.items[self.position : end]
        self.position = end
        return part


# -- outputs that nothing needs ------------------------------------------------------------------------------------


def scan_can_remove_outs(op: Any, out_idxs: Sequence[int]) -> tuple[list[int], list[int]]:
    """Say which outputs of a Scan can be dropped.

    Parameters
    ----------
    op : Scan
        What is looked at.
    out_idxs : list of int
        Positions of outer outputs that nothing uses.

    Returns
    -------
    tuple of lists
        The positions that can be dropped, and those that cannot because other outputs depend on them.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> (doubles, squares), _ = theano.scan(lambda e: [2 * e, e ** 2], sequences=x)
    >>> scan_can_remove_outs(doubles.owner.op, [0])
    ([0], [])
    """
    inner_of = op.var_mappings["inner_out_from_outer_out"]
    reads = op.var_mappings["inner_inp_from_outer_out"]
    removable = sorted(set(out_idxs))
    while True:
        kept = [i for i in inner_of if i not in removable]
        needed = [op.outputs[o] for i in kept for o in inner_of[i]]
        if op.as_while:
            needed.append(op.outputs[-1])
        used = set(traverse.inputs(needed))
        still = [i for i in removable if not any(op.inputs[k] in used for k in reads[i])]
        if still == removable:
            return removable, [i for i in out_idxs if i not in removable]
        removable = still


def compress_outs(op: Any, not_required: Sequence[int], inputs: Sequence[Any]) -> tuple[list, list, list, dict, list, dict]:
    """Return a Scan without some of its outputs.

    Parameters
    ----------
    op : Scan
        What loses outputs.
    not_required : list of int
        Positions of the outer outputs to drop, as `scan_can_remove_outs` allows.
    inputs : list of Variable
        Outer inputs.

    Returns
    -------
    tuple
        Inner inputs, inner outputs, outer inputs, `info`, the outer inputs of the kept outputs, and the map from new to
        old positions of the outer outputs.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> (doubles, squares), _ = theano.scan(lambda e: [2 * e, e ** 2], sequences=x)
    >>> node = doubles.owner
    >>> inner_inputs, inner_outputs, inputs, info, _, old_of_new = compress_outs(node.op, [0], node.inputs)
    >>> len(node.op.outputs), [theano.pp(v) for v in inner_outputs], old_of_new
    (2, ['(x[t] ** TensorConstant{2})'], {0: 1})
    """
    args = scan_args(inputs, [None] * len(op.output_types), op.inputs, op.outputs, op.info, clone=False)
    drop = set(not_required)
    kinds = [
        ("mit_mot", ["outer_in_mit_mot", "inner_in_mit_mot", "inner_out_mit_mot", "mit_mot_in_slices", "mit_mot_out_slices"]),
        ("mit_sot", ["outer_in_mit_sot", "inner_in_mit_sot", "inner_out_mit_sot", "mit_sot_in_slices"]),
        ("sit_sot", ["outer_in_sit_sot", "inner_in_sit_sot", "inner_out_sit_sot"]),
        ("nit_sot", ["outer_in_nit_sot", "inner_out_nit_sot"]),
        ("shared", ["outer_in_shared", "inner_in_shared", "inner_out_shared"]),
    ]
    position = 0
    old_of_new: dict[int, int] = {}
    for kind, names in kinds:
        count = len(getattr(args, f"outer_in_{kind}"))
        keep = [k for k in range(count) if position + k not in drop]
        for k in keep:
            old_of_new[len(old_of_new)] = position + k
        for name in names:
            values = getattr(args, name)
            setattr(args, name, [values[k] for k in keep])
        position += count
    for key in ("destroy_map",):
        old_map = args.other_info.get(key) or {}
        new_of_old = {old: new for new, old in old_of_new.items()}
        offset = 1 + len(args.outer_in_seqs)
        args.other_info[key] = {new_of_old[o]: [offset + new_of_old[o]] for o in old_map if o in new_of_old}
    used = set(traverse.inputs(args.inner_outputs))
    keep = [k for k, v in enumerate(args.inner_in_non_seqs) if v in used]
    args.inner_in_non_seqs = [args.inner_in_non_seqs[k] for k in keep]
    args.outer_in_non_seqs = [args.outer_in_non_seqs[k] for k in keep]
    node_inputs = args.outer_inputs
    return args.inner_inputs, args.inner_outputs, node_inputs, args.info, node_inputs, old_of_new


# -- replacing everywhere ------------------------------------------------------------------------------------------


class Validator:
    """Says whether variables can be computed without some others.

    Parameters
    ----------
    valid : iterable of Variable
        Those that may be used.
    invalid : iterable of Variable
        Those that may not.
    valid_equivalent : dict
        For some of the invalid ones others to use in their place.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y, z = T.dscalars("x", "y", "z")
    >>> new, is_valid = Validator(valid=[x], valid_equivalent={y: z}).check(x + y)
    >>> theano.pp(new), is_valid
    ('(x + z)', False)
    >>> Validator(valid=[x], invalid=[y]).check(x + y) is None
    True
    """

    def __init__(self, valid: Iterable = (), invalid: Iterable = (), valid_equivalent: dict | None = None):
        self.valid_equivalent = dict(valid_equivalent or {})
        self.valid = {*(valid or ()), *self.valid_equivalent.values()}
        self.invalid = {*(invalid or ()), *self.valid_equivalent}

    def check(self, out: Any) -> tuple[Any, bool] | None:
        """Return what stands for a variable.

        Returns
        -------
        tuple or None
            The variable and True if it is valid; what replaces it, and False, if it is not, but can be computed from what
            replaces others; else None. A variable without an owner of which nothing is known is valid.
        """
        stack = [out]
        while stack:
            v = stack[-1]
            if not self._is_known(v):
                waiting = [] if v.owner is None else [i for i in v.owner.inputs if not self._is_known(i)]
                if waiting:
                    stack += waiting
                    continue
                self._judge(v)
            stack.pop()
        return self._found(out)

    def _is_known(self, v: Any) -> bool:
        return v in self.valid or v in self.invalid

    def _found(self, v: Any) -> tuple[Any, bool] | None:
        if v in self.valid:
            return v, True
        return (self.valid_equivalent[v], False) if v in self.valid_equivalent else None

    def _judge(self, v: Any) -> None:
        if v.owner is None:
            if isinstance(v, Constant) and (hasattr(v, "fgraph") or getattr(v, "cached", False)):
                # It belongs to a graph, perhaps the inner one, or to all.
                self._replace(v, v.clone())
            else:
                self.valid.add(v)
            return
        found = [self._found(i) for i in v.owner.inputs]
        if None in found:
            self.invalid.add(v)
        elif all(is_valid for _, is_valid in found):
            self.valid.add(v)
        else:
            self._replace(v, v.owner.clone_with_new_inputs([i for i, _ in found]).outputs[v.index])

    def _replace(self, v: Any, other: Any) -> None:
        self.invalid.add(v)
        self.valid.add(other)
        self.valid_equivalent[v] = other


def check_no_missing_inputs(outputs: Sequence[Any], known: Iterable[Any], strict: bool) -> None:
    """Raise MissingInputError if a strict scan uses something that it was not given.

    Parameters
    ----------
    outputs : list of Variable
        What the step function computed.
    known : iterable of Variable
        What it was given.
    strict : bool
        Whether the scan is strict.

    Raises
    ------
    MissingInputError
        If the graph needs a variable that is not among them.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, factor = T.dscalars("x", "factor")
    >>> check_no_missing_inputs([x * factor], [x], strict=False)
    >>> check_no_missing_inputs([x * factor], [x], strict=True)
    Traceback (most recent call last):
        ...
    theano.gof.fg.MissingInputError: An input of the graph of a strict scan, used to compute ...
    """
    if not strict:
        return
    given = set(known)
    for node in traverse.io_toposort(list(given), list(outputs)):
        for v in node.inputs:
            if v.owner is None and v not in given and not isinstance(v, Constant):
                raise MissingInputError(
                    f"An input of the graph of a strict scan, used to compute {node}, was not provided: {v}. Add it to "
                    "`non_sequences` (and to the arguments of the step function), or use strict=False."
                )


__getattr__, __dir__ = aliases.lazy(__name__)
