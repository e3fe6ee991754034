"""The equations of a recurrent tensor while the user is writing them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from ostinato.pdg.condition import Cond
from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.node import Equation, Node

_serial = itertools.count(1)


def fresh_name(name: str) -> str:
    """Return a name that no other recurrent tensor of this process has, such as ``x#17``.

    `Program` renames: its tensors carry the user's names, numbered only if several are equal.
    """
    return f"{user_name(name)}#{next(_serial)}"


def user_name(name: str) -> str:
    """Return the name without the numbers that made it, and what it is made of, unique."""
    return re.sub(r"#\d+", "", name)


def serial_of(name: str) -> int:
    """Return the number that made a name unique; it grows with the order of creation."""
    return int(name.rpartition("#")[2])


@dataclass(eq=False, slots=True, weakref_slot=True)
class Definition:
    """The cases of one recurrent tensor so far, in the order of writing.

    ``sources`` are the definitions that its right sides need. A tensor carries the definitions it
    needs, so no registry keeps a dropped program alive. ``missing`` says what is still
    to be written. An input and a host call, whose function is ``host``, have a definition without
    cases; ``remarks`` are about this and perhaps other ones. A derivative has one too, with the
    nodes that it has ``passed`` through.
    """

    rec: Node
    name: str
    cases: list[tuple[Cond, Node]] = field(default_factory=list[tuple[Cond, Node]])
    where: list[str] = field(default_factory=list[str])
    sources: set[Definition] = field(default_factory=set["Definition"])
    missing: str = ""
    host: HostFunction | None = None
    remarks: list[Remark] = field(default_factory=list["Remark"])
    passed: frozenset[Node] = frozenset()

    def add(self, cond: Cond, right: Node, sources: Iterable[Definition], where: str) -> None:
        self.cases.append((cond, right))
        self.where.append(where)
        self.sources.update(sources)

    def equation(self) -> Equation:
        return Equation(self.rec, tuple(self.cases), tuple(self.where))


@dataclass(frozen=True, eq=False, slots=True)
class Remark:
    """A call without a result, a print or a check, in every program that has all it talks about.

    ``node`` is the call, the value that is printed, or the condition that is checked.
    """

    kind: Literal["call", "print", "check"]
    node: Node
    text: str
    where: str
    sources: frozenset[Definition]
    number: int = field(default_factory=_serial.__next__)


def reachable(sources: Iterable[Definition]) -> dict[str, Definition]:
    """Return all definitions that the given ones need, themselves included, by name."""
    found: dict[str, Definition] = {}
    todo = sorted(sources, key=lambda d: serial_of(d.name), reverse=True)
    while todo:
        definition = todo.pop()
        if definition.name not in found:
            found[definition.name] = definition
            todo.extend(definition.sources)
    return dict(sorted(found.items(), key=lambda item: serial_of(item[0])))
