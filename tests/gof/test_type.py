import copy
import pickle

import pytest

import theano
from theano.gof import CEnumType, EnumList, EnumType, Params, ParamsType, Type, generic
from theano.gof.null_type import NullType, null_type
from theano.gof.type import CDataType, Generic, SingletonType
from theano.gof.utils import MethodNotDefined

from .toys import number


def test_types_make_variables_and_filter_values():
    x = number("x")
    assert x.type is number and x.name == "x" and number.make_variable("y").name == "y"
    assert number.filter(3) == 3.0 and number.is_valid_value(3.0) and not number.is_valid_value(3)
    assert number.filter_variable(x) is x
    assert number.filter_variable(3).data == 3.0
    assert number.values_eq(1.0, 1.0) and number.values_eq_approx(1.0, 1.0)
    assert isinstance(number.value_validity_msg(3), str)
    with pytest.raises(TypeError, match="You can try to manually convert"):
        number.filter_variable(generic("g"))
    with pytest.raises(MethodNotDefined):
        Type().filter(1)


def test_methods_may_be_put_on_an_instance():
    even = Type()
    even.filter = lambda data, strict=False, allow_downcast=None: data
    assert even.is_valid_value(3) and even("x").type is even


def test_singletons_are_equal_by_class():
    class A(SingletonType):
        pass

    class B(A):
        pass

    assert A() is A() and A() == A() and A() != B() and hash(A()) == hash(A()) and str(B()) == "B"
    assert Generic() is generic and pickle.loads(pickle.dumps(generic)) == generic
    assert copy.deepcopy(number) is number


def test_generic_takes_anything():
    value = object()
    assert generic.filter(value, strict=True) is value and generic.is_valid_value(None)
    assert "py_v" in generic.c_extract("v", {"fail": ""}) and generic.c_code_cache_version()


def test_null_type_has_no_values():
    with pytest.raises(ValueError):
        null_type.filter(0)
    with pytest.raises(ValueError):
        null_type.filter_variable(number("x"))
    assert NullType("why") == null_type and NullType("why").why_null == "why" and hash(NullType()) == hash(null_type)


def test_c_interface_defaults():
    t = Type()
    sub = {"fail": "return 1;"}
    for name in ("c_declare", "c_init", "c_extract", "c_cleanup", "c_sync"):
        with pytest.raises(MethodNotDefined):
            getattr(t, name)("x", sub)
    assert t.c_is_simple() is False and t.c_code_cache_version() == ()


def test_c_data_type():
    t = CDataType("void *", "freefunc", headers=["a.h"], version=(3,))
    assert t == CDataType("void *", "freefunc", headers=("a.h",), version=(3,)) != CDataType("void *")
    assert hash(CDataType("int *")) == hash(CDataType("int *")) and t.c_headers() == ("a.h",)
    assert "freefunc" in t.c_sync("v", {}) and t.c_code_cache_version()[-1] == 3
    assert t.filter(None) is None and t.filter(t.make_value(8)) is not None
    with pytest.raises(TypeError):
        t.filter(3)
    with pytest.raises(TypeError):
        CDataType(3)
    assert pickle.loads(pickle.dumps(t)) == t


def test_enum_constants_and_aliases():
    enum = EnumType(A=("alpha", 1), B=2.5, C=True, ctype="unsigned  int")
    assert (enum.A, enum.B, enum.C) == (1, 2.5, 1) and type(enum.C) is int
    assert enum.cname == "unsigned_int" and enum.get_aliases() == ("alpha",) and enum.has_alias("alpha")
    assert enum.fromalias("alpha") == 1 and enum.fromalias("B") == 2.5
    assert enum.filter("alpha") == 1 and enum.filter(True) == 1
    for bad in ("alpha", 7):
        with pytest.raises((TypeError, ValueError)):
            enum.filter(bad, strict=True)
    with pytest.raises(AttributeError):
        enum.nothing  # noqa: B018
    for new in (copy.deepcopy(enum), pickle.loads(pickle.dumps(enum))):
        assert new == enum and hash(new) == hash(enum) and new.A == 1
    with pytest.raises(TypeError, match="name of a constant"):
        EnumType(A=("B", 1), B=2)
    assert "A" in enum and len(enum) == 3 and dict(enum.items())["B"] == 2.5


@pytest.mark.parametrize("bad", ["lower", "Ab", "A b", "1A"])
def test_enum_names(bad):
    with pytest.raises(AttributeError):
        EnumType(**{bad: 1})


def test_enum_refuses_bad_values():
    for kwargs in ({"A": "text"}, {"A": (1, 2)}, {"A": ("a", 1), "B": ("a", 2)}, {"A": 1, "cname": "no name"}):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            EnumType(**kwargs)


def test_enum_list_and_c_enum():
    enum = EnumList(("A", "alpha"), "B", "C")
    assert (enum.A, enum.B, enum.C) == (0, 1, 2) and enum.ctype == "int" and enum.fromalias("alpha") == 0
    for bad in (("a",), ("A", "A"), (1,)):
        with pytest.raises((TypeError, AttributeError)):
            EnumList(*bad)
    assert "#define B 1" in enum.c_support_code()
    c = CEnumType("SIZE_INT", ("SIZE_FLOAT", "f"), ctype="size_t")
    assert c.SIZE_INT != c.SIZE_FLOAT == c.fromalias("f")
    assert "#define" not in c.c_support_code() and "v = SIZE_INT" in c.c_extract("v", {"fail": "F"})
    with theano.config.change_flags({"cmodule.debug": True}):
        assert "theano_enum_to_string_int" in enum.c_support_code()


@pytest.fixture
def both():
    return ParamsType(size=number, letters=EnumList("A", ("B", "beta")), pi=EnumType(PI=3.14))


def test_params_type_fields(both):
    assert both.fields == ("letters", "pi", "size") and both.get_type("size") is number
    assert both.has_type(number) and both.get_field(number) == "size"
    assert both.A == 0 and both.PI == 3.14 == both.get_enum("PI") and both.enum_from_alias("beta") == both.B
    for call in (
        lambda: both.get_enum("NO"),
        lambda: both.enum_from_alias("no"),
        lambda: both.beta,
        lambda: both.get_type("no"),
        lambda: both.get_field(generic),
    ):
        with pytest.raises((AttributeError, ValueError)):
            call()
    for new in (pickle.loads(pickle.dumps(both)), copy.deepcopy(both)):
        assert new == both and hash(new) == hash(both) and new.A == 0


def test_params_type_refuses_bad_fields():
    for kwargs, error in (
        ({}, TypeError),
        ({"a": 3}, TypeError),
        ({"a b": number}, AttributeError),
        ({"while": number}, SyntaxError),
        ({"a": EnumList("A"), "b": EnumList("A", "B")}, AttributeError),
    ):
        with pytest.raises(error):
            ParamsType(**kwargs)


def test_params_are_collected_from_objects(both):
    class Source:
        size = 3
        letters = "beta"

    params = both.get_params(Source(), pi=3.14)
    assert (params.size, params.letters, params.pi) == (3.0, 1, 3.14)
    assert both.get_params(Source(), pi=3.14, size=4).size == 4.0
    with pytest.raises(TypeError):
        both.get_params(Source())
    with pytest.raises(TypeError):
        both.get_params(Source(), pi=1)
    assert params == both.get_params(Source(), pi=3.14) and hash(params) == hash(both.get_params(Source(), pi=3.14))
    assert params != both.get_params(Source(), pi=3.14, size=4)
    with pytest.raises(NotImplementedError):
        params.size = 4
    assert pickle.loads(pickle.dumps(params)) == params
    assert both.filter(params, strict=True) is params


def test_params_need_every_field(both):
    with pytest.raises(TypeError, match="missing attribute"):
        Params(both, size=1)
    with pytest.raises(TypeError):
        Params(both, size=1, letters=0, pi=3.14, more=1)
    with pytest.raises(TypeError):
        both.filter({"size": 1})


def test_params_type_can_be_extended(both):
    longer = both.extended(more=generic)
    assert longer.get_type("more") is generic and longer.A == 0 and not both.has_type(generic)
    assert longer.generate_struct_name() != both.generate_struct_name()


def test_comparing_uses_what_the_type_or_its_class_defines():
    class OfType(Type):
        def values_eq(self, a, b):
            return a[0] == b[0]

    class OfClass(Type):
        @classmethod
        def values_eq(cls, a, b):
            return a[0] == b[0]

    class Static(Type):
        @staticmethod
        def values_eq(a, b):
            return a[0] == b[0]

    for type_ in (OfType(), OfClass(), Static(), OfClass, Static):
        assert type_.values_eq_approx("ab", "ac") and not type_.values_eq_approx("ab", "bb")
    assert Type.values_eq_approx(2, 2.0)
