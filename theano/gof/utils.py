"""Small tools of the graph: scratchpads, collections, decorators."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from theano.configdefaults import config
from theano.gof.stack_traces import _compact_stacks, _resolve_stack
from theano.gof.stack_traces import add_tag_trace as add_tag_trace
from theano.gof.stack_traces import copy_stack_trace as copy_stack_trace
from theano.gof.stack_traces import get_variable_trace_string as get_variable_trace_string
from theano.gof.stack_traces import simple_extract_stack as simple_extract_stack
from theano.gof.stack_traces import warn_user as warn_user
from theano.process import new_lock as _new_lock


class scratchpad:
    """A bag of attributes: the ``tag`` of variables and nodes.

    The attribute `trace` holds the stack traces of the user's code that made the thing: a list of stacks, each a
    list of (file, line number, function, text), outermost first.  It is kept in a compact form until it is read:
    reading sources takes longer than making a node.

    See Also
    --------
    theano.Variable : A node of a graph that stands for a value.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.vector("x")
    >>> x.tag.unit = "volt"
    >>> x.clone().tag.unit, scratchpad().is_empty()
    ('volt', True)
    """

    # Almost every tag has a trace and nothing else: so it costs no dictionary.
    __slots__ = ("__dict__", "__weakref__", "_trace")

    _trace: Any

    def __init__(self) -> None:
        self._trace = None

    def is_empty(self) -> bool:
        """Whether there is no attribute."""
        return self._trace is None and not self.__dict__

    def clear(self) -> None:
        """Remove all attributes."""
        self._trace = None
        self.__dict__.clear()

    def __update__(self, other: scratchpad) -> scratchpad:
        if other._trace is not None:
            self._trace = other._trace
        self.__dict__.update(other.__dict__)
        return self

    @property
    def trace(self) -> list:
        value = self._trace
        if value is None:
            raise AttributeError("trace")
        if type(value) is tuple:
            value = self._trace = [_resolve_stack(stack) for stack in _compact_stacks(value)]
        return value

    @trace.setter
    def trace(self, value: Any) -> None:
        self._trace = value

    @trace.deleter
    def trace(self) -> None:
        if self._trace is None:
            raise AttributeError("trace")
        self._trace = None

    def __copy__(self) -> scratchpad:
        other = self.__class__.__new__(self.__class__)
        other._trace = self._trace
        own = self.__dict__
        if own:
            other.__dict__.update(own)
        return other

    def _attributes(self) -> dict:
        found = dict(self.__dict__)
        if self._trace is not None:
            found["trace"] = self.trace
        return found

    def __str__(self) -> str:
        return f"scratchpad{self._attributes()}"

    __repr__ = __str__

    def info(self) -> None:
        """Print the attributes."""
        print(f"<theano.gof.utils.scratchpad instance at {id(self)}>")
        for k in self._attributes():
            print(f"  {k}: {getattr(self, k)}")

    def __getstate__(self) -> dict:
        state = dict(self.__dict__)
        if self._trace is not None:
            state["trace"] = self._trace
        if "test_value" in state and not config.pickle_test_value:
            del state["test_value"]
        state.pop("ufunc", None)
        return state

    def __setstate__(self, state: dict) -> None:
        state = dict(state)
        self._trace = state.pop("trace", None)
        self.__dict__.update(state)


def hashtype(self: Any) -> int:
    """Hash an object by its class.

    Parameters
    ----------
    self : object
        Used as a method, ``__hash__``.

    Returns
    -------
    int
        The same for all objects of a class.

    See Also
    --------
    theano.Type : A type with a C interface: the base class of types.

    Examples
    --------
    >>> class Increment:
    ...     __hash__ = hashtype
    ...     def __eq__(self, other):
    ...         return type(self) is type(other)
    >>> len({Increment(), Increment()})
    1
    """
    t = type(self)
    return hash(t.__name__) ^ hash(t.__module__)


class MethodNotDefined(Exception):
    """A method that is part of an interface is not defined by the class that was asked for it.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> import theano
    >>> theano.gof.Type().filter(3)
    Traceback (most recent call last):
        ...
    theano.gof.utils.MethodNotDefined: ('filter', <class 'theano.gof.type.Type'>, 'Type')
    """


class AbstractFunctionError(Exception):
    """An abstract function was called.

    Examples
    --------
    >>> import theano
    >>> theano.gof.LocalOptimizer().transform(None)
    Traceback (most recent call last):
        ...
    theano.gof.utils.AbstractFunctionError: (<class 'theano.gof.opt.LocalOptimizer'>, 'transform')
    """


class undef:
    """A unique value that stands for 'not given'.

    Examples
    --------
    >>> def clone(allow_gc=undef):
    ...     return "as before" if allow_gc is undef else f"set to {allow_gc}"
    >>> clone(), clone(None)
    ('as before', 'set to None')
    """


class object2:
    """A base class without anything; kept for classes that derive from it.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.
    theano.Type : A type with a C interface: the base class of types.

    Examples
    --------
    >>> class Settings(object2):
    ...     pass
    >>> settings = Settings()
    >>> settings.rate = 0.1
    >>> vars(settings)
    {'rate': 0.1}
    """


class D:
    """An object whose attributes are the keyword arguments it was made with.

    Parameters
    ----------
    **d
        Its attributes.

    Examples
    --------
    >>> options = D(rate=0.1, steps=20)
    >>> options.rate * options.steps
    2.0
    """

    def __init__(self, **d: Any):
        self.__dict__.update(d)


def memoize(f: Callable) -> Callable:
    """Cache the return value of `f` for each tuple of (hashable) arguments.

    Parameters
    ----------
    f : callable
        The function.

    Returns
    -------
    callable
        One that asks `f` once for each tuple.

    Examples
    --------
    >>> calls = []
    >>> @memoize
    ... def double(x):
    ...     calls.append(x)
    ...     return 2 * x
    >>> double(2), double(2), calls
    (4, 4, [2])
    """
    cache: dict = {}

    @functools.wraps(f)
    def rval(*args: Any, **kwargs: Any) -> Any:
        key = (args, tuple(kwargs.items()))
        try:
            return cache[key]
        except KeyError:
            value = cache[key] = f(*args, **kwargs)
            return value

    return rval


def deprecated(filename: str, msg: str = "") -> Callable:
    """Make a decorator that prints a warning the first time the function is called.

    Parameters
    ----------
    filename : str
        Where the function is; printed before its name.
    msg : str
        What to do instead.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> @deprecated("model.py", "Use train.")
    ... def fit(x):
    ...     return 2 * x
    >>> fit(1) + fit(2)
    WARNING model.py.fit deprecated. Use train.
    6
    """

    def _deprecated(f: Callable) -> Callable:
        lock = _new_lock()
        state = {"first": True}

        @functools.wraps(f)
        def g(*args: Any, **kwargs: Any) -> Any:
            with lock:
                first, state["first"] = state["first"], False
            if first:
                print(f"WARNING {filename}.{f.__name__} deprecated. {msg}")
            return f(*args, **kwargs)

        return g

    return _deprecated


def named_methods(cls: type) -> type:
    """Give the methods of `cls` that functions made for it the names that it has for them.

    Parameters
    ----------
    cls : type
        The class, which is changed.

    Returns
    -------
    type
        `cls` itself.

    Examples
    --------
    >>> def constant(value):
    ...     return lambda self: value
    >>> @named_methods
    ... class Shape:
    ...     ndim = constant(2)
    >>> Shape.ndim.__qualname__, Shape().ndim()
    ('Shape.ndim', 2)
    """
    for name, method in vars(cls).items():
        if "<locals>" in getattr(method, "__qualname__", ""):
            method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return cls


def uniq(seq: Sequence) -> list:
    """Return the elements of `seq` without repetitions, each at the place of its first occurrence.

    Parameters
    ----------
    seq : iterable
        Of things that can be compared.

    Examples
    --------
    >>> uniq([2, 1, 2, 3, 1])
    [2, 1, 3]
    """
    try:
        return list(dict.fromkeys(seq))
    except TypeError:
        return [x for i, x in enumerate(seq) if seq.index(x) == i]


def unique(x: Iterable) -> bool:
    """Return whether no element of `x` comes twice.

    Parameters
    ----------
    x : iterable
        Of things that can be hashed.

    Examples
    --------
    >>> unique(["x", "y"]), unique(["x", "y", "x"])
    (True, False)
    """
    x = list(x)
    return len(set(x)) == len(x)


def difference(seq1: Iterable, seq2: Iterable) -> list:
    """Return the elements of `seq1` that are not in `seq2`.

    Parameters
    ----------
    seq1, seq2 : iterable
        What to look through, and what to leave out.

    Returns
    -------
    list
        In the order of `seq1`.

    Examples
    --------
    >>> difference([1, 2, 3], [2])
    [1, 3]
    """
    seq2 = list(seq2)
    try:
        lookup: Any = set(seq2) if len(seq2) > 4 else seq2
        return [x for x in seq1 if x not in lookup]
    except TypeError:
        return [x for x in seq1 if x not in seq2]


def to_return_values(values: Sequence) -> Any:
    """Return the only element of a sequence of length one, else the sequence.

    Parameters
    ----------
    values : sequence
        What a function computed.

    Examples
    --------
    >>> to_return_values([3]), to_return_values([3, 4])
    (3, [3, 4])
    """
    return values[0] if len(values) == 1 else values


def from_return_values(values: Any) -> list:
    """Return a list of what a function returned: one value or several.

    Parameters
    ----------
    values : object
        A list and a tuple are several.

    Examples
    --------
    >>> from_return_values(3), from_return_values((3, 4))
    ([3], [3, 4])
    """
    return list(values) if isinstance(values, (list, tuple)) else [values]


def flatten(a: Any) -> list:
    """Flatten nested tuples, lists and sets into one list.

    Parameters
    ----------
    a : object
        What is no tuple, list or set is an element.

    Returns
    -------
    list
        The elements, in order.

    Examples
    --------
    >>> flatten([1, (2, [3]), {4}])
    [1, 2, 3, 4]
    """
    if not isinstance(a, (tuple, list, set)):
        return [a]
    result: list = []
    stack: list[Iterator] = [iter(a)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, (tuple, list, set)):
                stack.append(iter(item))
                break
            result.append(item)
        else:
            stack.pop()
    return result


def hist(coll: Iterable[Hashable]) -> dict:
    """Count how often each element comes.

    Parameters
    ----------
    coll : iterable
        Of things that can be hashed.

    Returns
    -------
    dict
        The counts by element.

    Examples
    --------
    >>> hist(["add", "mul", "add"])
    {'add': 2, 'mul': 1}
    """
    return dict(Counter(coll))


def remove(predicate: Callable[[Any], Any], coll: Iterable) -> list:
    """Return the items of `coll` for which `predicate` is not true.

    Parameters
    ----------
    predicate : callable
        A function of one argument.
    coll : iterable
        What to choose from.

    Returns
    -------
    list
        In the order of `coll`.

    Examples
    --------
    >>> remove(lambda x: x % 2 == 0, [1, 2, 3, 4])
    [1, 3]
    """
    return [x for x in coll if not predicate(x)]


def toposort(prereqs_d: dict) -> list:
    """Sort the keys of a dictionary of prerequisites.

    Parameters
    ----------
    prereqs_d : dict
        ``prereqs_d[x]`` has all that must come before ``x``.

    Returns
    -------
    list
        All keys, each after its prerequisites.

    Raises
    ------
    Exception
        The prerequisites hold a cycle, or name something that is no key.

    Examples
    --------
    >>> toposort({"shoes": ["socks"], "socks": [], "hat": ["shoes"]})
    ['socks', 'shoes', 'hat']
    """
    missing = {p: set(prereqs) for p, prereqs in prereqs_d.items()}
    waiting: dict = defaultdict(list)
    for x, prereqs in prereqs_d.items():
        for p in dict.fromkeys(prereqs):
            waiting[p].append(x)
    ready = [x for x in prereqs_d if not missing[x]]
    seq = []
    for x in ready:
        seq.append(x)
        for y in waiting[x]:
            missing[y].discard(x)
            if not missing[y]:
                ready.append(y)
    if len(seq) != len(prereqs_d):
        raise Exception(
            "Cannot sort topologically: there might be cycles, prereqs_d does not have a key for each element or "
            "some orderings contain invalid elements."
        )
    return seq


def comm_guard(type1: Any, type2: Any) -> Callable:
    """Make a decorator of functions of two arguments that takes them in either order, by type.

    A function of the same name that was decorated before is tried where the types do not fit.

    Parameters
    ----------
    type1, type2 : type, tuple of types, or ANY_TYPE
        Of the two arguments.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> @comm_guard(int, str)
    ... def repeat(n, text):
    ...     return n * text
    >>> repeat(3, "ab"), repeat("ab", 3), repeat(1, 2)
    ('ababab', 'ababab', <FALL_THROUGH>)
    """

    def wrap(f: Callable) -> Callable:
        old_f = f.__globals__.get(f.__name__)

        def new_f(arg1: Any, arg2: Any, *rest: Any) -> Any:
            if (type1 is ANY_TYPE or isinstance(arg1, type1)) and (type2 is ANY_TYPE or isinstance(arg2, type2)):
                pass
            elif (type1 is ANY_TYPE or isinstance(arg2, type1)) and (type2 is ANY_TYPE or isinstance(arg1, type2)):
                arg1, arg2 = arg2, arg1
            elif old_f is not None:
                return old_f(arg1, arg2, *rest)
            else:
                return FALL_THROUGH
            result = f(arg1, arg2, *rest)
            if result is FALL_THROUGH and old_f is not None:
                return old_f(arg1, arg2, *rest)
            return result

        new_f.__name__ = f.__name__
        new_f.__doc__ = f.__doc__
        return new_f

    return wrap


def type_guard(type1: Any) -> Callable:
    """Make a decorator that calls the function only where its first argument has the type.

    A function of the same name that was decorated before is tried where it does not fit.

    Parameters
    ----------
    type1 : type, tuple of types, or ANY_TYPE
        Of the argument.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> @type_guard(int)
    ... def describe(n):
    ...     return f"a number, {n}"
    >>> describe(3), describe("three")
    ('a number, 3', <FALL_THROUGH>)
    """

    def wrap(f: Callable) -> Callable:
        old_f = f.__globals__.get(f.__name__)

        def new_f(arg1: Any, *rest: Any) -> Any:
            if type1 is ANY_TYPE or isinstance(arg1, type1):
                result = f(arg1, *rest)
                if result is not FALL_THROUGH or old_f is None:
                    return result
            elif old_f is None:
                return FALL_THROUGH
            return old_f(arg1, *rest)

        new_f.__name__ = f.__name__
        new_f.__doc__ = f.__doc__
        return new_f

    return wrap


class Keyword:
    """A mark among values; its name is its text.

    Parameters
    ----------
    name : str
        Its text.
    nonzero : bool
        Whether it counts as true.

    Examples
    --------
    >>> unknown = Keyword("UNKNOWN", nonzero=False)
    >>> unknown, bool(unknown), bool(RETRY)
    (<UNKNOWN>, False, False)
    """

    def __init__(self, name: str, nonzero: bool = True):
        self.name = name
        self.nonzero = nonzero

    def __bool__(self) -> bool:
        return self.nonzero

    def __repr__(self) -> str:
        return f"<{self.name}>"


ABORT = Keyword("ABORT", False)
RETRY = Keyword("RETRY", False)
FAILURE = Keyword("FAILURE", False)
ANY_TYPE = Keyword("ANY_TYPE")
FALL_THROUGH = Keyword("FALL_THROUGH")

simple_types = (int, str, float, bool, type(None), Keyword)


def give_variables_names(variables: Iterable) -> list:
    """Give variables unique names, in place: those without a name or with one that another has get a new one.

    Parameters
    ----------
    variables : iterable of Variable
        They are changed.

    Returns
    -------
    list of Variable
        The variables that were given.

    Examples
    --------
    >>> import theano.tensor as T
    >>> variables = [T.vector("x"), T.vector("x"), T.vector(), T.vector("y")]
    >>> give_variables_names(variables)
    [x_0, x_1, V_1, y]
    """
    variables = list(variables)
    counts = Counter(v.name for v in variables)
    taken = {name for name, n in counts.items() if name and n == 1}
    next_id = 0
    for v in variables:
        if v.name and counts[v.name] == 1:
            continue
        base = v.name or "V"
        while f"{base}_{next_id}" in taken:
            next_id += 1
        v.name = f"{base}_{next_id}"
        taken.add(v.name)
    return variables


def hash_from_code(msg: str | bytes) -> str:
    """Return ``m`` and the SHA256 digest of a text, in hexadecimal form.

    Parameters
    ----------
    msg : str or bytes
        The text.

    Examples
    --------
    >>> hash_from_code("z = x + y;")[:9]
    'mfe2e1d66'
    >>> hash_from_code("z = x + y;") == hash_from_code(b"z = x + y;")
    True
    """
    import hashlib

    if isinstance(msg, str):
        msg = msg.encode()
    # Some names must not start with a digit.
    return "m" + hashlib.sha256(memoryview(msg)).hexdigest()


def hash_from_file(file_path: str) -> str:
    """Return ``m`` and the SHA256 digest of a file, in hexadecimal form.

    Parameters
    ----------
    file_path : str
        The name of the file.

    Returns
    -------
    str
        ``m`` and the digits.

    Examples
    --------
    >>> with open("kernel.c", "w") as file:
    ...     _ = file.write("z = x + y;")
    >>> hash_from_file("kernel.c") == hash_from_code("z = x + y;")
    True
    >>> import os
    >>> os.remove("kernel.c")
    """
    with open(file_path, "rb") as f:
        return hash_from_code(f.read())


def hash_from_dict(d: dict) -> str:
    """Return ``m`` and the SHA256 digest of a dictionary with sortable keys.

    Lists and tuples are taken as their elements' texts.

    Parameters
    ----------
    d : dict
        The dictionary.

    Examples
    --------
    >>> hash_from_dict({"a": 1, "b": [2, 3]}) == hash_from_dict({"b": [2, 3], "a": 1})
    True
    >>> hash_from_dict({"a": 1}) == hash_from_dict({"a": 2})
    False
    """
    items: list = d.items() if isinstance(d, OrderedDict) else sorted(d.items())  # type: ignore[assignment]
    parts = []
    for k, v in items:
        parts.append(str(k))
        parts += [str(i) for i in v] if isinstance(v, (tuple, list)) else [str(v)]
    return hash_from_code(",".join(parts))
