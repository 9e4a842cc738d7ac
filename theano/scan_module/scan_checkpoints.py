"""`scan_checkpoints`: a scan that keeps only some of its steps, and computes the others again for the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano import tensor
from theano.scan_module.scan import scan
from theano.scan_module.scan_arguments import as_list, fixed_number, output_infos, sequence_infos, symbolic_number


def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = (),
    outputs_info: Any = None,
    non_sequences: Any = (),
    name: str = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int = 10,
    padding: bool = True,
) -> tuple[Any, Any]:
    """Scan with less memory: store every `save_every_N`-th step, and recompute the others for the gradient.

    All sequences must have the same length, which is `n_steps` if that is given too; taps are not supported.

    Parameters
    ----------
    fn, sequences, outputs_info, non_sequences, name, n_steps
        As for `theano.scan`.
    save_every_N : int
        Number of steps from one stored step to the next.
    padding : bool
        Whether the number of steps may be no multiple of `save_every_N`. The sequences are then padded with zeros, which
        takes a copy of each; the last group of steps is shorter, so that the zeros are not used.

    Returns
    -------
    tuple
        The outputs at every `save_every_N`-th step (and at the last one), and the updates.

    Raises
    ------
    RuntimeError
        For taps.
    ValueError
        If `save_every_N` is not positive.

    See Also
    --------
    theano.scan : Loop: apply a step function again and again, over sequences and to its own results.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> x = T.dvector('x')
    >>> sums, _ = theano.scan_checkpoints(lambda v, s: s + v, x, T.constant(0., dtype='float64'), save_every_N=2)
    >>> theano.function([x], sums)([1., 2., 3., 4.]).tolist()
    [3.0, 10.0]
    """
    every = int(save_every_N)
    if every < 1:
        raise ValueError(f"save_every_N must be positive, got {save_every_N}")
    seqs = sequence_infos(sequences if sequences is not None else [])
    infos = output_infos(outputs_info)
    if any(seq.taps != [0] for seq in seqs) or any(info.taps not in ([], [-1]) for info in infos):
        raise RuntimeError("scan_checkpoints has no taps: a step may use the step before it only. Use scan.")
    fixed = fixed_number(n_steps)
    n = symbolic_number(n_steps, [seq.input.shape[0] for seq in seqs])
    even = not padding or every == 1 or (fixed is not None and fixed % every == 0)
    n_groups = n // every if even else (n + every - 1) // every
    groups = [_grouped(seq.input[:n] if n_steps is not None else seq.input, n, n_groups, every, even) for seq in seqs]
    states = [info.initial for info in infos if info.taps]
    n_seqs, n_states = len(groups), len(states)

    def group_of_steps(group: Any, *arguments: Any) -> Any:
        """Do the steps of one group without storing them."""
        elements, rest = arguments[:n_seqs], arguments[n_seqs:]
        current, total, others = iter(rest[:n_states]), rest[n_states], rest[n_states + 1 :]
        length = every if even else tensor.minimum(every, total - group * every)
        outputs, updates = scan(
            fn,
            sequences=list(elements),
            outputs_info=[next(current) if info.taps else None for info in infos],
            non_sequences=list(others),
            n_steps=length,
            name=f"{name}_steps",
            return_list=True,
        )
        return [output[-1] for output in outputs], updates

    return scan(
        group_of_steps,
        sequences=[tensor.arange(n_groups), *groups],
        outputs_info=[info.initial if info.taps else None for info in infos] or None,
        non_sequences=[n, *as_list(non_sequences)],
        n_steps=n_groups,
        name=name,
        allow_gc=True,
    )


def _grouped(seq: Any, n: Any, n_groups: Any, every: int, even: bool) -> Any:
    """The rows of a sequence in groups of `every`."""
    rest = [seq.shape[i] for i in range(1, seq.ndim)]
    if not even:
        seq = tensor.concatenate([seq, tensor.zeros([n_groups * every - n, *rest], dtype=seq.dtype)])
    grouped = seq.reshape([n_groups, every, *rest], ndim=seq.ndim + 1)
    return tensor.patternbroadcast(grouped, (False, False, *seq.broadcastable[1:]))
