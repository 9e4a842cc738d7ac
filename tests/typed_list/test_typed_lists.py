"""Typed lists: the type, its operations, and the rewrite that works on them in place."""

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import typed_list
from theano.typed_list import TypedListType


def vectors(*values):
    return [np.asarray(v, dtype="float32") for v in values]


def assert_lists(result, *expected):
    assert [r.tolist() for r in result] == [list(map(float, e)) for e in expected]


class TestTheType:
    def test_filter_converts_the_elements(self):
        result = TypedListType(T.fvector).filter([[1, 2], [3]])
        assert_lists(result, [1, 2], [3])
        assert {r.dtype for r in result} == {np.dtype("float32")}

    def test_a_list_that_fits_stays_the_same_object(self):
        value = vectors([1, 2], [3])
        type_ = TypedListType(T.fvector)
        assert type_.filter(value) is value
        assert type_.filter(value, strict=True) is value

    @pytest.mark.parametrize("value", [3, (1, 2), [[[1]]], [np.zeros(2)]])
    def test_strict_filter_refuses(self, value):
        with pytest.raises(TypeError):
            TypedListType(T.fvector).filter(value, strict=True)

    def test_depth(self):
        inner = TypedListType(T.fvector)
        assert inner.get_depth() == 0
        nested = TypedListType(TypedListType(inner))
        assert nested.get_depth() == 2
        assert nested == TypedListType(T.fvector, 2) != inner
        assert hash(nested) == hash(TypedListType(T.fvector, 2))
        assert_lists(nested.filter([[[[1, 2]]]])[0][0], [1, 2])

    def test_wrong_arguments(self):
        with pytest.raises(TypeError, match="Type"):
            TypedListType("float32")
        with pytest.raises(ValueError, match="depth"):
            TypedListType(T.fvector, -1)

    def test_comparing_values(self):
        type_ = TypedListType(T.fvector)
        assert type_.values_eq(vectors([1], [2]), vectors([1], [2]))
        assert not type_.values_eq(vectors([1], [2]), vectors([1]))
        assert not type_.values_eq(vectors([1], [2]), vectors([1], [3]))
        assert type_.values_eq_approx(vectors([1]), vectors([1 + 1e-7]))

    def test_sharing_memory(self):
        type_ = TypedListType(T.fvector)
        a, b = vectors([1, 2]), vectors([1, 2])
        assert type_.may_share_memory(a, a)
        assert type_.may_share_memory(a, [a[0][:1]])
        assert type_.may_share_memory(a, a[0])
        assert not type_.may_share_memory(a, b)


OPERATIONS = {
    "append": (lambda x, v, n: x.append(v), ([1, 2], [3], [7, 8])),
    "extend": (lambda x, v, n: x.extend(x), ([1, 2], [3], [1, 2], [3])),
    "insert": (lambda x, v, n: x.insert(n, v), ([1, 2], [7, 8], [3])),
    "remove": (lambda x, v, n: x.remove(x[n]), ([1, 2],)),
    "reverse": (lambda x, v, n: x.reverse(), ([3], [1, 2])),
    "slice": (lambda x, v, n: x[n:], ([3],)),
    "make_list": (lambda x, v, n: typed_list.make_list([v, x[n]]), ([7, 8], [3])),
}


@pytest.mark.parametrize("mode", ["FAST_RUN", "DebugMode", theano.Mode("py", "fast_compile")], ids=str)
def test_operations_that_return_lists(mode):
    x, v, n = TypedListType(T.fvector)("x"), T.fvector("v"), T.lscalar("n")
    f = theano.function([x, v, n], [make(x, v, n) for make, _ in OPERATIONS.values()], mode=mode)
    value = vectors([1, 2], [3])
    for result, (_, expected) in zip(f(value, [7, 8], 1), OPERATIONS.values()):
        assert_lists(result, *expected)
    assert_lists(value, [1, 2], [3])


def test_operations_that_return_numbers():
    x, v, n = TypedListType(T.fvector)("x"), T.fvector("v"), T.lscalar("n")
    outputs = [typed_list.length(x), x.count(v), x.ind(v), x[n], x[-1]]
    length, count, index, one, last = theano.function([x, v, n], outputs)(vectors([1], [2], [1]), [1], 1)
    assert (length, count, index) == (3, 2, 0)
    assert (one.tolist(), last.tolist()) == ([2], [1])


def test_results_do_not_share_memory_with_the_input():
    x, v = TypedListType(T.fvector)("x"), T.fvector("v")
    value, new = vectors([1, 2]), np.ones(1, "float32")
    result = theano.function([x, v], x.append(v))(value, new)
    assert not any(np.may_share_memory(r, other) for r in result for other in [*value, new])


def test_errors_at_run_time():
    x, v = TypedListType(T.fvector)("x"), T.fvector("v")
    with pytest.raises(ValueError, match="not in the list"):
        theano.function([x, v], x.remove(v))(vectors([1]), [2])
    with pytest.raises(ValueError, match="not in the list"):
        theano.function([x, v], x.ind(v))(vectors([1]), [2])
    with pytest.raises(IndexError):
        theano.function([x], x[3])(vectors([1]))


def test_errors_when_the_graph_is_built():
    x = TypedListType(T.fvector)("x")
    for wrong in (
        lambda: x.append(T.fmatrix()),
        lambda: x.extend(TypedListType(T.dvector)()),
        lambda: x[T.fscalar()],
        lambda: typed_list.append(T.fvector(), T.fvector()),
        lambda: typed_list.make_list([T.fvector(), T.dvector()]),
        lambda: typed_list.make_list([]),
        lambda: len(x),
        lambda: list(x),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_a_length_is_a_variable_by_its_method_alone():
    x = TypedListType(T.fvector)("x")
    assert theano.function([x], x.__len__())([np.zeros(2, "float32")] * 3) == 3
    with pytest.raises(TypeError, match=r"an integer here[\s\S]*typed_list\.length\(list\)"):
        len(x)


def test_changes_are_made_in_place_where_the_input_may_be_overwritten():
    x, v = TypedListType(T.fvector)("x"), T.fvector("v")
    f = theano.function([theano.In(x, mutable=True, borrow=True), v], x.append(v).reverse(), mode="FAST_RUN")
    assert [str(node.op) for node in f.maker.fgraph.toposort()] == ["Append{inplace}", "Reverse{inplace}"]
    value = vectors([1], [2])
    assert_lists(f(value, [3]), [3], [2], [1])
    assert_lists(value, [3], [2], [1])


def test_nested_lists():
    x = TypedListType(T.fvector, 1)("x")
    inner = TypedListType(T.fvector)("inner")
    result = theano.function([x, inner], x.append(inner))([vectors([1])], vectors([2], [3]))
    assert_lists(result[0], [1])
    assert_lists(result[1], [2], [3])


def test_constants():
    constant = TypedListType(T.fvector).make_constant([[1, 2], [3]])
    assert isinstance(constant, typed_list.TypedListConstant)
    f = theano.function([], [constant.append(np.float32([4])), constant[0]])
    assert_lists(f()[0], [1, 2], [3], [4])
    # A call does not change the constant.
    assert_lists(f()[0], [1, 2], [3], [4])
    assert f()[1].tolist() == [1, 2]


def test_c_interface_of_the_type():
    x = TypedListType(T.fvector)("x")
    f = theano.function([x], typed_list.length(x), mode=theano.Mode("c|py"))
    assert f(vectors([1], [2])) == 2


@pytest.mark.parametrize("linker", ["cvm", "vm", "py"])
def test_results_are_copies_of_the_arguments(linker):
    """Also of what is no plain array, and of a list in a list."""
    x = TypedListType(T.fvector)("x")
    y = TypedListType(T.fvector, 1)("y")
    z = TypedListType(T.scalar(dtype="float64").type)("z")
    f = theano.function([x, y, z], [x, y, z], mode=theano.Mode(linker=linker))
    masked = np.ma.masked_array(np.ones(2, "float32"), [False, False])
    a, b, c = vectors([1, 2], [3]), [vectors([4]), vectors([5, 6])], [np.array(2.5)]
    fortran = np.asfortranarray(a[0])
    result = f([fortran, a[1], fortran], b, c)
    a[0][...] = a[1][...] = b[0][0][...] = c[0][...] = 9
    assert_lists(result[0], [1, 2], [3], [1, 2])
    assert_lists(result[1][0], [4])
    assert [v.tolist() for v in result[2]] == [2.5] and type(result[2][0]) is np.ndarray
    assert type(f([masked], b, c)[0][0]) in (np.ma.MaskedArray, np.ndarray)
    assert f([], [], []) == [[], [], []]
