"""Every row of the manual's table of optimizations is in the modes that the table gives, under its names."""

import io

import pytest

import theano
import theano.tensor as T
from theano.compile.mode import OPT_FAST_RUN, optdb, predefined_optimizers

MODES = ("o4", "o3", "o2", "o1", "Stabilization", "unsafe")

# Row of the table: (what print_summary shows of it, the modes it is in, a tag that leaves it out).
ROWS = {
    "merge": ("MergeOptimizer merge1 ", "o4 o3 o2 o1 unsafe", "merge"),
    "constant folding": ("constant_folding", "o4 o3 o2 o1 unsafe", "constant_folding"),
    "shape promotion": ("local_shape_i_lift", "o4 o3 unsafe", "local_shape_i_lift"),
    "fill cut": ("local_fill_sink", "o4 o3 unsafe", "local_fill_sink"),
    "inc_subtensor srlz.": ("local_IncSubtensor_serialize", "o4 o3 unsafe", "local_IncSubtensor_serialize"),
    "reshape_chain": ("local_reshape_chain", "o4 o3 unsafe", "local_reshape_chain"),
    "const. elimination": ("local_mul_specialize", "o4 o3 unsafe", "local_mul_specialize"),
    "add canonical.": ("local_add_canonizer", "o4 o3 unsafe", "local_add_canonizer"),
    "mul canonical.": ("local_mul_canonizer", "o4 o3 unsafe", "local_mul_canonizer"),
    "dot22": ("local_dot_to_dot22", "o4 o3 unsafe", "dot22"),
    "sparse_dot": ("local_structured_dot", "o4 o3 unsafe", "local_structured_dot"),
    "sum_scalar_mul": ("local_sum_prod_mul_by_scalar", "o4 o3 unsafe", "local_sum_mul_by_scalar"),
    "neg_neg": ("local_neg_neg", "o4 o3 unsafe", "local_neg_neg"),
    "neg_div_neg": ("local_neg_div_neg", "o4 o3 unsafe", "local_neg_div_neg"),
    "add specialize": ("local_add_specialize", "o4 o3 unsafe", "local_add_specialize"),
    "mul specialize": ("local_mul_specialize", "o4 o3 unsafe", "local_mul_specialize"),
    "pow specialize": ("local_pow_specialize at", "o4 o3 unsafe", "local_pow_specialize"),
    "inplace_setsubtensor": ("local_inplace_setsubtensor", "o4", "inplace_setsubtensor"),
    "gemm": ("GemmOptimizer", "o4 o3 unsafe", "gemm"),
    "inplace_elemwise": ("InplaceElemwiseOptimizer", "o4", "inplace_elemwise"),
    "inplace_random": (" random_make_inplace at", "o4", "inplace_random"),
    "elemwise fusion": ("FusionOptimizer", "o4 o3 o2 unsafe", "fusion"),
    "local_log_softmax": ("local_log_softmax", "o4 o3 Stabilization unsafe", "local_log_softmax"),
    "local_remove_all_assert": ("local_remove_all_assert", "unsafe", "local_remove_all_assert"),
}


def summary(query):
    stream = io.StringIO()
    optdb.query(query).print_summary(stream=stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def summaries():
    return {mode: summary(predefined_optimizers[mode]) for mode in MODES}


@pytest.mark.parametrize("row", ROWS)
def test_row_is_in_its_modes(summaries, row):
    if row == "sparse_dot":
        pytest.importorskip("theano.sparse")
        summaries = {mode: summary(predefined_optimizers[mode]) for mode in MODES}
    shown, modes, _ = ROWS[row]
    for mode in modes.split():
        assert shown in summaries[mode], mode
    # What the quick modes leave out and what only `unsafe` has is left out; the table is partial otherwise.
    if row in ("inplace_setsubtensor", "inplace_elemwise", "inplace_random"):
        assert all(shown not in summaries[mode] for mode in ("o3", "o2", "o1", "unsafe"))
    if row == "elemwise fusion":
        assert shown not in summaries["o1"]
    if row == "local_remove_all_assert":
        assert all(shown not in summaries[mode] for mode in MODES if mode != "unsafe")


@pytest.mark.parametrize("row", ROWS)
def test_row_can_be_excluded(row):
    shown, modes, tag = ROWS[row]
    query = predefined_optimizers[modes.split()[0]]
    assert shown not in summary(query.excluding(tag))


def test_names_of_the_modes():
    assert predefined_optimizers["o4"] is predefined_optimizers["fast_run"]
    assert predefined_optimizers["o1"] is predefined_optimizers["fast_compile"]
    assert predefined_optimizers["None"] is predefined_optimizers[None]
    assert predefined_optimizers["Stabilization"] is predefined_optimizers["stabilize"]


def test_including_and_requiring_by_name():
    assert "local_remove_all_assert" in summary(OPT_FAST_RUN.including("local_remove_all_assert"))
    assert "local_alloc_empty_to_zeros" in summary(OPT_FAST_RUN.including("alloc_empty_to_zeros"))
    required = summary(OPT_FAST_RUN.requiring("inplace"))
    assert "InplaceElemwiseOptimizer" in required
    assert "local_mul_specialize" not in required


@pytest.mark.parametrize("name", ["canonicalize", "stabilize", "specialize", "uncanonicalize", "useless"])
def test_databases_print_a_summary(name):
    stream = io.StringIO()
    optdb[name].print_summary(stream=stream)
    assert "names" in stream.getvalue()


def test_each_optimizer_of_the_database_prints_a_summary():
    optimizer = optdb.query(OPT_FAST_RUN)
    for part in optimizer:
        stream = io.StringIO()
        part.print_summary(stream=stream)
        assert type(part).__name__ in stream.getvalue()


def test_verbose_prints_what_fired(capsys):
    x = T.dvector("x")
    with theano.configparser.change_flags(optimizer_verbose=True):
        theano.function([x], T.log(1 + x), mode=theano.Mode("py", "fast_run"))
    assert "local_log1p" in capsys.readouterr().out


def test_stack_traces_of_all_nodes_survive_the_optimizer():
    x, y = T.dmatrices("x", "y")
    w = theano.shared(theano._asarray([[0.1]], "float64"))
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(x, w) + 1), y).mean()
    f = theano.function([x, y], cost, updates=[(w, w - 0.1 * T.grad(cost, w))])
    assert theano.gof.opt.check_stack_trace(f, "last")
    f = theano.function([x, y], T.exp(x + y)[0] * 2)
    assert theano.gof.opt.check_stack_trace(f, [T.Elemwise])
