"""Random loops against a loop in Python, and their gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.scan_module import until

PYTHON = theano.Mode("py", "fast_compile")


class RandomLoop:
    """A loop with random taps, states and arguments, for both theano and NumPy."""

    def __init__(self, seed, with_condition=False):
        rng = self.rng = np.random.RandomState(seed)
        self.shape = () if rng.rand() < 0.4 else (3,)
        self.seq_taps = [
            sorted(rng.choice(range(-2, 3), rng.randint(1, 3), replace=False).tolist()) for _ in range(rng.randint(0, 3))
        ]
        self.state_taps = [
            [-1] if rng.rand() < 0.5 else sorted(rng.choice([-3, -2, -1], rng.randint(1, 3), replace=False).tolist())
            for _ in range(rng.randint(0 if self.seq_taps else 1, 3))
        ]
        self.n_maps = rng.randint(0 if self.state_taps else 1, 3)
        self.n_others = rng.randint(0, 3)
        self.go_backwards = bool(rng.rand() < 0.3)
        self.explicit = not self.seq_taps or rng.rand() < 0.4
        self.with_condition = with_condition
        n_read = sum(map(len, self.seq_taps)) + sum(map(len, self.state_taps)) + self.n_others
        self.n_out = len(self.state_taps) + self.n_maps
        self.weights = rng.uniform(-0.7, 0.7, (self.n_out, n_read))
        self.kinds = rng.randint(0, 4, self.n_out)

    def step(self, lib, *values):
        results = []
        for row, kind in zip(self.weights, self.kinds):
            total = 0.1
            for w, v in zip(row, values):
                total = total + w * v
            if kind == 0:
                results.append(lib.tanh(total))
            elif kind == 1:
                results.append(total * lib.sin(values[0]))
            elif kind == 2:
                results.append(lib.tanh(total) + 0.5 * values[-1] * values[0])
            else:
                results.append(total)
        return results

    def symbolic(self, mode=None):
        kind = T.dscalar if self.shape == () else T.dvector
        rows = T.dvector if self.shape == () else T.dmatrix
        seqs = [rows(f"s{i}") for i in range(len(self.seq_taps))]
        initials = [kind(f"h{i}") if taps == [-1] else rows(f"h{i}") for i, taps in enumerate(self.state_taps)]
        others = [kind(f"w{i}") for i in range(self.n_others)]
        n = T.lscalar("n")
        infos = [{"initial": h, "taps": taps} for h, taps in zip(initials, self.state_taps)] + [None] * self.n_maps

        def step(*values):
            results = self.step(T, *values)
            if self.with_condition:
                return results, until(results[0].sum() > 0.4)
            return results

        outs, updates = theano.scan(
            step,
            sequences=[{"input": s, "taps": taps} for s, taps in zip(seqs, self.seq_taps)],
            outputs_info=infos,
            non_sequences=others,
            n_steps=n if self.explicit else None,
            go_backwards=self.go_backwards,
            return_list=True,
            mode=mode,
        )
        assert not updates
        return n, [*seqs, *initials, *others], outs

    def values(self, n_steps):
        rng = self.rng
        seqs = []
        for taps in self.seq_taps:
            extra = max(0, *taps) - min(0, *taps)
            seqs.append(rng.uniform(-1, 1, (n_steps + extra, *self.shape)))
        initials = [
            rng.uniform(-1, 1, self.shape if taps == [-1] else (-min(taps), *self.shape)) for taps in self.state_taps
        ]
        return [*seqs, *initials, *[rng.uniform(-1, 1, self.shape) for _ in range(self.n_others)]]

    def expected(self, n_steps, values):
        n_seqs, n_states = len(self.seq_taps), len(self.state_taps)
        seqs, initials, others = values[:n_seqs], values[n_seqs : n_seqs + n_states], values[n_seqs + n_states :]
        histories = [[h] if taps == [-1] else list(h) for h, taps in zip(initials, self.state_taps)]
        depths = [len(h) for h in histories]
        results = [[] for _ in range(self.n_out)]
        for t in range(n_steps):
            read = []
            for seq, taps in zip(seqs, self.seq_taps):
                for tap in taps:
                    start, end = tap - min(0, *taps), len(seq) + tap - max(0, *taps)
                    part = seq[start:end]
                    read.append((part[::-1] if self.go_backwards else part)[t])
            for history, taps, depth in zip(histories, self.state_taps, depths):
                read.extend(history[t + depth + tap] for tap in taps)
            out = self.step(np, *read, *others)
            for o, value in enumerate(out):
                results[o].append(value)
                if o < n_states:
                    histories[o].append(value)
            if self.with_condition and np.sum(out[0]) > 0.4:
                break
        return [np.array(r).reshape((len(r), *self.shape)) for r in results]


@pytest.mark.parametrize("seed", range(16))
def test_values_like_a_python_loop(seed):
    loop = RandomLoop(seed)
    n, inputs, outs = loop.symbolic(mode=PYTHON)
    f = theano.function([n, *inputs], outs, mode=PYTHON, on_unused_input="ignore")
    _, inputs2, outs2 = loop.symbolic()
    default = theano.function([_, *inputs2], outs2, on_unused_input="ignore") if seed % 2 else None
    for n_steps in (0, 1, 2, 5):
        values = loop.values(n_steps)
        expected = loop.expected(n_steps, values)
        for function in (f, default):
            if function is None:
                continue
            for got, wanted in zip(function(n_steps, *values), expected, strict=True):
                assert got.shape == wanted.shape
                np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(100, 108))
def test_while_loops_like_a_python_loop(seed):
    loop = RandomLoop(seed, with_condition=True)
    n, inputs, outs = loop.symbolic()
    f = theano.function([n, *inputs], outs, mode=None if seed % 2 else PYTHON, on_unused_input="ignore")
    for n_steps in (1, 2, 6):
        values = loop.values(n_steps)
        for got, wanted in zip(f(n_steps, *values), loop.expected(n_steps, values), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(200, 216))
def test_gradients_like_finite_differences(seed):
    loop = RandomLoop(seed, with_condition=seed % 4 == 0)
    python = seed % 2 == 0
    n, inputs, outs = loop.symbolic(mode=PYTHON if python else None)
    coefficients = np.random.RandomState(seed).uniform(-1, 1, len(outs))
    cost = sum(c * T.sum(out * T.sin(out)) for c, out in zip(coefficients, outs))
    gradients = T.grad(cost, inputs, disconnected_inputs="ignore")
    f = theano.function([n, *inputs], [cost, *gradients], mode=PYTHON if python else None, on_unused_input="ignore")
    for n_steps in (1, 4):
        values = loop.values(n_steps)
        _, *got = f(n_steps, *values)
        directions = [loop.rng.uniform(-1, 1, v.shape) for v in values]
        slope = sum(np.sum(g * d) for g, d in zip(got, directions))
        assert [g.shape for g in got] == [v.shape for v in values]
        step = 1e-5
        after = f(n_steps, *[v + step * d for v, d in zip(values, directions)])[0]
        before = f(n_steps, *[v - step * d for v, d in zip(values, directions)])[0]
        np.testing.assert_allclose(slope, (after - before) / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("seed", range(300, 306))
def test_derivatives_forward_and_backward_agree(seed):
    # The same Jacobian from both sides: u' (J v) = (J' u)' v.
    loop = RandomLoop(seed)
    n, inputs, outs = loop.symbolic(mode=PYTHON)
    total = sum(out.sum() for out in outs)
    slopes = T.grad(total, inputs, return_disconnected="None", disconnected_inputs="ignore")
    used = [v for v, slope in zip(inputs, slopes) if slope is not None]
    vs, us = [v.type() for v in used], [out.type() for out in outs]
    right = T.Rop(outs, used, vs, disconnected_outputs="ignore")
    left = T.Lop(outs, used, us, disconnected_inputs="ignore")
    first = sum((u * r).sum() for u, r in zip(us, right))
    second = sum((w * v).sum() for w, v in zip(left, vs))
    f = theano.function([n, *inputs, *vs, *us], [first, second], mode=PYTHON, on_unused_input="ignore")
    for n_steps in (1, 4):
        values = loop.values(n_steps)
        points = [loop.rng.uniform(-1, 1, values[inputs.index(v)].shape) for v in used]
        weights = [loop.rng.uniform(-1, 1, (n_steps, *loop.shape)) for _ in outs]
        a, b = f(n_steps, *values, *points, *weights)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
