"""Operators that stand for an expression of others, as a program may add to the table.

The code of such an operator is a graph over its operands, which are inputs without axes. Its value,
its derivatives and what the compiler lowers all follow from that graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ostinato.pdg.build import const, input_node, map_node
from ostinato.pdg.functions import FUNCTIONS, Array, Function, has_derivative
from ostinato.pdg.index import expr
from ostinato.pdg.meaning import tensorial
from ostinato.pdg.node import Const, Dtype, Input, Map, Node, Pdg, named_if_not, postorder
from ostinato.pdg.partial_derivatives import Arithmetic
from ostinato.pdg.replace import rebuild, replaced


def operands(dtype: Dtype, arity: int, sizes: Sequence[int] = ()) -> tuple[Node, ...]:
    """The operands over which the code of an operator is written."""
    shape = tuple(map(expr, sizes))
    return tuple(input_node(str(k), shape, dtype, ()) for k in range(arity))


def expanding(name: str, codes: dict[Dtype, Node], arity: int) -> Function:
    """The record of an operator with its code for operands of each type."""
    (result,) = {"same" if code.dtype == dtype else "bool" for dtype, code in codes.items()}
    has_slope = result == "same" and any(map(has_derivative, codes))
    return Function(
        name,
        arity,
        tuple(codes),
        partial(_evaluated, codes),
        tuple(partial(_derivative, codes, k) for k in range(arity)) if has_slope else (),
        "same" if result == "same" else "bool",
        code=codes,
    )


def _evaluated(codes: dict[Dtype, Node], *values: Array) -> Array:
    code = next(code for dtype, code in codes.items() if values[0].dtype.name == dtype)
    found: dict[Node, Array] = {}
    for node in postorder((code,)):
        match node.op:
            case Input(name):
                found[node] = values[int(name)]
            case Const((value,)):
                found[node] = np.asarray(value, node.dtype)
            case Map() as op:
                found[node] = tensorial(op, node, [found[arg] for arg in node.args], {})
            case _:
                raise AssertionError(f"{node} stands in the code of an operator")
    return found[code]


def _applied(code: Node, args: Sequence[Node], where: str) -> dict[Node, Node]:
    """For each node of the code of an operator, the node that it is of these operands."""
    out: dict[Node, Node] = {}
    for node in postorder((code,)):
        match node.op:
            case Input(name):
                out[node] = args[int(name)]
            case Const((value,)):
                out[node] = const(value, node.dtype)
            case Map(fn):
                out[node] = map_node(fn, [out[arg] for arg in node.args], node.dtype, where)
            case _:
                raise AssertionError(f"{node} stands in the code of an operator")
    return out


def _derivative(
    codes: dict[Dtype, Node], k: int, a: Arithmetic, up: Node, z: Node, x: Node, y: Node
) -> Node:
    """``up`` times the derivative by operand ``k``, by the chain rule along the code."""
    code = codes[x.dtype]
    made = _applied(code, (x, y), a.where)
    sought = next(node for node in made if node.op == Input(str(k)))
    adjoints = {code: up}
    for node in reversed(list(postorder((code,)))):
        if node not in adjoints or not isinstance(node.op, Map):
            continue
        args = [made[arg] for arg in node.args]
        for arg, partial_by in zip(node.args, FUNCTIONS[node.op.fn].partials, strict=False):
            if has_derivative(arg.dtype):
                mine = partial_by(a, adjoints[node], made[node], args[0], args[-1])
                adjoints[arg] = a.add(adjoints[arg], mine) if arg in adjoints else mine
    return adjoints.get(sought, a.number(0, z))


def _spelled_out(node: Node, args: tuple[Node, ...]) -> Node | None:
    if not isinstance(node.op, Map) or not (codes := FUNCTIONS[node.op.fn].code):
        return None
    code = codes[args[0].dtype]
    return named_if_not(_applied(code, args, node.where)[code], node.origin)


def spelled_out(code: Node) -> Node:
    """The code of an operator with that of the operators in it."""
    return rebuild((code,), _spelled_out)[code]


def expanded(pdg: Pdg) -> Pdg:
    """Return the program with the code of operators in their place."""
    if not any(isinstance(n.op, Map) and FUNCTIONS[n.op.fn].code for n in pdg.nodes()):
        return pdg
    return replaced(pdg, _spelled_out)
