"""That the extracted program is what its terms say, node by node.

Each term becomes the node it denotes. A program may spell a chain of movements as one node, so
both are brought into one normal form: no transpose of a transpose, no reshape of a reshape, no
concatenation inside one along the same axis, and reads as one read where that means the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from ostinato.certificate.document import Certificate
from ostinato.certificate.extracted_terms import Reading, Recurrent, Term
from ostinato.pdg import build
from ostinato.pdg.condition import Cond
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr, product
from ostinato.pdg.node import (
    Affine,
    Broadcast,
    Case,
    Concat,
    Const,
    Dtype,
    Host,
    Iota,
    Node,
    Part,
    Pdg,
    Read,
    Reshape,
    Transpose,
    intern,
    postorder,
)


class Misbuilt(Exception):
    """The extracted program is not what its terms say; the text names the first difference."""


def check_structure(certificate: Certificate, source: Pdg) -> str:
    """Compare the extracted program with its terms, and its frame with that of the source.

    Errors: Misbuilt.
    """
    extracted, batched = certificate.extracted, certificate.batched
    if not certificate.terms:
        if batched or certificate.roots.outputs or not _same(source, extracted):
            raise Misbuilt("without terms the extracted program must be the source")
        return "the source as it was written"
    _check_frame(certificate, source)
    nodes = _built(certificate, source)
    normal = _Normal()
    for name, node in extracted.outputs:
        _check_root(f"the output `{name}`", nodes, certificate.roots.outputs[name], normal(node))
    for name, equation in extracted.equations.items():
        terms = certificate.roots.definitions[name]
        for k, ((_, right), term) in enumerate(zip(equation.cases, terms, strict=True)):
            _check_root(f"case {k} of `{name}`", nodes, term, normal(right))
    return f"{len(certificate.terms)} terms, {len(extracted.nodes())} nodes"


def _same(source: Pdg, extracted: Pdg) -> bool:
    cases = {name: (eq.rec, eq.cases) for name, eq in source.equations.items()}
    others = {name: (eq.rec, eq.cases) for name, eq in extracted.equations.items()}
    least = source.minimum_extents == extracted.minimum_extents
    return source.outputs == extracted.outputs and cases == others and least


def _check_frame(certificate: Certificate, source: Pdg) -> None:
    """Outputs, conditions, types and shapes of recurrences are those of the source."""
    extracted, batched = certificate.extracted, certificate.batched
    if [name for name, _ in source.outputs] != [name for name, _ in extracted.outputs]:
        raise Misbuilt("the outputs of the extracted program are not those of the source")
    for (name, old), (_, new) in zip(source.outputs, extracted.outputs, strict=True):
        if (old.domain, old.shape, old.dtype) != (new.domain, new.shape, new.dtype):
            raise Misbuilt(f"the output `{name}` has another domain, shape or type")
    if source.minimum_extents != extracted.minimum_extents:
        raise Misbuilt("the extracted program has other least extents")
    if set(extracted.equations) != set(certificate.roots.definitions):
        raise Misbuilt("terms and extracted program do not have the same recurrences")
    if not set(batched) <= set(extracted.equations):
        raise Misbuilt("a recurrence that does not occur has axes")
    for name, equation in extracted.equations.items():
        known = source.equations[name]
        if equation.rec != leaf(source, Recurrent(name, batched.get(name, ()))):
            raise Misbuilt(f"`{name}` does not have the axes, shape and type that it should")
        if [c for c, _ in equation.cases] != [c for c, _ in known.cases]:
            raise Misbuilt(f"the conditions of `{name}` are not those of the source")


def leaf(source: Pdg, known: Recurrent) -> Node:
    """The node of a recurrence with axes."""
    equation = source.equations.get(known.name)
    if equation is None:
        raise Misbuilt(f"there is no recurrence `{known.name}` in the source")
    old = equation.rec
    shape = (*(expr(d.extent) for d in known.axes), *old.shape)
    over = [d for d in old.domain if d not in known.axes]
    return build.rec(known.name, shape, old.dtype, over, old.where) if known.axes else old


def _check_root(about: str, nodes: Sequence[Node], term: int, found: Node) -> None:
    expected = _without_widening(nodes[term])
    if _without_widening(found) != expected:
        raise Misbuilt(f"{about} is not what term {term} says")


def _without_widening(node: Node) -> Node:
    """A case with equal sides, which only says that the value is the same at all points."""
    while isinstance(node.op, Case) and node.args[0] == node.args[1]:
        node = node.args[0]
    return node


def _built(certificate: Certificate, source: Pdg) -> list[Node]:
    normal, nodes = _Normal(), list[Node]()
    known = {_identity(node) for node in source.nodes()}
    for k, term in enumerate(certificate.terms):
        given = [value for value in term.fields if isinstance(value, Node)]
        if any(not _is_literal(x) and _identity(x) not in known for x in given):
            raise Misbuilt(f"term {k}, {given[0]}, is not what the source has")
        for value in term.fields:
            if isinstance(value, Recurrent):
                if value.name not in certificate.extracted.equations:
                    raise Misbuilt(f"term {k} is `{value.name}`, which has no equations")
                if value.axes != certificate.batched.get(value.name, ()):
                    raise Misbuilt(f"term {k} has other axes of `{value.name}`")
        try:
            nodes.append(_node(term, [nodes[a] for a in term.args], source, normal))
        except (OstinatoError, AssertionError, KeyError, IndexError, ValueError) as problem:
            raise Misbuilt(f"term {k}, {term.op}, has no meaning: {problem}") from problem
    return nodes


def _is_literal(node: Node) -> bool:
    """Whether a leaf is a number or an index that is what it says."""
    match node.op:
        case Const():
            return True
        case Affine(of):
            return build.affine(of) == node
        case Iota(size):
            return build.iota(size) == node
        case _:
            return False


def _identity(node: Node) -> tuple[object, ...]:
    """What a leaf or a call is, apart from its operands."""
    return node.op, node.domain, node.shape, node.dtype


def _node(term: Term, args: list[Node], source: Pdg, normal: _Normal) -> Node:
    """The node of one term, in normal form."""
    op, f = term.op, term.fields
    match op:
        case "leaf":
            return cast(Node, f[0])
        case "rec":
            return leaf(source, cast(Recurrent, f[0]))
        case "map1" | "map2" | "map3":
            fn, _, dtype = str(f[0]).partition(":")
            return build.map_node(fn, args, cast(Dtype, dtype) if dtype else None)
        case "red":
            axes = [-k - 1 for k in range(args[0].rank) if cast(int, f[1]) >> k & 1]
            if cast(int, f[1]) >> args[0].rank:
                raise Misbuilt("a fold names an axis that its operand does not have")
            return build.reduce_node(str(f[0]), args[0], axes)
        case "mm":
            return build.matmul(args[0], args[1])
        case "gather":
            return build.gather(args[0], args[1], -cast(int, f[0]))
        case "along1" | "along2":
            return build.along(str(f[0]), args, -cast(int, f[1]), cast(Expr, f[2]))
        case "case":
            return build.case(cast(Cond, f[0]), args[0], args[1])
        case "running":
            return build.scan(str(f[0]), args[0], cast(Dim, f[1]), bool(f[2]))
        case "lin":
            return build.linear(args[0], args[1], cast(Dim, f[0]), bool(f[1]))
        case "part" | "cut":
            return build.part(args[0], -cast(int, f[0]), cast(Index, f[1]))
        case "bcast":
            return build.broadcast(args[0], cast(tuple[Expr, ...], f[0]))
        case _ if op.startswith("host"):
            like = cast(Node, f[0])
            return build.host(cast(Host, like.op), args, like)
        case _:
            return _moved(term, args, normal)


def _moved(term: Term, args: list[Node], normal: _Normal) -> Node:
    op, f, x = term.op, term.fields, args[0]
    match op:
        case "at" | "sl":
            return normal.read(x, ((cast(Dim, f[0]), cast(Index, f[1])),))
        case "look":
            return normal.read(x, cast(Reading, f[0]))
        case "cat":
            return normal.concat(args, -cast(int, f[0]))
        case "tr":
            return normal.transpose(x, (-1, -2))
        case "perm":
            return normal.transpose(x, cast(tuple[int, ...], f[0]))
        case "mv":
            k, to = cast(int, f[0]), cast(int, f[1])
            if not (1 <= k <= x.rank and 1 <= to <= x.rank):
                raise Misbuilt(f"axis {k} cannot move to {to}")
            perm = [-j for j in range(x.rank, 0, -1) if j != k]
            perm.insert(x.rank - to, -k)
            return normal.transpose(x, perm)
        case "reshape":
            keep = x.shape[: x.rank - cast(int, f[0])]
            return normal.reshape(x, (*keep, *cast(tuple[Expr, ...], f[1])))
        case _:
            raise Misbuilt(f"the operator {op} has no node")


@dataclass
class _Normal:
    """Nodes in normal form."""

    _done: dict[Node, Node] = field(default_factory=dict[Node, Node])

    def __call__(self, node: Node) -> Node:
        for x in postorder((node,)):
            if x not in self._done:
                self._done[x] = self._of(x, [self._done[a] for a in x.args])
        return self._done[node]

    def _of(self, node: Node, args: list[Node]) -> Node:
        match node.op:
            case Transpose(perm):
                return self.transpose(args[0], perm)
            case Reshape(rank, shape):
                keep = args[0].shape[: args[0].rank - rank]
                return self.reshape(args[0], (*keep, *shape))
            case Concat(axis):
                return self.concat(args, axis)
            case Read(at):
                return self.read(args[0], at)
            case Part(axis, index):
                return build.part(args[0], axis, index)
            case Broadcast(shape):
                return build.broadcast(args[0], shape)
            case _:
                key = (node.op, tuple(args), node.domain, node.shape, node.dtype)
                return intern(key, node.origin)

    def transpose(self, x: Node, perm: Sequence[int]) -> Node:
        """One transpose of all axes."""
        missing = range(-x.rank, -len(perm))
        whole = (*missing, *perm)
        if isinstance(x.op, Transpose):
            inner = x.op.perm
            whole = tuple(inner[p] for p in whole)
            x = x.args[0]
        return build.transpose(x, whole)

    def reshape(self, x: Node, shape: tuple[Expr, ...]) -> Node:
        """One reshape of all axes; nothing is nothing."""
        if expr(0) in shape and product(x.shape) == expr(0):
            return build.nothing(shape, x.dtype)
        while isinstance(x.op, Reshape):
            x = x.args[0]
        return build.reshape(x, shape)

    def concat(self, args: Sequence[Node], axis: int) -> Node:
        """One concatenation of what is not joined along the same axis."""
        parts: list[Node] = []
        for x in args:
            parts += x.args if isinstance(x.op, Concat) and x.op.axis == axis else [x]
        return build.concat(parts, axis)

    def read(self, x: Node, at: Reading) -> Node:
        """One read of what is read, where the order of axes allows it."""
        if isinstance(x.op, Read):
            composed = _composed(x.op.at, at)
            if composed is not None:
                return self.read(x.args[0], composed)
        return build.read(x, at)


def _composed(inner: Reading, outer: Reading) -> Reading | None:
    """One read in the place of two: ``outer`` sees the indices of ``inner``."""
    if {d for d, _ in inner} & {d for d, _ in outer}:
        return None
    slices = [d for d, i in outer if isinstance(i, Slice)]
    below = [d for d, i in inner if isinstance(i, Slice)]
    if any(b.serial < d.serial for b in below for d in slices):
        return None  # the axes of the outer read come first
    if any(d in i.dims for _, i in inner for d in slices):
        return None
    points = {d: i for d, i in outer if not isinstance(i, Slice)}
    return (*((d, i.at(points)) for d, i in inner), *outer)
