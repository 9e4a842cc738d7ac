"""What tests in several folders share."""

import os
import subprocess
import sys


def run_program(program, flags=None, cwd=None, preexec_fn=None, **environment):
    """Run a program in a process of its own; what it prints and its errors are kept, its status is not checked.

    `flags` are those of Theano, `environment` is added to the variables of this process: one that is None is left out.
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    if flags is not None:
        env["THEANO_FLAGS"] = flags
    env = {name: value for name, value in env.items() if value is not None}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=env, cwd=cwd, capture_output=True, text=True, timeout=300, preexec_fn=preexec_fn, check=False
    )
