"""Shared variables: values, copies, constructors."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.compile import sharedvalue


def test_get_value_returns_a_copy_unless_borrowed():
    s = theano.shared(np.zeros(3))
    s.get_value()[:] = 1
    assert np.all(s.get_value() == 0)
    s.get_value(borrow=True)[:] = 1
    assert np.all(s.get_value() == 1)


def test_set_value_copies_unless_borrowed():
    s = theano.shared(np.zeros(3))
    value = np.ones(3)
    s.set_value(value)
    value[:] = 7
    assert np.all(s.get_value() == 1)
    s.set_value(value, borrow=True)
    value[:] = 8
    assert np.all(s.get_value() == 8)


def test_shared_copies_its_initial_value_unless_borrowed():
    value = np.zeros(3)
    copied, borrowed = theano.shared(value), theano.shared(value, borrow=True)
    value[:] = 1
    assert np.all(copied.get_value() == 0)
    assert np.all(borrowed.get_value() == 1)


@pytest.mark.parametrize("value", [{"a": 1}, "text", object(), [1, 2]])
def test_values_without_a_type_of_their_own_are_generic(value):
    s = theano.shared(value)
    assert s.type == theano.gof.generic
    assert s.get_value(borrow=True) is value


def test_symbolic_values_are_refused():
    with pytest.raises(TypeError, match="symbolic"):
        theano.shared(T.dscalar())


def test_unknown_keywords_are_refused():
    with pytest.raises(TypeError, match="No suitable SharedVariable constructor"):
        theano.shared(np.zeros(2), unknown=1)


def test_strict_variables_take_only_their_type():
    s = theano.shared(np.zeros(3), strict=True)
    for bad in (np.zeros(3, dtype="float32"), [0.0, 0.0, 0.0], np.zeros((3, 1))):
        with pytest.raises(TypeError):
            s.set_value(bad)


def test_clone_shares_the_container():
    s = theano.shared(np.zeros(2), name="s")
    clone = s.clone()
    s.set_value(np.ones(2))
    assert clone is not s and clone.name == "s"
    assert np.all(clone.get_value() == 1)


@pytest.mark.parametrize("borrow", [False, True])
def test_zero(borrow):
    s = theano.shared(np.ones(3))
    alias = s.get_value(borrow=True)
    s.zero(borrow=borrow)
    assert np.all(s.get_value() == 0)
    assert np.all(alias == (0 if borrow else 1))


def test_value_attribute_says_what_to_use():
    s = theano.shared(1.0)
    with pytest.raises(AttributeError, match="get_value"):
        _ = s.value
    with pytest.raises(AttributeError, match="set_value"):
        s.value = 3


def test_the_last_registered_constructor_comes_first():
    class Special:
        pass

    def constructor(value, name=None, strict=False, allow_downcast=None):
        if not isinstance(value, Special):
            raise TypeError
        return sharedvalue.SharedVariable(type=theano.gof.generic, value=value, name="special", strict=strict)

    theano.compile.shared_constructor(constructor)
    try:
        assert theano.shared(Special()).name == "special"
        assert theano.shared(1.0).name is None
    finally:
        theano.compile.shared_constructor(constructor, remove=True)
    assert theano.shared(Special()).name is None


def test_value_and_container_exclude_each_other():
    s = theano.shared(1.0)
    with pytest.raises(TypeError):
        sharedvalue.SharedVariable("x", s.type, 1.0, False, container=s.container)
