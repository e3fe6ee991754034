"""Instances of the family incremental: functions of the elements of a range that grows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

from ostinato.pdg.build import (
    affine,
    along,
    broadcast,
    concat,
    const,
    gather,
    iota,
    map_node,
    matmul,
    part,
    read,
    reduce_node,
    reshape,
    transpose,
)
from ostinato.pdg.index import Expr, Slice, expr, maximum
from ostinato.pdg.node import Dtype, Node, Pdg
from tests.rewrite.instances.incremental import ranged, rows, until_now
from tests.rewrite.instances.instance import (
    B,
    Instance,
    Sizes,
    T,
    at,
    fires,
    program,
    silent,
    span,
    tensor,
)

Past = Callable[[Node], Node]

IN_PLACE = "incremental/slice-in-place"
KNOWN = ("incremental/range", "incremental/beside-a-range", IN_PLACE)
COLUMNS = ("incremental/transpose-moves", *KNOWN)
FRONTS = ("incremental/new-axes", "algebra/reshape-fewer", *KNOWN)
TURNED = ("incremental/permute-alone", *KNOWN)
_FUNCTION = {1: "tanh", 2: "mul", 3: "where"}


def two_points(x: Node) -> Node:
    """A slice of fixed length."""
    return ranged(x, 0, 2)


def turned(x: Node) -> Node:
    """The range behind the axis that follows it."""
    return transpose(x, (1 - x.rank, -x.rank, *range(2 - x.rank, 0)))


def _until(past: Past) -> Expr:
    return expr(T) + 1 if past is until_now else expr(2)


def _both(
    name: str,
    build: Callable[[Sizes, Past], Node],
    beside: tuple[str, ...] = KNOWN,
    of: str = "",
) -> tuple[Instance, Instance]:
    """A rule fires for what is so far, and not for a range that does not grow."""
    rule = f"incremental/{name}"
    words = f"{name.replace('-', ' ')}{of}"

    def whole(z: Sizes, past: Past) -> Pdg:
        return program(build(z, past))

    return (
        Instance(f"{words} so far", partial(whole, past=until_now), (rule,), (), beside),
        Instance(f"{words} of two points", partial(whole, past=two_points), (), (rule,), beside),
    )


def _operand(z: Sizes, k: int, is_slice: bool, arity: int, past: Past) -> Node:
    """A slice so far, or a row that is the same at all points."""
    dtype: Dtype = "bool" if arity == 3 and k == 0 else "float32"
    if is_slice:
        return past(tensor(f"x{k}", (z.k,), (T,), dtype))
    return tensor(f"c{k}", (1, z.k), (), dtype)


def _together(z: Sizes, past: Past, sliced: tuple[bool, ...]) -> Node:
    args = [_operand(z, k, is_slice, len(sliced), past) for k, is_slice in enumerate(sliced)]
    return map_node(_FUNCTION[len(sliced)], args)


def _kinds(arity: int) -> list[tuple[str, tuple[bool, ...]]]:
    found = [s for s in product((True, False), repeat=arity) if any(s)]
    return [("".join("s" if is_slice else "c" for is_slice in s), s) for s in found]


TOGETHER = tuple(
    instance
    for arity in (1, 2, 3)
    for kinds, sliced in _kinds(arity)
    for instance in _both(f"together-map{arity}", partial(_together, sliced=sliced), of=f" {kinds}")
)


def _pair(z: Sizes, past: Past, sliced: tuple[bool, ...], of: Callable[[Node, Node], Node]) -> Node:
    """A function of two tensors of matrices, one of which may be the same at all points."""
    shapes = (z.m, z.k), (z.k, z.m)
    left, right = (
        past(tensor(name, shape, (T,))) if is_slice else tensor(name, (1, *shape))
        for name, shape, is_slice in zip("xy", shapes, sliced, strict=True)
    )
    return of(left, right)


def _rows_of(x: Node, y: Node) -> Node:
    """Rows of x at the positions that y holds."""
    places = map_node("cast", [transpose(y, (-1, -2))], "int32")
    return gather(x, places, -1)


def _recurrence_of(x: Node, y: Node) -> Node:
    """A linear recurrence along the last axis."""
    return along("linear", [x, transpose(y, (-1, -2))], -1)


PAIRS = tuple(
    instance
    for op, of, beside in (
        ("mm", matmul, ()),
        ("gather", _rows_of, ("incremental/transpose-inside", "incremental/together-map1")),
        ("along2", _recurrence_of, ("incremental/transpose-inside",)),
    )
    for kinds, sliced in _kinds(2)
    for instance in _both(
        f"together-{op}", partial(_pair, sliced=sliced, of=of), (*KNOWN, *beside), f" {kinds}"
    )
)


def _matrices(z: Sizes, past: Past, name: str = "x") -> Node:
    return past(tensor(name, (z.m, z.k), (T,)))


def _joined(z: Sizes, past: Past) -> Node:
    return concat([_matrices(z, past), _matrices(z, past, "y")], -2)


def _halves(z: Sizes, past: Past) -> Node:
    return part(_matrices(z, past), -1, span(0, 1))


def _reshaped(z: Sizes, past: Past) -> Node:
    x = past(tensor("x", (z.m * z.k,), (T,)))
    return reshape(x, (expr(z.m), expr(z.k)), 1)


def _ones_in_front(z: Sizes, past: Past, ones: int) -> Node:
    x = past(rows(z))
    return reshape(x, (*(expr(1),) * ones, *x.shape, expr(1)))


def _regrouped(z: Sizes, past: Past, before: tuple[int, ...], after: tuple[int, ...]) -> Node:
    """The axes in front of a range, which begin behind it, with other sizes."""
    x = past(tensor("x", (*before, z.k), (T,)))
    front = len(before)
    moved = transpose(x, (*range(-front - 1, -1), -front - 2, -1))
    return reshape(moved, (*map(expr, after), x.shape[0], expr(z.k)))


def _split(z: Sizes, past: Past) -> Node:
    return _regrouped(z, past, (z.m * z.n,), (z.m, z.n))


def _merged(z: Sizes, past: Past) -> Node:
    return _regrouped(z, past, (z.m, z.n), (z.m * z.n,))


def _without_one(z: Sizes, past: Past) -> Node:
    return _regrouped(z, past, (1,), ())


def _copies(z: Sizes, past: Past) -> Node:
    return broadcast(past(tensor("x", (1, z.k), (T,))), (expr(z.m), expr(z.k)))


def _copies_of_all(z: Sizes, past: Past) -> Node:
    x = past(tensor("x", (1, z.k), (T,)))
    return broadcast(x, (x.shape[0], expr(z.m), expr(z.k)))


def _element(z: Sizes, past: Past) -> Node:
    return part(_matrices(z, past), -1, expr(z.k) - 1)


def _elsewhere(z: Sizes, past: Past) -> Node:
    return at(past(tensor("x", (z.k,), (B, T))), B, expr(B) - 1)


def _transposed(z: Sizes, past: Past) -> Node:
    return transpose(_matrices(z, past), (-1, -2))


def _columns(z: Sizes, past: Past) -> Node:
    return transpose(past(rows(z)), (-1, -2))


def _columns_back(z: Sizes, past: Past) -> Node:
    return transpose(_columns(z, past), (-1, -2))


def _permuted(z: Sizes, past: Past) -> Node:
    x = past(tensor("x", (z.m, z.k, z.n), (T,)))
    return transpose(x, (-1, -4, -2, -3))


def _permuted_pair(z: Sizes, past: Past) -> Node:
    return transpose(_matrices(z, past), (-1, -3, -2))


def _moved(z: Sizes, past: Past) -> Node:
    return turned(_matrices(z, past))


def _lengths_beside(z: Sizes, past: Past) -> Node:
    return reduce_node("sum", turned(_matrices(z, past)), [-1])


def _projected(z: Sizes, past: Past) -> Node:
    return matmul(past(rows(z)), tensor("w", (z.k, z.n)))


def _projected_columns(z: Sizes, past: Past) -> Node:
    return matmul(tensor("w", (z.n, z.k)), _columns(z, past))


def _merged_rows(z: Sizes, past: Past, rank: int) -> Node:
    inner = (expr(z.m), expr(z.n))[: rank - 2]
    x = past(tensor("x", (*inner, z.k), (T,)))
    count = x.shape[0]
    for size in inner:
        count = count * size.const
    return matmul(reshape(x, (count, expr(z.k))), tensor("w", (z.k, z.n)))


def _looked_up(z: Sizes, past: Past) -> Node:
    places = past(tensor("i", (), (T,), "int32"))
    return gather(tensor("w", (z.m,)), places, -1)


def _positions(z: Sizes, past: Past) -> Node:
    return map_node("add", [past(tensor("x", (), (T,), "int32")), iota(_until(past))])


def _repeated(z: Sizes, past: Past, front: tuple[int, ...]) -> Node:
    x = past(rows(z))
    c = tensor("c", (*(1 for _ in front), 1, z.k))
    return map_node("mul", [x, broadcast(c, (*map(expr, front), *x.shape))])


AXES = (
    *_both("together-along1", lambda z, past: along("sum", [_matrices(z, past)], -1)),
    *_both("together-cat", _joined),
    *_both("together-cut", _halves),
    *_both("slice-in-place", _matrices, ()),
    *_both("range", _matrices),
    *_both("beside-a-range", partial(_together, sliced=(True, False))),
    *_both("reshape-inside", _reshaped),
    *_both("new-axis-in-front", partial(_ones_in_front, ones=1), FRONTS),
    *_both("new-axis-in-front", partial(_ones_in_front, ones=3), FRONTS, " three times"),
    *_both("new-axes", partial(_ones_in_front, ones=2), FRONTS),
    *_both("reshape-in-front-1-0", _without_one, TURNED),
    *_both("reshape-in-front-1-2", _split, TURNED),
    *_both("reshape-in-front-2-1", _merged, TURNED),
    *_both("repeat-inside", _copies),
    *_both("repeat-behind", _copies_of_all),
    *_both("part-inside", _element),
    *_both("read-inside", _elsewhere),
    *_both("transpose-inside", _transposed),
    *_both("transpose-moves", _columns_back, of=" back"),
    *_both("transpose-moves", _columns),
    *_both("permute", _permuted),
    *_both("permute-pair", _permuted_pair),
    *_both("permute-alone", _moved),
    *_both("fold-beside", _lengths_beside, TURNED),
    *_both("projection", _projected),
    *_both("projection-of-columns", _projected_columns, COLUMNS),
    *(
        instance
        for n in (3, 4)
        for instance in _both(f"projection-of-merged-rows-{n}", partial(_merged_rows, rank=n))
    ),
    *_both("looked-up", _looked_up),
    *_both("positions", _positions),
    *_both("repeated", partial(_repeated, front=()), ()),
    *_both("repeated-behind-an-axis", partial(_repeated, front=(2,)), ()),
)


@silent("incremental/together-map2", "incremental/beside-a-range", beside=KNOWN)
def ranges_times_a_weight_per_point(z: Sizes) -> tuple[Node, ...]:
    weights = map_node("cast", [reshape(iota(expr(T) + 1), (expr(T) + 1, expr(1)))], "float32")
    moving = tensor("c", (1, z.k), (T,))
    past = until_now(rows(z))
    pairs = ((past, weights), (weights, past), (past, moving), (moving, past))
    return tuple(map_node("mul", list(pair)) for pair in pairs)


@fires("incremental/fold-beside", beside=KNOWN)
def sum_of_each_row_so_far(z: Sizes) -> Node:
    return reduce_node("sum", until_now(rows(z)), [-1])


@silent("incremental/fold-beside", beside=TURNED)
def sums_over_the_range(z: Sizes) -> tuple[Node, ...]:
    past = until_now(rows(z))
    beside = reduce_node("sum", turned(_matrices(z, until_now)), [-2])
    return reduce_node("sum", past, [-2]), reduce_node("sum", past, [-2, -1]), beside


@fires("incremental/fold-of-folds", beside=KNOWN)
def sum_of_all_so_far_and_of_their_elements(z: Sizes) -> Node:
    return reduce_node("sum", until_now(rows(z)), [-2, -1])


@silent("incremental/fold-of-folds", beside=KNOWN)
def folds_of_the_range_or_of_other_axes(z: Sizes) -> tuple[Node, ...]:
    past = until_now(rows(z))
    return tuple(reduce_node("sum", past, [axis]) for axis in (-2, -1))


@silent("incremental/reshape-inside", beside=TURNED)
def range_reshaped_with_other_axes(z: Sizes) -> Node:
    past = turned(_matrices(z, until_now))
    return reshape(past, (past.shape[1] * z.m, past.shape[2]))


@silent("incremental/together-along1", "incremental/together-cut", beside=KNOWN)
def functions_of_the_range_itself(z: Sizes) -> tuple[Node, ...]:
    past = until_now(rows(z))
    half = part(past, -1, Slice(expr(0), expr(T) % 2))
    return along("sum", [past], -2), half


@silent("incremental/projection", "incremental/looked-up", beside=KNOWN)
def histories_and_moving_tables(z: Sizes) -> tuple[Node, ...]:
    moving = matmul(until_now(rows(z)), tensor("w", (z.k, z.n), (T,)))
    places = until_now(tensor("i", (), (T,), "int32"))
    return moving, gather(tensor("u", (z.m,), (T,)), places, -1)


@fires("incremental/together-along2", beside=KNOWN)
def recurrence_along_each_row_so_far(z: Sizes) -> Node:
    return along("linear", [until_now(rows(z)), until_now(tensor("a", (z.k,), (T,)))], -1)


@silent("incremental/together-gather", "incremental/together-along2", beside=KNOWN)
def operands_of_one_element_beside_no_range(z: Sizes) -> tuple[Node, ...]:
    table, places = tensor("x", (z.m, z.k)), tensor("i", (1, z.k), (T,), "int32")
    factors, terms = tensor("f", (1, z.k), (T,)), tensor("a", (z.m, z.k), (T,))
    steps = (along("linear", pair, -1) for pair in ([factors, terms], [terms, factors]))
    return gather(table, places, -1), *steps, until_now(rows(z))


@silent("incremental/read-inside", beside=KNOWN)
def history_read_where_another_one_ends(z: Sizes) -> Node:
    past = read(tensor("x", (z.k,), (B, T)), [(T, span(0, expr(B) + 1))])
    return at(past, B, expr(B) - 1)


@silent("incremental/repeated")
def rows_repeated_a_fixed_number_of_times(z: Sizes) -> Node:
    wide = broadcast(const(1.0, "float32", (expr(1), expr(1))), (expr(z.m), expr(z.k)))
    return map_node("mul", [tensor("x", (z.m, z.k), (T,)), wide])


def _window_positions(z: Sizes, last: bool, off: int) -> Pdg:
    """The steps of a window, counted from its first step, or from another one."""
    lo, hi = maximum(expr(T) - 2, 0), expr(T) + 1
    window = ranged(tensor("x", (), (T,), "int32"), lo, hi)
    parts = [affine(lo + off), iota(window.shape[0])]
    positions = map_node("add", parts[::-1] if last else parts)
    return program(map_node("mul", [window, positions]), affine(lo))


POSITIONS = tuple(
    Instance(
        f"steps of a window{' last' * last}{' from elsewhere' * off}",
        partial(_window_positions, last=last, off=off),
        () if off else (rule,),
        (rule,) if off else (),
    )
    for last in (False, True)
    for rule in ["incremental/positions-of-range"]
    for off in (0, 1)
)
