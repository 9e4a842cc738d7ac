"""Names whose home is another module: the tables, resolved when a name is first asked for.

A package of a lower layer may so document a name of a higher one without importing it, and what few programs need is
not imported with the package. Nothing inside the package uses these names: it imports from the homes.

Documented names (`NAMES`, `MODULES`) are bound by the module itself, with :func:`lazy`. What modules of the original had
only because they used it themselves, `gof` in ``theano.ifelse``, say, programs import from there as well; nobody
documents it, and the modules here know nothing of it: :func:`pass_on` has the import system bind it (`PASSED_ON`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import ModuleType
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
    "theano.compile": {
        "theano.compile.debugmode": "DebugMode",
        "theano.compile.monitormode": "MonitorMode",
        "theano.compile.nanguardmode": "NanGuardMode",
    },
    "theano.distributed": {
        "theano.distributed.collectives": (
            "all_gather all_reduce all_reduce_together all_to_all broadcast reduce reduce_scatter"
        ),
        "theano.distributed.communicator": "Communicator named world",
        "theano.distributed.optimizers": "adam momentum sgd",
        "theano.distributed.traces": "Trace trace",
        "theano.distributed.training": "TrainingStep data_parallel",
        "theano.distributed.workers": "Sent map_blocks ray_actor",
        "theano.distributed.exchange": "DistributedError",
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
    "theano.misc": {"theano.misc.foreign_functions": "wrap_jax wrap_torch"},
    "theano.printing": {
        "theano.compile.passes": "OptimizationTrace Pass",
        "theano.compile.formula": "latex",
        "theano.printing.colored": "rich_tree",
        "theano.printing.identities": "RewriteRule print_rules rewrite_rules",
    },
}

#: For each package those of its modules that are imported when they are first asked for.
MODULES: dict[str, str] = {
    "theano": "d3viz distributed gpuarray ifelse misc sandbox scan_module sparse typed_list tests version",
    "theano.compile": "debug_errors debug_tracker debugmode monitormode nanguardmode",
    "theano.gof": "cc cmodule callcache compilelock cop sched",
    "theano.sparse": "sandbox tests",
    "theano.tensor": "blas_c blas_scipy fft io nlinalg opt_uncanonicalize shared_randomstreams signal slinalg tests utils",
    "theano.tensor.signal": "conv downsample pool tests",
}


#: Where the names stand that many modules of the original passed on, because they used them; ``new=old`` as above, and
#: nothing after the sign for the module itself.
HOMES: dict[str, str] = {
    "logging": "logging=",
    "theano": "T=tensor compat compile gof gpuarray gradient printing scal=scalar scalar tensor theano",
    "theano.compat": (
        "DefaultOrderedDict PY3 cmp decode decode_iter decode_with get_unbound_function integer_types "
        "maybe_add_to_os_environ_pathlist string_types"
    ),
    "theano.compile": "builders debugmode function ops",
    "theano.compile.builders": "inline_ofg_expansion",
    "theano.compile.debugmode": "DebugMode",
    "theano.compile.function_module": "Function infer_reuse_pattern orig_function",
    "theano.compile.io": "In Out",
    "theano.compile.mode": "AddFeatureOptimizer FAST_RUN filter_mode get_mode register_mode",
    "theano.compile.ops": "Shape_i ViewOp deep_copy_op view_op",
    "theano.compile.pfunc": "rebuild_collect_shared",
    "theano.compile.profiling": "ProfileStats ScanProfileStats",
    "theano.compile.sharedvalue": "SharedVariable shared",
    "theano.configdefaults": "config local_bitwidth",
    "theano.configparser": "TheanoConfigParser change_flags",
    "theano.gof": "compilelock dh=destroyhandler graph link op toolbox unify utils",
    "theano.gof.callcache": "CallCache",
    "theano.gof.cmodule": "GCC_compiler",
    "theano.gof.compilelock": "get_lock release_lock",
    "theano.gof.cstruct": (
        "CodeBlock apply_policy code_gen failure_code failure_code_init get_c_cleanup get_c_declare get_c_extract "
        "get_c_extract_out get_c_init get_c_sync get_nothing struct_gen struct_variable_codeblocks"
    ),
    "theano.gof.destroyhandler": "DestroyHandler",
    "theano.gof.dynamic_module": (
        "DynamicModule ExtFunction METH_NOARGS METH_VARARGS dlimport dlimport_workdir get_module_hash get_safe_part "
        "is_same_entry last_access_time module_name_from_dir"
    ),
    "theano.gof.fg": "FunctionGraph InconsistencyError",
    "theano.gof.graph": "Apply Constant Variable io_connection_pattern is_same_graph list_of_nodes view_roots",
    "theano.gof.module_cache": "KeyData ModuleCache get_module_cache",
    "theano.gof.null_type": "NullType",
    "theano.gof.op": "COp Op OpenMPOp PureOp get_debug_values ops_with_inner_function",
    "theano.gof.opt": (
        "EquilibriumOptimizer Optimizer copy_stack_trace in2out inherit_stack_trace local_optimizer pre_constant_merge "
        "pre_greedy_local_optimizer"
    ),
    "theano.gof.optdb": "SequenceDB",
    "theano.gof.params_type": "ParamsType c_cpp_keywords",
    "theano.gof.rewriting.stages": "optdb",
    "theano.gof.sched": "key_to_cmp",
    "theano.gof.toolbox": "NoOutputFromInplace ReplacementDidntRemovedError",
    "theano.gof.type": "EnumList Generic Type generic",
    "theano.gof.utils": "ANY_TYPE FALL_THROUGH MethodNotDefined comm_guard flatten hash_from_code hashtype object2 remove",
    "theano.gpuarray.type": "GpuArrayType",
    "theano.gradient": "DisconnectedType disconnected_type grad_not_implemented grad_undefined undefined_grad",
    "theano.misc": "cpucount windows",
    "theano.misc.cpucount": "cpuCount",
    "theano.misc.ordered_set": "OrderedSet",
    "theano.misc.windows": "call_subprocess_Popen output_subprocess_Popen subprocess_Popen",
    "theano.printing": "FunctionPrinter debugprint min_informative_str pprint",
    "theano.scalar.basic": (
        "BinaryScalarOp ComplexError IntegerDivisionError NumpyAutocaster UnaryScalarOp as_scalar exp float32 float64 "
        "get_scalar_type int32 int64 upcast upgrade_to_float upgrade_to_float64 upgrade_to_float_no_complex"
    ),
    "theano.scalar.float32_graphs": "Compositef32 composite_f32 handle_cast handle_composite",
    "theano.scalar.type": "bool_t=bool complex_types discrete_types float_types",
    "theano.scan_module": "scan_op scan_utils",
    "theano.scan_module.scan_utils": "clone equal_computations forced_replace safe_new scan_args",
    "theano.sparse.type": "SparseType",
    "theano.tensor": "basic elemwise nlinalg opt",
    "theano.tensor.basic": (
        "Alloc AllocEmpty Dot Join NotScalarConstantError Reshape as_tensor_variable cast check_and_normalize_axes "
        "check_equal_numpy constructor extract_diag get_scalar_constant_value get_vector_length numpy_diagonal_return_view "
        "setdefault"
    ),
    "theano.tensor.blas": "Dot22 Gemv Ger gemv_inplace gemv_no_inplace ger ger_destructive ldflags",
    "theano.tensor.blas_headers": (
        "blas_header_text blas_header_version check_init_y check_mkl_openmp default_blas_ldflags try_blas_flag"
    ),
    "theano.tensor.conversion": "get_scalar_constant_value_elemwises",
    "theano.tensor.decompositions": "eig eigh",
    "theano.tensor.elemwise": "CAReduce DimShuffle",
    "theano.tensor.io": (
        "LoadFromDisk MPIRecv MPIRecvWait MPISend MPISendWait mpi_enabled mpi_keys mpi_send_wait_cmp mpi_send_wait_key "
        "mpi_tag_cmp mpi_tag_key"
    ),
    "theano.tensor.nlinalg": "alloc_diag diag inv_as_solve trace",
    "theano.tensor.nnet.activations": "softsign",
    "theano.tensor.nnet.neighbours": "Images2Neibs images2neibs neibs2images",
    "theano.tensor.opt": "register_uncanonicalize",
    "theano.tensor.rewriting.blas": "blas_optdb",
    "theano.tensor.rewriting.elemwise": "local_dimshuffle_lift",
    "theano.tensor.rewriting.gemm_terms": "_factor_canonicalized _gemm_canonicalize res_is_a",
    "theano.tensor.rewriting.unregistered": (
        "attempt_distribution distribute_greedy local_inv_canon local_print_as_we_go_along local_useless_tile local_view_op "
        "merge_broadcastables"
    ),
    "theano.tensor.slicing": "AdvancedBooleanIndexingError check_advanced_indexing_dimensions check_and_reject_bool",
    "theano.tensor.slinalg": "eigvalsh imported_scipy solve",
    "theano.tensor.sort": "TopKOp local_useless_topk",
    "theano.tensor.subtensor": (
        "AdvancedIncSubtensor Subtensor advanced_inc_subtensor1 advanced_subtensor advanced_subtensor1 make_constant "
        "set_subtensor"
    ),
    "theano.tensor.type": "TensorType values_eq_approx_remove_inf values_eq_approx_remove_inf_nan values_eq_approx_remove_nan",
    "theano.tensor.type_other": "NoneConst NoneTypeT as_int_none_variable make_slice",
    "theano.tensor.utils": "hash_from_ndarray",
    "theano.tensor.var": "TensorVariable",
}

#: What the modules of the original passed on, and nobody documents: programs import it from there, `dir` does not list it.
#: A name stands in `HOMES`, or its place follows it, ``name=module:attribute``.
PASSED_ON: dict[str, str] = {
    "theano": "PY3 pathparse=theano.pathparse: utils",
    "theano.compile": (
        "DUPLICATE=theano.compile.function_object:DUPLICATE DisconnectedType "
        "NODEFAULT=theano.compile.function_object:NODEFAULT NullType Variable config gof graph inline_ofg_expansion "
        "instantiated_default_mode=theano.compile.mode:instantiated_default_mode io_connection_pattern is_same_graph "
        "ops_with_inner_function sandbox=theano.compile.sandbox: string_types theano"
    ),
    "theano.compile.builders": "DisconnectedType gof io_connection_pattern theano",
    "theano.compile.debugmode": (
        "Function debugprint=theano.printing.debug:print_tree get_unbound_function graph infer_reuse_pattern link "
        "ops_with_inner_function register_mode theano utils"
    ),
    "theano.compile.function": "compat orig_function string_types",
    "theano.compile.function_module": (
        "NODEFAULT=theano.compile.function_object:NODEFAULT graph is_same_graph ops_with_inner_function string_types theano "
        "view_op"
    ),
    "theano.compile.io": "SharedVariable string_types",
    "theano.compile.mode": "string_types theano",
    "theano.compile.monitormode": "theano",
    "theano.compile.nanguardmode": "GpuArrayType T get_mode theano",
    "theano.compile.ops": "gof integer_types theano",
    "theano.compile.pfunc": "Out ProfileStats shared",
    "theano.compile.profiling": "graph theano",
    "theano.compile.sharedvalue": "utils",
    "theano.configdefaults": (
        "THEANO_FLAGS_DICT=theano.configparser:THEANO_FLAGS_DICT TheanoConfigParser call_subprocess_Popen check_mkl_openmp "
        "cpuCount default_blas_ldflags filter_mode maybe_add_to_os_environ_pathlist output_subprocess_Popen string_types "
        "theano try_blas_flag"
    ),
    "theano.configparser": "PY3 string_types theano",
    "theano.d3viz.formatting": "Function builders gof theano",
    "theano.gof": "theano",
    "theano.gof.cc": (
        "CallCache CodeBlock PY3 apply_policy code_gen failure_code failure_code_init get_c_cleanup get_c_declare "
        "get_c_extract get_c_extract_out get_c_init get_c_sync get_lock "
        "get_module_cache=theano.gof.module_cache:get_default_cache get_nothing "
        "get_persistent_module_cache=theano.gof.module_cache:get_default_cache graph link release_lock string_types struct_gen "
        "struct_variable_codeblocks theano utils"
    ),
    "theano.gof.cmodule": (
        "DynamicModule ExtFunction KeyData METH_NOARGS METH_VARARGS ModuleCache PY3 compilelock decode decode_iter dlimport "
        "dlimport_workdir flatten gcc_version_str=theano.configdefaults:gcc_version_str get_module_cache get_module_hash "
        "get_safe_part hash_from_code is_same_entry last_access_time local_bitwidth module_name_from_dir "
        "output_subprocess_Popen string_types subprocess_Popen theano"
    ),
    "theano.gof.compiledir": "flatten string_types theano",
    "theano.gof.compilelock": "PY3 config",
    "theano.gof.destroyhandler": "OrderedSet theano",
    "theano.gof.fg": "OrderedSet theano utils",
    "theano.gof.graph": (
        "OrderedSet equal_computations integer_types "
        "is_same_graph_with_merge=theano.gof.rewriting.merge:is_same_graph_with_merge string_types theano utils"
    ),
    "theano.gof.link": "Type graph theano undef=theano.gof.utils:undef",
    "theano.gof.op": "FunctionGraph GCC_compiler PY3 graph theano",
    "theano.gof.opt": (
        "InconsistencyError OrderedSet config dh graph integer_types logging "
        "merge_dict=theano.gof.rewriting.profiles:add_values op string_types theano toolbox unify utils"
    ),
    "theano.gof.optdb": "DefaultOrderedDict integer_types",
    "theano.gof.sched": "cmp list_of_nodes",
    "theano.gof.toolbox": "theano",
    "theano.gof.type": "Op change_flags graph object2 string_types theano utils",
    "theano.gof.unify": "ANY_TYPE FALL_THROUGH comm_guard",
    "theano.gof.utils": "MetaObject=theano.gof.meta:PropsType PY3 c_cpp_keywords integer_types string_types",
    "theano.gof.vm": "theano",
    "theano.gradient": (
        "DebugMode FAST_RUN ViewOp get_debug_values get_mode gof mode_not_slow=theano.gradient_check:mode_not_slow tensor "
        "theano utils"
    ),
    "theano.ifelse": (
        "Op TensorType acceptable_ops=theano.ifelse_rewriting:acceptable_ops clone "
        "cond_merge_random_op=theano.ifelse_rewriting:cond_merge_random_op gof opt optdb theano"
    ),
    "theano.misc": "cpucount windows",
    "theano.misc.elemwise_openmp_speedup": "decode_with theano",
    "theano.misc.may_share_memory": "SparseType TensorType gpuarray",
    "theano.misc.ordered_set": "string_types",
    "theano.misc.pkl_utils": "PY3 config string_types theano",
    "theano.misc.safe_asarray": "theano",
    "theano.printing": (
        "Apply Function Op SharedVariable VALID_ASSOC=theano.printing.pretty:VALID_ASSOC config debugmode gof integer_types "
        "string_types theano use_ascii=theano.printing.pretty:use_ascii"
    ),
    "theano.raise_op": "gof",
    "theano.sandbox.fourier": "Apply Op generic tensor",
    "theano.sandbox.linalg": "alloc_diag diag eig eigh eigvalsh extract_diag trace",
    "theano.sandbox.linalg.ops": (
        "Dot Dot22 imported_scipy integer_types inv_as_solve local_log_pow=theano.tensor.rewriting.stability_log:local_log_pow "
        "local_log_prod_sqr=theano.tensor.rewriting.stability_log:local_log_pow tensor theano"
    ),
    "theano.sandbox.minimal": "function gof tensor utt=theano.tests.unittest_tools:",
    "theano.sandbox.multinomial": "T as_scalar theano",
    "theano.sandbox.neighbours": "Images2Neibs images2neibs neibs2images",
    "theano.sandbox.rng_mrg": (
        "ParamsType TensorType as_tensor_variable bool_t cast function get_vector_length int_t=theano.scalar.type:int32 "
        "integer_types opt scal string_types undefined_grad"
    ),
    "theano.sandbox.softsign": "softsign",
    "theano.sandbox.solve": "solve",
    "theano.scalar": (
        "Apply Compositef32 Constant DisconnectedType FunctionGraph NumpyAutocaster Op Type Variable composite_f32 gof "
        "grad_not_implemented grad_undefined handle_cast handle_composite "
        "imported_scipy_special=theano.scalar.special:imported_scipy_special pprint printing theano utils"
    ),
    "theano.scalar.basic": (
        "Apply Compositef32 Constant DisconnectedType FunctionGraph Op Type Variable composite_f32 gof grad_undefined "
        "handle_cast handle_composite pprint printing theano utils"
    ),
    "theano.scalar.basic_scipy": (
        "BinaryScalarOp UnaryScalarOp complex_types discrete_types exp float_types grad_not_implemented "
        "imported_scipy_special=theano.scalar.special:imported_scipy_special theano upcast upgrade_to_float upgrade_to_float64 "
        "upgrade_to_float_no_complex"
    ),
    "theano.scalar.basic_sympy": "Apply as_scalar float32 float64 int64 remove",
    "theano.scalar.sharedvar": "integer_types",
    "theano.scan_module.scan": "compile function gof integer_types ops opt scan_op scan_utils tensor",
    "theano.scan_module.scan_checkpoints": "Join theano",
    "theano.scan_module.scan_op": (
        "AddFeatureOptimizer DisconnectedType In NoOutputFromInplace NullType Out PureOp ScanProfileStats Shape_i compile "
        "config forced_replace function gof grad_undefined gradient integer_types io_connection_pattern safe_new scan_utils "
        "string_types tensor theano"
    ),
    "theano.scan_module.scan_opt": (
        "Alloc AllocEmpty DestroyHandler InconsistencyError Optimizer deep_copy_op equal_computations "
        "get_scalar_constant_value gof integer_types maxsize=sys:maxsize opt pre_constant_merge pre_greedy_local_optimizer "
        "scalar scan_args scan_op scan_seqopt1=theano.scan_module.scan_opt:scan_eqopt1 scan_utils tensor theano toolbox"
    ),
    "theano.scan_module.scan_utils": (
        "DEPRECATED_ARG=theano.compile.rebuild:DEPRECATED_ARG compat get_scalar_constant_value gof rebuild_collect_shared "
        "scalar string_types tensor theano"
    ),
    "theano.tensor": (
        "AdvancedBooleanIndexingError DisconnectedType Generic LoadFromDisk MPIRecv MPIRecvWait MPISend MPISendWait "
        "MethodNotDefined ParamsType Type as_int_none_variable check_advanced_indexing_dimensions check_and_normalize_axes "
        "check_and_reject_bool check_equal_numpy constructor elemwise_cgen=theano.tensor.elemwise_cgen: "
        "get_scalar_constant_value_elemwises grad_not_implemented grad_undefined hashtype "
        "inc_code=theano.tensor.inc_code:inc_code int32 int32_t=theano.scalar.type:int32 integer_types key_to_cmp "
        "min_informative_str mpi_enabled mpi_keys mpi_send_wait_cmp mpi_send_wait_key mpi_tag_cmp mpi_tag_key "
        "numpy_diagonal_return_view printing setdefault"
    ),
    "theano.tensor.basic": (
        "Apply Constant DisconnectedType Generic NoneConst Op ParamsType Variable compile elemwise "
        "get_scalar_constant_value_elemwises grad_not_implemented grad_undefined int32 int32_t=theano.scalar.type:int32 "
        "integer_types min_informative_str pprint printing theano"
    ),
    "theano.tensor.blas": (
        "EquilibriumOptimizer FunctionPrinter Optimizer ParamsType ReplacementDidntRemovedError SequenceDB "
        "T=theano.tensor:basic _factor_canonicalized _gemm_canonicalize bool_t check_init_y config debugprint "
        "have_fblas=theano.tensor.blas_scipy:have_fblas in2out inherit_stack_trace local_dimshuffle_lift local_optimizer "
        "local_print_as_we_go_along optdb pprint res_is_a toolbox utils values_eq_approx_remove_inf_nan view_roots"
    ),
    "theano.tensor.blas_c": (
        "Gemv Ger ParamsType T=theano.tensor:basic blas_header_text blas_header_version blas_optdb bool_t config gemv_inplace "
        "gemv_no_inplace ger ger_destructive in2out ldflags local_optimizer "
        "make_c_gemv_destructive=theano.tensor.rewriting.blas:local_inplace_gemv "
        "make_c_ger_destructive=theano.tensor.rewriting.blas:local_inplace_ger optdb"
    ),
    "theano.tensor.blas_headers": "GCC_compiler",
    "theano.tensor.blas_scipy": "Ger blas_optdb ger ger_destructive in2out local_optimizer optdb",
    "theano.tensor.elemwise": (
        "COp OpenMPOp ParamsType TensorVariable cgen=theano.tensor.elemwise_cgen: change_flags get_scalar_type gof "
        "integer_types pprint scalar theano"
    ),
    "theano.tensor.elemwise_cgen": "theano",
    "theano.tensor.extra_ops": (
        "EnumList Generic ParamsType basic disconnected_type gof gradient int_t=theano.scalar.type:int32 nlinalg scalar "
        "tensor=theano.tensor:basic theano"
    ),
    "theano.tensor.fft": "T gof",
    "theano.tensor.fourier": "gof tensor",
    "theano.tensor.inplace": "elemwise",
    "theano.tensor.io": "gof tensor=theano.tensor.basic:tensor theano",
    "theano.tensor.nlinalg": "theano",
    "theano.tensor.opt": (
        "AdvancedIncSubtensor DisconnectedType MakeVectorPrinter=theano.tensor.from_scalars:MakeVectorPrinter Reshape TopKOp "
        "advanced_inc_subtensor1 advanced_subtensor advanced_subtensor1 attempt_distribution basic=theano.scalar:basic compile "
        "distribute_greedy gof graph integer_types local_erf_minus_one=theano.tensor.rewriting.stability:local_one_minus_erf "
        "local_erf_neg_minus_one2=theano.tensor.rewriting.stability:local_one_minus_erfc "
        "local_erf_neg_minus_one=theano.tensor.rewriting.stability:local_one_minus_erfc local_inv_canon "
        "local_one_add_neg_erfc=theano.tensor.rewriting.stability:local_one_minus_erfc "
        "local_one_minus_erf2=theano.tensor.rewriting.stability:local_one_minus_erf "
        "local_one_minus_erfc2=theano.tensor.rewriting.stability:local_one_minus_erfc "
        "local_one_minus_erfc3=theano.tensor.rewriting.stability:local_one_minus_erfc "
        "local_one_plus_erf=theano.tensor.rewriting.stability:local_one_minus_erf "
        "local_one_plus_neg_erf=theano.tensor.rewriting.stability:local_one_minus_erf local_useless_tile local_useless_topk "
        "local_view_op make_constant merge_broadcastables opt=theano.gof:opt pre_constant_merge pre_greedy_local_optimizer "
        "values_eq_approx_remove_inf values_eq_approx_remove_inf_nan values_eq_approx_remove_nan"
    ),
    "theano.tensor.opt_uncanonicalize": (
        "CAReduce DimShuffle Subtensor T=theano.tensor:basic copy_stack_trace gof register_uncanonicalize scal"
    ),
    "theano.tensor.raw_random": "opt string_types",
    "theano.tensor.sharedvar": "integer_types theano",
    "theano.tensor.slinalg": "theano",
    "theano.tensor.sort": "set_subtensor theano",
    "theano.tensor.subtensor": (
        "AdvancedBooleanIndexingError Apply DisconnectedType MethodNotDefined NoneConst NoneTypeT NotScalarConstantError Op "
        "ParamsType Type check_advanced_indexing_dimensions check_and_reject_bool config get_scalar_constant_value gof "
        "hashtype inc_code=theano.tensor.inc_code:inc_code integer_types make_slice pprint scal theano"
    ),
    "theano.tensor.type": "hashtype theano",
    "theano.tensor.type_other": "Type hashtype theano",
    "theano.tensor.utils": "theano",
    "theano.tensor.var": "ComplexError IntegerDivisionError PY3 hash_from_ndarray hashtype integer_types theano",
    "theano.tensor.xlogx": "scalar",
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
        return _passed_on(module, name)

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *modules, *homes})

    return resolve, listed


@cache
def passed_on(module: str) -> dict[str, tuple[str, str]]:
    """Return the names that a module passes on: for each the module where it stands and its name there, '' for the module."""
    return {
        name: tuple(place.split(":")) if place else _homes()[name]
        for name, _, place in (entry.partition("=") for entry in PASSED_ON.get(module, "").split())
    }


@cache
def _homes() -> dict[str, tuple[str, str]]:
    homes = {}
    for home, given in HOMES.items():
        for entry in given.split():
            name, sign, there = entry.partition("=")
            homes[name] = home, there if sign else name
    return homes


def _passed_on(module: str, name: str) -> Any:
    if name.startswith("__") or name not in passed_on(module):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    home, there = passed_on(module)[name]
    if home == module and there == name:
        # One of its own modules.
        return importlib.import_module(f"{module}.{there}")
    value: Any = importlib.import_module(home)
    if there:
        value = getattr(value, there)
    setattr(sys.modules[module], name, value)
    return value


def _first_of(own: Callable[[str], Any], ours: Callable[[str], Any], name: str) -> Any:
    try:
        return own(name)
    except AttributeError:
        return ours(name)


class _Loader:
    """Loads as another loader does, and gives the module its ``__getattr__`` first; nothing else shows that it was here."""

    def __init__(self, loader: Any):
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        if name == "_loader" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._loader
        ours = vars(module)["__getattr__"] = partial(_passed_on, module.__name__)
        self._loader.exec_module(module)
        own = vars(module)["__getattr__"]
        if own is not ours:
            vars(module)["__getattr__"] = partial(_first_of, own, ours)


class _Finder:
    """Finds the modules that pass names on, as the other finders do."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name not in PASSED_ON:
            return None
        # Those before it were asked already, and may ask it themselves.
        own = next((k for k, finder in enumerate(sys.meta_path) if finder is self), -1)
        for finder in sys.meta_path[own + 1 :]:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def pass_on() -> None:
    """Have the modules that are imported from now on pass on what `PASSED_ON` says, besides what they have themselves."""
    # An import of this module before, whose modules a program has forgotten, has left one.
    sys.meta_path[:] = [f for f in sys.meta_path if (type(f).__module__, type(f).__name__) != (__name__, "_Finder")]
    sys.meta_path.insert(0, _Finder())
