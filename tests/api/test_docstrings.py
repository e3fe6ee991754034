"""The examples in the docstrings of the language and of the code generator are true."""

import doctest
import importlib
import importlib.util
import pkgutil

import pytest

from ostinato import codegen, language, nn, optim, rl

PACKAGES = (language, nn, optim, rl, codegen)
ON_DEVICES = ("ostinato.codegen.cuda.intrinsics",)
MODULES = [
    "ostinato.compiler.program",
    *(
        module.name
        for package in PACKAGES
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str) -> None:
    if name in ON_DEVICES and importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("the functions of a device need Numba CUDA")
    module = importlib.import_module(name)
    found = doctest.testmod(module)
    assert found.failed == 0
