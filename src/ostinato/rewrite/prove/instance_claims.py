"""One rule alone on one instance: whether it fires, and whether all it claims is true.

Every e-node of every class that holds a value of the instance is evaluated at points inside and
outside the box, with arbitrary values of the leaves, and must equal that value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.pdg import build
from ostinato.pdg.element import element
from ostinato.pdg.errors import DomainError, OstinatoError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Expr, Extent, Index, Slice, evaluate, expr
from ostinato.pdg.interpret import Coordinates, Interpreter, Request, Step, junk
from ostinato.pdg.meaning import check_part, sizes
from ostinato.pdg.node import Concat, Node, Part, Pdg, Read, Transpose
from ostinato.rewrite.engine.egglog_session import Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.saturate import Budget, saturate
from ostinato.rewrite.extract.export import EXPORTED, EGraph, ENode, export
from ostinato.rewrite.extract.rebuild import computed, order_of_axes
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.tables import Loaded


class Reading:
    """For every class one node, and for every e-node a node over those of its operands."""

    def __init__(self, graph: EGraph, loaded: Loaded) -> None:
        self.graph, self.loaded, self.tables = graph, loaded, loaded.tables
        self.originals: dict[int, list[Node]] = {}
        for node, number in loaded.ids.items():
            self.originals.setdefault(graph.node_class[number], []).append(node)
        self._nodes = {cls: nodes[0] for cls, nodes in self.originals.items()}
        self._fill()

    def every(self) -> Mapping[int, Node]:
        """A node of each class."""
        return self._nodes

    def _fill(self) -> None:
        """Classes without an original get the first of their e-nodes whose operands are known."""
        found = True
        while found:
            found = False
            for cls, enodes in self.graph.classes.items():
                for enode in enodes if cls not in self._nodes else ():
                    if all(kid in self._nodes for kid in enode.kids):
                        self._nodes[cls], found = self.node(enode), True
                        break

    def node(self, enode: ENode) -> Node:
        """The node of an e-node, with every movement as the e-node has it."""
        op, f, tables = enode.op, enode.fields, self.tables
        args = [self._nodes[kid] for kid in enode.kids]
        found = computed(enode, args, tables)
        if found is not None:
            return found
        match op:
            case "rec":
                known = tables.recs[int(f[0])]
                x = known.node
                for dim in reversed(known.axes):
                    x = build.read(x, [(dim, dim.whole)])
                return x
            case "at" | "sl":
                dim = tables.dims_in(int(f[0]))[0]
                return build.read(args[0], [(dim, tables.index(int(f[1])))])
            case "tr" | "perm" | "mv":
                return build.transpose(args[0], order_of_axes(enode, tables))
            case "reshape":
                return build.reshape(args[0], self.graph.shapes[int(f[1])], int(f[0]))
            case "bcast":
                return build.broadcast(args[0], self.graph.shapes[int(f[0])])
            case "part":
                index = tables.index(int(f[1]))
                assert isinstance(index, Expr), f"{index} is no point"
                return element(args[0], -int(f[0]), index)
            case "cut":
                return cut(args[0], -int(f[0]), tables.index(int(f[1])))
            case _:
                raise AssertionError(f"no node for {op}")


def cut(x: Node, axis: int, at: Index) -> Node:
    """A slice of an axis; along a whole history it is a read of other steps, as `element` is.

    The axis of a history is indexed by all integers, of which an array holds only the demanded
    ones; a part of the array could not be compared outside the box.
    """
    assert isinstance(at, Slice), f"{at} is no slice"
    if isinstance(x.op, Read):
        sliced = [(d, i) for d, i in x.op.at if isinstance(i, Slice)]
        if axis + x.rank < len(sliced):
            dim, steps = sliced[axis + x.rank]
            if steps == Slice(expr(0), expr(dim.extent)):
                return build.read(x.args[0], [(d, at if d == dim else i) for d, i in x.op.at])
    return build.part(x, axis, at)


def numbered(pdg: Pdg, loaded: Loaded) -> None:
    """Let transposes that move one axis also be the ``mv`` that rules make of them."""
    for node in pdg.nodes():
        perm = node.op.perm if isinstance(node.op, Transpose) else ()
        rest = tuple(j for j in range(-len(perm), 0) if perm and j != perm[0])
        if perm and perm[1:] == rest:
            args = [loaded.ids[a] for a in node.args]
            loaded.row("raw_mv", loaded.ids[node], -perm[0], len(perm), *args)


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
