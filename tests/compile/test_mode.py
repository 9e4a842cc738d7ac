"""Modes, their names, and the database of rewrites."""

import pickle

import pytest

import theano
import theano.tensor as T
from tests.tools import run_program
from theano import gof
from theano.compile import mode as modes
from theano.compile.mode import Mode, get_mode, optdb


@pytest.mark.parametrize("linker", ["py", "vm", "vm_nogc", "cvm", "cvm_nogc", "c|py", "c|py_nogc", "c"])
def test_linkers_by_name(linker):
    x = T.dvector("x")
    mode = Mode(linker=linker, optimizer="fast_run")
    assert isinstance(mode.linker, gof.Linker)
    assert theano.function([x], (x * 2).sum(), mode=mode)([1.0, 2.0]) == 6.0


@pytest.mark.parametrize("optimizer", [None, "None", "merge", "o1", "o2", "o3", "o4", "unsafe", "stabilize", "fast_compile"])
def test_optimizers_by_name(optimizer):
    x = T.dvector("x")
    mode = Mode(linker="py", optimizer=optimizer)
    assert isinstance(mode.optimizer, gof.Optimizer)
    assert theano.function([x], (x * 2 + 0).sum(), mode=mode)([1.0, 2.0]) == 6.0


def test_modes_by_name():
    assert get_mode("FAST_RUN") is modes.FAST_RUN
    assert get_mode("FAST_COMPILE") is modes.FAST_COMPILE
    assert isinstance(get_mode("DebugMode"), theano.compile.DebugMode)
    assert isinstance(get_mode("DEBUG_MODE"), theano.compile.DebugMode)
    assert isinstance(get_mode("NanGuardMode"), theano.compile.nanguardmode.NanGuardMode)


@pytest.mark.parametrize("name", ["NO_SUCH_MODE", ""])
def test_unknown_names(name):
    with pytest.raises(Exception, match="No predefined mode"):
        get_mode(name)
    with pytest.raises(ValueError, match="No linker"):
        Mode(linker=name)
    with pytest.raises(ValueError, match="No optimizer"):
        Mode(optimizer=name)


def test_names_are_registered_once():
    with pytest.raises(ValueError, match="already taken"):
        modes.register_linker("vm", None)
    with pytest.raises(ValueError, match="already taken"):
        modes.register_optimizer("fast_run", None)
    with pytest.raises(ValueError, match="already taken"):
        modes.register_mode("FAST_RUN", None)


def test_including_excluding_and_requiring_make_new_modes():
    base = Mode(linker="vm", optimizer="fast_run")
    x = T.dvector("x")

    def has_composite(mode):
        f = theano.function([x], T.tanh(x) * 2 + 1, mode=mode)
        return any("Composite" in str(node.op) for node in f.maker.fgraph.apply_nodes)

    assert has_composite(base) and not has_composite(base.excluding("fusion")) and has_composite(base)
    assert isinstance(base.requiring("fusion"), Mode) and isinstance(base.including("fusion"), Mode)


def test_the_default_mode_follows_the_flags():
    with theano.change_flags(mode="FAST_COMPILE"):
        assert get_mode(None) is modes.FAST_COMPILE
    with theano.change_flags(mode="DebugMode"):
        assert isinstance(get_mode(None), theano.compile.DebugMode)
    with theano.change_flags(optimizer="None"):
        x = T.dscalar("x")
        assert len(theano.function([x], x + 0 + 0).maker.fgraph.apply_nodes) >= 2


def test_optimizer_excluding_acts_on_the_default_mode_only():
    code = """
import theano, theano.tensor as T
x = T.dvector("x")
for mode in (None, "FAST_RUN"):
    f = theano.function([x], T.tanh(x) * 2 + 1, mode=mode)
    print(any("Composite" in str(node.op) for node in f.maker.fgraph.apply_nodes))
"""
    done = run_program(code, "optimizer_excluding=fusion")
    assert done.stdout.split() == ["False", "True"], done.stderr


@pytest.mark.parametrize(
    "name, position",
    [("merge1", 0), ("canonicalize", 1), ("stabilize", 1.5), ("specialize", 2), ("uncanonicalize", 3), ("merge2", 49),
     ("add_destroy_handler", 49.5), ("merge3", 100)],
)  # fmt: skip
def test_documented_positions(name, position):
    assert optdb.__position__[name] == position


def test_a_mode_with_further_optimizers():
    seen = []

    class Spy(gof.Optimizer):
        def apply(self, fgraph):
            seen.append(len(fgraph.apply_nodes))

    x = T.dscalar("x")
    assert theano.function([x], x + 1, mode=Mode("py", "fast_run").register((Spy(), 0.001)))(1) == 2
    assert len(seen) == 1


def test_modes_can_be_pickled():
    mode = pickle.loads(pickle.dumps(Mode("vm", "fast_run").excluding("fusion")))
    x = T.dvector("x")
    f = theano.function([x], T.tanh(x) * 2 + 1, mode=mode)
    assert not any("Composite" in str(node.op) for node in f.maker.fgraph.apply_nodes)
