"""Hosts that are network namespaces of this machine: processes of MPI on them talk over links that can be limited and cut.

It takes root, `ip` (Debian's iproute2) and MPICH, whose launcher `hydra` starts processes by a command of one's choice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def _run(*command: Any, check: bool = True) -> subprocess.CompletedProcess:
    return subprocess.run([str(c) for c in command], check=check, capture_output=True, text=True)


def why_not(mpiexec: str | None) -> str | None:
    """Say what keeps this machine from having such hosts; None if nothing does.

    Parameters
    ----------
    mpiexec : str or None
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "network namespaces are made by root"
    if shutil.which("ip") is None:
        return "there is no command ip"
    if mpiexec is None or "HYDRA" not in _run(mpiexec, "--version", check=False).stdout:
        return "there is no mpiexec of MPICH"
    name = f"th{os.getpid()}"
    made = _run("ip", "netns", "add", name, check=False)
    if made.returncode:
        return f"a network namespace cannot be made: {made.stderr.strip()}"
    _run("ip", "netns", "del", name)
    return None


class Hosts:
    """Namespaces with two links each: the launcher uses one, processes of MPI the other.

    Parameters
    ----------
    count : int
    mbits : float, optional
        Megabits a second that each can send, by `tc`; default: as fast as the kernel copies.
    """

    def __init__(self, count: int, mbits: float | None = None):
        self.name = f"h{os.getpid() % 100000}"
        self.names = [f"{self.name}n{i}" for i in range(count)]
        self.mbits = mbits
        net = 64 + os.getpid() % 128
        self._nets = {"ctl": f"10.{net}.0.", "data": f"10.{net}.1."}
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self) -> Hosts:
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            self.__exit__()
            raise OSError(f"{' '.join(error.cmd)}: {error.stderr.strip()}") from error
        return self

    def _make(self) -> None:
        for name in self.names:
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        for link, net in self._nets.items():
            bridge = self.name + link
            _run("ip", "link", "add", bridge, "type", "bridge")
            _run("ip", "addr", "add", f"{net}1/24", "dev", bridge)
            _run("ip", "link", "set", bridge, "up")
            for i, name in enumerate(self.names):
                _run("ip", "link", "add", self._end(i, link), "type", "veth", "peer", "name", link, "netns", name)
                _run("ip", "link", "set", self._end(i, link), "master", bridge, "up")
                _run("ip", "-n", name, "addr", "add", f"{net}{i + 2}/24", "dev", link)
                _run("ip", "-n", name, "link", "set", link, "up")
                if link == "data" and self.mbits is not None:
                    limit = ("rate", f"{self.mbits}mbit", "burst", "128kb", "latency", "100ms")
                    _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", link, "root", "tbf", *limit)
        cases = " ".join(f"{self._nets['ctl']}{i + 2}) n={name};;" for i, name in enumerate(self.names))
        # The launcher gives options, a host, and a command.
        self._launcher = Path(self._folder.name) / "on_host"
        self._launcher.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1; shift\n'
                                  f'case $host in {cases} esac\nexec ip netns exec $n sh -c "$*"\n')
        self._launcher.chmod(0o755)

    def _end(self, host: int, link: str) -> str:
        return f"{self.name}{link[0]}{host}"

    def __exit__(self, *error: Any) -> None:
        for i, name in enumerate(self.names):
            for link in self._nets:
                _run("ip", "link", "del", self._end(i, link), check=False)
            _run("ip", "netns", "del", name, check=False)
        for link in self._nets:
            _run("ip", "link", "del", self.name + link, check=False)
        self._folder.cleanup()

    def join(self, host: int, joined: bool = True) -> None:
        """Cut the link of a host to the others, or mend it.

        Parameters
        ----------
        host : int
        joined : bool
        """
        _run("ip", "link", "set", self._end(host, "data"), "up" if joined else "down")

    def command(self, mpiexec: str, ranks: int, program: Sequence[Any]) -> list[str]:
        """Return the command that starts a program on all hosts.

        Parameters
        ----------
        mpiexec : str
        ranks : int
            How many processes; a multiple of the number of hosts.
        program : sequence
        """
        hosts = ",".join(f"{self._nets['ctl']}{i + 2}" for i in range(len(self.names)))
        how = ["-launcher", "ssh", "-launcher-exec", self._launcher, "-iface", self.name + "ctl", "-hosts", hosts]
        return [str(c) for c in (mpiexec, *how, "-n", ranks, "-ppn", ranks // len(self.names), *program)]

    @property
    def environment(self) -> dict[str, str]:
        """What makes MPICH send over the links instead of shared memory."""
        return {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "data", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "data"}
