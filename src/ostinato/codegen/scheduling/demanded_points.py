"""Values computed only where they are read, where a component has no order otherwise.

``z[s, r] = w[s, r] * h[r]`` has a value in all of its box. If ``h[s]`` reads it for ``r < s`` only,
its other points would wait for steps of ``h`` that come later: they are not computed. If somebody
else reads them, the component gets a copy of its own, and the whole is computed after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import reduce

from ostinato.codegen.ir.extents import Spans
from ostinato.codegen.ir.system import Load, Statement, Value, fresh
from ostinato.codegen.ir.values import Rewrite, guarded_loads
from ostinato.codegen.scheduling.deps import Dep, Unit
from ostinato.pdg import isl
from ostinato.pdg.condition import every
from ostinato.pdg.scc import closed, components

_SWEEPS = 2  # over statements that need each other


def computed_where_read(
    statements: Mapping[str, Statement],
    names: frozenset[str],
    outputs: frozenset[str],
    spans: Spans,
) -> dict[str, Statement]:
    """The statements, of which the named ones leave out the points that no output needs."""
    demanded = _demanded(statements, names, outputs, spans)
    return {n: _only(s, demanded[n], spans) if n in names else s for n, s in statements.items()}


def copied_where_read(
    statements: Mapping[str, Statement], names: frozenset[str], parts: Set[str], spans: Spans
) -> tuple[dict[str, Statement], Set[str]]:
    """The statements; what the named ones read of each other at some points only has a copy.

    ``parts``: what is a copy or has one, and gets none: there would be no end. The second result
    is what is a copy or has one now.
    """
    inside = {n: s for n, s in statements.items() if n in names}
    boxes = {n: _box(s, spans) for n, s in inside.items()}
    reads = [dep for s in inside.values() for dep in _reads(s, inside, spans)]
    read = {n: _union(s, reads, boxes, spans) for n, s in inside.items()}
    whole = {n: s for n, s in inside.items() if n not in parts}
    made = {n: part for n, s in whole.items() if (part := _only(s, read[n], spans)) != s}
    new = {n: fresh(f"{n}_part", statements) for n in made}

    def copied(x: Load) -> Value:
        return replace(x, tensor=new.get(x.tensor, x.tensor))

    rewrite = Rewrite({}, copied)
    out: dict[str, Statement] = {}
    for name, s in statements.items():
        if name in made:
            out[new[name]] = rewrite.clauses(replace(made[name], name=new[name], base=s.lowered))
        out[name] = rewrite.clauses(s) if name in inside and name not in made else s
    return out, made.keys() | new.values()


def _demanded(
    statements: Mapping[str, Statement],
    names: frozenset[str],
    outputs: frozenset[str],
    spans: Spans,
) -> dict[str, isl.Set]:
    """At least the points at which the named ones, and all that read them, are needed.

    Readers come before what they read; those that need each other begin with all of their points.
    """
    readers: dict[str, list[Dep]] = {n: [] for n in statements}
    for dep in (dep for s in statements.values() for dep in _reads(s, statements, spans)):
        readers[dep.tensor].append(dep)
    after = {n: {dep.reader.name for dep in deps} for n, deps in readers.items()}
    asked = closed(names, after.__getitem__)
    found = {n: _box(s, spans) for n, s in statements.items() if n in asked}
    for group in reversed(components(list(found), after)):
        for name in (*reversed(group),) * (_SWEEPS if len(group) > 1 else 1):
            if name not in outputs:
                found[name] = _union(statements[name], readers[name], found, spans)
    return found


def _reads(reader: Statement, statements: Mapping[str, Statement], spans: Spans) -> Iterator[Dep]:
    for load, cond in guarded_loads(reader):
        source = statements.get(load.tensor)
        if source is not None and source.kind != "input":
            yield Dep(Unit(reader), Unit(source), reader, load, cond, spans, {}, False)


def _union(
    s: Statement, reads: Iterable[Dep], points: Mapping[str, isl.Set], spans: Spans
) -> isl.Set:
    """The points of a statement that reads of it need, for the points of their readers."""
    box = _box(s, spans)
    reached = [
        dep.relation.intersect_in(points[dep.reader.name].onto(dep.reader.dims))
        .reverse()
        .domain()
        .onto(s.result_dims)
        for dep in reads
        if dep.tensor == s.name
    ]
    return reduce(isl.Set.__or__, reached, box - box)


def _box(s: Statement, spans: Spans) -> isl.Set:
    dims = s.result_dims
    return isl.domain_set(dims, {d: spans[d].hi for d in dims}).assume({})


def _only(s: Statement, points: isl.Set, spans: Spans) -> Statement:
    """The statement at some of its points; a call of Python has a condition of its own."""
    box = _box(s, spans)
    box &= (box | points).assume()  # also for the extents of dims that only readers have
    computed = reduce(isl.Set.__or__, (box.where(cond) for cond, _ in s.clauses), box - box)
    if s.kind in ("input", "host") or computed.is_subset(points):
        return s
    cond = points.gist(box).cond()
    clauses = tuple((every(cond, own), value) for own, value in s.clauses)
    return replace(s, kind="fold" if s.kind == "matmul" else s.kind, clauses=clauses)
