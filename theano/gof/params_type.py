"""Several parameters of an Op as one: an object with attributes in Python, a struct in C."""

from __future__ import annotations

import re
from typing import Any

from theano.gof.type import EnumType, Type
from theano.gof.utils import MethodNotDefined

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

_KEYWORDS = """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch
    char char16_t char32_t class compl concept const constexpr const_cast continue decltype default delete do double
    dynamic_cast else enum explicit export extern false final float for friend goto if import inline int long module
    mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch synchronized
    template this thread_local throw transaction_safe transaction_safe_dynamic true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq _Pragma
"""
c_cpp_keywords = frozenset(_KEYWORDS.split())


class Params(dict):
    """The values of an Op's parameters, as attributes.

    Parameters
    ----------
    params_type : ParamsType
        What parameters there are.
    **kwargs
        A value for each field of the type.

    Raises
    ------
    TypeError
        A field has no value, or there is a value without a field.

    See Also
    --------
    theano.tensor.nnet.corr.ParamsType : A type that puts several types together, for the parameters of an Op.

    Examples
    --------
    >>> import theano.scalar
    >>> layout = ParamsType(stride=theano.scalar.int64, scale=theano.scalar.float64)
    >>> params = Params(layout, stride=2, scale=0.5)
    >>> params.stride, params.scale, params == Params(layout, stride=2, scale=0.5)
    (2, 0.5, True)
    >>> params.stride = 3
    Traceback (most recent call last):
        ...
    NotImplementedError: Params is immutable
    """

    def __init__(self, params_type: ParamsType, **kwargs: Any):
        if not isinstance(params_type, ParamsType):
            raise TypeError(f"params_type must be a ParamsType, not {params_type!r}")
        for field in params_type.fields:
            if field not in kwargs:
                raise TypeError(f'Params: missing attribute "{field}" in keyword arguments.')
        extra = set(kwargs) - set(params_type.fields)
        if extra:
            raise TypeError(f"Params: no such fields: {', '.join(sorted(extra))}")
        super().__init__(**kwargs)
        self.__dict__["__params_type__"] = params_type
        self.__dict__["__signatures__"] = None

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}:{type(self[k]).__name__}:{self[k]}" for k in sorted(self))
        return f"Params({fields})"

    __str__ = __repr__

    def __getattr__(self, key: str) -> Any:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f'Params: attribute "{key}" does not exist.') from None

    def __setattr__(self, key: str, value: Any) -> None:
        raise NotImplementedError("Params is immutable")

    def __setitem__(self, key: str, value: Any) -> None:
        raise NotImplementedError("Params is immutable")

    def __delitem__(self, key: str) -> None:
        raise NotImplementedError("Params is immutable")

    def __delattr__(self, key: str) -> None:
        raise NotImplementedError("Params is immutable")

    def __signature(self) -> tuple:
        signature = self.__dict__["__signatures__"]
        if signature is None:
            params_type = self.__dict__["__params_type__"]
            signature = tuple(_signature(t, self[f]) for f, t in zip(params_type.fields, params_type.types, strict=True))
            self.__dict__["__signatures__"] = signature
        return signature

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((type(self), self.__dict__["__params_type__"], self.__signature()))

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self.__dict__["__params_type__"] == other.__dict__["__params_type__"]
            and self.__signature() == other.__signature()
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> tuple:
        return _new_params, (self.__dict__["__params_type__"], dict(self))


def _new_params(params_type: ParamsType, values: dict) -> Params:
    return Params(params_type, **values)


def _signature(type_: Any, value: Any) -> Any:
    # Equal for equal values, and hashable whatever the value is.
    constant = getattr(type_, "make_constant", None)
    if constant is not None:
        try:
            signature = constant(value).signature()
            hash(signature)
            return signature
        except Exception:
            pass
    tobytes = getattr(value, "tobytes", None)
    if tobytes is not None:
        return (type_, getattr(value, "shape", None), str(getattr(value, "dtype", "")), tobytes())
    return (type_, value)


class ParamsType(Type):
    """A type that puts several types together, for the parameters of an Op.

    Parameters
    ----------
    **kwargs : Type
        The fields.  Names must be C identifiers.

    Raises
    ------
    TypeError, AttributeError
        There is no field, a name is not allowed, or a field is no Type.
    AttributeError
        Two enumerations have a constant in common.

    See Also
    --------
    theano.gof.EnumType : An enumeration of named constants, for parameters of Ops.
    theano.tensor.nnet.corr.EnumList : An enumeration that numbers its constants from 0.
    theano.gof.Params : The values of an Op's parameters, as attributes.

    Examples
    --------
    >>> from theano import scalar
    >>> params = ParamsType(step=scalar.int64, scale=scalar.float64)
    >>> given = params.get_params(step=2, scale=0.5)
    >>> int(given.step), float(given.scale)
    (2, 0.5)
    >>> params.get_field(scalar.float64)
    'scale'
    """

    def __init__(self, **kwargs: Any):
        if not kwargs:
            raise TypeError("Cannot create ParamsType from empty data.")
        for name, type_ in kwargs.items():
            if not _IDENTIFIER.match(name):
                raise AttributeError(f'ParamsType: attribute "{name}" should be a valid identifier.')
            if name in c_cpp_keywords:
                raise SyntaxError(f'ParamsType: "{name}" is a potential C/C++ keyword and should not be used.')
            if not isinstance(type_, Type):
                raise TypeError(f'ParamsType: attribute "{name}" should inherit from Theano Type, got "{type(type_).__name__}".')
        self.length = len(kwargs)
        self.fields = tuple(sorted(kwargs))
        self.types = tuple(kwargs[field] for field in self.fields)
        self.name = self.generate_struct_name()
        constants: dict[str, str] = {}
        aliases: dict[str, str] = {}
        for field, enum in self._enums():
            for seen, names, what in ((constants, enum, "constant"), (aliases, enum.get_aliases(), "alias")):
                for name in names:
                    if name in seen:
                        raise AttributeError(
                            f'ParamsType: found different enum types with common {what} "{name}": fields '
                            f'"{seen[name]}" and "{field}".'
                        )
                    seen[name] = field
        clash = set(constants) & set(self.fields)
        if clash:
            raise AttributeError(f"ParamsType: fields and constants have names in common: {', '.join(sorted(clash))}")
        self._const_to_enum = constants
        self._alias_to_enum = aliases

    def _enums(self) -> list[tuple[str, EnumType]]:
        return [(f, t) for f, t in zip(self.fields, self.types, strict=True) if isinstance(t, EnumType)]

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)

    def __getattr__(self, key: str) -> Any:
        # Only constants of enumerations get here.
        if not key.startswith("_") and key in self.__dict__.get("_const_to_enum", ()):
            return self.get_type(self._const_to_enum[key])[key]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")

    def __repr__(self) -> str:
        return f"ParamsType<{', '.join(f'{f}:{t}' for f, t in zip(self.fields, self.types, strict=True))}>"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.fields == other.fields and self.types == other.types

    def __hash__(self) -> int:
        return hash((type(self), self.fields, self.types))

    def generate_struct_name(self) -> str:
        """Return the name of the C struct: a digest of fields and types."""
        import hashlib

        text = ",".join(f"{f}:{t!r}" for f, t in zip(self.fields, self.types, strict=True))
        return f"_Params_{hashlib.sha256(text.encode()).hexdigest()[:32]}_{self.length}"

    def has_type(self, theano_type: Any) -> bool:
        """Return whether a field has this type."""
        return theano_type in self.types

    def get_type(self, field_name: str) -> Any:
        """Return the type of a field.

        Raises
        ------
        ValueError
            There is no such field.
        """
        return self.types[self.fields.index(field_name)] if field_name in self.fields else self._no_field(field_name)

    def _no_field(self, field_name: str) -> Any:
        raise ValueError(f'ParamsType: no field "{field_name}"; there are {", ".join(self.fields)}')

    def get_field(self, theano_type: Any) -> str:
        """Return the first field, in lexicographic order, that has a type.

        Raises
        ------
        ValueError
            There is none.
        """
        return self.fields[self.types.index(theano_type)]

    def get_enum(self, key: str) -> Any:
        """Return the value of a constant of one of the enumerations.

        Raises
        ------
        AttributeError
            There is no such constant.
        """
        if key not in self._const_to_enum:
            raise AttributeError(f'ParamsType: no enumeration has a constant "{key}"')
        return self.get_type(self._const_to_enum[key])[key]

    def enum_from_alias(self, alias: str) -> Any:
        """Return the value of the constant that has an alias, or else of the constant of that name.

        Raises
        ------
        AttributeError
            There is neither.
        """
        if alias in self._alias_to_enum:
            return self.get_type(self._alias_to_enum[alias]).fromalias(alias)
        return self.get_enum(alias)

    def get_params(self, *objects: Any, **kwargs: Any) -> Params:
        """Collect the values of the fields.

        Parameters
        ----------
        *objects
            Objects whose attributes are looked at, a later one before an earlier one.
        **kwargs
            Values that come before those of the objects.

        Returns
        -------
        Params

        Raises
        ------
        TypeError
            A field has no value, or one that does not fit its type.
        """
        values = {}
        for field in self.fields:
            for obj in objects:
                try:
                    values[field] = getattr(obj, field)
                except AttributeError:
                    pass
        values.update(kwargs)
        return self.filter(Params(self, **values), strict=False, allow_downcast=True)

    def extended(self, **kwargs: Any) -> ParamsType:
        """Return a type with further fields.

        Parameters
        ----------
        **kwargs : Type
        """
        return type(self)(**dict(zip(self.fields, self.types, strict=True), **kwargs))

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Params:
        """Return `data` with each value filtered by its field's type."""
        if not isinstance(data, Params):
            raise TypeError(f"ParamsType: expected a Params, got {type(data).__name__}")
        if strict and data.__dict__["__params_type__"] != self:
            raise TypeError("ParamsType: the Params are of another type")
        values = {}
        same = True
        for field, type_ in zip(self.fields, self.types, strict=True):
            if field not in data:
                raise TypeError(f'ParamsType: the Params have no field "{field}"')
            old = data[field]
            try:
                values[field] = type_.filter(old, strict, allow_downcast)
            except (TypeError, ValueError) as e:
                raise TypeError(f'ParamsType: field "{field}": {e}') from None
            same = same and values[field] is old
        return data if strict or (same and data.__dict__["__params_type__"] == self) else Params(self, **values)

    def values_eq(self, a: Any, b: Any) -> bool:  # type: ignore[override]
        """Return whether all fields are equal."""
        return all(t.values_eq(a[f], b[f]) for f, t in zip(self.fields, self.types, strict=True))

    def values_eq_approx(self, a: Any, b: Any) -> bool:  # type: ignore[override]
        """Return whether all fields are equal but for rounding."""
        return all(t.values_eq_approx(a[f], b[f]) for f, t in zip(self.fields, self.types, strict=True))

    def _gather(self, method: str, *args: Any) -> list:
        found = []
        for type_ in self.types:
            try:
                result = getattr(type_, method)(*args)
            except (MethodNotDefined, AttributeError):
                continue
            found += [result] if isinstance(result, str) else list(result)
        return list(dict.fromkeys(found))

    def c_compile_args(self, c_compiler: Any = None) -> list:
        return self._gather("c_compile_args")

    def c_no_compile_args(self, c_compiler: Any = None) -> list:
        return self._gather("c_no_compile_args")

    def c_headers(self, c_compiler: Any = None) -> list:
        return self._gather("c_headers")

    def c_libraries(self, c_compiler: Any = None) -> list:
        return self._gather("c_libraries")

    def c_header_dirs(self, c_compiler: Any = None) -> list:
        return self._gather("c_header_dirs")

    def c_lib_dirs(self, c_compiler: Any = None) -> list:
        return self._gather("c_lib_dirs")

    def c_init_code(self) -> list:
        return self._gather("c_init_code")

    def c_support_code(self) -> list:
        sub = {"fail": "{this->setErrorOccurred(); return;}"}
        declare, init, extract, cleanup = [], [], [], []
        for field, type_ in zip(self.fields, self.types, strict=True):
            declare.append(type_.c_declare(field, sub))
            init.append(type_.c_init(field, sub))
            cleanup.append(type_.c_cleanup(field, sub))
            extract.append(f"void extract_{field}(PyObject* py_{field}) {{\n{type_.c_extract(field, sub)}\n}}")
        cases = "\n".join(f"            case {i}: extract_{f}(object); break;" for i, f in enumerate(self.fields))
        nl = "\n"
        struct = f"""
        #ifndef THEANO_{self.name}
        #define THEANO_{self.name}
        struct {self.name} {{
            int theano_error_occurred;
            {nl.join(declare)}
            {self.name}() {{
                theano_error_occurred = 0;
                {nl.join(init)}
            }}
            ~{self.name}() {{ cleanup(); }}
            void cleanup() {{
                {nl.join(cleanup)}
            }}
            {nl.join(extract)}
            void extract(PyObject* object, int field) {{
                switch (field) {{
        {cases}
                    default:
                        PyErr_Format(PyExc_TypeError, "ParamsType: no extraction for field %d.", field);
                        this->setErrorOccurred();
                        break;
                }}
            }}
            void setErrorOccurred() {{ ++theano_error_occurred; }}
            int errorOccurred() {{ return theano_error_occurred; }}
        }};
        #endif
        """
        return [*self._gather("c_support_code"), struct]

    def c_code_cache_version(self) -> tuple:
        return ((1, 9), self.fields, tuple(t.c_code_cache_version() for t in self.types))

    def c_declare(self, name: str, sub: dict[str, str], check_input: bool = True) -> str:
        return f"struct {self.name}* {name};"

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return f"{name} = NULL;"

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return f"delete {name};\n{name} = NULL;"

    def c_extract(self, name: str, sub: dict[str, str], check_input: bool = True, **kwargs: Any) -> str:
        fields = ", ".join(f'"{field}"' for field in self.fields)
        return f"""
        {{
            const char* theano_fields[] = {{{fields}}};
            if (py_{name} == Py_None) {{
                PyErr_SetString(PyExc_ValueError, "ParamsType: expected an object, not None.");
                {sub["fail"]}
            }}
            {name} = new {self.name};
            for (int i = 0; i < {self.length}; ++i) {{
                PyObject* o = PyDict_GetItemString(py_{name}, theano_fields[i]);
                if (o == NULL) {{
                    PyErr_Format(PyExc_TypeError, "ParamsType: missing expected attribute \\"%s\\" in object.",
                                 theano_fields[i]);
                    {sub["fail"]}
                }}
                {name}->extract(o, i);
                if ({name}->errorOccurred()) {{
                    {sub["fail"]}
                }}
            }}
        }}
        """

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        # Parameters are only read by C code.
        return ""
