"""Hashes of arrays, and the numeric shapes of the variables of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from theano.gof import hooks
from theano.gof.graph import Constant
from theano.gof.utils import hash_from_code


def hash_from_ndarray(data: Any) -> str:
    """Return a hash of an array: of its data, shape, strides and dtype, once it is contiguous.

    A view and its copy have the same hash.

    Parameters
    ----------
    data : ndarray
        The array.

    Returns
    -------
    str
        The hash.

    See Also
    --------
    theano.sparse.hash_from_sparse : Return a hash of a sparse matrix: of its stored values, their places, its shape,
        dtype and format.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.arange(4)
    >>> hash_from_ndarray(a[::2]) == hash_from_ndarray(a[::2].copy()), hash_from_ndarray(a) == hash_from_ndarray(a + 1)
    (True, False)
    """
    data = np.asarray(data)
    contiguous = data if data.flags["C_CONTIGUOUS"] else np.ascontiguousarray(data)
    # Each part is hashed by itself, so that none can run into the next.
    return (
        hash_from_code(contiguous.tobytes())
        + hash_from_code(str(data.shape))
        + hash_from_code(str(contiguous.strides))
        + hash_from_code(str(data.dtype))
    )


def shape_of_variables(fgraph: Any, input_shapes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the numeric shape of every variable of a graph.

    Parameters
    ----------
    fgraph : FunctionGraph
        It is changed: a ShapeFeature is attached if there is none.
    input_shapes : dict
        Maps each input of the graph to its shape.

    Returns
    -------
    dict
        Maps each variable that has a shape to a tuple of integers.

    Raises
    ------
    ValueError
        If `input_shapes` names a variable that is no input of the graph.

    See Also
    --------
    theano.compile.builders.infer_shape : Return the shapes of variables, given those of the inputs of their graph.

    Examples
    --------
    >>> import theano
    >>> x = theano.tensor.matrix('x')
    >>> y = x[512:]
    >>> fgraph = theano.FunctionGraph([x], [y], clone=False)
    >>> tuple(map(int, shape_of_variables(fgraph, {x: (1024, 1024)})[y]))
    (512, 1024)
    """
    if not hasattr(fgraph, "shape_feature"):
        from theano.tensor.opt import ShapeFeature

        fgraph.attach_feature(ShapeFeature())
    if any(variable not in fgraph.inputs for variable in input_shapes):
        raise ValueError(
            "input_shapes has keys that are no inputs of the graph. By default FunctionGraph() clones the graph that it "
            "is given; clone=False keeps the variables."
        )
    shape_of = fgraph.shape_feature.shape_of
    arguments, values = [], []
    for variable in fgraph.inputs:
        for dimension, length in zip(shape_of[variable], input_shapes[variable]):
            if not isinstance(dimension, Constant):
                arguments.append(dimension)
                values.append(length)
    variables = [v for v in _all_variables(fgraph) if shape_of[v] is not None]
    dimensions = [dimension for v in variables for dimension in shape_of[v]]
    numbers = iter(hooks.compile_function(arguments, dimensions, on_unused_input="ignore")(*values))
    return {v: tuple([next(numbers) for _ in shape_of[v]]) for v in variables}


def _all_variables(fgraph: Any) -> list[Any]:
    seen = dict.fromkeys(fgraph.inputs)
    for node in fgraph.toposort():
        seen.update(dict.fromkeys(node.inputs))
        seen.update(dict.fromkeys(node.outputs))
    return [v for v in seen if hasattr(v.type, "ndim") and hasattr(v.type, "broadcastable")]
