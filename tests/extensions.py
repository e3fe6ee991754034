"""Operators and folds that a test adds are known in it only."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ostinato.pdg.functions import FOLDS, FUNCTIONS, REPEATED
from ostinato.pdg.pass_record import ADDED


@contextmanager
def forgotten() -> Generator[None]:
    """Forget in the end what was added since."""
    functions, folds, passes = set(FUNCTIONS), set(FOLDS), set(ADDED)
    yield
    for name in FUNCTIONS.keys() - functions:
        del FUNCTIONS[name]
    for name in FOLDS.keys() - folds:
        del FOLDS[name], REPEATED[name]
    for name in ADDED.keys() - passes:
        del ADDED[name]
