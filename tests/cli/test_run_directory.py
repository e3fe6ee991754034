import errno
import fcntl
import json
import re
import resource
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ostinato.cli.curve import running_mean, write_learning_curve
from ostinato.cli.run import line, plain_sink, progress
from ostinato.cli.run_directory import (
    Metrics,
    clear,
    held,
    make,
    metrics,
    read_config,
    rows_before,
    write_config,
    write_kernels,
)
from ostinato.cli.training import Row
from ostinato.nn import save_weights
from ostinato.pdg.errors import IN_A_FOLDER, CheckpointError, OptionError, OstinatoError, to_write
from ostinato.report.files import write

ROW = Row(iteration=2, env_steps=96_000, wall_s=0.5, metric=21.25, others=(0.125,))
WEIGHTS = {"w": np.ones(99)}


def test_the_metric_follows_three_columns_and_each_row_is_there_at_once(tmp_path: Path) -> None:
    with metrics(tmp_path, "score", ["loss"]) as kept:
        kept.add(ROW)
        text = (tmp_path / "metrics.csv").read_text()
    assert text == ("iteration,env_steps,wall_s,score,loss\n2,96000,0.500000,21.25,0.125\n")


def test_a_run_that_goes_on_writes_behind_the_rows_before_it(tmp_path: Path) -> None:
    rows = [replace(ROW, iteration=k) for k in range(2000)]  # more than is read ahead at once
    for before, after in (([], rows), (rows[:3], rows[3:5]), (rows[:4], rows[4:1200])):
        with metrics(tmp_path, "score", ["loss"], before) as kept:
            for row in after:
                kept.add(row)
        assert kept.rows == [*before, *after]
        assert rows_before(tmp_path, len(kept.rows)) == kept.rows
        assert (tmp_path / "metrics.csv").read_text().count("\n") == len(kept.rows) + 1
    with pytest.raises(CheckpointError, match="does not have the 1201 rows"):
        rows_before(tmp_path, 1201)


def test_an_earlier_run_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    write_notes = tmp_path / "notes.txt"
    write_notes.write_text("mine")
    make(tmp_path)
    write_kernels(tmp_path, {"old": "x = 1\n"})
    (tmp_path / "metrics.csv").write_text("old")
    make(tmp_path)
    assert (tmp_path / "metrics.csv").read_text() == "old"
    clear(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["kernels", "notes.txt"]


def test_a_run_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OptionError) as caught:
        make(tmp_path / "file")
    assert str(caught.value) == (
        f"The run directory `{tmp_path / 'file'}` cannot be made: Not a directory.\n"
        "  Name another one with --out."
    )


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Let files have no more bytes than fit into one row of metrics."""
    had, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.SIG_IGN
    before = signal.signal(signal.SIGXFSZ, ignored)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, had[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, had)
    signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_is_said_with_what_helps(tmp_path: Path, full_disk: None) -> None:
    full = f"The run directory `{tmp_path}` cannot be written: File too large.\n  Free some space"
    with pytest.raises(OptionError, match=full), metrics(tmp_path, "score", ["loss"]) as kept:
        for _ in range(3):
            kept.add(ROW)
    both: tuple[Callable[[], None], ...] = (
        lambda: write(tmp_path / "x", "y" * 99, "it"),
        lambda: save_weights(tmp_path / "w", WEIGHTS),
    )
    for writes in both:
        with pytest.raises(OstinatoError, match="File too large\n  Free some space there, or"):
            writes()


def test_a_folder_that_may_not_be_written_is_said_with_what_helps() -> None:
    for number in (errno.EACCES, errno.EROFS):
        assert to_write(OSError(number, "")) == "Write to a folder that you may write to."
    assert to_write(FileNotFoundError(errno.ENOENT, "")) == IN_A_FOLDER


def test_a_configuration_of_something_else_is_refused(tmp_path: Path) -> None:
    swept: list[str] = []
    trained = {"algorithm": "ppo", "environment": "Catch", "steps": 3, "seeds": 1, "swept": swept}
    good = {"program": "p.py", "settings": {}, "trained": trained}
    write_config(tmp_path, good)
    assert read_config(tmp_path, "") == good
    bads: tuple[object, ...] = (
        [], 1, {}, {"program": "p.py"}, {**good, "settings": 3}, {**good, "checkpoint_every": "x"},
        {**good, "trained": 1}, {**good, "trained": {}}, {**good, "trained": {"algorithm": "ppo"}},
        {**good, "trained": {**trained, "seeds": "x"}},
    )  # fmt: skip
    for bad in bads:
        (tmp_path / "config.json").write_text(json.dumps(bad))
        with pytest.raises(CheckpointError, match="is not the configuration of a run\n  Mend it"):
            read_config(tmp_path, "Mend it.")


def test_the_configuration_names_arrays_by_shape(tmp_path: Path) -> None:
    write_config(tmp_path, {"B": np.int32(4), "W": np.zeros((4, 2), np.float32)})
    assert json.loads((tmp_path / "config.json").read_text()) == {
        "B": 4,
        "W": {"shape": [4, 2], "dtype": "float32"},
    }


def test_the_learning_curve_is_a_picture(tmp_path: Path) -> None:
    with (tmp_path / "metrics.csv").open("w") as file:
        kept = Metrics(file, rows=[ROW, ROW])
    write_learning_curve(tmp_path / "curve.png", kept, "episode_return", bar=195.0)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_running_mean_looks_back_only() -> None:
    assert running_mean(np.arange(12.0)).tolist()[:3] == [0.0, 0.5, 1.0]
    assert running_mean(np.arange(12.0))[-1] == np.arange(2.0, 12.0).mean()


def test_one_infinity_stays_in_as_many_means_as_it_is_in() -> None:
    values = np.arange(30.0)
    values[3:5] = np.inf, -np.inf
    means = running_mean(values)
    assert np.isfinite(means[:3]).all() and np.isfinite(means[14:]).all()
    assert not np.isfinite(means[3:14]).any() and means[14] == values[5:15].mean()


def test_the_progress_line_tells_iteration_steps_speed_and_return() -> None:
    assert line(ROW, "episode_return") == (
        "iteration 3  96,000 steps  0.19 M steps/s  episode_return 21.2"
    )


def test_without_a_terminal_a_line_is_printed_now_and_then() -> None:
    text, times = StringIO(), iter([0.0, 0.0, 1.0, 2.5, 2.5])
    show = plain_sink(Console(file=text, width=20), "return", clock=lambda: next(times))
    for _ in range(3):
        show(ROW)
    assert text.getvalue().count("iteration 3") == 2


def test_on_a_terminal_the_line_is_live() -> None:
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    with progress(console, "return", total=10) as show:
        show(ROW)
    assert "return 21.2" in text.getvalue()


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    text = re.escape(f"the run directory `{tmp_path}` cannot be locked: No locks available. Let no")
    with pytest.warns(UserWarning, match=f"^{text} second run write to it.$"), held(tmp_path):
        pass
