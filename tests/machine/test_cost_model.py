import pytest

from ostinato.machine.cost_model import CostModel
from ostinato.machine.profile import Profile

PROFILE = Profile()
COST = CostModel(PROFILE)


def test_a_loop_takes_the_time_of_whole_vectors() -> None:
    assert [COST.vectors(n, "float32") for n in (0, 1, 16, 17)] == [16.0, 16.0, 16.0, 32.0]
    assert COST.vectors(9, "float64") == 16.0
    assert COST.wide("int64") == PROFILE.wide


def test_a_product_fills_vectors_along_what_its_form_walks() -> None:
    rows, dots, plain = (
        COST.product_ns(8, 1, 16, f, "float32") for f in ("broadcast", "dots", "plain")
    )
    assert dots < plain < rows
    start, each = PROFILE.product_ns, PROFILE.multiply_ns[0]  # one column is as dear as one row
    assert rows == pytest.approx(start + 8 * 16 * 16 * each)
    assert dots == pytest.approx(start + 8 * 16 * each * PROFILE.dots)
    assert plain == pytest.approx(start + 8 * 16 * each * PROFILE.plain)


@pytest.mark.parametrize(
    ("fold", "fn"),
    [("sum", "add"), ("prod", "mul"), ("max", "maximum"), ("min", "maximum"), ("any", "or")],
)
def test_a_fold_waits_for_what_it_repeats(fold: str, fn: str) -> None:
    assert COST.fold_wait_ns(fold) == COST.wait_ns(fn)


def test_neighbouring_rows_go_on_together() -> None:
    assert COST.row_ns("linear", 64, 64, 16) == pytest.approx(COST.row_ns("linear", 64, 64, 1) / 4)


def test_one_worker_meets_nobody() -> None:
    assert COST.meeting_ns(1) == 0.0 < COST.meeting_ns(2)
    assert COST.call_ns(2) - COST.call_ns(1) == PROFILE.joining_ns
