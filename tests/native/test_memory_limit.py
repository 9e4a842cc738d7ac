"""How much memory the pool takes itself to have: the machine's, or that of a container."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.native.vm_tools import runtime
from theano.native.memory_limit import memory_limit

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="control groups are Linux's")

MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
MEBI = 1 << 20
V2 = "30 20 0:26 {top} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 20 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:28 {top} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:29 {top} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def tree(root, groups, mounts, **files):
    """A machine's files; a name of `files` has `__` for slashes and is below the mount of the control groups."""
    texts = {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts}
    texts |= {"sys/fs/cgroup/" + name.replace("__", "/"): text for name, text in files.items()}
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def limits(**files):
    return {name.replace("_max", ".max").replace("_high", ".high"): f"{text}\n" for name, text in files.items()}


def test_the_machine_where_there_are_no_groups(tmp_path):
    assert memory_limit(str(tmp_path)) == MACHINE


def test_version_2_in_a_container(tmp_path):
    root = tree(tmp_path, "0::/\n", V2.format(top="/"), **limits(memory_max=512 * MEBI, memory_high="max"))
    assert memory_limit(root) == 512 * MEBI


def test_a_throttle_counts_as_a_limit(tmp_path):
    root = tree(tmp_path, "0::/\n", V2.format(top="/"), **limits(memory_max=512 * MEBI, memory_high=300 * MEBI))
    assert memory_limit(root) == 300 * MEBI


def test_the_least_of_nested_groups(tmp_path):
    files = limits(user__memory_max=256 * MEBI, user__job__memory_max=1024 * MEBI, user__job__step__memory_max="max")
    assert memory_limit(tree(tmp_path, "0::/user/job/step\n", V2.format(top="/"), **files)) == 256 * MEBI


def test_groups_of_others_do_not_count(tmp_path):
    files = limits(user__memory_max=256 * MEBI, other__memory_max=MEBI)
    assert memory_limit(tree(tmp_path, "0::/user\n", V2.format(top="/"), **files)) == 256 * MEBI


def test_version_1_seen_from_the_machine(tmp_path):
    files = {
        "memory__docker__memory.limit_in_bytes": "9223372036854771712\n",
        "memory__docker__abc__memory.limit_in_bytes": f"{700 * MEBI}\n",
    }
    groups = "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n"
    assert memory_limit(tree(tmp_path, groups, V1.format(top="/"), **files)) == 700 * MEBI


def test_version_1_whose_mount_is_the_own_group(tmp_path):
    files = {"memory__memory.limit_in_bytes": f"{700 * MEBI}\n"}
    groups = "4:memory:/docker/abc\n"
    assert memory_limit(tree(tmp_path, groups, V1.format(top="/docker/abc"), **files)) == 700 * MEBI


def test_a_group_outside_of_the_mount(tmp_path):
    root = tree(tmp_path, "0::/../other\n", V2.format(top="/"), **limits(memory_max=600 * MEBI))
    assert memory_limit(root) == 600 * MEBI


def test_both_versions_at_once(tmp_path):
    files = {"memory__a__memory.limit_in_bytes": f"{700 * MEBI}\n"}
    groups = "4:memory:/a\n0::/b\n"
    mounts = V1.format(top="/") + V2.format(top="/").replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ")
    assert memory_limit(tree(tmp_path, groups, mounts, **files, **limits(unified__b__memory_max=500 * MEBI))) == 500 * MEBI


def test_no_limit_is_more_than_the_machine_has(tmp_path):
    assert memory_limit(tree(tmp_path, "0::/\n", V2.format(top="/"), **limits(memory_max=1 << 60))) == MACHINE


def test_a_mount_point_with_a_space(tmp_path):
    mounts = V2.format(top="/").replace("/sys/fs/cgroup ", r"/sys/fs/cgroup/my\040groups ")
    root = tree(tmp_path, "0::/\n", mounts, **{"my groups__memory.max": f"{MEBI}\n"})
    assert memory_limit(root) == MEBI


def test_files_that_make_no_sense(tmp_path):
    assert memory_limit(tree(tmp_path, "0::/x\n", V2.format(top="/"), **limits(x__memory_max="?"))) == MACHINE


def test_the_pool_retains_a_quarter_at_most():
    code = "from theano.native.runtime_build import load_runtime; print(load_runtime().pool_stats()['limit'])"
    known = memory_limit()
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert int(found.stdout) == known // 4
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({2048 * MEBI}, -1)); {code}"
    found = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, check=True, timeout=60)
    assert int(found.stdout) == min(known, 2048 * MEBI) // 4


def test_the_pool_gives_blocks_back_before_it_takes_more_than_there_is():
    import theano
    import theano.tensor as tt

    x = tt.dvector()
    f = theano.function([x], x + 1)
    before = runtime.pool_stats()
    try:
        runtime.pool_trim()
        used = runtime.pool_stats()["in_use"]
        runtime.pool_set_memory(used + 100 * MEBI)
        assert runtime.pool_stats()["limit"] == (used + 100 * MEBI) // 4
        f(np.zeros(MEBI))
        assert runtime.pool_stats()["retained"] >= 8 * MEBI
        big = f(np.zeros(12 * MEBI))
        stats = runtime.pool_stats()
        assert stats["retained"] == 0
        assert stats["in_use"] >= used + big.nbytes
        del big
    finally:
        runtime.pool_trim()
        runtime.pool_set_memory(4 * before["limit"])
    assert runtime.pool_stats()["limit"] == before["limit"]


WITHOUT_ROOM = """
import resource
import numpy as np
import theano
import theano.tensor as tt
from theano.native.runtime_build import load_runtime

theano.config.threads = 2
MEBI = 1 << 20
channels = 2048
# It packs all filters.
load_runtime().conv_prefer("gather")
state = theano.shared(np.zeros((1, channels, 8, 8), "float32"))
value, filters = tt.fscalar(), tt.ftensor4()
written = tt.set_subtensor(state[0, 1], value)
f = theano.function([value, filters], tt.nnet.conv2d(written, filters), updates=[(state, written)])
w = np.ones((channels, channels, 1, 1), "float32")
f(0, w[:8])
load_runtime().pool_trim()
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 8 * MEBI, resource.RLIM_INFINITY))
try:
    f(3, w)
except MemoryError as error:
    print("failed:", str(error).splitlines()[0])
resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(float(abs(state.get_value()).sum()))
f(3, w)
print(float(abs(state.get_value()).sum()))
"""


def test_a_convolution_without_room_to_work_in_leaves_the_state_as_it_was():
    run = subprocess.run([sys.executable, "-c", WITHOUT_ROOM], capture_output=True, text=True, check=True, timeout=120)
    failed, before, after = run.stdout.splitlines()
    assert failed == "failed: conv_forward: out of memory"
    assert (float(before), float(after)) == (0, 192)


NO_ROOM_AT_ALL = """
import ctypes
import resource
import threading
import numpy as np
import theano
import theano.tensor as tt
from theano.native.runtime_build import load_runtime

theano.config.threads = 1
x = tt.dvector()
f = theano.function([x], tt.exp(x).sum())
value = np.zeros(2_000_000)
f(value)
# The C library gives a new thread the stack of one that has ended.
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
malloc, set_threads = ctypes.CDLL(None).malloc, load_runtime().set_threads
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
resource.setrlimit(resource.RLIMIT_DATA, (1, resource.RLIM_INFINITY))
for size in (1 << 20, 1 << 12, *range(1024, 0, -16)):
    while malloc(size):
        pass
set_threads(2)
try:
    f(value)
except MemoryError:
    pass
resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(float(f(value)))
"""


def test_a_worker_that_starts_without_room_does_not_end_the_process():
    env = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    run = subprocess.run([sys.executable, "-c", NO_ROOM_AT_ALL], capture_output=True, text=True, timeout=120, env=env)
    assert (run.returncode, run.stdout) == (0, "2000000.0\n"), run.stderr
