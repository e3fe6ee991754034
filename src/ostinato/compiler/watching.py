"""Prints and checks while the interpreter runs a program."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ostinato.compiler.arguments import declared_shape, signature
from ostinato.language.definition import Remark
from ostinato.pdg.claims import Claim, Said
from ostinato.pdg.errors import CheckError, CoverageError, CycleError, DomainError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Extent, evaluate, expr
from ostinato.pdg.interpret import Interpreter, interpret
from ostinato.pdg.node import Pdg

FEW_STEPS = 3  # a first, a last and an inner step


def find_cycle(pdg: Pdg) -> CycleError | None:
    """Return the error of a value that needs itself at small extents, if there is one.

    The interpreter follows every dependence point by point, so its error names the points.
    """
    takes = signature(pdg)
    extents = {name: max(FEW_STEPS, takes.least.get(name, 1)) for name in takes.extents}
    sizes: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    inputs = {
        name: np.zeros([evaluate(size, sizes) for size in declared_shape(node)], node.dtype)
        for name, node in takes.inputs.items()
    }
    try:
        interpret(pdg, extents, inputs)
    except CycleError as found:
        return found
    return None


Point = tuple[int, ...]
_AFTER = (2**62, 0)
REMEDY = "Print what it reads with `ot.debug.print(...)`, or correct the equation."


def watch(run: Interpreter, notes: Sequence[Remark]) -> None:
    """Print and check at every point where a value is defined: steps forwards, then as written.

    Errors: CheckError at the first point where a condition does not hold.
    """
    for note, point in _moments(run, notes):
        try:
            value = run.value(note.node, point)
        except (DomainError, CoverageError):
            continue  # it has no value here, as at the first step of what reads the one before
        if note.kind == "print":
            print(f"{note.text}{_brackets(note, point)} = {_text(value)}")
        elif not value.all():
            raise _failure(note, point, value)


def checked(pdg: Pdg, notes: Sequence[Remark]) -> tuple[Pdg, tuple[Claim, ...]]:
    """The program with its checks as claims, at the points at which it has all that they read."""
    from ostinato.pdg.demand.checks import Condition, defined, with_claims
    from ostinato.pdg.demand.demand import Demand

    demand = Demand(pdg, pdg.minimum_extents)
    conditions = [
        Condition(
            n.node,
            Said(CheckError, f"check failed{{at}}: {n.text}", REMEDY),
            n.where,
            defined(n.node, demand),
        )
        for n in notes
        if n.kind == "check"
    ]
    return with_claims(pdg, conditions)


def _moments(run: Interpreter, notes: Sequence[Remark]) -> Iterator[tuple[Remark, Point]]:
    """Every point of every note, in the order of steps of the outermost dimensions."""

    def order(moment: tuple[int, Remark, Point]) -> tuple[tuple[tuple[int, int], ...], int]:
        number, note, point = moment
        steps = tuple((d.serial, k) for d, k in zip(note.node.domain, point, strict=True))
        return (*steps, _AFTER), number  # what has fewer dimensions comes after its steps

    found: list[tuple[int, Remark, Point]] = []
    for number, note in enumerate(notes):
        sizes = (_size(run, d) for d in note.node.domain)
        found += [(number, note, p) for p in itertools.product(*map(range, sizes))]
    for _, note, point in sorted(found, key=order):
        yield note, point


def _size(run: Interpreter, dim: Dim) -> int:
    return evaluate(expr(dim.extent), {Extent(n): k for n, k in run.extents.items()})


def _brackets(note: Remark, point: Point) -> str:
    inside = ", ".join(f"{d}={k}" for d, k in zip(note.node.domain, point, strict=True))
    return f"[{inside}]" if inside else ""


def _text(value: Array) -> str:
    return np.array2string(value, separator=", ", threshold=100) if value.ndim else str(value[()])


def _failure(note: Remark, point: Point, value: Array) -> CheckError:
    at = ", ".join(f"{d} = {k}" for d, k in zip(note.node.domain, point, strict=True))
    fact = f"check failed{f' at {at}' if at else ''}: {note.text}"
    if value.ndim:
        first = [int(k) for k in np.argwhere(~value)[0]]
        fact = f"{fact} (element {first})"
    return CheckError(fact, REMEDY, note.where)
