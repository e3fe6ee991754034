"""Values computed some steps later, where a component has no order otherwise.

``x[t] = f[t-2]`` with ``f[t] = x[t+1] + x[t]`` has no loop that runs both at the same step: ``f``
reads ahead. As ``g[t] = f[t-1]``, which is ``x[t] + x[t-1]``, it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ostinato.codegen.system import Load, Statement, Value, loads
from ostinato.codegen.values import Rewrite
from ostinato.pdg.index import Dim, Expr, dims_of, expr


class Read(NamedTuple):
    """A read along one dim; ``back`` is how many steps behind, None where that varies."""

    reader: str
    tensor: str
    back: int | None


def delay(
    statements: Mapping[str, Statement], names: frozenset[str], held: frozenset[str]
) -> dict[str, Statement]:
    """Move named statements along every dim until all fixed reads go one way; not those held."""
    out = dict(statements)
    dims = {d: None for n in out if n in names for d in out[n].result_dims}
    for dim in dims:
        for sign in (1, -1):
            steps = delays(out, dim, sign, {n for n in names & out.keys() if n not in held})
            if steps is not None:
                for name in [n for n in out if steps.get(n)]:
                    out = {n: _moved(s, out[name], dim, steps[name]) for n, s in out.items()}
                break
    return out


def delays(
    statements: Mapping[str, Statement], dim: Dim, sign: int, movable: set[str]
) -> dict[str, int] | None:
    """The least steps that make every reader at least as late as what it reads; None: impossible.

    ``sign`` -1 is for loops that run backwards. A value at distance ``steps`` beyond the end of the
    range is read by nobody, since its readers are then beyond the end too.
    """
    reads = [r for s in statements.values() for r in _reads(s, statements, dim)]
    varying = {r.tensor for r in reads if r.back is None}
    free = {n for n in movable - varying if _may_move(statements[n], dim)}
    steps = dict.fromkeys(statements, 0)
    for _ in range(len(free) + 1):
        late = [
            (r.reader, steps[r.tensor] - sign * r.back)
            for r in reads
            if r.back is not None and steps[r.tensor] - sign * r.back > steps[r.reader]
        ]
        if not late:
            return {name: sign * k for name, k in steps.items()}
        for reader, needed in late:
            if reader not in free:
                return None
            steps[reader] = max(steps[reader], needed)
    return None


def _may_move(s: Statement, dim: Dim) -> bool:
    """Whether a statement can be computed at another step: its axes are as long at every step."""
    along = any(dim in dims_of(axis.size) for axis in s.axes)
    return s.kind != "input" and dim in s.result_dims and not along


def _reads(reader: Statement, statements: Mapping[str, Statement], dim: Dim) -> Iterator[Read]:
    for _, value in reader.clauses:
        for load in loads(value):
            dims = statements[load.tensor].result_dims
            if dim in dims:
                gap = expr(dim) - load.dims[dims.index(dim)]
                yield Read(reader.name, load.tensor, gap.const if gap.is_const else None)


def _moved(reader: Statement, moved: Statement, dim: Dim, steps: int) -> Statement:
    """A statement after another one, or itself, was moved.

    What a moved statement reads at its first steps may lie outside: it is computed for nobody.
    """
    place = moved.result_dims.index(dim)
    is_itself = reader.name == moved.name

    def load(x: Load) -> Value:
        x = replace(x, clamp=x.clamp or is_itself)
        if x.tensor != moved.name:
            return x
        return replace(x, dims=(*x.dims[:place], x.dims[place] + steps, *x.dims[place + 1 :]))

    by: dict[Dim, Expr] = {dim: expr(dim) - steps} if is_itself else {}
    return Rewrite(by, load).clauses(reader)
