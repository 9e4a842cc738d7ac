"""What `import theano` gives, and what it does not load."""

import importlib
import sysconfig
import textwrap

import pytest

import theano
from tests.tools import run_program
from theano import aliases

NAMES = """
    Apply Constant Container FAST_COMPILE FAST_RUN FunctionGraph FunctionMaker Generic In InconsistencyError Linker Lop
    Mode Op OpFromGraph OrderedUpdates Out Param PerformLinker ProfileStats Rop SymbolicInput SymbolicOutput Type Variable
    __version__ _asarray as_op change_flags clone compile config configparser dot function function_dump generic
    get_scalar_constant_value gof grad gradient pp pprint predefined_linkers predefined_modes predefined_optimizers printing
    scalar shared sparse_grad subgraph_grad tensor test theano updates
"""


def printed(code):
    """What a program prints, without the end of the line; its errors fail the test."""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", NAMES.split())
def test_top_level_names(name):
    assert getattr(theano, name) is not None


def test_the_package_is_found_in_itself():
    from theano import theano as again

    assert again is theano and theano.__version__.startswith("2.")


def test_function_is_a_module_to_import_from_and_the_function():
    import theano.compile.function
    from theano.compile.function import In, Out, function, function_dump

    assert theano.compile.function is function is theano.function
    assert (In, Out, function_dump) == (theano.In, theano.Out, theano.function_dump)


def test_unknown_names_raise_attribute_errors():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = theano.no_such_name
    assert "function" in dir(theano) and "scan" in dir(theano)


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this collector has no generations")
def test_young_collections_do_not_go_through_what_the_import_made():
    run = run_program(
        textwrap.dedent("""
        import gc, theano
        assert gc.isenabled() and gc.get_freeze_count() == 0
        assert sum(len(gc.get_objects(generation)) for generation in (0, 1)) < 2000 < len(gc.get_objects(2))
    """)
    )
    assert run.returncode == 0, run.stderr


def test_what_a_program_froze_stays_frozen():
    run = run_program(
        "import gc; gc.freeze(); frozen = gc.get_freeze_count(); import theano; print(gc.get_freeze_count() / frozen)"
    )
    assert float(run.stdout) > 0.9


def test_import_is_light():
    heavy = ["scipy", "subprocess", "rich", "matplotlib", "pydot", "igraph", "filelock", "unittest", "pytest"]
    # NumPy itself loads some of them, by its version.
    code = (
        f"import sys, numpy; before = set(sys.modules); import theano; "
        f"print([name for name in {heavy!r} if name in sys.modules and name not in before])"
    )
    assert printed(code) == "[]"


CHECKING = [("DebugMode", "DebugMode"), ("DEBUG_MODE", "DebugMode"), ("NanGuardMode", "NanGuardMode")]


@pytest.mark.parametrize("name, class_", CHECKING)
def test_modes_that_check_are_loaded_by_their_names(name, class_):
    code = (
        "import sys, theano; from theano.compile import mode; loaded = 'theano.compile.debugmode' in sys.modules; "
        f"print(loaded, type(mode.get_mode({name!r})).__name__, 'DebugMode' in dir(theano.compile))"
    )
    assert printed(code) == f"False {class_} True"


def test_a_sparse_gradient_needs_no_import_of_sparse_matrices():
    code = (
        "import theano; import theano.tensor as T; x, i = T.matrix(), T.lvector(); "
        "print(theano.grad(theano.sparse_grad(x[i]).sum(), x).type.format)"
    )
    assert printed(code) == "csc"


@pytest.mark.parametrize("name", ["theano.sandbox.cuda", "theano.sandbox.cuda.basic_ops"])
def test_the_old_gpu_back_end_says_what_to_do(name):
    with pytest.raises(ImportError, match="Leave the import out"):
        importlib.import_module(name)


PACKAGES = ["theano", "theano.tensor", "theano.scalar", "theano.gof", "theano.compile", "theano.gradient", "theano.printing"]


@pytest.mark.parametrize("package", PACKAGES)
def test_star_imports_load_no_loops(package):
    code = (
        f"import sys; from {package} import *; "
        "print([name for name in sys.modules if name.startswith(('theano.scan_module', 'theano.tests', 'theano.tensor.tests'))])"
    )
    assert printed(code) == "[]"


def test_a_star_import_of_tensor_takes_names_of_higher_layers():
    names: dict = {}
    exec("from theano.tensor import *", names)
    assert len(names) > 530 and {"grad", "hessian", "verify_grad", "theano", "dot", "nnet"} <= names.keys()


def test_a_star_import_of_random_numbers_takes_the_package():
    names: dict = {}
    exec("from theano.tensor.raw_random import *", names)
    assert names["theano"] is theano and "RandomFunction" in names and "uniform" in names


@pytest.mark.parametrize("module", sorted(aliases.NAMES.keys() | aliases.MODULES.keys()))
def test_what_is_listed_is_there(module):
    module = importlib.import_module(module)
    assert [name for name in dir(module) if not hasattr(module, name)] == []


def test_no_submodule_takes_the_place_of_a_public_name():
    """Importing a module binds its name in its package."""
    code = """
        import importlib, sys, types
        from pathlib import Path
        import theano
        root = Path(theano.__file__).parent
        packages = {
            ".".join(("theano", *path.parent.relative_to(root).parts)): path.parent
            for path in root.rglob("__init__.py") if "tests" not in path.parts
        }
        # Those that are loaded come first: importing the others loads more modules.
        for name, package in sorted(packages.items(), key=lambda item: item[0] not in sys.modules):
            names = dict(vars(sys.modules.get(name) or importlib.import_module(name)))
            for module in [path.stem for path in package.glob("*.py")]:
                taken = not isinstance(names.get(module, theano), types.ModuleType)
                if taken and f"{name}.{module}" not in sys.modules:
                    print(name, module)
        """
    done = run_program(textwrap.dedent(code))
    assert (done.stdout, done.stderr) == ("", "")


def test_the_package_is_imported_anew_after_a_program_has_forgotten_it():
    code = (
        "import sys, theano; [sys.modules.pop(m) for m in list(sys.modules) if m.split('.')[0] == 'theano']; "
        "import theano; print(theano.ifelse.gof is theano.gof)"
    )
    assert printed(code) == "True"
