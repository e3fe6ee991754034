"""Products that share an operand, and what they would be joined from.

Only narrow products are worth joining: those whose columns fit into one vector together, of which
each has one to itself otherwise, or whose rows fit into one block of sums in registers, which reads
the shared operand once. What is joined gets a node of its own, one more operand at a time, so that
a program with k such products has k - 1 joins and not one for every pair.

A joined product needs all operands wherever one of the products was needed. So they are defined at
all points, call nobody, and where they hold recurrences, the equations still have an order with
every product joined. That order is the one that extraction keeps to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ostinato.pdg.build import concat, matmul, part
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.node import Host, Matmul, Node, Pdg, postorder
from ostinato.pdg.remake import renewed
from ostinato.pdg.replace import mapped
from ostinato.rewrite.load.components import Chain, Vertex, chains
from ostinato.rewrite.load.defined_along import Dims, may_miss
from ostinato.rewrite.load.dependence import Reaches, contained, reaches
from ostinato.rewrite.load.merged_cases import directions
from ostinato.rewrite.load.tables import Loaded

MOST_COLUMNS = 16  # float32 elements of a vector: each product would have one of its own
MOST_ROWS = 16  # of a block of sums in registers
LEAST_TERMS = 16  # of a sum: shorter ones take less time than what moving the parts takes

Chains = dict[Vertex, Chain]
Alike = tuple[int, Node, tuple[Dim, ...], tuple[Expr, ...]]


@dataclass(frozen=True, slots=True)
class Join:
    """Products with one operand in common, and their others, to be joined along an axis."""

    axis: int
    shared: Node
    operands: tuple[Node, ...]
    products: tuple[Node, ...]

    def part_of(self, product: Node, value: Mapping[Node, Node]) -> Node:
        """A product as a part of the joined one, whose operands have other values."""
        at = self.products.index(product)
        shared, joined = value[self.shared], concat([value[x] for x in self.operands], self.axis)
        whole = matmul(shared, joined) if self.axis == -1 else matmul(joined, shared)
        ends = [*accumulate((x.shape[self.axis] for x in self.operands), initial=expr(0))]
        return part(whole, self.axis, Slice(ends[at], ends[at + 1]), product.where)


def find_joins(
    pdg: Pdg, partial: Mapping[Node, Dims], reach: Mapping[Node, Reaches], known: Chains
) -> tuple[tuple[Join, ...], Chains]:
    """What may be joined, and the chains of all definitions with it."""
    loops = _Loops(pdg, reach, known)
    found = tuple(j for j in _narrow_products(pdg) if loops.are_worth(j) and _are_there(j, partial))
    still = tuple(j for j in found if not any(reach[x] for x in j.operands))
    taken: dict[Node, Join] = {}
    for join in (j for j in found if j not in still):
        if not taken.keys() & set(join.products):
            taken.update(dict.fromkeys(join.products, join))
    together = _joined(pdg, taken) if taken else None
    if together is not None:
        after = chains(together, reaches(together))
        before = directions(known)
        if all(ways <= before[name] for name, ways in directions(after).items()):
            return (*still, *dict.fromkeys(taken.values())), after
    return still, known


@dataclass(frozen=True)
class _Loops:
    """Which dimensions carry what a value follows from."""

    pdg: Pdg
    reach: Mapping[Node, Reaches]
    chains: Chains

    def are_worth(self, join: Join) -> bool:
        """Whether products are no rows of a batch, which are rows of one product without this."""
        carried = map(self._carrying, join.operands)
        return join.axis == -1 or all(c.issuperset(join.products[0].domain) for c in carried)

    def _carrying(self, node: Node) -> frozenset[Dim]:
        recs = contained(self.reach[node])
        names = [name for k, name in enumerate(self.pdg.equations) if recs >> k & 1]
        chains = (c for (name, _), chain in self.chains.items() if name in names for c in chain)
        return frozenset(c.dim for c in chains)


def _narrow_products(pdg: Pdg) -> Iterator[Join]:
    """The joins of all products of one domain that share an operand, and have long sums."""
    groups: dict[Alike, dict[Node, Node]] = {}
    for node in pdg.nodes():
        if isinstance(node.op, Matmul) and _is_long(node.args[0].shape[-1]):
            x, y = node.args
            for axis, shared, other in ((-1, x, y), (-2, y, x)):
                sizes = tuple(s for k, s in enumerate(other.shape) if k - other.rank != axis)
                groups.setdefault((axis, shared, other.domain, sizes), {})[other] = node
    for (axis, shared, *_), products in groups.items():
        for run in _runs([*products], axis) if len(products) > 1 else ():
            yield Join(axis, shared, run, tuple(products[x] for x in run))


def _is_long(size: Expr) -> bool:
    return size.is_const and size.const >= LEAST_TERMS


def _runs(operands: Sequence[Node], axis: int) -> Iterator[tuple[Node, ...]]:
    """Runs of at least two operands that are narrow together."""
    most = MOST_COLUMNS if axis == -1 else MOST_ROWS
    run, size = list[Node](), 0
    for operand in (x for x in operands if x.shape[axis].is_const):
        own = operand.shape[axis].const
        if size + own > most:
            if len(run) > 1:
                yield tuple(run)
            run, size = [], 0
        if own <= most:
            run.append(operand)
            size += own
    if len(run) > 1:
        yield tuple(run)


def _are_there(join: Join, partial: Mapping[Node, Dims]) -> bool:
    """Whether all operands have a value at every point that needs no call and no other operand."""
    if any(partial[x] or may_miss(x) for x in join.operands):
        return False
    needed = postorder(join.operands)
    return not any(isinstance(x.op, Host) or x in join.products for x in needed)


def _with(node: Node, join: Join | None, out: Mapping[Node, Node]) -> Node:
    """A node over other operands."""
    if join:
        return join.part_of(node, out)
    args = [out[x] for x in node.args]
    return renewed(node, args)


def _joined(pdg: Pdg, joins: Mapping[Node, Join]) -> Pdg | None:
    """The program with these products joined; None if one would follow from itself."""
    out: dict[Node, Node] = {}
    begun: set[Node] = set()
    stack = [*pdg.roots()]
    while stack:
        node = stack[-1]
        join = joins.get(node)
        below = (join.shared, *join.operands) if join else node.args
        pending = [x for x in below if x not in out]
        if pending and node in begun:
            return None
        begun.add(node)
        stack += pending
        if not pending:
            out.setdefault(stack.pop(), _with(node, join, out))
    return mapped(pdg, out)


def add_joins(loaded: Loaded, joins: Sequence[Join], add_node: Callable[[Node], None]) -> None:
    """Nodes that join operands, and rows about the two parts of each."""
    parts: dict[tuple[int, ...], None] = {}
    for join in joins:
        joined = join.operands[0]
        for operand in join.operands[1:]:
            first, last = joined.shape[join.axis], operand.shape[join.axis]
            total = first + last
            joined = concat((joined, operand), join.axis)
            if joined not in loaded.ids:
                add_node(joined)
            named = (first, last, total, Slice(expr(0), first), Slice(first, total))
            parts[tuple(loaded.tables.id(each) for each in named)] = None
    for row in parts:
        loaded.row("halves", *row)
