"""A sketch of a printer for GPUs: kernels of the loop-nest IR as CUDA C++, compiled for sm_90 by NVRTC, which needs no driver.

It shows that a target prints kernels from their structure alone. A thread computes one element, a block one row; functions
that CUDA's mathematics lacks are declared, to come from a library. Not done: users' C code, tuning, launching.
"""

from theano.native import ir
from theano.scalar.expression import c_function, c_text, is_function, walk

TYPES = {
    "bool": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long", "float32": "float",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float64": "double",
}  # fmt: skip

KNOWN = frozenset((
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "cbrt", "tanh", "sinh", "cosh", "asinh", "acosh", "atanh",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "erf", "erfc", "tgamma", "lgamma", "sqrt", "fabs", "ceil", "floor",
    "trunc", "rint", "round",
))  # fmt: skip
"""Functions that CUDA overloads for float and double."""

PRELUDE = (
    "".join(f"typedef {c} npy_{name};\n" for name, c in TYPES.items())
    + r"""
struct npy_float16 {
    unsigned short bits;
    npy_float16() = default;
    __device__ npy_float16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
    __device__ operator float() const { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits)); return x; }
};
template <class T> struct tk_complex {
    T re, im;
    tk_complex() = default;
    __device__ tk_complex(T a, T b = 0) : re(a), im(b) {}
    template <class U> __device__ explicit tk_complex(tk_complex<U> z) : re(z.re), im(z.im) {}
    __device__ tk_complex operator+(tk_complex o) const { return {re + o.re, im + o.im}; }
    __device__ tk_complex operator-(tk_complex o) const { return {re - o.re, im - o.im}; }
    __device__ tk_complex operator-() const { return {-re, -im}; }
    __device__ tk_complex operator~() const { return {re, -im}; }
    __device__ tk_complex operator*(tk_complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    __device__ bool operator==(tk_complex o) const { return re == o.re && im == o.im; }
    __device__ bool operator!=(tk_complex o) const { return !(*this == o); }
    __device__ explicit operator bool() const { return re != 0 || im != 0; }
    template <class U> __device__ explicit operator U() const { return (U)re; }
};
typedef tk_complex<float> npy_complex64;
typedef tk_complex<double> npy_complex128;
__device__ npy_complex64 __builtin_complex(float a, float b) { return {a, b}; }
__device__ npy_complex128 __builtin_complex(double a, double b) { return {a, b}; }
#define __real__(z) ((z).re)
#define __imag__(z) ((z).im)
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nanf(text) __int_as_float(0x7fffffff)
#define __builtin_nan(text) __longlong_as_double(0x7fffffffffffffffLL)
template <class T> __device__ T tk_add(T a, T b) { return a + b; }
template <class T> __device__ T tk_mul(T a, T b) { return a * b; }
template <class T> __device__ T tk_and(T a, T b) { return a & b; }
template <class T> __device__ T tk_or(T a, T b) { return a | b; }
template <class T> __device__ T tk_xor(T a, T b) { return a ^ b; }
template <class T> __device__ T tk_all(T a, T b) { return a != T(0) && b != T(0); }
template <class T> __device__ T tk_any(T a, T b) { return a != T(0) || b != T(0); }
template <class T> __device__ T tk_maximum(T a, T b) { return b > a || b != b ? b : a; }
template <class T> __device__ T tk_minimum(T a, T b) { return b < a || b != b ? b : a; }
/* What all threads of a block have, taken together in one order; `first` says for each whether it has anything. */
template <class T, T (*OP)(T, T)> __device__ T tk_block(T v, bool has, T identity)
{
    __shared__ __align__(16) char memory[1024 * sizeof(T)];
    T *all = (T *)memory;
    __syncthreads();
    all[threadIdx.x] = has ? v : identity;
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) all[threadIdx.x] = OP(all[threadIdx.x], all[threadIdx.x + n]);
    }
    __syncthreads();
    return all[0];
}
"""
)


class _Prefixed:
    """Names of values that are no names of CUDA's."""

    def __getitem__(self, name):
        return "v_" + name


NAMES = _Prefixed()


def ctype(dtype):
    return "npy_" + dtype


def declarations(kernels):
    """Functions that are not CUDA's, declared for the types that they are called with."""
    found = set()
    for stmt in (s for kernel in kernels for stage in kernel.stages for s in (*stage.body, *stage.row)):
        for x in (x for value in stmt.inputs for x in walk(value) if is_function(x)):
            if c_function(x) not in KNOWN:
                types = ", ".join(ctype(a.dtype) for a in x.args)
                found.add(f"__device__ {ctype(x.dtype)} {c_function(x)}({types});\n")
    return "".join(sorted(found))


def program(kernels):
    """One file of CUDA C++; kernel number i is the function ``kernel<i>``."""
    return PRELUDE + declarations(kernels) + "".join(_Printer(k, f"kernel{i}").text() for i, k in enumerate(kernels))


class _Printer:
    """``P``: the operands' and outputs' memory; ``N``: lengths of the iteration dims; ``S``: byte strides, a row an array."""

    def __init__(self, kernel, name):
        self.kernel, self.name, self.out = kernel, name, []
        self.outer, self.inner = range(kernel.n_outer), range(kernel.n_outer, kernel.ndim)

    def text(self):
        k = self.kernel
        count = " * ".join([f"N[{d}]" for d in self.outer]) or "1"
        arrays = f"char *const *P, const long long *N, const long long (*S)[{k.ndim + 1}]"
        self.out.append(f'extern "C" __global__ void {self.name}({arrays})\n{{ const long long threads = blockDim.x;')
        if k.n_inner == 0:
            step = "at += gridDim.x * threads"
            self.out.append(f"for (long long at = blockIdx.x * threads + threadIdx.x; at < {count}; {step}) {{")
            self._coordinates("at", self.outer)
            self._point(k.stages[0])
        else:
            self.out.append(f"for (long long row = blockIdx.x; row < {count}; row += gridDim.x) {{")
            self.out.append(f"const long long inner = {' * '.join(f'N[{d}]' for d in self.inner)};")
            self._coordinates("row", self.outer)
            for ld in k.row_loads:
                self._load(ld)
            for stage in k.stages:
                self._stage(stage)
        self.out.append("} }\n")
        return "\n".join(self.out)

    def _coordinates(self, flat, dims, suffix=""):
        self.out.append(f"long long rest{suffix} = {flat};")
        for d in reversed(dims):
            self.out.append(f"const long long c{d} = rest{suffix} % N[{d}]; rest{suffix} /= N[{d}];")

    def _address(self, number, dims):
        return " + ".join([f"P[{number}]", *[f"c{d} * S[{number}][{d}]" for d in dims]])

    def _array(self, ld):
        if isinstance(ld, ir.Reload):
            return len(self.kernel.inputs) + ld.output, self.kernel.outputs[ld.output].dtype
        return ld.operand, self.kernel.inputs[ld.operand].dtype

    def _walks(self, ld):
        """The dims along which an array that is read has its elements."""
        every = range(self.kernel.ndim)
        return [d for d in every if isinstance(ld, ir.Reload) or not self.kernel.inputs[ld.operand].broadcast[d]]

    def _load(self, ld):
        number, dtype = self._array(ld)
        value = f"*(const {ctype(dtype)} *)({self._address(number, self._walks(ld))})"
        self.out.append(f"const {ctype(dtype)} {NAMES[ld.var]} = {value};")

    def _store(self, output, var, dims):
        dtype = self.kernel.outputs[output].dtype
        self.out.append(f"*({ctype(dtype)} *)({self._address(len(self.kernel.inputs) + output, dims)}) = {NAMES[var]};")

    def _statements(self, stmts):
        for s in stmts:
            text = c_text(s.value, NAMES)
            text = text if s.dtype == s.value.dtype else f"({ctype(s.dtype)})({text})"
            self.out.append(f"const {ctype(s.dtype)} {NAMES[s.dst]} = {text};")

    def _point(self, stage):
        for ld in stage.loads:
            self._load(ld)
        self._statements(stage.body)
        for s in stage.stores:
            self._store(s.output, s.var, range(self.kernel.ndim))

    def _stage(self, stage):
        for n, r in enumerate(stage.reduces):
            self.out.append(f"{ctype(r.acc_dtype)} acc_{NAMES[r.result]}; bool has{n}_{NAMES[r.result]} = false;")
        self.out.append("for (long long i = threadIdx.x; i < inner; i += blockDim.x) {")
        self._coordinates("i", self.inner, "_i")
        if stage.index is not None:
            self.out.append(f"const npy_int64 {NAMES[stage.index]} = i;")
        self._point(stage)
        for n, r in enumerate(stage.reduces):
            t, acc, has = ctype(r.acc_dtype), f"acc_{NAMES[r.result]}", f"has{n}_{NAMES[r.result]}"
            value = f"({t}){NAMES[r.value]}"
            self.out.append(f"{acc} = {has} ? tk_{r.op}<{t}>({acc}, {value}) : {value}; {has} = true;")
        self.out.append("} __syncthreads();")
        for n, r in enumerate(stage.reduces):
            t = ctype(r.acc_dtype)
            of_none = f"({t}){1 if r.op in ('mul', 'all') else -1 if r.op == 'and' else 0}"
            acc, has = f"acc_{NAMES[r.result]}", f"has{n}_{NAMES[r.result]}"
            if r.op in ("maximum", "minimum"):
                # Threads without an element repeat the first one's, which changes no maximum and no minimum.
                of_none = f"tk_block<{t}, tk_add<{t}>>({acc}, threadIdx.x == 0 && inner > 0, ({t})0)"
            self.out.append(f"const {t} {NAMES[r.result]} = tk_block<{t}, tk_{r.op}<{t}>>({acc}, {has}, {of_none});")
        for pick in stage.picks:
            number, dtype = self._array(pick.load)
            self.out.append(f"const {ctype(dtype)} {NAMES[pick.load.var]} = [&] {{")
            self._place(pick.at)
            self.out.append(f"return *(const {ctype(dtype)} *)({self._address(number, self._walks(pick.load))}); }}();")
        self._statements(stage.row)
        self.out.append("if (threadIdx.x == 0) {")
        for s in stage.row_stores:
            self._store(s.output, s.var, self.outer)
        for put in stage.puts:
            self.out.append("{")
            self._place(put.at)
            self._store(put.output, put.var, range(self.kernel.ndim))
            self.out.append("}")
        self.out.append("} __syncthreads();")

    def _place(self, at):
        """The inner coordinates of a position of the row, which is kept within it."""
        self._coordinates(f"({NAMES[at]} >= 0 && {NAMES[at]} < inner ? (long long){NAMES[at]} : 0)", self.inner, "_p")


def compile_for_sm_90(text):
    """The machine code of a program.

    Raises
    ------
    ValueError
        With the compiler's messages.
    """
    from cuda.bindings import nvrtc

    made = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])[1]
    # Rounded step by step, as on the CPU; with functions of a library that is not there yet.
    options = [b"--gpu-architecture=sm_90", b"--std=c++17", b"--relocatable-device-code=true", b"--fmad=false"]
    (error,) = nvrtc.nvrtcCompileProgram(made, len(options), options)
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = b" " * nvrtc.nvrtcGetProgramLogSize(made)[1]
        nvrtc.nvrtcGetProgramLog(made, log)
        raise ValueError(log.decode()[:6000])
    code = b" " * nvrtc.nvrtcGetCUBINSize(made)[1]
    nvrtc.nvrtcGetCUBIN(made, code)
    return code
