"""Lists of the positions of an axis at which a mask is true, for products that pass over others."""

from __future__ import annotations

from functools import partial

from ostinato.codegen.cpu.llvm import Builder, alloca, emit_loop
from ostinato.codegen.cpu.llvm_text import I8, I64, Value, constant, i64
from ostinato.codegen.cpu.primitive import Argument, Primitive, primitive


def living(most: int) -> Primitive:
    """Return ``living(view, start, stride, size)``: the list of a mask of at most ``most`` bytes.

    Shapes: the mask's first ``size`` bytes lie ``stride`` apart from byte ``start`` of the view on.
    The result stands for the list while the function that calls it runs, or until it is made
    again at this place. `listed` reads it: how many are true, where those are, in ascending order,
    then where the mask is false and the positions from ``size`` on, up to ``most``.
    """
    name = f"living_{most}"
    kinds: tuple[Argument, ...] = ("array", "int64", "int64", "int64")
    return primitive(name, "int64", kinds, partial(_emit, most), room=most + 1)


def listed(builder: Builder, address: Value, place: Value) -> Value:
    """Return an entry of a list: the number of living positions, then all positions."""
    places = builder.inttoptr(address, I64.as_pointer())
    return builder.load(builder.gep(places, place))


def _emit(most: int, b: Builder, args: list[Value]) -> Value:
    places, view, start, stride, size = args
    mask = b.gep(b.bitcast(view, I8.as_pointer()), start)
    count = alloca(b, I64)
    b.store(i64(0), count)

    def note(position: Value) -> None:
        """Write a position behind the living ones, or before the dead ones, which come last."""
        byte = b.load(b.gep(mask, b.mul(position, stride)))
        lives, before = b.icmp_unsigned("!=", byte, constant(I8, 0)), b.load(count)
        last = b.sub(b.sub(size, i64(1)), b.sub(position, before))
        put(position, b.select(lives, before, last))
        b.store(b.add(before, b.zext(lives, I64)), count)

    def put(position: Value, place: Value) -> None:
        b.store(position, b.gep(places, b.add(place, i64(1))))

    def pad(k: Value) -> None:
        put(b.add(size, k), b.add(size, k))

    emit_loop(b, size, note)
    emit_loop(b, b.sub(i64(most), size), pad)
    b.store(b.load(count), b.gep(places, i64(0)))
    return b.ptrtoint(places, I64)
