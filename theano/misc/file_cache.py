"""The cache of compiled kernels, and that of programs.

A directory ``kernels`` in ``config.compiledir`` holds shared libraries whose names are the hash of their bytes, and an
index with one line for each kernel: ``<kernel key> <library name>``. A directory ``programs`` holds the instructions of
functions (see :mod:`theano.native.stored`) in the same way, one key a file. A kernel's key is a hash of everything that
determines its machine code (see :mod:`theano.native.target.cpu.compiler`), so a hit needs no other check than that of the
library's bytes against its name, which finds truncated and corrupted files. The index is spread over files by the last two
digits of the keys, so that finding a few kernels among many thousands does not mean reading all lines.

Writers never wait for each other: a library appears under its name by a rename, an index line by one append. Processes
that compile the same kernel at once store it twice at worst. A library that lies in a directory of another user, or in one
that others may write to, would run their code: such directories are refused. When no directory can be used, a private
temporary one stands in for the life of the process.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Collection, Iterable
from typing import NamedTuple

from theano.misc.digest import blake2b
from theano.process import new_lock, temporary_directory

INDEX = "index-"
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
PROGRAM_SUFFIX = ".program"

CLEAN_INTERVAL = 60 * 60 * 24 * 7
"""Seconds between two automatic removals of old libraries."""

_TOUCH_INTERVAL = 60 * 60 * 24
_LINE = re.compile(rb"([0-9a-f]{32}) ([0-9a-f]{32})\n")
_LIBRARY = re.compile(rf"([0-9a-f]{{32}})({re.escape(SUFFIX)}|{re.escape(PROGRAM_SUFFIX)})\Z")


class Entry(NamedTuple):
    """A library of the cache.

    Parameters
    ----------
    path
        The file.
    size
        Bytes.
    used
        Time of last use, in seconds since the epoch; within a day.
    kernels
        Number of kernels that the index finds in it.
    """

    path: str
    size: int
    used: float
    kernels: int


def _part(key: str) -> str:
    """Which part of the index has the line of a kernel."""
    return key[-2:]


def _find(lines: bytes, key: str) -> str | None:
    """Name of the library that lines of the index give for a key; the last one counts."""
    at = lines.rfind(b"\n" + key.encode() + b" ")
    line = _LINE.match(lines, at + 1) if at >= 0 else None
    return None if line is None else line[2].decode()


def content_name(data: bytes) -> str:
    """Name, without suffix, of a library of these bytes."""
    return blake2b(data, digest_size=16).hexdigest()


def unsafe_reason(path: str) -> str | None:
    """Why the directory `path` must not be trusted with code, or None."""
    if os.name != "posix":
        return None
    info = os.stat(path)
    if not stat.S_ISDIR(info.st_mode):
        return "it is not a directory"
    if info.st_uid not in (os.geteuid(), 0) or (info.st_uid == 0 and os.geteuid() != 0):
        return "it belongs to another user"
    if info.st_mode & 0o022:
        return "others may write to it"
    return None


class KernelCache:
    """Kernels stored in one directory.

    Parameters
    ----------
    directory
        Where; made, with mode 0700, at the first use. It is not checked again: see :func:`open_cache`.
    suffix
        How the names of its files end.
    """

    def __init__(self, directory: str, suffix: str = SUFFIX):
        self.directory = directory
        self.suffix = suffix
        self._lock = new_lock()
        # Part of the index -> what tells whether its file changed, and its bytes.
        self._parts: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        self._verified: set[str] = set()

    def lookup(self, keys: Collection[str]) -> dict[str, str]:
        """Find libraries by kernel key.

        Returns
        -------
        dict
            From key to path, for each key whose library is there, whole.
        """
        with self._lock:
            found = {}
            lines = {part: self._read_part(part) for part in {_part(key) for key in keys}}
            for key in keys:
                name = _find(lines[_part(key)], key)
                if name is not None and self._is_whole(name):
                    found[key] = self._path(name)
            return found

    def read(self, key: str) -> bytes | None:
        """The bytes of the file of a key; None where it is not there, whole."""
        with self._lock:
            name = _find(self._read_part(_part(key)), key)
            return None if name is None else self._whole(name)

    def store(self, data: bytes, keys: Iterable[str]) -> str:
        """Keep a library and the keys of its kernels.

        Returns
        -------
        str
            The library's path.

        Raises
        ------
        OSError
            When the directory cannot be written to.
        """
        name = content_name(data)
        path = self._path(name)
        with self._lock:
            handle, temporary = self._temporary()
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.chmod(temporary, 0o700)
                os.replace(temporary, path)
            except BaseException:
                try:
                    os.unlink(temporary)
                except OSError:
                    pass
                raise
            lines: dict[str, list[str]] = {}
            for key in keys:
                lines.setdefault(_part(key), []).append(f"{key} {name}\n")
            for part, added in lines.items():
                self._append(part, "".join(added).encode())
            self._verified.add(name)
        return path

    def entries(self) -> list[Entry]:
        """All libraries, the most recently used first."""
        with self._lock:
            counts: dict[str, int] = {}
            for part in self._parts_there():
                for name in self._parse(part).values():
                    counts[name] = counts.get(name, 0) + 1
            result = []
            for file in self._listing():
                if found := _LIBRARY.match(file.name):
                    try:
                        info = file.stat()
                    except OSError:
                        continue
                    n = counts.get(found[1], 0)
                    result.append(Entry(file.path, info.st_size, info.st_mtime, n))
        return sorted(result, key=lambda e: -e.used)

    def size(self) -> int:
        """Bytes in the cache."""
        total = 0
        for file in self._listing():
            try:
                total += file.stat().st_size
            except OSError:
                continue
        return total

    def clear(self, max_age: float = 0.0) -> int:
        """Remove libraries not used for `max_age` seconds, and what killed compilations left behind.

        Returns
        -------
        int
            Number of libraries removed.
        """
        now = time.time()
        kept: set[str] = set()
        removed = 0
        with self._lock:
            for file in self._listing():
                try:
                    age = now - file.stat().st_mtime
                    if found := _LIBRARY.match(file.name):
                        if age >= max_age:
                            os.unlink(file.path)
                            removed += 1
                        else:
                            kept.add(found[1])
                    elif file.name.startswith("tmp-") and age >= min(max_age, 3600.0):
                        os.unlink(file.path)
                except OSError:
                    continue
            self._verified &= kept
            for part in self._parts_there():
                self._write_part(part, {key: name for key, name in self._parse(part).items() if name in kept})
        return removed

    def clean(self, max_age: float) -> None:
        """Remove libraries not used for `max_age` seconds, if that was not done for a week; never fails."""
        stamp = self._path_of("cleaned")
        try:
            if time.time() - os.stat(stamp).st_mtime < CLEAN_INTERVAL:
                return
        except OSError:
            pass
        try:
            os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
            self.clear(max_age)
        except OSError:
            pass

    def _temporary(self) -> tuple[int, str]:
        """A new file, open, and its path; what finds kernels needs no such module."""
        import tempfile

        return tempfile.mkstemp(prefix="tmp-", dir=self.directory)

    def _path_of(self, file: str) -> str:
        return os.path.join(self.directory, file)

    def _path(self, name: str) -> str:
        return self._path_of(name + self.suffix)

    def _listing(self) -> list[os.DirEntry]:
        try:
            with os.scandir(self.directory) as files:
                return list(files)
        except OSError:
            return []

    def _parts_there(self) -> list[str]:
        """The parts of the index that have a file."""
        return [file.name[len(INDEX) :] for file in self._listing() if file.name.startswith(INDEX)]

    def _read_part(self, part: str) -> bytes:
        """The lines of a part of the index, after a line break; read if the file changed since the last time."""
        path = self._path_of(INDEX + part)
        try:
            info = os.stat(path)
            stamp = (info.st_ino, info.st_size, info.st_mtime_ns)
            known = self._parts.get(part)
            if known is None or known[0] != stamp:
                with open(path, "rb") as file:
                    known = self._parts[part] = (stamp, b"\n" + file.read())
            return known[1]
        except OSError:
            return b""

    def _parse(self, part: str) -> dict[str, str]:
        """A part of the index. A line cut short by a killed writer spoils the next one too: neither matches."""
        return {key.decode(): name.decode() for key, name in _LINE.findall(self._read_part(part))}

    def _append(self, part: str, lines: bytes) -> None:
        path = self._path_of(INDEX + part)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(handle, lines) != len(lines):
                raise OSError(28, "No space left on device", path)
        finally:
            os.close(handle)

    def _write_part(self, part: str, index: dict[str, str]) -> None:
        lines = "".join(f"{key} {name}\n" for key, name in index.items()).encode()
        handle, temporary = self._temporary()
        with os.fdopen(handle, "wb") as file:
            file.write(lines)
        os.replace(temporary, self._path_of(INDEX + part))
        self._parts.pop(part, None)

    def _is_whole(self, name: str) -> bool:
        """Whether the library is there and has the bytes that its name says."""
        if name not in self._verified:
            if self._whole(name) is None:
                return False
            self._verified.add(name)
        return True

    def _whole(self, name: str) -> bytes | None:
        """The bytes of a file, if they are those that its name says; a spoiled one is removed."""
        path = self._path(name)
        try:
            with open(path, "rb") as file:
                data = file.read()
                age = time.time() - os.fstat(file.fileno()).st_mtime
        except OSError:
            return None
        if content_name(data) != name:
            try:
                os.unlink(path)
            except OSError:
                pass
            return None
        if age > _TOUCH_INTERVAL:
            try:
                os.utime(path)
            except OSError:
                pass
        return data


_caches: dict[str, KernelCache] = {}
_caches_lock = new_lock()
_private: list[str] = []


def cache_directory() -> str:
    """The directory that kernels are kept in, by the configuration."""
    from theano.configdefaults import config

    return os.path.join(config.compiledir, "kernels")


def programs_directory() -> str:
    """The directory that programs are kept in, by the configuration."""
    from theano.configdefaults import config

    return os.path.join(config.compiledir, "programs")


def open_cache(directory: str | None = None) -> KernelCache:
    """The cache in `directory`, by default that of the configuration.

    A directory that cannot be made, or that is not safe, is replaced, with one warning, by a private temporary one
    that lives as long as the process. Libraries that were not used for ``config.cmodule.age_thresh_use`` seconds are
    removed, once a week.
    """
    from theano.configdefaults import config

    with _caches_lock:
        try:
            if directory is None:
                directory = cache_directory()
            cache = _caches.get(directory)
            if cache is not None:
                return cache
            os.makedirs(directory, mode=0o700, exist_ok=True)
            reason = unsafe_reason(directory)
            if reason is None and not os.access(directory, os.W_OK | os.X_OK):
                reason = "it cannot be written to"
        except (OSError, ValueError) as exc:
            reason = str(exc)
        if reason is None:
            cache = _caches[directory] = KernelCache(directory)
        else:
            cache = _temporary_cache(f"the cache of compiled kernels {directory or ''!r} is not used: {reason}")
            if directory is not None:
                _caches[directory] = cache
    cache.clean(config.cmodule.age_thresh_use)
    return cache


def open_programs() -> KernelCache | None:
    """The cache of programs; None where that of kernels cannot be used: without it programs are of no use."""
    from theano.configdefaults import config

    directory = programs_directory()
    cache = _caches.get(directory)
    if cache is None and open_cache().directory == cache_directory():
        try:
            os.makedirs(directory, mode=0o700, exist_ok=True)
            safe = unsafe_reason(directory) is None
        except OSError:
            safe = False
        if safe:
            with _caches_lock:
                cache = _caches.setdefault(directory, KernelCache(directory, PROGRAM_SUFFIX))
            cache.clean(config.cmodule.age_thresh_use)
    return cache


def temporary_cache(reason: str) -> KernelCache:
    """A private cache for the life of the process, because of `reason` (a sentence for the warning)."""
    with _caches_lock:
        return _temporary_cache(reason)


def _temporary_cache(reason: str) -> KernelCache:
    if not _private or not os.path.isdir(_private[0]):
        _private[:] = [temporary_directory("theano-kernels-")]
        warnings.warn(f"{reason}. Kernels are compiled again in every process.", RuntimeWarning, stacklevel=4)
    return _caches.setdefault(_private[0], KernelCache(_private[0]))


def list_entries(directory: str | None = None) -> list[Entry]:
    """Libraries of the cache (the command ``theano cache list``)."""
    return KernelCache(directory or cache_directory()).entries()


def cache_size(directory: str | None = None) -> int:
    """Bytes in the cache (the command ``theano cache size``)."""
    return KernelCache(directory or cache_directory()).size()


def clear(directory: str | None = None, max_age: float = 0.0) -> int:
    """Remove libraries that were not used for `max_age` seconds; return how many (``theano cache clear``)."""
    directory = directory or cache_directory()
    if not os.path.isdir(directory):
        return 0
    cache = _caches.get(directory) or KernelCache(directory)
    return cache.clear(max_age)


def purge(directory: str | None = None) -> int:
    """Remove the whole cache directory; return how many libraries it had (``theano cache purge``)."""
    import shutil

    directory = directory or cache_directory()
    n = clear(directory)
    with _caches_lock:
        shutil.rmtree(directory, ignore_errors=True)
        _caches.pop(directory, None)
    return n
