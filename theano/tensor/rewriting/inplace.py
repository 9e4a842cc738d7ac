"""In-place elementwise operations: an output takes the memory of an input that nobody needs any more."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any, TextIO

from theano import scalar as scal
from theano.gof.fg import InconsistencyError
from theano.gof.graph import Constant
from theano.gof.memo import ById
from theano.gof.opt import Optimizer, copy_stack_trace
from theano.gof.rewriting.base import attach_destroy_handler
from theano.gof.rewriting.profiles import Profile
from theano.gof.rewriting.stages import optdb
from theano.gof.supervisor import protected_inputs
from theano.gof.toolbox import NoOutputFromInplace
from theano.tensor.elemwise import Elemwise

_REASON = "inplace_elemwise_optimizer"


class _Aliases:
    """Which variables share memory, and when that memory is used last, in one fixed order of the nodes."""

    def __init__(self, fgraph: Any, order: list[Any]) -> None:
        self.root: dict[Any, Any] = {}
        # root -> last use; outputs of the graph count as used at the end.
        self.last: dict[Any, int] = {}
        self.destroyed: set[Any] = set()
        root, last = self.root, self.last
        for here, node in enumerate(order):
            if view_map := getattr(node.op, "view_map", None):
                root.update((node.outputs[o], self.root_of(node.inputs[at[0]])) for o, at in view_map.items() if at)
            if destroy_map := getattr(node.op, "destroy_map", None):
                self.destroyed.update(self.root_of(node.inputs[p]) for positions in destroy_map.values() for p in positions)
            for var in node.inputs:
                last[root.get(var, var)] = here
        last.update(dict.fromkeys(map(self.root_of, fgraph.outputs), len(order)))

    def root_of(self, var: Any) -> Any:
        """The variable whose memory `var` looks at."""
        return self.root.get(var, var)


class InplaceProfile(Profile):
    """What an `InplaceElemwiseOptimizer` did, as it is printed; `ndim` counts its replacements by dimensions.

    Parameters
    ----------
    title : str
        What is printed first.
    node_before, nb_replaced, nb_inconsistent : int
        How many nodes there were, replacements, and replacements that were given up.
    ndim : dict
        Counts by number of dimensions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> InplaceElemwiseOptimizer(Elemwise).optimize(FunctionGraph([x := T.dvector()], [T.exp(-x)])).ndim
    {1: 1}
    """

    node_before: int
    nb_replaced: int
    nb_inconsistent: int
    ndim: dict[int, int]

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        blanc = "    " * level
        print(blanc, self.title, file=stream)
        for name in ("node_before", "nb_replaced", "nb_inconsistent"):
            print(blanc, f"  {name}", getattr(self, name), file=stream)
        for ndim, count in sorted(self.ndim.items()):
            print(blanc, f"  ndim {ndim}:", count, file=stream)


class InplaceElemwiseOptimizer(Optimizer):
    """Make elementwise operations write over one of their inputs where that is safe.

    The nodes are gone through in the order in which they can run. An input may be overwritten if it (or what it is a
    view of) is not used later in this order, is no constant, no protected input and no output. Since one order
    satisfies all choices, no cycle can come up, and the graph is validated once instead of once for each node.

    Parameters
    ----------
    OP : class
        The class to look for: Elemwise.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dvector("x")], [T.exp(-x)])
    >>> profile = InplaceElemwiseOptimizer(Elemwise).optimize(fgraph)
    >>> print(fgraph)
    [Elemwise{Exp}[(0, 0)](Elemwise{neg,no_inplace}(x))]
    """

    def __init__(self, OP: Any) -> None:
        self.op = OP

    def add_requirements(self, fgraph: Any) -> None:
        attach_destroy_handler(fgraph)

    def apply(self, fgraph: Any) -> Any:
        """``x + y + z -> x += y += z``

        ``(x + y) * (x * y)`` becomes ``(x += y) *= (x * y)`` or ``(x + y) *= (x *= y)``.
        """
        order = fgraph.toposort()
        chosen = self._choose(fgraph, order)
        ndims = dict(sorted(Counter(node.outputs[0].type.ndim for node, _ in chosen).items()))
        profile = InplaceProfile(f"InplaceElemwiseOptimizer {self.op.__name__}", len(order), len(chosen), 0, ndims)
        if not chosen:
            return profile
        checkpoint = fgraph.checkpoint()
        can_change = fgraph.can_change_ops()
        for node, pattern in chosen:
            if can_change:
                fgraph.change_op(node, _inplace_op(node.op, node, pattern), reason=_REASON)
                continue
            for r, new_r in _replacements(node, pattern):
                fgraph.replace(r, new_r, reason=_REASON)
        try:
            fgraph.validate()
        except InconsistencyError:
            # Something else in the graph has an order of its own: try one by one.
            fgraph.revert(checkpoint)
            profile.nb_inconsistent = self._one_by_one(fgraph)
        return profile

    def _choose(self, fgraph: Any, order: list[Any]) -> list[tuple[Any, dict[int, int]]]:
        aliases = _Aliases(fgraph, order)
        protected = protected_inputs(fgraph)
        no_output = any(isinstance(f, NoOutputFromInplace) for f in fgraph._features)
        outputs = set(fgraph.outputs) if no_output else ()
        chosen = []
        for here, node in enumerate(order):
            op = node.op
            if type(op) is not self.op or op.inplace_pattern or getattr(op, "destroy_map", None):
                continue
            pattern: dict[int, int] = {}
            looking_at: Counter | None = None
            for o, out in enumerate(node.outputs):
                if out in outputs:
                    continue
                for k, i in enumerate(node.inputs):
                    if i.type != out.type or isinstance(i, Constant) or k in pattern.values():
                        continue
                    root = aliases.root_of(i)
                    if root in protected or isinstance(root, Constant) or root in aliases.destroyed:
                        continue
                    if aliases.last.get(root, -1) > here:
                        continue
                    # Other inputs may not look at the memory that is overwritten.
                    if looking_at is None:
                        looking_at = Counter([aliases.root_of(j) for j in node.inputs])
                    if looking_at[root] > 1:
                        continue
                    pattern[o] = k
                    aliases.destroyed.add(root)
                    break
            if pattern:
                chosen.append((node, pattern))
        return chosen

    def _one_by_one(self, fgraph: Any) -> int:
        """Make what replacements are possible; says how many were not."""
        refused = 0
        for node, pattern in self._choose(fgraph, fgraph.toposort()):
            try:
                fgraph.replace_all_validate(_replacements(node, pattern), reason=_REASON)
            except InconsistencyError:
                refused += 1
        return refused

    def print_summary(self, stream: Any = None, level: int = 0, depth: int = -1) -> None:
        print(f"{' ' * level}{type(self).__name__} ({self.op})", file=stream)


# Of each Op: what it is in place, by pattern and output dtypes.
_made = ById()


def _inplace_op(op: Any, node: Any, pattern: dict[int, int]) -> Any:
    """`op` with an inplace pattern; its outputs take the types of the inputs that they overwrite."""
    made = (_made.get(id(op)) or _made.keep(op, {}))[0]
    key = (tuple(pattern.items()), tuple([o.type.dtype for o in node.outputs]))
    if key not in made:
        made[key] = _make_inplace(op, node, pattern)
    return made[key]


def _replacements(node: Any, pattern: dict[int, int]) -> list[tuple[Any, Any]]:
    """The outputs of a node, each with that of one which overwrites inputs."""
    pairs = list(zip(node.outputs, _inplace_op(node.op, node, pattern).make_node(*node.inputs).outputs, strict=True))
    for old, new in pairs:
        copy_stack_trace(old, new)
    return pairs


def _make_inplace(op: Any, node: Any, pattern: dict[int, int]) -> Any:
    if isinstance(op.scalar_op, scal.Composite):
        # Its output types are those of its inner graph.
        return type(op)(op.scalar_op, pattern)
    types = [scal.get_scalar_type(o.type.dtype) for o in node.outputs]
    preference = scal.transfer_type(*[pattern.get(i, t) for i, t in enumerate(types)])
    scalar_op = op.scalar_op
    if hasattr(scalar_op, "make_new_inplace"):
        new_scalar = scalar_op.make_new_inplace(preference)
    elif type(scalar_op).__init__ is scal.ScalarOp.__init__:
        new_scalar = type(scalar_op)(preference)
    else:
        # What a class of a user takes is not known.
        new_scalar = copy.copy(scalar_op)
        new_scalar.output_types_preference = preference
    return type(op)(new_scalar, pattern)


inplace_elemwise_optimizer = InplaceElemwiseOptimizer(Elemwise)
optdb.register(
    "inplace_elemwise_opt",
    inplace_elemwise_optimizer,
    75,
    "inplace_opt",
    "inplace_elemwise_optimizer",
    "inplace_elemwise",
    "fast_run",
    "inplace",
)


def insert_inplace_optimizer(fgraph: Any) -> None:
    """Apply `inplace_elemwise_optimizer` to a graph.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> fgraph = FunctionGraph([x := T.dvector("x")], [T.exp(-x)])
    >>> insert_inplace_optimizer(fgraph)
    >>> fgraph.outputs[0].owner.op.destroy_map
    {0: [0]}
    """
    inplace_elemwise_optimizer.optimize(fgraph)
