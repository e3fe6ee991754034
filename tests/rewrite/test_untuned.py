"""Programs that nobody tuned for mean what they say, and work no more than they must."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ostinato as ot
from bench.rewriting.corpus import Case
from bench.rewriting.untuned import GAPS, PROGRAMS
from ostinato.pdg.functions import Array
from ostinato.pdg.interpret import interpret
from ostinato.rewrite.optimize import RewriteOptions, optimize
from tests.rewrite.sums import LINEAR

SIZES = 1024, 4096
pytestmark = pytest.mark.filterwarnings("ignore:rewriting left a part of the program")


def _order(program: ot.Program, extents: tuple[str, ...]) -> float:
    """The power of the number of points, of one row of a batch, with which the work grows."""
    along = [name for name in extents if name != "B"]
    hints = ({name: size if name in along else 1 for name in extents} for size in SIZES)
    few, many = (optimize(program.pdg, RewriteOptions(hints=h)).report for h in hints)
    assert many.saturation.complete, many.saturation.stopped
    return math.log(many.price_after / few.price_after, SIZES[1] / SIZES[0]) / len(along)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_work_of_an_untuned_program_grows_with_its_points(name: str) -> None:
    build, extents = PROGRAMS[name]
    order = _order(build(), tuple(extents))
    assert (order > LINEAR) == (name in GAPS), f"the order of work is {order:.2f}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_untuned_program_agrees_with_its_definition(name: str) -> None:
    build, extents = PROGRAMS[name]
    case = Case(name, build, {e: 3 if e == "B" else 7 for e in extents})
    program = case.build()
    arguments = case.arguments(program)
    given: dict[str, Array] = {k: np.asarray(arguments[k]) for k in program.signature.inputs}
    expected = interpret(program.pdg, case.extents, given)
    found = program.compile(hints=case.extents)(**arguments)
    for output, values in expected.items():
        np.testing.assert_allclose(found[output], values, 2e-4, 2e-4)
