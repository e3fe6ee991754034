"""Loops over steps in which every row stays by itself: one thread runs all steps of a row.

Where all that a loop does is done for the rows of a tile, and no row touches what another one
writes, the loop over rows may as well stand outside. The steps need no barriers then, and a place
that belongs to one row all the time is a variable of its thread: it is read before the first step,
and written back after the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.codegen.cuda.places import Place, Term, difference, place
from ostinato.codegen.cuda.rewriting import calls, every, given, named, parts, values
from ostinato.codegen.cuda.touches import Access
from ostinato.codegen.loops.expression import Call, Constant, Expression, Name, binary
from ostinato.codegen.loops.statements import Add, Body, Do, For, If, Let, Nothing, Remark

LANE = "lane_row"


@dataclass(frozen=True)
class Touch:
    """An access at a place, for so many rows."""

    access: Access
    at: Place
    index: Expression
    rows: Expression


@dataclass
class Rows:
    """Looks at one loop over steps."""

    accesses: Mapping[str, Access]
    known: dict[str, Expression]  # what names stand for, in order
    touches: list[Touch] = field(default_factory=list[Touch])
    moving: set[str] = field(default_factory=set[str])  # names that differ from step to step
    most: int = 0

    # ------------------------------------------------------------ whether it may be done

    def fits(self, loop: For) -> bool:
        """Whether the loop may run by rows; what it touches is known then."""
        self.moving = {*given((loop,)), *_indices((loop,))}
        if not self._collect((loop,)) or not self.touches:
            return False
        written = {t.access.tensor for t in self.touches if t.access.is_store}
        return all(self._is_apart(tensor) for tensor in written)

    def _collect(self, body: Body) -> bool:
        for statement in body:
            match statement:
                case Remark() | Nothing():
                    pass
                case Let((name,), value) if not self._loads(value):
                    self._forget((name,))
                    if name not in named(value):
                        self.known[name] = value
                case For(index, bounds, inner, "serial") if not any(map(self._loads, bounds)):
                    self._forget((index, *given(inner)))
                    if not self._collect(inner):
                        return False
                    self._forget(given(inner))
                case For(binding="lanes") as rows:
                    if not self._rows(rows):
                        return False
                case If(test, then, other) if not self._loads(test):
                    for side in (then, other):
                        if not self._collect(side):
                            return False
                        self._forget(given(side))
                case _:
                    return False
        return True

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.known.pop(name, None)

    def _loads(self, of: Expression) -> bool:
        return any(isinstance(x, Call) and x.function in self.accesses for x in parts(of))

    def _rows(self, loop: For) -> bool:
        """Note what the rows of a loop touch."""
        most = _most(loop.bounds)
        inner = [s for s in every(loop.body) if isinstance(s, For) and s.binding == "lanes"]
        if most is None or inner or self._has_others(loop.body):
            return False
        self.most = max(self.most, most)
        known = {**self.known, loop.index: Name(LANE)}
        for name in {*given(loop.body), *_indices(loop.body)}:
            known.pop(name, None)
        for statement in every(loop.body):
            for value in values(statement):
                self.touches += self._touches(value, known, loop.bounds[0])
        return True

    def _has_others(self, body: Body) -> bool:
        """Whether something is called that touches memory in a way that is not known here."""
        kinds = (Let, Add, Do, For, If, Remark, Nothing)
        if not all(isinstance(s, kinds) for s in every(body)):
            return True
        stores = {s.call.function for s in every(body) if isinstance(s, Do)}
        takes_arena = (c for c in calls(body) if any(x == Name("arena") for x in c.args))
        return not stores <= self.accesses.keys() or any(
            c.function not in self.accesses for c in takes_arena
        )

    def _touches(
        self, of: Expression, known: Mapping[str, Expression], rows: Expression
    ) -> Iterator[Touch]:
        for x in parts(of):
            if isinstance(x, Call) and x.function in self.accesses:
                index = x.args[1]
                yield Touch(self.accesses[x.function], place(index, known), index, rows)

    def _is_apart(self, tensor: str) -> bool:
        """Whether no row touches an element of the tensor that belongs to another one."""
        found = [t.at for t in self.touches if t.access.tensor == tensor]
        steps = {_step(at) for at in found}
        (step,) = steps if len(steps) == 1 else (None,)
        if step is None:
            return False
        stride = abs(step) * self.most
        still = [self._still(at.without(LANE), stride) for at in found]
        if any(each is None for each in still):
            return False
        first = still[0]
        assert first is not None
        gaps = (difference(each, first) for each in still if each is not None)
        return all(k % stride == 0 for gap in gaps for k in gap.terms.values())

    def _still(self, at: Place, stride: int) -> Place | None:
        """The part of a place that is the same at all steps, if the others are whole strides."""
        kept = at
        for term, k in at.terms.items():
            if at.names[term] & self.moving:
                if k % stride:
                    return None
                kept = Place(
                    {t: n for t, n in kept.terms.items() if t != term},
                    {t: n for t, n in kept.names.items() if t != term},
                )
        return kept

    # ------------------------------------------------------------ variables

    def kept(self, taken: frozenset[str]) -> tuple[Kept, ...]:
        """The places that one row has all the time; names that are ``taken`` are no variables."""
        found: dict[str, list[Touch]] = {}
        for each in self.touches:
            found.setdefault(each.access.tensor, []).append(each)
        out: dict[tuple[str, frozenset[tuple[Term, int]]], Kept] = {}
        for tensor, touches in found.items():
            for each in touches if self._stays(touches) else ():
                key = tensor, each.at.key()
                before = out.get(key)
                name = before.name if before else _fresh(f"own_{tensor}_{len(out)}", taken)
                indices = before.indices if before else frozenset[Expression]()
                rows = self._widest(touches)
                assert rows is not None, f"{tensor} has no known rows"
                out[key] = Kept(name, each, rows, indices | {each.index})
        return tuple(out.values())

    def _widest(self, touches: Sequence[Touch]) -> Expression | None:
        """The rows of all accesses, or all rows of the tile, if they are known before the loop."""
        found = {t.rows for t in touches}
        if Constant(self.most) in found:
            return Constant(self.most)
        (rows,) = found if len(found) == 1 else (None,)
        return None if rows is None or self.moving & {*named(rows)} else rows

    def _stays(self, touches: Sequence[Touch]) -> bool:
        """Whether a tensor is written, and every access is at a place that never moves."""
        if not any(t.access.is_store for t in touches) or self._widest(touches) is None:
            return False
        places: dict[Expression, Place] = {}
        for each in touches:
            if places.setdefault(each.index, each.at).key() != each.at.key():
                return False  # one text for two places
        return not any(self.moving & n for t in touches for n in t.at.names.values())


@dataclass(frozen=True)
class Kept:
    """A place in memory that a thread keeps in a variable, and how the loop writes the place."""

    name: str
    touch: Touch
    rows: Expression
    indices: frozenset[Expression]

    @property
    def index(self) -> Expression:
        """The place by names that have a value outside of the loop."""
        total: Expression | None = None
        for term, factor in sorted(self.touch.at.terms.items()):
            made: Expression | None = Constant(factor) if factor != 1 or not term else None
            is_product = len(term) > 1 or made is not None
            for name in term:
                one = Name(f"({name})" if is_product and not name.isidentifier() else name)
                made = one if made is None else binary("*", made, one)
            assert made is not None, "a term has a factor or a name"
            total = made if total is None else binary("+", total, made)
        return Constant(0) if total is None else total


def _fresh(name: str, taken: frozenset[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _step(at: Place) -> int | None:
    """How far the next row is, if rows are anywhere equally far."""
    found = [(t, k) for t, k in at.terms.items() if LANE in at.names[t]]
    if len(found) != 1 or found[0][0] != (LANE,):
        return None
    return found[0][1]


def _most(bounds: Sequence[Expression]) -> int | None:
    """The most turns of a loop that begins at 0."""
    match bounds:
        case (Constant(int(most)),):
            return int(most)
        case (Call("min", (_, Constant(int(most)))),) | (Call("min", (Constant(int(most)), _)),):
            return int(most)
        case _:
            return None


def _indices(body: Body) -> Iterator[str]:
    yield from (s.index for s in every(body) if isinstance(s, For))
