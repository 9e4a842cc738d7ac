"""Programs about graphs after the rewrites of each mode, flags, sparse matrices, and objects through pickle."""

from __future__ import annotations

from tests.differential.generator import FLOATS, INTS, REAL, Writer, kind

#: What the manual's table of optimizations names, as expressions of a matrix x, a matrix y, a vector v and a number a.
REWRITTEN = [
    "(x ** 2).shape",
    "T.join(0, x, y).shape",
    "T.join(0, x, y)",
    "(T.specify_shape(x, (2, 3)) ** 2).shape",
    "T.grad((a ** 2), a)",
    "x + a ** 10",
    "v + v ** 10",
    "T.exp(T.log(x))",
    "T.log(T.exp(x))",
    "T.log(x) * x",
    "(v + 1).sum()",
    "5 * a",
    "-(-x)",
    "(-x) / (-y)",
    "x / x",
    "x * y / y",
    "x * y / x",
    "x - x",
    "x + 0",
    "x * 1",
    "x * 0",
    "x ** 1",
    "x ** 0",
    "x ** 2",
    "x ** -1",
    "x ** -2",
    "x ** 0.5",
    "x ** 3",
    "x ** 4",
    "1 / x",
    "a / 2.0",
    "T.sqr(T.sqrt(x))",
    "x + x",
    "x + x + x",
    "x * 2 * 3",
    "x + 1 + 2",
    "(x + 1) * 2",
    "(2 * x).sum()",
    "(-x).sum()",
    "(x * a).sum(axis=0)",
    "x.sum(axis=0).sum()",
    "x.sum(axis=(0, 1))",
    "x.reshape((3, 2)).reshape((2, 3))",
    "x.reshape((6,)).reshape((3, 2))",
    "x.T.T",
    "x.dimshuffle(1, 0).dimshuffle(1, 0)",
    "x.dimshuffle(0, 'x', 1).dimshuffle(2, 0)",
    "T.dot(x, y.T)",
    "T.dot(x, y.T).T",
    "T.dot(x, v)",
    "T.dot(v, v)",
    "T.zeros_like(x) + y",
    "T.ones_like(x) * y",
    "T.fill(x, 2.0)",
    "T.fill(x, a) + y",
    "T.second(x, y)",
    "T.alloc(a, 2, 3)",
    "T.alloc(0.0, 2, 3) + x",
    "T.set_subtensor(x[0], v)",
    "T.inc_subtensor(x[0], v)",
    "T.inc_subtensor(T.zeros_like(x)[0], v)",
    "T.inc_subtensor(x[[0, 1]], y)",
    "x[0]",
    "x[0][1]",
    "x[1:][0]",
    "x[1:][1:]",
    "x[::-1][::-1]",
    "x[:]",
    "x[:, ::-1]",
    "(x + y)[0]",
    "T.exp(x)[0]",
    "T.join(0, x, y)[0]",
    "T.stack([a, a])[0]",
    "x.shape[0]",
    "x.shape",
    "x[1:].shape",
    "x.size",
    "T.constant(2.0) + 3",
    "T.constant([1.0, 2.0, 3.0]) * 2 + v",
    "T.switch(True, x, y)",
    "T.switch(T.constant(0), x, y)",
    "T.switch(x > 0, x, x)",
    "T.eq(x, x)",
    "T.clip(x, 0, 1)",
    "T.clip(T.clip(x, 0, 1), 0, 1)",
    "T.abs_(T.abs_(x))",
    "abs(x) * abs(y)",
    "T.cast(x, x.dtype)",
    "T.cast(T.cast(x, 'float64'), 'float32')",
    "T.cast(x, 'int32')",
    "T.tanh(x)",
    "1 / (1 + T.exp(-x))",
    "T.nnet.sigmoid(x)",
    "1 - T.nnet.sigmoid(x)",
    "T.log(T.nnet.sigmoid(x))",
    "T.log(1 + T.exp(x))",
    "T.log(1 + x)",
    "T.exp(x) - 1",
    "T.nnet.softmax(x)",
    "T.log(T.nnet.softmax(x))",
    "T.exp(x) / T.exp(x).sum(axis=1, keepdims=True)",
    "1 - T.erf(x)",
    "T.maximum(x, x)",
    "x.max()",
    "-((-x).max())",
    "x.argmax(axis=1)",
    "T.max(x, axis=1) + T.argmax(x, axis=1)",
    "x.mean()",
    "x.var()",
    "x.prod()",
    "(x ** 2).sum()",
    "T.sqrt((x ** 2).sum())",
    "T.opt.assert_(x, T.eq(x.shape[0], 2))",
    "T.opt.Assert('no')(x, T.constant(True))",
    "T.nnet.categorical_crossentropy(T.nnet.softmax(x), T.arange(x.shape[0]))",
    "T.nlinalg.matrix_inverse(T.dot(x, y.T))",
    "T.dot(T.nlinalg.matrix_inverse(T.dot(x, x.T)), x)",
    "T.nlinalg.trace(T.dot(x, y.T))",
    "theano.ifelse.ifelse(T.constant(1), x, y)",
    "theano.scan(lambda r: r * 2, sequences=x)[0]",
    "theano.scan(lambda r, p: r + p, sequences=x, outputs_info=v)[0][-1]",
    "T.grad((x ** 2).sum(), x)",
    "T.grad(T.dot(x, v).sum(), v)",
    "T.grad(T.nnet.softplus(x).sum(), x)",
    "T.grad(T.log(T.nnet.softmax(x))[T.arange(2), [0, 1]].sum(), x)",
    "theano.gradient.zero_grad(x)",
    "theano.gradient.disconnected_grad(x) * 2",
    "T.tensor_copy(x)",
    "x.copy()",
    "x",
    "T.unbroadcast(x, 0)",
    "T.isnan(x)",
    "x * 2.0 + y * a",
    "T.repeat(v, 2)",
    "T.tile(v, 2)",
    "T.cumsum(v)",
    "T.sort(v)",
    "T.diag(v)",
    "T.arange(3)",
    "T.arange(x.shape[0])",
    "T.eye(2)",
    "T.floor(x) // 2",
    "x % 2",
    "x // 1",
    "T.and_(x > 0, y > 0)",
    "T.outer(v, v)",
]

#: Those of them whose graphs the manual does not show, and which have other nodes here.
OTHERWISE = [
    "T.dot(T.nlinalg.matrix_inverse(T.dot(x, x.T)), x)",
    "x.dimshuffle(0, 'x', 1).dimshuffle(2, 0)",
    "x[1:].shape",
    "x[1:][1:]",
    "T.eq(x, x)",
    "T.log(T.exp(x))",
    "T.clip(T.clip(x, 0, 1), 0, 1)",
    "x.mean()",
    "T.grad(T.log(T.nnet.softmax(x))[T.arange(2), [0, 1]].sum(), x)",
    "x[::-1][::-1]",
    "x.var()",
    "T.inc_subtensor(T.zeros_like(x)[0], v)",
    "x[1:][0]",
    "T.repeat(v, 2)",
    "x + a ** 10",
    "T.ones_like(x) * y",
    "T.nnet.categorical_crossentropy(T.nnet.softmax(x), T.arange(x.shape[0]))",
    "T.fill(x, a) + y",
    "v + v ** 10",
    "theano.ifelse.ifelse(T.constant(1), x, y)",
    "x ** 3",
    "theano.scan(lambda r, p: r + p, sequences=x, outputs_info=v)[0][-1]",
    "T.abs_(T.abs_(x))",
    "T.stack([a, a])[0]",
    "T.outer(v, v)",
    "T.tile(v, 2)",
    "(x + y)[0]",
    "T.zeros_like(x) + y",
    "T.exp(T.log(x))",
    "x.dimshuffle(1, 0).dimshuffle(1, 0)",
    "x.T.T",
    "theano.scan(lambda r: r * 2, sequences=x)[0]",
    "T.dot(v, v)",
    "x ** 0",
    "1 - T.nnet.sigmoid(x)",
    "T.exp(x)[0]",
    "x + x + x",
    "T.dot(x, y.T).T",
]


@kind
def rewrites(w: Writer) -> None:
    """Operations of functions after the rewrites of modes: what the manual and its table of optimizations show."""
    r = w.r
    dtype = w.dtype(["float64", "float64", "float32"])
    w.add(
        "import theano.ifelse, theano.tensor.opt",
        f"x, y = T.TensorType({dtype!r}, (False, False))('x'), T.TensorType({dtype!r}, (False, False))('y')",
        f"v, a = T.TensorType({dtype!r}, (False,))('v'), T.TensorType({dtype!r}, ())('a')",
        f"values = [{w.value(dtype, (2, 3))}, {w.value(dtype, (2, 3))}, {w.value(dtype, (3,))}, {w.value(dtype, ())}]",
    )
    modes = [
        "'FAST_RUN'",
        "'FAST_COMPILE'",
        "theano.Mode(linker='py', optimizer=None)",
        "theano.Mode(linker='py', optimizer='fast_compile')",
        "theano.Mode(linker='py', optimizer='fast_run').excluding('fusion', 'inplace')",
        "theano.Mode(linker='py', optimizer='fast_run').excluding('local_elemwise_fusion', 'inplace')",
        "theano.Mode(linker='py', optimizer='o1')",
        "theano.Mode(linker='py', optimizer='o2')",
        "theano.Mode(linker='py', optimizer='o3')",
        "theano.Mode(linker='py', optimizer='o4')",
    ]
    for number in range(r.randint(1, 3)):
        made = r.choice(REWRITTEN)
        if r.random() < 0.1:
            made = f"({made}) {w.pick('+', '*', '-')} {w.pick('1', '2', 'a', '0')}"
        w.add(f"z{number} = {made}")
        mode = r.choice(modes)
        w.add(
            f"f{number} = theano.function([x, y, v, a], z{number}, on_unused_input='ignore', mode={mode})",
            f"report(f{number}(*values))",
            f"report(sorted(str(n.op) for n in f{number}.maker.fgraph.toposort()))",
        )
        if r.random() < 0.5:
            w.add(f"report(theano.printing.debugprint(f{number}, file='str'))")
        if r.random() < 0.3:
            w.add(f"report(theano.pp(f{number}.maker.fgraph.outputs[0]))")


@kind
def flags(w: Writer) -> None:
    """Flags about dtypes and errors: `floatX`, `cast_policy`, `int_division`, `warn_float64`, `on_unused_input`, tests of values."""  # noqa: E501
    r = w.r
    settings = [
        ("floatX", ["float32", "float64", "float16", "float128"]),
        ("cast_policy", ["custom", "numpy+floatX", "numpy"]),
        ("int_division", ["int", "floatX", "raise"]),
        ("warn_float64", ["ignore", "warn", "raise"]),
        ("on_unused_input", ["raise", "warn", "ignore", "no"]),
        ("compute_test_value", ["off", "ignore", "warn", "raise"]),
        ("exception_verbosity", ["low", "high"]),
        ("warn.sum_div_dimshuffle_bug", [True, False]),
        ("no_such_flag", [1]),
        ("mode", ["FAST_RUN", "FAST_COMPILE"]),
        ("optimizer", ["fast_run", "None", "o2"]),
    ]
    chosen = r.sample(settings, r.randint(1, 3))
    for flag, values in chosen:
        value = r.choice(values)
        if r.random() < 0.6 or "." in flag:
            w.add(f"theano.config.{flag} = {value!r}")
        else:
            w.add(f"manager = theano.configparser.change_flags({flag}={value!r}); manager.__enter__()")
    a, b = w.variable(), w.variable(shape=())
    for _ in range(r.randint(2, 4)):
        w.evaluate(
            w.pick(
                f"{a} {w.pick('+', '*', '/', '//', '%', '-', '**')} {w.number()}",
                f"{b} {w.pick('+', '*', '/', '//', '-')} {a}",
                f"T.{w.pick('scalar', 'vector', 'matrix', 'tensor3')}('z')",
                f"T.cast({a}, 'floatX')",
                f"T.mean({a})",
                f"T.exp({b})",
                f"T.constant({w.number()})",
                "theano.shared(np.ones(2)) * 2",
                f"theano.shared(2.0) + {a}",
                f"T.zeros((2,)) + {b}",
                f"T.arange({w.pick(3, 3.0, b)})",
                f"T.eye(2) * {b}",
                f"T.nnet.sigmoid({a})",
                f"T.grad(T.sum({a} ** 2), {a})",
                f"T.true_div({a}, {b})",
                f"T.switch({b}, {a}, {w.number()})",
                "theano._asarray([1, 2], dtype=theano.config.floatX)",
                "T.TensorType('floatX', (False,))('v') + 1",
                "T.shared_randomstreams.RandomStreams(3).uniform((2,))",
                f"theano.scan(lambda p: p * 2, outputs_info={b}, n_steps=2)[0]",
                f"T.outer({a}.flatten(), {a}.flatten())",
            ),
            [a, b],
        )
    for flag, _ in chosen:
        if "." not in flag:
            w.add(f"report(theano.config.{flag})")
    if r.random() < 0.3:
        w.add(f"f9 = theano.function([{a}, {b}], {b} * 2)", f"report(f9({a}v, {b}v))")


@kind
def sparse_matrices(w: Writer) -> None:
    """Basics of `theano.sparse`: construction, arithmetic, products, sums, gradients."""
    r = w.r
    dtype = w.dtype(["float64", "float32", "float64", "int32", "complex128", "int8"])
    form = w.pick("csr", "csc")
    other = w.pick(form, form, "csr", "csc")
    n, m = r.randint(1, 4), r.randint(1, 4)
    w.add(
        "import theano.sparse as S, scipy.sparse as sp",
        f"a, b = S.matrix({form!r}, dtype={dtype!r}), S.matrix({other!r}, dtype={dtype!r})",
    )
    for name, kept in (("a", form), ("b", other)):
        w.add(
            f"{name}v = sp.{kept}_matrix(np.where({w.value('float64', (n, m), -1, 1)} > 0.2, {w.value(dtype, (n, m), 1)}, 0).astype({dtype!r}))"  # noqa: E501
        )
    d = w.variable(dtype if r.random() < 0.8 else w.dtype(REAL), (n, m))
    v = w.variable(dtype if r.random() < 0.8 else w.dtype(FLOATS), (m,))
    w.add(f"inputs, values = [a, b, {d}, {v}], [av, bv, {d}v, {v}v]")
    for number in range(r.randint(1, 3)):
        made = w.pick(
            "a + b",
            "a - b",
            "a * b",
            f"a * {d}",
            f"a + {d}",
            f"S.dot(a, {d}.T)",
            f"S.dot({d}.T, a)",
            f"S.structured_dot(a, {d}.T)",
            "S.true_dot(a, b.T)",
            f"S.dot(a, {v})",
            f"S.mul(a, {v})",
            f"S.add(a, {d})",
            "a.T",
            "S.transpose(a)",
            "-a",
            "S.dense_from_sparse(a)",
            "a.toarray()",
            f"S.{form}_from_dense({d})",
            "a[0]",
            f"a[0:{n}, 0:1]",
            "a[0, 0]",
            "a[:, 0:1]",
            "S.sp_sum(a)",
            f"S.sp_sum(a, axis={w.pick(0, 1, 2)})",
            "S.sp_ones_like(a)",
            "S.sp_zeros_like(a)",
            "S.structured_exp(a)",
            "S.structured_sigmoid(a)",
            "S.structured_pow(a, 2)",
            f"S.structured_{w.pick('maximum', 'minimum', 'add')}(a, 1)",
            "S.sqr(a)",
            "S.sin(a)",
            "S.tanh(a)",
            "S.rint(a)",
            "S.sgn(a)",
            f"S.col_scale(a, {v})",
            f"S.row_scale(a, {d}[:, 0])",
            "S.csm_properties(a)[0]",
            "S.csm_shape(a)",
            "a.shape",
            "S.diag(a)",
            f"S.square_diagonal({v})",
            "S.vstack([a, b])",
            "S.hstack([a, b])",
            "S.cast(a, 'float32')",
            "a.astype('int64')",
            "S.remove0(a)",
            "S.ensure_sorted_indices(a)",
            f"S.{w.pick('eq', 'neq', 'lt', 'gt', 'le', 'ge')}(a, b)",
            f"S.gt(a, {d})",
            f"S.sampling_dot({d}, {d}, S.dot(a, b.T))",
            "S.as_sparse_variable(av)",
            "S.as_sparse_or_tensor_variable(a)",
            "a.sum()",
            "a.zeros_like()",
            "abs(a)",
            "a.size",
            "S.clean(a)",
        )
        w.add(
            f"z{number} = {made}",
            f"report(z{number})",
            f"report(str(z{number}.type))",
            f"f{number} = theano.function(inputs, z{number}, on_unused_input='ignore'{w.mode()})",
            f"report(f{number}(*values))",
        )
        if r.random() < 0.3:
            w.add(
                f"g{number} = T.grad((S.sp_sum(z{number}) if hasattr(z{number}.type, 'format') else T.sum(z{number})), {w.pick('a', 'a', d, v)}, disconnected_inputs='ignore')",  # noqa: E501
                f"report(g{number})",
                f"h{number} = theano.function(inputs, g{number}, on_unused_input='ignore'{w.mode()})",
                f"report(h{number}(*values))",
            )
        if r.random() < 0.15:
            w.add(f"report(theano.printing.debugprint(z{number}, file='str'))", f"report(theano.pprint(z{number}))")


@kind
def errors(w: Writer) -> None:
    """Arguments, shapes, types and values that are wrong, when a graph is built, compiled and run."""
    r = w.r
    x = w.variable(shape=w.shape(r.choice([0, 1, 2, 3])))
    y = w.variable(shape=w.shape(r.choice([0, 1, 2, 3])))
    odd = ["None", "'text'", "{}", "[]", "-7", "2.5", "1j", "np.nan", "0", "1", "(1, 1)", x, y]
    for _ in range(r.randint(2, 5)):
        a, b = r.choice(odd), r.choice(odd)
        function = w.pick(
            "T.dot", "T.exp", "T.add", "T.maximum", "T.sum", "T.mean", "T.max", "T.argmax", "T.concatenate", "T.stack", "T.reshape",  # noqa: E501
            "T.switch", "T.arange", "T.zeros", "T.alloc", "T.eye", "T.cast", "T.join", "T.tile", "T.repeat", "T.grad", "T.sort",
            "T.nnet.softmax", "T.nnet.conv2d", "T.nnet.categorical_crossentropy", "T.tensordot", "T.batched_dot", "T.outer", "T.diag",  # noqa: E501
            "T.as_tensor_variable", "T.constant", "theano.shared", "theano.function", "theano.scan", "theano.map", "T.set_subtensor",  # noqa: E501
            "T.inc_subtensor", "T.specify_shape", "T.patternbroadcast", "T.addbroadcast", "T.clip", "T.flatten", "T.roll", "T.split",  # noqa: E501
            "T.nlinalg.det", "T.nlinalg.svd", "T.slinalg.cholesky", "T.slinalg.solve", "theano.clone", "theano.pp", "T.TensorType",  # noqa: E501
            "theano.printing.debugprint", "theano.In", "theano.Out", "theano.OpFromGraph", "T.Rop", "T.Lop", "theano.gradient.jacobian",  # noqa: E501
            "T.shape_padleft", "T.take", "T.choose", "T.nonzero", "T.extra_ops.bincount", "T.extra_ops.diff", "theano.gof.graph.inputs",  # noqa: E501
            "theano.Mode", "theano.compile.get_mode", "T.basic.get_scalar_constant_value", "T.shared_randomstreams.RandomStreams",
        )  # fmt: skip
        form = w.pick(
            f"{function}({a}, {b})",
            f"{function}({a}, {b})",
            f"{function}({a})",
            f"{function}({x}, {a})",
            f"{function}({x}, {y}, {a})",
        )
        if r.random() < 0.25:
            form = w.pick(
                f"{x} + {a}", f"{a} * {x}", f"{x}[{a}]", f"{x}[{a}:]", f"{x}.{w.pick('sum', 'mean', 'reshape', 'dimshuffle', 'astype', 'max', 'norm', 'dot', 'repeat')}({a})",  # noqa: E501
                f"T.matrix({a})", f"T.vector(dtype={a})", f"{x}.eval({a})", f"{x}.no_such", f"T.no_such({x})", f"{x}.T.eval({{{x}: {a}}})",  # noqa: E501
                f"T.sum({x}, axis={a})", f"T.sum({x}, dtype={a})", f"T.concatenate([{x}, {y}], axis={a})", f"theano.function([{x}], {x}, mode={a})",  # noqa: E501
                f"theano.function([{x}], {x}, updates={a})", f"theano.function([{x}], {x}, givens={a})", f"theano.scan(lambda v: v, sequences={x}, n_steps={a})",  # noqa: E501
            )  # fmt: skip
        z = w.name("z")
        w.add(f"{z} = {form}", f"report({z})")
        f = w.name("f")
        w.add(f"{f} = theano.function([{x}, {y}], {z}, on_unused_input='ignore'{w.mode()})", f"report({f}({x}v, {y}v))")
        if r.random() < 0.3:
            w.add(f"report({f}({a}, {y}v))")


@kind
def objects(w: Writer) -> None:
    """Ops, types, constants, modes, streams and functions with states through pickle and copy; comparison and hashes."""
    r = w.r
    x = w.variable(w.dtype(FLOATS), (2, 3))
    n = w.variable(w.dtype(INTS), (), low=0, high=3)
    w.add("import pickle, copy, theano.sandbox.rng_mrg")
    things = [
        f"({x} * 2).owner.op",
        f"T.sum({x}, axis=0).owner.op",
        f"{x}.dimshuffle(1, 0).owner.op",
        f"{x}[1:].owner.op",
        f"T.dot({x}, {x}.T).owner.op",
        f"{x}.type",
        "T.constant(np.arange(3.0))",
        "T.constant(2)",
        "theano.scalar.float64",
        "theano.scalar.add",
        "theano.tensor.exp",
        f"T.cast({x}, 'int32').owner.op",
        f"T.set_subtensor({x}[0], 1).owner.op",
        f"T.join(0, {x}, {x}).owner.op",
        "T.nnet.softmax_op",
        "T.nlinalg.det",
        "T.alloc(0, 2).owner.op",
        f"T.reshape({x}, (6,)).owner.op",
        "T.nnet.sigmoid",
        "theano.tensor.elemwise.Sum(axis=1)",
        "theano.gof.generic",
        "T.sort(T.vector()).owner.op",
        "theano.ifelse.IfElse(1)",
        "T.slinalg.Cholesky()",
        "theano.tensor.subtensor.AdvancedSubtensor1()",
        "theano.tensor.signal.pool.Pool(ndim=2, ignore_border=True)",
        "theano.compile.ops.DeepCopyOp()",
        "T.shared_randomstreams.RandomStreams(3).uniform((2,)).owner.op",
        "theano.sparse.csr_matrix()",
        "theano.typed_list.TypedListType(T.dvector)",
        "theano.compile.Mode(linker='py', optimizer='fast_compile')",
    ]
    w.add("import theano.ifelse, theano.tensor.signal.pool, theano.sparse, theano.typed_list")
    for number in range(r.randint(1, 3)):
        p = f"p{number}"
        w.add(
            f"{p} = {r.choice(things)}",
            f"q{number} = {w.pick(f'pickle.loads(pickle.dumps({p}, {r.randint(0, 4)}))', f'copy.copy({p})', f'copy.deepcopy({p})')}",  # noqa: E501
            f"report(str({p}), str(q{number}))" if r.random() < 0.7 else f"report(type({p}).__name__, type(q{number}).__name__)",
            f"report(type({p}) is type(q{number}))",
            f"report({p} == q{number}, hash({p}) == hash(q{number}))",
        )
    w.add(
        f"s = theano.shared({w.value(w.dtype(), (3,))}, name='s')",
        f"rs = {w.pick('T.shared_randomstreams.RandomStreams(7)', 'theano.sandbox.rng_mrg.MRG_RandomStreams(7)')}",
        f"f = theano.function([{x}, theano.In({n}, value=2)], [{x}.sum() * {n}, s, rs.uniform((2,))], updates=[(s, s[::-1])]{w.mode()})",  # noqa: E501
        f"report(f({x}v))",
        f"g, t = {w.pick('pickle.loads(pickle.dumps((f, s), -1))', 'copy.deepcopy((f, s))', 'pickle.loads(pickle.dumps([f, s], 2))')}",  # noqa: E501
        f"report(g({x}v), g({x}v, 1))",
        f"report(f({x}v), s.get_value(), t.get_value())",
        "report(g.maker.fgraph.outputs[0], len(g.maker.fgraph.inputs))",
        "report([str(v) for v in g.maker.inputs])" if r.random() < 0.3 else "report(type(g).__name__)",
    )
