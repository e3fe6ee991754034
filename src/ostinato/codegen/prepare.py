"""What holds of every system before it is tiled.

Only statements that outputs need remain; conditions that mention axes are choices inside values, so
that clause conditions select whole nests; a "matmul" is a product of two loads.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.codegen.system import Call, Choice, Load, Statement, System, Value, loads
from ostinato.pdg.condition import ALWAYS, Cond, cond_symbols
from ostinato.pdg.index import Expr


def needed(system: System) -> dict[str, Statement]:
    """The statements that outputs depend on, and all inputs, in order."""
    found: set[str] = set(system.inputs.values())
    open_ = list(system.outputs.values())
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_.extend(load.tensor for load in system.reads(name))
    return {name: s for name, s in system.statements.items() if name in found}


def prepare(statements: dict[str, Statement]) -> dict[str, Statement]:
    """The same equations in the form that the passes after this one expect."""
    return {name: _matmul_or_fold(choose(s)) for name, s in statements.items()}


def choose(statement: Statement) -> Statement:
    """Turn clauses into one choice where a condition mentions an axis or a fold has several."""
    axes = {a.index for a in statement.axes}
    inside = statement.kind == "fold" or any(
        cond_symbols(cond) & axes for cond, _ in statement.clauses
    )
    if not inside:
        return statement
    return replace(statement, clauses=((ALWAYS, _choice(statement.clauses)),))


def _choice(clauses: tuple[tuple[Cond, Value], ...]) -> Value:
    value = clauses[-1][1]  # a point that no clause covers is never demanded
    for cond, earlier in reversed(clauses[:-1]):
        value = Choice(cond, earlier, value, earlier.dtype)
    return value


def _matmul_or_fold(statement: Statement) -> Statement:
    if statement.kind != "matmul" or is_product(statement):
        return statement
    return replace(statement, kind="fold")


def is_product(statement: Statement) -> bool:
    """Whether the value is ``mul(load, load)`` of floats with no computed index."""
    if len(statement.clauses) != 1 or statement.dtype not in ("float32", "float64"):
        return False
    cond, value = statement.clauses[0]
    match value:
        case Call("mul", (Load() as a, Load() as b)):
            plain = all(isinstance(x, Expr) for load in (a, b) for x in load.axes)
            same = a.dtype == b.dtype == statement.dtype
            return plain and same and cond == ALWAYS and len(list(loads(value))) == 2
        case _:
            return False
