"""Classes of named fields: what they take, what they refuse, what is copied."""

import copy
import pickle

import pytest

from theano.gof.record import Fields, Record


class Point(Record):
    x: int
    y: int = 0
    label: str = ""
    uncompared = ("label",)


class Basket(Fields):
    owner: str
    fruit: list = []
    prices: dict = {"kept": {}}


class Hamper(Basket):
    lid: bool = True


def test_values_are_equal_by_their_fields_and_cannot_be_changed():
    assert Point(1) == Point(x=1, y=0) != Point(1, 2) and hash(Point(1, 0, "a")) == hash(Point(1, label="b"))
    assert Point(1).replaced(y=5) == Point(1, 5) and repr(Point(1, 2)) == "Point(x=1, y=2, label='')"
    with pytest.raises(AttributeError):
        Point(1).x = 3
    hash(value := Point(3, 4))
    assert pickle.loads(pickle.dumps(value)) == value == copy.deepcopy(value)


REFUSED = [((), {}), ((1, 2, "a", 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"y": 1, "label": ""})]


@pytest.mark.parametrize("args, named", REFUSED)
def test_other_fields_are_refused(args, named):
    with pytest.raises(TypeError, match="has the fields"):
        Point(*args, **named)


def test_objects_own_their_defaults_and_have_the_fields_of_their_base():
    one, other = Basket("Eve"), Basket("Adam", prices={})
    one.fruit.append("apple")
    one.prices["kept"]["apple"] = 1
    assert (other.fruit, Basket("Adam").fruit, Basket.fruit, Basket("x").prices) == ([], [], [], {"kept": {}})
    one.owner = "Cain"
    assert one.owner == "Cain" and one != Basket("Cain", ["apple"], one.prices)
    assert Hamper.fields == ("owner", "fruit", "prices", "lid") and Hamper("Eve", [1], lid=False).lid is False
