"""Pages for a web browser and what notebooks show: templates of Jinja2, which are the files beside this one."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


@functools.cache
def _environment(folder: Path) -> Any:
    # Where no page is made it is not needed.
    import jinja2

    loader = jinja2.FileSystemLoader([folder, _HERE])
    # A name such as <script> is shown, not run; a name that a template asks for in vain is an error.
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def render(template: str, folder: Path = _HERE, **names: Any) -> str:
    """Return a template filled in; texts are escaped, but for those of :func:`verbatim`.

    Parameters
    ----------
    template : str
        The name of the file, with a macro of it after a ``#``: ``'notebook.html#variable'``.
    folder : Path
        Where it lies, if not beside this module.
    **names
        What the template asks for.

    Returns
    -------
    str
    """
    name, _, macro = template.partition("#")
    found = _environment(folder).get_template(name)
    # What a macro gives is a subclass of str.
    return str.__str__(getattr(found.module, macro)(**names)) if macro else found.render(**names)


def verbatim(text: str) -> str:
    """Return a text that is HTML already, or a script or a style, which is not to be escaped.

    Parameters
    ----------
    text : str
        Made by this program, not by a user.

    Returns
    -------
    Markup
    """
    from markupsafe import Markup

    return Markup(text)
