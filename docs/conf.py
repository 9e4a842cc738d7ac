"""Sphinx configuration."""

project = "Theano"
copyright = "2026, the Theano 2 developers"  # noqa: A001
version = release = "2.0.0.dev0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.doctest"]
myst_enable_extensions = ["colon_fence"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "alabaster"
autodoc_member_order = "bysource"
