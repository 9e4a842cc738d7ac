"""Where rewrites are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano.gof.rewriting.local import local_optimizer
from theano.gof.rewriting.stages import local_useless, optdb


def _registrar(database: str) -> Callable[..., Any]:
    """A function that registers local optimizers in `optdb[database]`, usable as a decorator with or without tags."""

    def register(lopt: Any, *tags: str, name: str | None = None, **options: Any) -> Any:
        if isinstance(lopt, str):
            return lambda inner: register(inner, lopt, *tags, name=name, **options)
        name = name or lopt.__name__
        if database == "useless":
            local_useless.register(name, lopt, "last", "fast_run", *tags, **options)
        else:
            optdb[database].register(name, lopt, "fast_run", *tags, **options)
        return lopt

    register.__name__ = f"register_{database}"
    register.__doc__ = f"""Register a local optimizer in the `{database}` database.

    Parameters
    ----------
    lopt : LocalOptimizer or str
        The optimizer, or the first of the tags when used as ``@register_{database}('tag')``.
    *tags : str
        More tags; 'fast_run' is always one.
    name : str, optional
        Name in the database, by default that of the function.

    Returns
    -------
    LocalOptimizer or decorator
        `lopt`, or what takes it.

    See Also
    --------
    theano.tensor.raw_random.local_optimizer : Decorator that makes a `LocalOptimizer` of a function of an Apply node.

    Examples
    --------
    >>> from theano.tensor import abs_, dscalar, raw_random
    >>> @register_{database}("mine")
    ... @raw_random.local_optimizer([abs_])
    ... def local_my_abs(node):
    ...     return [x] if (x := node.inputs[0]).owner is not None and x.owner.op == abs_ else False
    >>> local_my_abs.transform(abs(abs(dscalar())).owner)
    [Elemwise{{abs_,no_inplace}}.0]
    """
    return register


register_useless = _registrar("useless")
register_canonicalize = _registrar("canonicalize")
register_stabilize = _registrar("stabilize")
register_specialize = _registrar("specialize")
register_uncanonicalize = _registrar("uncanonicalize")
register_specialize_device = _registrar("specialize_device")


def registrars(stages: str) -> list[Callable[..., Any]]:
    """Return what registers a rewrite in stages.

    Parameters
    ----------
    stages : str
        Their names, each with its tags behind colons.

    Examples
    --------
    >>> in_canonicalize, in_useless = registrars("canonicalize:fast_compile useless")
    >>> in_useless is register_useless
    True
    """
    pairs = [stage.split(":") for stage in stages.split()]
    return [globals()[f"register_{name}"](*tags) if tags else globals()[f"register_{name}"] for name, *tags in pairs]


def rewrites(tracks: Any, stages: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator that makes a rewrite of a function of a node, and registers it.

    Parameters
    ----------
    tracks, **options
        As for :func:`theano.gof.local_optimizer`.
    stages : str
        As for `registrars`.

    Returns
    -------
    callable
        The decorator, which gives the rewrite.

    Examples
    --------
    >>> from theano.tensor import abs_, dscalar
    >>> @rewrites([abs_], "")
    ... def local_my_abs(node):
    ...     return [x] if (x := node.inputs[0]).owner is not None and x.owner.op == abs_ else False
    >>> local_my_abs.transform(abs(abs(dscalar())).owner)
    [Elemwise{abs_,no_inplace}.0]
    """

    def decorate(function: Callable[..., Any]) -> Any:
        result = local_optimizer(tracks, **options)(function)
        for register in registrars(stages):
            register(result)
        return result

    return decorate
