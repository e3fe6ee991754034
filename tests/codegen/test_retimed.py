"""What looks ahead runs later, in the loop of what it reads, so that a window is kept."""

import random

import pytest

from ostinato.codegen.ir.system import Kind
from ostinato.codegen.planning.plan import Plan, plan
from ostinato.codegen.planning.rematerialise import Unavailable
from ostinato.codegen.planning.retimed import FARTHEST, retimed
from ostinato.codegen.planning.within_limit import Room, fitted
from ostinato.pdg.condition import ALWAYS, at_least, equal, every
from ostinato.pdg.index import Dim, Extent, expr
from tests.codegen.builder import Builder, choose, number
from tests.codegen.compare import assert_computes
from tests.codegen.on_cpu import options
from tests.codegen.test_lighter import WIDTHS, alone, there_and_back

SIZES = {"B": 5, "T": 11}


def returns(ahead: int, kind: Kind = "map", fold: str = "sum") -> Builder:
    """A recurrence, sums of it and of what it is some steps later, and a fold of the products."""
    p = Builder("b t", {"h": 3, "m": 2})
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    p.input("x", "b t", "h", SIZES)
    p.input("y", "b", "m", SIZES)
    p.add("f", "b t", "h", 0.0)
    p.add("f", "b t", "h", [(equal(t, 0), p("x")), (ALWAYS, p("f", t=t - 1) * 0.5 + p("x"))])
    p.add("n", "b t", "h", [(at_least(last, t + 1), p("f") + p("f", t=t + 1)), (ALWAYS, p("f"))])
    later = [(at_least(last, t + ahead), p("n", t=t + ahead) * p("n")), (ALWAYS, p("n"))]
    p.add("g", "b t", "h", later)
    p.add("e", "b t", "m", p("y") * number(t))
    if kind == "matmul":
        p.add("s", "b t", "h m", p("g") * p("e"), "matmul", "b t")
    else:
        p.add("s", "b t", "h", p("g") * p("f"), over="b t", fold=fold)
    p.add("r", "", "h m" if kind == "matmul" else "h", p("s") * 2.0)
    p.outputs = ["r"]
    return p


def late(p: Builder, steps: int) -> Plan:
    """The plan of the system with late readers, whose results are right at several lengths."""
    made = retimed(p.system(), p.d["t"])
    assert made.steps == steps
    planned = plan(made.system, options(WIDTHS))
    for count in (1, 2, steps, steps + 1, 11):
        sizes = {"B": 5, "T": count}
        p.arrays = {}
        p.input("x", "b t", "h", sizes)
        p.input("y", "b", "m", sizes)
        assert_computes(p.system(), sizes, p.arrays, planned)
    return planned


def kept_steps(planned: Plan) -> set[str]:
    """How many steps are stored of each value that is no argument and has more than one."""
    found = (s for n, s in planned.storage.items() if planned.statements[n].kind != "input")
    return {str(x.extent) for s in found for x in s.slots if x.dim.name == "t"} - {"1"}


@pytest.mark.parametrize("ahead", [1, 3, 7])
@pytest.mark.parametrize("kind", ["map", "matmul"])
def test_a_window_is_kept_of_what_is_read_ahead(kind: Kind, ahead: int) -> None:
    assert "T" in kept_steps(plan(returns(ahead, kind).system(), options(WIDTHS)))
    steps = {int(n) for n in kept_steps(late(returns(ahead, kind), ahead + 1))}
    assert max(steps) <= ahead + 2


@pytest.mark.parametrize("fold", ["max", "prod"])
def test_every_fold_is_taken_over_late_and_last_steps(fold: str) -> None:
    late(returns(2, fold=fold), 3)


def test_a_window_is_read_late_too() -> None:
    p = returns(1)
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    p.axes = {**p.axes, "k": 4}
    p.a["k"] = Dim("k")
    inside = at_least(last, t + p.a["k"])
    p.add("w", "b t", "h k", choose(inside, p("f", t=t + p.a["k"]), 0.0), over="k")
    p.add("s", "b t", "h", p("w") * p("f"), over="b t")
    assert max(int(n) for n in kept_steps(late(p, 3))) <= 4


def refused(p: Builder, exact: bool = False) -> str:
    with pytest.raises(Unavailable) as caught:
        retimed(p.system(), p.d["t"], exact)
    return str(caught.value)


def test_what_cannot_run_later_is_refused() -> None:
    whole = returns(1)
    whole.outputs = ["g"]  # a result: it is asked for at its own steps
    assert refused(whole) == "g"
    assert refused(there_and_back()) == "r"  # it looks ahead at what looks ahead, to the end
    assert refused(returns(FARTHEST + 1)) == "g"  # so far that its own loop is better
    none = returns(1)
    none.outputs = ["e"]
    assert refused(none) == "t"  # nothing looks ahead


def test_an_exact_sum_stays_whole_and_a_largest_value_does_not() -> None:
    assert refused(returns(1), exact=True) == "t"
    p = returns(1, fold="max")
    assert retimed(p.system(), p.d["t"], exact=True).steps == 2


def test_a_limit_makes_readers_late_where_nothing_can_be_computed_again() -> None:
    p = returns(7)
    sizes = {"B": 5, "T": 1000}
    free = Room(0, sizes, alone)
    usual = free.bytes_of(plan(p.system(), options(WIDTHS)))
    given = 5 * 1000 * 3 * 8
    limit = given + (usual - given) // 16
    made = fitted(p.system(), options(WIDTHS), Room(limit, sizes, alone))
    assert free.bytes_of(made) <= limit
    assert made.changes[0] == "what looks ahead runs 8 steps of `t` later, in the same loop"
    assert_computes(p.system(), SIZES, p.arrays, made)


def invented(seed: int) -> Builder:
    """Values made of others at steps before and after, and folds of them over all steps."""
    chance = random.Random(seed)
    p = Builder("b t", {"h": 3, "m": 2, "k": 3})
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    p.input("x", "b t", "h", SIZES)
    p.add("f", "b t", "h", 0.0)
    p.add("f", "b t", "h", [(equal(t, 0), p("x")), (ALWAYS, p("f", t=t - 1) * 0.5 + p("x"))])
    p.input("y", "b", "m", SIZES)
    p.add("e", "b t", "m", p("y") * number(t))
    made = ["x", "f"]
    for k in range(chance.randint(2, 6)):
        one, two = chance.choice(made), chance.choice(made[-2:])
        shift = expr(p.a["k"] if chance.random() < 0.3 else 0)
        shift += chance.choice([-2, -1, 0, 0, 1, 2, 4])
        inside = every(at_least(t + shift, 0), at_least(last, t + shift))
        value = choose(inside, p(one, t=t + shift), 1.0) * p(two) + number(t)
        over = "k" if p.a["k"] in shift.dims else ""
        made.append(p.add(f"v{k}", "b t", f"h {over}", value, over=over))
    for k, name in enumerate(made[2:]):
        if k % 2:
            p.add(f"s{k}", "b t", "h m", p(name) * p("e"), "matmul", "b t")
        else:
            fold = chance.choice(["sum", "max", "min"])
            p.add(
                f"s{k}", "b t", "h", p(name) * p("x"), over=chance.choice(["t", "b t"]), fold=fold
            )
    p.outputs = [name for name in p.statements if name.startswith("s")]
    return p


@pytest.mark.parametrize("seed", [0, 1, 16, 36, 40, 48, 54])
def test_late_readers_keep_the_meaning_of_invented_systems(seed: int) -> None:
    p = invented(seed)
    sizes = {"B": 5, "T": random.Random(seed).choice([1, 2, 5, 11])}
    p.arrays = {}
    p.input("x", "b t", "h", sizes)
    p.input("y", "b", "m", sizes)
    planned = plan(retimed(p.system(), p.d["t"]).system, options(WIDTHS))
    assert_computes(p.system(), sizes, p.arrays, planned, seed)
