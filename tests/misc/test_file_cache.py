"""The cache of compiled kernels: faults, several processes, odd paths."""

import os
import shutil
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from theano import config
from theano.gof.memo import Bounded
from theano.misc import file_cache as kernel_cache
from theano.misc.file_cache import KernelCache, content_name
from theano.native import ir
from theano.native.runtime_build import load_runtime
from theano.native.target.cpu import compiler
from theano.scalar.expression import variable

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
not_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
native = pytest.mark.skipif(load_runtime() is None or compiler.find_compiler() is None, reason="no native engine")


@pytest.fixture
def cache(tmp_path):
    directory = tmp_path / "kernels"
    directory.mkdir(mode=0o700)
    return KernelCache(str(directory))


def key(i):
    return f"{i:032x}"


def test_what_is_stored_is_found_also_by_others(cache):
    path = cache.store(b"library", [key(1), key(2)])
    other = KernelCache(cache.directory)
    assert other.lookup([key(1), key(2), key(3)]) == {key(1): path, key(2): path}
    assert cache.lookup([key(1)]) == {key(1): path}


def test_many_kernels_are_found_as_few_are(cache):
    first = cache.store(b"first", map(key, range(200)))
    second = cache.store(b"second", map(key, range(100, 300)))
    expected = {key(i): first if i < 100 else second for i in range(300)}
    assert cache.lookup([key(i) for i in range(400)]) == expected
    assert {k: v for i in range(400) for k, v in cache.lookup([key(i)]).items()} == expected


def test_a_reader_sees_what_is_added_later(cache):
    other = KernelCache(cache.directory)
    assert other.lookup([key(1)]) == {}
    cache.store(b"library", [key(1)])
    assert key(1) in other.lookup([key(1)])


@pytest.mark.parametrize("damage", [b"", b"librar", b"librarY"])
def test_a_damaged_library_is_not_found_and_goes_away(cache, damage):
    path = cache.store(b"library", [key(1)])
    with open(path, "wb") as file:
        file.write(damage)
    assert KernelCache(cache.directory).lookup([key(1)]) == {}
    assert not os.path.exists(path)


@pytest.mark.parametrize("index", [b"", b"\x00" * 100, b"garbage\n", key(1).encode()[:20]])
def test_a_damaged_index_loses_entries_and_nothing_else(cache, index):
    cache.store(b"library", [key(1)])
    for part in (key(1), key(2)):
        with open(os.path.join(cache.directory, kernel_cache.INDEX + part[-2:]), "wb") as file:
            file.write(index)
    other = KernelCache(cache.directory)
    assert other.lookup([key(1)]) == {}
    path = other.store(b"second", [key(2)])
    third = KernelCache(cache.directory).lookup([key(2)])
    assert third in ({key(2): path}, {})
    other.store(b"second", [key(2)])
    assert KernelCache(cache.directory).lookup([key(2)]) == {key(2): path}


def test_removal_by_age(cache):
    old, new = cache.store(b"old", [key(1)]), cache.store(b"new", [key(2)])
    past = time.time() - 1000
    os.utime(old, (past, past))
    left_behind = os.path.join(cache.directory, "tmp-killed")
    open(left_behind, "w").close()
    os.utime(left_behind, (past - 5000, past - 5000))
    assert cache.clear(max_age=500) == 1
    assert not os.path.exists(old) and os.path.exists(new) and not os.path.exists(left_behind)
    assert KernelCache(cache.directory).lookup([key(1), key(2)]) == {key(2): new}
    assert cache.clear() == 1
    assert cache.entries() == []


def test_entries_and_size(cache):
    cache.store(b"library", [key(1), key(2)])
    (entry,) = cache.entries()
    assert (entry.size, entry.kernels) == (7, 2)
    assert os.path.basename(entry.path).startswith(content_name(b"library"))
    assert cache.size() >= 7


@posix
def test_a_directory_that_others_may_write_to_is_refused(tmp_path):
    directory = tmp_path / "open"
    directory.mkdir()
    directory.chmod(0o777)
    assert "others" in kernel_cache.unsafe_reason(str(directory))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        used = kernel_cache.open_cache(str(directory))
    assert used.directory != str(directory)
    assert os.stat(used.directory).st_mode & 0o777 == 0o700
    assert kernel_cache.unsafe_reason(used.directory) is None


@not_root
def test_a_read_only_directory_is_replaced_by_a_private_one(tmp_path):
    directory = tmp_path / "closed"
    directory.mkdir(mode=0o500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert kernel_cache.open_cache(str(directory / "kernels")).directory != str(directory / "kernels")


def test_a_file_in_the_way_of_the_directory_is_no_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        used = kernel_cache.open_cache(str(tmp_path / "file" / "kernels"))
    assert os.path.isdir(used.directory)


PROGRAM = """
import sys
import numpy as np
from tests.native.vm_tools import kernel_functions
from theano.native import ir
from theano.native.target.cpu import compiler
from theano.scalar.expression import variable
x = ir.Operand("float64", (False,))
kernels = [
    ir.elementwise(1, [x], [ir.Output("float64", (0,))], [ir.Load("a", 0)],
                   [ir.let("c", variable("a", "float64") * i)], [ir.Store(0, "c")])
    for i in range(5)
]
a = np.arange(9.0)
for i, k in enumerate(kernel_functions(kernels)):
    assert (k([a])[0] == a * i).all()
print("fine")
"""


def start_program(home, program=PROGRAM, **kwargs):
    env = {**os.environ, "THEANO_FLAGS": "", "HOME": str(home)}
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    flags = str(home / "cache").replace("'", "'")
    env["THEANO_FLAGS"] = f"base_compiledir={flags}"
    return subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)  # fmt: skip  # noqa: E501


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "fine" in out
    return err


@native
def test_eight_processes_fill_one_empty_cache_at_once(tmp_path):
    processes = [start_program(tmp_path) for _ in range(8)]
    for process in processes:
        assert "Warning" not in finish(process)
    directories = [d for d, _, files in os.walk(tmp_path) if any(f.startswith(kernel_cache.INDEX) for f in files)]
    assert len(directories) == 1
    cache = KernelCache(directories[0])
    assert cache.entries() and not [f for f in os.listdir(directories[0]) if f.startswith("tmp-")]


@native
@pytest.mark.parametrize("name", ["with space", "qu'o\"te", "ünïcode $HOME %s {}"])
def test_odd_paths(tmp_path, name):
    home = tmp_path / name
    home.mkdir()
    assert "Warning" not in finish(start_program(home))
    without_compiler = PROGRAM.replace("import numpy as np", "import numpy as np\nimport subprocess\nsubprocess.run = None")
    finish(start_program(home, without_compiler))


@native
def test_a_compilation_killed_half_way_leaves_a_usable_cache(tmp_path):
    slow = PROGRAM.replace(
        "import numpy as np",
        "import numpy as np, os, signal, tempfile\n"
        "real = os.replace\n"
        "os.replace = lambda *args: os.kill(os.getpid(), signal.SIGKILL)",
    )
    process = start_program(tmp_path, slow)
    process.communicate(timeout=120)
    assert process.returncode != 0
    finish(start_program(tmp_path))


@native
def test_damaged_libraries_are_compiled_again(tmp_path):
    finish(start_program(tmp_path))
    damaged = 0
    for directory, _, files in os.walk(tmp_path):
        for file in files:
            if file.endswith(kernel_cache.SUFFIX) and "kernels" in directory:
                with open(os.path.join(directory, file), "r+b") as f:
                    f.truncate(100)
                damaged += 1
    assert damaged
    finish(start_program(tmp_path))


@native
def test_a_full_disk_costs_the_cache_and_not_the_call(tmp_path):
    program = PROGRAM.replace(
        "a = np.arange(9.0)",
        "from theano.misc.file_cache import KernelCache\n"
        "store = KernelCache.store\n"
        "def full(self, data, keys):\n"
        "    if 'theano-kernels-' in self.directory:\n"
        "        return store(self, data, keys)\n"
        "    raise OSError(28, 'No space left on device')\n"
        "KernelCache.store = full\n"
        "a = np.arange(9.0)",
    )
    err = finish(start_program(tmp_path, program))
    assert err.count("RuntimeWarning") == 1 and "No space left" in err


@native
def test_a_warm_start_reads_few_files_and_runs_no_process(tmp_path):
    finish(start_program(tmp_path))
    program = PROGRAM.replace("import sys", "import sys, time\nimport subprocess\nsubprocess.run = subprocess.Popen = None")
    program = program.replace("a = np.arange", "compiler.libraries.loaded.clear()\nt = time.perf_counter()\ncompiler.load_kernels(kernels)\nprint('seconds', time.perf_counter() - t)\na = np.arange")  # fmt: skip  # noqa: E501
    out, err = start_program(tmp_path, program).communicate(timeout=60)
    assert "fine" in out, err
    seconds = float(out.split("seconds")[1].split()[0])
    assert seconds < 0.05


@native
def test_no_compiler_is_needed_for_what_is_there_but_for_nothing_else():
    with config.change_flags(cxx=""), pytest.raises(compiler.CompilerMissing, match="cxx"):
        compiler.load_kernels([])
    assert compiler.find_compiler() is not None


@native
def test_a_compile_error_shows_the_line():
    x = ir.Operand("float64", (False,))
    code = ir.Code((("c", "float64"),), (variable("a", "float64"),), "tk_out0_ = no_such_thing_at_all + tk_in0_;")
    bad = ir.elementwise(1, [x], [ir.Output("float64", (0,))], [ir.Load("a", 0)], [code], [ir.Store(0, "c")])
    with pytest.raises(compiler.CompileError, match=r"\d+> .*no_such_thing_at_all"):
        compiler.load_kernels([bad])


@native
def test_flags_are_part_of_the_key():
    x = ir.Operand("float64", (False,))
    kernel = ir.elementwise(1, [x], [ir.Output("float64", (0,))], [ir.Load("a", 0)], [ir.let("c", variable("a", "float64"))], [ir.Store(0, "c")])  # fmt: skip  # noqa: E501
    plain = compiler.load_kernels([kernel])[0].symbol
    with config.change_flags({"gcc.cxxflags": "-DSOMETHING='1 2'"}):
        assert compiler.load_kernels([kernel])[0].symbol != plain


@native
def test_many_kernels_are_compiled_in_rounds_and_what_is_done_is_kept(tmp_path, monkeypatch):
    x = ir.Operand("float64", (False,))

    def kernel(i):
        body = [ir.let("c", variable("a", "float64") * (i + 0.25))]
        return ir.elementwise(1, [x], [ir.Output("float64", (0,))], [ir.Load("a", 0)], body, [ir.Store(0, "c")])

    kernels = [kernel(i) for i in range(1000, 1009)]
    monkeypatch.setattr(compiler, "_MOST_IN_A_TEXT", 2)
    monkeypatch.setattr(compiler.libraries, "loaded", Bounded(100))
    monkeypatch.setattr(compiler, "core_count", lambda: 2)
    sources, compile_sources = [], compiler.compile_sources

    def fail_the_second_time(found, texts):
        sources.extend(texts)
        if len(sources) == 2 * len(texts):
            raise KeyboardInterrupt
        return compile_sources(found, texts)

    monkeypatch.setattr(compiler, "compile_sources", fail_the_second_time)
    directory = str(tmp_path / "kernels")
    monkeypatch.setattr(kernel_cache, "cache_directory", lambda: directory)
    with pytest.raises(KeyboardInterrupt):
        compiler.load_kernels(kernels)
    stored = sum(entry.kernels for entry in kernel_cache.list_entries())
    assert 0 < stored <= 4
    from tests.native.vm_tools import kernel_functions

    values = [k([np.ones(2)])[0][0] for k in kernel_functions(kernels)]
    assert sum(entry.kernels for entry in kernel_cache.list_entries()) == len(kernels)
    assert values == [i + 0.25 for i in range(1000, 1009)]
    assert all(text.count("TK_TABLE(") <= 2 for text in sources)


def test_a_header_is_part_of_the_keys_of_the_kernels_that_include_it(tmp_path, monkeypatch):
    shutil.copytree(compiler.HEADERS, tmp_path / "include")
    monkeypatch.setattr(compiler, "HEADERS", str(tmp_path / "include"))
    fingerprint = compiler.header_fingerprint.__wrapped__
    before = [fingerprint(("tk_core.h", name)) for name in ("tk_trig.h", "tk_exp.h", "tk_pow.h")]
    with open(tmp_path / "include" / "tk_exp.h", "a") as file:
        file.write("/* changed */\n")
    after = [fingerprint(("tk_core.h", name)) for name in ("tk_trig.h", "tk_exp.h", "tk_pow.h")]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]
