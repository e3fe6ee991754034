"""The examples in the docstrings of the language are true."""

import doctest
import importlib

import pytest

MODULES = (
    "dims functions gradient program recurrent record tensor random nn.linear nn.mlp nn.module "
    "optim.optimizer rl.cartpole rl.categorical"
).split()


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str) -> None:
    module = importlib.import_module(f"ostinato.{name}")
    found = doctest.testmod(module)
    assert found.failed == 0
