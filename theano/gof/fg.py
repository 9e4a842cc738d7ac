"""The graph of a function: a set of nodes between inputs and outputs that can be changed under observation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from copy import deepcopy
from itertools import chain
from time import perf_counter
from typing import Any

from theano.configdefaults import config
from theano.gof import flat, graph, hooks, toolbox
from theano.gof.clients import SHORT, ClientList
from theano.gof.graph import Apply, Constant, Variable, get_test_value
from theano.gof.null_type import NullType
from theano.gof.stack_traces import get_variable_trace_string
from theano.gof.toolbox import InconsistencyError as InconsistencyError
from theano.gof.traverse import depth_first_order

_NOT_PICKLED = (
    "execute_callbacks_times",
    "variables",
    "apply_nodes",
    "_callbacks",
    "_copies",
    "_depth_first",
    "_plain",
    "_places",
    "_present",
    "_sorted",
    "_timed",
)


class CachedConstantError(Exception):
    """A graph that was to be used without being cloned holds a constant that other graphs hold as well.

    See Also
    --------
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> y = x + 1
    >>> fgraph = FunctionGraph([x], [y], clone=False)
    Traceback (most recent call last):
        ...
    theano.gof.fg.CachedConstantError: You manually constructed a FunctionGraph, but you passed it a graph that has a ...
    """


class MissingInputError(Exception):
    """A variable without a value is needed that is not among the inputs.

    Parameters
    ----------
    *args
        The message.
    variable : Variable, optional
        What is missing; the message tells where it was made.

    See Also
    --------
    theano.FunctionGraph : A graph between inputs and outputs, whose changes are told to features.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> FunctionGraph([x], [x + y])
    Traceback (most recent call last):
        ...
    theano.gof.fg.MissingInputError: Input 1 of the graph (indices start from 0), used to compute ...
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self.variable = kwargs.pop("variable", None)
        if kwargs:
            raise TypeError(f"unexpected keyword arguments: {list(kwargs)}")
        if self.variable is not None:
            trace = get_variable_trace_string(self.variable)
            if trace:
                args += (trace,)
        super().__init__(*args)

    def __str__(self) -> str:
        return "\n".join(str(a) for a in self.args)

    def __reduce__(self) -> tuple:
        return self.__class__, self.args


def _refuse_null(var: Variable) -> None:
    if isinstance(var.type, NullType):
        raise TypeError("Computation graph contains a NaN. " + var.type.why_null)


class FunctionGraph:
    """A graph between inputs and outputs, whose changes are told to features.

    All variables that the outputs depend on are inputs, constants, or computed from these.  A variable or node belongs
    to one FunctionGraph at most; while it does, ``variable.clients`` lists who takes it: pairs of a node and the number
    of its input, or of the word ``'output'`` and the number of the graph's output.

    Parameters
    ----------
    inputs : list of Variable
        Where the graph begins.
    outputs : list of Variable
        Where it ends.
    features : list of Feature, optional
        To be attached at once.
    clone : bool
        Whether to work on a copy of the graph.
    update_mapping : dict, optional
        From the number of an output that is a shared variable's new value to the number of that variable's input.

    Raises
    ------
    MissingInputError
        The outputs depend on a variable that is no input.
    CachedConstantError
        Without cloning, the graph holds a constant that is shared with other graphs.

    See Also
    --------
    theano.clone : Return a copy of a graph, with some variables replaced by others.
    theano.gof.graph.clone : Copy the graph between inputs and outputs.
    theano.gof.Feature : The base class of features.  Its callbacks do nothing.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dvectors("x", "y")
    >>> fg = FunctionGraph([x, y], [(x + y) * 2])
    >>> [str(node.op) for node in fg.toposort() if len(node.inputs) > 1]
    ['Elemwise{add,no_inplace}', 'Elemwise{mul,no_inplace}']
    """

    #: Whether a replacement that comes without a stack trace is left so, for `config.check_stack_trace` to find.
    traces_are_checked = False
    #: Whether what is being replaced has a stack trace.
    replaces_a_trace = False
    #: What a sequence of optimizers knows, while it runs, of who has seen the graph as it is.
    settled: Any = None
    _constant_inputs = False

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        features: Iterable | None = None,
        clone: bool = True,
        update_mapping: dict | None = None,
    ):
        # Otherwise its nodes may belong to expressions that other graphs are made of.
        self._own_nodes = clone
        nodes: list[Apply] = []
        if clone:
            equiv = graph.clone_get_equiv(inputs, outputs, made=nodes)
            inputs, outputs = [equiv[var] for var in inputs], [equiv[var] for var in outputs]
        self.execute_callbacks_time = 0.0
        self.execute_callbacks_times: dict = {}
        self._features: list = []
        self._callbacks: dict = {}
        self._plain: dict = {}
        self._timed = config.profile
        self._version = 0
        self._sorted: tuple | None = None
        self._depth_first: tuple = (-1, ())
        self._places: tuple = (-1, {})
        self._present: tuple = (-1, ())
        # This graph's own copies of constants that all graphs may use.
        self._copies: dict = {}
        self.apply_nodes: set = set()
        self.variables: set = set()
        self.inputs: Any = list(inputs)
        self.outputs: Any = list(outputs)
        self.update_mapping = update_mapping
        self.profile = None
        self._constant_inputs = any(isinstance(var, Constant) for var in self.inputs)
        for var in self.inputs:
            if var.owner is not None:
                raise ValueError(
                    "One of the provided inputs is the output of an already existing node. If that is okay, either "
                    "discard that input's owner or use graph.clone."
                )
            self._setup_variable(var)
            self.variables.add(var)
        if nodes:
            self._import_copies(nodes)
        for var in self.outputs:
            self._import_variable(var, "init")
        if nodes:
            self._depth_first = (self._version, nodes)
        for i, var in enumerate(self.outputs):
            var.clients.append(("output", i))
        for feature in features or ():
            self.attach_feature(feature)
        self.attach_feature(toolbox.ReplaceValidate())

    def _setup_variable(self, var: Variable) -> None:
        if getattr(var, "cached", False):
            raise CachedConstantError(
                "You manually constructed a FunctionGraph, but you passed it a graph that has a cached constant. This "
                f"should not happen. Clone the graph before building the FunctionGraph. The constant is {var}."
            )
        other = getattr(var, "fgraph", None)
        if other is not None and other is not self and var in other.variables:
            raise Exception(f"{var} is already owned by another fgraph")
        var.fgraph = self
        var.clients = ClientList()

    def _setup_node(self, node: Apply) -> None:
        other = getattr(node, "fgraph", None)
        if other is not None and other is not self and node in other.apply_nodes:
            raise Exception(f"{node} is already owned by another fgraph")
        op = node.op
        for name in ("view_map", "destroy_map"):
            numbers = getattr(op, name, None)
            if numbers and not all(isinstance(v, (list, tuple)) for v in numbers.values()):
                raise Exception(f"Op '{op}' have a bad {name} '{numbers}', the values must be tuples or lists.")
        node.fgraph = self

    def disown(self) -> None:
        """Free all variables and nodes, so that they can go into another FunctionGraph; this one becomes unusable."""
        for node in self.apply_nodes:
            node.__dict__.pop("fgraph", None)
        for var in self.variables:
            var.__dict__.pop("fgraph", None)
            var.__dict__.pop("clients", None)
        self.apply_nodes = set()
        self.variables = set()
        self.inputs = None
        self.outputs = None
        self.profile = None
        self.update_mapping = None
        self._sorted = None

    def clients(self, r: Variable) -> list:
        """Return who takes a variable: a list of ``(node, i)`` and ``('output', i)``."""
        return r.clients

    def state(self) -> tuple:
        """Return what is equal as long as neither the graph nor its features change."""
        return self._version, list(self._features)

    def add_input(self, var: Variable) -> None:
        """Add an input that the graph does not use yet."""
        if var in self.inputs:
            return
        self.inputs.append(var)
        self._constant_inputs |= isinstance(var, Constant)
        if getattr(var, "fgraph", None) is not self:
            self._setup_variable(var)
        self.variables.add(var)

    def _import_variable(self, var: Variable, reason: Any, trace: Any = None) -> None:
        owner = var.owner
        if owner is not None:
            if owner not in self.apply_nodes:
                self._import_nodes(owner, reason, trace)
        elif var not in self.variables:
            if not isinstance(var, Constant) and var not in self.inputs:
                _refuse_null(var)
                raise MissingInputError("Undeclared input", variable=var)
            self._setup_variable(var)
            self.variables.add(var)

    def _import_copies(self, nodes: Sequence[Apply]) -> None:
        # As `_import_variable` of the outputs does, for nodes of which it is known that nothing but inputs may be missing.
        present, variables = self.apply_nodes, self.variables
        # Ops whose maps have been looked at, by id: the nodes hold them.
        seen: set[int] = set()
        for node in nodes:
            for var in node.inputs:
                if var.owner is None and var not in variables:
                    if not isinstance(var, Constant):
                        # Which of several is named is for `_import_variable` to say.
                        present.clear()
                        return
                    self._setup_variable(var)
                    variables.add(var)
            if id(node.op) in seen:
                node.fgraph = self
            else:
                self._setup_node(node)
                seen.add(id(node.op))
            present.add(node)
            for i, var in enumerate(node.inputs):
                var.clients.append((node, i))
            for out in node.outputs:
                out.fgraph = self
                out.clients = ClientList()
                variables.add(out)
        self._version += 1

    def _import_nodes(self, start: Apply, reason: Any, trace: Any = None) -> None:
        # What is new, each node after those it needs; nothing is changed before all of it is known to fit.
        present = self.apply_nodes
        variables = self.variables
        new_nodes: list = []
        seen: set = set()
        stack = [(start, iter(start.inputs))]
        for var in start.inputs:
            owner = var.owner
            if owner not in present if owner is not None else var not in variables:
                break
        else:
            # Most that comes in is a single node of what is there.
            new_nodes.append(start)
            stack.clear()
        while stack:
            node, rest = stack[-1]
            for var in rest:
                owner = var.owner
                if owner is None:
                    if var not in variables and not isinstance(var, Constant) and var not in self.inputs:
                        self._raise_missing(node, var)
                elif owner not in present and owner not in seen:
                    stack.append((owner, iter(owner.inputs)))
                    break
            else:
                stack.pop()
                if node not in seen:
                    seen.add(node)
                    new_nodes.append(node)
        self._version += 1
        self.replaces_a_trace = bool(trace)
        if trace:
            # What a rewrite makes on the way to its result belongs to the line of the user that it replaces.
            for node in new_nodes:
                for out in node.outputs:
                    tag = out.tag
                    if getattr(tag, "_trace", trace) is None and (node is not start or not self.traces_are_checked):
                        tag._trace = trace
        plain = None if self.profile or self._timed else self._plain_methods("on_import")
        rewritten = reason != "init"
        for node in new_nodes:
            self._setup_node(node)
            present.add(node)
            for out in node.outputs:
                if getattr(out, "fgraph", None) is None:
                    out.fgraph = self
                    out.clients = ClientList()
                else:
                    self._setup_variable(out)
                variables.add(out)
            for i, var in enumerate(node.inputs):
                if rewritten and var.owner is None and getattr(var, "cached", False):
                    # A rewrite wrote a number that is kept for all graphs.
                    var = node.inputs[i] = self._own_copy(var)
                if var not in variables:
                    self._setup_variable(var)
                    variables.add(var)
                var.clients.append((node, i))
            if plain is None:
                self.execute_callbacks("on_import", node, reason)
            else:
                for method in plain:
                    method(self, node, reason)

    def _own_copy(self, constant: Any) -> Any:
        copy = self._copies.get(constant)
        if copy is None:
            copy = self._copies[constant] = constant.clone()
        return copy

    def _raise_missing(self, node: Apply, var: Variable) -> None:
        _refuse_null(var)
        if config.exception_verbosity == "high":
            what = f"{node.op}, with the inputs {node.inputs}"
        else:
            what = str(node)
        raise MissingInputError(
            f"Input {node.inputs.index(var)} of the graph (indices start from 0), used to compute {what}, was not "
            f"provided and not given a value. Use the Theano flag exception_verbosity='high', for more information on "
            f"this error.",
            variable=var,
        )

    def _remove_client(self, var: Any, client: tuple, reason: Any) -> None:
        # What is to be taken out of the clients of what.
        pending: list[tuple] = []
        while True:
            clients = var.clients
            if len(clients) < SHORT and clients._places is None:
                # As its own `remove` does; most have one to three elements.
                list.remove(clients, client)
            else:
                clients.remove(client)
            if not clients:
                node = var.owner
                if node is None:
                    # Where constants and inputs are many, a search for each would take long.
                    if (isinstance(var, Constant) and not self._constant_inputs) or var not in self.inputs:
                        self.variables.discard(var)
                        if hasattr(var, "fgraph"):
                            del var.fgraph
                elif node in self.apply_nodes and (len(node.outputs) == 1 or not any(out.clients for out in node.outputs)):
                    self.apply_nodes.remove(node)
                    self.variables.difference_update(node.outputs)
                    self._tell("on_prune", node, reason)
                    pending += [(v, (node, i)) for i, v in enumerate(node.inputs)]
            if not pending:
                return
            var, client = pending.pop()

    def change_input(self, node: Any, i: int, new_r: Any, reason: Any = None) -> None:
        """Give a node another variable as its `i`-th input, and tell the features.

        Parameters
        ----------
        node : Apply or 'output'
            With ``'output'``, the graph's `i`-th output is changed.
        i : int
        new_r : Variable
            Of the same type as the old one.
        reason : optional
            What the features are told as the reason.

        Raises
        ------
        TypeError
            The types differ.
        MissingInputError
            `new_r` depends on something that is no input.
        """
        is_output = node == "output"
        if not is_output and getattr(node, "fgraph", None) is not self:
            raise Exception(f"Cannot operate on {node} because it does not belong to this FunctionGraph")
        place = self.outputs if is_output else node.inputs
        r = place[i]
        if r.type is not new_r.type and not r.type == new_r.type:
            raise TypeError(
                "The type of the replacement must be the same as the type of the original Variable.",
                r,
                new_r,
                r.type,
                new_r.type,
                str(reason),
            )
        if r is new_r:
            return
        if new_r.owner is None:
            if getattr(new_r, "cached", False):
                new_r = self._own_copy(new_r)
            if new_r not in self.variables:
                self._import_variable(new_r, reason)
        elif new_r.owner not in self.apply_nodes:
            self._import_nodes(new_r.owner, reason, getattr(r.tag, "_trace", None))
        self._version += 1
        place[i] = new_r
        new_r.clients.append((node, i))
        self._remove_client(r, (node, i), reason)
        if self.profile or self._timed:
            self.execute_callbacks("on_change_input", node, i, r, new_r, reason=reason)
        else:
            for method in self._plain.get("on_change_input") or self._plain_methods("on_change_input"):
                method(self, node, i, r, new_r, reason=reason)

    def can_change_ops(self) -> bool:
        """Return whether the nodes are the graph's own and no feature has to be told of each replacement, for `change_op`."""
        # What a subclass does is for itself to say.
        seeing = [type(feature) for feature, _ in self._methods("on_change_input")]
        return self._own_nodes and all(cls.__dict__.get("follows_ops", False) for cls in seeing)

    def change_op(self, node: Apply, op: Any, reason: Any = None) -> None:
        """Give a node another Op, of the same types; for the features the node leaves and one with the new Op comes.

        Parameters
        ----------
        node : Apply
            Of this graph.
        op : Op
            What computes its outputs from now on.
        reason : optional
            What the features are told as the reason.
        """
        if config.optimizer_verbose and str(reason) not in config.optimizer_verbose_ignore.split(","):
            print(reason, node, op)
        self._tell("on_prune", node, reason)
        self.execute_callbacks("on_change_op", node, op, reason)
        self._version += 1
        node.op = op
        self._setup_node(node)
        self._tell("on_import", node, reason)

    def put_inputs(self, node: Apply, inputs: Sequence[Variable], reason: Any = None, op: Any = None) -> None:
        """Give a node other inputs, and maybe another Op, of which it computes the same, of the same types.

        The features see it as they see `change_op`.

        Parameters
        ----------
        node : Apply
            Of this graph.
        inputs : sequence of Variable
            The inputs from now on: variables of this graph, and any constants.
        reason : optional
            What the features are told as the reason.
        op : Op, optional
            What computes its outputs from now on.
        """
        old: list[Any] = node.inputs
        new: list[Any] = list(inputs)
        for i, var in enumerate(new):
            if var.owner is None and getattr(var, "cached", False):
                new[i] = self._own_copy(var)
        self.execute_callbacks("on_put_inputs", node, new, reason)
        if op is not None:
            self.execute_callbacks("on_change_op", node, op, reason)
        self._version += 1
        for i, var in enumerate(new):
            if var not in self.variables:
                self._import_variable(var, reason)
            if i >= len(old) or var is not old[i]:
                var.clients.append((node, i))
        for i, var in enumerate(old):
            if i >= len(new) or var is not new[i]:
                self._remove_client(var, (node, i), reason)
        self._tell("on_prune", node, reason)
        node.inputs = new
        if op is not None:
            node.op = op
            self._setup_node(node)
        self._tell("on_import", node, reason)

    def replace(self, r: Variable, new_r: Variable, reason: Any = None, verbose: bool | None = None) -> None:
        """Put `new_r` wherever the graph has `r`.

        Parameters
        ----------
        r, new_r : Variable
            Of the same type, or `new_r` of one that converts to it.
        reason : optional
            What the features are told as the reason.
        verbose : bool, optional
            Whether to print the replacement; by default as ``config.optimizer_verbose`` says.

        Raises
        ------
        TypeError
            The types do not fit.
        """
        if verbose is None:
            verbose = config.optimizer_verbose
        if verbose and str(reason) not in config.optimizer_verbose_ignore.split(","):
            print(reason, r, new_r)
        if getattr(r, "fgraph", self) is not self:
            raise Exception(f"Cannot replace {r} by {new_r} ({reason}) because it does not belong to this FunctionGraph")
        if r.type is not new_r.type and r.type != new_r.type:
            converted = r.type.convert_variable(new_r)
            if converted is None or converted.type != r.type:
                raise TypeError(
                    f"The type of the replacement must be compatible with the type of the original Variable: {r} is a {r.type}, "
                    f"{new_r} a {new_r.type}; reason: {reason}."
                )
            new_r = converted
        if r not in self.variables:
            # A rewrite of a node with several outputs replaces them one by one, and may have pruned this one.
            return
        if hasattr(r.tag, "test_value") and config.compute_test_value != "off":
            _compare_test_values(r, new_r, reason)
        if getattr(new_r, "cached", False):
            new_r = self._own_copy(new_r)
        for node, i in list(r.clients):
            self.change_input(node, i, new_r, reason=reason)

    def replace_all(self, pairs: Iterable[tuple], reason: Any = None) -> None:
        """Make several replacements, one after another.

        Parameters
        ----------
        pairs : iterable of (Variable, Variable)
        reason : optional
        """
        for r, new_r in pairs:
            self.replace(r, new_r, reason=reason)

    def attach_feature(self, feature: Any) -> None:
        """Add a feature, whose ``on_attach`` is called.

        Where that raises `AlreadyThere`, nothing happens.
        """
        if feature in self._features:
            return
        attach = getattr(feature, "on_attach", None)
        if attach is not None:
            try:
                attach(self)
            except toolbox.AlreadyThere:
                return
        self.execute_callbacks_times.setdefault(feature, 0.0)
        self._features.append(feature)
        # New lists: one of these may be gone through.
        self._callbacks = {name: methods + self._method(feature, name) for name, methods in self._callbacks.items()}
        self._plain = {}

    def remove_feature(self, feature: Any) -> None:
        """Remove a feature, whose ``on_detach`` is called."""
        try:
            feature = self._features.pop(self._features.index(feature))
        except ValueError:
            return
        self._callbacks = {
            name: [entry for entry in methods if entry[0] is not feature] for name, methods in self._callbacks.items()
        }
        self._plain = {}
        detach = getattr(feature, "on_detach", None)
        if detach is not None:
            detach(self)

    def _methods(self, name: str) -> list[tuple]:
        # The features that define a callback, other than by the default that does nothing.
        methods = self._callbacks.get(name)
        if methods is None:
            methods = self._callbacks[name] = [entry for feature in self._features for entry in self._method(feature, name)]
        return methods

    @staticmethod
    def _method(feature: Any, name: str) -> list[tuple]:
        method = getattr(feature, name, None)
        if method is None or getattr(method, "__func__", method) is getattr(toolbox.Feature, name, None):
            return []
        return [(feature, method)]

    def _tell(self, name: str, node: Apply, reason: Any) -> None:
        # What `execute_callbacks` does.
        if self.profile or self._timed:
            self.execute_callbacks(name, node, reason)
        else:
            for method in self._plain.get(name) or self._plain_methods(name):
                method(self, node, reason)

    def _plain_methods(self, name: str) -> list:
        """The methods of the features for a callback, to be called without ado where nothing is timed."""
        plain = self._plain[name] = [method for _, method in self._methods(name)]
        return plain

    def execute_callbacks(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Call ``feature.name(self, *args, **kwargs)`` for each feature that has such a method.

        When profiling, the time of each feature is added up in `execute_callbacks_times`.
        """
        if not self.profile and not self._timed:
            for method in self._plain.get(name) or self._plain_methods(name):
                method(self, *args, **kwargs)
            return
        start = perf_counter()
        times = self.execute_callbacks_times
        before = start
        for feature, method in self._methods(name):
            method(self, *args, **kwargs)
            now = perf_counter()
            times[feature] = times.get(feature, 0.0) + now - before
            before = now
        self.execute_callbacks_time += before - start

    def collect_callbacks(self, name: str, *args: Any) -> dict:
        """Return what ``feature.name(*args)`` returns, for each feature that has such a method."""
        found = {}
        for feature in self._features:
            method = getattr(feature, name, None)
            if method is not None:
                found[feature] = method(*args)
        return found

    def orderings(self) -> OrderedDict:
        """Return which nodes must come before which others for other reasons than that these take their outputs.

        Returns
        -------
        OrderedDict
            From a node to the list of nodes before it, as the features' `orderings` say.

        Raises
        ------
        TypeError
            A feature returned something whose order is not fixed.
        """
        merged: OrderedDict = OrderedDict()
        for feature, method in self._methods("orderings"):
            found = method(self)
            if not isinstance(found, dict):
                raise TypeError(f"Non-deterministic return value from {feature}.orderings. Nondeterministic object is {found}")
            for node, before in found.items():
                if isinstance(before, (set, frozenset)):
                    raise TypeError(
                        f"Non-deterministic return value from {feature}.orderings. Nondeterministic object is {before}"
                    )
                merged.setdefault(node, []).extend(before)
        return merged

    def toposort(self) -> list[Apply]:
        """Return the nodes, each after those whose outputs it takes and those that `orderings` puts before it.

        Raises
        ------
        ValueError
            There is a cycle.
        """
        ords = self.orderings()
        if self._sorted is not None and self._sorted[0] == self._version and self._sorted[1] == ords:
            return list(self._sorted[2])
        order = list(self.apply_nodes) if len(self.apply_nodes) < 2 else graph.io_toposort(
            self.inputs, self.outputs, ords
        )  # fmt: skip
        self._sorted = (self._version, ords, order)
        return list(order)

    def depth_first(self) -> Sequence[Apply]:
        """Return the nodes in `depth_first_order`, to be looked at only."""
        if self._depth_first[0] != self._version:
            self._depth_first = (self._version, depth_first_order(self.outputs))
        return self._depth_first[1]

    def known_order(self) -> Sequence[Apply]:
        """Return what `depth_first` does if that is known of the graph as it is, else nothing."""
        return self._depth_first[1] if self._depth_first[0] == self._version else ()

    def keep_order(self, nodes: Iterable[Apply]) -> None:
        """Take note that those of some nodes that are still in the graph are in `depth_first_order`, if they are all it has."""
        left = [node for node in nodes if node in self.apply_nodes]
        if len(left) == len(self.apply_nodes):
            self._depth_first = (self._version, left)

    def present_ops(self) -> Iterable:
        """Return the Ops of all nodes, each object once."""
        if self._present[0] != self._version:
            ops = [node.op for node in self.apply_nodes]
            self._present = (self._version, dict(zip(map(id, ops), ops)).values())
        return self._present[1]

    def places_of_ops(self) -> dict[int, list[int]]:
        """Return where the nodes of each Op, by its id, are in `depth_first`; by the id of None those of constants only."""
        if self._places[0] != self._version:
            places: dict = {}
            for i, node in enumerate(self.depth_first()):
                key = id(node.op)
                if key in places:
                    places[key].append(i)
                else:
                    places[key] = [i]
                # What is computed is no constant.
                if not ((inputs := node.inputs) and inputs[0].owner is not None) and all(isinstance(v, Constant) for v in inputs):
                    places.setdefault(id(None), []).append(i)
            self._places = (self._version, places)
        return self._places[1]

    def forget_places(self) -> None:
        """Look for the places of Ops anew: a node has got an equal Op, of which nobody need be told."""
        self._places, self._present = (-1, {}), (-1, ())

    def nodes_of_ops(self, ops: Iterable, of_constants: bool = False) -> Sequence[Apply]:
        """Return the nodes of some of the Ops that are there, in `depth_first_order`, and maybe all of constants only."""
        places = self.places_of_ops()
        wanted = [places[id(op)] for op in ops]
        if of_constants and id(None) in places:
            wanted.append(places[id(None)])
        nodes = self.depth_first()
        if len(wanted) == 1:
            return [nodes[i] for i in wanted[0]]
        return [nodes[i] for i in sorted(set(chain.from_iterable(wanted)))]

    def check_integrity(self) -> None:
        """Check that what is known about the graph agrees with it.

        Raises
        ------
        Exception
            It does not.
        """
        nodes = graph.ops(self.inputs, self.outputs)
        if self.apply_nodes != nodes:
            raise Exception(
                "The nodes are inappropriately cached. missing, in excess: ",
                nodes.difference(self.apply_nodes),
                self.apply_nodes.difference(nodes),
            )
        clients_of: dict = {}
        for node in nodes:
            if getattr(node, "fgraph", None) is not self:
                raise Exception("Node should belong to the FunctionGraph.", node)
            for i, var in enumerate(node.inputs):
                if getattr(var, "fgraph", None) is not self:
                    raise Exception("Input of node should belong to the FunctionGraph.", var, (node, i))
                known = clients_of.get(var)
                if known is None:
                    known = clients_of[var] = set(var.clients)
                if (node, i) not in known:
                    raise Exception("Inconsistent clients list.", (node, i), var.clients)
        variables = set(graph.variables(self.inputs, self.outputs))
        if self.variables != variables:
            raise Exception(
                "The variables are inappropriately cached. missing, in excess: ",
                variables.difference(self.variables),
                self.variables.difference(variables),
            )
        for var in variables:
            if (
                var.owner is None
                and not isinstance(var, Constant)
                and var not in self.inputs
            ):  # fmt: skip
                raise Exception("Undeclared input.", var)
            if getattr(var, "fgraph", None) is not self:
                raise Exception("Variable should belong to the FunctionGraph.", var)
            for node, i in var.clients:
                if node == "output":
                    if self.outputs[i] is not var:
                        raise Exception("Inconsistent clients list.", var, self.outputs[i])
                    continue
                if node not in nodes:
                    raise Exception("Client not in FunctionGraph.", var, (node, i))
                if node.inputs[i] is not var:
                    raise Exception("Inconsistent clients list.", var, node.inputs[i])

    def _repr_html_(self) -> str:
        return hooks.graph_html(self)

    def __str__(self) -> str:
        return f"[{', '.join(graph.as_string(self.inputs, self.outputs))}]"

    __repr__ = __str__

    def clone(self, check_integrity: bool = True, attach_feature: bool = True) -> FunctionGraph:
        """Return a copy of the graph.

        Parameters
        ----------
        check_integrity : bool
            Whether both graphs are checked.
        attach_feature : bool
            Whether the features are attached to the copy.
        """
        return self.clone_get_equiv(check_integrity, attach_feature)[0]

    def clone_get_equiv(self, check_integrity: bool = True, attach_feature: bool = True) -> tuple:
        """Return a copy of the graph, and what became of each variable and node.

        Parameters
        ----------
        check_integrity, attach_feature : bool
            As for `clone`.

        Returns
        -------
        FunctionGraph, dict
        """
        equiv = graph.clone_get_equiv(self.inputs, self.outputs)
        if check_integrity:
            self.check_integrity()
        new = self.__class__([equiv[i] for i in self.inputs], [equiv[o] for o in self.outputs], clone=False)
        new._own_nodes = True
        new.update_mapping = self.update_mapping
        if check_integrity:
            new.check_integrity()
        if attach_feature:
            for feature in self._features:
                copy_feature = getattr(feature, "clone", None)
                new.attach_feature(copy_feature() if copy_feature is not None else feature)
        return new, equiv

    def _contents(self) -> dict:
        state = dict(self.__dict__)
        for feature in self._features:
            for name in getattr(feature, "pickle_rm_attr", ()):
                state.pop(name, None)
        for name in _NOT_PICKLED:
            state.pop(name, None)
        order = graph.io_toposort(self.inputs, self.outputs) if self.outputs is not None else []
        state["_order"] = order
        state["_clients"] = [(var, list(var.clients)) for var in _in_order(self, order)]
        return state

    def __setstate__(self, state: dict) -> None:
        state = dict(state)
        order = state.pop("_order")
        clients = state.pop("_clients")
        self.__dict__.update(state)
        self.execute_callbacks_times = {}
        self._callbacks = {}
        self._plain = {}
        self._own_nodes = True
        self._timed = config.profile
        self._sorted = None
        self._depth_first = self._present = (-1, ())
        self._places = (-1, {})
        self._copies = {}
        self.apply_nodes = set(order)
        self.variables = {var for var, _ in clients}
        for node in order:
            node.fgraph = self
        for var, takers in clients:
            var.fgraph = self
            var.clients = ClientList(tuple(c) for c in takers)
        for feature in self._features:
            restore = getattr(feature, "unpickle", None)
            if restore is not None:
                restore(self)

    def __reduce__(self) -> tuple:
        starts = [out.owner for out in self.outputs or () if out.owner is not None]
        return _new_fgraph, (type(self), flat.Flat(starts)), self._contents()

    def __deepcopy__(self, memo: dict) -> FunctionGraph:
        new = memo[id(self)] = self.__class__.__new__(self.__class__)
        for out in self.outputs or ():
            deepcopy(out, memo)
        new.__setstate__(deepcopy(self._contents(), memo))
        return new


def _new_fgraph(cls: Any, nodes: list) -> Any:
    return cls.__new__(cls)


def _in_order(fgraph: FunctionGraph, order: list) -> list:
    found = dict.fromkeys(fgraph.inputs or ())
    for node in order:
        found.update(dict.fromkeys(node.inputs))
        found.update(dict.fromkeys(node.outputs))
    found.update(dict.fromkeys(fgraph.outputs or ()))
    return list(found)


def _compare_test_values(r: Variable, new_r: Variable, reason: Any) -> None:
    try:
        shapes = [getattr(get_test_value(v), "shape", None) for v in (r, new_r)]
    except AttributeError:
        return
    if shapes[0] != shapes[1]:
        raise AssertionError(
            f"The replacement variable has a test value with a shape different from the original variable's test "
            f"value. Original: {shapes[0]}, new: {shapes[1]}",
            r,
            new_r,
            str(reason),
        )
