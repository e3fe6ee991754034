"""Nothing that a node holds can be changed."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import cast

import pytest

import ostinato as ot
from ostinato.pdg.node import Node
from ostinato.pdg.origin import Place

PLAIN = (str, int, float, bool, type(None))
APART = ("identity", "remarks")  # an identity holds nothing; `ot.stop` says where a dimension ends


def parts(record: object) -> list[str]:
    """The names of what a record holds."""
    if isinstance(record, Place):
        return ["function", "part", "in_loss"]
    assert is_dataclass(record) and not isinstance(record, type), f"{record!r} is no record"
    return [each.name for each in fields(record)]


def records(node: Node) -> Iterator[object]:
    """Everything that a node is made of, each once."""
    seen: set[int] = set()
    waiting: list[object] = [node]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or type(found) in PLAIN:
            continue
        seen.add(id(found))
        if isinstance(found, tuple):
            waiting.extend(cast(tuple[object, ...], found))
        else:
            yield found
            waiting += [getattr(found, name) for name in parts(found) if name not in APART]


def test_no_attribute_of_what_a_node_holds_can_be_changed() -> None:
    t = ot.dims("t")
    x = ot.input("x", (4,), over=t)
    h = ot.recurrent("h", (4,), over=t)
    h[0] = ot.random.normal((4,))
    h[t + 1] = ot.tanh(0.5 * h + x[t // 2]).named("next")
    loss = h[t:].sum()
    kinds: set[type] = set()
    program = ot.Program(slope=ot.grad(loss, x), peak=h.max(0))
    for node in program.pdg.nodes():
        for record in records(node):
            kinds.add(type(record))
            for name in (*parts(record), "a_new_name"):
                with pytest.raises((AttributeError, TypeError)):
                    setattr(record, name, None)
    assert {"Node", "Origin", "Place", "Dim", "Expr", "Read"} <= {kind.__name__ for kind in kinds}
