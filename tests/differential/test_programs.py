"""A few of the random programs run, and what compares the two sides finds what differs. Nothing of the original is needed."""

import pathlib
import sys

import pytest

from tests.differential import generator, known
from tests.differential.__main__ import run_side
from tests.differential.compare import Difference, behind, differences, kind_of_texts, meant_by

ALL = sorted(generator.KINDS)
DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "differences.md"


def test_programs_run_to_their_end():
    programs = [generator.program(seed, [kind]) for kind in ALL for seed in range(3)]
    found = run_side(sys.executable, "cxx=", programs, True)
    assert found.keys() == dict(programs).keys()
    ended = {name: records for name, records in found.items() if isinstance(records, str)}
    assert not ended
    errors = [record["error"] for records in found.values() for record in records if record["error"]]
    assert len(errors) < sum(map(len, found.values())) / 4
    assert not [
        error for error in errors if error["class"] in ("SystemError", "AssertionError", "UnboundLocalError", "RuntimeError")
    ]


def test_a_seed_names_a_program():
    assert generator.program(7, ALL) == generator.program(7, ALL) != generator.program(8, ALL)


def record(line, *reported, error=None):
    return {"line": line, "reported": list(reported), "error": error}


def array(dtype="float64", shape=(1,), data="AAAAAAAA8D8="):
    return {"kind": "array", "dtype": dtype, "shape": list(shape), "data": data}


def failure(name):
    return {"class": name, "bases": [name, "Exception"], "text": ""}


@pytest.mark.parametrize("original, ours, what", [
    (record(1, array()), record(1, array()), None),
    (record(1, array()), record(1, array(data="AAAAAAAAAEA=")), "value"),
    (record(1, array()), record(1, array(data="AAAAAAAA+H8=")), "value"),
    (record(1, array()), record(1, array(data="AgAAAAAA8D8=")), None),
    (record(1, array()), record(1, array(shape=())), "shape"),
    (record(1, array()), record(1, array("int64")), "dtype"),
    (record(1, array()), record(1, error=failure("TypeError")), "error"),
    (record(1, error=failure("TypeError")), record(1, error=failure("TypeError")), None),
    (record(1, error=failure("TypeError")), record(1, error=failure("ValueError")), "error"),
    (record(1, {"kind": "str", "value": "a 0x12"}), record(1, {"kind": "str", "value": "a 0x7f"}), None),
    (record(1, {"kind": "str", "value": "a"}), record(1, {"kind": "str", "value": "b"}), "text"),
    ({"kind": "list", "items": []}, array(), "kind"),
])  # fmt: skip
def test_differences_are_found(original, ours, what):
    if "line" not in original:
        original, ours = record(1, original), record(1, ours)
    assert [d.what for d in differences([original], [ours], "x = 1")] == ([what] if what else [])


def test_a_process_that_ends_is_a_difference():
    assert [d.what for d in differences([record(1)], "crash (-11)", "x = 1")] == ["end"]


def test_a_result_is_known_by_the_expression_it_was_made_of():
    program = "a = 1\ny0 = T.cumsum(x)\nf0 = theano.function([x], y0)\nreport(f0(xv))\n"
    assert meant_by(program, 4) == "y0 = T.cumsum(x)"
    assert known.reason(program, Difference("dtype", 4, "uint8", "uint64"))
    assert not known.reason(program, Difference("value", 4, "1", "2"))


def test_kinds_of_texts():
    assert kind_of_texts("Elemwise{exp,no_inplace}(x)", "Elemwise{exp}(x)") == "names"
    assert kind_of_texts("x[int64:]", "x[Constant{1}:]") == "bounds"
    assert kind_of_texts("exp(x)", "log(x)") == "text"


def test_what_a_result_is_made_of():
    lines = ["theano.config.floatX = 'float32'", "a, b = 1, 2", "c = 3", "z = a + 1", "report(c)", "report(z)"]
    assert behind("\n".join(lines), 6).splitlines() == [lines[0], lines[1], lines[3], lines[5]]
    stateful = ["s = theano.shared(1)", "g = theano.function([], updates=[(s, 2)])", "report(g())", "report(s)"]
    assert behind("\n".join(stateful), 4).splitlines() == stateful


def test_numbers_that_are_far_apart_are_no_rounding():
    program = "x = T.fscalar('x')\ny0 = theano.gradient.numeric_grad(f, xv).gf[0] # float32\nreport(y0)\n"
    assert known.reason(program, Difference("value", 3, "[1.0, 2.0]", "[1.0001, 2.0]"))
    assert not known.reason(program, Difference("value", 3, "[1.0, 2.0]", "[1.5, 2.0]"))


def test_what_is_meant_to_differ_is_documented():
    text = DOCUMENT.read_text()
    assert not {k.reason for k in known.KNOWN if f"| {k.reason} |" not in text}
