"""Derivatives that the user gives."""

from __future__ import annotations

from ostinato.pdg.arithmetic import full
from ostinato.pdg.errors import GradientError
from ostinato.pdg.grad.read_adjoints import Adjoint
from ostinato.pdg.naming import called, show_shape
from ostinato.pdg.node import Custom, Node


def custom_back(node: Node, k: int, up: Adjoint) -> Adjoint | None:
    """Return what the user's pull-back contributes to operand ``k``; None is nothing.

    Errors: GradientError if the contributions do not fit the inputs.
    """
    assert isinstance(node.op, Custom), f"{node} has no derivative of its own"
    inputs = node.args[1:]
    found = node.op.pull_back(node, full(up.value, node.shape, node.where))
    if len(found) != len(inputs):
        fact = f"the pull-back of {called(node)} returns {len(found)} gradients"
        raise GradientError(fact, f"Return one for each of its {len(inputs)} inputs.", node.where)
    value, x = found[k - 1], inputs[k - 1]
    if value is None:
        return None
    if value.shape != x.shape or value.dtype != x.dtype:
        fact = (
            f"the pull-back of {called(node)} returns {value.dtype} of shape "
            f"{show_shape(value.shape)} for {called(x)}"
        )
        remedy = f"Return {x.dtype} of shape {show_shape(x.shape)}."
        raise GradientError(fact, remedy, node.where)
    foreign = {*value.domain} - {*node.domain, *up.value.domain}
    if foreign:
        names = ", ".join(sorted(f"`{d}`" for d in foreign))
        fact = f"the pull-back of {called(node)} returns a gradient that depends on {names}"
        raise GradientError(fact, f"Reduce {names}, or pass what has it as an input.", node.where)
    return Adjoint(up.guard, value)
