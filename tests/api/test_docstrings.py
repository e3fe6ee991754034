"""The examples in the docstrings of the language are true."""

import doctest
import importlib
import pkgutil

import pytest

from ostinato import nn, optim

MODULES = [
    *"dims functions gradient program recurrent record tensor random".split(),
    *"rl.cartpole rl.categorical".split(),
    *(f"nn.{module.name}" for module in pkgutil.iter_modules(nn.__path__)),
    *(f"optim.{module.name}" for module in pkgutil.iter_modules(optim.__path__)),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str) -> None:
    module = importlib.import_module(f"ostinato.{name}")
    found = doctest.testmod(module)
    assert found.failed == 0
