"""Short texts that describe variables: for error messages and for comparing runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano.gof.graph import Variable
from theano.printing.debug import char_from_number


class _TagGenerator:
    """Hands out A, B, C ..."""

    def __init__(self) -> None:
        self.cur_tag_number = 0

    def get_tag(self) -> str:
        tag = char_from_number(self.cur_tag_number)
        self.cur_tag_number += 1
        return tag


def min_informative_str(
    obj: Any, indent_level: int = 0, _prev_obs: dict | None = None, _tag_generator: _TagGenerator | None = None
) -> str:
    """Describe the graph of a variable, down to the variables that have a name.

    Parameters
    ----------
    obj : Variable or object
        What to describe.
    indent_level : int
        Number of blanks in front of the first line.

    Returns
    -------
    str
        A line per variable, each with a letter; a variable that comes again is only its letter in angle brackets.

    See Also
    --------
    theano.printing.hex_digest : Return a text that differs for arrays with different contents, strides or shapes.
    theano.printing.var_descriptor : Describe a variable or value by a text that does not depend on where it is in memory.
    theano.printing.position_independent_str : Describe a variable without its address.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.dscalars('a', 'b')
    >>> print(min_informative_str(a + b))
    A. Elemwise{add,no_inplace}
     B. a
     C. b
    """
    lines = []
    stack = [(obj, indent_level)]
    tag_of = _tagger(_prev_obs, _tag_generator)
    while stack:
        thing, level = stack.pop()
        tag, is_new = tag_of(thing)
        owner = getattr(thing, "owner", None)
        if not is_new:
            lines.append(" " * level + tag)
            continue
        if hasattr(thing, "__array__") and not isinstance(thing, Variable):
            name = "<ndarray>"
        elif getattr(thing, "name", None) is not None:
            name = thing.name
        elif owner is not None:
            name = str(owner.op)
            stack.extend((var, level + 1) for var in reversed(owner.inputs))
        else:
            name = str(thing)
        lines.append(f"{' ' * level}{tag}. {name}")
    return "\n".join(lines)


def _tagger(seen: dict | None, tags: _TagGenerator | None) -> Callable[[Any], tuple[str, bool]]:
    """A function that gives the letter of a thing and whether it is new; else the letter is in angle brackets."""
    seen, tags = {} if seen is None else seen, tags or _TagGenerator()

    def tag_of(thing: Any) -> tuple[str, bool]:
        try:
            if thing in seen:
                return f"<{seen[thing]}>", False
            return seen.setdefault(thing, tags.get_tag()), True
        except TypeError:
            # It has no hash, and is new each time.
            return tags.get_tag(), True

    return tag_of


def var_descriptor(obj: Any, _prev_obs: dict | None = None, _tag_generator: _TagGenerator | None = None) -> str:
    """Describe a variable or value by a text that does not depend on where it is in memory.

    Parameters
    ----------
    obj : Variable, ndarray or object
        What to describe.

    Returns
    -------
    str
        The same for equal graphs and values in different runs.

    Raises
    ------
    AssertionError
        If nothing describes `obj` but its address.

    See Also
    --------
    theano.printing.min_informative_str : Describe the graph of a variable, down to the variables that have a name.
    theano.printing.hex_digest : Return a text that differs for arrays with different contents, strides or shapes.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.dscalars('a', 'b')
    >>> var_descriptor(a + b)
    'A=Elemwise{add,no_inplace}(B=a,C=b)'
    """
    tag_of = _tagger(_prev_obs, _tag_generator)
    parts: list[str] = []
    # Strings on the stack are punctuation to write.
    stack: list[Any] = [(obj,)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        thing = item[0]
        tag, is_new = tag_of(thing)
        if not is_new:
            parts.append(tag)
            continue
        owner = getattr(thing, "owner", None)
        if hasattr(thing, "__array__") and not isinstance(thing, Variable):
            name = f"<ndarray:strides=[{','.join(map(str, thing.strides))}],digest={hex_digest(thing)}>"
        elif owner is not None:
            name = f"{owner.op}("
            stack.append(")")
            for i, var in enumerate(reversed(owner.inputs)):
                if i:
                    stack.append(",")
                stack.append((var,))
        elif getattr(thing, "name", None) is not None:
            name = thing.name
        else:
            name = str(thing)
            if " at 0x" in name:
                # The text of the object has its address in it.
                name = position_independent_str(thing)
                if " at 0x" in name:
                    raise AssertionError(f"no description of {thing!r} without an address")
        parts.append(f"{tag}={name}")
    return "".join(parts)


def position_independent_str(obj: Any) -> str:
    """Describe a variable without its address.

    Parameters
    ----------
    obj : Variable
        The variable.

    Returns
    -------
    str
        The description.

    Raises
    ------
    NotImplementedError
        For anything but a Variable.

    See Also
    --------
    theano.printing.min_informative_str : Describe the graph of a variable, down to the variables that have a name.

    Examples
    --------
    >>> import theano.tensor as T
    >>> position_independent_str(T.dscalar("x"))
    'theano_var{type=TensorType(float64, scalar)}'
    """
    if isinstance(obj, Variable):
        return f"theano_var{{type={obj.type}}}"
    raise NotImplementedError(f"position_independent_str of {type(obj)}")


def hex_digest(x: np.ndarray) -> str:
    """Return a text that differs for arrays with different contents, strides or shapes.

    Parameters
    ----------
    x : ndarray
        Of any shape and dtype.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If `x` is not an ndarray.

    See Also
    --------
    theano.printing.var_descriptor : Describe a variable or value by a text that does not depend on where it is in memory.
    theano.printing.min_informative_str : Describe the graph of a variable, down to the variables that have a name.

    Examples
    --------
    >>> import numpy as np
    >>> hex_digest(np.zeros((2, 3), "int8"))
    '7319468847d7b1aee40dbf5dd963c999|strides=[3,1]|shape=[2,3]'
    """
    if not isinstance(x, np.ndarray):
        raise TypeError(f"hex_digest needs an ndarray, not {type(x)}")
    import hashlib

    digest = hashlib.md5(np.ascontiguousarray(x).tobytes(), usedforsecurity=False).hexdigest()
    strides = ",".join(str(stride) for stride in x.strides)
    shape = ",".join(str(length) for length in x.shape)
    return f"{digest}|strides=[{strides}]|shape=[{shape}]"
