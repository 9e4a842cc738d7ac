"""What an engine gives to the layers that do not know it: its linkers, its thunks, the base class of functions."""

from __future__ import annotations

from typing import Any

#: The linkers that modes can take by name; whoever defines one puts it here.
linkers: dict[str, Any] = {}


class PythonCall:
    """The base class of functions where there is no engine: every call takes the Python path.

    `theano.native.fastcall` tells what the engine's class does.
    """

    _fast_program: Any = None

    def _fast_bind(
        self,
        program: Any,
        positions: tuple[int, ...] = (),
        n_outputs: int = 0,
        single: bool | None = False,
        float_downcast: tuple[bool, ...] = (),
        lists: tuple[tuple[int, int, int, int] | None, ...] = (),
    ) -> None:
        self._fast_program = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._slow_call(*args, **kwargs)

    def _slow_call(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a subclass defines _slow_call")


class Engine:
    """Computes nodes other than by their `perform`; this one, of no engine, computes none.

    Attributes
    ----------
    function_base : type
        The base class of compiled functions.
    """

    function_base: type = PythonCall

    def has_form(self, op: Any) -> bool:
        """Return whether the engine knows the Op."""
        return False

    def node_thunk(self, node: Any, storage_map: dict, compute_map: dict) -> Any:
        """Return a thunk of one node, or None where the engine does not run."""
        return None


#: The engine in use, which registers itself by `use`.
current = Engine()


def use(engine: Engine) -> None:
    """Take an engine for the current one."""
    global current
    current = engine
