"""Where the variables of a Scan stand: slices of its outer and inner inputs and outputs.

The order is documented in `theano.scan_module.scan_op`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from theano.gof.graph import Apply

#: The kinds in the order in which they stand, on each of the four sides.
KINDS = {
    "inner_in": ("seqs", "mit_mot", "mit_sot", "sit_sot", "shared", "non_seqs"),
    "inner_out": ("mit_mot", "mit_sot", "sit_sot", "nit_sot", "shared"),
    "outer_in": ("n_steps", "seqs", "mit_mot", "mit_sot", "sit_sot", "shared", "nit_sot", "non_seqs"),
    "outer_out": ("mit_mot", "mit_sot", "sit_sot", "nit_sot", "shared"),
}


def _part(side: str, kind: str) -> Callable[[ScanLayout, Any], list[Any]]:
    """The method that returns the part of the inputs or outputs of a side that is of a kind."""
    at = KINDS[side].index(kind)

    def part(self: ScanLayout, variables: Any) -> list[Any]:
        if isinstance(variables, Apply):
            variables = variables.inputs if side == "outer_in" else variables.outputs
        ends = self._ends[side]
        return list(variables[ends[at - 1] if at else 0 : ends[at] if at < len(ends) else None])

    return part


class ScanLayout:
    """Access to the inputs and outputs of a Scan by their kind.

    Methods named ``inner_...`` take a list of inner inputs or outputs, those named ``outer_...`` a list of outer
    inputs or outputs or the Apply node itself. All return the part of the list that is of the kind.
    """

    n_seqs: int
    n_mit_mot: int
    n_mit_mot_outs: int
    n_mit_sot: int
    n_sit_sot: int
    n_nit_sot: int
    n_shared_outs: int
    as_while: bool
    tap_array: list[list[int]]
    mit_mot_out_slices: list[list[int]]
    inputs: list[Any]
    outputs: list[Any]

    @cached_property
    def _ends(self) -> dict[str, list[int]]:
        """Where the kinds of each side end, but for the non_seqs."""
        counts = {
            "n_steps": 1,
            "seqs": self.n_seqs,
            "mit_mot": self.n_mit_mot,
            "mit_sot": self.n_mit_sot,
            "sit_sot": self.n_sit_sot,
            "nit_sot": self.n_nit_sot,
            "shared": self.n_shared_outs,
        }
        taps = {"mit_mot": sum(map(len, self.mitmot_taps())), "mit_sot": sum(map(len, self.mitsot_taps()))}
        differing = {"inner_in": taps, "inner_out": {"mit_mot": self.n_mit_mot_outs}}
        ends: dict[str, list[int]] = {}
        for side, kinds in KINDS.items():
            of_side = {**counts, **differing.get(side, {})}
            ends[side] = list(accumulate(of_side[kind] for kind in kinds if kind != "non_seqs"))
        return ends

    inner_seqs = _part("inner_in", "seqs")
    inner_mitmot = _part("inner_in", "mit_mot")
    inner_mitsot = _part("inner_in", "mit_sot")
    inner_sitsot = _part("inner_in", "sit_sot")
    inner_shared = _part("inner_in", "shared")
    inner_non_seqs = _part("inner_in", "non_seqs")

    inner_mitmot_outs = _part("inner_out", "mit_mot")
    inner_mitsot_outs = _part("inner_out", "mit_sot")
    inner_sitsot_outs = _part("inner_out", "sit_sot")
    inner_nitsot_outs = _part("inner_out", "nit_sot")
    inner_shared_outs = _part("inner_out", "shared")

    outer_seqs = _part("outer_in", "seqs")
    outer_mitmot = _part("outer_in", "mit_mot")
    outer_mitsot = _part("outer_in", "mit_sot")
    outer_sitsot = _part("outer_in", "sit_sot")
    outer_shared = _part("outer_in", "shared")
    #: The lengths of the nit_sot outputs.
    outer_nitsot = _part("outer_in", "nit_sot")
    outer_non_seqs = _part("outer_in", "non_seqs")

    outer_mitmot_outs = _part("outer_out", "mit_mot")
    outer_mitsot_outs = _part("outer_out", "mit_sot")
    outer_sitsot_outs = _part("outer_out", "sit_sot")
    outer_nitsot_outs = _part("outer_out", "nit_sot")
    outer_shared_outs = _part("outer_out", "shared")

    def mitmot_taps(self) -> list[list[int]]:
        """For each mit_mot the taps that the step reads."""
        return self.tap_array[: self.n_mit_mot]

    def mitmot_out_taps(self) -> list[list[int]]:
        """For each mit_mot the taps that the step writes."""
        return self.mit_mot_out_slices[: self.n_mit_mot]

    def mitsot_taps(self) -> list[list[int]]:
        """For each mit_sot the taps that the step reads."""
        return self.tap_array[self.n_mit_mot : self.n_mit_mot + self.n_mit_sot]

    def get_oinp_iinp_iout_oout_mappings(self) -> dict[str, dict[int, Any]]:
        """Say which outer and inner inputs and outputs belong to the same sequence, state, output or argument.

        Returns
        -------
        dict
            Twelve dictionaries named ``<to>_from_<from>``, where both are one of ``outer_inp``, ``inner_inp``,
            ``inner_out`` and ``outer_out``. Keys are positions; values are positions, -1 for none, where `to` is
            outer, and lists of positions where it is inner. The condition of a while loop belongs to nothing and is
            left out.
        """
        groups: list[tuple[int, list[int], list[int], int]] = [(0, [], [], -1)]
        iin, iout, oin, oout = 0, 0, 1, 0
        for _ in range(self.n_seqs):
            groups.append((oin, [iin], [], -1))
            oin, iin = oin + 1, iin + 1
        n_states = self.n_mit_mot + self.n_mit_sot + self.n_sit_sot
        for state in range(n_states):
            n_in = len(self.tap_array[state]) if state < self.n_mit_mot + self.n_mit_sot else 1
            n_out = len(self.mit_mot_out_slices[state]) if state < self.n_mit_mot else 1
            groups.append((oin, list(range(iin, iin + n_in)), list(range(iout, iout + n_out)), oout))
            oin, iin, iout, oout = oin + 1, iin + n_in, iout + n_out, oout + 1
        # Shared states come before the lengths of the nit_sot among the inputs, but after them among the outputs.
        for k in range(self.n_shared_outs):
            groups.append((oin, [iin], [iout + self.n_nit_sot + k], oout + self.n_nit_sot + k))
            oin, iin = oin + 1, iin + 1
        for k in range(self.n_nit_sot):
            groups.append((oin, [], [iout + k], oout + k))
            oin += 1
        for _ in range(len(self.inputs) - iin):
            groups.append((oin, [iin], [], -1))
            oin, iin = oin + 1, iin + 1

        sides = ("outer_inp", "inner_inp", "inner_out", "outer_out")
        maps: dict[str, dict[int, Any]] = {f"{b}_from_{a}": {} for a in sides for b in sides if a != b}
        for group in groups:
            members = dict(zip(sides, group, strict=True))
            for a in sides:
                own: Any = members[a]
                for position in own if isinstance(own, list) else [own] if own >= 0 else []:
                    for b in sides:
                        if a != b:
                            maps[f"{b}_from_{a}"][position] = members[b]
        return {name: dict(sorted(table.items())) for name, table in maps.items()}

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Say for each inner input which inner outputs one step computes from it."""
        from theano.gof.traverse import io_connection_pattern

        return io_connection_pattern(self.inputs, self.outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say for each outer input which outer outputs are computed from it, over any number of steps.

        The number of steps and the lengths of the outputs are connected to nothing.
        """
        if self._connections is None:
            self._connections = self._connect()
        return [list(row) for row in self._connections]

    _connections: list[list[bool]] | None = None

    def _connect(self) -> list[list[bool]]:
        inner = np.array(self.inner_connection_pattern(), dtype=bool).reshape(len(self.inputs), len(self.outputs))
        maps = self.var_mappings
        n_in = 1 + self.n_seqs + len(self.tap_array) + self.n_shared_outs + self.n_nit_sot
        n_in += len(self.inputs) - self._ends["inner_in"][-1]
        n_out = len(self.tap_array) + self.n_nit_sot + self.n_shared_outs
        pattern = np.zeros((n_in, n_out), dtype=bool)
        for i in range(n_in):
            own_out = maps["outer_out_from_outer_inp"].get(i, -1)
            reached = np.zeros(inner.shape[1], dtype=bool)
            for k in maps["inner_inp_from_outer_inp"].get(i, ()):
                reached |= inner[k]
            for o in range(n_out):
                pattern[i, o] = reached[maps["inner_out_from_outer_out"][o]].any()
            if own_out >= 0 and maps["inner_inp_from_outer_inp"].get(i):
                pattern[i, own_out] = True
        # What feeds a state feeds all that the state feeds; each round doubles the number of steps looked at.
        state_in = [maps["outer_inp_from_outer_out"].get(o, -1) for o in range(n_out)]
        while True:
            wider = pattern.copy()
            for o in range(n_out):
                if state_in[o] >= 0:
                    wider[pattern[:, o]] |= pattern[state_in[o]]
            if (wider == pattern).all():
                return [[bool(v) for v in row] for row in pattern]
            pattern = wider

    @property
    def var_mappings(self) -> dict[str, dict[int, Any]]:
        """The result of `get_oinp_iinp_iout_oout_mappings`."""
        if self._var_mappings is None:
            self._var_mappings = self.get_oinp_iinp_iout_oout_mappings()
        return self._var_mappings

    _var_mappings: dict[str, dict[int, Any]] | None = None
