"""Where the rewrites that look at whole graphs, at loops and at conditionals are tested.

The others have a `Case` in a module `cases_*` (see rewrite_cases.py); test_rewrite_inventory.py compares both with `optdb`.
"""

from __future__ import annotations

_REWRITING = "tests/tensor/rewriting"


def _tests(path: str, *functions: str) -> tuple[str, ...]:
    return tuple(f"{path}::{function}" for function in functions)


_SCAN = "tests/scan_module/rewriting/test_scan_by_name.py::TestLoops"
_BY_NAME = f"{_REWRITING}/test_rewrite_by_name.py::TestConditionalsAndIdentities"
_MATRICES = f"{_REWRITING}/test_rewrite_matrices.py::TestMatrices"
_WHOLE_FILE = f"{_REWRITING}/test_rewrite_whole_graph.py"
_WHOLE = f"{_WHOLE_FILE}::TestWholeGraph"
_MERGING = _tests(_WHOLE_FILE, "test_merging", "test_what_differs_is_not_merged", "test_each_merging_has_its_place")
_RANDOM = _tests(_WHOLE_FILE, "test_states_of_random_numbers_change_in_place", "test_states_that_are_arguments_stay")
_CONVOLUTION = f"{_REWRITING}/test_rewrite_convolution.py"
_CORRELATIONS = _tests(
    _CONVOLUTION,
    "test_abstract_convolutions_become_correlations",
    "test_images_that_broadcast",
    "test_documented_names_are_in_the_group",
)
_OLD_CONVOLUTION = _tests(
    _CONVOLUTION, "test_without_gemm_the_old_convolution", "test_what_no_implementation_is_left_for_is_an_error"
)
_PRINTING = _tests(_WHOLE_FILE, "test_the_graph_is_printed_on_demand_at_its_place")
_NNET = "tests/tensor/nnet"
_NORMALIZATION = _tests(
    f"{_NNET}/test_bn.py", "test_what_a_mode_computes_are_formulas", "test_training", "test_inference", "test_gradients"
)
_BLOCKS = _tests(f"{_NNET}/test_blocksparse.py", "test_overwrites_what_nobody_else_reads")
_SPARSE = "tests/sparse/test_sparse_rewriting.py"
_SPARSE_NATIVE = "tests/sparse/test_sparse_native.py"
_STORED = _tests(_SPARSE, "test_operations_on_values_are_rewritten", "test_a_structured_chain_is_one_kernel_over_the_values")
_CANCELLING = _tests(_SPARSE, "test_places_and_values_that_cancel")
_AT_PLACES = _tests(
    _SPARSE,
    "test_a_structured_gradient_computes_stored_places_only",
    "test_elements_of_a_dense_product_are_computed_at_their_places",
)
_SPARSE_BY_NAME = _tests(_SPARSE, "test_rewrites_of_the_manual_by_name")

#: The registered name -> "tests/...py::test_function" or "::TestClass", or a tuple of several: fires, values and gradients,
#: near miss.
WHOLE_GRAPH: dict[str, str | tuple[str, ...]] = {
    # Merging, checking, printing, preparing.
    "merge": (
        *_tests(_WHOLE_FILE, "test_merging", "test_what_differs_is_not_merged"),
        "tests/scan_module/rewriting/test_scan_by_name.py::test_arguments_that_are_computed_alike_are_merged",
    ),
    **dict.fromkeys(("merge1", "merge1.1", "merge1.2", "merge2", "merge3"), _MERGING),
    **dict.fromkeys(("Print1.21", "Print1.51"), _PRINTING),
    "CheckStackTrace": f"{_WHOLE_FILE}::test_missing_stack_traces_are_found",
    "HintsOpt": f"{_REWRITING}/test_rewrite_matrices.py::test_what_hints_say_is_remembered_by_the_graph",
    "ShapeOpt": _WHOLE,
    "UnShapeOpt": f"{_WHOLE_FILE}::test_shapes_are_forgotten_on_demand",
    "add_destroy_handler": f"{_WHOLE_FILE}::test_nothing_is_destroyed_that_is_needed",
    "add_no_output_from_inplace": _WHOLE,
    # Products, sums of increments, one pass.
    "composite_elemwise_fusion": _WHOLE,
    "gemm_optimizer": _WHOLE,
    "local_add_mul_fusion": _WHOLE,
    "local_alloc_empty_to_zeros": _WHOLE,
    "local_dot22_to_dot22scalar": _WHOLE,
    "local_dot_to_dot22": _WHOLE,
    "local_gemm_to_gemv": _WHOLE,
    "pre_local_IncSubtensor_serialize": _WHOLE,
    # Into the memory of other values.
    "InplaceBlasOpt": _WHOLE,
    "inplace_elemwise_opt": _WHOLE,
    "local_inplace_incsubtensor1": _WHOLE,
    "local_inplace_setsubtensor": _WHOLE,
    "random_make_inplace": _RANDOM,
    "random_make_inplace_mrg": _RANDOM,
    "typed_list_inplace_opt": _tests(
        _WHOLE_FILE, "test_lists_that_nobody_else_needs_change_in_place", "test_lists_that_are_arguments_stay"
    ),
    # Graphs in graphs, and conditionals.
    "inline_ofg_expansion": _BY_NAME,
    "cond_constant": _BY_NAME,
    "cond_make_inplace": _BY_NAME,
    "cond_merge": _BY_NAME,
    "cond_merge_ifs_false": _BY_NAME,
    "cond_merge_ifs_true": _BY_NAME,
    "cond_remove_identical": _BY_NAME,
    "ifelse_lift_single_if_through_acceptable_ops": _BY_NAME,
    "ifelse_lift_zeros": _BY_NAME,
    # Loops.
    "scanOp_keep_values": _SCAN,
    "scanOp_make_inplace": _SCAN,
    "scanOp_merge": _SCAN,
    "scanOp_merge_inouts": _SCAN,
    "scanOp_pushout_nonseqs_ops": _SCAN,
    "scanOp_pushout_output": _SCAN,
    "scanOp_pushout_seqs_ops": _SCAN,
    "scanOp_remove_constants_and_unused_inputs1": _SCAN,
    "scanOp_remove_constants_and_unused_inputs2": _SCAN,
    "scanOp_save_mem": _SCAN,
    "scan_cumulate": _SCAN,
    "scan_mitmot_to_sitsot": _SCAN,
    "scan_optimize_inner": _SCAN,
    "scan_pushout_dot1": _SCAN,
    "scan_remove_dead_outputs": _SCAN,
    "scan_write_out_short_loops": _SCAN,
    # Convolutions.
    "AbstractConvCheck": _tests(
        _CONVOLUTION, "test_what_no_implementation_is_left_for_is_an_error", "test_neither_implementation"
    ),
    "conv_meta": _tests(_CONVOLUTION, "test_implementations_are_timed_on_demand"),
    "local_abstractconv3d_gemm": _CORRELATIONS,
    "local_abstractconv3d_gradinputs_gemm": _CORRELATIONS,
    "local_abstractconv3d_gradweight_gemm": _CORRELATIONS,
    "local_abstractconv_gemm": _CORRELATIONS,
    "local_abstractconv_gradinputs_gemm": _CORRELATIONS,
    "local_abstractconv_gradweight_gemm": _CORRELATIONS,
    "local_conv2d_cpu": (*_OLD_CONVOLUTION, *_tests(_CONVOLUTION, "test_strides_of_the_old_convolution")),
    "local_conv2d_gradinputs_cpu": _OLD_CONVOLUTION,
    "local_conv2d_gradweight_cpu": _OLD_CONVOLUTION,
    "local_inplace_DiagonalSubtensor": "tests/tensor/nnet/test_old_convolutions.py::test_diagonals_in_graphs",
    # Matrices.
    "inv_as_solve": _MATRICES,
    "local_det_chol": _MATRICES,
    "no_transpose_symmetric": _MATRICES,
    "psd_solve_with_chol": _MATRICES,
    "remove_hint_nodes": _MATRICES,
    "tag_solve_triangular": _MATRICES,
    "transinv_to_invtrans": _MATRICES,
    # Normalization, blocks, CTC.
    "inplace_sparse_block_gemv": _BLOCKS,
    "inplace_sparse_block_outer": _BLOCKS,
    "local_abstract_batch_norm_inference": _NORMALIZATION,
    "local_abstract_batch_norm_train": _NORMALIZATION,
    "local_abstract_batch_norm_train_grad": _NORMALIZATION,
    "local_ctc_no_grad": _tests(f"{_NNET}/test_ctc.py", "test_what_nobody_reads_is_not_computed"),
    # Sparse matrices.
    "local_addsd_ccode": _SPARSE_BY_NAME,
    "local_add_rows": _tests(_SPARSE_NATIVE, "TestEmbeddings"),
    "local_compare_s_d": _tests(_SPARSE, "test_comparisons_with_dense_matrices_are_of_dense_ones"),
    "local_csm_data": _tests(_SPARSE_NATIVE, "test_values_alone_need_no_indices"),
    "local_csm_grad_c": _tests(_SPARSE, "test_a_gradient_through_the_stored_values_keeps_their_places"),
    "local_csm_properties_csm": _CANCELLING,
    "local_dense_from_sparse_sparse_from_dense": _CANCELLING,
    "local_dot_with_values": _tests(_SPARSE, "test_the_product_of_a_chain_needs_no_matrix"),
    "local_inplace_addsd_ccode": _SPARSE_BY_NAME,
    "local_inplace_remove0": _tests(_SPARSE, "test_zeros_are_removed_in_place_of_what_may_change"),
    "local_mul_s_d": _STORED,
    "local_mul_s_v": _STORED,
    "local_places": _CANCELLING,
    "local_sampling_dot_csr": _STORED,
    "local_scale": _STORED,
    "local_sp_sum": _STORED,
    "local_sparse_to_values": _STORED,
    "local_sparse_transpose": _CANCELLING,
    "local_square_diagonal": _tests(_SPARSE, "test_a_diagonal_is_made_of_its_parts"),
    "local_stored_values": _CANCELLING,
    "local_structured_add_s_v": _STORED,
    "local_structured_dot": _STORED,
    "local_usmm": _tests(_SPARSE, "test_a_difference_with_a_scaled_product_is_one_operation_of_blas"),
    "local_usmm_csc_dense_inplace": _SPARSE_BY_NAME,
    "local_usmm_csx": _SPARSE_BY_NAME,
    "local_values_at": (*_CANCELLING, *_AT_PLACES),
    "local_values_at_of_alloc": _tests(_SPARSE, "test_values_of_what_is_dense_are_read_where_they_are"),
    "local_values_at_of_dense": _tests(_SPARSE, "test_values_of_what_is_dense_are_read_where_they_are"),
    "local_with_own_values": _CANCELLING,
}
