"""Special functions that have no C code of their own: SciPy's compiled ones, called for each element."""

from __future__ import annotations

import functools
import re
from typing import Any

from theano.compile.aliasing import _alias_roots
from theano.gof.graph import Apply
from theano.native import instructions as vm
from theano.native.program import CannotLower, ProgramBuilder
from theano.scalar import special

# By scalar op: the name of SciPy's function, that of a factor (a function of the first argument), whether it is f(k, x)
# for arguments x and k: a survival function, which is 1 below 0.
FUNCTIONS: dict[type, tuple[str, str | None, bool]] = {
    special.Erfcx: ("erfcx", None, False),
    special.Erfinv: ("erfinv", None, False),
    special.Erfcinv: ("erfcinv", None, False),
    special.Chi2SF: ("chdtrc", None, True),
    special.GammaInc: ("gammainc", None, False),
    special.GammaIncC: ("gammaincc", None, False),
    special.GammaU: ("gammaincc", "gamma", False),
    special.GammaL: ("gammainc", "gamma", False),
    special.Jv: ("jv", None, False),
    special.Iv: ("iv", None, False),
    special.I0: ("i0", None, False),
    special.I1: ("i1", None, False),
}

_SIGNATURE = re.compile(r"double \((double(?:, double)?), int __pyx_skip_dispatch\)\Z")


def find_function(name: str, arguments: int) -> Any:
    """The capsule of a function of float64 in `scipy.special.cython_special`.

    Raises
    ------
    CannotLower
        If SciPy is missing or has no such function.
    """
    found = _load().get(f"{name}/{arguments}")
    if found is None:
        raise CannotLower(f"SciPy's C interface has no {name} of {arguments} float64")
    return found


@functools.cache
def _load() -> dict[str, Any]:
    """Capsules by name and number of arguments; specialisations of one name are told apart by their signatures."""
    from theano.native.target.cpu.blas_library import signature_of

    try:
        from scipy.special import cython_special
    except ImportError:
        return {}
    found: dict[str, Any] = {}
    for name, capsule in cython_special.__pyx_capi__.items():
        matched = _SIGNATURE.match(signature_of(capsule))
        if matched:
            name = re.sub(r"^__pyx_fuse_\d+", "", name)
            found[f"{name}/{matched[1].count('double')}"] = capsule
    return found


def lower_special(builder: ProgramBuilder, node: Apply) -> None:
    """Emit an elementwise call of SciPy's function.

    Raises
    ------
    CannotLower
        If the scalar op is none of these functions, its operands are complex, or it writes over an input of the graph.
    """
    names = FUNCTIONS.get(type(node.op.scalar_op))
    if names is None:
        raise CannotLower("not a function of SciPy's C interface")
    if any(v.type.dtype.startswith("complex") for v in node.inputs):
        raise CannotLower("complex arguments")
    if any(root.owner is None for i in node.op.inplace_pattern.values() for root in _alias_roots(node.inputs[i])):
        # The result is a new array, which shows where an argument of the caller was to be overwritten.
        raise CannotLower("writes over an input of the graph")
    name, factor, survival = names
    function = find_function(name, len(node.inputs))
    builder.emit_for(node, vm.Special(function, factor and find_function(factor, 1), survival))
