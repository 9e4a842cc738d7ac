"""Arguments of scan in combinations that are rare: the same results in all modes, and errors for what has none."""

import numpy as np
import pytest

import theano
import theano.tensor as T

MODES = {"native": None, "native, no rewrites": theano.Mode("cvm", None), "python": theano.Mode("py", "fast_run")}
x, s, k = T.dvector("x"), T.dscalar("s"), T.iscalar("k")

STEPS = {
    "exchanged": lambda a, b, c: [b, a, c],
    "rotated": lambda a, b, c: [b, c, a],
    "a sum and an old value": lambda a, b, c: [a + b, a, c],
    "momentum": lambda a, b, c: [0.5 * a - c, b + a, c * 1.5],
    "reversed": lambda a, b, c: [b[::-1], a[::-1], a + c],
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STEPS)
def test_shared_variables_that_become_each_others_old_values(name, mode):
    values = [np.array([start, start + 2]) for start in (1.0, 10.0, 100.0)]
    shared = [theano.shared(v.copy()) for v in values]
    results, updates = theano.scan(lambda: (shared[0] * 1, list(zip(shared, STEPS[name](*shared), strict=True))), n_steps=5)
    f = theano.function([], results, updates=updates, mode=MODES[mode])
    seen = []
    for _ in range(5):
        seen.append(values[0])
        values = [np.array(v) for v in STEPS[name](*values)]
    np.testing.assert_allclose(f(), seen)
    for variable, wanted in zip(shared, values, strict=True):
        np.testing.assert_allclose(variable.get_value(), wanted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("step", "state"), [
    (lambda a, p: a + p, s), (lambda a, p: a * p, s), (lambda a, p: T.maximum(a, p), s), (lambda a, p: T.tanh(a + p), s),
    (lambda a: a * 2, None),
], ids=["sum", "product", "maximum", "loop", "map"])  # fmt: skip
def test_a_number_of_steps_that_is_negative_when_it_is_known(step, state, mode):
    result, _ = theano.scan(step, sequences=x, outputs_info=state, n_steps=k)
    for out in (result, result.sum()):
        f = theano.function([x, s, k], out, mode=MODES[mode], on_unused_input="ignore")
        with pytest.raises((IndexError, AssertionError), match="negative"):
            f([1.0, 2.0, 3.0], 1.0, -1)
        assert np.size(f([1.0, 2.0, 3.0], 1.0, 0)) == (0 if out is result else 1)
