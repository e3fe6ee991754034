"""Chosen terms as nodes again."""

from ostinato.pdg import build
from ostinato.pdg.index import Dim, Slice, expr
from ostinato.rewrite.extract.rebuild import reshaped


def test_a_range_of_nothing_is_reshaped_to_nothing_whatever_stands_beside_it() -> None:
    t, b = Dim("t", 0), Dim("b", 1)
    x = build.input_node("x", (expr(4),), "float32", (t, b))
    none, all_games = Slice(expr(0), expr(0)), Slice(expr(0), expr(b.extent))
    nothing = build.read(x, [(t, none), (b, all_games)])
    assert nothing.shape == (expr(0), expr(b.extent), expr(4))
    assert reshaped(nothing, (expr(0), expr(4))).shape == (expr(0), expr(4))
