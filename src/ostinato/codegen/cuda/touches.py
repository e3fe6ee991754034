"""What statements read and write of which tensors, and when a barrier has to stand between two.

Of a loop over steps it is known at which places of the tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ostinato.codegen.cuda.places import Place, place
from ostinato.codegen.cuda.rewriting import calls_in, given, indices, named
from ostinato.codegen.loops.expression import Expression
from ostinato.codegen.loops.statements import Definition, For, Function


@dataclass(frozen=True)
class Access:
    """What a name that a kernel defines does with which tensor of which type."""

    tensor: str
    dtype: str
    is_store: bool


@dataclass(frozen=True, slots=True)
class Touched:
    """The tensors that were read and written since the last barrier, and those by one thread."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    read_by_one: frozenset[str] = frozenset()
    written_by_one: frozenset[str] = frozenset()

    def __or__(self, other: Touched) -> Touched:
        return Touched(
            self.reads | other.reads,
            self.writes | other.writes,
            self.read_by_one | other.read_by_one,
            self.written_by_one | other.written_by_one,
        )

    def by_one(self) -> Touched:
        """The same accesses, made by one thread: always the same one."""
        return Touched(read_by_one=self.reads, written_by_one=self.writes)

    def conflicts(self, other: Touched) -> bool:
        """Whether two threads may access a tensor in any order, and one of them writes it."""
        return _conflict(self, other) or _conflict(other, self)


def _conflict(a: Touched, b: Touched) -> bool:
    many = b.reads | b.writes
    return bool(a.writes & (many | b.read_by_one | b.written_by_one) | a.written_by_one & many)


NOTHING = Touched()


def accesses(function: Function) -> dict[str, Access]:
    """The loads and stores of a kernel, by name."""
    found: dict[str, Access] = {}
    for each in function.definitions:
        match each:
            case Definition((load, store), "access", (int(scope), _, str(dtype))):
                tensor = function.tensors[scope]
                found[load] = Access(tensor, dtype, False)
                found[store] = Access(tensor, dtype, True)
            case _:
                pass
    return found


@dataclass(frozen=True)
class Touch:
    """An access at a place, and the tests that hold there and are the same at all steps."""

    access: Access
    at: Place
    index: Expression
    under: tuple[Expression, ...] = ()


@dataclass
class Touches:
    """Looks at what one loop over steps touches."""

    accesses: Mapping[str, Access]
    known: dict[str, Expression]  # what names stand for, in order
    touches: list[Touch] = field(default_factory=list[Touch])
    moving: set[str] = field(default_factory=set[str])  # names that differ from step to step

    def begin(self, loop: For) -> None:
        self.moving = {*given((loop,)), *indices((loop,))}

    def loads(self, of: Expression) -> bool:
        return any(x.function in self.accesses for x in calls_in(of))

    def forget(self, names: Iterable[str]) -> None:
        forget(self.known, names)

    def give(self, names: tuple[str, ...], value: Expression) -> None:
        """Names get a value; what one name stands for is known, if nothing is loaded for it."""
        self.forget(names)
        if len(names) == 1 and not self.loads(value) and names[0] not in named(value):
            self.known[names[0]] = value

    def note(
        self, of: Expression, known: Mapping[str, Expression], under: tuple[Expression, ...] = ()
    ) -> None:
        """Note what a value loads, or a call stores."""
        for x in calls_in(of):
            if x.function in self.accesses:
                access, index = self.accesses[x.function], x.args[1]
                self.touches.append(Touch(access, place(index, known), index, under))


def forget(known: dict[str, Expression], names: Iterable[str]) -> None:
    """Names get other values, and what is said by them is no longer so."""
    changed = {*names}
    for name in [n for n, of in known.items() if n in changed or changed & {*named(of)}]:
        del known[name]
