"""Which work one worker does by itself where it is little."""

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.emit.driver import pieces
from ostinato.codegen.ir.tree import Barrier, DriverLoop, Step
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.index import Expr, Extent, evaluate
from tests.codegen.builder import Builder, number
from tests.codegen.on_cpu import plan
from tests.codegen.programs import reinforce


def variance() -> Plan:
    """The mean of rows, and their mean square distance from it."""
    p = Builder("b t", {})
    p.add("x", "b", "", number(p.d["b"]))
    p.add("mean", "", "", p("x"), over="b")
    p.add("far", "b", "", p("x") - p("mean"))
    p.add("square", "", "", p("far") * p("far"), over="b")
    p.add("y", "t", "", p("square") * number(p.d["t"]))
    p.outputs = ["y"]
    return plan(p.system())


def alone(steps: tuple[Step, ...], planned: Plan) -> list[Expr]:
    """The elements of all pieces that one worker may do, those in loops too."""
    found = [piece.elements for piece in pieces(steps, planned) if piece.elements is not None]
    inner = [s.body for s in steps if isinstance(s, DriverLoop)]
    return found + [each for body in inner for each in alone(body, planned)]


def test_sums_of_few_rows_are_little_and_those_of_many_are_not() -> None:
    planned = variance()
    (elements,) = alone(planned.driver, planned)
    few, many = (evaluate(elements, {Extent("B"): rows}) for rows in (40, 10_000))
    assert 2 * 40 < few <= CPU.alone_elements < many


def test_pieces_are_the_steps_in_order_and_end_with_a_barrier_if_they_are_alone() -> None:
    planned = variance()
    found = list(pieces(planned.driver, planned))
    assert tuple(step for piece in found for step in piece.steps) == planned.driver
    (mine,) = (piece.steps for piece in found if piece.elements is not None)
    assert isinstance(mine[-1], Barrier) and mine.count(Barrier()) > 1


def test_products_and_slices_are_never_left_to_one_worker() -> None:
    planned = plan(reinforce({}, 64).system())
    assert any(k.sliced for k in planned.kernels)
    assert alone(planned.driver, planned) == []
