"""Constructors of nodes: they infer domain, shape and dtype, and refuse what does not fit."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import DtypeError, ShapeError, guess
from ostinato.pdg.functions import FOLDS, FUNCTIONS, POSITIONS, has_derivative
from ostinato.pdg.index import Dim, Expr, ExprLike, Index, Slice, expr, product
from ostinato.pdg.naming import called, show_shape, sized
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Custom,
    Dtype,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
    Part,
    PullBack,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
    intern,
)
from ostinato.pdg.origin import Origin

Shape = tuple[Expr, ...]
ONE = expr(1)


def order(dims: Sequence[Dim] | frozenset[Dim] | set[Dim]) -> tuple[Dim, ...]:
    """Dimensions in declaration order, each once."""
    return tuple(sorted(set(dims), key=lambda d: d.serial))


def union_domain(args: Sequence[Node]) -> tuple[Dim, ...]:
    """The dimensions on which at least one operand depends."""
    return order({d for arg in args for d in arg.domain})


def _shape_dims(shape: Sequence[Expr]) -> set[Dim]:
    return {d for size in shape for d in size.dims}


def input_node(name: str, shape: Shape, dtype: Dtype, over: Sequence[Dim], where: str = "") -> Node:
    """Return the array argument ``name``."""
    return intern((Input(name), (), order(tuple(over)), shape, dtype), Origin(where, name))


def check_varying(name: str, shape: Shape, over: Sequence[Dim], where: str) -> None:
    """Refuse a shape that depends on a dimension over which there are no values."""
    missing = order(_shape_dims(shape) - set(over))
    if missing:
        fact = f"`{name}` of shape {show_shape(shape)} has no value for each `{missing[0]}`"
        raise ShapeError(fact, f"Name the dimension in `over`: over={missing[0]}.", where)


def rec(name: str, shape: Shape, dtype: Dtype, over: Sequence[Dim], where: str = "") -> Node:
    """Return the recurrent tensor ``name`` at the current point."""
    return intern((Rec(name), (), order(tuple(over)), shape, dtype), Origin(where, name))


def const(values: Scalar | Sequence[Scalar], dtype: Dtype, shape: Shape = ()) -> Node:
    """Return a literal; a single value fills any shape, and is repeated where sizes vary."""
    if _shape_dims(shape):
        return broadcast(const(values, dtype, (ONE,) * len(shape)), shape)
    flat = tuple(values) if isinstance(values, Sequence) else (values,)
    kind = bool if dtype == "bool" else float if has_derivative(dtype) else int
    return intern((Const(tuple(kind(v) for v in flat)), (), (), shape, dtype))


def affine(of: ExprLike) -> Node:
    """Return the int32 value of an index expression."""
    e = expr(of)
    return intern((Affine(e), (), order(e.dims), (), "int32"))


def iota(size: ExprLike) -> Node:
    """Return the int32 vector 0, 1, ..., size - 1."""
    n = expr(size)
    return intern((Iota(n), (), order(n.dims), (n,), "int32"))


def read(x: Node, at: Sequence[tuple[Dim, Index]], where: str = "") -> Node:
    """Return ``x`` at another point; slices prepend axes, identities disappear.

    Errors: ShapeError if ``x`` has other sizes at each step of a slice.
    """
    kept: list[tuple[Dim, Index]] = []
    for dim, index in sorted(at, key=lambda pair: pair[0].serial):
        if isinstance(index, Slice) or (dim in x.domain and index != expr(dim)):
            kept.append((dim, index))
    if not kept:
        return x
    replaced = {dim for dim, _ in kept}
    if any(isinstance(index, Slice) and _varies(x, dim) for dim, index in kept):
        return _read_step(x, kept, where)
    points = {dim: e for dim, e in kept if isinstance(e, Expr)}
    domain = set(x.domain) - replaced
    leading: list[Expr] = []
    for _, index in kept:
        leading += [index.size] if isinstance(index, Slice) else []
        domain |= index.dims
    shape = (*leading, *(size.at(points) for size in x.shape))
    return intern((Read(tuple(kept)), (x,), order(domain), shape, x.dtype), Origin(where))


def _varies(x: Node, dim: Dim) -> bool:
    """Whether the sizes of ``x`` follow a dimension."""
    return any(dim in size.dims for size in x.shape)


def _read_step(x: Node, at: Sequence[tuple[Dim, Index]], where: str) -> Node:
    """A read whose slices of dimensions that the sizes of ``x`` follow hold one step each."""
    lead: list[Expr] = []
    points: list[tuple[Dim, Index]] = []
    for dim, index in at:
        one = index
        if isinstance(index, Slice):
            lead.append(index.size)
            if _varies(x, dim):
                one = index.lo
                if index.size != ONE:
                    raise _varying(x, dim, where)
        points.append((dim, one))
    out = read(x, points, where)
    return reshape(out, (*lead, *out.shape[out.rank - x.rank :]), where=where)


def _varying(x: Node, dim: Dim, where: str) -> ShapeError:
    size = next(size for size in x.shape if dim in size.dims)
    fact = f"{sized(x)} is read at several steps of `{dim}`, at which its sizes differ"
    remedy = f"Fold the axis of size {size} first; `[..., lo:hi]` slices the axis itself."
    return ShapeError(fact, remedy, where)


def _ok_fn(fn: str) -> None:
    if fn not in FUNCTIONS:
        remedy = f"{guess(fn, FUNCTIONS)}Known: {', '.join(FUNCTIONS)}."
        raise DtypeError(f"`{fn}` is no elementwise function", remedy)


def broadcast_shapes(shapes: Sequence[Shape], args: Sequence[Node], what: str, where: str) -> Shape:
    """The common shape of equal-rank shapes in which size 1 repeats; ``args`` have them."""
    out, owners = list(shapes[0]), [args[0]] * len(shapes[0])
    for arg, shape in zip(args, shapes, strict=True):
        for k, size in enumerate(shape):
            if out[k] == ONE:
                out[k], owners[k] = size, arg
            elif size not in (ONE, out[k]):
                fact = (
                    f"{what} of {' and '.join(map(sized, args))}: axis {k - len(shape)} is "
                    f"{out[k]} in {called(owners[k])} and {size} in {called(arg)}"
                )
                remedy = "Make the sizes equal, or 1 where the axis is to be repeated."
                raise ShapeError(fact, remedy, where)
    return tuple(out)


def pad_rank(x: Node, rank: int) -> Node:
    """Prepend axes of size 1 up to ``rank``."""
    if x.rank == rank:
        return x
    return reshape(x, (*(ONE,) * (rank - x.rank), *x.shape), x.rank)


def map_node(fn: str, args: Sequence[Node], dtype: Dtype | None = None, where: str = "") -> Node:
    """Return an elementwise function of operands, padded to equal rank.

    Errors: DtypeError when the operands' dtypes differ or are not accepted; ShapeError.
    """
    _ok_fn(fn)
    function = FUNCTIONS[fn]
    assert len(args) == function.arity, f"{fn} takes {function.arity} operands, got {len(args)}"
    values = args[1:] if fn == "where" else args
    kinds = {a.dtype for a in values}
    bad = next((a.dtype for a in values if a.dtype not in function.accepts), None)
    if len(kinds) > 1 or bad or (fn == "where" and args[0].dtype != "bool"):
        found = " and ".join(f"{called(a)} ({a.dtype})" for a in args)
        remedy = f"It takes operands of one type out of {', '.join(function.accepts)}; use `.cast`."
        raise DtypeError(f"`{fn}` of {found}", remedy, where)
    rank = max(a.rank for a in args)
    padded = tuple(pad_rank(a, rank) for a in args)
    shape = broadcast_shapes([a.shape for a in padded], args, f"`{fn}`", where)
    result = values[0].dtype if function.result == "same" else function.result
    if result == "declared":
        assert dtype is not None, f"{fn} needs a dtype"
        if dtype == values[0].dtype:
            return args[0]
        result = dtype
    domain = union_domain(args)  # a literal condition decides, unless the other operand is longer
    if fn == "where" and isinstance(args[0].op, Const) and len(set(args[0].op.values)) == 1:
        chosen = padded[1] if args[0].op.values[0] else padded[2]
        if (chosen.shape, chosen.domain) == (shape, domain):
            return chosen
    return intern((Map(fn), padded, domain, shape, result), Origin(where))


def _axis(x: Node, axis: int, where: str) -> int:
    """The axis counted from the right."""
    if not -x.rank <= axis < x.rank:
        raise no_axis(x, axis, x.rank, where)
    return axis if axis < 0 else axis - x.rank


def no_axis(x: Node, axis: int, rank: int, where: str) -> ShapeError:
    """The error about an axis that a value of so many axes does not have."""
    fact = f"axis {axis} of {called(x)}, which has {rank} axes"
    remedy = f"Use an axis from {-rank} to {rank - 1}." if rank else "It has no axes: it is scalar."
    return ShapeError(fact, remedy, where)


def reduce_node(fn: str, x: Node, axes: Sequence[int], where: str = "") -> Node:
    """Return a fold of ``x`` over axes, which disappear."""
    if x.dtype not in FOLDS[fn].accepts:
        fact = f"`{fn}` of {called(x)} ({x.dtype})"
        raise DtypeError(fact, f"It takes {', '.join(FOLDS[fn].accepts)}.", where)
    found = tuple(sorted({_axis(x, a, where) for a in axes}))
    if not found:
        return x
    shape = tuple(s for k, s in enumerate(x.shape) if k - x.rank not in found)
    dtype: Dtype = "int32" if fn in POSITIONS else x.dtype
    return intern((Reduce(fn, found), (x,), _domain_of(x, shape), shape, dtype), Origin(where))


def _domain_of(x: Node, shape: Shape) -> tuple[Dim, ...]:
    return order(set(x.domain) | _shape_dims(shape))


def matmul(a: Node, b: Node, where: str = "") -> Node:
    """Return the matrix product of operands of rank two or more, padded to equal rank."""
    if a.dtype != b.dtype or a.dtype not in ("float32", "float64"):
        fact = f"matrix product of {called(a)} ({a.dtype}) and {called(b)} ({b.dtype})"
        raise DtypeError(fact, "Cast both to one of float32, float64.", where)
    if min(a.rank, b.rank) < 2 or a.shape[-1] != b.shape[-2]:
        fact = f"matrix product of {sized(a)} and {sized(b)}"
        raise ShapeError(fact, "The last axis left must equal the last but one right.", where)
    rank = max(a.rank, b.rank)
    left, right = pad_rank(a, rank), pad_rank(b, rank)
    lead = broadcast_shapes([left.shape[:-2], right.shape[:-2]], (a, b), "matrix product", where)
    shape = (*lead, left.shape[-2], right.shape[-1])
    return intern((Matmul(), (left, right), union_domain((a, b)), shape, a.dtype), Origin(where))


def reshape(x: Node, shape: Shape, rank: int | None = None, where: str = "") -> Node:
    """Return the trailing ``rank`` axes (default all) of ``x`` with another shape."""
    rank = x.rank if rank is None else rank
    keep, old = x.shape[: x.rank - rank], x.shape[x.rank - rank :]
    if product(old) != product(shape):
        fact = f"{called(x)} of shape {show_shape(old)} reshaped to {show_shape(shape)}"
        raise ShapeError(fact, "The number of elements must stay the same.", where)
    if old == shape:
        return x
    inner = x.op
    if isinstance(inner, Reshape) and len(inner.shape) == rank == x.rank:
        return reshape(x.args[0], shape, inner.rank, where)
    return intern((Reshape(rank, shape), (x,), x.domain, (*keep, *shape), x.dtype), Origin(where))


def transpose(x: Node, perm: Sequence[int], where: str = "") -> Node:
    """Return ``x`` with its trailing axes permuted; ``perm`` lists operand axes (negative)."""
    tail = tuple(range(-len(perm), 0))
    if tuple(sorted(perm)) != tail or len(perm) > x.rank:
        remedy = f"Give each axis from {-x.rank} to -1 once."
        raise ShapeError(f"transpose of {called(x)} by {tuple(perm)}", remedy, where)
    if tuple(perm) == tail:
        return x
    shape = (*x.shape[: x.rank - len(perm)], *(x.shape[p] for p in perm))
    return intern((Transpose(tuple(perm)), (x,), x.domain, shape, x.dtype), Origin(where))


def moving(k: int, to: int) -> tuple[int, ...]:
    """The order of trailing axes in which axis ``-k`` is axis ``-to``."""
    rest = [-j for j in range(max(k, to), 0, -1) if j != k]
    place = len(rest) + 1 - to
    return (*rest[:place], -k, *rest[place:])


def broadcast(x: Node, shape: Shape, where: str = "") -> Node:
    """Return ``x`` with trailing axes of size 1 repeated to ``shape`` (same number of axes)."""
    keep, old = x.shape[: x.rank - len(shape)], x.shape[x.rank - len(shape) :]
    if len(shape) > x.rank or any(o not in (ONE, s) for o, s in zip(old, shape, strict=True)):
        fact = f"{called(x)} of shape {show_shape(x.shape)} broadcast to {show_shape(shape)}"
        raise ShapeError(fact, "Only axes of size 1 can be repeated.", where)
    if old == shape:
        return x
    domain = _domain_of(x, shape)
    return intern((Broadcast(shape), (x,), domain, (*keep, *shape), x.dtype), Origin(where))


def nothing(shape: Shape, dtype: Dtype) -> Node:
    """The value of a shape that has an axis of size 0."""
    return broadcast(pad_rank(const(False if dtype == "bool" else 0, dtype), len(shape)), shape)


def custom(value: Node, inputs: Sequence[Node], pull_back: PullBack, where: str = "") -> Node:
    """Return a value, under its name, with a derivative of its own by the inputs."""
    operands = (value, *inputs)
    domain = order({d for x in operands for d in x.domain})
    key = (Custom("stop_gradient", pull_back), operands, domain, value.shape, value.dtype)
    return intern(key, Origin(where, value.label))


def concat(args: Sequence[Node], axis: int, where: str = "") -> Node:
    """Return operands of equal rank joined along an axis."""
    if len(args) == 1:
        return args[0]
    first = args[0]
    at = _axis(first, axis, where)
    for a in args[1:]:
        mine = [s for k, s in enumerate(a.shape) if k - a.rank != at]
        if a.rank != first.rank or mine != [
            s for k, s in enumerate(first.shape) if k - first.rank != at
        ]:
            fact = f"concatenation of {sized(first)} and {sized(a)}"
            raise ShapeError(fact, f"All axes but axis {axis} must have equal sizes.", where)
    if len({a.dtype for a in args}) > 1:
        fact = f"concatenation of {' and '.join(f'{called(a)} ({a.dtype})' for a in args)}"
        raise DtypeError(fact, "Cast the operands to one dtype.", where)
    shape = list(first.shape)
    shape[at] = sum((a.shape[at] for a in args), expr(0))
    return intern(
        (Concat(at), tuple(args), union_domain(args), tuple(shape), first.dtype), Origin(where)
    )


def part(x: Node, axis: int, at: Index, where: str = "") -> Node:
    """Return one index, or a slice, of a spatial axis."""
    k = _axis(x, axis, where)
    shape = list(x.shape)
    if isinstance(at, Slice):
        if at == Slice(expr(0), shape[k]):
            return x
        shape[k] = at.size
    else:
        if at.is_const and shape[k].is_const and not 0 <= at.const < shape[k].const:
            fact = f"index {at} of axis {k} of {called(x)}, which has size {shape[k]}"
            raise ShapeError(fact, "Use an index inside the axis.", where)
        del shape[k]
    domain = order(set(x.domain) | at.dims)
    return intern((Part(k, at), (x,), domain, tuple(shape), x.dtype), Origin(where))


def gather(
    x: Node,
    index: Node,
    axis: int,
    where: str = "",
    window: tuple[Dim, Slice] | None = None,
) -> Node:
    """Return ``x`` at integer positions along an axis (``take_along_axis``, clamped).

    ``window`` says that the axis holds these steps and that a position outside is an error.
    """
    k = _axis(x, axis, where)
    if index.dtype not in ("int32", "int64", "uint32"):
        fact = f"{called(index)} ({index.dtype}) indexes {called(x)}"
        remedy = "Cast the index to an integer type."
        if index.dtype == "bool":
            remedy = "Choose by ot.where(mask, x, 0): sizes cannot depend on values."
        raise DtypeError(fact, remedy, where)
    if index.rank != x.rank:
        fact = f"index {called(index)} of rank {index.rank} into {called(x)} of rank {x.rank}"
        raise ShapeError(fact, "Give the index one axis per axis of the tensor.", where)
    shape = _pointwise((x, index), k, "gather", where)
    shape[k] = index.shape[k]
    domain = union_domain((x, index))
    return intern(
        (Gather(k, window), (x, index), domain, tuple(shape), x.dtype), Origin(where, x.label)
    )


def _pointwise(args: Sequence[Node], axis: int, what: str, where: str) -> list[Expr]:
    """The broadcast sizes of operands of equal rank, 1 along an axis."""
    shapes = [tuple(ONE if j - a.rank == axis else s for j, s in enumerate(a.shape)) for a in args]
    return list(broadcast_shapes(shapes, args, what, where))


def along(
    fn: str, args: Sequence[Node], axis: int, size: Expr | None = None, where: str = ""
) -> Node:
    """Return a function of the whole of one axis; operands are padded to equal rank.

    ``size`` is that of the result's axis, where the function leaves it open ("scatter",
    and "top", of a row with at least as many elements).
    Errors: DtypeError, ShapeError.
    """
    function = AXIS_FUNCTIONS[fn]
    assert len(args) == function.arity, f"{fn} takes {function.arity} operands, got {len(args)}"
    _check_along(fn, args, where)
    rank = max(a.rank for a in args)
    padded = tuple(pad_rank(a, rank) for a in args)
    k = _axis(padded[0], axis, where)
    sizes = [a.shape[k] for a in padded]
    if function.equal and len(set(sizes)) > 1:
        fact = f"`{function.shown}` of {' and '.join(map(sized, args))} along axis {k}"
        raise ShapeError(fact, "The operands must have one size along that axis.", where)
    if function.size_of != "declared":
        size = sizes[0 if function.size_of == "first" else -1]
    assert size is not None, f"{fn} needs a size"
    shape = _pointwise(padded, k, f"`{function.shown}`", where)
    shape[k] = size
    domain = order({d for a in args for d in a.domain} | size.dims)
    dtype: Dtype = "int32" if function.positions else args[0].dtype
    return intern((Along(fn, k, size), padded, domain, tuple(shape), dtype), Origin(where))


def _check_along(fn: str, args: Sequence[Node], where: str) -> None:
    """Refuse operands of a type that the function does not take."""
    function = AXIS_FUNCTIONS[fn]
    found = " and ".join(f"{called(a)} ({a.dtype})" for a in args)
    if fn == "scatter":
        if args[1].dtype != "int32":
            remedy = "The positions must be int32; use `.cast`."
            raise DtypeError(f"`{function.shown}` of {found}", remedy, where)
        args = args[:1]
    if len({a.dtype for a in args}) > 1 or args[0].dtype not in function.accepts:
        remedy = f"It takes operands of one type out of {', '.join(function.accepts)}; use `.cast`."
        raise DtypeError(f"`{function.shown}` of {found}", remedy, where)


def case(cond: Cond, a: Node, b: Node, where: str = "") -> Node:
    """Return ``a`` at the points where ``cond`` holds and ``b`` elsewhere."""
    if a.shape != b.shape or a.dtype != b.dtype:
        left, right = f"{show_shape(a.shape)} {a.dtype}", f"{show_shape(b.shape)} {b.dtype}"
        fact = f"one case gives {left}, another {right}"
        raise ShapeError(fact, "All cases must have one shape and dtype.", where)
    mentioned = cond.dims
    domain = order(set(a.domain) | set(b.domain) | mentioned)
    return intern((Case(cond), (a, b), domain, a.shape, a.dtype), Origin(where))


def random_node(
    draw: Random, shape: Shape, dtype: Dtype, over: Sequence[Dim], where: str = ""
) -> Node:
    """Return a draw keyed by the seed, its stream, the point of ``over`` and the element.

    Errors: ShapeError if its shape depends on other dimensions.
    """
    check_varying(draw.fn, shape, over, where)
    return intern((draw, (), order(tuple(over)), shape, dtype), Origin(where, draw.fn))


def scan(fn: str, x: Node, dim: Dim, reverse: bool = False) -> Node:
    """Return the inclusive fold of ``x`` over a dimension up to the point, or from it on."""
    return intern((Scan(fn, dim, reverse), (x,), order({*x.domain, dim}), x.shape, x.dtype))


def linear(g: Node, a: Node, dim: Dim, reverse: bool, where: str = "") -> Node:
    """Return ``y[d] = a[d] + g[d] * y[d -+ 1]``; ``g`` and ``a`` are padded to equal rank."""
    rank = max(g.rank, a.rank)
    g, a = pad_rank(g, rank), pad_rank(a, rank)
    shape = broadcast_shapes([g.shape, a.shape], (g, a), "linear recurrence", where)
    domain = order({*g.domain, *a.domain, dim})
    return intern((Linear(dim, reverse), (g, a), domain, shape, a.dtype), Origin(where))


def host(op: Host, args: Sequence[Node], like: Node) -> Node:
    """Return a call of a host function with other operands; everything else as in ``like``."""
    key = (op, tuple(args), like.domain, like.shape, like.dtype)
    return intern(key, like.origin)
