"""Places that a thread keeps in variables while it runs a loop over steps.

A place that never moves during the loop is read before the first step, and written back after the
last one if a step writes it. If a tensor is written, all its places have to stay, and to be known
apart: two names for one place would be two variables.

A place may be in use only where some tests hold. Those that are the same at all steps say whether
there is such a place at all, so they are asked before it is read or written back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import combinations

from ostinato.codegen.cuda.places import Place, Term, difference
from ostinato.codegen.cuda.rewriting import bounds, calls, calls_in, given, indices, named
from ostinato.codegen.cuda.touches import Access, Touch, Touches
from ostinato.codegen.loops.expression import (
    Compare,
    Constant,
    Expression,
    Logic,
    Name,
    Not,
    binary,
    compare,
)
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    For,
    If,
    Let,
    Return,
    Statement,
    While,
    Write,
    every,
    values,
)

Tests = tuple[Expression, ...]
MOST_READ = 16  # places that are only read: more would take registers of what is computed


@dataclass(frozen=True)
class Kept:
    """A place that is a variable, and where it is in use."""

    name: str
    access: Access
    at: Place
    indices: frozenset[Expression]
    under: Expression | None  # whether it is in use; None if it always is
    is_written: bool

    @property
    def index(self) -> Expression:
        """The place by names that have a value outside of the loop."""
        total: Expression | None = None
        for term, factor in sorted(self.at.terms.items()):
            made: Expression | None = Constant(factor) if factor != 1 or not term else None
            is_product = len(term) > 1 or made is not None
            for name in term:
                one = Name(f"({name})" if is_product and not name.isidentifier() else name)
                made = one if made is None else binary("*", made, one)
            assert made is not None, "a term has a factor or a name"
            total = made if total is None else binary("+", total, made)
        return Constant(0) if total is None else total


@dataclass
class Steps(Touches):
    """Looks at one loop over steps that one thread runs."""

    elsewhere: set[str] = field(default_factory=set[str])  # tensors that have to be in memory

    def look(self, loop: For) -> bool:
        """Note what the loop touches; whether nothing else is touched."""
        if not self._is_plain(loop.body):
            return False
        self.begin(loop)
        self.forget(self.moving)
        self.elsewhere = {
            self.accesses[x.function].tensor
            for bound in loop.bounds
            for x in calls_in(bound)
            if x.function in self.accesses
        }
        self._body(loop.body, ())
        return True

    def _is_plain(self, body: Body) -> bool:
        """Whether memory is touched by loads and stores alone."""
        if any(isinstance(s, Write | Return) for s in every(body)):
            return False
        takers = (c.function for c in calls(body) if Name("arena") in c.args)
        return all(f in self.accesses or f == "prefetch" for f in takers)

    # ------------------------------------------------------------ what is touched

    def _body(self, body: Body, under: Tests) -> None:
        for statement in body:
            self._statement(statement, under)

    def _statement(self, of: Statement, under: Tests) -> None:
        if isinstance(of, While):
            self.forget(given((of,)))
        for value in values(of):
            self.note(value, self.known, under)
        match of:
            case Let(names, value):
                self.give(names, value)
            case Add(name, _):
                self.forget((name,))
            case For(index, _, inner):
                changed = {index, *given(inner), *indices(inner)}
                self.forget(changed)
                self._body(inner, self._also(under, has_turns(of)))
                self.forget(changed)
            case While(_, inner):
                self._body(inner, under)
                self.forget(given(inner))
            case If(test, then, other):
                for side, holds in ((then, test), (other, Not(test))):
                    self._body(side, self._also(under, holds))
                    self.forget(given(side))
            case _:
                pass

    def _also(self, under: Tests, test: Expression | None) -> Tests:
        """The tests that hold inside of a choice, of which some hold at some step only."""
        parts_of = test.of if isinstance(test, Logic) and test.op == "and" else (test,)
        still = (x for x in parts_of if x is not None and self._stays(x) and x not in under)
        return (*under, *still)

    def _stays(self, of: Expression) -> bool:
        return not self.loads(of) and not self.moving & {*named(of)}

    # ------------------------------------------------------------ variables

    def kept(self, taken: Set[str], is_alone: bool) -> Iterator[Kept]:
        """The places that stay; names that are ``taken`` are no variables.

        What is written is left in memory if the thread is not the only one that runs the loop.
        """
        found: dict[str, list[Touch]] = {}
        for each in self.touches:
            found.setdefault(each.access.tensor, []).append(each)
        left = MOST_READ
        for tensor, touches in found.items():
            is_written = any(t.access.is_store for t in touches)
            still = [t for t in touches if self._is_still(t, touches)]
            if is_written and not (is_alone and self._are_apart(tensor, still, touches)):
                continue
            places: dict[frozenset[tuple[Term, int]], list[Touch]] = {}
            for each in still:
                places.setdefault(each.at.key(), []).append(each)
            for number, group in enumerate(places.values()):
                left -= not is_written
                if is_written or left >= 0:
                    yield self._variable(fresh(f"own_{tensor}_{number}", taken), group)

    def _is_still(self, of: Touch, among: Sequence[Touch]) -> bool:
        """Whether a place never moves, and its text means no other place."""
        return (
            not self.loads(of.index)
            and not any(self.moving & names for names in of.at.names.values())
            and all(t.at.key() == of.at.key() for t in among if t.index == of.index)
        )

    def _are_apart(self, tensor: str, still: Sequence[Touch], of: Sequence[Touch]) -> bool:
        """Whether all places of a tensor stay, and no two of them may be the same one."""
        if tensor in self.elsewhere or len(still) < len(of):
            return False
        places = {t.at.key(): t.at for t in still}.values()
        return all(difference(x, y).terms.keys() == {()} for x, y in combinations(places, 2))

    def _variable(self, name: str, group: Sequence[Touch]) -> Kept:
        texts = frozenset(t.index for t in group)
        is_written = any(t.access.is_store for t in group)
        return Kept(name, group[0].access, group[0].at, texts, _any(group), is_written)


def fresh(name: str, taken: Set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def has_turns(loop: For) -> Expression | None:
    """Whether a loop has a turn; None if it surely has one."""
    first, last, step = bounds(loop)
    if not isinstance(step, Constant):
        return compare("!=", first, last)
    low, high = (first, last) if step.value > 0 else (last, first)
    if isinstance(low, Constant) and isinstance(high, Constant) and low.value < high.value:
        return None
    return compare("<", low, high)


def of_two_cases(loop: For) -> For:
    """A loop in which what is not done at the first step is done at every later one.

    A variable that both cases give a value is chosen once then, and not once for each case.
    """
    match loop.bounds:
        case (_,):
            return replace(loop, body=tuple(_two_cases(s, loop.index) for s in loop.body))
        case _:
            return loop


def _two_cases(of: Statement, index: str) -> Statement:
    match of:
        case If(
            Compare("==", Name(x), Constant(0)) as test,
            then,
            (If(Compare(">=", Name(y), Constant(1)), other, ()),),
        ) if x == y == index:
            return If(test, then, other)
        case _:
            return of


def _any(group: Sequence[Touch]) -> Expression | None:
    """Whether a place is in use at all."""
    found = {t.under: None for t in group}
    if () in found:
        return None
    least = [u for u in found if not any({*other} < {*u} for other in found)]
    sides = tuple(u[0] if len(u) == 1 else Logic("and", u) for u in least)
    return sides[0] if len(sides) == 1 else Logic("or", sides)
