"""Extents that are defined by others: definitions and arguments that do not fit."""

import numpy as np

import ostinato as ot
from ostinato.pdg.errors import AffineError, ArgumentError, DomainError, EquationError
from tests.errors.refusal import here, refusal

b, t = ot.dims("b t")


def test_a_size_that_depends_on_a_dimension() -> None:
    where = here(1)
    assert refusal(AffineError, lambda: ot.dim("n", size=t + 1)) == (
        f"{where}: the size `t+1` of `n` depends on the dimension `t`\n"
        "  Sizes are made of numbers and extents, such as t.size."
    )


def test_a_size_of_itself() -> None:
    where = here(1)
    assert refusal(AffineError, lambda: ot.dim("t", size=2 * t.size)) == (
        f"{where}: the size `2*T` of `t` mentions its own extent `T`\n"
        "  Rename one of the dimensions."
    )


def test_no_steps_and_no_size() -> None:
    assert "at least 1 step" in refusal(AffineError, lambda: ot.dim("n", size=0))
    assert "at least 1 step" in refusal(AffineError, lambda: ot.dim("n", size=t.size - t.size - 2))
    text = refusal(AffineError, lambda: ot.dim("n m", size=2))
    assert "is not one dimension and its size" in text


def test_a_dim_without_a_size_is_one_of_any_size() -> None:
    n = ot.dim("n")
    program = ot.Program(y=ot.input("x", over=n)[:].sum())
    assert program.extents == ("N",) and program.interpret(x=[1.0, 2.0])["y"] == 3.0
    assert "is not one dimension and its size" in refusal(AffineError, lambda: ot.dim("n m"))


def quarters() -> ot.Program:
    m = ot.dim("m", size=t.size // 4)
    return ot.Program(x=ot.input("x", over=m) * 2.0, y=ot.input("y", over=t) + 1.0)


def test_an_extent_that_comes_out_empty() -> None:
    program = quarters()
    where = here(1)
    assert refusal(ArgumentError, lambda: program.interpret(x=[], y=[1, 2, 3])) == (
        f"{where}: the extent `M` = (T) // 4 is 0 (`y` has 3 at axis 0)\n"
        "  Pass extents for which it is at least 1."
    )


def test_a_given_extent_that_contradicts_its_definition() -> None:
    program = quarters()
    where = here(1)
    text = refusal(ArgumentError, lambda: program.interpret(x=[1], y=np.zeros(8), M=3))
    assert text == (
        f"{where}: the extent `M` is 3 (M=3) and (T) // 4 = 2 (`y` has 8 at axis 0)\n"
        "  Leave it out: the other extents give it."
    )


def test_an_array_that_contradicts_a_definition() -> None:
    program = quarters()
    where = here(1)
    assert refusal(ArgumentError, lambda: program.interpret(x=[1, 2, 3], y=np.zeros(8))) == (
        f"{where}: the input `x` has shape (3,), declared is ((T) // 4,) = (2,) "
        "(`y` has 8 at axis 0)\n  Pass an array of shape (2,)."
    )


def test_the_extent_behind_a_definition_is_needed() -> None:
    m = ot.dim("m", size=t.size // 4)
    program = ot.Program(total=ot.index(m)[:].sum(0))
    assert "the extent `T` is missing" in refusal(ArgumentError, lambda: program.interpret(M=3))


def test_a_defined_dimension_and_another_one_of_its_name() -> None:
    m, other = ot.dim("m", size=t.size // 4), ot.dims("m")
    x = ot.input("x", over=m)
    two = x[:].sum(0) + ot.input("y", over=other)[:].sum(0)
    assert "two dimensions of the program are called `m`" in refusal(
        EquationError, lambda: ot.Program(x=two)
    )
    sized = x[:].sum(0) + ot.ones((other.size,)).sum()
    assert refusal(ArgumentError, lambda: ot.Program(x=sized)) == (
        "the extent `M` is an argument, and defined as (T) // 4\n"
        "  Rename one of the dimensions called `m`."
    )


def test_a_read_outside_a_defined_dimension() -> None:
    n = ot.dim("n", size=b.size * t.size)
    k = ot.dim("k", size=4)
    assert "outside its domain" in refusal(
        DomainError, lambda: ot.Program(y=ot.input("x", over=n)[n + 1])
    )
    assert "outside its domain" in refusal(
        DomainError, lambda: ot.Program(y=ot.input("x", over=k)[5])
    )


def test_a_product_with_a_dimension_is_no_position() -> None:
    x = ot.input("x", over=t)
    assert "is not quasi-affine" in refusal(AffineError, lambda: x[b * t.size])


def test_a_block_of_steps_is_read_as_the_remedy_says() -> None:
    h, n = ot.dims("h n")
    x = ot.input("x", over=t)
    found, where = refusal(AffineError, lambda: x[h * n.size : (h + 1) * n.size]), here()
    assert found == (
        f"{where}: bound `N * h` is not quasi-affine\n"
        "  Multiply by constants only, or read n computed steps: "
        "`x.at(t=ot.index(first) + ot.arange(n))`."
    )
    block = x.at(t=ot.index(h * n.size) + ot.arange(n.size))
    given = np.arange(6.0)
    sums = ot.Program(sums=block.sum(0)).compile()(x=given, H=3, N=2)["sums"]
    np.testing.assert_allclose(sums, given.reshape(3, 2).sum(1))
