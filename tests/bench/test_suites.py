import importlib.util

import pytest

from bench.harness.command import choice, known, load
from bench.harness.peers import REQUIREMENTS
from bench.harness.suite import Case, Suite, Target

SUITES = known()


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_bears_the_name_of_its_module(name: str) -> None:
    suite = load(name)
    assert suite.name == name and suite.title and suite.text and suite.cases


@pytest.mark.parametrize("name", SUITES)
def test_every_program_of_a_suite_can_be_found(name: str) -> None:
    for entry in (entry for case in load(name).cases for entry in case.entries):
        module, _, function = entry.factory.partition(":")
        spec = importlib.util.find_spec(module)
        assert spec is not None and spec.origin is not None, module
        with open(spec.origin) as source:
            assert f"\ndef {function}(" in source.read(), entry.factory
        assert not entry.peer or (REQUIREMENTS / f"requirements-{entry.peer}.txt").is_file()


@pytest.mark.parametrize("name", SUITES)
def test_every_target_judges_something(name: str) -> None:
    suite = load(name)
    for target in suite.targets:
        systems = {e.system for c in suite.cases for e in c.entries if judged(suite, c, target)}
        assert not target.system or target.system in systems, target


def judged(suite: Suite, case: Case, target: Target) -> bool:
    shared = {n: v for n, v in case.size.items() if n not in suite.within}
    return target.judges(case.program, shared, target.unit)


def test_sizes_choose_cases() -> None:
    suite = load("ppo")
    wanted = choice(suite, ["envs=4,64"])
    assert [c.size["envs"] for c in suite.cases if c.has(wanted)] == [4, 64]


def test_an_unknown_size_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no case of ppo has envs=5; there are: envs=4,"):
        choice(load("ppo"), ["envs=5"])
