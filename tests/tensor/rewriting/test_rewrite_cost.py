"""The work of rewriting grows with the number of nodes, not faster."""

import sys

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.gof import FunctionGraph
from theano.gof.opt import in2out
from theano.tensor import opt
from theano.tensor.blas import Dot22


def calls_to_rewrite(build, length, x=None):
    """How many Python functions are called to rewrite a graph of the given length."""
    if x is None:
        x = T.dvector("x")
    outputs = build(x, length)
    fgraph = FunctionGraph([x], outputs if isinstance(outputs, list) else [outputs], clone=True)
    fgraph.attach_feature(theano.compile.function_module.Supervisor(list(fgraph.inputs)))
    optimizer = theano.Mode("py", "fast_run").optimizer
    count = 0

    def tick(frame, event, argument):
        nonlocal count
        count += event == "call"

    with theano.config.change_flags(**{"traceback.limit": 0}):
        sys.setprofile(tick)
        try:
            optimizer.optimize(fgraph)
        finally:
            sys.setprofile(None)
    return count


def chain(x, length):
    y = x
    for i in range(length):
        y = T.tanh(y) if i % 2 else y * x
    return y


def gradient_of_chain(x, length):
    return T.grad(chain(x, length).sum(), x)


def sum_of_many(x, length):
    total = x
    for i in range(length):
        total = total + T.sin(x * i)
    return total


def product_of_many(x, length):
    y = x
    for _ in range(length):
        y = T.exp(-y)
    return T.grad(y.sum(), x)


def slices(x, length):
    return sum(T.exp(x[i : i + 2]) for i in range(length))


def gradient_of_elements(x, length):
    # The sums of the gradient are nested, and each has increments in it.
    return T.grad(sum(T.sqr(x[i]) for i in range(length // 2)), x)


def sum_with_ones(x, length):
    t = x
    for _ in range(length):
        t = t + T.ones_like(t) * x
    return t


def length_of_joined(x, length):
    # One sum whose terms are all the same.
    t = x
    for _ in range(length):
        t = T.concatenate([t, x])
    return t.shape[0]


def transposed_each_time(A, length):
    t = A
    for i in range(length):
        t = T.sin(t.T) + i
    return t


def reshaped_each_time(A, length):
    t = A
    for _ in range(length):
        t = T.sin(t.flatten()).reshape(A.shape)
    return t


def products_transposed(A, length):
    t = A
    for _ in range(length):
        t = T.dot(A, t).T * 0.5
    return t


def one_transpose_of_products(A, length):
    t = A
    for _ in range(length):
        t = T.dot(A, t)
    return t.T


def sum_of_products_with_vectors(A, length):
    # Each product needs memory of its own to be added to.
    return sum(T.dot(A, A[i]) * A[0, i] for i in range(length))


def increments_beside_outputs(x, length):
    # Each step in place is checked against all outputs.
    y = x
    for i in range(length):
        y = T.inc_subtensor(y[i], 1)
    return [T.sin(x[i : i + 3]) for i in range(length)] + [y]


VECTOR = [
    chain, gradient_of_chain, sum_of_many, product_of_many, slices, gradient_of_elements, increments_beside_outputs,
    sum_with_ones, length_of_joined,
]  # fmt: skip
MATRIX = [transposed_each_time, reshaped_each_time, products_transposed, one_transpose_of_products, sum_of_products_with_vectors]


@pytest.mark.parametrize("build", VECTOR + MATRIX)
def test_calls_grow_linearly(build):
    x = T.dmatrix("A") if build in MATRIX else T.dvector("x")
    calls_to_rewrite(build, 10, x)
    small, large = calls_to_rewrite(build, 60, x), calls_to_rewrite(build, 240, x)
    assert large <= 4 * small * 1.4, (small, large, large / small)


@pytest.mark.parametrize("build", [transposed_each_time, products_transposed, one_transpose_of_products])
def test_transposes_of_a_long_chain_do_not_exhaust_the_stack(build):
    A = T.dmatrix("A")
    fgraph = FunctionGraph([A], [build(A, 1100)], clone=True)
    in2out(opt.local_dimshuffle_lift, opt.local_lift_transpose_through_dot).optimize(fgraph)
    assert all(node.inputs[0].owner is None for node in fgraph.apply_nodes if isinstance(node.op, T.DimShuffle))


def test_what_is_moved_as_one_computes_the_same():
    A = T.dmatrix("A")
    x = T.dvector("x")
    t = A
    for i in range(5):
        t = T.tanh(t.T[::-1] * (i + 1)) - x.dimshuffle("x", 0) * T.dot(t.T, A).T.reshape((3, 3))
    v = T.sin(T.tanh(t)[1:])[:, 1:].T.flatten()
    values = [np.linspace(-1, 1, 9).reshape(3, 3), np.array([0.5, -1, 2])]
    plain, rewritten = (theano.function([A, x], [t, v], mode=theano.Mode("py", o))(*values) for o in (None, "fast_run"))
    for a, b in zip(plain, rewritten, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-9)


def test_losses_of_labels_plus_and_minus_one_come_to_rest(caplog):
    A, y, w = T.dmatrix("A"), T.dvector("y"), T.dvector("w")
    z = T.dot(A, w)
    losses = [
        T.nnet.softplus(-(2 * y - 1) * z),
        -y * T.log(1 / (1 + T.exp(-z))) - (1 - y) * T.log(1 - 1 / (1 + T.exp(-z))),
        T.nnet.binary_crossentropy(T.nnet.sigmoid(z), y),
        (y - 1) * T.tanh((y - 1) * z),
    ]
    for loss in losses:
        theano.function([A, y, w], T.grad(loss.sum(), w), mode=theano.Mode("py", "fast_run"))
    assert "max'ed out" not in caplog.text


def test_nothing_is_computed_twice_for_a_reshape():
    A = T.dmatrix("A")
    t = T.tanh(A)
    f = theano.function([A], [t, t.flatten()], mode=theano.Mode("py", "fast_run"))
    assert sum(isinstance(node.op, T.Elemwise) for node in f.maker.fgraph.apply_nodes) == 1


def test_no_product_is_computed_twice_for_a_transpose():
    A, B, C = T.dmatrices("A", "B", "C")
    hidden = T.dot(A, B)
    loss = T.sqr(T.dot(hidden, C)).sum()
    mode = theano.Mode("py", "fast_run")
    f = theano.function([A, B, C], [loss, *T.grad(loss, [B, C])], mode=mode)
    assert sum(isinstance(node.op, Dot22) for node in f.maker.fgraph.apply_nodes) == 5
    shared = T.dot(A, T.tanh(T.dot(B, C)))
    f = theano.function([A, B, C], [shared, T.exp(shared.T)], mode=mode)
    assert sum(isinstance(node.op, Dot22) for node in f.maker.fgraph.apply_nodes) == 2
    values = np.random.RandomState(1).rand(3, 3, 3)
    whole, turned = f(*values)
    np.testing.assert_allclose(turned, np.exp(whole.T))
    np.testing.assert_allclose(whole, values[0] @ np.tanh(values[1] @ values[2]))


def test_increments_of_nested_sums_follow_each_other():
    x = T.dvector("x")
    a = T.inc_subtensor(T.sin(x)[1:2], 1)
    b = T.inc_subtensor(T.cos(x)[2:], 2)
    kept = T.inc_subtensor(T.exp(x)[0], 3)
    out = T.add(T.add(T.add(a, x * x), b), kept)
    fgraph = FunctionGraph([x], [out, kept], clone=True)
    in2out(opt.local_IncSubtensor_serialize).optimize(fgraph)
    top = fgraph.outputs[0].owner
    assert isinstance(top.op, T.IncSubtensor) and isinstance(top.inputs[0].owner.op, T.IncSubtensor)
    value = np.array([0.1, 0.2, 0.3])
    got = theano.function([x], [out, kept], mode=theano.Mode("py", "fast_run"))(value)
    wanted = theano.function([x], [out, kept], mode=theano.Mode("py", None))(value)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w)
