"""Einstein sums as products of pairs of operands, and matrix products with vectors beside."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ostinato.language.array.dtypes import accepted, convert, promote
from ostinato.language.array.movement import expand, take_along, transpose
from ostinato.language.array.reduction import reduce
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.functions import FLOATS, NUMBERS
from ostinato.pdg.index import Expr, product
from ostinato.pdg.naming import called, sized
from ostinato.pdg.node import Node

Label = str
Labels = tuple[Label, ...]
TYPICAL = 64  # what a symbolic size counts as when the order of the pairs is chosen


@dataclass(frozen=True, slots=True)
class Term:
    """An operand and the label of each of its axes."""

    node: Node
    labels: Labels


@dataclass(frozen=True, slots=True)
class Spec:
    """The labels of every operand and of the result."""

    operands: tuple[Labels, ...]
    output: Labels


def parse(text: str, args: Sequence[Node], where: str = "") -> Spec:
    """Return the labels that a specification such as ``"bij,jk->bik"`` gives each axis.

    An ellipsis stands for the axes that have no letter, aligned at the right. Without ``->`` the
    result has the ellipsis and then the letters that occur once, in alphabetical order.

    Errors: ShapeError.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(args):
        fact = f"einsum `{text}` names {len(terms)} operands, {len(args)} are given"
        raise ShapeError(fact, "Give one comma-separated term per operand.", where)
    operands = tuple(_labels(term, x, text, where) for term, x in zip(terms, args, strict=True))
    known = [label for labels in operands for label in labels]
    dots = sorted({label for label in known if label.startswith("...")}, reverse=True)
    if not arrow:
        letters = sorted(c for c in set(known) - set(dots) if known.count(c) == 1)
        return Spec(operands, (*dots, *letters))
    before, has_dots, after = right.partition("...")
    output = (*before, *(dots if has_dots else ()), *after)
    unknown = [c for c in output if c not in known]
    if unknown or len(set(output)) < len(output):
        what = f"has the unknown letter `{unknown[0]}`" if unknown else "repeats a letter"
        fact = f"the result of einsum `{text}` {what}"
        raise ShapeError(fact, "Name each axis of the operands at most once.", where)
    return Spec(operands, output)


def _labels(term: str, x: Node, text: str, where: str) -> Labels:
    before, dots, after = term.partition("...")
    letters = before + after
    extra = x.rank - len(letters)
    wrong = not all(c.isalpha() for c in letters)
    if wrong or extra < 0 or (extra and not dots):
        fact = f"einsum `{text}`: the term `{term}` for {sized(x)}"
        raise ShapeError(fact, "Give one letter per axis, or `...` for several.", where)
    return (*before, *(f"...{k:03}" for k in reversed(range(extra))), *after)


def contract(spec: Spec, args: Sequence[Node], where: str = "") -> Node:
    """Return the sum over all labels that the result lacks of the product of the operands.

    Axes of size 1 broadcast. Floats meet in `Matmul`; integers are multiplied and summed exactly.

    Errors: ShapeError.
    """
    dtype = accepted(promote((x.dtype for x in args), where), NUMBERS)
    nodes = [convert(x, dtype, where=where) for x in args]
    sizes = _sizes(spec, nodes, where)
    pairs = zip(nodes, spec.operands, strict=True)
    work = _Contraction(sizes, spec.output, where)
    terms = [work.tidy(Term(x, labels)) for x, labels in pairs]
    while len(terms) > 1:
        i, j = work.best(terms)
        rest = [t for k, t in enumerate(terms) if k not in (i, j)]
        terms = [*rest, work.pair(terms[i], terms[j], _union(rest))]
    return work.finish(terms[0])


def _sizes(spec: Spec, nodes: Sequence[Node], where: str) -> dict[Label, Expr]:
    sizes: dict[Label, Expr] = {}
    owner: dict[Label, Node] = {}
    for node, labels in zip(nodes, spec.operands, strict=True):
        for label, size in zip(labels, node.shape, strict=True):
            if sizes.get(label, ONE) == ONE:
                sizes[label], owner[label] = size, node
            elif size not in (ONE, sizes[label]):
                first, name = owner[label], "..." if label.startswith(".") else label
                fact = (
                    f"einsum: the axis `{name}` is {sizes[label]} in {called(first)} "
                    f"and {size} in {called(node)}"
                )
                raise ShapeError(fact, "Axes of one letter must have equal sizes, or 1.", where)
    return sizes


def _union(terms: Iterable[Term]) -> frozenset[Label]:
    return frozenset(label for term in terms for label in term.labels)


@dataclass(frozen=True, slots=True)
class _Contraction:
    sizes: dict[Label, Expr]
    output: Labels
    where: str

    def tidy(self, term: Term) -> Term:
        """Take diagonals of repeated labels, and drop axes of size 1 that broadcast."""
        x, labels = term.node, list(term.labels)
        for k in reversed(range(len(labels))):
            if x.shape[k] == ONE and (self.sizes[labels[k]] != ONE or labels[k] in labels[:k]):
                x, labels = self._dropped(x, k), [*labels[:k], *labels[k + 1 :]]
        for k in reversed(range(len(labels))):
            if labels[k] in labels[:k]:
                x = diagonal(x, labels.index(labels[k]), k, self.where)
                del labels[k]
        return Term(x, tuple(labels))

    def _dropped(self, x: Node, axis: int) -> Node:
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        return build.reshape(x, shape, where=self.where)

    def summed(self, term: Term, kept: frozenset[Label]) -> Term:
        """Sum over the labels that nobody else needs."""
        gone = [k for k, label in enumerate(term.labels) if label not in kept]
        if not gone:
            return term
        x = reduce("sum", term.node, gone, where=self.where)
        return Term(x, tuple(label for label in term.labels if label in kept))

    def best(self, terms: Sequence[Term]) -> tuple[int, int]:
        """The pair whose product adds least to what is stored; greedy, first of equals."""

        def growth(pair: tuple[int, int]) -> tuple[bool, float]:
            i, j = pair
            mine = {*terms[i].labels, *terms[j].labels}
            rest = _union(t for k, t in enumerate(terms) if k not in pair)
            kept = mine & (rest | {*self.output})
            apart = not {*terms[i].labels} & {*terms[j].labels}
            return apart, self._count(kept) - sum(self._count(terms[k].labels) for k in pair)

        return min(itertools.combinations(range(len(terms)), 2), key=growth)

    def _count(self, labels: Iterable[Label]) -> float:
        sizes = (self.sizes[label] for label in labels)
        return math.prod(s.const if s.is_const else TYPICAL for s in sizes)

    def pair(self, left: Term, right: Term, rest: frozenset[Label]) -> Term:
        """The product of two operands, summed over the labels that are needed no more."""
        needed = rest | {*self.output}
        left = self.summed(left, needed | {*right.labels})
        right = self.summed(right, needed | {*left.labels})
        shared = [label for label in left.labels if label in right.labels]
        inner = tuple(label for label in shared if label not in needed)
        batch = tuple(label for label in shared if label in needed)
        rows = tuple(label for label in left.labels if label not in shared)
        columns = tuple(label for label in right.labels if label not in shared)
        labels = (*batch, *rows, *columns)
        if not inner or not (rows or columns) or left.node.dtype not in FLOATS:
            wide = (*labels, *inner)
            product_ = build.map_node(
                "mul", [self.spread(t, wide) for t in (left, right)], where=self.where
            )
            return self.summed(Term(product_, wide), frozenset(labels))
        a = self._matrix(left, batch, rows, inner)
        b = self._matrix(right, batch, inner, columns)
        out = build.matmul(a, b, self.where)
        shape = tuple(self.sizes[label] for label in labels)
        return Term(build.reshape(out, shape, where=self.where), labels)

    def _matrix(self, term: Term, batch: Labels, rows: Labels, columns: Labels) -> Node:
        ordered = self.spread(term, (*batch, *rows, *columns))
        sides = tuple(product([self.sizes[label] for label in part]) for part in (rows, columns))
        shape = (*(self.sizes[label] for label in batch), *sides)
        return build.reshape(ordered, shape, where=self.where)

    def spread(self, term: Term, labels: Labels) -> Node:
        """The operand with its axes in the order of ``labels``, and size 1 for those it lacks."""
        own = [label for label in labels if label in term.labels]
        order = [term.labels.index(label) for label in own]
        x = transpose(term.node, order, self.where) if term.labels else term.node
        for k, label in enumerate(labels):
            if label not in term.labels:
                x = expand(x, k, self.where)
        return x

    def finish(self, term: Term) -> Node:
        term = self.summed(term, frozenset(self.output))
        out = self.spread(term, self.output)
        return build.broadcast(out, tuple(self.sizes[label] for label in self.output), self.where)


def diagonal(x: Node, first: int, second: int, where: str = "", offset: Expr | int = 0) -> Node:
    """Return the elements whose position on the axis ``second`` is that on ``first`` + offset.

    ``second`` disappears; ``first`` gives the size.
    """
    places = build.iota(x.shape[first])
    if offset != 0:
        places = build.map_node("add", [places, build.affine(offset)], where=where)
    shape = tuple(x.shape[first] if k == first else ONE for k in range(x.rank))
    taken = take_along(x, build.reshape(places, shape), second, where)
    return build.reshape(taken, (*x.shape[:second], *x.shape[second + 1 :]), where=where)


def matmul(a: Node, b: Node, where: str = "") -> Node:
    """Return ``a @ b``; a vector is a row on the left and a column on the right.

    Integers are multiplied and summed as integers, which wrap around; booleans count as int32.
    """
    if not a.rank or not b.rank or a.shape[-1] != b.shape[max(b.rank - 2, 0)]:
        fact = f"matrix product of {sized(a)} and {sized(b)}"
        remedy = "The last axis left must equal the last but one right; scalars need `*`."
        raise ShapeError(fact, remedy, where)
    dtype = accepted(promote((a.dtype, b.dtype), where), NUMBERS)
    left, right = convert(a, dtype, where=where), convert(b, dtype, where=where)
    if left.rank == 1:
        left = build.reshape(left, (ONE, *left.shape))
    if right.rank == 1:
        right = build.reshape(right, (*right.shape, ONE))
    out = _product(left, right, where)
    shape = out.shape
    if a.rank == 1:
        shape = (*shape[:-2], shape[-1])
    if b.rank == 1:
        shape = shape[:-1]
    return build.reshape(out, shape, where=where)


def _product(left: Node, right: Node, where: str) -> Node:
    if left.dtype in FLOATS:
        return build.matmul(left, right, where)
    operands = [build.pad_rank(x, max(left.rank, right.rank)) for x in (left, right)]
    lead = [x.shape[:-2] for x in operands]  # refused as those of floats are
    build.broadcast_shapes(lead, (left, right), "matrix product", where)
    return contract(parse("...ij,...jk->...ik", operands, where), operands, where)
