"""Checks of a run: conditions that a program promises, computed along with its outputs.

A `Claim` says that a boolean output, which nobody sees, holds at every point. `with_claims` adds
the claims of every gather, that its positions lie inside their window or axis, and those that a
user wrote; the runtime reads the outputs and raises the error of the first point where one fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.pdg import build
from ostinato.pdg.claims import Claim, Inside, Said, Unseen
from ostinato.pdg.condition import Cond, at_least, every
from ostinato.pdg.demand.check import check
from ostinato.pdg.demand.demand import Demand, box, read_relation
from ostinato.pdg.demand.inside import inside, straying
from ostinato.pdg.index import Slice
from ostinato.pdg.intervals import is_quasi_affine
from ostinato.pdg.isl import Set, condition_set, universe
from ostinato.pdg.naming import called
from ostinato.pdg.node import (
    UNSEEN,
    Case,
    Gather,
    Host,
    Input,
    Node,
    Part,
    Pdg,
    Random,
    Read,
    Rec,
    postorder,
)


def defined(node: Node, demand: Demand) -> Cond:
    """The condition, inside the box of a value, under which it can be computed.

    Inputs, draws and host calls are there in their box, recurrent tensors where they are needed.
    """
    missing: dict[Node, Set] = {}
    for inner in postorder((node,)):
        missing[inner] = _missing(inner, missing, demand)
    whole = box(node.domain).assume(demand.minimum)
    return (whole - missing[node]).gist(whole).cond()


def _missing(node: Node, below: Mapping[Node, Set], demand: Demand) -> Set:
    """The points, of all integers, at which a value cannot be computed."""
    everything = universe(node.domain)
    match node.op:
        case Input() | Random() | Host():
            return everything - box(node.domain)
        case Rec():
            return everything - (demand.of(node) & box(node.domain))
        case Read(at):
            (x,) = node.args
            reached = read_relation(at, node.domain, x.domain)
            return reached.intersect_out(below[x]).domain()
        case Case(cond):
            holds = condition_set(node.domain, cond)
            chosen, other = (below[a].onto(node.domain) for a in node.args)
            return (chosen & holds) | (other - holds)
        case _:
            found = everything - everything
            for arg in node.args:
                found = found | below[arg].onto(node.domain)
            return found | _outside(node)


def _outside(node: Node) -> Set:
    """The points at which a part of an array leaves it."""
    everything = universe(node.domain)
    if not isinstance(node.op, Part):
        return everything - everything
    at, size = node.op.at, node.args[0].shape[node.op.axis]
    lo, end = (at.lo, at.hi) if isinstance(at, Slice) else (at, at + 1)
    if not all(map(is_quasi_affine, (lo, end, size))):
        return everything - everything
    return everything - condition_set(node.domain, every(at_least(lo, 0), at_least(size, end)))


@dataclass(frozen=True)
class Condition:
    """A condition that a user wrote: a boolean that must hold at the points of ``guard``."""

    ok: Node
    said: Said
    where: str
    guard: Cond


def with_claims(pdg: Pdg, written: Sequence[Condition] = ()) -> tuple[Pdg, tuple[Claim, ...]]:
    """Return the program with the outputs of all its claims, and the claims.

    A gather is checked at the points at which its value is demanded.
    """
    outputs: dict[str, Node] = {}
    claims: list[Claim] = []
    if pdg.reads_outside:
        pdg = inside(pdg)
    demand = Demand(pdg, pdg.minimum_extents)
    for node in pdg.nodes():
        points = _points(demand, node) if isinstance(node.op, Gather) else None
        if points is not None:
            claims.append(_inside(node, points, outputs))
    for each in written:
        ok = _add(outputs, _where(each.guard, _whole(each.ok), build.const(True, "bool")))
        claims.append(Claim(ok, each.ok.domain, each.said, each.where))
    checked = replace(pdg, outputs=(*pdg.outputs, *outputs.items()))
    outside = bool(straying(check(checked)))
    return replace(checked, reads_outside=outside), tuple(claims)


def _points(demand: Demand, node: Node) -> Cond | None:
    """Where a value is demanded; None if it is nowhere."""
    points = (demand.of(node) & box(node.domain)).assume(demand.minimum)
    return None if points.is_empty() else points.gist(box(node.domain)).cond()


def _where(guard: Cond, value: Node, other: Node) -> Node:
    return build.case(guard, value, build.broadcast(build.pad_rank(other, value.rank), value.shape))


def _whole(ok: Node) -> Node:
    return build.reduce_node("all", ok, range(-ok.rank, 0))


def _add(outputs: dict[str, Node], node: Node) -> Unseen:
    name = f"{UNSEEN}check{len(outputs)}"
    outputs[name] = node
    return Unseen(name, node.domain)


def _inside(node: Node, guard: Cond, outputs: dict[str, Node]) -> Claim:
    assert isinstance(node.op, Gather), f"{node} is no gather"
    (x, index), size = node.args, node.args[0].shape[node.op.axis]
    wide = build.map_node("cast", [index], "int64")
    first, end = build.const(0, "int64"), build.map_node("cast", [build.affine(size)], "int64")
    ok = build.map_node(
        "and", [build.map_node("ge", [wide, first]), build.map_node("lt", [wide, end])]
    )
    held = _add(outputs, _where(guard, _whole(ok), build.const(True, "bool")))
    shown = _add(outputs, _where(guard, wide, first))
    about = Inside(called(x), node.op.axis, size, node.op.window)
    return Claim(held, node.domain, about, node.where, shown)
