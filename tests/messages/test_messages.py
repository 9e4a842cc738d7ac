"""What a person sees who makes one of the mistakes that people make: the kind of error, and the words that help."""

import math

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano import function, scan, shared
from theano.ifelse import ifelse

# Each row: what is written, the exception, and words of its message. Programs see the names of `names` below.
VALUES_ASKED = [
    ("bool(y > 0)", TypeError, ["boolean operations", "switch", "ifelse"]),
    ("y > 0 and y < 1", TypeError, ["boolean operations", "`&`"]),
    ("not (y > 0)", TypeError, ["boolean operations", "`~`"]),
    ("0 < y < 1", TypeError, ["boolean operations", "(a < b) & (b < c)"]),
    ("len(v)", TypeError, ["object of type 'TensorVariable' has no len()", "v is symbolic", "v.shape[0]"]),
    ("[a for a in v]", ValueError, ["length not known: v", "theano.scan"]),
    ("sum(x)", TypeError, ["does not support iteration", "theano.tensor.sum"]),
    ("sum(v)", ValueError, ["length not known: v", "theano.tensor.sum"]),
    ("range(i)", TypeError, ["i is symbolic", "theano.tensor.arange(i)", "n_steps=i"]),
    ("[1, 2][i]", TypeError, ["i is symbolic", "theano.tensor.stack(items)[i]"]),
    ("math.exp(y)", TypeError, ["y is symbolic", "theano.tensor.exp"]),
    ("float(y)", TypeError, ["y is symbolic", "y.eval"]),
    ("int(i)", TypeError, ["i is symbolic"]),
    ("complex(y)", TypeError, ["y is symbolic"]),
    ("v.__setitem__(0, 1)", TypeError, ["v is symbolic", "set_subtensor(v[index], value)"]),
    ("assign(v)", TypeError, ["does not support item assignment", "set_subtensor"]),
    ("delete(v)", TypeError, ["does not support deletion of items"]),
    ("y(3)", TypeError, ["not callable"]),
    ("np.median(x)", TypeError, ["numpy.median", "theano.tensor"]),
    ("np.cbrt(x)", TypeError, ["numpy.cbrt", "theano.tensor"]),
    ("np.sum(x, where=x > 0)", TypeError, ["numpy.sum", "where"]),
    ("np.exp(v, out=np.zeros(2))", TypeError, ["numpy.exp", "`out`"]),
    ("np.add(v, 1.0, out=np.zeros(2))", TypeError, ["numpy.add", "`out`"]),
    ("np.trace(T.dtensor3())", TypeError, ["numpy.trace", "2 dimensions"]),
    ("np.add.outer(v, v)", TypeError, ["numpy.add.outer"]),
]

BUILDING = [
    ("x + 'a'", TypeError, ["unsupported operand", "TensorVariable", "str"]),
    ("x + None", TypeError, ["unsupported operand", "NoneType"]),
    ("T.exp('a')", TypeError, ["Cannot convert a to TensorType", "str"]),
    ("T.exp(x, v)", TypeError, ["Wrong number of inputs", "exp", "expected 1"]),
    ("T.switch(x)", TypeError, ["Wrong number of inputs", "switch", "expected 3"]),
    ("T.as_tensor_variable(object())", TypeError, ["Cannot convert", "object"]),
    ("T.as_tensor_variable(True)", TypeError, ["numpy.asarray(True)", "theano.tensor.eq"]),
    ("T.constant(np.ma.masked_array([1.0, 2.0], [True, False]))", ValueError, ["mask", "filled"]),
    ("x['a']", TypeError, ["Cannot convert a to TensorType"]),
    ("x[1.5]", TypeError, ["Expected an integer", "float"]),
    ("v[y]", TypeError, ["Expected an integer", "float64"]),
    ("x[0, 0, 0]", IndexError, ["too many indices", "2 dimensions"]),
    ("x.summ()", AttributeError, ["summ"]),
    ("T.expp", AttributeError, ["theano.tensor", "expp"]),
    ("x.dimshuffle(1)", ValueError, ["drop a non-broadcastable dimension", "(1,)"]),
    ("x.dimshuffle(0, 0)", ValueError, ["may not appear twice", "(0, 0)"]),
    ("x.dimshuffle(0, 2)", ValueError, ["new_order[1] is 2", "only has 2 axes"]),
    ("x.transpose(0, 1, 2)", ValueError, ["axis 2 is out of bounds", "2 dimensions"]),
    ("x.sum(axis=2)", ValueError, ["x", "axis 2"]),
    ("T.argmax(x, axis=3)", ValueError, ["axis 3 is out of bounds", "2 dimensions"]),
    ("T.concatenate([v, x])", TypeError, ["same number of dimensions", "[1, 2]"]),
    ("T.concatenate(v, v)", TypeError, ["tuple or a list", "concatenate"]),
    ("T.stack([v, x])", TypeError, ["equal rank", "[1, 2]"]),
    ("T.join(0, v, y)", TypeError, ["dimension 0", "stack"]),
    ("T.set_subtensor(v, 3)", TypeError, ["result of a subtensor operation"]),
    ("T.set_subtensor(v[:2], x)", TypeError, ["1-dimensional subtensor", "2-dimensional value"]),
    ("T.vector(dtype='floot')", TypeError, ["floot"]),
    ("T.cast(v, 'float3')", TypeError, ["float3"]),
    ("T.unbroadcast(v, 3)", ValueError, ["dimension 3", "1"]),
    ("T.tensordot(x, x, axes=[[0], [5]])", ValueError, ["axis 5", "2 dimensions"]),
    ("T.nnet.conv2d(x, x)", TypeError, ["4D tensor", "matrix"]),
    ("T.nnet.softmax(T.dtensor4())", ValueError, ["1-d or 2-d tensor", "4D"]),
    ("ifelse(x, v, v)", TypeError, ["condition", "scalar", "matrix"]),
    ("ifelse(y > 0, x, v)", TypeError, ["branches", "matrix", "vector"]),
    ("T.choose(v, [x])", TypeError, ["int", "float64"]),
    ("T.bincount(v)", TypeError, ["integers", "vector"]),
    ("theano.config.floatx", AttributeError, ["floatx", "Did you mean 'floatX'"]),
    ("setattr(theano.config, 'floatX', 'float31')", ValueError, ["float31", "floatX", "float32"]),
    ("theano.printing.debugprint(3)", TypeError, ["debugprint", "3"]),
]

#: Lengths that the graph says, so that no call is needed to see that they clash.
SHAPES = [
    ("T.ones((3,)) + T.ones((4,))", ValueError, ["Input dimension mis-match", "(3,)", "(4,)", "3 and 4 elements", "add"]),
    ("np.ones((2, 3)) * v.dimshuffle(0, 'x') + x * np.ones(3) + T.ones((2, 4))", ValueError, ["(2, 4)", "3 and 4"]),
    ("T.specify_shape(v, (3,)) + T.arange(4)", ValueError, ["SpecifyShape", "ARange", "(3,)", "(4,)"]),
    ("T.switch(T.ones(3) > 0, T.ones(2), 1)", ValueError, ["switch", "input 0", "input 1", "(3,)", "(2,)"]),
    ("T.zeros((3, 4)).sum(axis=0) + T.zeros((3, 4)).reshape((6, 2)).T[0] + T.ones(3)", ValueError, ["(4,)", "(6,)"]),
    ("T.dot(T.ones((2, 3)), x + T.ones((4, 2)))", ValueError, ["dot", "(2, 3)", "(4, 2)", "not 3 and 4"]),
    ("T.dot(T.dcol(), np.ones((3, 2)))", ValueError, ["dot", "(?, 1)", "(3, 2)", "not 1 and 3"]),
    ("T.concatenate([T.ones((2, 3)), np.zeros((2, 4))])", ValueError, ["dimension 1", "tensor 0 has 3", "tensor 1 has 4"]),
    ("T.stack([T.eye(3)[0] + T.ones(3), v + T.ones(4)])", ValueError, ["dimension 1", "tensor 0 has 3", "tensor 1 has 4"]),
    ("(T.ones((3, 4)) * x)[3]", IndexError, ["index 3", "dimension 0", "(3, 4)", "from 0 to 2"]),
    ("T.ones((3, 4))[:, 1:][:, -4]", IndexError, ["index -4", "dimension 1", "(3, 3)", "-3 to -1"]),
    ("T.ones((3, 4))[[0, 1, 5]]", IndexError, ["index 5", "dimension 0", "(3, 4)"]),
    ("T.drow('r')[1]", IndexError, ["index 1", "dimension 0 of r", "(1, ?)"]),
    ("T.alloc(T.arange(3), 2, 4)", ValueError, ["shape (3,)", "Alloc of shape (2, 4)", "or 1, which is repeated"]),
    ("T.batched_dot(T.ones((2, 3, 4)), T.ones((2, 5, 6)))", ValueError, ["batched_dot", "(2, 3, 4)", "(2, 5, 6)", "not 4 and 5"]),
    ("T.batched_dot(T.ones((2, 3)), T.ones((4, 3)))", ValueError, ["batched_dot", "dimensions 0 and 0", "not 2 and 4"]),
    ("T.set_subtensor(T.zeros(5)[1:3], T.ones(4))", ValueError, ["shape (4,)", "part", "shape (2,)", "4 elements", "2 places"]),
    ("T.inc_subtensor(T.zeros((5, 2))[[0, 1]], np.ones((3, 2)))", ValueError, ["(3, 2)", "(2, 2)", "3 elements"]),
    ("T.arange(6).reshape((4, 2))", ValueError, ["shape (6,)", "6 elements", "(4, 2)", "8 places", "-1"]),
    ("T.ones((2, 3)).reshape((-1, 4))", ValueError, ["(2, 3)", "(-1, 4)", "multiple of 4"]),
]

GRADIENTS = [
    ("T.grad(y, x)", theano.gradient.DisconnectedInputError, ["not part of", "operator: x", "test_messages.py"]),
    ("T.grad(x, x)", TypeError, ["cost must be a scalar", "x", "2 dimensions"]),
    ("T.grad(x.sum(), 'x')", TypeError, ["Expected a Variable", "x", "str"]),
    ("T.jacobian(x, v)", AssertionError, ["1 dimensional", "flatten"]),
    ("T.hessian(v, v)", AssertionError, ["0 dimensional"]),
    ("T.Rop(x, x, v)", ValueError, ["mismatched dimensionality", "2", "1"]),
]

LOOPS = [
    ("scan(lambda a: a)", ValueError, ["how many steps", "n_steps"]),
    ("scan(lambda a, b: a, sequences=v)", TypeError, ["1 arguments", "'b'", "1 of sequences", "v[t]"]),
    ("scan(lambda a: a, sequences=v, non_sequences=x)", TypeError, ["2 arguments", "1 non_sequences", "v[t], x"]),
    ("scan(lambda: y, sequences=v, outputs_info=y)", TypeError, ["2 arguments", "1 of earlier results"]),
    ("scan(lambda a: 'x', sequences=v)", ValueError, ["step function", "'x'"]),
    ("scan(lambda a: T.stack([a, a]), outputs_info=y, n_steps=3)", ValueError, ["initial value", "0 dimension", "1 dimension"]),
    ("scan(lambda a: T.cast(a, 'float32'), outputs_info=y, n_steps=3)", ValueError, ["float64", "float32", "cast"]),
    ("scan(lambda a: a, sequences=v, outputs_info=[None, None])", ValueError, ["2 entries", "1 outputs"]),
    ("scan(lambda a: a, sequences=v, outputs_info=dict(taps=[-1]))", ValueError, ["no initial value", "'initial'"]),
    ("scan(lambda a: a, sequences=dict(input=v, taps=3.5))", ValueError, ["Taps must be integers", "3.5"]),
    ("scan(lambda a: a, sequences=y)", ValueError, ["scalar", "nothing to iterate over"]),
]

ASKING_FOR_OPERATIONS = [
    ("T.blas.gemv_no_inplace(v, y, x, x, y)", TypeError, ["gemv requires vector for x", "matrix"]),
    ("T.blas._dot22(x, v)", TypeError, ["Dot22 needs matrices", "vector"]),
    ("T.blas._dot22(x, T.fmatrix())", TypeError, ["dtype mismatch to Dot22", "float64 and float32"]),
    ("T.blas._dot22(x, T.lmatrix())", TypeError, ["floating-point", "int64"]),
    ("T.complex(T.zscalar(), y)", TypeError, ["parts of a complex number must be real", "complex128"]),
    ("T.lvector() & T.TensorType('uint64', [False])()", TypeError, ["no integer type holds", "int64", "uint64"]),
    ("theano.gof.optdb.DB().query('fast_run')", ValueError, ["start with '+', '&' or '-'", "'fast_run'"]),
    ("theano.gof.ProxyDB('fast_run')", TypeError, ["database of optimizers", "'fast_run'"]),
    ("theano.gof.FunctionGraph([x], [x.sum()]).replace(v, y)", TypeError, ["must be compatible", "vector", "scalar"]),
]

COMPILING = [
    ("function(x, x)", TypeError, ["must be a list", "[x]"]),
    ("function([3], x)", TypeError, ["int", "3"]),
    ("function([x], [x, 'a'])", TypeError, ["Outputs must be theano Variable", "a", "str"]),
    ("function([x], x + y)", theano.gof.MissingInputError, ["y", "not provided", "test_messages.py"]),
    ("function([x, y], x)", theano.compile.UnusedInputError, ["index 1", "y", "on_unused_input='warn'"]),
    ("function([x, x], x)", theano.compile.UnusedInputError, ["used twice", "0 and 1"]),
    ("function([w], w)", TypeError, ["shared variable (w)", "givens"]),
    ("function([T.constant(1)], 2 * y)", TypeError, ["Constants not allowed", "1"]),
    ("function([x], x, mode='FAST_RUNN')", Exception, ["FAST_RUNN", "FAST_RUN"]),
    ("function([x], x, nothing=3)", TypeError, ["nothing"]),
    ("function([x], x, givens={3: x})", TypeError, ["given keys", "3", "int"]),
    ("function([x], x.sum(), givens={x: v})", Exception, ["x", "input"]),
    ("function([x], x, updates=[(y, y + 1)])", TypeError, ["update target", "SharedVariable", "y"]),
    ("function([v], [], updates={w32: v})", TypeError, ["w32", "float32", "float64", "cast"]),
    ("function([x], [], updates={w: x})", TypeError, ["w", "vector", "matrix"]),
    ("function([], [], updates=[(w, w + 1), (w, w + 2)])", ValueError, ["already has an update", "w"]),
    ("v.sum().eval({'v': [1.0]})", TypeError, ["dictionary from variables", "'v'"]),
    ("v.sum().eval({x: [[1.0]]})", theano.compile.UnusedInputError, ["x", "not part of"]),
    ("theano.OpFromGraph([x], 3)", TypeError, ["outputs", "list"]),
]

SHARED = [
    ("shared(x)", TypeError, ["symbolic", "x"]),
    ("w.set_value(np.zeros((2, 2)))", TypeError, ["expected 1, got 2", "(2, 2)", '"w"']),
    ("w32.set_value(np.zeros(3))", TypeError, ["float32", "float64", "w32"]),
    ("w.set_value('abc')", ValueError, ["'abc'", "w"]),
    ("shared(3).set_value(3.5)", TypeError, ["3.5", "int64"]),
    ("w.value", AttributeError, ["get_value()", "set_value"]),
    ("shared(np.zeros(3), dtype='float32')", TypeError, ["dtype", "kwargs"]),
    ("shared(np.ma.masked_array([1.0, 2.0], [True, False]))", ValueError, ["mask", "filled"]),
]

CALLING = [
    ("total(ones, 2, 3)", TypeError, ["total", "takes 1 (x)", "3 were given"]),
    ("total()", TypeError, ["Missing required input", "x"]),
    ("total(z=3)", TypeError, ["z", "named input (x)"]),
    ("total(np.ones(3))", TypeError, ['"x"', "expected 2, got 1", "test_messages.py"]),
    ("total('abc')", ValueError, ['"x"', "'abc'"]),
    ("total([[1, 2], [3]])", TypeError, ['"x"', "[[1, 2], [3]]"]),
    ("total(np.ma.masked_array(ones, ones > 0))", ValueError, ['"x"', "mask"]),
    ("total(x)", TypeError, ["Variable", "numeric array"]),
    ("function([i], i + 1)(2.5)", TypeError, ['"i"', "2.5", "int64"]),
    ("product(np.ones((2, 3)), np.ones((2, 3)))", ValueError, ["3 cols", "2 rows", "(a, b)", "test_messages.py"]),
    ("function([x, v], x + v)(np.ones((2, 3)), np.ones(4))", ValueError, ["Input dimension mis-match", "shape[1] = 3", "(2, 3)"]),
    ("function([v], v.reshape((2, 2)))(np.ones(3))", ValueError, ["(3,)", "(2, 2)", "test_messages.py"]),
    ("function([v, i], v[i])(np.ones(3), 7)", IndexError, ["7", "size 3", "test_messages.py"]),
    ("function([v], T.max(v))(np.ones(0))", ValueError, ["zero-size array", "test_messages.py"]),
    ("function([x], T.nlinalg.matrix_inverse(x))(0 * ones)", np.linalg.LinAlgError, ["Singular", "(2, 2)"]),
    ("function([v], T.log(v), mode=nan_guard)([-1.0])", AssertionError, ["NaN detected", "shapes: [(1,)]", "test_messages.py"]),
    ("function([v], T.log(v), mode=nan_guard)([np.nan])", AssertionError, ["NaN detected", "input", "v", "test_messages.py"]),
    ("function([v], scan(lambda a: a, sequences=v, n_steps=5)[0])(np.ones(3))", ValueError, ["3 elements", "5 steps"]),
]


def assign(variable):
    variable[0] = 1


def delete(variable):
    del variable[0]


LIBRARY = {
    "np": np, "T": T, "theano": theano, "math": math, "assign": assign, "delete": delete,
    "function": function, "scan": scan, "shared": shared, "ifelse": ifelse,
}


@pytest.fixture(scope="module")
def names():
    x, v, y, i = T.dmatrix("x"), T.dvector("v"), T.dscalar("y"), T.lscalar("i")
    a, b = T.dmatrices("a", "b")
    return {
        **LIBRARY,
        "x": x, "v": v, "y": y, "i": i, "ones": np.ones((2, 2)),
        "w": shared(np.zeros(3), name="w"),
        "w32": shared(np.zeros(3, "float32"), name="w32"),
        "nan_guard": theano.compile.nanguardmode.NanGuardMode(True, True, False),
        "total": function([x], x.sum(), name="total"),
        "product": function([a, b], T.dot(a, b)),
    }


MISTAKES = VALUES_ASKED + BUILDING + SHAPES + ASKING_FOR_OPERATIONS + GRADIENTS + LOOPS + COMPILING + SHARED + CALLING


@pytest.mark.parametrize("program, kind, words", MISTAKES, ids=[program for program, _, _ in MISTAKES])
def test_message_says_what_is_wrong(program, kind, words, names):
    # Compiled under the name of this file, so that a trace that shows the user's line names it.
    with pytest.raises(kind) as caught:
        eval(compile(program, __file__, "eval"), dict(names))
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in:\n{message}"
    assert not message.startswith(("(", "[")), "a tuple in place of a text"
    assert "\\n" not in message


def test_there_are_many():
    assert len(MISTAKES) >= 80


def test_what_python_is_refused_is_not_found_either(names):
    for method in ("__len__", "__float__", "__int__", "__index__", "__complex__", "__setitem__"):
        assert not hasattr(names["v"], method)


def test_numbers_in_a_list_are_no_tensor():
    with pytest.warns(UserWarning, match="numpy.array"):
        theano.shared([1, 2, 3])
