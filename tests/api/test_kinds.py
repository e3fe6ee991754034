"""What a parameter accepts, read from its annotation."""

from ostinato.language.kinds import REFUSED, kind_of


class Alias:
    """What a `type` statement of Python 3.12 makes."""

    __value__ = int | None


def test_an_alias_is_what_it_stands_for() -> None:
    kind = kind_of(Alias())
    assert kind.words == "an integer or None"
    assert kind.accept(3) == 3 and kind.accept("3") is REFUSED
