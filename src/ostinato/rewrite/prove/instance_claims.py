"""One rule alone on one instance: whether it fires, and whether all it claims is true.

Every e-node of every class that holds a value of the instance is evaluated at points inside and
outside the box, with arbitrary values of the leaves, and must equal that value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.pdg.errors import DomainError, OstinatoError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Extent, evaluate, expr
from ostinato.pdg.interpret import Coordinates, Interpreter, Request, Step, junk
from ostinato.pdg.meaning import check_part, sizes
from ostinato.pdg.node import Concat, Node, Part, Pdg
from ostinato.rewrite.engine.egglog_session import Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.saturate import Budget, saturate
from ostinato.rewrite.extract.export import EXPORTED, EGraph, export
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.prove.instance_reading import Reading, numbered

Point = Mapping[Dim, int]


class WrongTerm(AssertionError):
    """A term that a rule called equal is not."""


@dataclass(frozen=True)
class Saturated:
    """An instance after a few rounds of some rules."""

    pdg: Pdg
    loaded: Loaded
    graph: EGraph
    matches: Mapping[str, int]


def run(rules: Sequence[Rule], pdg: Pdg, rounds: int = 5) -> Saturated:
    """Load a program and run only these rules (and the analyses)."""
    loaded = load(pdg)
    numbered(pdg, loaded)
    with Session(program(tuple(rules))) as engine:
        engine.insert(loaded.rows)
        done = saturate(engine, Budget(rounds), {rule.name: rule.family for rule in rules})
        return Saturated(pdg, loaded, export(engine.tables(EXPORTED), loaded), done.matches)


class Judge(Interpreter):
    """The interpreter with arbitrary leaves that refuses a part outside its axis.

    NumPy would answer with another element; a term is not defined there.
    """

    def _step(self, key: Request) -> Step:
        return self._checked(key) if isinstance(key[0].op, Part) else super()._step(key)

    def _finish(self, key: Request, value: Array) -> Array:
        """A join of a part with a range of less than no steps, outside the box, is not defined."""
        node, point = key
        if isinstance(node.op, Concat) and value.shape != sizes(node.shape, self._at(node, point)):
            raise DomainError(f"a join of shape {value.shape}", "Stay inside the box.", "")
        return super()._finish(key, value)

    def _checked(self, key: Request) -> Step:
        node, (x,) = key[0], key[0].args
        assert isinstance(node.op, Part)
        env = self._at(*key)
        value = yield x, tuple(env[d] for d in x.domain)
        check_part(node.op, value, node, env)
        return (yield from super()._step(key))


def wrong_terms(
    done: Saturated, extents: Mapping[str, int], inside: bool, salts: Sequence[int]
) -> int:
    """Compare every claimed equality at sampled points; returns how many comparisons were made.

    Errors: WrongTerm with the first difference.
    """
    try:
        reading = Reading(done.graph, done.loaded)
        claims = list(_claims(done, reading))
    except (OstinatoError, IndexError) as problem:
        raise WrongTerm(f"a term cannot be built: {problem}") from problem
    nodes = tuple(("", n) for claim in claims for n in claim)
    count = 0
    for salt in salts:
        judge = Judge(Pdg(nodes, done.pdg.equations), extents, {}, 0, True, junk(salt))
        for left, right in claims:
            count += _compare(judge, left, right, extents, inside)
        for node, ignored in _ignored(done, reading):
            _check_ignored(judge, node, ignored, extents)
    return count


def _claims(done: Saturated, reading: Reading) -> Iterator[tuple[Node, Node]]:
    """The pairs of values that the e-graph says are equal."""
    graph, loaded = done.graph, done.loaded
    for cls, originals in reading.originals.items():
        for enode in graph.classes[cls]:
            yield originals[0], reading.node(enode)
        yield from ((originals[0], other) for other in originals[1:])
    for (number, k), cls in graph.definitions.items():
        known = loaded.tables.recs[number]
        right = done.pdg.equations[known.name].cases[k][1]
        for dim in reversed(known.axes):
            right = _sliced(right, dim, loaded)
        for enode in graph.classes[cls]:
            yield right, reading.node(enode)


def _ignored(done: Saturated, reading: Reading) -> Iterator[tuple[Node, tuple[Dim, ...]]]:
    """Values with the dimensions of their domain that the e-graph says they do not depend on."""
    for cls, (node, *_) in reading.originals.items():
        ignored = set(node.domain) - set(done.loaded.tables.dims_in(done.graph.dom[cls]))
        if ignored:
            yield node, tuple(ignored)


def _check_ignored(
    judge: Judge, node: Node, ignored: Sequence[Dim], extents: Mapping[str, int]
) -> None:
    for point in _points(node.domain, extents, inside=True):
        first = {**point, **dict.fromkeys(ignored, 0)}
        try:
            values = [_value(judge, node, p) for p in (point, first)]
        except DomainError:
            continue
        if not _equal(*values):
            raise WrongTerm(f"{node.op} depends on {ignored}, as {_show(point)} shows")


def _sliced(node: Node, dim: Dim, loaded: Loaded) -> Node:
    from ostinato.pdg.build import read

    return read(node, [(dim, dim.whole)])


def _compare(
    judge: Judge, left: Node, right: Node, extents: Mapping[str, int], inside: bool
) -> int:
    """Compare two nodes at every sampled point where both are defined."""
    if left.shape != right.shape or left.dtype != right.dtype:
        about = f"{left.shape} {left.dtype} and {right.shape} {right.dtype}"
        ragged = any(s.dims for s in (*left.shape, *right.shape))
        if left.dtype != right.dtype or (left.rank != right.rank) or not ragged:
            raise WrongTerm(f"{left.op} and {right.op} have types {about}")
    dims = tuple(sorted({*left.domain, *right.domain}, key=lambda d: d.serial))
    count = 0
    for point in _points(dims, extents, inside):
        try:
            values = [_value(judge, node, point) for node in (left, right)]
        except DomainError:
            continue
        count += 1
        if not _equal(*values):
            raise WrongTerm(
                f"{left.op} and {right.op} differ at {_show(point)} for {dict(extents)}:\n"
                f"{values[0]}\n{values[1]}"
            )
    return count


def _value(judge: Judge, node: Node, point: Point) -> Array:
    at: Coordinates = tuple(point[d] for d in node.domain)
    return judge.value(node, at)


def _points(dims: Sequence[Dim], extents: Mapping[str, int], inside: bool) -> Iterator[Point]:
    columns: list[list[int]] = []
    known: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    for dim in dims:
        last = evaluate(expr(dim.extent), known) - 1
        columns.append(sorted({0, last // 2, last} | (set() if inside else {-2, last + 2})))
    for values in itertools.product(*columns):
        yield dict(zip(dims, values, strict=True))


def _equal(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    if bool((a == b).all()):
        return True
    if a.dtype.kind != "f":
        return False
    return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True))


def _show(point: Point) -> str:
    return ", ".join(f"{d} = {v}" for d, v in point.items())
