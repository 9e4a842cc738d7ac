"""Programs about functions, shared variables, texts and pickles."""

from __future__ import annotations

from tests.differential.generator import DTYPES, FLOATS, REAL, Writer, kind


@kind
def functions(w: Writer) -> None:
    """`theano.function` with its arguments, and calls with arguments that fit more or less."""
    r = w.r
    types = [
        "scalar",
        "vector",
        "matrix",
        "iscalar",
        "ivector",
        "bscalar",
        "fvector",
        "dmatrix",
        "lscalar",
        "row",
        "col",
        "zscalar",
        "fscalar",
        "wvector",
        "icol",
        "ltensor3",
    ]
    a, b = r.choice(types), r.choice(types)
    w.add(f"a = T.{a}('a')", f"b = T.{b}({w.pick(repr('b'), repr('b'), '')})", f"s = theano.shared({w.number()}, name='s')")
    given = [
        "1",
        "2.5",
        "np.int64(3)",
        "np.float32(1.5)",
        "np.arange(3)",
        "np.ones((2, 3))",
        "np.ones((1, 3), 'float32')",
        "[1, 2, 3]",
        "[[1, 2], [3, 4]]",
        "None",
        "'text'",
        "np.ones(3, 'int8')",
        "1e300",
        "True",
        "np.nan",
        "2**40",
        "np.array(3, 'uint8')",
        "[[1.5], [2.5]]",
        "np.ones((3, 1))",
        "3 + 1j",
        "[]",
        "np.zeros((0, 3))",
        "np.ones(3) > 0",
        "np.float64(0.1)",
        "-1",
        "300",
    ]
    ins = [
        "a",
        "a",
        "a",
        "theano.In(a)",
        "theano.In(a, allow_downcast=True)",
        "theano.In(a, strict=True)",
        "theano.In(a, name='first')",
        f"theano.In(a, value={r.choice(given)})",
        "theano.In(a, borrow=True)",
        "theano.In(a, mutable=True)",
        f"theano.In(a, value={r.choice(given)}, update=a + 1)",
        "'a'",
        "theano.In(a, value=s)",
        "theano.In(a, allow_downcast=False)",
        "theano.In(a, implicit=False)",
    ]
    out = w.pick(
        "a + b",
        "[a, b]",
        "a * s",
        "[a]",
        "None",
        "[]",
        "{'x': a, 'y': b}",
        "theano.Out(a * 2, borrow=True)",
        "3",
        "a",
        "[a + 1, 2.5]",
        "(a, b)",
        "s",
        "[a, a]",
        "np.ones(2)",
    )
    args = w.pick(
        "",
        "",
        "",
        ", updates=[(s, s + 1)]",
        ", updates={s: s * 2}",
        ", givens={a: b}",
        ", givens=[(s, 5)]",
        ", allow_input_downcast=True",
        ", updates=[(s, a)]",
        ", on_unused_input='warn'",
        ", givens={b: T.constant(3)}",
        ", updates=[(s, s + a.sum())]",
        ", name='named'",
        ", updates=[(s, s), (s, s + 1)]",
        ", profile=False",
        ", rebuild_strict=False",
        ", mode='NOTHING'",
        ", updates=[(a, b)]",
        ", givens=[(s, s + 1)]",
    )
    w.add(
        f"f = theano.function([{r.choice(ins)}, {w.pick('b', 'b', 'b', 'a', '')}], {out}{args}{w.mode() if 'mode' not in args else ''})"  # noqa: E501
    )
    for _ in range(r.randint(2, 4)):
        x, y = r.choice(given), r.choice(given)
        w.add(
            w.pick(
                f"report(f({x}, {y}))",
                f"report(f({x}, {y}))",
                f"report(f({x}, b={y}))",
                f"report(f(a={x}, b={y}))",
                f"report(f({x}))",
                f"report(f({x}, {y}, 1))",
                "report(f())",
                f"report(f({x}, c={y}))",
                "f['a'] = 3\nreport(f['a'])",
                "report(f['a'])",
                "report(f.value['b'])",
            )
        )
    w.add("report(s.get_value())")
    if r.random() < 0.2:
        w.add("g = f.copy()", "report(g(1, 2))")
    if r.random() < 0.15:
        w.add(f"report(({w.pick('a', 'a + b', 's * 2')}).eval({w.pick('', '{a: 1}', '{a: np.ones(3), b: 2}', '{b: 2}')}))")


@kind
def shared_variables(w: Writer) -> None:
    """Shared variables of all values: types, setting, borrowing, updates."""
    r = w.r
    dtype = w.dtype()
    shape = w.shape(r.choice([0, 1, 2]))
    value = w.pick(
        w.value(dtype, shape),
        w.value(dtype, shape),
        w.number(),
        "[1, 2]",
        "'text'",
        "None",
        "(1, 2)",
        "np.random.RandomState(3)",
        "{'a': 1}",
    )
    w.add(
        f"v = {value}",
        f"s = theano.shared(v{w.maybe(', borrow=True', 0.3)}{w.maybe(', name=' + repr('s'), 0.4)}{w.maybe(', broadcastable=' + str(tuple(n == 1 for n in shape)), 0.1)}{w.maybe(', allow_downcast=True', 0.1)})",  # noqa: E501
    )
    w.add("report(s if hasattr(s.type, 'dtype') else str(s.type))", "report(str(s))", "report(s.get_value())")
    for _ in range(r.randint(1, 3)):
        other = w.pick(
            w.value(dtype, shape), w.value(w.dtype(), shape), w.value(dtype, w.shape(r.choice([0, 1, 2]))), w.number(), "None"
        )
        w.add(f"s.set_value({other}{w.maybe(', borrow=True', 0.3)})", "report(s.get_value())")
    w.add(f"y = s {w.pick('+', '*', '-', '/')} {w.number()}", "report(y)", "report(y.eval())")
    update = w.pick(
        "s + 1",
        "s * 2",
        "T.cast(s + 1, s.dtype)",
        "s.sum()",
        "s * 1.5",
        "-s",
        "s[::-1]",
        "T.zeros_like(s)",
        "3",
        "np.float64(2)",
        "s > 0",
    )
    w.add(
        f"f = theano.function([], {w.pick('s', 's.sum()', '[]')}, updates=[(s, {update})])",
        "report(f())",
        "report(s.get_value())",
        "report(f())",
        "report(s.get_value())",
    )
    w.add(
        w.pick(
            "report(s.get_value(borrow=True) is s.get_value(borrow=True))",
            "report(s.container.value)",
            "report(s.clone().get_value())",
            "report(s.type == theano.shared(v).type)",
            "s.zero(); report(s.get_value())",
        )
    )


@kind
def texts(w: Writer) -> None:
    """`pprint`, `debugprint`, `str` of graphs that are not rewritten."""
    r = w.r
    x, y = w.variable(w.dtype(FLOATS), (2, 3)), w.variable(w.dtype(REAL), (2, 3))
    n = w.variable("int64", ())
    if r.random() < 0.3:
        w.add(f"{y}.name = None")
    terms = [x, y, n]
    for _ in range(r.randint(2, 6)):
        a, b = r.choice(terms), r.choice(terms)
        z = w.name("z")
        w.add(
            f"{z} = "
            + w.pick(
                f"{a} {w.pick('+', '-', '*', '/', '**', '//', '%', '<', '>=')} {b}",
                f"{a} + {w.number()}",
                f"{w.number()} - {a}",
                f"T.exp({a})",
                f"T.log({a})",
                f"-{a}",
                f"abs({a})",
                f"T.sqr({a})",
                f"T.sum({a}{w.maybe(', axis=0')})",
                f"{a}.mean()",
                f"T.dot({x}, {y}.T)",
                f"{x}[0]",
                f"{x}[{w.pick('1:', '::2', ':, 0', f'{n}', f'{n}:', '::-1, 1', 'None, 0', '[0, 1]')}]",
                f"{x}.T",
                f"{x}.dimshuffle('x', 1, 0)",
                f"{a}.max()",
                f"T.argmax({x}, axis=1)",
                f"T.switch({a}, {b}, {a})",
                f"T.clip({a}, 0, 1)",
                f"T.concatenate([{x}, {y}])",
                f"T.stack([{n}, {n}])",
                f"{x}.reshape((3, 2))",
                f"{x}.flatten()",
                f"{x}.shape",
                f"{x}.shape[0]",
                f"T.cast({a}, 'int8')",
                f"T.zeros_like({a})",
                f"T.alloc({n}, 2, 3)",
                f"T.arange({n})",
                "T.eye(3)",
                f"T.set_subtensor({x}[0], 1)",
                f"T.inc_subtensor({x}[:, 1], 2)",
                f"T.grad({a}.sum(), {x})",
                f"T.nnet.sigmoid({a})",
                f"T.nnet.softmax({x})",
                f"T.maximum({a}, {b})",
                f"T.eq({a}, {b})",
                "theano.shared(np.ones(2), name='s') * 2",
                f"T.constant(2.5) * {a}",
                f"T.tanh({a}) * T.cosh({b})",
                f"{a}.std()",
                f"T.tile({x}, (2, 1))",
                f"T.sort({x})",
                f"T.isnan({a})",
                f"T.round({a})",
                f"T.nlinalg.det({x})",
                f"T.invert({n})",
                f"theano.scan(lambda a: a * 2, sequences={x})[0]",
                f"T.and_({n}, {n})",
                f"{n} & {n}",
                f"T.prod({a})",
                f"T.var({a})",
                f"T.repeat({x}, 2)",
                f"T.join(0, {x}, {y})",
                f"T.diag({x})",
                f"T.outer({x}[0], {y}[0])",
                f"T.minimum({a}, 0.5)",
            )
        )
        terms.append(z)
    last = terms[-1]
    if r.random() < 0.2:
        w.add(f"{last}.name = 'named'")
    shown = [
        f"theano.pprint({last})",
        f"theano.pp({last})",
        f"str({last})",
        f"repr({last})",
        f"str({last}.owner)",
        f"theano.printing.debugprint({last}, file='str')",
        f"str({last}.type)",
        f"str({last}.owner.op)",
        f"theano.printing.debugprint({last}, file='str', print_type=True)",
        f"theano.printing.debugprint({last}, file='str', depth={r.randint(1, 3)})",
        f"theano.printing.debugprint([{last}, {r.choice(terms)}], file='str')",
        f"theano.printing.debugprint({last}, file='str', ids={w.pick(repr('int'), repr('CHAR'), repr(''))})",
        f"theano.printing.min_informative_str({last})",
        f"theano.printing.debugprint({last}, file='str', stop_on_name=True)",
        f"theano.gof.graph.variable_type({last})" if False else f"[str(v) for v in theano.gof.graph.inputs([{last}])]",
        f"len(theano.gof.graph.ancestors([{last}]))",
        f"repr({last}.type)",
    ]
    for _ in range(r.randint(2, 5)):
        w.add(f"report({r.choice(shown)})")
    if r.random() < 0.3:
        f = (
            f"theano.function({terms[:3]}".replace("'", "")
            + f", {last}, on_unused_input='ignore', mode=theano.Mode(linker='py', optimizer=None))"
        )
        w.add(
            f"f = {f}",
            "report(theano.printing.debugprint(f, file='str'))",
            "report([str(n.op) for n in f.maker.fgraph.toposort()])",
        )


@kind
def constructors(w: Writer) -> None:
    """Types and variables: names, patterns, comparison, conversion, attributes."""
    r = w.r
    letter = w.pick("", "b", "w", "i", "l", "f", "d", "c", "z", "h")
    form = w.pick("scalar", "vector", "matrix", "row", "col", "tensor3", "tensor4", "tensor5", "scalars", "vectors", "matrices")
    dtype, pattern = w.dtype(), tuple(r.random() < 0.3 for _ in range(r.randint(0, 3)))
    forms = [
        f"T.{letter}{form}({w.pick('', repr('x'), 3 if form.endswith('s') else repr('y'))})",
        f"T.{form}(dtype={dtype!r})",
        f"T.TensorType({dtype!r}, {pattern})()",
        f"T.tensor({dtype!r}, {pattern})",
        f"T.TensorType({dtype!r}, {pattern}).make_variable('z')",
        f"T.as_tensor_variable({w.number()}{w.maybe(f', ndim={r.randint(0, 3)}', 0.3)})",
        f"T.constant({w.number()}{w.maybe(f', dtype={dtype!r}', 0.4)})",
        f"T.as_tensor_variable({w.value(dtype, w.shape())})",
        f"theano.tensor.basic.cast({w.number()}, {dtype!r})",
        f"T.TensorType({dtype!r}, {pattern}).clone(dtype={w.dtype()!r})()",
        f"T.as_tensor_variable([T.scalar(), {w.number()}])",
        f"T.as_tensor_variable((T.iscalar(), T.{letter or 'd'}scalar()))",
        f"T.TensorType('int', {pattern})()",
        f"T.TensorType('float{w.pick(8, 128)}', ())()",
        "theano.tensor.TensorConstant(T.dscalar, np.asarray(2.5))",
        f"T.scalar_from_tensor(T.{letter or 'd'}scalar())",
        f"T.tensor_from_scalar(theano.scalar.{w.pick('float64', 'int8')}())",
        f"theano.scalar.{w.pick('upcast')}({w.dtype()!r}, {w.dtype()!r})",
        f"T.constant({w.value(dtype, (2,))}) + T.constant({w.number()})",
        f"T.{form}('x').type",
        "T.matrix() == T.matrix()",
        f"T.dmatrix == T.TensorType({dtype!r}, (False, False))",
        f"str(T.TensorType({dtype!r}, {pattern}))",
        f"repr(T.TensorType({dtype!r}, {pattern}))",
        f"T.TensorType({dtype!r}, {pattern}).filter({w.number()}{w.maybe(', strict=True', 0.3)}{w.maybe(', allow_downcast=True', 0.3)})",  # noqa: E501
        f"T.TensorType({dtype!r}, {pattern}).is_valid_value({w.number()})",
        f"T.{form}().ndim",
        f"T.{form}().broadcastable",
        "T.vector().tag.test_value",
        "bool(T.vector())",
        "len(T.vector())",
        "list(T.vector())",
        "T.vector('v') in [T.scalar()]",
        "float(T.scalar())",
        "T.scalar().owner",
        f"T.{letter}{form}",
        f"theano.tensor.get_scalar_constant_value(T.constant({w.number()}) {w.pick('', '* 2', '+ 1')})",
        "T.eq(T.scalar('a'), T.scalar('b')).owner",
        f"T.extract_constant(T.constant({w.number()}))",
        f"theano.scalar.get_scalar_type({dtype!r})",
        "theano.tensor.opt.get_scalar_constant_value(T.ones((2,))[0] * 3)",
        f"T.as_tensor_variable({w.pick('None', repr('text'), 'object()', '{}', 'T', 'slice(1)')})",
    ]
    for _ in range(r.randint(3, 6)):
        w.add(f"report({r.choice(forms)})")


@kind
def pickles(w: Writer) -> None:
    """Variables, functions and shared variables through pickle and copy."""
    x = w.variable(w.dtype(FLOATS), (2, 3))
    w.add(
        "import pickle, copy",
        f"s = theano.shared({w.value(w.dtype(), (3,))}, name='s')",
        f"y = {w.pick(f'{x} * 2 + s', f'T.dot({x}, T.ones(3))', f'T.nnet.softmax({x})', f'theano.scan(lambda a: a * s, sequences={x})[0]')}",  # noqa: E501
    )
    w.add(
        f"f = theano.function([{x}], y, updates=[(s, T.cast(s + 1, s.dtype))]{w.mode()})",
        f"report(f({x}v))",
        f"g = {w.pick('pickle.loads(pickle.dumps(f, -1))', 'copy.deepcopy(f)', 'copy.copy(f)', 'f.copy()', 'f.copy(share_memory=True)')}",  # noqa: E501
        f"report(g({x}v))",
        f"report(f({x}v))",
        "report(s.get_value())",
    )
    w.add(
        f"z = {w.pick('pickle.loads(pickle.dumps(y, 2))', 'copy.deepcopy(y)', 'copy.copy(y)', 'y.clone()')}",
        "report(z)",
        "report(theano.pprint(z))",
        f"report(pickle.loads(pickle.dumps({x}.type)) == {x}.type)",
        "report(pickle.loads(pickle.dumps(s)).get_value())",
        f"report(theano.gof.graph.is_same_graph({x} * 2, {x} * 2), theano.gof.graph.is_same_graph({x} * 2, {x} * 3))",
    )


@kind
def test_values(w: Writer) -> None:
    """`compute_test_value`, tags, errors while a graph is built."""
    r = w.r
    w.add(f"theano.config.compute_test_value = {w.pick(repr('raise'), repr('warn'), repr('off'), repr('ignore'))}")
    w.add(f"a = T.{w.pick('matrix', 'vector', 'fmatrix')}('a')", f"b = T.{w.pick('matrix', 'vector', 'imatrix')}('b')")
    w.add(
        f"a.tag.test_value = {w.pick('np.ones((2, 3))', 'np.ones(3)', 'np.ones((2, 3), dtype=np.float32)', '[[1, 2], [3, 4]]', '3')}"  # noqa: E501
    )
    if r.random() < 0.8:
        w.add(
            f"b.tag.test_value = {w.pick('np.ones((2, 3))', 'np.ones((4, 2))', 'np.ones(3)', 'np.ones((3, 2), dtype=np.int32)')}"
        )
    w.add(
        f"y = {w.pick('a + b', 'T.dot(a, b)', 'a * 2', 'T.exp(a).sum()', 'a[5]', 'T.concatenate([a, b])', 'theano.scan(lambda v: v * 2, sequences=a)[0]', 'a.reshape((7,))')}",  # noqa: E501
        "report(y)",
        "report(y.tag.test_value)",
        "report(theano.gof.op.get_test_value(y))",
    )


@kind
def names_of_dtypes(w: Writer) -> None:
    """Which dtype comes of two: operators, functions, casts and reductions, under both cast policies."""
    a, b = w.variable(shape=()), w.variable(shape=(2,))
    for _ in range(3):
        made = w.pick(
            f"{a} {w.pick('+', '-', '*', '/', '//', '%', '**')} {b}",
            f"{b} {w.pick('+', '-', '*', '/', '//', '%', '**')} {w.number()}",
            f"T.{w.pick('maximum', 'arctan2', 'true_div', 'int_div', 'pow', 'mod')}({a}, {b})",
            f"T.mean({b}, dtype={w.dtype()!r})",
            f"T.sum({b}, acc_dtype={w.dtype()!r})",
            f"T.switch({a}, {b}, {w.number()})",
            f"T.stack([{a}, {w.number()}])",
            f"T.clip({b}, {w.number()}, {w.number()})",
            f"T.dot({b}, {b})",
            f"T.var({b})",
            f"T.cumsum({b})",
            f"T.join(0, {b}, {b}.astype({w.r.choice(DTYPES)!r}))",
            f"T.alloc({a}, 2) + {b}",
            f"T.inc_subtensor({b}[0], {a})",
            f"T.arange({a})",
            f"T.arange({a}, {a} + 3, {w.pick(1, 0.5, 2)})",
            f"T.power({b}, {w.number()})",
            f"T.ones_like({b}) * {a}",
            f"T.round({b})",
            f"T.true_div({b}, {w.number()})",
        )
        w.evaluate(made, [a, b], 0)
