"""Functions of one element that are compiled by themselves, for vectors of elements too.

They are long and run seldom, such as the draws of initial parameters. LLVM's vectoriser knows their
vector forms, and calls the one of its width; a loop that does little else is a third slower.
"""

from collections.abc import Callable, Sequence

from ostinato.codegen.cpu.flags import host_features, vector_bits
from ostinato.codegen.cpu.llvm import Builder, define
from ostinato.codegen.cpu.llvm_text import I32, THIS, Function, Module, Type, Value, vector_type
from ostinato.codegen.cpu.vector import FORMATS, Float, Vector

Pure = Callable[[Vector, list[Value]], Value]
_PURE = ("nounwind", "readnone")


def call_form(b: Builder, name: str, dtype: Float, words: Sequence[Value], emit: Pure) -> Value:
    """What ``emit`` makes of 32-bit words; the name and the type of floats decide what it is."""

    def write(inner: Module) -> None:
        for lanes in (0, *widths(dtype)):

            def body(within: Builder, args: list[Value], lanes: int = lanes) -> None:
                within.ret(emit(Vector(within, dtype, lanes), args))

            result, kinds = _kinds(dtype, lanes, len(words))
            define(inner, _named(THIS, lanes), result, kinds, body, *_PURE)

    symbol = b.module.apart(f"{name}_{dtype}", write)
    scalar = b.module.globals.get(symbol) or _declared(b.module, symbol, dtype, len(words))
    return b.call(scalar, words)


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
