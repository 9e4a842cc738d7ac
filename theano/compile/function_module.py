"""Compiled functions: :class:`FunctionMaker`, which builds them, and :func:`orig_function`."""

from __future__ import annotations

import time
import warnings
from contextlib import nullcontext
from typing import Any

from theano import gof
from theano.compile.aliasing import (  # noqa: F401
    AliasedMemoryError,
    alias_root,
    infer_reuse_pattern,
    insert_deepcopy,
    view_tree_set,
)
from theano.compile.function_object import DUPLICATE, Function, get_info_on_inputs  # noqa: F401
from theano.compile.function_object import _pickle_Function as _pickle_Function
from theano.compile.io import In, SymbolicInput, SymbolicOutput
from theano.compile.mode import Mode, get_mode
from theano.configparser import assigned_flags, change_flags, config, flags_as
from theano.gof import Constant, Container, Variable
from theano.gof.compilelock import compile_lock
from theano.gof.copying import deep_copy_op as deep_copy_op
from theano.gof.loading import loading_seconds
from theano.gof.progress import CompileProgress, stage
from theano.gof.supervisor import Supervisor
from theano.process import garbage_collection_paused


class UnusedInputError(Exception):
    """An input of a function is not used to compute its outputs or updates.

    See Also
    --------
    theano.function : Return a callable that computes `outputs` from `inputs`.

    Examples
    --------
    >>> import theano
    >>> x, y = theano.tensor.dscalars("xy")
    >>> theano.function([x, y], 2 * x)
    Traceback (most recent call last):
        ...
    theano.compile.function_module.UnusedInputError: theano.function was asked to create a function computing outputs ...
    >>> float(theano.function([x, y], 2 * x, on_unused_input="ignore")(3, 4))
    6.0
    """


def std_fgraph(
    input_specs: list[SymbolicInput], output_specs: list[SymbolicOutput], accept_inplace: bool = False
) -> tuple[gof.FunctionGraph, list[SymbolicOutput]]:
    """Make the FunctionGraph of a function, with the features that every function needs.

    The graph is cloned; updates become outputs after the given ones.

    Parameters
    ----------
    input_specs : list of In
        Descriptions of the inputs.
    output_specs : list of Out
        Descriptions of the outputs.
    accept_inplace : bool
        Whether the graph may already have operations that destroy inputs.

    Returns
    -------
    fgraph : FunctionGraph
        The graph.
    additional_outputs : list of Out
        Descriptions of the outputs that are updates.

    Raises
    ------
    TypeError
        If the graph works in place and `accept_inplace` is False.

    See Also
    --------
    theano.compile.insert_deepcopy : Insert copies so that no two outputs, and no output and input, share memory unless
        that is allowed.
    theano.compile.fgraph_updated_vars : Return the map from updated inputs of a function's graph to the outputs that
        update them.
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("xy")
    >>> fgraph, updates = std_fgraph([In(x), In(y, update=x + y, value=0.0)], [])
    >>> fgraph, fgraph.update_mapping, len(updates)
    ([Elemwise{add,no_inplace}(x, y)], {0: 1}, 1)
    """
    updates = []
    update_mapping = {}
    out_index = len(output_specs)
    for in_index, spec in enumerate(input_specs):
        if spec.update is not None:
            updates.append(spec.update)
            update_mapping[out_index] = in_index
            out_index += 1

    inputs = [spec.variable for spec in input_specs]
    outputs = [spec.variable for spec in output_specs] + updates
    fgraph = gof.FunctionGraph(inputs, outputs, update_mapping=update_mapping)

    for node in fgraph.apply_nodes:
        if getattr(node.op, "destroy_map", None):
            if not accept_inplace:
                raise TypeError(f"Graph must not contain inplace operations: {node}, {node.op}")
            fgraph.attach_feature(gof.DestroyHandler())
            break

    destroyers = getattr(fgraph, "destroyers", None)
    protected = [
        variable
        for spec, variable in zip(input_specs, fgraph.inputs)
        if not (spec.mutable or (destroyers and destroyers(variable)))
    ]
    fgraph.attach_feature(Supervisor(protected))
    for feature in std_fgraph.features:
        fgraph.attach_feature(feature())
    return fgraph, [SymbolicOutput(update, borrow=False) for update in updates]


std_fgraph.features = [gof.toolbox.PreserveVariableAttributes]
_FEATURES = list(std_fgraph.features)


def fgraph_updated_vars(fgraph: gof.FunctionGraph, expanded_inputs: list[SymbolicInput]) -> dict[Variable, Variable]:
    """Return the map from updated inputs of a function's graph to the outputs that update them.

    Parameters
    ----------
    fgraph : FunctionGraph
        The graph of a function, whose last outputs are the updates.
    expanded_inputs : list of In
        The descriptions of its inputs.

    Returns
    -------
    dict
        Input variables with the variables of their new values.

    Raises
    ------
    ValueError
        If there are not as many descriptions as inputs.

    See Also
    --------
    theano.compile.std_fgraph : Make the FunctionGraph of a function, with the features that every function needs.
    theano.compile.insert_deepcopy : Insert copies so that no two outputs, and no output and input, share memory unless
        that is allowed.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> specs = [In(x, update=x + 1, value=0.0)]
    >>> fgraph, _ = std_fgraph(specs, [])
    >>> fgraph_updated_vars(fgraph, specs)
    {x: Elemwise{add,no_inplace}.0}
    """
    if len(fgraph.inputs) != len(expanded_inputs):
        raise ValueError(f"There must be as many descriptions as inputs, got {len(expanded_inputs)}, {len(fgraph.inputs)}")
    updated = [i for i, spec in enumerate(expanded_inputs) if spec.update is not None]
    first = len(fgraph.outputs) - len(updated)
    return {fgraph.inputs[i]: fgraph.outputs[first + k] for k, i in enumerate(updated)}


#: Functions with a say about every new function before it is optimized, see :func:`register_checker`.
_checkers: list[Any] = []


def register_checker(checker: Any) -> None:
    """Register a function that is called with each new FunctionMaker's graph; it may raise.

    Parameters
    ----------
    checker : callable
        Called as ``checker(inputs, outputs)`` with the variables of the graph.

    See Also
    --------
    theano.compile.check_equal : Return whether two values are equal, for scalars and for arrays alike.

    Examples
    --------
    >>> import theano.tensor as T
    >>> def names(inputs, outputs):
    ...     if any(v.name is None for v in inputs):
    ...         raise ValueError("give all inputs names")
    >>> register_checker(names)
    >>> x = T.dscalar()
    >>> FunctionMaker([In(x)], 2 * x)
    Traceback (most recent call last):
        ...
    ValueError: give all inputs names
    >>> _checkers.remove(names)
    """
    gof.extensions.note()
    _checkers.append(checker)


def check_equal(x: Any, y: Any) -> bool:
    """Return whether two values are equal, for scalars and for arrays alike.

    Parameters
    ----------
    x, y : object
        Arrays, numbers or anything that can be compared.

    See Also
    --------
    theano.tensor.check_equal_numpy : Return whether two values are equal: arrays of the same dtype and shape up to 1e-10,
        generators by their states.
    theano.compile.register_checker : Register a function that is called with each new FunctionMaker's graph; it may
        raise.

    Examples
    --------
    >>> import numpy as np
    >>> check_equal(np.array([1, 2]), np.array([1, 2])), check_equal(1, 2)
    (True, False)
    """
    try:
        return bool((x == y).all())
    except AttributeError:
        return bool(x == y)


class FunctionMaker:
    """Optimizes and links a graph, and creates functions from the result.

    Parameters
    ----------
    inputs : list of In
        Descriptions of the inputs; an element may also be anything that
        :func:`convert_function_input` takes.
    outputs : Variable, Out, list of them or None
        What to compute. Not a list: the function returns a single value.
    mode : Mode or str, optional
        How to optimize and link.
    accept_inplace : bool
        Whether the graph may already have operations that work in place.
    function_builder : callable
        Class of the functions to create.
    profile : ProfileStats, optional
        Where to collect timings.
    on_unused_input : {'raise', 'warn', 'ignore'}, optional
        What to do about an input that is not used.
    fgraph : FunctionGraph, optional
        A graph that is optimized already, for `inputs` and `outputs`.
    output_keys : list of str, optional
        Names of the outputs, for functions that return a dictionary.
    name : str, optional
        Name of the function.

    Attributes
    ----------
    fgraph : FunctionGraph
        The optimized graph. Where the program was found on disk it is made when it is asked for.
    mode : Mode
        The mode.
    linker : Linker
        The linker, which has accepted the graph.

    See Also
    --------
    theano.compile.Function : A compiled function.
    theano.compile.orig_function : Compile descriptions of inputs and outputs to a function.
    theano.function : Return a callable that computes `outputs` from `inputs`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> maker = FunctionMaker([In(x)], 2 * x, mode="FAST_COMPILE")
    >>> double = maker.create()
    >>> float(double(3)), double.maker is maker
    (6.0, True)
    """

    # Here for makers of users, which may set the graph and the linker themselves.
    _fgraph: gof.FunctionGraph | None = None
    _linker: Any = None
    _key: str | None = None
    _recalled: Any = None
    _flags: Any = None

    def __init__(
        self,
        inputs: list[Any],
        outputs: Any,
        mode: Any = None,
        accept_inplace: bool = False,
        function_builder: type[Function] = Function,
        profile: Any = None,
        on_unused_input: str | None = None,
        fgraph: gof.FunctionGraph | None = None,
        output_keys: list[str] | None = None,
        name: str | None = None,
    ):
        mode = get_mode(mode)
        if getattr(mode, "profile", None):
            if profile not in (None, False):
                raise TypeError("profile passed via both mode and constructor")
            profile = mode.profile
        self.profile = profile

        unpack_single, return_none = True, outputs is None
        if outputs is None:
            outputs, unpack_single = [], False
        elif isinstance(outputs, (list, tuple)):
            unpack_single = False
        else:
            outputs = [outputs]
        outputs = [self.wrap_out(output) for output in outputs]
        inputs = [self.wrap_in(spec) for spec in inputs]

        on_unused_input = _unused_policy(on_unused_input)
        _check_inputs_are_used(
            inputs,
            [output.variable for output in outputs] + [i.update for i in inputs if i.update is not None],
            on_unused_input,
        )

        self.name = name
        self.mode = mode
        self.inputs = inputs
        self.expanded_inputs = inputs
        self.outputs = outputs
        self.unpack_single = unpack_single
        self.return_none = return_none
        self.accept_inplace = accept_inplace
        self.function_builder = function_builder
        self.on_unused_input = on_unused_input
        self.output_keys = output_keys
        self.indices = [[spec, None, [spec]] for spec in inputs]
        self.required = [spec.value is None for spec in inputs]
        # A default without an update is put back after each call.
        self.refeed = [
            spec.value is not None and not isinstance(spec.value, Container) and spec.update is None
            for spec in inputs
        ]

        with compile_lock(), garbage_collection_paused():
            if fgraph is not None:
                updates = [spec.update for spec in inputs if spec.update is not None]
                additional = [SymbolicOutput(update, borrow=False) for update in updates]
                fgraph.profile = None
                self._link(fgraph, mode.linker, outputs + additional)
            elif not self._recall():
                self._complete()

    @property
    def fgraph(self) -> gof.FunctionGraph:
        self._hand_out()
        return self._fgraph

    @fgraph.setter
    def fgraph(self, fgraph: gof.FunctionGraph) -> None:
        if self._key is not None:
            self._hand_out()
        self._fgraph = fgraph

    @property
    def linker(self) -> Any:
        self._hand_out()
        return self._linker

    @linker.setter
    def linker(self, linker: Any) -> None:
        self._complete()
        self._linker = linker

    def _hand_out(self) -> None:
        """Make the graph for somebody who may change it: the key does not stand for what is compiled from now on."""
        self._complete()
        if self._key is not None:
            self._linker.key = None

    @property
    def is_recalled(self) -> bool:
        """Whether the program was found on disk, and nobody has asked for the graph yet."""
        return self._fgraph is None

    def _recall(self) -> bool:
        """Look for the program on disk; return whether it is there."""
        if type(self) is not FunctionMaker or self.profile or config.program_cache == "off":
            return False
        if std_fgraph.features != _FEATURES:
            return False
        # Hashes come with OpenSSL: not when this package is imported.
        from theano.compile.program_key import program_key

        self._key = program_key(self.inputs, self.outputs, self.mode, self.accept_inplace)
        if self._key is not None:
            self._recalled = self.mode.linker.recall(self._key)
            self._flags = assigned_flags()
        return self._recalled is not None

    def _complete(self) -> None:
        """Make the optimized graph, with the flags that were set when the maker was made, and give it to the linker."""
        if self._fgraph is not None:
            return
        with compile_lock():
            if self._fgraph is None:
                with nullcontext() if self._recalled is None else flags_as(self._flags):
                    fgraph, additional = self._prepare(self.inputs, self.outputs, self.accept_inplace)
                    self._link(fgraph, self.mode.linker, self.outputs + additional)

    def computed_outputs(self) -> list[bool]:
        """Return of each output, updates too, whether it is computed: others are the storage of inputs."""
        if self._recalled is not None:
            return list(self._recalled.computed)
        return [v.owner is not None for v in self.fgraph.outputs]

    def __reduce__(self) -> Any:
        arguments = {
            "inputs": self.inputs,
            "outputs": None if self.return_none else self.outputs[0] if self.unpack_single else self.outputs,
            "mode": self.mode,
            "accept_inplace": self.accept_inplace,
            "function_builder": self.function_builder,
            "on_unused_input": "ignore",
            "output_keys": self.output_keys,
            "name": self.name,
        }
        return _unpickle_maker, (type(self), arguments, self.fgraph)

    @staticmethod
    def wrap_in(spec: Any) -> SymbolicInput:
        """Return the description of an input."""
        return convert_function_input(spec)

    @staticmethod
    def wrap_out(output: Any) -> SymbolicOutput:
        """Return the description of an output.

        Raises
        ------
        TypeError
            If `output` is neither a Variable nor an Out.
        """
        if isinstance(output, SymbolicOutput):
            return output
        if isinstance(output, Variable):
            return SymbolicOutput(output)
        raise TypeError(f"Unknown output type: {type(output)} ({output})")

    def _prepare(
        self, inputs: list[SymbolicInput], outputs: list[SymbolicOutput], accept_inplace: bool
    ) -> tuple[gof.FunctionGraph, list[SymbolicOutput]]:
        """Make the optimized graph; return it with the descriptions of the outputs that are updates."""
        profile = self.profile
        fgraph, additional = std_fgraph(inputs, outputs, accept_inplace)
        fgraph.profile = profile
        fgraph.name = self.name
        for checker in _checkers:
            checker(fgraph.inputs, fgraph.outputs)
        optimizer = self.mode._shared_optimizer() if isinstance(self.mode, Mode) else self.mode.optimizer
        # Test values were computed for the user's graph; what rewrites add needs them
        # only when that is asked for.
        flags = {"traceback.limit": config.traceback.compile_limit}
        if config.compute_test_value != config.compute_test_value_opt:
            flags["compute_test_value"] = config.compute_test_value_opt
        with change_flags(**flags):
            start = time.perf_counter()
            before = len(fgraph.apply_nodes)
            stage("rewriting", fgraph)
            optimizer_profile = optimizer(fgraph)
            elapsed = time.perf_counter() - start
            insert_deepcopy(fgraph, inputs, outputs + additional)
        if profile:
            profile.optimizer_time += elapsed
            profile.nb_nodes_before = before
            if config.profile_optimizer:
                profile.add_optimizer_profile(optimizer, optimizer_profile)
        return fgraph, additional

    def _link(self, fgraph: gof.FunctionGraph, linker: Any, outputs: list[SymbolicOutput]) -> None:
        if not hasattr(linker, "accept"):
            raise ValueError(f"'linker' parameter of FunctionMaker should be a Linker with an accept method: {linker}")
        # The mode's own linker stays without graph.
        linker = linker.clone() if hasattr(linker, "clone") else linker
        no_borrow = [variable for variable, spec in zip(fgraph.outputs, outputs) if not spec.borrow]
        if no_borrow:
            linker = linker.accept(fgraph, no_recycling=infer_reuse_pattern(fgraph, no_borrow), profile=self.profile)
        else:
            linker = linker.accept(fgraph, profile=self.profile)
        if hasattr(linker, "accept_var_updates"):
            # Lets a virtual machine write updates itself.
            linker.accept_var_updates(fgraph_updated_vars(fgraph, self.expanded_inputs))
        if self._key is not None:
            linker.key = self._key
        self._linker, self._fgraph = linker, fgraph

    def create(
        self, input_storage: list[Any] | None = None, trustme: bool = False, storage_map: dict | None = None
    ) -> Function:
        """Create a function.

        Parameters
        ----------
        input_storage : list, optional
            For each input its default value, a Container or shared variable
            whose storage to use, or None.
        trustme : bool
            Disables some checks.
        storage_map : dict, optional
            Storage to use for given variables of the graph.

        Returns
        -------
        Function
            A new function; its default values are its own.
        """
        if input_storage is None:
            input_storage = [None] * len(self.inputs)
        storage_lists = []
        defaults = []
        for spec, required, refeed, given in zip(self.inputs, self.required, self.refeed, input_storage):
            if isinstance(given, Variable):
                given = given.container
            if isinstance(given, Container):
                storage_lists.append(given.storage)
                value = None if getattr(spec, "shared", False) else given.storage[0]
            else:
                value = given
                storage_lists.append([None])
            defaults.append((required, refeed, None if required else value))

        # What instructions are made of is built of variables, too; none of them has a test value.
        silent = nullcontext() if config.compute_test_value == "off" else change_flags(compute_test_value="off")
        with compile_lock(), silent:
            start = time.perf_counter()
            loading = loading_seconds()
            if self.is_recalled and storage_map is None:
                fn, in_containers, out_containers = self._recalled.make_thunk(
                    [spec.variable for spec in self.inputs],
                    [spec.variable for spec in self.outputs] + [s.update for s in self.inputs if s.update is not None],
                    storage_lists,
                    lambda: self.linker,
                    self.mode.linker.allow_gc,
                )
            else:
                self._complete()
                fn, in_containers, out_containers = self._linker.make_thunk(
                    input_storage=storage_lists, storage_map=storage_map
                )
            elapsed = time.perf_counter() - start
        if self.profile:
            self.profile.linker_time += elapsed
            self.profile.import_time += loading_seconds() - loading

        function = self.function_builder(
            fn,
            in_containers,
            out_containers,
            self.indices,
            self.outputs,
            defaults,
            self.unpack_single,
            self.return_none,
            self.output_keys,
            self,
            name=self.name,
        )
        function.profile = self.profile
        return function


def _unpickle_maker(cls: type[FunctionMaker], arguments: dict[str, Any], fgraph: gof.FunctionGraph) -> FunctionMaker | None:
    if not config.unpickle_function:
        return None
    if config.reoptimize_unpickled_function:
        return cls(**arguments)
    return cls(fgraph=fgraph, **arguments)


def orig_function(
    inputs: list[Any],
    outputs: Any,
    mode: Any = None,
    accept_inplace: bool = False,
    name: str | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
    output_keys: list[str] | None = None,
) -> Function:
    """Compile descriptions of inputs and outputs to a function.

    Parameters
    ----------
    inputs : list of In
        Descriptions of the inputs, also of the shared ones.
    outputs : Variable, Out, list of them or None
        What to compute.
    mode : str or Mode, optional
        How to optimize and link.
    accept_inplace, name, profile, on_unused_input, output_keys
        As for :class:`FunctionMaker`.

    Returns
    -------
    Function
        The compiled function.

    See Also
    --------
    theano.FunctionMaker : Optimizes and links a graph, and creates functions from the result.
    theano.compile.Function : A compiled function.
    theano.compile.pfunc : Compile a function with shared variables, updates and substitutions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> count = orig_function([In(x, update=x + 1, value=0.0)], x, mode="FAST_COMPILE")
    >>> float(count()), float(count())
    (0.0, 1.0)
    """
    start = time.perf_counter()
    mode = get_mode(mode)
    inputs = [convert_function_input(spec) for spec in inputs]
    defaults = [getattr(spec, "value", None) for spec in inputs]
    maker_class = getattr(mode, "function_maker", FunctionMaker)
    with CompileProgress(name):
        maker = maker_class(
            inputs,
            outputs,
            mode,
            accept_inplace=accept_inplace,
            profile=profile,
            on_unused_input=on_unused_input,
            output_keys=output_keys,
            name=name,
        )
        if not maker.is_recalled:
            stage("compiling", maker._fgraph)
        function = maker.create(defaults)
    if profile:
        profile.compile_time += time.perf_counter() - start
        profile.nb_nodes = len(function.maker.fgraph.apply_nodes)
    function.name = name
    return function


def convert_function_input(spec: Any) -> Any:
    """Return the description of an input that is given by one of the shortcuts.

    Parameters
    ----------
    spec : Variable, In or tuple
        ``r``, ``(name, r)``, ``(r, value)``, ``((r, update), value)``,
        ``(name, r, value)`` or ``(name, (r, update), value)``.

    Returns
    -------
    In
        The description.

    Raises
    ------
    TypeError
        For anything else, and for constants.

    See Also
    --------
    theano.In : An input of a compiled function, with everything a caller may choose about it.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> spec = convert_function_input(("total", (x, x + 1), 0.0))
    >>> spec, spec.name, spec.value
    (In(x -> Elemwise{add,no_inplace}.0), 'total', 0.0)
    >>> convert_function_input("x")
    Traceback (most recent call last):
        ...
    TypeError: Unknown input type: <class 'str'> (x), expected Variable, In or tuple
    """
    if isinstance(spec, SymbolicInput):
        return spec
    if isinstance(spec, Constant):
        raise TypeError(f"A Constant instance is not a legal function input: {spec}")
    if isinstance(spec, Variable):
        return In(spec)
    if not isinstance(spec, (list, tuple)):
        raise TypeError(f"Unknown input type: {type(spec)} ({spec}), expected Variable, In or tuple")

    if not spec:
        raise TypeError(f"Nonsensical input specification: {spec}")
    parts = list(spec)
    if isinstance(parts[0], str):
        name, *parts = parts
        if len(parts) not in (1, 2):
            raise TypeError(f"Invalid input syntax: {spec} (check documentation or use an In instance)")
    else:
        name = None
        if len(parts) != 2:
            raise TypeError(f"Invalid input syntax: {spec} (check documentation or use an In instance)")
    variable, value = parts if len(parts) == 2 else (parts[0], None)
    update = None
    if isinstance(variable, (list, tuple)):
        if len(variable) != 2:
            raise TypeError(f"Expected two elements (variable, update) in {variable}, in the input {spec}")
        variable, update = variable
        if value is None:
            raise TypeError(f"An input with an update needs a value: {spec}")
    if isinstance(variable, Constant):
        raise TypeError(f"A Constant instance is not a legal function input: {variable}")
    if isinstance(value, Variable) and not hasattr(value, "container"):
        raise TypeError(f"The default value of an input must be a value, not the variable {value}, in {spec}")
    if isinstance(variable, SymbolicInput):
        raise TypeError(f"An input description cannot be part of a tuple: {spec}")
    if not isinstance(variable, Variable):
        raise TypeError(f"Unknown input type: {type(variable)} ({spec}), expected Variable, In or tuple")
    return In(variable, name=name, value=value, update=update)


def _unused_policy(on_unused_input: str | None) -> str:
    policy = config.on_unused_input if on_unused_input is None else on_unused_input
    if policy not in ("raise", "warn", "ignore"):
        raise ValueError(
            f"Invalid value for keyword on_unused_input of theano.function: '{policy}'.\n"
            "Valid values are 'raise', 'warn', and 'ignore'."
        )
    return policy


def _check_inputs_are_used(inputs: list[SymbolicInput], outputs: list[Variable], policy: str) -> None:
    """Raise or warn about inputs that none of `outputs` needs.

    An input that an implicit or shared value fills is no mistake of the caller.
    """
    if policy == "ignore":
        return
    missing = {spec.variable for spec in inputs if not getattr(spec, "shared", False) and spec.update is None}
    # Behind an input nothing is needed.
    ends = {spec.variable for spec in inputs}
    seen: set[Variable] = set()
    stack = list(outputs)
    while stack and missing:
        var = stack.pop()
        if var in seen:
            continue
        seen.add(var)
        if var in ends:
            missing.discard(var)
        elif var.owner is not None:
            stack += var.owner.inputs
    for spec in inputs if missing else ():
        if spec.variable not in missing:
            continue
        message = (
            f"theano.function was asked to create a function computing outputs given certain inputs, but the provided "
            f"input variable at index {inputs.index(spec)} is not part of the computational graph needed to compute "
            f"the outputs: {spec.variable}.\n"
        )
        if policy == "warn":
            warnings.warn(
                message + "To make this warning into an error, you can pass the parameter on_unused_input='raise' to "
                "theano.function. To disable it completely, use on_unused_input='ignore'.",
                stacklevel=6,
            )
        else:
            raise UnusedInputError(
                message + "To make this error into a warning, you can pass the parameter on_unused_input='warn' to "
                "theano.function. To disable it completely, use on_unused_input='ignore'."
            )
