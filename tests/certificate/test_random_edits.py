"""Whatever is altered anywhere in a certificate: it is refused, or it means the same as before."""

from __future__ import annotations

import copy
import random
from typing import Any, cast

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.certificate.document import Certificate, from_data, sum_of
from ostinato.certificate.runs import Values, drawn, interpreted
from tests.certificate.programs import Data, certificate, refusal

ORIGINAL = from_data(certificate())
WORDS = ("b", "t", "h", "T", "add", "mul", "sum", "max", "float64", "int32", "vectorize/mm", "")


def altered(seed: int) -> Data:
    """Return the certificate with one alteration at a random place, and a sum that fits."""
    chance, data = random.Random(seed), copy.deepcopy(certificate())
    data.pop("sum")
    at: Any = data
    while True:
        key: Any = chance.choice(_keys(at))
        inner: Any = at[key]
        is_inside = type(inner) in (dict, list) and bool(inner)
        if not is_inside or chance.random() >= 0.93:
            break
        at = inner
    _alter(at, key, chance)
    return {**data, "sum": sum_of(data)}


def _keys(at: Any) -> list[Any]:
    """The keys of a record, or the places of a list."""
    return list(cast(dict[str, Any], at)) if isinstance(at, dict) else [*range(len(at))]


def _alter(at: Any, key: Any, chance: random.Random) -> None:
    """Change, remove, repeat or move one entry of a list or record."""
    value, places = at[key], _keys(at)
    kind = chance.randrange(5)
    if kind == 0:
        del at[key]
    elif kind == 1 and isinstance(key, int):
        at.insert(key, copy.deepcopy(value))
    elif kind == 2 and isinstance(key, int):
        other = chance.choice(places)
        at[key], at[other] = at[other], at[key]
    elif isinstance(value, bool):
        at[key] = not value
    elif isinstance(value, int | float):
        at[key] = value + chance.choice((-1, 1, 2))
    elif isinstance(value, str):
        at[key] = chance.choice(WORDS)
    else:
        at[key] = copy.deepcopy(at[chance.choice(places)])


def results(found: Certificate) -> list[Values]:
    """Return what source and extracted program give at sizes that no certificate names."""
    bound = drawn(ORIGINAL.source, 77)
    return [interpreted(pdg, bound) for pdg in (found.source, found.extracted)]


EXPECTED = results(ORIGINAL)


@settings(max_examples=50)
@given(st.integers(0, 10**9))
def test_a_random_edit_is_refused_or_means_the_same(seed: int) -> None:
    data = altered(seed)
    if data == certificate() or refusal(data):
        return
    found = from_data(data)
    for values, expected in zip(results(found), EXPECTED, strict=True):
        assert values.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(values[name], value, rtol=1e-6)
    assert found.schedule.plan == ORIGINAL.schedule.plan
