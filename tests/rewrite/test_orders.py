"""Permutations as rules know them: where one axis goes, and the order of the others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ostinato.certificate.index_facts import Numbers, attribute_rows
from ostinato.rewrite.load.orders import PAIR, around, order_rows
from ostinato.rewrite.load.tables import Tables

ORDERS = [o for n in range(1, 6) for o in itertools.permutations(range(-n, 0))]


@pytest.mark.parametrize("axes", range(1, 6))
def test_an_order_moves_one_axis_and_the_others_by_the_order_that_is_left(axes: int) -> None:
    x = np.arange(2 * 3 * 5 * 7 * 11).reshape(2, 3, 5, 7, 11)[(0,) * (5 - axes)]
    for order in (o for o in ORDERS if len(o) == axes):
        for p in range(1, axes + 1):
            to, rest = around(order, p)
            inner = np.moveaxis(x, -p, 0)
            lead = range(1 - axes, -len(rest))
            turned = np.transpose(inner, (0, *(axes + a for a in (*lead, *rest))))
            expected = np.moveaxis(np.transpose(x, [axes + a for a in order]), -to, 0)
            np.testing.assert_array_equal(turned, expected)


def test_the_certificate_finds_the_same_rows_of_orders() -> None:
    tables, numbers = Tables(()), Numbers(())
    for order in ORDERS:
        tables.id(order)
        numbers.of(order)
    mine, other = order_rows(tables), attribute_rows(numbers, [], {})
    for relation in ("around", "around_pair", "around_alone"):
        axes = {number: order for order, number in numbers.known.items()}
        named = {(tables.attributes[int(k)], *rest[:2]) for k, *rest in mine[relation]}
        assert named == {(axes[int(k)], *rest[:2]) for k, *rest in other[relation]}
        left = [(tables.attributes[int(k[3])]) for k in mine[relation] if k[3:]]
        assert left == [axes[int(k[3])] for k in other[relation] if k[3:]]


def test_two_axes_that_are_left_are_a_plain_transpose() -> None:
    assert around((-1, -3, -2), 3) == (2, PAIR)
