from pathlib import Path

import pytest

import ostinato as ot
from ostinato.pdg.errors import OptionError
from ostinato.pdg.invariants import Debug, parse


def test_each_word_turns_on_its_switch() -> None:
    assert parse("rules,source, verify") == Debug(rules=True, source=True, verify=True)


def test_nothing_is_on_by_default() -> None:
    assert parse("") == Debug(rules=False, source=False, verify=False)


def test_an_unknown_word_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(OptionError) as caught:
        parse("rules,sauce")
    assert str(caught.value) == (
        "OSTINATO_DEBUG holds the unknown word `sauce`.\n  Known words: rules, source, verify."
    )


def test_the_switches_print_while_a_program_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("ostinato.compiler.pipeline.debug", lambda: Debug(rules=True, source=True))
    t = ot.dims("t")
    ot.Program(y=ot.input("x", over=t)[: t + 1].sum(0)).compile()
    printed = capsys.readouterr().err
    assert "incremental/running" in printed and "def main(tid, nt" in printed
