"""Serialization: zip files with arrays as members, and pickles without what is not needed.

A file written by :func:`dump` is a zip file with the pickle in the member
``pkl``, and each array in an ``.npy`` member, so that :func:`numpy.load` can
read it.
"""

from __future__ import annotations

import copyreg
import io
import pickle
import zipfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from typing import Any, BinaryIO

import numpy as np

from theano.gof.sharedvalue import SharedVariable
from theano.gof.utils import scratchpad

DEFAULT_PROTOCOL = pickle.DEFAULT_PROTOCOL
HIGHEST_PROTOCOL = pickle.HIGHEST_PROTOCOL
#: How deep Python may recurse at least where deep objects are pickled; graphs here need less.
min_recursion = 3000

#: Attributes of ``tag`` that serve to debug.
_TAGS_TO_STRIP = ("trace", "_trace", "test_value")


class StripPickler(pickle.Pickler):
    """A pickler that leaves out of Theano's objects what only serves to debug them.

    Parameters
    ----------
    file : file
        Binary file to write to.
    protocol : int
        Version of the pickle format.
    extra_tag_to_remove : str or list of str, optional
        Further attributes of ``tag`` to leave out.
    **kwargs
        For ``pickle.Pickler``.

    See Also
    --------
    theano.misc.pkl_utils.dump : Pickle an object to a zip file, with arrays as members that `numpy.load` can read.
    theano.misc.pkl_utils.load : Load what `dump` wrote.
    theano.misc.pkl_utils.CompatUnpickler : An unpickler that also reads arrays pickled by Python 2.

    Examples
    --------
    >>> import io, theano.tensor as T
    >>> file = io.BytesIO()
    >>> StripPickler(file, protocol=-1).dump(T.dscalar('x') + 1)
    """

    def __init__(self, file: BinaryIO, protocol: int = 0, extra_tag_to_remove: Any = None, **kwargs: Any):
        super().__init__(file, protocol, **kwargs)
        extra = [extra_tag_to_remove] if isinstance(extra_tag_to_remove, str) else extra_tag_to_remove or []
        self.tag_to_remove = [*_TAGS_TO_STRIP, *extra]

    def reducer_override(self, obj: Any) -> Any:
        """Return how to pickle a tag: as one that never had the unwanted attributes."""
        if isinstance(obj, scratchpad):
            state = {k: v for k, v in obj.__getstate__().items() if k not in self.tag_to_remove}
            return copyreg.__newobj__, (type(obj),), state  # type: ignore[attr-defined]
        return NotImplemented


class CompatUnpickler(pickle.Unpickler):
    """An unpickler that also reads arrays pickled by Python 2.

    Parameters
    ----------
    file : file
        Binary file to read from.
    **kwargs
        As for :class:`pickle.Unpickler`; Python 2 needs ``encoding="latin1"``.

    See Also
    --------
    theano.misc.pkl_utils.StripPickler : A pickler that leaves out of Theano's objects what only serves to debug them.
    theano.misc.pkl_utils.load_reduce : Do the step REDUCE of an unpickler written in Python (`pickle._Unpickler`), for
        pickles of Python 2.

    Examples
    --------
    >>> file = io.BytesIO(pickle.dumps({"w": np.arange(3.0)}, protocol=2))
    >>> CompatUnpickler(file, encoding="latin1").load()
    {'w': array([0., 1., 2.])}
    """


def load_reduce(self: Any) -> None:
    """Do the step REDUCE of an unpickler written in Python (`pickle._Unpickler`), for pickles of Python 2.

    What is called with texts and refuses them is called once more with the bytes that they were read from, by the
    `encoding` of the unpickler.

    Raises
    ------
    Exception
        What the constructor raises.

    See Also
    --------
    theano.misc.pkl_utils.CompatUnpickler : An unpickler that also reads arrays pickled by Python 2.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> reader = SimpleNamespace(stack=[bytes.hex, ("ab",)], encoding="latin1")
    >>> load_reduce(reader)  # bytes.hex refuses the text, and takes the bytes.
    >>> reader.stack
    ['6162']
    """
    args = self.stack.pop()
    function = self.stack[-1]
    try:
        value = function(*args)
    except Exception:
        if not any(isinstance(arg, str) for arg in args):
            raise
        value = function(*[arg.encode(self.encoding) if isinstance(arg, str) else arg for arg in args])
    self.stack[-1] = value


class PersistentNdarrayID:
    """Says which objects :func:`dump` writes to members of their own: all arrays.

    Parameters
    ----------
    zip_file : ZipFile
        The file to write members to.

    See Also
    --------
    theano.misc.pkl_utils.PersistentNdarrayLoad : Finds the arrays that `PersistentNdarrayID` wrote.
    theano.misc.pkl_utils.PersistentSharedVariableID : Says which objects `dump` writes to members of their own: arrays,
        those of shared variables under their names.
    theano.misc.pkl_utils.PersistentGpuArrayID : The older name of `PersistentNdarrayID` for files with arrays of a GPU,
        of which there are none.

    Examples
    --------
    >>> weights = np.arange(3.0)
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as file:
    ...     persistent_id = PersistentNdarrayID(file)
    ...     print(persistent_id(weights), persistent_id(weights), persistent_id("a text"))
    ...     print(file.namelist())
    ndarray.array_0 ndarray.array_0 None
    ['array_0']
    """

    def __init__(self, zip_file: zipfile.ZipFile):
        self.zip_file = zip_file
        self.count = 0
        self.seen: dict[int, str] = {}
        # Arrays are recognized by their addresses, which must stay theirs.
        self._kept: list[Any] = []

    def _resolve_name(self, obj: Any) -> str:
        """Return the name of the member for an object."""
        name = f"array_{self.count}"
        self.count += 1
        return name

    def __call__(self, obj: Any) -> str | None:
        if type(obj) is not np.ndarray or obj.dtype.hasobject:
            return None
        if id(obj) not in self.seen:
            name = self._resolve_name(obj)
            _write_array(self.zip_file, name, obj)
            self.seen[id(obj)] = f"ndarray.{name}"
            self._kept.append(obj)
        return self.seen[id(obj)]


class PersistentGpuArrayID(PersistentNdarrayID):
    """The older name of :class:`PersistentNdarrayID` for files with arrays of a GPU, of which there are none.

    See Also
    --------
    theano.misc.pkl_utils.PersistentNdarrayID : Says which objects `dump` writes to members of their own: all arrays.

    Examples
    --------
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as file:
    ...     print(PersistentGpuArrayID(file)(np.zeros(3)))
    ndarray.array_0
    """


class PersistentSharedVariableID(PersistentNdarrayID):
    """Says which objects :func:`dump` writes to members of their own: arrays, those of shared variables under their names.

    Parameters
    ----------
    zip_file : ZipFile
        The file to write members to.
    allow_unnamed : bool
        Whether shared variables may have no name; their arrays are then called
        ``array_0`` and so on.
    allow_duplicates : bool
        Whether names may come several times; from the second on they get a
        number.

    Raises
    ------
    ValueError
        For names that are forbidden by these parameters, or that clash with
        the member that holds the pickle.

    See Also
    --------
    theano.misc.pkl_utils.PersistentNdarrayID : Says which objects `dump` writes to members of their own: all arrays.
    theano.misc.pkl_utils.PersistentNdarrayLoad : Finds the arrays that `PersistentNdarrayID` wrote.

    Examples
    --------
    >>> import theano
    >>> w = theano.shared(np.arange(3.0), "w")
    >>> with zipfile.ZipFile(io.BytesIO(), "w") as file:
    ...     persistent_id = PersistentSharedVariableID(file)
    ...     _ = persistent_id(w)
    ...     print(persistent_id(w.get_value(borrow=True)), file.namelist())
    ndarray.w ['w']
    """

    def __init__(self, zip_file: zipfile.ZipFile, allow_unnamed: bool = True, allow_duplicates: bool = True):
        super().__init__(zip_file)
        self.name_counter: dict[str, int] = defaultdict(int)
        self.ndarray_names: dict[int, str] = {}
        self.allow_unnamed = allow_unnamed
        self.allow_duplicates = allow_duplicates

    def _resolve_name(self, obj: Any) -> str:
        if id(obj) not in self.ndarray_names:
            return super()._resolve_name(obj)
        name = self.ndarray_names[id(obj)]
        count = self.name_counter[name]
        self.name_counter[name] += 1
        if count:
            if not self.allow_duplicates:
                raise ValueError(f"multiple shared variables with the name {name!r}.")
            name = f"{name}_{count + 1}"
        return name

    def __call__(self, obj: Any) -> str | None:
        if isinstance(obj, SharedVariable):
            if obj.name:
                if obj.name == "pkl":
                    raise ValueError("can't pickle shared variable with name `pkl`")
                self.ndarray_names[id(obj.container.storage[0])] = obj.name
            elif not self.allow_unnamed:
                raise ValueError(f"unnamed shared variable, {obj!r}")
        return super().__call__(obj)


class PersistentNdarrayLoad:
    """Finds the arrays that :class:`PersistentNdarrayID` wrote.

    Parameters
    ----------
    zip_file : ZipFile
        The file to read members from.

    See Also
    --------
    theano.misc.pkl_utils.PersistentSharedVariableID : Says which objects `dump` writes to members of their own: arrays,
        those of shared variables under their names.
    theano.misc.pkl_utils.PersistentNdarrayID : Says which objects `dump` writes to members of their own: all arrays.

    Examples
    --------
    >>> model = io.BytesIO()
    >>> with zipfile.ZipFile(model, "w") as file:
    ...     name = PersistentNdarrayID(file)(np.arange(3.0))
    >>> with zipfile.ZipFile(model) as file:
    ...     print(PersistentNdarrayLoad(file)(name))
    [0. 1. 2.]
    """

    def __init__(self, zip_file: zipfile.ZipFile):
        self.zip_file = zip_file
        self.cache: dict[str, np.ndarray] = {}

    def __call__(self, persid: str) -> np.ndarray:
        _, name = persid.split(".", 1)
        if name not in self.cache:
            with self.zip_file.open(name) as member:
                self.cache[name] = np.lib.format.read_array(member, allow_pickle=False)
        return self.cache[name]


def zipadd(func: Callable[[Any], Any], zip_file: zipfile.ZipFile, name: str) -> None:
    """Write a member of a zip file by a function.

    Parameters
    ----------
    func : callable
        Called with a binary file, to write to.
    zip_file : ZipFile
        Open for writing.
    name : str
        That of the member.

    See Also
    --------
    theano.misc.pkl_utils.dump : Pickle an object to a zip file, with arrays as members that `numpy.load` can read.

    Examples
    --------
    >>> import io, zipfile
    >>> file = io.BytesIO()
    >>> with zipfile.ZipFile(file, "w") as archive:
    ...     zipadd(lambda member: member.write(b"text"), archive, "name")
    >>> zipfile.ZipFile(file).read("name")
    b'text'
    """
    with zip_file.open(name, "w", force_zip64=True) as member:
        func(member)


def _write_array(zip_file: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    zipadd(lambda member: np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False), zip_file, name)


def dump(
    obj: Any,
    file_handler: BinaryIO,
    protocol: int = pickle.DEFAULT_PROTOCOL,
    persistent_id: Callable[[zipfile.ZipFile], Callable[[Any], str | None]] = PersistentSharedVariableID,
) -> None:
    """Pickle an object to a zip file, with arrays as members that :func:`numpy.load` can read.

    Parameters
    ----------
    obj : object
        The object.
    file_handler : file
        Binary file to write to.
    protocol : int
        Version of the pickle format.
    persistent_id : callable
        Called with the zip file, returns a function that writes certain objects to
        members and returns their names. By default arrays are, those of
        shared variables under the names of these.

    See Also
    --------
    theano.function_dump : Write the arguments of a call of `function` to a file, to reproduce the call elsewhere.
    theano.function : Return a callable that computes `outputs` from `inputs`.
    theano.misc.pkl_utils.load : Load what `dump` wrote.

    Examples
    --------
    >>> import io, numpy as np, theano
    >>> file = io.BytesIO()
    >>> dump((theano.shared(0, name='foo'), np.array(2)), file)
    >>> _ = file.seek(0)
    >>> with np.load(file) as members:
    ...     sorted(members)
    ['array_0', 'foo', 'pkl']
    """
    with closing(zipfile.ZipFile(file_handler, "w", zipfile.ZIP_DEFLATED, allowZip64=True)) as zip_file:
        buffer = io.BytesIO()
        name_of = persistent_id(zip_file)

        class Pickler(pickle.Pickler):
            def persistent_id(self, obj: Any) -> Any:
                return name_of(obj)

        Pickler(buffer, protocol=protocol).dump(obj)
        zip_file.writestr("pkl", buffer.getvalue())


def load(
    f: BinaryIO,
    persistent_load: Callable[[zipfile.ZipFile], Callable[[str], Any]] = PersistentNdarrayLoad,
) -> Any:
    """Load what :func:`dump` wrote.

    Parameters
    ----------
    f : file
        Binary file to read from.
    persistent_load : callable
        Called with the zip file, returns a function that finds the objects in its
        members.

    Returns
    -------
    object
        The object.

    See Also
    --------
    theano.misc.pkl_utils.dump : Pickle an object to a zip file, with arrays as members that `numpy.load` can read.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> file = io.BytesIO()
    >>> dump({"w": np.arange(3)}, file)
    >>> load(file)
    {'w': array([0, 1, 2])}
    """
    with closing(zipfile.ZipFile(f, "r")) as zip_file:
        object_of = persistent_load(zip_file)

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, pid: Any) -> Any:
                return object_of(pid)

        return Unpickler(io.BytesIO(zip_file.read("pkl"))).load()
