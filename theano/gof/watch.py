"""The linker of modes that look at values between nodes."""

from __future__ import annotations

from typing import Any

from theano.gof import engine
from theano.gof.vm import VM_Linker


class WatchingLinker(VM_Linker):
    """Runs node by node like :class:`VM_Linker`, but each node natively where it has a native form."""

    def _node_thunk(self, node: Any, storage_map: dict, compute_map: dict, no_recycling: list) -> Any:
        thunk = engine.current.node_thunk(node, storage_map, compute_map)
        return super()._node_thunk(node, storage_map, compute_map, no_recycling) if thunk is None else thunk
