"""What `import theano` gives, and what it does not load."""

import importlib

import pytest

import theano
from tests.tools import run_program

NAMES = """
    Apply Constant Container FAST_COMPILE FAST_RUN FunctionGraph FunctionMaker Generic In InconsistencyError Linker Lop
    Mode Op OpFromGraph OrderedUpdates Out Param PerformLinker ProfileStats Rop SymbolicInput SymbolicOutput Type Variable
    __version__ _asarray as_op change_flags clone compile config configparser dot function function_dump generic
    get_scalar_constant_value gof grad gradient pp pprint predefined_linkers predefined_modes predefined_optimizers printing
    scalar shared sparse_grad subgraph_grad tensor test theano updates
"""


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


def test_import_is_light():
    heavy = ["scipy", "subprocess", "rich", "matplotlib", "pydot", "igraph", "filelock", "unittest", "pytest"]
    # NumPy itself loads some of them, by its version.
    code = (
        f"import sys, numpy; before = set(sys.modules); import theano; "
        f"print([name for name in {heavy!r} if name in sys.modules and name not in before])"
    )
    done = run_program(code)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("name", ["theano.sandbox.cuda", "theano.sandbox.cuda.basic_ops"])
def test_the_old_gpu_back_end_says_what_to_do(name):
    with pytest.raises(ImportError, match="Leave the import out"):
        importlib.import_module(name)
