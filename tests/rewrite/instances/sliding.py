"""Instances of the family incremental: sums of exponentials over windows of constant length."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.index import Expr, expr, maximum, minimum
from ostinato.pdg.node import Pdg
from tests.rewrite.instances.instance import Instance, T
from tests.rewrite.instances.online import STEPS

_HERE, _END = expr(T), expr(T.extent)
_Window = tuple[Expr, Expr]


def _past(steps: int) -> _Window:
    return maximum(_HERE - (steps - 1), 0), _HERE + 1


def _coming(steps: int) -> _Window:
    return _HERE, minimum(_HERE + steps, _END)


def _about(name: str, build: Callable[..., Pdg], fits: _Window, other: _Window) -> list[Instance]:
    """The rule fires for its windows only, and for no other shift than the greatest."""
    rules = (f"incremental/sliding-{name}",)
    return [
        Instance(f"sliding {name}", partial(build, part=fits), rules),
        Instance(f"sliding {name} beside it", partial(build, part=other), idle=rules),
        Instance(
            f"sliding {name} with another shift",
            partial(build, part=fits, fold="min"),
            idle=rules,
        ),
    ]


SLIDING = tuple(
    found
    for name, build in STEPS.items()
    for suffix, fits, other in (
        ("", _past(4), _coming(5)),
        ("-lengthened", _coming(5), _past(4)),
    )
    for found in _about(f"{name}{suffix}", build, fits, other)
)
