"""Expressions as formulas in LaTeX."""

from __future__ import annotations

from typing import Any

from theano import scalar as scal
from theano.gof import hooks
from theano.gof.graph import Constant, Variable
from theano.printing.pretty import PPrinter, PrinterState, Steps, Text, _joined, run_steps
from theano.scalar.casting import Cast
from theano.scalar.explog import ScalarSigmoid
from theano.tensor.blas import BatchedDot, Dot22
from theano.tensor.careduce import CAReduce, Prod, Sum
from theano.tensor.dimshuffle import DimShuffle
from theano.tensor.elemwise import Elemwise
from theano.tensor.from_scalars import ScalarFromTensor, TensorFromScalar
from theano.tensor.products import Dot
from theano.tensor.shapes import Rebroadcast, Shape
from theano.tensor.slicing import Subtensor

_ANY, _COMPARE, _SUM, _PRODUCT, _POWER = -1000, 0, 1, 2, 3
_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega"
    " Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_GREEK = frozenset(_LETTERS.split())
_COMPARISONS = {scal.lt: "<", scal.gt: ">", scal.le: r"\le", scal.ge: r"\ge", scal.eq: "=", scal.neq: r"\ne"}
_FUNCTIONS = {
    scal.log: r"\log", scal.log2: r"\log_2", scal.log10: r"\log_{10}", scal.sin: r"\sin", scal.cos: r"\cos", scal.tan: r"\tan",
    scal.sinh: r"\sinh", scal.cosh: r"\cosh", scal.tanh: r"\tanh", scal.arcsin: r"\arcsin", scal.arccos: r"\arccos",
    scal.arctan: r"\arctan", scal.maximum: r"\max", scal.minimum: r"\min", scal.gamma: r"\Gamma",
    scal.gammaln: r"\log\Gamma", scal.psi: r"\psi",
}  # fmt: skip
#: What stands before and behind the argument.
_AROUND = {scal.exp: ("e^{", "}"), scal.sqrt: (r"\sqrt{", "}"), scal.abs_: (r"\left|", r"\right|")}
#: A formula of more nodes is not shown without being asked for.
_MAX_NODES = 100


def _word(text: str) -> str:
    for character in "\\{}$&#%_^~":
        text = text.replace(character, {"\\": "/", "~": " ", "^": " "}.get(character, "\\" + character))
    return text


def _name(variable: Variable) -> str:
    """A name: what follows its first underscore is an index, vectors and matrices are bold."""
    name, _, index = (variable.name or "").partition("_")
    rank = getattr(variable.type, "ndim", 0)
    if name in _GREEK:
        text = f"\\{name}"
        text = f"\\boldsymbol{{{text}}}" if rank else text
    elif len(name) == 1 and name.isalpha():
        text = f"\\mathbf{{{name}}}" if rank else name
    else:
        text = f"\\mathrm{{{_word(name)}}}"
    return f"{text}_{{{_word(index)}}}" if index else text


def _leaf(variable: Variable) -> str:
    if isinstance(variable, Constant) and variable.name is None:
        value = variable.tag.__dict__.get("unique_value")
        if value is None:
            value = variable.data
        if getattr(value, "ndim", 0) == 0:
            return _number(value)
        return f"\\text{{{_word(str(variable))}}}"
    if variable.name:
        return _name(variable)
    return f"\\text{{{_word(str(variable))}}}"


def _number(value: Any) -> str:
    text = f"{value:.6g}" if getattr(getattr(value, "dtype", None), "kind", "") == "f" or isinstance(value, float) else str(value)
    text = text.replace("inf", r"\infty").replace("nan", r"\mathrm{nan}")
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if e and exponent.lstrip("+-").isdigit() else text


def _reduction(op: Any) -> str | None:
    if isinstance(op, Sum):
        return r"\sum"
    if isinstance(op, Prod):
        return r"\prod"
    if isinstance(op, CAReduce):
        return {scal.maximum: r"\max", scal.minimum: r"\min"}.get(op.scalar_op)
    return None


def _wrapped(text: Text, inside: float, around: float) -> Text:
    return (r"\left(", text, r"\right)") if inside < around else text


class _Formula:
    """The printer of all variables: what it writes depends on the Op."""

    def process(self, output: Variable, pstate: PrinterState) -> str:
        return run_steps(self.steps(output, pstate))

    def steps(self, output: Variable, pstate: PrinterState) -> Steps:
        node, around = output.owner, pstate.precedence
        if node is None:
            text = _leaf(output)
            return _wrapped(text, _SUM if text.startswith("-") else _POWER + 1, around)
        op = node.op
        if isinstance(op, Elemwise):
            return (yield from self._elementwise(output, op.scalar_op, pstate))
        if isinstance(op, (Dot, Dot22, BatchedDot)):
            left = yield node.inputs[0], pstate.clone(precedence=_PRODUCT)
            right = yield node.inputs[1], pstate.clone(precedence=_PRODUCT + 0.5)
            return _wrapped((left, r" \cdot ", right), _PRODUCT, around)
        if isinstance(op, DimShuffle):
            order = tuple(op.new_order)
            if order == (1, 0):
                inner = yield node.inputs[0], pstate.clone(precedence=_POWER + 0.5)
                return ("{", inner, r"}^{\top}")
            return (yield node.inputs[0], pstate)
        if isinstance(op, (Rebroadcast, TensorFromScalar, ScalarFromTensor)):
            return (yield node.inputs[0], pstate)
        reduction = _reduction(op)
        if reduction is not None:
            axis = op.axis
            below = "" if axis is None or len(axis) == node.inputs[0].ndim else f"_{{{', '.join(map(str, axis))}}}"
            inner = yield node.inputs[0], pstate.clone(precedence=_PRODUCT)
            return _wrapped((reduction, below, " ", inner), _SUM + 0.5, around)
        if isinstance(op, Subtensor):
            return (yield from self._part(node, pstate))
        if isinstance(op, Shape):
            inner = yield node.inputs[0], pstate.clone(precedence=_ANY)
            return (r"\operatorname{shape}\left(", inner, r"\right)")
        name = str(op).partition("{")[0].strip("_")
        return (yield from self._call(rf"\operatorname{{{_word(name)}}}", node.inputs, pstate))

    def _call(self, name: str, inputs: Any, pstate: PrinterState) -> Steps:
        parts = []
        for variable in inputs:
            parts.append((yield variable, pstate.clone(precedence=_ANY)))
        return (name, r"\left(", _joined(parts, ", "), r"\right)")

    def _part(self, node: Any, pstate: PrinterState) -> Steps:
        base = yield node.inputs[0], pstate.clone(precedence=_POWER + 0.5)
        symbolic = iter(node.inputs[1:])
        shown = []
        for entry in node.op.idx_list:
            if not isinstance(entry, slice):
                shown.append((yield next(symbolic), pstate.clone(precedence=_ANY)))
                continue
            ends = []
            for end in (entry.start, entry.stop, entry.step):
                if end is None or isinstance(end, int):
                    ends.append("" if end is None else str(end))
                else:
                    ends.append((yield next(symbolic), pstate.clone(precedence=_ANY)))
            if not ends[2]:
                ends.pop()
            shown.append(_joined(ends, ":"))
        return (base, r"\left[", _joined(shown, ", "), r"\right]")

    def _elementwise(self, output: Variable, op: Any, pstate: PrinterState) -> Steps:
        node, around = output.owner, pstate.precedence
        inputs = node.inputs

        def inside(precedence: float) -> PrinterState:
            return pstate.clone(precedence=precedence)

        if isinstance(op, Cast) or op in (scal.identity, scal.second):
            return (yield inputs[-1], pstate)
        if op == scal.add:
            parts: list[Text] = []
            for i, variable in enumerate(inputs):
                text = yield variable, inside(_SUM)
                minus = i and isinstance(text, str) and text.startswith("-")
                parts += [" " if minus else " + ", text] if i else [text]
            return _wrapped(tuple(parts), _SUM, around)
        if op == scal.sub:
            left = yield inputs[0], inside(_SUM)
            right = yield inputs[1], inside(_SUM + 0.5)
            return _wrapped((left, " - ", right), _SUM, around)
        if op == scal.mul:
            several = sum(not all(variable.type.broadcastable) for variable in inputs) > 1
            parts = []
            for variable in inputs:
                parts.append((yield variable, inside(_PRODUCT)))
            return _wrapped(_joined(parts, r" \odot " if several else r" \, "), _PRODUCT, around)
        if op == scal.neg:
            inner = yield inputs[0], inside(_PRODUCT)
            return _wrapped(("-", inner), _SUM, around)
        if op in (scal.true_div, scal.inv):
            above: Text = "1"
            if op == scal.true_div:
                above = yield inputs[0], inside(_ANY)
            below = yield inputs[-1], inside(_ANY)
            return (r"\frac{", above, "}{", below, "}")
        if op in (scal.pow, scal.sqr):
            base = yield inputs[0], inside(_POWER + 0.5)
            exponent: Text = "2"
            if op == scal.pow:
                exponent = yield inputs[1], inside(_ANY)
            return _wrapped(("{", base, "}^{", exponent, "}"), _POWER, around)
        if op in _AROUND:
            inner = yield inputs[0], inside(_ANY)
            before, after = _AROUND[op]
            return _wrapped((before, inner, after), _POWER, around)
        if op in _COMPARISONS:
            left = yield inputs[0], inside(_SUM)
            right = yield inputs[1], inside(_SUM)
            return _wrapped((left, f" {_COMPARISONS[op]} ", right), _COMPARE, around)
        if op == scal.switch:
            condition = yield inputs[0], inside(_ANY)
            first = yield inputs[1], inside(_ANY)
            second = yield inputs[2], inside(_ANY)
            return (r"\begin{cases} ", first, r" & \text{if } ", condition, r" \\ ", second, r" & \text{otherwise} \end{cases}")
        if isinstance(op, ScalarSigmoid):
            return (yield from self._call(r"\sigma", inputs, pstate))
        name = str(node.op.name or op).removeprefix("Elemwise{").partition(",")[0].strip("{}_")
        return (yield from self._call(_FUNCTIONS.get(op, rf"\operatorname{{{_word(name)}}}"), inputs, pstate))


_FORMULA = _Formula()


class _LatexPrinter(PPrinter):
    def find(self, r: Variable, pstate: PrinterState) -> Any:
        return _FORMULA


def latex(variable: Variable) -> str:
    r"""Return an expression as a formula in LaTeX, without the dollar signs around it.

    Parameters
    ----------
    variable : Variable
        The result of the expression. Scalars are set in italics, vectors and matrices in bold; what follows the first
        underscore of a name is its index.

    Returns
    -------
    str

    See Also
    --------
    pprint : The same in ASCII.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, w, sigma = T.dvector("x"), T.dvector("w"), T.dscalar("sigma")
    >>> print(theano.printing.latex(T.exp(-T.dot(x, w) ** 2 / (2 * sigma))))
    e^{\frac{-{\left(\mathbf{x} \cdot \mathbf{w}\right)}^{2}}{2 \, \sigma}}
    """
    return run_steps(_FORMULA.steps(variable, PrinterState(pprinter=_LatexPrinter(), precedence=_ANY)))


@hooks.variable_latex.fill
def _shown_formula(variable: Variable) -> str | None:
    """The formula between dollar signs, None where it would be too long to read."""
    # What is used twice is written twice.
    shown, waiting = 0, [variable]
    while waiting:
        shown += 1
        if shown > _MAX_NODES:
            return None
        node = waiting.pop().owner
        waiting.extend(node.inputs if node is not None else ())
    text = latex(variable)
    return f"$\\displaystyle {text}$" if len(text) <= 2000 else None


latex.__module__ = "theano.printing"
