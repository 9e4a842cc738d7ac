"""The graph: variables, constants and the applications of Ops that link them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import count
from typing import Any

from theano.configdefaults import config
from theano.gof import flat, hooks
from theano.gof.describe import as_string, default_leaf_formatter, default_node_formatter, op_as_string
from theano.gof.stack_traces import add_tag_trace, get_variable_trace_string
from theano.gof.traverse import (
    ancestors,
    clone,
    clone_get_equiv,
    general_toposort,
    inputs,
    io_connection_pattern,
    io_toposort,
    is_in_ancestors,
    is_same_graph,
    list_of_nodes,
    ops,
    orphans,
    stack_search,
    variables,
    variables_and_orphans,
    view_roots,
)
from theano.gof.utils import MethodNotDefined, scratchpad
from theano.process import at_fork

__all__ = [
    "Apply",
    "Constant",
    "NoParams",
    "Node",
    "Variable",
    "add_tag_trace",
    "ancestors",
    "as_string",
    "clone",
    "clone_get_equiv",
    "default_leaf_formatter",
    "default_node_formatter",
    "general_toposort",
    "get_variable_trace_string",
    "inputs",
    "io_connection_pattern",
    "io_toposort",
    "is_in_ancestors",
    "is_same_graph",
    "list_of_nodes",
    "nodes_constructed",
    "op_as_string",
    "ops",
    "orphans",
    "stack_search",
    "variables",
    "variables_and_orphans",
    "view_roots",
]

# What says that an Op takes no parameters: None is a possible parameter.
NoParams = object()

# Functions that are told of each new variable, by thread.
_observers: dict[int, list[Callable]] = {}


def _forget_observers_of_others() -> None:
    for thread in _observers.keys() - {threading.get_ident()}:
        del _observers[thread]


at_fork(after_in_child=_forget_observers_of_others)


class Node:
    """A node of a graph: a `Variable` or an `Apply`.

    See Also
    --------
    theano.Apply : The application of an Op to input variables, which gives output variables.
    theano.Variable : A node of a graph that stands for a value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> node = (x + y).owner
    >>> node.outputs[0].get_parents() == [node], node.get_parents()
    (True, [x, y])
    """

    def get_parents(self) -> list:
        """Return the nodes that this one is computed from, as a new list."""
        raise NotImplementedError()


def show_attributes(cls: Any, *names: str) -> None:
    """Have the first instance of a class of graph nodes show the attributes that others will get later.

    CPython keeps the attributes of an instance without a dictionary, which takes half the memory and is faster, as long
    as one of the first instances of the class had all of them.

    See Also
    --------
    theano.printing.debugprint : Print a graph as a tree of text.

    Examples
    --------
    >>> class Step:
    ...     def __init__(self, op):
    ...         self.op = op
    >>> show_attributes(Step, "op", "fgraph")
    >>> vars(Step("add"))  # Only the instance that was made for it has both.
    {'op': 'add'}
    """
    first = cls.__new__(cls)
    for name in names:
        setattr(first, name, None)


def copy_tag(tag: Any) -> Any:
    """Return a copy of the tag of a variable or node.

    Parameters
    ----------
    tag : scratchpad
        Its values themselves are not copied.

    See Also
    --------
    theano.gof.graph.add_tag_trace : Record on a variable or node where the user's code made it, in ``thing.tag.trace``.
    theano.gof.graph.get_variable_trace_string : Return the text of the stack traces of a variable, or an empty string.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> x.tag.note = "measured"
    >>> tag = copy_tag(x.tag)
    >>> tag.note = "computed"
    >>> x.tag.note
    'measured'
    """
    return scratchpad.__copy__(tag) if type(tag) is scratchpad else copy(tag)


class Apply(Node):
    """The application of an Op to input variables, which gives output variables.

    Parameters
    ----------
    op : Op
        What computes the outputs.
    inputs : list of Variable
        What the Op is applied to, in order.
    outputs : list of Variable
        Variables without an owner: they get this node as theirs.

    Raises
    ------
    TypeError
        Inputs and outputs are not lists of variables.
    ValueError
        An output belongs to another node.

    See Also
    --------
    theano.Variable : A node of a graph that stands for a value.
    theano.Constant : A variable whose value is known when the graph is built and never changes.
    theano.Op : An operation, with its C interface: the base class of Ops.

    Notes
    -----
    Usually an instance is made by `Op.make_node`.

    Examples
    --------
    >>> import theano
    >>> class Twice(theano.Op):
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    >>> x = theano.tensor.vector("x")
    >>> y = Twice()(x)
    >>> y.owner.inputs, y.owner.outputs[0] is y
    ([x], True)
    """

    def __init__(self, op: Any, inputs: Sequence, outputs: Sequence):
        self.op = op
        if not isinstance(inputs, (list, tuple)):
            raise TypeError("The inputs of an Apply must be a list or tuple")
        if not isinstance(outputs, (list, tuple)):
            raise TypeError("The output of an Apply must be a list or tuple")
        for input in inputs:
            if not isinstance(input, Variable):
                raise TypeError(f"The 'inputs' argument to Apply must contain Variable instances, not {input}")
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        for i, output in enumerate(outputs):
            if not isinstance(output, Variable):
                raise TypeError(f"The 'outputs' argument to Apply must contain Variable instances, not {output}")
            if output.owner is None:
                if isinstance(output, Constant):
                    raise ValueError("Constant instances cannot have an owner.")
                output.owner = self
                output.index = i
            elif output.owner is not self or output.index != i:
                raise ValueError("All output variables passed to Apply must belong to it.")

    @staticmethod
    def of_types(op: Any, inputs: list, types: Sequence) -> Apply:
        """Return the node of an Op for a list of variables, with new outputs of these types; nothing is checked."""
        node = Apply.__new__(Apply)
        node.op = op
        node.inputs = inputs
        node.outputs = outputs = []
        for i, kind in enumerate(types):
            output = kind.make_variable()
            output.owner = node
            output.index = i
            outputs.append(output)
        return node

    # Most nodes never need a tag. Here and elsewhere a node's dictionary is not asked for: until it is, there is none.
    _tag: Any = None

    @property
    def tag(self) -> Any:
        """Attributes that users and rewrites hang on the node."""
        if self._tag is None:
            self._tag = scratchpad()
        return self._tag

    @tag.setter
    def tag(self, tag: Any) -> None:
        self._tag = tag

    def run_params(self) -> Any:
        """Return the Op's parameters for this node, or `NoParams` where it has none."""
        get_params = getattr(self.op, "get_params", None)
        if get_params is None:
            return NoParams
        try:
            return get_params(self)
        except MethodNotDefined:
            return NoParams

    def default_output(self) -> Variable:
        """Return the output that stands for the node where one variable is wanted.

        Raises
        ------
        AttributeError
            There are several outputs and the Op's `default_output` does not say which.
        """
        do = getattr(self.op, "default_output", None)
        if do is None:
            if len(self.outputs) == 1:
                return self.outputs[0]
            raise AttributeError(f"{self.op}.default_output should be an output index.")
        if not isinstance(do, int):
            raise AttributeError(f"{self.op}.default_output should be an int or long")
        if do < 0 or do >= len(self.outputs):
            raise AttributeError(f"{self.op}.default_output is out of range.")
        return self.outputs[do]

    out = property(default_output, doc="Alias of default_output().")

    def __str__(self) -> str:
        return op_as_string(self.inputs, self)

    def __repr__(self) -> str:
        return str(self)

    def __asapply__(self) -> Apply:
        return self

    def clone(self) -> Apply:
        """Return a new node with the same Op and inputs and with cloned outputs."""
        new = self.__class__(self.op, self.inputs, [output.clone() for output in self.outputs])
        self._copy_tag(new)
        return new

    def _copy_tag(self, new: Apply) -> None:
        if self._tag is not None:
            new._tag = copy_tag(self._tag)

    def clone_with_new_inputs(self, inputs: Sequence, strict: bool = True) -> Apply:
        """Return a node of the same Op on other inputs.

        Parameters
        ----------
        inputs : list of Variable
            One for each input.
        strict : bool
            Whether each must have the type of the input it replaces, or be converted to it without loss.
            Otherwise an input may change its type, and `Op.make_node` makes new outputs.

        Raises
        ------
        TypeError
            `strict`, and a type does not fit.
        """
        assert isinstance(inputs, (list, tuple))
        remake_node = False
        new_inputs = list(inputs)
        for i, (curr, new) in enumerate(zip(self.inputs, inputs, strict=True)):
            if curr.type is not new.type and curr.type != new.type:
                if strict:
                    new_inputs[i] = curr.type.filter_variable(new)
                else:
                    remake_node = True
        if remake_node:
            new_node = self.op.make_node(*new_inputs)
            new_node.tag = copy(self.tag).__update__(new_node.tag)
        else:
            new_node = self.copy_on(new_inputs)
        return new_node

    def copy_on(self, inputs: list) -> Apply:
        """Return a node of the same Op on other inputs of the same types, a list that it keeps."""
        if type(self) is not Apply:
            new = self.__class__(self.op, inputs, [output.clone() for output in self.outputs])
            self._copy_tag(new)
            return new
        # What `__init__` would check is known to hold.
        new = Apply.__new__(Apply)
        new.op = self.op
        new.inputs = inputs
        new.outputs = outputs = []
        for i, output in enumerate(self.outputs):
            clone = output.clone()
            clone.owner = new
            clone.index = i
            outputs.append(clone)
        if self._tag is not None:
            self._copy_tag(new)
        return new

    def get_parents(self) -> list:
        return list(self.inputs)

    nin = property(lambda self: len(self.inputs), doc="The number of inputs.")
    nout = property(lambda self: len(self.outputs), doc="The number of outputs.")
    params_type = property(lambda self: self.op.params_type, doc="The type of the Op's parameters.")

    def __getstate__(self) -> dict:
        return flat.apply_state(self)

    def __setstate__(self, state: Any) -> None:
        flat.set_apply_state(self, state)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return flat.reduce_apply(self)

    def __deepcopy__(self, memo: dict) -> Apply:
        return flat.deepcopy_node(self, memo)

    def __copy__(self) -> Apply:
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        return new


show_attributes(Apply, "op", "inputs", "outputs", "fgraph", "_tag")


class Variable(Node):
    """A node of a graph that stands for a value.

    Parameters
    ----------
    type : Type
        What values it can take.
    owner : Apply, optional
        The node that computes it.
    index : int, optional
        Which of the owner's outputs it is.
    name : str, optional
        For printing and debugging.

    See Also
    --------
    theano.Constant : A variable whose value is known when the graph is built and never changes.
    theano.Apply : The application of an Op to input variables, which gives output variables.
    theano.gof.graph.Node : A node of a graph: a `Variable` or an `Apply`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.scalar("a"), T.scalar("b")
    >>> c = a + b
    >>> c.owner.inputs == [a, b], c.owner.outputs[c.index] is c
    (True, True)
    """

    __count__ = count(0)

    def __init__(self, type: Any, owner: Apply | None = None, index: int | None = None, name: str | None = None):
        self.tag = scratchpad()
        self.type = type
        if owner is not None and not isinstance(owner, Apply):
            raise TypeError(f"owner must be an Apply instance, got {owner}")
        self.owner = owner
        if index is not None and not isinstance(index, int):
            raise TypeError(f"index must be an int, got {index}")
        self.index = index
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a string, got {name}")
        self.name = name
        self._number = next(self.__count__)
        if _observers:
            Variable.notify_construction_observers(self)

    @property
    def auto_name(self) -> str:
        """``'auto_'`` and a number that no other variable has."""
        return f"auto_{self._number}"

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            op = self.owner.op
            if self.index == getattr(op, "default_output", None):
                return f"{op}.out"
            return f"{op}.{self.index}"
        return f"<{self.type}>"

    def _repr_html_(self) -> str:
        return hooks.variable_html(self)

    def _repr_latex_(self) -> str | None:
        return hooks.variable_latex(self)

    def __repr__(self, firstPass: bool = True) -> str:
        if not (firstPass and config.print_test_value):
            return str(self)
        parts = [str(self)]
        try:
            parts.append(repr(get_test_value(self)))
        except AttributeError:
            pass
        return "\n".join(parts)

    def clone(self) -> Variable:
        """Return a new variable of the same type, name and tag, without an owner."""
        cp = self.__class__(self.type, None, None, self.name)
        cp.tag = copy_tag(self.tag)
        return cp

    def __lt__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __lt__: {type(self).__name__}")

    def __le__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __le__: {type(self).__name__}")

    def __gt__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __gt__: {type(self).__name__}")

    def __ge__(self, other: Any) -> Any:
        raise NotImplementedError(f"Subclasses of Variable must provide __ge__: {type(self).__name__}")

    def get_parents(self) -> list:
        return [self.owner] if self.owner is not None else []

    def eval(self, inputs_to_values: dict | None = None) -> Any:
        """Compute the variable's value.

        Parameters
        ----------
        inputs_to_values : dict, optional
            The values of the variables that it depends on.

        Returns
        -------
        The value, as a function of Theano returns it.

        Notes
        -----
        A function is compiled for each set of inputs and kept with the variable.

        Examples
        --------
        >>> import theano.tensor as T
        >>> x, y = T.dscalars("x", "y")
        >>> float((x + y).eval({x: 16.5, y: 12.0}))
        28.5
        """
        inputs_to_values = {} if inputs_to_values is None else inputs_to_values
        for key in inputs_to_values:
            if not isinstance(key, Variable):
                raise TypeError(f"eval of {self} takes a dictionary from variables to values; {key!r} is no variable.")
        cache = self.__dict__.setdefault("_fn_cache", {})
        which = frozenset(inputs_to_values)
        if which not in cache:
            # In the order given: the same program in every process.
            cache[which] = tuple(inputs_to_values), hooks.compile_function(tuple(inputs_to_values), self)
        inputs, fn = cache[which]
        return fn(*[inputs_to_values[variable] for variable in inputs])

    @classmethod
    def append_construction_observer(cls, observer: Callable) -> None:
        """Call `observer` with each variable that this thread makes from now on."""
        _observers.setdefault(threading.get_ident(), []).append(observer)

    @classmethod
    def remove_construction_observer(cls, observer: Callable) -> None:
        """Undo `append_construction_observer`."""
        me = threading.get_ident()
        _observers[me].remove(observer)
        if not _observers[me]:
            del _observers[me]

    @classmethod
    def notify_construction_observers(cls, instance: Variable) -> None:
        """Tell the observers of this thread of a new variable."""
        for observer in tuple(_observers.get(threading.get_ident(), ())):
            observer(instance)

    def __getstate__(self) -> dict:
        return flat.variable_state(self)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return flat.reduce_variable(self)

    def __deepcopy__(self, memo: dict) -> Variable:
        return flat.deepcopy_node(self, memo)

    def __copy__(self) -> Variable:
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        new.__dict__.pop("_fn_cache", None)
        return new


VARIABLE_ATTRIBUTES = ("tag", "type", "owner", "index", "name", "_number", "fgraph", "clients", "_lengths")
show_attributes(Variable, *VARIABLE_ATTRIBUTES)


class Constant(Variable):
    """A variable whose value is known when the graph is built and never changes.

    Parameters
    ----------
    type : Type
        The type of the value.
    data : object
        The value; the type filters it.
    name : str, optional
        What it is called when it is printed.

    Attributes
    ----------
    number : bool, int, float, complex or None
        What all elements are, where that is one number.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.
    theano.Variable : A node of a graph that stands for a value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> two = T.constant(2.0)
    >>> isinstance(two, Constant), float(two.data), two.equals(T.constant(2.0))
    (True, 2.0, True)
    """

    number: Any = None

    def __init__(self, type: Any, data: Any, name: str | None = None):
        Variable.__init__(self, type, None, None, name)
        self.data = type.filter(data)
        add_tag_trace(self)

    def equals(self, other: Any) -> bool:
        """Return whether `other` is a constant of the same type and value."""
        return isinstance(other, Constant) and self.signature() == other.signature()

    def signature(self) -> Any:
        """Return what is equal exactly for constants that can be merged."""
        return (self.type, self.data)

    def merge_signature(self) -> Any:
        """Return the signature by which graphs merge constants."""
        return self.signature()

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        text = str(self.data)
        if len(text) > 20:
            text = text[:10].strip() + "..." + text[-10:].strip()
        return f"Constant{{{text}}}"

    def clone(self) -> Constant:
        """Return a new constant that shares the data, which never change."""
        cp = self.__class__(self.type, self.data, self.name)
        cp.tag = copy(self.tag)
        return cp

    value = property(lambda self: self.data, doc="The data, which cannot be replaced.")


def as_variable(x: Any) -> Any:
    """Return a variable as it is, and the constant that another value becomes.

    Parameters
    ----------
    x : object
        A variable, a number, an array or anything that a type was registered for.

    See Also
    --------
    theano.tensor.as_tensor_variable : Turn `x` into a tensor variable or constant.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> as_variable(x) is x, as_variable(3)
    (True, TensorConstant{3})
    """
    return x if isinstance(x, Variable) else hooks.as_variable(x)


def get_test_value(v: Any) -> Any:
    """Return the test value of a variable.

    Parameters
    ----------
    v : Variable, or what can be made into a tensor constant
        Whose test value is wanted.

    Returns
    -------
    The value of a constant or shared variable, else ``v.tag.test_value`` as the variable's type filters it.

    Raises
    ------
    AttributeError
        There is none.

    See Also
    --------
    theano.gof.op.get_debug_values : Return the test values of some variables, for an Op that checks them when it is
        applied.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> x.tag.test_value = [1.0, 2.0]
    >>> get_test_value(x)
    array([1., 2.])
    >>> get_test_value(T.dscalar("y"))
    Traceback (most recent call last):
        ...
    AttributeError: y has no test value...
    """
    v = as_variable(v)
    if isinstance(v, Constant):
        return v.value
    if getattr(v, "is_shared_variable", False):
        return v.get_value(borrow=True, return_internal_type=True)
    if hasattr(v.tag, "test_value"):
        value = v.tag.test_value
        try:
            return v.type.filter(value)
        except Exception as e:
            hint = (
                f"For compute_test_value, one input test value does not have the requested type.\n"
                f"{get_variable_trace_string(v)}\nThe error when converting the test value to that variable type:\n{e}"
            )
            e.args = (hint, *e.args[1:])
            raise
    raise AttributeError(f"{v} has no test value {get_variable_trace_string(v)}")


@contextlib.contextmanager
def nodes_constructed() -> Iterator[list]:
    """Collect the variables that are made within the block, by the thread that runs it.

    See Also
    --------
    theano.Apply : The application of an Op to input variables, which gives output variables.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> with nodes_constructed() as new:
    ...     y = x * x
    >>> y in new
    True
    """
    new_nodes: list = []
    observer = new_nodes.append
    Variable.append_construction_observer(observer)
    try:
        yield new_nodes
    finally:
        Variable.remove_construction_observer(observer)
