"""Strip-mining: forms of statements, loads at tiles, widths."""

from ostinato.codegen.systems.tile_choice import default_width
from ostinato.pdg.condition import ALWAYS, equal, every
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, Cases, number
from tests.codegen.compare import assert_right
from tests.codegen.on_cpu import tile

SIZES = {"B": 7, "T": 5}


def rows() -> Builder:
    p = Builder("b t", {"h": 6})
    p.add("x", "b", "h", number(p.d["b"]) + number(p.a["h"]))
    return p


def test_a_lane_becomes_a_tile_loop_and_an_axis() -> None:
    p = rows()
    p.outputs = ["x"]
    s = tile(p.system(), {"b": 4}, 2).statements["x"]
    assert [str(d) for d in s.dims] == ["b_o"]
    assert [(str(a.index), str(a.size), str(a.pad)) for a in s.axes][0] == (
        "b_i",
        "min(-4*b_o+B, 4)",
        "4",
    )


def test_a_statement_without_the_lane_loops_inside_the_tile() -> None:
    p = rows()
    p.add("y", "b", "", p("x", 2), lanes="")
    p.outputs = ["y"]
    tiled = tile(p.system(), {"b": 4}, 2)
    assert [str(d) for d in tiled.statements["y"].dims] == ["b_o", "b_i"]
    assert_right(p, SIZES, {"b": 4})


def test_a_recurrence_along_a_lane_of_others_stays_whole() -> None:
    p = Builder("b t", {})
    t = p.d["t"]
    p.add("x", "t", "", 0.0, lanes="")
    moved = p("x", t=t - expr(1)) * 0.5 + 1.0
    p.add("x", "t", "", [(equal(t, 0), 1.0), (ALWAYS, moved)], lanes="")
    p.add("y", "t", "", p("x") * 2.0, lanes="t")
    p.outputs = ["y"]
    assert [str(d) for d in tile(p.system(), {"t": 2}, 2).statements["x"].dims] == ["t"]
    assert_right(p, SIZES, {"t": 2})


def test_reads_at_other_rows_find_their_tile() -> None:
    p = rows()
    b = p.d["b"]
    last = expr(b.extent) - 1
    p.add("y", "b", "h", p("x", b=last - expr(b)) + p("x", b=last) * p("x", b=expr(0)))
    p.outputs = ["y"]
    assert_right(p, SIZES, {"b": 4})


def test_a_condition_on_rows_chooses_per_row() -> None:
    p = rows()
    p.add("y", "b", "h", [(equal(p.d["b"], 3), p("x")), (ALWAYS, 0.0)])
    p.outputs = ["y"]
    assert_right(p, SIZES, {"b": 4})


def test_the_dim_that_serves_most_statements_is_tiled() -> None:
    p = Builder("b t", {})
    p.add("x", "b t", "", number(p.d["b"]), lanes="b t")
    p.add("y", "b t", "", p("x") * 2.0, lanes="b t")
    p.add("z", "t", "", p("y", b=expr(0)), lanes="t")
    p.outputs = ["z"]
    tiled = tile(p.system(), {}, 2)
    assert [str(d) for d in tiled.tiles] == ["t_o"]
    assert_right(p, SIZES, {"t": 2})


def test_a_dim_known_to_be_short_is_not_tiled() -> None:
    p = Builder("b t", {}, {"B": 1, "T": 900})
    p.add("x", "b t", "", number(p.d["b"]), lanes="b t")
    p.add("y", "b", "", p("x", t=expr(0)), lanes="b")
    p.outputs = ["x", "y"]
    assert {str(d) for d in tile(p.system(), {}, 2).statements["x"].dims} == {"b", "t_o"}


def test_of_two_lanes_that_serve_as_well_the_one_of_neighbours_is_tiled() -> None:
    p = Builder("b t", {})
    p.add("x", "b t", "", number(p.d["b"]), lanes="b t")
    p.outputs = ["x"]
    assert [str(d) for d in tile(p.system(), {}, 2).statements["x"].dims] == ["b", "t_o"]
    assert_right(p, SIZES)


def test_tiles_suffice_for_the_workers() -> None:
    assert [default_width(n, 4, 32, 8) for n in (40, 64, 4096)] == [16, 16, 32]


def slots(width: int, hints: dict[str, int]) -> int:
    """Of tiles that add to sums of ``width`` times ``width`` numbers."""
    p = Builder("b", {"h": width, "g": width}, hints)
    p.add("x", "b", "h", number(p.d["b"]) + number(p.a["h"]))
    p.add("w", "b", "h g", p("x", "h") * p("x", "g"), over="b")
    p.outputs = ["w"]
    return tile(p.system(), {}, 2).statements["x"].axes[0].pad.as_int()


def test_many_tiles_that_add_to_sums_of_a_matrix_have_more_rows() -> None:
    assert [slots(width, {"B": 1024}) for width in (8, 64)] == [32, 64]


def test_few_tiles_that_add_to_sums_are_enough_for_the_workers() -> None:
    assert [slots(64, hints) for hints in ({}, {"B": 64})] == [32, 32]


def test_tiles_that_run_a_loop_of_their_own_keep_their_rows_near() -> None:
    p = Builder("b t", {"h": 64, "g": 64}, {"B": 1024})
    p.add("x", "b t", "h", number(p.d["b"]), lanes="b")
    before = p("x", "h", t=p.d["t"] - expr(1))
    p.add("x", "b t", "h", [(equal(p.d["t"], 0), 1.0), (ALWAYS, before * 0.5)], lanes="b")
    p.add("w", "", "h g", p("x", "h") * p("x", "g"), over="b t")
    p.outputs = ["w"]
    tiled = tile(p.system(), {}, 2)
    assert [str(d) for d in tiled.statements["x"].dims] == ["b_o", "t"]
    assert tiled.statements["x"].axes[0].pad.as_int() == 32


def test_rows_that_only_an_outer_loop_carries_are_tiled() -> None:
    p = Builder("b i", {"h": 3})
    b, i = p.d["b"], p.d["i"]
    p.add("s", "b i", "h", 0.0, lanes="b")
    p.add("w", "i", "h", 0.0)
    rows = p("s", b=expr(p.a["h"]), i=i - expr(1))
    p.add("w", "i", "h", [(equal(i, 0), 1.0), (ALWAYS, p("w", i=i - expr(1)) * 0.5 + rows)])
    p.add("s", "b i", "h", p("w") * number(b), lanes="b")
    p.outputs = ["s"]
    assert [str(d) for d in tile(p.system(), {"b": 2}, 2).statements["s"].dims] == ["b_o", "i"]
    assert_right(p, {"B": 5, "I": 3}, {"b": 2})


def test_nothing_is_tiled_along_nested_loops_around_a_fold() -> None:
    p = Builder("e i", {"h": 3})
    e, i = p.d["e"], p.d["i"]
    p.add("n", "e i", "", 0.0)
    before: Cases = [
        (every(equal(i, 0), equal(e, 0)), 1.0),
        (equal(e, 0), p("n", i=i - expr(1), e=expr(e.extent) - 1)),
        (ALWAYS, p("n", e=e - expr(1))),
    ]
    p.add("w", "e i", "h", before)
    p.add("n", "e i", "h", p("w") * 0.25, over="h")
    p.add("y", "e i", "", p("n"), over="e", lanes="e")
    p.outputs = ["y"]
    assert tile(p.system(), {}, 2).tiles == frozenset()
    assert_right(p, {"E": 3, "I": 4})
