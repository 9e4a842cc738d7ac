"""The compiled function itself: arguments in, outputs out, updates, access to its stored values."""

from __future__ import annotations

import copy
import inspect
import keyword
import time
from collections.abc import Iterator
from typing import Any

from theano.compile.io import In
from theano.compile.profiling import make_profile
from theano.configparser import config
from theano.gof import Constant, Container, FunctionGraph, Variable, engine
from theano.gof.link import raise_with_op
from theano.gof.stack_traces import get_variable_trace_string
from theano.gof.supervisor import Supervisor
from theano.process import new_lock

#: Stands in the finder for names that several inputs have.
DUPLICATE = ["DUPLICATE"]
#: Marks an input without a default value.
NODEFAULT = ["NODEFAULT"]


def get_info_on_inputs(named_inputs: list[str], n_unnamed_inputs: int) -> str:
    """Return a sentence about the named and unnamed inputs of a function.

    Parameters
    ----------
    named_inputs : list of str
        Names of the inputs that have one.
    n_unnamed_inputs : int
        How many have none.

    Returns
    -------
    str
        The sentence.

    See Also
    --------
    theano.printing.debugprint : Print a graph as a tree of text.

    Examples
    --------
    >>> print(get_info_on_inputs(["x", "y"], 0))
    The function has 2 named inputs (x, y).
    """

    def plural(word: str, n: int) -> str:
        return word if n == 1 else word + "s"

    n_named = len(named_inputs)
    hint = "(use 'name=...' in a variable's constructor to give it a name)."
    if n_named == 0 and n_unnamed_inputs == 0:
        return "The function is supposed to have no input."
    if n_named == 0:
        if n_unnamed_inputs == 1:
            return (
                "The function has a single input variable which has no name, and thus cannot be assigned through "
                f"keyword argument {hint}"
            )
        return (
            f"The function has {n_unnamed_inputs} inputs, but none of them is named, and thus they cannot be "
            f"assigned through keyword arguments {hint}"
        )
    named = f"{n_named} named {plural('input', n_named)} ({', '.join(map(str, named_inputs))})"
    if n_unnamed_inputs == 0:
        return f"The function has {named}."
    return (
        f"The function has {named}, and {n_unnamed_inputs} unnamed {plural('input', n_unnamed_inputs)} which thus "
        f"cannot be accessed through keyword {plural('argument', n_unnamed_inputs)} {hint}"
    )


class _ByKey:
    """Access to the containers of a function, or to their values, by position, name or variable."""

    def __init__(self, function: Function):
        self._function = function

    def _container(self, key: Any) -> Container:
        function = self._function
        try:
            container = function.finder[key]
        except (KeyError, TypeError):
            info = get_info_on_inputs(function._named_inputs, function._n_unnamed_inputs)
            raise TypeError(f"Unknown input or state: {key}. {info}") from None
        if container is DUPLICATE:
            raise TypeError(
                f"Ambiguous name: {key} - please check the names of the inputs of your function for duplicates."
            )
        return container

    def __len__(self) -> int:
        return len(self._function.input_storage)

    def __getitem__(self, key: Any) -> Any:
        return self._container(key)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, key: Any) -> bool:
        try:
            return key in self._function.finder
        except TypeError:
            return False


class _Containers(_ByKey):
    """The containers of a function's inputs; read-only."""


class _Values(_ByKey):
    """The current values of a function's inputs."""

    def __getitem__(self, key: Any) -> Any:
        return self._container(key).value

    def __setitem__(self, key: Any, value: Any) -> None:
        container = self._container(key)
        container.value = value
        container.provided += 1


def _is_name(name: str | None) -> bool:
    """Whether a function or an argument can have this name in Python."""
    return name is not None and name.isidentifier() and not keyword.iskeyword(name)


class _Signature:
    """What `inspect.signature` of a function shows; nothing for the class itself."""

    def __get__(self, function: Function | None, owner: type) -> inspect.Signature | None:
        if function is None:
            return None
        parameters = []
        for index, container in enumerate(function.input_storage):
            if container.implicit:
                continue
            spec = function.inv_finder[container]  # type: ignore[index]
            name, variable = spec.name, getattr(spec, "variable", None)
            by_name = _is_name(name) and function.finder[name] is container  # type: ignore[index]
            parameters.append(
                inspect.Parameter(
                    name if by_name else f"input_{index}",
                    inspect.Parameter.POSITIONAL_OR_KEYWORD if by_name else inspect.Parameter.POSITIONAL_ONLY,
                    default=inspect.Parameter.empty if container.required else spec.value,
                    annotation=variable.type if variable is not None else inspect.Parameter.empty,
                )
            )
        try:
            return inspect.Signature(parameters)
        except ValueError:
            # An input without a default after one with, or without a name after one with a name.
            return inspect.Signature([p.replace(kind=p.POSITIONAL_ONLY, default=p.empty) for p in parameters])


_BINDING = ("fn", "profile", "output_keys", "return_none", "unpack_single")
"""The attributes that decide what a call means; they may be changed at any time, by any thread."""


class Function(engine.current.function_base):  # type: ignore[name-defined]
    """A compiled function.

    Made by :func:`theano.function`. Call it with the values of its inputs, in
    order or by name. Index it with the position, name or variable of an input to
    read or set the stored value.

    Functions are equal only to themselves. A copy (``copy.copy``) has containers
    of its own with the current values; :meth:`copy` makes functions that keep the
    same shared variables. Functions can be pickled.

    Parameters
    ----------
    fn : callable
        The linked program, a function without arguments.
    input_storage, output_storage : list of Container
        The cells of the values that go in and come out.
    indices : list
        Of each input its description, the variables that are set with it, and the cells.
    outputs : list of Out
        Descriptions of the outputs.
    defaults : list of tuple
        Of each input whether a value is required, whether it is put back after a call, and the value.
    unpack_single : bool
        Whether the value of the only output is returned itself, not in a list.
    return_none : bool
        Whether None is returned, as there are no outputs that were asked for.
    output_keys : list of str
        The keys of the dictionary that is returned, or None.
    maker : FunctionMaker
        What made it.
    name : str, optional
        For messages and profiles.

    Attributes
    ----------
    maker : FunctionMaker
        What created the function; ``maker.fgraph`` is the optimized graph.
    name : str
        Name, for messages and profiles.
    trust_input : bool
        True skips the checks and conversions of arguments.
    profile : ProfileStats or None
        Collected timings.
    fn : callable
        The linked program.
    finder : dict
        Containers by position, name and variable of the input.
    inv_finder : dict
        Descriptions of the inputs by container.

    See Also
    --------
    theano.compile.orig_function : Compile descriptions of inputs and outputs to a function.
    theano.FunctionMaker : Optimizes and links a graph, and creates functions from the result.
    theano.function : Return a callable that computes `outputs` from `inputs`.

    Examples
    --------
    >>> import theano
    >>> x, y = theano.tensor.dscalars("xy")
    >>> f = theano.function([x, theano.In(y, value=10.0)], x + y)
    >>> float(f(1)), float(f(1, y=2)), float(f["y"])
    (11.0, 3.0, 10.0)
    >>> f["y"] = 20
    >>> float(f(1))
    21.0
    """

    maker: Any = None
    fn: Any = None
    finder: dict[Any, Any] | None = None
    inv_finder: dict[Container, Any] | None = None
    value: _Values | None = None
    container: _Containers | None = None

    def __init__(
        self,
        fn: Any,
        input_storage: list[Container],
        output_storage: list[Container],
        indices: list[Any],
        outputs: list[Any],
        defaults: list[tuple[bool, bool, Any]],
        unpack_single: bool,
        return_none: bool,
        output_keys: list[str] | None,
        maker: Any,
        name: str | None = None,
    ):
        self.fn = fn
        self.input_storage = input_storage
        self.output_storage = output_storage
        self.indices = indices
        self.outputs = outputs
        self.defaults = defaults
        self.unpack_single = unpack_single
        self.return_none = return_none
        self.output_keys = output_keys
        self.maker = maker
        self.name = name
        self.profile = None
        self._call_lock = new_lock()
        self.trust_input = False
        self.finder = {}
        self.inv_finder = {}
        self._named_inputs: list[str] = []
        self._n_unnamed_inputs = 0
        self._updated = [
            container for (spec, _, _), container in zip(indices, input_storage) if spec.update is not None
        ]
        self.n_returned_outputs = len(output_storage) - len(self._updated)
        # The others are the storage of inputs.
        self._computed_outputs = [c for c, computed in zip(output_storage, maker.computed_outputs()) if computed]
        self._refeeds = []
        self._may_alias: list[int] = []

        for index, ((spec, _, _), (required, refeed, value), container) in enumerate(
            zip(indices, defaults, input_storage)
        ):
            container.strict = spec.strict
            container.allow_downcast = spec.allow_downcast
            container.required = required
            container.implicit = spec.implicit
            container.provided = 0
            if value is not None:
                container.value = value
            if refeed:
                self._refeeds.append((container, container.storage[0]))
            # What is only borrowed is not overwritten: others may share its memory.
            if not getattr(spec, "shared", False) and spec.mutable:
                self._may_alias.append(index)
            self.finder[index] = container
            self.finder[spec.variable] = container
            if spec.name is None:
                self._n_unnamed_inputs += 1
            else:
                self._named_inputs.append(spec.name)
                self.finder[spec.name] = DUPLICATE if spec.name in self.finder else container
            self.inv_finder[container] = spec
        self.value = _Values(self)
        self.container = _Containers(self)
        self._bind_fast_path()

    __signature__ = _Signature()

    @property
    def nodes_with_inner_function(self) -> list[Any]:
        """The nodes that may hold a function of their own, as loops do."""
        return _nodes_with_inner_function(self.maker)

    @property
    def __name__(self) -> str:
        # A function without a name goes by the line that compiled it.
        return self.name if _is_name(self.name) else "function"

    def __repr__(self) -> str:
        if self.container is None:
            return f"<{type(self).__module__}.{type(self).__name__} that is not initialized>"
        inputs = ", ".join(f"{p.name}: {p.annotation}" for p in inspect.signature(self).parameters.values())
        types = [str(v.type) for v in self.maker.fgraph.outputs[: self.n_returned_outputs]]
        if self.output_keys is not None:
            types = [f"{key}: {type_}" for key, type_ in zip(self.output_keys, types, strict=True)]
        outputs = types[0] if self.unpack_single and len(types) == 1 else f"[{', '.join(types)}]"
        return f"<theano.Function {self.name}({inputs}) -> {'None' if self.return_none else outputs}>"

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _BINDING and self.container is not None:
            self._bind_fast_path()

    def _bind_fast_path(self) -> None:
        """Let calls with plain positional arguments run without Python where that means the same."""
        seen = None
        # Another thread may change an attribute meanwhile: who binds last must have seen it.
        while seen != (seen := [getattr(self, name) for name in _BINDING]):
            program = getattr(self.fn, "program", None)
            explicit = [i for i, container in enumerate(self.input_storage) if not container.implicit]
            required = [i for i in explicit if self.input_storage[i].required]
            positional = list(range(len(required)))
            if (
                program is None
                or getattr(program, "runs_in_python", False)
                or self.profile is not None
                or self.output_keys is not None
                or self._may_alias
                # A call with another value for a default puts it where the program looks for the default.
                or self._refeeds
                or required != positional
                or any(self.input_storage[i].strict for i in required)
            ):
                self._fast_bind(None, (), 0, None)
            else:
                single = None if self.return_none else bool(self.unpack_single and self.n_returned_outputs == 1)
                lists = tuple(getattr(self.input_storage[i].type, "nested_arrays", None) for i in required)
                self._fast_bind(program, tuple(required), self.n_returned_outputs, single, lists=lists)

    @property
    def _check_for_aliased_inputs(self) -> bool:
        """Whether arguments that share memory with one that may be overwritten are copied."""
        return bool(self._may_alias)

    def __contains__(self, key: Any) -> bool:
        return key in self.value

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value[key] = value

    def _slow_call(self, *args: Any, output_subset: Any = None, **kwargs: Any) -> Any:
        """Evaluate the function.

        Parameters
        ----------
        *args
            Values of the inputs in order.
        output_subset : list of int or str, optional
            Positions or keys of the wanted outputs. The updates are done in any
            case.
        **kwargs
            Values of inputs by name.

        Returns
        -------
        object
            A value, a list, a dictionary or None, as the outputs were given.

        Raises
        ------
        TypeError
            For missing, unknown, repeated or ill-typed arguments.
        """
        profile = self.profile
        start = time.perf_counter() if profile else 0.0
        wanted = self._positions_of_outputs(output_subset)
        # The containers belong to one call at a time.
        with self._call_lock:
            try:
                self._take_arguments(args, kwargs)
                outputs = self._run(wanted, profile)
            finally:
                for container in self.input_storage:
                    container.provided = 0
                    if container.required:
                        container.storage[0] = None
                for container, value in self._refeeds:
                    container.storage[0] = value
            if profile:
                elapsed = time.perf_counter() - start
                profile.fct_call_time += elapsed
                profile.fct_callcount += 1
                if hasattr(self.fn, "update_profile"):
                    self.fn.update_profile(profile)
                if profile.ignore_first_call:
                    profile.reset()
                    profile.ignore_first_call = False

        if self.return_none:
            return None
        if self.output_keys is not None:
            keep = range(len(outputs)) if wanted is None else wanted
            return {self.output_keys[i]: outputs[i] for i in keep}
        if wanted is not None:
            return [outputs[i] for i in wanted]
        if self.unpack_single and len(outputs) == 1:
            return outputs[0]
        return outputs

    def _positions_of_outputs(self, output_subset: Any) -> list[int] | None:
        if output_subset is None:
            return None
        if self.output_keys is not None:
            return [self.output_keys.index(key) if isinstance(key, str) else key for key in output_subset]
        return list(output_subset)

    def _take_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Put the arguments into the containers; complain about everything that is wrong with them."""
        storage = self.input_storage
        if len(args) + len(kwargs) > len(storage):
            known = ", ".join(str(self._input_label(container)) for container in storage if not container.implicit)
            raise TypeError(
                f"Too many parameter passed to theano function{f' {self.name}' if self.name else ''}:"
                f" it takes {sum(not container.implicit for container in storage)} ({known}), {len(args) + len(kwargs)}"
                " were given."
            )
        for container in storage:
            container.provided = 0
        if self.trust_input:
            for container, arg in zip(storage, args):
                container.storage[0] = arg
                container.provided = 1
        else:
            for index, arg in enumerate(args):
                container = storage[index]
                try:
                    # None stands for an absent value, which some Ops know what to do about.
                    container.storage[0] = None if arg is None else container.type.filter(
                        arg, strict=container.strict, allow_downcast=container.allow_downcast
                    )
                except Exception as error:
                    self._explain_bad_argument(error, index)
                    raise
                container.provided = 1
        for key, arg in kwargs.items():
            try:
                self.value[key] = arg
            except Exception as error:
                if key in self.finder and self.finder[key] is not DUPLICATE:
                    self._explain_bad_argument(error, storage.index(self.finder[key]))
                raise

        for container in storage:
            if container.provided:
                if container.provided > 1:
                    raise TypeError(f"Multiple values for input: {self._input_label(container)}")
                if container.implicit:
                    raise TypeError(f"Tried to provide value for implicit input: {self._input_label(container)}")
            elif container.required:
                raise TypeError(f"Missing required input: {self._input_label(container)}")
        if self._may_alias:
            self._separate_aliased_arguments()

    def _input_label(self, container: Container) -> Any:
        spec = self.inv_finder[container]
        return getattr(spec, "variable", spec)

    def _explain_bad_argument(self, error: Exception, index: int) -> None:
        variable = self.maker.inputs[index].variable
        argument = "argument" + (f' with name "{variable.name}"' if variable.name else "")
        function = "theano function" + (f' with name "{self.name}"' if self.name else "")
        message = f"Bad input {argument} to {function} at index {index} (0-based). {get_variable_trace_string(variable)}"
        if len(error.args) == 1:
            error.args = (message + str(error.args[0]),)
        else:
            error.args = (message, *error.args)

    def _separate_aliased_arguments(self) -> None:
        """Copy arguments that share memory with one that the function may overwrite."""
        storage = self.input_storage
        for index in self._may_alias:
            value = storage[index].storage[0]
            for other, container in enumerate(storage):
                if other == index or (other < index and other in self._may_alias):
                    continue
                type_: Any = container.type
                if not hasattr(type_, "may_share_memory") or type_ is None:
                    continue
                if container.storage[0] is not None and type_.may_share_memory(value, container.storage[0]):
                    if container.required or container.provided:
                        container.storage[0] = copy.copy(container.storage[0])
                    else:
                        value = storage[index].storage[0] = copy.copy(value)

    def _run(self, wanted: list[int] | None, profile: Any) -> list[Any]:
        """Run the program, write the updates, and return all outputs that the caller may see."""
        fn = self.fn
        start = time.perf_counter() if profile else 0.0
        try:
            if wanted is not None and getattr(fn, "supports_output_subset", False):
                outputs = fn(output_subset=wanted)
            else:
                outputs = fn()
        except Exception:
            position = getattr(fn, "position_of_error", None)
            if position is None or position < 0:
                raise
            thunks = getattr(fn, "thunks", None)
            thunk = thunks[position] if thunks else None
            raise_with_op(fn.nodes[position], thunk=thunk, storage_map=getattr(fn, "storage_map", None))
        if profile:
            profile.vm_call_time += time.perf_counter() - start
        if outputs is None:
            outputs = [container.storage[0] for container in self.output_storage]
        else:
            outputs = list(outputs)

        n_returned = self.n_returned_outputs
        if self._updated and getattr(fn, "need_update_inputs", True):
            new_values = [
                container.type.filter(value) for container, value in zip(self._updated, outputs[n_returned:])
            ]
            for container, value in zip(self._updated, new_values):
                container.storage[0] = value
        if getattr(fn, "allow_gc", False):
            for container in self._computed_outputs:
                container.storage[0] = None
        return outputs[:n_returned]

    def free(self) -> None:
        """Forget intermediate values, which functions compiled with ``allow_gc=False`` keep between calls."""
        fn = self.fn
        with self._call_lock:
            if hasattr(fn, "free"):
                fn.free()
            if not getattr(fn, "allow_gc", False):
                for variable, storage in getattr(fn, "storage_map", {}).items():
                    if not isinstance(variable, Constant) and variable.owner is not None:
                        storage[0] = None
        for node in [] if self.maker.is_recalled else self.nodes_with_inner_function:
            # Not by the property `fn`, which would compile it.
            inner = vars(node.op).get("_fn")
            if isinstance(inner, Function):
                inner.free()

    def get_shared(self) -> list[Variable]:
        """Return the shared variables that the function reads or updates."""
        return [spec.variable for spec in self.maker.inputs if spec.implicit]

    def sync_shared(self) -> None:
        """Wait until the shared variables have their new values; here that is the case after every call."""

    def copy(
        self,
        share_memory: bool = False,
        swap: dict[Variable, Variable] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
        profile: Any = None,
    ) -> Function:
        """Return a function that computes the same, with a maker and a graph of its own.

        Parameters
        ----------
        share_memory : bool
            Whether both functions use the same storage for intermediate values.
            They must not run at the same time then.
        swap : dict, optional
            Shared variables with the shared variables that the copy uses instead.
        delete_updates : bool
            Whether the copy leaves the shared variables alone.
        name : str, optional
            Name of the copy; by default that of this function with " copy".
        profile : bool, str or ProfileStats, optional
            As for :func:`theano.function`.

        Returns
        -------
        Function
            The copy.

        Raises
        ------
        ValueError
            If `swap` names a variable that this function does not have.
        """
        maker = self.maker
        fgraph, equiv = _clone_graph(maker.fgraph, self.n_returned_outputs if delete_updates else None)
        specs = [copy.copy(spec) for spec in maker.inputs]
        dropped = [i for i, spec in enumerate(specs) if delete_updates and spec.update is not None]
        for index in dropped:
            specs[index].update = None
            if getattr(specs[index], "shared", False):
                specs[index].mutable = False
        _protect_inputs(fgraph, dropped)

        storages: list[Any] = []
        for spec, container in zip(specs, self.input_storage):
            if getattr(spec, "shared", False) or isinstance(spec.value, Container):
                storages.append(spec.value)
            else:
                storages.append(copy.copy(container.storage[0]) if spec.mutable else container.storage[0])
        for old, new in (swap or {}).items():
            _swap(specs, storages, fgraph, old, new)

        storage_map = None
        if share_memory:
            old_map = getattr(self.fn, "storage_map", None) or {}
            outer = set(maker.fgraph.inputs) | set(maker.fgraph.outputs)
            storage_map = {equiv[v]: storage for v, storage in old_map.items() if v in equiv and v not in outer}

        if name is None:
            name = f"{self.name} copy" if self.name else None
        outputs = [copy.copy(output) for output in maker.outputs]
        new_maker = type(maker)(
            inputs=specs,
            outputs=None if self.return_none else outputs[0] if self.unpack_single else outputs,
            mode=maker.mode,
            accept_inplace=maker.accept_inplace,
            function_builder=maker.function_builder,
            profile=make_profile(profile, name),
            on_unused_input="ignore",
            fgraph=fgraph,
            output_keys=maker.output_keys,
            name=name,
        )
        function = new_maker.create(storages, storage_map=storage_map)
        function.trust_input = self.trust_input
        return function

    def _repr_html_(self) -> str:
        from theano.printing.notebook import function_html

        return function_html(self)

    def __copy__(self) -> Function:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        maker = copy.deepcopy(self.maker, memo)
        # Functions that share containers go on sharing them where they are copied together.
        containers = [copy.deepcopy(container, memo) for container in self.input_storage]
        function = _created(maker, containers, self.name, self.trust_input)
        function.defaults = copy.deepcopy(self.defaults, memo)
        memo[id(self)] = function
        return function

    def __reduce__(self) -> Any:
        return _pickle_Function(self)


def _pickle_Function(f: Function) -> Any:
    """Return what rebuilds a function: its maker and the containers of its inputs, without temporaries."""
    return _unpickle_function, (f.maker, list(f.input_storage), f.name, f.trust_input)


def _unpickle_function(maker: Any, stored: list[Any], name: str | None, trust_input: bool) -> Function | None:
    if not config.unpickle_function or maker is None:
        return None
    return _created(maker, stored, name, trust_input)


def _created(maker: Any, stored: list[Any], name: str | None, trust_input: bool) -> Function:
    """A function whose inputs are stored in the given containers."""
    function = maker.create(stored, trustme=True)
    function.name = name
    function.trust_input = trust_input
    return function


def _nodes_with_inner_function(maker: Any) -> list[Any]:
    from theano.gof.op import ops_with_inner_function

    classes = tuple(ops_with_inner_function)
    return [node for node in maker.fgraph.apply_nodes if isinstance(node.op, classes)]


def _clone_graph(fgraph: FunctionGraph, n_outputs: int | None) -> tuple[FunctionGraph, dict[Any, Any]]:
    """Return a clone of the graph with its first outputs, and the map from old to new variables and nodes."""
    from theano.gof.graph import clone_get_equiv

    outputs = fgraph.outputs if n_outputs is None else fgraph.outputs[:n_outputs]
    equiv = clone_get_equiv(fgraph.inputs, outputs)
    update_mapping = getattr(fgraph, "update_mapping", None) if n_outputs is None else None
    inputs = [equiv[i] if i in equiv else i.clone() for i in fgraph.inputs]
    clone = FunctionGraph(inputs, [equiv[o] for o in outputs], clone=False, update_mapping=update_mapping)
    replaced = dict(zip(fgraph.inputs, inputs, strict=True))
    for feature in fgraph._features:
        if isinstance(feature, Supervisor):
            clone.attach_feature(Supervisor([replaced[v] for v in feature.protected if v in replaced]))
    return clone, equiv


def _protect_inputs(fgraph: FunctionGraph, indices: list[int]) -> None:
    """Make operations that overwrite the given inputs work on a copy."""
    from theano.gof.copying import deep_copy_op

    for index in indices:
        variable = fgraph.inputs[index]
        if _is_destroyed(variable):
            replacement = deep_copy_op(variable)
            for client, position in list(variable.clients):
                fgraph.change_input(client, position, replacement, reason="Function.copy")


def _is_destroyed(variable: Variable) -> bool:
    stack, seen = [variable], {variable}
    while stack:
        for client, position in stack.pop().clients:
            if client == "output":
                continue
            for sources in getattr(client.op, "destroy_map", {}).values():
                if position in sources:
                    return True
            for index, sources in getattr(client.op, "view_map", {}).items():
                view = client.outputs[index]
                if position in sources and view not in seen:
                    seen.add(view)
                    stack.append(view)
    return False


def _swap(specs: list[In], storages: list[Any], fgraph: FunctionGraph, old: Variable, new: Any) -> None:
    from theano.gof.sharedvalue import SharedVariable

    index = next((i for i, spec in enumerate(specs) if spec.variable is old), None)
    if index is None:
        raise ValueError(f"SharedVariable {old} was not found in the inputs of the function")
    if not isinstance(new, SharedVariable):
        raise TypeError(f"Only a shared variable can be swapped in, got {new}")
    if new.type != old.type:
        raise TypeError(f"The swapped variables must have the same type: {old.type} and {new.type}")
    specs[index].variable = new
    specs[index].value = new.container
    specs[index].name = new.name
    storages[index] = new.container
    fgraph.inputs[index].name = new.name
