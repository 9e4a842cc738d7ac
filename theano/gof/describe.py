"""The text of a graph, with a name for each part that is used several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano.gof.traverse import nodes_between


def default_leaf_formatter(leaf: Any) -> str:
    """Return the text of a variable at which a description ends.

    Parameters
    ----------
    leaf : Variable
        The variable.

    See Also
    --------
    theano.gof.graph.default_node_formatter : Return the text of a node whose inputs have the texts `argstrings`.
    theano.gof.graph.as_string : Describe a graph in text.

    Examples
    --------
    >>> import theano.tensor as T
    >>> default_leaf_formatter(T.dscalar("x")), default_leaf_formatter(T.dscalar())
    ('x', '<TensorType(float64, scalar)>')
    """
    return str(leaf)


def default_node_formatter(op: Any, argstrings: Sequence[str]) -> str:
    """Return the text of a node whose inputs have the texts `argstrings`.

    Parameters
    ----------
    op : Apply
        The node.
    argstrings : sequence of str
        The texts.

    See Also
    --------
    theano.gof.graph.as_string : Describe a graph in text.
    theano.gof.graph.default_leaf_formatter : Return the text of a variable at which a description ends.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> default_node_formatter((x + y).owner, ["left", "right"])
    'Elemwise{add,no_inplace}(left, right)'
    """
    return f"{op.op}({', '.join(argstrings)})"


def op_as_string(
    i: Sequence,
    op: Any,
    leaf_formatter: Callable = default_leaf_formatter,
    node_formatter: Callable = default_node_formatter,
) -> str:
    """Return the text of a node, down to the inputs `i`.

    Parameters
    ----------
    i : list of Variable
        Where the graph begins.
    op : Apply
        The node.
    leaf_formatter, node_formatter : callable
        As for `as_string`.

    Returns
    -------
    str

    See Also
    --------
    theano.pp : Return a graph as a formula; the same as `pprint`.
    theano.gof.graph.as_string : Describe a graph in text.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.scalar("x")
    >>> y = T.sin(x)
    >>> node = (y * T.exp(y)).owner
    >>> op_as_string([x], node)
    'Elemwise{mul,no_inplace}(*1 -> Elemwise{sin,no_inplace}(x), Elemwise{exp,no_inplace}(*1))'
    >>> op_as_string([y], node, leaf_formatter=lambda v: "y")
    'Elemwise{mul,no_inplace}(y, Elemwise{exp,no_inplace}(y))'
    """
    strs = as_string(i, op.inputs, leaf_formatter, node_formatter)
    return node_formatter(op, strs)


def as_string(
    i: Sequence,
    o: Sequence,
    leaf_formatter: Callable = default_leaf_formatter,
    node_formatter: Callable = default_node_formatter,
) -> list[str]:
    """Describe a graph in text.

    Parameters
    ----------
    i : list of Variable
        Where the description stops.
    o : list of Variable
        What is described.
    leaf_formatter : callable
        Takes a variable at which the description stops, and returns its text.
    node_formatter : callable
        Takes a node and the list of the texts of its inputs, and returns its text.

    Returns
    -------
    list of str
        One text for each of `o`.  A node that is used several times is written where it is first met, as
        ``*n -> Op(...)``, and elsewhere as ``*n``.

    See Also
    --------
    theano.gof.graph.op_as_string : Return the text of a node, down to the inputs `i`.
    theano.pp : Return a graph as a formula; the same as `pprint`.
    theano.gof.graph.default_leaf_formatter : Return the text of a variable at which a description ends.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.scalars("xy")
    >>> total = x + y
    >>> as_string([x, y], [total, T.exp(total) * total])
    ['*1 -> Elemwise{add,no_inplace}(x, y)', 'Elemwise{mul,no_inplace}(Elemwise{exp,no_inplace}(*1), *1)']
    """
    stop = set(i)
    uses: dict = {}
    for out in o:
        if out.owner is not None and out not in stop:
            uses[out.owner] = uses.get(out.owner, 0) + 1
    for node in nodes_between(stop, o):
        for var in node.inputs:
            if var.owner is not None and var not in stop:
                uses[var.owner] = uses.get(var.owner, 0) + 1
    labels: dict = {}
    met: set = set()

    def begin(var: Any) -> str | None:
        # The text of what needs no description of its inputs first.
        owner = var.owner
        if owner is None or var in stop:
            return leaf_formatter(var)
        if owner in met:
            label = f"*{labels[owner]}"
            return label if len(owner.outputs) == 1 else f"{label}::{var.index}"
        met.add(owner)
        if uses[owner] > 1:
            labels[owner] = len(labels) + 1
        return None

    result: list[str] = []
    for out in o:
        text = begin(out)
        if text is not None:
            result.append(text)
            continue
        # Each entry: a node, its inputs that are still to come, the texts of those before.
        stack: list = [(out.owner, iter(out.owner.inputs), [])]
        while True:
            node, rest, args = stack[-1]
            for var in rest:
                text = begin(var)
                if text is None:
                    stack.append((var.owner, iter(var.owner.inputs), []))
                    break
                args.append(text)
            else:
                stack.pop()
                text = node_formatter(node, args)
                if node in labels:
                    text = f"*{labels[node]} -> {text}"
                if not stack:
                    result.append(text)
                    break
                stack[-1][2].append(text)
    return result
