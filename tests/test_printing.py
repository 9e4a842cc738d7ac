"""Trees, formulas, descriptions and pictures of graphs; the Op that prints."""

import contextlib
import io
import sys

import numpy as np
import pytest

from theano import gof, printing
from theano.gof.graph import Apply
from theano.printing import (
    FunctionPrinter,
    IgnorePrinter,
    MemberPrinter,
    OperatorPrinter,
    PatternPrinter,
    PPrinter,
    Print,
    char_from_number,
    debugprint,
    default_printer,
    get_node_by_id,
    hex_digest,
    min_informative_str,
    position_independent_str,
    pp,
    pprint,
    var_descriptor,
)
from theano.scalar import add, float64, identity, mul, neg, sub, true_div


@pytest.fixture
def xyz():
    return float64("x"), float64("y"), float64("z")


def formulas():
    printer = PPrinter()
    printer.assign(lambda pstate, r: True, default_printer)
    return printer


class TwoResults(gof.Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type(), x.type()])

    def __str__(self):
        return "two"


class TestDebugprint:
    def test_tree(self, xyz):
        x, y, z = xyz
        inner = add(x, y)
        inner.name = "C"
        expected = "\n".join(
            [
                "mul [id A] ''   ",
                " |add [id B] 'C'   ",
                " | |x [id C]",
                " | |y [id D]",
                " |sub [id E] ''   ",
                "   |add [id B] 'C'   ",
                "   |z [id F]",
                "",
            ]
        )
        assert debugprint(mul(inner, sub(inner, z)), file="str") == expected

    @pytest.mark.parametrize("ids, first", [("CHAR", "[id A]"), ("int", "[id 0]"), ("", "neg  ''")])
    def test_identifiers(self, xyz, ids, first):
        assert first in debugprint(neg(xyz[0]), file="str", ids=ids)

    def test_python_identifiers(self, xyz):
        assert f"x [id {id(xyz[0])}]" in debugprint(neg(xyz[0]), file="str", ids="id")

    def test_unknown_identifiers(self, xyz):
        with pytest.raises(ValueError):
            debugprint(xyz[0], ids="roman")

    def test_depth(self, xyz):
        x, y, z = xyz
        text = debugprint(mul(add(x, y), neg(z)), file="str", depth=2)
        assert [line.strip(" |") for line in text.splitlines()] == ["mul [id A] ''", "add [id B] ''", "neg [id C] ''"]

    def test_type(self, xyz):
        text = debugprint(neg(xyz[0]), file="str", print_type=True)
        assert f"x [id B] <{xyz[0].type}>" in text

    def test_stop_on_name(self, xyz):
        inner = neg(xyz[0])
        inner.name = "named"
        assert "x [id" not in debugprint(neg(inner), file="str", stop_on_name=True)

    def test_shared_identifiers(self, xyz):
        x, y, _ = xyz
        done, used = {}, {}
        inner = neg(x)
        debugprint(inner, file="str", done=done, used_ids=used)
        text = debugprint(add(inner, y), file="str", done=done, used_ids=used)
        assert text.splitlines() == ["add [id C] ''   ", " |neg [id A] ''   ", " |y [id D]"]

    def test_results_of_one_node(self, xyz):
        a, b = TwoResults()(xyz[0])
        assert "two.1 [id A] ''" in debugprint(b, file="str")
        assert debugprint(a.owner, file="str").count("two.") == 2

    def test_positions_of_a_graph(self, xyz):
        x, y, _ = xyz
        fgraph = gof.FunctionGraph([x, y], [neg(add(x, y))])
        assert debugprint(fgraph, file="str").splitlines()[:2] == ["neg [id A] ''   1", " |add [id B] ''   0"]

    def test_clients(self, xyz):
        x, y, _ = xyz
        inner = add(x, y)
        fgraph = gof.FunctionGraph([x, y], [neg(inner), mul(inner, x)])
        assert "clients:" in debugprint(fgraph, file="str", print_clients=True)
        assert "clients:" not in debugprint(fgraph, file="str")

    def test_where_it_goes(self, xyz):
        text = debugprint(neg(xyz[0]), file="str")
        buffer = io.StringIO()
        assert debugprint(neg(xyz[0]), file=buffer) is buffer and buffer.getvalue() == text
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            assert debugprint([neg(xyz[0])]) is None
        assert buffer.getvalue() == text

    def test_other_things_are_refused(self):
        with pytest.raises(TypeError):
            debugprint(3)
        with pytest.raises(TypeError):
            debugprint([], depth=1.5)

    def test_deep_graph(self, xyz):
        out = xyz[0]
        depth = 2 * sys.getrecursionlimit()
        for _ in range(depth):
            out = neg(out)
        assert len(debugprint(out, file="str").splitlines()) == depth + 1

    def test_node_by_identifier(self, xyz):
        x, y, _ = xyz
        out = neg(add(x, y))
        assert get_node_by_id(out, "B") is out.owner.inputs[0].owner
        assert get_node_by_id(out, "C") is x
        assert get_node_by_id(out, "Z") is None


class TestFormulas:
    def test_printers(self, xyz):
        x, y, z = xyz
        printer = formulas()
        printer.assign(add, OperatorPrinter("+", -2, "either"))
        printer.assign(neg, OperatorPrinter("-", 0, "either"))
        printer.assign(mul, FunctionPrinter("times"))
        printer.assign(identity, IgnorePrinter())
        printer.assign(true_div, PatternPrinter("{%(0)s over %(1)s}"))
        assert printer(add(x, mul(y, neg(z)))) == "(x + times(y, (-z)))"
        assert printer(identity(add(x, y, z))) == "(x + y + z)"
        assert printer(true_div(x, sub(y, z))) == "{x over sub(y, z)}"

    def test_members_by_output(self, xyz):
        printer = formulas()
        printer.assign(TwoResults, MemberPrinter("first", "second"))
        assert [printer(out) for out in TwoResults()(xyz[0])] == ["x.first", "x.second"]

    def test_condition(self, xyz):
        x, y, _ = xyz
        printer = formulas().clone_assign(lambda pstate, r: r.owner and r.owner.op == add, OperatorPrinter("&", 0))
        assert printer(neg(add(x, y))) == "neg((x & y))"
        assert formulas()(add(x, y)) == "add(x, y)"

    def test_own_printer_without_steps(self, xyz):
        x, y, _ = xyz

        class Brackets:
            def process(self, output, pstate):
                inner = pstate.pprinter.process(output.owner.inputs[0], pstate.clone(precedence=3))
                return f"[{inner}]"

        printer = formulas()
        printer.assign(neg, Brackets())
        assert printer(add(neg(mul(x, y)), y)) == "add([mul(x, y)], y)"

    def test_greek_names(self):
        assert pp(float64("alpha")) == "\\alpha"

    def test_operator_needs_a_result(self, xyz):
        with pytest.raises(TypeError):
            OperatorPrinter("+", 0).process(xyz[0], None)
        with pytest.raises(ValueError):
            OperatorPrinter("+", 0, "both")

    def test_graph_with_names(self, xyz):
        x, y, _ = xyz
        total = add(x, y)
        total.name = "total"
        text = formulas().process_graph([x, y], [neg(total)], display_inputs=True)
        assert text.splitlines() == ["inputs: x, y", "total = add(x, y)", "out[0] = neg(add(x, y))"]

    def test_deep_graph(self, xyz):
        out = xyz[0]
        depth = 2 * sys.getrecursionlimit()
        for _ in range(depth):
            out = neg(out)
        assert formulas()(out) == "neg(" * depth + "x" + ")" * depth

    def test_pp_is_pprint(self, xyz):
        assert pp(neg(xyz[0])) == pprint(neg(xyz[0]))


class TestDescriptions:
    def test_letters(self):
        assert [char_from_number(n) for n in (0, 1, 25, 26, 52)] == ["A", "B", "Z", "BA", "CA"]

    def test_min_informative_str(self, xyz):
        x, y, z = xyz
        inner = add(x, y)
        inner.name = "C"
        text = min_informative_str(mul(inner, add(z, inner)))
        assert text == "A. mul\n B. C\n C. add\n  D. z\n  <B>"

    def test_var_descriptor(self, xyz):
        x, y, _ = xyz
        inner = add(x, y)
        assert var_descriptor(mul(inner, inner)) == "A=mul(B=add(C=x,D=y),<B>)"

    def test_hex_digest(self):
        value = np.arange(4.0)
        assert hex_digest(value) == hex_digest(value.copy())
        others = [value + 1, value.reshape(2, 2), value[::2]]
        assert len({hex_digest(v) for v in [value, *others]}) == 4
        with pytest.raises(TypeError):
            hex_digest([1])

    def test_position_independent_str(self, xyz):
        assert position_independent_str(xyz[0]) == f"theano_var{{type={xyz[0].type}}}"
        with pytest.raises(NotImplementedError):
            position_independent_str(3)


class TestPrintOp:
    def call_and_capture(self, op, value):
        x = float64("x")
        f = gof.PerformLinker().accept(gof.FunctionGraph([x], [op(x)])).make_function()
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            result = f(value)
        return result, buffer.getvalue()

    def test_prints_and_passes_on(self):
        result, text = self.call_and_capture(Print("value of x"), 2.0)
        assert float(result) == 2.0 and text == "value of x __str__ = 2.0\n"

    def test_attributes(self):
        _, text = self.call_and_capture(Print("x", attrs=["ndim", "sum"]), 2.0)
        assert text == "x ndim = 0\nx sum = 2.0\n"

    def test_own_function(self):
        seen = []
        self.call_and_capture(Print("x", global_fn=lambda op, value: seen.append((op.message, float(value)))), 2.0)
        assert seen == [("x", 2.0)]

    def test_equality(self):
        assert Print("a") == Print("a") and Print("a") != Print("b") and hash(Print("a")) == hash(Print("a"))


class TestPictures:
    def raw(self, what, tmp_path, **options):
        pytest.importorskip("pydot")
        target = tmp_path / "graph.dot"
        printing.pydotprint(what, outfile=str(target), format="raw", **options)
        return target.read_text()

    def test_missing_programs_are_named(self, xyz, monkeypatch):
        monkeypatch.setattr(printing.dot, "pydot_status", lambda: (False, "no pydot"))
        with pytest.raises(RuntimeError, match="pydot"):
            printing.pydotprint(neg(xyz[0]))

    def test_wrong_argument(self):
        with pytest.raises(ValueError):
            printing.pydotprint(3)

    def test_nodes_and_edges(self, xyz, tmp_path, capsys):
        x, y, _ = xyz
        text = self.raw(sub(neg(x), y), tmp_path, var_with_name_simple=True)
        assert f"The output file is available at {tmp_path / 'graph.dot'}" in capsys.readouterr().out
        # A compact picture links the nodes directly.
        assert '"neg" -> "sub"' in text and '"x" -> "neg"' in text and '"y" -> "sub"' in text
        assert "limegreen" in text and "blue" in text

    def test_intermediate_variables(self, xyz, tmp_path):
        x, y, _ = xyz
        text = self.raw(sub(neg(x), y), tmp_path, compact=False, with_ids=True, print_output_file=False)
        assert '"neg    id=0"' in text and '"neg    id=0" -> "sub' not in text

    def test_colors_of_nodes_and_of_aliases(self, xyz, tmp_path):
        class Alias(gof.Op):
            __props__ = ()
            view_map = {0: [0]}

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def __str__(self):
                return "alias"

        text = self.raw(Alias()(xyz[0]), tmp_path, colorCodes={"Alias": "orange"}, high_contrast=False)
        assert "color=orange" in text and "color=blue" in text

    def test_long_labels_are_cut(self, tmp_path):
        text = self.raw(neg(float64("a" * 200)), tmp_path, max_label_size=20, var_with_name_simple=True)
        assert '"' + "a" * 17 + '..."' in text

    @pytest.mark.skipif(not printing.pydot_imported, reason="needs pydot and graphviz")
    def test_file_and_image(self, xyz, tmp_path):
        x, y, _ = xyz
        target = tmp_path / "graph.png"
        printing.pydotprint(add(neg(x), y), outfile=str(target))
        assert target.stat().st_size > 0
        assert b"svg" in printing.pydotprint([neg(x)], return_image=True, format="svg", compact=False)
