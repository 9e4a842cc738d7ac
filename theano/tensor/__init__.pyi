"""Types of the names of this package. Made by ``python -m tests.typed.stubs``."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any as _Any
from typing import overload

from numpy.typing import NDArray

from theano.gof.op import Op
from theano.tensor.var import Axis, DType, TensorLike
from theano.tensor.var import _tensor_py_operators as _tensor_py_operators
from theano import compile as compile
from theano.gof.graph import Apply as Apply
from theano.gof.graph import Constant as Constant
from theano.gof.graph import Variable as Variable
from theano.gof.op import Op as Op
from theano.gradient_check import numeric_grad as numeric_grad
from theano.tensor import basic as basic
from theano.tensor import blas as blas
from theano.tensor import blas_c as blas_c
from theano.tensor import blas_scipy as blas_scipy
from theano.tensor import elemwise as elemwise
from theano.tensor import extra_ops as extra_ops
from theano.tensor import fft as fft
from theano.tensor import inplace as inplace
from theano.tensor import io as io
from theano.tensor import nlinalg as nlinalg
from theano.tensor import nnet as nnet
from theano.tensor import numpy_functions as numpy_functions
from theano.tensor import opt as opt
from theano.tensor import opt_uncanonicalize as opt_uncanonicalize
from theano.tensor import raw_random as raw_random
from theano.tensor import shared_randomstreams as shared_randomstreams
from theano.tensor import sharedvar as sharedvar
from theano.tensor import signal as signal
from theano.tensor import slinalg as slinalg
from theano.tensor import utils as utils
from theano.tensor import xlogx as xlogx
from theano.tensor.advanced_subtensor import AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor
from theano.tensor.advanced_subtensor import AdvancedBooleanSubtensor as AdvancedBooleanSubtensor
from theano.tensor.advanced_subtensor import AdvancedIncSubtensor as AdvancedIncSubtensor
from theano.tensor.advanced_subtensor import AdvancedIncSubtensor1 as AdvancedIncSubtensor1
from theano.tensor.advanced_subtensor import AdvancedSubtensor as AdvancedSubtensor
from theano.tensor.advanced_subtensor import AdvancedSubtensor1 as AdvancedSubtensor1
from theano.tensor.advanced_subtensor import BaseAdvancedIncSubtensor as BaseAdvancedIncSubtensor
from theano.tensor.advanced_subtensor import BaseAdvancedSubtensor as BaseAdvancedSubtensor
from theano.tensor.careduce import All as All
from theano.tensor.careduce import Any as Any
from theano.tensor.careduce import CAReduce as CAReduce
from theano.tensor.careduce import CAReduceDtype as CAReduceDtype
from theano.tensor.careduce import Prod as Prod
from theano.tensor.careduce import ProdWithoutZeros as ProdWithoutZeros
from theano.tensor.careduce import Sum as Sum
from theano.tensor.choosing import Choose as Choose
from theano.tensor.choosing import Default as Default
from theano.tensor.choosing import Nonzero as Nonzero
from theano.tensor.choosing import PermuteRowElements as PermuteRowElements
from theano.tensor.conversion import EmptyConstantError as EmptyConstantError
from theano.tensor.conversion import NotScalarConstantError as NotScalarConstantError
from theano.tensor.conversion import ShapeError as ShapeError
from theano.tensor.creation import ARange as ARange
from theano.tensor.creation import Alloc as Alloc
from theano.tensor.creation import AllocEmpty as AllocEmpty
from theano.tensor.creation import Eye as Eye
from theano.tensor.creation import Tri as Tri
from theano.tensor.cumulative import DiffOp as DiffOp
from theano.tensor.diagonals import AllocDiag as AllocDiag
from theano.tensor.diagonals import ExtractDiag as ExtractDiag
from theano.tensor.dimshuffle import DimShuffle as DimShuffle
from theano.tensor.elemwise import Elemwise as Elemwise
from theano.tensor.from_scalars import MakeVector as MakeVector
from theano.tensor.from_scalars import ScalarFromTensor as ScalarFromTensor
from theano.tensor.from_scalars import TensorFromScalar as TensorFromScalar
from theano.tensor.joining import Join as Join
from theano.tensor.joining import Split as Split
from theano.tensor.products import Dot as Dot
from theano.tensor.reduction import Argmax as Argmax
from theano.tensor.reduction import MaxAndArgmax as MaxAndArgmax
from theano.tensor.reduction import Mean as Mean
from theano.tensor.shapes import Rebroadcast as Rebroadcast
from theano.tensor.shapes import Shape as Shape
from theano.tensor.shapes import SpecifyShape as SpecifyShape
from theano.tensor.shaping import Flatten as Flatten
from theano.tensor.shaping import Reshape as Reshape
from theano.tensor.shaping import Tile as Tile
from theano.tensor.sharedvar import TensorSharedVariable as TensorSharedVariable
from theano.tensor.slicing import AdvancedIndexingError as AdvancedIndexingError
from theano.tensor.slicing import IncSubtensor as IncSubtensor
from theano.tensor.slicing import Subtensor as Subtensor
from theano.tensor.slicing import _SubtensorPrinter as SubtensorPrinter
from theano.tensor.type import TensorType as Tensor
from theano.tensor.type import TensorType as TensorType
from theano.tensor.type_other import MakeSlice as MakeSlice
from theano.tensor.type_other import NoneTypeT as NoneTypeT
from theano.tensor.type_other import SliceConstant as SliceConstant
from theano.tensor.type_other import SliceType as SliceType
from theano.tensor.var import AsTensorError as AsTensorError
from theano.tensor.var import TensorConstant as TensorConstant
from theano.tensor.var import TensorConstantSignature as TensorConstantSignature
from theano.tensor.var import TensorVariable as TensorVariable

class _Unary(Elemwise):
    def __call__(self, a: TensorLike, /) -> TensorVariable: ...

class _Binary(Elemwise):
    def __call__(self, a: TensorLike, b: TensorLike, /) -> TensorVariable: ...

class _Ternary(Elemwise):
    def __call__(self, a: TensorLike, b: TensorLike, c: TensorLike, /) -> TensorVariable: ...

class _Several(Elemwise):
    def __call__(self, a: TensorLike, /, *more: TensorLike) -> TensorVariable: ...

class _Operation(Op):
    def __call__(self, *inputs: _Any, **kwargs: _Any) -> TensorVariable: ...

class _Maker(TensorType):
    def __call__(self, name: str | None = ...) -> TensorVariable: ...

class _Plural:
    @overload
    def __call__(self, number: int, /) -> list[TensorVariable]: ...
    @overload
    def __call__(self, names: str, /) -> _Any: ...
    @overload
    def __call__(self, first: str, second: str, /, *more: str) -> list[TensorVariable]: ...

@overload
def Lop(f: _Any, wrt: Variable, eval_points: _Any, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> TensorVariable: ...
@overload
def Lop(f: _Any, wrt: Sequence[Variable], eval_points: _Any, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> list[TensorVariable]: ...
NoneConst: _Any
@overload
def Rop(f: Variable, wrt: Variable | Sequence[Variable], eval_points: _Any, disconnected_outputs: str = ..., return_disconnected: str = ...) -> TensorVariable: ...
@overload
def Rop(f: Sequence[Variable], wrt: Variable | Sequence[Variable], eval_points: _Any, disconnected_outputs: str = ..., return_disconnected: str = ...) -> list[TensorVariable]: ...
abs_: _Unary
absolute: _Unary
add: _Several
def addbroadcast(x: TensorLike, *axes: _Any) -> TensorVariable: ...
def adv_index_broadcastable_pattern(a: TensorLike, idx: Sequence[_Any]) -> tuple[bool, ...]: ...
advanced_boolean_inc_subtensor: _Operation
advanced_boolean_set_subtensor: _Operation
advanced_boolean_subtensor: _Operation
advanced_inc_subtensor: _Operation
advanced_inc_subtensor1: _Operation
advanced_set_subtensor: _Operation
advanced_set_subtensor1: _Operation
advanced_subtensor: _Operation
advanced_subtensor1: _Operation
def all(x: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
all_dtypes: tuple[str, ...]
def allclose(a: TensorLike, b: TensorLike, rtol: float = ..., atol: float = ..., equal_nan: bool = ...) -> TensorVariable: ...
alloc: _Operation
alloc_diag: _Operation
def alloc_validate_shape(shape: Sequence[_Any]) -> tuple[list[_Any], tuple[bool, ...]]: ...
and_: _Binary
angle: _Unary
def any(x: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
def arange(start: TensorLike, stop: _Any = ..., step: TensorLike = ..., dtype: DType = ...) -> TensorVariable: ...
arccos: _Unary
arccosh: _Unary
arcsin: _Unary
arcsinh: _Unary
arctan: _Unary
arctan2: _Binary
arctanh: _Unary
def argmax(x: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
def argmin(x: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
def argsort(a: TensorLike, axis: Axis = ..., kind: str = ..., order: _Any = ...) -> TensorVariable: ...
def argtopk(x: TensorLike, kth: TensorLike, axis: Axis = ..., sorted: bool = ..., idx_dtype: str = ...) -> TensorVariable: ...
def around(a: TensorLike, mode: str | None = ...) -> TensorVariable: ...
def as_index_variable(idx: TensorLike) -> Variable: ...
def as_tensor(x: TensorLike, name: str | None = ..., ndim: int | None = ...) -> TensorVariable: ...
def as_tensor_variable(x: TensorLike, name: str | None = ..., ndim: int | None = ...) -> TensorVariable: ...
def atleast_Nd(x: TensorLike, n: int = ..., left: bool = ...) -> TensorVariable: ...
autocast_float: _Any
def autocast_float_as(*dtypes: str) -> AbstractContextManager[None]: ...
autocast_int: _Any
def bartlett(M: TensorLike) -> TensorVariable: ...
def batched_dot(a: TensorLike, b: TensorLike) -> TensorVariable: ...
def batched_tensordot(x: TensorLike, y: TensorLike, axes: TensorLike = ...) -> TensorVariable: ...
bcol: _Maker
def bincount(x: TensorLike, weights: _Any = ..., minlength: _Any = ..., assert_nonneg: bool = ...) -> TensorVariable: ...
bitwise_and: _Binary
bitwise_not: _Unary
bitwise_or: _Binary
bitwise_xor: _Binary
bmatrix: _Maker
brow: _Maker
bscalar: _Maker
btensor3: _Maker
btensor4: _Maker
btensor5: _Maker
btensor6: _Maker
btensor7: _Maker
bvector: _Maker
def cast(x: TensorLike, dtype: DType) -> TensorVariable: ...
ccol: _Maker
ceil: _Unary
def ceil_intdiv(a: TensorLike, b: TensorLike) -> TensorVariable: ...
chi2sf: _Binary
def choose(a: TensorLike, choices: TensorLike, out: _Any = ..., mode: str = ...) -> TensorVariable: ...
clip: _Ternary
cmatrices: _Plural
cmatrix: _Maker
def col(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
cols: _Plural
complex: _Binary
complex_dtypes: tuple[str, ...]
complex_from_polar: _Binary
complex_matrix_types: tuple[_Any, ...]
complex_scalar_types: tuple[_Any, ...]
complex_types: tuple[_Any, ...]
complex_vector_types: tuple[_Any, ...]
def concatenate(tensor_list: Sequence[_Any], axis: TensorLike = ...) -> TensorVariable: ...
config: _Any
conj: _Unary
conjugate: _Unary
def consider_constant(x: TensorLike) -> TensorVariable: ...
def constant(x: TensorLike, name: str | None = ..., ndim: int | None = ..., dtype: DType = ...) -> TensorConstant: ...
constant_cache: dict[_Any, _Any]
def constant_or_value(x: TensorLike, rtype: _Any = ..., name: str | None = ..., ndim: int | None = ..., dtype: DType = ...) -> _Any: ...
continuous_dtypes: tuple[str, ...]
cos: _Unary
cosh: _Unary
def cov(m: TensorLike, y: _Any = ..., rowvar: bool = ..., bias: bool = ..., ddof: int | None = ..., fweights: _Any = ..., aweights: _Any = ...) -> TensorVariable: ...
crow: _Maker
cscalar: _Maker
cscalars: _Plural
ctensor3: _Maker
ctensor4: _Maker
ctensor5: _Maker
ctensor6: _Maker
ctensor7: _Maker
def cumprod(x: TensorLike, axis: Axis = ...) -> TensorVariable: ...
def cumsum(x: TensorLike, axis: Axis = ...) -> TensorVariable: ...
cvector: _Maker
cvectors: _Plural
dcol: _Maker
dcols: _Plural
default: _Operation
deg2rad: _Unary
def diag(v: TensorLike, k: int = ...) -> TensorVariable: ...
def diagonal(a: TensorLike, offset: int = ..., axis1: int = ..., axis2: int = ...) -> TensorVariable: ...
def diff(x: TensorLike, n: int = ..., axis: Axis = ...) -> TensorVariable: ...
discrete_dtypes: tuple[str, ...]
def div_proxy(x: TensorLike, y: TensorLike) -> TensorVariable: ...
def divmod(x: TensorLike, y: TensorLike) -> tuple[TensorVariable, TensorVariable]: ...
dmatrices: _Plural
dmatrix: _Maker
def dot(a: TensorLike, b: TensorLike) -> TensorVariable: ...
drow: _Maker
drows: _Plural
dscalar: _Maker
dscalars: _Plural
dtensor3: _Maker
dtensor3s: _Plural
dtensor4: _Maker
dtensor4s: _Plural
dtensor5: _Maker
dtensor5s: _Plural
dtensor6: _Maker
dtensor6s: _Plural
dtensor7: _Maker
dtensor7s: _Plural
dvector: _Maker
dvectors: _Plural
def empty(shape: TensorLike, dtype: DType = ...) -> TensorVariable: ...
def empty_like(model: TensorLike, dtype: DType = ...) -> TensorVariable: ...
eq: _Binary
erf: _Unary
erfc: _Unary
erfcinv: _Unary
erfcx: _Unary
erfinv: _Unary
exp: _Unary
exp2: _Unary
def expand_dims(t: TensorLike, axis: Axis) -> TensorVariable: ...
expm1: _Unary
def extract_constant(x: TensorLike, elemwise: bool = ..., only_process_constants: bool = ...) -> _Any: ...
extract_diag: _Operation
def eye(n: TensorLike, m: _Any = ..., k: TensorLike = ..., dtype: DType = ...) -> TensorVariable: ...
fcol: _Maker
fcols: _Plural
fill: _Binary
def fill_diagonal(a: TensorLike, val: TensorLike) -> TensorVariable: ...
def fill_diagonal_offset(a: TensorLike, val: TensorLike, offset: TensorLike) -> TensorVariable: ...
def flatnonzero(a: TensorLike) -> TensorVariable: ...
def flatten(x: TensorLike, ndim: int | None = ..., outdim: int | None = ...) -> TensorVariable: ...
float16_atol: float
float16_rtol: float
float32_atol: float
float32_rtol: float
float64_atol: float
float64_rtol: float
float_dtypes: tuple[str, ...]
float_matrix_types: tuple[_Any, ...]
float_scalar_types: tuple[_Any, ...]
float_types: tuple[_Any, ...]
float_vector_types: tuple[_Any, ...]
floor: _Unary
floor_div: _Binary
fmatrices: _Plural
fmatrix: _Maker
frow: _Maker
frows: _Plural
fscalar: _Maker
fscalars: _Plural
ftensor3: _Maker
ftensor3s: _Plural
ftensor4: _Maker
ftensor4s: _Plural
ftensor5: _Maker
ftensor5s: _Plural
ftensor6: _Maker
ftensor6s: _Plural
ftensor7: _Maker
ftensor7s: _Plural
def full(shape: TensorLike, fill_value: TensorLike, dtype: DType = ...) -> TensorVariable: ...
def full_like(model: TensorLike, fill_value: TensorLike, dtype: DType = ...) -> TensorVariable: ...
fvector: _Maker
fvectors: _Plural
gamma: _Unary
gammainc: _Binary
gammaincc: _Binary
gammal: _Binary
gammaln: _Unary
gammau: _Binary
ge: _Binary
def get_canonical_form_slice(theslice: TensorLike, length: TensorLike) -> tuple[_Any, _Any]: ...
def get_idx_list(inputs: Sequence[_Any], idx_list: Sequence[_Any], get_count: bool = ...) -> _Any: ...
def get_scalar_constant_value(v: TensorLike, elemwise: bool = ..., only_process_constants: bool = ..., max_recur: int = ...) -> NDArray[_Any]: ...
def get_vector_length(v: TensorLike) -> int: ...
@overload
def grad(cost: Variable | None, wrt: Variable, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..., add_names: bool = ..., known_grads: Mapping[_Any, _Any] | None = ..., return_disconnected: str = ..., null_gradients: str = ...) -> TensorVariable: ...
@overload
def grad(cost: Variable | None, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..., add_names: bool = ..., known_grads: Mapping[_Any, _Any] | None = ..., return_disconnected: str = ..., null_gradients: str = ...) -> list[TensorVariable]: ...
gt: _Binary
@overload
def hessian(cost: Variable, wrt: Variable, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> TensorVariable: ...
@overload
def hessian(cost: Variable, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> list[TensorVariable]: ...
def horizontal_stack(*args: TensorLike) -> TensorVariable: ...
i0: _Unary
i1: _Unary
icol: _Maker
icols: _Plural
def identity_like(x: TensorLike) -> TensorVariable: ...
def imag(z: TensorLike) -> TensorVariable: ...
imatrices: _Plural
imatrix: _Maker
def inc_subtensor(x: TensorLike, y: TensorLike, inplace: bool = ..., set_instead_of_inc: bool = ..., tolerate_inplace_aliasing: bool = ...) -> TensorVariable: ...
int_div: _Binary
int_dtypes: tuple[str, ...]
int_matrix_types: tuple[_Any, ...]
int_scalar_types: tuple[_Any, ...]
int_types: tuple[_Any, ...]
int_vector_types: tuple[_Any, ...]
intdiv: _Binary
integer_dtypes: tuple[str, ...]
inv: _Unary
def inverse_permutation(perm: TensorLike) -> TensorVariable: ...
invert: _Unary
def irecv(shape: Sequence[int], dtype: DType, source: int, tag: int) -> list[Variable]: ...
def iround(a: TensorLike, mode: str | None = ...) -> TensorVariable: ...
irow: _Maker
irows: _Plural
def is_flat(var: TensorLike, ndim: int | None = ..., outdim: int | None = ...) -> bool: ...
iscalar: _Maker
iscalars: _Plural
def isclose(a: TensorLike, b: TensorLike, rtol: float = ..., atol: float = ..., equal_nan: bool = ...) -> TensorVariable: ...
def isend(var: TensorLike, dest: int, tag: int) -> list[Variable]: ...
def isinf(a: TensorLike) -> TensorVariable: ...
isinf_: _Unary
def isnan(a: TensorLike) -> TensorVariable: ...
isnan_: _Unary
itensor3: _Maker
itensor3s: _Plural
itensor4: _Maker
itensor4s: _Plural
itensor5: _Maker
itensor5s: _Plural
itensor6: _Maker
itensor6s: _Plural
itensor7: _Maker
itensor7s: _Plural
iv: _Binary
ivector: _Maker
ivectors: _Plural
j0: _Unary
j1: _Unary
@overload
def jacobian(expression: Variable, wrt: Variable, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> TensorVariable: ...
@overload
def jacobian(expression: Variable, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> list[TensorVariable]: ...
def join(axis: TensorLike, *tensors_list: TensorLike) -> TensorVariable: ...
join_: _Operation
jv: _Binary
def largest(*args: TensorLike) -> TensorVariable: ...
lcol: _Maker
lcols: _Plural
le: _Binary
lmatrices: _Plural
lmatrix: _Maker
def load(path: _Any, dtype: DType, broadcastable: Sequence[bool], mmap_mode: str | None = ...) -> TensorVariable: ...
log: _Unary
log10: _Unary
log1p: _Unary
log2: _Unary
lrow: _Maker
lrows: _Plural
lscalar: _Maker
lscalars: _Plural
lt: _Binary
ltensor3: _Maker
ltensor3s: _Plural
ltensor4: _Maker
ltensor4s: _Plural
ltensor5: _Maker
ltensor5s: _Plural
ltensor6: _Maker
ltensor6s: _Plural
ltensor7: _Maker
ltensor7s: _Plural
lvector: _Maker
lvectors: _Plural
def makeKeepDims(x: TensorLike, y: TensorLike, axis: Axis) -> TensorVariable: ...
def make_constant(args: Iterable[_Any]) -> tuple[_Any, ...]: ...
def make_slice(slc: TensorLike, stop: _Any = ..., step: _Any = ...) -> Variable: ...
make_vector: _Operation
def matmul(a: TensorLike, b: TensorLike) -> TensorVariable: ...
matrices: _Plural
def matrix(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
def max(x: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
def max_and_argmax(a: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> list[TensorVariable]: ...
maximum: _Binary
def mean(input: TensorLike, axis: Axis = ..., dtype: DType = ..., op: bool = ..., keepdims: bool = ..., acc_dtype: DType = ...) -> TensorVariable: ...
mgrid: _Any
def min(x: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
minimum: _Binary
mod: _Binary
def mod_check(x: TensorLike, y: TensorLike) -> TensorVariable: ...
def moveaxis(a: TensorLike, source: TensorLike, destination: TensorLike) -> TensorVariable: ...
mpi_cmps: tuple[_Any, ...]
mul: _Several
neg: _Unary
neq: _Binary
none_type_t: _Any
def nonzero(a: TensorLike, return_matrix: bool = ...) -> _Any: ...
def nonzero_values(a: TensorLike) -> TensorVariable: ...
def norm(x: TensorLike, ord: TensorLike, axis: Axis = ..., keepdims: bool = ...) -> TensorVariable: ...
def normalize_axes(axis: Axis, ndim: int) -> tuple[int, ...]: ...
def numpy_scalar(data: TensorLike) -> NDArray[_Any]: ...
ogrid: _Any
def ones(shape: TensorLike, dtype: DType = ...) -> TensorVariable: ...
def ones_like(model: TensorLike, dtype: DType = ..., opt: bool = ...) -> TensorVariable: ...
or_: _Binary
def outer(x: TensorLike, y: TensorLike) -> TensorVariable: ...
def patternbroadcast(x: TensorLike, broadcastable: Iterable[bool]) -> TensorVariable: ...
def permute_row_elements(x: TensorLike, y: TensorLike, inverse: TensorLike = ...) -> TensorVariable: ...
pow: _Binary
def power(x: TensorLike, y: TensorLike) -> TensorVariable: ...
def pp(*args: TensorLike) -> str: ...
pprint: _Any
def prod(input: TensorLike, axis: Axis = ..., dtype: DType = ..., keepdims: bool = ..., acc_dtype: DType = ..., no_zeros_in_input: bool = ...) -> TensorVariable: ...
psi: _Unary
def ptp(a: TensorLike, axis: Axis = ...) -> TensorVariable: ...
rad2deg: _Unary
def ravel_multi_index(multi_index: TensorLike, dims: TensorLike, mode: _Any = ..., order: str = ...) -> TensorVariable: ...
def real(z: TensorLike) -> TensorVariable: ...
reciprocal: _Unary
def recv(shape: Sequence[int], dtype: DType, source: int, tag: int) -> TensorVariable: ...
def register_transfer(fn: _Any) -> None: ...
def repeat(x: TensorLike, repeats: TensorLike, axis: Axis = ...) -> TensorVariable: ...
def reshape(x: TensorLike, newshape: TensorLike, ndim: int | None = ...) -> TensorVariable: ...
def roll(x: TensorLike, shift: TensorLike, axis: Axis = ...) -> TensorVariable: ...
def round(a: TensorLike, mode: str | None = ...) -> TensorVariable: ...
round_half_away_from_zero: _Unary
round_half_to_even: _Unary
def row(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
rows: _Plural
def scalar(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
def scalar_constructor(value: TensorLike, name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ..., borrow: bool = ..., target: str = ...) -> TensorSharedVariable: ...
scalar_from_tensor: _Operation
scalars: _Plural
def searchsorted(x: TensorLike, v: TensorLike, side: str = ..., sorter: _Any = ...) -> TensorVariable: ...
second: _Binary
def send(var: TensorLike, dest: int, tag: int) -> list[Variable]: ...
def set_subtensor(x: TensorLike, y: TensorLike, inplace: bool = ..., tolerate_inplace_aliasing: bool = ...) -> TensorVariable: ...
sgn: _Unary
shape: _Operation
def shape_i(var: Variable, i: int, fgraph: _Any = ...) -> Variable: ...
def shape_padaxis(t: TensorLike, axis: Axis) -> TensorVariable: ...
def shape_padleft(t: TensorLike, n_ones: int = ...) -> TensorVariable: ...
def shape_padright(t: TensorLike, n_ones: int = ...) -> TensorVariable: ...
def shared(*args: TensorLike, **kwargs: _Any) -> TensorSharedVariable: ...
sign: _Unary
sin: _Unary
sinh: _Unary
def slice_len(slc: slice, n: TensorLike) -> _Any: ...
slicetype: _Any
def smallest(*args: TensorLike) -> TensorVariable: ...
def sort(a: TensorLike, axis: Axis = ..., kind: str = ..., order: _Any = ...) -> TensorVariable: ...
specify_shape: _Operation
def split(x: TensorLike, splits_size: TensorLike, n_splits: int, axis: TensorLike = ...) -> list[TensorVariable]: ...
sqr: _Unary
sqrt: _Unary
square: _Unary
def squeeze(x: TensorLike) -> TensorVariable: ...
def stack(*tensors: TensorLike, **kwargs: _Any) -> TensorVariable: ...
def stacklists(arg: TensorLike) -> TensorVariable: ...
def std(input: TensorLike, axis: Axis = ..., ddof: int = ..., keepdims: bool = ..., corrected: bool = ...) -> TensorVariable: ...
sub: _Binary
def sum(input: TensorLike, axis: Axis = ..., dtype: DType = ..., keepdims: bool = ..., acc_dtype: DType = ...) -> TensorVariable: ...
def swapaxes(y: TensorLike, axis1: int, axis2: int) -> TensorVariable: ...
switch: _Ternary
def take(a: TensorLike, indices: TensorLike, axis: Axis = ..., mode: str = ...) -> TensorVariable: ...
tan: _Unary
tanh: _Unary
def tensor(*args: TensorLike, **kwargs: _Any) -> TensorVariable: ...
def tensor3(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
tensor3s: _Plural
def tensor4(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
tensor4s: _Plural
def tensor5(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
tensor5s: _Plural
def tensor6(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
tensor6s: _Plural
def tensor7(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
tensor7s: _Plural
def tensor_constructor(value: TensorLike, name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ..., borrow: bool = ..., broadcastable: Sequence[bool] | None = ..., target: str = ...) -> TensorSharedVariable: ...
tensor_copy: _Unary
tensor_from_scalar: _Operation
def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike = ...) -> TensorVariable: ...
def tile(x: TensorLike, reps: TensorLike, ndim: int | None = ...) -> TensorVariable: ...
def tolerance_between(a: TensorLike, b: TensorLike) -> tuple[float, float]: ...
def topk(x: TensorLike, kth: TensorLike, axis: Axis = ..., sorted: bool = ..., idx_dtype: str = ...) -> TensorVariable: ...
def topk_and_argtopk(x: TensorLike, kth: TensorLike, axis: Axis = ..., sorted: bool = ..., idx_dtype: str = ...) -> list[TensorVariable]: ...
def transfer(var: TensorLike, target: str) -> _Any: ...
def transpose(x: TensorLike, axes: Sequence[int] | None = ...) -> TensorVariable: ...
def tri(N: TensorLike, M: _Any = ..., k: TensorLike = ..., dtype: DType = ...) -> TensorVariable: ...
tri_gamma: _Unary
def tril(m: TensorLike, k: TensorLike = ...) -> TensorVariable: ...
def triu(m: TensorLike, k: TensorLike = ...) -> TensorVariable: ...
true_div: _Binary
truediv: _Binary
trunc: _Unary
uint_dtypes: tuple[str, ...]
def unbroadcast(x: TensorLike, *axes: _Any) -> TensorVariable: ...
def unravel_index(indices: TensorLike, dims: TensorLike, order: str = ..., ndim: int | None = ...) -> _Any: ...
def values_eq_approx_always_true(a: TensorLike, b: TensorLike) -> bool: ...
def values_eq_approx_remove_inf(a: TensorLike, b: TensorLike) -> bool: ...
def values_eq_approx_remove_inf_nan(a: TensorLike, b: TensorLike) -> bool: ...
def values_eq_approx_remove_nan(a: TensorLike, b: TensorLike) -> bool: ...
def var(input: TensorLike, axis: Axis = ..., ddof: int = ..., keepdims: bool = ..., corrected: bool = ...) -> TensorVariable: ...
def vector(name: str | None = ..., dtype: DType = ...) -> TensorVariable: ...
vectors: _Plural
def verify_grad(fun: _Any, pt: Sequence[_Any], n_tests: int = ..., rng: _Any = ..., eps: float | None = ..., out_type: str | None = ..., abs_tol: float | None = ..., rel_tol: float | None = ..., mode: _Any = ..., cast_to_output_type: bool = ..., no_debug_ref: bool = ...) -> None: ...
def vertical_stack(*args: TensorLike) -> TensorVariable: ...
wcol: _Maker
where: _Ternary
wmatrix: _Maker
wrow: _Maker
wscalar: _Maker
wtensor3: _Maker
wtensor4: _Maker
wtensor5: _Maker
wtensor6: _Maker
wtensor7: _Maker
wvector: _Maker
xor: _Binary
zcol: _Maker
def zeros(shape: TensorLike, dtype: DType = ...) -> TensorVariable: ...
def zeros_like(model: TensorLike, dtype: DType = ..., opt: bool = ...) -> TensorVariable: ...
zmatrices: _Plural
zmatrix: _Maker
zrow: _Maker
zscalar: _Maker
zscalars: _Plural
ztensor3: _Maker
ztensor4: _Maker
ztensor5: _Maker
ztensor6: _Maker
ztensor7: _Maker
zvector: _Maker
zvectors: _Plural
