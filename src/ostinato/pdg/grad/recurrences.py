"""The reverse of the recurrences that rewriting introduces: running sums and linear recurrences."""

from __future__ import annotations

from ostinato.pdg.arithmetic import Algebra
from ostinato.pdg.build import linear, read
from ostinato.pdg.condition import ALWAYS, at_least, every
from ostinato.pdg.errors import GradientError
from ostinato.pdg.extra_dims import twin
from ostinato.pdg.grad.preimage import Dims
from ostinato.pdg.grad.read_adjoints import Adjoint, collect, sum_missing
from ostinato.pdg.index import expr
from ostinato.pdg.node import Linear, Node, Scan


def scan_back(node: Node, up: Adjoint, held: Dims) -> list[Adjoint]:
    """Each step adds to all later sums: the adjoint is the sum over the steps from here on.

    In reverse it adds to all earlier ones, up to here.
    """
    assert isinstance(node.op, Scan), f"{node} is no running fold"
    dim, x = node.op.dim, node.args[0]
    if node.op.fn != "sum":
        raise GradientError(
            f"a running {node.op.fn} over {dim} has no gradient",
            "Take the gradient of the program before it is optimized.",
            node.where,
        )
    missing = frozenset(node.domain) - frozenset(x.domain) - held
    if dim in held:
        return sum_missing(up, missing, node.where)
    if dim in missing:
        count = expr(dim.extent) - dim if node.op.reverse else expr(dim) + 1
        terms = Algebra(node.where).times_size(up.value, count)
        return sum_missing(Adjoint(up.guard, terms), missing, node.where)
    here = twin(dim)
    while here in (*node.domain, *up.value.domain):
        here = twin(here)
    uses = at_least(here, dim) if node.op.reverse else at_least(dim, here)
    later = every(up.guard, uses)
    return collect(up.value, later, missing | {dim}, {here: dim}, node.where)


def linear_back(node: Node, k: int, up: Adjoint, held: Dims) -> Adjoint:
    """The adjoint of ``a`` runs the other way; that of ``g`` is it times the earlier value."""
    assert isinstance(node.op, Linear), f"{node} is no linear recurrence"
    a, dim, back = Algebra(node.where), node.op.dim, node.op.reverse
    before = expr(dim) + (1 if back else -1)
    after = expr(dim) + (-1 if back else 1)
    first, last = expr(dim), expr(dim.extent) - 1 - dim
    has_before, has_after = (last, first) if back else (first, last)
    adjoint = up
    if dim not in held:
        gain = a.switch(at_least(has_after, 1), read(node.args[0], [(dim, after)], node.where))
        run = linear(gain, a.switch(up.guard, up.value), dim, not back, node.where)
        adjoint = Adjoint(ALWAYS, run)
    if k == 1:
        return Adjoint(adjoint.guard, a.fit(adjoint.value, node.shape, node.args[1].shape))
    value = a.mul(adjoint.value, read(node, [(dim, before)], node.where))
    guard = every(adjoint.guard, at_least(has_before, 1))
    return Adjoint(guard, a.fit(value, node.shape, node.args[0].shape))
