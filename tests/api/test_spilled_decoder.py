"""Keys and values of a decoder that do not fit into memory: each step reads them all, by a plan."""

import threading
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from bench.ours.models import Transformer, generation
from ostinato import nn, optim
from ostinato.certificate.order import Layout, Passage
from ostinato.certificate.slots import Misplaced
from ostinato.certificate.spelled import read_record, record_data
from ostinato.certificate.timeline import layouts_of, timeline_of
from ostinato.certificate.transfer_proof import check_transfers
from ostinato.codegen.planning.arena import layout
from ostinato.pdg.index import Dim
from ostinato.pdg.text.spelling import Spelling
from ostinato.runtime.machine_code.arena_layout import Part
from ostinato.runtime.run.frame import Frame
from tests.api.test_spill import moved, seen
from tests.codegen.test_estimate import planned

SIZES = {"B": 8, "T": 300}
LIMIT = 150_000
ENOUGH = 1 << 30  # without a limit another form may be the fastest, whose sums round otherwise


def decoder(size: int = 16) -> ot.Program:
    """A state that looks at all states so far: scores are results of a product, then its terms."""
    b, t = ot.dims("b t")
    w = ot.input("w", (3, size, size))
    h = ot.recurrent("h", (size,), over=(b, t))
    query, key, value = (h @ w[n] for n in range(3))
    seen = nn.attend(query[..., None, :], key[b, : t + 1], value[b, : t + 1])
    h[b, 0] = ot.input("x", (size,), over=b)
    h[b, t + 1] = ot.tanh(h + seen[..., 0, :])
    return ot.Program(h=h[b, -1])


@cache
def spilled() -> Any:
    return decoder().compile(memory_limit=LIMIT, spill=True, hints=SIZES)


def given(batch: int, steps: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    arrays = {"w": (3, 16, 16), "x": (batch, 16)}
    return {n: rng.normal(size=s).astype("float32") for n, s in arrays.items()} | {"T": steps}


@pytest.mark.parametrize("steps", [1, 37, 300])
def test_what_each_step_reads_whole_has_the_same_bits(steps: int) -> None:
    expected = decoder().compile(memory_limit=ENOUGH, hints=SIZES)(**given(8, steps))["h"]
    assert spilled()(**given(8, steps))["h"].tobytes() == expected.tobytes()


def test_its_transfers_are_planned_and_done() -> None:
    use = spilled().explain(**SIZES).memory
    assert use.predicted_peak_bytes <= LIMIT < use.file_bytes and not use.unplanned
    (timeline,) = use.transfers
    assert timeline.bytes > 20 * use.file_bytes  # what does not stay comes back at every step
    plan = planned(decoder(), **SIZES)
    again_bytes = layout(plan, SIZES, 1, LIMIT).moves.again_bytes
    assert 0.5 * timeline.bytes < again_bytes < 1.5 * timeline.bytes
    spilled()(**given(8, 300))
    (frame,) = [f for f in spilled().executable._free if f.transfers and f.layout.moves.passages]
    expected = sum(p.copies * moved([p]) for p in frame.layout.moves.passages)
    assert frame.transfers and frame.transfers.count == expected > 0


@pytest.mark.parametrize("is_called", [False, True])
def test_certificates_prove_its_transfers(is_called: bool) -> None:
    sizes = {"B": 1, "T": 256} if is_called else SIZES
    plan = planned(tokens() if is_called else decoder(), **sizes)
    order = timeline_of(plan)
    (made,) = layouts_of(plan, 2, [sizes], 480_000 if is_called else LIMIT)
    assert check_transfers(order, made, 2) == moved(made.passages) > 0
    assert is_called == isinstance(made.passages[0].call[-1], Dim)
    (first, *rest) = made.passages
    for wrong, fact in (
        ((replace(first, parts=without_a_point(first)), *rest), "is not waited for at every block"),
        ((first, first, *rest), "is moved by two plans at once"),
    ):
        with pytest.raises(Misplaced, match=fact):
            check_transfers(order, replace(made, passages=wrong), 2)


def without_a_point(of: Passage) -> tuple[Part, ...]:
    (part, *rest) = of.parts
    return (part._replace(points=part.points[:-1]), *rest)


def test_a_loop_of_the_driver_may_share_out_other_work() -> None:
    b, i = ot.dims("b i")
    model = nn.MLP(8, (16,), 1, over=i)
    loss = ot.square(model(ot.input("x", (8,), over=b)))[:, i].mean()
    model.update(optim.SGD(0.1), loss)
    sizes = {"B": 1_000, "I": 20_000}
    plan = planned(ot.Program(loss=loss), **sizes)
    (made,) = layouts_of(plan, 2, [sizes], 120_000)
    assert any(isinstance(p.call[-1], Dim) for p in made.passages)
    assert check_transfers(timeline_of(plan), made, 2) > 0


def tokens() -> ot.Program:
    """A decoder whose kernels the driver calls at every step."""
    return generation(Transformer(1, 64, 4, 256), 0)


def test_what_calls_of_a_loop_of_the_driver_read_whole_has_the_same_bits() -> None:
    model, rng, sizes = Transformer(1, 64, 4, 256), np.random.default_rng(3), {"B": 1, "T": 256}
    shapes = {w.argument("weights"): w.tensor.shape for w in model.named_weights()}
    arrays = {n: (0.5 * rng.normal(size=s)).astype("float32") for n, s in shapes.items()}
    run = tokens().compile(memory_limit=480_000, spill=True, hints=sizes)
    usual = tokens().compile(memory_limit=ENOUGH, hints=sizes)
    for _ in range(2):
        found = run(**sizes, **arrays)["token"]
        assert found.tobytes() == usual(**sizes, **arrays)["token"].tobytes()
    free = run.executable._free  # pyright: ignore[reportPrivateUsage]
    (frame,) = [f for f in free if f.transfers]
    expected = moved(frame.layout.moves.passages)
    assert frame.transfers and frame.transfers.count == expected > 0
    assert not frame.layout.moves.unplanned
    assert all(p.around == 256 for p in frame.layout.moves.passages)
    (timeline,) = run.explain(**sizes).memory.transfers
    assert timeline.bytes > 0
    in_turns_by_two_threads(frame)


def in_turns_by_two_threads(frame: Frame) -> None:
    """Calls of a loop of the driver are one walk, whichever thread makes them."""
    moves, thread = frame.layout.moves, frame.transfers
    assert thread is not None, "histories move"
    thread.count, passage = 0, moves.passages[0]
    points = [point for part in passage.parts for point in part.times * [*part.points]]
    for k, (visit, block) in enumerate([*points, (len(passage.visits), 0)]):
        step, start = block * passage.room.block_steps, frame.layout.memory_bytes // 4
        about = passage.walk, visit, step, start
        one = threading.Thread(target=thread.arrived, args=about) if k % 2 else None
        if one is not None:
            one.start()
            one.join()
        else:
            thread.arrived(*about)
    assert thread.count == moved([passage]) and thread.failure is None


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no account of memory")
def test_memory_of_the_process_grows_by_what_has_room() -> None:
    sizes, slack = {"B": 4, "T": 800}, 1 << 20
    run = decoder(64).compile(memory_limit=450_000, spill=True, hints=sizes)
    rng = np.random.default_rng(7)
    arrays = {"w": rng.normal(size=(3, 64, 64)), "x": rng.normal(size=(4, 64))}
    few = {n: a.astype("float32") for n, a in arrays.items()}
    run(**few, T=10)
    use = run.explain(**sizes).memory
    with seen("RssFile") as most:
        run(**few, T=800)
    assert use.file_bytes > use.room_bytes + 1.1 * slack and not use.unplanned
    assert most[0] <= use.room_bytes + slack


def test_a_history_at_whose_blocks_a_kernel_arrives_too_often_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ostinato.codegen.planning.block_moves.MOST_POINTS", 50)
    run = decoder().compile(memory_limit=LIMIT + 64, spill=True, hints=SIZES)
    use = run.explain(**SIZES).memory
    assert len(use.unplanned) == 2
    assert str(use).endswith(f"moved by the system: {', '.join(use.unplanned)}")


def test_what_would_be_a_long_list_is_a_plan_that_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ostinato.codegen.planning.block_moves.MOST_POINTS", 1_500)
    run = decoder().compile(memory_limit=LIMIT + 128, spill=True, hints=SIZES)
    use = run.explain(**SIZES).memory
    assert use.predicted_peak_bytes <= LIMIT + 128 < use.file_bytes and not use.unplanned
    expected = decoder().compile(memory_limit=ENOUGH, hints=SIZES)(**given(8, 300))["h"]
    assert run(**given(8, 300))["h"].tobytes() == expected.tobytes()
    free = run.executable._free  # pyright: ignore[reportPrivateUsage]
    (frame,) = [f for f in free if f.transfers and f.layout.moves.passages]
    parts = [part for p in frame.layout.moves.passages for part in p.parts]
    assert max(part.times for part in parts) > 10
    done = sum(p.copies * moved([p]) for p in frame.layout.moves.passages)
    assert frame.transfers and frame.transfers.count == done > 2 * len(parts)


def test_certificates_prove_a_plan_that_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.codegen.planning.block_moves.MOST_POINTS", 1_500)
    plan = planned(decoder(), **SIZES)
    (made,) = layouts_of(plan, 2, [SIZES], 220_000)
    order, first = timeline_of(plan), made.passages[0]
    assert max(part.times for p in made.passages for part in p.parts) > 10
    assert check_transfers(order, made, 2) == moved(made.passages)
    k = next(k for k, part in enumerate(first.parts) if part.times > 1)
    more = first.parts[k]._replace(times=first.parts[k].times + 1)
    parts = (*first.parts[:k], more, *first.parts[k + 1 :])
    other = replace(made, passages=(replace(first, parts=parts), *made.passages[1:]))
    with pytest.raises(Misplaced, match="is not waited for at every block"):
        check_transfers(order, other, 2)


def test_a_certificate_says_what_moves_before_a_point_and_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ostinato.codegen.planning.block_moves.MOST_POINTS", 1_500)
    (made,) = layouts_of(planned(decoder(), **SIZES), 2, [SIZES], 220_000)
    assert any(t.issued < 0 for p in made.passages for part in p.parts for t in part.transfers)
    whole, names = replace(made, passages=(replace(made.passages[0], slot=-1),)), Spelling()
    written = [(layout, record_data(layout, names)) for layout in (made, whole)]
    read = Spelling.read_dims(names.dims())
    assert all(read_record(Layout, data, "it", read) == layout for layout, data in written)


def test_a_hundred_thousand_steps_have_a_plan() -> None:
    sizes = {"B": 2, "T": 100_000}
    moves = layout(planned(decoder(), **SIZES), sizes, 2, 40_000_000).moves
    parts = [part for p in moves.passages for part in p.parts]
    arrivals = sum(part.times * len(part.points) for part in parts)
    assert not moves.unplanned and arrivals > 1_000_000 > 20 * sum(len(p.points) for p in parts)
