"""Documented names whose home is another module: one table, resolved when a name is first asked for.

A package of a lower layer may so document a name of a higher one without importing it, and what few programs need is
not imported with the package. Nothing inside the package uses these names: it imports from the homes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

#: For each module the homes of the names that it documents, with these names; ``new=old`` where the home has another one.
NAMES: dict[str, dict[str, str]] = {
    "theano": {
        "theano.gof.cc": "CLinker",
        "theano.native.clinkers": "DualLinker OpWiseCLinker",
        "theano.gof.cop": "OpenMPOp",
        "theano.scan_module.scan": "scan",
        "theano.scan_module.scan_views": "foldl foldr map reduce",
        "theano.scan_module.scan_checkpoints": "scan_checkpoints",
        "theano.tests.main": "test",
    },
    "theano.gof": {
        "theano.gof.cc": "CLinker HideC",
        "theano.native.clinkers": "DualLinker OpWiseCLinker",
        "theano.gof.cop": "COp OpenMPOp",
    },
    "theano.scan_module.scan_utils": {"theano.scan_module.scan_mapping": "map_variables"},
    "theano.tensor": {
        "theano": "compile theano",
        "theano.gradient": "Lop Rop grad",
        "theano.gradient_check": "numeric_grad verify_grad",
        "theano.gradient_stops": "consider_constant",
        "theano.gradient_loops": "hessian jacobian",
        "theano.tensor.io": "load mpi_cmps send recv isend irecv",
    },
    # Programs that take everything from there count on this name too.
    "theano.tensor.blas": {
        "theano.tensor.products": "batched_dot batched_tensordot",
        "theano.tensor.rewriting.blas": (
            "GemmOptimizer blas_opt_inplace blas_optdb local_dot22_to_dot22scalar local_dot22_to_ger_or_gemv "
            "local_dot_to_dot22 local_gemm_to_gemv local_gemm_to_ger local_inplace_gemm local_inplace_gemv "
            "local_inplace_ger"
        ),
    },
    "theano.scalar.basic_scipy": {
        "theano.scalar.special": (
            "I0 I1 J0 J1 Chi2SF Erf Erfc Erfcinv Erfcx Erfinv Gamma GammaInc GammaIncC GammaL GammaLn GammaU Iv "
            "Jv Psi TriGamma chi2sf erf erfc erfcinv erfcx erfinv gamma gammainc gammaincc gammal gammaln gammau "
            "i0 i1 iv j0 j1 jv psi tri_gamma"
        )
    },
    "theano.tensor.opt_uncanonicalize": {
        "theano.tensor.rewriting.uncanonicalize": (
            "local_alloc_dimshuffle local_dimshuffle_alloc local_dimshuffle_subtensor local_max_and_argmax "
            "local_max_to_min local_reshape_dimshuffle"
        )
    },
    "theano.tensor.signal.pool": {
        "theano": "gof tensor theano",
        "theano.gof.graph": "Variable",
        "theano.gof.params_type": "ParamsType",
    },
    "theano.tensor.nnet.blocksparse": {"theano": "theano"},
    "theano.tensor.nnet.bn": {"theano": "theano"},
    "theano.tensor.nnet.ctc": {
        "theano": "gof T=tensor",
        "theano.configdefaults": "config",
        "theano.gof.cmodule": "GCC_compiler",
        "theano.tensor.extra_ops": "cpu_contiguous",
    },
    "theano.tensor.nnet.neighbours": {"theano": "theano"},
    "theano.tensor.nnet.nnet": {
        "theano": "gof scalar theano",
        "theano.gof.graph": "Apply",
        "theano.gof.opt": "copy_stack_trace",
        "theano.gof.rewriting.stages": "optdb",
        "theano.gradient_types": "DisconnectedType grad_not_implemented",
        "theano.tensor": "elemwise extra_ops opt subtensor tensor=basic",
        "theano.tensor.conversion": "as_tensor_variable",
        "theano.tensor.nnet.blocksparse": "sparse_block_dot",
        "theano.tensor.nnet.rewriting": (
            "crossentropy_to_crossentropy_with_softmax=local_crossentropy_to_crossentropy_with_softmax "
            "crossentropy_to_crossentropy_with_softmax_with_bias=local_crossentropy_to_crossentropy_with_softmax "
            "graph_merge_softmax_with_crossentropy_softmax=local_crossentropy_to_crossentropy_with_softmax "
            "local_advanced_indexing_crossentropy_onehot local_advanced_indexing_crossentropy_onehot_grad "
            "local_argmax_pushdown local_logsoftmax=local_log_softmax local_logsoftmax_grad "
            "local_softmax_grad_to_crossentropy_with_softmax_grad=local_crossentropy_softmax_grad local_softmax_with_bias "
            "local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc softmax_simplifier"
        ),
        "theano.tensor.type": "values_eq_approx_remove_inf values_eq_approx_remove_nan",
    },
    "theano.tensor.nnet.sigm": {
        "theano": "gof scalar theano",
        "theano.configdefaults": "config",
        "theano.gof.opt": "copy_stack_trace",
        "theano.tensor": "elemwise opt tensor=basic",
        "theano.tensor.conversion": "NotScalarConstantError",
        "theano.tensor.nnet.mul_trees": (
            "compute_mul is_1pexp is_exp is_mul is_neg parse_mul_tree partition_num_or_denom perform_sigm_times_exp "
            "register_local_1msigmoid replace_leaf simplify_mul"
        ),
        "theano.tensor.nnet.rewriting": (
            "local_1msigmoid local_exp_over_1_plus_exp local_hard_sigmoid local_inv_1_plus_exp local_sigm_times_exp "
            "local_ultra_fast_sigmoid log1msigm_to_softplus=local_log1p_to_softplus "
            "log1p_neg_sigmoid=local_log1p_to_softplus log1pexp_to_softplus=local_log1p_to_softplus "
            "logsigm_to_softplus=local_log_sigmoid"
        ),
        "theano.tensor.type": "values_eq_approx_remove_inf",
    },
    "theano.sandbox.blocksparse": {
        "theano.tensor.nnet.blocksparse": (
            "SparseBlockGemv SparseBlockOuter sparse_block_dot sparse_block_gemv sparse_block_gemv_inplace "
            "sparse_block_outer sparse_block_outer_inplace"
        )
    },
    "theano.tensor.nnet.abstract_conv": {
        "theano": "theano",
        "theano.gof.graph": "Apply",
        "theano.gof.op": "Op",
        "theano.raise_op": "Assert",
        "theano.tensor.conversion": "NotScalarConstantError as_tensor_variable get_scalar_constant_value",
        "theano.tensor.shaping": "patternbroadcast",
        "theano.tensor.nnet.conv_ops": "integer_types",
    },
    "theano.tensor.nnet.conv": {
        "theano": "theano",
        "theano.gof.cop": "OpenMPOp",
        "theano.tensor": "blas",
        "theano.tensor.conversion": "NotScalarConstantError",
        "theano.tensor.nnet.conv_shapes": "get_conv_shape_1axis",
        "theano.tensor.shaping": "patternbroadcast",
    },
    "theano.tensor.nnet.conv3d2d": {"theano": "tensor theano"},
    "theano.tensor.nnet.corr": {
        "theano": "gof theano",
        "theano.gof.enum_type": "EnumList",
        "theano.gof.params_type": "ParamsType",
        "theano.scalar.type": "int64 int8",
        "theano.tensor": "blas_headers",
        "theano.tensor.blas": "ldflags",
        "theano.tensor.blas_headers": "blas_header_version",
        "theano.tensor.nnet.conv_ops": "integer_types",
        "theano.tensor.nnet.conv_shapes": "get_conv_output_shape",
        "theano.tensor.type": "TensorType",
    },
    "theano.tensor.nnet.corr3d": {
        "theano": "gof theano",
        "theano.gof.enum_type": "EnumList",
        "theano.gof.graph": "Apply",
        "theano.gof.params_type": "ParamsType",
        "theano.scalar.type": "int64",
        "theano.tensor": "blas_headers",
        "theano.tensor.blas": "ldflags",
        "theano.tensor.blas_headers": "blas_header_version",
        "theano.tensor.conversion": "as_tensor_variable",
        "theano.tensor.nnet.conv_ops": "integer_types",
        "theano.tensor.nnet.conv_shapes": "get_conv_output_shape",
        "theano.tensor.type": "TensorType",
    },
    "theano.tensor.nnet.opt": {
        "theano": "compile gof theano",
        "theano.gof.opt": "copy_stack_trace local_optimizer",
        "theano.gof.rewriting.stages": "optdb",
        "theano.tensor": "opt",
        "theano.tensor.nnet.blocksparse": (
            "SparseBlockGemv SparseBlockOuter sparse_block_gemv_inplace sparse_block_outer_inplace "
            "local_inplace_sparse_block_gemv local_inplace_sparse_block_outer"
        ),
        "theano.tensor.nnet.conv": "ConvOp conv2d",
        "theano.tensor.nnet.conv_ops": (
            "AbstractConv2d AbstractConv2d_gradInputs AbstractConv2d_gradWeights AbstractConv3d AbstractConv3d_gradInputs "
            "AbstractConv3d_gradWeights"
        ),
        "theano.tensor.nnet.conv_shapes": "get_conv_output_shape",
        "theano.tensor.nnet.corr": "CorrMM CorrMM_gradInputs CorrMM_gradWeights",
        "theano.tensor.nnet.corr3d": "Corr3dMM Corr3dMM_gradInputs Corr3dMM_gradWeights",
        "theano.tensor.rewriting.registry": "register_specialize_device",
        "theano.tensor.type": "TensorType",
    },
    "theano.tensor.signal.conv": {"theano": "tensor theano"},
    "theano.tensor.var": {"theano.tensor.sharedvar": "TensorSharedVariable"},
    "theano.tensor.opt": {"theano": "theano"},
    "theano.sandbox.rng_mrg": {"theano": "theano"},
    "theano.tensor.raw_random": {"theano": "theano"},
    "theano.gof.cc": {"theano.native.clinkers": "DualLinker OpWiseCLinker"},
    "theano.gof.op": {"theano.gof.cop": "COp OpenMPOp apply_meth get_io_macros get_sub_macros lquote_macro"},
    "theano.gof.type": {"theano.gof.enum_type": "CEnumType EnumList EnumType"},
    "theano.gof.toolbox": {"theano.compile.debug_errors": "BadOptimization"},
    "theano.gradient": {
        "theano.gradient_check": "GradientError numeric_grad verify_grad",
        "theano.gradient_loops": "hessian jacobian",
    },
    "theano.typed_list": {
        "theano": "theano",
        "theano.gof": "Apply Constant Op Variable",
        "theano.tensor.type_other": "SliceType",
    },
    "theano.typed_list.basic": {"theano": "theano"},
    "theano.typed_list.opt": {"theano": "compile gof"},
    "theano.typed_list.type": {"theano": "gof"},
    "theano.sparse": {"theano": "theano"},
    "theano.sparse.basic": {"theano": "theano"},
    "theano.sparse.type": {"theano": "gof theano"},
    "theano.sparse.opt": {"theano": "theano tensor"},
    "theano.sparse.sandbox.sp": {
        "theano": "gof sparse theano",
        "theano.sparse.basic": (
            "ColScaleCSC Diag EnsureSortedIndices Remove0 RowScaleCSC SpSum SquareDiagonal clean col_scale diag "
            "ensure_sorted_indices remove0 row_scale sp_sum square_diagonal"
        ),
    },
    "theano.sparse.sandbox.sp2": {
        "theano": "gof tensor theano",
        "theano.sparse.basic": (
            "AddSSData CSC CSM CSMProperties CSR Cast HStack MulSV Remove0 SamplingDot StructuredAddSV VStack add_s_s "
            "add_s_s_data bcast ccast csm_data csm_indices csm_indptr csm_properties csm_shape dcast dot fcast hstack icast "
            "lcast mul_s_d mul_s_s mul_s_v neg remove0 sampling_dot structured_add structured_add_s_v structured_exp "
            "structured_log structured_maximum structured_minimum structured_monoid structured_pow structured_sigmoid vstack "
            "wcast zcast"
        ),
        "theano.sparse.opt": (
            "MulSDCSC MulSDCSR MulSVCSR SamplingDotCSR StructuredAddSVCSR local_mul_s_d local_mul_s_v "
            "local_sampling_dot_csr local_structured_add_s_v mul_s_d_csc mul_s_d_csr mul_s_v_csr register_specialize "
            "sampling_dot_csr structured_add_s_v_csr"
        ),
    },
    "theano.sparse.sandbox.truedot": {
        "theano": "compile gof sparse tensor theano",
        "theano.sparse.tests.test_basic": "eval_outputs sparse_random_inputs utt",
    },
    "theano.printing": {"theano.compile.passes": "OptimizationTrace Pass"},
}

#: For each package those of its modules that are imported when they are first asked for.
MODULES: dict[str, str] = {
    "theano": "d3viz ifelse misc sandbox scan_module sparse typed_list tests version",
    "theano.gof": "cc cmodule callcache compilelock cop sched",
    "theano.sparse": "sandbox tests",
    "theano.tensor": "blas_c blas_scipy fft io nlinalg opt_uncanonicalize shared_randomstreams signal slinalg tests utils",
    "theano.tensor.signal": "conv downsample pool tests",
}


def names(module: str) -> list[str]:
    """Return the names that a module documents and that have their home elsewhere, for its ``__all__``."""
    return [name.partition("=")[0] for names in NAMES.get(module, {}).values() for name in names.split()]


def lazy(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a module that the tables name.

    Parameters
    ----------
    module : str
        Its name.

    Returns
    -------
    tuple of callable
        To be bound to the two names in the module.
    """
    homes = {}
    for home, given in NAMES.get(module, {}).items():
        for entry in given.split():
            name, _, there = entry.partition("=")
            homes[name] = home, there or name
    modules = frozenset(MODULES.get(module, "").split())

    def resolve(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{module}.{name}")
        if name in homes:
            home, there = homes[name]
            value = getattr(importlib.import_module(home), there)
            setattr(sys.modules[module], name, value)
            return value
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *modules, *homes})

    return resolve, listed
