import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import theano
from tests.tools import run_program
from theano import config
from theano.configparser import (
    THEANO_FLAGS_DICT,
    AddConfigVar,
    BoolParam,
    EnumStr,
    FloatParam,
    IntParam,
    StrParam,
    TheanoConfigParser,
    _config_var_list,
    change_flags,
    fetch_val_for_key,
    flag_source,
    get_config_hash,
    parse_config_string,
)


def run_with_flags(code, flags="", rc=os.devnull, **env):
    """Run `code` in a fresh process and return (status, what it printed, what it said to stderr)."""
    full = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    full.update(THEANO_FLAGS=flags, THEANORC=str(rc), **env)
    # The flags alone: nothing else of Theano is imported.
    prelude = (
        "import sys, types; m = types.ModuleType('theano'); "
        f"m.__path__ = [{os.path.dirname(theano.__file__)!r}]; sys.modules['theano'] = m; "
        "from theano.configdefaults import config; from theano.configparser import *\n"
    )
    done = subprocess.run([sys.executable, "-c", prelude + code], env=full, capture_output=True, text=True)
    return done.returncode, done.stdout.strip(), done.stderr


def test_flags_are_parsed():
    assert parse_config_string("a=1, b.c=x=y,a=2,,") == {"a": "2", "b.c": "x=y"}
    assert parse_config_string("gcc.cxxflags='-O3,-g',a=1") == {"gcc.cxxflags": "-O3,-g", "a": "1"}
    assert parse_config_string("dir=/home/o'neil/x,a=1") == {"dir": "/home/o'neil/x", "a": "1"}
    assert parse_config_string(r"dir=a\,b") == {"dir": "a,b"}
    assert parse_config_string('dir="/a b/c"') == {"dir": "/a b/c"}
    with pytest.warns(theano.configparser.TheanoConfigWarning, match="not of the form"):
        assert parse_config_string("alone") == {}


def test_the_right_most_flag_wins_and_the_source_is_known():
    code = "print(config.floatX, flag_source('floatX'), flag_source('mode'), config.scan.allow_gc)"
    assert run_with_flags(code, "floatX=float32,scan.allow_gc=1,floatX=float16")[1] == "float16 THEANO_FLAGS default True"


def test_a_configuration_file_that_is_not_there_is_told(tmp_path):
    status, value, said = run_with_flags("print(config.floatX)", rc=tmp_path / "misspelt")
    assert (status, value) == (0, "float64")
    assert "misspelt" in said and "does not exist" in said
    assert run_with_flags("print(config.floatX)", rc=os.devnull)[2] == ""


def test_files_are_merged(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("[global]\nfloatX = float32\nmode = FAST_COMPILE\n[dnn.conv]\nalgo_fwd = none\n[cuda]\nroot=%(USER)s/x\n")
    b.write_text("[global]\nmode = FAST_RUN\n")
    rc = os.pathsep.join([str(a), str(tmp_path / "missing"), str(b)])
    code = "print(config.floatX, config.mode, config.dnn.conv.algo_fwd, config.cuda.root, flag_source('mode'))"
    assert run_with_flags(code, rc=rc, USER="me")[1] == f"float32 FAST_RUN none me/x {b}"
    assert run_with_flags(code, flags="mode=Mode", rc=rc, USER="me")[1] == "float32 Mode none me/x THEANO_FLAGS"
    assert run_with_flags("print(fetch_val_for_key('mode'))", rc=rc)[1] == "FAST_RUN"


def test_a_damaged_file_is_reported(tmp_path):
    (tmp_path / "rc").write_text("no section = 1\n")
    status, out, err = run_with_flags("print(config.floatX)", rc=tmp_path / "rc")
    assert (status, out) == (0, "float64") and "cannot be read as a configuration file" in err


@pytest.mark.parametrize(
    "flags, words",
    [
        ("floatX=float128", ["'float128'", "'floatX'", "'float32'", "THEANO_FLAGS"]),
        ("allow_gc=perhaps", ["'perhaps'", "'allow_gc'", "True or False"]),
        ("profiling.n_ops=-1", ["'-1'", "'profiling.n_ops'", "at least 0"]),
        ("compile.wait=x", ["'x'", "'compile.wait'", "positive integer"]),
        ("device=gpu0", ["'gpu0'", "'device'", "'cuda'"]),
        ("contexts=cuda0", ["'contexts'", "name->device"]),
        ("compiledir_format=%(nothing)s", ["'compiledir_format'", "hostname"]),
        ("DebugMode.check_preallocated_output=none", ["'DebugMode.check_preallocated_output'", "f_contiguous"]),
        ("dnn.conv.workmem=small", ["'dnn.conv.workmem'", "dnn.conv.algo_fwd"]),
        ("force_device=True,device=opencl0", ["OpenCL devices are not supported"]),
    ],
)
def test_bad_values_stop_the_import_with_a_clear_message(flags, words):
    status, _, err = run_with_flags("", flags)
    assert status != 0
    for word in words:
        assert word in err.splitlines()[-1]


def test_unknown_flags_are_warned_about():
    status, _, err = run_with_flags("", "floatx=float32")
    assert status == 0 and "'floatx'" in err and "Did you mean 'floatX'?" in err


def test_devices_that_are_missing_fall_back():
    status, out, err = run_with_flags("print(config.device)", "device=opencl0:0")
    assert status == 0 and out == "opencl0:0" and "OpenCL devices are not supported any more" in err


def test_compile_directories(tmp_path):
    base = tmp_path / "with space, 'quote"
    flags = f'base_compiledir="{base}",compiledir_format=d_%(python_version)s_%(hostname)s'
    code = "import os; print(config.base_compiledir); print(config.compiledir, os.path.isdir(config.compiledir))"
    out = run_with_flags(code, flags)[1].splitlines()
    assert out[0] == str(base) and out[1].startswith(f"{base}/d_3.") and out[1].endswith(" True")
    (tmp_path / "file").write_text("")
    status, out, err = run_with_flags("print(config.compiledir)", f"compiledir={tmp_path}/file/x")
    assert status == 0 and out == f"{tmp_path}/file/x"


def test_threads():
    assert run_with_flags("print(config.threads)")[1] == "0"
    assert run_with_flags("print(config.threads)", OMP_NUM_THREADS="3,2")[1] == "3"
    assert run_with_flags("print(config.threads)", "threads=2", OMP_NUM_THREADS="3")[1] == "2"
    assert run_with_flags("print(config.threads)", "threads=-1")[0] != 0


def test_seterr():
    code = "import numpy; print(sorted(numpy.geterr().items()))"
    assert run_with_flags(code)[1] == str([(k, "ignore") for k in ("divide", "invalid", "over", "under")])
    out = run_with_flags(code, "numpy.seterr_all=None,numpy.seterr_over=raise")[1]
    assert "('over', 'raise')" in out and "('divide', 'warn')" in out


def test_assignment_is_checked():
    old = config.floatX
    try:
        config.floatX = "float32"
        assert theano.tensor.matrix().dtype == "float32" and flag_source("floatX") == "assignment"
        with pytest.raises(ValueError, match="'floatX'.*'float64', 'float32', 'float16'"):
            config.floatX = "float128"
        assert config.floatX == "float32"
    finally:
        config.floatX = old


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="Did you mean 'optimizer'?"):
        config.optimiser  # noqa: B018
    with pytest.raises(AttributeError, match="'scan.nothing'"):
        config.scan.nothing = 3
    with pytest.raises(AttributeError, match="section"):
        config.scan = 3
    with pytest.raises(AttributeError):
        del config.floatX
    with pytest.raises(AttributeError):
        change_flags(nothing=3)
    with pytest.raises(AttributeError):
        flag_source("nothing")
    assert not hasattr(config, "nothing")


def test_some_flags_are_fixed_after_import():
    for name in ("device", "compiledir", "optimizer_including", "numpy.seterr_all", "warn.ignore_bug_before"):
        section, _, key = name.rpartition(".")
        owner = getattr(config, section) if section else config
        with pytest.raises(AttributeError, match="cannot be modified"):
            setattr(owner, key, getattr(owner, key))
        with pytest.raises(AttributeError, match="cannot be modified"):
            change_flags({name: getattr(owner, key)})


def test_printing_lists_every_flag():
    text = str(config)
    assert "floatX ({'float64', 'float32', 'float16'})" in text
    for param in _config_var_list:
        assert f"{param.fullname} (" in text and param.doc
    assert "Doc:" in text and "Value:" in text
    assert "scan.debug" in str(config.scan) and "floatX" not in str(config.scan)
    assert "floatX" in dir(config) and "scan" in dir(config)


def test_change_flags_restores():
    old = config.compute_test_value
    with change_flags({"scan.debug": True}, compute_test_value="warn"):
        assert (config.compute_test_value, config.scan.debug) == ("warn", True)
        assert flag_source("scan.debug") == "change_flags"
        with config.change_flags(compute_test_value="raise"):
            assert config.compute_test_value == "raise"
        config.compute_test_value = "ignore"
        assert config.compute_test_value == "ignore"
    assert (config.compute_test_value, config.scan.debug) == (old, False)
    with pytest.raises(ZeroDivisionError), change_flags(compute_test_value="warn"):
        1 / 0  # noqa: B018
    assert config.compute_test_value == old
    with config.scan.change_flags(debug=True):
        assert config.scan.debug


def test_change_flags_checks_before_it_changes():
    with pytest.raises(ValueError):
        change_flags(compute_test_value="warn", floatX="bogus")
    assert config.compute_test_value == "off"


def test_change_flags_as_a_decorator_may_recurse():
    @change_flags([("compute_test_value", "warn")])
    def f(n):
        """Doc."""
        assert config.compute_test_value == "warn"
        return f(n - 1) if n else "end"

    assert f(3) == "end" and f.__doc__ == "Doc." and config.compute_test_value == "off"


def test_changes_are_seen_by_their_own_thread_only():
    barrier = threading.Barrier(4)
    seen = []

    def work(value):
        for _ in range(50):
            with change_flags(exception_verbosity=value):
                barrier.wait()
                seen.append(config.exception_verbosity == value)
            barrier.wait()
            seen.append(config.exception_verbosity == "low")

    threads = [threading.Thread(target=work, args=(v,)) for v in ("low", "high", "low", "high")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 400 and all(seen) and config.exception_verbosity == "low"
    assert "exception_verbosity" in vars(config)


def test_own_flags():
    root = TheanoConfigParser()
    AddConfigVar("mine.depth", "How deep.", IntParam(3, lambda i: i > 0), root=root)
    AddConfigVar("mine.kind", "What kind.", EnumStr("a", "b"), root=root)
    AddConfigVar("mine.on", "Whether.", BoolParam(lambda: "true"), root=root)
    AddConfigVar("mine.rate", "How fast.", FloatParam(0.5), root=root)
    AddConfigVar("mine.path", "Where.", StrParam("x"), root=root)
    assert (root.mine.depth, root.mine.kind, root.mine.on, root.mine.rate, root.mine.path) == (3, "a", True, 0.5, "x")
    for name, bad in (("depth", 0), ("depth", 1.5), ("kind", "c"), ("on", "maybe"), ("on", 2), ("rate", "fast")):
        with pytest.raises(ValueError, match=f"mine.{name}"):
            setattr(root.mine, name, bad)
    root.mine.depth = "4"
    assert root.mine.depth == 4
    with pytest.raises(AttributeError, match="already taken"):
        AddConfigVar("mine.depth", "Again.", IntParam(3), root=root)
    with pytest.raises(AttributeError):
        AddConfigVar("mine.depth.more", "Below a flag.", IntParam(3), root=root)
    del _config_var_list[-5:]


def test_text_that_a_new_flag_has_taken_is_gone():
    root = TheanoConfigParser()
    THEANO_FLAGS_DICT["mine.width"] = "5"
    AddConfigVar("mine.width", "How wide.", IntParam(3), root=root)
    assert root.mine.width == 5
    assert "mine.width" not in THEANO_FLAGS_DICT
    del _config_var_list[-1]


def test_parameters_work_as_they_used_to():
    (param,) = [p for p in _config_var_list if p.fullname == "floatX"]
    assert param.__get__(True, None) == config.floatX
    old = config.floatX
    param.__set__(None, "float16")
    assert config.floatX == "float16"
    param.__set__(None, old)
    with pytest.raises(KeyError):
        fetch_val_for_key("no.such.key")


def test_the_hash_follows_flags_of_compiled_code():
    before = get_config_hash()
    with change_flags(floatX="float16"):
        assert get_config_hash() != before
    with change_flags(exception_verbosity="high"):
        assert get_config_hash() == before


def test_pickling_gives_the_configuration_back():
    assert pickle.loads(pickle.dumps(config)) is config and pickle.loads(pickle.dumps(config.scan)) is config.scan


def test_reading_a_flag_costs_an_attribute():
    import timeit

    assert "floatX" in vars(config)
    assert min(timeit.repeat("config.floatX", globals=globals(), number=10_000, repeat=5)) < 0.01


def test_functions_about_flags():
    from theano import configdefaults as d

    assert [d.filter_vm_lazy(v) for v in ("None", None, "True", False)] == [None, None, True, False]
    with pytest.raises(ValueError, match="vm.lazy"):
        d.filter_vm_lazy("maybe")
    assert [d.floatX_convert(v) for v in ("32", "16", "float64")] == ["float32", "float16", "float64"]
    assert [d.good_seed_param(v) for v in ("random", "3", 4, "x", None)] == [True, True, True, False, False]
    assert d.is_valid_check_preallocated_output_param("initial:ALL") and not d.is_valid_check_preallocated_output_param("x")
    assert not d.is_valid_check_preallocated_output_param(3) and d.split_version("1.0.5") == (1, 0, 5)
    for check in (d.safe_no_dnn_workmem, d.safe_no_dnn_workmem_bwd, d.safe_no_dnn_algo_bwd):
        assert check("") is True
        with pytest.raises(RuntimeError, match="does not exist any more"):
            check("small")
    assert d.deprecated_gpuarray_sync(False) is False
    with pytest.raises(RuntimeError):
        d.deprecated_gpuarray_sync(True)
    assert d.filter_mode("FAST_RUN") == "FAST_RUN"
    with pytest.raises(ValueError, match="FAST_RUN"):
        d.filter_mode("fast")
    assert d.gcc_version_str and d.warn_cxx("g++") is True and d.compiledir_format_dict["python_bitwidth"] in ("32", "64")


def test_directories_of_the_machine(tmp_path, monkeypatch):
    from theano import configdefaults as d

    assert d.filter_base_compiledir("~/x") == str(Path.home() / "x")
    made = tmp_path / "a" / "b"
    assert d.filter_compiledir(str(made)) == str(made.resolve()) and made.is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="compiledir"):
        d.filter_compiledir(str(tmp_path / "file" / "x"))
    monkeypatch.delenv("CUDA_ROOT", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "cuda" / "bin"))
    assert d.get_cuda_root() == ""
    (tmp_path / "cuda" / "bin").mkdir(parents=True)
    (tmp_path / "cuda" / "bin" / "nvcc").write_text("")
    assert d.get_cuda_root() == str(tmp_path / "cuda")
    monkeypatch.setenv("CUDA_PATH", "/c")
    assert d.get_cuda_root() == "/c"


@pytest.mark.parametrize("since, warned", [("None", True), ("all", False), ("0.8", True), ("0.9", False), ("1.0", False)])
def test_bugs_fixed_before_a_release_are_not_warned_of(since, warned):
    code = "from theano import configdefaults as d; print(d.warn_default('0.9'), d.config.warn.round)"
    assert run_program(code, flags=f"warn.ignore_bug_before={since}").stdout == f"{warned} {warned}\n"
