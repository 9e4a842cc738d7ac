"""Sphinx configuration."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tools"))

project = "Theano"
copyright = "2026, the Theano 2 developers"  # noqa: A001
version = release = "2.0.0.dev0"
extensions = ["myst_parser", "sphinx.ext.napoleon", "mathml", "sphinx_copybutton", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "programs"]
sphinx_gallery_conf = {
    "examples_dirs": "programs",
    "gallery_dirs": "gallery",
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}
# Two classes are called Variable: which one a docstring means is not told.
suppress_warnings = ["config.cache", "ref.python"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_title = f"Theano {release}"
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"
pygments_dark_style = "monokai"
# Copied code has neither prompts nor what it prints.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# Napoleon only turns docstrings into text here: a type need not be the name of a page.
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
maximum_signature_line_length = 90
toc_object_entries = False
add_module_names = False


def instruction_reference():
    """The rows of the table of instructions as a definition list."""
    from theano.native.instructions import table

    lines = []
    for name, fields, memory, reads, replay, flags, text in table().values():
        params = ", ".join(f"{field}: {choices or kind}" for field, kind, choices in fields)
        facts = [f"memory {memory}", *([] if reads is None else [f"reads from {reads}"]), f"replay {replay}", *flags]
        lines += [f"`{name}({params})`", f": {text.strip()} *{'; '.join(facts)}*", ""]
    return "\n".join(lines)


def rule_table():
    """The rewrites that are identities, as `theano.printing.rewrite_rules` lists them."""
    import theano.sparse.opt
    import theano.tensor.nnet.opt  # noqa: F401
    from theano.printing import rewrite_rules

    lines = ["| Rewrite | Before | After | Where |", "| --- | --- | --- | --- |"]
    last = None
    for rule in rewrite_rules():
        name = "" if rule.rewrite == last else f"`{rule.rewrite}`"
        before, after = (text.replace("|", "\\|") for text in (rule.before, rule.after))
        lines.append(f"| {name} | `{before}` | `{after}` | {'; '.join(rule.conditions)} |")
        last = rule.rewrite
    return "\n".join(lines)


def setup(app):
    import figures
    import reference

    def fill(app, docname, source):
        if docname == "instructions":
            source[0] = source[0].replace("INSTRUCTION_TABLE", instruction_reference())
        elif docname == "optimizations":
            source[0] = source[0].replace("RULE_TABLE", rule_table())

    generated = pathlib.Path(__file__).parent / "generated"
    figures.write(generated)
    reference.write(generated, app)
    app.connect("source-read", fill)
