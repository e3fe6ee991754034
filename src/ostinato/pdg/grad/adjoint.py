"""The reverse of each operator: what an adjoint contributes to each operand.

An adjoint of a node has the node's rank, may be thin, and depends on the node's dimensions and on
those in ``held``. That of a half is float32. Ties of ``max`` and ``min`` share the derivative
evenly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from ostinato.pdg.arithmetic import Algebra, full, squeezed
from ostinato.pdg.bounds import conjuncts, is_never_negative, simplified
from ostinato.pdg.build import (
    ONE,
    affine,
    along,
    const,
    matmul,
    part,
    read,
    reduce_node,
    reshape,
    transpose,
)
from ostinato.pdg.condition import Cond, every, negation
from ostinato.pdg.errors import GradientError
from ostinato.pdg.functions import FUNCTIONS, computed_in, has_derivative
from ostinato.pdg.grad.axis_adjoints import along_back, flip, is_flip, positions, wide
from ostinato.pdg.grad.gathers import clamped, collect_steps, collected, taken
from ostinato.pdg.grad.preimage import Dims
from ostinato.pdg.grad.read_adjoints import Adjoint, read_back, sum_missing
from ostinato.pdg.grad.recurrences import linear_back, scan_back
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.naming import called, show_shape
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Custom,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
    Part,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)
from ostinato.pdg.windows import overlap_add, window_of


def flows(node: Node) -> tuple[int, ...]:
    """The operands to which a derivative can pass, by position."""
    if isinstance(node.op, Custom):
        return tuple(k for k, x in enumerate(node.args) if k > 0 and has_derivative(x.dtype))
    stopped = isinstance(node.op, Map) and not FUNCTIONS[node.op.fn].partials
    if stopped or not has_derivative(node.dtype):
        return ()
    return tuple(k for k, arg in enumerate(node.args) if has_derivative(arg.dtype))


def pull_back(
    node: Node, k: int, up: Adjoint, held: Dims, alive: Sequence[Node] = ()
) -> list[Adjoint]:
    """Return what the adjoint of ``node`` contributes to the adjoint of its operand ``k``.

    ``alive`` are conditions that say which points exist: the others contribute nothing, although
    their derivatives may be infinite or NaN.
    """
    missing = frozenset(node.domain) - frozenset(node.args[k].domain) - held
    live = living(node, missing | read_dims(node), alive)
    if live is not None and not isinstance(node.op, Map | Matmul | Reduce | Along | Custom):
        up = Adjoint(up.guard, only_where(live, up.value))
    match node.op:
        case Custom():
            found = _custom_back(node, k, up)
            if found is None:
                return []
            local = found
        case Read():
            return read_back(node, up, held)
        case Scan():
            return scan_back(node, up, held)
        case Linear():
            local = linear_back(node, k, up, held)
        case Case(cond):
            chosen = cond if k == 0 else negation(cond)
            local = Adjoint(simplified(every(up.guard, chosen)), up.value)
        case Gather() if steps := collected(node, missing):
            local = Adjoint(_apart(up.guard, steps), collect_steps(node, steps, up))
            missing -= set(steps)
        case Part(axis, at):
            dim = None if isinstance(at, Slice) else _swept(node, axis, at, missing)
            if dim is not None and isinstance(at, Expr):
                local = Adjoint(_apart(up.guard, {dim}), _column(node, dim, axis, at - dim, up))
                missing -= {dim}
            else:
                local = Adjoint(up.guard, _part(node, axis, at, up.value))
        case _:
            local = Adjoint(up.guard, _spatial(node, k, up.value, live))
    if live is not None and isinstance(node.op, Map | Reduce | Along | Custom):
        local = Adjoint(local.guard, only_where(live, local.value))
    return sum_missing(local, missing, node.where)


def _apart(guard: Cond, swept: Iterable[Dim]) -> Cond:
    """What a guard says without some dimensions: operands may exist only where it holds."""
    return every(*(c for c in conjuncts(guard) if c.symbols.isdisjoint(swept)))


def read_dims(node: Node) -> Dims:
    """The dimensions along which a read leaves the point."""
    return frozenset(dim for dim, _ in node.op.at) if isinstance(node.op, Read) else frozenset()


def living(node: Node, leaving: Dims, alive: Sequence[Node]) -> Node | None:
    """Which points of a node exist, if its adjoint leaves them along some dimension."""
    a = Algebra(node.where)
    out: Node | None = None
    for each in alive:
        dims = frozenset(each.domain)
        if dims <= frozenset(node.domain) and dims & leaving:
            out = each if out is None else a.map("and", out, each)
    return out


def only_where(live: Node, x: Node) -> Node:
    """Return ``x`` where a condition on the point holds, zero elsewhere."""
    a = Algebra(x.where)
    return a.choose(live, x, a.number(0, x))


def _spatial(node: Node, k: int, up: Node, live: Node | None) -> Node:
    """The contribution of an operator that works within one point."""
    a, operand = Algebra(node.where), node.args[k]
    match node.op:
        case Map(fn):
            partial = FUNCTIONS[fn].partials[k]
            local = partial(a, up, node, node.args[0], node.args[-1])
            return a.fit(local, node.shape, operand.shape)
        case Broadcast():
            return a.fit(up, node.shape, operand.shape)
        case Reduce(fn, axes):
            return _reduce(node, fn, axes, up)
        case Matmul():
            return _matmul(node, k, up, live)
        case Reshape(rank, shape):
            return _reshape(node, rank, shape, up)
        case Transpose(perm):
            inverse = sorted(range(len(perm)), key=lambda j: perm[j])
            return transpose(up, [j - len(perm) for j in inverse], node.where)
        case Concat(axis):
            lo = sum((x.shape[axis] for x in node.args[:k]), expr(0))
            piece = Slice(lo, lo + operand.shape[axis])
            return up if up.shape[axis] == ONE else part(up, axis, piece, node.where)
        case Gather(axis, _):
            return _gather(node, axis, up)
        case Host(fn=fn):
            raise GradientError(
                f"a gradient passes through the host call `{fn}`, which has no derivative",
                "Stop it with `ot.stop_gradient`, or give one with `ot.custom_gradient`.",
                node.where,
            )
        case Along():
            return along_back(node, k, up)
        case Input() | Const() | Affine() | Iota() | Rec() | Random():
            raise AssertionError(f"{node} has no operands")
        case Read() | Scan() | Linear() | Case() | Part():
            raise AssertionError(f"{node} is not reversed within one point")
        case other:
            assert_never(other)


def _reduce(node: Node, fn: str, axes: tuple[int, ...], up: Node) -> Node:
    a, x = Algebra(node.where), node.args[0]
    wide = a.expand(up, axes)
    if fn == "sum":
        return wide
    if fn in ("max", "min"):
        best = a.map("eq", x, a.expand(node, axes))
        ties = reduce_node("sum", a.cast(best, x.dtype), axes, node.where)
        return a.choose(best, a.div(wide, a.expand(ties, axes)), a.number(0, wide))
    assert fn == "prod", f"no derivative of the fold {fn}"
    zero, one = a.number(0, x), a.number(1, x)
    is_zero = a.map("eq", x, zero)
    count = reduce_node("sum", a.cast(is_zero, x.dtype), axes, node.where)
    safe = a.choose(is_zero, one, x)
    rest = a.expand(reduce_node("prod", safe, axes, node.where), axes)
    others = a.map("sub", a.expand(count, axes), a.cast(is_zero, x.dtype))
    alone = a.map("eq", others, zero)  # no other factor is zero
    return a.mul(wide, a.choose(alone, a.div(rest, safe), zero))


def _matmul(node: Node, k: int, up: Node, live: Node | None) -> Node:
    """``up @ b^T`` and ``a^T @ up``; leading axes that were repeated are summed.

    Where the point does not exist both factors are 0: their product stays a product.
    """
    left, right = node.args
    if live is not None:
        left, right, up = (only_where(live, x) for x in (left, right, up))
    wide = full(up, node.shape[-2:], node.where)
    if k == 0:
        value = matmul(wide, transpose(right, (-1, -2), node.where), node.where)
    else:
        value = matmul(transpose(left, (-1, -2), node.where), wide, node.where)
    there = node.args[k].shape
    return Algebra(node.where).fit(value, (*node.shape[:-2], *there[-2:]), there)


def _reshape(node: Node, rank: int, shape: tuple[Expr, ...], up: Node) -> Node:
    operand = node.args[0]
    old = operand.shape[operand.rank - rank :]
    if squeezed(old) == squeezed(shape):  # axes of size 1 come and go: thin stays thin
        new = node.shape[node.rank - len(shape) :]
        tail = up.shape[up.rank - len(shape) :]
        sizes = iter([t for s, t in zip(new, tail, strict=True) if s != ONE])
        thin = tuple(ONE if size == ONE else next(sizes) for size in old)
        return reshape(up, thin, len(shape), node.where)
    return reshape(full(up, shape, node.where), old, len(shape), node.where)


def _part(node: Node, axis: int, at: Expr | Slice, up: Node) -> Node:
    """The contribution of one index or a slice of a spatial axis: zeros elsewhere."""
    a, operand = Algebra(node.where), node.args[0]
    size = operand.shape[axis]
    if isinstance(at, Expr):
        wide = a.expand(up, (axis,))
        if size == ONE:
            return wide
        here = a.map("eq", positions(size, axis, node.where), affine(at))
        return a.choose(here, wide, a.number(0, wide))
    up = full(up, (at.size, *up.shape[up.rank + axis + 1 :]), node.where)
    if at.step == 1:
        return a.padded(up, axis, at.lo, size - at.hi)
    offset = a.map("sub", positions(size, axis, node.where), affine(at.lo))
    step = const(at.step, "int32")
    index = a.map("floordiv", offset, step)
    inside = a.map("lt", positions(size, axis, node.where), affine(at.hi))
    inside = a.map("and", inside, a.map("ge", offset, const(0, "int32")))
    divides = a.map("eq", a.map("mod", offset, step), const(0, "int32"))
    ones = (*(ONE,) * (up.rank + axis), *index.shape)
    there = clamped(node, reshape(index, ones, where=node.where), at.size)
    spread = taken(up, there, axis, at.size, node.where)
    return a.choose(a.map("and", inside, divides), spread, a.number(0, spread))


def _swept(node: Node, axis: int, at: Expr, missing: Dims) -> Dim | None:
    """The dimension whose steps visit each position of the axis: ``x[d + c]`` for all ``d``."""
    size = node.args[0].shape[axis]
    for atom, k in at.terms:
        if isinstance(atom, Dim) and atom in missing and k == 1:
            first = expr(atom) - at
            fixed = not (first.dims | size.dims) & missing
            steady = not any(atom in s.dims for s in node.shape)
            inside = is_never_negative(first) and is_never_negative(
                expr(atom.extent) - first - size
            )
            if fixed and steady and inside:
                return atom
    return None


def _column(node: Node, dim: Dim, axis: int, shift: Expr, up: Adjoint) -> Node:
    """The adjoints of all steps side by side: the reverse of taking one position per step."""
    a, size = Algebra(node.where), node.args[0].shape[axis]
    value = a.switch(up.guard, up.value)
    if dim not in value.domain:
        return a.expand(value, (axis,))
    history = read(value, [(dim, Slice(-shift, size - shift))], node.where)
    rest = list(range(-value.rank, 0))
    place = history.rank + axis
    perm = [*rest[:place], -history.rank, *rest[place:]]
    return transpose(history, perm, node.where)


def _gather(node: Node, axis: int, up: Node) -> Node:
    """Each position collects the elements whose index names it."""
    a, (x, index) = Algebra(node.where), node.args
    if is_flip(node):
        return a.fit(flip(wide(node, up), axis, node.where), node.shape, x.shape)
    window = window_of(node)
    if window is not None:
        added = overlap_add(node, axis, window, wide(node, up))
        return a.fit(added, added.shape, x.shape)
    size, here = x.shape[axis], list(node.shape)
    here[axis] = size
    index = clamped(node, index, size)
    if index.shape[axis] == ONE:  # one element moves: no place waits for another
        places = a.cast(positions(size, axis, node.where), index.dtype)
        value = a.choose(a.map("eq", places, index), up, a.number(0, up))
    else:
        moved = a.cast(index, "int32")
        value = along("scatter", [wide(node, up), moved], axis, size, node.where)
    return a.fit(value, tuple(here), x.shape)


def _custom_back(node: Node, k: int, up: Adjoint) -> Adjoint | None:
    """Return what the user's pull-back contributes to operand ``k``; None is nothing.

    Errors: GradientError if the contributions do not fit the inputs.
    """
    assert isinstance(node.op, Custom), f"{node} has no derivative of its own"
    inputs = node.args[1:]
    found = node.op.pull_back(node, full(up.value, node.shape, node.where))
    if len(found) != len(inputs):
        fact = f"the pull-back of {called(node)} returns {len(found)} gradients"
        raise GradientError(fact, f"Return one for each of its {len(inputs)} inputs.", node.where)
    value, x = found[k - 1], inputs[k - 1]
    if value is None:
        return None
    dtype = computed_in(x.dtype)
    if value.shape != x.shape or value.dtype not in (x.dtype, dtype):
        fact = (
            f"the pull-back of {called(node)} returns {value.dtype} of shape "
            f"{show_shape(value.shape)} for {called(x)}"
        )
        remedy = f"Return {dtype} of shape {show_shape(x.shape)}."
        raise GradientError(fact, remedy, node.where)
    foreign = {*value.domain} - {*node.domain, *up.value.domain}
    if foreign:
        names = ", ".join(sorted(f"`{d}`" for d in foreign))
        fact = f"the pull-back of {called(node)} returns a gradient that depends on {names}"
        raise GradientError(fact, f"Reduce {names}, or pass what has it as an input.", node.where)
    return Adjoint(up.guard, value)
