from ostinato.codegen.systems.equation_cost import point_ns
from ostinato.machine.cost_model import REFERENCE
from tests.codegen.builder import Builder, call, number


def test_a_point_takes_its_functions_and_the_bytes_it_moves() -> None:
    p = Builder("b", {"h": 8})
    x = number(p.d["b"]) * 0.1
    p.add("plain", "b", "h", x)
    p.add("long", "b", "h", call("exp", x))
    statements = p.system().statements
    plain, long = (point_ns(statements[name], 1.0) for name in ("plain", "long"))
    each = REFERENCE.function_ns("exp") * REFERENCE.wide(statements["long"].dtype)
    assert abs(long - plain - each) < 1e-9
    assert point_ns(statements["plain"], 1e9) > plain  # more than any cache holds


def test_a_term_of_a_product_takes_a_multiply_add() -> None:
    p = Builder("b", {"h": 8, "g": 8})
    p.add("x", "b", "h", number(p.d["b"]) * 0.1)
    p.input("W", "", "h g", {})
    p.add("z", "b", "g", p("x") * p("W"), "matmul", "h")
    z = p.system().statements["z"]
    assert point_ns(z, 2.0**30) == REFERENCE.profile.multiply_ns[-1] * REFERENCE.wide(z.dtype)
    assert point_ns(z, 2.0**10) > point_ns(z, 2.0**30)
