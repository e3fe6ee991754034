"""A thread that makes a value while this one is busy."""

import threading

import pytest

from ostinato.rewrite.optimize import Ahead


def test_a_failure_is_raised_where_the_value_is_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        Ahead(lambda: 1 // 0).value()


def test_the_value_is_there_before_what_follows_it() -> None:
    gate, done = threading.Event(), threading.Event()

    def afterwards() -> None:
        gate.wait()
        done.set()

    assert Ahead(lambda: 5, afterwards).value() == 5
    assert not done.is_set()
    gate.set()
    assert done.wait(10.0)
