"""What limits of memory cost, as a table and a picture."""

import xml.etree.ElementTree as ET
from functools import cache

import pytest

import ostinato as ot
from ostinato.pdg.errors import MemoryLimitError
from ostinato.report.memory_curve import LimitCost, MemoryCurve

SIZES = {"T": 64, "B": 8}


@cache
def program() -> ot.Program:
    """A recurrence whose gradient reads every step again."""
    b, t = ot.dims("b t")
    h, rate = ot.recurrent("h", over=(b, t)), ot.input("rate")
    h[b, 0] = 1.0
    h[b, t + 1] = ot.sin(h * rate)
    loss = ot.square(h[:, -1]).mean()
    return ot.Program(loss=loss, slope=ot.grad(loss, rate))


@cache
def curve() -> MemoryCurve:
    return program().compile().explain(**SIZES).memory.curve()


def test_every_point_is_smaller_and_takes_longer_than_the_one_before() -> None:
    points = curve().points
    assert len(points) > 2 and not points[0].ways and all(p.ways for p in points[1:])
    assert [p.peak_bytes for p in points] == sorted({p.peak_bytes for p in points}, reverse=True)
    assert points[-1].predicted_ns > points[0].predicted_ns
    assert all(p.peak_bytes <= p.limit for p in points)


def test_less_than_the_last_point_is_refused_with_the_tensor_that_takes_most() -> None:
    with pytest.raises(MemoryLimitError) as caught:
        program().compile(memory_limit=curve().least_bytes - 1, hints=SIZES)
    assert f"memory_limit={curve().least_bytes} " in caught.value.remedy
    assert caught.value.fact.endswith(curve().largest)
    assert curve().table().endswith(f"less is refused: {curve().largest}")


def test_the_picture_has_a_dot_for_every_limit() -> None:
    made = MemoryCurve((LimitCost(900, 900, 1e6), LimitCost(90, 80, 3e6, ("<a>",))), "`x`")
    dots = list(ET.fromstring(made.to_svg()).iter("{http://www.w3.org/2000/svg}circle"))
    assert ["".join(dot.itertext()) for dot in dots] == [
        "900 bytes: 1.00 times. as without a limit", "80 bytes: 3.00 times. <a>"
    ]  # fmt: skip
    assert not MemoryCurve().table() and not MemoryCurve(made.points[:1]).to_svg()


def test_the_fullest_phase_names_what_makes_the_lower_bound() -> None:
    use = program().compile().explain(**SIZES).memory
    assert sum(s.size for s in use.fullest) == use.lower_bound_bytes
    assert f"most of it `{use.fullest[0].name}`" in str(use)
