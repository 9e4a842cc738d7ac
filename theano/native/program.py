"""From lowered instructions to a `_runtime.Program`.

A :class:`ProgramBuilder` collects cells, constants, kernels and instructions while the lowerings run, then
computes when each cell's value can be dropped, has all kernels compiled by one compiler call, and makes the
program.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano.gof import extensions
from theano.gof.graph import Apply, Constant, Variable, io_toposort
from theano.native import instructions as vm
from theano.native import ir
from theano.native.target import target
from theano.process import new_lock
from theano.scalar import Scalar
from theano.tensor.type import TensorType

TYPENUM = {name: np.dtype(name).num for name in ir.DTYPES}


class CannotLower(Exception):
    """This node has no native form: it runs through its `perform`."""


class Instr(NamedTuple):
    """One instruction: what it does, the cells that it reads and those that it makes, and the node that it comes from."""

    op: vm.Instruction
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    node: Apply | None

    @property
    def name(self) -> str:
        """The name of the instruction."""
        return self.op.name


class PendingKernel(NamedTuple):
    """Stands in an instruction's params for a kernel that is still to be compiled."""

    number: int


class PendingProgram(NamedTuple):
    """Stands in an instruction's params for a nested program, whose kernels are compiled with those of the outer one.

    Parameters
    ----------
    builder
        What collects the nested program; made with the outer builder as `parent`.
    inputs, outputs
        Its cells.
    when_built
        What is called with the program when it is there.
    """

    builder: ProgramBuilder
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    when_built: Callable[[Any], None] | None = None


def cell_spec(type_: Any) -> tuple[Any, ...]:
    """Describe to the runtime the cell that holds values of a Type."""
    if type(type_) is TensorType and type_.dtype in TYPENUM and type_.ndim <= ir.MAX_DIMS:
        return ("tensor", TYPENUM[type_.dtype], type_.ndim, tuple(type_.broadcastable))
    if type(type_) is Scalar and type_.dtype in TYPENUM:
        return ("tensor", TYPENUM[type_.dtype], 0, ())
    return ("object",)


def is_tensor_like(type_: Any) -> bool:
    """Whether values of a Type live in tensor cells."""
    return cell_spec(type_)[0] == "tensor"


class Build(NamedTuple):
    """What a program is made of besides its builder's instructions.

    Parameters
    ----------
    inputs, outputs
        Pairs of cell and one-element storage list.
    kernels
        The compiled kernels.
    on_error
        Called with (positions, type, value, traceback, input values) when an instruction fails, here or in a nested program:
        positions of the instructions that hold that, then its own. Must raise.
    serialise
        One thread at a time.
    keep_values
        Never drop intermediate values before the end of a call.
    updates
        Pairs of positions: the value of this output becomes that of this input after a successful call.
    destroyed
        Cells of inputs that are written to: a read-only array there is copied first.
    """

    inputs: Sequence[tuple[int, list[Any]]]
    outputs: Sequence[tuple[int, list[Any] | None]]
    kernels: Sequence[Any] = ()
    on_error: Callable[..., Any] | None = None
    serialise: bool = False
    keep_values: bool = False
    updates: Sequence[tuple[int, int]] = ()
    destroyed: frozenset[int] = frozenset()


class ProgramBuilder:
    """Collects what lowerings emit.

    Attributes
    ----------
    target
        What will run the program.
    node
        The node whose lowering runs: instructions remember it, for errors and profiles.
    fuse
        Whether one kernel may do the work of several nodes.
    tail_start
        Position of the first instruction that may destroy persistent memory; None: there is none.
    end
        Where the instructions begin that run only after a failure; None: there are none.
    parts
        For a variable that is no array the cells that it consists of, where they are known.
    optional
        Cells whose instruction is left out where nobody reads them.
    alone
        Whether the program is that of a single node, all of whose outputs are wanted.
    changed_objects
        Inputs of the function that instructions change in place though their nodes do not say so, in order.
        None: this is not the program of a function, nobody puts back what changes.
    """

    def __init__(self, parent: ProgramBuilder | None = None, fuse: bool = True, alone: bool = False,
                 for_target: str = "cpu") -> None:
        self.target = target(for_target) if parent is None else parent.target
        self.cells: list[tuple[Any, ...]] = []
        self.of_variable: dict[Variable, int] = {}
        self.constants: list[tuple[int, Any]] = []
        self.instrs: list[Instr] = []
        self.kernels: list[ir.Kernel] = [] if parent is None else parent.kernels
        self._kernel_number: dict[ir.Kernel, int] = {} if parent is None else parent._kernel_number
        self.node: Apply | None = None
        self.fuse = fuse
        self.alone = alone
        self.tail_start: int | None = None
        self.end: int | None = None
        self.parts: dict[Variable, Any] = {}
        self.optional: set[int] = set()
        self.changed_objects: dict[Variable, None] | None = None

    def cell(self, variable: Variable) -> int:
        """The cell of a variable; constants bring their value along."""
        found = self.of_variable.get(variable)
        if found is None:
            found = self.of_variable[variable] = self.new_cell(cell_spec(variable.type))
            if isinstance(variable, Constant):
                value = variable.data
                array = np.asarray(value, dtype=variable.type.dtype) if is_tensor_like(variable.type) else value
                self.constants.append((found, array))
        return found

    def new_cell(self, spec: tuple[Any, ...]) -> int:
        """A cell that belongs to no variable."""
        self.cells.append(spec)
        return len(self.cells) - 1

    def temporary(self, dtype: str, broadcastable: Sequence[bool]) -> int:
        """A cell for an intermediate array."""
        return self.new_cell(("tensor", TYPENUM[dtype], len(broadcastable), tuple(broadcastable)))

    def made(self, op: vm.Instruction, ins: Iterable[int], dtype: str, broadcastable: Sequence[bool]) -> int:
        """The cell of the intermediate array that an instruction makes."""
        result = self.temporary(dtype, broadcastable)
        self.emit(op, ins, [result])
        return result

    def constant(self, value: np.ndarray) -> int:
        """A cell that holds a constant array."""
        value = np.asarray(value)
        cell = self.new_cell(("tensor", value.dtype.num, value.ndim, tuple(n == 1 for n in value.shape)))
        self.constants.append((cell, value))
        return cell

    def converted(self, variable: Variable, dtype: str) -> int:
        """The cell of a variable's value in a dtype."""
        return self.in_dtype(self.cell(variable), dtype)

    def in_dtype(self, cell: int, dtype: str) -> int:
        """The cell of an array's elements in a dtype: the array's own, where it has this dtype."""
        _, number, _, broadcastable = self.cells[cell]
        if number == TYPENUM[dtype]:
            return cell
        return self.made(vm.CastCopy(), [cell], dtype, broadcastable)

    def contiguous(self, cell: int) -> int:
        """The cell of an array's elements without gaps."""
        result = self.new_cell(self.cells[cell])
        self.emit(vm.Contiguous(), [cell], [result])
        return result

    def flattened(self, cell: int) -> int:
        """The cell of all elements of an array as a vector."""
        out = self.new_cell(("tensor", self.cells[cell][1], 1, (False,)))
        self.emit(vm.Reshape(), [cell, self.constant(np.array([-1]))], [out])
        return out

    def emit(self, op: vm.Instruction, ins: Iterable[int], outs: Iterable[int]) -> int:
        """Append an instruction for the current node; returns its position.

        Raises
        ------
        CannotLower
            The target has no such instruction.
        """
        if not self.target.has(op):
            raise CannotLower(f"the target {self.target.name} has no instruction {op.name}")
        self.instrs.append(Instr(op, tuple(ins), tuple(outs), self.node))
        return len(self.instrs) - 1

    def emit_for(self, node: Apply, op: vm.Instruction, dtypes: str | Mapping[int, str] | None = None) -> int:
        """Append an instruction whose operands are the node's outputs and its inputs, all in a dtype or some in those given."""
        given = dict.fromkeys(range(len(node.inputs)), dtypes) if isinstance(dtypes, str) else dtypes or {}
        ins = [self.converted(v, given[k]) if k in given else self.cell(v) for k, v in enumerate(node.inputs)]
        return self.emit(op, ins, map(self.cell, node.outputs))

    def emit_kernel(self, kernel: ir.Kernel, ins: Iterable[int], outs: Iterable[int]) -> int:
        """Append the launch of a kernel; equal kernels are compiled once."""
        return self.emit(vm.Kernel(PendingKernel(self.kernel_number(kernel))), ins, outs)

    def emit_expressions(self, node: Apply, inputs: Iterable[Variable], results: Sequence[Variable]) -> None:
        """Let the first outputs of a node be expressions of variables that have cells.

        Raises
        ------
        CannotLower
            A part of them has no native form.
        """
        order = io_toposort(inputs, results)
        for result, out in zip(results, node.outputs):
            # A view has no memory of its own, which a later instruction may overwrite.
            if result.type == out.type and result.owner in order and not getattr(result.owner.op, "view_map", None):
                self.of_variable[result] = self.cell(out)
        for part in order:
            lowering = lowering_of(part, self.target.name)
            if lowering is None:
                raise CannotLower(f"{part.op} is not native")
            lowering(self, part)
        for result, out in zip(results, node.outputs):
            if self.cell(result) != self.cell(out):
                copy = vm.Copy() if result.type.dtype == out.type.dtype else vm.CastCopy()
                self.emit(copy, [self.cell(result)], [self.cell(out)])

    def kernel_number(self, kernel: ir.Kernel) -> int:
        """The number of a kernel in `kernels`."""
        number = self._kernel_number.get(kernel)
        if number is None:
            number = self._kernel_number[kernel] = len(self.kernels)
            self.kernels.append(kernel)
        return number

    def aim(self, position: int, target: int) -> None:
        """Set the target of a jump that was not known."""
        self.instrs[position] = self.instrs[position]._replace(op=self.instrs[position].op.aimed(target))

    def replace_instrs(self, replaced: dict[int, list[Instr]]) -> None:
        """Put other instructions in the places of some; jumps go where they went, and the tail begins where it began."""
        moved: list[int] = []
        instrs: list[Instr] = []
        for position, instr in enumerate(self.instrs):
            moved.append(len(instrs))
            instrs += replaced.get(position, [instr])
        moved.append(len(instrs))
        self.instrs[:] = [i._replace(op=i.op.aimed(moved[i.op.target])) if i.op.jumps else i for i in instrs]
        if self.tail_start is not None:
            self.tail_start = moved[self.tail_start]

    def leave_out(self, outputs: Iterable[int]) -> None:
        """Leave out the instructions of optional cells that neither others read nor are among `outputs`."""
        read = set(outputs)
        gone: dict[int, list[Instr]] = {}
        for position in range(len(self.instrs) - 1, -1, -1):
            instr = self.instrs[position]
            if instr.outs and self.optional.issuperset(instr.outs) and read.isdisjoint(instr.outs):
                gone[position] = []
            else:
                read.update(instr.ins)
        self.replace_instrs(gone)

    def shown(self) -> list[tuple[int, ...]]:
        """For each instruction the inputs of its node that other instructions of the node read: a message about its failure
        tells of them, though it works on what was made of them, or prepares what works on them.
        """
        result: list[tuple[int, ...]] = []
        for node, group in itertools.groupby(self.instrs, key=operator.attrgetter("node")):
            instrs = list(group)
            of_node = {self.of_variable.get(v) for v in node.inputs} if node is not None and len(instrs) > 1 else set()
            # A loop takes over initial values that are not needed after it.
            read = dict.fromkeys(c for i in instrs if not isinstance(i.op, vm.Scan) for c in i.ins if c in of_node)
            result += [tuple(c for c in read if c not in instr.ins) for instr in instrs]
        return result

    def last_uses(self, kept: set[int], shown: Sequence[tuple[int, ...]]) -> list[list[int]]:
        """For each instruction the cells whose value nobody reads after it."""
        frees: list[list[int]] = [[] for _ in self.instrs]
        seen = set(kept)
        for position in range(len(self.instrs) - 1, -1, -1):
            instr = self.instrs[position]
            for cell in (*instr.outs, *instr.ins, *shown[position]):
                if cell not in seen:
                    seen.add(cell)
                    frees[position].append(cell)
        return frees

    def plan(self, inputs: Sequence[Any], outputs: Sequence[Any], **others: Any) -> Build:
        """What the program is made of besides the instructions, see `Build`; kernels are compiled."""
        return Build(inputs, outputs, self.target.load_kernels(self.kernels), **others)

    def build(self, *args: Any, **kwargs: Any) -> Any:
        """Make the program; takes what `plan` takes."""
        return self.target.build(self, self.plan(*args, **kwargs))


Lowering = Callable[[ProgramBuilder, Apply], None]

_lowerings: dict[tuple[type, str | None], Lowering] = {}
_load_lock = new_lock()
_loaded: set[str] = set()


Condition = tuple[str, Callable[[Apply], Any]]
"""In words, and a function that decides it for a node."""

OF_ARRAYS: Condition = ("the first input is an array", lambda node: is_tensor_like(node.inputs[0].type))
OF_REALS: Condition = ("numbers are real", lambda node: not any("complex" in v.type.dtype for v in node.inputs))


def lowers(
    *op_classes: type, target: str | None = None, where: Condition | None = None
) -> Callable[[Lowering], Lowering]:
    """Register a function as the lowering of some Op classes and, unless they have their own, of their subclasses.

    Parameters
    ----------
    op_classes
        Classes of Ops.
    target
        The target that it is for; None: each that has none of its own.
    where
        What holds for the nodes that it lowers; others are left to Python.
    """
    extensions.note()

    def register(function: Lowering) -> Lowering:
        lowering = function if where is None else functools.partial(_lower_where, where, function)
        _lowerings.update(((op_class, target), lowering) for op_class in op_classes)
        return function

    return register


def _lower_where(where: Condition, function: Lowering, builder: ProgramBuilder, node: Apply) -> None:
    words, holds = where
    if not holds(node):
        raise CannotLower(f"only where {words}")
    function(builder, node)


def lowers_to(
    instructions: Mapping[type, Callable[[Any], vm.Instruction]],
    emit: Callable[[ProgramBuilder, Apply, vm.Instruction], Any] = ProgramBuilder.emit_for,
    where: Condition | None = None,
) -> None:
    """Register lowerings to one instruction each.

    Parameters
    ----------
    instructions
        From the class of an Op to what makes the instruction of an Op.
    emit
        Appends it for a node; by default over the node's inputs and outputs.
    where
        See `lowers`.
    """
    for op_class, make in instructions.items():

        def lower(builder: ProgramBuilder, node: Apply, make: Any = make) -> None:
            emit(builder, node, make(node.op))

        lowers(op_class, where=where)(lower)


def find_lowering(op: Any, target: str | None = None) -> Lowering | None:
    """The lowering of an Op for a target, or for all that have none of their own, by its class; None where there is none.

    A subclass inherits a lowering only as long as it does not bring its own `perform`, `c_code` or `make_thunk`:
    what a user overrides must run.
    """
    own = type(op)
    for base in own.__mro__:
        _load_lowerings(base.__module__)
        found = _lowerings.get((base, target)) or _lowerings.get((base, None))
        if found is not None:
            overrides = base is not own and any(
                getattr(own, name, None) is not getattr(base, name, None)
                for name in ("perform", "c_code", "make_thunk", "make_py_thunk", "make_node")
            )
            return None if overrides else found
    return None


def lowering_of(node: Apply, target: str | None = None) -> Lowering | None:
    """The lowering of a node's Op for a target; None also where an array has more dimensions than the runtime knows."""
    if any(getattr(v.type, "ndim", 0) > ir.MAX_DIMS for v in (*node.inputs, *node.outputs)):
        return None
    return find_lowering(node.op, target)


def has_general_lowering(node: Apply, target: str) -> bool:
    """Whether a node is lowered for a target as for those that have no way of their own."""
    lowering = lowering_of(node)
    return lowering is not None and lowering is lowering_of(node, target)


_OF_ANY_PROGRAM = ("blas", "creation", "extremum", "gather", "join", "loops", "order", "positions", "shape", "subtensor")
# The modules of lowerings, and the packages whose Ops they are for: each is imported with the first of these Ops.
_FAMILIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_ANY_PROGRAM, ("",)),
    "nnet": ("theano.tensor.nnet",),
    "convolution": ("theano.tensor.nnet.conv", "theano.tensor.nnet.corr"),
    "nnet_ops": ("theano.tensor.nnet.blocksparse", "theano.tensor.nnet.ctc", "theano.tensor.nnet.neighbours"),
    "linalg": ("theano.tensor.decompositions", "theano.tensor.nlinalg", "theano.tensor.slinalg"),
    "pooling": ("theano.tensor.signal.pool",),
    "sparse": ("theano.sparse",),
    "random": ("theano.sandbox.multinomial", "theano.sandbox.rng_mrg", "theano.tensor.raw_random"),
    "scan": ("theano.scan_module",),
    "lists": ("theano.typed_list",),
}


@functools.cache
def _load_lowerings(module: str) -> None:
    """Import the lowerings when the first function is compiled, not at `import theano`."""
    for name, packages in _FAMILIES.items():
        if module.startswith(packages) and name not in _loaded:
            with _load_lock:
                importlib.import_module(f"theano.native.lowering.{name}")
                _loaded.add(name)
