"""Every elementwise function: the stated error over the whole range, and no calls in loops."""

import re

import pytest

from bench.mathematics.__main__ import DTYPES, arguments
from bench.mathematics.errors import worst
from bench.mathematics.functions import FUNCTIONS, Function
from bench.mathematics.loops import assembly
from ostinato.codegen.cpu.primitive import Written
from ostinato.codegen.cpu.scalar import PRIMITIVES

_CALLED = re.compile(r"^\s+(?:call\w*|bl|movabsq)[ \t]+\$?([A-Za-z_][\w.]*)", re.MULTILINE)
_COARSE = 200_003


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_the_error_is_at_most_what_is_stated(function: Function, dtype: str) -> None:
    found = worst(function, dtype, arguments(function, dtype, _COARSE))
    assert found.ulp <= function.bound(dtype), f"{found.ulp} at {found.at}"


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_a_loop_calls_no_library(name: str) -> None:
    primitive = PRIMITIVES[name]
    assert isinstance(primitive, Written), f"{name} is not written as instructions"
    text = assembly(primitive)
    own = set(re.findall(r'^"?([\w.]+)"?:', text, re.MULTILINE))
    assert set(_CALLED.findall(text)) <= own
