"""Matrix products of every form against NumPy, with steps, run-time sizes and odd shapes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from ostinato.codegen.cpu.flags import DRIVER
from ostinato.codegen.cpu.llvm_text import i64
from ostinato.codegen.cpu.matmul import matmul
from ostinato.codegen.cpu.matmul_blocks import chosen_rows, split
from ostinato.codegen.cpu.matmul_frame import living
from ostinato.codegen.cpu.matmul_packed import is_large
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.vector import Float
from ostinato.codegen.loops.matmul_spec import Form, Matmul, Operand, Size, Step

Array = npt.NDArray[Any]
ACC = ("name", "acc")
FORMS: tuple[Form, ...] = ("broadcast", "dots", "plain")


@dataclass(frozen=True)
class Problem:
    """Random operands in one arena: A, B, bias (n), scale (m), gain, C, D, E (every other)."""

    m: int
    n: int
    k: int
    dtype: Float
    is_transposed: bool

    def parts(self) -> list[Array]:
        rng = np.random.default_rng(self.m * 10_000 + self.n * 100 + self.k)
        m, n, k = self.m, self.n, self.k
        shapes = [(m, k), (n, k) if self.is_transposed else (k, n), (n,), (m,), (1,), (m, n)]
        drawn = [rng.normal(size=shape).astype(self.dtype) for shape in shapes]
        return [*drawn, np.zeros((m, n), self.dtype), np.zeros((m, 2 * n), self.dtype)]

    def spec(self, form: Form, start: str | None = None, is_runtime: bool = False) -> Matmul:
        m, n, k = self.sizes(is_runtime)
        operands = (
            Operand("bias", 0, 1),
            Operand("scale", 1, 0),
            Operand("gain", 0, 0),
            Operand("c", n, 1),
            Operand("d", n, 1),
            Operand("e", f"{n}2" if is_runtime else 2 * self.n, 2),
        )
        steps = (
            Step("z", ("mul", ("add", ACC, ("name", "bias")), ("name", "scale")), "d"),
            Step("h", ("where", ("gt", ("name", "z"), ("const", 0.0)), ("name", "z"), ACC), "e"),
            Step("s", ("add", ("mul", ACC, ("name", "gain")), ("name", "c")), "c"),
        )
        b = (1, k) if self.is_transposed else (n, 1)
        return Matmul(self.dtype, m, n, k, (k, 1), b, operands, steps, start, form)

    def sizes(self, is_runtime: bool) -> tuple[Size, Size, Size]:
        return ("M", "N", "K") if is_runtime else (self.m, self.n, self.k)

    def expected(self, start: str | None) -> tuple[Array, Array, Array]:
        a, b, bias, scale, gain, c, _, _ = (part.astype(np.float64) for part in self.parts())
        acc = a @ (b.T if self.is_transposed else b)
        acc = acc + (c if start == "c" else bias if start == "bias" else 0.0)
        z = (acc + bias) * scale[:, None]
        return acc * gain + c, z, np.where(z > 0, z, acc)


@cache
def compiled(spec: Matmul) -> Callable[..., None]:
    """A product of matrices, compiled once for all sizes that it gets when it runs."""
    product = matmul(spec)

    @njit(**DRIVER)
    def run(view: Array, places: object, lengths: object) -> None:
        product(view, places, lengths)

    return run


def results(problem: Problem, spec: Matmul) -> tuple[Array, Array, Array]:
    parts = problem.parts()
    ends = np.cumsum([part.size for part in parts])
    arena = np.concatenate([part.ravel() for part in parts])
    offsets = (0, *(int(end) for end in ends[:-1]))
    known = {"M": problem.m, "N": problem.n, "K": problem.k, "N2": 2 * problem.n, "R": 5}
    known |= {"never": 0, "twice": 2}
    sizes = tuple(known[name] for name in spec.runtime)
    compiled(spec)(arena, offsets, sizes)
    c, d, e = (arena[end - part.size : end] for end, part in zip(ends[5:], parts[5:], strict=True))
    shape = problem.m, problem.n
    assert not np.any(e.reshape(problem.m, 2 * problem.n)[:, 1::2])
    return c.reshape(shape), d.reshape(shape), e.reshape(problem.m, 2 * problem.n)[:, ::2]


def assert_right(problem: Problem, spec: Matmul) -> None:
    bound = 2e-5 if problem.dtype == "float32" else 1e-13
    for found, wanted in zip(results(problem, spec), problem.expected(spec.start), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 16, 40, 65, 129])
@pytest.mark.parametrize("form", FORMS)
def test_any_number_of_columns_is_right(n: int, form: Form) -> None:
    problem = Problem(m=6, n=n, k=5, dtype="float32", is_transposed=form == "dots")
    assert_right(problem, problem.spec(form))


@pytest.mark.parametrize(("m", "k"), [(1, 64), (4, 0), (3, 1), (9, 17), (8, 40)])
@pytest.mark.parametrize("form", FORMS)
def test_any_number_of_rows_and_products_is_right(m: int, k: int, form: Form) -> None:
    problem = Problem(m, 11, k, dtype="float32", is_transposed=form == "dots")
    assert_right(problem, problem.spec(form))


@pytest.mark.parametrize("runtime", [False, True])
@pytest.mark.parametrize("shape", [(1, 16), (6, 40), (13, 7), (70, 512)])
def test_sums_over_several_axes_have_the_bits_of_one(shape: tuple[int, int], runtime: bool) -> None:
    """Every two of shape, form, and whether sizes are known, meet."""
    m, n = shape
    form: Form = "plain" if runtime == (shape in ((6, 40), (70, 512))) else "broadcast"
    problem = Problem(m, n, 2 * 3 * 80, "float32", is_transposed=False)
    whole = problem.spec(form, "c", runtime)
    whole = replace(whole, steps=(Step("s", ACC, "c"),))
    columns: Size = "N" if runtime else n
    parts = replace(whole, k=80, around=((2, 240, 240 * n), (3, 80, 80 * n)), a=(480, 1))
    assert is_large(replace(parts, n=n)) == (n == 512)
    assert parts.b == (columns, 1)
    for found, wanted in zip(results(problem, parts), results(problem, whole), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_product_says_which_sums_over_several_axes_it_cannot_have() -> None:
    spec = replace(Problem(4, 4, 4, "float32", False).spec("broadcast"), around=((2, 1, 1),))
    with pytest.raises(ValueError, match="only add to what is stored"):
        matmul(spec)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", FORMS)
def test_run_time_sizes_are_right_for_every_shape(form: Form, dtype: Float) -> None:
    for m, n, k in ((1, 1, 1), (5, 67, 3), (8, 16, 20), (2, 3, 0), (0, 4, 4)):
        problem = Problem(m, n, k, dtype, is_transposed=form == "dots")
        assert_right(problem, problem.spec(form, is_runtime=True))


@pytest.mark.parametrize("form", ["broadcast", "dots"])
def test_rows_beside_those_that_somebody_reads_are_zero(form: Form) -> None:
    problem = Problem(32, 64, 9, "float32", is_transposed=form == "dots")
    found, _, _ = results(problem, replace(problem.spec(form), rows="R"))
    wanted, _, _ = problem.expected(None)
    np.testing.assert_allclose(found[:5], wanted[:5], rtol=2e-5, atol=2e-5)
    before = problem.parts()[5]
    assert before[8:16].all() and not found[8:16].any()
    np.testing.assert_array_equal(found[16:], before[16:])  # sixteen slots are computed together


def among(problem: Problem, axis: Literal["m", "k"], lives: list[int], damaged: int) -> Array:
    """C where only some positions live; the others' numbers in one part are NaN."""
    parts = problem.parts()
    mask = np.zeros(problem.m if axis == "m" else problem.k, np.float32)
    dead = [k for k in range(len(mask)) if k not in lives]
    parts[damaged][dead] = np.nan
    mask.view(np.uint8)[lives] = 1
    ends = np.cumsum([part.size for part in parts])
    arena = np.concatenate([*(part.ravel() for part in parts), mask])
    offsets = (0, *(int(end) for end in ends[:-1]))
    product = matmul(replace(problem.spec("broadcast"), living=axis))
    listing, size = living(len(mask)), len(mask)

    @njit(**DRIVER)
    def run(view: Array, places: tuple[int, ...], start: int) -> None:
        product(view, (*places, listing(view, start, 1, size)), ())

    run(arena, offsets, 4 * int(ends[-1]))
    return arena[ends[4] : ends[5]].reshape(problem.m, problem.n)


@pytest.mark.parametrize("lives", [[], [3], [0, 1, 5, 8, 30], [*range(32)]], ids=str)
def test_terms_that_are_dead_are_left_out_whatever_they_are(lives: list[int]) -> None:
    problem = Problem(8, 40, 32, "float32", is_transposed=False)
    a, b, _, _, gain, c, _, _ = problem.parts()
    found = among(problem, "k", lives, damaged=1)
    np.testing.assert_allclose(found, a[:, lives] @ b[lives] * gain + c, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lives", [[], [31], [0, 1, 5, 8, 30], [*range(32)]], ids=str)
def test_living_rows_are_right_and_most_of_the_others_zero(lives: list[int]) -> None:
    problem = Problem(32, 64, 9, "float32", is_transposed=False)
    found, (wanted, _, _) = among(problem, "m", lives, damaged=5), problem.expected(None)
    np.testing.assert_allclose(found[lives], wanted[lives], rtol=2e-5, atol=2e-5)
    assert (~found.any(axis=1)).sum() >= 32 - -(-len(lives) // 4) * 4  # in blocks of four


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", ["c", "bias"])
def test_the_sum_may_start_from_an_operand(start: str, form: Form) -> None:
    problem = Problem(5, 6, 7, dtype="float64", is_transposed=form == "dots")
    assert_right(problem, problem.spec(form, start))


@pytest.mark.parametrize(("m", "n", "k"), [(64, 512, 64), (67, 515, 130)])
@pytest.mark.parametrize("start", ["c", None])
def test_a_large_product_is_right_from_copied_panels(
    m: int, n: int, k: int, start: str | None
) -> None:
    problem = Problem(m, n, k, dtype="float32", is_transposed=False)
    spec = problem.spec("auto", start)
    assert is_large(spec)
    assert_right(problem, spec)


@pytest.mark.parametrize(("m", "n", "k"), [(5, 40, 7), (64, 512, 64), (64, 512, 130)])
def test_sums_that_have_not_begun_start_from_zero(m: int, n: int, k: int) -> None:
    problem = Problem(m, n, k, dtype="float32", is_transposed=False)
    spec = problem.spec("broadcast", "c")
    assert_right(problem, replace(spec, begun="twice"))
    found = results(problem, replace(spec, begun="never"))
    for each, wanted in zip(found, problem.expected(None), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("k", "most"), [(0, 128), (7, 128), (128, 128), (130, 300), (300, 300)])
def test_a_large_product_may_have_fewer_terms_than_it_has_room_for(k: int, most: int) -> None:
    problem = Problem(64, 512, k, dtype="float32", is_transposed=False)
    spec = replace(problem.spec("broadcast", "c"), k="K", most=most)
    assert is_large(spec) and not is_large(replace(spec, most=0))
    assert_right(problem, spec)


def test_a_large_product_of_any_number_of_rows_is_right() -> None:
    for m in (1, 129):
        problem = Problem(m, 512, 160, dtype="float32", is_transposed=False)
        spec = replace(problem.spec("auto"), m="M")
        assert is_large(spec)
        assert_right(problem, spec)


def test_small_and_narrow_products_copy_nothing() -> None:
    sizes = [(32, 512, 512), (128, 64, 4096), (128, 512, 32)]
    problems = [Problem(*size, dtype="float32", is_transposed=False) for size in sizes]
    assert not any(is_large(problem.spec("auto")) for problem in problems)


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("form", ["broadcast", "dots"])
def test_narrower_vectors_are_right(form: Form, lanes: int) -> None:
    problem = Problem(5, 21, 19, dtype="float32", is_transposed=form == "dots")
    assert_right(problem, replace(problem.spec(form), lanes=lanes))


@pytest.mark.parametrize("n", [1, 6, 20])
def test_a_product_with_only_consecutive_rows_is_swapped_and_right(n: int) -> None:
    m, k = 19, 5
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(k, m)), rng.normal(size=(n, k))
    spec = Matmul(
        "float64", m, n, k, (1, m), (2, 2 * k), (Operand("c", n, 1),), (Step("z", ACC, "c"),)
    )
    assert spec.is_better_swapped
    product = matmul(spec)

    @njit(**DRIVER)
    def run(view: Array) -> None:
        product(view, (0, 200, 600), ())

    arena = np.zeros(1200)
    arena[: m * k] = a.ravel()
    arena[200 : 200 + 2 * n * k : 2] = b.ravel()
    run(arena)
    np.testing.assert_allclose(arena[600 : 600 + m * n].reshape(m, n), a.T @ b.T, atol=1e-13)


@pytest.mark.parametrize("n", [17, 33, 60, 100, 130])
@pytest.mark.parametrize("m", [13, 32])
def test_columns_that_fill_no_whole_vectors_are_right(m: int, n: int) -> None:
    problem = Problem(m, n, 9, dtype="float32", is_transposed=False)
    assert_right(problem, problem.spec("broadcast", "c"))


def test_panels_cover_all_vectors_and_none_is_one_vector_alone() -> None:
    for most in (2, 4, 8):
        for vectors in range(1, 40):
            whole, ends = split(vectors, most)
            assert whole * most + sum(ends) == vectors
            assert max(ends, default=0) <= most
            assert vectors < 3 or most == 2 or 1 not in ends


def test_blocks_hide_the_latency_of_a_multiply_add_within_the_registers() -> None:
    for sums, most in ((16, 4), (12, 2)):
        for columns in range(1, most + 1):
            rows = chosen_rows(sums, columns, 32)
            assert 8 <= rows * columns <= sums


def test_rows_that_are_counted_at_run_time_keep_sums_enough_in_flight() -> None:
    rows = [chosen_rows(16, columns, i64(32)) for columns in (1, 2, 4)]
    assert rows == [8, 4, 4]


def test_narrow_products_of_any_number_of_rows_are_right() -> None:
    for m in (3, 7, 13, 16):
        problem = Problem(m, 16, 5, "float32", is_transposed=False)
        assert_right(problem, replace(problem.spec("broadcast"), m="M"))


def test_a_printed_spec_is_source_for_the_same_spec() -> None:
    spec = Problem(5, 6, 7, "float64", False).spec("auto", "c", is_runtime=True)
    names = {"Matmul": Matmul, "Operand": Operand, "Step": Step}
    assert eval(repr(spec), names) == spec
    assert spec.runtime == ("K", "M", "N", "N2")


def test_auto_chooses_the_form_by_the_strides() -> None:
    spec = Problem(8, 64, 64, "float32", False).spec("auto")
    assert spec.chosen_form == "broadcast"
    assert replace(spec, b=(1, 64)).chosen_form == "dots"
    assert replace(spec, b=(1, 64), a=(1, 8)).chosen_form == "plain"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": ()}, "no step stores anything"),
        ({"start": "x"}, "no operand 'x' to start from"),
        ({"steps": (Step("z", ("name", "y"), "c"),)}, r"step 'z' reads the unknown names \['y'\]"),
        ({"steps": (Step("z", ACC, "bias"),)}, "'bias' has one element for several results"),
        ({"steps": (Step("z", ("tan", ACC, ACC), "c"),)}, "not an expression"),
        ({"b": (1, 9), "form": "broadcast"}, "needs stride 1 of B along n"),
        ({"lanes": 3}, "lanes must be a power of two or 0, not 3"),
    ],
)
def test_a_spec_that_contradicts_itself_is_an_error(change: dict[str, Any], message: str) -> None:
    spec = Problem(5, 6, 7, "float64", False).spec("auto")
    with pytest.raises(ValueError, match=message):
        matmul(replace(spec, **change))
