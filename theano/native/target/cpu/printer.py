"""Prints kernels of the loop-nest IR as C.

The text of a kernel depends only on what its loops do: element types, statements, and which operands stay constant
along the innermost loop. Ranks, axes and names do not show, so kernels that differ only in these share compiled code.
The variants of a kernel (``elem``, ``rows``, ``part``, ``cols``, ``fin``) are described in ``runtime/launch.h``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from theano.gof.memo import Bounded
from theano.gof.record import Record
from theano.misc.digest import blake2b
from theano.native import ir
from theano.scalar.expression import COMPARISONS, Expression, c_literal, c_text, functions, variables

CTYPES = {name: "npy_" + name for name in ir.DTYPES}

LANES = 2048
"""Accumulator lanes of ``part`` and ``cols`` (``THN_LANES``)."""

BLOCK = 2048
"""Elements that are reduced over lanes before the lanes are added up."""

SECTIONS: dict[str, dict[str, float]] = {
    "tk_exp.h": {
        "exp": 1.0, "exp2": 1.0, "expm1": 1.3, "tk_exp_diff": 1.3, "tk_exp_diff_scaled": 1.1, "tk_exp_scale": 0.0,
        "tk_exp_minus_square": 1.3, "tk_x_exp_minus_square": 1.4,
    },
    "tk_log.h": {"log": 1.0, "log2": 1.5, "log10": 1.5, "log1p": 1.7},
    "tk_pow.h": {"pow": 5.0, "cbrt": 15.0},
    "tk_ipow.h": {f"tk_power_{sign}int{bits}": 0.0 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "tk_hyper.h": {
        "tanh": 2.0, "sinh": 3.0, "cosh": 3.0, "asinh": 4.0, "acosh": 4.0, "atanh": 2.5, "tk_sigmoid": 2.0, "tk_softplus": 3.0,
    },
    "tk_compound.h": {
        "tk_sigmoid_slope": 2.0, "tk_log_cosh": 4.0, "tk_log_1_minus_tanh": 4.0, "tk_log_1_minus_exp": 4.0,
        "tk_log_expm1": 4.0, "tk_logit": 2.0,
    },
    "tk_trig.h": {"sin": 1.2, "cos": 1.2, "tan": 1.4},
    "tk_atrig.h": {"asin": 1.5, "acos": 1.6, "atan": 1.3, "atan2": 3.0},
    "tk_erf.h": {
        "erf": 4.0, "erfc": 3.0, "tk_erfcx": 3.5, "tk_erfcx_slope": 3.5, "tk_erfc_rate": 4.0, "tk_erfc_rate_excess": 4.0,
        "tk_erfc_rate_slope": 4.0,
    },
    "tk_gamma.h": {"tgamma": 30.0, "lgamma": 25.0, "gammaln": 25.0, "j0": 25.0, "j1": 25.0},
}  # fmt: skip
"""By header of ``theano/native/target/cpu/include`` its functions, with their `COSTS`; all others are in ``tk_core.h``."""

COSTS = {
    "sqrt": 0.6, "fmod": 10.0, "tk_mod": 5.0, "tk_floordiv": 5.0, "theano_scalar_psi": 25.0, "theano_scalar_tri_gamma": 25.0,
    **{name: cost for section in SECTIONS.values() for name, cost in section.items() if cost},
}  # fmt: skip
"""ns a call in a vectorised float64 loop."""

_VECTOR_FUNCTIONS = frozenset(name for section in SECTIONS.values() for name in section)
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")


@lru_cache(maxsize=4096)
def _calls(code: str) -> tuple[str, ...]:
    """The names of the functions that a user's C calls, each as often as it is called: all that is looked for in it."""
    return tuple(_CALL.findall(code))


GUARDED = frozenset(("sin", "cos", "tan"))
"""Functions whose vector form flags arguments that only the scalar form can reduce."""

_OP_CODES = dict(zip(ir.REDUCE_OPS, "amXN&|^AO", strict=True))
_DTYPE_CODES = dict(zip(ir.DTYPES, "?bhiqBHIQefdFD", strict=True))

ROWS_TOGETHER = 4
"""Rows that a light reduction down columns takes at each visit to an accumulator."""

SHORT_ROWS = 16
"""Short rows that are reduced side by side."""

class Printed(Record):
    """A kernel's text.

    Parameters
    ----------
    text
        C in which ``@`` stands for the kernel's prefix; it defines the table ``@`` itself.
    headers
        Names of the headers that the text needs.
    cost
        Estimated ns an element.
    functions
        How many calls of vector functions it has.
    """

    text: str
    headers: tuple[str, ...]
    cost: float
    functions: int = 0


_printed = Bounded(8_000_000)
"""What was printed, up to so many characters."""


def print_kernel(kernel: ir.Kernel) -> Printed:
    """Check the IR's rules and print a kernel."""
    known = _printed.get(kernel)
    if known is None:
        ir.verify(kernel)
        known = _Printer(kernel).print()
        _printed.keep(kernel, known, size=len(known.text))
    return known


def translation_unit(kernels: list[tuple[str, Printed]]) -> str:
    """One C file of several kernels, given as (symbol, printed)."""
    headers = dict.fromkeys(h for _, printed in kernels for h in printed.headers)
    parts = [f'#include "{h}"\n' for h in headers]
    parts += [printed.text.replace("@", symbol) for symbol, printed in kernels]
    return "".join(parts)


class _Statement(Record):
    """A statement of a kernel, printed.

    Parameters
    ----------
    declared
        C that declares the values; ``code`` gives them theirs, ``slow`` does it with the scalar forms of guarded functions.
    calls
        The functions that it calls, each as often as it is called.
    dtypes
        Those of the values.
    cost
        ns an element.
    """

    declared: str
    code: str
    slow: str
    calls: tuple[str, ...]
    dtypes: tuple[str, ...]
    cost: float

    def text(self, slow: bool) -> str:
        return f"{self.declared} {self.slow if slow else self.code}"


_Stage = ir.Stage[_Statement]


class _Printer:
    """Prints a kernel.

    Attributes
    ----------
    constant
        Which inputs are constant along the loop that is printed.
    """

    def __init__(self, kernel: ir.Kernel):
        self.kernel = kernel
        self.out: list[str] = []
        self.counter = 0
        self.calls: set[str] = set()
        self.functions = 0
        self.n_in = len(kernel.inputs)
        self.global_names: dict[str, str] = {}
        last = kernel.ndim - 1
        if kernel.n_inner:
            self.constant = [ir.is_row_operand(kernel, i) for i in range(self.n_in)]
        else:
            self.constant = [last >= 0 and op.broadcast[last] for op in kernel.inputs]

    def print(self) -> Printed:
        k = self.kernel
        self.row_loads = [ld.replaced(var=self._new(ld.var, self.global_names)) for ld in k.row_loads]
        self.stages = [self._canonical(stage) for stage in k.stages]
        cost = 0.05 * (len(k.inputs) + len(k.outputs)) + sum([s.cost for stage in self.stages for s in stage.body])
        for stage in self.stages:
            for s in (*stage.body, *stage.row):
                self.calls.update(s.calls)
        for text in k.support:
            self.calls.update(_calls(text))
            self._support(_unguarded(text))
        table = dict.fromkeys(("elem", "rows", "part", "cols", "fin"), "0")
        codes = ""
        if k.n_inner == 0:
            self._elem()
            table["elem"] = "@e"
        elif len(self.stages) == 1 and self.stages[0].reduces:
            columns = self._walks_columns()
            # A short vector loop is compiled quickly enough to have it for arrays of any layout.
            self._part(cold=columns and not self.stages[0].stores and not _is_short(self.stages[0]))
            self._fin()
            table.update(part="@p", fin="@f")
            if columns:
                self._cols()
                table["cols"] = "@c"
            codes = "".join(_OP_CODES[r.combines] + _DTYPE_CODES[r.acc_dtype] for r in k.stages[0].reduces)
        else:
            self._rows()
            table["rows"] = "@r"
        self._line(f'TK_TABLE(@, "{codes}", {", ".join(table.values())})')
        headers = ["tk_core.h", *[header for header, section in SECTIONS.items() if not self.calls.isdisjoint(section)]]
        if any("complex" in d for d in self._dtypes()):
            headers.append("tk_complex.h")
        text = "\n".join(self.out) + "\n"
        return Printed(text, tuple(headers), cost, self.functions)

    def _dtypes(self) -> set[str]:
        found = {op.dtype for op in (*self.kernel.inputs, *self.kernel.outputs)}
        for stage in self.stages:
            found |= {d for s in (*stage.body, *stage.row) for d in s.dtypes} | {r.acc_dtype for r in stage.reduces}
        return found

    def _line(self, text: str) -> None:
        self.out.append(text)

    def _support(self, text: str) -> None:
        """A support function may come from several kernels of one unit: its own hash guards it."""
        guard = "TK_S" + blake2b(text.encode(), digest_size=8).hexdigest()
        self.out += [f"#ifndef {guard}", f"#define {guard}", text, "#endif"]

    # -- canonical names

    def _new(self, name: str, table: dict[str, str]) -> str:
        table[name] = found = f"v{self.counter}"
        self.counter += 1
        return found

    def _canonical(self, stage: ir.Stage) -> _Stage:
        """The stage with values named v0, v1, ... in order of definition, and its statements printed."""
        table, new = self.global_names, self._new
        names = dict(table)

        def printed(stmts: Iterable[ir.Statement], table: dict[str, str]) -> tuple[_Statement, ...]:
            wide = _truths(stmts)
            found = []
            for stmt in stmts:
                for name, _ in stmt.defines:
                    new(name, table)
                found.append(_print_statement(stmt, table, wide))
            return tuple(found)

        loads = tuple([ld.replaced(var=new(ld.var, names)) for ld in stage.loads])
        index = None if stage.index is None else new(stage.index, names)
        body = printed(stage.body, names)
        stores = tuple([ir.Store(s.output, names[s.var]) for s in stage.stores])
        picks = tuple([ir.Pick(p.load.replaced(var=new(p.load.var, table)), table[p.at]) for p in stage.picks])
        reduces = tuple([ir.Reduce(r.op, r.acc_dtype, names[r.value], new(r.result, table)) for r in stage.reduces])
        row = printed(stage.row, table)
        row_stores = tuple([ir.Store(s.output, table[s.var]) for s in stage.row_stores])
        puts = tuple([ir.Put(p.output, table[p.var], table[p.at]) for p in stage.puts])
        return ir.Stage(loads, body, stores, reduces, index, row, row_stores, picks, puts)

    # -- pieces of loops

    def _type(self, ld: ir.Load | ir.Reload) -> str:
        return CTYPES[ld.array(self.kernel).dtype]

    def _out_type(self, j: int) -> str:
        return CTYPES[self.kernel.outputs[j].dtype]

    def _first(self, i: int, row: str) -> str:
        """The address of an input's first element in a row."""
        return f"(const {CTYPES[self.kernel.inputs[i].dtype]} *)(P[{i}] + {row} * S[{i}])"

    def _pointers(self, stages: list[_Stage], row: str) -> None:
        """Pointers to the row's first elements (p: inputs, q: outputs)."""
        loads = [ld for st in stages for ld in (*st.loads, *(p.load for p in st.picks))]
        ins = dict.fromkeys(ld.operand for ld in loads if isinstance(ld, ir.Load))
        for i in ins:
            t, constant = CTYPES[self.kernel.inputs[i].dtype], self.constant[i]
            base = self._first(i, row)
            self._line(f"const {t} c{i} = *{base};" if constant else f"const {t} *p{i} = {base};")
        outs = [ld.output for ld in loads if isinstance(ld, ir.Reload)]
        outs += [s.output for st in stages for s in st.stores]
        for j in dict.fromkeys(outs):
            n = self.n_in + j
            self._line(f"{self._out_type(j)} *q{j} = ({self._out_type(j)} *)(P[{n}] + {row} * S[{n}]);")

    def _is_constant(self, ld: ir.Load | ir.Reload) -> bool:
        return isinstance(ld, ir.Load) and self.constant[ld.operand]

    def _read(self, ld: ir.Load | ir.Reload, at: str, pointer: str | None = None) -> str:
        """The statement that reads an element at a position of the row, by the array's pointer or another one."""
        source = f"{pointer or _pointer(ld)}[{at}]"
        if isinstance(ld, ir.Load) and self.constant[ld.operand]:
            source = f"c{ld.operand}"
        return f"const {self._type(ld)} {ld.var} = {source};"

    def _point(self, stage: _Stage, at: str, position: str, into: str = "", slow: bool = False,
               pointers: Mapping[str, str] | None = None) -> None:
        """Loads, statements and stores of one point.

        Parameters
        ----------
        at, position
            Where it is in the row, and in the inner dims.
        into
            What takes in the values that are reduced: C in which ``{n}`` is the number of the reduction, ``{r}`` its result.
        slow
            Whether to use the scalar forms of guarded functions.
        pointers
            Those of arrays that are read where else.
        """
        self.out += [self._read(ld, at, (pointers or {}).get(_pointer(ld))) for ld in stage.loads]
        if stage.index is not None:
            self._line(f"const npy_int64 {stage.index} = {position};")
        self._statements(stage.body, slow)
        self.out += [f"q{s.output}[{at}] = {s.var};" for s in stage.stores]
        if into:
            self._take(stage, into)

    def _take(self, stage: _Stage, into: str) -> None:
        """Take the values of a point into accumulators."""
        self.out += [f"{op_name(r)}({into.format(n=n, r=r.result)}, {r.value});" for n, r in enumerate(stage.reduces)]

    def _statements(self, stmts: tuple[_Statement, ...], slow: bool) -> None:
        for s in stmts:
            if s.calls:
                self.functions += sum([c in _VECTOR_FUNCTIONS for c in s.calls])
            self._line(s.text(slow))

    def _is_guarded(self, stage: _Stage) -> bool:
        return any(not GUARDED.isdisjoint(s.calls) for s in stage.body)

    def _results(self, stage: _Stage) -> None:
        """Declare the results of the reductions, of no element yet."""
        for r in stage.reduces:
            self._line(f"{CTYPES[r.acc_dtype]} {r.result} = {identity(r)};")

    def _lane_arrays(self, stage: _Stage, lanes: int) -> None:
        """Declare accumulators side by side, of no element yet."""
        for n, r in enumerate(stage.reduces):
            self._line(f"{CTYPES[r.acc_dtype]} a{n}[{lanes}]; TK_FILL(a{n}, {lanes}, {identity(r)})")

    def _loop(self, stage: _Stage, start: str) -> None:
        """The loop over n0 elements of a stage; leaves results of reductions in their names."""
        if not stage.reduces:
            # What a stage picks needs no loop: compilers do not remove an empty one.
            if stage.body or stage.stores:
                self._plain_loop(stage, start)
            return
        self._results(stage)
        lanes = self._lanes(stage)
        guarded = self._is_guarded(stage)
        self._line("for (tk_intp i = 0; i < n0;) {")
        self._line(f"const tk_intp e = n0 - i < {BLOCK} ? n0 : i + {BLOCK};")
        if guarded:
            saved = " ".join(f"const {CTYPES[r.acc_dtype]} s_{r.result} = {r.result};" for r in stage.reduces)
            self._line(f"tk_flag tk_bad = 0; const tk_intp b = i; {saved}")
        self._line(f"if (e - i >= {lanes}) {{")
        self._lane_arrays(stage, lanes)
        self._line(f"for (; i + {lanes} <= e; i += {lanes}) {{")
        self._line(f"TK_IVDEP for (tk_intp l = 0; l < {lanes}; l++) {{")
        self._point(stage, "i + l", f"{start} + i + l", "a{n}[l]")
        self._line("} }")
        for n, r in enumerate(stage.reduces):
            self._line(f"TK_TREE{lanes}({op_name(r)}, a{n}) {op_name(r)}({r.result}, a{n}[0]);")
        self._line("}")
        self._line("for (; i < e; i++) { TK_SCALAR_LOOP")
        self._point(stage, "i", f"{start} + i", "{r}")
        self._line("}")
        if guarded:
            restored = " ".join(f"{r.result} = s_{r.result};" for r in stage.reduces)
            self._line(f"if (tk_bad) {{ {restored} for (i = b; i < e; i++) {{ TK_SCALAR_LOOP")
            self._point(stage, "i", f"{start} + i", "{r}", slow=True)
            self._line("} }")
        self._line("}")

    def _scalar_loop(self, stage: _Stage) -> None:
        """One accumulator, one element at a time."""
        self._results(stage)
        self._line("for (tk_intp i = 0; i < n0; i++) { TK_SCALAR_LOOP")
        self._point(stage, "i", "start + i", "{r}", slow=True)
        self._line("}")

    @staticmethod
    def _lanes(stage: _Stage) -> int:
        """Accumulators of a reduction: several vectors to hide the latency of additions, one where the body is long."""
        widest = max(ir.ITEMSIZE[r.acc_dtype] for r in stage.reduces)
        if any(c in COSTS for s in stage.body for c in s.calls):
            return 8 if all(ir.ITEMSIZE[d] >= 8 for s in stage.body for d in s.dtypes) else 16
        return {16: 16, 8: 32}.get(widest, 64)

    def _plain_loop(self, stage: _Stage, start: str) -> None:
        if not self._is_guarded(stage):
            self._line("TK_IVDEP for (tk_intp i = 0; i < n0; i++) {")
            self._point(stage, "i", f"{start} + i")
            self._line("}")
            return
        # Blocks are small enough for the copy of an operand that is overwritten to stay in the first-level cache.
        self._line("for (tk_intp b = 0; b < n0; b += 512) {")
        self._line("const tk_intp e = n0 - b < 512 ? n0 : b + 512; tk_flag tk_bad = 0;")
        copies = []
        for n, ld in enumerate([ld for ld in stage.loads if not self._is_constant(ld)]):
            t, name = self._type(ld), _pointer(ld)
            hit = [
                f"(const void *){name} == (const void *)q{s.output}"
                for s in stage.stores
                if ir.ITEMSIZE[self.kernel.outputs[s.output].dtype] == ir.ITEMSIZE[ld.array(self.kernel).dtype]
            ]
            if hit:
                self._line(f"{t} k{n}[512]; const int h{n} = {' || '.join(hit)};")
                self._line(f"if (h{n}) __builtin_memcpy(k{n}, {name} + b, (e - b) * sizeof(*k{n}));")
                copies.append((n, name, t))
        self._line("TK_IVDEP for (tk_intp i = b; i < e; i++) {")
        self._point(stage, "i", f"{start} + i")
        self._line("}")
        self._line("if (tk_bad) {")
        for n, name, t in copies:
            self._line(f"{'const ' if name[0] == 'p' else ''}{t} *u{n} = h{n} ? k{n} - b : {name};")
        self._line("for (tk_intp i = b; i < e; i++) { TK_SCALAR_LOOP")
        self._point(stage, "i", f"{start} + i", slow=True, pointers={name: f"u{n}" for n, name, _ in copies})
        self._line("} } }")

    # -- variants

    def _elem(self) -> None:
        stage = self.stages[0]
        self._line("static void @e(char *const *P, const tk_intp *S, tk_intp n1, tk_intp n0)\n{")
        self._line("for (tk_intp j = 0; j < n1; j++) {")
        self._pointers([stage], "j")
        self._plain_loop(stage, "0")
        self._line("} TK_LEAVE }")

    def _row_loads(self, row: str = "j") -> None:
        for ld in self.row_loads:
            self._line(f"const {self._type(ld)} {ld.var} = *{self._first(ld.operand, row)};")

    def _rows(self) -> None:
        self._line("static void @r(char *const *P, const tk_intp *S, tk_intp n1, tk_intp n0)\n{")
        self._line("for (tk_intp j = 0; j < n1; j++) {")
        self._pointers(self.stages, "j")
        self._row_loads()
        for stage in self.stages:
            self._loop(stage, "0")
            self._row_statements(stage)
        self._line("} TK_LEAVE }")

    def _row_statements(self, stage: _Stage) -> None:
        self.out += [self._read(pick.load, _within(pick.at)) for pick in stage.picks]
        self._statements(stage.row, slow=True)
        for s in stage.row_stores:
            n = self.n_in + s.output
            self._line(f"*({self._out_type(s.output)} *)(P[{n}] + j * S[{n}]) = {s.var};")
        self.out += [f"q{put.output}[{_within(put.at)}] = {put.var};" for put in stage.puts]

    @staticmethod
    def _lanes_of(n: int, r: ir.Reduce) -> str:
        """The accumulators of a reduction that a kernel is given."""
        return f"({CTYPES[r.acc_dtype]} *)(acc + {n * LANES * 16})"

    def _lane_pointers(self) -> None:
        for n, r in enumerate(self.stages[0].reduces):
            self._line(f"{CTYPES[r.acc_dtype]} *a{n} = {self._lanes_of(n, r)};")

    def _walks_columns(self) -> bool:
        """Whether, in arrays of C order, rows are strided and columns contiguous: then ``cols`` must be fast."""
        k = self.kernel
        if not k.n_outer or self.stages[0].index is not None:
            return False
        votes = 0
        for op in k.inputs:
            dims = [d for d in range(k.ndim) if not op.broadcast[d]]
            if any(d >= k.n_outer for d in dims) and any(d < k.n_outer for d in dims):
                votes += 1 if max(dims, key=op.axis_of) < k.n_outer else -1
        return votes > 0

    def _part(self, cold: bool) -> None:
        """Rows of a reduction; `cold` if it only serves arrays of an unusual layout: then small, not fast."""
        stage = self.stages[0]
        self._line(
            ("TK_COLD " if cold else "")
            + "static void @p(char *const *P, const tk_intp *S, tk_intp n1, tk_intp n0, tk_intp start, "
            "char *acc, tk_intp k)\n{"
        )
        self._line("tk_intp j = 0;")
        if not cold and self._is_light(stage):
            self._short_rows(stage)
        self._line("for (; j < n1; j++) {")
        self._pointers([stage], "j")
        self._row_loads()
        if cold:
            self._scalar_loop(stage)
        else:
            self._loop(stage, "start")
        self.out += [f"({self._lanes_of(n, r)})[k + j] = {r.result};" for n, r in enumerate(stage.reduces)]
        self._line("} TK_LEAVE }")

    def _is_light(self, stage: _Stage) -> bool:
        """Whether a reduction costs so little an element that what there is to do once a row counts."""
        k = self.kernel
        plain = not self._is_guarded(stage) and not stage.stores and stage.index is None
        return k.n_outer > 0 and plain and sum([s.cost for s in stage.body]) < 0.5

    def _short_rows(self, stage: _Stage) -> None:
        """Rows that have fewer elements than there are accumulators: several rows at once, an accumulator each."""
        self._line(f"for (; n0 < {self._lanes(stage)} && j + {SHORT_ROWS} <= n1; j += {SHORT_ROWS}) {{")
        self._lane_arrays(stage, SHORT_ROWS)
        self._line(f"for (tk_intp i = 0; i < n0; i++) {{ TK_IVDEP for (tk_intp l = 0; l < {SHORT_ROWS}; l++) {{")
        self._pointers([stage], "(j + l)")
        self._row_loads("(j + l)")
        self._point(stage, "i", "0", "a{n}[l]")
        self._line("} }")
        for n, r in enumerate(stage.reduces):
            self._line(f"for (tk_intp l = 0; l < {SHORT_ROWS}; l++) ({self._lanes_of(n, r)})[k + j + l] = a{n}[l];")
        self._line("}")

    def _fin(self) -> None:
        stage = self.stages[0]
        self._line("TK_COLD static void @f(char *const *P, const tk_intp *S, tk_intp n, char *acc)\n{")
        self._lane_pointers()
        self._line("for (tk_intp j = 0; j < n; j++) {")
        self._row_loads()
        self.out += [f"const {CTYPES[r.acc_dtype]} {r.result} = a{n}[j];" for n, r in enumerate(stage.reduces)]
        self._row_statements(stage)
        self._line("} TK_LEAVE }")

    def _cols(self) -> None:
        stage = self.stages[0]
        k = self.kernel
        self.constant = [op.broadcast[k.n_outer - 1] for op in k.inputs]
        self._line("static void @c(char *const *P, const tk_intp *S, tk_intp n1, tk_intp n0, char *acc)\n{")
        self._lane_pointers()
        self._line("tk_intp j = 0;")
        load = stage.loads[0] if len(stage.loads) == 1 else None
        light = self._is_light(stage) and not k.row_loads
        if light and isinstance(load, ir.Load):
            self._rows_together(load)
        self._line("for (; j < n1; j++) {")
        self._pointers([stage], "j")
        column_loads = []
        for ld in self.row_loads:
            t, base, constant = self._type(ld), self._first(ld.operand, "j"), self._is_constant(ld)
            self._line(f"const {t} {ld.var} = *{base};" if constant else f"const {t} *w{ld.var} = {base};")
            column_loads += [] if constant else [f"const {t} {ld.var} = w{ld.var}[i];"]
        if not self._is_guarded(stage):
            self._line("TK_IVDEP for (tk_intp i = 0; i < n0; i++) {")
            self.out += column_loads
            self._point(stage, "i", "0", "a{n}[i]")
            self._line("} } TK_LEAVE }")
            return
        # The columns of one row are accumulated after the row is known to be within the vector forms' range.
        self._line("tk_flag tk_bad = 0;")
        self.out += [f"{CTYPES[r.acc_dtype]} t{n}[{LANES}];" for n, r in enumerate(stage.reduces)]
        self._line("TK_IVDEP for (tk_intp i = 0; i < n0; i++) {")
        self.out += column_loads
        self._point(stage, "i", "0")
        self.out += [f"t{n}[i] = a{n}[i]; {op_name(r)}(t{n}[i], {r.value});" for n, r in enumerate(stage.reduces)]
        self._line("}")
        self._line("if (tk_bad) for (tk_intp i = 0; i < n0; i++) { TK_SCALAR_LOOP")
        self.out += column_loads
        self._point(stage, "i", "0", "a{n}[i]", slow=True)
        self._line("}")
        self._line("else {")
        self.out += [f"__builtin_memcpy(a{n}, t{n}, n0 * sizeof(*t{n}));" for n in range(len(stage.reduces))]
        self._line("} } TK_LEAVE }")

    def _rows_together(self, load: ir.Load) -> None:
        """Several rows at each visit to an accumulator, in their order; for work so light that the visits would count."""
        stage = self.stages[0]
        t, constant = self._type(load), self._is_constant(load)
        self._line(f"for (; j + {ROWS_TOGETHER} <= n1; j += {ROWS_TOGETHER}) {{")
        for row in range(ROWS_TOGETHER):
            base = self._first(load.operand, f"(j + {row})")
            self._line(f"const {t} c{row}_ = *{base};" if constant else f"const {t} *const restrict p{row}_ = {base};")
        self._line("TK_IVDEP for (tk_intp i = 0; i < n0; i++) {")
        self.out += [f"{CTYPES[r.acc_dtype]} t{n} = a{n}[i];" for n, r in enumerate(stage.reduces)]
        for row in range(ROWS_TOGETHER):
            self._line(f"{{ const {t} {load.var} = {f'c{row}_' if constant else f'p{row}_[i]'};")
            self._statements(stage.body, slow=False)
            self._take(stage, "t{n}")
            self._line("}")
        self.out += [f"a{n}[i] = t{n};" for n in range(len(stage.reduces))]
        self._line("} }")


def _pointer(ld: ir.Load | ir.Reload) -> str:
    """The name of the pointer to a row of an array."""
    return f"q{ld.output}" if isinstance(ld, ir.Reload) else f"p{ld.operand}"


def _within(at: str) -> str:
    """A position that stays within the row, whatever another thread has made of it since it was checked."""
    return f"((npy_uint64){at} < (npy_uint64)n0 ? {at} : 0)"


def _print_statement(stmt: ir.Statement, names: dict[str, str], wide: set[str]) -> _Statement:
    """Print a statement with these names of values; `wide` are those of truth values that are ints."""
    calls = called_functions(stmt)
    if isinstance(stmt, ir.Stmt):
        code = f"= {c_text(stmt.value, names)};"
        slow = code if GUARDED.isdisjoint(calls) else f"= {c_text(stmt.value, names, _slow)};"
        declared = f"const {'int' if stmt.dst in wide else CTYPES[stmt.dtype]} {names[stmt.dst]}"
    else:
        code = stmt.text
        for i, value in enumerate(stmt.inputs):
            code = code.replace(f"tk_in{i}_", c_text(value, names))
        for i, (name, _) in enumerate(stmt.defines):
            code = code.replace(f"tk_out{i}_", names[name])
        slow = _unguarded(code)
        declared = " ".join([f"{CTYPES[dtype]} {names[name]};" for name, dtype in stmt.defines])
    return _Statement(declared, code, slow, calls, tuple([d for _, d in stmt.defines]), _statement_cost(stmt, calls))


def called_functions(stmt: ir.Statement) -> tuple[str, ...]:
    """The functions that a statement calls, each as often as it is called."""
    return functions(stmt.value) if isinstance(stmt, ir.Stmt) else _calls(stmt.text)


def _slow(name: str) -> str:
    """The name of a function's scalar form."""
    return f"tk_slow_{name}" if name in GUARDED else name


def _unguarded(code: str) -> str:
    """A user's C with the scalar forms of guarded functions."""
    return _CALL.sub(lambda m: _slow(m.group(1)) + m.group()[len(m.group(1)) :], code)


def _truths(stmts: Iterable[ir.Statement]) -> set[str]:
    """Results of comparisons, which are computed as ints: vectors of these are as wide as those of what is compared.

    Those that functions take are not among them, as functions are chosen by the type of their argument.
    """
    found: set[str] = set()
    for s in stmts:
        if isinstance(s, ir.Stmt) and s.dtype == "bool":
            value = s.value
            if value.op in COMPARISONS or value.op == "not":
                wide = all(_is_simple(x) for x in value.args)
            else:
                wide = value.op in ("bitor", "bitand", "xor") and all(x.op == "var" and x.name in found for x in value.args)
            if wide:
                found.add(s.dst)
    if found:
        for s in stmts:
            if isinstance(s, ir.Code) or called_functions(s):
                found.difference_update(name for name, _ in s.defines)
                found.difference_update(name for value in s.inputs for name in variables(value))
    return found


def _is_simple(x: Expression) -> bool:
    """Whether an expression is a value, converted or not."""
    return x.op in ("var", "const") or (x.op == "cast" and x.args[0].op in ("var", "const"))


def _is_short(stage: _Stage) -> bool:
    """Whether a stage hardly does more than reduce: no functions, a cast or two."""
    return len(stage.body) <= 2 and not any(name in COSTS for s in stage.body for name in s.calls)


def _statement_cost(stmt: ir.Statement, calls: Iterable[str]) -> float:
    scale = 0.5 if stmt.defines[0][1] == "float32" else 1.0
    return 0.08 + scale * sum([COSTS.get(name, 0.0) for name in calls])


def op_name(reduce: ir.Reduce) -> str:
    """The macro that takes an element, or another accumulator, into an accumulator."""
    op = reduce.combines
    if op in ("maximum", "minimum") and reduce.acc_dtype.startswith("float"):
        op += "_f"
    return "TK_R_" + op


def identity(reduce: ir.Reduce) -> str:
    """C text of the neutral element."""
    return c_literal(ir.neutral(reduce.combines, reduce.acc_dtype), reduce.acc_dtype)
