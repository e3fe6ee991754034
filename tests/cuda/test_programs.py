"""Programs compiled for CUDA, run by simulation, give the bits of the CPU."""

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.compiler.results import Results
from ostinato.pdg.errors import DomainError, ShapeError
from tests.cuda.programs import PROGRAMS
from tests.property.judge import EXTENTS
from tests.property.programs import Replay, arguments, covering, is_beyond_limits
from tests.property.today import of_today

pytestmark = pytest.mark.cuda_sim
Arrays = dict[str, npt.NDArray[np.generic]]
LONG = ("reinforce", "ragged", "ppo")  # simulated in one form only
# Of the programs that cover all constructs; 17 is simulated for ten seconds.
INVENTED = of_today([seed for seed in range(1, 41, 4) if seed != 17])


@cache
def made(name: str) -> tuple[ot.Program, dict[str, object], Arrays]:
    """A program, its arguments, and what the CPU makes of them."""
    program, given = PROGRAMS[name]()
    return program, given, dict(program.compile(threads=2, exact=True)(seed=3, **given).items())


def assert_same_bits(found: Results, expected: Arrays) -> None:
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_simulated_blocks_give_the_bits_of_the_cpu(
    name: str, simulate: Callable[..., None]
) -> None:
    program, given, expected = made(name)
    simulate()
    run = program.compile(target="cuda", threads=2, exact=True)
    assert_same_bits(run(seed=3, **given), expected)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LONG])
def test_a_launch_for_each_phase_gives_them_too(name: str, simulate: Callable[..., None]) -> None:
    program, given, expected = made(name)
    simulate(can_cooperate=False)
    run = program.compile(target="cuda", threads=2, exact=True)
    assert_same_bits(run(seed=3, **given), expected)


@pytest.mark.parametrize("can_cooperate", [True, False])
def test_all_bits_of_a_seed_count(simulate: Callable[..., None], can_cooperate: bool) -> None:
    """Without cooperation the host makes the key of it."""
    program, given = PROGRAMS["draws"]()
    seeds = 3, 3 + 2**32, 2**63 + 2**40
    every = [dict(program.compile(exact=True)(seed=seed, **given).items()) for seed in seeds]
    assert len({expected["u"].tobytes() for expected in every}) == len(seeds)
    simulate(can_cooperate)
    run = program.compile(target="cuda", threads=2, exact=True)
    for seed, expected in zip(seeds, every, strict=True):
        assert_same_bits(run(seed=seed, **given), expected)


@pytest.mark.parametrize("seed", INVENTED)
def test_invented_programs_give_the_bits_of_the_cpu(
    seed: int, simulate: Callable[..., None]
) -> None:
    recipe = covering(64)[seed]
    replay = Replay(recipe, recipe.dtypes[0])
    try:
        program = replay.program()
    except (DomainError, ShapeError) as refused:
        if not is_beyond_limits(recipe, refused):
            raise
        pytest.skip("the build does not decide so many conditions")
    every = arguments(replay, EXTENTS[seed % len(EXTENTS)], seed)
    given = {k: v for k, v in every.items() if k in (*program.inputs, *program.extents)}
    expected = dict(program.compile(threads=2, exact=True)(seed=seed, **given).items())
    simulate(seed % 2 == 0, 1 + seed % 5, seed)
    run = program.compile(target="cuda", threads=2, exact=True)
    assert_same_bits(run(seed=seed, **given), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_may_round_stays_near_its_meaning(
    name: str, simulate: Callable[..., None]
) -> None:
    """In tiles that a GPU prefers: of few rows, in many groups, with sums in slices."""
    program, given, expected = made(name)
    simulate()
    hints = {name: n for name, n in given.items() if isinstance(n, int)}
    found = program.compile(target="cuda", hints=hints)(seed=3, **given)
    for name, value in expected.items():
        near = np.isclose(found[name], value, 1e-4, 1e-5, equal_nan=True)
        assert near.all(), name


def test_no_number_of_blocks_or_threads_changes_a_bit(simulate: Callable[..., None]) -> None:
    program, given, expected = made("crowd")
    for threads in (1, 3, 33):
        simulate(threads=threads, order=threads)
        run = program.compile(target="cuda", threads=2, exact=True)
        run.executable.threads = threads
        assert_same_bits(run(seed=3, **given), expected)


@pytest.mark.parametrize("name", ["sums", "steered"])
def test_sums_that_threads_share_are_the_same_for_any_number(
    name: str, simulate: Callable[..., None]
) -> None:
    program, given, _ = made(name)
    simulate(threads=1)
    run = program.compile(target="cuda")
    assert "cuda.shared" in run.explain().source
    found = run(**given)
    for key, value in program.interpret(**given).items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-4, err_msg=key)
    for threads in (3, 33):
        simulate(False, threads, order=threads)
        again = program.compile(target="cuda", threads=threads)
        assert_same_bits(again(**given), dict(found.items()))


def test_a_stream_yields_the_records_of_the_run(simulate: Callable[..., None]) -> None:
    program, given, expected = made("network")
    simulate()
    run = program.compile(target="cuda", threads=2, exact=True)
    found = [record.loss for record in run.stream("i", seed=3, **given)]
    np.testing.assert_array_equal(found, expected["loss"])


def test_explain_says_how_the_driver_is_run(simulate: Callable[..., None]) -> None:
    program, _, _ = made("elementwise")
    simulate()
    notes = program.compile(target="cuda").explain().notes
    assert notes[-1] == "simulated: one launch, as there is one phase"
    program, _, _ = made("crowd")
    for can_cooperate, told in ((True, "one cooperative launch for"), (False, "a launch for each")):
        simulate(can_cooperate)
        assert told in program.compile(target="cuda").explain().notes[-1]
