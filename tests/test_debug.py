import pytest

from ostinato.debug import Debug, parse
from ostinato.pdg.errors import OptionError


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
