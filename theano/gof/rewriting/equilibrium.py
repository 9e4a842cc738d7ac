"""The equilibrium optimizer: applies local and global optimizers until none changes the graph."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

from theano.configdefaults import config
from theano.gof import toolbox
from theano.gof.rewriting.base import Optimizer, log_error, optimizer_label
from theano.gof.rewriting.index import TrackIndex
from theano.gof.rewriting.local import FromFunctionLocalOptimizer, LocalOptimizer, NewInputs
from theano.gof.rewriting.navigate import ChangeTracker, NavigatorOptimizer, nodes_in_order
from theano.gof.rewriting.profiles import Part, Profile, Summable, add_values

# How far above a change nodes are looked at again: a pattern sees that many Ops below its root.
_PATTERN_HEIGHT = 3
# Beyond the direct clients, a variable with more clients than this does not spread a change.
_SPREAD_LIMIT = 64
# Up to this many nodes the equilibrium is checked by looking at every node once more, which
# finds what optimizers that look further than _PATTERN_HEIGHT could still do.
_VERIFY_LIMIT = 1000
# The distance of the ranks of nodes that are there from the start: so many nodes may come in after one of them.
_STEP = 1 << 40
# Above the rank of every node that is there from the start, and of every node at all.
_LATE, _END = 1 << 100, 1 << 101


class _Worklist(toolbox.Feature):
    """The nodes that changed, or that lie near a change, since they were last looked at."""

    follows_ops = True

    def __str__(self) -> str:
        return f"worklist of {self.of}"

    def __init__(self, index: TrackIndex, ignore_newtrees: bool, of: str) -> None:
        self.index, self.of = index, of
        # Node -> how far the change that put it here may still spread. `pending` is looked at in this pass, `dirty`
        # in the next one.
        self.pending: dict[Any, int] = {}
        self.dirty: dict[Any, int] = {}
        self.heap: list[tuple[int, int, Any]] = []
        self.queue: list[Any] = []
        # The place of each node in the order, and that of the node that is looked at: what comes in is put after it.
        self.rank: dict[Any, int] = {}
        self.current = _END
        self.ignore_newtrees = ignore_newtrees
        # The node that is about to get other inputs, and what it has less often then.
        self.moved: tuple[Any, Iterable[Any]] = (None, ())
        self.serial = 0
        self.pushed = 0
        self.nb_imported = 0
        # The local optimizers whose `needs` the graph does not have yet, and until it changes those that have seen it.
        self.asleep: set[LocalOptimizer] = set()
        self.settled: set[LocalOptimizer] = set()
        # All nodes, in order, and those of them that are not left out because all optimizers for them sleep.
        self.nodes: Sequence[Any] = ()
        self.busy: Sequence[Any] = ()

    def sleep(self, ops: Iterable[Any], settled: set[LocalOptimizer]) -> None:
        """Pass over the optimizers that need an Op that is not among `ops`, until one comes in.

        Those that are `settled` have been offered this very graph, and are passed over until it changes.
        """
        self.asleep = asleep = set(self.index.with_needs())
        for op in ops:
            if asleep and (woken := self.index.woken_by(op)):
                asleep.difference_update(woken)
        self.settled = settled - asleep
        asleep |= self.settled

    def stir(self) -> None:
        """What has seen the graph has not seen it as it is now."""
        # The same set, which is in use.
        self.asleep -= self.settled
        self.settled.clear()
        self._add_what_was_left_out()

    def start(self, fgraph: Any, start_from: Any, alone: bool) -> None:
        """Begin with the nodes behind `start_from`, or all.

        Parameters
        ----------
        fgraph : FunctionGraph
        start_from : list of Variable or None
        alone : bool
            Whether nothing but the local optimizers changes the graph.
        """
        ops = fgraph.present_ops()
        idle = self.index.idle_ops(ops, self.asleep)
        self.nodes = self.busy = nodes = nodes_in_order(fgraph, start_from)
        if idle:
            self.busy = fgraph.nodes_of_ops([op for op in ops if id(op) not in idle], of_constants=True)
            if start_from is not None:
                there = set(nodes)
                self.busy = [node for node in self.busy if node in there]
        if self.busy or not alone:
            self.rank.update(zip(nodes, range(0, len(nodes) * _STEP, _STEP)))
        self.dirty = dict.fromkeys(self.busy, _PATTERN_HEIGHT)

    def _wake(self, woken: Sequence[LocalOptimizer]) -> None:
        if self.asleep.isdisjoint(woken):
            return
        self.asleep.difference_update(woken)
        self._add_what_was_left_out()

    def _add_what_was_left_out(self) -> None:
        # As if they had been on the list from the start: what comes later in this pass, or in the next one, is looked at.
        between = self.current >= _END
        known, nodes, self.nodes, self.busy = set(self.busy), self.nodes, (), ()
        for node in nodes:
            rank = self.rank.get(node)
            if rank is not None and (between or rank > self.current) and node not in known:
                self._add(node, _PATTERN_HEIGHT)

    def forget(self) -> None:
        """Let go of all nodes: the graph names who spent time on it as long as it lives."""
        self.nodes = self.busy = ()
        for each in (self.pending, self.dirty, self.rank, self.heap, self.queue, self.asleep, self.settled):
            each.clear()
        self.moved = (None, ())

    def begin_pass(self) -> None:
        """Move what was left for the next pass to this one."""
        self.pending, self.dirty = self.dirty, {}
        self.current = -_STEP
        rank = self.rank
        self.heap = []
        # Backwards, so that taking the first is quick; nodes that are added meanwhile go to the heap.
        self.queue = sorted(self.pending, key=rank.__getitem__)
        self.queue.reverse()

    def end_pass(self) -> None:
        """Until the next pass all changes are for that one."""
        self.current = _END

    def pop(self) -> Any:
        """The next node of this pass, those near the inputs first; None at the end of it."""
        heap, queue, pending, rank = self.heap, self.queue, self.pending, self.rank
        while queue or heap:
            if queue and queue[-1] not in pending:
                queue.pop()
                continue
            if heap and (not queue or heap[0][0] < rank[queue[-1]]):
                node = heapq.heappop(heap)[2]
                if node not in pending:
                    continue
            else:
                node = queue.pop()
            del pending[node]
            self.current = rank[node]
            return node
        return None

    def _add(self, node: Any, height: int) -> None:
        pending = self.pending
        if node in pending:
            pending[node] = max(pending[node], height)
            return
        rank = self.rank.setdefault(node, self.current)
        if rank > self.current:
            pending[node] = height
            self.pushed -= 1
            heapq.heappush(self.heap, (rank, self.pushed, node))
        else:
            self.dirty[node] = max(height, self.dirty.get(node, 0))

    def mark(self, node: Any, height: int = _PATTERN_HEIGHT) -> None:
        """Put `node` and the nodes up to `height` above it on the list."""
        pending, dirty = self.pending, self.dirty
        level = [node]
        while level:
            above = []
            for one in level:
                if pending.get(one, -1) >= height or dirty.get(one, -1) >= height:
                    continue
                self._add(one, height)
                if height == 0:
                    continue
                for output in one.outputs:
                    clients = output.clients
                    if len(clients) > _SPREAD_LIMIT and height < _PATTERN_HEIGHT:
                        continue
                    above.extend(client for client, _ in clients if client != "output")
            level = above
            height -= 1

    def on_import(self, fgraph, node, reason) -> None:
        self.nb_imported += 1
        self.serial += 1
        # After what is being looked at, or, between passes, after all.
        self.rank[node] = (self.current & -_STEP if self.current < _END else _LATE) + self.serial
        if self.settled:
            self.stir()
        if self.asleep and (woken := self.index.woken_by(node.op)):
            self._wake(woken)
        if self.ignore_newtrees:
            self.dirty[node] = 0
        else:
            self._add(node, 0)

    def on_prune(self, fgraph, node, reason) -> None:
        self.dirty.pop(node, None)
        self.pending.pop(node, None)
        self.rank.pop(node, None)
        moved, lost = self.moved
        if moved is node:
            # It comes back at once; when it is pruned the next time, it is gone.
            self.moved = (None, ())
        else:
            lost = node.inputs
        for var in lost:
            self._lost_client(var, node)

    def on_put_inputs(self, fgraph, node, inputs, reason) -> None:
        # What a node keeps, or has in another place, has lost no client; what it has twice may be there less often.
        old, kept = node.inputs, set(inputs)
        lost = [var for var in old if var not in kept] if len(set(old)) == len(old) else Counter(old) - Counter(inputs)
        self.moved = (node, lost)

    def on_change_input(self, fgraph, node, i, r, new_r, reason) -> None:
        if self.settled:
            self.stir()
        if node != "output":
            self.mark(node)
        self._lost_client(r, None)

    def _lost_client(self, var: Any, lost: Any) -> None:
        owner = var.owner
        if owner is None or owner not in self.rank:
            return
        self._add(owner, 0)
        # An optimizer may insist on a variable having a single client; `lost` may still be among them.
        clients = var.clients
        if len(clients) <= 2:
            remaining = [client for client, _ in clients if client is not lost]
            if len(remaining) == 1 and remaining[0] != "output" and remaining[0] in self.rank:
                self._add(remaining[0], 0)


def _has_requirements(opt: LocalOptimizer) -> bool:
    """Whether `opt` asks for features of the graph."""
    if isinstance(opt, FromFunctionLocalOptimizer) and type(opt).add_requirements is FromFunctionLocalOptimizer.add_requirements:
        return bool(opt.requirements)
    return getattr(opt.add_requirements, "__func__", None) is not LocalOptimizer.add_requirements


class PassProfile(Summable):
    """One pass of an `EquilibriumOptimizer`: seconds, how often each optimizer changed the graph, and nodes at its start."""

    seconds: float = 0.0
    global_seconds: float = 0.0
    sort_seconds: float = 0.0
    nb_nodes: int = 0
    counts: dict[Any, int] = {}


class EquilibriumProfile(Profile):
    """What an `EquilibriumOptimizer` did.

    Parameters
    ----------
    nb_start, nb_max, nb_end : int
        Numbers of nodes.
    passes : list of PassProfile
    time_opts, node_created : dict
        For each optimizer its seconds, and how many nodes it made.
    parts : dict
        For each kind of global optimizers that ran ('Global', 'Final', 'Cleanup') what each of them did, as a `Part`.
    """

    added_by = {**Profile.added_by, "nb_max": max}
    nb_start: int
    nb_max: int
    nb_end: int = 0
    passes: list[PassProfile] = []
    time_opts: dict[Any, float] = {}
    node_created: dict[Any, int] = {}
    parts: dict[str, dict[Any, Part]] = {}

    def write(self, stream: TextIO | None, level: int = 0) -> None:
        blanc = "    " * level
        times, passes = self.time_opts, self.passes
        local_time = sum(seconds for o, seconds in times.items() if isinstance(o, LocalOptimizer))
        print(blanc, f"EquilibriumOptimizer      {self.title}", file=stream)
        print(blanc, f"  time {sum(p.seconds for p in passes):.3f}s for {len(passes)} passes", file=stream)
        print(blanc, f"  nb nodes (start, end,  max) {self.nb_start} {self.nb_end} {self.nb_max}", file=stream)
        print(blanc, f"  time io_toposort {sum(p.sort_seconds for p in passes):.3f}s", file=stream)
        print(blanc, f"  time in local optimizers {local_time:.3f}s", file=stream)
        print(blanc, f"  time in global optimizers {sum(p.global_seconds for p in passes):.3f}s", file=stream)
        totals: dict[Any, int] = {}
        for i, one in enumerate(passes):
            totals = add_values(totals, one.counts)
            counts = sorted(one.counts.items(), key=lambda item: (-item[1], optimizer_label(item[0])))
            shown = " ".join(str((optimizer_label(o), count)) for o, count in counts[:5])
            if len(counts) > 5:
                shown += " ..."
            print(
                blanc,
                f"  {i:2d} - {one.seconds:.3f}s {sum(one.counts.values())} "
                f"({one.global_seconds:.3f}s in global opts, {one.sort_seconds:.3f}s io_toposort) - "
                f"{one.nb_nodes} nodes - {shown}",
                file=stream,
            )
        by_time = sorted(times, key=lambda o: -times[o])
        if totals:
            print(blanc, "  times - times applied - nb node created - name:", file=stream)
            for o in by_time:
                if o in totals:
                    created = self.node_created.get(o, 0)
                    print(blanc, f"  {times[o]:.3f}s - {totals[o]} - {created} - {optimizer_label(o)}", file=stream)
        unused = [o for o in by_time if o not in totals]
        if unused:
            print(
                blanc,
                f"  {sum(times[o] for o in unused):.3f}s - in {len(unused)} optimization that were not used "
                "(display only those with a runtime > 0)",
                file=stream,
            )
            for o in unused:
                if times[o] > 0:
                    print(blanc, f"    {times[o]:.3f}s - {optimizer_label(o)}", file=stream)
        print(file=stream)
        for kind, parts in self.parts.items():
            written = [part for part in parts.values() if part.profile is not None]
            if written:
                print(blanc, f"{kind} optimizers", file=stream)
            for part in written:
                part.write(stream, level + 1)


class EquilibriumOptimizer(NavigatorOptimizer):
    """Apply optimizers until none of them changes the graph any more.

    The first pass offers every node, from the inputs to the outputs, to the local optimizers
    that track its Op. Later passes look again only at nodes that changed or that lie near a
    change. Global optimizers run at the start of each pass if the graph changed since they
    last ran.

    Parameters
    ----------
    optimizers : list of Optimizer or LocalOptimizer
        What is applied.
    failure_callback : callable, optional
        See `NavigatorOptimizer`.
    ignore_newtrees : bool
        Look at nodes that a replacement brings in during the next pass only, not at once.
    tracks_on_change_inputs : bool
        Without effect: nodes whose inputs were replaced are always looked at again, in the same
        pass if they are still to come in it.
    max_use_ratio : float
        An optimizer that changes the graph more often than this number times the number of nodes
        at the start ends the process, with an error in the log.
    final_optimizers : list of Optimizer, optional
        Applied at the end of each pass.
    cleanup_optimizers : list of Optimizer, optional
        Applied after the global optimizers, and at the end of each pass.

    See Also
    --------
    theano.gof.TopoOptimizer : Apply a local optimizer to all nodes once, in (or against) topological order.
    theano.gof.SeqOptimizer : Apply a list of global optimizers one after another.

    Examples
    --------
    >>> from theano import gof
    >>> from theano.gof.opt import EquilibriumOptimizer, PatternSub
    >>> from theano.scalar import float64, neg
    >>> x = float64('x')
    >>> graph = gof.FunctionGraph([x], [neg(neg(neg(neg(x))))])
    >>> opt = EquilibriumOptimizer([PatternSub((neg, (neg, 'x')), 'x')], max_use_ratio=10)
    >>> _ = opt.optimize(graph)
    >>> len(graph.apply_nodes)
    0
    """

    def __init__(
        self,
        optimizers: Sequence[Any],
        failure_callback: Callable | None = None,
        ignore_newtrees: bool = True,
        tracks_on_change_inputs: bool = False,
        max_use_ratio: float | None = None,
        final_optimizers: Sequence[Any] | None = None,
        cleanup_optimizers: Sequence[Any] | None = None,
    ):
        super().__init__(None, ignore_newtrees=ignore_newtrees, failure_callback=failure_callback)
        if max_use_ratio is None:
            raise ValueError("EquilibriumOptimizer needs max_use_ratio")
        self.max_use_ratio = max_use_ratio
        self.tracks_on_change_inputs = tracks_on_change_inputs
        self.index = TrackIndex()
        self.global_optimizers: list[Any] = []
        self.final_optimizers: list[Any] = list(final_optimizers or ())
        self.cleanup_optimizers: list[Any] = list(cleanup_optimizers or ())
        for opt in optimizers:
            if isinstance(opt, LocalOptimizer):
                self.index.add(opt)
            else:
                self.global_optimizers.append(opt)
        self._demanding = [opt for opt in self.index.all() if _has_requirements(opt)]

    @property
    def local_optimizers_map(self) -> dict[Any, list[Any]]:
        """Local optimizers by the Op or Op class that they track."""
        return self.index.by_op

    @property
    def local_optimizers_all(self) -> list[Any]:
        """Local optimizers that track every Op."""
        return self.index.everywhere

    def get_local_optimizers(self) -> list[Any]:
        """Return all local optimizers, each once."""
        return self.index.all()

    def add_requirements(self, fgraph) -> None:
        super().add_requirements(fgraph)
        for opt in self._demanding:
            opt.add_requirements(fgraph)
        for opt in self.global_optimizers + self.final_optimizers + self.cleanup_optimizers:
            opt.add_requirements(fgraph)

    def apply(self, fgraph, start_from: Any = None) -> Any:
        run = _Run(self, fgraph, start_from)
        return run.to_equilibrium()

    def print_summary(self, stream: TextIO | None = None, level: int = 0, depth: int = -1) -> None:
        name = getattr(self, "name", None)
        print(f"{' ' * level}{self.__class__.__name__} {name} id={id(self)}", file=stream)
        if depth == 0:
            return
        groups = (self.global_optimizers, self.get_local_optimizers(), self.final_optimizers, self.cleanup_optimizers)
        for opts in groups:
            for opt in opts:
                opt.print_summary(stream, level=level + 2, depth=depth - 1)


class _Run:
    """One application of an `EquilibriumOptimizer` to one graph."""

    def __init__(self, navigator: EquilibriumOptimizer, fgraph: Any, start_from: Any):
        self.nav = navigator
        self.fgraph = fgraph
        self.start_from = start_from
        self.work = _Worklist(navigator.index, navigator.ignore_newtrees, navigator.name or "an EquilibriumOptimizer")
        self.timed = bool(getattr(fgraph, "profile", None)) or config.profile_optimizer
        self.uses: dict[Any, int] = {}
        n_nodes = len(fgraph.apply_nodes)
        title = " ".join(str(part) for part in (navigator.name, getattr(navigator, "__name__", "")) if part)
        self.profile = EquilibriumProfile(title, n_nodes, n_nodes, parts={"Global": {}, "Final": {}, "Cleanup": {}})
        self.aborted_by: Any = None
        # Of the graph as it comes: one that grows without end must not raise its own limit. One node alone can be the
        # start of a large graph (a slice of a slice, say).
        self.max_uses = navigator.max_use_ratio * max(n_nodes, 100)
        self.sort_time = 0.0

    def to_equilibrium(self) -> Any:
        fgraph, nav, work = self.fgraph, self.nav, self.work
        profile = self.profile
        notes = fgraph.settled if self.start_from is None else None
        settled = set() if notes is None else notes.of(fgraph)
        settles = False
        fgraph.attach_feature(work)
        try:
            work.sleep(fgraph.present_ops(), settled)
            self._look_at_everything()
            verified = False
            graph_changed = True
            while True:
                start = time.perf_counter()
                this = PassProfile(sort_seconds=self.sort_time, nb_nodes=len(fgraph.apply_nodes))
                counts = this.counts
                self.sort_time = 0.0
                before = fgraph.state()
                if graph_changed:
                    self._run_global("Global", nav.global_optimizers, this)
                    if any(counts.values()):
                        self._run_global("Cleanup", nav.cleanup_optimizers, this)
                graph_changed = bool(counts)
                graph_changed |= self._run_local(counts)
                if graph_changed or not profile.passes:
                    self._run_global("Final", nav.final_optimizers, this)
                    self._run_global("Cleanup", nav.cleanup_optimizers, this)
                this.seconds = time.perf_counter() - start
                profile.passes.append(this)
                profile.nb_max = max(profile.nb_max, len(fgraph.apply_nodes))
                if self.aborted_by is not None:
                    break
                if counts:
                    graph_changed = True
                    verified = False
                    continue
                if verified or len(profile.passes) == 1 or len(fgraph.apply_nodes) > _VERIFY_LIMIT:
                    # Also a replacement that was taken back is one that not all have seen.
                    settles = before == fgraph.state() and (verified or len(profile.passes) == 1)
                    break
                verified = True
                self._look_at_everything()
        finally:
            fgraph.remove_feature(work)
            work.forget()
        if settles and notes is not None:
            notes.add(fgraph, nav.index.all())
        if self.aborted_by is not None:
            message = (
                f"EquilibriumOptimizer max'ed out by '{optimizer_label(self.aborted_by)}'. You can safely raise the "
                f"current threshold of {nav.max_use_ratio:f} with the theano flag 'optdb.max_use_ratio'."
            )
            if config.on_opt_error == "raise":
                raise AssertionError(message)
            log_error(message)
        for part in (part for parts in profile.parts.values() for part in parts.values()):
            profile.time_opts[part.opt] = profile.time_opts.get(part.opt, 0.0) + part.seconds
        profile.time_opts = {**dict.fromkeys([*nav.get_local_optimizers(), *nav.global_optimizers], 0.0), **profile.time_opts}
        profile.nb_end = len(fgraph.apply_nodes)
        return profile

    def _look_at_everything(self) -> None:
        start = time.perf_counter()
        nav = self.nav
        alone = not (nav.global_optimizers or nav.final_optimizers or nav.cleanup_optimizers)
        self.work.start(self.fgraph, self.start_from, alone)
        self.sort_time += time.perf_counter() - start

    def _run_global(self, kind: str, opts: list[Optimizer], this: PassProfile) -> None:
        parts = self.profile.parts[kind]
        start = time.perf_counter()
        for opt in opts:
            before = self.fgraph.state()
            tracker = ChangeTracker()
            self.fgraph.attach_feature(tracker)
            opt_start = time.perf_counter()
            try:
                part = Part(opt, opt.apply(self.fgraph), time.perf_counter() - opt_start)
            finally:
                self.fgraph.remove_feature(tracker)
            parts[opt] = parts[opt] + part if opt in parts else part
            if tracker.changed:
                self._count(opt, this.counts, tracker.nb_imported)
            if self.work.settled and self.fgraph.state() != before:
                self.work.stir()
        this.global_seconds += time.perf_counter() - start

    def _count(self, opt: Any, counts: dict[Any, int], created: int) -> None:
        counts[opt] = counts.get(opt, 0) + 1
        self.uses[opt] = self.uses.get(opt, 0) + 1
        self.profile.node_created[opt] = self.profile.node_created.get(opt, 0) + created
        self.profile.nb_max = max(self.profile.nb_max, len(self.fgraph.apply_nodes))
        if self.uses[opt] > self.max_uses:
            self.aborted_by = opt

    def _run_local(self, counts: dict[Any, int]) -> bool:
        """Offer the nodes of the worklist to the local optimizers; says whether the graph changed."""
        nav, fgraph, work = self.nav, self.fgraph, self.work
        apply_nodes = fgraph.apply_nodes
        find_for, process = nav.index.find_for, nav.process_node
        timed, time_opts, clock = self.timed, self.profile.time_opts, time.perf_counter
        asleep = work.asleep
        work.begin_pass()
        changed = False
        in_place = not timed and not config.optimizer_verbose and fgraph.can_change_ops()
        undone: set[tuple[Any, Any]] = set()
        stays = False
        queue, heap, pending, rank = work.queue, work.heap, work.pending, work.rank
        try:
            while True:
                if queue and not heap:
                    # As `pop` does.
                    node = queue.pop()
                    if pending.pop(node, None) is None:
                        continue
                    work.current = rank[node]
                else:
                    node = work.pop()
                    if node is None:
                        break
                if node not in apply_nodes:
                    continue
                imported = work.nb_imported
                for lopt, transform in find_for(node):
                    if lopt in asleep or (undone and (node, lopt) in undone):
                        continue
                    if timed:
                        start = clock()
                        applied = process(fgraph, node, lopt)
                        time_opts[lopt] = time_opts.get(lopt, 0.0) + clock() - start
                    else:
                        # Most of the time nothing is proposed: then this is all that there is to do.
                        try:
                            proposed = lopt.change(node) if in_place and lopt.change is not None else transform(node)
                        except Exception as exc:
                            if nav.failure_callback is None:
                                raise
                            nav.failure_callback(exc, nav, [(out, None) for out in node.outputs], lopt, node)
                            continue
                        if proposed is False or proposed is None:
                            continue
                        stays = type(proposed) is NewInputs
                        if stays:
                            applied = self._put_inputs(node, proposed, lopt)
                        else:
                            applied = nav.replace_outputs(fgraph, node, lopt, proposed)
                    created, imported = work.nb_imported - imported, work.nb_imported
                    if not applied:
                        if created:
                            # Taking a refused replacement back looks like a change; without a real one it stays refused.
                            undone.add((node, lopt))
                        continue
                    undone.clear()
                    changed = True
                    self._count(lopt, counts, created)
                    if self.aborted_by is not None:
                        return changed
                    if stays or node not in apply_nodes:
                        break
        finally:
            work.end_pass()
        return changed

    def _put_inputs(self, node: Any, inputs: list, lopt: LocalOptimizer) -> bool:
        """As `replace_outputs` does with a node that takes the place of this one."""
        fgraph = self.fgraph
        checkpoint = fgraph.checkpoint()
        fgraph.put_inputs(node, inputs, reason=lopt)
        try:
            fgraph.validate()
        except Exception as exc:
            fgraph.revert(checkpoint)
            if self.nav.failure_callback is None:
                raise
            self.nav.failure_callback(exc, self.nav, [(out, None) for out in node.outputs], lopt, node)
            return False
        for out in node.outputs:
            for client, _ in out.clients:
                if client != "output":
                    self.work.mark(client)
        return True
