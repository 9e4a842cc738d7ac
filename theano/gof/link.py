"""Linkers: they turn a graph into something that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np

from theano.configdefaults import config
from theano.gof import utils
from theano.gof.graph import Constant, Variable
from theano.gof.op import PureOp
from theano.gof.run_errors import log_thunk_trace, node_description, raise_with_op, thunk_hook  # noqa: F401
from theano.gof.sched import overlap_transfers
from theano.gof.type import PureType
from theano.gof.utils import MethodNotDefined


class Linker:
    """Base of the linkers.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether intermediate values are freed as soon as they are not needed; default `config.allow_gc`.
    scheduler : callable, optional
        Gets a FunctionGraph and returns its Apply nodes in the order of running; default: ``fgraph.toposort()``.

    See Also
    --------
    theano.CLinker : Compiles the C code that the Ops of a graph bring themselves, to one function.
    theano.LocalLinker : Base of linkers that run the nodes one by one in this process.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import float64
    >>> class Counting(Linker):
    ...     def accept(self, fgraph, no_recycling=None, profile=None):
    ...         self.fgraph = fgraph
    ...         return self
    ...     def make_thunk(self, **kwargs):
    ...         nodes = self.schedule(self.fgraph)
    ...         return lambda: print(len(nodes), "nodes"), [], []
    >>> x, y = float64("x"), float64("y")
    >>> thunk, _, _ = Counting().accept(theano.gof.FunctionGraph([x, y], [x * y + x])).make_thunk()
    >>> thunk()
    2 nodes
    """

    def __init__(self, *, allow_gc: bool | None = None, scheduler: Callable | None = None):
        self._allow_gc = allow_gc
        self._scheduler = scheduler

    @property
    def allow_gc(self) -> bool:
        """Whether intermediate values are freed as soon as they are not needed."""
        return config.allow_gc if self._allow_gc is None else self._allow_gc

    @allow_gc.setter
    def allow_gc(self, value: bool | None) -> None:
        self._allow_gc = value

    def clone(self, allow_gc: Any = utils.undef) -> Linker:
        """Return a linker like this one that has accepted no graph, perhaps with another `allow_gc`."""
        new = copy(self)
        if allow_gc is not utils.undef:
            new._allow_gc = allow_gc
        return new

    def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
        """Return (thunk, input containers, output containers).

        The thunk takes no arguments: it computes the outputs' containers from the inputs'.
        """
        raise MethodNotDefined("make_thunk", type(self), self.__class__.__name__)

    def make_function(self, unpack_single: bool = True, **kwargs: Any) -> Callable:
        """Return a function of the values of the graph's inputs.

        Parameters
        ----------
        unpack_single : bool
            Return the value of a single output instead of a list of one.
        **kwargs
            For `make_thunk`.

        Examples
        --------
        >>> from theano import gof
        >>> from theano.scalar import float64
        >>> x, y = float64('x'), float64('y')
        >>> f = gof.PerformLinker().accept(gof.FunctionGraph([x, y], [x + y])).make_function()
        >>> float(f(8.0, 2.0))
        10.0
        """
        thunk, inputs, outputs = self.make_thunk(**kwargs)

        def execute(*args: Any) -> Any:
            if len(args) != len(inputs):
                raise TypeError(f"Function call takes exactly {len(inputs)} args, got {len(args)}")
            for arg, container in zip(args, inputs):
                container.data = arg
            thunk()
            if unpack_single:
                return utils.to_return_values([container.data for container in outputs])
            return [container.data for container in outputs]

        execute.thunk = thunk  # type: ignore[attr-defined]
        execute.inputs = inputs  # type: ignore[attr-defined]
        execute.outputs = outputs  # type: ignore[attr-defined]
        return execute

    def schedule(self, fgraph: Any) -> list[Any]:
        """Return the Apply nodes of `fgraph` in the order of running."""
        if self._scheduler is not None:
            return self._scheduler(fgraph)
        order = fgraph.toposort()
        if any(getattr(node.op, "transfer", None) for node in order):
            return overlap_transfers(order, fgraph.orderings())
        return order


class Container:
    """A typed place for one value, shared by a function's arguments, its program and shared variables.

    Parameters
    ----------
    r : Variable or Type
        Says of which type the values are.
    storage : list
        The value is its first element.
    readonly : bool
        Whether setting the value is an error.
    strict : bool
        Whether values must be of the type exactly, without conversion.
    allow_downcast : bool, optional
        Whether conversion may lose precision; None allows it for Python floats to floatX only.
    name : str, optional
        Default: the name of `r`.

    Attributes
    ----------
    value, data : object
        The value; setting it converts it to the type.

    See Also
    --------
    theano.function : Return a callable that computes `outputs` from `inputs`.
    theano.shared : Return a shared variable that holds a copy of, or a reference to, a value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> cell = [None]
    >>> box = Container(T.dvector("x"), cell)
    >>> box.value = [1, 2]
    >>> cell
    [array([1., 2.])]
    >>> box.value = "text"
    Traceback (most recent call last):
        ...
    ValueError: TensorType(float64, vector) cannot be made from a value of dtype <U4: 'text'...
    """

    def __init__(
        self,
        r: Any,
        storage: list,
        readonly: bool = False,
        strict: bool = False,
        allow_downcast: bool | None = None,
        name: str | None = None,
    ):
        if not isinstance(storage, list) or not storage:
            raise TypeError("storage must be a list of length at least one")
        self.type = r if isinstance(r, PureType) else r.type
        self.name = getattr(r, "name", None) if name is None else name
        self.storage = storage
        self.readonly = readonly
        self.strict = strict
        self.allow_downcast = allow_downcast

    def __get__(self) -> Any:
        return self.storage[0]

    def __set__(self, value: Any) -> None:
        if self.readonly:
            raise Exception(f"Cannot set readonly storage: {self.name}")
        if value is None:
            self.storage[0] = None
            return
        kwargs: dict[str, Any] = {}
        if self.strict:
            kwargs["strict"] = True
        if self.allow_downcast is not None:
            kwargs["allow_downcast"] = self.allow_downcast
        try:
            filter_inplace = getattr(self.type, "filter_inplace", None)
            if filter_inplace is not None:
                self.storage[0] = filter_inplace(value, self.storage[0], **kwargs)
            else:
                self.storage[0] = self.type.filter(value, **kwargs)
        except Exception as exc:
            where = f'Container name "{self.name}"'
            if len(exc.args) == 1 and isinstance(exc.args[0], str):
                exc.args = (f"{exc.args[0]}\n{where}",)
            else:
                exc.args = (*exc.args, where)
            raise

    data = property(__get__, __set__)
    value = property(__get__, __set__)

    # Left in place, they would make a container that is a class attribute act as a descriptor.
    del __get__, __set__

    def __str__(self) -> str:
        return f"<{self.storage[0]}>"

    def __repr__(self) -> str:
        return f"<{self.storage[0]!r}>"

    def __deepcopy__(self, memo: dict) -> Container:
        data_was_in_memo = id(self.storage[0]) in memo
        new = type(self)(
            deepcopy(self.type, memo=memo),
            deepcopy(self.storage, memo=memo),
            readonly=self.readonly,
            strict=self.strict,
            allow_downcast=self.allow_downcast,
            name=self.name,
        )
        for key, value in self.__dict__.items():
            if key not in new.__dict__:
                new.__dict__[key] = deepcopy(value, memo)
        # NumPy gives a scalar for the deep copy of some 0-d arrays.
        if new.storage[0] is not None and not self.type.is_valid_value(new.storage[0]):
            if data_was_in_memo:
                raise TypeError(f"the container {self.name} holds a value that its type does not allow")
            new.storage[0] = self.type.filter(new.storage[0], strict=False, allow_downcast=False)
            memo[id(self.storage[0])] = new.storage[0]
        return new


def python_impl(op: Any) -> str | None:
    """Return the `impl` for `Op.make_thunk` that runs `op` in Python, or None if it has only C code.

    Parameters
    ----------
    op : Op
        The Op.

    Examples
    --------
    >>> import theano
    >>> class OnlyC(theano.Op):
    ...     pass
    >>> python_impl(theano.tensor.exp), python_impl(OnlyC())
    ('py', None)
    """
    perform = op.perform
    return None if getattr(perform, "__func__", perform) is PureOp.perform else "py"


def _take_cells(storage_map: dict, what: str, variables: Sequence[Any], cells: Sequence[list]) -> None:
    """Put the given cells of a graph's inputs or outputs into the map, which may have the same already."""
    if len(variables) != len(cells):
        raise ValueError(f"{len(cells)} storages for {len(variables)} {what}s")
    for var, cell in zip(variables, cells):
        if storage_map.setdefault(var, cell) is not cell:
            raise ValueError(f"given storage_map and {what}_storage disagree on the storage of {var}")


def map_storage(
    fgraph: Any,
    order: Iterable[Any],
    input_storage: list[list] | None,
    output_storage: list[list] | None,
    storage_map: dict[Variable, list] | None = None,
) -> tuple[list[list], list[list], dict[Variable, list]]:
    """Find or make a storage cell (a list of one element) for every variable of a graph.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph.
    order : list of Apply
        The nodes that will run.
    input_storage, output_storage : list of lists, optional
        Cells of the graph's inputs and outputs; made where they are None.
    storage_map : dict, optional
        Cells that exist already.

    Returns
    -------
    tuple
        The inputs' cells, the outputs' cells, and the map of all cells by variable.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(x)])
    >>> given = [None]
    >>> inputs, outputs, cells = map_storage(fgraph, fgraph.toposort(), [given], None)
    >>> inputs[0] is given is cells[fgraph.inputs[0]], outputs == [cells[fgraph.outputs[0]]]
    (True, True)
    """
    if storage_map is None:
        storage_map = {}
    if input_storage is not None:
        _take_cells(storage_map, "input", fgraph.inputs, input_storage)
    else:
        input_storage = [storage_map.setdefault(var, [None]) for var in fgraph.inputs]
    if output_storage is not None:
        _take_cells(storage_map, "output", fgraph.outputs, output_storage)
    for node in order:
        for var in node.inputs:
            if var not in storage_map:
                storage_map[var] = [var.data if isinstance(var, Constant) else None]
        for var in node.outputs:
            storage_map.setdefault(var, [None])
    for var in fgraph.outputs:
        if var not in storage_map:
            storage_map[var] = [var.data if isinstance(var, Constant) else None]
    if output_storage is None:
        output_storage = [storage_map[var] for var in fgraph.outputs]
    return input_storage, output_storage, storage_map


def storage_containers(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    input_storage: Iterable[list],
    output_storage: Iterable[list],
) -> tuple[list[Container], list[Container]]:
    """Return the Containers of a graph's inputs and of its outputs, which can only be read, over their cells.

    Parameters
    ----------
    inputs, outputs : iterable of Variable
        Those of the graph.
    input_storage, output_storage : iterable of list
        For each a list of one value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> (given,), (result,) = storage_containers([x], [x + 1], [[None]], [[3.0]])
    >>> given.readonly, result.readonly, result.value
    (False, True, 3.0)
    """
    return (
        [Container(var, cell) for var, cell in zip(inputs, input_storage, strict=True)],
        [Container(var, cell, readonly=True) for var, cell in zip(outputs, output_storage, strict=True)],
    )


def _views(op: Any, i_out: int) -> Sequence[int]:
    view_map = getattr(op, "view_map", None)
    return view_map.get(i_out, ()) if view_map else ()


class DestroyedInputs:
    """The values of a graph's inputs that running it overwrites; brings them back after a failure.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph.
    order : list of Apply
        The nodes, as they run.
    storage_map : dict
        From each variable to the cell of its value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.dvector("x")
    >>> fgraph = FunctionGraph([x], [T.inplace.exp_inplace(x)])
    >>> value = np.array([1.0, 2.0])
    >>> destroyed = DestroyedInputs(fgraph, fgraph.toposort(), {fgraph.inputs[0]: [value]})
    >>> saved = destroyed.save()
    >>> value[0] = 7.0
    >>> DestroyedInputs.restore(saved)
    >>> value
    array([1., 2.])
    """

    def __init__(self, fgraph: Any, order: Iterable[Any], storage_map: dict[Variable, list]):
        inputs = set(fgraph.inputs)
        root: dict[Variable, tuple[Variable, ...]] = {}
        found: dict[Variable, None] = {}
        for node in order:
            destroy_map = getattr(node.op, "destroy_map", None) or {}
            for i_out, out in enumerate(node.outputs):
                roots: list[Variable] = []
                for i in (*_views(node.op, i_out), *destroy_map.get(i_out, ())):
                    var = node.inputs[i]
                    roots.extend(root.get(var, ()) or ((var,) if var in inputs else ()))
                if roots:
                    root[out] = tuple(dict.fromkeys(roots))
            for destroyed in destroy_map.values():
                for i in destroyed:
                    var = node.inputs[i]
                    found.update(dict.fromkeys(root.get(var, ()) or ((var,) if var in inputs else ())))
        self.cells = [storage_map[var] for var in found]

    def save(self) -> list[tuple[list, Any, Any]]:
        """Copy the values as they are before the run."""
        return [
            (cell, cell[0], cell[0].copy() if isinstance(cell[0], np.ndarray) else deepcopy(cell[0]))
            for cell in self.cells
            if cell[0] is not None
        ]

    @staticmethod
    def restore(saved: list[tuple[list, Any, Any]]) -> None:
        """Put the values back, into the same memory where that is an array."""
        for cell, value, old in saved:
            if isinstance(value, np.ndarray) and value.shape == old.shape and value.flags.writeable:
                value[...] = old
                cell[0] = value
            else:
                cell[0] = old


def streamline(
    fgraph: Any,
    thunks: Sequence[Callable],
    order: Sequence[Any],
    post_thunk_old_storage: Sequence[list] | None = None,
    no_recycling: Sequence[list] | None = None,
    nice_errors: bool = True,
) -> Callable[[], None]:
    """Make one function that runs thunks in order.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph.
    thunks : list of callables
        A function without arguments for each node.
    order : list of Apply
        The node of each thunk.
    post_thunk_old_storage : list of lists, optional
        For each thunk, the cells to empty after it.
    no_recycling : list, optional
        Cells to empty before the first.
    nice_errors : bool
        Describe the failing node in exceptions.

    Returns
    -------
    callable

    Raises
    ------
    ValueError
        If there are not as many thunks, or lists of what to free, as nodes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.vector("x")
    >>> fgraph = FunctionGraph([x], [T.exp(T.sin(x))])
    >>> thunks = [lambda: print("sin"), lambda: print("exp")]
    >>> run = streamline(fgraph, thunks, fgraph.toposort())
    >>> run()
    sin
    exp
    """
    if len(thunks) != len(order):
        raise ValueError("Length of thunks and order must match", (len(thunks), len(order)))
    if post_thunk_old_storage is not None and len(thunks) != len(post_thunk_old_storage):
        raise ValueError(
            "Length of thunks and post_thunk_old_storage must match", (len(thunks), len(post_thunk_old_storage))
        )
    clear = no_recycling or ()
    old_storage: Sequence[Any] = post_thunk_old_storage or [[] for _ in thunks]
    steps = list(zip(thunks, old_storage))

    def run_steps() -> None:
        for cell in clear:
            cell[0] = None
        i = 0
        try:
            for i, (thunk, old) in enumerate(steps):  # noqa: B007 - for the handler below
                thunk()
                for cell in old:
                    cell[0] = None
        except Exception:
            if not nice_errors:
                raise
            raise_with_op(order[i], thunks[i])

    return run_steps


def gc_helper(node_list: Iterable[Any]) -> tuple[set[Variable], dict[Variable, Any]]:
    """Find what garbage collection needs to know about nodes in the order of running.

    Parameters
    ----------
    node_list : list of Apply
        As they run.

    Returns
    -------
    tuple
        The set of variables that the nodes compute, and a dict from each variable to the last node that uses it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> y = T.sin(x)
    >>> z = T.exp(y) + y
    >>> exp = z.owner.inputs[0].owner
    >>> computed, last_user = gc_helper([y.owner, exp, z.owner])
    >>> x in computed, last_user[x], last_user[y] is z.owner
    (False, Elemwise{sin,no_inplace}(x), True)
    """
    computed: set[Variable] = set()
    last_user: dict[Variable, Any] = {}
    for node in node_list:
        for var in node.inputs:
            last_user[var] = node
        computed.update(node.outputs)
    return computed, last_user


def add_clear_storage(f: Any, computed: Iterable[Any], storage_map: dict) -> None:
    """Give a function the method ``clear_storage()``, which empties the cells of the variables that it computes.

    Parameters
    ----------
    f : callable
        It gets the method as an attribute.
    computed : iterable of Variable
        The variables.
    storage_map : dict
        The cell of each variable.

    Examples
    --------
    >>> def run():
    ...     return None
    >>> cells = {"x": [3.0], "x + 1": [4.0]}
    >>> add_clear_storage(run, ["x + 1"], cells)
    >>> run.clear_storage()
    >>> cells
    {'x': [3.0], 'x + 1': [None]}
    """

    def clear_storage() -> None:
        for variable in computed:
            storage_map[variable][0] = None

    f.clear_storage = clear_storage


class LocalLinker(Linker):
    """Base of linkers that run the nodes one by one in this process.

    Subclasses implement `make_all`.

    See Also
    --------
    theano.Linker : Base of the linkers.
    theano.PerformLinker : Runs the nodes in order, each by its Op's `perform`.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> linker = PerformLinker().accept(theano.gof.FunctionGraph([x, y], [x * y + x]))
    >>> isinstance(linker, LocalLinker)
    True
    >>> function, inputs, outputs, thunks, nodes = linker.make_all()
    >>> nodes
    [mul(x, y), add(mul.0, x)]
    """

    fgraph: Any = None
    no_recycling: Sequence[Variable] = ()
    profile: Any = None

    def clone(self, allow_gc: Any = utils.undef) -> Any:
        new: Any = super().clone(allow_gc)
        new.fgraph = None
        return new

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        """Associate the linker with a graph.

        Parameters
        ----------
        fgraph : FunctionGraph
        no_recycling : list of Variable, optional
            Variables whose storage must not be reused by the next call.
        profile : ProfileStats, optional

        Returns
        -------
        Linker
            This one, or a new one if it was associated with another graph.
        """
        if self.fgraph is not None and self.fgraph is not fgraph:
            return self.clone().accept(fgraph, no_recycling, profile)
        self.fgraph = fgraph
        self.no_recycling = list(no_recycling or ())
        self.profile = profile
        return self

    def make_thunk(
        self,
        input_storage: list | None = None,
        output_storage: list | None = None,
        storage_map: dict | None = None,
    ) -> Any:
        return self.make_all(
            input_storage=input_storage, output_storage=output_storage, storage_map=storage_map
        )[:3]

    def make_all(
        self, input_storage: list | None = None, output_storage: list | None = None, storage_map: dict | None = None
    ) -> Any:
        """Return (function, input containers, output containers, thunks, nodes)."""
        raise MethodNotDefined("make_all", type(self), self.__class__.__name__)


class PerformLinker(LocalLinker):
    """Runs the nodes in order, each by its Op's `perform`.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether intermediate values are freed as soon as they are not needed; default `config.allow_gc`.
    schedule : callable, optional
        See `Linker`.

    See Also
    --------
    theano.LocalLinker : Base of linkers that run the nodes one by one in this process.
    theano.DualLinker : Runs each node by its `perform` and by compiled code, and compares.
    theano.compile.mode.VM_Linker : Makes a virtual machine that runs the nodes of a graph in Python.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> linker = PerformLinker().accept(theano.gof.FunctionGraph([x, y], [x * y + x]))
    >>> float(linker.make_function()(3.0, 4.0))
    15.0
    """

    def __init__(self, allow_gc: bool | None = None, schedule: Callable | None = None):
        super().__init__(allow_gc=allow_gc, scheduler=schedule)

    def make_all(
        self, input_storage: list | None = None, output_storage: list | None = None, storage_map: dict | None = None
    ) -> Any:
        fgraph = self.fgraph
        order = self.schedule(fgraph)
        input_storage, output_storage, storage_map = map_storage(
            fgraph, order, input_storage, output_storage, storage_map
        )
        compute_map: dict[Variable, list] = {var: [var.owner is None] for var in storage_map}
        thunks = []
        for node in order:
            thunk = node.op.make_thunk(node, storage_map, compute_map, [], impl=python_impl(node.op))
            thunk.inputs = [storage_map[var] for var in node.inputs]
            thunk.outputs = [storage_map[var] for var in node.outputs]
            thunks.append(thunk)
        computed, last_user = gc_helper(order)
        outputs = set(fgraph.outputs)
        old_storage = None
        if self.allow_gc:
            old_storage = [
                [
                    storage_map[var]
                    for var in dict.fromkeys(node.inputs)
                    if var in computed and var not in outputs and last_user[var] is node
                ]
                for node in order
            ]
        inputs = set(fgraph.inputs)
        no_recycling = [storage_map[var] for var in self.no_recycling if var not in inputs]
        run = streamline(fgraph, thunks, order, old_storage, no_recycling)
        destroyed = DestroyedInputs(fgraph, order, storage_map)
        if destroyed.cells:
            run = _restoring(run, destroyed)
        run.allow_gc = self.allow_gc  # type: ignore[attr-defined]
        run.storage_map = storage_map  # type: ignore[attr-defined]
        return (
            run,
            *storage_containers(fgraph.inputs, fgraph.outputs, input_storage, output_storage),
            thunks,
            order,
        )


def _restoring(run: Callable[[], None], destroyed: DestroyedInputs) -> Callable[[], None]:
    def run_or_restore() -> None:
        saved = destroyed.save()
        try:
            run()
        except BaseException:
            destroyed.restore(saved)
            raise

    return run_or_restore


class WrapLinker(Linker):
    """Runs the thunks of several linkers side by side through a wrapper function.

    Parameters
    ----------
    linkers : list of LocalLinker
        Each makes thunks for every node.
    wrapper : callable
        Called for every node in order as ``wrapper(i, node, *thunks)`` with one thunk per linker; it has to call
        them. A thunk's `inputs` and `outputs` are lists of storage cells. By convention the values of the first
        linker's thunk are those of the function.

    See Also
    --------
    theano.gof.WrapLinkerMany : Return a `WrapLinker` that calls several wrappers for every node, in turn.

    Notes
    -----
    The outputs are those of the first linker.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import float64
    >>> def tell(i, node, thunk):
    ...     thunk()
    ...     print(i, node, "=", float(thunk.outputs[0][0]))
    >>> x, y = float64("x"), float64("y")
    >>> linker = WrapLinker([PerformLinker()], tell).accept(theano.gof.FunctionGraph([x, y], [x * y + x]))
    >>> _ = linker.make_function()(3.0, 4.0)
    0 mul(x, y) = 12.0
    1 add(mul.0, x) = 15.0
    """

    def __init__(self, linkers: Sequence[Any], wrapper: Callable[..., Any]):
        super().__init__()
        self.fgraph: Any = None
        self.linkers = linkers
        self.wrapper = wrapper
        self.no_recycling: list[Variable] = []

    def __copy__(self) -> WrapLinker:
        """A shallow copy has the same linkers and wrapper, but no graph."""
        new = self.__class__([copy(linker) for linker in self.linkers], self.wrapper)
        new._allow_gc = self._allow_gc
        new._scheduler = self._scheduler
        return new

    def clone(self, allow_gc: Any = utils.undef) -> WrapLinker:
        new = self.__class__([linker.clone(allow_gc=allow_gc) for linker in self.linkers], self.wrapper)
        new._allow_gc = self._allow_gc if allow_gc is utils.undef else allow_gc
        new._scheduler = self._scheduler
        return new

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> WrapLinker:
        """Associate the linker and all it wraps with a graph; see `LocalLinker.accept`."""
        no_recycling = list(no_recycling or ())
        if self.fgraph is not None and self.fgraph is not fgraph:
            return copy(self).accept(fgraph, no_recycling, profile)
        self.fgraph = fgraph
        self.no_recycling = no_recycling
        self.linkers = [linker.accept(fgraph, no_recycling) for linker in self.linkers]
        return self

    def pre(self, f: Any, inputs: list[Any], order: list[Any], thunk_groups: list[Any]) -> None:
        """Called at the start of every run; for subclasses."""

    def make_thunk(
        self,
        input_storage: list | None = None,
        output_storage: list | None = None,
        storage_map: dict | None = None,
    ) -> Any:
        no_recycling = self.no_recycling
        made = [
            linker.make_all(
                # The first linker's cells are the function's; the others get cells of their own.
                **(
                    {"input_storage": input_storage, "output_storage": output_storage, "storage_map": storage_map}
                    if i == 0
                    else {}
                )
            )
            for i, linker in enumerate(self.linkers)
        ]
        _, input_lists, output_lists, thunk_lists, order_lists = zip(*made)
        order = list(order_lists[0])
        for other in order_lists[1:]:
            if len(other) != len(order) or any(a is not b for a, b in zip(order, other)):
                raise Exception("All linkers to WrapLinker should execute operations in the same order.")
        thunk_groups = list(zip(*thunk_lists))
        inputs0 = input_lists[0]
        outputs0 = output_lists[0]
        to_reset = []
        skip = set(no_recycling)
        for thunks, node in zip(thunk_groups, order):
            for j, out in enumerate(node.outputs):
                if out in skip:
                    to_reset.extend(thunk.outputs[j] for thunk in thunks)
        wrapper, pre = self.wrapper, self.pre
        other_inputs = input_lists[1:]

        def f() -> None:
            for inputs in other_inputs:
                for mine, its in zip(inputs0, inputs):
                    its.storage[0] = copy(mine.storage[0])
            for cell in to_reset:
                cell[0] = None
            pre(self, [container.data for container in inputs0], order, thunk_groups)
            for i, (thunks, node) in enumerate(zip(thunk_groups, order)):
                try:
                    wrapper(i, node, *thunks)
                except Exception:
                    raise_with_op(node, thunks[0] if thunks else None)

        f.thunk_groups = thunk_groups  # type: ignore[attr-defined]
        return f, inputs0, outputs0


def WrapLinkerMany(linkers: Sequence[Any], wrappers: Sequence[Callable[..., Any]]) -> WrapLinker:
    """Return a `WrapLinker` that calls several wrappers for every node, in turn.

    Parameters
    ----------
    linkers : list of LocalLinker
        Of one kind; they make the thunks.
    wrappers : list of callables
        See `WrapLinker`.

    See Also
    --------
    theano.gof.WrapLinker : Runs the thunks of several linkers side by side through a wrapper function.

    Examples
    --------
    >>> import theano
    >>> from theano.scalar import float64
    >>> def run(i, node, thunk):
    ...     thunk()
    >>> def tell(i, node, thunk):
    ...     print(node.op, float(thunk.outputs[0][0]))
    >>> x, y = float64("x"), float64("y")
    >>> linker = WrapLinkerMany([PerformLinker()], [run, tell])
    >>> _ = linker.accept(theano.gof.FunctionGraph([x, y], [x * y + x])).make_function()(3.0, 4.0)
    mul 12.0
    add 15.0
    """

    def wrapper(*args: Any) -> None:
        for f in wrappers:
            f(*args)

    return WrapLinker(linkers, wrapper)
