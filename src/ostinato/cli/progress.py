"""The live line of a run: iteration, environment steps, steps per second, return."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ostinato.cli.training import Row

PLAIN_EVERY_S = 2.0  # without a terminal: one printed line this often


def line(row: Row, metric: str) -> str:
    speed = row.env_steps / max(row.wall_s, 1e-9)
    return (
        f"iteration {row.iteration + 1:,}  {row.env_steps:,} steps  "
        f"{speed / 1e6:.2f} M steps/s  {metric} {row.episode_return:.1f}"
    )


@contextmanager
def progress(console: Console, metric: str, total: int | None) -> Generator[Callable[[Row], None]]:
    """Yield a sink that shows each row: a live line on a terminal, else a line now and then."""
    if not console.is_terminal:
        yield plain_sink(console, metric)
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        console=console,
    )
    with bar:
        task = bar.add_task("waiting for the first iteration", total=total)

        def show(row: Row) -> None:
            bar.update(task, completed=row.iteration + 1, description=line(row, metric))

        yield show


def plain_sink(
    console: Console, metric: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[Row], None]:
    shown = float("-inf")

    def show(row: Row) -> None:
        nonlocal shown
        if clock() - shown >= PLAIN_EVERY_S:
            shown = clock()
            console.print(line(row, metric), highlight=False, soft_wrap=True)

    return show
