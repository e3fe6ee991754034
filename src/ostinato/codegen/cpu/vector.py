"""Arithmetic on one scalar or on the lanes of one vector register, as LLVM instructions.

One definition of every function serves the elementwise loops (scalars, which LLVM vectorises) and
the matmul epilogues (whole vectors). NaN goes in and comes out everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.codegen.cpu.llvm import Builder, declare
from ostinato.codegen.cpu.llvm_text import (
    F32,
    F64,
    I1,
    I32,
    I64,
    Instruction,
    Type,
    Value,
    constant,
    undefined,
    vector_type,
)
from ostinato.codegen.loops.expression import Float as Float
from ostinato.codegen.loops.expression import Sign


@dataclass(frozen=True)
class Format:
    """The binary layout of a float type."""

    element: Type
    integer: Type
    bits: int
    mantissa: int
    bias: int


FORMATS: dict[Float, Format] = {
    "float32": Format(F32, I32, 32, 23, 127),
    "float64": Format(F64, I64, 64, 52, 1023),
}


class Vector:
    """Instructions on ``lanes`` floats at once, or on one scalar when ``lanes`` is 0."""

    def __init__(self, builder: Builder, dtype: Float, lanes: int = 0) -> None:
        self.builder = builder
        self.dtype: Float = dtype
        self.lanes = lanes
        self.format = FORMATS[dtype]
        self.type = vector_type(self.format.element, lanes)
        self.int_type = vector_type(self.format.integer, lanes)
        self.bool_type = vector_type(I1, lanes)
        self.suffix = f"v{lanes}f{self.format.bits}" if lanes else f"f{self.format.bits}"

    def const(self, value: float) -> Value:
        return constant(self.type, [value] * self.lanes if self.lanes else value)

    def int_const(self, value: int) -> Value:
        return constant(self.int_type, [value] * self.lanes if self.lanes else value)

    def call(self, name: str, *args: Value) -> Value:
        """Call the LLVM intrinsic of that name, from floats to a float."""
        function = declare(
            self.builder, f"llvm.{name}.{self.suffix}", self.type, [self.type] * len(args)
        )
        return self.builder.call(function, args)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        return self.call("fma", x, y, z)

    def plus_product(self, total: Value, x: Value, y: Value) -> Value:
        """A term of a sum, as loops add it up: rounded once where they may, else twice."""
        if "contract" in self.builder.module.freedom:
            return self.fma(x, y, total)
        return self.builder.fadd(total, self.builder.fmul(x, y))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Evaluate by Horner's rule; the coefficient of the highest power comes first."""
        total = self.const(coefficients[0])
        for coefficient in coefficients[1:]:
            total = self.fma(total, x, self.const(coefficient))
        return total

    def bits(self, x: Value) -> Value:
        return self.builder.bitcast(x, self.int_type)

    def floats(self, bits: Value) -> Value:
        return self.builder.bitcast(bits, self.type)

    def compare(self, op: Sign, x: Value, y: Value) -> Value:
        """Compare as NumPy does: only ``!=`` is true of NaN."""
        if op == "!=":
            return self.builder.fcmp_unordered(op, x, y)
        return self.builder.fcmp_ordered(op, x, y)

    def clamp(self, x: Value, low: float, high: float) -> Value:
        """Force ``x`` into [low, high]; NaN stays, unlike with the minnum instruction."""
        below, above = self.const(low), self.const(high)
        x = self.builder.select(self.builder.fcmp_ordered("<", x, below), below, x)
        return self.builder.select(self.builder.fcmp_ordered(">", x, above), above, x)

    def minimum(self, x: Value, y: Value) -> Value:
        return self._extreme("minimum", "<=", x, y)

    def maximum(self, x: Value, y: Value) -> Value:
        return self._extreme("maximum", ">=", x, y)

    def _extreme(self, name: str, op: Sign, x: Value, y: Value) -> Value:
        """NaN where one of them is; of equals the first, or either where zeros have no sign."""
        if "nsz" in self.builder.module.freedom:
            args = [self.type, self.type]
            function = declare(self.builder, f"llvm.{name}.{self.suffix}", self.type, args)
            return self.builder.call(function, [x, y], fastmath=("nsz",))
        is_nan = self.builder.fcmp_unordered("uno", x, x)
        first = self.builder.or_(self.builder.fcmp_ordered(op, x, y), is_nan)
        return self.builder.select(first, x, y)

    def load(self, pointer: Value) -> Value:
        """Load consecutive elements, aligned to one element only."""
        loaded = self.builder.load(self._cast(pointer))
        return self._aligned(loaded)

    def store(self, value: Value, pointer: Value) -> None:
        self._aligned(self.builder.store(value, self._cast(pointer)))

    def _cast(self, pointer: Value) -> Value:
        return self.builder.bitcast(pointer, self.type.as_pointer())

    def _aligned(self, instruction: Instruction) -> Value:
        instruction.align = self.format.bits // 8
        return instruction

    def splat(self, scalar: Value) -> Value:
        """Put one scalar into every lane."""
        if not self.lanes:
            return scalar
        empty = undefined(self.type)
        first = self.builder.insert_element(empty, scalar, constant(I32, 0))
        zeros = constant(vector_type(I32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, empty, zeros)

    def sum_lanes(self, x: Value) -> Value:
        """Add up the lanes in an order that depends only on their number."""
        if not self.lanes:
            return x
        element = self.format.element
        name = f"llvm.vector.reduce.fadd.{self.suffix}"
        function = declare(self.builder, name, element, [element, self.type])
        zero = constant(element, 0.0)
        return self.builder.call(function, [zero, x], fastmath=("reassoc",))
