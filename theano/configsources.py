"""What the environment and the configuration files say of Theano's flags: ``THEANO_FLAGS`` and the files of ``THEANORC``.

Both are read once, when this module is imported; nothing here knows which flags there are.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any


class TheanoConfigWarning(Warning):
    """Something in ``THEANO_FLAGS`` or in a ``.theanorc`` file has no effect.

    Examples
    --------
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", TheanoConfigWarning)
    ...     TheanoConfigWarning.warn("flotX: there is no such flag")
    Traceback (most recent call last):
        ...
    theano.configsources.TheanoConfigWarning: flotX: there is no such flag
    """

    @classmethod
    def warn(cls, message: str, stacklevel: int = 0) -> None:
        """Issue `message` as a warning of this class."""
        warnings.warn(message, cls, stacklevel=stacklevel + 3)


UNSET: Any = object()


def _split_flags(text: str) -> list[str]:
    # A comma inside quotes belongs to the value; a quote that is never closed is an ordinary character, so that a
    # path such as /home/o'neil needs no escaping.
    parts: list[str] = []
    current: list[str] = []
    i, n = 0, len(text)
    while i < n:
        c = text[i]
        if c == "\\" and i + 1 < n and text[i + 1] in ",\"'":
            current.append(text[i + 1])
            i += 2
            continue
        if c in "\"'" and (not current or current[-1] in "= "):
            end = text.find(c, i + 1)
            if end >= 0:
                current.append(text[i + 1 : end])
                i = end + 1
                continue
        if c == ",":
            parts.append("".join(current))
            current = []
        else:
            current.append(c)
        i += 1
    parts.append("".join(current))
    return [p.strip() for p in parts if p.strip()]


def parse_config_string(config_string: str, issue_warnings: bool = True) -> dict[str, str]:
    """Parse the comma-separated ``key=value`` pairs of ``THEANO_FLAGS``.

    Parameters
    ----------
    config_string : str
        The text.  Of a key that comes several times the right-most value counts.
    issue_warnings : bool
        Whether a piece without ``=`` is warned about; it is skipped in any case.

    Returns
    -------
    dict
        From flag name to the text of its value.

    Examples
    --------
    >>> parse_config_string("floatX=float32,scan.allow_gc=True,floatX=float64")
    {'floatX': 'float64', 'scan.allow_gc': 'True'}
    """
    result: dict[str, str] = {}
    for piece in _split_flags(config_string):
        key, sep, value = piece.partition("=")
        if not sep:
            if issue_warnings:
                TheanoConfigWarning.warn(f"THEANO_FLAGS: {piece!r} is not of the form name=value; it is ignored", 1)
            continue
        result[key.strip()] = value.strip()
    return result


def config_files_from_theanorc() -> list[str]:
    """Return the paths that ``THEANORC`` names, or the default ones; later files win.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, THEANORC=os.pathsep.join(["/etc/theanorc", "project.cfg"])):
    ...     config_files_from_theanorc()
    ['/etc/theanorc', 'project.cfg']
    """
    default = os.pathsep.join(["~/.theanorc", "~/.theanorc.txt"] if sys.platform == "win32" else ["~/.theanorc"])
    paths = os.environ.get("THEANORC", default).split(os.pathsep)
    return [os.path.expanduser(p) for p in paths if p]


def _read_theanorc() -> dict[str, tuple[str, str]]:
    # full name -> (value, file).  The parser of the standard library is imported only when there is a file.
    found: dict[str, tuple[str, str]] = {}
    names = config_files_from_theanorc()
    files = [f for f in names if os.path.isfile(f)]
    if "THEANORC" in os.environ:
        for path in names:
            # A device such as /dev/null is a way to say that there is none.
            if not os.path.exists(path):
                TheanoConfigWarning.warn(f"THEANORC names {path}, which does not exist; it is ignored", 1)
    if not files:
        return found
    from configparser import ConfigParser, Error

    words = {k: os.environ.get(k, "") for k in ("USER", "LSCRATCH", "TMPDIR", "TEMP", "TMP")}
    words["PID"] = str(os.getpid())
    for path in files:
        parser = ConfigParser(strict=False, allow_no_value=True, defaults=None, interpolation=None)
        parser.optionxform = str  # type: ignore[method-assign, assignment]
        try:
            parser.read(path, encoding="utf-8")
        except (Error, UnicodeDecodeError, OSError) as e:
            TheanoConfigWarning.warn(f"{path}: cannot be read as a configuration file and is ignored: {e}", 1)
            continue
        for section in parser.sections():
            for key, value in parser.items(section):
                if value is None:
                    TheanoConfigWarning.warn(f"{path}: [{section}] {key} has no value; it is ignored", 1)
                    continue
                name = key if section == "global" else f"{section}.{key}"
                if name != "compiledir_format":
                    for word, text in words.items():
                        value = value.replace(f"%({word})s", text)
                found[name] = (value.strip(), path)
    return found


THEANO_FLAGS = os.environ.get("THEANO_FLAGS", "")
THEANO_FLAGS_DICT = parse_config_string(THEANO_FLAGS)
config_files = config_files_from_theanorc()
THEANORC_DICT = _read_theanorc()


def fetch(key: str) -> tuple[Any, str]:
    if key in THEANO_FLAGS_DICT:
        return THEANO_FLAGS_DICT[key], "THEANO_FLAGS"
    if key in THEANORC_DICT:
        return THEANORC_DICT[key]
    return UNSET, "default"


def fetch_val_for_key(key: str, delete_key: bool = False) -> str:
    """Return the text that ``THEANO_FLAGS`` or a ``THEANORC`` file gives for a flag.

    Parameters
    ----------
    key : str
        The flag's full dotted name.
    delete_key : bool
        Whether to forget the text afterwards.

    Raises
    ------
    KeyError
        Neither gives it a value.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(THEANO_FLAGS_DICT, floatX="float32"):
    ...     fetch_val_for_key("floatX")
    'float32'
    >>> fetch_val_for_key("my_project.rate")
    Traceback (most recent call last):
        ...
    KeyError: 'my_project.rate'
    """
    value, _ = fetch(key)
    if value is UNSET:
        raise KeyError(key)
    if delete_key:
        THEANO_FLAGS_DICT.pop(key, None)
        THEANORC_DICT.pop(key, None)
    return value
