"""The saturated e-graph as plain data: classes of operators over classes, and their facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.pdg.index import Expr, expr, product
from ostinato.rewrite.engine.egglog_session import Cell, Row, Table
from ostinato.rewrite.load.tables import Loaded, Tables
from ostinato.rewrite.terms.signature import SIGNATURE


@dataclass(frozen=True, slots=True)
class ENode:
    """An operator, its fields in the order of its signature, and the classes among them."""

    op: str
    fields: tuple[Cell, ...]
    kids: tuple[int, ...]


@dataclass(frozen=True)
class EGraph:
    """Classes and what is known of them.

    ``node_class`` and ``shape_class`` map ids of the loaded program to classes, ``definitions`` the
    cases of recurrence ids, ``shapes`` the ids of shapes to their sizes, ``origins`` e-nodes to the
    rules that created them, ``closed`` the recurrences that are equal to linear ones.
    """

    classes: Mapping[int, tuple[ENode, ...]]
    dom: Mapping[int, int]
    node_class: Mapping[int, int]
    definitions: Mapping[tuple[int, int], int]
    shapes: Mapping[int, tuple[Expr, ...]]
    origins: Mapping[tuple[str, tuple[Cell, ...]], tuple[str, ...]]
    dtype: Mapping[int, str]
    closed: frozenset[int] = frozenset()
    shape_class: Mapping[int, int] = field(default_factory=dict[int, int])

    def written(self, op: str, row: Row) -> ENode:
        """The e-node of a row of the loaded program, whose operands are ids there."""
        of = {"T": self.node_class, "H": self.shape_class}
        cells = zip(SIGNATURE[op], row[1:], strict=True)
        fields = tuple(of[c][int(cell)] if c in of else cell for c, cell in cells)
        kids = (k for k, letter in zip(fields, SIGNATURE[op], strict=True) if letter == "T")
        return ENode(op, fields, tuple(map(int, kids)))

    def count(self) -> int:
        return sum(map(len, self.classes.values()))


def export(tables: Mapping[str, Table], loaded: Loaded) -> EGraph:
    """Everything extraction needs, in a deterministic order."""
    classes: dict[int, list[ENode]] = {}
    for op, letters in SIGNATURE.items():
        at = [k for k, letter in enumerate(letters) if letter == "T"]
        for fields, output in tables[op].rows:
            assert isinstance(output, int), f"the class of {op} is {output}"
            kids = tuple(int(fields[k]) for k in at)
            classes.setdefault(output, []).append(ENode(op, fields, kids))
    shapes = shapes_of(tables, sizes_of(tables, loaded.tables))
    origins: dict[tuple[str, tuple[Cell, ...]], list[str]] = {}
    for op in SIGNATURE:
        for fields, _ in tables[f"why_{op}"].rows:
            origins.setdefault((op, fields[:-1]), []).append(str(fields[-1]))
    return EGraph(
        {c: tuple(nodes) for c, nodes in classes.items()},
        {int(i[0]): int(o) for i, o in tables["dom"].rows},
        {int(i[0]): int(o) for i, o in tables["node"].rows},
        {(int(i[0]), int(i[1])): int(i[2]) for i, _ in tables["define"].rows},
        shapes,
        {key: tuple(sorted(names)) for key, names in origins.items()},
        {int(i[0]): str(o) for i, o in tables["dtype"].rows},
        frozenset(int(i[0]) for i, _ in tables["closed"].rows),
        {int(i[0]): int(o) for i, o in tables["hnode"].rows},
    )


def shapes_of(
    tables: Mapping[str, Table], sizes: Mapping[int, Expr]
) -> dict[int, tuple[Expr, ...]]:
    """The sizes of every shape, built from the empty shape upwards."""
    shapes: dict[int, tuple[Expr, ...]] = {int(o): () for _, o in tables["nil"].rows}
    pending = list(tables["cons"].rows)
    while pending:
        known = [r for r in pending if int(r[0][0]) in sizes and int(r[0][1]) in shapes]
        for (head, tail), out in known:
            shapes.setdefault(int(out), (sizes[int(head)], *shapes[int(tail)]))
        pending = [r for r in pending if r not in known]
        assert known or not pending, "shapes refer to each other in a circle"
    return shapes


def sizes_of(tables: Mapping[str, Table], ids: Tables) -> dict[int, Expr]:
    """What every size is, from the operators that compute it."""
    sizes: dict[int, Expr] = {int(o): ids.expr(int(i[0])) for i, o in tables["size"].rows}

    def value(op: str, cells: tuple[Cell, ...]) -> Expr:
        first = sizes[int(cells[0])]
        match op:
            case "times":
                return product((first, sizes[int(cells[1])]))
            case "plus":
                return first + sizes[int(cells[1])]
            case "wider":
                return sizes[int(cells[1])] if first == expr(1) else first
            case _:
                (dim,) = ids.dims_in(int(cells[1]))
                return first.at({dim: ids.expr(int(cells[2]))})

    pending = [(op, *row) for op in _COMPUTED for row in tables[op].rows]
    while pending:
        known = [r for r in pending if all(int(c) in sizes for c in r[1][: _COMPUTED[r[0]]])]
        for op, cells, out in known:
            sizes.setdefault(int(out), value(op, cells))
        pending = [r for r in pending if r not in known]
        assert known or not pending, "sizes refer to each other in a circle"
    return sizes


_COMPUTED = {"times": 2, "plus": 2, "wider": 2, "size_at": 1}  # from so many sizes
SHAPES = ("size", *_COMPUTED, "nil", "cons")  # the tables that say what sizes and shapes are
EXPORTED = (
    *SIGNATURE,
    *(f"why_{op}" for op in SIGNATURE),
    *("dom", "node", "hnode", "define", *SHAPES, "dtype", "closed"),
)  # the tables that an export is made of
