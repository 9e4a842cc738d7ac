"""Zip files with arrays, and pickles without debugging information."""

import io
import pickle
import zipfile

import numpy as np
import pytest

import theano
import theano.tensor as T
from theano.misc import pkl_utils


def round_trip(obj, **kwargs):
    file = io.BytesIO()
    pkl_utils.dump(obj, file, **kwargs)
    return zipfile.ZipFile(file).namelist(), pkl_utils.load(io.BytesIO(file.getvalue())), file


def test_members_are_named_after_shared_variables():
    foo, foo2 = theano.shared(0, name="foo"), theano.shared(1, name="foo")
    names, (a, b, array), file = round_trip((foo, foo2, np.array(2)))
    assert sorted(names) == ["array_0", "foo", "foo_2", "pkl"]
    with np.load(file, allow_pickle=True) as members:
        assert members["foo"] == 0 and members["foo_2"] == 1 and members["array_0"] == 2
    assert (a.get_value(), b.get_value(), array) == (0, 1, 2) and a.name == b.name == "foo"


def test_plain_persistent_id():
    value = np.arange(3)
    names, loaded, _ = round_trip({"a": value, "again": value}, persistent_id=pkl_utils.PersistentNdarrayID)
    assert sorted(names) == ["array_0", "pkl"]
    assert loaded["a"].tolist() == [0, 1, 2] and loaded["a"] is loaded["again"]


def test_names_can_be_required_and_unique():
    def strict(zip_file):
        return pkl_utils.PersistentSharedVariableID(zip_file, allow_unnamed=False, allow_duplicates=False)

    with pytest.raises(ValueError, match="unnamed"):
        round_trip(theano.shared(1.0), persistent_id=strict)
    with pytest.raises(ValueError, match="multiple"):
        round_trip([theano.shared(1.0, name="a"), theano.shared(2.0, name="a")], persistent_id=strict)
    with pytest.raises(ValueError, match="pkl"):
        round_trip(theano.shared(1.0, name="pkl"))


def test_functions_can_be_dumped():
    x, w = T.dvector("x"), theano.shared(np.array([1.0, 2.0]), name="w")
    names, f, _ = round_trip(theano.function([x], x * w))
    assert "w" in names and f([3.0, 4.0]).tolist() == [3, 8]


def test_arrays_of_objects_stay_in_the_pickle():
    names, loaded, _ = round_trip(np.array([{}, None], dtype=object))
    assert names == ["pkl"] and loaded.tolist() == [{}, None]


def test_strip_pickler_removes_traces_and_tags():
    x = T.dmatrix("x")
    x.tag.mark = list(range(1000))
    x.tag.test_value = np.ones((2, 2))
    y = x * 2
    file = io.BytesIO()
    pkl_utils.StripPickler(file, protocol=-1, extra_tag_to_remove=["mark"]).dump([x, y])
    x2, y2 = pickle.loads(file.getvalue())
    assert x2.name == "x" and y2.owner.inputs[0] is x2
    assert not hasattr(x2.tag, "mark") and not hasattr(y2.tag, "trace") and not hasattr(x2.tag, "test_value")
    assert hasattr(x.tag, "mark") and len(file.getvalue()) < len(pickle.dumps([x, y]))


def test_arrays_pickled_by_python_2():
    data = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01bq\x03\x87q\x04Rq\x05("
        b"K\x01K\x01\x85cnumpy\ndtype\nq\x06U\x02f8K\x00K\x01\x87Rq\x07(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
        b"K\x00tb\x89U\x08\x00\x00\x00\x00\x00\x00\xf0?tb."
    )
    assert pkl_utils.CompatUnpickler(io.BytesIO(data), encoding="latin1").load().tolist() == [1.0]
