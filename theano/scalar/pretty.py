"""How scalar expressions print: infix operators, for :func:`theano.printing.pprint`."""

from __future__ import annotations

from theano.printing.pretty import OperatorPrinter, pprint
from theano.scalar import arithmetic

pprint.assign(arithmetic.add, OperatorPrinter("+", -2, "either"))
pprint.assign(arithmetic.mul, OperatorPrinter("*", -1, "either"))
pprint.assign(arithmetic.sub, OperatorPrinter("-", -2, "left"))
pprint.assign(arithmetic.neg, OperatorPrinter("-", 0, "either"))
pprint.assign(arithmetic.true_div, OperatorPrinter("/", -1, "left"))
pprint.assign(arithmetic.int_div, OperatorPrinter("//", -1, "left"))
pprint.assign(arithmetic.pow, OperatorPrinter("**", 1, "right"))
pprint.assign(arithmetic.mod, OperatorPrinter("%", -1, "left"))
