"""Enumerations of constants as parameters of Ops."""

from __future__ import annotations

import re
from typing import Any

from theano.configdefaults import config
from theano.gof.type import Type

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*\Z")


class EnumType(Type):
    """An enumeration of named constants, for parameters of Ops.

    The constants are attributes in Python and macros in C.

    Parameters
    ----------
    **kwargs
        Constants: a number, or a pair of an alias and a number.  Names start with a capital letter and have
        capital letters, digits and underscores.  Further, `ctype` is the C type (``double`` by default) and `cname`
        an identifier for the enumeration in C (the C type by default).

    Raises
    ------
    AttributeError
        The name of a constant is not allowed.
    TypeError
        A value is no number, or an alias no text.

    See Also
    --------
    theano.tensor.nnet.corr.EnumList : An enumeration that numbers its constants from 0.
    theano.tensor.nnet.corr.ParamsType : A type that puts several types together, for the parameters of an Op.
    theano.gof.CEnumType : An enumeration of constants that are defined in C.

    Examples
    --------
    >>> enum = EnumType(A=("alpha", 1), B=2, ctype="int")
    >>> enum.A, enum.fromalias("alpha"), enum.fromalias("B"), enum.filter("alpha")
    (1, 1, 2, 1)
    """

    def __init__(self, **kwargs: Any):
        self.ctype = kwargs.pop("ctype", "double")
        self.cname = kwargs.pop("cname", None) or "_".join(str(self.ctype).split())
        if not isinstance(self.ctype, str):
            raise TypeError(f"{type(self).__name__}: ctype must be a string, not {self.ctype!r}")
        if not isinstance(self.cname, str) or not _IDENTIFIER.match(self.cname):
            raise TypeError(f"{type(self).__name__}: cname must be a C identifier, not {self.cname!r}")
        self._aliases: dict[str, str] = {}
        values = {}
        for name, value in kwargs.items():
            self._check_name(name)
            if isinstance(value, tuple):
                if len(value) != 2:
                    raise TypeError(f"{type(self).__name__}: {name} must be a number or a pair (alias, number)")
                alias, value = value
                self._add_alias(alias, name)
            if isinstance(value, bool):
                value = int(value)
            if not isinstance(value, (int, float)):
                raise TypeError(f"{type(self).__name__}: constant {name!r} must be a number, not {value!r}")
            values[name] = value
        for alias, name in self._aliases.items():
            if alias in values:
                raise TypeError(f"{type(self).__name__}: the alias {alias!r} of {name} is the name of a constant")
        self._values: dict[str, Any] = values
        self.aliases = self._aliases

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not _CONSTANT.match(name):
            raise AttributeError(
                f"{type(self).__name__}: the constant name {name!r} must start with a capital letter and contain "
                "capital letters, underscores or digits."
            )

    def _add_alias(self, alias: Any, name: str) -> None:
        if not isinstance(alias, str):
            raise TypeError(f"{type(self).__name__}: the alias {alias!r} of {name} must be a string")
        if alias in self._aliases:
            raise TypeError(f"{type(self).__name__}: the alias {alias!r} is given twice")
        self._aliases[alias] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"{type(self).__name__} has no constant {name!r}")
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def keys(self) -> Any:
        """Return the names of the constants."""
        return self._values.keys()

    def values(self) -> Any:
        """Return the values of the constants."""
        return self._values.values()

    def items(self) -> Any:
        """Return pairs of name and value."""
        return self._values.items()

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a constant, or `default`."""
        return self._values.get(name, default)

    def _key(self) -> tuple:
        return (self.ctype, self.cname, tuple(sorted(self._values.items())), tuple(sorted(self._aliases.items())))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        names = {name: alias for alias, name in self._aliases.items()}
        constants = ", ".join(f"{k}({names[k]}):{v}" if k in names else f"{k}:{v}" for k, v in sorted(self._values.items()))
        return f"{type(self).__name__}<{self.ctype}>({constants})"

    __str__ = __repr__

    def fromalias(self, alias: str) -> Any:
        """Return the value of the constant that has an alias, or else of the constant of that name.

        Parameters
        ----------
        alias : str

        Raises
        ------
        AttributeError
            There is neither.
        """
        return getattr(self, self._aliases.get(alias, alias))

    def has_alias(self, alias: str) -> bool:
        """Return whether a constant has this alias."""
        return alias in self._aliases

    def get_aliases(self) -> tuple:
        """Return the sorted tuple of all aliases."""
        return tuple(sorted(self._aliases))

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return the value of a constant, given it, or (if not `strict`) the constant's name or alias.

        Raises
        ------
        TypeError, ValueError
            It is none of these.
        """
        if not strict and isinstance(data, bool):
            data = int(data)
        if not strict and isinstance(data, str):
            data = self.fromalias(data)
        if isinstance(data, str) or data not in self._values.values():
            raise ValueError(f"{type(self).__name__}: {data!r} is not among the values {list(self._values.values())}")
        return data

    def values_eq(self, a: Any, b: Any) -> bool:  # type: ignore[override]
        """Return whether two values are equal."""
        return a == b

    def values_eq_approx(self, a: Any, b: Any) -> bool:  # type: ignore[override]
        """Return whether two values are equal, to the precision of floating-point numbers."""
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return abs(a - b) <= 1e-5 * max(abs(a), abs(b), 1e-300)

    def pyint_compat_code(self) -> str:
        """Return C code that integers need in some versions of Python: none any more."""
        return ""

    def c_to_string(self) -> str:
        """Return the C code of ``int theano_enum_to_string_<cname>(<ctype> value, char* output_string)``.

        That function writes the name of a value, or sets a ValueError and returns something else than 0.
        """
        cases = "\n".join(
            f'    if (value == {name}) {{ sprintf(output_string, "{name}"); return 0; }}' for name in sorted(self._values)
        )
        return (
            f"int theano_enum_to_string_{self.cname}({self.ctype} value, char* output_string) {{\n{cases}\n"
            f'    PyErr_SetString(PyExc_ValueError, "{type(self).__name__}: unknown enum value.");\n'
            "    return 1;\n}\n"
        )

    def _defines(self) -> str:
        return "".join(f"#define {name} {value!r}\n" for name, value in sorted(self._values.items()))

    def c_support_code(self) -> str:
        code = self.pyint_compat_code() + self._defines()
        return code + self.c_to_string() if config.cmodule.debug else code

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"{self.ctype} {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = ({self.ctype})0;"

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return ""

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        return f"""
        if (PyLong_Check(py_{name})) {{
            {name} = ({self.ctype})PyLong_AsLong(py_{name});
        }} else if (PyFloat_Check(py_{name})) {{
            {name} = ({self.ctype})PyFloat_AsDouble(py_{name});
        }} else {{
            PyErr_SetString(PyExc_TypeError, "{type(self).__name__}: an integer or a float is needed.");
            {sub["fail"]}
        }}
        if (PyErr_Occurred()) {{
            {sub["fail"]}
        }}
        """

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return ""

    def c_code_cache_version(self) -> tuple:
        return (2, self.ctype, self.cname, tuple(sorted(self._values.items())))

    def __reduce__(self) -> tuple:
        return _new_enum, (type(self), dict(self.__dict__))


def _new_enum(cls: Any, state: dict) -> Any:
    new = cls.__new__(cls)
    new.__dict__.update(state)
    return new


class EnumList(EnumType):
    """An enumeration that numbers its constants from 0.

    Parameters
    ----------
    *args : str or (str, str)
        Names, or pairs of a name and an alias.
    **kwargs
        `ctype` (``int`` by default) and `cname`.

    Raises
    ------
    AttributeError, TypeError
        A name is not allowed or comes twice.

    See Also
    --------
    theano.tensor.nnet.corr.ParamsType : A type that puts several types together, for the parameters of an Op.
    theano.gof.EnumType : An enumeration of named constants, for parameters of Ops.
    theano.gof.CEnumType : An enumeration of constants that are defined in C.

    Examples
    --------
    >>> enum = EnumList(("A", "alpha"), "B", "C")
    >>> enum.A, enum.B, enum.C, enum.fromalias("alpha")
    (0, 1, 2, 0)
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if not kwargs.keys() <= {"ctype", "cname"}:
            raise TypeError(f"{type(self).__name__}: expected only the keywords ctype and cname, got {list(kwargs)}")
        constants: dict[str, Any] = {}
        for value, arg in enumerate(args):
            name, alias = arg if isinstance(arg, (list, tuple)) and len(arg) == 2 else (arg, None)
            if not isinstance(name, str):
                raise TypeError(f"{type(self).__name__}: constants must be names or pairs (name, alias), not {arg!r}")
            if name in constants:
                raise AttributeError(f"{type(self).__name__}: the constant {name!r} is given twice")
            constants[name] = value if alias is None else (alias, value)
        super().__init__(**{"ctype": "int", **kwargs}, **constants)


class CEnumType(EnumList):
    """An enumeration of constants that are defined in C.

    In Python the values are arbitrary: they only tell the constants apart.  In C a parameter has the value that
    is defined there.

    Parameters
    ----------
    *args : str or (str, str)
        Names of C constants, or pairs of a name and an alias.
    **kwargs
        `ctype` (``int`` by default) and `cname`.

    See Also
    --------
    theano.gof.EnumType : An enumeration of named constants, for parameters of Ops.
    theano.tensor.nnet.corr.EnumList : An enumeration that numbers its constants from 0.

    Examples
    --------
    >>> whence = CEnumType("SEEK_SET", ("SEEK_END", "end"), ctype="int")
    >>> whence.fromalias("end") == whence.SEEK_END
    True
    >>> print(whence.c_extract("mode", {"fail": "goto fail;"}).splitlines()[2].strip())
    case 0: mode = SEEK_SET; break;
    """

    def _defines(self) -> str:
        return ""

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        cases = "\n".join(f"            case {value}: {name} = {constant}; break;" for constant, value in self._values.items())
        return f"""
        switch (PyLong_AsLong(py_{name})) {{
{cases}
            default:
                if (!PyErr_Occurred())
                    PyErr_SetString(PyExc_ValueError, "{type(self).__name__}: invalid value.");
                {{
                    {sub["fail"]}
                }}
                break;
        }}
        """

    def c_code_cache_version(self) -> tuple:
        return (1, *super().c_code_cache_version())
