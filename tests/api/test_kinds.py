"""What a parameter accepts, read from its annotation."""

from types import SimpleNamespace

from ostinato.language.kinds import REFUSED, kind_of


def test_an_alias_is_what_it_stands_for() -> None:
    alias = SimpleNamespace(__value__=int | None)  # as `type` statements of Python 3.12 make them
    kind = kind_of(alias)
    assert kind.words == "an integer or None"
    assert kind.accept(3) == 3 and kind.accept("3") is REFUSED
