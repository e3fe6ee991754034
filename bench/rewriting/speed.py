"""How long rewriting takes, stage by stage: ``python -m bench.rewriting.speed``.

The programs are the PPO example with deeper and deeper networks, so that everything grows: layers,
their gradients and their optimizer states. Times are seconds of the processor, which other work on
the machine disturbs least; counts of rows, e-nodes and steps of the search do not depend on it.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_function
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.node import Pdg
from ostinato.rewrite.optimize import RewriteOptions, optimize

EXAMPLE = Path(__file__).parents[2] / "examples" / "ppo_cartpole.py"
LAYERS = (0, 2, 5)  # hidden layers of actor and critic: about 500, 1,000 and 1,500 nodes
STAGES = ("load", "fold", "saturate", "export", "unfold", "sizes", "extract", "rebuild")


@dataclass(frozen=True)
class Speed:
    """One program: its nodes, median seconds per stage, and counts that no machine changes."""

    layers: int
    nodes: int
    seconds: dict[str, float]
    rows: int
    enodes: int
    steps: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def __str__(self) -> str:
        stages = " ".join(f"{1e3 * self.seconds[stage]:8.0f}" for stage in STAGES)
        counts = f"{self.rows:7d} {self.enodes:8d} {self.steps:8d}"
        return f"{self.layers:6d} {self.nodes:6d} {stages} {1e3 * self.total:8.0f} {counts}"


def deeper(layers: int) -> Pdg:
    """The graph of the PPO example with so many hidden layers, as rewriting gets it."""
    program = load_function(f"{EXAMPLE}:ppo")(rl.CartPole(), hidden=(64,) * layers)
    assert isinstance(program, ot.Program)
    return encoded(program.pdg)


def measure(layers: int, runs: int) -> Speed:
    """Median times of some runs, after one that fills the caches of the process."""
    pdg, options = deeper(layers), RewriteOptions(clock=time.process_time)
    first, *reports = [optimize(pdg, options).report for _ in range(1 + runs)]
    seconds = {stage: median(r.seconds[stage] for r in reports or [first]) for stage in STAGES}
    rows = first.saturation.rows[-1]
    return Speed(layers, len(pdg.nodes()), seconds, rows, first.enodes, first.steps)


def header() -> str:
    stages = " ".join(f"{stage:>8s}" for stage in STAGES)
    return f"layers  nodes {stages}    total    rows  e-nodes    steps   (ms of the processor)"


def main() -> None:
    parser = argparse.ArgumentParser(description="Seconds of rewriting, by stage.")
    parser.add_argument("--layers", type=int, nargs="*", default=LAYERS)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    chosen = parser.parse_args()
    print(header())
    found: list[Speed] = []
    for layers in chosen.layers:
        found.append(measure(layers, chosen.runs))
        print(found[-1], flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps([vars(speed) for speed in found], indent=1))


if __name__ == "__main__":
    main()
