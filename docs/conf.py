"""Sphinx configuration."""

project = "Theano"
copyright = "2026, the Theano 2 developers"  # noqa: A001
version = release = "2.0.0.dev0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.doctest"]
myst_enable_extensions = ["colon_fence", "deflist"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "alabaster"
autodoc_member_order = "bysource"


def instruction_reference():
    """The rows of the table of instructions as a definition list."""
    from theano.native.instructions import table

    lines = []
    for name, fields, memory, reads, replay, flags, text in table().values():
        params = ", ".join(f"{field}: {choices or kind}" for field, kind, choices in fields)
        facts = [f"memory {memory}", *([] if reads is None else [f"reads from {reads}"]), f"replay {replay}", *flags]
        lines += [f"`{name}({params})`", f": {text.strip()} *{'; '.join(facts)}*", ""]
    return "\n".join(lines)


def setup(app):
    def fill(app, docname, source):
        source[0] = source[0].replace("INSTRUCTION_TABLE", instruction_reference())

    app.connect("source-read", fill)
