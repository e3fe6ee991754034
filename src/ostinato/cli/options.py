"""The arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer


def _show_version(is_asked: bool) -> None:
    import ostinato

    if is_asked:
        typer.echo(f"ostinato {ostinato.__version__}")
        raise typer.Exit()


Version = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
]
Place = Annotated[
    str,
    typer.Argument(
        metavar="FILE[:FUNCTION]", help="A Python file and its function that returns an Experiment."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="An argument of the function; repeatable."),
]
Hints = Annotated[
    list[str] | None,
    typer.Option("--hint", metavar="NAME=SIZE", help="An extent for predictions; repeatable."),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Also write the result as JSON; - is standard output."
    ),
]
RuleFile = Annotated[
    Path | None,
    typer.Option("--rules", metavar="FILE", help="With the rules of a Python file, proved first."),
]
Certificate = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also write a certificate, for `ostinato verify`."),
]

Seed = Annotated[int | None, typer.Option(help="Seed of every random draw.")]
Algorithm = Annotated[str, typer.Argument(help="A function of ostinato.rl: ppo, a2c, ...")]
Environment = Annotated[str, typer.Argument(help="As in Gymnasium: CartPole-v1, ...")]
Steps = Annotated[int | None, typer.Option(metavar="N", help="Environment steps of each training.")]
Seeds = Annotated[int, typer.Option(min=1, help="So many trainings at once, of other draws.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.")]
Played = Annotated[
    str | None, typer.Option("--environment", metavar="NAME", help="Default: that of the run.")
]
Out = Annotated[Path | None, typer.Option(help="Run directory.")]
Progress = Annotated[bool, typer.Option(help="Show the live progress line.")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard events.")]
Every = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Keep a checkpoint after N records; 0: none.")
]
Resume = Annotated[Path | None, typer.Option(metavar="RUN", help="Go on in this run directory.")]
