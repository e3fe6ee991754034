"""A compiled program for people to look at: its equations, and its graph before and after."""

from __future__ import annotations

from ostinato.compiler.options import Request
from ostinato.compiler.pipeline import optimize_pdg
from ostinato.pdg.half_storage import encoded
from ostinato.provenance.place import line_at
from ostinato.report.drawing.mathematics import equations
from ostinato.report.graph import Fact, graph
from ostinato.runtime.run.explanation import Drawn


def drawn(request: Request) -> Drawn:
    """Draw a program as written and as compiled; it is rewritten again, to the same result."""
    optimized = optimize_pdg(encoded(request.pdg), request.rules, request.options)
    report = optimized.report
    facts = {n: Fact(report.origins.get(n, ()), price) for n, price in report.prices.items()}
    before = graph("as written", "written", request.pdg, {}, line_at)
    after = graph("as compiled", "compiled", optimized.pdg, facts, line_at)
    return Drawn(equations(request.pdg), (before, after))
