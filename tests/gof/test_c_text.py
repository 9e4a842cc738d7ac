"""C text put together from blocks, extension modules written by hand, and their cache."""

import os
import pickle
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import theano
import theano.tensor as T
from tests.tools import run_program
from theano.gof import cc, cmodule, compiledir, compilelock, dynamic_module, module_cache

needs_compiler = pytest.mark.skipif(not theano.config.cxx, reason="there is no C++ compiler")


def test_blocks_nest():
    blocks = [cc.CodeBlock("int a;\n", "a = 1;", "a = 0;", {"id": 1}), cc.CodeBlock("", "b();", "c();", {"id": 2})]
    text = "".join(cc.code_gen(blocks).split())
    assert text == "inta;{a=1;{b();__label_2:c();double__DUMMY_2;}__label_1:a=0;double__DUMMY_1;}"
    sub = {"failure_var": "failed", "id": 7}
    assert "failed = 7;" in cc.failure_code(sub) and "goto __label_7;" in cc.failure_code(sub)
    assert "goto" not in cc.failure_code(sub, use_goto=False) and "return 7;" in cc.failure_code_init(sub)
    assert cc.apply_policy([cc.get_nothing, lambda r, name, sub: name], None, "x", {}) == "x"


def module_of_a_struct():
    """The text of a module whose function `run(in, out, errors)` computes ``1 / x`` of a vector, or fails where x[0] is 0."""
    x = T.dvector()
    y = T.dvector()
    fgraph = theano.FunctionGraph([x], [T.inv(x)], clone=False)
    nothing = [cc.get_nothing] * 3
    names, init, run = {}, [], []
    sub = {"failure_var": "__failure"}
    policies = {
        x: (nothing, [cc.get_c_declare, cc.get_c_extract, cc.get_c_cleanup]),
        y: (nothing, [cc.get_c_declare, cc.get_c_init, (cc.get_c_sync, cc.get_c_cleanup)]),
    }
    for i, variable in enumerate(policies):
        builder, block = cc.struct_variable_codeblocks(variable, policies[variable], 2 * i + 1, names, sub)
        init.append(builder)
        run.append(block)
    a, b = names[x], names[y]
    assert (a, b) == ("V1", "V3")
    code = """
        npy_intp n = PyArray_DIM(%(a)s, 0);
        %(b)s = (PyArrayObject*)PyArray_EMPTY(1, &n, NPY_DOUBLE, 0);
        if (((double*)PyArray_DATA(%(a)s))[0] == 0) {
            PyErr_SetString(PyExc_ZeroDivisionError, "the first is 0");
            %(fail)s
        }
        for (npy_intp i = 0; i < n; ++i)
            ((double*)PyArray_DATA(%(b)s))[i] = 1 / ((double*)PyArray_GETPTR1(%(a)s, i))[0];
    """ % {"a": a, "b": b, "fail": cc.failure_code({**sub, "id": 9})}
    run.append(cc.CodeBlock("", code, "", {"id": 9}))
    struct = cc.struct_gen([f"storage_{a}", f"storage_{b}"], init, run, {**sub, "name": "inverse"})
    module = cmodule.DynamicModule()
    for header in ("numpy/arrayobject.h", "<string.h>"):
        module.add_include(header)
    module.add_support_code(T.dvector.c_support_code())
    module.add_support_code(struct)
    module.add_init_code("import_array();")
    function = """
        static PyObject* run(PyObject* self, PyObject* args) {
            PyObject *errors, *in, *out;
            if (!PyArg_ParseTuple(args, "OOO", &errors, &in, &out)) return NULL;
            inverse computation;
            if (computation.init(errors, in, out)) return NULL;
            return PyLong_FromLong(computation.run());
        }
    """
    module.add_function(cmodule.ExtFunction("run", function, cmodule.METH_VARARGS, "computes"))
    assert fgraph.outputs
    return module


@needs_compiler
def test_a_struct_computes_and_fails(tmp_path, capsys):
    text = module_of_a_struct()
    code = text.code()
    with pytest.raises(AssertionError):
        text.add_include("x.h")
    text.list_code()
    assert "   1 #include <Python.h>" in capsys.readouterr().out
    module = cmodule.GCC_compiler.compile_str(text.code_hash, code, str(tmp_path))
    assert module.run.__doc__ == "computes"
    value, result, errors = np.array([1.0, 2.0, 4.0]), [None], [None, None, None]
    assert module.run(errors, [value[::-1]], result) == 0
    np.testing.assert_array_equal(result[0], [0.25, 0.5, 1])
    before = sys.getrefcount(value)
    assert module.run(errors, [np.zeros(1)], result) == 9
    assert errors[0] is ZeroDivisionError and str(errors[1]) == "the first is 0"
    np.testing.assert_array_equal(result[0], [0.25, 0.5, 1])
    for _ in range(5):
        module.run(errors, [value], [None])
    assert sys.getrefcount(value) == before


def write_module(folder, name, value):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(f"value = {value}\n")
    return str(path)


def test_modules_are_loaded_by_their_paths(tmp_path):
    path = write_module(tmp_path / "tmpa", "m1", 3)
    module = cmodule.dlimport(path)
    assert module.value == 3 and module.__name__ == "tmpa.m1" and dynamic_module.import_time > 0
    assert str(tmp_path) not in sys.path
    for bad in ("relative.so", str(tmp_path / "x.txt")):
        with pytest.raises(ValueError, match="path"):
            cmodule.dlimport(bad)
    folder = cmodule.dlimport_workdir(str(tmp_path))
    assert os.path.dirname(folder) == str(tmp_path)
    assert cmodule.module_name_from_dir(folder, err=False) is None
    with pytest.raises(ValueError, match="not one"):
        cmodule.module_name_from_dir(folder)
    assert cmodule.module_name_from_dir("/d", files=["a.so", "b.txt"]) == "/d/a.so"
    assert cmodule.module_name_from_dir("/no/such", err=False) is None
    assert cmodule.last_access_time(path) == pytest.approx(time.time(), abs=1000)
    assert cmodule.is_same_entry("/x/tmp1/m.so", "/y/tmp1/m.so") and not cmodule.is_same_entry("/x/a/m.so", "/y/a/m.so")


def test_digests_of_modules():
    def key(flags="-O3", version=(1,), digest="hash:abc", rest="x"):
        return (version, ("CLinker.cmodule_key", (flags,), ("lib",), "NPY_ABI_VERSION=0x1", digest, rest))

    digest = cmodule.get_module_hash("a;\n b;", key())
    assert digest == cmodule.get_module_hash("  a;\nb;", key(digest="hash:other", rest="y"))
    assert len({digest, *(cmodule.get_module_hash("a;\n b;", k) for k in (key("-O2"), key(version=(2,))))}) == 3
    assert digest != cmodule.get_module_hash("a;\nc;", key())
    assert cmodule.get_safe_part(key()) == (1, "abc")
    with pytest.raises(ValueError):
        cmodule.get_module_hash("", ((), ("other",)))


class Linker:
    """Compiles nothing: its modules are Python files."""

    def __init__(self, value, fail=False):
        self.value = value
        self.fail = fail

    def compile_cmodule(self, location):
        path = write_module(Path(location), "m", self.value)
        if self.fail:
            raise RuntimeError("no")
        return cmodule.dlimport(path)


def test_modules_are_kept_by_their_keys(tmp_path):
    cache = module_cache.ModuleCache(str(tmp_path / "cache"))
    key, other, unversioned = ((1,), "a"), ((1,), "b"), ((), "c")
    with pytest.raises(KeyError):
        cache.module_from_key(key)
    module = cache.module_from_key(key, Linker(1))
    assert cache.module_from_key(key) is module and module.value == 1 and cache.stats == [1, 0, 1]
    assert cache.module_from_key(unversioned, Linker(2)).value == 2
    with pytest.raises(RuntimeError):
        cache.module_from_key(other, Linker(3, fail=True))
    again = module_cache.ModuleCache(cache.dirname)
    assert again.module_from_key(key).value == 1 and again.stats == [0, 1, 0]
    assert unversioned not in again.entry_from_key and other not in again.entry_from_key
    cache._on_atexit()
    assert len(os.listdir(cache.dirname)) == 1
    too_old = module_cache.ModuleCache(cache.dirname, do_refresh=False).refresh(age_thresh_use=-1)
    assert [entry for entry, _ in too_old] == [again.entry_from_key[key]]
    again.clear_unversioned(0)
    assert len(os.listdir(cache.dirname)) == 1
    module_cache.ModuleCache(cache.dirname).clear()
    assert os.listdir(cache.dirname) == []


def test_keys_of_modules(tmp_path):
    data = module_cache.KeyData({((1,), "a")}, "digest", str(tmp_path / "key.pkl"), "/m.so")
    data.add_key(((1,), "b"))
    data.remove_key(((1,), "a"))
    assert pickle.loads((tmp_path / "key.pkl").read_bytes()).keys == {((1,), "b")} and data.get_entry() == "/m.so"
    entries = {((1,), "b"): "/m.so", ((1,), "c"): "/m.so", ((1,), "d"): "/n.so"}
    data.delete_keys_from(entries)
    assert entries == {((1,), "d"): "/n.so"}
    with pytest.raises(pickle.PicklingError):
        data.add_key(lambda: 0)
    assert not (tmp_path / "key.pkl").exists()
    cache = module_cache.ModuleCache(str(tmp_path))
    with pytest.warns(UserWarning, match="not equal to itself"):
        cache.check_key(((1,), "z"), str(tmp_path / "key.pkl"))


@needs_compiler
def test_questions_for_the_compiler():
    assert cmodule.GCC_compiler.try_flags(["-O1"], body="return 0;", try_run=True) == (True, True)
    assert cmodule.GCC_compiler.try_flags(["--no-such-flag"]) is False
    assert cmodule.try_march_flag(["-O1"]) and not cmodule.try_march_flag(["--no-such-flag"])
    assert cmodule.Compiler._try_compile_tmp("int main() { return 0; }") is False
    compiled, out, err = cmodule.GCC_compiler.try_compile_tmp("nonsense", output=True, comp_args=False)
    assert not compiled and "nonsense" in out + err
    assert cmodule.gcc_version() in cmodule.GCC_compiler.version_str()
    assert cmodule.gcc_llvm() == ("clang" in os.path.realpath(theano.config.cxx))
    assert f".{cmodule.get_lib_extension()}" in (".so", ".pyd", ".dll") and cmodule.get_gcc_shared_library_arg()[0] == "-"
    assert (cmodule.std_lib_dirs(), cmodule.std_libs()) == cmodule.std_lib_dirs_and_libs()
    with theano.configparser.change_flags(cxx=""):
        with pytest.raises(cmodule.MissingGXX):
            cmodule.GCC_compiler.compile("")
        assert cmodule.GCC_compiler.try_flags([]) is False
    with pytest.raises(NotImplementedError):
        cmodule.icc_module_compile_str("m", "")


def test_counters(capsys):
    for _ in range(4):
        cmodule.debug_counter("a place", every=2)
    assert capsys.readouterr().err == "debug_counter [a place]: 2\ndebug_counter [a place]: 4\n"


def test_a_directory_is_a_lock(tmp_path):
    folder = str(tmp_path / "a" / "lock_dir")
    unlocker = compilelock.Unlocker(folder)
    compilelock.lock(folder)
    owner = (tmp_path / "a" / "lock_dir" / "lock").read_text().strip()
    assert owner.startswith(f"{os.getpid()}_") and owner.endswith(compilelock.hostname)
    assert compilelock.refresh_lock(os.path.join(folder, "lock")) != owner
    unlocker.unlock()
    assert not os.path.exists(folder)
    unlocker.unlock()


@pytest.mark.parametrize("owner, timeout", [("other_1_elsewhere", 0.05), ("99999999_1_{host}", None)])
def test_locks_of_others_are_waited_for_and_taken_over(tmp_path, owner, timeout):
    folder = tmp_path / "lock_dir"
    folder.mkdir()
    (folder / "lock").write_text(owner.format(host=compilelock.hostname) + "\n")
    compilelock.Unlocker(str(folder)).unlock()
    assert folder.exists(), "it belongs to another process"
    with pytest.warns(UserWarning, match="waiting for the lock"):
        compilelock.lock(str(folder), timeout=timeout, min_wait=0.01, max_wait=0.02)
    assert (folder / "lock").read_text().startswith(f"{os.getpid()}_")
    compilelock.Unlocker(str(folder)).unlock()


def test_the_directories_of_compiled_code(tmp_path):
    code = """
        import os, theano, theano.tensor as T
        from theano.gof import compiledir, cc
        base = theano.config.base_compiledir
        open(os.path.join(base, "other"), "w").close()
        x = T.dvector()
        theano.function([x], T.exp(x) * x + 3)
        os.makedirs(os.path.join(theano.config.compiledir, "tmpold"))
        open(os.path.join(theano.config.compiledir, "tmpold", "key.pkl"), "w").close()
        compiledir.cleanup()
        print(sorted(os.listdir(theano.config.compiledir)).count("tmpold"))
        compiledir.print_compiledir_content()
        compiledir.basecompiledir_ls()
        cache = cc.get_module_cache()
        print(cache is cc.get_persistent_module_cache(), cache.dirname == theano.config.compiledir)
        compiledir.compiledir_purge()
        print(os.path.exists(theano.config.compiledir))
        compiledir.basecompiledir_purge()
        print(os.path.exists(base))
        """
    done = run_program(textwrap.dedent(code), flags=f"base_compiledir={tmp_path}")
    lines = done.stdout.splitlines()
    assert lines[0] == "0" and lines[1] == lines[3] == "=" * len(lines[2]), done.stderr
    assert any(line.startswith("Compiled kernels: ") for line in lines)
    assert "    other" in lines and lines[-3:] == ["True True", "False", "False"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.print", lambda *a, **k: lines.append(a))
        compiledir.print_title("abc", underline="-")
    assert lines[-2:] == [("abc",), ("---",)]
