"""The log of a profiled driver: nothing is lost between two stamps."""

import numpy as np

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.report.worker_times import Mark, Slice
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.timing import Log


def program(threads: int = 2) -> Compiled:
    i, b = ot.dims("i b")
    s, x = ot.recurrent("s", over=(i, b)), ot.input("x", over=b)
    s[0, b] = x
    s[i + 1, b] = ot.tanh(s) + s[i, :].mean(0)
    return ot.Program(s=s).compile(threads=threads)


def measured(compiled: Compiled, room: int = 100) -> tuple[Log, np.ndarray]:
    bound = Bound({"I": 3, "B": 256}, {"x": np.ones(256, np.float32)})
    log = compiled.executable.log(bound.extents)
    assert isinstance(log, Log)
    log = Log(stamping=log.stamping, workers=log.workers, room=room)
    return log, compiled.executable.run(bound, log=log)["s"]


def test_the_slots_of_a_worker_add_up_to_its_time() -> None:
    log, _ = measured(program())
    for track in log.tracks():
        assert sum(track.kernels) + sum(track.waits) == track.end_ns - track.start_ns > 0


def test_a_measured_run_computes_the_same() -> None:
    compiled = program()
    _, found = measured(compiled)
    expected = compiled(I=3, B=256, x=np.ones(256, np.float32))["s"]
    np.testing.assert_array_equal(found, expected)


def test_the_events_follow_each_other_without_a_gap() -> None:
    log, _ = measured(program())
    for track in log.tracks():
        slices = [e for e in track.events if isinstance(e, Slice)]
        assert slices[0].start_ns == track.start_ns and slices[-1].end_ns == track.end_ns
        assert all(a.end_ns == b.start_ns for a, b in zip(slices, slices[1:], strict=False))


def test_the_iterations_of_a_driver_loop_are_marked() -> None:
    log, _ = measured(program(threads=1))
    (track,) = log.tracks()
    marks = [e for e in track.events if isinstance(e, Mark)]
    assert {log.stamping.made.loops[m.loop] for m in marks} == {"i"}
    assert [m.value for m in marks][:1] == [0] and marks[-1].value == -1


def test_a_full_log_keeps_counting() -> None:
    log, _ = measured(program(), room=2)
    for track in log.tracks():
        assert track.cut and len(track.events) == 2
        assert sum(track.kernels) + sum(track.waits) == track.end_ns - track.start_ns
