"""Instances of the family affine: recurrences with one step of each form, and those most like it.

A step that is no affine function of the step before, or whose other operands read the recurrence,
must not be followed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import case, map_node, rec
from ostinato.pdg.condition import Cond, at_least, equal
from ostinato.pdg.index import expr
from ostinato.pdg.node import Equation, Node, Pdg
from ostinato.rewrite.rules.affine import AFFINE
from tests.rewrite.instances.instance import B, Instance, Sizes, T, at, tensor

Step = Callable[[Sizes, Node], Node]

FOLLOWED = ("affine/neighbour-scaled", "affine/line-of-ray", "affine/line-plus")
_MULTIPLES = FOLLOWED[:2]
_LAST = equal(T, expr(T.extent) - 1)


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _row(z: Sizes, name: str = "w") -> Node:
    return tensor(name, (z.k,), (T,))


def _line(z: Sizes, before: Node) -> Node:
    return _map("add", before, _row(z, "a"))


def _ray(z: Sizes, before: Node) -> Node:
    return before


def _where(z: Sizes, yes: Node, no: Node) -> Node:
    return _map("where", tensor("c", (z.k,), (T,), "bool"), yes, no)


def _case(z: Sizes, yes: Node, no: Node) -> Node:
    return case(at_least(T, 2), yes, no)


def _backwards(z: Sizes, step: Step, cond: Cond = _LAST) -> Pdg:
    """``x`` from its last point back to its first, with rows as values, one for each ``b``."""
    x = rec("x", (expr(z.k),), "float32", (B, T))
    right = step(z, at(x, T, expr(T) + 1))
    cases = ((cond, tensor("s", (z.k,), (B, T))), (at_least(T, 0), right))
    return Pdg((("y", x),), {"x": Equation(x, cases)})


def _forwards(z: Sizes, step: Step) -> Pdg:
    """``x`` from its first point on; the first case is the one that reads it."""
    x = rec("x", (expr(z.k),), "float32", (B, T))
    right = step(z, at(x, T, expr(T) - 1))
    cases = ((at_least(T, 1), right), (at_least(T, 0), tensor("s", (z.k,), (B,))))
    return Pdg((("y", x),), {"x": Equation(x, cases)})


def _with(op: Callable[[Sizes, Node, Node], Node], first: Step, second: Step) -> Step:
    """A step that gives two functions of the step before to an operator."""
    return lambda z, before: op(z, first(z, before), second(z, before))


def _named(fn: str) -> Callable[[Sizes, Node, Node], Node]:
    return lambda z, x, y: _map(fn, x, y)


def _free(z: Sizes, before: Node) -> Node:
    return _row(z)


def _negated(inner: Step) -> Step:
    return lambda z, before: _map("neg", inner(z, before))


_READS: dict[str, tuple[Step, Step]] = {
    "rays-scaled": (_ray, _ray),
    "ray-line": (_ray, _line),
    "line-ray": (_line, _ray),
    "lines": (_line, _line),
}


def _steps() -> dict[str, Step]:
    """A step for every rule that follows one."""
    add, sub, mul, div = map(_named, ("add", "sub", "mul", "div"))
    out: dict[str, Step] = {
        "neighbour-scaled": _ray,
        "line-of-ray": _ray,
        "neg-scaled": _negated(_ray),
        "neg": _negated(_line),
        "product-scaled": _with(mul, _ray, _free),
        "product": _with(mul, _line, _free),
        "product-of-scaled": _with(mul, _free, _ray),
        "product-of": _with(mul, _free, _line),
        "quotient-scaled": _with(div, _ray, _free),
        "quotient": _with(div, _line, _free),
    }
    for word, op in (("plus", add), ("minus", sub)):
        for kind, reads in (("ray", _ray), ("line", _line)):
            out[f"{kind}-{word}"] = _with(op, reads, _free)
            out[f"{word}-{kind}"] = _with(op, _free, reads)
    for word, op in (("sum", add), ("difference", sub), ("where", _where), ("case", _case)):
        out.update({f"{word}-{kind}": _with(op, *both) for kind, both in _READS.items()})
    return out


def _tanh(step: Step) -> Step:
    return lambda z, before: step(z, _map("tanh", before))


def _beside_itself(step: Step) -> Step:
    """The step multiplied with the step before."""
    return lambda z, before: _map("mul", step(z, _map("mul", before, before)), before)


def _law_of(name: str) -> str:
    """The law of which a step is another order of operands, or another function."""
    match name.removesuffix("-scaled").split("-"):
        case ["product" | "quotient", *_]:
            return "product-scaled" if name.endswith("-scaled") else "product"
        case ["plus", _] | ["ray" | "line", "plus" | "minus"]:
            return "line-plus"
        case ["minus", _]:
            return "minus-line"
        case ["sum" | "difference", *_]:
            return "sum-lines"
        case ["case", *_]:
            return "case-lines"
        case ["where", _, _]:
            return "where-lines"
        case _:
            return name


def _followed() -> tuple[Instance, ...]:
    out: list[Instance] = []
    for name, step in _steps().items():
        rule = f"affine/{_law_of(name)}"
        build = partial(_backwards, step=step)
        out.append(Instance(f"{name} of what follows", build, (rule,), (), FOLLOWED))
        build = partial(_forwards, step=step)
        out.append(Instance(f"{name} of what was before", build, (rule,), (), FOLLOWED))
        build = partial(_backwards, step=_tanh(step))
        idle = (rule,) if rule not in _MULTIPLES else ()
        out.append(Instance(f"{name} of a hyperbolic tangent", build, (), idle, FOLLOWED))
        build = partial(_backwards, step=_beside_itself(step))
        out.append(Instance(f"{name} of a square", build, (), idle, FOLLOWED))
    return tuple(out)


def _inner() -> tuple[Instance, ...]:
    """Products of what is a multiple by another law."""
    inner = {"neg-scaled": _negated(_ray), "where-rays-scaled": _with(_where, _ray, _ray)}
    product = ("affine/product-scaled",)
    return tuple(
        Instance(
            f"product of {name}",
            partial(_backwards, step=_with(_named("mul"), step, _free)),
            product,
            (),
            (*FOLLOWED, f"affine/{name}"),
        )
        for name, step in inner.items()
    )


STEPS = (*_followed(), *_inner())


def _two_back(z: Sizes) -> Pdg:
    """A recurrence that reads two steps ahead."""
    x = rec("x", (expr(z.k),), "float32", (B, T))
    cases = (
        (at_least(T, expr(T.extent) - 2), tensor("s", (z.k,), (B, T))),
        (at_least(T, 0), at(x, T, expr(T) + 2)),
    )
    return Pdg((("y", x),), {"x": Equation(x, cases)})


_EARLIER = at_least(T, expr(T.extent) - 2)  # the first two steps of a loop backwards
_ELSEWHERE = equal(T, 1)


def _closings() -> tuple[Instance, ...]:
    """The laws that say what a recurrence is; where it starts at other steps too, none does."""
    out: list[Instance] = []
    beside = FOLLOWED
    for name, step in (("line", _line), ("ray", _ray)):
        both = ("affine/line",)
        for cond, fires in ((_LAST, both), (_EARLIER, ())):
            program = partial(_backwards, step=step, cond=cond)
            idle = () if fires else both
            out.append(Instance(f"{name} from {cond}", program, fires, idle, beside))
        forwards = partial(_forwards, step=step)
        out.append(Instance(f"{name} forwards", forwards, both, (), beside))
        squares = partial(_backwards, step=_beside_itself(step))
        out.append(Instance(f"square of a {name}", squares, (), both, beside))
        nowhere = partial(_backwards, step=step, cond=_ELSEWHERE)
        out.append(Instance(f"{name} without a start", nowhere, (), both, beside))
        neither = (*both, *_MULTIPLES)
        out.append(Instance(f"{name} of two steps ahead", _two_back, (), neither))
    return tuple(out)


CLOSINGS = _closings()
assert {r.name for r in AFFINE} == {r for i in (*STEPS, *CLOSINGS) for r in i.fires}, "all fire"
