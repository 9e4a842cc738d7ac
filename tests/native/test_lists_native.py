"""Typed lists in compiled functions and loops: without Python, with the values that Python's lists of arrays have."""

import gc
import threading

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import typed_list
from theano.native.fastcall import _runtime
from theano.typed_list import TypedListType

pytestmark = pytest.mark.skipif(_runtime is None, reason="the native runtime is not available")
PYTHON = theano.Mode(linker="py", optimizer="fast_compile")


def python_nodes(f):
    """The Ops of a function, and of its loops, that run in Python."""
    found, todo = [], [f.fn.instrs]
    while todo:
        for instr in todo.pop():
            if instr.op.runs_python:
                found.append(instr.node)
            if instr.name == "scan":
                todo.append(instr.op.inner.builder.instrs)
    return found


def compile_native(inputs, outputs, **kwargs):
    f = theano.function(inputs, outputs, **kwargs)
    assert not python_nodes(f)
    return f


def same(a, b):
    """Whether two results are equal, with the dtypes and strides of arrays."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    assert isinstance(a, np.ndarray)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def values(ttype, n=3):
    """Different arrays of a type, NaN, signed zeros, strides of all kinds and none at all among them."""
    rng = np.random.RandomState(0)
    found = []
    for k in range(n):
        shape = tuple(1 if b else (k + 2) % 4 for b in ttype.broadcastable)
        a = np.asarray(rng.rand(*shape) * 50 - (k % 2) * 5 * ttype.dtype.startswith(("i", "f", "c"))).astype(ttype.dtype)
        if a.size and ttype.dtype.startswith(("f", "c")):
            a.flat[0] = [np.nan, -0.0, np.inf][k % 3]
        if ttype.ndim and k % 2:
            a = np.repeat(a, 2, axis=0)[::-2] if not ttype.broadcastable[0] else a
        found.append(np.asfortranarray(a) if ttype.ndim > 1 and k == 2 else np.asarray(a))
    return found


def results_of_all(x, v, n):
    """Every operation on a list, an element and a position."""
    return [
        x.append(v),
        x.extend(x),
        x.insert(n, v),
        x.insert(-1, v),
        x.append(v).remove(v),
        x.reverse(),
        x.append(v).ind(v),
        x.append(v).insert(0, v).count(v),
        x.count(v),
        typed_list.length(x),
        x[n],
        x[-1],
        x[n:],
        x[:n],
        x[1:3],
        x[::-1],
        x[n::2],
        typed_list.make_list([v, x[n], v]),
    ]


@pytest.mark.parametrize(
    "ttype",
    [
        *(T.TensorType(d, (False,)) for d in theano.scalar.all_types),
        T.dscalar,
        T.fmatrix,
        T.dcol,
        T.itensor3,
        TypedListType(T.fvector),
        TypedListType(T.dscalar, 1),
    ],
    ids=str,
)
def test_the_same_as_in_python(ttype):
    x, v, n = TypedListType(ttype)("x"), ttype("v"), T.lscalar("n")
    outputs = results_of_all(x, v, n)
    native = compile_native([x, v, n], outputs)
    python = theano.function([x, v, n], outputs, mode=PYTHON)
    if isinstance(ttype, TypedListType):
        inner = values(T.fvector) if ttype.get_depth() == 0 else [values(T.dscalar), []]
        elements = [inner, [], inner[:1]]
    else:
        elements = values(ttype)
    for position in (0, 1, -2):
        for element in elements:
            assert all(map(same, native(elements, element, position), python(elements, element, position)))


def test_positions_are_those_of_python():
    x, v, n = TypedListType(T.fvector)("x"), T.fvector("v"), T.bscalar("n")
    item, insert = compile_native([x, n], x[n]), compile_native([x, v, n], x.insert(n, v))
    part = compile_native([x, n], [x[n:], x[:n], x[n::-1]])
    elements = [np.full(1, k, "float32") for k in range(3)]
    for at in range(-5, 6):
        if -3 <= at < 3:
            assert same(item(elements, at), elements[at])
        else:
            with pytest.raises(IndexError, match="list index out of range") as failure:
                item(elements, at)
            assert "Apply node that caused the error: GetItem" in str(failure.value)
        expected = elements.copy()
        expected.insert(at, np.float32([7]))
        assert same(insert(elements, [7], at), expected)
        for found, wanted in zip(part(elements, at), (elements[at:], elements[:at], elements[at::-1]), strict=True):
            assert same(found, wanted)
    big = T.TensorType("uint64", ())()
    with pytest.raises(IndexError, match="no position"):
        compile_native([x, big], x[big])(elements, np.uint64(2**64 - 1))
    with pytest.raises(ValueError, match="zero"):
        compile_native([x, n], x[::n])(elements, 0)


def test_what_is_searched_for_and_not_there():
    x, v = TypedListType(T.fvector)("x"), T.fvector("v")
    for make, name in [(x.ind, "Index"), (x.remove, "Remove")]:
        f = compile_native([x, v], make(v))
        with pytest.raises(ValueError, match="not in the list: array") as failure:
            f([[1.0], [2.0, 3.0]], [2.0])
        assert f"Apply node that caused the error: {name}" in str(failure.value)
    count = compile_native([x, v], x.count(v))
    assert count([[np.nan], [0.0], [-0.0], [], [0.0, 0.0]], [0.0]) == 2
    assert count([[np.nan], [1.0]], [np.nan]) == 1
    # Shared by long arrays, which are compared while other threads run.
    long = np.zeros(100_000, "float32")
    assert count([long, long + 1, long[::1]], long) == 2


def test_a_value_that_is_no_list_of_such_arrays():
    x = TypedListType(T.fvector)("x")
    f = theano.function([theano.In(x, borrow=True)], [typed_list.length(x), x[0]])
    for wrong in (3, [np.zeros(2)], [[[1.0]]]):
        with pytest.raises(TypeError):
            f(wrong)
    storage = f.fn.inputs[0]
    for wrong in (3, None, [np.zeros(2)], [None]):
        storage[0] = wrong
        with pytest.raises(TypeError):
            f.fn()


def test_elements_are_copied_on_their_way_in_and_not_twice():
    x, v = TypedListType(T.dvector)("x"), T.dvector("v")
    w = v * 2
    f = compile_native([theano.In(x, borrow=True, mutable=True), v], [x.append(v).append(w).append(w[:2]), w + 1])
    mine, array = [], np.arange(1000.0)
    result, other = f(mine, array)
    assert not any(np.may_share_memory(element, a) for element in result for a in (array, other))
    assert [e.base for e in result] == [None] * 3
    assert same(result, [array, array * 2, array[:2] * 2])
    assert same(f([], array)[0], result)


def test_a_change_in_place_changes_the_list_of_the_caller_only_where_it_may():
    x, v = TypedListType(T.fvector)("x"), T.fvector("v")
    mine = [np.float32([1]), np.float32([2])]
    assert len(compile_native([x, v], x.append(v))(mine, [3])) == 3
    assert len(mine) == 2


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
def test_a_list_as_the_state_of_a_function(mode):
    x, v = TypedListType(T.fvector)("x"), T.fvector("v")
    longer = x.append(v)
    f = theano.function([v, theano.In(x, value=[], update=longer)], [typed_list.length(longer), longer[v.shape[0]]], mode=mode)
    f([1, 2, 3][:0])
    assert f([0.5])[0] == 2
    with pytest.raises(IndexError):
        f([1, 2, 3, 4])
    assert [e.tolist() for e in f[x]] == [[], [0.5]]
    n, last = f([4, 5])
    assert n == 3 and last.tolist() == [4, 5]
    assert len(f[x]) == 3


def test_a_loop_reads_a_list_of_outside():
    x, start = TypedListType(T.fvector)("x"), T.dscalar("start")
    length = typed_list.length(x)
    sums, _ = theano.scan(lambda i, tl: tl[i].sum(), sequences=[T.arange(length)], non_sequences=[x])
    carried, _ = theano.scan(
        lambda i, before, tl: before + tl[-1 - i][0] * tl.count(tl[i]), T.arange(length), outputs_info=[start], non_sequences=[x]
    )
    f = compile_native([x, start], [sums, carried])
    lists = [np.arange(1 + k % 4, dtype="float32") + 1 for k in range(30)]
    sums, carried = f(lists, 2)
    np.testing.assert_array_equal(sums, [a.sum() for a in lists])
    counts = [sum(np.array_equal(a, b) for b in lists) for a in lists]
    np.testing.assert_array_equal(carried, 2 + np.cumsum([lists[-1 - i][0] * counts[i] for i in range(30)]))
    assert f([], 2)[0].shape == (0,)
    with pytest.raises(IndexError, match="step 1 "):
        theano.function([x], theano.scan(lambda i, tl: tl[i * 9].sum(), T.arange(3), non_sequences=[x])[0])(lists[:9])


def test_a_loop_makes_lists_within_a_step():
    x, v = TypedListType(T.dvector)("x"), T.dmatrix("v")

    def step(row, tl):
        mine = tl.append(row * 2).append(row).reverse()
        return mine[1].sum() + mine[-1].sum() * typed_list.length(mine)

    got, _ = theano.scan(step, v, non_sequences=[x])
    matrix, lists = np.arange(12.0).reshape(4, 3), [np.ones(5), np.ones(2)]
    f = compile_native([x, v], got)
    np.testing.assert_array_equal(f(lists, matrix), matrix.sum(1) * 2 + 5 * 4)
    assert len(lists) == 2


def test_lists_of_other_objects_run_in_python_where_they_must():
    ttype = theano.gof.generic
    x, v = TypedListType(ttype)("x"), ttype("v")
    f = theano.function([x, v], [x.append(v), typed_list.length(x), x[0], x.reverse()])
    assert {type(node.op).__name__ for node in python_nodes(f)} == {"Append"}
    assert f(["a"], "b")[1:] == [1, "a", ["a"]]


def test_memory_does_not_stay():
    x, v = TypedListType(T.dvector)("x"), T.dvector("v")
    f = compile_native([x, v], [typed_list.length(x.append(v * 2).extend(x)), x[-1] * 2])
    array, lists = np.ones(50_000), [np.ones(10)]
    f(lists, array)
    gc.collect()
    before = _runtime.pool_stats()["in_use"]
    for _ in range(50):
        f(lists, array)
        with pytest.raises(IndexError):
            f([], array)
    gc.collect()
    assert _runtime.pool_stats()["in_use"] <= before
    assert len(lists) == 1


def test_threads():
    x, n = TypedListType(T.dvector)("x"), T.lscalar("n")
    f = compile_native([x, n], [x[n].sum(), x.count(x[n]), x.append(x[n])])
    lists, wrong = [np.full(40_000, float(k)) for k in range(5)], []

    def work(k):
        for _ in range(20):
            total, count, longer = f(lists, k)
            if (total, count, len(longer)) != (40_000.0 * k, 1, 6):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_state_of_which_only_the_list_changes_is_not_copied_element_by_element():
    x, v = TypedListType(T.dvector)("x"), T.dvector("v")
    f = theano.function([v, theano.In(x, value=[], update=x.append(v).reverse())], [x[v.shape[0] - 1][0] + 1])
    assert [instr.name for instr in f.fn.instrs].count("deepcopy") == 0
    f[x] = [np.ones(1), np.zeros(1)]
    before = f[x]
    assert f([7.0]) == [2]
    assert [e.tolist() for e in f[x]] == [[7], [0], [1]]
    assert [e.tolist() for e in before] == [[1], [0]]
    with pytest.raises(IndexError):
        f(np.ones(9))
    assert len(f[x]) == 3
    # What changes an element makes a copy of all.
    inner = T.inc_subtensor(x[0][0], v[0])
    changed = theano.function([v, theano.In(x, value=[np.ones(1)], update=x.append(inner))], x[v.shape[0]])
    with pytest.raises(IndexError):
        changed(np.ones(4))
    assert [e.tolist() for e in changed[x]] == [[1]]


def test_arguments_that_are_lists_of_arrays_need_no_python(monkeypatch):
    vectors = TypedListType(T.fvector)("vectors")
    rows = TypedListType(T.TensorType("float64", (True, False)), 1)("rows")
    outputs = [vectors[0], typed_list.length(vectors), typed_list.length(rows[0])]
    f = theano.function([vectors, rows, T.lscalar("at")], outputs, on_unused_input="ignore")
    taken, slow_call = [], type(f)._slow_call

    def watched(self, *args, **kwargs):
        taken.append(args)
        return slow_call(self, *args, **kwargs)

    monkeypatch.setattr(type(f), "_slow_call", watched)
    a, row = np.arange(3, dtype="float32"), np.ones((1, 4))
    for _ in range(3):
        first, n, inner = f([a, a[::2]], [[row, row], []], 1)
        assert n == 2 and inner == 2 and first.tolist() == [0, 1, 2]
        assert not np.shares_memory(first, a)
    assert not taken
    for wrong, converted in (
        ([a, [1, 2]], True),
        ([a.astype("int8"), a], True),
        ([a, np.ones((2, 2), "float32")], False),
        ((a, a), False),
        ([a, None], False),
    ):
        taken.clear()
        if converted:
            assert f(wrong, [[row]], 0)[1] == 2
        else:
            with pytest.raises(TypeError):
                f(wrong, [[row]], 0)
        assert len(taken) == 1
    taken.clear()
    with pytest.raises(TypeError):
        f([a], [[np.ones((2, 4))]], 0)
    with pytest.raises(TypeError):
        f([a], [row], 0)
    assert len(taken) == 2


def test_a_list_that_is_overwritten_or_holds_other_objects_is_looked_at_in_python():
    x, i = TypedListType(T.dvector)("x"), T.lscalar()
    changing = theano.function([theano.In(x, mutable=True, borrow=True)], x.append(T.ones(2)))
    mine = [np.zeros(1)]
    assert len(changing(mine)) == 2
    keeping = theano.function([x], x.append(T.ones(2)))
    mine = [np.zeros(1)]
    assert len(keeping(mine)) == 2 and len(mine) == 1
    slices = TypedListType(T.type_other.slicetype)("slices")
    pick = theano.function([slices, i], slices[i])
    assert pick([slice(1, 2)], 0) == slice(1, 2)


def test_an_element_is_removed_whatever_another_thread_does_to_the_list():
    """A removal that compares long elements lets others run: what goes is an element equal to the one asked for, or nothing."""
    x, element = TypedListType(T.dvector)("x"), T.dvector()
    f = theano.function([theano.In(x, mutable=True, borrow=True), element], x.remove(element))
    size, stop = 100_000, threading.Event()
    shared = [np.full(size, float(k)) for k in range(6)]

    def turn():
        while not stop.is_set():
            shared.append(shared.pop(0)) if shared else None

    other = threading.Thread(target=turn)
    other.start()
    try:
        for k in range(5):
            try:
                f(shared, np.full(size, float(k)))
            except ValueError:
                continue
            assert not any(a[0] == k for a in list(shared))
    finally:
        stop.set()
        other.join()
    assert any(a[0] == 5 for a in shared)
