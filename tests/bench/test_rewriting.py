import json
from pathlib import Path

import pytest

from bench.rewriting.__main__ import chosen_cases, main, markdown
from bench.rewriting.corpus import CORPUS
from bench.rewriting.forms import CHOSEN, candidates
from bench.rewriting.judging import correlation, summary, verdicts
from bench.rewriting.timing import Sampling, Timed
from ostinato.rewrite.optimize import RewriteOptions

TIMED = [
    Timed("a", CHOSEN, 10.0, 1.0, 20.0),
    Timed("a", "other", 30.0, 2.0, 30.0),
    Timed("b", CHOSEN, 60.0, 4.0, 50.0),
    Timed("b", "other", 90.0, 3.0, 40.0),
]


def test_a_verdict_compares_the_chosen_form_with_the_fastest() -> None:
    a, b = verdicts(TIMED)
    assert (a.over_best, b.over_best, b.best.form) == (1.0, 1.25, "other")
    assert (a.rank, b.rank) == (1.0, -1.0)


def test_the_summary_is_over_all_forms() -> None:
    found = summary(TIMED)
    assert (found.forms, found.good, found.rank) == (4, 0.5, 0.8)
    assert found.error == pytest.approx((0.2 + 0.5) / 2)


@pytest.mark.parametrize(("right", "expected"), [([1, 1, 1], 1.0), ([5, 7, 7], 0.866025403784)])
def test_ties_share_their_ranks(right: list[float], expected: float) -> None:
    assert correlation([1, 2, 3], right) == pytest.approx(expected)


class Counted:
    """A run that counts its calls, and how often its memory was given back."""

    def __init__(self) -> None:
        self.calls = self.forgotten = 0

    def __call__(self) -> None:
        self.calls += 1

    def forget(self) -> None:
        self.forgotten += 1


def test_short_runs_are_repeated_within_a_sample_that_has_new_memory() -> None:
    run, times = Counted(), iter(range(1000))
    sampling = Sampling(3, lambda: next(times) * 2e-3)  # every run takes 2 ms
    assert sampling.medians([run]) == pytest.approx([1e6])
    assert run.calls == 2 + 3 * (1 + 2) and run.forgotten == 3


def test_the_table_has_a_line_per_program() -> None:
    lines = markdown(verdicts(TIMED), summary(TIMED)).splitlines()
    assert lines[3] == "| b | 2 | 0.00 | 0.00 | 1.25 | other | -1.00 | 72% |"
    assert lines[-1].startswith("4 forms: rank correlation 0.800 over all")


def test_candidates_have_names_of_their_own() -> None:
    names = [c.name for c in candidates(RewriteOptions(), ["b", "t"])]
    assert names[0] == CHOSEN and len(names) == len(set(names)) > 20


def test_the_corpus_has_names_of_its_own_and_is_chosen_by_words() -> None:
    assert len({case.name for case in CORPUS}) == len(CORPUS) >= 20
    assert [case.name for case in chosen_cases(["lstm"], quick=False)] == ["lstm over time"]


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_every_program_takes_its_arguments(case: object) -> None:
    found = next(c for c in CORPUS if c is case)
    program = found.build()
    program.signature.bind(found.arguments(program))


def test_a_quick_run_writes_every_figure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    path = tmp_path / "found.json"
    main(["--quick", "--alternatives", "2", "--samples", "1", "--json", str(path)])
    found = json.loads(path.read_text())
    assert len(found["programs"]) == 2 and found["profile"] == "default"
    assert found["summary"]["forms"] == len(found["forms"]) > 2
    assert all(form["measured_ns"] > 0 and form["predicted_ns"] > 0 for form in found["forms"])
