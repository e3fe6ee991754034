"""The text that whole programs become, for review: what changed is seen in the difference."""

import re
from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import build
from tests.pipeline.programs import shared_weight

Golden = Callable[[str, str], None]


def averages() -> ot.Program:
    """Return the mean so far, and the discounted sum of what comes."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(so_far=x[: t + 1].mean(0), to_come=ot.discounted_sum(x[t:], 0.9))


def whole_axes() -> ot.Program:
    """Return rows in order, their running products, and sums at positions."""
    b = ot.dims("b")
    x, bucket = ot.input("x", (6, 8), over=b), ot.input("bucket", (6, 1), "int32", over=b)
    return ot.Program(
        order=ot.argsort(x),
        running=ot.cumprod(1.0 - x * x, axis=0),
        sums=ot.scatter_add(x, bucket, 3, axis=0),
    )


@pytest.mark.parametrize(
    "make", [averages, shared_weight, whole_axes], ids=lambda make: make.__name__
)
def test_the_compiled_text_is_known(golden: Golden, make: Callable[[], ot.Program]) -> None:
    artifact = build(make().pdg, None, Options(threads=2))
    source = re.sub(r"primitives: \w+", "primitives: (of this machine)", artifact.source)
    text = f"{source}\n\n# The plan\n\n{artifact.explanation.schedule}"
    golden(f"{make.__name__}.py.txt", text)
