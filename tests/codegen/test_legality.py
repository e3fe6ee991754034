"""The proof of a schedule rejects every wrong one."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ostinato.codegen.ir.tree import Loop, Tree
from ostinato.codegen.planning.scheduler import Scheduled
from ostinato.codegen.scheduling.legality import check_schedule
from tests.codegen.on_cpu import schedule, tile
from tests.codegen.programs import reinforce, toy

SIZES = {"B": 7, "I": 3, "T": 5}


def scheduled(name: str) -> Scheduled:
    system = (toy() if name == "toy" else reinforce(SIZES)).system()
    return schedule(tile(system, {}, 2), frozenset(system.outputs.values()))


Trees = tuple[Tree, ...]


def inside(trees: Trees, change: Callable[[Trees], Trees]) -> Trees:
    """The trees with the body of the outermost loop changed."""
    first = trees[0]
    assert isinstance(first, Loop)
    return (replace(first, body=change(first.body)), *trees[1:])


def rejected(found: Scheduled, trees: tuple[Tree, ...]) -> bool:
    try:
        check_schedule(trees, found.units, found.deps)
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("name", ["toy", "reinforce"])
def test_a_reversed_body_is_rejected(name: str) -> None:
    found = scheduled(name)
    assert not rejected(found, found.trees)
    assert rejected(found, inside(found.trees, backwards))


def backwards(body: Trees) -> Trees:
    return body[::-1]


def test_every_swap_of_dependent_neighbours_is_rejected() -> None:
    found = scheduled("toy")
    first = found.trees[0]
    assert isinstance(first, Loop)
    for k in range(len(first.body) - 1):
        b = list(first.body)
        b[k], b[k + 1] = b[k + 1], b[k]
        assert rejected(found, (replace(first, body=tuple(b)),)), k


@pytest.mark.parametrize("change", [{"reverse": True}, {"parallel": True}])
def test_a_carried_loop_is_neither_reversed_nor_parallel(change: dict[str, bool]) -> None:
    found = scheduled("reinforce")
    first = found.trees[0]
    assert isinstance(first, Loop)
    assert rejected(found, (replace(first, **change), *found.trees[1:]))  # type: ignore[arg-type]


def test_a_fold_is_not_parallel_in_what_it_reduces() -> None:
    found = scheduled("toy")

    def parallel(body: tuple[Tree, ...]) -> tuple[Tree, ...]:
        return tuple(replace(t, parallel=True) if isinstance(t, Loop) else t for t in body)

    with pytest.raises(AssertionError, match="parallel loop t"):
        check_schedule(inside(found.trees, parallel), found.units, found.deps)
