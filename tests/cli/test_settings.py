"""``--set name=value``, by the annotations of a function."""

from collections.abc import Sequence

import pytest

import ostinato as ot
from ostinato.cli.settings import read_settings
from ostinato.language.kinds import Count, Positive, Probability
from ostinato.language.recurrent import Over
from ostinato.pdg.errors import OptionError


def train(
    episodes: int = 64,
    rate: float = 0.1,
    fast: bool = False,
    name: str = "a",
    limit: ot.Tensor | Positive | None = None,
    hidden: Sequence[Count] = (64,),
    share: ot.Tensor | Probability = 0.5,
    over: Over = (),
) -> None: ...


def needs(episodes: int) -> None: ...


def test_settings_take_the_types_of_the_annotations() -> None:
    settings = ["episodes=8", "rate=1e-3", "fast=yes", "name=a=b"]
    assert read_settings(train, settings) == {
        "episodes": 8,
        "rate": 1e-3,
        "fast": True,
        "name": "a=b",
    }


def test_none_is_said_by_its_name_where_it_is_taken() -> None:
    assert read_settings(train, ["limit=None", "name=None"]) == {"limit": None, "name": "None"}
    assert read_settings(train, ["limit=0.5"]) == {"limit": 0.5}


def test_an_unknown_setting_is_an_error_with_the_nearest_and_all_names() -> None:
    with pytest.raises(OptionError) as caught:
        read_settings(train, ["episode=8"])
    assert str(caught.value) == (
        "`episode` is no setting of `train`.\n"
        "  Did you mean `episodes`? Known: episodes, fast, hidden, limit, name, rate, share."
    )


WRONG = {
    "episodes=8.5": "an integer",
    "rate=high": "a number",
    "fast=maybe": "True or False",
    "hidden=a": "a list of integers from 1",
    "share=2": "a number from 0 to 1",
    "limit=0": "a number above 0 or None",
}


@pytest.mark.parametrize(("setting", "words"), WRONG.items(), ids=WRONG)
def test_a_value_that_is_not_accepted_is_an_error(setting: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_settings(train, [setting])
    name = setting.partition("=")[0]
    assert str(caught.value) == f"`{setting}` is not {words}.\n  Give {name} {words}."


def test_lists_have_commas_and_whole_numbers_are_floats_where_floats_are_meant() -> None:
    found = read_settings(train, ["hidden=64", "rate=1", "share=1"])
    assert found == {"hidden": (64,), "rate": 1.0, "share": 1.0}
    assert isinstance(found["rate"], float) and isinstance(found["share"], float)
    assert read_settings(train, ["hidden=8,16,8"]) == {"hidden": (8, 16, 8)}


def test_a_setting_without_a_value_is_an_error() -> None:
    with pytest.raises(OptionError, match="`--set episodes` has no value"):
        read_settings(train, ["episodes"])


def test_a_parameter_without_a_default_must_be_set() -> None:
    with pytest.raises(OptionError, match="`needs` needs a value for `episodes`"):
        read_settings(needs, [])


def test_a_setting_is_given_once() -> None:
    with pytest.raises(OptionError) as caught:
        read_settings(train, ["episodes=8", "rate=1", "episodes=9"])
    assert str(caught.value) == "`episodes` is set twice.\n  Write one --set episodes=VALUE."
