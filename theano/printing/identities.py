"""The rules by which graphs are rewritten, as text."""

from __future__ import annotations

import sys
from typing import NamedTuple, TextIO

from theano.gof.rewriting.rules import TABLE


class RewriteRule(NamedTuple):
    """One identity that a rewrite uses.

    Parameters
    ----------
    rewrite : str
        The name under which modes include and exclude it.
    before, after : str
        What is replaced, and by what.
    conditions : tuple of str
        What must be true besides.

    See Also
    --------
    theano.printing.print_rules : Print a line for each of `rewrite_rules`.
    theano.printing.rewrite_rules : List the rewrites that are identities, with what they replace, by what, and on what
        conditions.

    Examples
    --------
    >>> import theano.tensor
    >>> rule = rewrite_rules("local_sqr_abs")[0]
    >>> isinstance(rule, RewriteRule), rule.before, rule.after, rule.conditions
    (True, 'sqr(abs(x))', 'sqr(x)', ('all are floats of one dtype',))
    """

    rewrite: str
    before: str
    after: str
    conditions: tuple[str, ...]


def rewrite_rules(containing: str = "") -> list[RewriteRule]:
    """List the rewrites that are identities, with what they replace, by what, and on what conditions.

    Rewrites of modules that are not imported yet, such as those of sparse matrices, are not listed; rewrites that do more
    than an identity says, such as canonical forms, fusion and merging, are not listed either.

    Parameters
    ----------
    containing : str
        Only rules that have this text in their name, or in what is before or after.

    Returns
    -------
    list of RewriteRule
        In the order in which they are looked at.

    See Also
    --------
    theano.printing.RewriteRule : One identity that a rewrite uses.
    theano.printing.print_rules : Print a line for each of `rewrite_rules`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.printing import rewrite_rules
    >>> for rule in rewrite_rules("local_sqr_abs"):
    ...     print(rule.rewrite, "|", rule.before, "|", rule.after, "|", *rule.conditions)
    local_sqr_abs | sqr(abs(x)) | sqr(x) | all are floats of one dtype
    local_sqr_abs | sqr(-x) | sqr(x) | all are floats of one dtype
    """
    found = [
        RewriteRule(name, str(rule.before), str(rule.after), tuple(rule.conditions()))
        for name, rewrite in TABLE.copy().items()
        for rule in rewrite.rules
    ]
    return [rule for rule in found if any(containing in text for text in rule[:3])]


def print_rules(containing: str = "", file: TextIO | None = None) -> None:
    """Print a line for each of `rewrite_rules`.

    Parameters
    ----------
    containing : str
        As for `rewrite_rules`.
    file : file, optional
        By default ``sys.stdout``.

    See Also
    --------
    theano.printing.rewrite_rules : List the rewrites that are identities, with what they replace, by what, and on what
        conditions.
    theano.printing.RewriteRule : One identity that a rewrite uses.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.printing import print_rules
    >>> print_rules("local_log_sqrt")
    local_log_sqrt: log(sqrt(x)) -> 0.5 * log(x)  (all are floats of one dtype)
    """
    for rule in rewrite_rules(containing):
        conditions = f"  ({'; '.join(rule.conditions)})" if rule.conditions else ""
        print(f"{rule.rewrite}: {rule.before} -> {rule.after}{conditions}", file=file or sys.stdout)
