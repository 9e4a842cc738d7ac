"""The elementwise operations that write their result over the first argument, for rewrites and tests.

Each name is that of the operation of ``theano.tensor`` followed by ``_inplace``.
"""

from __future__ import annotations

from typing import Any

from theano import printing
from theano import scalar as scal
from theano.printing import pprint
from theano.tensor.elemwise import Elemwise
from theano.tensor.shaping import transpose


def inplace_elementwise(scalar_op: Any, name: str) -> Elemwise:
    """Return the operation of `scalar_op` on tensors that overwrites its first input.

    Parameters
    ----------
    scalar_op : ScalarOp
        The operation on numbers.
    name : str
        The name that is printed.

    Returns
    -------
    Elemwise
        With the ``destroy_map`` that says so.

    See Also
    --------
    theano.tensor.inplace.transpose_inplace : Return `x` with its dimensions in the order `axes`, reversed by default: a
        view, as `transpose`.
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.

    Examples
    --------
    >>> import theano.tensor as T
    >>> erfinv_inplace = inplace_elementwise(scal.erfinv, "erfinv_inplace")
    >>> printing.pp(erfinv_inplace(T.dvector("x"))), erfinv_inplace.destroy_map
    ('erfinv_inplace=(x)', {0: [0]})
    >>> T.erfinv(T.lvector()).dtype, erfinv_inplace(T.lvector()).dtype
    ('float64', 'int64')
    """
    transferred = scalar_op.__class__(scal.transfer_type(0), name=getattr(scalar_op, "name", None))
    op = Elemwise(transferred, {0: 0}, name=name)
    summary = f"Compute ``{name.removesuffix('_inplace')}`` elementwise over the storage of the first argument."
    op.describe_as(f"T.inplace.{name}", summary)
    op.__module__ = __name__
    pprint.assign(op, printing.FunctionPrinter(name + "="))
    return op


lt_inplace = inplace_elementwise(scal.lt, "lt_inplace")
gt_inplace = inplace_elementwise(scal.gt, "gt_inplace")
le_inplace = inplace_elementwise(scal.le, "le_inplace")
ge_inplace = inplace_elementwise(scal.ge, "ge_inplace")
eq_inplace = inplace_elementwise(scal.eq, "eq_inplace")
neq_inplace = inplace_elementwise(scal.neq, "neq_inplace")
isnan_inplace = inplace_elementwise(scal.isnan, "isnan_inplace")
isinf_inplace = inplace_elementwise(scal.isinf, "isinf_inplace")
switch_inplace = inplace_elementwise(scal.switch, "switch_inplace")
minimum_inplace = inplace_elementwise(scal.minimum, "minimum_inplace")
maximum_inplace = inplace_elementwise(scal.maximum, "maximum_inplace")
clip_inplace = inplace_elementwise(scal.clip, "clip_inplace")
and__inplace = inplace_elementwise(scal.and_, "and__inplace")
or__inplace = inplace_elementwise(scal.or_, "or__inplace")
xor_inplace = inplace_elementwise(scal.xor, "xor_inplace")
invert_inplace = inplace_elementwise(scal.invert, "invert_inplace")
add_inplace = inplace_elementwise(scal.add, "add_inplace")
sub_inplace = inplace_elementwise(scal.sub, "sub_inplace")
mul_inplace = inplace_elementwise(scal.mul, "mul_inplace")
true_div_inplace = inplace_elementwise(scal.true_div, "true_div_inplace")
int_div_inplace = inplace_elementwise(scal.int_div, "int_div_inplace")
mod_inplace = inplace_elementwise(scal.mod, "mod_inplace")
pow_inplace = inplace_elementwise(scal.pow, "pow_inplace")
neg_inplace = inplace_elementwise(scal.neg, "neg_inplace")
inv_inplace = inplace_elementwise(scal.inv, "inv_inplace")
sqr_inplace = inplace_elementwise(scal.sqr, "sqr_inplace")
sqrt_inplace = inplace_elementwise(scal.sqrt, "sqrt_inplace")
sgn_inplace = inplace_elementwise(scal.sgn, "sgn_inplace")
exp_inplace = inplace_elementwise(scal.exp, "exp_inplace")
exp2_inplace = inplace_elementwise(scal.exp2, "exp2_inplace")
expm1_inplace = inplace_elementwise(scal.expm1, "expm1_inplace")
log_inplace = inplace_elementwise(scal.log, "log_inplace")
log2_inplace = inplace_elementwise(scal.log2, "log2_inplace")
log10_inplace = inplace_elementwise(scal.log10, "log10_inplace")
log1p_inplace = inplace_elementwise(scal.log1p, "log1p_inplace")
ceil_inplace = inplace_elementwise(scal.ceil, "ceil_inplace")
floor_inplace = inplace_elementwise(scal.floor, "floor_inplace")
trunc_inplace = inplace_elementwise(scal.trunc, "trunc_inplace")
round_half_to_even_inplace = inplace_elementwise(scal.round_half_to_even, "round_half_to_even_inplace")
round_half_away_from_zero_inplace = inplace_elementwise(scal.round_half_away_from_zero, "round_half_away_from_zero_inplace")
deg2rad_inplace = inplace_elementwise(scal.deg2rad, "deg2rad_inplace")
rad2deg_inplace = inplace_elementwise(scal.rad2deg, "rad2deg_inplace")
cos_inplace = inplace_elementwise(scal.cos, "cos_inplace")
sin_inplace = inplace_elementwise(scal.sin, "sin_inplace")
tan_inplace = inplace_elementwise(scal.tan, "tan_inplace")
arccos_inplace = inplace_elementwise(scal.arccos, "arccos_inplace")
arcsin_inplace = inplace_elementwise(scal.arcsin, "arcsin_inplace")
arctan_inplace = inplace_elementwise(scal.arctan, "arctan_inplace")
arctan2_inplace = inplace_elementwise(scal.arctan2, "arctan2_inplace")
cosh_inplace = inplace_elementwise(scal.cosh, "cosh_inplace")
sinh_inplace = inplace_elementwise(scal.sinh, "sinh_inplace")
tanh_inplace = inplace_elementwise(scal.tanh, "tanh_inplace")
arccosh_inplace = inplace_elementwise(scal.arccosh, "arccosh_inplace")
arcsinh_inplace = inplace_elementwise(scal.arcsinh, "arcsinh_inplace")
arctanh_inplace = inplace_elementwise(scal.arctanh, "arctanh_inplace")
erf_inplace = inplace_elementwise(scal.erf, "erf_inplace")
erfc_inplace = inplace_elementwise(scal.erfc, "erfc_inplace")
erfcx_inplace = inplace_elementwise(scal.erfcx, "erfcx_inplace")
gamma_inplace = inplace_elementwise(scal.gamma, "gamma_inplace")
gammaln_inplace = inplace_elementwise(scal.gammaln, "gammaln_inplace")
psi_inplace = inplace_elementwise(scal.psi, "psi_inplace")
tri_gamma_inplace = inplace_elementwise(scal.tri_gamma, "tri_gamma_inplace")
chi2sf_inplace = inplace_elementwise(scal.chi2sf, "chi2sf_inplace")
gammainc_inplace = inplace_elementwise(scal.gammainc, "gammainc_inplace")
gammaincc_inplace = inplace_elementwise(scal.gammaincc, "gammaincc_inplace")
gammau_inplace = inplace_elementwise(scal.gammau, "gammau_inplace")
gammal_inplace = inplace_elementwise(scal.gammal, "gammal_inplace")
j0_inplace = inplace_elementwise(scal.j0, "j0_inplace")
j1_inplace = inplace_elementwise(scal.j1, "j1_inplace")
jv_inplace = inplace_elementwise(scal.jv, "jv_inplace")
i0_inplace = inplace_elementwise(scal.i0, "i0_inplace")
i1_inplace = inplace_elementwise(scal.i1, "i1_inplace")
iv_inplace = inplace_elementwise(scal.iv, "iv_inplace")
conj_inplace = inplace_elementwise(scal.conj, "conj_inplace")
second_inplace = inplace_elementwise(scal.second, "second_inplace")
abs__inplace = inplace_elementwise(scal.abs_, "abs__inplace")
fill_inplace = second_inplace
pprint.assign(fill_inplace, printing.FunctionPrinter("fill="))
pprint.assign(add_inplace, printing.OperatorPrinter("+=", -2, "either"))
pprint.assign(sub_inplace, printing.OperatorPrinter("-=", -2, "left"))
pprint.assign(mul_inplace, printing.OperatorPrinter("*=", -1, "either"))
pprint.assign(neg_inplace, printing.OperatorPrinter("-=", 0, "either"))
pprint.assign(true_div_inplace, printing.OperatorPrinter("/=", -1, "left"))
pprint.assign(int_div_inplace, printing.OperatorPrinter("//=", -1, "left"))
pprint.assign(pow_inplace, printing.OperatorPrinter("**=", 1, "right"))


def transpose_inplace(x, axes=None):
    """Return `x` with its dimensions in the order `axes`, reversed by default: a view, as `transpose`.

    Parameters
    ----------
    x : tensor_like
        Of any rank.
    axes : sequence of int, optional
        A permutation of the dimensions.

    Returns
    -------
    TensorVariable
        A view of `x`.

    See Also
    --------
    theano.tensor.Elemwise : A scalar op applied to each element of tensors, which are broadcast to a common shape.
    theano.tensor.inplace.inplace_elementwise : Return the operation of `scalar_op` on tensors that overwrites its first
        input.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.inplace.transpose_inplace(T.zeros((2, 3))).eval().shape
    (3, 2)
    """
    return transpose(x, axes)
