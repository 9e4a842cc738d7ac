"""How the package is built: its layers, no circles, no class asked by its name."""

import ast
import graphlib
from pathlib import Path

import pytest

import theano

PACKAGE = Path(theano.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py") if "tests" not in path.relative_to(PACKAGE).parts)


@pytest.fixture(scope="module")
def imports():
    """For each module those that it imports, within functions too."""
    grimp = pytest.importorskip("grimp")
    graph = grimp.build_graph("theano", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_circle_of_imports(imports):
    list(graphlib.TopologicalSorter(imports).static_order())


def _name_of_a_class(node):
    """Whether an expression is ``x.__name__`` of ``type(y)`` or ``y.__class__``."""
    if not (isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__")):
        return False
    owner = node.value
    if isinstance(owner, ast.Attribute):
        return owner.attr == "__class__"
    return isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "type"


def lines_with_names(tree):
    """Lines where the name of a class is compared, or asked how it starts or ends."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith"):
            asked = [node.func.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            asked = node.args[:1]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        else:
            continue
        if any(_name_of_a_class(part) for part in asked):
            yield node.lineno


def own_modules_looked_up(tree):
    """Lines that ask Python's table of modules for one of the package, which no import shows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            table, asked = node.func.value, node.args[:1]
        elif isinstance(node, ast.Subscript):
            table, asked = node.value, [node.slice]
        elif isinstance(node, ast.Compare):
            table, asked = node.comparators[0], [node.left]
        else:
            continue
        names = [part.value for part in asked if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if isinstance(table, ast.Attribute) and table.attr == "modules" and any(name.startswith("theano") for name in names):
            yield node.lineno


@pytest.mark.parametrize("text", ["sys.modules.get('theano.a')", "_sys.modules['theano']", "'theano.a' in sys.modules"])
def test_looked_up_modules_are_found(text):
    assert list(own_modules_looked_up(ast.parse(text))) == [1]


def test_no_module_of_the_package_is_looked_up():
    found = {path: list(own_modules_looked_up(ast.parse(path.read_text()))) for path in FILES}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_class_is_asked_by_its_name():
    # The colours of drawings are documented as a table of parts of such names.
    documented = {"printing/dot.py": 1}
    found = {}
    for path in FILES:
        lines = list(lines_with_names(ast.parse(path.read_text())))
        if lines:
            found[str(path.relative_to(PACKAGE))] = lines
    assert {path: len(lines) for path, lines in found.items()} == documented, found


@pytest.mark.parametrize(
    "text",
    [
        "type(op).__name__ == 'Dot'",
        "op.__class__.__name__ in ('A', 'B')",
        "type(op).__name__.startswith('Scan')",
        "table[type(op).__name__]",
        "table.get(type(op).__name__)",
    ],
)
def test_questions_for_names_are_found(text):
    assert list(lines_with_names(ast.parse(text))) == [1]
