"""Graphs as trees of the package rich, with colors, for terminals and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theano.gof.graph import Apply, Constant, Variable
from theano.printing.debug import _roots, char_from_number

if TYPE_CHECKING:
    from rich.tree import Tree


def rich_tree(obj: Any, depth: int = -1, types: bool = True) -> Tree:
    """Return a graph as a tree that ``rich.print`` shows in colors.

    What several nodes need is shown in full where it is met first; after that its letter stands for it.

    Parameters
    ----------
    obj : Variable, Apply, Function, FunctionGraph, or list of them
        What is shown.
    depth : int
        Number of levels, -1 for all.
    types : bool
        Whether the types of variables are shown.

    Returns
    -------
    rich.tree.Tree

    Raises
    ------
    TypeError
        When `obj` is nothing that can be printed.

    See Also
    --------
    debugprint : The same as plain text.

    Examples
    --------
    >>> import rich
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> rich.print(theano.printing.rich_tree(T.exp(x) * 2, types=False))
    graph
    └── A Elemwise{mul,no_inplace}
        ├── B Elemwise{exp,no_inplace}
        │   └── x
        └── C InplaceDimShuffle{x}
            └── 2
    """
    from rich.text import Text
    from rich.tree import Tree

    letters: dict[Apply, str] = {}

    def label(variable: Variable) -> Text:
        node = variable.owner
        kind = f"  {variable.type}" if types else ""
        if node is None:
            if isinstance(variable, Constant) and variable.name is None:
                value = getattr(variable.data, "ndim", None) == 0 and str(variable.data) or str(variable)
                return Text.assemble((value, "cyan"), (kind, "dim"))
            style = "magenta" if hasattr(variable, "get_value") else "green"
            return Text.assemble((str(variable), style), (kind, "dim"))
        again = node in letters
        letter = letters.setdefault(node, char_from_number(len(letters)))
        op = f"{node.op}.{variable.index}" if len(node.outputs) > 1 else str(node.op)
        text = Text.assemble((letter, "bold yellow"), " ", (op, "dim" if again else "bold"))
        if variable.name:
            text.append(f" '{variable.name}'", "green")
        if getattr(node.op, "destroy_map", None):
            text.append(" in place", "red")
        text.append("  as above" if again and node.inputs else kind, "dim")
        return text

    tree = Tree(getattr(obj, "name", None) if hasattr(obj, "maker") else "graph")
    waiting = [(root.var, tree, depth) for root in reversed(_roots(obj))]
    while waiting:
        variable, branch, levels = waiting.pop()
        if levels == 0:
            continue
        node = variable.owner
        known = node is None or node in letters
        below = branch.add(label(variable))
        if not known:
            waiting.extend((i, below, levels - 1) for i in reversed(node.inputs))
    return tree
