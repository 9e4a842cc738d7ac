"""Whether all processes are about to compute the same: a difference is an error before it is a wrong result or a deadlock."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from theano.distributed.communicator import Communicator
from theano.distributed.exchange import DistributedError
from theano.gof.graph import io_toposort


def check_agreement(group: Communicator, facts: Sequence[tuple[str, Any]], timeout: float | None = None) -> None:
    """Raise an error on all processes if any has other facts than the first.

    Parameters
    ----------
    group : Communicator
        The processes that take part.
    facts : sequence of (str, object)
        What it is, and a value that can be compared and pickled.
    timeout : float, optional
        Seconds to wait for the others; default ``config.distributed.timeout``.

    Raises
    ------
    DistributedError
        Names ranks, what differs, and the values.

    See Also
    --------
    theano.distributed.agreement.graph_fingerprint : Return a text that is the same for graphs of the same Ops in the same
        order; values of constants do not count.

    Examples
    --------
    >>> from theano import distributed
    >>> from theano.distributed.agreement import check_agreement
    >>> check_agreement(distributed.world(), [("the seed", 1234)])
    """
    everybody = group.gather_objects(list(facts), timeout)
    first = everybody[0]
    for rank, others in enumerate(everybody):
        if len(others) != len(first):
            raise DistributedError(
                f"rank {rank} has {len(others)} facts where rank 0 has {len(first)}: they run different programs"
            )
        for (what, expected), (found_what, found) in zip(first, others):
            if what != found_what:
                raise DistributedError(f"rank {rank} has {found_what} where rank 0 has {what}: they run different programs")
            if found != expected:
                raise DistributedError(f"all ranks must have the same of {what}: rank 0 has {expected}, rank {rank} has {found}")


def graph_fingerprint(inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
    """Return a text that is the same for graphs of the same Ops in the same order; values of constants do not count.

    Parameters
    ----------
    inputs : sequence of Variable
        Where the graph begins.
    outputs : sequence of Variable
        Where it ends.

    Returns
    -------
    str

    See Also
    --------
    theano.distributed.agreement.check_agreement : Raise an error on all processes if any has other facts than the first.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, y = T.dvectors("xy")
    >>> graph_fingerprint([x], [x * 2]) == graph_fingerprint([y], [y * 3])
    True
    >>> graph_fingerprint([x], [x * 2]) == graph_fingerprint([x], [x.sum()])
    False
    """
    text = hashlib.sha256()
    for node in io_toposort(inputs, outputs):
        text.update(f"{type(node.op).__qualname__} {len(node.inputs)} {[str(v.type) for v in node.outputs]}\n".encode())
    return text.hexdigest()[:16]
