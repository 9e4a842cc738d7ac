"""Timings of compiled functions: :class:`ProfileStats` collects them and prints them as text."""

from __future__ import annotations

import atexit
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from theano.configparser import config

if TYPE_CHECKING:
    from theano.compile.profile_memory import MemoryUse

_import_time = time.perf_counter()
theano_imported_time = time.time()

#: Profiles that are printed when the program ends.
_atexit_print_list: list[ProfileStats] = []
#: Functions that print more about a profile, see :func:`register_profiler_printer`.
_profiler_printers: list[Callable[..., None]] = []


def register_profiler_printer(fct: Callable[..., None]) -> Callable[..., None]:
    """Register a function that adds a section to every profile.

    Parameters
    ----------
    fct : callable
        Called as ``fct(message, compile_time, fct_call_time, apply_time,
        apply_cimpl, outputs_size, file)``.

    Returns
    -------
    callable
        `fct`.

    See Also
    --------
    theano.ProfileStats : What compiling and running one or several functions cost.
    theano.compile.profiling.print_global_stats : Print how long all functions took together.

    Examples
    --------
    >>> import io
    >>> @register_profiler_printer
    ... def calls(message, compile_time, fct_call_time, apply_time, apply_cimpl, outputs_size, file):
    ...     print(len(apply_time), "nodes were timed", file=file)
    >>> text = io.StringIO()
    >>> ProfileStats(atexit_print=False).summary(text)
    >>> "0 nodes were timed" in text.getvalue()
    True
    >>> _profiler_printers.remove(calls)
    """
    _profiler_printers.append(fct)
    return fct


_TOTALS = {"total_fct_exec_time": "fct_call_time", "total_graph_opt_time": "optimizer_time", "total_time_linker": "linker_time"}


def __getattr__(name: str) -> Any:
    # What all functions took together that are profiled so far.
    if name in _TOTALS:
        return sum(getattr(p, _TOTALS[name]) for p in _atexit_print_list)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def make_profile(profile: Any, name: str | None) -> Any:
    """Return the profile object that a ``profile`` argument of ``theano.function`` asks for, or None.

    Parameters
    ----------
    profile : bool, str, ProfileStats or None
        The argument; a text is the profile's message, None asks the flag ``profile``.
    name : str
        The function's name, the message of a profile that has no other.

    See Also
    --------
    theano.compile.profiling.print_global_stats : Print how long all functions took together.
    theano.compile.profiling.register_profiler_printer : Register a function that adds a section to every profile.
    theano.ProfileStats : What compiling and running one or several functions cost.

    Examples
    --------
    >>> make_profile(False, "train") is None
    True
    >>> given = ProfileStats(atexit_print=False)
    >>> make_profile(given, "train") is given
    True
    """
    if profile is None:
        profile = bool(config.profile or config.print_global_stats)
    if profile is False:
        return None
    if profile is True or isinstance(profile, str):
        return ProfileStats(message=profile if isinstance(profile, str) else name)
    return profile


def _print_at_exit() -> None:
    printed = [p for p in _atexit_print_list if p.fct_callcount or p.compile_time or p.callcount]
    if not printed and not config.print_global_stats:
        return
    destination = config.profiling.destination
    opened = None
    if destination.endswith((".html", ".htm")):
        from theano.compile.profile_page import write_page

        write_page(_with_sum(printed), destination)
        return
    if destination == "stderr":
        file: TextIO = sys.stderr
    elif destination == "stdout":
        file = sys.stdout
    else:
        file = opened = open(destination, "w")  # noqa: SIM115
    try:
        if config.print_global_stats:
            print_global_stats(file)
        if config.profile or not config.print_global_stats:
            _print_all(printed, file)
    finally:
        if opened is not None:
            opened.close()


def _print_all(printed: list[ProfileStats], file: TextIO) -> None:
    sizes = {"n_ops_to_print": config.profiling.n_ops, "n_apply_to_print": config.profiling.n_apply}
    for profile in _with_sum(printed):
        profile.summary(file=file, **sizes)


def _with_sum(printed: list[ProfileStats]) -> list[ProfileStats]:
    """Return the profiles and, if there are several functions, their sum."""
    functions = [p for p in printed if not isinstance(p, ScanProfileStats)]
    if len(functions) < 2:
        return printed
    total = ProfileStats(atexit_print=False, message=f"Sum of all({len(functions)}) printed profiles at exit")
    for profile in functions:
        total._add(profile)
    return [*printed, total]


atexit.register(_print_at_exit)


def print_global_stats(file: TextIO | None = None) -> None:
    """Print how long all functions took together.

    Parameters
    ----------
    file : file, optional
        Where to print; the standard error by default.

    See Also
    --------
    theano.ProfileStats : What compiling and running one or several functions cost.
    theano.compile.profiling.register_profiler_printer : Register a function that adds a section to every profile.
    theano.compile.profiling.make_profile : Return the profile object that a ``profile`` argument of ``theano.function``
        asks for, or None.

    Examples
    --------
    >>> print_global_stats(sys.stdout)
    ==================================================
    Global stats: Time elasped since Theano import = ...s, Time spent in Theano functions = ...s (...%)
    ==================================================
    """
    file = sys.stderr if file is None else file
    total = sum(p.fct_call_time for p in _atexit_print_list)
    since_import = time.perf_counter() - _import_time
    print("=" * 50, file=file)
    print(
        f"Global stats: Time elasped since Theano import = {since_import:6.3f}s, Time spent in Theano functions = "
        f"{total:6.3f}s ({100 * total / since_import if since_import else 0:.1f}%)",
        file=file,
    )
    print("=" * 50, file=file)


def _share(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0


class ProfileStats:
    """What compiling and running one or several functions cost.

    Parameters
    ----------
    atexit_print : bool
        Whether to print the profile when the program ends.
    flag_time_thunks : bool, optional
        Whether nodes are timed one by one.
    gpu_checks : bool
        Accepted for compatibility; there is nothing to check.
    message : str, optional
        Title of the profile, usually the name of the function.
    **kwargs
        Initial values of further attributes.

    Attributes
    ----------
    fct_callcount, fct_call_time, vm_call_time
        Number of calls, seconds in them, seconds in them in the program.
    compile_time, optimizer_time, validate_time, linker_time, import_time
        Seconds of the parts of the compilation.
    apply_time, apply_callcount, apply_cimpl
        Seconds, number of runs and whether it was C, of each node.
    variable_shape, variable_strides
        Of each variable, when memory is profiled.
    nb_nodes
        Number of nodes of the last function compiled.

    See Also
    --------
    theano.compile.profiling.print_global_stats : Print how long all functions took together.
    theano.compile.ScanProfileStats : What running the inner function of a scan cost.
    theano.compile.profiling.make_profile : Return the profile object that a ``profile`` argument of ``theano.function``
        asks for, or None.

    Examples
    --------
    >>> import theano
    >>> profile = ProfileStats(atexit_print=False, message="doubling")
    >>> x = theano.tensor.dscalar("x")
    >>> double = theano.function([x], 2 * x, profile=profile)
    >>> float(double(1) + double(2)), profile.fct_callcount, profile.compile_time > 0
    (6.0, 2, True)
    """

    def __init__(
        self,
        atexit_print: bool = True,
        flag_time_thunks: bool | None = None,
        gpu_checks: bool = True,
        message: str | None = None,
        **kwargs: Any,
    ):
        self.message = message
        self.flag_time_thunks = config.profiling.time_thunks if flag_time_thunks is None else flag_time_thunks
        self.ignore_first_call = config.profiling.ignore_first_call
        self.compile_time = 0.0
        self.optimizer_time = 0.0
        self.validate_time = 0.0
        self.linker_time = 0.0
        self.linker_node_make_thunks = 0.0
        self.linker_make_thunk_time: dict[Any, float] = {}
        self.import_time = 0.0
        self.nb_nodes = -1
        self.optimizer_profile: tuple[Any, Any] | None = None
        self.line_width = config.profiling.output_line_width if hasattr(config.profiling, "output_line_width") else 512
        self.reset()
        self.__dict__.update(kwargs)
        if atexit_print:
            _atexit_print_list.append(self)

    def reset(self) -> None:
        """Forget the calls; what is known about the compilation stays."""
        self.fct_callcount = 0
        self.fct_call_time = 0.0
        self.vm_call_time = 0.0
        self.callcount = 0
        self.apply_time: dict[Any, float] = {}
        self.apply_callcount: dict[Any, int] = {}
        self.apply_cimpl: dict[Any, bool] = {}
        self.variable_shape: dict[Any, Any] = {}
        self.variable_strides: dict[Any, Any] = {}
        self.variable_offset: dict[Any, Any] = {}
        self.node_executed_order: list[Any] = []

    def _repr_html_(self) -> str:
        from theano.compile.profile_page import page
        from theano.printing.notebook import framed

        return framed(page([self], self.message or "Theano profile"))

    def _add(self, other: ProfileStats) -> None:
        for attribute in (
            "compile_time", "fct_call_time", "fct_callcount", "vm_call_time", "optimizer_time", "validate_time",
            "linker_time", "linker_node_make_thunks", "import_time", "callcount",
        ):  # fmt: skip
            setattr(self, attribute, getattr(self, attribute) + getattr(other, attribute))
        self.nb_nodes = max(self.nb_nodes, 0) + max(other.nb_nodes, 0)
        for attribute in ("apply_time", "apply_callcount"):
            mine = getattr(self, attribute)
            for key, value in getattr(other, attribute).items():
                mine[key] = mine.get(key, 0) + value
        for attribute in ("apply_cimpl", "variable_shape", "variable_strides"):
            getattr(self, attribute).update(getattr(other, attribute))
        if other.optimizer_profile is not None:
            self.add_optimizer_profile(*other.optimizer_profile)

    def add_optimizer_profile(self, optimizer: Any, profile: Any) -> None:
        """Add what an optimizer did for a function to what optimizers did for others of this profile.

        Parameters
        ----------
        optimizer : Optimizer
        profile
            What its `apply` returned.
        """
        if self.optimizer_profile is not None and profile is not None:
            first, before = self.optimizer_profile
            if before is not None and type(first) is type(optimizer):
                self.optimizer_profile = (first, first.merge_profile(before, profile))
                return
        self.optimizer_profile = (optimizer, profile)

    def _group(self, key: Callable[[Any], Any], values: Callable[[Any], Any]) -> dict[Any, Any]:
        result: dict[Any, Any] = defaultdict(int)
        for node in self.apply_time:
            result[key(node)] += values(node)
        return dict(result)

    def class_time(self) -> dict[type, float]:
        """Return the seconds spent in each class of ops."""
        return self._group(lambda node: type(node.op), lambda node: self.apply_time[node])

    def class_callcount(self) -> dict[type, int]:
        """Return how often ops of each class ran."""
        return self._group(lambda node: type(node.op), lambda node: self.apply_callcount[node])

    def class_nodes(self) -> dict[type, int]:
        """Return the number of nodes of each class of ops."""
        return self._group(lambda node: type(node.op), lambda node: 1)

    def class_impl(self) -> dict[type, str]:
        """Return for each class of ops how it is implemented, 'C' or 'Py'."""
        return self._implementation(lambda node: type(node.op))

    def op_time(self) -> dict[Any, float]:
        """Return the seconds spent in each op."""
        return self._group(lambda node: node.op, lambda node: self.apply_time[node])

    def op_callcount(self) -> dict[Any, int]:
        """Return how often each op ran."""
        return self._group(lambda node: node.op, lambda node: self.apply_callcount[node])

    def op_nodes(self) -> dict[Any, int]:
        """Return the number of nodes of each op."""
        return self._group(lambda node: node.op, lambda node: 1)

    def op_impl(self) -> dict[Any, str]:
        """Return for each op how it is implemented, 'C' or 'Py'."""
        return self._implementation(lambda node: node.op)

    def _implementation(self, key: Callable[[Any], Any]) -> dict[Any, str]:
        result: dict[Any, str] = {}
        for node in self.apply_time:
            result[key(node)] = "C" if self.apply_cimpl.get(node) else "Py"
        return result

    def summary(
        self, file: TextIO | None = None, n_ops_to_print: int | None = None, n_apply_to_print: int | None = None
    ) -> None:
        """Print everything.

        Parameters
        ----------
        file : file, optional
            Where to print; the standard error by default.
        n_ops_to_print, n_apply_to_print : int, optional
            Number of lines of the sections; ``config.profiling.n_ops`` and
            ``config.profiling.n_apply`` by default.
        """
        file = sys.stderr if file is None else file
        n_ops = config.profiling.n_ops if n_ops_to_print is None else n_ops_to_print
        n_apply = config.profiling.n_apply if n_apply_to_print is None else n_apply_to_print
        self.summary_function(file)
        file.flush()
        if sum(self.apply_time.values()) > 0 or self.apply_callcount:
            self.summary_class(file, n_ops)
            self.summary_ops(file, n_ops)
            self.summary_nodes(file, n_apply)
        elif self.fct_callcount:
            print("  No execution time accumulated (hint: try config profiling.time_thunks=1)", file=file)
        if self.variable_shape or config.profile_memory:
            self.summary_memory(file, n_apply)
        if _profiler_printers:
            outputs_size = self.outputs_size()
            for printer in _profiler_printers:
                printer(
                    self.message,
                    self.compile_time,
                    self.fct_call_time,
                    self.apply_time,
                    self.apply_cimpl,
                    outputs_size,
                    file,
                )
        if config.profiling.debugprint:
            self._print_graphs(file)
        if self.optimizer_profile:
            print("Optimizer Profile", file=file)
            print("-----------------", file=file)
            optimizer, profile = self.optimizer_profile
            optimizer.print_profile(file, profile)
        self._print_tips(file)
        print("", file=file)
        file.flush()

    def _print_tips(self, file: TextIO) -> None:
        from theano.compile.profile_tips import tips

        advice = tips(self)
        if advice:
            print("Tips to make the function faster, the most promising first", file=file)
            print("---", file=file)
            for tip in advice:
                print(f"  - {tip}", file=file)

    def write_html(self, path: Any) -> None:
        """Write everything as a page for a web browser.

        Parameters
        ----------
        path : str or path
            The file.

        Examples
        --------
        >>> import theano, theano.tensor as T
        >>> x = T.dvector('x')
        >>> f = theano.function([x], x * 2, profile=theano.compile.ProfileStats(atexit_print=False))
        >>> f.profile.write_html('profile.html')                                # doctest: +SKIP
        """
        from theano.compile.profile_page import write_page

        write_page([self], path)

    def summary_function(self, file: TextIO) -> None:
        """Print the section about the calls and the compilation."""
        import theano.gradient as gradient

        title = "Function profiling"
        lines = [title, "=" * len(title), f"  Message: {self.message}"]
        lines.append(f"  Time in {self.fct_callcount} calls to Function.__call__: {self.fct_call_time:e}s")
        if self.fct_call_time > 0:
            in_vm = _share(self.vm_call_time, self.fct_call_time)
            in_thunks = sum(self.apply_time.values())
            lines.append(f"  Time in Function.fn.__call__: {self.vm_call_time:e}s ({in_vm:.3f}%)")
            lines.append(f"  Time in thunks: {in_thunks:e}s ({_share(in_thunks, self.fct_call_time):.3f}%)")
        lines.append(f"  Total compile time: {self.compile_time:e}s")
        lines.append(f"    Number of Apply nodes: {self.nb_nodes}")
        lines.append(f"    Theano Optimizer time: {self.optimizer_time:e}s")
        lines.append(f"       Theano validate time: {self.validate_time:e}s")
        lines.append(
            f"    Theano Linker time (includes C, CUDA code generation/compiling): {self.linker_time:e}s"
        )
        lines.append(f"       Import time {self.import_time:e}s")
        lines.append(f"       Node make_thunk time {self.linker_node_make_thunks:e}s")
        slowest = sorted(self.linker_make_thunk_time.items(), key=lambda item: -item[1])[:5]
        lines.extend(f"           Node {node} time {seconds:e}s" for node, seconds in slowest)
        lines.append("")
        lines.append(f"Time in all call to theano.grad() {getattr(gradient, 'grad_time', 0.0):e}s")
        lines.append(f"Time since theano import {time.perf_counter() - _import_time:.3f}s")
        print("\n".join(lines), file=file)

    def _table(
        self,
        file: TextIO,
        title: str,
        header: str,
        rows: list[tuple[float, str]],
        limit: int,
        what: str,
    ) -> None:
        """Print rows of a time and a text, the longest time first."""
        total = sum(seconds for seconds, _ in rows)
        print(title, file=file)
        print("---", file=file)
        print(header, file=file)
        rows = sorted(rows, key=lambda row: -row[0])
        accumulated = 0.0
        for seconds, text in rows[:limit]:
            accumulated += seconds
            line = f" {_share(seconds, total):5.1f}%   {_share(accumulated, total):5.1f}%   {seconds:10.3f}s   {text}"
            print(line[: self.line_width], file=file)
        rest = total - accumulated
        n_rest = max(0, len(rows) - limit)
        print(
            f"   ... (remaining {n_rest} {what} account for {_share(rest, total):6.2f}%({rest:.2f}s) of the runtime)",
            file=file,
        )
        print("", file=file)

    def summary_class(self, file: TextIO, n: int) -> None:
        """Print the section that adds up the nodes of each class of ops."""
        columns = self.class_time(), self.class_callcount(), self.class_nodes(), self.class_impl()
        self._summary_of_groups(file, n, "Class", "Classes", *columns)

    def summary_ops(self, file: TextIO, n: int) -> None:
        """Print the section that adds up the nodes of each op."""
        columns = self.op_time(), self.op_callcount(), self.op_nodes(), self.op_impl()
        self._summary_of_groups(file, n, "Op", "Ops", *columns)

    def _summary_of_groups(self, file: TextIO, n: int, name: str, names: str, times: dict, calls: dict, nodes: dict, impl: dict):
        rows = [(t, f"{t / max(calls[g], 1):10.2e}s     {impl[g]:2s}    {calls[g]:5d}    {nodes[g]:5d}   {g}")
                for g, t in times.items()]  # fmt: skip
        header = f"<% time> <sum %> <apply time> <time per call> <type> <#call> <#apply> <{name} name>"
        self._table(file, "Class" if name == "Class" else "Ops", header, rows, n, names)

    def summary_nodes(self, file: TextIO, n: int) -> None:
        """Print the section about the single nodes."""
        header = "<% time> <sum %> <apply time> <time per call> <#call> <id> <Apply name>"
        flops_seen = any(hasattr(node.op, "flops") for node in self.apply_time) and bool(self.variable_shape)
        if flops_seen:
            header = "<% time> <sum %> <apply time> <time per call> <#call> <id> <Mflops> <Gflops/s> <Apply name>"
        rows = []
        for index, (node, seconds) in enumerate(self._nodes_in_order()):
            calls = self.apply_callcount.get(node, 0)
            text = f"{seconds / max(calls, 1):10.2e}s  {calls:6d}  {index:4d}   "
            if flops_seen:
                text += self._flops_text(node, seconds / max(calls, 1))
            text += str(node)
            if self.variable_shape:
                for kind, variables in (("input", node.inputs), ("output", node.outputs)):
                    for k, v in enumerate(variables):
                        shape = self.variable_shape.get(v)
                        strides = self.variable_strides.get(v)
                        dtype = getattr(v, "dtype", None)
                        text += f"\n    {kind} {k}: dtype={dtype}, shape={shape}, strides={strides}"
            rows.append((seconds, text))
        width, self.line_width = self.line_width, 10**9 if self.variable_shape else self.line_width
        try:
            self._table(file, "Apply", header, rows, n, "Apply instances")
        finally:
            self.line_width = width

    def _nodes_in_order(self) -> list[tuple[Any, float]]:
        """Return the nodes with their times, in the order of the graph's execution where it is known."""
        position: dict[Any, int] = {}
        for node in self.apply_time:
            fgraph = getattr(node, "fgraph", None)
            if fgraph is not None and node not in position:
                for index, other in enumerate(fgraph.toposort()):
                    position[other] = index
        nodes = sorted(self.apply_time, key=lambda node: position.get(node, 0))
        return [(node, self.apply_time[node]) for node in nodes]

    def _flops_text(self, node: Any, seconds: float) -> str:
        if not hasattr(node.op, "flops"):
            return "                  "
        shapes = [[self.variable_shape.get(v, ()) for v in variables] for variables in (node.inputs, node.outputs)]
        flops = node.op.flops(*shapes)
        rate = flops / seconds / 1024**3 if seconds else 0.0
        return f"{flops / 1024**2:7.1f}  {rate:7.1f}  "

    def _node_sizes(self, node: Any) -> list[int]:
        sizes = []
        for v in node.outputs:
            shape = self.variable_shape.get(v)
            if shape is None or not hasattr(v.type, "get_size"):
                sizes.append(0)
            else:
                sizes.append(int(v.type.get_size(shape)))
        return sizes

    def outputs_size(self) -> dict[Any, list[int]]:
        """Return for each node the sizes of its outputs in bytes, as far as they are known."""
        return {node: self._node_sizes(node) for node in self.apply_callcount}

    def summary_memory(self, file: TextIO, n: int) -> None:
        """Print the section about the memory of intermediate values."""
        from theano.compile.profile_memory import kind_of_output

        title = "Memory Profile (the max between all functions in that profile)"
        print(title, file=file)
        print("(Sparse variables are ignored)", file=file)
        print("(For values in brackets, it's for linker = c|py)", file=file)
        print("---", file=file)
        peak_gc, peak_all = self.peak_memory()
        print(f"    Max peak memory with current setting: {(peak_gc if config.allow_gc else peak_all) / 1024:.0f}KB",
              file=file)  # fmt: skip
        print(f"    Max peak memory if allow_gc=False: {peak_all / 1024:.0f}KB", file=file)
        print(f"    Max peak memory if allow_gc=True: {peak_gc / 1024:.0f}KB", file=file)
        if config.profiling.min_peak_memory:
            for use in self._memory_uses():
                least, exact = use.least_peak()
                what = "Minimum peak from all valid apply node order is" if exact else "No order was found with a peak below"
                print(f"    {what} {least / 1024:.0f}KB", file=file)
        print("---", file=file)
        print("", file=file)
        print("    <Sum apply outputs (bytes)> <Apply outputs shape> <created/inplace/view> <Apply node>", file=file)
        print("", file=file)
        rows = [(sum(self._node_sizes(node)), node) for node in self.apply_callcount]
        rows.sort(key=lambda row: -row[0])
        minimum = config.profiling.min_memory_size
        shown = [row for row in rows if row[0] >= minimum][:n]
        for size, node in shown:
            kinds = [kind_of_output(node, index) for index in range(len(node.outputs))]
            shapes = [str(self.variable_shape.get(v)) for v in node.outputs]
            print(f"     {size:9d}B  [{', '.join(shapes)}] {' '.join(kinds)} {node}"[: self.line_width], file=file)
        rest = sum(size for size, _ in rows) - sum(size for size, _ in shown)
        total = sum(size for size, _ in rows)
        print(
            f"   ... (remaining {len(rows) - len(shown)} Apply account for {rest:4d}B/{total}B "
            f"({_share(rest, total):.2f}%) of the Apply with dense outputs sizes)",
            file=file,
        )
        print("", file=file)

    def _memory_uses(self) -> list[MemoryUse]:
        """Return the memory of the nodes of each function of the profile."""
        from theano.compile.profile_memory import MemoryUse

        by_graph: dict[Any, list[Any]] = defaultdict(list)
        for node in self.apply_callcount:
            by_graph[getattr(node, "fgraph", None)].append(node)
        uses = []
        for fgraph, nodes in by_graph.items():
            order = [node for node in fgraph.toposort() if node in self.apply_callcount] if fgraph else nodes
            uses.append(MemoryUse(order, self._node_sizes, fgraph.outputs if fgraph else ()))
        return uses

    def peak_memory(self) -> tuple[int, int]:
        """Return the most bytes of intermediate results at one time, with and without freeing the unneeded ones."""
        uses = self._memory_uses()
        return max((use.peak() for use in uses), default=0), max((use.total() for use in uses), default=0)

    def _print_graphs(self, file: TextIO) -> None:
        from theano.printing import debugprint

        graphs = {node.fgraph for node in self.apply_callcount if getattr(node, "fgraph", None) is not None}
        if graphs:
            print("Profiled functions", file=file)
        for fgraph in graphs:
            debugprint(fgraph, file=file)


class ScanProfileStats(ProfileStats):
    """What running the inner function of a scan cost.

    Parameters
    ----------
    atexit_print : bool, optional
        Whether it is printed when the program ends.
    name : str, optional
        Of the scan.
    **kwargs
        For :class:`ProfileStats`.

    See Also
    --------
    theano.ProfileStats : What compiling and running one or several functions cost.

    Examples
    --------
    >>> profile = ScanProfileStats(atexit_print=False, name="decoder")
    >>> profile.callcount, profile.nbsteps, profile.call_time = 2, 20, 0.5
    >>> profile.summary_function(sys.stdout)
    Scan Op profiling ( decoder )
    =============================
      Message: None
      Time in 2 calls of the op (for a total of 20 steps) 5.000000e-01s
    <BLANKLINE>
      Total time spent in calling the VM 0.000000e+00s (0.000%)
      Total overhead (computing slices..) 5.000000e-01s
    <BLANKLINE>
    """

    def __init__(self, atexit_print: bool = True, name: str | None = None, **kwargs: Any):
        super().__init__(atexit_print, **kwargs)
        self.name = name
        self.callcount = 0
        self.nbsteps = 0
        self.call_time = 0.0

    def summary_function(self, file: TextIO) -> None:
        if self.name is not None:
            message = f"Scan Op profiling ( {self.name} )"
        else:
            message = "Scan Op profiling"
        print(message, file=file)
        print("=" * len(message), file=file)
        print(f"  Message: {self.message}", file=file)
        print(
            f"  Time in {self.callcount} calls of the op (for a total of {self.nbsteps} steps) {self.call_time:e}s",
            file=file,
        )
        print("", file=file)
        in_vm = _share(self.vm_call_time, self.call_time)
        in_thunks = sum(self.apply_time.values())
        print(f"  Total time spent in calling the VM {self.vm_call_time:e}s ({in_vm:.3f}%)", file=file)
        print(f"  Total overhead (computing slices..) {self.call_time - in_thunks:e}s", file=file)
        print("", file=file)
