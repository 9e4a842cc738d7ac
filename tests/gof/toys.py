"""Types and Ops small enough to see through."""

from theano.gof import Apply, Op, Type


class Number(Type):
    def filter(self, data, strict=False, allow_downcast=None):
        if strict and not isinstance(data, float):
            raise TypeError(f"a float is needed, not {data!r}")
        return float(data)

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(Number)

    def __str__(self):
        return "number"


number = Number()


class Toy(Op):
    """Adds its inputs; `destroy` and `view` are maps for the only output."""

    __props__ = ("name", "destroy", "view", "tolerate")

    def __init__(self, name="toy", destroy=(), view=(), tolerate=()):
        self.name = name
        self.destroy = tuple(destroy)
        self.view = tuple(view)
        self.tolerate = tuple(tolerate)
        if destroy:
            self.destroy_map = {0: list(destroy)}
        if view:
            self.view_map = {0: list(view)}
        if tolerate:
            self.destroyhandler_tolerate_aliased = [tuple(t) for t in tolerate]

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [number()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = float(sum(inputs))

    def __str__(self):
        return self.name


class TwoOutputs(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [number(), number()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + 1
        output_storage[1][0] = inputs[0] + 2

    def __str__(self):
        return "two"


toy = Toy()
inplace = Toy("inplace", destroy=[0])
view = Toy("view", view=[0])


def chain(n, x=None):
    """Return the input and the end of a chain of `n` nodes."""
    x = number("x") if x is None else x
    v = x
    for _ in range(n):
        v = toy(v)
    return x, v
