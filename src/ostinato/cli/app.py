"""The commands and their options; the work is in the modules each command imports."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ostinato.cli.options import (
    Algorithm,
    Certificate,
    Environment,
    Every,
    Hints,
    Json,
    Out,
    Place,
    Played,
    Progress,
    Resume,
    RuleFile,
    Run,
    Seed,
    Seeds,
    Settings,
    Steps,
    TensorBoard,
    Version,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # the traceback of a user's file is shown as Python shows it
    help="Compile and train recurrent-tensor programs.",
)

rules = typer.Typer(no_args_is_help=True, help="Show the rewrite rules and what they do.")
app.add_typer(rules, name="rules")

cache = typer.Typer(no_args_is_help=True, help="Show or clear what is kept on disk.")
app.add_typer(cache, name="cache")


@app.callback()
def every(version: Version = False) -> None:
    """What stands before a command."""


@app.command()
def run(
    place: Place,
    settings: Settings = None,
    out: Out = None,
    seed: Seed = None,
    check_finite: Annotated[
        bool, typer.Option("--check-finite", help="Stop at the first NaN or infinity.")
    ] = False,
    progress: Progress = True,
    tensorboard: TensorBoard = False,
    target: Annotated[str | None, typer.Option(help="Where the kernels run: cpu or cuda.")] = None,
    certificate: Certificate = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Measure where the time goes; also as a trace.")
    ] = False,
    checkpoint_every: Every = None,
    resume: Resume = None,
) -> None:
    """Compile and train a program; keep metrics, kernels, the learning curve and checkpoints."""
    from ostinato.cli.output import console
    from ostinato.cli.run import RunOptions
    from ostinato.cli.run import run as run_experiment

    options = RunOptions(
        place=place,
        settings=tuple(settings or ()),
        out=out,
        seed=seed,
        check_finite=check_finite,
        show_progress=progress,
        tensorboard=tensorboard,
        target=target,
        certificate=certificate,
        profile=profile,
        checkpoint_every=checkpoint_every or 0,
        resume=resume,
    )
    raise typer.Exit(run_experiment(options, console()))


@app.command()
def train(
    algorithm: Algorithm,
    environment: Environment,
    settings: Settings = None,
    steps: Steps = None,
    seeds: Seeds = 1,
    out: Out = None,
    seed: Seed = None,
    progress: Progress = True,
    tensorboard: TensorBoard = False,
    checkpoint_every: Every = None,
    resume: Resume = None,
) -> None:
    """Train an algorithm on an environment; with --seeds several times at once.

    A tenth of the records lies between two checkpoints, if nothing else is asked for.
    """
    from ostinato.cli import train as command
    from ostinato.cli.output import console
    from ostinato.cli.run import RunOptions

    options = command.TrainOptions(
        algorithm=algorithm, environment=environment, steps=steps, seeds=seeds
    )
    run = RunOptions(
        place=f"{algorithm}-{environment}",
        settings=tuple(settings or ()),
        out=out,
        seed=seed,
        show_progress=progress,
        tensorboard=tensorboard,
        resume=resume,
    )
    raise typer.Exit(command.train(options, run, checkpoint_every, console()))


@app.command()
def sweep(
    algorithm: Algorithm,
    environment: Environment,
    over: Annotated[
        list[str], typer.Option("--over", metavar="NAME=A,B", help="What to try; repeatable.")
    ],
    settings: Settings = None,
    steps: Steps = None,
    seeds: Seeds = 1,
    out: Out = None,
    seed: Seed = None,
    json: Json = None,
) -> None:
    """Train with all combinations of settings at once; show a table and a picture."""
    from ostinato.cli import train as command
    from ostinato.cli.output import console_beside
    from ostinato.cli.run import RunOptions

    options = command.TrainOptions(
        algorithm=algorithm, environment=environment, steps=steps, seeds=seeds, swept=tuple(over)
    )
    run = RunOptions(
        place=f"{algorithm}-{environment}", settings=tuple(settings or ()), out=out, seed=seed
    )
    raise typer.Exit(command.sweep(options, run, json, console_beside(json)))


@app.command("eval")
def evaluate(
    run: Run,
    episodes: Annotated[int, typer.Option(min=1, metavar="N", help="Of each training.")] = 100,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw actions instead of taking the best.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random draw.")] = 0,
    environment: Played = None,
    max_steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Leave an episode then; default: after 100,000."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE.gif", help="Also write a film of an episode.")
    ] = None,
    json: Json = None,
) -> None:
    """Play whole episodes with the policy of a run's checkpoint.

    Runs of `ostinato train` have all that it takes. A function of `ostinato run` must return an
    rl.Training, which says what its policy is, keep checkpoints, and be given --environment.
    """
    from ostinato.cli import trained_policy as command
    from ostinato.cli.output import console_beside

    options = command.EvalOptions(
        run=run,
        episodes=episodes,
        sample=sample,
        seed=seed,
        environment=environment,
        max_steps=max_steps,
        record=record,
    )
    raise typer.Exit(command.evaluate(options, json, console_beside(json)))


@app.command()
def export(
    run: Run,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="policy.onnx, or weights.safetensors.")
    ],
    environment: Played = None,
    training: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Which of several trainings, from 0.")
    ] = None,
) -> None:
    """Write the policy of a run's checkpoint for others: as ONNX, or its weights for PyTorch.

    What it takes of a run is what `ostinato eval` does.
    """
    from ostinato.cli import trained_policy as command
    from ostinato.cli.output import console

    raise typer.Exit(command.export(run, file, environment, training, console()))


@app.command()
def explain(
    place: Place,
    settings: Settings = None,
    hints: Hints = None,
    file: RuleFile = None,
    json: Json = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write one HTML page.")
    ] = None,
    certificate: Certificate = None,
    limits: Annotated[
        bool, typer.Option("--limits", help="Also say what limits of memory cost.")
    ] = False,
) -> None:
    """Compile a program and show rules, schedule, memory, cost and kernels."""
    from ostinato.cli.explain import Asked, Written
    from ostinato.cli.explain import explain as explain_program
    from ostinato.cli.output import console_beside

    asked = Asked(place, settings or (), hints or (), file)
    written = Written(json, html, certificate, limits)
    explain_program(asked, written, console_beside(json))


@app.command()
def passes(
    place: Annotated[
        str | None,
        typer.Argument(metavar="[FILE[:FUNCTION]]", help="A Python file; without it the list."),
    ] = None,
    settings: Settings = None,
    after: Annotated[
        str, typer.Option(metavar="NAME", help="Only this pass; default: every one.")
    ] = "",
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Leave out an optimisation; repeatable."),
    ] = None,
) -> None:
    """List the passes of the compiler, or show a program after each of them."""
    from ostinato.cli.explain import show_passes
    from ostinato.cli.output import console

    show_passes(place, settings or (), after, without or (), console())


@app.command()
def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate file.")],
    program: Annotated[
        str | None,
        typer.Option(metavar="FILE[:FUNCTION]", help="The program that it must be about."),
    ] = None,
    settings: Settings = None,
    json: Json = None,
) -> None:
    """Check a certificate with none of the code that rewrote the program.

    Rules are proved, source and extracted program shown to be equal with these rules alone, reads
    and schedule proved with isl, and both programs run at small sizes. The exit status is 1 if a
    check fails.
    """
    from ostinato.cli.explain import verify as verify_file
    from ostinato.cli.output import console_beside

    shown = console_beside(json)
    raise typer.Exit(verify_file(certificate, program, settings or (), json, shown))


@app.command()
def doctor(json: Json = None) -> None:
    """Check that this machine compiles and runs programs, and show what it has."""
    from ostinato.cli.doctor import diagnose
    from ostinato.cli.output import console_beside

    raise typer.Exit(diagnose(json, console_beside(json)))


@app.command()
def calibrate(json: Json = None) -> None:
    """Measure what work takes on this machine, so that costs fit it; takes half a minute."""
    from ostinato.cli.calibrate import calibrate as calibrate_machine
    from ostinato.cli.output import console_beside

    calibrate_machine(json, console_beside(json))


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help="A suite of the bench folder; or compare.")],
    rounds: Annotated[int, typer.Option(min=1, help="Alternating samples per program.")] = 5,
    sizes: Annotated[
        list[str] | None,
        typer.Option("--sizes", metavar="NAME=A,B", help="Only cases of these sizes; repeatable."),
    ] = None,
    json: Json = None,
    add: Annotated[bool, typer.Option("--add", help="Keep the file's other rows.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replace the suite's section in FILE.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the rows.")] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Append the rows to the stored history.")
    ] = False,
    peers: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The environments that `make peers` made.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Show this report instead of measuring."),
    ] = None,
) -> None:
    """Measure a suite beside its peers, in turns, with spread; `compare` looks for regressions."""
    from ostinato.cli.bench import run_suite
    from ostinato.cli.output import console_beside

    options = {
        "rounds": rounds,
        "sizes": tuple(sizes or ()),
        "json": json,
        "add": add,
        "markdown": markdown,
        "plot": plot,
        "store": store,
        "source": source,
        **({} if peers is None else {"peers": peers.absolute()}),
    }
    raise typer.Exit(0 if run_suite(suite, options, console_beside(json)) else 1)


@cache.command("info")
def cache_info(json: Json = None) -> None:
    """Show where compiled programs and kernels are kept, how many, and how large they are."""
    from ostinato.cli.cache import info
    from ostinato.cli.output import console_beside

    info(json, console_beside(json))


@cache.command("clear")
def cache_clear(json: Json = None) -> None:
    """Remove all compiled programs and kernels."""
    from ostinato.cli.cache import clear
    from ostinato.cli.output import console_beside

    clear(json, console_beside(json))


@rules.command("list")
def list_rules(
    family: Annotated[str | None, typer.Option(help="Only the rules of this family.")] = None,
    file: RuleFile = None,
    json: Json = None,
) -> None:
    """List the rules with their laws, exactness and proofs."""
    from ostinato.cli import rules as commands
    from ostinato.cli.output import console_beside

    commands.list_rules(family, json, console_beside(json), file)


@rules.command()
def show(
    name: Annotated[str, typer.Argument(help="family/rule")],
    file: RuleFile = None,
    json: Json = None,
) -> None:
    """Show one rule: law, reason, sides, conditions, proof."""
    from ostinato.cli import rules as commands
    from ostinato.cli.output import console_beside

    commands.show_rule(name, json, console_beside(json), file)


@rules.command()
def trace(
    place: Place,
    settings: Settings = None,
    hints: Hints = None,
    families: Annotated[
        bool, typer.Option("--families", help="Savings of families instead of rules: faster.")
    ] = False,
    file: RuleFile = None,
    json: Json = None,
) -> None:
    """Show for each kernel which rules made it and what each of them saves.

    A saving is in predicted time and in peak memory of the whole program, compared with compiling
    it again without that rule; other rules may make up for it, so savings do not add up. Kernels
    are those of the plan; nothing is compiled to machine code.
    """
    about = _Question(place, settings, hints, file)
    _show("trace", about, json, by="family" if families else "rule")


@rules.command()
def ablate(
    place: Place,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A rule or family; repeatable; default: each family."),
    ] = None,
    settings: Settings = None,
    hints: Hints = None,
    file: RuleFile = None,
    json: Json = None,
) -> None:
    """Show predicted time and peak memory of a program without each family or rule."""
    _show("ablate", _Question(place, settings, hints, file), json, *(without or ()))


@rules.command()
def stats(
    place: Place,
    settings: Settings = None,
    hints: Hints = None,
    file: RuleFile = None,
    json: Json = None,
) -> None:
    """Show how rewriting goes: e-nodes, rows per round, matches, local search, time per phase."""
    _show("stats", _Question(place, settings, hints, file), json)


@rules.command()
def prove(
    names: Annotated[
        list[str] | None, typer.Argument(help="Rules and families; default: all.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--rules", metavar="FILE", help="Those of a Python file; by default no others."
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Run the proofs of the rules again; fail if one is wrong or open."""
    from ostinato.cli.output import console_beside
    from ostinato.cli.rules import prove_rules, show_record

    found = prove_rules(names or (), file)
    show_record(found, json, console_beside(json))
    raise typer.Exit(0 if found.holds else 1)


class _Question(NamedTuple):
    """What is asked about: a program, typical extents, and a file with further rules."""

    place: str
    settings: list[str] | None
    hints: list[str] | None
    file: Path | None


def _show(question: str, about: _Question, json: Path | None, *names: str, **more: Any) -> None:
    """Ask the rules about a program, and show the answer."""
    from ostinato.cli.output import console_beside
    from ostinato.cli.program_file import load_program
    from ostinato.cli.rules import hints_from, rules_of, show_record

    made = load_program(about.place, about.settings or ())
    rules, hints = rules_of(about.file), hints_from(about.hints or ())
    show_record(
        getattr(rules, question)(made, *names, hints=hints, **more), json, console_beside(json)
    )
