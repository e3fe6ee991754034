"""Calls of Python functions as statements: stored operands, and where a call is demanded."""

from __future__ import annotations

from typing import Protocol

from ostinato.codegen.ir.system import Call, HostCall, Load, Operand, Statement
from ostinato.codegen.lowering.axis_indices import ONE, Component, Digit, Digits, Structure
from ostinato.codegen.lowering.stored import Frame, Point
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.demand.demand import Demand, box
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.node import PURE, Host, Node, Pdg


class Lowering(Protocol):
    """What lowering offers: frames, names, loads, and plain copies."""

    pdg: Pdg

    def frame(self, node: Node) -> Frame: ...
    def name(self, node: Node) -> str: ...
    def plainly(self, x: Node) -> Node: ...
    def load(self, node: Node, point: Point, digits: tuple[Digits, ...]) -> Load: ...
    def indices(
        self, positions: Structure, used: set[Dim], tag: str
    ) -> tuple[tuple[tuple[Dim, Component], ...], ...]: ...


def host_statement(lowering: Lowering, node: Node) -> Statement:
    """Return the statement of a call: whole operands in, a whole result out."""
    op = node.op
    assert isinstance(op, Host), f"{node} is no call"
    frame = lowering.frame(node)
    used = set(frame.dims) | {a.index for a in frame.axes}
    loads: list[Load] = []
    operands: list[Operand] = []
    positions = frame.positions
    for k, arg in enumerate(node.args):
        plain = tuple(() if size == ONE else (Component(size),) for size in arg.shape)
        own = lowering.indices(plain, used, f"h{k}")
        digits = tuple(tuple(Digit(expr(i), c.size) for i, c in p) for p in own)
        loads.append(lowering.load(lowering.plainly(arg), frame.point(), digits))
        operands.append(_operand(arg, own))
        positions = (*positions, *own)
    ordered = op.effects != PURE
    whole = Frame(positions, frame.domain)
    call = HostCall(
        op.call, op.fn, ordered, tuple(operands[ordered:]), _operand(node, frame.positions)
    )
    return Statement(
        lowering.name(node), "host", whole.dims, whole.axes,
        ((_demanded(lowering.pdg, node, ordered), Call(op.fn, tuple(loads), node.dtype)),),
        node.dtype, reduced=frozenset(a.index for a in whole.axes) - {a.index for a in frame.axes},
        fold=op.fn, where=node.where, label=node.label, host=call,
    )  # fmt: skip


def _operand(x: Node, positions: tuple[tuple[tuple[Dim, Component], ...], ...]) -> Operand:
    return Operand(x.dtype, x.shape, tuple(p[0][0] if p else None for p in positions))


def _demanded(pdg: Pdg, node: Node, ordered: bool) -> Cond:
    """Where the call is needed; one with effects everywhere."""
    if ordered:
        return ALWAYS
    whole = box(node.domain).assume(pdg.minimum_extents)
    needed = Demand(pdg, pdg.minimum_extents).of(node)
    return ALWAYS if whole.is_subset(needed) else needed.gist(whole).cond()
