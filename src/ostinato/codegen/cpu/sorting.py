"""Sorting, shuffling and searching rows in generated code: stable, NaN last, as in NumPy."""

from ostinato.codegen.cpu.primitive import Primitive, inner, where
from ostinato.pdg.node import Dtype

RUN = 16  # positions that insertion sorts faster than merging


@inner
def _is_less(x: float, y: float) -> bool:
    return x < y


@inner
def _is_less_float(x: float, y: float) -> bool:
    return x < y or (y != y and x == x)  # noqa: PLR0124  (NaN comes last)


def is_less(dtype: Dtype) -> Primitive:
    """The order of a dtype: total up to equality, NaN after everything."""
    return _is_less_float if dtype in ("float32", "float64") else _is_less


def argsort(
    dtype: Dtype, load: Primitive, out: Primitive, put: Primitive, other: Primitive, keep: Primitive
) -> Primitive:
    """Return ``sort(view, keys, key_step, at, step, scratch, count)``.

    It writes the positions that sort a row, in ascending order of keys and then of positions.
    ``load`` reads keys of ``dtype`` from offset ``keys`` on, every ``key_step`` elements; ``out``
    and ``put`` read and write int32 positions from ``at`` on, every ``step``; ``other`` and
    ``keep`` do so in ``count`` adjacent elements of scratch memory.
    """
    less = is_less(dtype)
    merge_out, merge_back = _merge(less, load, out, keep), _merge(less, load, other, put)

    @inner
    def sort(
        view: object, keys: int, key_step: int, at: int, step: int, scratch: int, count: int
    ) -> None:
        for first in range(0, count, RUN):
            for k in range(first, min(first + RUN, count)):
                key = load(view, keys + k * key_step)
                hole = k
                while hole > first:
                    before = out(view, at + (hole - 1) * step)
                    if not less(key, load(view, keys + before * key_step)):
                        break
                    put(view, at + hole * step, before)
                    hole -= 1
                put(view, at + hole * step, k)
        width = RUN
        while width < count:
            merge_out(view, keys, key_step, (at, step, scratch, 1), width, count)
            if 2 * width < count:
                merge_back(view, keys, key_step, (scratch, 1, at, step), 2 * width, count)
            else:
                for k in range(count):
                    put(view, at + k * step, other(view, scratch + k))
            width *= 4

    return sort


def _merge(less: Primitive, load: Primitive, out: Primitive, put: Primitive) -> Primitive:
    """Return the pass that merges sorted runs of ``width`` from one row of positions to another."""

    @inner
    def merge(
        view: object, keys: int, key_step: int, rows: tuple[int, ...], width: int, count: int
    ) -> None:
        source, step, to, to_step = rows
        for first in range(0, count, 2 * width):
            middle, end = min(first + width, count), min(first + 2 * width, count)
            left, right = first, middle
            if middle < end:
                a, b = out(view, source + left * step), out(view, source + right * step)
                x, y = load(view, keys + a * key_step), load(view, keys + b * key_step)
                while True:
                    k = left + right - middle
                    if less(y, x):
                        put(view, to + k * to_step, b)
                        right += 1
                        if right == end:
                            break
                        b = out(view, source + right * step)
                        y = load(view, keys + b * key_step)
                    else:
                        put(view, to + k * to_step, a)
                        left += 1
                        if left == middle:
                            break
                        a = out(view, source + left * step)
                        x = load(view, keys + a * key_step)
            for k in range(left, middle):
                put(view, to + (k + right - middle) * to_step, out(view, source + k * step))
            for k in range(right, end):
                put(view, to + k * to_step, out(view, source + k * step))

    return merge


def shuffle(dtype: Dtype, load: Primitive, out: Primitive, put: Primitive) -> Primitive:
    """Return ``shuffle(view, choices, choice_step, at, step, count)``.

    It writes 0 ... count - 1 as the choices say: ``k`` goes to the place that choice ``k`` names,
    what was there goes to place ``k``. ``load`` reads int32 choices from offset ``choices`` on,
    every ``choice_step`` elements; ``out`` and ``put`` read and write int32 positions from ``at``
    on, every ``step``.
    """
    assert dtype == "int32", f"choices of type {dtype}"

    @inner
    def order(view: object, choices: int, choice_step: int, at: int, step: int, count: int) -> None:
        for k in range(count):
            place = min(max(load(view, choices + k * choice_step), 0), k)
            put(view, at + k * step, out(view, at + place * step))
            put(view, at + place * step, k)

    return order


def _search(less: Primitive, load: Primitive, is_right: bool) -> Primitive:
    @inner
    def search(view: object, start: int, step: int, count: int, value: float) -> int:
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            found = load(view, start + middle * step)
            after = where(is_right, not less(value, found), less(found, value))
            if after:
                low = middle + 1
            else:
                high = middle
        return low

    return search


def searchleft(dtype: Dtype, load: Primitive) -> Primitive:
    """Return ``search(view, start, step, count, value)``: the first place that keeps the order.

    The sorted values of ``dtype`` lie from offset ``start`` on, every ``step`` elements.
    """
    return _search(is_less(dtype), load, False)


def searchright(dtype: Dtype, load: Primitive) -> Primitive:
    """Return ``search(view, start, step, count, value)``: the last place that keeps the order."""
    return _search(is_less(dtype), load, True)
