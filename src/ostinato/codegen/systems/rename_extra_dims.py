"""Second indices over the steps of a dim, renamed to the dim where that gives a common loop.

``s[u] = sum(x[u + 1 : u + 4])`` over a second index ``u`` of the steps of ``t``, read as ``s[t]``,
shares no loop with ``x[t]``. As ``s[t]`` it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.codegen.ir.system import Load, Statement, Value
from ostinato.codegen.ir.values import Rewrite
from ostinato.pdg.index import Dim, Expr, Extent, expr


def untwin(
    statements: Mapping[str, Statement], names: frozenset[str]
) -> dict[str, Statement] | None:
    """Rename second indices of the named statements that lack the first; None if there are none."""
    names &= statements.keys()
    dims = {d for n in names for d in statements[n].dims}
    first = {d.extent: d for d in sorted(dims, key=lambda d: -d.serial) if not d.steps}
    by = {n: _renames(statements[n], first) for n in statements if n in names}
    if not any(by.values()):
        return None
    moved = {n: _renamed(s, by.get(n, {})) for n, s in statements.items()}

    def load(x: Load) -> Value:
        old, new = statements[x.tensor].result_dims, moved[x.tensor].result_dims
        to = by.get(x.tensor, {})
        at = {to.get(d, d): e for d, e in zip(old, x.dims, strict=True)}
        return replace(x, dims=tuple(at[d] for d in new))

    rewrite = Rewrite({}, load)
    return {n: rewrite.clauses(s) for n, s in moved.items()}


def _renames(s: Statement, first: Mapping[Extent | Expr, Dim]) -> dict[Dim, Dim]:
    """At most one second index per dim that the statement has no index over."""
    out: dict[Dim, Dim] = {}
    for d in s.dims if s.kind != "input" else ():
        to = first.get(d.extent)
        if d.steps and to is not None and to not in (*s.dims, *out.values()):
            out[d] = to
    return out


def _renamed(s: Statement, to: Mapping[Dim, Dim]) -> Statement:
    if not to:
        return s
    rewrite = Rewrite({d: expr(new) for d, new in to.items()})
    named = replace(
        s,
        dims=tuple(sorted((to.get(d, d) for d in s.dims), key=lambda d: d.serial)),
        axes=tuple(replace(a, size=rewrite.expr(a.size)) for a in s.axes),
        lanes=frozenset(to.get(d, d) for d in s.lanes),
        reduced=frozenset(to.get(d, d) for d in s.reduced),
    )
    return rewrite.clauses(named)
