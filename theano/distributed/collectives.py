"""Collectives of symbolic tensors: two Ops for each, one that starts it and one that waits for it.

Between the two other nodes run: linkers start collectives as early and wait for them as late as the graph allows
(:func:`theano.gof.sched.overlap_transfers`), in the same order on all processes.

A gradient is that of the *sum* of the costs of all processes, each of which has one, as what one gives the others' costs
depend on, too. So the gradient of an :func:`all_reduce` is an :func:`all_reduce` of gradients, :func:`all_gather` and
:func:`reduce_scatter` are the gradients of each other, as are :func:`broadcast` and :func:`reduce`, and
:func:`all_to_all` is its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import tensor as T
from theano.distributed import algorithms
from theano.distributed.algorithms import Collective
from theano.distributed.communicator import Communicator, named, shape_after, within, world
from theano.gof.graph import Apply, Variable
from theano.gof.op import Op
from theano.gof.type import Generic
from theano.gradient_types import DisconnectedType, grad_not_implemented
from theano.native import instructions as vm
from theano.native.program import ProgramBuilder, lowers

_numbers = itertools.count()


class _Started(Generic):
    """The type of what waits are for: two of them may be under way for one node, of which modes that compare runs see both."""

    @classmethod
    def values_eq(cls, a: Any, b: Any) -> bool:
        return type(a) is type(b)


class _Half(Op):
    """One of the two Ops of a collective.

    Parameters
    ----------
    collective : Collective
    group : str
        The name of the communicator.
    number : int
        Of two collectives that could be started the one of the lower number is: programs that make the same graphs
        number them alike.
    label : str
        What errors and traces call it.
    """

    __props__ = ("collective", "group", "number", "label")

    def __init__(self, collective: Collective, group: str, number: int, label: str):
        self.collective = collective
        self.group = group
        self.number = number
        self.label = label

    @property
    def transfer_rank(self) -> int:  # type: ignore[override]
        return self.number

    def __str__(self) -> str:
        return f"{type(self).__name__[1:]}{{{self.label}}}"

    def do_constant_folding(self, node: Apply) -> bool:
        return False


class _Start(_Half):
    """Starts a collective of the inputs, arrays of one dtype; the output is what :class:`_Wait` waits for."""

    transfer = "start"

    @property
    def transfer_chain(self) -> str:  # type: ignore[override]
        return self.group

    def make_node(self, *arrays: Any) -> Apply:
        return Apply(self, list(arrays), [Variable(_Started(), None)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        output_storage[0][0] = named(self.group).start(self.collective, inputs, self.label)

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [None]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [DisconnectedType()() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        return [None]


class _Wait(_Half):
    """Waits for a collective; the inputs are what was started, and the arrays that it was started with."""

    transfer = "wait"

    def make_node(self, started: Any, *arrays: Any) -> Apply:
        rows_change = isinstance(self.collective, (algorithms.AllGather, algorithms.ReduceScatter, algorithms.AllToAll))
        outputs = []
        for a in arrays:
            pattern = (False, *a.type.broadcastable[1:]) if rows_change else a.type.broadcastable
            outputs.append(T.TensorType(a.dtype, pattern)())
        return Apply(self, [started, *arrays], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        transfer, *arrays = inputs
        results = named(self.group).wait(transfer)
        if results is None:
            shapes = [shape_after(self.collective, a.shape, named(self.group).size) for a in arrays]
            results = within(transfer.taken(), shapes, arrays[0].dtype)
        for storage, result in zip(output_storage, results):
            storage[0] = result

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        times, over = self.collective.rows(named(self.group).size)
        return [s if times == over else (s[0] * times // over, *s[1:]) for s in in_shapes[1:]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        n = len(node.outputs)
        return [[False] * n, *([i == j for j in range(n)] for i in range(n))]

    def _again(self, collective: Collective, arrays: Sequence[Any], what: str) -> list[Any]:
        return collect(collective, arrays, named(self.group), f"{what} of {self.label}")

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        # Connected to nothing, or not to a number: no gradient comes from there.
        given = [i for i, g in enumerate(output_grads) if not isinstance(g.type, DisconnectedType)]
        result: list[Any] = [DisconnectedType()() for _ in inputs]
        grads = [output_grads[i] for i in given]
        if not grads:
            return result
        collective = self.collective
        arrays = [inputs[1 + i] for i in given]
        op = getattr(collective, "op", "sum")
        if op == "prod" or (op != "sum" and not isinstance(collective, algorithms.AllReduce)):
            for i, x in zip(given, arrays):
                result[1 + i] = grad_not_implemented(self, 1 + i, x, f"{collective} has no gradient here")
            return result
        found = self._again(_adjoint(collective), grads, "gradient")
        if op in ("min", "max"):
            # To all who have the extreme element, as the gradient of maximum does.
            found = [T.switch(T.eq(x, outputs[i]), g, T.zeros_like(g)) for i, x, g in zip(given, arrays, found)]
        for i, g in zip(given, found):
            result[1 + i] = g
        return result

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        op = getattr(self.collective, "op", "sum")
        if op != "sum":
            raise NotImplementedError(f"{self.collective} has no R-operator")
        result: list[Any] = [None] * (len(inputs) - 1)
        given = [i for i, e in enumerate(eval_points[1:]) if e is not None]
        if given:
            found = self._again(self.collective, [eval_points[1 + i] for i in given], "R-operator")
            for i, e in zip(given, found):
                result[i] = e
        return result


class Direct:
    """What the instructions of a collective ask and call.

    Parameters
    ----------
    op : _Start or _Wait
    itemsize : int
    """

    def __init__(self, op: Any, itemsize: int):
        self.collective: Collective = op.collective
        self.group: str = op.group
        self.label: str = op.label
        self.itemsize = itemsize

    def native(self) -> tuple[Any, ...] | None:
        """What the runtime starts transfers with, None where it cannot."""
        group = named(self.group)
        exchange = None if group.exchange is None else group.exchange.native
        if exchange is None:
            return None
        ufunc = algorithms.COMBINE.get(getattr(self.collective, "op", ""))
        return exchange, ufunc, *self.collective.rows(group.size), self.label

    def plan(self, nbytes: int) -> np.ndarray:
        """The plan for so many bytes."""
        group = named(self.group)
        return algorithms.numbers_of(self.collective, group.rank, group.size, nbytes, self.itemsize)

    def start(self, *arrays: np.ndarray) -> Any:
        """Begin a transfer from here."""
        return named(self.group).start(self.collective, arrays, self.label)

    def wait(self, transfer: Any) -> Any:
        """Wait for a transfer from here."""
        return named(self.group).wait(transfer)


@lowers(_Start)
def lower_start(builder: ProgramBuilder, node: Apply) -> None:
    """One instruction."""
    builder.emit_for(node, vm.CollectiveStart(Direct(node.op, np.dtype(node.inputs[0].dtype).itemsize)))


@lowers(_Wait)
def lower_wait(builder: ProgramBuilder, node: Apply) -> None:
    """One instruction."""
    builder.emit_for(node, vm.CollectiveWait(Direct(node.op, np.dtype(node.inputs[1].dtype).itemsize)))


def _adjoint(collective: Collective) -> Collective:
    """The collective that takes gradients back."""
    if isinstance(collective, algorithms.AllGather):
        return algorithms.ReduceScatter("sum")
    if isinstance(collective, algorithms.ReduceScatter):
        return algorithms.AllGather()
    if isinstance(collective, algorithms.Broadcast):
        return algorithms.Reduce("sum", collective.root)
    if isinstance(collective, algorithms.Reduce):
        return algorithms.Broadcast(collective.root)
    if isinstance(collective, algorithms.AllToAll):
        return collective
    return algorithms.AllReduce("sum")


def collect(collective: Collective, arrays: Sequence[Any], group: Communicator | None = None,
            label: str | None = None) -> list[Any]:
    """Return the results of one collective of tensors of the same dtype, which travel together where the collective can."""
    group = world() if group is None else group
    tensors = [T.as_tensor_variable(a) for a in arrays]
    for t in tensors:
        collective.check([np.empty((group.size,) * t.ndim, t.dtype)], group.size)
    props = collective, group.name, next(_numbers), label or str(collective)
    packs = isinstance(collective, (algorithms.AllReduce, algorithms.Broadcast))
    if len(tensors) > 1 and not packs:
        return [out for t in tensors for out in collect(collective, [t], group, label)]
    return _Wait(*props)(_Start(*props)(*tensors), *tensors, return_list=True)


def all_reduce(x: Any, op: str = "sum", group: Communicator | None = None, name: str | None = None):
    """Return the sum, minimum, maximum or product of the tensors of all processes.

    Parameters
    ----------
    x : tensor
        The same shape and dtype on all processes.
    op : {'sum', 'min', 'max', 'prod'}
        The Op.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call it.

    Returns
    -------
    TensorVariable
        Like `x`, the same bits on all processes and in every run: elements are combined in the order of ranks.

    Raises
    ------
    TypeError
        For booleans (but for 'min' and 'max'), and for 'min' and 'max' of complex numbers.

    See Also
    --------
    theano.distributed.reduce : Return the sum of the tensors of all processes to one of them, zeros to the others.
    theano.distributed.broadcast : Return the tensor of one process.
    theano.distributed.all_reduce_together : Combine many tensors by few collectives: neighbours of one dtype travel
        together.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x = T.dvector()
    >>> f = theano.function([x], distributed.all_reduce(x))
    >>> f([1.0, 2.0])  # with one process
    array([1., 2.])
    """
    return collect(algorithms.AllReduce(op), [x], group, name)[0]


def all_gather(x: Any, group: Communicator | None = None, name: str | None = None):
    """Return the tensors of all processes, joined along the first axis in the order of ranks.

    Parameters
    ----------
    x : tensor
        Of at least one dimension; the same shape and dtype on all processes.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call it.

    Returns
    -------
    TensorVariable
        Of shape ``(size * x.shape[0], ...)``.

    See Also
    --------
    theano.distributed.all_to_all : Return what the processes have for this one: each gives the n-th part of its tensor to
        the n-th process.
    theano.distributed.reduce_scatter : Return this process's part, along the first axis, of the sum of the tensors of all
        processes.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x = T.dmatrix()
    >>> f = theano.function([x], distributed.all_gather(x).shape)
    >>> bool(f([[1.0, 2.0]])[0] == distributed.world().size)
    True
    """
    return collect(algorithms.AllGather(), [x], group, name)[0]


def reduce_scatter(x: Any, op: str = "sum", group: Communicator | None = None, name: str | None = None):
    """Return this process's part, along the first axis, of the sum of the tensors of all processes.

    Parameters
    ----------
    x : tensor
        The same shape and dtype on all processes; the number of processes divides the length of its first axis.
    op : {'sum', 'min', 'max', 'prod'}
        The Op.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call it.

    Returns
    -------
    TensorVariable
        Of shape ``(x.shape[0] / size, ...)``.

    Raises
    ------
    ValueError
        When the function is called, if the number of processes does not divide the length.

    See Also
    --------
    theano.distributed.all_gather : Return the tensors of all processes, joined along the first axis in the order of
        ranks.
    theano.distributed.all_to_all : Return what the processes have for this one: each gives the n-th part of its tensor to
        the n-th process.
    theano.distributed.all_reduce : Return the sum, minimum, maximum or product of the tensors of all processes.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x = T.dvector()
    >>> f = theano.function([x], distributed.reduce_scatter(x))
    >>> f([1.0, 2.0])  # with one process
    array([1., 2.])
    """
    return collect(algorithms.ReduceScatter(op), [x], group, name)[0]


def broadcast(x: Any, root: int = 0, group: Communicator | None = None, name: str | None = None):
    """Return the tensor of one process.

    Parameters
    ----------
    x : tensor
        The same shape and dtype on all processes; the values of others than `root` do not count.
    root : int
        Rank of the process.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call it.

    Returns
    -------
    TensorVariable
        Like `x`.

    See Also
    --------
    theano.distributed.all_reduce_together : Combine many tensors by few collectives: neighbours of one dtype travel
        together.
    theano.distributed.reduce : Return the sum of the tensors of all processes to one of them, zeros to the others.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x = T.dvector()
    >>> f = theano.function([x], distributed.broadcast(x))
    >>> f([1.0, 2.0])  # with one process
    array([1., 2.])
    """
    return collect(algorithms.Broadcast(root), [x], group, name)[0]


def reduce(x: Any, op: str = "sum", root: int = 0, group: Communicator | None = None, name: str | None = None):
    """Return the sum of the tensors of all processes to one of them, zeros to the others.

    Parameters
    ----------
    x : tensor
        The same shape and dtype on all processes.
    op : {'sum', 'min', 'max', 'prod'}
        The Op.
    root : int
        Rank of the process that gets the result.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call it.

    Returns
    -------
    TensorVariable
        Like `x`.

    See Also
    --------
    theano.distributed.broadcast : Return the tensor of one process.
    theano.distributed.all_reduce : Return the sum, minimum, maximum or product of the tensors of all processes.
    theano.distributed.reduce_scatter : Return this process's part, along the first axis, of the sum of the tensors of all
        processes.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x = T.dvector()
    >>> f = theano.function([x], distributed.reduce(x))
    >>> f([1.0, 2.0])  # with one process
    array([1., 2.])
    """
    return collect(algorithms.Reduce(op, root), [x], group, name)[0]


def all_to_all(x: Any, group: Communicator | None = None, name: str | None = None):
    """Return what the processes have for this one: each gives the n-th part of its tensor to the n-th process.

    Parameters
    ----------
    x : tensor
        The same shape and dtype on all processes; the number of processes divides the length of its first axis.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call it.

    Returns
    -------
    TensorVariable
        Of the shape of `x`: the parts in the order of the ranks that gave them.

    See Also
    --------
    theano.distributed.reduce_scatter : Return this process's part, along the first axis, of the sum of the tensors of all
        processes.
    theano.distributed.all_gather : Return the tensors of all processes, joined along the first axis in the order of
        ranks.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x = T.dvector()
    >>> f = theano.function([x], distributed.all_to_all(x))
    >>> f([1.0, 2.0])  # with one process
    array([1., 2.])
    """
    return collect(algorithms.AllToAll(), [x], group, name)[0]


def all_reduce_together(tensors: Sequence[Any], op: str = "sum", group: Communicator | None = None, name: str | None = None,
                        nbytes: Sequence[int] | None = None, bucket: int = 1 << 20) -> list[Any]:
    """Combine many tensors by few collectives: neighbours of one dtype travel together.

    Parameters
    ----------
    tensors : sequence of tensor
        In the order in which they will be computed: a collective starts when the last of its tensors is there.
    op : {'sum', 'min', 'max', 'prod'}
        The Op.
    group : Communicator, optional
        Default: all processes.
    name : str, optional
        What errors and traces call them; they are numbered.
    nbytes : sequence of int, optional
        Their sizes as far as known; without it all travel together.
    bucket : int
        So many bytes travel together at most, unless a single tensor has more.

    Returns
    -------
    list of TensorVariable
        In the order of the inputs.

    See Also
    --------
    theano.distributed.all_reduce : Return the sum, minimum, maximum or product of the tensors of all processes.
    theano.distributed.broadcast : Return the tensor of one process.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from theano import distributed
    >>> x, n = T.dvector(), T.lscalar()
    >>> f = theano.function([x, n], distributed.all_reduce_together([x, n]))
    >>> f([1.0, 2.0], 3)  # with one process
    [array([1., 2.]), array(3)]
    """
    tensors = [T.as_tensor_variable(t) for t in tensors]
    sizes = [0] * len(tensors) if nbytes is None else nbytes
    buckets: list[list[int]] = []
    open_of: dict[str, tuple[list[int], int]] = {}
    for i, (t, size) in enumerate(zip(tensors, sizes)):
        members, held = open_of.get(t.dtype, (None, 0))
        if members is None or (members and held + size > bucket):
            members, held = [], 0
            buckets.append(members)
        members.append(i)
        open_of[t.dtype] = members, held + size
    results: list[Any] = [None] * len(tensors)
    for number, members in enumerate(buckets):
        label = f"{name or f'all_reduce({op})'} {number + 1}/{len(buckets)}"
        for i, out in zip(members, collect(algorithms.AllReduce(op), [tensors[i] for i in members], group, label)):
            results[i] = out
    return results
