"""Outputs whose shape depends on the point: the array that the user gets is padded with zeros."""

from __future__ import annotations

from dataclasses import replace

from ostinato.codegen.ir.fresh_names import fresh
from ostinato.codegen.ir.system import Axis, Choice, Literal_, Load, Statement, System
from ostinato.pdg.condition import ALWAYS, at_least, every
from ostinato.pdg.index import dims_of, expr


def pad_outputs(system: System) -> System:
    """Give every ragged output a copy over its whole box, zero outside the shape of a point."""
    statements = dict(system.statements)
    outputs = dict(system.outputs)
    for name, tensor in system.outputs.items():
        s = system.statements[tensor]
        if any(dims_of(a.size) for a in s.result_axes):
            padded = _padded(s, fresh(f"{tensor}_padded", statements))
            statements[padded.name] = padded
            outputs[name] = padded.name
    return replace(system, statements=statements, outputs=outputs)


def _padded(s: Statement, name: str) -> Statement:
    dims, axes = s.result_dims, s.result_axes
    load = Load(s.name, tuple(map(expr, dims)), tuple(expr(a.index) for a in axes), s.dtype)
    zero = Literal_(False if s.dtype == "bool" else 0, s.dtype)
    inside = every(*(at_least(a.size - 1, a.index) for a in axes))
    return replace(
        s,
        name=name,
        base=s.lowered,
        kind="map",
        dims=dims,
        axes=tuple(Axis(a.index, a.pad, a.pad) for a in axes),
        clauses=((ALWAYS, Choice(inside, load, zero, s.dtype)),),
        lanes=s.lanes & set(dims),
        reduced=frozenset(),
        fold="",
        along=None,
    )
