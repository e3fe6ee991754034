"""Sorting, shuffling and searching rows in generated code: stable, NaN last, as in NumPy."""

from ostinato.codegen.cpu.primitive import Argument, Primitive, inner
from ostinato.codegen.loops.expression import (
    Call,
    Constant,
    Expression,
    Given,
    Logic,
    Name,
    Not,
    Tuple,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.statements import Block, Break, Let
from ostinato.pdg.node import Dtype

LOOKED_AT = 32  # keys that are compared at once with the least of those chosen
RUN = 16  # positions that insertion sorts faster than merging

view, x, y, value = map(Name, ("view", "x", "y", "value"))
keys, key_step, at, step, count = map(Name, ("keys", "key_step", "at", "step", "count"))
scratch, source, to, to_step = map(Name, ("scratch", "source", "to", "to_step"))
choices, choice_step, start, rows, width = map(
    Name, ("choices", "choice_step", "start", "rows", "width")
)
first, middle, end, left, right = map(Name, ("first", "middle", "end", "left", "right"))
most = Name("most")


def _taking(*numbers: Name) -> dict[str, Argument]:
    """The parameters of a function of the arena and of int64 numbers."""
    return {"view": "array", **{each.id: "int64" for each in numbers}}


def is_less(dtype: Dtype) -> Primitive:
    """The order of a dtype: total up to equality, NaN after everything."""

    @inner("bool", {"x": dtype, "y": dtype})
    def less(_: Block) -> Expression:
        if dtype not in ("float32", "float64"):
            return x < y
        is_last = Logic("and", (compare("!=", y, y), compare("==", x, x)))
        return Logic("or", (x < y, is_last))

    return less


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
    calls = {
        **{"less": less, "load": load, "out": out, "put": put, "other": other},
        **{
            "merge_out": _merge(less, load, out, keep),
            "merge_back": _merge(less, load, other, put),
        },
    }

    @inner("void", _taking(keys, key_step, at, step, scratch, count), calls)
    def sort(block: Block) -> None:
        _insert(block)
        block.let("width", RUN)
        with block.repeat(width < count):
            forth, back = (
                Tuple((at, step, scratch, Constant(1))),
                Tuple((scratch, Constant(1), at, step)),
            )
            block.do(call("merge_out", view, keys, key_step, forth, width, count))
            with block.when(Constant(2) * width < count):
                block.do(call("merge_back", view, keys, key_step, back, Constant(2) * width, count))
            with block.otherwise(), block.loop("k", count):
                found = call("other", view, scratch + "k")
                block.do(call("put", view, at + Name("k") * step, found))
            block.let("width", width * 4)

    return sort


def _insert(block: Block) -> None:
    """Sort runs of `RUN` positions by insertion."""
    k, hole, key, before = map(Name, ("k", "hole", "key", "before"))
    with (
        block.loop("first", 0, count, RUN),
        block.loop("k", first, call("min", first + RUN, count)),
    ):
        block.let("key", call("load", view, keys + k * key_step))
        block.let("hole", k)
        with block.repeat(hole > first):
            block.let("before", call("out", view, at + (hole - 1) * step))
            other = call("load", view, keys + before * key_step)
            with block.when(Not(call("less", key, other))):
                block.add(Break())
            block.do(call("put", view, at + hole * step, before))
            block.let("hole", hole - 1)
        block.do(call("put", view, at + hole * step, k))


def _merge(less: Primitive, load: Primitive, out: Primitive, put: Primitive) -> Primitive:
    """Return the pass that merges sorted runs of ``width`` from one row of positions to another."""
    kinds: dict[str, Argument] = {**_taking(keys, key_step), "rows": "indices"}
    calls = {"less": less, "load": load, "out": out, "put": put}

    @inner("void", {**kinds, "width": "int64", "count": "int64"}, calls)
    def merge(block: Block) -> None:
        block.add(Let(("source", "step", "to", "to_step"), rows))
        with block.loop("first", 0, count, Constant(2) * width):
            block.let("middle", call("min", first + width, count))
            block.let("end", call("min", first + Constant(2) * width, count))
            block.let("left", first)
            block.let("right", middle)
            with block.when(middle < end):
                _both(block)
            k = Name("k")
            with block.loop("k", left, middle):
                block.do(_put(k + right - middle, _position(k)))
            with block.loop("k", right, end):
                block.do(_put(k, _position(k)))

    return merge


def _both(block: Block) -> None:
    """Merge two runs until one of them ends."""
    a, b = Name("a"), Name("b")
    for name, place in (("a", left), ("b", right)):
        block.let(name, _position(place))
    block.let("x", _key(a))
    block.let("y", _key(b))
    with block.repeat(Constant(True)):
        k = block.let("k", left + right - middle)
        with block.when(call("less", y, x)):
            block.do(_put(k, b))
            block.let("right", right + 1)
            with block.when(compare("==", right, end)):
                block.add(Break())
            block.let("b", _position(right))
            block.let("y", _key(b))
        with block.otherwise():
            block.do(_put(k, a))
            block.let("left", left + 1)
            with block.when(compare("==", left, middle)):
                block.add(Break())
            block.let("a", _position(left))
            block.let("x", _key(a))


def _position(place: Expression) -> Call:
    return call("out", view, source + place * step)


def _key(position: Expression) -> Call:
    return call("load", view, keys + position * key_step)


def _put(place: Expression, position: Given) -> Call:
    return call("put", view, to + place * to_step, position)


def top(dtype: Dtype, load: Primitive, out: Primitive, put: Primitive) -> Primitive:
    """Return ``choose(view, keys, key_step, at, step, count, most)``.

    It writes the positions of the ``most`` greatest keys, in descending order, of equals the first,
    NaN before everything. The other parameters are those of `argsort`. The chosen ones are kept in
    order; of the others only blocks are looked through where one comes before the last of them.
    """
    before = _comes_before(dtype)
    calls = {"before": before, "load": load, "out": out, "put": put}
    k, last, hit = Name("k"), Name("last"), Name("hit")
    key = call("load", view, keys + k * key_step)

    def consider(block: Block) -> None:
        block.let("x", key)
        with block.when(call("before", x, last)):
            _into_place(block, k, most - 1)
            block.let("last", _key_at(most - 1))

    @inner("void", _taking(keys, key_step, at, step, count, most), calls)
    def choose(block: Block) -> None:
        with block.loop("k", most):
            block.let("x", key)
            _into_place(block, k, k)
        block.let("last", _key_at(most - 1))
        block.let("end", count - (count - most) % LOOKED_AT)
        with block.loop("first", most, end, LOOKED_AT):
            block.let("hit", Constant(False))
            with block.loop("k", first, first + LOOKED_AT):
                block.let("hit", binary("|", hit, call("before", key, last)))
            with block.when(hit), block.loop("k", first, first + LOOKED_AT):
                consider(block)
        with block.loop("k", end, count):
            consider(block)

    return choose


def _comes_before(dtype: Dtype) -> Primitive:
    """The other order of a dtype, NaN before everything."""

    @inner("bool", {"x": dtype, "y": dtype})
    def before(_: Block) -> Expression:
        if dtype not in ("float32", "float64"):
            return y < x
        is_first = binary("&", compare("!=", x, x), compare("==", y, y))
        return binary("|", y < x, is_first)

    return before


def _key_at(place: Expression) -> Expression:
    """The key that is kept in a place."""
    return call("load", view, keys + call("out", view, at + place * step) * key_step)


def _into_place(block: Block, position: Expression, place: Expression) -> None:
    """Put the position of the key ``x`` where it belongs, from a place downwards."""
    hole = block.let("hole", place)
    with block.repeat(hole > 0):
        kept = block.let("kept", call("out", view, at + (hole - 1) * step))
        block.let("y", call("load", view, keys + kept * key_step))
        with block.when(Not(call("before", x, y))):
            block.add(Break())
        block.do(call("put", view, at + hole * step, kept))
        block.let("hole", hole - 1)
    block.do(call("put", view, at + hole * step, position))


def shuffle(dtype: Dtype, load: Primitive, out: Primitive, put: Primitive) -> Primitive:
    """Return ``shuffle(view, choices, choice_step, at, step, count)``.

    It writes 0 ... count - 1 as the choices say: ``k`` goes to the place that choice ``k`` names,
    what was there goes to place ``k``. ``load`` reads int32 choices from offset ``choices`` on,
    every ``choice_step`` elements; ``out`` and ``put`` read and write int32 positions from ``at``
    on, every ``step``.
    """
    assert dtype == "int32", f"choices of type {dtype}"
    calls = {"load": load, "out": out, "put": put}

    @inner("void", _taking(choices, choice_step, at, step, count), calls)
    def order(block: Block) -> None:
        k = Name("k")
        with block.loop("k", count):
            choice = call("load", view, choices + k * choice_step)
            place = block.let("place", call("min", call("max", choice, 0), k))
            block.do(call("put", view, at + k * step, call("out", view, at + place * step)))
            block.do(call("put", view, at + place * step, k))

    return order


def _search(dtype: Dtype, load: Primitive, is_right: bool) -> Primitive:
    parameters: dict[str, Argument] = {**_taking(start, step, count), "value": dtype}

    @inner("int64", parameters, {"less": is_less(dtype), "load": load})
    def search(block: Block) -> Expression:
        low, high = block.let("low", 0), block.let("high", count)
        with block.repeat(low < high):
            half = block.let("middle", (low + high) // 2)
            found = block.let("found", call("load", view, start + half * step))
            before, after = call("less", found, value), Not(call("less", value, found))
            with block.when(after if is_right else before):
                block.let("low", half + 1)
            with block.otherwise():
                block.let("high", half)
        return low

    return search


def searchleft(dtype: Dtype, load: Primitive) -> Primitive:
    """Return ``search(view, start, step, count, value)``: the first place that keeps the order.

    The sorted values of ``dtype`` lie from offset ``start`` on, every ``step`` elements.
    """
    return _search(dtype, load, False)


def searchright(dtype: Dtype, load: Primitive) -> Primitive:
    """Return ``search(view, start, step, count, value)``: the last place that keeps the order."""
    return _search(dtype, load, True)
