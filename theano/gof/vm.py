"""Virtual machines that run a graph node by node in Python, and the linker that makes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from theano.configdefaults import config
from theano.gof import link, utils
from theano.gof.graph import Constant, Variable


class VM:
    """Base of the virtual machines: the callable that runs a graph.

    Parameters
    ----------
    nodes : list of Apply
        In the order of running.
    thunks : list of callables
        One per node.
    pre_call_clear : list of lists
        Cells to empty before each run.

    Attributes
    ----------
    call_counts, call_times : list
        Per node, how often and for how many seconds it ran since `update_profile`; filled if `time_thunks`.
    time_thunks : bool
        Whether to time every node; default `config.profile`.
    need_update_inputs : bool
        Whether the caller has to copy the updates from the outputs to the inputs.

    Examples
    --------
    >>> class Backwards(VM):
    ...     def run(self, output_subset=None):
    ...         for thunk in reversed(self.thunks):
    ...             thunk()
    >>> Backwards(["sin", "exp"], [lambda: print("sin"), lambda: print("exp")], [])()
    exp
    sin
    """

    need_update_inputs = True
    supports_output_subset = False
    allow_gc = False

    def __init__(self, nodes: Sequence[Any], thunks: Sequence[Any], pre_call_clear: Sequence[list]):
        if len(nodes) != len(thunks):
            raise ValueError("There must be as many thunks as nodes")
        self.nodes = list(nodes)
        self.thunks = list(thunks)
        self.pre_call_clear = list(pre_call_clear)
        self.call_counts = [0] * len(self.nodes)
        self.call_times = [0.0] * len(self.nodes)
        self.time_thunks = False
        self.storage_map: dict[Variable, list] = {}
        self.compute_map: dict[Variable, list] = {}
        self.destroyed: link.DestroyedInputs | None = None
        # Pairs (cell of an updated input, cell of its new value).
        self.updates: list[tuple[list, list]] = []

    def run(self, output_subset: Sequence[int] | None = None) -> None:
        """Compute the outputs' cells from the inputs'."""
        raise NotImplementedError("override me")

    def __call__(self, output_subset: Sequence[int] | None = None) -> None:
        """Run the graph and, unless `need_update_inputs`, write the updates.

        Parameters
        ----------
        output_subset : list of int, optional
            Positions of the outputs to compute, where `supports_output_subset`.

        Raises
        ------
        Exception
            What a node raised, with a description of the node. The inputs then have the values they had.
        """
        for cell in self.pre_call_clear:
            cell[0] = None
        if self.destroyed is None:
            self.run(output_subset)
        else:
            saved = self.destroyed.save()
            try:
                self.run(output_subset)
            except BaseException:
                self.destroyed.restore(saved)
                raise
        if self.updates:
            values = [new[0] for _, new in self.updates]
            for (cell, _), value in zip(self.updates, values):
                cell[0] = value

    def clear_storage(self) -> None:
        """Free the values that the machine holds on to between calls."""

    def free(self) -> None:
        """Forget intermediate values."""
        self.clear_storage()

    def update_profile(self, profile: Any) -> None:
        """Add the counts and times of the nodes to `profile`, and start counting anew.

        Parameters
        ----------
        profile : ProfileStats
        """
        for node, thunk, seconds, count in zip(self.nodes, self.thunks, self.call_times, self.call_counts):
            profile.apply_time[node] = profile.apply_time.get(node, 0.0) + seconds
            profile.apply_callcount[node] = profile.apply_callcount.get(node, 0) + count
            profile.apply_cimpl[node] = hasattr(thunk, "cthunk")
        for attribute in (
            "variable_shape",
            "variable_strides",
            "variable_offset",
            "node_executed_order",
            "node_cleared_order",
            "dependencies",
        ):
            if hasattr(self, attribute):
                setattr(profile, attribute, copy(getattr(self, attribute)))
        for i in range(len(self.call_times)):
            self.call_times[i] = 0.0
            self.call_counts[i] = 0


class Loop(VM):
    """Runs all thunks unconditionally in order; values stay until the next call.

    Examples
    --------
    >>> import theano.tensor as T
    >>> cell = [3.0]
    >>> def double():
    ...     cell[0] *= 2
    >>> run = Loop([T.sin(T.scalar("x")).owner], [double], [])
    >>> run()
    >>> run()
    >>> cell
    [12.0]
    """

    def run(self, output_subset: Sequence[int] | None = None) -> None:
        i = 0
        try:
            if self.time_thunks:
                counts, times, clock = self.call_counts, self.call_times, time.perf_counter
                for i, thunk in enumerate(self.thunks):  # noqa: B007 - for the handler below
                    start = clock()
                    thunk()
                    times[i] += clock() - start
                    counts[i] += 1
            else:
                for i, thunk in enumerate(self.thunks):  # noqa: B007 - for the handler below
                    thunk()
        except Exception:
            link.raise_with_op(self.nodes[i], self.thunks[i], storage_map=self.storage_map)

    def clear_storage(self) -> None:
        for var, cell in self.storage_map.items():
            if var.owner is not None:
                cell[0] = None


class LoopGC(VM):
    """Runs all thunks unconditionally in order and empties cells as soon as they are not needed.

    Parameters
    ----------
    nodes, thunks, pre_call_clear
        See `VM`.
    post_thunk_clear : list of lists
        Per node, the cells to empty after it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> between, out = [None], [None]
    >>> def first():
    ...     between[0] = 3.0
    >>> def second():
    ...     out[0] = 2 * between[0]
    >>> y = T.sin(T.scalar("x"))
    >>> LoopGC([y.owner, T.exp(y).owner], [first, second], [], [[], [between]])()
    >>> between, out
    ([None], [6.0])
    """

    allow_gc = True

    def __init__(
        self,
        nodes: Sequence[Any],
        thunks: Sequence[Any],
        pre_call_clear: Sequence[list],
        post_thunk_clear: Sequence[Sequence[list]],
    ):
        super().__init__(nodes, thunks, pre_call_clear)
        if len(post_thunk_clear) != len(self.nodes):
            raise ValueError("post_thunk_clear must have an entry per node")
        self.post_thunk_clear = [list(cells) for cells in post_thunk_clear]
        self.allow_gc = True

    def run(self, output_subset: Sequence[int] | None = None) -> None:
        i = 0
        try:
            if self.time_thunks:
                counts, times, clock = self.call_counts, self.call_times, time.perf_counter
                for i, (thunk, old) in enumerate(zip(self.thunks, self.post_thunk_clear)):  # noqa: B007
                    start = clock()
                    thunk()
                    times[i] += clock() - start
                    counts[i] += 1
                    for cell in old:
                        cell[0] = None
            else:
                for i, (thunk, old) in enumerate(zip(self.thunks, self.post_thunk_clear)):  # noqa: B007
                    thunk()
                    for cell in old:
                        cell[0] = None
        except Exception:
            link.raise_with_op(self.nodes[i], self.thunks[i], storage_map=self.storage_map)


class Stack(VM):
    """Computes only what the wanted outputs need, starting from them.

    A thunk with a true attribute `lazy` may return the positions of inputs that it needs; it is run again when
    they are computed. It returns None or an empty list when its outputs are.

    Parameters
    ----------
    nodes, thunks, pre_call_clear
        See `VM`.
    storage_map : dict
        The cell of every variable.
    compute_map : dict
        For every variable a list of one bool: whether it is computed.
    fgraph : FunctionGraph
        The graph.
    allow_gc : bool
        Whether values are freed as soon as they are not needed.
    n_updates : int
        How many of the graph's last outputs are updates, which are always computed.
    dependencies : dict, optional
        For every variable the variables whose computation needs its value; see `VM_Linker.compute_gc_dependencies`.
    callback : callable, optional
        Called after each node with the keywords `node`, `thunk`, `storage_map` and `compute_map`.
    callback_input : callable, optional
        Called with each input variable and its value at the start of a run.

    Examples
    --------
    >>> import theano
    >>> from theano.ifelse import ifelse
    >>> c, x, y = theano.tensor.dscalars("cxy")
    >>> mode = theano.Mode(linker=VM_Linker(lazy=True, use_cloop=False), optimizer=None)
    >>> f = theano.function([c, x, y], ifelse(c, theano.tensor.exp(x), theano.tensor.log(y)), mode=mode)
    >>> isinstance(f.fn, Stack), float(f(1, 0, 5))
    (True, 1.0)
    >>> len(f.fn.node_executed_order), len(f.fn.nodes)
    (2, 3)
    """

    supports_output_subset = True

    def __init__(
        self,
        nodes: Sequence[Any],
        thunks: Sequence[Any],
        pre_call_clear: Sequence[list],
        storage_map: dict[Variable, list],
        compute_map: dict[Variable, list],
        fgraph: Any,
        allow_gc: bool,
        n_updates: int = 0,
        dependencies: dict[Variable, Any] | None = None,
        callback: Callable | None = None,
        callback_input: Callable | None = None,
    ):
        super().__init__(nodes, thunks, pre_call_clear)
        self.allow_gc = allow_gc
        self.storage_map = storage_map
        self.compute_map = compute_map
        self.fgraph = fgraph
        self.n_updates = n_updates
        self.callback = callback
        self.callback_input = callback_input
        self.outputs = list(fgraph.outputs)
        self.node_idx = {node: i for i, node in enumerate(self.nodes)}
        self.variable_shape: dict[Variable, Any] = {}
        self.variable_strides: dict[Variable, Any] = {}
        self.variable_offset: dict[Variable, Any] = {}
        self.node_executed_order: list[Any] = []
        self.node_cleared_order: list[Any] = []
        if allow_gc and dependencies is None:
            raise ValueError("Must set dependencies when using GC")
        self.dependencies = dependencies or {}
        # A node that destroys an input runs after the others that read it.
        orderings = fgraph.orderings()
        self.needs: list[list[Variable]] = []
        for node in self.nodes:
            needs = list(dict.fromkeys(node.inputs))
            for other in orderings.get(node, ()):
                needs.extend(out for out in other.outputs if out not in needs)
            self.needs.append(needs)
        self.before: list[list[Variable]] = [
            [out for other in orderings.get(node, ()) for out in other.outputs] for node in self.nodes
        ]
        self.lazy = [bool(getattr(thunk, "lazy", False)) for thunk in self.thunks]
        self._keep = set(self.outputs)

    def _wanted(self, output_subset: Sequence[int] | None) -> list[Variable]:
        if output_subset is None:
            return self.outputs
        first_update = len(self.outputs) - self.n_updates
        return [self.outputs[i] for i in output_subset] + self.outputs[first_update:]

    def _run_thunk(self, i: int) -> Any:
        thunk = self.thunks[i]
        if not self.time_thunks:
            return thunk()
        start = time.perf_counter()
        result = thunk()
        self.call_times[i] += time.perf_counter() - start
        self.call_counts[i] += 1
        return result

    def run(self, output_subset: Sequence[int] | None = None) -> None:
        compute_map, storage_map = self.compute_map, self.storage_map
        self.node_executed_order = []
        self.node_cleared_order = []
        for var, flag in compute_map.items():
            flag[0] = var.owner is None
        if self.callback_input is not None:
            for var in self.fgraph.inputs:
                self.callback_input(var, storage_map[var][0])
        memory = self.time_thunks and config.profile_memory
        if memory:
            for var, cell in storage_map.items():
                if var.owner is None:
                    self._note_memory(var, cell[0])
        node_idx, needs, before, lazy = self.node_idx, self.needs, self.before, self.lazy
        # Nodes whose lazy thunk asked for more inputs wait below what they asked for.
        stack = [var.owner for var in reversed(self._wanted(output_subset)) if var.owner is not None]
        while stack:
            node = stack[-1]
            outputs = node.outputs
            if all(compute_map[out][0] for out in outputs):
                stack.pop()
                continue
            i = node_idx[node]
            missing = [var for var in (before[i] if lazy[i] else needs[i]) if not compute_map[var][0]]
            if missing:
                stack.extend(var.owner for var in reversed(missing))
                continue
            try:
                requested = self._run_thunk(i)
            except Exception:
                link.raise_with_op(node, self.thunks[i], storage_map=storage_map)
            if lazy[i] and requested:
                wanted = [node.inputs[j] for j in requested]
                missing = [var for var in wanted if not compute_map[var][0]]
                if not missing:
                    raise RuntimeError(f"the lazy thunk of {node} asks for inputs that are computed already")
                stack.extend(var.owner for var in reversed(missing))
                continue
            stack.pop()
            for out in outputs:
                compute_map[out][0] = True
            self.node_executed_order.append(node)
            if memory:
                for out in outputs:
                    self._note_memory(out, storage_map[out][0])
            if self.callback is not None:
                self.callback(node=node, thunk=self.thunks[i], storage_map=storage_map, compute_map=compute_map)
            self.node_cleared_order.append(self._collect(node) if self.allow_gc else [])
        if self.allow_gc:
            # What an untaken branch shared with a taken one has had no last user.
            for var, cell in storage_map.items():
                if var.owner is not None and var not in self._keep:
                    cell[0] = None

    def _collect(self, node: Any) -> list[int]:
        """Free the inputs of `node` that nothing needs any more; returns their identities."""
        freed = []
        compute_map = self.compute_map
        for var in node.inputs:
            if var.owner is None or var in self._keep or self.storage_map[var][0] is None:
                continue
            waiting = self.dependencies.get(var, ())
            if all(compute_map[other][0] for other in waiting):
                self.storage_map[var][0] = None
                freed.append(id(var))
        return freed

    def _note_memory(self, var: Variable, value: Any) -> None:
        if value is None:
            return
        get_shape_info = getattr(var.type, "get_shape_info", None)
        self.variable_shape[var] = get_shape_info(value) if get_shape_info else getattr(value, "shape", None)
        flags = getattr(value, "flags", None)
        self.variable_strides[var] = "c" if getattr(flags, "c_contiguous", False) else getattr(value, "strides", None)
        self.variable_offset[var] = getattr(getattr(value, "base", None), "__array_interface__", {}).get("data")

    def clear_storage(self) -> None:
        for var, cell in self.storage_map.items():
            if var.owner is not None:
                cell[0] = None


class VM_Linker(link.LocalLinker):
    """Makes a virtual machine that runs the nodes of a graph in Python.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether values are freed as soon as they are not needed; default `config.allow_gc`.
    use_cloop : bool
        Accepted for the sake of the original's signature; the machine in C belongs to
        :mod:`theano.native`, this linker always runs in Python.
    callback : callable, optional
        Called after each node with the keywords `node`, `thunk`, `storage_map` and `compute_map`.
    callback_input : callable, optional
        Called with each input variable and its value before the first node.
    lazy : bool, optional
        Whether to compute only what is needed. Default: if an Op of the graph is lazy; `config.vm.lazy` wins.
    schedule : callable, optional
        See `theano.gof.link.Linker`.
    c_thunks : bool, optional
        False: every node runs its `perform`. True: nodes with C code run that.
        Default: `perform`, and C code where there is nothing else.
    allow_partial_eval : bool, optional
        Whether functions may compute a subset of the outputs without the others.

    See Also
    --------
    theano.PerformLinker : Runs the nodes in order, each by its Op's `perform`.

    Examples
    --------
    >>> from theano import gof
    >>> from theano.scalar import float64
    >>> x = float64('x')
    >>> fgraph = gof.FunctionGraph([x], [x + x])
    >>> f = gof.vm.VM_Linker(use_cloop=False).accept(fgraph).make_function()
    >>> float(f(2.0))
    4.0
    """

    def __init__(
        self,
        allow_gc: bool | None = None,
        use_cloop: bool = False,
        callback: Callable | None = None,
        callback_input: Callable | None = None,
        lazy: bool | None = None,
        schedule: Callable | None = None,
        c_thunks: bool | None = None,
        allow_partial_eval: bool | None = None,
    ):
        super().__init__(allow_gc=allow_gc, scheduler=schedule)
        self.use_cloop = use_cloop
        self.callback = callback
        self.callback_input = callback_input
        self.lazy = lazy
        self.c_thunks = c_thunks
        self.allow_partial_eval = allow_partial_eval
        self.updated_vars: dict[Variable, Variable] = {}

    def clone(self, allow_gc: Any = utils.undef) -> VM_Linker:
        new: VM_Linker = super().clone(allow_gc)
        new.updated_vars = {}
        return new

    def accept_var_updates(self, updated_vars: dict[Variable, Variable]) -> None:
        """Take over writing the updates.

        Parameters
        ----------
        updated_vars : dict
            Maps inputs of the graph to the outputs that are their new values.
        """
        self.updated_vars = updated_vars

    def compute_gc_dependencies(self, variables: Any) -> dict[Variable, list[Variable]]:
        """Find for each variable what has to be computed before its value may be freed.

        Parameters
        ----------
        variables : iterable of Variable
            For instance a storage map.

        Returns
        -------
        dict
            Variables computed from the value, or from a view of it.
        """
        wanted = set(variables)
        dependencies: dict[Variable, list[Variable]] = {}
        for var in variables:
            if var.owner is None or isinstance(var, Constant):
                continue
            found: dict[Variable, None] = {}
            for client, _ in var.clients:
                if client != "output":
                    found.update((out, None) for out in client.outputs if out in wanted)
            dependencies[var] = list(found)
        return dependencies

    def make_vm(
        self,
        nodes: Sequence[Any],
        thunks: Sequence[Any],
        input_storage: list,
        output_storage: list,
        storage_map: dict[Variable, list],
        post_thunk_clear: Sequence[Sequence[list]],
        computed: Any,
        compute_map: dict[Variable, list],
        updated_vars: dict[Variable, Variable],
    ) -> VM:
        """Choose and make the machine for the nodes."""
        fgraph = self.fgraph
        inputs = set(fgraph.inputs)
        pre_call_clear = [storage_map[var] for var in self.no_recycling if var not in inputs]
        profiled = self.profile is not None or config.profile
        # The flag is a string, or was set to a bool.
        lazy = {"True": True, "False": False}.get(str(config.vm.lazy))
        if lazy is None:
            lazy = self.lazy
        if lazy is None:
            lazy = any(getattr(thunk, "lazy", False) for thunk in thunks)
        watched = self.callback is not None or self.callback_input is not None
        machine: VM
        if lazy or watched or self.allow_partial_eval or (profiled and config.profile_memory):
            dependencies = self.compute_gc_dependencies(storage_map) if self.allow_gc else None
            machine = Stack(
                nodes,
                thunks,
                pre_call_clear,
                storage_map,
                compute_map,
                fgraph,
                self.allow_gc,
                len(updated_vars),
                dependencies=dependencies,
                callback=self.callback,
                callback_input=self.callback_input,
            )
            machine.supports_output_subset = bool(self.allow_partial_eval)
        elif self.allow_gc:
            machine = LoopGC(nodes, thunks, pre_call_clear, post_thunk_clear)
        else:
            machine = Loop(nodes, thunks, pre_call_clear)
        machine.time_thunks = bool(profiled)
        machine.storage_map = storage_map
        machine.compute_map = compute_map
        destroyed = link.DestroyedInputs(fgraph, nodes, storage_map)
        machine.destroyed = destroyed if destroyed.cells else None
        machine.updates = [(storage_map[var], storage_map[new]) for var, new in updated_vars.items()]
        machine.need_update_inputs = not machine.updates
        return machine

    def _node_thunk(self, node: Any, storage_map: dict, compute_map: dict, no_recycling: list) -> Any:
        impl = None if self.c_thunks else link.python_impl(node.op)
        return node.op.make_thunk(node, storage_map, compute_map, no_recycling, impl=impl)

    def make_all(
        self,
        profiler: Any = None,
        input_storage: list | None = None,
        output_storage: list | None = None,
        storage_map: dict | None = None,
    ) -> Any:
        fgraph = self.fgraph
        order = self.schedule(fgraph)
        input_storage, output_storage, storage_map = link.map_storage(
            fgraph, order, input_storage, output_storage, storage_map
        )
        compute_map: dict[Variable, list] = {var: [var.owner is None] for var in storage_map}
        no_recycling = list(self.no_recycling)
        thunks = []
        linker_times: dict[Any, float] = {}
        for node in order:
            start = time.perf_counter()
            try:
                thunk = self._node_thunk(node, storage_map, compute_map, no_recycling)
            except Exception as exc:
                exc.args = (f"The following error happened while compiling the node {node}\n", *exc.args)
                raise
            linker_times[node] = time.perf_counter() - start
            thunk.inputs = [storage_map[var] for var in node.inputs]
            thunk.outputs = [storage_map[var] for var in node.outputs]
            if not hasattr(thunk, "lazy"):
                # Ops that have nothing to do with laziness need not know of it.
                thunk.lazy = False
            thunks.append(thunk)
        if self.profile is not None:
            self.profile.linker_node_make_thunks += sum(linker_times.values())
            self.profile.linker_make_thunk_time = linker_times
        computed, last_user = link.gc_helper(order)
        kept = set(fgraph.outputs)
        post_thunk_clear: list[list[list]] = [[] for _ in order]
        if self.allow_gc:
            post_thunk_clear = [
                [
                    storage_map[var]
                    for var in dict.fromkeys(node.inputs)
                    if var in computed and var not in kept and last_user[var] is node
                ]
                # A value that nothing reads is freed at once.
                + [storage_map[var] for var in node.outputs if var not in last_user and var not in kept]
                for node in order
            ]
        machine = self.make_vm(
            order,
            thunks,
            input_storage,
            output_storage,
            storage_map,
            post_thunk_clear,
            computed,
            compute_map,
            self.updated_vars,
        )
        return (
            machine,
            *link.storage_containers(fgraph.inputs, fgraph.outputs, input_storage, output_storage),
            thunks,
            order,
        )

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for name, default in (("c_thunks", None), ("allow_partial_eval", None), ("callback_input", None)):
            self.__dict__.setdefault(name, default)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(allow_gc={self._allow_gc})"


def calculate_reallocate_info(
    order: Sequence[Any],
    fgraph: Any,
    storage_map: dict[Variable, list],
    compute_map_re: dict[Variable, list],
    dependencies: dict[Variable, Any],
) -> dict[Variable, list[Variable]]:
    """Find variables whose memory could be that of a variable that is not needed any more.

    Parameters
    ----------
    order : list of Apply
        The nodes in the order of running.
    fgraph : FunctionGraph
        The graph.
    storage_map : dict
        From each variable to the cell of its value.
    compute_map_re : dict
        Which variables are computed; changed as if the nodes ran.
    dependencies : dict
        See `VM_Linker.compute_gc_dependencies`.

    Returns
    -------
    dict
        Maps a variable to a list [variable that had the memory before, variable that gets it].

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.gof import FunctionGraph
    >>> x = T.scalar("x")
    >>> y = T.sin(x)
    >>> z = T.exp(y)
    >>> y.name, z.name = "y", "z"
    >>> out = T.cos(z)
    >>> fgraph = FunctionGraph([x], [out], clone=False)
    >>> computed = {var: [var is x] for var in (x, y, z, out)}
    >>> order = fgraph.toposort()
    >>> list(calculate_reallocate_info(order, fgraph, {}, computed, {y: [z], z: [out]}).values())
    [[y, Elemwise{cos,no_inplace}.0]]
    """
    reallocated: dict[Variable, list[Variable]] = {}
    viewed: dict[Variable, int] = {}
    free: dict[tuple, list[Variable]] = {}
    kept = set(fgraph.outputs)
    for node in order:
        view_map = getattr(node.op, "view_map", None) or {}
        destroy_map = getattr(node.op, "destroy_map", None) or {}
        for aliases in (view_map, destroy_map):
            for inputs in aliases.values():
                for i in inputs:
                    viewed[node.inputs[i]] = viewed.get(node.inputs[i], 0) + 1
        for i, out in enumerate(node.outputs):
            compute_map_re[out][0] = True
            if i in view_map or i in destroy_map or not hasattr(out.type, "broadcastable"):
                continue
            # Only where the size is known to be equal: scalars of one dtype.
            key = (out.type.dtype, out.type.broadcastable)
            if all(out.type.broadcastable) and free.get(key):
                reallocated[out] = [free[key].pop(), out]
        for var in dict.fromkeys(node.inputs):
            if var.owner is None or var in kept or viewed.get(var) or not hasattr(var.type, "broadcastable"):
                continue
            if all(compute_map_re[other][0] for other in dependencies.get(var, ())):
                free.setdefault((var.type.dtype, var.type.broadcastable), []).append(var)
    return reallocated
