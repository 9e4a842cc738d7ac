"""C code of nested loops over arrays, as Ops with C code of their own use it.

The arrays are the loop variables; ``sub['lv0']``, ``sub['lv1']`` and so on are their names in C. A *loop order* says for one
array which of its dimensions each loop goes through, the outermost first; ``'x'`` stands for a dimension that it does not
have, and along which its elements are used again. The code of a loop sees the element of the array ``a`` as ``a_i``.

The code of :func:`make_declare`, :func:`make_checks`, :func:`make_alloc` and one of the loops follow each other in one scope.
They share the variables ``a_iter`` (a pointer), ``a_n0`` (the length of dimension 0), ``a_stride0`` (in elements) and
``a_jump0_2`` (how far to go on after an iteration of the loop 2, which goes through dimension 0).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from theano.configdefaults import config

Orders = Sequence[Sequence[Any]]


def _variables(loop_orders: Orders, sub: dict) -> Iterator[tuple[str, Sequence[Any]]]:
    return ((sub[f"lv{i}"], order) for i, order in enumerate(loop_orders))


def make_declare(loop_orders: Orders, dtypes: Sequence[str], sub: dict) -> str:
    """Return the declarations of what the loops use.

    Parameters
    ----------
    loop_orders : sequence of sequences
        One for each array, all of the same length.
    dtypes : sequence of str
        The C types of the elements.
    sub : dict
    """
    lines = []
    for (var, order), dtype in zip(_variables(loop_orders, sub), dtypes, strict=True):
        lines.append(f"{dtype}* {var}_iter;")
        for loop, dimension in enumerate(order):
            if dimension != "x":
                lines.append(f"npy_intp {var}_n{dimension};\nnpy_intp {var}_stride{dimension};")
            lines.append(f"npy_intp {var}_jump{dimension}_{loop};")
    return "\n".join(lines) + "\n"


def make_checks(loop_orders: Orders, dtypes: Sequence[str], sub: dict) -> str:
    """Return the code that sets what was declared, and fails where the lengths of arrays differ that one loop goes through.

    Parameters
    ----------
    loop_orders, dtypes
        As for :func:`make_declare`.
    sub : dict
        ``sub['fail']`` is the code of a failure.
    """
    lines = []
    for (var, order), dtype in zip(_variables(loop_orders, sub), dtypes, strict=True):
        own = [dimension for dimension in order if dimension != "x"]
        if own:
            lines.append(
                f"if (PyArray_NDIM({var}) < {max(own) + 1}) {{\n"
                f'    PyErr_SetString(PyExc_ValueError, "Not enough dimensions on input.");\n    {sub["fail"]}\n}}'
            )
        # How far the loop within the one at hand has gone.
        passed = "0"
        for loop, dimension in reversed(list(enumerate(order))):
            if dimension == "x":
                lines.append(f"{var}_jump{dimension}_{loop} = -({passed});")
                passed = "0"
                continue
            lines += [
                f"{var}_n{dimension} = PyArray_DIMS({var})[{dimension}];",
                f"{var}_stride{dimension} = PyArray_STRIDES({var})[{dimension}] / (npy_intp)sizeof({dtype});",
                f"{var}_jump{dimension}_{loop} = {var}_stride{dimension} - ({passed});",
            ]
            passed = f"{var}_n{dimension} * {var}_stride{dimension}"
    for dimensions in zip(*loop_orders, strict=True):
        (first, *others) = [(i, d) for i, d in enumerate(dimensions) if d != "x"] or [(0, "x")]
        for i, d in others:
            a, b = f"{sub[f'lv{first[0]}']}_n{first[1]}", f"{sub[f'lv{i}']}_n{d}"
            lines.append(
                f"if ({a} != {b}) {{\n"
                '    PyErr_Format(PyExc_ValueError, "Input dimension mis-match. (input[%i].shape[%i] = %lld, '
                f'input[%i].shape[%i] = %lld)", {first[0]}, {first[1]}, (long long){a}, {i}, {d}, (long long){b});\n'
                f"    {sub['fail']}\n}}"
            )
    return "\n".join(lines) + "\n"


def _length(dimensions: Sequence[Any], sub: dict) -> str:
    """The length of a loop: that of any array that has the dimension."""
    return next((f"{sub[f'lv{i}']}_n{d}" for i, d in enumerate(dimensions) if d != "x"), "1")


def make_alloc(loop_orders: Orders, dtype: str, sub: dict, fortran: str = "0") -> str:
    """Return the code that makes an array of the lengths of the loops, or uses the one that is there.

    Parameters
    ----------
    loop_orders
        As for :func:`make_declare`.
    dtype : str
        The C type of the elements, such as ``npy_float64``.
    sub : dict
        ``sub['olv']`` is the name of the array, NULL or one that may be used again, ``sub['fail']`` the code of a failure.
    fortran : str
        A C expression: whether a new array is to be in the order of Fortran.
    """
    number = dtype.upper().replace("THEANO_COMPLEX", "NPY_COMPLEX")
    lengths = [_length(dimensions, sub) for dimensions in zip(*loop_orders, strict=True)]
    n, out = len(lengths), sub["olv"]
    return f"""
{{
    npy_intp dims[{max(n, 1)}] = {{{", ".join(lengths) or "0"}}};
    int fits = {out} != NULL && PyArray_NDIM({out}) == {n} && PyArray_TYPE({out}) == {number} && PyArray_ISWRITEABLE({out});
    for (int i = 0; fits && i < {n}; ++i) fits = PyArray_DIMS({out})[i] == dims[i];
    if (!fits) {{
        Py_XDECREF({out});
        {out} = (PyArrayObject*)PyArray_EMPTY({n}, dims, {number}, {fortran});
        if ({out} == NULL) {{
            {sub["fail"]}
        }}
    }}
}}
"""


def _starts(loop_orders: Orders, dtypes: Sequence[str], sub: dict) -> str:
    pairs = zip(_variables(loop_orders, sub), dtypes, strict=True)
    return "\n".join(f"{var}_iter = ({dtype}*)PyArray_DATA({var});" for (var, _), dtype in pairs)


def _parallel(length: str, openmp: bool | None) -> str:
    return f"#pragma omp parallel for if ({length} >= {config.openmp_elemwise_minsize})\n" if openmp else ""


def make_loop(
    loop_orders: Orders, dtypes: Sequence[str], loop_tasks: Sequence[Any], sub: dict, openmp: bool | None = None
) -> str:
    """Return nested loops with code at each level.

    Parameters
    ----------
    loop_orders, dtypes
        As for :func:`make_declare`.
    loop_tasks : sequence
        For each loop the code before it, and the code in it, which comes before the next loop; then the code after all.
    sub : dict
    openmp : bool
        Whether the outermost loop may be run by several threads.
    """
    code = ""
    levels = list(zip(loop_tasks[:-1], zip(*loop_orders, strict=True), strict=True))
    for loop, ((before, task), dimensions) in reversed(list(enumerate(levels))):
        length, lines = _length(dimensions, sub), []
        for i, (d, dtype) in enumerate(zip(dimensions, dtypes, strict=True)):
            var = sub[f"lv{i}"]
            start = f"{var}_at{loop - 1}" if loop else f"{var}_iter"
            step = f" + ITER_{loop} * {var}_stride{d}" if d != "x" else ""
            lines.append(f"{dtype}* {var}_at{loop} = {start}{step};\n{dtype} &{var}_i = *{var}_at{loop};")
        body = "\n".join([*lines, task, code])
        code = (
            f"{before}\n{_parallel(length, openmp and loop == 0)}"
            f"for (npy_intp ITER_{loop} = 0; ITER_{loop} < {length}; ITER_{loop}++) {{\n{body}\n}}\n"
        )
    return f"{{\n{_starts(loop_orders, dtypes, sub)}\n{code}\n{loop_tasks[-1]}\n}}\n"


def make_loop_careduce(loop_orders: Orders, dtypes: Sequence[str], loop_tasks: Sequence[Any], sub: dict) -> str:
    """Return nested loops that move the pointers ``a_iter`` themselves, for reductions.

    Parameters
    ----------
    loop_orders, dtypes, loop_tasks, sub
        As for :func:`make_loop`; the code sees ``*a_iter``.
    """
    code = ""
    levels = list(zip(loop_tasks[:-1], zip(*loop_orders, strict=True), strict=True))
    for loop, ((before, task), dimensions) in reversed(list(enumerate(levels))):
        length = _length(dimensions, sub)
        steps = "\n".join(f"{sub[f'lv{i}']}_iter += {sub[f'lv{i}']}_jump{d}_{loop};" for i, d in enumerate(dimensions))
        code = f"{before}\nfor (npy_intp ITER_{loop} = {length}; ITER_{loop}; ITER_{loop}--) {{\n{task}\n{code}\n{steps}\n}}\n"
    return f"{{\n{_starts(loop_orders, dtypes, sub)}\n{code}\n{loop_tasks[-1]}\n}}\n"


def make_reordered_loop(
    init_loop_orders: Orders,
    olv_index: int,
    dtypes: Sequence[str],
    inner_task: str,
    sub: dict,
    openmp: bool | None = None,
) -> str:
    """Return nested loops in the order of one array's strides, the smallest innermost, with code in the innermost only.

    Parameters
    ----------
    init_loop_orders, dtypes, sub
        As for :func:`make_declare`.
    olv_index : int
        Which array's strides count.
    inner_task : str
        The code.
    openmp : bool
        Whether the outermost loop may be run by several threads.
    """
    names = [sub[f"lv{i}"] for i in range(len(init_loop_orders))]
    n, out = len(init_loop_orders[0]), names[olv_index]
    if n == 0:
        elements = "\n".join(f"{t} &{var}_i = *{var}_iter;" for var, t in zip(names, dtypes, strict=True))
        return f"{{\n{_starts(init_loop_orders, dtypes, sub)}\n{elements}\n{inner_task}\n}}\n"

    def table(name: str, values: Sequence[str]) -> str:
        return f"const npy_intp {name}[{n}] = {{{', '.join(values)}}};"

    lines = [table("init_totals", [_length(dimensions, sub) for dimensions in zip(*init_loop_orders, strict=True)])]
    for var, order in zip(names, init_loop_orders, strict=True):
        lines.append(table(f"{var}_strides", ["0" if d == "x" else f"{var}_stride{d}" for d in order]))
    # By insertion: there are few.
    lines.append(f"""
    int {out}_loops[{n}];
    for (int i = 0; i < {n}; ++i) {{
        int j = i;
        for (; j > 0; --j) {{
            npy_intp a = {out}_strides[{out}_loops[j - 1]], b = {out}_strides[i];
            if ((a < 0 ? -a : a) >= (b < 0 ? -b : b)) break;
            {out}_loops[j] = {out}_loops[j - 1];
        }}
        {out}_loops[j] = i;
    }}""")
    for k in range(n):
        lines.append(f"const npy_intp TOTAL_{k} = init_totals[{out}_loops[{k}]];")
        lines += [f"const npy_intp {var}_stride_l{k} = {var}_strides[{out}_loops[{k}]];" for var in names]
    elements = []
    for var, dtype in zip(names, dtypes, strict=True):
        offset = " + ".join(f"ITER_{k} * {var}_stride_l{k}" for k in range(n))
        elements.append(f"{dtype} &{var}_i = *({var}_iter + {offset});")
    code = "\n".join([*elements, inner_task])
    for k in reversed(range(n)):
        parallel = _parallel(f"TOTAL_{k}", openmp and k == 0)
        code = f"{parallel}for (npy_intp ITER_{k} = 0; ITER_{k} < TOTAL_{k}; ITER_{k}++) {{\n{code}\n}}"
    return "\n".join(["{", *lines, _starts(init_loop_orders, dtypes, sub), code, "}\n"])
