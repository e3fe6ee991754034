"""Where a component has no order: second indices renamed, and values computed some steps later.

``x[t] = f[t-2]`` with ``f[t] = x[t+1] + x[t]`` has no loop that runs both at the same step: ``f``
reads ahead. As ``g[t] = f[t-1]``, which is ``x[t] + x[t-1]``, it does not.
``s[u] = sum(x[u + 1 : u + 4])`` over a second index ``u`` of the steps of ``t``, read as ``s[t]``,
shares no loop with ``x[t]``. As ``s[t]`` it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ostinato.codegen.ir.system import Load, Statement, Value
from ostinato.codegen.ir.values import Rewrite, guarded_loads
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr, expr


class Read(NamedTuple):
    """A read along one dim, from ``back`` to ``far`` steps behind; None where that has no bound."""

    reader: str
    tensor: str
    back: int | None
    far: int
    always: bool  # under no condition


def delay(
    statements: Mapping[str, Statement], names: frozenset[str], held: frozenset[str]
) -> dict[str, Statement]:
    """Move named statements along every dim until all fixed reads go one way; not those held."""
    out: dict[str, Statement] = dict(statements)
    inner = {n for n in out if n in names}
    dims = {d: None for n in out if n in names for d in out[n].result_dims}
    for dim in dims:
        for sign in (1, -1):
            steps = delays(out, dim, sign, inner, held)
            if steps is not None:
                for name in [n for n in statements if steps.get(n)]:
                    moved = out[name]
                    out = {n: _moved(s, moved, dim, steps[name]) for n, s in out.items()}
                break
    return out


def delays(
    statements: Mapping[str, Statement], dim: Dim, sign: int, inner: set[str], held: frozenset[str]
) -> dict[str, int] | None:
    """Steps that make every inner reader at least as late as what it reads; None if none do.

    ``sign`` -1 is for loops that run backwards.
    """
    reads = [r for s in statements.values() for r in _reads(s, statements, dim, sign)]
    between = [r for r in reads if r.reader in inner and r.tensor in inner]
    still = {n for r in between if r.back is None for n in (r.reader, r.tensor)} | held
    still |= {n for n in inner if not _may_move(statements[n], dim)}
    first, last = (_idle(reads, statements, of) for of in (-1, 1))
    most = {n: 0 if n in still else len(statements) for n in inner}
    for r in reads:
        if r.tensor in inner and r.reader not in inner:
            back = last[r.tensor] if r.back is None else max(r.back, last[r.tensor])
            most[r.tensor] = min(most[r.tensor], back)
    for least in (dict.fromkeys(inner, 0), {n: 0 if n in still else -first[n] for n in inner}):
        steps = _settled(least, most, between)
        if steps is not None:
            return {name: sign * k for name, k in steps.items()}
    return None


def _settled(
    least: Mapping[str, int], most: Mapping[str, int], reads: Sequence[Read]
) -> dict[str, int] | None:
    """The least steps within bounds at which no reader is earlier than what it reads."""
    steps = dict(least)
    while all(steps[n] <= most[n] for n in steps):
        late = [
            r for r in reads if r.back is not None and steps[r.tensor] - r.back > steps[r.reader]
        ]
        if not late:
            return steps
        for r in late:
            assert r.back is not None, f"{r} was left out"
            steps[r.reader] = max(steps[r.reader], steps[r.tensor] - r.back)
    return None


def _idle(reads: Sequence[Read], statements: Mapping[str, Statement], sign: int) -> dict[str, int]:
    """How many of the last steps of every statement nobody needs; of the first with -1.

    What always reads some steps ahead is never needed in the last ones: every needed read is inside
    its domain.
    """
    idle = dict.fromkeys(statements, 0)
    for _ in statements:
        more = {
            r.reader: beyond
            for r in reads
            if r.always and r.back is not None
            if (beyond := idle[r.tensor] - sign * (r.back if sign > 0 else r.far)) > idle[r.reader]
        }
        if not more:
            return idle
        idle |= more
    return dict.fromkeys(statements, 0)


def _may_move(s: Statement, dim: Dim) -> bool:
    """Whether a statement can be computed at another step: its axes are as long at every step."""
    along = any(dim in axis.size.dims for axis in s.axes)
    return s.kind not in ("input", "host") and dim in s.result_dims and not along


def _reads(
    reader: Statement, statements: Mapping[str, Statement], dim: Dim, sign: int
) -> Iterator[Read]:
    for load, cond in guarded_loads(reader):
        dims = statements[load.tensor].result_dims
        if dim in dims:
            axes = (*reader.axes, *(pick.axis for pick in load.picks))
            sizes = {a.index: a.size for a in axes}
            steps = span((expr(dim) - load.dims[dims.index(dim)]) * sign, sizes)
            back, far = steps or (None, 0)
            yield Read(reader.name, load.tensor, back, far, cond == ALWAYS)


def span(gap: Expr, sizes: Mapping[Dim, Expr]) -> tuple[int, int] | None:
    """The least and the greatest value of a distance that only axes of known sizes change."""
    last = {d: size.const - 1 for d, size in sizes.items() if size.is_const and size.const > 0}
    ends = [gap.const, gap.const]
    for atom, k in gap.terms:
        if not isinstance(atom, Dim) or atom not in last:
            return None
        ends[k > 0] += k * last[atom]
    return ends[0], ends[1]


def _moved(reader: Statement, moved: Statement, dim: Dim, steps: int) -> Statement:
    """A statement after another one, or itself, was moved.

    The steps that come into the range are computed for nobody, and may read outside it; so may
    those that nobody needs.
    """
    place = moved.result_dims.index(dim)
    is_itself = reader.name == moved.name

    def load(x: Load) -> Value:
        if x.tensor != moved.name:
            return x.moved_along(dim) if is_itself else x
        dims = (*x.dims[:place], x.dims[place] + steps, *x.dims[place + 1 :])
        return replace(x, dims=dims, clamp=x.clamp or "dims")

    by: dict[Dim, Expr] = {dim: expr(dim) - steps} if is_itself else {}
    return Rewrite(by, load).clauses(reader)


def untwin(
    statements: Mapping[str, Statement], names: frozenset[str]
) -> dict[str, Statement] | None:
    """Rename second indices of the named statements that lack the first; None if there are none."""
    names &= statements.keys()
    dims = {d for n in names for d in statements[n].dims}
    first = {expr(d.extent): d for d in sorted(dims, key=lambda d: -d.serial)}
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


def _renames(s: Statement, first: Mapping[Expr, Dim]) -> dict[Dim, Dim]:
    """At most one second index per dim that the statement has no index over, or is a fold over."""
    out: dict[Dim, Dim] = {}
    for d in s.dims if s.kind != "input" else ():
        to = first[expr(d.extent)]
        if to not in (*s.dims, *out.values()):
            out[d] = to
        elif to in s.reduced - out.keys() and d not in s.reduced:
            out |= {d: to, to: d}
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
