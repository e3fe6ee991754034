"""Where a value beside a program is defined: where the program has all that it reads."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.pdg.condition import Cond, at_least, every
from ostinato.pdg.demand.demand import Demand, box, read_relation
from ostinato.pdg.index import Slice
from ostinato.pdg.intervals import is_quasi_affine
from ostinato.pdg.isl import Set, condition_set, universe
from ostinato.pdg.node import Case, Host, Input, Node, Part, Random, Read, Rec, postorder


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
