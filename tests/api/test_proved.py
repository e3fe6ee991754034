"""A large program is proved to be defined once, not in every process."""

from pathlib import Path

import pytest

import ostinato as ot
from ostinato.compiler.defined_before import LARGE
from ostinato.pdg.errors import ArgumentError, DomainError
from ostinato.runtime.cache.eviction import CHECKS
from ostinato.runtime.disk import sealed


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    return tmp_path


def chain(length: int, ahead: int = 0, factor: float = 1.5) -> ot.Program:
    """A program of about ``length`` nodes that reads ``ahead`` of its last step."""
    t = ot.dims("t")
    y = x = ot.input("x", over=t)
    for _ in range(length // 2):
        y = y * factor + x
    return ot.Program(y=y if not ahead else y[t + ahead])


def kept(cache: Path) -> list[Path]:
    return [path for path in (cache / CHECKS).rglob("*") if path.is_file()]


def test_a_large_program_is_proved_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain(2 * LARGE)
    assert len(kept(own_cache)) == 1
    monkeypatch.setattr("ostinato.pdg.demand.check.check", None)  # a call would fail
    assert chain(2 * LARGE).interpret(x=[0.0])["y"].tolist() == [0.0]


def test_the_least_extents_are_kept_with_it(own_cache: Path) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    for _ in range(2):
        y = x
        for _ in range(LARGE):
            y = y + 1.0
        program = ot.Program(y=y[t.size - 2])
        with pytest.raises(ArgumentError, match="T"):
            program.interpret(x=[1.0])
    assert '"T": 2' in kept(own_cache)[0].read_text()


def test_that_it_reads_outside_is_kept_with_it(own_cache: Path) -> None:
    t = ot.dims("t")
    y = ot.input("x", over=t)[: t + 1].sum(0)
    for _ in range(LARGE):
        y = y + 1.0
    made = [ot.Program(y=y[t - 1]).pdg for _ in range(2)]
    assert [pdg.reads_outside for pdg in made] == [True, True] and len(kept(own_cache)) == 1


def test_what_is_wrong_is_wrong_every_time(own_cache: Path) -> None:
    for _ in range(2):
        with pytest.raises(DomainError):
            chain(2 * LARGE, ahead=1)
    assert not kept(own_cache)


def test_another_program_is_proved_anew(own_cache: Path) -> None:
    chain(2 * LARGE)
    chain(2 * LARGE, factor=2.5)
    assert len(kept(own_cache)) == 2


def test_small_programs_leave_nothing(own_cache: Path) -> None:
    chain(10)
    assert not kept(own_cache)


@pytest.mark.parametrize("damage", ["[1]", '{"T": null}', "{"])
def test_a_damaged_proof_is_made_again_and_kept(own_cache: Path, damage: str) -> None:
    chain(2 * LARGE)
    (place,) = kept(own_cache)
    sealed.write(place, place.name, damage.encode())
    with pytest.warns(UserWarning, match="a proof that was kept is made again"):
        chain(2 * LARGE)
    assert sealed.read(place, place.name) == b'{"least": {}, "outside": false}'
