"""The C text of a struct that computes a graph, put together from blocks: what programs with linkers of their own use.

A block declares, does something, and cleans up after all blocks that come later; a failure jumps to the label at its clean-up.
A variable makes two blocks: one for the struct, which is set up once, and one for each run. What they hold is said by
policies, functions of the variable, its name and a dictionary of texts. :class:`theano.gof.cc.CLinker` writes the nest
itself, in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano.configdefaults import config
from theano.gof.c_interface import takes

_NO_EXCEPTION = """if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_RuntimeError, "Unexpected error in an Op's C code. No Python exception was set.");
        }"""


class CodeBlock:
    """Code that declares, code that does something, and code that cleans up.

    Parameters
    ----------
    declare, behavior, cleanup : str
    sub : dict
        Its entry ``id`` is the number of the block: the clean-up begins with the label ``__label_<id>``.
    """

    def __init__(self, declare: str, behavior: str, cleanup: str, sub: dict):
        self.declare = declare
        self.behavior = behavior
        # C wants a statement after a label and before the end of a block.
        self.cleanup = f"__label_{sub['id']}:\n{cleanup}\ndouble __DUMMY_{sub['id']};\n"


def failure_code(sub: dict, use_goto: bool = True) -> str:
    """Return the code for ``%(fail)s`` in a run: it notes which block failed, and jumps to its clean-up.

    Parameters
    ----------
    sub : dict
        With ``failure_var``, the variable that is set, and ``id``, the number that it is set to.
    use_goto : bool
        Whether it jumps; else what follows is executed.
    """
    jump = f"goto __label_{sub['id']};" if use_goto else ""
    return f"""{{
        {sub["failure_var"]} = {sub["id"]};
        {_NO_EXCEPTION}
        {jump}}}"""


def failure_code_init(sub: dict) -> str:
    """Return the code for ``%(fail)s`` where the struct is set up: it returns the number of the block, ``sub['id']``."""
    return f"""{{
        {_NO_EXCEPTION}
        return {sub["id"]};}}"""


def code_gen(blocks: Sequence[CodeBlock]) -> str:
    """Return the code of blocks, each within the one before: what they declare, do, and clean up in reverse order."""
    declarations = "".join(block.declare for block in blocks)
    behavior = "".join(f"\n{{\n{block.behavior}" for block in blocks)
    cleanup = "".join(f"{block.cleanup}}}\n" for block in reversed(blocks))
    return declarations + behavior + cleanup


def struct_gen(args: Sequence[str], struct_builders: Sequence[CodeBlock], blocks: Sequence[CodeBlock], sub: dict) -> str:
    """Return a struct with state that computes something.

    Its method ``init`` takes a list of three, in which ``run`` leaves the exception of a failure, and the objects `args`;
    it returns 0 if all went well. ``run`` returns 0 or the number of the block that failed. The destructor cleans up.

    Parameters
    ----------
    args : sequence of str
        Names of the members that hold Python objects: lists of one element, where variables are stored.
    struct_builders : sequence of CodeBlock
        What they declare becomes members, what they do is done by ``init``, and the destructor cleans up.
    blocks : sequence of CodeBlock
        What ``run`` does.
    sub : dict
        With ``name``, that of the struct, and ``failure_var``, the variable of ``run`` that failures set.
    """
    name, failure = sub["name"], sub["failure_var"]
    n = "\n        "
    members = n.join(f"PyObject* {arg};" for arg in args)
    return f"""
namespace {{
struct {name} {{
        PyObject* __ERROR;
        {members}
        {"".join(block.declare for block in struct_builders)}

        {name}() {{
            memset((void*)this, 0, sizeof(*this));
        }}

        ~{name}(void) {{
            cleanup();
        }}

        int init({", ".join(["PyObject* __ERROR", *(f"PyObject* {arg}" for arg in args)])}) {{
        {n.join(f"Py_XINCREF({arg});" for arg in args)}
        {n.join(f"this->{arg} = {arg};" for arg in args)}
        {n.join(block.behavior for block in struct_builders)}
            this->__ERROR = __ERROR;
            return 0;
        }}

        void cleanup(void) {{
        {n.join(block.cleanup for block in struct_builders)}
        {n.join(f"Py_XDECREF(this->{arg});" for arg in args)}
        }}

        int run(void) {{
            int {failure} = 0;
            {code_gen(blocks)}
            if ({failure}) {{
                PyObject* raised[3] = {{NULL, NULL, NULL}};
                PyErr_Fetch(&raised[0], &raised[1], &raised[2]);
                for (int i = 0; i < 3; ++i) {{
                    if (raised[i] == NULL) {{
                        raised[i] = Py_None;
                        Py_INCREF(Py_None);
                    }}
                    PyList_SetItem(__ERROR, i, raised[i]);
                }}
            }}
            return {failure};
        }}
}};
}}
"""


def get_nothing(r: Any, name: str, sub: dict) -> str:
    """Return no code."""
    return ""


def _checked(users: Sequence[Any]) -> bool:
    return any(getattr(op, "check_input", config.check_input) for op in users)


def _clients(r: Any) -> list[Any]:
    return [client.op for client, _ in getattr(r, "clients", ()) if not isinstance(client, str)]


def _with_check(method: Callable, name: str, sub: dict, check: bool) -> str:
    return method(name, sub, check) if takes(method, 3) else method(name, sub)


def get_c_declare(r: Any, name: str, sub: dict) -> str:
    """Return the code that declares a variable: the Python object ``py_<name>``, and what its Type declares."""
    users = [*_clients(r), *([r.owner.op] if r.owner is not None else [])]
    return f"\nPyObject* py_{name};\n{_with_check(r.type.c_declare, name, sub, _checked(users))}"


def get_c_init(r: Any, name: str, sub: dict) -> str:
    """Return the code that makes a variable one without a value; its Python object is None."""
    return f"\npy_{name} = Py_None;\nPy_XINCREF(py_{name});\n{r.type.c_init(name, sub)}"


def _from_storage(name: str, code: str) -> str:
    return f"\npy_{name} = PyList_GET_ITEM(storage_{name}, 0);\nPy_XINCREF(py_{name});\n{code}"


def get_c_extract(r: Any, name: str, sub: dict) -> str:
    """Return the code that takes a variable from its storage."""
    return _from_storage(name, _with_check(r.type.c_extract, name, sub, _checked(_clients(r))))


def get_c_extract_out(r: Any, name: str, sub: dict) -> str:
    """Return the code that takes an output from its storage, or makes it one without a value where None is stored."""
    return _from_storage(name, _with_check(r.type.c_extract_out, name, sub, _checked([r.owner.op])))


def get_c_cleanup(r: Any, name: str, sub: dict) -> str:
    """Return the code that gives up a variable and its Python object."""
    return f"{r.type.c_cleanup(name, sub)}\nPy_XDECREF(py_{name});\n"


def get_c_sync(r: Any, name: str, sub: dict) -> str:
    """Return the code that stores a variable, unless something failed; ``sub['failure_var']`` says so."""
    return f"""
    if (!{sub["failure_var"]}) {{
        {r.type.c_sync(name, sub)}
        PyObject* old = PyList_GET_ITEM(storage_{name}, 0);
        Py_XINCREF(py_{name});
        PyList_SET_ITEM(storage_{name}, 0, py_{name});
        Py_XDECREF(old);
    }}
    """


def apply_policy(policy: Any, r: Any, name: str, sub: dict) -> str:
    """Return what a policy, or a sequence of them, says of a variable, one after the other."""
    policies = policy if isinstance(policy, (list, tuple)) else [policy]
    return "".join(one(r, name, sub) for one in policies)


def struct_variable_codeblocks(
    variable: Any, policies: Sequence[Sequence[Any]], id: int, symbol_table: dict, sub: dict
) -> tuple[CodeBlock, CodeBlock]:
    """Return the two blocks of a variable: for the struct, with the number `id`, and for each run, with the next one.

    Parameters
    ----------
    variable : Variable
    policies : pair of triples
        For either block what is declared, done, and cleaned up: functions as :func:`get_c_extract`, or sequences of them.
    id : int
    symbol_table : dict
        The name of the variable, ``V<id>``, is entered, unless it has one.
    sub : dict
        With ``failure_var``.
    """
    name = f"V{id}"
    symbol_table.setdefault(variable, name)
    blocks = []
    for number, fail, policy in ((id, failure_code_init, policies[0]), (id + 1, failure_code, policies[1])):
        texts = {**sub, "id": number, "py_ptr": f"py_{name}", "stor_ptr": f"storage_{name}"}
        texts["fail"] = fail(texts)
        declare, behavior, cleanup = (apply_policy(part, variable, name, texts) for part in policy)
        blocks.append(CodeBlock(declare, behavior, cleanup, texts))
    return blocks[0], blocks[1]
