"""Batch normalization against NumPy: values, running averages, first and second gradients, precision, errors."""

import numpy as np
import pytest

import theano
from tests.tensor.helpers import PLAIN, REWRITTEN, evaluate
from theano import tensor as T
from theano.tensor.nnet import bn

SHAPE = (4, 3, 2, 5)
CASES = [("per-activation", (0,)), ("spatial", (0, 2, 3)), ((1, 3), (1, 3)), ((0, 1, 2, 3), (0, 1, 2, 3))]


def parameters(axes, shape=SHAPE, dtype="float64", seed=0):
    rng = np.random.RandomState(seed)
    shape = [1 if i in axes else n for i, n in enumerate(shape)]
    return [(rng.rand(*shape) + 0.5).astype(dtype) for _ in range(4)]


def values(shape=SHAPE, seed=1):
    return np.random.RandomState(seed).randn(*shape) * 2 + 3


@pytest.mark.parametrize("mode", [PLAIN, None])
@pytest.mark.parametrize("axes, numbers", CASES)
def test_training(axes, numbers, mode):
    x, (gamma, beta, mean, var) = values(), parameters(numbers)

    def build(*v):
        return list(bn.batch_normalization_train(*v[:3], axes, 1e-3, 0.3, *v[3:]))

    out, m, invstd, new_mean, new_var = evaluate(build, x, gamma, beta, mean, var, mode=mode)
    expected_mean, expected_var = x.mean(numbers, keepdims=True), x.var(numbers, keepdims=True)
    count = x.size / m.size
    np.testing.assert_allclose(m, expected_mean)
    np.testing.assert_allclose(invstd, 1 / np.sqrt(expected_var + 1e-3))
    np.testing.assert_allclose(out, (x - m) * invstd * gamma + beta)
    np.testing.assert_allclose(new_mean, 0.7 * mean + 0.3 * m)
    np.testing.assert_allclose(new_var, 0.7 * var + 0.3 * expected_var * count / (count - 1))


@pytest.mark.parametrize("mode", [PLAIN, None])
@pytest.mark.parametrize("axes, numbers", CASES)
def test_inference(axes, numbers, mode):
    x, (gamma, beta, mean, var) = values(), parameters(numbers)
    out = evaluate(lambda *v: bn.batch_normalization_test(*v, axes=axes, epsilon=1e-3), x, gamma, beta, mean, var, mode=mode)
    np.testing.assert_allclose(out, (x - mean) / np.sqrt(var + 1e-3) * gamma + beta)


@pytest.mark.parametrize("mode", ["low_mem", "high_mem"])
def test_old_interface(mode):
    x, (gamma, beta, mean, std) = values(), parameters((0, 2, 3))
    out = evaluate(lambda *v: bn.batch_normalization(v[0], *(T.addbroadcast(p, 0, 2, 3) for p in v[1:]), mode=mode),
                   x, gamma, beta, mean, std, mode=None)  # fmt: skip
    np.testing.assert_allclose(out, (x - mean) / std * gamma + beta)
    one = [v[:1, :1, :1, :1] for v in (x, gamma, beta, mean, std)]
    theano.gradient.verify_grad(lambda *v: bn.batch_normalization(*v, mode=mode), one, rng=np.random.RandomState(0))


def test_parameters_may_leave_the_axes_out():
    x, (gamma, beta, mean, var) = values(), [p.reshape(3) for p in parameters((0, 2, 3))]
    results = evaluate(
        lambda *v: list(bn.batch_normalization_train(*v[:3], "spatial", 1e-3, 0.3, *v[3:])), x, gamma, beta, mean, var, mode=None
    )
    np.testing.assert_allclose(results[0].mean((0, 2, 3)), beta)
    assert [r.shape for r in results[1:]] == [(3,)] * 4


@pytest.mark.parametrize("axes, numbers", CASES[1:3])
def test_gradients(axes, numbers):
    x, (gamma, beta, mean, var) = values((3, 2, 2, 2)), parameters(numbers, (3, 2, 2, 2))
    weights = values((3, 2, 2, 2), 5)

    def everything(*v):
        out, *statistics = bn.batch_normalization_train(*v[:3], axes, 1e-3, 0.3, *v[3:])
        return (out * weights).sum() + sum((i + 2) * (s**2).sum() for i, s in enumerate(statistics))

    theano.gradient.verify_grad(everything, [x, gamma, beta, mean, var], rng=np.random.RandomState(0))

    def slope(*v):
        cost = (bn.batch_normalization_train(*v, axes, 1e-3)[0] ** 2 * weights).sum()
        return sum((g**2).sum() for g in theano.grad(cost, list(v)))

    theano.gradient.verify_grad(slope, [x, gamma, beta], rng=np.random.RandomState(0))


@pytest.mark.parametrize("axes, numbers", CASES[:2])
def test_gradient_as_an_operation(axes, numbers):
    # Of a mean and a deviation that are not those of the inputs.
    shape = (3, 2, 2, 2)
    x, dy, (scale, mean, invstd, _) = values(shape), values(shape, 5), parameters(numbers, shape)
    for i in range(3):
        theano.gradient.verify_grad(
            lambda *v: bn.AbstractBatchNormTrainGrad(numbers)(*v)[i], [x, dy, scale, mean, invstd], rng=np.random.RandomState(0)
        )


def test_second_gradient_is_that_of_the_formula():
    # All in one function, running averages included, whose type does not say that they are broadcast.
    x, gamma, beta, mean, var, dy, dx, dgamma, dbeta = T.dtensor4s(9)
    axes = (0, 2, 3)
    mine = bn.batch_normalization_train(x, gamma, beta, "spatial", 1e-3, 0.3, mean, var)
    m, v = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    scale, shift = T.addbroadcast(gamma, *axes), T.addbroadcast(beta, *axes)
    count = T.cast(T.prod(x.shape) / T.prod(gamma.shape), "float64")
    formula = [(x - m) * (scale * T.inv(T.sqrt(v + 1e-3))) + shift, m, T.inv(T.sqrt(v + 1e-3)), mean * 0.7 + m * 0.3,
               var * 0.7 + count / (count - 1) * v * 0.3]  # fmt: skip
    pairs = list(zip(mine, formula))
    for (out, *_), fixed in ((mine, list(mine[1:3])), (formula, [m, v])):
        grads = T.grad(None, [x, gamma, beta], known_grads={out: dy})
        second = T.grad(None, [x, dy, gamma], known_grads=dict(zip(grads, (dx, dgamma, dbeta))),
                        consider_constant=[x, dy, gamma, beta, mean, var, *fixed], return_disconnected="zero")  # fmt: skip
        if out is mine[0]:
            first = [*grads, *second]
        else:
            pairs += zip(first, [*grads, *second])
    f = theano.function([x, gamma, beta, mean, var, dy, dx, dgamma, dbeta], [v for pair in pairs for v in pair])
    assert not any(
        isinstance(n.op, bn.AbstractBatchNormTrain | bn.AbstractBatchNormTrainGrad) for n in f.maker.fgraph.apply_nodes
    )
    for shape in (SHAPE, (2, 3, 1, 1)):
        results = f(
            values(shape), *parameters(axes, shape), values(shape, 2), values(shape, 3), *parameters(axes, shape, seed=4)[:2]
        )
        for got, expected in zip(results[::2], results[1::2]):
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("mode", [PLAIN, REWRITTEN, None])
def test_a_far_mean_costs_no_digits(mode):
    x = (np.random.RandomState(0).randn(64, 3, 8, 8) + 1e4).astype("float32")
    one = np.ones((1, 3, 1, 1), "float32")

    def build(*v):
        return list(bn.batch_normalization_train(*v, "spatial"))

    out, mean, invstd = evaluate(build, x, one, one, mode=mode)
    wide = x.astype("float64")
    var = wide.var((0, 2, 3), keepdims=True)
    np.testing.assert_allclose(invstd, 1 / np.sqrt(var + 1e-4), rtol=1e-5)
    np.testing.assert_allclose(mean, wide.mean((0, 2, 3), keepdims=True), rtol=2e-7)
    np.testing.assert_allclose(out, (wide - wide.mean((0, 2, 3), keepdims=True)) / np.sqrt(var + 1e-4) + 1, atol=2e-3)


@pytest.mark.parametrize("mode", [PLAIN, None])
def test_other_dtypes(mode):
    x, (gamma, beta, *_) = values(), parameters((0,), dtype="float32")
    f = evaluate(lambda *v: bn.batch_normalization_train(*v)[0], x.astype("float16"), gamma.astype("float16"),
                 beta.astype("float16"), mode=mode)  # fmt: skip
    assert f.dtype == "float16"
    np.testing.assert_allclose(f, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-4) * gamma + beta, rtol=0.02, atol=0.02)
    integers = np.arange(12).reshape(4, 3)
    out = evaluate(lambda *v: bn.batch_normalization_train(*v)[0], integers, np.ones(3), np.zeros(3), mode=mode)
    np.testing.assert_allclose(out, (integers - integers.mean(0)) / np.sqrt(integers.var(0) + 1e-4))


def test_bad_arguments():
    x, gamma, beta = T.dtensor4(), T.dtensor4(), T.dtensor4()
    for arguments, message in [
        ({"epsilon": 1e-6}, "epsilon must be at least"),
        ({"running_mean": gamma}, "both"),
        ({"axes": "all"}, "axes must be"),
        ({"axes": ()}, "at least one"),
        ({"axes": (4,)}, "less than ndim"),
        ({"gamma": T.dmatrix()}, "gamma must have as many dimensions"),
        ({"epsilon": [1e-3, 1e-3]}, "epsilon must be a number"),
    ]:
        with pytest.raises(ValueError, match=message):
            bn.batch_normalization_train(**{"inputs": x, "gamma": gamma, "beta": beta, **arguments})
    with pytest.raises(ValueError, match="epsilon must be at least"):
        bn.batch_normalization_test(x, gamma, beta, gamma, beta, epsilon=0)
    with pytest.raises(ValueError, match="mode must be"):
        bn.batch_normalization(x, gamma, beta, gamma, beta, mode="other")


def test_what_a_mode_computes_are_formulas():
    x, scale, shift = T.dmatrix(), T.dvector(), T.dvector()
    out, mean, deviation = bn.batch_normalization_train(x, scale, shift)
    tested = bn.batch_normalization_test(x, scale, shift, mean, deviation)
    cost = (out**2).sum() + (tested**2).sum()
    outputs = [out, tested, *theano.grad(cost, [x, scale, shift])]
    abstract = (bn.AbstractBatchNormTrain, bn.AbstractBatchNormInference, bn.AbstractBatchNormTrainGrad)

    def left(mode):
        f = theano.function([x, scale, shift], outputs, mode=mode)
        return {type(node.op) for node in f.maker.fgraph.apply_nodes if isinstance(node.op, abstract)}

    mode = theano.compile.get_mode("FAST_RUN")
    names = ("train", "train_grad", "inference")
    assert left(mode) == set()
    assert left(mode.excluding(*(f"local_abstract_batch_norm_{name}" for name in names))) == set(abstract)
