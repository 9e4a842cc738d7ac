"""Text and pictures of graphs, and the Op that prints values while a function runs."""

from __future__ import annotations

from typing import Any

from theano import aliases
from theano.gof import hooks
from theano.printing.debug import char_from_number, debugprint, get_node_by_id
from theano.printing.describe import hex_digest, min_informative_str, position_independent_str, var_descriptor
from theano.printing.dot import default_colorCodes, pydotprint
from theano.printing.pretty import (
    DefaultPrinter,
    FunctionPrinter,
    IgnorePrinter,
    LeafPrinter,
    MemberPrinter,
    OperatorPrinter,
    PatternPrinter,
    PPrinter,
    PrinterState,
    default_printer,
    greek,
    leaf_printer,
    pp,
    pprint,
    special,
)
from theano.printing.print_op import Print

__all__ = [
    "DefaultPrinter",
    "FunctionPrinter",
    "IgnorePrinter",
    "LeafPrinter",
    "MemberPrinter",
    "OperatorPrinter",
    "PPrinter",
    "PatternPrinter",
    "Print",
    "PrinterState",
    "char_from_number",
    "debugprint",
    "default_colorCodes",
    "default_printer",
    "get_node_by_id",
    "greek",
    "hex_digest",
    "leaf_printer",
    "min_informative_str",
    "position_independent_str",
    "pp",
    "pprint",
    "pydotprint",
    "special",
    "var_descriptor",
]

for _name in __all__:
    _obj = globals()[_name]
    if getattr(_obj, "__module__", "").startswith("theano.printing."):
        try:
            _obj.__module__ = __name__
        except AttributeError:
            pass
del _name, _obj

__all__ += aliases.names(__name__)
hooks.debugprint.fill(debugprint)


@hooks.variable_html.fill
def _variable_html(variable: Any) -> str:
    from theano.printing.notebook import variable_html

    return variable_html(variable)


@hooks.graph_html.fill
def _graph_html(fgraph: Any) -> str:
    from theano.printing.notebook import graph_html

    return graph_html(fgraph)


_resolve, __dir__ = aliases.lazy(__name__)


def __getattr__(name: str) -> Any:
    # pydot takes long to import, so whether it is there is found out on demand.
    if name in ("pydot_imported", "pydot_imported_msg"):
        from theano.printing.dot import pydot_status

        imported, message = pydot_status()
        return imported if name == "pydot_imported" else message
    return _resolve(name)
