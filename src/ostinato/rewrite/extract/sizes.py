"""Numbers for cost decisions: the shape of every class at typical extents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from ostinato.machine.profile import TYPICAL_EXTENT
from ostinato.pdg.index import Dim, Expr, Extent, Slice, evaluate, expr, symbols
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.load.tables import Loaded, Tables

Shape = tuple[int, ...]
SOME = 16  # steps of a dimension that are looked at for a mean


class Sizes:
    """Typical sizes: extents from hints, points in the middle of their dimension."""

    def __init__(self, graph: EGraph, loaded: Loaded, hints: Mapping[str, int]) -> None:
        self.tables: Tables = loaded.tables
        self.masks = loaded.tables.masks()
        self.loops = loaded.tables.mask(loaded.loops)
        rows = loaded.rows.get("tiled", ())
        self.tiles = frozenset(int(tile) for _, tile, _ in rows)
        self.tiled = 0  # the dimensions over tiles
        for _, _, dim in rows:
            self.tiled |= int(dim)
        self._hints = hints
        self._values: dict[Expr, int] = {}
        self._trips: dict[int, int] = {}
        self.shape: dict[int, Shape] = {}
        self._list = {k: tuple(map(self.value, s)) for k, s in graph.shapes.items()}
        for node, number in loaded.ids.items():
            self.shape[graph.node_class[number]] = tuple(map(self.value, node.shape))
        self._fill(graph)

    def extent(self, dim: Dim) -> int:
        return self.value(expr(dim.extent))

    def value(self, e: Expr) -> int:
        """The value of a size, at least 1."""
        found = self._values.get(e)
        if found is None:
            point: dict[Dim | Extent, int] = {}
            tiles: list[Dim] = []
            for s in symbols(e):
                match s:
                    case Dim(size=None):
                        point[s] = self.extent(s) // 2
                    case Dim():
                        tiles.append(s)
                    case Extent(name):
                        point[s] = self._hints.get(name, TYPICAL_EXTENT)
            found = self._values[e] = max(1, self._mean(e, point, tiles))
        return found

    def _mean(self, e: Expr, point: dict[Dim | Extent, int], tiles: Sequence[Dim]) -> int:
        """The value at some points of dimensions that others define: not all tiles are full."""
        steps = [range(0, n, 1 + n // SOME) for n in map(self.extent, tiles)]
        values = [evaluate(e, point | dict(zip(tiles, at, strict=True))) for at in product(*steps)]
        return -(-sum(values) // len(values))

    def trips(self, mask: int) -> int:
        """How many points the dimensions of a mask have."""
        found = self._trips.get(mask)
        if found is None:
            found = math.prod(self.extent(d) for d in self.tables.dims_in(mask))
            self._trips[mask] = found
        return found

    def numel(self, cls: int) -> int:
        return math.prod(self.shape[cls])

    def length(self, attribute: int) -> int:
        """The size of the slice with this id."""
        at = self.tables.index(attribute)
        assert isinstance(at, Slice), f"{at} is no slice"
        return self.value(at.size)

    def _fill(self, graph: EGraph) -> None:
        """Shapes of the remaining classes, from operands to results."""
        readers: dict[int, list[tuple[int, ENode]]] = {}
        ready: list[tuple[int, ENode]] = []
        for cls, nodes in graph.classes.items():
            if cls not in self.shape:
                for node in (n for n in nodes if n.kids and n.op != "look"):
                    ready.append((cls, node))
                    for kid in node.kids:
                        readers.setdefault(kid, []).append((cls, node))
        while ready:
            again: list[tuple[int, ENode]] = []
            for cls, node in ready:
                if cls not in self.shape and all(k in self.shape for k in node.kids):
                    self.shape[cls] = self._of(node)
                    again.extend(readers.get(cls, ()))
            ready = again

    def _of(self, node: ENode) -> Shape:
        kids = [self.shape[k] for k in node.kids]
        op, f = node.op, node.fields
        first = kids[0]
        match op:
            case "map1" | "at" | "running" | "case":
                return first
            case "map2" | "map3" | "lin":
                return tuple(map(max, *kids))
            case "red":
                mask = int(f[1])
                n = len(first)
                return tuple(s for k, s in enumerate(first) if not mask >> (n - k - 1) & 1)
            case "mm":
                return (*map(max, first[:-2], kids[1][:-2]), first[-2], kids[1][-1])
            case "tr":
                return (*first[:-2], first[-1], first[-2])
            case "sl":
                return (self.length(int(f[1])), *first)
            case "reshape":
                return (*first[: len(first) - int(f[0])], *self._list[int(f[1])])
            case "bcast":
                tail = self._list[int(f[0])]
                return (*first[: len(first) - len(tail)], *tail)
            case _:
                return self._moved(op, f, kids)

    def _moved(self, op: str, f: tuple[int | float | str, ...], kids: list[Shape]) -> Shape:
        out = list(kids[0])
        match op:
            case "mv":
                size = out.pop(len(out) - int(f[0]))
                out.insert(len(out) + 1 - int(f[1]), size)
            case "perm":
                perm = self.tables.permutation(int(f[0]))
                out[len(out) - len(perm) :] = [out[p] for p in perm]
            case "part":
                del out[len(out) - int(f[0])]
            case "cut":
                out[len(out) - int(f[0])] = self.length(int(f[1]))
            case "cat":
                out[len(out) - int(f[0])] += kids[1][-int(f[0])]
            case "gather":
                k = len(out) - int(f[0])
                index = kids[1]
                out = [index[j] if j == k else max(out[j], index[j]) for j in range(len(out))]
            case "along1" | "along2":
                k = len(out) - int(f[1])
                out = [max(sizes) for sizes in zip(*kids, strict=True)]
                out[k] = self.value(self.tables.expr(int(f[2])))
            case _:
                raise AssertionError(f"no shape for {op}")
        return tuple(out)
