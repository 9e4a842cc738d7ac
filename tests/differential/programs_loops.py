"""Programs with loops, branches and gradients."""

from __future__ import annotations

from tests.differential.generator import FLOATS, INTS, Writer, kind


@kind
def gradients(w: Writer) -> None:
    """`grad` with its arguments, jacobians, hessians, R- and L-operators, costs that are none."""
    r = w.r
    shape = w.shape(r.choice([1, 1, 2]), 3)
    x = w.variable(w.dtype(FLOATS), shape, low=0.2, high=2)
    y = w.variable(w.dtype(FLOATS) if r.random() < 0.8 else w.dtype(), shape)
    inputs = [x, y]
    z = w.name("z")
    w.add(
        f"{z} = "
        + w.pick(
            f"{x} * {y}",
            f"T.exp({x}) / {y}",
            f"{x} ** {y}",
            f"T.tanh({x}) + {x}.sum()",
            f"T.sort({x}) * {y}",
            f"{x}[::-1] * {y}[0]",
            f"T.switch({x} > 1, {x}, {y})",
            f"T.maximum({x}, {y})",
            f"{x}.max(axis=0) * {y}",
            f"T.cumsum({x}) + 0 * {y}.flatten()",
            f"T.log({x}) * {y}",
            f"{x}.prod() * {y}",
            f"{x}.norm(2) * {y}",
            f"theano.gradient.disconnected_grad({x}) * {x}",
            f"theano.gradient.grad_clip({x} * 9, -1, 1) * {y}",
            f"theano.gradient.zero_grad({x}) * {y}",
            f"T.floor({x}) * {x}",
            f"theano.gradient.consider_constant({x}) * {x}",
            f"{x}.var() + {y}",
            f"T.abs_({x} - {y})",
            f"T.cast({x}, 'int32') * {x}",
            f"theano.gradient.grad_undefined and {x} * 2",
        )
    )
    for _ in range(r.randint(1, 3)):
        wrt = w.pick(x, x, y, f"[{x}, {y}]", f"({x},)", z, "T.vector()")
        args = w.maybe(f", disconnected_inputs={w.pick(repr('ignore'), repr('warn'), repr('raise'), repr('other'))}", 0.4)
        made = r.choice(
            [
                f"T.grad({z}.sum(), {wrt}{args})",
                f"theano.grad(T.sum({z} ** 2), {wrt}{args}{w.maybe(f', consider_constant=[{y}]', 0.3)})",
                f"T.grad({z}, {wrt})",
                f"theano.gradient.jacobian({z}.flatten(), {wrt}{args})",
                f"theano.gradient.hessian({z}.sum(), {x}{args})",
                f"T.Rop({z}, {x}, {y})",
                f"T.Rop({z}, [{x}, {y}], [{y}, {x}])",
                f"T.Lop({z}, {wrt}, {y})",
                f"T.Lop({z}, {x}, {z}{args})",
                f"T.grad(None, {wrt}, known_grads={{{z}: T.ones_like({z})}}{args})",
                f"T.grad({z}.sum(), {wrt}, return_disconnected={w.pick(repr('zero'), repr('None'), repr('disconnected'))}{args})",
                f"T.grad(T.argmax({z}), {wrt}{args})",
                f"T.grad(T.cast({z}.sum(), 'int64'), {wrt}{args})",
                f"theano.gradient.subgraph_grad([{x}], [{z}], start={{{z}: T.ones_like({z})}})[0]",
                f"T.grad(T.grad({z}.sum(), {x}).sum(), {x}{args})",
                f"theano.gradient.numeric_grad(lambda a: (a ** 2).sum(), {x}v).gf[0]",
            ]
        )
        w.evaluate(made, inputs, 0.05)


@kind
def loops(w: Writer) -> None:
    """`scan` with sequences, states, taps, other values, conditions; `map`, `reduce`, `foldl`, `foldr`."""
    r = w.r
    dtype = w.dtype(FLOATS)
    n = w.variable(w.dtype(INTS), (), low=0, high=5)
    s = w.variable(dtype, (r.randint(1, 5), 2))
    t = w.variable(w.dtype(FLOATS), (r.randint(2, 6),))
    h = w.variable(dtype if r.random() < 0.85 else w.dtype(), (2,))
    q = w.variable(dtype, (3, 2))
    inputs = [n, s, t, h, q]
    args = (
        w.maybe(f", go_backwards={w.pick(True, False)}", 0.25)
        + w.maybe(f", truncate_gradient={w.pick(-1, 1, 2)}", 0.15)
        + w.maybe(", strict=True", 0.1)
    )
    args += w.maybe(f", {w.pick('allow_gc=False', 'allow_gc=True', 'profile=False', 'return_list=True')}", 0.2)
    args += w.maybe(f", mode={w.pick(repr('FAST_COMPILE'), repr('FAST_RUN'), 'theano.Mode(linker=' + repr('py') + ')')}", 0.1)
    args += w.maybe(", name='loop'", 0.2) + w.maybe(f", n_steps={w.pick(n, 3, 0, -2, 1, 'None', 'T.constant(2)')}", 0.3)
    forms = [
        f"theano.scan(lambda a: a * 2, sequences={s}{args})",
        f"theano.scan(lambda a, b: a.sum() + b, sequences=[{s}, {t}]{args})",
        f"theano.scan(lambda a, p: T.tanh(a + p), sequences={s}, outputs_info={w.pick(h, f'T.zeros_like({h})', f'dict(initial={h})', 'np.zeros(2)', f'dict(initial={h}, taps=[-1])')}{args})",  # noqa: E501
        f"theano.scan(lambda p: p * 2, outputs_info={h}, n_steps={w.pick(n, 4, 1)}{w.maybe(', go_backwards=True', 0.1)})",
        f"theano.scan(lambda a, b, p: a + b * p, sequences=[dict(input={t}, taps=[{w.pick('0, 1', '-1, 0', '-1, 1')}])], outputs_info=T.zeros(()){args})",  # noqa: E501
        f"theano.scan(lambda p, k: p[0] * 0.5 + k, outputs_info={h}, non_sequences={w.pick(h, 2, f'{h}[0]')}, n_steps={w.pick(n, 3)})",  # noqa: E501
        f"theano.scan(lambda b, a: a + b, outputs_info=dict(initial={q}, taps=[{w.pick('-2, -1', '-3, -1', '-1, -3', '-2')}]), n_steps=4)"  # noqa: E501
        if r.random() < 0.7
        else f"theano.scan(lambda c: c * 1.5, outputs_info=dict(initial={q}, taps=[-3]), n_steps=5)",
        f"theano.scan(lambda a, p: (a + p, a - p, a.sum()), sequences={s}, outputs_info=[{h}, None, None]{args})",
        f"theano.scan(lambda a, p: (p + a, theano.scan_module.until(T.sum(p) > {w.pick(1, 5)})), sequences={s}, outputs_info={h}{args})",  # noqa: E501
        f"theano.scan(lambda i, p: p + i, sequences=T.arange({n}), outputs_info={w.pick(0, 'T.constant(0)', 'np.int64(1)', 'np.float64(0)', 1.5)}{args})",  # noqa: E501
        f"theano.map(lambda a: a ** 2, {s}{w.maybe(', go_backwards=True', 0.3)})",
        f"theano.map(lambda a, k: a + k, [{s}], non_sequences=[{h}])",
        f"theano.reduce(lambda a, p: a + p, {s}, outputs_info={w.pick(h, f'T.zeros_like({s}[0])', 0)}{w.maybe(', go_backwards=True', 0.3)})",  # noqa: E501
        f"theano.foldl(lambda a, p: a - p, {s}, outputs_info=T.zeros_like({s}[0]))",
        f"theano.foldr(lambda a, p: a - p, {s}, outputs_info=T.zeros_like({s}[0]))",
        f"theano.scan(lambda a: (a, {{}}), sequences={s})",
        f"theano.scan(lambda a: {{}}, sequences={s})",
        f"theano.scan(lambda a, p: [p + a, p * a], {s}, [{h}, {h}])",
        "theano.scan(lambda: T.constant(1), n_steps=3)",
        f"theano.scan(lambda a: a[:1], sequences={s}, outputs_info=[None]{args})",
        f"theano.scan(lambda a, p: p, sequences={s}, outputs_info=[{h}, {h}])",
        f"theano.scan(lambda a, p: p[0], sequences={s}, outputs_info={h})",
        f"theano.scan(lambda a, p: T.dot(p, T.outer(a, a)), sequences=[{s}], outputs_info=[{h}]{args})",
        f"theano.scan(lambda *a: sum(a), sequences=[{t}, {t}], outputs_info=[T.zeros((), {dtype!r})], non_sequences=[{t}[0]])",
        f"theano.scan_checkpoints(lambda p: p * 2, outputs_info={h}, n_steps=4, save_every_N=2)",
    ]
    o, u = w.name("o"), w.name("u")
    w.add(f"{o}, {u} = {r.choice(forms)}", f"report({o}, len({u}))")
    y = w.evaluate(w.pick(f"{o}", f"{o}", f"{o}[-1]", f"{o}[0]", f"T.sum({o})"), inputs, 0)
    if r.random() < 0.4:
        w.evaluate(f"T.grad(T.sum({y}), {w.pick(s, h, f'[{s}, {h}]', t, q)}, disconnected_inputs='ignore')", inputs, 0)
    if r.random() < 0.2:
        w.add(
            "rs = T.shared_randomstreams.RandomStreams(5)",
            f"o9, u9 = theano.scan(lambda a: a + rs.uniform(()), sequences={s})",
            f"f9 = theano.function([{s}], o9{w.pick(', updates=u9', '')})",
            f"report(f9({s}v), f9({s}v))",
        )
    if r.random() < 0.25:
        w.add(
            "c = theano.shared(np.zeros(2))",
            f"o8, u8 = theano.scan(lambda a: {w.pick('{c: c + a}', '(a * c.sum(), {c: c + a})', '[(c, c + a)]')}, sequences={s})",
            f"f8 = theano.function([{s}], [], updates=u8)",
            f"report(f8({s}v))",
            "report(c.get_value())",
        )


@kind
def branches(w: Writer) -> None:
    """`ifelse`, switches, assertions, `OpFromGraph`, `clone`."""
    r = w.r
    c = w.variable(w.dtype([*INTS, "float64", "bool"]), (), low=0, high=2)
    shape = w.shape(r.choice([0, 1, 2]), 3)
    x, y = w.variable(w.dtype(FLOATS), shape), w.variable(w.dtype(FLOATS) if r.random() < 0.8 else w.dtype(), shape)
    inputs = [c, x, y]
    w.add("from theano.ifelse import ifelse")
    for _ in range(r.randint(1, 2)):
        w.evaluate(
            w.pick(
                f"ifelse({c}, {x}, {y})",
                f"ifelse(T.lt({c}, 1), {x} * 2, {y})",
                f"ifelse({c}, ({x}, {y}), ({y}, {x}))[0]",
                f"ifelse({c}, {x}, {x}.sum())",
                f"ifelse({x}, {x}, {y})",
                f"ifelse({c}, {x}, 1.0)",
                f"T.opt.Assert('no')({x}, {c})",
                f"T.opt.assert_({x}, T.all({x} > {w.pick(-9, 9)}))",
                f"T.opt.Assert('no')({x}, {x})",
                f"theano.OpFromGraph([{x}, {y}], [{x} * 2 + {y}])({x}, {y})",
                f"theano.OpFromGraph([{x}], [{x} ** 2])({y})",
                f"theano.clone({x} * {y}, replace={{{x}: {y}}})",
                f"theano.clone({x} + {y}, {{{x}: {x} * 2}})",
                f"theano.clone({x} + {y}, replace={{{x}: T.vector()}})",
                f"theano.tensor.basic.choose({c}, [{x}, {y}])",
                f"T.largest({x}, {y})",
                f"T.smallest({x}, {y})",
            ),
            inputs,
        )
        if r.random() < 0.4:
            w.evaluate(f"T.grad(T.sum(y{w._counts['y']}), {w.pick(x, y)}, disconnected_inputs='ignore')", inputs, 0)
