"""Computed steps that are no integers, or leave their window, and windows that leave the domain."""

import numpy as np

import ostinato as ot
from ostinato.pdg.errors import DomainError, DtypeError, ShapeError
from tests.errors.refusal import here, refusal


def test_a_step_outside_its_window() -> None:
    b, t = ot.dims("b t")
    x, drawn = ot.input("x", over=(b, t)), ot.input("drawn", dtype="int32", over=t)
    read, where = x.at(t=drawn, within=(ot.maximum(t - 2, 0), t + 1)), here()
    program = ot.Program(y=read)
    wrong = refusal(DomainError, lambda: program.interpret(x=[[1, 2, 3, 4]], drawn=[0, 1, 2, 0]))
    assert wrong == (
        f"{where}: `x` is read at t = 0 at b = 0, t = 3, where its window is 1 <= t < 4\n"
        "  Clip the index to the window with `ot.clip`, or widen `within`."
    )


def test_a_step_outside_the_dimension() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    read, where = x.at(t=ot.constant([0, -1])), here()
    assert refusal(DomainError, lambda: ot.Program(y=read).interpret(x=[1.0, 2.0])) == (
        f"{where}: `x` is read at t = -1, where its window is 0 <= t < 2\n"
        "  Clip the index to the window with `ot.clip`, or widen `within`."
    )


def test_a_step_that_is_no_integer() -> None:
    t = ot.dims("t")
    x, drawn, where = ot.input("x", over=t), ot.input("drawn", over=t), here(1)
    assert refusal(DtypeError, lambda: x.at(t=drawn)) == (
        f"{where}: `x` is read at a step of `t` given by `drawn` (float32)\n"
        '  Use an integer index, such as `index.cast("int32")`.'
    )


def test_a_window_that_leaves_the_domain() -> None:
    t = ot.dims("t")
    x, drawn = ot.input("x", over=t), ot.input("drawn", dtype="int32", over=t)
    read, where = x.at(t=drawn, within=(t - 2, t + 1)), here()
    assert refusal(DomainError, lambda: ot.Program(y=read)) == (
        f"{where}: `x` is read at t = -2, outside its domain 0 <= t < T "
        "(first bad point: t=0, with T=1)\n"
        "  Read `x[ot.maximum(t-2, 0):t+1]`, or add a case for this point."
    )


def test_a_window_that_is_empty_where_it_is_read() -> None:
    t = ot.dims("t")
    x, drawn = ot.input("x", over=t), ot.input("drawn", dtype="int32", over=t)
    read, where = x.at(t=drawn, within=(0, t)), here()
    assert refusal(DomainError, lambda: ot.Program(y=read)) == (
        f"{where}: the window :t of `x` over t is empty (first bad point: t=0, with T=1)\n"
        "  Read it only where the window holds a step: `ot.where(condition, read, other)`."
    )


def test_a_window_that_ends_before_it_begins() -> None:
    t = ot.dims("t")
    x, drawn = ot.input("x", over=t), ot.input("drawn", dtype="int32", over=t)
    read, where = x.at(t=drawn, within=(2, t)), here()
    assert refusal(ShapeError, lambda: ot.Program(y=read)) == (
        f"{where}: the slice 2:t of `x` over t ends before it begins "
        "(first bad point: t=0, with T=2)\n"
        "  End it with `ot.maximum(2, t)`."
    )


def test_a_window_of_nothing() -> None:
    b, t = ot.dims("b t")
    x, where = ot.input("x", over=(b, t)), here(1)
    assert refusal(DomainError, lambda: x.at(t=t, within=(0, t))) == (
        f"{where}: `x` is read with one window and no computed position\n"
        "  Give an integer tensor as a position, or drop `within`."
    )
    where = here(1)
    assert refusal(DomainError, lambda: x.at(t=[0], within={"b": (0, 1)})) == (
        f"{where}: `x` gets a window of `b`, but no computed position there\n"
        "  Give `b` an integer tensor, or drop `within`."
    )


def test_one_window_for_two_dimensions() -> None:
    b, t = ot.dims("b t")
    x, where = ot.input("x", over=(b, t)), here(1)
    assert refusal(DomainError, lambda: x.at(b=[0], t=[0], within=(0, t))) == (
        f"{where}: `x` is read with one window and computed positions of 2 dimensions\n"
        '  Give windows by dimension: within={"t": (lo, hi)}.'
    )


def test_an_unknown_dimension() -> None:
    t = ot.dims("t")
    x, where = ot.input("x", over=t), here(1)
    assert refusal(DomainError, lambda: x.at(t=[0], within={"s": (0, 1)})) == (
        f"{where}: `x` has no dimension `s`\n  Its dimensions are: t."
    )


def test_a_window_that_is_no_pair() -> None:
    t = ot.dims("t")
    x, where = ot.input("x", over=t), here(1)
    assert refusal(DomainError, lambda: x.at(t=[0], within={"t": 3})) == (
        f"{where}: `x` gets the window 3 of `t`\n"
        "  Give a pair: within=(lo, hi), for lo <= step < hi."
    )


def test_a_position_of_an_axis_that_is_empty_where_it_is_taken() -> None:
    t = ot.dims("t")
    x, drawn = ot.input("x", over=t), ot.input("drawn", dtype="int32", over=t)
    taken, where = ot.take(x[:t], drawn, axis=0), here()
    assert refusal(ShapeError, lambda: ot.Program(y=taken)) == (
        f"{where}: `x` is taken at a computed position of axis -1, which has size t "
        "(first bad point: t=0, with T=1)\n"
        "  Take it only where the axis has elements: `ot.where(condition, read, other)`."
    )
    program = ot.Program(y=ot.where(t > 0, taken, 7.0))
    given = {"x": [1.0, 2.0, 4.0], "drawn": [0, 0, 1]}
    assert program.interpret(**given)["y"].tolist() == [7.0, 1.0, 2.0]
    assert program.compile(checks=["values", "addresses"])(**given)["y"].tolist() == [7.0, 1.0, 2.0]


def test_a_position_of_an_axis_without_elements() -> None:
    z = ot.input("z", (2, 0))
    taken, where = ot.take(z, ot.constant([0]), axis=1), here()
    assert refusal(ShapeError, lambda: ot.Program(y=taken)) == (
        f"{where}: `z` is taken at a computed position of axis -1, which has size 0\n"
        "  Give the axis at least one element."
    )
    none = ot.Program(y=ot.take(z, ot.constant([1]), axis=0), w=ot.sort(z))
    nothing = np.zeros((2, 0))
    assert none.interpret(z=nothing)["y"].shape == none.compile()(z=nothing)["y"].shape == (1, 0)
