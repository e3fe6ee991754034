"""Truth values that stay false along a dim, such as "the episode goes on"."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.codegen.ir.system import Call, Literal_, Load, Statement, Value
from ostinato.pdg.condition import ALWAYS, equal
from ostinato.pdg.index import Dim, expr


def never_returns(statements: Mapping[str, Statement], mask: Statement, dim: Dim) -> bool:
    """Whether a mask is true only where it was true one step earlier."""
    later = [value for cond, value in mask.clauses if cond != equal(dim, 0)]
    before = {d: expr(d) - (d == dim) for d in mask.result_dims}
    at = tuple(before[d] for d in mask.result_dims)
    return bool(later) and all(_implies(statements, value, mask.name, at) for value in later)


def _implies(
    statements: Mapping[str, Statement], value: Value, mask: str, at: tuple[object, ...]
) -> bool:
    """Whether a value is true only where the mask is, at a point."""
    match value:
        case Literal_(x):
            return not x
        case Call("and", args):
            return any(_implies(statements, a, mask, at) for a in args)
        case Load(tensor, dims) if tensor == mask:
            return dims == at and not value.picks
        case Load(tensor, dims) if not value.picks and dims == at:
            s = statements[tensor]
            whole = [v for cond, v in s.clauses if cond == ALWAYS]
            here = tuple(map(expr, s.result_dims))
            same = s.result_dims == statements[mask].result_dims
            plain = same and s.kind == "map" and len(s.clauses) == len(whole) == 1
            return plain and _implies(statements, whole[0], mask, here)
        case _:
            return False
