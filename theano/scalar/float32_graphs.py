"""Graphs of scalars without float16: the same operations on float32."""

from __future__ import annotations

from collections.abc import Callable

from theano.gof import Apply, FunctionGraph, Variable
from theano.scalar.casting import Cast, cast
from theano.scalar.composite import Composite, without_float16
from theano.scalar.type import ScalarConstant, float32_for


class Compositef32:
    """Makes a graph of scalars one that has float32 in place of each float16.

    `special` is a table of functions for classes of scalar Ops: they take a node and the dictionary of what stands for the
    variables of the graph, in which they enter what stands for the outputs of the node.
    """

    special: dict[type, Callable[[Apply, dict[Variable, Variable]], None]] = {}

    def apply(self, fgraph: FunctionGraph) -> tuple[list[Variable], list[Variable]]:
        """Return new inputs and outputs for those of a graph of scalars."""
        mapping: dict[Variable, Variable] = {}
        for i in fgraph.inputs:
            mapping[i] = i if i.type is float32_for(i.type) else float32_for(i.type)()
            if mapping[i] is not i and hasattr(i.tag, "test_value"):
                mapping[i].tag.test_value = i.tag.test_value
        for node in fgraph.toposort():
            for v in node.inputs:
                if v not in mapping:
                    mapping[v] = ScalarConstant(float32_for(v.type), v.data)
            special = self.special.get(type(node.op))
            if special is not None:
                special(node, mapping)
                continue
            args = [mapping[v] for v in node.inputs]
            mapping.update(zip(node.outputs, without_float16(node, args)(*args, return_list=True), strict=True))
        return [mapping[v] for v in fgraph.inputs], [mapping[v] for v in fgraph.outputs]


composite_f32 = Compositef32()


def handle_cast(node: Apply, mapping: dict[Variable, Variable]) -> None:
    """Enter what stands for the output of a cast: a cast to float32 for one to float16, and none where it does nothing."""
    x, wanted = mapping[node.inputs[0]], float32_for(node.outputs[0].type)
    mapping[node.outputs[0]] = x if x.type == wanted else cast(x, wanted.dtype)


def handle_composite(node: Apply, mapping: dict[Variable, Variable]) -> None:
    """Enter what stands for the outputs of a :class:`Composite`: those of its own graph without float16."""
    outputs = node.op.clone_float32()(*[mapping[v] for v in node.inputs], return_list=True)
    mapping.update(zip(node.outputs, outputs, strict=True))


Compositef32.special[Cast] = handle_cast
Compositef32.special[Composite] = handle_composite
