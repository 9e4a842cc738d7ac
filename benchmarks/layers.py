"""Layers between convolutions and products: batch normalization in training, neighbourhoods of pixels, the CTC loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import importable, row

Contenders = dict[str, Callable[[], Any]]

SHAPES = ((32, 64, 56, 56), (16, 32, 28, 28), (128, 512))
WINDOWS = (((16, 3, 64, 64), (8, 8), (8, 8)), ((16, 16, 32, 32), (3, 3), (1, 1)), ((4, 1, 128, 128), (5, 5), (2, 2)))
SEQUENCES = ((100, 32, 80, 20), (500, 16, 40, 60), (30, 8, 1000, 5))


def normalization(shape: tuple[int, ...], rng: Any, torch: Any) -> tuple[Contenders, Contenders]:
    """Forward with running averages; the same and the gradient of all inputs."""
    import theano
    from theano import tensor as T
    from theano.tensor.nnet.bn import batch_normalization_train

    x, dy = (theano.shared(rng.randn(*shape).astype("float32"), borrow=True) for _ in range(2))
    ones = np.ones(shape[1], "float32")
    gamma, beta, mean, var = (theano.shared(ones) for _ in range(4))
    axes = "spatial" if len(shape) == 4 else "per-activation"
    out, _, _, *new = batch_normalization_train(x, gamma, beta, axes, running_mean=mean, running_var=var)
    updates = list(zip((mean, var), new))
    forward: Contenders = {"Theano": theano.function([], out, updates=updates)}
    grads = T.grad(None, [x, gamma, beta], known_grads={out: dy})
    both: Contenders = {"Theano": theano.function([], [out, *grads], updates=updates)}
    if torch:
        leaves = [torch.from_numpy(v.get_value()).requires_grad_() for v in (x, gamma, beta)]
        averages, slope = [torch.ones(shape[1]) for _ in range(2)], torch.from_numpy(dy.get_value())

        def step() -> Any:
            return torch.nn.functional.batch_norm(leaves[0], *averages, *leaves[1:], training=True)

        def quietly() -> Any:
            with torch.no_grad():
                return step()

        forward["PyTorch"] = quietly
        both["PyTorch"] = lambda: torch.autograd.grad(step(), leaves, slope)
    return forward, both


def windows(case: tuple[tuple[int, ...], ...], rng: Any, torch: Any) -> tuple[Contenders, Contenders]:
    """Neighbourhoods, and the gradient given theirs."""
    import theano
    from theano import tensor as T
    from theano.tensor.nnet.neighbours import images2neibs

    shape, length, step = case
    x = theano.shared(rng.randn(*shape).astype("float32"), borrow=True)
    neibs = images2neibs(x, length, step, "ignore_borders")
    forward: Contenders = {"Theano": theano.function([], neibs)}
    gz = theano.shared(forward["Theano"](), borrow=True)
    back: Contenders = {"Theano": theano.function([], T.Lop(neibs, x, gz))}
    if torch:
        images = torch.from_numpy(x.get_value())
        forward["PyTorch"] = lambda: torch.nn.functional.unfold(images, length, stride=step)
        columns = forward["PyTorch"]()
        back["PyTorch"] = lambda: torch.nn.functional.fold(columns, shape[2:], length, stride=step)
    return forward, back


def sequences(case: tuple[int, int, int, int], rng: Any, torch: Any) -> Contenders:
    """The losses and their gradient, softmax included."""
    import theano
    from theano.tensor.nnet.ctc import ConnectionistTemporalClassification

    times, batch, symbols, longest = case
    x = theano.shared(rng.randn(times, batch, symbols).astype("float32"), borrow=True)
    labels, lengths = rng.randint(1, symbols, (batch, longest)).astype("int32"), np.full(batch, times, "int32")
    found: Contenders = {"Theano": theano.function([], ConnectionistTemporalClassification()(x, labels, lengths))}
    if torch:
        leaf = torch.from_numpy(x.get_value()).requires_grad_()
        targets, ends = torch.from_numpy(labels.astype("int64")), torch.full((batch,), times)
        sizes = torch.full((batch,), longest)

        def step() -> Any:
            logs = torch.nn.functional.log_softmax(leaf, 2)
            loss = torch.nn.functional.ctc_loss(logs, targets, ends, sizes, reduction="sum")
            return torch.autograd.grad(loss, [leaf])

        found["PyTorch"] = step
        np.testing.assert_allclose(found["Theano"]()[1], step()[0].numpy(), atol=1e-3)
    return found


def rows(threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    rng = np.random.RandomState(0)
    torch = importable("torch")
    if torch:
        torch.set_num_threads(threads)
    for shape in SHAPES:
        for what, contenders in zip(("forward", "with gradient"), normalization(shape, rng, torch)):
            yield row(f"batch normalization {what}, {'x'.join(map(str, shape))}", threads, contenders, seconds)
    for case in WINDOWS:
        for what, contenders in zip(("", ", gradient"), windows(case, rng, torch)):
            yield row(f"windows {case[1]} by {case[2]} of {'x'.join(map(str, case[0]))}{what}", threads, contenders, seconds)
    for times, batch, symbols, longest in SEQUENCES:
        title = f"CTC with gradient, {batch} of {times} times, {symbols} symbols, {longest} labels"
        yield row(title, threads, sequences((times, batch, symbols, longest), rng, torch), seconds)
