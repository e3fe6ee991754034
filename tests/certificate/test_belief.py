"""What a verification believes: nothing on this machine but the package and the certificate."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache as cached
from pathlib import Path
from typing import Any

import pytest

import ostinato as ot
from ostinato.certificate import rule_proofs
from ostinato.certificate.rule_proofs import Unproved, check_rules, check_texts
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.terms import Variable, add, variables
from ostinato.runtime.cache import programs
from ostinato.runtime.disk import folder
from ostinato.runtime.machine_code import objects
from ostinato.runtime.run import spinning_pool
from tests.certificate.programs import altered, certificate, place_of, refusal

X, Y = variables("x y")
FALSE = Rule("mine/false", "x + y = x", "Nothing.", add(X, Y), X)


opened: list[str] = []


def _noted(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str):
        opened.append(arguments[0])


sys.addaudithook(_noted)


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_file_that_says_that_a_false_rule_is_proved_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path))
    opened.clear()
    with pytest.raises(Unproved, match="the rule `mine/false` is failed: differs at"):
        check_rules((FALSE,), every_rule())
    assert not [path for path in opened if path.startswith(str(tmp_path))]


def test_a_rule_is_proved_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = every_rule()["view/transpose-twice"]
    check_rules((rule,), every_rule())
    monkeypatch.setattr(rule_proofs, "prove", None)
    assert check_rules((rule,), every_rule()) == "1 proved"


def test_a_rule_of_the_table_by_another_name_is_refused() -> None:
    rule = every_rule()["view/transpose-twice"]
    renamed = Rule(**{f: getattr(rule, f) for f in rule.__slots__ if f != "name"}, name="mine/one")
    with pytest.raises(Unproved, match="`mine/one` is `view/transpose-twice` by another name"):
        check_rules((renamed,), every_rule())


def test_a_verification_leaves_the_cache_alone_and_uses_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "cache"))
    x = ot.input("x", over=ot.dims("t"))
    ot.Program(y=2.0 * x).compile(certificate=tmp_path / "c.json")
    before = files(tmp_path)
    loaded: list[str] = []
    monkeypatch.setattr(programs, "load", loaded.append)
    original = objects.load

    def from_elsewhere(key: str) -> bytes | None:
        assert not objects.path_of(key).is_relative_to(tmp_path)
        return original(key)

    monkeypatch.setattr(objects, "load", from_elsewhere)
    verdict = ot.verify_certificate(tmp_path / "c.json")
    assert verdict.holds and "machine code equal" in verdict.findings[-1].about
    assert files(tmp_path) == before and not loaded


def test_a_run_takes_nothing_from_a_cache_that_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What wakes workers is machine code too; the first run of a process loads it."""
    monkeypatch.setattr(spinning_pool, "made_for", cached(spinning_pool.made_for.__wrapped__))
    asked: list[Path] = []
    original = objects.load

    def load(key: str) -> bytes | None:
        asked.append(objects.path_of(key))
        return original(key)

    monkeypatch.setattr(objects, "load", load)
    spinning_pool.lead_of()
    with folder.elsewhere(tmp_path):
        spinning_pool.lead_of()
        spinning_pool.lead_of()
    assert [path.is_relative_to(tmp_path) for path in asked] == [False, True]


def test_the_text_of_a_rule_runs_nothing_while_it_is_refused(tmp_path: Path) -> None:
    """What is no term is not read; with another name all checks run, also that of equality."""
    mine = tmp_path / "written"
    command = f'x) (output "{mine}" (leaf 0)'
    for key in ("left", "right", "when", "also", "name"):
        value: object = [command] if key in ("when", "also") else command

        def edit(data: dict[str, Any], key: str = key, value: object = value) -> None:
            data["rules"][0][key] = value

        data = altered(edit)
        if key == "name":
            assert {"equality", "rules"} <= {*everything(data)}
        else:
            assert "is not one expression" in refusal(data)
        assert not mine.exists()


def test_a_variable_that_holds_a_command_is_refused_before_it_runs(tmp_path: Path) -> None:
    mine = tmp_path / "written"
    rule = replace(every_rule()["view/transpose-twice"], right=Variable(f'x) (output "{mine}" x'))
    with pytest.raises(Unproved, match="of the rule `view/transpose-twice` is not one expression"):
        check_texts((rule,))
    assert not mine.exists()


def everything(data: dict[str, Any]) -> list[str]:
    """The names of all checks that fail."""
    from ostinato.certificate.document import from_data
    from ostinato.certificate.verify import check_certificate

    return [f.check for f in check_certificate(from_data(data)).findings if not f.holds]


@pytest.mark.parametrize("text", ["tanh\t1\n9\tsin", "tanh\n", 'ta"nh', "tanh ", "", "a) (b"])
def test_the_name_of_a_function_is_no_row_of_the_e_graph(text: str) -> None:
    """A line break began a row of its own, which could make any two terms equal."""
    k = place_of(certificate(), "map1")

    def edit(data: dict[str, Any]) -> None:
        data["terms"][k]["with"] = [text]

    assert "has the function" in refusal(altered(edit))


@pytest.mark.parametrize(
    "way", [("terms",), ("source", "nodes"), ("extracted", "program", "nodes")], ids=".".join
)
def test_nodes_that_nothing_refers_to_are_refused(way: tuple[str, ...]) -> None:
    def edit(data: dict[str, Any]) -> None:
        nodes: Any = data
        for part in way:
            nodes = nodes[part]
        nodes.append(nodes[-1])

    assert refusal(altered(edit)) != ""
