"""The names that programs import: those that modules pass on, and what `dir` lists."""

import importlib
import inspect
import pkgutil
import pydoc
import sys
import warnings

import pytest

import theano
from tests.tools import run_program
from theano import aliases


@pytest.fixture(scope="module")
def modules():
    """All modules, but for the command line and what only raises."""
    found = [theano]
    with warnings.catch_warnings():
        # Modules that are kept for old programs warn.
        warnings.simplefilter("ignore")
        for info in pkgutil.walk_packages(theano.__path__, "theano."):
            if info.name != "theano.sandbox.cuda" and not info.name.endswith("__main__"):
                importlib.import_module(info.name)
                found.append(sys.modules[info.name])
    return found


def test_all_that_is_passed_on_is_there(modules):
    names = {module.__name__ for module in modules}
    assert aliases.PASSED_ON.keys() <= names
    missing = [
        f"{module}.{name}"
        for module in sorted(aliases.PASSED_ON)
        for name in sorted(aliases.passed_on(module))
        if not hasattr(sys.modules[module], name)
    ]
    assert missing == []


def test_homes_are_used():
    named = {entry for given in aliases.PASSED_ON.values() for entry in given.split()}
    homes = [entry.partition("=")[0] for given in aliases.HOMES.values() for entry in given.split()]
    assert len(homes) == len(set(homes)), "a name has two homes"
    assert set(homes) <= named, "homes that no module needs"


def test_what_is_passed_on_is_the_object_of_its_home():
    import theano.gof.op
    import theano.ifelse
    import theano.tensor.elemwise

    assert theano.ifelse.gof is theano.gof
    assert theano.gof.op.FunctionGraph is theano.gof.fg.FunctionGraph
    assert theano.tensor.elemwise.pprint is theano.pprint
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = theano.ifelse.no_such_name
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from theano.gof.op import no_such_name")


def test_modules_that_pass_names_on_look_like_others():
    import theano.gof.op

    spec = theano.gof.op.__spec__
    assert spec.loader is theano.gof.op.__loader__
    assert type(spec.loader) is type(theano.__spec__.loader)
    assert "class PureOp" in inspect.getsource(theano.gof.op)
    assert importlib.reload(importlib.import_module("theano.misc.safe_asarray")).theano is theano


def test_everything_that_dir_lists_is_there(modules):
    missing = [f"{module.__name__}.{name}" for module in modules for name in dir(module) if not hasattr(module, name)]
    assert missing == []


def test_members_and_help(modules):
    for module in modules:
        assert len(inspect.getmembers(module)) > 5
    assert "NAME\n    theano" in pydoc.render_doc(theano, renderer=pydoc.plaintext)
    assert "theano.tensor" in pydoc.render_doc(theano.tensor, renderer=pydoc.plaintext)
    assert hasattr(theano, "version") and not hasattr(theano, "no_such_name")


def test_names_that_are_passed_on_load_nothing_before_they_are_asked_for():
    done = run_program(
        "import sys, theano, theano.ifelse; before = len(sys.modules); from theano.ifelse import optdb, gof; "
        "print(len(sys.modules) - before, 'theano.pathparse' in sys.modules, theano.pathparse.PathParser.__name__)"
    )
    assert done.stdout.split() == ["0", "False", "PathParser"], done.stderr


def test_what_the_package_logs_is_shown_unless_a_program_handles_it():
    code = "import theano, logging; logging.getLogger('theano.x').warning('a'); logging.getLogger('theano.x').info('b')"
    assert run_program(code).stderr == "WARNING (theano.x): a\n"
    done = run_program("import logging; logging.basicConfig(format='own %(message)s'); " + code)
    assert done.stderr == "own a\n"
    done = run_program("import theano; theano.disable_log_handler(); print(theano.has_handlers(theano.theano_logger))")
    assert done.stdout == "False\n"


def test_values_of_flags_and_files(tmp_path):
    file = tmp_path / "rc"
    file.write_text("[global]\nfloatX = float32\n[a]\nb = %(USER)s/c\n")
    code = (
        "import theano.configparser as c, theano.configdefaults as d; print(c.THEANO_FLAGS, c.config_files, "
        "c.theano_cfg.get('global', 'floatX'), c.theano_cfg.get('a', 'b'), c.theano_raw_cfg.get('a', 'b'), "
        "d.THEANO_FLAGS_DICT is c.THEANO_FLAGS_DICT)"
    )
    done = run_program(code, flags="mode=FAST_COMPILE", THEANORC=str(file), USER="me")
    assert done.stdout == f"mode=FAST_COMPILE ['{file}'] float32 me/c %(USER)s/c True\n", done.stderr
