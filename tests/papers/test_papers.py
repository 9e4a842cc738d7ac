"""Each program gives the numbers that Theano 1.0.5 gave for it, `recorded.json`, and its cost falls.

``PYTHONPATH=. python tests/papers/record.py``, run by an interpreter that has the original, writes that file.
"""

import importlib
import json
import pathlib

import numpy as np
import pytest

RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded.json").read_text())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_program_gives_the_numbers_of_the_original(name):
    found = importlib.import_module(f"tests.papers.{name}").run()
    assert found.keys() == RECORDED[name].keys()
    for key, values in RECORDED[name].items():
        np.testing.assert_allclose(found[key], values, rtol=1e-9, atol=1e-12, err_msg=f"{name}: {key}")
    assert name == "rbm" or found["costs"][-1] < found["costs"][0]
