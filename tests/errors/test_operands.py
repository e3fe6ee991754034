"""Shapes and types that do not fit, in the user's names."""

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.pdg.errors import DtypeError, OstinatoError, ShapeError, TruthError
from tests.errors.refusal import here, refusal

t = ot.dims("t")
x = ot.input("x", (3,), over=t)
w = ot.input("w", (4, 2))
k = ot.input("k", (3,), "int32", over=t)
k64 = ot.input("k64", (3,), "uint32", over=t)

REFUSED: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "add": (
        lambda: x + w[:, 0],
        ShapeError,
        "`add` of `x` (3,) and `w` (4,): axis -1 is 3 in `x` and 4 in `w`\n"
        "  Make the sizes equal, or 1 where the axis is to be repeated.",
    ),
    "matmul": (
        lambda: x @ w,
        ShapeError,
        "matrix product of `x` (3,) and `w` (4, 2)\n"
        "  The last axis left must equal the last but one right; scalars need `*`.",
    ),
    "matmul of an expression": (
        lambda: ot.tanh(x) @ w,
        ShapeError,
        "matrix product of an expression of `x` (3,) and `w` (4, 2)\n"
        "  The last axis left must equal the last but one right; scalars need `*`.",
    ),
    "axis": (
        lambda: x.sum(1),
        ShapeError,
        "axis 1 of `x`, which has 1 axes\n  Use an axis from -1 to 0.",
    ),
    "reshape": (
        lambda: x.reshape(2, 2),
        ShapeError,
        "`x` of shape (3,) reshaped to (2, 2)\n  The number of elements must stay the same.",
    ),
    "concatenate": (
        lambda: ot.concatenate([w, ot.zeros((4, 3)), ot.zeros((2, 2))], axis=0),
        ShapeError,
        "concatenation of `w` (4, 2) and the constant 0.0 (4, 3)\n"
        "  All axes but axis -2 must have equal sizes.",
    ),
    "and": (
        lambda: x & True,
        DtypeError,
        "`&` of `x` (float32) and True (bool)\n  It takes booleans and integers.",
    ),
    "einsum of another number of operands": (
        lambda: ot.einsum("ij,jk->ik", w),
        ShapeError,
        "einsum `ij,jk->ik` names 2 operands, 1 are given\n"
        "  Give one comma-separated term per operand.",
    ),
    "einsum of another rank": (
        lambda: ot.einsum("ijk->i", w),
        ShapeError,
        "einsum `ijk->i`: the term `ijk` for `w` (4, 2)\n"
        "  Give one letter per axis, or `...` for several.",
    ),
    "einsum of other sizes": (
        lambda: ot.einsum("i,ij->j", x, w),
        ShapeError,
        "einsum: the axis `i` is 3 in `x` and 4 in `w`\n"
        "  Axes of one letter must have equal sizes, or 1.",
    ),
    "einsum of an unknown letter": (
        lambda: ot.einsum("ij->k", w),
        ShapeError,
        "the result of einsum `ij->k` has the unknown letter `k`\n"
        "  Name each axis of the operands at most once.",
    ),
    "tensordot of uneven axes": (
        lambda: ot.tensordot(w, w, ([0, 1], [0])),
        ShapeError,
        "tensordot over 2 axes of `w` (4, 2) and 1 of `w` (4, 2)\n"
        "  Give as many axes of one as of the other.",
    ),
    "diag of a scalar": (
        lambda: ot.diag(1.0),
        ShapeError,
        "diag of the constant 1.0 ()\n  Give a vector or a matrix.",
    ),
    "a triangle of a vector": (
        lambda: ot.tril(x),
        ShapeError,
        "tril of `x` (3,)\n  Give a matrix.",
    ),
    "a kernel of other channels": (
        lambda: ot.conv1d(w, ot.zeros((5, 3, 2))),
        ShapeError,
        "conv1d with 1 groups of 4 channels of `w` and the kernel the constant 0.0 (5, 3, 2)\n"
        "  Each group has an equal part of the features and of the channels of w.",
    ),
    "a kernel of another rank": (
        lambda: ot.conv2d(w, ot.zeros((5, 3, 2))),
        ShapeError,
        "conv2d of `w` (4, 2) with the kernel the constant 0.0 (5, 3, 2)\n"
        "  x is (..., channels, 2 axes), w (features, channels / groups, 2 axes).",
    ),
    "a window longer than the axis": (
        lambda: ot.max_pool1d(w, 3),
        ShapeError,
        "a window of 3 positions, 1 apart, on 2\n  Use a smaller window, or padding.",
    ),
    "windows of padding alone": (
        lambda: ot.max_pool1d(w, 2, padding=2),
        ShapeError,
        "padding 2 for windows of 2\n"
        "  Add fewer positions than a window has: it would see nothing else.",
    ),
    "windows of padding alone along one axis": (
        lambda: ot.avg_pool2d(w, (2, 1), padding=[(1, 1), (0, 1)]),
        ShapeError,
        "padding [(1, 1), (0, 1)] for windows of [2, 1]\n"
        "  Add fewer positions than a window has: it would see nothing else.",
    ),
    "same padding with a stride": (
        lambda: ot.conv1d(w, ot.zeros((1, 4, 1)), 2, "same"),
        ShapeError,
        'padding "same" with stride [2]\n  Give the number of zeros, such as padding=1.',
    ),
    "a stride per axis too many": (
        lambda: ot.conv1d(w, ot.zeros((1, 4, 1)), (1, 2)),
        ShapeError,
        "stride (1, 2) for 1 axes\n  Give a number from 1, or one for each of the 1 axes.",
    ),
    "padding that is no width": (
        lambda: ot.pad(w, [(1, 2)]),
        ShapeError,
        "padding of `w` (4, 2) by [(1, 2)]\n  Give a number from 0, a pair, or a pair per axis.",
    ),
    "a mirror longer than the axis": (
        lambda: ot.pad(w, [(0, 0), (0, 2)], "reflect"),
        ShapeError,
        "`w` mirrored by 2 at axis 1 of size 2\n  Pad by less than the size.",
    ),
    "random integers of no type": (
        lambda: ot.random.integers(0, 2, dtype="float32"),
        DtypeError,
        "random integers of type float32\n  Use int32 or int64.",
    ),
    "dirichlet draw from a scalar": (
        lambda: ot.random.dirichlet(ot.constant(1.0)),
        ShapeError,
        "dirichlet draw from the constant 1.0, a scalar\n"
        "  Give concentrations with at least one axis.",
    ),
    "shift": (
        lambda: 1 << x,
        DtypeError,
        "`<<` of 1 (int32) and `x` (float32)\n  It takes booleans and integers.",
    ),
    "invert": (
        lambda: ~x,
        DtypeError,
        "`~` of `x` (float32)\n  It takes booleans and integers.",
    ),
    "too large a number": (
        lambda: k + 2**40,
        DtypeError,
        "the number 1099511627776 does not fit int32\n  Use int64 or a float type.",
    ),
    "too large a constant": (
        lambda: ot.constant([1, 2**40]),
        DtypeError,
        "the number 1099511627776 does not fit int32\n  Use int64 or a float type.",
    ),
    "a negative unsigned number": (
        lambda: ot.full((2,), -1, "uint32"),
        DtypeError,
        "the number -1 does not fit uint32\n  Use int64 or a float type.",
    ),
    "a negative power": (
        lambda: k**-2,
        DtypeError,
        "`k`, an integer, to the power -2\n"
        '  Cast it with `.cast("float32")`, or use a power of at least 0.',
    ),
    "unsigned": (
        lambda: k + k64,
        DtypeError,
        "uint32 meets int32\n  Cast one of them with `.cast`.",
    ),
    "take": (
        lambda: x.take(x, axis=0),
        DtypeError,
        "`x` (float32) indexes `x`\n  Cast the index to an integer type.",
    ),
    "dtype": (
        lambda: x.cast("float8"),
        DtypeError,
        "there is no dtype `float8`\n"
        "  Did you mean `float64`? Use one of bool, int32, int64, float32, float64, uint32, "
        "float16, bfloat16.",
    ),
    "truth": (
        lambda: bool(x > 0),
        TruthError,
        "an expression of `x` has no truth value while the program is written\n"
        "  Use ot.where, and & | ~ instead of and, or, not.",
    ),
    "max": (
        lambda: x[max(t - 1, 0)],
        TruthError,
        "condition `0 >= t` is symbolic: Python cannot decide on it now\n"
        "  Use ot.minimum, ot.maximum or ot.where, and & | ~ instead of and, or, not.",
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_operands.py:{make.__code__.co_firstlineno}"
    assert rest == text


def test_the_right_side_of_an_equation_of_another_shape() -> None:
    s = ot.recurrent("s", (3,), over=t)
    where = here(1)
    assert refusal(ShapeError, lambda: s.__setitem__(0, ot.zeros(4))) == (
        f"{where}: `s` has shape (3,), the right side of its equation (4,)\n"
        "  Make the shapes equal."
    )


def test_the_right_side_of_an_equation_of_another_type() -> None:
    s = ot.recurrent("s", dtype="int32", over=t)
    where = here(1)
    assert refusal(DtypeError, lambda: s.__setitem__(0, ot.zeros())) == (
        f"{where}: `s` is int32, the right side of its equation float32\n"
        "  Write `.cast('int32')` on the right."
    )
