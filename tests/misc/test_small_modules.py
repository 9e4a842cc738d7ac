"""The small modules that programs of the original import: paths, processes, texts of C code, versions."""

import io
import os
import pickle
import sys
import zipfile

import numpy as np
import pytest

import theano
from theano.misc import cpucount, frozendict, ordered_set, pkl_utils, strutil, windows


@pytest.fixture
def search_path(monkeypatch):
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/bin", "/bin"]))
    monkeypatch.setattr(theano.pathparse.PathParser, "paths", set())


def test_paths_are_added_to_the_search_path(search_path):
    paths = theano.pathparse.PathParser("/b", " ")
    paths.add("/a")
    assert os.environ["PATH"].split(os.pathsep) == sorted(["/a", "/b", "/usr/bin", "/bin"])


def test_an_absolute_path_comes_first_in_a_list_of_the_environment(search_path, monkeypatch):
    from theano.compat import maybe_add_to_os_environ_pathlist as add

    add("PATH", "/usr/bin")
    add("PATH", "relative")
    assert os.environ["PATH"] == os.pathsep.join(["/usr/bin", "/bin"])
    add("PATH", "/new")
    assert os.environ["PATH"].startswith("/new" + os.pathsep)


def test_processors_are_counted():
    assert cpucount.cpuCount() == os.cpu_count()


def test_commands_are_run():
    command = [sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"]
    assert windows.call_subprocess_Popen(command) == 3
    out, err, status = windows.output_subprocess_Popen(command)
    assert (out.strip(), err.strip(), status) == (b"out", b"err", 3)
    for function in (windows.call_subprocess_Popen, windows.output_subprocess_Popen):
        with pytest.raises(TypeError, match="stdout"):
            function(command, stdout=None)


def test_texts_of_c_code():
    assert strutil.render_string("%(a)s;", {"a": 1}) == "1;"
    with pytest.raises(ValueError, match=r"x = %\(b\)<<<< caused exception 'b'"):
        strutil.render_string("x = %(b)s; y", {"a": 1})
    assert strutil.pretty_format("{\n\ta;\n  if (b) {\nc;\n}\n}") == "{\n    a;\n    if (b) {\n        c;\n    }\n}"


def test_the_version_and_its_parts():
    from theano import _version, version

    assert version.version == theano.__version__ == _version.get_versions()["version"]
    assert version.short_version == theano.__version__.partition("+")[0]
    assert version.release == (not any(letter.isalpha() for letter in version.short_version))


def test_links_of_old_ordered_sets_are_pickled():
    first, second = ordered_set.Link(), ordered_set.Link()
    for link, other in ((first, second), (second, first)):
        link.prev = link.next = ordered_set.weakref.ref(other)
    second.key = "k"
    kept, other = pickle.loads(pickle.dumps([first, second]))
    assert kept.next() is other and other.prev() is kept and other.key == "k" and not hasattr(kept, "key")


def test_frozen_ordered_dictionaries_keep_their_order():
    d = frozendict.FrozenOrderedDict([("b", 1), ("a", 2)])
    assert list(d) == ["b", "a"] and hash(d) == hash(d.copy()) and isinstance(d.copy(), frozendict.FrozenOrderedDict)


def test_members_are_added_to_zip_files_by_functions():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zip_file:
        pkl_utils.zipadd(lambda member: np.save(member, np.arange(3)), zip_file, "a.npy")
    file.seek(0)
    np.testing.assert_array_equal(np.load(file)["a"], [0, 1, 2])


def test_bytes_of_python_2_reach_what_refuses_texts():
    class Unpickler(pickle._Unpickler):
        dispatch = {**pickle._Unpickler.dispatch, pickle.REDUCE[0]: pkl_utils.load_reduce}

    # hexlify of a byte string of Python 2, which is read as a text.
    data = b"cbinascii\nhexlify\n(S'\\xe9'\ntR."
    assert Unpickler(io.BytesIO(data), encoding="latin1").load() == b"e9"
    with pytest.raises(TypeError):
        pickle._Unpickler(io.BytesIO(b"cbinascii\nhexlify\n(I1\ntR.")).load()


def test_old_places_say_where_things_are(monkeypatch):
    for module, new in (("softsign", "theano.tensor.nnet"), ("solve", "slinalg"), ("fourier", "theano.tensor.fft")):
        monkeypatch.delitem(sys.modules, f"theano.sandbox.{module}", raising=False)
        with pytest.warns(DeprecationWarning, match=new):
            __import__(f"theano.sandbox.{module}")
    assert sys.modules["theano.sandbox.softsign"].softsign is theano.tensor.nnet.softsign
    assert sys.modules["theano.sandbox.solve"].solve is theano.tensor.slinalg.solve


def test_the_smallest_op(capsys):
    from theano.sandbox import minimal

    case = minimal.T_minimal("test0")
    assert case.run().wasSuccessful()
    assert "perform got 5 arguments" in capsys.readouterr().out
