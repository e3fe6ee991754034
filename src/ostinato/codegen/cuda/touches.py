"""What statements read and write of which tensors, and when a barrier has to stand between two."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.codegen.loops.statements import Definition, Function


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
