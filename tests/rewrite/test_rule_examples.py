"""The examples that `ostinato rules show` prints are the instances that are tested."""

import json
from pathlib import Path

import pytest

from ostinato.inspection import rule_set
from ostinato.pdg.text.printer import show
from ostinato.rewrite.registry import every_rule
from tests.rewrite.instances import where_fires, where_idle
from tests.rewrite.instances.instance import Instance, Sizes

PATH = Path(rule_set.__file__).with_name(rule_set.FILE)


def text_of(found: tuple[Instance, ...]) -> str:
    return show(found[0].build(Sizes()))


def test_the_examples_of_every_rule_are_its_instances(request: pytest.FixtureRequest) -> None:
    found = {
        rule.name: {
            "fires": text_of(where_fires(rule.name)),
            "does not fire": text_of(where_idle(rule.name)),
        }
        for rule in every_rule()
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-golden"):
        PATH.write_text(text, encoding="utf-8")
    assert text == PATH.read_text(encoding="utf-8"), "run pytest --update-golden"
