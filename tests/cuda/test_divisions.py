"""Divisions of places mean the same, written another way."""

from hypothesis import given
from hypothesis import strategies as st

from ostinato.codegen.cuda.rewriting import exchanged, without_long
from ostinato.codegen.loops.expression import Expression, Name, binary, call

x, n, at = map(Name, ("x", "n", "at"))
CHANGE = without_long({"n"})


def u64(word: int) -> int:
    return word % 2**64


def i64(word: int) -> int:
    return u64(word + 2**63) - 2**63


def value(of: Expression, **names: int) -> int:
    known = {"u64": u64, "i64": i64, "min": min, "max": max}
    found: int = eval(str(of), known, names)
    return found


@given(st.integers(-(2**40), 2**40), st.integers(1, 2**20), st.sampled_from(["//", "%"]))
def test_a_quotient_or_remainder_stays_what_it_is(k: int, by: int, op: str) -> None:
    for of in (binary(op, x, by), binary(op, binary("+", x, 7), 1 << by.bit_length())):
        assert value(exchanged(of, CHANGE), x=k) == value(of, x=k)


@given(st.integers(0, 2**40), st.integers(1, 2**20), st.sampled_from(["//", "%"]))
def test_one_of_natural_numbers_has_no_signs(k: int, by: int, op: str) -> None:
    of = binary(op, binary("+", binary("*", n, 3), call("max", n, x)), call("min", n + 1, by))
    changed = exchanged(of, CHANGE)
    assert "u64" in str(changed)
    assert value(changed, n=k, x=-k) == value(of, n=k, x=-k)


def test_what_may_be_negative_keeps_its_sign() -> None:
    for of in (binary("//", x, n), binary("%", n - 1, n), binary("//", call("min", n, x), n)):
        assert exchanged(of, CHANGE) == of
    assert str(exchanged(binary("//", x - 8, 8), CHANGE)) == "x - 8 >> 3"
    assert str(exchanged(binary("%", x, 8) * 3, CHANGE)) == "(x & 7) * 3"
