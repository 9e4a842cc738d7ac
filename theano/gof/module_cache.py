"""A cache of extension modules on disk, by keys that are Python objects, for programs with linkers of their own.

Each module has a directory with its file and ``key.pkl``, the pickled :class:`KeyData`: its keys, tuples whose first element
are versions, empty where there is none, and so no use for the module beyond the process. The modules of
:class:`theano.gof.cc.CLinker` are kept by :mod:`theano.gof.cmodule`; here they are only counted and removed with the others.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import time
import warnings
from typing import Any

from theano.configdefaults import config
from theano.gof.dynamic_module import dlimport, dlimport_workdir, last_access_time, module_name_from_dir
from theano.gof.utils import hash_from_file
from theano.misc import file_cache
from theano.process import new_lock

_KEY_FILE = "key.pkl"


class KeyData:
    """The keys of a module.

    Parameters
    ----------
    keys : set
    module_hash : str
        A digest of its code and of how it was compiled.
    key_pkl : str
        The file in which this object is pickled.
    entry : str
        The file of the module.
    """

    def __init__(self, keys: set, module_hash: str, key_pkl: str, entry: str):
        self.keys = keys
        self.module_hash = module_hash
        self.key_pkl = key_pkl
        self.entry = entry

    def add_key(self, key: Any, save_pkl: bool = True) -> None:
        """Add a key, and write the file if `save_pkl`."""
        self.keys.add(key)
        if save_pkl:
            self.save_pkl()

    def remove_key(self, key: Any, save_pkl: bool = True) -> None:
        """Remove a key, and write the file if `save_pkl`."""
        self.keys.remove(key)
        if save_pkl:
            self.save_pkl()

    def save_pkl(self) -> None:
        """Write the file.

        Raises
        ------
        pickle.PicklingError
            If a key cannot be pickled; there is no file then.
        """
        try:
            data = pickle.dumps(self, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            with contextlib.suppress(OSError):
                os.remove(self.key_pkl)
            raise pickle.PicklingError(f"the keys of {self.entry} cannot be pickled: {error}") from error
        with open(self.key_pkl, "wb") as file:
            file.write(data)

    def get_entry(self) -> str:
        """Return the file of the module."""
        return self.entry

    def delete_keys_from(self, entry_from_key: dict, do_manual_check: bool = True) -> None:
        """Remove the keys from a dictionary of modules by key, with `do_manual_check` also others of the same module."""
        for key in list(entry_from_key):
            if key in self.keys or (do_manual_check and entry_from_key[key] == self.entry):
                del entry_from_key[key]


class ModuleCache:
    """The modules of a directory.

    Parameters
    ----------
    dirname : str
        Where; made if it is not there.
    check_for_broken_eq : bool
        Accepted for programs that pass it: keys are compared as they are.
    do_refresh : bool
        Whether to look at once which modules are there.
    """

    def __init__(self, dirname: str, check_for_broken_eq: bool = True, do_refresh: bool = True):
        self.dirname = dirname
        self.check_for_broken_eq = check_for_broken_eq
        self.entry_from_key: dict[Any, str] = {}
        self.module_from_name: dict[str, Any] = {}
        #: How often a module was asked for that was loaded, that was on disk, and that was not there.
        self.stats = [0, 0, 0]
        self._temporary: list[str] = []
        self._lock = new_lock()
        os.makedirs(dirname, exist_ok=True)
        if do_refresh:
            self.refresh()

    def _key_data(self, folder: str) -> KeyData | None:
        try:
            with open(os.path.join(folder, _KEY_FILE), "rb") as file:
                data = pickle.load(file)
        except (OSError, EOFError, pickle.UnpicklingError, AttributeError, ImportError):
            return None
        return data if isinstance(data, KeyData) else None

    def _folders(self) -> list[str]:
        return [entry.path for entry in os.scandir(self.dirname) if os.path.isfile(os.path.join(entry.path, _KEY_FILE))]

    def refresh(
        self, age_thresh_use: float | None = None, delete_if_problem: bool = False, cleanup: bool = True
    ) -> list[tuple[str, float]]:
        """Look which modules are there.

        Parameters
        ----------
        age_thresh_use : float, optional
            Modules that were not used for so many seconds are not taken; by default the flag ``cmodule.age_thresh_use``.
        delete_if_problem : bool
            Whether to remove directories with broken files.
        cleanup : bool
            Whether to remove what has no key any more.

        Returns
        -------
        list of (str, float)
            The modules that are too old, and their ages.
        """
        limit = config.cmodule.age_thresh_use if age_thresh_use is None else age_thresh_use
        too_old, now = [], time.time()
        self.entry_from_key = {key: entry for key, entry in self.entry_from_key.items() if os.path.exists(entry)}
        for folder in self._folders():
            data = self._key_data(folder)
            if data is None or not os.path.exists(data.get_entry()):
                if delete_if_problem:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            if not data.keys and cleanup:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            entry = data.get_entry()
            age = now - last_access_time(entry)
            if age > limit and entry not in self.module_from_name:
                too_old.append((entry, age))
                continue
            for key in data.keys:
                self.entry_from_key[key] = entry
        return too_old

    def module_from_key(self, key: Any, lnk: Any = None, keep_lock: bool = False) -> Any:
        """Return a module.

        Parameters
        ----------
        key : tuple
        lnk : linker, optional
            Compiles it where it is not there: ``lnk.compile_cmodule(location)`` returns a loaded module whose file lies in
            the directory `location`.
        keep_lock : bool
            Accepted for programs that pass it.

        Raises
        ------
        KeyError
            If it is not there and there is no linker.
        """
        with self._lock:
            entry = self.entry_from_key.get(key)
            if entry is None and key[0]:
                self.refresh(cleanup=False)
                entry = self.entry_from_key.get(key)
            if entry is not None:
                self.stats[0 if entry in self.module_from_name else 1] += 1
                if entry not in self.module_from_name:
                    self.module_from_name[entry] = dlimport(entry)
                return self.module_from_name[entry]
            if lnk is None:
                raise KeyError(key)
            self.stats[2] += 1
            location = dlimport_workdir(self.dirname)
            try:
                module = lnk.compile_cmodule(location)
                entry = getattr(module, "__file__", None) or module_name_from_dir(location)
                if key[0]:
                    self.entry_from_key[key] = entry
                    KeyData({key}, hash_from_file(entry), os.path.join(location, _KEY_FILE), entry).save_pkl()
                else:
                    self._temporary.append(location)
            except BaseException:
                self.entry_from_key.pop(key, None)
                shutil.rmtree(location, ignore_errors=True)
                raise
            self.module_from_name[entry] = module
            return module

    def check_key(self, key: Any, key_pkl: str) -> None:
        """Warn if a file does not hold the key: what it was pickled from is not equal to itself then.

        Parameters
        ----------
        key : tuple
        key_pkl : str
        """
        data = self._key_data(os.path.dirname(key_pkl))
        if data is None or key not in data.keys:
            warnings.warn(f"a key of a compiled module is not equal to itself once pickled: {key!r}", stacklevel=2)

    def clear_old(self, age_thresh_del: float | None = None, delete_if_problem: bool = False) -> None:
        """Remove the modules that were not used for so many seconds, by default a week more than the flag says."""
        limit = config.cmodule.age_thresh_use + 60 * 60 * 24 * 7 if age_thresh_del is None else age_thresh_del
        for entry, _ in self.refresh(limit, delete_if_problem):
            shutil.rmtree(os.path.dirname(entry), ignore_errors=True)
        file_cache.clear(os.path.join(self.dirname, "modules"), max(limit, 0))

    def clear(
        self, unversioned_min_age: float | None = None, clear_base_files: bool = False, delete_if_problem: bool = False
    ) -> None:
        """Remove all modules; `clear_base_files` as :meth:`clear_base_files`, the other arguments make no difference."""
        if clear_base_files:
            self.clear_base_files()
        self.clear_old(-1.0, delete_if_problem=True)
        self.clear_unversioned(unversioned_min_age)
        self.entry_from_key.clear()

    def clear_base_files(self) -> None:
        """Remove what older versions kept in the directory beside the modules."""
        for name in ("cuda_ndarray", "cutils_ext", "lazylinker_ext", "scan_perform"):
            shutil.rmtree(os.path.join(self.dirname, name), ignore_errors=True)

    def clear_unversioned(self, min_age: float | None = None) -> None:
        """Remove the modules whose keys have no versions, and were not used for so many seconds.

        Parameters
        ----------
        min_age : float, optional
            By default a day; the modules of this process are kept till its end.
        """
        limit = 60 * 60 * 24 if min_age is None else min_age
        now = time.time()
        for folder in self._folders():
            data = self._key_data(folder)
            if data is None or any(key[0] for key in data.keys) or folder in self._temporary:
                continue
            if now - os.stat(folder).st_mtime >= limit:
                shutil.rmtree(folder, ignore_errors=True)

    def _on_atexit(self) -> None:
        for folder in self._temporary:
            shutil.rmtree(folder, ignore_errors=True)
        self._temporary.clear()


_module_cache: ModuleCache | None = None


def get_module_cache(dirname: str, init_args: dict | None = None) -> ModuleCache:
    """Return the cache of the process; made at the first call, with these arguments.

    Parameters
    ----------
    dirname : str
        As for :class:`ModuleCache`; a later call with another directory, or with `init_args`, warns.
    init_args : dict, optional
        Further arguments.
    """
    import atexit

    global _module_cache
    if _module_cache is None:
        _module_cache = ModuleCache(dirname, **(init_args or {}))
        atexit.register(_module_cache._on_atexit)
    elif init_args or _module_cache.dirname != dirname:
        warnings.warn(f"there is a cache of modules already, in {_module_cache.dirname}", stacklevel=2)
    return _module_cache


def get_default_cache(init_args: dict | None = None) -> ModuleCache:
    """Return the cache of the process, in ``config.compiledir``; see :func:`get_module_cache`."""
    return get_module_cache(config.compiledir, init_args)
