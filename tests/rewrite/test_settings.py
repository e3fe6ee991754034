"""What proofs keep of the readings of a rule: nothing that others see, and nothing for long."""

from __future__ import annotations

import gc

from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.prove.setting import Fixed, Setting, Size, one
from ostinato.rewrite.registry import every_rule
from tests.garbage import only_new


def test_a_copy_learns_by_itself_and_keeps_which_sizes_are_one() -> None:
    n, m = Size("n"), Size("m")
    both = Size("both", fixed=Fixed("times", "", (n, m)))
    setting = Setting({"d": "d"}, shapes={"x": [n, both]}, lists={"h": [n]}, sizes={"m": m})
    setting.avoids["x"] = {"d"}
    setting.reshapes.append(((n,), (m,)))
    copied = setting.copied()
    assert copied.shapes["x"][0] is copied.lists["h"][0] is not n
    fixed = copied.shapes["x"][1].fixed
    assert fixed is not None and fixed.factors == (copied.lists["h"][0], copied.sizes["m"])
    assert copied.reshapes == [((copied.lists["h"][0],), (copied.sizes["m"],))]
    copied.unify(copied.lists["h"][0], one())
    copied.avoids["x"].add("e")
    copied.sizes["m"].avoids.add("d")
    copied.numbers["k"] = 1
    assert copied.shapes["x"][0].is_one and not n.is_one
    assert (setting.avoids, m.avoids, setting.numbers) == ({"x": {"d"}}, set(), {})


def test_a_copy_knows_which_sizes_were_found_to_be_equal() -> None:
    setting = Setting({}, sizes={"n": Size("n"), "m": Size("m")})
    setting.unify(setting.sizes["n"], setting.sizes["m"])
    copied = setting.copied().sizes
    assert copied["n"].is_same(copied["m"]) and not copied["n"].is_same(setting.sizes["n"])


def test_a_proof_leaves_no_circles_to_the_garbage_collector() -> None:
    rule = every_rule()["view/transpose-twice"]
    with only_new():
        assert prove(rule).outcome == "proved"
        assert gc.collect() < 100
