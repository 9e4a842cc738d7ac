"""What Ops and Types may say about their C code.

Every method that is not marked as required may be left out: whoever asks for C code takes `MethodNotDefined` as "there
is none".  Where a method takes the compiler (`c_headers` and the like), it may be written with or without that
parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from theano.gof.utils import MethodNotDefined


def _missing(obj: Any, name: str) -> NoReturn:
    raise MethodNotDefined(name, type(obj), obj.__class__.__name__)


def takes(method: Callable, n: int) -> bool:
    """Return whether a method can be called with `n` positional arguments.

    Parameters
    ----------
    method : callable
        Anything that can be called.
    n : int
        How many arguments.

    Examples
    --------
    >>> def method(name, sub, check_input=True):
    ...     return name
    >>> takes(method, 3), takes(method, 4), takes(lambda *names: names, 4)
    (True, False, True)
    """
    import inspect

    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return True
    return sum(p.kind in kinds for p in parameters) >= n


class CLinkerObject:
    """The part of the C interface that Ops and Types have in common.

    See Also
    --------
    theano.Op : An operation, with its C interface: the base class of Ops.
    theano.gof.op.CLinkerOp : The C interface of Ops.

    Examples
    --------
    >>> class Norm(CLinkerObject):
    ...     def c_headers(self):
    ...         return ["<math.h>"]
    >>> Norm().c_headers(), Norm().c_code_cache_version()
    (['<math.h>'], ())
    >>> Norm().c_libraries()
    Traceback (most recent call last):
        ...
    theano.gof.utils.MethodNotDefined: ('c_libraries', <class 'theano.gof.c_interface.Norm'>, 'Norm')
    """

    def c_headers(self) -> list[str]:
        """Return the headers to include."""
        _missing(self, "c_headers")

    def c_header_dirs(self) -> list[str]:
        """Return the directories of headers."""
        _missing(self, "c_header_dirs")

    def c_libraries(self) -> list[str]:
        """Return the names of libraries to link against."""
        _missing(self, "c_libraries")

    def c_lib_dirs(self) -> list[str]:
        """Return the directories of libraries."""
        _missing(self, "c_lib_dirs")

    def c_support_code(self) -> str | list[str]:
        """Return code for the global scope, such as helper functions."""
        _missing(self, "c_support_code")

    def c_code_cache_version(self) -> tuple:
        """Return a tuple that changes with the code; the empty tuple means that the code is not cached."""
        return ()

    def c_compile_args(self) -> list[str]:
        """Return arguments for the compiler."""
        _missing(self, "c_compile_args")

    def c_no_compile_args(self) -> list[str]:
        """Return arguments that the compiler must not be given."""
        _missing(self, "c_no_compile_args")

    def c_init_code(self) -> list[str]:
        """Return code that is run once, when the module is initialized."""
        _missing(self, "c_init_code")


class CLinkerOp(CLinkerObject):
    """The C interface of Ops.

    In all methods `name` is an identifier that is unique to the node, `inputs` and `outputs` are the names of the C
    variables of the node's inputs and outputs, and `sub` has the entries ``'fail'`` (code to run once a Python
    exception is set) and, where the Op has parameters, ``'params'`` (the name of their variable).

    See Also
    --------
    theano.gof.HideC : A mix-in for Ops that hides the C code of the classes after it.
    theano.gof.op.CLinkerObject : The part of the C interface that Ops and Types have in common.
    theano.Op : An operation, with its C interface: the base class of Ops.

    Examples
    --------
    >>> class Increment(CLinkerOp):
    ...     def c_code(self, node, name, inputs, outputs, sub):
    ...         return f"{outputs[0]} = {inputs[0]} + 1;"
    ...     def c_code_cache_version(self):
    ...         return (1,)
    >>> Increment().c_code(None, "node_0", ["V3"], ["V5"], {}), Increment().c_code_cache_version_apply(None)
    ('V5 = V3 + 1;', (1,))
    """

    def c_code(self, node: Any, name: str, inputs: list[str], outputs: list[str], sub: dict[str, str]) -> str:
        """Return the code that computes the outputs.  Required."""
        _missing(self, "c_code")

    def c_code_cache_version_apply(self, node: Any) -> tuple:
        """Return the version of the code for one node."""
        return self.c_code_cache_version()

    def c_code_cleanup(self, node: Any, name: str, inputs: list[str], outputs: list[str], sub: dict[str, str]) -> str:
        """Return code that runs after `c_code`, even if that failed."""
        _missing(self, "c_code_cleanup")

    def c_support_code_apply(self, node: Any, name: str) -> str:
        """Return code for the global scope that is special to one node."""
        _missing(self, "c_support_code_apply")

    def c_init_code_apply(self, node: Any, name: str) -> str:
        """Return code that is run once, when the module is initialized, and is special to one node."""
        _missing(self, "c_init_code_apply")

    def c_init_code_struct(self, node: Any, name: str, sub: dict[str, str]) -> str:
        """Return code for the constructor of the node's struct."""
        _missing(self, "c_init_code_struct")

    def c_support_code_struct(self, node: Any, name: str) -> str:
        """Return declarations for the node's struct."""
        _missing(self, "c_support_code_struct")

    def c_cleanup_code_struct(self, node: Any, name: str) -> str:
        """Return code for the destructor of the node's struct."""
        _missing(self, "c_cleanup_code_struct")
