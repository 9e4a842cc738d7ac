"""The ordered dictionary of updates."""

import warnings

import pytest

import theano
from theano.updates import OrderedUpdates


@pytest.fixture
def ab():
    return theano.shared(1.0, "a"), theano.shared(2.0, "b")


def test_order_and_type(ab):
    a, b = ab
    updates = OrderedUpdates()
    updates[b] = b + 1
    updates[a] = a + 1
    assert list(updates) == [b, a] and theano.OrderedUpdates is OrderedUpdates


def test_only_shared_variables_are_keys(ab):
    for wrong in ("name", theano.tensor.scalar()):
        with pytest.raises(TypeError, match="SharedVariable"):
            OrderedUpdates()[wrong] = 1
        with pytest.raises(TypeError):
            OrderedUpdates({wrong: 1})


def test_update_refuses_two_values_for_one_variable(ab):
    a, b = ab
    new = a + 1
    updates = OrderedUpdates([(a, new)])
    updates.update({a: new})
    updates.update(None)
    with pytest.raises(KeyError):
        updates.update([(a, a + 2)])


def test_sum_keeps_both(ab):
    a, b = ab
    left, right = OrderedUpdates([(a, a + 1)]), OrderedUpdates([(b, b + 1)])
    total = left + right
    assert isinstance(total, OrderedUpdates) and list(total) == [a, b]
    assert list({b: 1} + left) == [b, a]
    with pytest.raises(KeyError):
        left + OrderedUpdates([(a, a + 2)])


def test_plain_dict_warns(ab):
    a, b = ab
    with pytest.warns(UserWarning, match="non-ordered"):
        OrderedUpdates({a: a + 1, b: b + 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OrderedUpdates({a: a + 1})


def test_function_takes_them(ab):
    a, b = ab
    f = theano.function([], [], updates=OrderedUpdates([(a, b), (b, a)]))
    f()
    assert float(a.get_value()) == 2.0 and float(b.get_value()) == 1.0
