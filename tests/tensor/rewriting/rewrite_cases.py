"""What a test of one registered rewrite consists of, and where the registered rewrites are found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import theano
import theano.ifelse
import theano.sandbox.linalg.ops
import theano.sandbox.rng_mrg
import theano.scan_module
import theano.sparse.opt
import theano.tensor.nnet
import theano.tensor.nnet.blocksparse
import theano.tensor.nnet.bn
import theano.tensor.nnet.conv3d2d
import theano.tensor.nnet.ctc
import theano.tensor.nnet.opt
import theano.typed_list  # noqa: F401
from theano.compile import optdb
from theano.gof.optdb import DB


@dataclass(frozen=True)
class Case:
    """One graph that a rewrite changes, and the nearest graphs that it leaves alone.

    Parameters
    ----------
    name : str
        The name under which the rewrite is registered in `optdb` or one of its databases.
    inputs : sequence of Variable
    build : callable
        Returns the output of the graph before the rewrite.
    values : sequence
        One value for each input.
    after : str
        The Ops of the graph after it, as `rewrite_tools.names` gives them, with spaces between.
    near_miss : callable or tuple of callable
        Each returns the output of a graph that differs in the one thing the rewrite depends on.
        Only a further case of the same rewrite may do without.
    companions : sequence of str
        Registered rewrites that are applied together with it, to `build` and to `near_miss` alike.
    prepare : callable, optional
        Changes the FunctionGraph of `build` and of `near_miss` before it is rewritten.
    proves : callable, optional
        Given the FunctionGraph after the rewrite, says whether it is as wanted, where the names of Ops do not show it.
    no_gradient : str
        Why the graph has no gradient. Needs no mention where nothing is of a float type.
    no_gradient_after : str
        Why the gradient is not to be taken of what the graph has become.
    no_float32 : str
        Why the graph has no version in float32.
    rtol : float
        Relative tolerance of the comparison in float64; float32 has 2e-4 at least.
    """

    name: str
    inputs: Sequence[Any]
    build: Callable[[], Any]
    values: Sequence[Any]
    after: str
    near_miss: Callable[[], Any] | tuple[Callable[[], Any], ...] = ()
    companions: Sequence[str] = ()
    prepare: Callable[[Any], None] | None = None
    proves: Callable[[Any], bool] | None = None
    no_gradient: str = ""
    no_gradient_after: str = ""
    no_float32: str = ""
    rtol: float = 1e-10

    @property
    def gradient(self) -> bool | str:
        """What `rewrite_tools.check_values` is to compare."""
        return False if self.no_gradient else "before" if self.no_gradient_after else True

    @property
    def near_misses(self) -> tuple[Callable[[], Any], ...]:
        return self.near_miss if isinstance(self.near_miss, tuple) else (self.near_miss,)


@cache
def registered() -> dict[str, list[Any]]:
    """The rewrites in `optdb` and in the databases in it, by name: different objects where a name occurs in several."""
    found: dict[str, list[Any]] = {}

    def visit(db: DB) -> None:
        for name in sorted(db._names):
            for obj in db.__db__[name]:
                if isinstance(obj, DB):
                    # What a database queries before it makes one optimizer of it.
                    visit(getattr(obj, "db", obj))
                elif not any(obj is other for other in found.setdefault(name, [])):
                    found[name].append(obj)

    visit(optdb)
    return found


def rewrite_named(name: str) -> Any:
    return registered()[name][0]


@cache
def all_cases() -> list[Case]:
    """The cases of all modules `cases_*` beside this one."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
    return [case for module in modules for case in importlib.import_module(module).CASES]
