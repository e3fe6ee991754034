"""The NumPy form of Philox: known answers, keys and counters, distributions."""

import numpy as np
import pytest

from ostinato.pdg import philox

# From the Random123 distribution: counter, key, result.
KNOWN = [
    (("00000000",) * 4, ("00000000",) * 2, ("6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8")),
    (("ffffffff",) * 4, ("ffffffff",) * 2, ("408f276d", "41c83b0e", "a20bc7c6", "6d5451fd")),
    (
        ("243f6a88", "85a308d3", "13198a2e", "03707344"),
        ("a4093822", "299f31d0"),
        ("d16cfe09", "94fdcceb", "5001e420", "24126ea1"),
    ),
]


def words(text: tuple[str, ...]) -> philox.Words:
    return np.array([int(word, 16) for word in text], np.uint32)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_the_known_answers_come_out(
    counter: tuple[str, ...], key: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    found = philox.philox4x32(words(counter), words(key))
    np.testing.assert_array_equal(found, words(expected))


def test_one_counter_equals_its_row_of_many() -> None:
    key = philox.draw_key(3, 1)
    counters = philox.draw_counter(10, (4, 5))
    many = philox.philox4x32(counters, key)
    np.testing.assert_array_equal(philox.philox4x32(counters[7], key), many[7])


def test_a_seed_of_one_word_is_the_first_word_of_the_key() -> None:
    assert philox.draw_key(7, 3).tolist() == [7, 3]
    assert philox.draw_key(2**32 - 1, 0).tolist() == [2**32 - 1, 0]


def test_a_longer_seed_is_mixed_and_a_negative_one_is_that_of_its_64_bits() -> None:
    low, high = philox.philox4x32(np.array([7, 5, 0, 0], np.uint32), np.zeros(2, np.uint32))[:2]
    seed = 7 + (5 << 32)
    assert philox.draw_key(seed, 3).tolist() == [low, 3]
    assert philox.draw_counter(2, (8, 9, 1), seed).tolist()[1] == [1, 8, 9, 1 ^ high]
    deep = philox.philox4x32(words(("b", "0", "0", f"{high:x}")), words((f"{low:x}", "3")))[:2]
    np.testing.assert_array_equal(philox.draw_key(seed, 3, (8, 9, 1, 11)), deep)
    assert philox.draw_counter(1, (8, 9, 1, 11), seed).tolist() == [[0, 8, 9, 1]]
    assert philox.draw_key(-1, 3).tolist() == philox.draw_key(2**64 - 1, 3).tolist()


def test_seeds_whose_words_are_equal_or_exchanged_give_other_draws() -> None:
    """Both words were joined by xor: 2**64 - 1 drew what 0 did, and 2**32 what 1 did."""
    seeds = [0, 1, 5, 2**32, 5 << 32, 2**32 + 1, 2**63, 2**64 - 1, 0x1234567812345678]
    seeds += [k * (2**32 + 1) for k in range(2, 200)] + [k << 32 for k in range(6, 200)]
    first = {tuple(philox.draw_bits(seed, 0, (), (4,)).tolist()) for seed in seeds}
    assert len(first) == len(seeds)
    calls = {
        tuple(philox.draw_bits(seed, call, (), (2,)).tolist())
        for seed in seeds
        for call in range(9)
    }
    assert len(calls) == 9 * len(seeds)


def test_coordinates_fill_the_counter_and_then_the_key() -> None:
    assert philox.draw_counter(2, (8, 9)).tolist() == [[0, 8, 9, 0], [1, 8, 9, 0]]
    assert philox.draw_counter(1, (8, 9, 10, 11)).tolist() == [[0, 8, 9, 10]]
    base = philox.draw_key(1, 2)
    deeper = philox.philox4x32(np.array([11, 12, 0, 0], np.uint32), base)[:2]
    np.testing.assert_array_equal(philox.draw_key(1, 2, (8, 9, 10, 11, 12)), deeper)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_are_those_of_the_distribution(dtype: philox.FloatDtype) -> None:
    flat = philox.draw_uniform(0, 1, (), (300, 300), dtype)
    bell = philox.draw_normal(0, 2, (), (300, 300), dtype)
    assert flat.dtype == bell.dtype == np.dtype(dtype)
    assert 0 <= flat.min() and flat.max() < 1
    # Five standard errors of 90,000 draws.
    assert abs(float(flat.mean()) - 0.5) < 5 * 0.289 / 300
    assert abs(float(bell.mean())) < 5 / 300
    assert abs(float(bell.var()) - 1) < 5 * 2**0.5 / 300


def test_the_shape_may_be_empty_or_a_scalar() -> None:
    assert philox.draw_bits(0, 1, (), ()).shape == ()
    assert philox.draw_normal(0, 1, (), (0, 3), "float64").shape == (0, 3)
