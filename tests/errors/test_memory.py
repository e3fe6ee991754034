"""Runs that no memory can hold are refused before anything is allocated."""

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.pdg.errors import MemoryLimitError
from tests.errors.refusal import refusal

s, t = ot.dims("s t")
HUGE = ot.Program(u=ot.random.uniform(over=(s, t)))
CONSTANT = ot.Program(total=ot.zeros((10**8, 10**7)).sum())
RUNS: dict[str, tuple[Callable[[], object], str]] = {
    "interpreted": (
        lambda: HUGE.interpret(S=10**9, T=10**9),
        "the run at S=1000000000, T=1000000000 takes 100,000,000,000,000,000,000 bytes, ",
    ),
    "compiled": (
        lambda: HUGE.compile()(S=10**9, T=10**9),
        "the run at S=1000000000, T=1000000000 takes 4,000,000,000,000,000,",
    ),
    "interpreted on the way to its output": (
        lambda: CONSTANT.interpret(),
        "the run takes 8,000,000,000,000,000 bytes, ",
    ),
}


@pytest.mark.parametrize(("run", "fact"), RUNS.values(), ids=RUNS)
def test_a_run_beyond_all_memory_names_its_line_and_bytes(
    run: Callable[[], object], fact: str
) -> None:
    text = refusal(MemoryLimitError, run)
    assert text.startswith(f"test_memory.py:{run.__code__.co_firstlineno}: {fact}")
    assert text.endswith("\n  Run it with smaller sizes.")
