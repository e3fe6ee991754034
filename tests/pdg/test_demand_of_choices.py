"""The demand of very many conditions on the point: bounded work, and no wrong acceptance."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.demand.check import check
from ostinato.pdg.demand.demand import Demand
from ostinato.pdg.errors import CoverageError, DomainError
from ostinato.pdg.isl import Set

B, T = ot.dims("b t")
X = ot.input("x", over=T)


def program(link: Callable[[Tensor, int], Tensor], length: int, first: Tensor = X) -> ot.Program:
    y = first
    for k in range(length):
        y = link(y, k)
    return ot.Program(y=y)


def halved(y: Tensor, k: int) -> Tensor:
    return ot.where(T % (k + 2) == 1, y * 0.5, y)


def moved(y: Tensor, k: int) -> Tensor:
    return ot.where(T % (k + 2) == 1, y[ot.maximum(T - 1, 0)], y * 0.9)


def masked(y: Tensor, k: int) -> Tensor:
    return ot.where(T % (k + 2) == 1, y, 0.0)


@contextmanager
def counted(patch: pytest.MonkeyPatch) -> Generator[list[Set]]:
    """The sets that are made by cutting and uniting."""
    made: list[Set] = []

    def noted(by: Callable[[Set, Set], Set]) -> Callable[[Set, Set], Set]:
        def operator(one: Set, other: Set) -> Set:
            made.append(found := by(one, other))
            return found

        return operator

    with patch.context() as inside:
        for name in ("__and__", "__or__", "__sub__"):
            inside.setattr(Set, name, noted(getattr(Set, name)))
        yield made


def test_what_both_sides_of_150_choices_ask_is_the_whole() -> None:
    demand = check(program(halved, 150).pdg)
    (x,) = [node for node in demand.pdg.nodes() if node == X.node]
    assert not demand.is_rough
    assert demand.of(x).size == 1


@pytest.mark.parametrize("link", [halved, moved, masked])
def test_work_grows_with_the_number_of_choices_only(
    link: Callable[[Tensor, int], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = list[int]()
    for length in (20, 40, 80):
        pdg = program(link, length).pdg
        with counted(monkeypatch) as made:
            Demand(pdg, pdg.minimum_extents)
        work.append(len(made))
        assert max(s.size for s in made) < 20_000
    assert work[2] - work[1] <= 2.5 * (work[1] - work[0])


def test_a_long_chain_of_moves_under_choices_is_right() -> None:
    chain = program(moved, 30)
    x = np.arange(11.0, dtype="float32")
    assert check(chain.pdg).is_rough
    found = chain.compile(exact=True)(x=x)["y"]
    assert found.tolist() == chain.interpret(x=x)["y"].tolist()


def test_a_read_outside_behind_many_choices_is_refused() -> None:
    with pytest.raises(DomainError, match="too many conditions on the point to tell whether"):
        program(moved, 60, X[T - 1])
    program(moved, 60, ot.where(T > 0, X[T - 1], 0.0))
    with pytest.raises(DomainError, match="`x` is read at t = -1"):
        program(halved, 60, X[T - 1])


def test_a_recurrence_of_many_conditions_needs_a_last_case() -> None:
    for last in (True, False):
        h = ot.recurrent("h", over=T)
        h[T == 0] = X
        for k in range(60):
            h[T % (k + 2) == 1] = h[T - 1] * 0.5 + X
        if last:
            h[True] = h[T - 1] + X
            ot.Program(h=h)
        else:
            with pytest.raises(CoverageError) as refused:
                ot.Program(h=h)
            assert refused.value.remedy == "Add `h[True] = ...` as the last case."
            is_sure = "too many conditions" not in refused.value.fact
            assert ("first uncovered point" in refused.value.fact) == is_sure


def test_a_recurrence_of_100_single_steps_is_told_exactly() -> None:
    h = ot.recurrent("h", over=T)
    h[0] = X[0]
    for k in range(100):
        h[T == 3 * k + 2] = 0.5 * h[T - 1] + X * float(k)
    h[True] = h[T - 1] * 0.9
    assert not check(ot.Program(h=h).pdg).is_rough
