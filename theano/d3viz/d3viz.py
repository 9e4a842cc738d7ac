"""Pages that show a graph: :func:`d3viz`, and its files for graphviz: :func:`d3write`."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theano.d3viz.formatting import PyDotFormatter
from theano.d3viz.layout import layout
from theano.pages import render, verbatim

_HERE = Path(__file__).resolve().parent
#: Folders with what a page holds, and the name of the folder beside the page that gets copies.
_ASSETS = ("js", "css")
_ASSETS_FOLDER = "d3viz"


def replace_patterns(x: str, replace: Mapping[str, str]) -> str:
    """Return a text with patterns replaced.

    Parameters
    ----------
    x : str
        The text.
    replace : mapping
        From regular expressions to the texts that take the place of what they match.

    Returns
    -------
    str

    See Also
    --------
    theano.d3viz.d3viz.safe_json : Return `obj` as JSON that can stand inside a script in a page.
    theano.d3viz.d3viz.d3viz : Write a page that shows a graph in a web browser.

    Examples
    --------
    >>> replace_patterns('one two one', {'o(.)e': 'n'})
    'n two n'
    """
    for pattern, new in replace.items():
        # A function: backslashes in the new text mean themselves.
        x = re.sub(pattern, lambda match, new=new: new, x)
    return x


def safe_json(obj: Any) -> str:
    """Return `obj` as JSON that can stand inside a script in a page.

    Parameters
    ----------
    obj : object
        Lists, dicts, texts, numbers, booleans and None.

    Returns
    -------
    str
        JSON without ``<``, ``>`` and ``&``, and without the line ends that only JavaScript knows.

    See Also
    --------
    theano.d3viz.d3viz.d3viz : Write a page that shows a graph in a web browser.
    theano.d3viz.d3viz.replace_patterns : Return a text with patterns replaced.

    Examples
    --------
    >>> '</script>' in safe_json(['</script>'])
    False
    """
    text = json.dumps(obj)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def d3viz(fct: Any, outfile: str | os.PathLike[str], copy_deps: bool = True, *args: Any, **kwargs: Any) -> None:
    """Write a page that shows a graph in a web browser.

    The graph and its nodes can be moved with the mouse, and zoomed with the wheel. What the mouse is on is explained.
    A click on a node opens a menu to edit its label; a double click on an Op that is made of a graph opens that
    graph. The colors can show the times of a profiled function. A field searches names, Ops and types; keys move,
    zoom and search, as the page's help says; the page is dark where the browser is.

    The page is one file that needs no other and no network.

    The nodes are placed by graphviz, which the package pydot calls, or by the package igraph, where graphviz is missing
    or the graph is too big for it.

    Inputs are green, outputs blue; Ops are ellipses, colored by their kind. An edge is blue where the result is a
    view of the input, red where the input is destroyed.

    Parameters
    ----------
    fct : Function, FunctionGraph, Variable, Apply or list of Variable
        What is shown.
    outfile : str or path
        The page; its folder is made if needed.
    copy_deps : bool
        Copy the scripts and styles also to a folder ``d3viz`` beside the page, for pages of one's own.
    *args, **kwargs
        For :class:`theano.d3viz.formatting.PyDotFormatter`.

    Raises
    ------
    ValueError
        There is no graph in `fct`.
    ImportError
        Nothing that places the nodes is installed: neither igraph nor graphviz with the package pydot.

    See Also
    --------
    theano.d3viz.d3viz.d3write : Write a graph in the language of graphviz.
    theano.printing.pydotprint : Draw a graph: ellipses are applications of Ops, boxes are variables.
    theano.d3viz.d3viz.replace_patterns : Return a text with patterns replaced.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> d3viz(theano.function([x], x.sum()), 'sum.html')                        # doctest: +SKIP
    """
    data = layout(PyDotFormatter(*args, **kwargs).model(fct))
    page = Path(outfile)
    page.parent.mkdir(parents=True, exist_ok=True)
    if copy_deps:
        for folder in _ASSETS:
            target = page.parent / _ASSETS_FOLDER / folder
            target.mkdir(parents=True, exist_ok=True)
            for source in (_HERE / folder).iterdir():
                if source.is_file():
                    shutil.copyfile(source, target / source.name)
    title = getattr(fct, "name", None) or page.stem
    text = render("template.html", _HERE / "html", title=title, data=verbatim(safe_json(data)), file=_asset)
    page.write_text(text, encoding="utf-8")


def _asset(name: str) -> str:
    """A script or style, to be put into a page."""
    return verbatim((_HERE / name).read_text(encoding="utf-8").replace("</script", "<\\/script"))


def d3write(fct: Any, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
    """Write a graph in the language of graphviz.

    Parameters
    ----------
    fct : Function, FunctionGraph, Variable, Apply or list of Variable
        What is written.
    path : str or path
        The file.
    *args, **kwargs
        For :class:`theano.d3viz.formatting.PyDotFormatter`.

    Raises
    ------
    ImportError
        pydot is not installed.
    ValueError
        There is no graph in `fct`.

    See Also
    --------
    theano.printing.pydotprint : Draw a graph: ellipses are applications of Ops, boxes are variables.
    theano.d3viz.d3viz.d3viz : Write a page that shows a graph in a web browser.

    Examples
    --------
    >>> import theano.tensor as T
    >>> d3write(T.exp(T.dscalar("x")), "graph.dot")  # doctest: +SKIP
    """
    PyDotFormatter(*args, **kwargs)(fct).write_raw(os.fspath(path))
