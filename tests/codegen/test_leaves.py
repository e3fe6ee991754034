import ostinato as ot
from ostinato.codegen.ir.tree import Nest, leaves
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.language.tensor import Tensor


def planned(x: Tensor) -> Plan:
    """Values and their sum, which both are results."""
    options = Options(threads=1, hints={"B": 256})
    program = ot.Program(value=x, total=x.sum(0))
    return plan_of(optimize_pdg(program.pdg, None, options), options)[0]


def nests(plan: Plan) -> list[tuple[str, ...]]:
    found = (leaf for kernel in plan.kernels for leaf, _, _ in leaves(kernel.body))
    return [leaf.statements for leaf in found if isinstance(leaf, Nest)]


def rows(length: int) -> Tensor:
    return ot.input("x", shape=(length,), over=ot.dims("b"))


def test_long_computations_stay_out_of_loops_that_add_in_order() -> None:
    assert ("value",) in nests(planned(ot.exp(rows(12))))


def test_long_computations_are_done_while_lanes_add() -> None:
    assert ("value", "total") in nests(planned(ot.exp(rows(64))))


def test_short_computations_are_done_while_adding() -> None:
    assert ("value", "total") in nests(planned(rows(12) - 1.0))


def test_positions_of_columns_are_found_in_blocks_beside_their_values() -> None:
    x = ot.input("x", shape=(20, 64), over=ot.dims("b"))
    options = Options(threads=1, hints={"B": 256})
    program = ot.Program(best=x.max(0), place=x.argmax(0), row=x.argmax(1))
    found = nests(plan_of(optimize_pdg(program.pdg, None, options), options)[0])
    assert sorted(map(sorted, found)) == [["best", "place"], ["row"]]
