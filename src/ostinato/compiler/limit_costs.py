"""What every limit of memory would cost: a program is planned again for several of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.compiler.forms import Room, Taken, fitting, smallest
from ostinato.compiler.options import Request, typical_extents
from ostinato.compiler.pipeline import optimize_pdg, rewriting, room_of, taken
from ostinato.pdg.errors import MemoryLimitError
from ostinato.pdg.half_storage import encoded
from ostinato.report.memory_curve import LimitCost, MemoryCurve

BETWEEN = 4  # limits between the peak without one and the least that can be had


def memory_curve(request: Request, extents: Mapping[str, int]) -> MemoryCurve:
    """Plan a program without a limit, for the least one, and for some between.

    What ``extents`` do not say is as hinted, else typical.
    """
    given = encoded(request.pdg)
    hints = typical_extents(given, {**request.options.hints, **extents})
    plain = replace(request.options, hints=hints, memory_limit=0, spill=False)
    form = optimize_pdg(given, request.rules, plain)
    usual = taken(form, plain)
    forms = rewriting(given, request.rules, plain)

    def room(limit: int) -> Room:
        return room_of(given, replace(plain, memory_limit=limit))

    least = smallest(forms, form, room(1))
    points = [_point(usual.bytes, usual)]
    ratio = (least.bytes / max(1, usual.bytes)) ** (1 / (BETWEEN + 1))
    for k in range(1, BETWEEN + 1):
        limit = int(usual.bytes * ratio**k)
        try:
            found = room(limit).taken(fitting(forms, form, room(limit)))
        except MemoryLimitError:  # prices between may find no form; the least one stands below
            continue
        if found.bytes < points[-1].peak_bytes:
            points.append(_point(limit, found))
    if least.bytes < points[-1].peak_bytes:
        points.append(_point(least.bytes, least))
    return MemoryCurve(tuple(points), least.largest)


def _point(limit: int, of: Taken) -> LimitCost:
    return LimitCost(limit, of.bytes, of.ns, of.ways)
