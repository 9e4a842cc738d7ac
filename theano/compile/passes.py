"""What the optimizer did to a graph, pass by pass: as text, and as one HTML page."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from theano.compile.mode import get_mode
from theano.gof.graph import Variable
from theano.gof.optdb import Query
from theano.gof.rewriting.base import Optimizer, SeqOptimizer, optimizer_label
from theano.gof.rewriting.stages import optdb
from theano.gof.toolbox import Feature
from theano.pages import render
from theano.printing.debug import debugprint

_ID = re.compile(r" \[id \w+\]")
# Larger or deeper graphs are shown as a list of nodes: a tree is indented by its depth, and grows with the square of it.
_TREE_NODES = 300
_TREE_DEPTH = 60
# Lines around a change that the page shows of a list.
_AROUND = 3


@dataclass
class Pass:
    """One pass of the optimizer over a graph.

    Parameters
    ----------
    name : str
        Under which it is registered; those of nested sequences as ``BlasOpt/gemm_optimizer``.
    seconds : float
        How long it took.
    before, after : int
        Numbers of nodes.
    fired : dict
        How many variables each rewrite replaced, by its name.
    graph : str
        What debugprint shows after the pass, or a list of the nodes; empty where the pass changed nothing.

    See Also
    --------
    theano.printing.OptimizationTrace : What the optimizer does to the graph of a function, pass by pass.

    Examples
    --------
    >>> fusion = Pass("elemwise_fusion", seconds=0.002, before=5, after=3, fired={"local_elemwise_fusion": 2})
    >>> fusion.changed, fusion.before - fusion.after
    (True, 2)
    """

    name: str
    seconds: float
    before: int
    after: int
    fired: dict[str, int] = field(default_factory=dict)
    graph: str = ""

    @property
    def changed(self) -> bool:
        """Whether the pass replaced anything."""
        return bool(self.fired)


class _Counter(Feature):
    """Counts replaced variables by the reason that is given for them."""

    def __init__(self) -> None:
        self.fired: dict[str, int] = {}
        self._last: tuple[Any, Any] = (None, None)

    def on_change_input(self, fgraph: Any, node: Any, i: int, r: Variable, new_r: Variable, reason: Any = None) -> None:
        # A variable with several clients is replaced in one of them after the other.
        if self._last[0] is r and self._last[1] is new_r:
            return
        self._last = (r, new_r)
        name = reason if isinstance(reason, str) else optimizer_label(reason) if reason is not None else "unnamed"
        self.fired[name] = self.fired.get(name, 0) + 1


class _Watched(Optimizer):
    """An optimizer whose passes are written down in a trace.

    Parameters
    ----------
    provided : Optimizer or Query
        What a mode was made from; it is what is left of this when a function is pickled.
    trace : OptimizationTrace
    """

    def __init__(self, provided: Any, trace: OptimizationTrace) -> None:
        self.provided = provided
        self.trace = trace

    def __reduce__(self) -> tuple:
        return _same, (self.provided,)

    def __str__(self) -> str:
        return f"watched {self.provided}"

    @property
    def optimizer(self) -> Any:
        """What is watched."""
        if not isinstance(self.provided, Query):
            return self.provided
        return optdb.query(self.provided)

    def including(self, *tags: str) -> _Watched:
        """Watch the same with more rewrites."""
        return _Watched(self.provided.including(*tags), self.trace)

    def excluding(self, *tags: str) -> _Watched:
        """Watch the same with fewer rewrites."""
        return _Watched(self.provided.excluding(*tags), self.trace)

    def requiring(self, *tags: str) -> _Watched:
        """Watch the rewrites that have all tags."""
        return _Watched(self.provided.requiring(*tags), self.trace)

    def register(self, *optimizations: Any) -> _Watched:
        """Watch the same with further optimizers at their positions."""
        return _Watched(self.provided.register(*optimizations), self.trace)

    def add_requirements(self, fgraph: Any) -> None:
        """Leave that to the passes."""

    def apply(self, fgraph: Any) -> Any:
        self.trace._begin(fgraph)
        counter = _Counter()
        fgraph.attach_feature(counter)
        try:
            # All requirements before the first pass, as the sequence itself does it.
            self.optimizer.add_requirements(fgraph)
            self._run(fgraph, self.optimizer, "", counter)
        finally:
            fgraph.remove_feature(counter)
            self.trace._numbers = {}

    def _run(self, fgraph: Any, optimizer: Any, prefix: str, counter: _Counter) -> None:
        if isinstance(optimizer, SeqOptimizer):
            for part in optimizer:
                label = str(optimizer_label(part))
                nested = isinstance(part, SeqOptimizer)
                self._run(fgraph, part, f"{prefix}{label}/" if nested else f"{prefix}{label}", counter)
            return
        counter.fired = {}
        before = len(fgraph.apply_nodes)
        start = time.perf_counter()
        SeqOptimizer([optimizer], failure_callback=SeqOptimizer.warn).optimize(fgraph)
        seconds = time.perf_counter() - start
        self.trace._end(fgraph, Pass(prefix, seconds, before, len(fgraph.apply_nodes), counter.fired))


def _same(thing: Any) -> Any:
    return thing


class OptimizationTrace:
    """What the optimizer does to the graph of a function, pass by pass.

    Parameters
    ----------
    max_nodes : int
        Graphs with more nodes are not printed. Those with more than some hundred are shown as a list, ``%2 = op(%1, x)``, in
        which a node keeps its number; the page shows the changes of it.

    Attributes
    ----------
    passes : list of Pass
        Of the function that was compiled last with a mode of `watch`.
    initial : str
        The graph before the first pass.

    See Also
    --------
    theano.printing.Pass : One pass of the optimizer over a graph.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.printing import OptimizationTrace
    >>> trace = OptimizationTrace()
    >>> x = T.dvector('x')
    >>> f = theano.function([x], T.log(1 + T.exp(x)) * 1, mode=trace.watch())
    >>> trace.fired()['local_log1p']
    1
    >>> print(trace)  # doctest: +ELLIPSIS
    before: 6 nodes...
    """

    def __init__(self, max_nodes: int = 10000) -> None:
        self.max_nodes = max_nodes
        self.passes: list[Pass] = []
        self.initial = ""
        self.initial_nodes = 0
        self._numbers: dict[Any, int] = {}

    def watch(self, mode: Any = None) -> Any:
        """Return a mode like `mode` (by default the default mode) whose optimizer is written down here.

        Parameters
        ----------
        mode : str or Mode, optional

        Returns
        -------
        Mode
        """
        mode = get_mode(mode)
        provided = mode.provided_optimizer
        return mode.clone(optimizer=_Watched(provided if isinstance(provided, Query) else mode.optimizer, self))

    def fired(self) -> dict[str, int]:
        """Return how many variables each rewrite replaced in all passes, the most frequent first."""
        total: dict[str, int] = {}
        for done in self.passes:
            for name, count in done.fired.items():
                total[name] = total.get(name, 0) + count
        return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))

    def text(self, graphs: bool = True) -> str:
        """Return the passes as text.

        Parameters
        ----------
        graphs : bool
            Whether to show the graph after each pass that changed it.

        Returns
        -------
        str
        """
        out = StringIO()
        print(f"before: {self.initial_nodes} nodes", file=out)
        if graphs and self.initial:
            print(_indented(self.initial), file=out)
        for done in self.passes:
            if not done.changed and done.before == done.after:
                continue
            print(f"{done.name}: {done.before} -> {done.after} nodes, {1000 * done.seconds:.1f} ms", file=out)
            for name, count in sorted(done.fired.items(), key=lambda item: (-item[1], item[0])):
                print(f"  {count:4d} x {name}", file=out)
            if graphs and done.graph:
                print(_indented(done.graph), file=out)
        quiet = sum(not done.changed for done in self.passes)
        print(f"{quiet} of {len(self.passes)} passes changed nothing", file=out)
        return out.getvalue()

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def html(self, path: Any = None) -> str:
        """Return the passes as one HTML page that needs nothing else.

        Lines of a graph that were not in the one before are marked.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page, too.

        Returns
        -------
        str
        """
        passes = []
        previous = _lines_without_ids(self.initial)
        for number, done in enumerate(self.passes):
            shown = {
                "number": number,
                "name": done.name,
                "changed": done.changed,
                "before": done.before,
                "after": done.after,
                "milliseconds": 1000 * done.seconds,
                "replaced": sum(done.fired.values()),
            }
            if done.changed:
                shown["fired"] = sorted(done.fired.items(), key=lambda item: (-item[1], item[0]))
                shown["lines"] = _marked(done.graph, previous)
                previous = _lines_without_ids(done.graph)
            passes.append(shown)
        final = self.passes[-1].after if self.passes else self.initial_nodes
        page = render("passes.html", nodes=self.initial_nodes, final=final, initial=self.initial, passes=passes)
        if path is not None:
            with open(os.fspath(path), "w", encoding="utf-8") as stream:
                stream.write(page)
        return page

    def _repr_html_(self) -> str:
        from theano.printing.notebook import framed

        return framed(self.html())

    def _begin(self, fgraph: Any) -> None:
        self.passes = []
        self._numbers = {}
        self.initial_nodes = len(fgraph.apply_nodes)
        self.initial = self._printed(fgraph)

    def _end(self, fgraph: Any, done: Pass) -> None:
        if done.changed:
            done.graph = self._printed(fgraph)
        self.passes.append(done)

    def _printed(self, fgraph: Any) -> str:
        if len(fgraph.apply_nodes) > self.max_nodes:
            return f"({len(fgraph.apply_nodes)} nodes are not shown: more than max_nodes)"
        nodes = fgraph.depth_first()
        if len(nodes) > _TREE_NODES or _depth(nodes) > _TREE_DEPTH:
            return self._listed(nodes, fgraph.outputs)
        return debugprint(list(fgraph.outputs), file="str").rstrip("\n")

    def _listed(self, nodes: list[Any], outputs: list[Any]) -> str:
        """The nodes, one a line, each with its number in this trace."""
        numbers = self._numbers

        def name(var: Any) -> str:
            if var.owner is None:
                return str(var)
            number = numbers[var.owner]
            return f"%{number}.{var.index}" if len(var.owner.outputs) > 1 else f"%{number}"

        lines = []
        for node in nodes:
            number = numbers.setdefault(node, len(numbers) + 1)
            lines.append(f"%{number} = {node.op}({', '.join(map(name, node.inputs))})")
        lines.append(f"return {', '.join(map(name, outputs))}")
        return "\n".join(lines)


def _depth(nodes: list[Any]) -> int:
    depth: dict[Any, int] = {}
    for node in nodes:
        depth[node] = 1 + max((depth[i.owner] for i in node.inputs if i.owner is not None), default=0)
    return max(depth.values(), default=0)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _lines_without_ids(text: str) -> set[str]:
    return {_ID.sub("", line).strip(" |") for line in text.split("\n")}


def _marked(text: str, previous: set[str]) -> list[dict[str, Any]]:
    """The lines of `text`, those marked that are not in `previous`; of a list only what is around them."""
    lines = text.split("\n")
    new = [_ID.sub("", line).strip(" |") not in previous for line in lines]
    shown = [True] * len(lines)
    if lines[-1].startswith("return "):
        shown = [any(new[max(0, i - _AROUND) : i + _AROUND + 1]) for i in range(len(lines))]
    result: list[dict[str, Any]] = []
    left_out = 0
    for line, is_new, is_shown in zip([*lines, ""], [*new, False], [*shown, True], strict=True):
        if not is_shown:
            left_out += 1
            continue
        if left_out:
            result.append({"left_out": left_out})
            left_out = 0
        result.append({"left_out": 0, "new": is_new, "text": line})
    return result[:-1]


for _class in (OptimizationTrace, Pass):
    _class.__module__ = "theano.printing"
