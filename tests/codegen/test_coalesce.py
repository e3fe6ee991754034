"""Copies of carried values: one place, where no value is lost."""

from collections.abc import Mapping
from typing import Any

from ostinato.codegen.ir.tree import Nest, leaves
from ostinato.codegen.memory.coalesce import reordered
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS, equal, every
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, V, call, number
from tests.codegen.compare import assert_right

SIZES = {"I": 3, "E": 2, "M": 4}


def learner() -> Builder:
    """A parameter over epochs and minibatches of iterations, with an update at the end of each."""
    p = Builder("i e m", {"h": 6, "k": 6})
    i, e, m = (expr(p.d[n]) for n in "iem")
    p.input("init", "", "h", {})
    p.add("new", "i e m", "h", 0.0)
    last = p("new", i=i - 1, e=expr(p.d["e"].extent) - 1, m=expr(p.d["m"].extent) - 1)
    p.add("start", "i", "h", [(equal(i, 0), p("init")), (ALWAYS, last)])
    before = p("new", e=e - 1, m=expr(p.d["m"].extent) - 1)
    p.add("epoch", "i e", "h", [(equal(e, 0), p("start")), (ALWAYS, before)])
    p.add("theta", "i e m", "h", [(equal(m, 0), p("epoch")), (ALWAYS, p("new", m=m - 1))])
    return p


def finished(p: Builder, update: V) -> Builder:
    p.add("new", "i e m", "h", update)
    p.add("loss", "i e m", "k", p("theta", "k") * 1.0, over="k")
    p.outputs = ["loss"]
    return p


def places(planned: Plan) -> Mapping[str, str]:
    """The tensors that lie in the place of another."""
    return {n: s.shares for n, s in planned.storage.items() if s.shares}


def moved(planned: Plan) -> set[str]:
    """The statements that some clause copies."""
    trees = tuple(t for kernel in planned.kernels for t in kernel.body)
    nests = (leaf for leaf, _, _ in leaves(trees) if isinstance(leaf, Nest))
    return {n for nest in nests for k, _ in enumerate(nest.conds) for n in nest.moving(k)}


def test_a_parameter_of_nested_loops_has_one_place_and_is_updated_there() -> None:
    p = learner()
    p.add("g", "i e m", "h k", p("theta", "k") * p("theta", "h"), over="k")
    planned = assert_right(finished(p, p("theta") * 0.9 + p("g") * 0.01), SIZES)
    assert places(planned) == {"start": "theta", "epoch": "theta", "new": "theta"}
    assert moved(planned) == {"start", "g", "loss", "new"}  # `start` takes the argument


def test_an_update_that_reads_other_elements_has_a_place_of_its_own() -> None:
    p = learner()
    shifted = call("where", call("lt", p("theta"), 0.0), p("theta", 0), p("theta", 5) * 0.5)
    planned = assert_right(finished(p, shifted), SIZES)
    assert "new" not in places(planned)


def test_what_an_iteration_began_with_is_kept_if_its_end_reads_it() -> None:
    p = learner()
    p = finished(p, p("theta") * 0.9 + 0.1)
    ends = p("new", e=expr(p.d["e"].extent) - 1, m=expr(p.d["m"].extent) - 1)
    p.add("change", "i", "h", ends - p("start"))
    p.outputs.append("change")
    planned = assert_right(p, SIZES)
    assert planned.storage["start"].owner != planned.storage["new"].owner


def test_a_history_that_the_user_gets_is_nobodys_place() -> None:
    p = learner()
    p = finished(p, p("theta") * 0.9 + 0.1)
    p.outputs.append("theta")
    planned = assert_right(p, SIZES)
    assert "theta" not in {*places(planned), *places(planned).values()}


def test_a_value_of_one_point_lies_where_all_points_have_room() -> None:
    """All settings share what each iteration begins with, so the loop over them is inside."""
    p = Builder("i s", {"h": 6})
    i = expr(p.d["i"])
    p.input("slope", "s", "h", {"S": 3})
    p.add("new", "i s", "h", 0.0)
    p.add("mean", "i s", "h", [(equal(i, 0), p("slope")), (ALWAYS, p("new", i=i - 1))])
    p.add("total", "i", "h", 0.0)
    p.add("shared", "i", "h", [(equal(i, 0), 1.0), (ALWAYS, p("total", i=i - 1))])
    p.add("new", "i s", "h", p("mean") * 0.9 + p("shared") * p("slope"))
    p.add("total", "i s", "h", p("new"), over="s")
    p.outputs = ["total"]
    planned = assert_right(p, {"I": 4, "S": 3})
    assert places(planned) == {"new": "mean"}
    for name in ("mean", "new"):
        assert {slot.dim.name: slot.kind for slot in planned.storage[name].slots}["s"] == "full"
    assert "mean" in moved(planned)  # takes the argument, at the first iteration only


def test_a_copy_from_another_point_of_what_is_kept_is_made() -> None:
    """What every iteration ends with is kept, and the next one begins with a copy: seed 17."""
    p = Builder("b i t", {"h": 6})
    i, t = expr(p.d["i"]), expr(p.d["t"])
    end = expr(p.d["t"].extent) - 1
    p.input("x", "b", "h", {"B": 5})
    p.add("new", "i t", "h", 0.0)
    first = (every(equal(i, 0), equal(t, 0)), 1.0)
    before = (equal(t, 0), p("new", i=i - 1, t=end))
    p.add("old", "i t", "h", [first, before, (ALWAYS, p("new", t=t - 1))])
    p.add("new", "i t", "h", p("old") * 0.9 + 0.1)
    p.add("ends", "i", "h", p("new", t=end))
    p.add("out", "b i", "h", p("ends") * p("x"))
    p.outputs = ["out"]
    assert_right(p, {"B": 5, "I": 3, "T": 4})


def tables() -> Builder:
    """A table of every row of a batch, of which each step changes an element."""
    p = Builder("b t", {"h": 40})
    t = expr(p.d["t"])
    p.input("x", "b t", "", {"B": 5, "T": 6})
    p.add("new", "b t", "h", 0.0)
    p.add("old", "b t", "h", [(equal(t, 0), 0.5), (ALWAYS, p("new", t=t - 1))])
    here = call("eq", number(expr(p.a["h"])), number(t * 3))
    p.add("new", "b t", "h", call("where", here, p("old") + p("x"), p("old")))
    p.add("seen", "b t", "", p("old", 7) * p("x"), over="t")
    p.outputs = ["seen"]
    return p


def test_every_worker_updates_tables_of_its_own_in_place() -> None:
    planned = assert_right(tables(), {"B": 5, "T": 6})
    assert places(planned) == {"new": "old"}
    assert {planned.storage[name].place for name in ("old", "new")} == {"local"}


def test_a_table_that_other_rows_read_is_not_a_workers_own() -> None:
    p = tables()
    first = p("new", b=0, t=expr(p.d["t"].extent) - 1)
    p.add("far", "b", "h", first * p("new", t=expr(p.d["t"].extent) - 1))
    p.outputs.append("far")
    planned = assert_right(p, {"B": 5, "T": 6})
    assert planned.storage["new"].place == "global"
    assert {slot.dim.name: slot.kind for slot in planned.storage["new"].slots}["b_o"] == "full"


def test_two_values_that_change_places_have_two() -> None:
    p = Builder("t", {"h": 6})
    t = expr(p.d["t"])
    for name in "xy":
        p.input(f"{name}0", "", "h", {})
        p.add(name, "t", "h", 0.0)
    p.add("x", "t", "h", [(equal(t, 0), p("x0")), (ALWAYS, p("y", t=t - 1))])
    p.add("y", "t", "h", [(equal(t, 0), p("y0")), (ALWAYS, p("x", t=t - 1))])
    p.add("out", "t", "h", p("x") - p("y") * 2.0, over="h")
    p.outputs = ["out"]
    planned = assert_right(p, {"T": 5})
    assert planned.storage["x"].owner != planned.storage["y"].owner


def test_an_argument_is_never_overwritten() -> None:
    p = learner()
    planned = assert_right(finished(p, p("theta") * 0.9 + 0.1), SIZES)
    assert planned.storage["init"].owner == "init" and "init" not in places(planned).values()


def test_updates_come_after_all_that_do_not_wait_for_them() -> None:
    related = {"w": {"y", "loss"}, "y": {"w"}, "loss": {"w"}}
    names = ("y", "w", "loss", "x")
    assert reordered(names, {"w"}, {}) == ("y", "loss", "x", "w")
    assert reordered(names, {"w"}, related) == ("y", "x", "w", "loss")
    assert reordered(names, {"w", "x"}, related) == ("y", "w", "loss", "x")
    assert reordered(names, {"y", "w"}, {}) == ("loss", "x", "y", "w")


class Asked(dict[str, set[str]]):
    """How often a dictionary was asked."""

    count = 0

    def get(self, key: str, default: object = None) -> Any:
        self.count += 1
        return super().get(key, default)


def test_many_statements_are_put_in_order_in_linear_work() -> None:
    names = [f"s{k}" for k in range(2000)]
    related = Asked({f"s{k}": {f"s{k - 1}", f"s{k + 1}"} for k in range(2000)})
    assert reordered(names, {"s0", "s7"}, related) == tuple(names) and related.count == 2000
