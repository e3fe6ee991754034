"""Records, states and profiles on a GPU: ``pytest -m gpu tests/cuda/test_gpu_streams.py``."""

from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.runtime.run import cuda_device, paused_stream
from tests.cuda.streamed import (
    LARGE,
    SMALL,
    assert_profile,
    assert_resumed,
    case,
    expected,
    opened,
    states_of,
)
from tests.pipeline.test_resumed import bits

LACKS = cuda_device.missing()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(LACKS), reason=LACKS),
    pytest.mark.filterwarnings("ignore:rewriting left a part"),
]
FORMS = pytest.mark.parametrize("can_cooperate", [True, False], ids=["cooperative", "launched"])


def compiled(name: str, can_cooperate: bool = True) -> Compiled:
    run = case(name)[1].compile(target="cuda", threads=2, exact=True)
    run.executable.module.is_cooperative &= can_cooperate  # type: ignore[attr-defined]  # of a device
    return run


@pytest.mark.parametrize("part_s", [0.0, np.inf], ids=["each step", "many steps"])
@FORMS
@pytest.mark.parametrize("name", SMALL)
def test_a_device_goes_on_from_a_state_with_the_bits_of_the_cpu(
    name: str, can_cooperate: bool, part_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paused_stream, "PART_S", part_s)
    run = compiled(name, can_cooperate)
    assert [bits(record) for record in opened(run, name)] == expected(name)
    states = states_of(run, name, every=4)
    assert_resumed(run, name, {step: states[step] for step in (1, 4, 5, len(states))})


@pytest.mark.parametrize("name", LARGE)
def test_whole_algorithms_go_on_too(name: str, tmp_path: Path) -> None:
    run = compiled(name)
    states = states_of(run, name, every=4)
    ot.save(tmp_path / "it", states[5])
    assert_resumed(run, name, {5: ot.load(tmp_path / "it"), 8: states[8]})


@pytest.mark.parametrize("keep", [1, 3, "all"])
def test_a_stream_has_room_for_some_records_only(keep: object) -> None:
    for name in ("windows", "actor"):
        found = [bits(record) for record in opened(compiled(name), name, keep=keep)]
        assert found == expected(name), name


def test_a_stream_that_is_closed_leaves_the_device_to_others() -> None:
    run = compiled("actor")
    with opened(run, "actor", I=500_000) as records:  # some minutes, if nobody closed it
        assert [bits(next(records)) for _ in range(3)] == expected("actor")[:3]
        inner = [bits(record) for record in opened(run, "actor")]
        assert inner == expected("actor")
    assert [bits(record) for record in opened(run, "actor")] == expected("actor")


@pytest.mark.parametrize("name", ["network", "windows", "ppo"])
def test_a_profile_says_what_each_phase_took(name: str) -> None:
    run, (over, _, given) = compiled(name), case(name)
    assert_profile(run.profile(**given), dict(run(**given).items()))
    records, profile = run.profiled_stream(over, **given)
    assert [bits(record) for record in records] == expected(name)
    assert_profile(profile(), {})
