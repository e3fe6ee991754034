"""Settings of the whole test run: hypothesis is reproducible unless asked to explore."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from proofs.verdicts import decided, share

from ostinato.compiler.options import WITHOUT
from ostinato.runtime.machine_code.source_module import Kept, Loaded, load_module
from tests.extensions import forgotten
from tests.property.poison import PoisonedPool, poisoned
from tests.property.today import told

# `ci` draws the same programs at every run; HYPOTHESIS_PROFILE=dev looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# All tests together are a million objects that stay: looking through them for garbage as often as
# Python does by default takes a seventh of the time.
gc.set_threshold(50_000, 20, 50)

os.environ["OSTINATO_PROFILE"] = "default"  # the same choices on every machine


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> None:
    """Tests press Ctrl-C; a shell that runs them in the background would have it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def poisoned_arenas() -> Iterator[None]:
    """Fill every new arena with NaN and -1, so that no result depends on unwritten memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ostinato.runtime.run.frame.RESULTS", PoisonedPool())
        patch.setattr("ostinato.runtime.run.executor.empty_arena", poisoned)
        yield


@pytest.fixture(autouse=True)
def additions_are_forgotten() -> Iterator[None]:
    """Forget the operators, folds and passes that a test or an example adds."""
    with forgotten():
        yield


@pytest.fixture(autouse=True, scope="session")
def all_threads_run() -> Iterator[None]:
    """Let all threads run though one would be faster, as for small programs: see test_crowd.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ostinato.runtime.run.executor.Crowd", _everybody)
        yield


def _everybody(*_: object) -> None:
    """No choice: all threads run."""


@pytest.fixture(autouse=True, scope="session")
def one_process_compiles() -> Iterator[None]:
    """Compile in this process where tests run side by side: another one has no core to itself.

    What several processes compile is tested in tests/runtime/test_module.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            patch.setattr("ostinato.runtime.run.executor.load_module", _load_alone)
            patch.setattr("ostinato.compiler.compiled.LARGE", sys.maxsize)
        yield


@pytest.fixture(autouse=True, scope="session")
def verdicts_are_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Decide each rule of the table once for all certificates, as `proofs` does."""
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            share(tmp_path_factory.getbasetemp().parent / "verdicts")
        patch.setattr("ostinato.certificate.rule_proofs.prove", decided)
        yield


# Tests of these folders and files are about machine code as users get it, or run for long. Others
# take code that is not optimised, which takes a tenth of the time to make: with
# ``OSTINATO_WITHOUT= make test`` all programs are optimised.
OPTIMISED = {
    "codegen", "pipeline", "property", "regression", "runtime", "test_algorithms.py",
    "test_architecture_page.py", "test_composed_accuracy.py", "test_evaluation_page.py",
    "test_lander.py", "test_readme.py", "test_two_players.py",
}  # fmt: skip
# Of those folders, tests of what is rewritten, planned and chosen before there is machine code.
PLANNED = {
    "test_ablation.py", "test_begin.py", "test_carries.py", "test_checks.py", "test_choosing.py",
    "test_computed_reads.py", "test_ends.py", "test_fitting.py", "test_joined_nests.py",
    "test_outside.py", "test_pairs.py", "test_prompt.py", "test_seeds.py", "test_spread.py",
    "test_variants.py", "test_whole_axes.py",
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def machine_code_is_made_fast(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave out the optimisation of machine code where it is not what tests are about."""
    with pytest.MonkeyPatch.context() as patch:
        is_planned = request.path.parent.name == "pipeline" and request.path.name in PLANNED
        if WITHOUT not in os.environ and (is_planned or OPTIMISED.isdisjoint(request.path.parts)):
            patch.setenv(WITHOUT, "LLVM passes")
        yield


def _load_alone(program: Kept, *_: object) -> Loaded:
    return load_module(program)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(told())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name in tests/golden, or rewrite the file."""
    folder = Path(__file__).parent / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path} is missing: run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare
