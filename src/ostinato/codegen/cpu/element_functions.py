"""Functions of one element that are compiled by themselves, for vectors of elements too.

They are long and run seldom, such as the draws of initial parameters. LLVM's vectoriser knows their
vector forms, and calls the one of its width; a loop that does little else is a third slower.
"""

from collections.abc import Callable, Sequence
from typing import cast

from ostinato.codegen.cpu import llvm_text
from ostinato.codegen.cpu.flags import host_features, vector_bits
from ostinato.codegen.cpu.llvm import (
    I32,
    Builder,
    Type,
    Value,
    function_type,
    keep,
    vector_type,
)
from ostinato.codegen.cpu.part import THIS
from ostinato.codegen.cpu.vector import FORMATS, Float, Vector

Pure = Callable[[Vector, list[Value]], Value]
_PURE = ("nounwind", "readnone")


def call_form(b: Builder, name: str, dtype: Float, words: Sequence[Value], emit: Pure) -> Value:
    """What ``emit`` makes of 32-bit words; the name and the type of floats decide what it is.

    Written at its place for Numba.
    """
    module = b.module
    if not isinstance(module, llvm_text.Module):
        return emit(Vector(b, dtype), list(words))

    def write(inner: llvm_text.Module) -> None:
        for lanes in (0, *widths(dtype)):
            made = llvm_text.Function(inner, _kind(dtype, lanes, len(words)), _named(THIS, lanes))
            made.attributes = _PURE
            builder = cast(Builder, llvm_text.Builder(made.append_basic_block("entry")))
            builder.ret(emit(Vector(builder, dtype, lanes), cast("list[Value]", made.args)))

    symbol = module.apart(f"{name}_{dtype}", write)
    scalar = module.globals.get(symbol) or _declared(b, module, symbol, dtype, len(words))
    return b.call(cast(Value, scalar), words)


def widths(dtype: Float) -> list[int]:
    """The lanes of the vectors that loops have here."""
    widest = vector_bits(host_features())
    counts = (bits // FORMATS[dtype].bits for bits in (widest // 2, widest))
    return [lanes for lanes in counts if lanes > 1]


def _named(symbol: str, lanes: int) -> str:
    return f"{symbol}_x{lanes}" if lanes else symbol


def _kind(dtype: Float, lanes: int, count: int) -> Type:
    result = vector_type(FORMATS[dtype].element, lanes)
    return function_type(result, [vector_type(I32, lanes)] * count)


def _declared(
    b: Builder, module: llvm_text.Module, symbol: str, dtype: Float, count: int
) -> llvm_text.Function:
    """Declare the function of one element, which tells of its forms, and these."""
    told: list[str] = []
    for lanes in widths(dtype):
        form = llvm_text.Function(module, _kind(dtype, lanes, count), _named(symbol, lanes))
        keep(b, cast(Value, form))
        told.append(f"_ZGV_LLVM_N{lanes}{'v' * count}_{symbol}({form.name})")
    scalar = llvm_text.Function(module, _kind(dtype, 0, count), symbol)
    scalar.attributes = (*_PURE, f'"vector-function-abi-variant"="{",".join(told)}"')
    return scalar
