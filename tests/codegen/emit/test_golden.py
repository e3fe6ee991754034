"""The text of small programs, for review: what changed is seen in the difference."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ostinato.codegen.emit.generated_module import emit
from ostinato.codegen.planning.plan import Plan
from tests.codegen.emit.plans import axis
from tests.codegen.emit.test_contraction import layer
from tests.codegen.emit.test_driver import training
from tests.codegen.emit.test_nest import folded, running_sum

Golden = Callable[[str, str], None]
PROGRAMS: dict[str, Callable[[], Plan]] = {
    "running_sum": lambda: running_sum(is_circular=True),
    "layer": lambda: layer(axis("m", 32), is_kept=False),
    "argmax": lambda: folded("argmax", (axis("a", 6), axis("c", 7)), (axis("a", 6),), "float32"),
    "training": training,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_emitted_text_is_known(golden: Golden, name: str) -> None:
    text = emit(PROGRAMS[name](), title=name.replace("_", " "))
    text = re.sub(r"primitives: \w+", "primitives: (of this machine)", text)
    golden(f"{name}.py.txt", text)
