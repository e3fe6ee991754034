"""A text that says everything about a program, the same in every process: the key of caches."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import cast

from ostinato.pdg.index import Dim, Expr, Extent
from ostinato.pdg.node import Node, Pdg


def spell(value: object) -> str:
    """Spell a record without process-dependent numbers: dimensions by name, expressions by text."""
    if isinstance(value, Dim | Extent | Expr):
        return str(value)
    if isinstance(value, tuple):
        return "(" + ",".join(map(spell, cast(tuple[object, ...], value))) + ")"
    if is_dataclass(value) and not isinstance(value, type):
        inner = ",".join(spell(getattr(value, f.name)) for f in fields(value))
        return f"{type(value).__name__}({inner})"
    return ascii(value)


def _line(node: Node, number: dict[Node, int]) -> str:
    args = ",".join(str(number[a]) for a in node.args)
    origins = (node.origin, *node.origin.others)
    names = (ascii(text) for o in origins for text in (o.label, str(o.where)))
    about = (spell(node.domain), spell(node.shape), node.dtype, *names)
    return f"{number[node]} {spell(node.op)} [{args}] {' '.join(about)}"


def describe(pdg: Pdg) -> str:
    """Every node, equation and output of a program, one per line; names are quoted."""
    number: dict[Node, int] = {}
    lines: list[str] = [f"dims {' '.join(f'{d}:{d.extent}' for d in pdg.dims())}"]
    for node in pdg.nodes():
        number[node] = len(number)
        lines.append(_line(node, number))
    for name, eq in sorted(pdg.equations.items()):
        cases = ",".join(f"{spell(cond)}:{number[right]}" for cond, right in eq.cases)
        about = f"{spell(eq.rec.domain)} {spell(eq.rec.shape)} {eq.rec.dtype} {ascii(eq.where)}"
        lines.append(f"rec {name!a} {about} = {cases}")
    lines += [f"output {name!a} = {number[node]}" for name, node in pdg.outputs]
    return "\n".join(lines)


def fingerprint(pdg: Pdg, *more: str) -> str:
    """Return a hash of the program and of whatever else decides its compilation."""
    text = "\n".join((describe(pdg), *more))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
