"""Which axes are loops."""

from ostinato.codegen.ir.partial_sums import COPIES
from ostinato.codegen.systems.axes import coefficient, long_axes
from ostinato.pdg.index import Dim, expr, mod
from tests.codegen.builder import Builder

K = Dim("k")


def test_tiny_axes_are_unrolled_until_there_are_too_many_copies() -> None:
    p = Builder("", {"a": 4, "c": 4, "e": 4, "h": 9})
    p.add("x", "", "a c e h", 1.0)
    assert COPIES == 16
    assert [axis.index.name for axis in long_axes(p.statements["x"])] == ["e", "h"]


def test_the_stride_of_an_index_is_its_factor() -> None:
    assert coefficient(expr(K) * 3 + 2, K) == 3
    assert coefficient(expr(5), K) == 0
    assert coefficient(mod(K, 2), K) is None
