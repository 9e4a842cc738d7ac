"""The machinery of Theano's flags.

A flag is a :class:`ConfigParam` that `AddConfigVar` hangs on the configuration under a dotted name.  Its value
comes, in falling precedence, from an assignment to ``theano.config.<name>``, from the environment variable
``THEANO_FLAGS``, from the files that ``THEANORC`` names, and from its default.  The flags themselves are declared in
`theano.configdefaults`.

Reading a flag is one look-up in an instance dictionary: it happens for every node that is built.  A flag leaves that
dictionary only while its value is not settled (a default that is computed on demand) or while some thread has it
changed by :class:`change_flags`, whose effect is confined to the thread that entered it.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from theano.configsources import THEANO_FLAGS as THEANO_FLAGS
from theano.configsources import THEANO_FLAGS_DICT, THEANORC_DICT, UNSET, config_files_from_theanorc
from theano.configsources import TheanoConfigWarning as TheanoConfigWarning
from theano.configsources import config_files as config_files
from theano.configsources import fetch as _fetch
from theano.configsources import fetch_val_for_key as fetch_val_for_key
from theano.configsources import parse_config_string as parse_config_string
from theano.process import at_fork as _at_fork
from theano.process import new_lock as _new_lock

_lock = _new_lock()
_local = threading.local()
# Every declared flag, in the order of declaration.
_config_var_list: list[ConfigParam] = []


def _forget_changes_of_others() -> None:
    own = getattr(_local, "stacks", {})
    for param in _config_var_list:
        param._active = len(own.get(param, ()))


_at_fork(after_in_child=_forget_changes_of_others)


def __getattr__(name: str) -> Any:
    # The configuration files as the parsers of the standard library read them, which few ask for.
    if name in ("theano_cfg", "theano_raw_cfg"):
        import configparser

        names = ("USER", "LSCRATCH", "TMPDIR", "TEMP", "TMP", "PID")
        words = {k: os.environ.get(k, str(os.getpid()) if k == "PID" else "").replace("%", "%%") for k in names}
        parser: Any = configparser.ConfigParser(words) if name == "theano_cfg" else configparser.RawConfigParser()
        parser.read(config_files_from_theanorc())
        return parser
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _suggest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name, known, n=3, cutoff=0.6)
    if not close:
        tail = name.rpartition(".")[2].lower()
        close = [k for k in known if k.rpartition(".")[2].lower() == tail][:3]
    return f" Did you mean {' or '.join(repr(c) for c in close)}?" if close else ""


class ConfigParam:
    """One flag.

    Parameters
    ----------
    default : object
        The value, or a function without arguments that computes it the first time it is asked for.
    filter : callable, optional
        Takes what the user gave (text, if it came from the environment or a file) and returns the value, or raises
        ValueError.
    allow_override : bool
        Whether the flag may be assigned to once Theano is imported.

    Examples
    --------
    >>> percent = ConfigParam("50", filter=lambda text: float(text) / 100)
    >>> percent.fullname = "share"
    >>> percent.val, percent.is_default
    (0.5, True)
    >>> percent.convert("all")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('all') for configuration flag 'share': could not convert string t...
    """

    fullname: str | None = None
    doc: str = ""
    in_c_key: bool = True

    def __init__(self, default: Any, filter: Callable[[Any], Any] | None = None, allow_override: bool = True):
        self.default = default
        self.filter = filter
        self.allow_override = allow_override
        self.source = "default"
        self._base: Any = UNSET
        self._active = 0
        self._owner: TheanoConfigParser | None = None
        self._key = ""

    @property
    def is_default(self) -> bool:
        """Whether nobody gave this flag a value."""
        return self.source == "default"

    def convert(self, value: Any) -> Any:
        """Check `value`; a ValueError or TypeError of the filter comes out as a ValueError that names the flag."""
        if self.filter is None:
            return value
        try:
            return self.filter(value)
        except (ValueError, TypeError) as e:
            raise ValueError(f"Invalid value ({value!r}) for configuration flag {self.fullname!r}: {e}") from None

    def describe(self) -> str:
        """What values are allowed, in words."""
        return self.__class__.__name__

    def _settle(self) -> Any:
        # The value apart from what change_flags does; call with the lock held.
        if self._base is UNSET:
            text, source = _fetch(self.fullname or "")
            if text is not UNSET:
                try:
                    self._base = self.convert(text)
                except ValueError as e:
                    raise ValueError(f"{e} (set in {source})") from None
                self.source = source
            else:
                value = self.default() if callable(self.default) else self.default
                self._base = value if value is None else self.convert(value)
        return self._base

    @property
    def val(self) -> Any:
        """The value in force in this thread."""
        if self._active:
            stack = getattr(_local, "stacks", {}).get(self)
            if stack:
                return stack[-1]
        with _lock:
            value = self._settle()
            if not self._active and self._owner is not None:
                self._owner.__dict__[self._key] = value
            return value

    def set(self, value: Any) -> None:
        """Assign to the flag (within a `change_flags` block: until the block ends).

        Raises
        ------
        ValueError
            The value is not allowed.
        AttributeError
            The flag cannot be changed once Theano is imported.
        """
        if not self.allow_override:
            raise AttributeError(
                f"The configuration flag {self.fullname!r} cannot be modified during the program execution; "
                f"set it in THEANO_FLAGS or in a .theanorc file (refused value: {value!r})."
            )
        value = self.convert(value)
        stack = getattr(_local, "stacks", {}).get(self) if self._active else None
        if stack:
            stack[-1] = value
            return
        with _lock:
            self._base = value
            self.source = "assignment"
            if not self._active and self._owner is not None:
                self._owner.__dict__[self._key] = value

    def __get__(self, cls: Any, type_: Any = None, delete_key: bool = False) -> Any:
        return self if cls is None else self.val

    def __set__(self, cls: Any, val: Any) -> None:
        self.set(val)

    def _push(self, value: Any) -> list:
        stacks = getattr(_local, "stacks", None)
        if stacks is None:
            stacks = _local.stacks = {}
        stack = stacks.setdefault(self, [])
        with _lock:
            self._active += 1
            if self._owner is not None:
                self._owner.__dict__.pop(self._key, None)
        stack.append(value)
        return stack

    def _pop(self, stack: list) -> None:
        stack.pop()
        with _lock:
            self._active -= 1
            if not self._active and self._base is not UNSET and self._owner is not None:
                self._owner.__dict__[self._key] = self._base


def assigned_flags() -> dict[str, Any]:
    """The values of the flags that the program has assigned, or changes for a while in this thread.

    Returns
    -------
    dict of str to object
        By the flags' full names.

    Examples
    --------
    >>> from theano import config
    >>> with config.change_flags(floatX="float16"):
    ...     assigned_flags()["floatX"]
    'float16'
    """
    own = getattr(_local, "stacks", {})
    changed = [p for p in _config_var_list if p.source == "assignment" or (p._active and own.get(p))]
    return {param.fullname or "": param.val for param in changed}


def declared_value(name: str) -> Any:
    """The value that a flag has without the program: from the environment, a file, or its default.

    Parameters
    ----------
    name : str
        The flag's full name.

    Returns
    -------
    object
        The value.

    Examples
    --------
    >>> declared_value("scan.allow_gc")
    False
    """
    param = next(p for p in _config_var_list if p.fullname == name)
    text, _ = _fetch(name)
    value = (param.default() if callable(param.default) else param.default) if text is UNSET else text
    return value if value is None else param.convert(value)


class EnumStr(ConfigParam):
    """A flag that takes one of a few strings.

    Parameters
    ----------
    default : str or callable
        One of the strings, or a function that gives it.
    *options : str
        The other allowed values.
    allow_override : bool
        Whether the flag may be assigned to once Theano is imported.
    in_c_key : bool
        Whether compiled C code depends on it.

    Examples
    --------
    >>> colour = EnumStr("red", "green", "blue")
    >>> colour.convert("green"), colour.describe()
    ('green', "{'red', 'green', 'blue'}")
    >>> colour.convert("black")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('black') for configuration flag ...: valid options are 'red', 'gr...
    """

    def __init__(self, default: Any, *options: str, **kwargs: Any):
        self.default = default
        first = () if callable(default) else (default,)
        self.all = tuple(dict.fromkeys(first + options))
        in_c_key = kwargs.pop("in_c_key", None)
        super().__init__(default, self._check, **kwargs)
        if in_c_key is not None:
            self.in_c_key = in_c_key

    def _check(self, value: Any) -> str:
        if isinstance(value, str) and value in self.all:
            return value
        if value is None and "None" in self.all:
            return "None"
        raise ValueError(f"valid options are {', '.join(repr(o) for o in self.all)}")

    def describe(self) -> str:
        return "{" + ", ".join(repr(o) for o in self.all) + "}"

    def __str__(self) -> str:
        return f"{self.fullname} ({self.describe()}) "


class TypedParam(ConfigParam):
    """A flag converted by `mytype`.

    Parameters
    ----------
    default : object
        The value, or a function that gives it.
    mytype : callable
        Converts what the user gave.
    is_valid : callable, optional
        Takes the converted value and says whether it is allowed.
    allow_override : bool
        Whether the flag may be assigned to once Theano is imported.
    allowed : str, optional
        What is allowed, in words, for messages.

    Examples
    --------
    >>> size = TypedParam(1, int, is_valid=lambda value: value > 0, allowed="a positive integer")
    >>> size.convert("12"), size.describe()
    (12, '<a positive integer>')
    """

    def __init__(
        self,
        default: Any,
        mytype: Callable[[Any], Any],
        is_valid: Callable[[Any], bool] | None = None,
        allow_override: bool = True,
        allowed: str = "",
    ):
        self.mytype = mytype
        self.is_valid = is_valid
        self.allowed = allowed or getattr(mytype, "__name__", str(mytype))
        super().__init__(default, self._check, allow_override=allow_override)

    def _check(self, value: Any) -> Any:
        try:
            result = self.mytype(value)
        except (ValueError, TypeError):
            raise ValueError(f"it must be {self.allowed}") from None
        if self.is_valid is not None and not self.is_valid(result):
            raise ValueError(f"it must be {self.allowed}")
        return result

    def describe(self) -> str:
        return f"<{self.allowed}>"

    def __str__(self) -> str:
        return f"{self.fullname} ({self.describe()}) "


def _to_str(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "1", "t", "yes", "on"):
            return True
        if word in ("false", "0", "f", "no", "off"):
            return False
        raise ValueError(value)
    if value in (True, False):
        return bool(value)
    raise ValueError(value)


def _to_int(value: Any) -> int:
    result = int(value)
    if isinstance(value, float) and value != result:
        raise ValueError(value)
    return result


def StrParam(
    default: Any, is_valid: Callable[[str], bool] | None = None, allow_override: bool = True, allowed: str = "a string"
) -> TypedParam:
    """Make a flag that holds text.

    Parameters
    ----------
    default : str or callable
        The value without a setting, or what returns it.
    is_valid : callable, optional
        Takes the value and says whether it is allowed.
    allow_override : bool, optional
        Whether the program may change it.
    allowed : str, optional
        What is allowed, in words.

    Returns
    -------
    TypedParam
        For :func:`AddConfigVar`.

    Examples
    --------
    >>> path = StrParam("", lambda text: not text.endswith("/"), allowed="a path without a slash at the end")
    >>> path.convert("/data")
    '/data'
    >>> path.convert("/data/")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('/data/') for configuration flag ...: it must be a path without a...
    """
    return TypedParam(default, _to_str, is_valid, allow_override, allowed)


def IntParam(
    default: Any,
    is_valid: Callable[[int], bool] | None = None,
    allow_override: bool = True,
    allowed: str = "an integer",
) -> TypedParam:
    """Make a flag that holds an integer.

    Parameters
    ----------
    default : int or callable
        The value without a setting, or what returns it.
    is_valid : callable, optional
        Takes the value and says whether it is allowed.
    allow_override : bool, optional
        Whether the program may change it.
    allowed : str, optional
        What is allowed, in words.

    Returns
    -------
    TypedParam
        For :func:`AddConfigVar`.

    Examples
    --------
    >>> steps = IntParam(10, lambda value: value > 0, allowed="a positive integer")
    >>> steps.convert("25")
    25
    >>> steps.convert("2.5")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('2.5') for configuration flag ...: it must be a positive integer
    """
    return TypedParam(default, _to_int, is_valid, allow_override, allowed)


def FloatParam(
    default: Any, is_valid: Callable[[float], bool] | None = None, allow_override: bool = True, allowed: str = "a number"
) -> TypedParam:
    """Make a flag that holds a floating-point number.

    Parameters
    ----------
    default : float or callable
        The value without a setting, or what returns it.
    is_valid : callable, optional
        Takes the value and says whether it is allowed.
    allow_override : bool, optional
        Whether the program may change it.
    allowed : str, optional
        What is allowed, in words.

    Returns
    -------
    TypedParam
        For :func:`AddConfigVar`.

    Examples
    --------
    >>> rate = FloatParam(0.1, lambda value: 0 < value < 1, allowed="between 0 and 1")
    >>> rate.convert("0.25")
    0.25
    >>> rate.convert("3")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('3') for configuration flag ...: it must be between 0 and 1
    """
    return TypedParam(default, float, is_valid, allow_override, allowed)


def BoolParam(default: Any, is_valid: Callable[[bool], bool] | None = None, allow_override: bool = True) -> TypedParam:
    """Make a flag that is True or False (``true``, ``1``, ``false`` and ``0`` are understood).

    Parameters
    ----------
    default : bool or callable
        The value without a setting, or what returns it.
    is_valid : callable, optional
        Takes the value and says whether it is allowed.
    allow_override : bool, optional
        Whether the program may change it.

    Returns
    -------
    TypedParam
        For :func:`AddConfigVar`.

    Examples
    --------
    >>> flag = BoolParam(False)
    >>> flag.convert("1"), flag.convert("False")
    (True, False)
    >>> flag.convert("maybe")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('maybe') for configuration flag ...: it must be True or False
    """
    return TypedParam(default, _to_bool, is_valid, allow_override, "True or False")


class DeviceParam(ConfigParam):
    """A flag that names a device: ``cpu``, ``cuda``, ``cuda0``, ``opencl0:1`` ...

    Examples
    --------
    >>> device = DeviceParam("cpu", "opencl*", "cuda*")
    >>> device.convert("cuda1")
    'cuda1'
    >>> device.convert("gpu0")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('gpu0') for configuration flag ...: devices named 'gpu*' belonged to the old GPU back-end...
    """

    def __init__(self, default: str, *options: str, **kwargs: Any):
        self.default = default
        super().__init__(default, self._check, kwargs.pop("allow_override", False))

    def _check(self, value: Any) -> str:
        if isinstance(value, str):
            if value == self.default or value == "cpu" or value.startswith(("cuda", "opencl")):
                return value
            if value.startswith("gpu"):
                raise ValueError("devices named 'gpu*' belonged to the old GPU back-end, which is gone; use 'cuda', 'cuda0', ...")
        raise ValueError("valid options are 'cpu', 'cuda', 'cuda0', 'cuda1', ..., 'opencl0:0', 'opencl0:1', ...")

    def describe(self) -> str:
        return "{" + repr(self.default) + ", 'opencl*', 'cuda*'}"

    def __str__(self) -> str:
        return f"{self.fullname} ({self.describe()}) "


class ContextsParam(ConfigParam):
    """A flag that maps names to devices: ``name->device;name->device``.

    Examples
    --------
    >>> contexts = ContextsParam()
    >>> contexts.convert("dev0->cuda0;dev1->cuda1")
    'dev0->cuda0;dev1->cuda1'
    >>> contexts.convert("cuda0")
    Traceback (most recent call last):
        ...
    ValueError: Invalid value ('cuda0') for configuration flag ...: the form is 'name->device;na...
    """

    def __init__(self) -> None:
        super().__init__("", self._check, allow_override=False)

    @staticmethod
    def _check(value: Any) -> str:
        if value == "":
            return value
        for item in value.split(";"):
            name, sep, device = item.partition("->")
            if not sep or "->" in device:
                raise ValueError("the form is 'name->device;name->device'")
            if name.strip() == "cpu" or name.strip().startswith(("cuda", "opencl")):
                raise ValueError(f"cannot use {name!r} as the name of a context: it is the name of a device")
        return value

    def describe(self) -> str:
        return "<name->device;name->device>"

    def __str__(self) -> str:
        return f"{self.fullname} ({self.describe()}) "


class TheanoConfigParser:
    """The configuration, or one section of it: its attributes are the flags and the sections.

    Printing it lists every flag with what is allowed, its documentation and its value.

    Parameters
    ----------
    prefix : str, optional
        The section's name with a dot behind it; empty for the whole.

    Examples
    --------
    >>> from theano import config
    >>> isinstance(config, TheanoConfigParser), isinstance(config.blas, TheanoConfigParser)
    (True, True)
    >>> config.floatx = "float32"
    Traceback (most recent call last):
        ...
    AttributeError: There is no configuration flag 'floatx' (refused value: 'float32'). Did you mean...
    """

    def __init__(self, prefix: str = ""):
        d = self.__dict__
        d["_prefix"] = prefix
        d["_params"] = {}
        d["_sections"] = {}
        d["_all"] = []

    def __getattr__(self, name: str) -> Any:
        # Only reached for what is not in the instance dictionary.
        if name.startswith("__"):
            raise AttributeError(name)
        param = self.__dict__["_params"].get(name)
        if param is not None:
            return param.val
        full = self.__dict__["_prefix"] + name
        raise AttributeError(f"There is no configuration flag {full!r}.{_suggest(full, _known_names())}")

    def __setattr__(self, name: str, value: Any) -> None:
        param = self._params.get(name)
        if param is not None:
            param.set(value)
            return
        full = self._prefix + name
        if name in self._sections:
            raise AttributeError(f"{full!r} is a section of the configuration; assign to one of its flags.")
        raise AttributeError(
            f"There is no configuration flag {full!r} (refused value: {value!r}).{_suggest(full, _known_names())}"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"The configuration flag {self._prefix + name!r} cannot be deleted.")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._params, *self._sections})

    def __str__(self) -> str:
        lines = []
        for param in self._all or _flags_under(self._prefix):
            lines.append(f"{param.fullname} ({param.describe()}) ")
            lines.append(f"    Doc:  {param.doc}")
            lines.append(f"    Value:  {param.val}")
            lines.append("")
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        from theano.pages import render

        rows = [
            {"name": param.fullname, "value": param.val, "source": flag_source(param.fullname), "doc": param.doc}
            for param in self._all or _flags_under(self._prefix)
        ]
        return render("notebook.html#flags", rows=rows)

    def __reduce__(self) -> tuple:
        return _config_section, (self._prefix,)

    def change_flags(self, args: Mapping | Iterable = (), **kwargs: Any) -> change_flags:
        """Return a context manager (or decorator) that changes flags for a while; see :class:`change_flags`."""
        prefix = self._prefix
        return change_flags({prefix + k: v for k, v in {**dict(args), **kwargs}.items()})


config = TheanoConfigParser()


def _config_section(prefix: str) -> TheanoConfigParser:
    section = config
    for part in prefix.split(".")[:-1]:
        section = getattr(section, part)
    return section


def _flags_under(prefix: str) -> list[ConfigParam]:
    return [p for p in _config_var_list if p.fullname and p.fullname.startswith(prefix)]


def _known_names() -> list[str]:
    return [p.fullname for p in _config_var_list if p.fullname]


def AddConfigVar(name: str, doc: str, configparam: ConfigParam, root: TheanoConfigParser = config, in_c_key: bool = True) -> None:
    """Declare a flag.

    Parameters
    ----------
    name : str
        Its dotted name; the parts before the last are sections, made when they are new.
    doc : str
        What it does.
    configparam : ConfigParam
        Its default and its check.
    root : object
        The configuration or section that `name` starts from.
    in_c_key : bool
        Whether compiled C code depends on it.

    Raises
    ------
    AttributeError
        The name is taken.
    ValueError
        ``THEANO_FLAGS`` or a ``THEANORC`` file gives it a value that is not allowed.

    See Also
    --------
    theano.change_flags : Change flags within a block or during the calls of a function.

    Examples
    --------
    >>> AddConfigVar("mylib.depth", "How deep.", IntParam(3))
    >>> config.mylib.depth
    3
    """
    with _lock:
        *sections, key = name.split(".")
        owner = root
        for part in sections:
            sub = owner._sections.get(part)
            if sub is None:
                if part in owner._params:
                    raise AttributeError(f"{owner._prefix + part!r} is a flag; it cannot hold the flag {name!r}.")
                sub = TheanoConfigParser(f"{owner._prefix}{part}.")
                owner._sections[part] = sub
                owner.__dict__[part] = sub
            owner = sub
        if key in owner._params or key in owner._sections or hasattr(TheanoConfigParser, key):
            raise AttributeError(f"The name {owner._prefix + key!r} is already taken.")
        configparam.fullname = owner._prefix + key
        configparam.doc = doc
        if "in_c_key" not in configparam.__dict__:
            configparam.in_c_key = in_c_key
        configparam._owner = owner
        configparam._key = key
        text, _ = _fetch(configparam.fullname)
        if text is not UNSET or not callable(configparam.default):
            owner.__dict__[key] = configparam._settle()
        # What remains there belongs to no flag.
        THEANO_FLAGS_DICT.pop(configparam.fullname, None)
        owner._params[key] = configparam
        _config_var_list.append(configparam)


def _find_param(name: str) -> ConfigParam:
    owner = config
    *sections, key = name.split(".")
    for part in sections:
        owner = owner._sections.get(part)
        if owner is None:
            break
    param = owner._params.get(key) if owner is not None else None
    if param is None:
        raise AttributeError(f"There is no configuration flag {name!r}.{_suggest(name, _known_names())}")
    return param


def flag_source(name: str) -> str:
    """Say where the value of a flag comes from.

    Parameters
    ----------
    name : str
        The flag's full dotted name.

    Returns
    -------
    str
        ``'default'``, ``'THEANO_FLAGS'``, the path of a configuration file, ``'assignment'`` or ``'change_flags'``.

    Examples
    --------
    >>> from theano import config
    >>> with config.change_flags(optimizer_verbose=True):
    ...     flag_source("optimizer_verbose")
    'change_flags'
    """
    param = _find_param(name)
    if param._active and getattr(_local, "stacks", {}).get(param):
        return "change_flags"
    return param.source


def unknown_flags() -> list[tuple[str, str, str]]:
    """List what the environment or a file sets although no flag has that name.

    Returns
    -------
    list of (name, where it is set, a suggestion)
        One for each of them; the suggestion may be empty.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(THEANO_FLAGS_DICT, flotX="float32"):
    ...     [flag for flag in unknown_flags() if flag[0] == "flotX"]
    [('flotX', 'THEANO_FLAGS', " Did you mean 'floatX'?")]
    """
    known = set(_known_names())
    given = [(k, "THEANO_FLAGS") for k in THEANO_FLAGS_DICT] + [(k, f) for k, (_, f) in THEANORC_DICT.items()]
    return [(k, where, _suggest(k, known)) for k, where in given if k not in known]


def get_config_hash() -> str:
    """Return a digest of the flags that compiled code depends on.

    Examples
    --------
    >>> from theano import config
    >>> before = get_config_hash()
    >>> with config.change_flags(floatX="float32" if config.floatX == "float64" else "float64"):
    ...     get_config_hash() == before
    False
    >>> get_config_hash() == before
    True
    """
    import hashlib

    flags = sorted((p.fullname or "", str(p.val)) for p in _config_var_list if p.in_c_key)
    return hashlib.sha256(repr(flags).encode()).hexdigest()


class change_flags:
    """Change flags within a block or during the calls of a function.

    The change is seen by the thread that makes it only.

    Parameters
    ----------
    args : mapping or iterable of pairs, optional
        Flags and values; the form for dotted names.
    **kwargs
        Flags and values.

    Raises
    ------
    AttributeError
        There is no such flag, or it cannot be modified during the program execution.
    ValueError
        A value is not allowed.

    See Also
    --------
    theano.configparser.AddConfigVar : Declare a flag.

    Examples
    --------
    >>> with change_flags({"scan.allow_gc": True}, floatX="float32"):
    ...     config.floatX
    'float32'
    >>> @change_flags(compute_test_value="off")
    ... def build():
    ...     return config.compute_test_value
    >>> build()
    'off'
    """

    def __init__(self, args: Mapping | Iterable = (), **kwargs: Any):
        confs = {**dict(args), **kwargs}
        self.confs: dict[ConfigParam, Any] = {}
        self._entered: list[list[tuple[ConfigParam, list]]] = []
        for name, value in confs.items():
            param = _find_param(name)
            if not param.allow_override:
                raise AttributeError(
                    f"The configuration flag {name!r} cannot be modified during the program execution (refused value: {value!r})."
                )
            self.confs[param] = param.convert(value)

    def __call__(self, f: Callable) -> Callable:
        pairs = [(p.fullname, v) for p, v in self.confs.items()]

        @functools.wraps(f)
        def with_flags(*args: Any, **kwargs: Any) -> Any:
            with change_flags(pairs):
                return f(*args, **kwargs)

        return with_flags

    def __enter__(self) -> change_flags:
        self._entered.append([(param, param._push(value)) for param, value in self.confs.items()])
        return self

    def __exit__(self, *exc: Any) -> None:
        for param, stack in reversed(self._entered.pop()):
            param._pop(stack)


def flags_as(assigned: Mapping[str, Any]) -> change_flags:
    """Return a context in which the flags are as they were when `assigned_flags` gave `assigned`.

    Parameters
    ----------
    assigned : mapping of str to object
        What it gave.

    Returns
    -------
    context manager
        In it the flags have these values, in this thread.

    Examples
    --------
    >>> from theano import config
    >>> with config.change_flags(floatX="float16"):
    ...     then = assigned_flags()
    >>> with flags_as(then):
    ...     config.floatX
    'float16'
    """
    now = assigned_flags()
    before = {name: assigned[name] if name in assigned else declared_value(name) for name in {**now, **assigned}}
    return change_flags({name: value for name, value in before.items() if name not in now or now[name] is not value})
