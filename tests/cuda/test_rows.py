"""Loops over steps run by rows where, and only where, rows stay by themselves."""

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.codegen.cuda.kept import Steps
from ostinato.codegen.cuda.rows import Rows, of_row
from ostinato.codegen.cuda.touches import Access
from ostinato.codegen.loops.expression import Expression, Name, call
from ostinato.codegen.loops.statements import Block, For
from tests.cuda.programs import environment, recurrence

ACCESSES = {
    "ld_x": Access("x", "float32", False),
    "st_x": Access("x", "float32", True),
    "ld_y": Access("y", "float32", False),
}
t, i, at_x, at_y, n, T = map(Name, ("t", "i", "at_x", "at_y", "n", "T"))


def loop(store: Expression, load: str, place: Expression) -> For:
    """Steps, in each of which 32 rows store to `x` what they load."""
    out = Block()
    with out.loop("t", T), out.loop("i", 32, binding="lanes"):
        out.do(call("st_x", "arena", store, call(load, "arena", place)))
    (made,) = out.body
    assert isinstance(made, For)
    return made


FITS: dict[str, tuple[Expression, str, Expression]] = {
    "one place": (at_x + i, "ld_x", at_x + i),
    "a place for each step": (at_x + t * 32 + i, "ld_x", at_x + t * 32 + i),
    "two columns": (at_x + i, "ld_x", at_x + 32 + i),
    "places in circles": (at_x + t % 2 * 64 + i, "ld_x", at_x + (t + 1) % 2 * 64 + i),
    "what is only read": (at_x + i, "ld_y", at_y + t * n + i),
}
DIFFERS: dict[str, tuple[Expression, str, Expression]] = {
    "the next row": (at_x + i, "ld_x", at_x + i + 1),
    "steps too near": (at_x + t * 16 + i, "ld_x", at_x + t * 16 + i),
    "another stride": (at_x + i, "ld_x", at_x + i * 2),
    "one element for all": (at_x, "ld_x", at_x + i),
    "a distance not known": (at_x + i, "ld_x", at_x + n + i),
    "a place that is loaded": (at_x + i, "ld_x", at_x + call("i64", call("ld_y", "arena", i))),
}


@pytest.mark.parametrize("of", FITS.values(), ids=FITS)
def test_rows_that_stay_by_themselves_need_no_barriers(
    of: tuple[Expression, str, Expression],
) -> None:
    assert Rows(ACCESSES, {}).fits(loop(*of))


@pytest.mark.parametrize("of", DIFFERS.values(), ids=DIFFERS)
def test_a_row_that_may_touch_another_one_needs_them(
    of: tuple[Expression, str, Expression],
) -> None:
    assert not Rows(ACCESSES, {}).fits(loop(*of))


def test_only_a_place_that_never_moves_is_a_variable() -> None:
    found: list[int] = []
    for name in FITS:
        looked = Steps(ACCESSES, {})
        (row,) = of_row(loop(*FITS[name]), 32)
        assert isinstance(row, For)
        assert looked.look(row)
        found.append(len([*looked.kept(set(), is_alone=True)]))
    assert found == [1, 0, 2, 0, 1]


def kernels(program: ot.Program) -> str:
    return program.compile(target="cuda", threads=2).explain().kernels[0]


@pytest.mark.cuda_sim
def test_the_kernel_of_a_recurrence(
    simulate: Callable[..., None], golden: Callable[[str, str], None]
) -> None:
    simulate()
    golden("recurrence.cuda.txt", kernels(recurrence()[0]))


@pytest.mark.cuda_sim
def test_an_environment_lives_in_the_variables_of_one_thread(
    simulate: Callable[..., None],
) -> None:
    simulate()
    text = kernels(environment()[0])
    text = text[text.index("own_state_motion_0 = ") :]
    steps = text[text.index("while t < T") : text.rindex("own_state_motion_0\n")]
    assert "barrier" not in steps
    assert "own_state_motion_3 = f32(" in steps
