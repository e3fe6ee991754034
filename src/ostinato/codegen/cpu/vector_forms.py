"""Functions that have forms for vectors, of which LLVM's vectoriser calls the one of its width.

Some are long and run seldom, such as the draws of initial parameters: they are compiled by
themselves; a loop that does little else is a third slower. Others are what few elements need, such
as the sine of 1e9. A loop with a branch does not become vector code, and a select computes both
sides of every element: here the form asks for all lanes at once whether any is rare, and is inlined
after the vectoriser.
"""

from collections.abc import Callable, Sequence

from ostinato.codegen.cpu.flags import host_features, vector_bits
from ostinato.codegen.cpu.llvm import Builder, Writes, define, emit_loop, internal_function
from ostinato.codegen.cpu.llvm_text import (
    I1,
    I32,
    I64,
    THIS,
    Function,
    Module,
    Type,
    Value,
    bits_type,
    constant,
    vector_type,
)
from ostinato.codegen.cpu.vector import FORMATS, Float, Vector

Pure = Callable[[Vector, Sequence[Value]], Value]
_PURE = ("nounwind", "readnone")
_ASIDE = ("noinline", "optnone")  # they run seldom, and optimising them takes long


def call_form(b: Builder, name: str, dtype: Float, words: Sequence[Value], emit: Pure) -> Value:
    """What ``emit`` makes of 32-bit words; the name and the type of floats decide what it is."""
    if b.aside is not None:
        return b.aside(f"{name}_{dtype}", None, words, FORMATS[dtype].element, _alone(dtype, emit))

    def write(inner: Module) -> None:
        for lanes in (0, *widths(dtype)):

            def body(within: Builder, args: list[Value], lanes: int = lanes) -> None:
                within.ret(emit(Vector(within, dtype, lanes), args))

            result, kinds = _kinds(dtype, lanes, len(words))
            define(inner, _named(THIS, lanes), result, kinds, body, *_PURE)

    symbol = b.module.apart(f"{name}_{dtype}", write)
    scalar = b.module.globals.get(symbol) or _declared(b.module, symbol, dtype, len(words))
    return b.call(scalar, words)


def _alone(dtype: Float, emit: Pure) -> Writes:
    """What writes a function of one element."""
    return lambda b, args: emit(Vector(b, dtype), args)


def widths(dtype: Float) -> list[int]:
    """The lanes of the vectors that loops have here."""
    widest = vector_bits(host_features())
    counts = (bits // FORMATS[dtype].bits for bits in (widest // 2, widest))
    return [lanes for lanes in counts if lanes > 1]


def _named(symbol: str, lanes: int) -> str:
    return f"{symbol}_x{lanes}" if lanes else symbol


def _kinds(dtype: Float, lanes: int, count: int) -> tuple[Type, list[Type]]:
    return vector_type(FORMATS[dtype].element, lanes), [vector_type(I32, lanes)] * count


def _declared(module: Module, symbol: str, dtype: Float, count: int) -> Function:
    """Declare the function of one element, which tells of its forms, and these."""
    told: list[str] = []
    for lanes in widths(dtype):
        form = Function(module, _named(symbol, lanes), *_kinds(dtype, lanes, count))
        module.kept.append(form)
        told.append(f"_ZGV_LLVM_N{lanes}{'v' * count}_{symbol}({form.name})")
    variants = f'"vector-function-abi-variant"="{",".join(told)}"'
    return Function(module, symbol, *_kinds(dtype, 0, count), *_PURE, variants)


def rarely(v: Vector, name: str, is_rare: Value, args: Sequence[Value], slow: Pure) -> Value:
    """What ``slow`` makes of the arguments where ``is_rare``; any number elsewhere.

    The name and the type of floats decide what ``slow`` is: two of them must not share one. Asked
    for before the common case is computed, it leaves that its registers.
    """
    b, full = v.builder, f"{name}_{v.dtype}"
    if b.aside is not None:
        return b.aside(full, is_rare, args, v.type, _alone(v.dtype, slow))
    scalar = b.module.globals.get(full) or _define(b, full, v.dtype, len(args), slow)
    if v.lanes:
        if _named(full, v.lanes) not in b.module.globals:
            _define_form(b, scalar, full, v, len(args))
        return b.call(b.module.globals[_named(full, v.lanes)], [*args, is_rare])
    return _if(b, is_rare, scalar, args)


def _define(b: Builder, name: str, dtype: Float, count: int, slow: Pure) -> Value:
    """Write the function of one element, and its forms for the widths that loops have here."""
    element = FORMATS[dtype].element
    lanes = widths(dtype)
    forms = ",".join(f"_ZGV_LLVM_M{x}{'v' * count}_{name}({_named(name, x)})" for x in lanes)
    told = (*_ASIDE, *_PURE, f'"vector-function-abi-variant"="{forms}"')

    def body(inner: Builder, args: list[Value]) -> None:
        inner.ret(slow(Vector(inner, dtype), args))

    scalar = internal_function(b.module, name, element, [element] * count, body, *told)
    for each in lanes:
        _define_form(b, scalar, name, Vector(b, dtype, each), count)
    return scalar


def _define_form(b: Builder, scalar: Value, name: str, of: Vector, count: int) -> None:
    """A function of vectors and a mask; where the mask is false, its result is any number."""
    kinds, bits = [of.type] * count, bits_type(of.lanes)

    def lane_by_lane(inner: Builder, given: list[Value]) -> None:
        *args, word = given
        inner.ret(_each_lane(inner, scalar, of, args, word))

    seldom = ("cold", *_ASIDE, *_PURE)
    every_name = f"{name}_every_x{of.lanes}"
    every = internal_function(b.module, every_name, of.type, [*kinds, bits], lane_by_lane, *seldom)

    def body(inner: Builder, given: list[Value]) -> None:
        *args, mask = given
        word = inner.bitcast(mask, bits)
        any_lane = inner.icmp_unsigned("!=", word, constant(bits, 0))
        inner.ret(_if(inner, any_lane, every, [*args, word]))

    told = ("alwaysinline", *_PURE)
    form = internal_function(
        b.module, _named(name, of.lanes), of.type, [*kinds, of.bool_type], body, *told
    )
    b.module.kept.append(form)


def _if(b: Builder, condition: Value, function: Value, args: Sequence[Value]) -> Value:
    """What the function makes of the arguments, or the first of them."""
    before = b.block
    with b.if_then(condition, likely=False):
        found = b.call(function, args)
        inside = b.block
    result = b.phi(args[0].type)
    result.add_incoming(args[0], before)
    result.add_incoming(found, inside)
    return result


def _each_lane(b: Builder, scalar: Value, of: Vector, args: Sequence[Value], word: Value) -> Value:
    place = b.alloca(of.type)
    b.store(args[0], place)

    def one(lane: Value) -> None:
        is_rare = b.trunc(b.lshr(word, b.trunc(lane, word.type)), I1)
        with b.if_then(is_rare):
            found = b.call(scalar, [b.extract_element(x, lane) for x in args])
            b.store(b.insert_element(b.load(place), found, lane), place)

    emit_loop(b, constant(I64, of.lanes), one)
    return b.load(place)
