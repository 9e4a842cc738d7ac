"""Types of the names of this package. Made by ``python -m tests.typed.stubs``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any as _Any
from typing import Generic as _Generic
from typing import Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from theano.compile.function_object import Function
from theano.tensor.sharedvar import ScalarSharedVariable, TensorSharedVariable
from theano.tensor.var import TensorConstant, TensorVariable
from theano import compile as compile
from theano import d3viz as d3viz
from theano import distributed as distributed
from theano import gof as gof
from theano import gpuarray as gpuarray
from theano import gradient as gradient
from theano import ifelse as ifelse
from theano import misc as misc
from theano import printing as printing
from theano import sandbox as sandbox
from theano import scalar as scalar
from theano import scan_module as scan_module
from theano import sparse as sparse
from theano import tensor as tensor
from theano import typed_list as typed_list
from theano import version as version
from theano.compile import FAST_COMPILE as FAST_COMPILE
from theano.compile import FAST_RUN as FAST_RUN
from theano.compile.builders import OpFromGraph as OpFromGraph
from theano.compile.function import function_dump as function_dump
from theano.compile.function_module import FunctionMaker as FunctionMaker
from theano.compile.io import In as In
from theano.compile.io import SymbolicInput as SymbolicInput
from theano.compile.io import SymbolicOutput as Out
from theano.compile.io import SymbolicOutput as SymbolicOutput
from theano.compile.mode import Mode as Mode
from theano.compile.ops import as_op as as_op
from theano.compile.pfunc import Param as Param
from theano.compile.profiling import ProfileStats as ProfileStats
from theano.compile.rebuild import clone as clone
from theano.configdefaults import config as config
from theano.configparser import change_flags as change_flags
from theano.gof import generic as generic
from theano.gof.cc import CLinker as CLinker
from theano.gof.cop import OpenMPOp as OpenMPOp
from theano.gof.fg import FunctionGraph as FunctionGraph
from theano.gof.fg import InconsistencyError as InconsistencyError
from theano.gof.graph import Apply as Apply
from theano.gof.graph import Constant as Constant
from theano.gof.graph import Variable as Variable
from theano.gof.link import Container as Container
from theano.gof.link import Linker as Linker
from theano.gof.link import LocalLinker as LocalLinker
from theano.gof.link import PerformLinker as PerformLinker
from theano.gof.op import Op as Op
from theano.gof.type import Generic as Generic
from theano.gof.type import Type as Type
from theano.gof.utils import object2 as object2
from theano.gradient import subgraph_grad as subgraph_grad
from theano.logs import disable_log_handler as disable_log_handler
from theano.logs import has_handlers as has_handlers
from theano.logs import logging_default_formatter as logging_default_formatter
from theano.logs import logging_default_handler as logging_default_handler
from theano.logs import theano_logger as theano_logger
from theano.native.clinkers import DualLinker as DualLinker
from theano.native.clinkers import OpWiseCLinker as OpWiseCLinker
from theano.printing import pprint as pprint
from theano.printing.pretty import pp as pp
from theano.scan_module.scan_checkpoints import scan_checkpoints as scan_checkpoints
from theano.scan_module.scan_views import foldl as foldl
from theano.scan_module.scan_views import foldr as foldr
from theano.scan_module.scan_views import map as map
from theano.scan_module.scan_views import reduce as reduce
from theano.tensor.conversion import get_scalar_constant_value as get_scalar_constant_value
from theano.tensor.products import dot as dot
from theano.tests.main import test as test
from theano.updates import OrderedUpdates as OrderedUpdates

_Result = TypeVar("_Result")

class _Compiled(Function, _Generic[_Result]):
    def __call__(self, *args: _Any, **kwargs: _Any) -> _Result: ...

@overload
def Lop(f: _Any, wrt: Variable, eval_points: _Any, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> TensorVariable: ...
@overload
def Lop(f: _Any, wrt: Sequence[Variable], eval_points: _Any, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ...) -> list[TensorVariable]: ...
@overload
def Rop(f: Variable, wrt: Variable | Sequence[Variable], eval_points: _Any, disconnected_outputs: str = ..., return_disconnected: str = ...) -> TensorVariable: ...
@overload
def Rop(f: Sequence[Variable], wrt: Variable | Sequence[Variable], eval_points: _Any, disconnected_outputs: str = ..., return_disconnected: str = ...) -> list[TensorVariable]: ...
@overload
def function(
    inputs: Sequence[Variable | In], outputs: TensorVariable | TensorSharedVariable | ScalarSharedVariable | TensorConstant, mode: _Any = ..., updates: _Any = ..., givens: _Any = ...,
    no_default_updates: bool | list[_Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: _Any = ..., on_unused_input: str | None = ...,
) -> _Compiled[NDArray[_Any]]: ...
@overload
def function(
    inputs: Sequence[Variable | In], outputs: Variable | Out, mode: _Any = ..., updates: _Any = ..., givens: _Any = ...,
    no_default_updates: bool | list[_Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: _Any = ..., on_unused_input: str | None = ...,
) -> _Compiled[_Any]: ...
@overload
def function(
    inputs: Sequence[Variable | In], outputs: Mapping[str, _Any], mode: _Any = ..., updates: _Any = ..., givens: _Any = ...,
    no_default_updates: bool | list[_Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: _Any = ..., on_unused_input: str | None = ...,
) -> _Compiled[dict[str, _Any]]: ...
@overload
def function(
    inputs: Sequence[Variable | In], outputs: Sequence[TensorVariable], mode: _Any = ..., updates: _Any = ..., givens: _Any = ...,
    no_default_updates: bool | list[_Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: _Any = ..., on_unused_input: str | None = ...,
) -> _Compiled[list[NDArray[_Any]]]: ...
@overload
def function(
    inputs: Sequence[Variable | In], outputs: Sequence[Variable | Out], mode: _Any = ..., updates: _Any = ..., givens: _Any = ...,
    no_default_updates: bool | list[_Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: _Any = ..., on_unused_input: str | None = ...,
) -> _Compiled[list[_Any]]: ...
@overload
def function(
    inputs: Sequence[Variable | In], outputs: None = ..., mode: _Any = ..., updates: _Any = ..., givens: _Any = ...,
    no_default_updates: bool | list[_Any] = ..., accept_inplace: bool = ..., name: str | None = ..., rebuild_strict: bool = ...,
    allow_input_downcast: bool | None = ..., profile: _Any = ..., on_unused_input: str | None = ...,
) -> _Compiled[list[_Any]]: ...
@overload
def grad(cost: Variable | None, wrt: Variable, consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..., add_names: bool = ..., known_grads: Mapping[_Any, _Any] | None = ..., return_disconnected: str = ..., null_gradients: str = ...) -> TensorVariable: ...
@overload
def grad(cost: Variable | None, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = ..., disconnected_inputs: str = ..., add_names: bool = ..., known_grads: Mapping[_Any, _Any] | None = ..., return_disconnected: str = ..., null_gradients: str = ...) -> list[TensorVariable]: ...
predefined_linkers: dict[_Any, _Any]
predefined_modes: dict[_Any, _Any]
predefined_optimizers: dict[_Any, _Any]
@overload
def scan(
    fn: Callable[..., _Any], sequences: _Any = ..., outputs_info: _Any = ..., non_sequences: _Any = ..., n_steps: _Any = ...,
    truncate_gradient: int = ..., go_backwards: bool = ..., mode: _Any = ..., name: str | None = ..., profile: _Any = ...,
    allow_gc: bool | None = ..., strict: bool = ..., *, return_list: Literal[True]
) -> tuple[list[TensorVariable], OrderedUpdates]: ...
@overload
def scan(
    fn: Callable[..., TensorVariable], sequences: _Any = ..., outputs_info: _Any = ..., non_sequences: _Any = ..., n_steps: _Any = ...,
    truncate_gradient: int = ..., go_backwards: bool = ..., mode: _Any = ..., name: str | None = ..., profile: _Any = ...,
    allow_gc: bool | None = ..., strict: bool = ..., return_list: Literal[False] = ...
) -> tuple[TensorVariable, OrderedUpdates]: ...
@overload
def scan(
    fn: Callable[..., _Any], sequences: _Any = ..., outputs_info: _Any = ..., non_sequences: _Any = ..., n_steps: _Any = ...,
    truncate_gradient: int = ..., go_backwards: bool = ..., mode: _Any = ..., name: str | None = ..., profile: _Any = ...,
    allow_gc: bool | None = ..., strict: bool = ..., return_list: bool = ...
) -> tuple[_Any, OrderedUpdates]: ...
@overload
def shared(
    value: int | float | complex | np.generic, name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ...,
    **kwargs: _Any,
) -> ScalarSharedVariable: ...
@overload
def shared(
    value: NDArray[_Any], name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ..., **kwargs: _Any
) -> TensorSharedVariable: ...
@overload
def shared(
    value: _Any, name: str | None = ..., strict: bool = ..., allow_downcast: bool | None = ..., **kwargs: _Any
) -> _Any: ...
def sparse_grad(var: Variable) -> _Any: ...
