"""The function :func:`theano.test`."""

from __future__ import annotations

from pathlib import Path

import theano


def own_tests() -> list[str]:
    """Return the arguments with which pytest runs Theano's own tests: those of a checkout, else the doctests."""
    package = Path(theano.__file__).parent
    tests = package.parent / "tests"
    return [str(tests)] if tests.is_dir() else ["--doctest-modules", str(package)]


def test(*args: str) -> int:
    """Run the tests with pytest.

    Parameters
    ----------
    *args : str
        Arguments for pytest; by default the tests of the checkout that Theano
        was imported from, else the doctests of the package.

    Returns
    -------
    int
        The exit status: 0 if all tests passed.

    Raises
    ------
    ImportError
        If pytest is not installed.

    See Also
    --------
    theano.tests.unittest_tools.verify_grad : Compare the gradient of an Op with finite differences, from a seeded
        generator.
    """
    try:
        import pytest
    except ImportError as error:
        raise ImportError("theano.test() needs pytest: pip install 'Theano[test]'") from error
    return int(pytest.main([*(args or own_tests())]))


test.__test__ = False  # type: ignore[attr-defined]
