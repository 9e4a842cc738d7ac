"""Arrays from files, and to and from other processes by MPI (which needs the package mpi4py)."""

from __future__ import annotations

import time
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
    """An array from an ``.npy`` file; see :func:`load`.

    Parameters
    ----------
    dtype : dtype
        That of the array in the file.
    broadcastable : sequence of bool
        Its pattern.
    mmap_mode : {None, 'c'}, optional
        'c' maps the file to memory, and copies a page when it is written to.

    See Also
    --------
    theano.tensor.load : Return the array of an ``.npy`` file, read when the function is called.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> np.save("weights.npy", np.array([1.0, 2.0]))
    >>> path = theano.gof.Constant(theano.gof.generic, "weights.npy")
    >>> (2 * LoadFromDisk("float64", (False,))(path)).eval().tolist()
    [2.0, 4.0]
    """

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

    def do_constant_folding(self, node: Apply) -> bool:
        # The file is read when the function is called.
        return False


def load(path: Any, dtype: Any, broadcastable: Sequence[bool], mmap_mode: str | None = None):
    """Return the array of an ``.npy`` file, read when the function is called.

    Parameters
    ----------
    path : str, or Generic variable that holds one
        The name of the file.
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

    See Also
    --------
    theano.tensor.shared : Return a tensor shared variable; as `theano.shared`, for values that make a tensor.
    theano.misc.pkl_utils.load : Load what `dump` wrote.
    theano.tensor.io.LoadFromDisk : An array from an ``.npy`` file; see `load`.

    Examples
    --------
    >>> import numpy as np
    >>> import theano.tensor as T
    >>> np.save("numbers.npy", np.arange(3.0))
    >>> T.load("numbers.npy", "float64", (False,)).sum().eval()  # doctest: +SKIP
    array(3.)
    """
    return LoadFromDisk(dtype, broadcastable, mmap_mode)(path)


def _communicator() -> Any:
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise RuntimeError("sending and receiving arrays needs the package mpi4py, which is not installed") from error
    return MPI.COMM_WORLD


def _as_bytes(array: np.ndarray) -> Any:
    """What MPI transfers: bytes, so that the array may have any dtype."""
    return array.reshape(-1).view("uint8")


def _finished(request: Any, status: Any = None) -> None:
    """Wait for a request; unlike a wait of MPI an interrupt ends it."""
    pause = 0.0
    while not request.Test(status):
        time.sleep(pause)
        pause = min(pause + 1e-6, 1e-3)


class _Transfer(Op):
    """Base of what starts a transfer and what waits for it; neither has a gradient, nor is it done ahead of the call."""

    @property
    def transfer_rank(self) -> int:  # type: ignore[override]
        return self.tag

    def do_constant_folding(self, node: Apply) -> bool:
        return False


def _checked_rank(name: str, rank: Any) -> int:
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, the rank of a process; got {rank!r}")
    return int(rank)


def _checked_tag(tag: Any) -> int:
    if isinstance(tag, bool) or not isinstance(tag, (int, np.integer)):
        raise TypeError(f"the tag must be an integer; got {tag!r}")
    return int(tag)


class MPIRecv(_Transfer):
    """Starts to receive an array.

    Parameters
    ----------
    source : int
        Rank of the sender.
    tag : int
        The number that the message bears.
    shape : tuple of int
        The shape of the array.
    dtype : str
        The dtype of the array.

    See Also
    --------
    theano.tensor.io.MPIRecvWait : Waits until an array is received; inputs are the outputs of `MPIRecv`.
    theano.tensor.recv : Return an array that the process `source` sends.

    Examples
    --------
    >>> request, data = MPIRecv(source=0, tag=11, shape=(3, 2), dtype="float64")()
    >>> data.type, data.owner
    (TensorType(float64, matrix), MPIRecv{source: 0, tag: 11, shape: (3, 2), dtype: float64}())
    """

    __props__ = ("source", "tag", "shape", "dtype")
    transfer = "start"

    def __init__(self, source: int, tag: int, shape: Sequence[int], dtype: Any) -> None:
        self.source = _checked_rank("source", source)
        self.tag = _checked_tag(tag)
        self.shape = tuple(int(n) for n in shape)
        if any(n < 0 for n in self.shape):
            raise ValueError(f"the shape of an array that is received cannot have negative lengths; got {self.shape}")
        self.dtype = np.dtype(dtype)
        self.broadcastable = (False,) * len(self.shape)

    def make_node(self) -> Apply:
        outputs = [Variable(Generic(), None), TensorType(str(self.dtype), self.broadcastable)()]
        return Apply(self, [], outputs)

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        data = np.empty(self.shape, dtype=self.dtype)
        output_storage[0][0] = _communicator().Irecv(_as_bytes(data), self.source, self.tag)
        output_storage[1][0] = data

    def __str__(self) -> str:
        return f"MPIRecv{{source: {self.source}, tag: {self.tag}, shape: {self.shape}, dtype: {self.dtype}}}"

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [None, self.shape]


class MPIRecvWait(_Transfer):
    """Waits until an array is received; inputs are the outputs of :class:`MPIRecv`.

    Parameters
    ----------
    tag : int
        The number that the message bears.

    See Also
    --------
    theano.tensor.recv : Return an array that the process `source` sends.
    theano.tensor.io.MPIRecv : Starts to receive an array.

    Notes
    -----
    What comes must have as many bytes as were asked for.

    Examples
    --------
    >>> request, data = MPIRecv(source=0, tag=11, shape=(3,), dtype="float64")()
    >>> received = MPIRecvWait(tag=11)(request, data)
    >>> received.type, received.owner.inputs == [request, data]
    (TensorType(float64, vector), True)
    """

    __props__ = ("tag",)
    transfer = "wait"
    view_map = {0: [1]}

    def __init__(self, tag: int) -> None:
        self.tag = _checked_tag(tag)

    def make_node(self, request: Any, data: Any) -> Apply:
        return Apply(self, [request, data], [TensorType(data.dtype, data.type.broadcastable)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        from mpi4py import MPI

        request, data = inputs
        status = MPI.Status()
        try:
            _finished(request, status)
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_TRUNCATE:
                raise
            raise ValueError(f"more than {data.nbytes} bytes came with tag {self.tag}: {data.dtype} of shape {data.shape} "
                             "was expected; sender and receiver must agree on shape and dtype") from error
        came = status.Get_count(MPI.BYTE)
        if came != data.nbytes:
            raise ValueError(f"{came} bytes came with tag {self.tag}, {data.nbytes} were expected for {data.dtype} of shape "
                             f"{data.shape}: sender and receiver must agree on shape and dtype")
        output_storage[0][0] = data

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [in_shapes[1]]


class MPISend(_Transfer):
    """Starts to send an array.

    Parameters
    ----------
    dest : int
        Rank of the receiver.
    tag : int
        The number that the message bears.

    See Also
    --------
    theano.tensor.send : Return a variable that is computed by sending the array `var` to the process `dest`.
    theano.tensor.recv : Return an array that the process `source` sends.
    theano.tensor.io.mpi_send_wait_key : Return a scheduling key that starts transfers early and waits for them late.

    Examples
    --------
    >>> import theano.tensor as T
    >>> request, data = MPISend(dest=1, tag=11)(T.dvector("x"))
    >>> data.type, data.owner
    (TensorType(float64, vector), MPISend{dest: 1, tag: 11}(x))
    """

    __props__ = ("dest", "tag")
    transfer = "start"
    view_map = {1: [0]}

    def __init__(self, dest: int, tag: int) -> None:
        self.dest = _checked_rank("dest", dest)
        self.tag = _checked_tag(tag)

    def make_node(self, data: Any) -> Apply:
        data = as_tensor_variable(data)
        return Apply(self, [data], [Variable(Generic(), None), data.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (data,) = inputs
        output_storage[0][0] = _communicator().Isend(_as_bytes(np.ascontiguousarray(data)), self.dest, self.tag)
        output_storage[1][0] = data

    def infer_shape(self, node: Apply, in_shapes: Any) -> list[Any]:
        return [None, in_shapes[0]]

    def __str__(self) -> str:
        return f"MPISend{{dest: {self.dest}, tag: {self.tag}}}"


class MPISendWait(_Transfer):
    """Waits until an array is sent; inputs are the outputs of :class:`MPISend`.

    Parameters
    ----------
    tag : int
        The number that the message bears.

    See Also
    --------
    theano.tensor.send : Return a variable that is computed by sending the array `var` to the process `dest`.
    theano.tensor.io.MPISend : Starts to send an array.

    Examples
    --------
    >>> import theano.tensor as T
    >>> request, data = MPISend(dest=1, tag=11)(T.dvector("x"))
    >>> sent = MPISendWait(tag=11)(request, data)
    >>> sent.owner.inputs == [request, data]
    True
    """

    __props__ = ("tag",)
    transfer = "wait"

    def __init__(self, tag: int) -> None:
        self.tag = _checked_tag(tag)

    def make_node(self, request: Any, data: Any) -> Apply:
        return Apply(self, [request, data], [Variable(Generic(), None)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        _finished(inputs[0])
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
        Without a value of its own; what asks for it waits.

    See Also
    --------
    theano.tensor.irecv : Return an array that the process `source` sends; other work is done until it is there.
    theano.tensor.send : Return a variable that is computed by sending the array `var` to the process `dest`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> sent = T.isend(T.dvector("v"), dest=1, tag=11)
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

    See Also
    --------
    theano.tensor.recv : Return an array that the process `source` sends.
    theano.tensor.io.MPISend : Starts to send an array.
    theano.tensor.isend : Return a variable that is computed when the array `var` has been sent; other work is done
        meanwhile.

    Examples
    --------
    >>> import theano.tensor as T
    >>> sent = T.send(T.dvector("v"), dest=1, tag=11)
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
    TensorVariable
        The array; it is waited for where it is needed.

    See Also
    --------
    theano.tensor.send : Return a variable that is computed by sending the array `var` to the process `dest`.
    theano.tensor.isend : Return a variable that is computed when the array `var` has been sent; other work is done
        meanwhile.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.irecv((2,), "float64", source=0, tag=11).type
    TensorType(float64, vector)
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

    See Also
    --------
    theano.tensor.io.MPISend : Starts to send an array.
    theano.tensor.send : Return a variable that is computed by sending the array `var` to the process `dest`.
    theano.tensor.io.MPIRecv : Starts to receive an array.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.recv((2,), "float64", source=0, tag=11).type
    TensorType(float64, vector)
    """
    return irecv(shape, dtype, source, tag)


def mpi_send_wait_key(a: Any) -> int:
    """Return a scheduling key that starts transfers early and waits for them late.

    Parameters
    ----------
    a : Apply or Op
        What to place in the order of execution.

    Returns
    -------
    int
        Less for what is to come earlier.

    See Also
    --------
    theano.tensor.io.mpi_tag_key : Return a scheduling key that takes transfers of lower tags first.
    theano.tensor.io.MPISend : Starts to send an array.

    Examples
    --------
    >>> wait, start = MPISendWait(tag=3), MPISend(dest=1, tag=3)
    >>> sorted([wait, start], key=mpi_send_wait_key) == [start, wait]
    True
    """
    op = getattr(a, "op", a)
    if isinstance(op, (MPIRecvWait, MPISendWait)):
        return 1
    if isinstance(op, (MPIRecv, MPISend)):
        return -1
    return 0


def mpi_tag_key(a: Any) -> int:
    """Return a scheduling key that takes transfers of lower tags first.

    Parameters
    ----------
    a : Apply or Op
        What to place in the order of execution.

    Returns
    -------
    int
        The tag of a transfer, 0 for all else.

    See Also
    --------
    theano.tensor.io.MPISend : Starts to send an array.
    theano.tensor.io.mpi_send_wait_key : Return a scheduling key that starts transfers early and waits for them late.

    Examples
    --------
    >>> first, second = MPISend(dest=1, tag=2), MPISend(dest=1, tag=7)
    >>> sorted([second, first], key=mpi_tag_key) == [first, second]
    True
    """
    op = getattr(a, "op", a)
    if isinstance(op, (MPISend, MPIRecv, MPIRecvWait, MPISendWait)):
        return op.tag
    return 0


mpi_keys: tuple[Callable[[Any], int], ...] = (mpi_send_wait_key, mpi_tag_key)
mpi_send_wait_cmp = key_to_cmp(mpi_send_wait_key)
mpi_tag_cmp = key_to_cmp(mpi_tag_key)
mpi_cmps = (mpi_send_wait_cmp, mpi_tag_cmp)
