"""Products that all threads of a block compute: by blocks, slices and passes, and one by one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.codegen.cuda import shares
from ostinato.codegen.cuda.cuda_module import Source, function
from ostinato.codegen.cuda.products import Product
from ostinato.codegen.cuda.shares import ROOM, Share, share
from ostinato.codegen.loops.matmul_spec import Matmul, Operand, Step
from tests.cuda.simulator import Fault, Memory, launch, simulated

pytestmark = pytest.mark.cuda_sim
BOTH = frozenset("ab")
ADDED = (Step("out", ("add", ("name", "acc"), ("name", "bias")), "result"),)


@dataclass(frozen=True)
class Case:
    """A product of matrices in any layout, of which some rows may be read by nobody."""

    m: int
    n: int
    k: int
    is_down: tuple[bool, bool] = (False, False)  # operands with columns side by side
    gap: int = 0  # between rows
    rows: int | None = None
    is_deep: bool = False  # whether the number of terms is known only at run time
    begins: bool = False
    aligned: frozenset[str] = BOTH
    exact: bool = False
    turns: int = 0  # of an axis around k: it adds to what is stored, and nothing follows

    @property
    def spec(self) -> Matmul:
        a_row, b_row = self.k + self.gap, self.n + self.gap
        a_column, b_column = self.m + self.gap, self.k + self.gap
        operands = (Operand("result", self.n, 1), Operand("bias", 0, 1))
        around = ((self.turns, 256, 256),) if self.turns else ()
        steps = (Step("out", ("name", "acc"), "result"),) if self.turns else ADDED
        return Matmul(
            "float32",
            self.m,
            self.n,
            "depth" if self.is_deep else self.k,
            (1, a_column) if self.is_down[0] else (a_row, 1),
            (1, b_column) if self.is_down[1] else (b_row, 1),
            operands,
            steps,
            start="result" if self.begins or self.turns else None,
            rows="living_rows" if self.rows is not None else "",
            around=around,
        )


def computed(case: Case, threads: int, text: str = "") -> npt.NDArray[np.float32]:
    """What a block makes of numbers by chance, beside what the matrices give."""
    spec, numbers = case.spec, np.random.default_rng(0)
    turns = case.turns or 1
    a = numbers.integers(-4, 5, (turns, case.m, case.k)).astype(np.float32)
    b = numbers.integers(-4, 5, (turns, case.k, case.n)).astype(np.float32)
    bias = numbers.integers(-4, 5, case.n).astype(np.float32)
    start = numbers.integers(-4, 5, (case.m, case.n)).astype(np.float32)
    read = case.m if case.rows is None else case.rows
    a[:, read:] = np.nan
    words = np.full(8192, np.nan, np.float32)
    at = {"a": 4, "b": 1024, "result": 4096, "bias": 2048}
    for name, matrix, strides in (("a", a, spec.a), ("b", b, spec.b)):
        at[name] += name not in case.aligned
        for (turn, i, j), x in np.ndenumerate(matrix):
            words[at[name] + turn * 256 + i * int(strides[0]) + j * int(strides[1])] = x
    words[at["bias"] : at["bias"] + case.n] = bias
    words[at["result"] : at["result"] + case.m * case.n] = start.ravel()
    memory = Memory(words.view(np.uint8), shared_bytes=max(8, 4 * ROOM))
    sizes = {"living_rows": read, "depth": case.k}
    given_ = [*at.values(), *(sizes[name] for name in spec.runtime)]
    ordered = (at["a"], at["b"], at["result"], at["bias"], *given_[4:])
    scope = simulated(text or source(case))
    scope["cuda"] = SimpleNamespace(shared=SimpleNamespace(array=memory.of_block))
    args = (memory.views(), *ordered)
    launch(scope["main"], 1, threads, memory, args, random.Random(0))
    found = words[at["result"] : at["result"] + case.m * case.n].reshape(case.m, case.n)
    whole = (a @ b).sum(0) + (start if case.turns or case.begins else 0)
    whole = whole if case.turns else whole + bias
    expected = np.where(np.arange(case.m)[:, None] < read, whole, 0)
    np.testing.assert_array_equal(found, expected)
    return found


def source(case: Case) -> str:
    """A kernel that calls one product."""
    product, made = Product(case.spec, case.exact, case.aligned), Source(case.exact)
    made.texts["product"] = function(
        "device", "product", product.parameters(), made.body(product.body(), {})
    )
    taken = ", ".join(product.parameters()[:-2])
    return "\n\n".join(
        (
            *made.library.texts.values(),
            *made.texts.values(),
            f"@kernel\ndef main({taken}):\n"
            f"    product({taken}, block_thread(), block_threads())\n    block_barrier()\n",
        )
    )


SIZES = st.sampled_from([1, 2, 3, 4, 5, 8, 12, 16])
CASES = st.builds(
    Case,
    *(SIZES, SIZES, SIZES),
    is_down=st.tuples(st.booleans(), st.booleans()),
    gap=st.sampled_from([0, 0, 1, 4]),
    is_deep=st.booleans(),
    begins=st.booleans(),
    aligned=st.sampled_from([BOTH, frozenset("a"), frozenset("b"), frozenset[str]()]),
    exact=st.booleans(),
)


@given(CASES, st.integers(1, 9), st.floats(0, 1))
def test_products_of_any_layout_are_those_of_matrices(
    case: Case, threads: int, living: float
) -> None:
    computed(replace(case, rows=round(living * case.m)), threads)
    computed(case, threads)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(4, 4, 4), (8, 4, 1), (3, 8, 12), (12, 12, 12)])
def test_a_sum_runs_over_axes_around_the_terms(m: int, n: int, k: int, exact: bool) -> None:
    computed(Case(m, n, k, turns=3, exact=exact), 3)


@settings(max_examples=20)
@given(CASES, st.sampled_from([8, 16, 32]))
def test_passes_of_few_sums_give_the_same(case: Case, room: int) -> None:
    before = shares.ROOM
    shares.ROOM = room
    try:
        computed(replace(case, exact=False), 3)
    finally:
        shares.ROOM = before


@pytest.mark.parametrize("number", [0, 1])
def test_each_barrier_is_needed(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "ROOM", 128)
    case = Case(16, 16, 16)
    parts = source(case).split("block_barrier()\n")
    assert len(parts) == 4  # in a pass, after it, and of the kernel
    text = "block_barrier()\n".join(parts[: number + 1]) + "pass\n"
    text += "block_barrier()\n".join(parts[number + 1 :])
    with pytest.raises(Fault, match="without a barrier|writes what"):
        computed(case, 3, text)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (Case(64, 64, 64), ("terms", "side")),
        (Case(64, 64, 64, is_down=(True, False)), ("side", "side")),
        (Case(64, 64, 64, aligned=frozenset("b")), ("each", "side")),
        (Case(64, 64, 63), ("each", "side")),
        (Case(64, 63, 64), ("terms", "each")),
        (Case(64, 64, 64, gap=2), ("each", "each")),
    ],
)
def test_four_numbers_are_loaded_where_they_lie_side_by_side(
    case: Case, expected: tuple[str, str]
) -> None:
    found = share(case.spec, case.aligned)
    assert found is not None
    assert (found.a, found.b) == expected


def test_every_thread_has_work_where_elements_are_few() -> None:
    found = share(Case(1, 64, 64).spec, BOTH)
    assert found is not None
    assert found.blocks * found.slices >= 128


@pytest.mark.parametrize("size", [(1, 1), (64, 4096), (7, 5000), (96, 50)])
def test_a_pass_has_room(size: tuple[int, int]) -> None:
    found = share(Case(*size, 64).spec, BOTH)
    assert isinstance(found, Share)
    assert found.height * found.width * found.slices <= ROOM
    assert (size[0] % found.height, size[1] % found.width) == (0, 0)
