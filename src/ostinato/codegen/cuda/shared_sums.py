"""Sums over many terms, and what is as free of order: shared out among the threads of a block.

The terms are dealt out to a fixed number of parts, whatever the number of threads, so that none of
them changes a bit. What the parts come to is left in memory that the block shares, put together by
groups, and by every thread at last. Floats are rounded in another order than one after the other,
which an exact program does not allow; whole numbers are the same in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from math import prod

from ostinato.codegen.cuda.one_thread import SUFFIXES, typed
from ostinato.codegen.cuda.rewriting import bounds, given, named, names, rewritten, within
from ostinato.codegen.loops.expression import (
    FLOATS,
    ITEM_BYTES,
    Binary,
    Call,
    Constant,
    Expression,
    Item,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.statements import (
    Body,
    Do,
    For,
    If,
    Let,
    Nothing,
    Remark,
    Statement,
    Write,
    every,
    values,
)

PARTS = 256
GROUP = 16  # a thread puts so many parts together, and all threads what the groups come to
TERMS = 64  # fewer take about as long one after the other as two barriers and the groups
TERMS_OF_ROWS = 16  # which take one barrier
MOST = 16  # sums of one loop
UNKNOWN = 32  # parts of a loop inside of another one, if nothing bounds the turns of either
WORD = 8
SHARED = "cuda.shared.array"  # of 0 elements: as many bytes as a launch says, of any type
BARRIER = Do(Call("block_barrier", ()))
DTYPES = {SUFFIXES[x]: x for x in ("float32", "float64", "int32", "int64")}
FREE = ("maximum", "minimum")  # of which a value may be taken several times


@dataclass(frozen=True)
class Sum:
    """A variable to which a loop adds terms, or the greatest or least of which it keeps."""

    name: str
    operation: str
    dtype: str

    def joined(self, x: Expression, y: Expression) -> Expression:
        made = binary("+", x, y) if self.operation == "+" else call(self.operation, x, y)
        return typed(self.dtype, made)

    @property
    def start(self) -> Expression:
        """What a part begins with."""
        if self.operation == "+":
            return typed(self.dtype, Constant(0.0 if self.dtype in FLOATS else 0))
        return Name(self.name)


@dataclass
class Fold:
    """Looks at one loop of statements as a thread runs them."""

    loop: For
    dtype: Callable[[str], str | None]  # of a variable
    sums: dict[str, Sum] = field(default_factory=dict[str, Sum])
    parts: int = PARTS
    stores: bool = False  # whether it may store, other places in each turn, what no turn reads

    # ------------------------------------------------------------ whether it may be done

    def fits(self, is_exact: bool, least: int = TERMS) -> bool:
        """Whether the loop does nothing but add many terms to variables, in any order."""
        self.loop = replace(self.loop, body=_without_copies(self.loop.body))
        terms = self._terms_at_most()
        self.parts = min(PARTS, _power(terms))
        if terms < least or not self._collect((self.loop,)):
            return False
        if not self._is_by_itself((self.loop,), frozenset()):
            return False
        free = self.sums.keys() & {*self._free()}
        is_changed = is_exact and any(s.dtype in FLOATS for s in self.sums.values())
        return 0 < len(self.sums) <= MOST and not free and not is_changed

    def _terms_at_most(self) -> int:
        turns = [most_turns(s) for s in every((self.loop,)) if isinstance(s, For)]
        return prod(PARTS if most is None else most for most in turns)

    def _collect(self, body: Body) -> bool:
        for statement in body:
            match statement:
                case Remark() | Nothing():
                    pass
                case Write() if self.stores:
                    pass
                case For(_, (_,) | (_, _) | (_, _, Constant()), inner):
                    if not self._collect(inner):
                        return False
                case Let((name,), value) if name in named(value):
                    found = self._sum(name, value)
                    if found is None or self.sums.setdefault(name, found) != found:
                        return False
                case Let((_,), _):
                    pass
                case _:
                    return False
        given_again = [n for s in every(body) if isinstance(s, Let) for n in s.names]
        updates = [*map(self._updated, every(body))]
        return all(given_again.count(n) == updates.count(n) for n in self.sums)

    @property
    def shared_bytes(self) -> int:
        """The memory that a block shares for the parts."""
        return len(self.sums) * PARTS * WORD

    @property
    def inner(self) -> set[str]:
        """The variables that the loop gives a value, but for the sums."""
        return {*given((self.loop,))} - self.sums.keys()

    def _is_by_itself(self, body: Body, known: Set[str]) -> bool:
        """Whether no turn reads what another one gave a variable."""
        for statement in body:
            read = {name for value in values(statement) for name in named(value)}
            if read & self.inner - known:
                return False
            match statement:
                case For(_, _, inner) if not self._is_by_itself(inner, known):
                    return False
                case Let(made, _):
                    known = {*known, *made}
                case _:
                    pass
        return True

    def _updated(self, of: Statement) -> str | None:
        """The sum to which a statement adds."""
        match of:
            case Let((name,), value) if name in self.sums and name in named(value):
                return name
            case _:
                return None

    def _sum(self, name: str, value: Expression) -> Sum | None:
        dtype = self.dtype(name)
        if dtype is None or dtype not in DTYPES.values():
            return None
        while isinstance(value, Call) and value.function == SUFFIXES[dtype]:
            (value,) = value.args
        match value:
            case Call(function, (Name(first), _)) if first == name and (
                function in [f"{f}_{SUFFIXES[dtype]}" for f in FREE]
            ):
                return Sum(name, function, dtype)
            case Binary("+") if _term(name, value) is not None:
                return Sum(name, "+", dtype)
            case _:
                return None

    def _free(self) -> Iterator[str]:
        """The names that are read other than by what is added to them."""
        for statement in every((self.loop,)):
            found = [name for value in values(statement) for name in named(value)]
            updated = self._updated(statement)
            if updated is not None:
                found.remove(updated)
            yield from found

    # ------------------------------------------------------------ how it is shared out

    def by_rows(
        self, fresh: Callable[[str], str], row: str, rows: int, dealt: Expression, threads: str
    ) -> tuple[Body, Body]:
        """The loop for each of some rows, by several threads each; and what puts theirs together.

        ``dealt`` is the number of the thread.
        """
        each, part, ways = fresh("each"), fresh("part"), PARTS // rows
        own, made, slots = self._slots(fresh)
        starts = [Let((name,), s.start) for s, name, _, _ in slots]
        kept = [Write(a, _at(each, k), Name(name)) for _, name, a, k in slots]
        heads = (
            Let((row,), binary("%", each, rows)),
            Let((part,), binary("//", each, rows)),
        )
        renamed = _renamed(self.loop, own)
        assert isinstance(renamed, For)
        terms = (*heads, *starts, _dealt(renamed, part, ways), *kept)
        made.append(_loop(each, (dealt, rows * ways, threads), terms))
        place = binary("+", row, binary("*", part, rows))
        ends = [
            Let((s.name,), s.joined(Name(s.name), Item(a, binary("+", place, k) if k else place)))
            for s, _, a, k in slots
        ]
        return tuple(made), (_loop(part, (ways,), ends),)

    def _slots(
        self, fresh: Callable[[str], str]
    ) -> tuple[dict[str, str], list[Statement], list[tuple[Sum, str, Name, int]]]:
        """The sums of a part, the arrays that a block shares, and where in these each is left."""
        own = {name: fresh(f"part_{name}") for name in self.sums}
        arrays = {s.dtype: fresh(f"parts_{s.dtype}") for s in self.sums.values()}
        made: list[Statement] = [
            Let((name,), call(SHARED, 0, SUFFIXES[dtype])) for dtype, name in arrays.items()
        ]
        slots = [
            (s, own[s.name], Name(arrays[s.dtype]), k * PARTS * WORD // ITEM_BYTES[s.dtype])
            for k, s in enumerate(self.sums.values())
        ]
        return own, made, slots

    def shared(self, fresh: Callable[[str], str], thread: str, threads: str) -> Body:
        """The statements of one thread."""
        part, other, inner = fresh("part"), fresh("other"), fresh("within")
        own, made, slots = self._slots(fresh)
        starts = [Let((name,), s.start) for s, name, _, _ in slots]
        kept = [Write(a, _at(part, k), Name(name)) for _, name, a, k in slots]
        terms = self._terms(own, part, inner)
        made.append(_loop(part, (thread, self.parts, threads), (*starts, *terms, *kept)))
        taken = [Let((name,), Item(a, _at(part, k))) for _, name, a, k in slots]
        joined = [
            Let((name,), s.joined(Name(name), Item(a, _at(other, k)))) for s, name, a, k in slots
        ]
        group = _loop(other, (binary("+", part, GROUP), self.parts, GROUP), joined)
        made += [BARRIER, _loop(part, (thread, GROUP, threads), (*taken, group, *kept)), BARRIER]
        ends = [
            Let((s.name,), s.joined(Name(s.name), Item(a, _at(part, k)))) for s, _, a, k in slots
        ]
        return (*made, _loop(part, (GROUP,), ends))

    def _terms(self, own: dict[str, str], part: str, inner: str) -> Body:
        """What one part adds up: some turns of the loop, and of those directly inside of it."""
        loops = [s for s in self.loop.body if isinstance(s, For)]
        ways, inside = self._ways(loops)
        renamed = _renamed(self.loop, own)
        assert isinstance(renamed, For)
        if not loops:
            return (_dealt(renamed, part, ways),)
        of_outer = binary("//", part, inside)
        body: list[Statement] = []
        for statement, before in zip(renamed.body, self.loop.body, strict=True):
            if isinstance(statement, For):
                body.append(_dealt(statement, inner, inside))
            elif self._updated(before) is not None:
                body.append(If(compare("==", inner, 0), (statement,)))
            else:
                body.append(statement)
        head = Let((inner,), binary("%", part, inside))
        return (head, _dealt(replace(renamed, body=tuple(body)), of_outer, ways))

    def _ways(self, inner: Sequence[For]) -> tuple[int, int]:
        """Among how many the loop is dealt out, and each of those inside of it."""
        if not inner:
            return self.parts, 1
        turns, known = [*map(most_turns, inner)], most_turns(self.loop)
        least = [x for x in turns if x is not None]
        if len(least) == len(turns):
            inside = min(self.parts, _power(max(least)))
        else:
            inside = UNKNOWN if known is None else self.parts // min(self.parts, _power(known))
        return self.parts // inside, inside


def most_turns(loop: For) -> int | None:
    """The most turns of a loop, if a number bounds them."""
    first, last, step = bounds(loop)
    limits = last.args if isinstance(last, Call) and last.function == "min" else (last,)
    if not isinstance(first, Constant) or not isinstance(step, Constant):
        return None
    found = [
        max(0, -(-int(x.value - first.value) // int(step.value)))
        for x in limits
        if isinstance(x, Constant)
    ]
    return min(found, default=None)


def _power(least: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << max(0, least - 1).bit_length()


def _dealt(loop: For, part: Expression | str, ways: int) -> For:
    """The turns of a loop that one of so many parts takes."""
    first, last, step = bounds(loop)
    assert isinstance(step, Constant)
    each = part if step == Constant(1) else binary("*", part, step)
    start = each if first == Constant(0) else binary("+", first, each)
    return _loop(loop.index, (start, last, Constant(ways * int(step.value))), loop.body)


def _loop(index: str, ends: Iterable[Expression | str | int], body: Iterable[Statement]) -> For:
    made = tuple(
        x if isinstance(x, Expression) else Name(x) if isinstance(x, str) else Constant(x)
        for x in ends
    )
    return For(index, made, tuple(body))


def _at(index: str, offset: int) -> Expression:
    return binary("+", index, offset) if offset else Name(index)


def _term(name: str, value: Expression) -> Expression | None:
    """What a sum adds to a variable that comes first in it."""
    match value:
        case Binary("+", Name(first), right) if first == name:
            return right
        case Binary("+", left, right):
            found = _term(name, left)
            return None if found is None else binary("+", found, right)
        case _:
            return None


def _renamed(of: Statement, names: dict[str, str]) -> Statement:
    def change(x: Expression) -> Expression:
        return Name(names.get(x.id, x.id)) if isinstance(x, Name) else x

    made = rewritten(of, change)
    if isinstance(made, Let):
        return Let(tuple(names.get(n, n) for n in made.names), made.value)
    return within(made, lambda each: _renamed(each, names))


def _without_copies(body: Body) -> Body:
    """Statements in which no sum is kept in another variable while a loop adds to it."""
    for n, statement in enumerate(body):
        match statement:
            case Let((copy,), Name(whole)):
                backs = [k for k in range(n, len(body)) if _is_back(body[k], copy, whole)]
                between = body[n + 1 : backs[0]] if backs else ()
                rest = (*body[:n], *body[backs[0] + 1 :]) if backs else body
                if backs and not _names(between, whole) and not _names(rest, copy):
                    made = tuple(_renamed(s, {copy: whole}) for s in between)
                    return _without_copies((*body[:n], *made, *body[backs[0] + 1 :]))
            case _:
                pass
    return body


def _is_back(of: Statement, copy: str, whole: str) -> bool:
    match of:
        case Let((name,), Call(cast, (Name(x),))) if cast in DTYPES:
            return name == whole and x == copy
        case Let((name,), Name(x)):
            return name == whole and x == copy
        case _:
            return False


def _names(body: Body, name: str) -> bool:
    """Whether statements read a variable, or give it a value."""
    return name in given(body) or name in names(body)
