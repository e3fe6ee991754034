"""Plans are readable."""

from ostinato.codegen.planning.show import show_plan, show_statement
from tests.codegen.on_cpu import plan
from tests.codegen.programs import reinforce, toy

TOY = """\
for i = 0 .. I-1:    # published
    k0 serial:
        k
        for t = 0 .. T-1:
            x
        s = unit of sum
        for t = T-1 .. 0:
            d
            q
            G
            s
        kn
    barrier

kn  global    float64  []                        in k
x   global    float64  [t: T]                    phases 0 .. 0
G   global    float64  []                        phases 0 .. 0
k   global    float64  []                        phases 0 .. 1
d   global    float64  []                        phases 0 .. 0
q   global    float64  []                        phases 0 .. 0
s   global    float64  [i: I]                    phases 0 .. 1
"""


def test_a_plan_is_a_schedule_and_a_table() -> None:
    assert show_plan(plan(toy().system())) == TOY


def test_products_say_what_they_multiply() -> None:
    text = show_plan(plan(reinforce({}, 64).system()))
    assert "[b_i < min(-32*b_o+B, 32), g < 64] z2 = h1 @ W2 over h (broadcast), h2" in text


def test_the_same_system_gives_the_same_text() -> None:
    assert show_plan(plan(reinforce({}).system())) == show_plan(plan(reinforce({}).system()))


def test_a_statement_is_an_equation() -> None:
    s = toy().statements["G"]
    assert show_statement(s).splitlines()[1] == "G[i, t] = (q[i, t] + (G[i, t+1] * 0.99))  if True"
