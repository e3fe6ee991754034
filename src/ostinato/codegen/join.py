"""Maps as parts of their readers, where a map of its own would leave a component without an order.

``x[t] = f[t-2]`` with ``f[t] = x[t+1] + x[t]`` has no loop in which both run at the same step;
``x[t] = x[t-1] + x[t-2]`` has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ostinato.codegen.system import Load, Statement, Value, loads
from ostinato.codegen.values import Rewrite
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr


def join_maps(
    statements: Mapping[str, Statement], names: frozenset[str], most_reads: int | None = None
) -> dict[str, Statement] | None:
    """Make the named maps part of what reads them; None if none of them can be.

    With ``most_reads`` 1 no equation is written twice.
    """
    out = dict(statements)
    for name in [n for n in statements if n in names]:
        found = Counter(x.tensor for s in out.values() for _, v in s.clauses for x in loads(v))
        few = most_reads is None or found[name] <= most_reads
        if few and found[name] and _can_join(name, out):
            joined = out.pop(name)
            out = {n: _with(joined, s) for n, s in out.items()}
    return out if len(out) < len(statements) else None


def _can_join(name: str, statements: Mapping[str, Statement]) -> bool:
    """Whether a map has one equation, and is read by maps and folds at plain positions only."""
    s = statements[name]
    if s.kind != "map" or len(s.clauses) != 1 or s.clauses[0][0] != ALWAYS:
        return False
    for reader in statements.values():
        mine = [x for _, v in reader.clauses for x in loads(v) if x.tensor == name]
        plain = all(isinstance(a, Expr) for x in mine for a in x.axes)
        if mine and (reader is s or reader.kind not in ("map", "fold") or not plain):
            return False
    return True


def _with(joined: Statement, reader: Statement) -> Statement:
    """The reader with the map's value in place of its loads."""

    def value(load: Load) -> Value:
        if load.tensor != joined.name:
            return load
        by: dict[Dim, Expr] = dict(zip(joined.dims, load.dims, strict=True))
        for axis, at in zip(joined.axes, load.axes, strict=True):
            assert isinstance(at, Expr), f"{joined.name} is read at a computed position"
            by[axis.index] = at

        def clamped(inner: Load) -> Load:
            return replace(inner, clamp=inner.clamp or load.clamp)

        return Rewrite(by, clamped).value(joined.clauses[0][1])

    return Rewrite({}, value).clauses(reader)
