"""The documented names of the tensor rewrites, gathered from :mod:`theano.tensor.rewriting`.

Importing this module registers all of them.
"""

from __future__ import annotations

import importlib as _importlib

from theano import aliases
from theano.gof.opt import LocalOptGroup, copy_stack_trace, in2out, local_optimizer, out2in
from theano.gof.toolbox import Feature
from theano.raise_op import Assert, assert_op
from theano.tensor.basic import (
    Alloc,
    MakeVector,
    NotScalarConstantError,
    ShapeError,
    extract_constant,
    get_scalar_constant_value,
)
from theano.tensor.elemwise import All, Any, CAReduce, Prod, ProdWithoutZeros, Sum
from theano.tensor.rewriting.canonizer import (
    AlgebraicCanonizer,
    Canonizer,
    check_for_x_over_absX,
    local_add_canonizer,
    local_mul_canonizer,
)
from theano.tensor.rewriting.fill import fill as _fill
from theano.tensor.rewriting.fill import local_fill_sink
from theano.tensor.rewriting.folding import constant_folding
from theano.tensor.rewriting.fusion import FusionOptimizer, local_elemwise_fusion_op
from theano.tensor.rewriting.inplace import InplaceElemwiseOptimizer, insert_inplace_optimizer
from theano.tensor.rewriting.registry import (
    register_canonicalize,
    register_specialize,
    register_specialize_device,
    register_stabilize,
    register_uncanonicalize,
    register_useless,
)
from theano.tensor.rewriting.shape import ShapeFeature, ShapeOptimizer, UnShapeOptimizer
from theano.tensor.rewriting.terms import broadcast_like, encompasses_broadcastable, scalarconsts_rest

# In this order: of a name that two of them have, the first one counts.
_FAMILIES = (
    "algebra", "blas", "canonizer", "cleanup", "dot", "elemwise", "fill", "folding", "fusion", "incsubtensor", "inplace",
    "layout", "masks", "moments", "reduction", "registry", "shape", "stability", "stability_erf", "subtensor", "subtensor_lift",
    "uncanonicalize",
)

make_vector = MakeVector()
assert_ = assert_op
_own = globals()
for _family in _FAMILIES:
    for _name, _object in vars(_importlib.import_module(f"theano.tensor.rewriting.{_family}")).items():
        if not _name.startswith("_"):
            _own.setdefault(_name, _object)
fill = _fill
del _family, _name, _object, _own

mul_canonizer = in2out(LocalOptGroup(local_mul_canonizer, local_fill_sink, apply_all_opts=True), name="mul_canonizer_groups")
add_canonizer = in2out(LocalOptGroup(local_add_canonizer, local_fill_sink, apply_all_opts=True), name="add_canonizer_group")
topo_constant_folding = in2out(constant_folding, ignore_newtrees=True, name="topo_constant_folding")
#: The Ops of reductions.
ALL_REDUCE = [CAReduce, All, Any, Sum, Prod, ProdWithoutZeros]


def get_clients(node):
    """Return the Applies that use the first output of `node`, used to look for a less frequent Op from it.

    Parameters
    ----------
    node : Apply
        A node of a graph.

    Returns
    -------
    list of Apply
        One for each use.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> y = T.exp(x)
    >>> fgraph = theano.gof.FunctionGraph([x], [T.log(y), -y], clone=False)
    >>> [client.op for client in get_clients(y.owner)]
    [Elemwise{log,no_inplace}, Elemwise{neg,no_inplace}]
    """
    return [client for client, _ in node.outputs[0].clients if not isinstance(client, str)]


def get_clients2(node):
    """Return the Applies that use the results of those that use the first output of `node`.

    Parameters
    ----------
    node : Apply
        A node of a graph.

    Returns
    -------
    list of Apply
        One for each use.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> y = T.exp(x)
    >>> fgraph = theano.gof.FunctionGraph([x], [T.sqrt(T.log(y))], clone=False)
    >>> [client.op for client in get_clients2(y.owner)]
    [Elemwise{sqrt,no_inplace}]
    """
    result = []
    for client in get_clients(node):
        result.extend(c for out in client.outputs for c, _ in out.clients if not isinstance(c, str))
    return result

__getattr__, __dir__ = aliases.lazy(__name__)
