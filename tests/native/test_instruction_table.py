"""The table of instructions, what C makes of it, and Python's classes."""

import enum
import pathlib
import re

import numpy as np
import pytest
from vm_tools import make, runtime, tensor

import theano
from theano.native import instructions as vm
from theano.native.instructions import table

SOURCES = pathlib.Path(theano.__file__).parent / "native" / "target" / "cpu" / "runtime"
ROWS = re.findall(r"^INSTRUCTION\((\w+), (\w+), (\w+), (\w+),", (SOURCES / "instructions.def").read_text(), re.M)
D1 = tensor("f8", 1)
# A param of another type for each type, and what the message says instead.
MISFITS = {
    "int": ("1", "an int"),
    "bool": (1, "a bool"),
    "choice": (17, "a member of its enumeration"),
    "axis": (1.5, "an int or None"),
    "ints": ([1], "a tuple of ints"),
    "choices": ((17,), "a tuple of members of its enumeration"),
    "str": (b"", "a str"),
    "tuple": ([], "a tuple"),
    "function": (abs, "a capsule with a function"),
    "optional_function": (abs, "a capsule with a function or None"),
    "program": (None, "a Program"),
}


def test_the_runtime_has_the_rows_of_the_file():
    assert [(row[0], row[2], row[3], row[4]) for row in runtime.instruction_table()] == [
        (name, memory.lower(), None if reads == "NONE" else int(reads), replay.lower()) for name, memory, reads, replay in ROWS
    ]


def test_each_row_has_its_code_in_one_place():
    sources = [path.read_text() for path in SOURCES.glob("*.c")]
    found = [name for text in sources for name in re.findall(r"^THN_INSTRUCTION(?:_WITH)?\((\w+),", text, re.M)]
    assert sorted(found) == sorted(name for name, *_ in ROWS)


@pytest.mark.parametrize("class_name", table())
def test_a_class_is_what_its_row_says(class_name):
    name, fields, memory, reads, _, flags, text = table()[class_name]
    instruction = getattr(vm, class_name)
    assert (instruction.name, instruction.fields) == (name, fields)
    assert instruction.memory is vm.Memory(memory)
    assert text.strip() and text[-1] == "."
    values = tuple(range(len(fields)))
    made = instruction(*values)
    assert tuple(made) == values
    for (field, _, choices), value in zip(fields, values, strict=True):
        assert getattr(made, field) == value
        assert choices is None or issubclass(getattr(vm, choices), enum.IntEnum)
    assert made == instruction(*values) and made != values
    with pytest.raises(TypeError):
        instruction(*values, None)
    assert (memory == "inplace") == any(field == "inplace" for field, _, _ in fields)
    assert "reads_axis" not in flags or any(field == "axis" for field, _, _ in fields)


def test_what_passes_ask_may_depend_on_the_params():
    assert vm.Gemm(True).in_place and not vm.Gemm(False).in_place
    assert vm.Join(None).reads_from == 0 and vm.Join(1).reads_from is None
    assert vm.Jump(3).aimed(4) == vm.Jump(4) != vm.JumpIfFalse(4)


def test_enumerations_have_the_same_order_on_both_sides():
    assert list(vm.Structure.__members__) == ["GENERAL", "SYMMETRIC", "LOWER_TRIANGULAR", "UPPER_TRIANGULAR"]
    a, b = np.array([[2.0, 9.0], [1.0, 2.0]]), np.ones(2)
    specs = [tensor("f8", 2), D1]
    for structure, expected in [(vm.Structure.LOWER_TRIANGULAR, np.tril(a)), (vm.Structure.UPPER_TRIANGULAR, np.triu(a))]:
        x = make("solve", specs, [D1], vm.Solve(structure, False, False)).call([a, b])[0]
        np.testing.assert_allclose(expected @ x, b)


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="no instruction and no enumeration Dance"):
        _ = vm.Dance
    with pytest.raises(NotImplementedError, match="no instruction 'dance'"):
        make("dance", [D1], [D1])


# A param that fits, where a test can make one.
FITTING = {"int": 0, "bool": True, "choice": 0, "axis": 0, "ints": (0,), "choices": (0,), "str": "", "tuple": (), "object": None,
           "index": ()}  # fmt: skip


def misfits():
    """Params of which the last is the first that does not fit."""
    for name, fields, *_ in table().values():
        params = []
        for field, kind, _ in fields:
            if kind in MISFITS:
                value, expected = MISFITS[kind]
                rest = [None] * (len(fields) - len(params) - 1)
                yield name, (*params, value, *rest), f"{name}: {field} must be {expected}, got {value!r}"
            if kind not in FITTING:
                break
            params.append(FITTING[kind])


@pytest.mark.parametrize("name, params, message", list(misfits()))
def test_a_misfitting_param_is_named(name, params, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make(name, [D1], [D1], params)


@pytest.mark.parametrize("name", [row[0] for row in table().values()])
def test_the_number_of_params_is_checked(name):
    with pytest.raises(TypeError, match=f"{name}: a tuple of .* params is needed"):
        make(name, [D1], [D1], (None,) * 20)


F1, I1, I0, OBJECT = tensor("f8", 1), tensor("i8", 1), tensor("i8", 0), ("object",)
PARTS = [OBJECT, OBJECT, I1, F1]
MADE = [F1, OBJECT, OBJECT, I1]


@pytest.mark.parametrize(
    "name, ins, outs, params",
    [
        ("count_length", [F1], [I0], ()),  # a dtype
        ("count_length", [I0], [I0], ()),  # a rank
        ("count_length", [OBJECT], [I0], ()),  # no array
        ("count_length", [I1], [F1], ()),  # an output
        ("count_length", [], [I0], ()),  # too few
        ("count_length", [I1, I1], [I0], ()),  # too many
        ("moments", [F1], [tensor("f8", 0)] * 3, ()),
        ("searchsorted", [F1, F1, F1], [I1], (False,)),  # what may be missing
        ("searchsorted", [F1, tensor("f4", 1)], [I1], (False,)),  # of one dtype
        ("permute_rows", [F1, tensor("i8", 2), I0], [F1], ()),  # of one rank
        ("ravel_index", [I1, F1], [I1], (False, (0,))),  # any number of them
        ("sparse_stack", PARTS + PARTS[:3], MADE, (False, False)),  # parts that are repeated
        ("sparse_stack", PARTS + [OBJECT, OBJECT, I1, tensor("f4", 1)], MADE, (False, False)),
        ("sparse_turn", [F1, OBJECT, I1, F1], MADE[:3], (False,)),  # no object
    ],
)
def test_misfitting_operands_are_refused(name, ins, outs, params):
    with pytest.raises(ValueError, match=f"{name}: operands or params do not fit. "):
        make(name, ins, outs, params)


def test_operands_that_fit():
    for name, ins, outs, params in [
        ("count_length", [I1], [I0], ()),
        ("searchsorted", [F1, F1], [I1], (False,)),
        ("searchsorted", [F1, F1, I1], [I1], (False,)),
        ("sparse_stack", PARTS, MADE, (False, False)),
        ("sparse_stack", PARTS * 3, MADE, (False, False)),
        ("ravel_index", [I1, I1, I1], [I1], (False, (0, 0))),
    ]:
        assert make(name, ins, outs, params).ninstrs == 1


def test_no_other_list_of_names():
    """Passes ask the classes: no name of an instruction stands in quotes in the engine."""
    names = "|".join(name for name, *_ in ROWS if "_" in name)
    for path in (SOURCES.parent).rglob("*.py"):
        assert not re.findall(rf"""["'](?:{names})["']""", path.read_text()), path
