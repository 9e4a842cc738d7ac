"""BLAS in C: the names of the Ops of :mod:`theano.tensor.blas`, which all run natively, and C code for Ops of users."""

from __future__ import annotations

from typing import Any

from theano.gof.opt import local_optimizer
from theano.tensor.blas import Gemv, Ger
from theano.tensor.blas import Gemv as CGemv
from theano.tensor.blas import Ger as CGer
from theano.tensor.blas import gemv_inplace as cgemv_inplace
from theano.tensor.blas import gemv_no_inplace as cgemv_no_inplace
from theano.tensor.blas import ger as cger_no_inplace
from theano.tensor.blas import ger_destructive as cger_inplace
from theano.tensor.blas_headers import blas_header_text, check_init_y, ldflags

__all__ = ["CGemv", "CGer", "cgemv_inplace", "cgemv_no_inplace", "cger_inplace", "cger_no_inplace"]


class BaseBLAS:
    """Says for an Op what its C code needs to call BLAS."""

    def c_libraries(self) -> list[str]:
        """Return the libraries to link against."""
        return ldflags()

    def c_compile_args(self) -> list[str]:
        """Return the flags."""
        return ldflags(libs=False, flags=True)

    def c_lib_dirs(self) -> list[str]:
        """Return the directories of the libraries."""
        return ldflags(libs=False, libs_dir=True)

    def c_header_dirs(self) -> list[str]:
        """Return the directories of the headers."""
        return ldflags(libs=False, include_dir=True)

    def c_support_code(self) -> str:
        """Return the declarations of the routines."""
        return blas_header_text()


def check_force_gemv_init() -> bool:
    """Return whether ``gemv`` with ``beta=0`` reads what it is to overwrite, which so must not be NaN."""
    return check_init_y()


def _rank(name: str, label: str, rank: int, fail: str) -> str:
    return (
        f'if (PyArray_NDIM({name}) != {rank}) {{ PyErr_SetString(PyExc_NotImplementedError, "rank({label}) != {rank}"); {fail} }}'
    )


def _equal(left: tuple[str, str, int], right: tuple[str, str, int], fail: str) -> str:
    (a, a_label, i), (b, b_label, j) = left, right
    message = f"Shape mismatch: {a_label}.shape[{i}] != {b_label}.shape[{j}]"
    return f'if (PyArray_DIM({a}, {i}) != PyArray_DIM({b}, {j})) {{ PyErr_SetString(PyExc_ValueError, "{message}"); {fail} }}'


def _same_type(names: dict[str, str], fail: str) -> str:
    (first, label), *others = names.items()
    lines = [
        f"if (PyArray_TYPE({first}) != PyArray_TYPE({other})) {{\n"
        f'    PyErr_SetString(PyExc_TypeError, "{label} vs. {other_label}"); {fail} }}'
        for other, other_label in others
    ]
    lines.append(
        f"if (PyArray_TYPE({first}) != NPY_FLOAT && PyArray_TYPE({first}) != NPY_DOUBLE) {{\n"
        f'    PyErr_SetString(PyExc_NotImplementedError, "BLAS for other numbers than float32 and float64"); {fail} }}'
    )
    return "\n".join(lines)


# How BLAS takes a vector: its first element in memory and its increment; what it cannot take is copied.
_VECTOR = """
    PyArrayObject* {v} = {x};
    Py_INCREF({v});
    if (PyArray_DIM({v}, 0) > 1 && (PyArray_STRIDE({v}, 0) == 0 || PyArray_STRIDE({v}, 0) % elemsize)) {{
        Py_DECREF({v});
        {v} = (PyArrayObject*)PyArray_NewCopy({x}, NPY_CORDER);
    }}
    int {v}_step = 1;
    char* {v}_data = NULL;
    if ({v} != NULL) {{
        if (PyArray_DIM({v}, 0) > 1) {v}_step = (int)(PyArray_STRIDE({v}, 0) / elemsize);
        {v}_data = PyArray_BYTES({v});
        if ({v}_step < 0) {v}_data += (PyArray_DIM({v}, 0) - 1) * PyArray_STRIDE({v}, 0);
    }}
"""

# Whether the rows or the columns of a matrix follow each other as BLAS takes them.
_LAYOUT = """
    npy_intp rows = PyArray_DIM({m}, 0), cols = PyArray_DIM({m}, 1);
    npy_intp s0 = PyArray_STRIDE({m}, 0), s1 = PyArray_STRIDE({m}, 1);
    int by_rows = (cols <= 1 || s1 == elemsize) && (rows <= 1 || (s0 % elemsize == 0 && s0 >= cols * elemsize));
    int by_columns = (rows <= 1 || s0 == elemsize) && (cols <= 1 || (s1 % elemsize == 0 && s1 >= rows * elemsize));
"""


def gemv_c_code(
    y: str, A: str, x: str, z: str, alpha: str, beta: str, fail: str, force_init_beta: bool = False, params: str | None = None
) -> str:
    """Return C code for ``z = beta * y + alpha * dot(A, x)`` of float32 or float64 arrays.

    Parameters
    ----------
    y, A, x, z, alpha, beta : str
        The names of the arrays in C: vectors, the matrix, the vector that is made, and two numbers.
    fail : str
        The code of a failure.
    force_init_beta : bool
        Whether `z` is filled with zeros where `beta` is 0: see :func:`check_force_gemv_init`.
    params : str, optional
        A pointer to a struct whose member ``inplace`` says whether `z` is to be `y`; it is not by default.
    """
    inplace = f"{params}->inplace" if params else "0"
    calls = []
    for number, letter, kind in (("NPY_FLOAT", "s", "float"), ("NPY_DOUBLE", "d", "double")):
        calls.append(f"""
        if (PyArray_TYPE({A}) == {number}) {{
            {kind} a = ({kind})((dtype_{alpha}*)PyArray_DATA({alpha}))[0], b = ({kind})beta;
            if (rows && cols)
                {letter}gemv_((char*)(by_rows ? "T" : "N"), &m, &n, &a, ({kind}*)PyArray_DATA(matrix), &lead,
                       ({kind}*)vx_data, &vx_step, &b, ({kind}*)vz_data, &vz_step);
            else
                for (npy_intp i = 0; i < rows; ++i) {{
                    {kind}* element = ({kind}*)PyArray_GETPTR1(vz, i);
                    *element = beta == 0 ? 0 : b * *element;
                }}
        }}""")
    return f"""
{{
    {_rank(A, "A", 2, fail)}
    {_rank(x, "x", 1, fail)}
    {_rank(y, "y", 1, fail)}
    {_same_type({A: "A", x: "x", y: "y"}, fail)}
    {_equal((A, "A", 0), (y, "y", 0), fail)}
    {_equal((A, "A", 1), (x, "x", 0), fail)}
    npy_intp elemsize = PyArray_ITEMSIZE({A});
    double beta = (double)((dtype_{beta}*)PyArray_DATA({beta}))[0];
    if ({inplace}) {{
        if ({z} != {y}) {{
            Py_XDECREF({z});
            {z} = {y};
            Py_INCREF({z});
        }}
    }} else {{
        if ({z} == NULL || PyArray_DIM({z}, 0) != PyArray_DIM({y}, 0) || {z} == {y}) {{
            Py_XDECREF({z});
            {z} = (PyArrayObject*)PyArray_SimpleNew(1, PyArray_DIMS({y}), PyArray_TYPE({y}));
            if ({z} == NULL) {{ {fail} }}
        }}
        if (beta != 0 && PyArray_CopyInto({z}, {y})) {{ {fail} }}
    }}
    if (beta == 0 && {int(bool(force_init_beta))}) PyArray_FILLWBYTE({z}, 0);
    PyArrayObject* matrix = {A};
    Py_INCREF(matrix);
    {_LAYOUT.format(m=A)}
    if (!by_rows && !by_columns) {{
        Py_DECREF(matrix);
        matrix = (PyArrayObject*)PyArray_NewCopy({A}, NPY_CORDER);
        by_rows = 1;
        s0 = cols * elemsize;
    }}
    {_VECTOR.format(v="vx", x=x)}
    {_VECTOR.format(v="vz", x=z)}
    if (matrix != NULL && vx != NULL && vz != NULL) {{
        int m = (int)(by_rows ? cols : rows), n = (int)(by_rows ? rows : cols);
        int lead = n > 1 ? (int)((by_rows ? s0 : s1) / elemsize) : m;
        if (lead < 1) lead = 1;
        {"".join(calls)}
        if (vz != {z}) PyArray_CopyInto({z}, vz);
    }}
    Py_XDECREF(matrix);
    Py_XDECREF(vx);
    Py_XDECREF(vz);
    if (PyErr_Occurred()) {{ {fail} }}
}}
"""


def ger_c_code(A: str, a: str, x: str, y: str, Z: str, fail: str, params: str | None = None) -> str:
    """Return C code for ``Z = A + a * outer(x, y)`` of float32 or float64 arrays.

    Parameters
    ----------
    A, a, x, y, Z : str
        The names of the arrays in C: the matrix, a number, two vectors, and the matrix that is made.
    fail : str
        The code of a failure.
    params : str, optional
        A pointer to a struct whose member ``destructive`` says whether `Z` may be `A`; it is not by default.
    """
    destructive = f"{params}->destructive" if params else "0"
    calls = []
    for number, letter, kind in (("NPY_FLOAT", "s", "float"), ("NPY_DOUBLE", "d", "double")):
        # By rows, the transposed is the outer product of the vectors the other way round.
        calls.append(f"""
        if (PyArray_TYPE({A}) == {number} && rows && cols) {{
            {kind} alpha = ({kind})((dtype_{a}*)PyArray_DATA({a}))[0];
            if (by_rows)
                {letter}ger_(&m, &n, &alpha, ({kind}*)vy_data, &vy_step, ({kind}*)vx_data, &vx_step,
                      ({kind}*)PyArray_DATA({Z}), &lead);
            else
                {letter}ger_(&m, &n, &alpha, ({kind}*)vx_data, &vx_step, ({kind}*)vy_data, &vy_step,
                      ({kind}*)PyArray_DATA({Z}), &lead);
        }}""")
    return f"""
{{
    {_rank(A, "A", 2, fail)}
    {_rank(x, "x", 1, fail)}
    {_rank(y, "y", 1, fail)}
    {_rank(a, "a", 0, fail)}
    {_same_type({A: "A", x: "x", y: "y"}, fail)}
    {_equal((A, "A", 0), (x, "x", 0), fail)}
    {_equal((A, "A", 1), (y, "y", 0), fail)}
    npy_intp elemsize = PyArray_ITEMSIZE({A});
    {_LAYOUT.format(m=A)}
    if ({destructive} && (by_rows || by_columns)) {{
        if ({Z} != {A}) {{
            Py_XDECREF({Z});
            {Z} = {A};
            Py_INCREF({Z});
        }}
    }} else {{
        Py_XDECREF({Z});
        {Z} = (PyArrayObject*)PyArray_NewCopy({A}, NPY_CORDER);
        if ({Z} == NULL) {{ {fail} }}
        by_rows = 1;
        s0 = cols * elemsize;
    }}
    {_VECTOR.format(v="vx", x=x)}
    {_VECTOR.format(v="vy", x=y)}
    if (vx != NULL && vy != NULL) {{
        int m = (int)(by_rows ? cols : rows), n = (int)(by_rows ? rows : cols);
        int lead = n > 1 ? (int)((by_rows ? s0 : s1) / elemsize) : m;
        if (lead < 1) lead = 1;
        {"".join(calls)}
    }}
    Py_XDECREF(vx);
    Py_XDECREF(vy);
    if (PyErr_Occurred()) {{ {fail} }}
}}
"""


# All Gemv and Ger run in C as they are; classes derived from them may not.


@local_optimizer([Gemv])
def use_c_gemv(node: Any) -> Any:
    """A class derived from Gemv becomes the one that runs in C"""
    if type(node.op) is CGemv or not isinstance(node.op, Gemv):
        return False
    return [CGemv(node.op.inplace)(*node.inputs)]


@local_optimizer([Ger])
def use_c_ger(node: Any) -> Any:
    """A class derived from Ger becomes the one that runs in C"""
    if type(node.op) is CGer or not isinstance(node.op, Ger):
        return False
    return [CGer(node.op.destructive)(*node.inputs)]
