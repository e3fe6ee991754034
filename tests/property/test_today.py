"""The halves of two days are all that tests invent."""

from tests.property.today import of_today, told


def test_two_days_judge_everything_once() -> None:
    first, second, both = (of_today(range(7), half) for half in ("0", "1", "both"))
    assert sorted((*first, *second)) == [*both] == [*range(7)]


def test_a_run_says_how_to_repeat_its_half() -> None:
    assert told("1").startswith("invented programs: OSTINATO_HALF=1 takes the same again")
