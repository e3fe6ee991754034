"""What one point of an equation takes, before anything is known of its loops."""

from __future__ import annotations

from ostinato.codegen.ir.system import Call, Draw, Statement, Value, children
from ostinato.machine.cost_model import REFERENCE


def point_ns(s: Statement, points: float) -> float:
    """A point of an equation that has so many: a term of its fold, or an element of its map.

    What is read and written lies where that many float32 numbers fit.
    """
    if s.kind == "matmul":
        return REFERENCE.multiply_ns(points, points, "broadcast", s.dtype)
    values = (_value_ns(value) for _, value in s.clauses)
    moved = 2 * 4 * REFERENCE.move_ns(4 * points)
    return (max(values, default=0.0) + moved) * REFERENCE.wide(s.dtype)


def _value_ns(value: Value) -> float:
    below = sum(map(_value_ns, children(value)))
    match value:
        case Draw(fn=fn):
            return below + REFERENCE.draw_ns(fn)
        case Call(fn):
            return below + REFERENCE.function_ns(fn)
        case _:
            return below
