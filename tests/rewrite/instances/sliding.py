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


def _about(name: str, build: Callable[..., Pdg]) -> list[Instance]:
    """The rule fires for windows at the point only, and for no other shift than the greatest."""
    rules, few = (f"incremental/sliding-{name}",), _coming(3)
    return [
        Instance(f"sliding {name} of four", partial(build, part=_past(4)), rules),
        Instance(f"sliding {name} of five", partial(build, part=_coming(5)), rules),
        Instance(f"sliding {name} of three", partial(build, part=few), idle=rules),
        Instance(
            f"sliding {name} with another shift",
            partial(build, part=_past(4), fold="min"),
            idle=rules,
        ),
    ]


SLIDING = tuple(found for name, build in STEPS.items() for found in _about(name, build))
