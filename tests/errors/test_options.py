"""Unknown options, targets and rules."""

from typing import Any

import pytest

import ostinato as ot
from ostinato.pdg.errors import OptionError
from tests.errors.refusal import here, refusal

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "option": (
        {"thread": 2},
        "`thread` is no option of compile\n"
        "  Did you mean `threads`? "
        "Options: target, threads, hints, widths, verify, checks, profile, exact, memory_limit, "
        "spill, storage, without.",
    ),
    "exact": ({"exact": "yes"}, "`exact` is 'yes'\n  Pass True or False."),
    "storage": (
        {"storage": "int8"},
        '`storage` is \'int8\'\n  Pass "float16" or "bfloat16", or leave it out.',
    ),
    "storage of exact programs": (
        {"storage": "bfloat16", "exact": True},
        "`storage` is 'bfloat16', which rounds, and `exact` is True\n  Leave out one of them.",
    ),
    "target": ({"target": "gpu"}, "there is no target `gpu`\n  Targets: cpu, cuda."),
    "threads": (
        {"threads": "two"},
        "`threads` is 'two'\n  Pass a number of threads, or 0 for every core.",
    ),
    "no memory": (
        {"memory_limit": 0},
        "`memory_limit` is 0\n  Pass a number of bytes above 0, or None for no limit.",
    ),
    "tile width": (
        {"widths": {"q": 8}},
        "`q` is no dimension of the program, but `widths` has it\n  Dimensions: b, t.",
    ),
    "hint": (
        {"hints": {"t": 500}},
        "`t` is no extent of the program, but `hints` has it\n  Did you mean `T`? Extents: B, T.",
    ),
    "size of a hint": (
        {"hints": {"T": 0}},
        "`hints` has 0 for `T`\n  Pass a positive integer.",
    ),
    "hints as a list": (
        {"hints": [500]},
        "`hints` is [500]\n  Pass a dictionary from extent names to integers.",
    ),
}


@pytest.mark.parametrize(("options", "text"), REFUSED.values(), ids=REFUSED)
def test_an_option_is_refused(options: dict[str, Any], text: str) -> None:
    b, t = ot.dims("b t")
    program = ot.Program(y=ot.input("x", over=(b, t)) * 2.0)
    where = here(1)
    assert refusal(OptionError, lambda: program.compile(**options)) == f"{where}: {text}"


def test_a_misspelt_rule_names_the_closest() -> None:
    where = here(1)
    text = refusal(OptionError, lambda: ot.rules.without("vectorise"))
    assert text.startswith(
        f"{where}: no rule or family is called `vectorise`\n  Did you mean `vectorize`? Families: "
    )


def test_an_unknown_rule_names_the_families() -> None:
    families = ", ".join(sorted(ot.rules.families))
    where = here(1)
    assert refusal(OptionError, lambda: ot.rules.without("zzz")) == (
        f"{where}: no rule or family is called `zzz`\n"
        f"  Families: {families}; `ostinato rules list` shows every rule."
    )
