"""Short texts that describe variables: for error messages and for comparing runs."""

from __future__ import annotations

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
    indent_level : int
        Number of blanks in front of the first line.

    Returns
    -------
    str
        A line per variable, each with a letter; a variable that comes again is only its letter in angle brackets.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.dscalars('a', 'b')
    >>> print(min_informative_str(a + b))
    A. Elemwise{add,no_inplace}
     B. a
     C. b
    """
    seen: dict = {} if _prev_obs is None else _prev_obs
    tags = _tag_generator or _TagGenerator()
    lines = []
    stack = [(obj, indent_level)]
    while stack:
        thing, level = stack.pop()
        indent = " " * level
        if _known(seen, thing):
            lines.append(f"{indent}<{seen[thing]}>")
            continue
        tag = tags.get_tag()
        if _hashable(thing):
            seen[thing] = tag
        owner = getattr(thing, "owner", None)
        if hasattr(thing, "__array__") and not isinstance(thing, Variable):
            name = "<ndarray>"
        elif getattr(thing, "name", None) is not None:
            name = thing.name
        elif owner is not None:
            name = str(owner.op)
            stack.extend((var, level + 1) for var in reversed(owner.inputs))
        else:
            name = str(thing)
        lines.append(f"{indent}{tag}. {name}")
    return "\n".join(lines)


def _hashable(thing: Any) -> bool:
    try:
        hash(thing)
    except TypeError:
        return False
    return True


def _known(seen: dict, thing: Any) -> bool:
    return _hashable(thing) and thing in seen


def var_descriptor(obj: Any, _prev_obs: dict | None = None, _tag_generator: _TagGenerator | None = None) -> str:
    """Describe a variable or value by a text that does not depend on where it is in memory.

    Parameters
    ----------
    obj : Variable, ndarray or object

    Returns
    -------
    str
        The same for equal graphs and values in different runs.

    Examples
    --------
    >>> import theano.tensor as T
    >>> a, b = T.dscalars('a', 'b')
    >>> var_descriptor(a + b)
    'A=Elemwise{add,no_inplace}(B=a,C=b)'
    """
    seen: dict = {} if _prev_obs is None else _prev_obs
    tags = _tag_generator or _TagGenerator()
    parts: list[str] = []
    # Strings on the stack are punctuation to write.
    stack: list[Any] = [(obj,)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        thing = item[0]
        if _known(seen, thing):
            parts.append(f"<{seen[thing]}>")
            continue
        tag = tags.get_tag()
        if _hashable(thing):
            seen[thing] = tag
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

    Raises
    ------
    NotImplementedError
        For anything but a Variable.
    """
    if isinstance(obj, Variable):
        return f"theano_var{{type={obj.type}}}"
    raise NotImplementedError(f"position_independent_str of {type(obj)}")


def hex_digest(x: np.ndarray) -> str:
    """Return a text that differs for arrays with different contents, strides or shapes.

    Parameters
    ----------
    x : ndarray

    Returns
    -------
    str
    """
    if not isinstance(x, np.ndarray):
        raise TypeError(f"hex_digest needs an ndarray, not {type(x)}")
    import hashlib

    digest = hashlib.md5(np.ascontiguousarray(x).tobytes(), usedforsecurity=False).hexdigest()
    strides = ",".join(str(stride) for stride in x.strides)
    shape = ",".join(str(length) for length in x.shape)
    return f"{digest}|strides=[{strides}]|shape=[{shape}]"
