"""Rules about any fold hold for every fold that a program can add."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.functions import ANY, FOLDS, FUNCTIONS, POSITIONS, REPEATED
from ostinato.pdg.node import Dtype
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove import reading
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.prove.reading import functions_of, law
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations import meanings
from ostinato.rewrite.relations.meanings import EXACT, ROUNDED
from ostinato.rewrite.relations.sexpr import Tree
from tests.extensions import forgotten

ADDED: dict[str, tuple[int | bool, Dtype]] = {
    "bitxor": (0, "int32"),
    "bitor": (0, "int32"),
    "bitand": (-1, "int32"),
    "ne": (False, "bool"),
    "eq": (True, "bool"),
}


DIFFERENT = ("bitxor", "bitand", "eq")  # repetition matters to the first and the last


@pytest.fixture(scope="module")
def added() -> Iterator[list[str]]:
    """A fold that repeats each function of which a program can add one."""
    with forgotten():
        for repeats in DIFFERENT:
            unit, dtype = ADDED[repeats]
            ot.extend.fold(f"{repeats}_fold", repeats, unit, [dtype])
        yield [f"{repeats}_fold" for repeats in DIFFERENT]


def test_no_other_function_makes_a_fold_that_is_new() -> None:
    accepted: set[str] = set()
    for function in [f for f in FUNCTIONS.values() if isinstance(f.numpy, np.ufunc)]:
        for dtype, unit in product(set(ANY) & {*function.accepts}, (0, 1, -1, False, True)):
            with suppress(ot.OstinatoError), forgotten():
                ot.extend.fold("tried", function.name, unit, [dtype])
                accepted.add(function.name)
    assert accepted - {*REPEATED.values()} == ADDED.keys()


def _head(fact: Tree) -> str:
    return str(fact[0]) if isinstance(fact, tuple) else ""


GROUPED = {"exactly", "rounded", "places"}  # proved for the folds of the language one by one
ABOUT_ANY = [r for r in every_rule() if law(r).folds and not GROUPED & {*map(_head, law(r).facts)}]


@pytest.mark.parametrize("rule", ABOUT_ANY, ids=lambda r: r.name)
def test_a_rule_about_any_fold_is_proved_for_new_ones(
    rule: Rule, added: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (fold,) = law(rule).folds
    assert {*functions_of(law(rule), fold)} >= {*added}
    monkeypatch.setattr(reading, "FOLDS", {name: FOLDS[name] for name in added})
    monkeypatch.setattr(meanings, "REPEATED", {name: REPEATED[name] for name in added})
    assert functions_of(law(rule), fold) == added  # it is proved for the others in `proofs`
    assert prove(replace(rule, bits=())).outcome in ("proved", "bounded")


def test_other_rules_do_not_fire_for_new_folds() -> None:
    others = [r for r in every_rule() if law(r).folds and r not in ABOUT_ANY]
    assert others
    for rule in others:
        for fold in law(rule).folds:
            of_the_language = {*EXACT, *ROUNDED, *POSITIONS, fold}
            assert {*functions_of(law(rule), fold)} <= of_the_language
