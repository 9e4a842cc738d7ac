"""Formulas as MathML, which browsers draw by themselves: pages need nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(tex2mathml(node.astext(), as_block=True) + "</div>")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make it known to Sphinx as the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
