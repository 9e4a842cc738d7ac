"""Finds the local optimizers for a node by its Op and by what its inputs are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from theano.gof.graph import Constant
from theano.gof.memo import ById

#: A local optimizer; what it is lies above.
LocalOptimizer = Any


class Form(NamedTuple):
    """What is asked of the inputs of a node before anything looks closer.

    Parameters
    ----------
    least, most : int
        How many there are.
    wants : tuple
        Pairs of the place of an input, None for any, and of what is wanted there: Ops and classes of Ops, one of which computes
        it, `Constant`, and numbers of constants.
    twice : int
        The place of an input that is the one before it, or a constant as that is; 0 if none must be.
    """

    least: int
    most: int
    wants: tuple[tuple[int | None, frozenset], ...]
    twice: int = 0


#: A local optimizer, and what is called with a node.
Offer = tuple[LocalOptimizer, Callable[[Any], Any]]
#: A form, and what is to be tried for it.
Row = tuple[Form, Any]
#: A local optimizer, bits of which one must be there, and rows of which one must be for the inputs (None: that is enough).
Asked = tuple[LocalOptimizer, int, Sequence[Row] | None]

# Bits of what an input is: another one rearranged, the one before it, a constant; and one that all have.
_REARRANGED, _SAME, _CONSTANT, _ANY = 1, 2, 4, 8
# Those that need not be asked for to matter.
_OFTEN = _SAME | _CONSTANT
#: More inputs than any node has.
MANY = 1 << 30
_UNHASHABLE = object()
#: What is known of an Op, by place: its optimizers; the number of its `_Asking`, 0 if none of them looks at inputs; those that
#: need such an Op in the graph; the bits of what is seen in it; the optimizers and their functions if none looks; those not
#: for constants only; the optimizers among those.
_FOUND, _ASKING, _WOKEN, _SEEN, _OFFERS, _OTHERS, _LASTING = range(7)


class _Asking:
    """Optimizers of which some look at inputs, and what these ask.

    Attributes
    ----------
    found, keys
        The optimizers, and what they track.
    bits
        All that one of them asks for: nothing else need be told apart.
    asked
        What each asks, once somebody wants to know.
    """

    __slots__ = ("found", "keys", "bits", "asked")

    def __init__(self, found: Sequence[LocalOptimizer], keys: Sequence[Any], bits: int):
        self.found, self.keys, self.bits = found, keys, bits
        self.asked: list[Asked] | None = None


class _Filtered:
    """What is the same of all Ops of a value that some optimizers choose among.

    Attributes
    ----------
    filters
        Optimizers and what they choose by.
    entries
        By what these say of an Op what is known of it.
    """

    __slots__ = ("filters", "found", "keys", "woken", "seen", "entries")

    def __init__(self, filters: list, found: tuple, keys: Sequence[Any], woken: tuple, seen: int):
        self.filters, self.found, self.keys, self.woken, self.seen = filters, found, keys, woken, seen
        self.entries: dict[tuple, tuple] = {}


class TrackIndex:
    """Finds the local optimizers that track a node's Op, by Op instance and Op class.

    Lookups are remembered per Op object, and per kinds of Ops of a node and its inputs, so that asking again costs one
    dictionary access.
    """

    def __init__(self) -> None:
        self.everywhere: list[LocalOptimizer] = []
        self.by_op: dict[Any, list[LocalOptimizer]] = {}
        # The single Ops that optimizers track, need or look for, and their classes.
        self._named: dict[Any, Any] = {}
        self._keys: dict[int, Any] = {}
        self._varied: set[type] = set()
        # An optimizer may choose by its `op_filter` among the Ops that it tracks.
        self._filters: dict[LocalOptimizer, Callable[[Any], bool]] = {}
        # What they ask of inputs: bits for those of all nodes; or by what they track.
        self._wanted: dict[LocalOptimizer, int] = {}
        self._forms: dict[Any, dict[LocalOptimizer, Sequence[Row]]] = {}
        # The bits of all that one asks for; those that ask by what they track; those that are for constants only.
        self._asking: dict[LocalOptimizer, int] = {}
        self._choosers: set[LocalOptimizer] = set()
        self._of_constants: set[LocalOptimizer] = set()
        # Of what is looked for in inputs its bit; of numbers also that of a constant.
        self._bits: dict[Any, int] = {Constant: _CONSTANT}
        self._numbers: dict[Any, int] = {}
        self._bit_of: dict[int, tuple[int, Any]] = {}
        self._bits_of_sets: dict[frozenset, int] = {}
        # Op or class -> the optimizers that need one in the graph.
        self._waiting: dict[Any, list[LocalOptimizer]] = {}
        self._with_needs: frozenset[LocalOptimizer] | None = None
        self._all: tuple[LocalOptimizer, ...] | None = None
        self._forget()

    def _forget(self) -> None:
        # Of each Op what `_FOUND` and those after it say.
        self._found = ById()
        # Of each class, by named Op (or None): what is the same of all these Ops; or the filters, and by what they say the rest.
        self._by_value = ById()
        self._choosy: list[_Asking] = [_Asking((), (), 0)]
        # Number of `_Asking`, then what is seen in each input -> the optimizers for which that is enough, and their functions.
        self._by_inputs: dict[tuple[int, ...], tuple[Offer, ...]] = {}

    def _name(self, keys: Iterable[Any]) -> None:
        for key in keys:
            if id(key) not in self._keys:
                self._keys[id(key)] = key
                if not isinstance(key, type):
                    self._named[key] = key
                    self._varied.add(type(key))

    def _bits_of(self, keys: frozenset) -> int:
        """The bits of what is looked for; they are new ones where need be."""
        result, known = 0, self._bit_of
        for key in keys:
            found = known.get(id(key))
            if found is None:
                # Equal ones have one bit; what is kept keeps its id.
                found = known[id(key)] = (self._bits.setdefault(key, _ANY << len(self._bits)), key)
                if isinstance(key, (int, float, complex)):
                    self._numbers[key] = found[0] | _CONSTANT
                else:
                    self._name((key,))
            result |= found[0]
        self._bits_of_sets[keys] = result
        return result

    def add(self, opt: LocalOptimizer) -> None:
        """Index `opt` by what it tracks."""
        tracked, wanted, needs = opt.tracks(), opt.among_inputs, opt.needs
        op_filter = getattr(opt, "op_filter", None)
        if op_filter is not None:
            self._filters[opt] = op_filter
        if not tracked:
            # The manual's example of an optimizer that looks at all nodes returns an empty list.
            if opt not in self.everywhere:
                self.everywhere.append(opt)
        else:
            for key in tracked:
                opts = self.by_op.setdefault(key, [])
                if opt not in opts:
                    opts.append(opt)
            self._name(tracked)
        if wanted is not None:
            bits = self._bits_of(frozenset(wanted)) | _REARRANGED
            self._wanted[opt] = self._asking[opt] = bits
            if needs is None and Constant not in wanted:
                # An input is one of these, or such a one rearranged.
                needs = wanted
        elif (forms := opt.forms()) is not None:
            self._choosers.add(opt)
            for key, rows in forms.items():
                self._forms.setdefault(key, {})[opt] = rows
            # What is seen in an Op is remembered: all bits must be there before.
            self._asking[opt] = self._bits_of(frozenset(opt.looked_for))
        if opt.of_constants:
            self._of_constants.add(opt)
        if needs:
            for need in needs:
                self._waiting.setdefault(need, []).append(opt)
            self._name(needs)
        self._all = self._with_needs = None
        if self._by_value:
            self._forget()

    def with_needs(self) -> frozenset[LocalOptimizer]:
        """Return the optimizers that `need` an Op in the graph."""
        if self._with_needs is None:
            self._with_needs = frozenset([opt for opts in self._waiting.values() for opt in opts])
        return self._with_needs

    def woken_by(self, op: Any) -> tuple[LocalOptimizer, ...]:
        """Return the optimizers that need an Op like `op` in the graph."""
        return (self._found.get(id(op)) or self._look_up(op))[_WOKEN]

    def find(self, op: Any) -> tuple[LocalOptimizer, ...]:
        """Return the optimizers for nodes of `op`: by instance, then by class, then those for all."""
        return (self._found.get(id(op)) or self._look_up(op))[_FOUND]

    def idle_ops(self, ops: Iterable[Any], asleep: set[LocalOptimizer]) -> dict[int, Any]:
        """Return those of `ops`, by id, of which only nodes of constants are offered to optimizers that are not `asleep`."""
        known = self._found
        return {id(op): op for op in ops if asleep.issuperset((known.get(id(op)) or self._look_up(op))[_LASTING])}

    def find_for(self, node: Any) -> tuple[Offer, ...]:
        """Return those of ``find(node.op)`` for which the inputs of `node` are what they ask for, and what to call."""
        known, numbers = self._found, self._numbers
        entry = known.get(id(node.op)) or self._look_up(node.op)
        inputs, number = node.inputs, entry[_ASKING]
        if not number:
            # What is computed is no constant.
            return entry[_OTHERS if inputs and inputs[0].owner is not None else _OFFERS]
        asking = self._choosy[number]
        key, last, seen, wanted = [number], None, 0, asking.bits
        for i in inputs:
            owner = i.owner
            if i is last:
                seen |= _SAME
            elif owner is not None:
                seen = (known.get(id(owner.op)) or self._look_up(owner.op))[_SEEN]
                if seen & _REARRANGED and seen > 0 and owner.inputs[0].owner is None:
                    inner = owner.inputs[0]
                    if isinstance(inner, Constant):
                        seen |= numbers.get(inner.number, _CONSTANT)
                seen &= wanted
            elif isinstance(i, Constant):
                seen = numbers.get(i.number, _CONSTANT) & wanted
            else:
                seen = 0
            key.append(seen)
            last = i
        kinds = tuple(key)
        chosen = self._by_inputs.get(kinds)
        if chosen is None:
            if len(self._by_inputs) > 20000:
                self._by_inputs.clear()
            if asking.asked is None:
                asking.asked = self._what_is_asked(asking.found, asking.keys)
            chosen = self._by_inputs[kinds] = self._offers(asking.asked, kinds[1:])
        return chosen

    def _look_up(self, op: Any) -> tuple:
        # Equal Ops that are different objects come up all the time: DimShuffles, Composites.
        cls = type(op)
        named = None
        if cls in self._varied:
            try:
                named = self._named.get(op)
            except TypeError:
                # An Op that cannot be hashed cannot be tracked by instance, and may be equal to anything.
                named = _UNHASHABLE
        of_class = (self._by_value.get(id(cls)) or self._by_value.keep(cls, {}))[0]
        entry = of_class.get(named)
        if entry is None:
            entry = of_class[named] = self._of_value(named, cls)
        if type(entry) is _Filtered:
            entry = self._of_accepted(entry, op)
        return self._found.keep(op, *entry)

    def _of_value(self, named: Any, cls: type) -> tuple | _Filtered:
        keys = (cls,) if named is None or named is _UNHASHABLE else (named, cls)
        tracking = [opts for key in keys if (opts := self.by_op.get(key))]
        if self.everywhere:
            tracking.append(self.everywhere)
        found = tuple(tracking[0]) if len(tracking) == 1 else tuple(dict.fromkeys([opt for opts in tracking for opt in opts]))
        woken = tuple([opt for key in keys for opt in self._waiting.get(key, ())])
        seen = _REARRANGED if getattr(cls, "rearranges", False) else 0
        for key in keys:
            seen |= self._bits.get(key, 0)
        if named is _UNHASHABLE:
            seen = -1
        asked_by = [key for key in keys if key in self._forms]
        if self._filters.keys().isdisjoint(found):
            return self._entry(found, asked_by, woken, seen)
        return _Filtered([(opt, self._filters[opt]) for opt in found if opt in self._filters], found, asked_by, woken, seen)

    def _of_accepted(self, known: _Filtered, op: Any) -> tuple:
        key = tuple([accepts(op) for _, accepts in known.filters])
        entry = known.entries.get(key)
        if entry is None:
            refused = [opt for (opt, _), accepted in zip(known.filters, key) if not accepted]
            found = tuple([opt for opt in known.found if opt not in refused]) if refused else known.found
            entry = known.entries[key] = self._entry(found, known.keys, known.woken, known.seen)
        return entry

    def _entry(self, found: tuple, keys: Sequence[Any], woken: tuple, seen: int) -> tuple:
        """What is known of an Op."""
        asking, lasting = self._asking, found
        if not self._of_constants.isdisjoint(found):
            lasting = tuple([opt for opt in found if opt not in self._of_constants])
        if asking.keys().isdisjoint(found):
            offers = others = tuple([(opt, opt.transform) for opt in found])
            if lasting is not found:
                others = tuple([offer for offer in offers if offer[0] not in self._of_constants])
            return found, 0, woken, seen, offers, others, lasting
        bits = _OFTEN
        for opt in found:
            bits |= asking.get(opt, 0)
        # No class is kept here that no optimizer has.
        self._choosy.append(_Asking(found, keys, bits))
        return found, len(self._choosy) - 1, woken, seen, (), (), lasting

    def _what_is_asked(self, found: Iterable[LocalOptimizer], keys: Sequence[Any]) -> list[Asked]:
        """What these optimizers that track `keys` ask of the inputs of nodes; those that never want such a node are left out."""
        wanted, choosers, tables = self._wanted, self._choosers, [self._forms[key] for key in keys]
        known = self._bits_of_sets
        result: list[Asked] = []
        for opt in found:
            if opt in choosers:
                tried = [rows for table in tables if (rows := table.get(opt))]
                if tried:
                    rows = tried[0] if len(tried) == 1 else [row for rows in tried for row in rows]
                    first = 0
                    for (_, _, wants, _), _ in rows:
                        first |= (known.get(wants[0][1]) or self._bits_of(wants[0][1])) if wants else _ANY
                    result.append((opt, first, rows))
            else:
                result.append((opt, wanted.get(opt, _ANY), None))
        return result

    def _offers(self, asked: list[Asked], seen: tuple[int, ...]) -> tuple[Offer, ...]:
        """The optimizers for which inputs are what they ask for, of each of which there are bits."""
        count, present, constant = len(seen), _ANY, _CONSTANT
        for bits in seen:
            present |= bits
            constant &= bits
        known = self._bits_of_sets
        offers: list[Offer] = []
        for opt, first, rows in asked:
            if not first & present or (not constant and opt in self._of_constants):
                continue
            if rows is None:
                offers.append((opt, opt.transform))
                continue
            fitting = []
            for (least, most, wants, twice), row in rows:
                if not least <= count <= most:
                    continue
                if twice and not seen[twice] & _SAME and (not seen[twice] & _CONSTANT or seen[twice] != seen[twice - 1]):
                    continue
                for place, ops in wants:
                    if not (known.get(ops) or self._bits_of(ops)) & (present if place is None else seen[place]):
                        break
                else:
                    fitting.append(row)
            if fitting:
                offers.append((opt, opt.transform_by(fitting)))
        return tuple(offers)

    def all(self) -> list[LocalOptimizer]:
        """Return every optimizer once, in the order of indexing."""
        if self._all is None:
            result: dict[LocalOptimizer, None] = dict.fromkeys(self.everywhere)
            for opts in self.by_op.values():
                result.update(dict.fromkeys(opts))
            self._all = tuple(result)
        return list(self._all)
