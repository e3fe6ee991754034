"""The text that whole programs become, for review: what changed is seen in the difference."""

import re
from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.compiler import Options, build
from tests.pipeline.programs import shared_weight

Golden = Callable[[str, str], None]


def averages() -> ot.Program:
    """Return the mean so far, and the discounted sum of what comes."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(so_far=x[: t + 1].mean(0), to_come=ot.discounted_sum(x[t:], 0.9))


@pytest.mark.parametrize("make", [averages, shared_weight], ids=lambda make: make.__name__)
def test_the_compiled_text_is_known(golden: Golden, make: Callable[[], ot.Program]) -> None:
    artifact = build(make().pdg, None, Options(threads=2))
    source = re.sub(r"primitives: \w+", "primitives: (of this machine)", artifact.source)
    text = f"{source}\n\n# The plan\n\n{artifact.explanation.schedule}"
    golden(f"{make.__name__}.py.txt", text)
