"""Instances of the family domain: inputs read at other points, and states of a loop."""

from __future__ import annotations

from collections.abc import Callable

from ostinato.pdg.build import case, const, matmul, read, rec, reshape, transpose
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, every, some
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.node import Equation, Node, Pdg
from tests.rewrite.instances.instance import (
    B,
    Instance,
    Sizes,
    T,
    all_of,
    at,
    fires,
    silent,
    span,
    tensor,
)


def _before(z: Sizes) -> Node:
    return at(tensor("x", (z.m, z.k), (T,)), T, expr(T) - 1)


@fires("domain/lift-tr")
def transposed_input_of_the_step_before(z: Sizes) -> Node:
    return transpose(_before(z), (-1, -2))


@fires("domain/lift-reshape")
def reshaped_input_of_the_step_before(z: Sizes) -> Node:
    return reshape(_before(z), (expr(z.m * z.k),))


@fires("domain/lift-reshape", beside=("domain/lift-tr",))
def reshaped_transposed_input_of_the_step_before(z: Sizes) -> Node:
    return reshape(transpose(_before(z), (-1, -2)), (expr(z.m * z.k),))


@fires("domain/lift-tr", beside=("domain/lift-reshape",))
def transposed_reshaped_input_of_the_step_before(z: Sizes) -> Node:
    return transpose(reshape(_before(z), (expr(z.k), expr(z.m))), (-1, -2))


@fires("domain/lift-product")
def projected_input_of_the_step_before(z: Sizes) -> Node:
    return matmul(_before(z), tensor("w", (z.k, z.n)))


@silent("domain/lift-product")
def input_of_the_step_before_times_a_moving_matrix(z: Sizes) -> Node:
    return matmul(_before(z), tensor("w", (z.k, z.n), (T,)))


def _cases(z: Sizes, cond: Cond) -> Node:
    return case(cond, tensor("x", (z.k,), (B, T)), tensor("y", (z.k,), (B, T)))


@fires("domain/split-low", idle=("domain/split-high",))
def history_whose_first_step_is_another(z: Sizes) -> Node:
    return all_of(_cases(z, equal(T, 0)), T)


@fires("domain/split-high", idle=("domain/split-low",))
def history_whose_later_steps_are_others(z: Sizes) -> Node:
    return all_of(_cases(z, at_least(T, 1)), T)


@silent("domain/split-low", "domain/split-high")
def history_with_a_condition_on_another_dimension(z: Sizes) -> tuple[Node, ...]:
    both = every(at_least(T, 1), at_least(B, 1))
    return all_of(_cases(z, equal(B, 0)), T), all_of(_cases(z, both), T)


def _begun(z: Sizes, first: Node) -> Node:
    """What is known below B, else x."""
    return case(at_least(expr(B.extent) - 1, T), first, tensor("x", (z.k,), (B, T)))


@fires("domain/known-prefix")
def first_steps_that_are_known(z: Sizes) -> Node:
    return _begun(z, tensor("y", (z.k,), (T,)))


@fires("domain/known-prefix")
def first_steps_that_exist_only_below_the_bound(z: Sizes) -> Node:
    return _begun(z, at(tensor("y", (z.k,), (B,)), B, expr(T)))


@silent("domain/known-prefix")
def first_steps_without_a_history(z: Sizes) -> tuple[Node, ...]:
    x, y = tensor("x", (z.k,), (B, T)), tensor("y", (z.k,), (T,))
    later = case(at_least(T, expr(B.extent)), y, x)
    return _begun(z, tensor("y", (z.k,))), _begun(z, at(y, T, expr(T) + 1)), later


@fires("domain/mask", idle=("domain/split-low", "domain/split-high"))
def history_with_cases_that_alternate(z: Sizes) -> Node:
    return all_of(_cases(z, equal((expr(B) + T) % 2, 0)), T)


def _alternating(z: Sizes, x: Node, steps: Slice) -> Node:
    """All steps of ``x`` at every other one, else y, each over some ``steps`` of B."""
    chosen = case(equal(expr(T) % 2, 0), x, tensor("y", (z.k,), (B, T)))
    return all_of(read(chosen, [(B, steps)]), T)


@fires("domain/mask", beside=("vectorize/case",))
def batch_of_histories_with_cases_that_alternate(z: Sizes) -> Node:
    return _alternating(z, tensor("x", (z.k,), (B, T)), span(0, B.extent))


@silent("domain/mask", beside=("vectorize/case",))
def batch_of_histories_of_which_some_do_not_exist(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (z.k,), (B, T))
    beyond = at(x, B, expr(B) + 1)
    return _alternating(z, beyond, span(0, B.extent)), _alternating(
        z, x, span(0, expr(B.extent) + 1)
    )


@silent("domain/mask")
def history_with_a_case_that_reads_beyond_the_end(z: Sizes) -> tuple[Node, ...]:
    x, y = tensor("x", (z.k,), (B, T)), tensor("y", (z.k,), (B, T))
    beyond = at(x, T, expr(T) + 1)
    first = case(at_least(expr(T.extent) - 2, T), beyond, y)
    second = case(at_least(T, expr(T.extent) - 1), y, beyond)
    return all_of(first, T), all_of(second, T), all_of(_cases(z, equal(B, 0)), T)


def _read_at(z: Sizes, cond: Cond) -> Node:
    """The last step of ``x`` where a condition holds, ``y`` elsewhere."""
    x = at(tensor("x", (z.k,), (B, T)), T, expr(T.extent) - 1)
    return case(cond, x, tensor("y", (z.k,), (B, T)))


@fires("domain/pinned-read")
def last_step_read_at_the_last_step(z: Sizes) -> Node:
    return _read_at(z, equal(T, expr(T.extent) - 1))


@silent("domain/pinned-read")
def last_step_read_elsewhere(z: Sizes) -> tuple[Node, ...]:
    early = _read_at(z, equal(T, 0))
    return early, _read_at(z, at_least(T, expr(T.extent) - 1)), _read_at(z, equal(T, expr(B)))


@fires("domain/case-and")
def two_conditions(z: Sizes) -> Node:
    return _cases(z, every(at_least(T, 1), at_least(B, 1)))


@silent("domain/case-and")
def either_condition(z: Sizes) -> Node:
    return _cases(z, some(at_least(T, 1), at_least(B, 1)))


def _carried(build: Callable[[Sizes, Node], Node]) -> Callable[[Sizes], Pdg]:
    """``h[t] = f(h[t - 1])``: no point of h exists before the loop."""

    def whole(z: Sizes) -> Pdg:
        h = rec("h", (expr(z.k), expr(z.k)), "float32", (T,))
        zero = const(0.0, "float32", h.shape)
        step = reshape(build(z, at(h, T, expr(T) - 1)), h.shape)
        return Pdg((("y", h),), {"h": Equation(h, ((equal(T, 0), zero), (ALWAYS, step)))})

    return whole


def _transposed(z: Sizes, h: Node) -> Node:
    return transpose(h, (-1, -2))


def _reshaped(z: Sizes, h: Node) -> Node:
    return reshape(h, (expr(z.k * z.k),))


def _projected(z: Sizes, h: Node) -> Node:
    return matmul(h, tensor("w", (z.k, z.k)))


CARRIED = (
    Instance("transposed state", _carried(_transposed), idle=("domain/lift-tr",)),
    Instance("reshaped state", _carried(_reshaped), idle=("domain/lift-reshape",)),
    Instance("projected state", _carried(_projected), idle=("domain/lift-product",)),
)
