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


def rows() -> Tensor:
    return ot.input("x", shape=(64,), over=ot.dims("b"))


def test_long_computations_stay_out_of_loops_that_add_in_order() -> None:
    assert ("value",) in nests(planned(ot.exp(rows())))


def test_short_computations_are_done_while_adding() -> None:
    assert ("value", "total") in nests(planned(rows() - 1.0))
