"""Loops over steps in which every row stays by itself: one thread runs all steps of a row.

Where all that a loop does is done for the rows of a tile, and no row touches what another one
writes, the loop over rows may as well stand outside. The steps need no barriers then:
those of one row are a loop of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.codegen.cuda.places import Place, difference
from ostinato.codegen.cuda.rewriting import calls, given, indices, opened
from ostinato.codegen.cuda.touches import Touches, forget
from ostinato.codegen.loops.expression import Call, Constant, Expression, Name, compare
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Do,
    For,
    If,
    Let,
    Nothing,
    Remark,
    Statement,
    every,
    values,
)

LANE = "lane_row"


@dataclass
class Rows(Touches):
    """Looks at one loop over steps."""

    most: int = 0

    # ------------------------------------------------------------ whether it may be done

    def fits(self, loop: For) -> bool:
        """Whether the loop may run by rows; what it touches is known then."""
        self.begin(loop)
        if not self._collect((loop,)) or not self.touches:
            return False
        written = {t.access.tensor for t in self.touches if t.access.is_store}
        return all(self._is_apart(tensor) for tensor in written)

    def _collect(self, body: Body) -> bool:
        for statement in body:
            match statement:
                case Remark() | Nothing():
                    pass
                case Let((_,) as names, value) if not self.loads(value):
                    self.give(names, value)
                case For(index, bounds, inner, "serial") if not any(map(self.loads, bounds)):
                    self.forget((index, *given(inner)))
                    if not self._collect(inner):
                        return False
                    self.forget(given(inner))
                case For(binding="lanes") as rows:
                    if not self._rows(rows):
                        return False
                case If(test, then, other) if not self.loads(test):
                    for side in (then, other):
                        if not self._collect(side):
                            return False
                        self.forget(given(side))
                case _:
                    return False
        return True

    def _rows(self, loop: For) -> bool:
        """Note what the rows of a loop touch."""
        most = _most(loop.bounds)
        inner = [s for s in every(loop.body) if isinstance(s, For) and s.binding == "lanes"]
        if most is None or inner or self._has_others(loop.body):
            return False
        self.most = max(self.most, most)
        known = {**self.known, loop.index: Name(LANE)}
        forget(known, {*given(loop.body), *indices(loop.body)})
        for statement in every(loop.body):
            for value in values(statement):
                self.note(value, known)
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


def of_row(of: Statement, most: int) -> Body:
    """A statement as it is for one row of at most so many."""
    match of:
        case For(index, (rows,), inner, "lanes"):
            body = (Let((index,), Name(LANE)), *inner)
            return body if rows == Constant(most) else (If(compare("<", LANE, rows), body),)
        case _:
            return (opened(of, lambda each: of_row(each, most)),)


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
