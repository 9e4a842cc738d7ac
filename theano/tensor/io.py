"""Arrays from files, and to and from other processes by MPI (which needs the package mpi4py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from theano.gof.graph import Apply, Constant, Variable
from theano.gof.op import Op
from theano.gof.sched import key_to_cmp
from theano.gof.type import Generic
from theano.tensor.conversion import as_tensor_variable
from theano.tensor.type import TensorType

#: Whether arrays can be sent and received.
mpi_enabled = find_spec("mpi4py") is not None


class LoadFromDisk(Op):
    """An array from an ``.npy`` file; see :func:`load`."""

    __props__ = ("dtype", "broadcastable", "mmap_mode")

    def __init__(self, dtype: Any, broadcastable: Sequence[bool], mmap_mode: str | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self.broadcastable = tuple(broadcastable)
        if mmap_mode not in (None, "c"):
            raise ValueError(
                "The only supported values for mmap_mode are None and 'c', "
                f"because a graph must not change the file; got {mmap_mode!r}"
            )
        self.mmap_mode = mmap_mode

    def __str__(self) -> str:
        return (
            f"Load{{dtype: {self.dtype}, broadcastable: {self.broadcastable}, mmep: {self.mmap_mode}}}"
        )

    def make_node(self, path: Any) -> Apply:
        if isinstance(path, str):
            path = Constant(Generic(), path)
        return Apply(self, [path], [TensorType(str(self.dtype), self.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        path = inputs[0]
        if path.endswith(".npz"):
            raise ValueError(f"expected an .npy file, got {path}")
        mmap_mode: Any = self.mmap_mode
        result = np.load(path, mmap_mode=mmap_mode)
        if result.dtype != self.dtype:
            raise TypeError(f"Expected an array of type {self.dtype}, got {result.dtype} instead")
        output_storage[0][0] = result


def load(path: Any, dtype: Any, broadcastable: Sequence[bool], mmap_mode: str | None = None):
    """Return the array of an ``.npy`` file, read when the function is called.

    Parameters
    ----------
    path : str, or Generic variable that holds one
    dtype : dtype
        The dtype of the array in the file.
    broadcastable : sequence of bool
        The broadcast pattern of the array, for instance (False,) for a vector.
    mmap_mode : {None, 'c'}
        None reads all of the file. 'c' maps it into memory, so that only what is used is read; changes are not written
        back.

    Returns
    -------
    TensorVariable
        The array.

    Raises
    ------
    ValueError
        If `mmap_mode` is another one.
    """
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)


def _communicator() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise RuntimeError("sending and receiving arrays needs the package mpi4py, which is not installed") from error
    return MPI.COMM_WORLD


class MPIRecv(Op):
    """Starts to receive an array.

    Parameters
    ----------
    source : int
        Rank of the sender.
    tag : int
    shape : tuple of int
    dtype : str
    """

    __props__ = ("source", "tag", "shape", "dtype")

    def __init__(self, source: int, tag: int, shape: Sequence[int], dtype: Any) -> None:
        self.source = source
        self.tag = tag
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.broadcastable = (False,) * len(self.shape)

    def make_node(self) -> Apply:
        outputs = [Variable(Generic(), None), TensorType(str(self.dtype), self.broadcastable)()]
        return Apply(self, [], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data = np.zeros(self.shape, dtype=self.dtype)
        output_storage[0][0] = _communicator().Irecv(data, self.source, self.tag)
        output_storage[1][0] = data

    def __str__(self) -> str:
        return f"MPIRecv{{source: {self.source}, tag: {self.tag}, shape: {self.shape}, dtype: {self.dtype}}}"

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [None, self.shape]

    def do_constant_folding(self, node: Apply) -> bool:
        return False


class MPIRecvWait(Op):
    """Waits until an array is received; inputs are the outputs of :class:`MPIRecv`.

    Parameters
    ----------
    tag : int
    """

    __props__ = ("tag",)
    view_map = {0: [1]}

    def __init__(self, tag: int) -> None:
        self.tag = tag

    def make_node(self, request: Any, data: Any) -> Apply:
        return Apply(self, [request, data], [TensorType(data.dtype, data.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        inputs[0].wait()
        output_storage[0][0] = inputs[1]

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]


class MPISend(Op):
    """Starts to send an array.

    Parameters
    ----------
    dest : int
        Rank of the receiver.
    tag : int
    """

    __props__ = ("dest", "tag")
    view_map = {1: [0]}

    def __init__(self, dest: int, tag: int) -> None:
        self.dest = dest
        self.tag = tag

    def make_node(self, data: Any) -> Apply:
        data = as_tensor_variable(data)
        return Apply(self, [data], [Variable(Generic(), None), data.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (data,) = inputs
        output_storage[0][0] = _communicator().Isend(np.ascontiguousarray(data), self.dest, self.tag)
        output_storage[1][0] = data

    def __str__(self) -> str:
        return f"MPISend{{dest: {self.dest}, tag: {self.tag}}}"


class MPISendWait(Op):
    """Waits until an array is sent; inputs are the outputs of :class:`MPISend`.

    Parameters
    ----------
    tag : int
    """

    __props__ = ("tag",)

    def __init__(self, tag: int) -> None:
        self.tag = tag

    def make_node(self, request: Any, data: Any) -> Apply:
        return Apply(self, [request, data], [Variable(Generic(), None)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        inputs[0].wait()
        output_storage[0][0] = True


def isend(var: Any, dest: int, tag: int):
    """Return a variable that is computed when the array `var` has been sent; other work is done meanwhile.

    Parameters
    ----------
    var : tensor variable
        The array.
    dest, tag : int
        The rank of the process, and the tag that it expects.

    Returns
    -------
    Variable
        A request that is waited for.
    """
    return MPISendWait(tag)(*MPISend(dest, tag)(var, return_list=True))


def send(var: Any, dest: int, tag: int):
    """Return a variable that is computed by sending the array `var` to the process `dest`.

    Parameters
    ----------
    var : tensor variable
        The array.
    dest, tag : int
        The rank of the process, and the tag that it expects.

    Returns
    -------
    Variable
        Without a value of its own.
    """
    return isend(var, dest, tag)


def irecv(shape: Sequence[int], dtype: Any, source: int, tag: int):
    """Return an array that the process `source` sends; other work is done until it is there.

    Parameters
    ----------
    shape : sequence of int
        The shape of the array.
    dtype : str
        Its dtype.
    source, tag : int
        The rank of the process, and the tag that it sends with.

    Returns
    -------
    list of TensorVariable
        The array, and a request that is waited for.
    """
    return MPIRecvWait(tag)(*MPIRecv(source, tag, shape, dtype)(return_list=True))


def recv(shape: Sequence[int], dtype: Any, source: int, tag: int):
    """Return an array that the process `source` sends.

    Parameters
    ----------
    shape : sequence of int
        The shape of the array.
    dtype : str
        Its dtype.
    source, tag : int
        The rank of the process, and the tag that it sends with.

    Returns
    -------
    TensorVariable
        The array.
    """
    return irecv(shape, dtype, source, tag)


def mpi_send_wait_key(a: Any) -> int:
    """Return a scheduling key that starts transfers early and waits for them late."""
    op = getattr(a, "op", a)
    if isinstance(op, (MPIRecvWait, MPISendWait)):
        return 1
    if isinstance(op, (MPIRecv, MPISend)):
        return -1
    return 0


def mpi_tag_key(a: Any) -> int:
    """Return a scheduling key that takes transfers of lower tags first."""
    op = getattr(a, "op", a)
    if isinstance(op, (MPISend, MPIRecv, MPIRecvWait, MPISendWait)):
        return op.tag
    return 0


mpi_keys: tuple[Callable[[Any], int], ...] = (mpi_send_wait_key, mpi_tag_key)
mpi_send_wait_cmp = key_to_cmp(mpi_send_wait_key)
mpi_tag_cmp = key_to_cmp(mpi_tag_key)
mpi_cmps = (mpi_send_wait_cmp, mpi_tag_cmp)
