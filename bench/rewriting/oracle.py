"""How near extraction comes to the optimum: ``python -m bench.rewriting.oracle``.

The integer programs of REINFORCE and PPO take minutes, those of the others seconds; all are solved
until the bound proves the share of 2 %, or the time is up.
"""

from __future__ import annotations

import argparse
import time

from ostinato.rewrite.optimize import RewriteOptions
from tests.rewrite import oracle
from tests.rewrite.larger import NAMES, larger

SHARE = 1.02


def line(name: str, seconds: float) -> str:
    """One program: its size, the price, the proved bound of the optimum, and what that took."""
    pdg = larger(name)
    given = oracle.problem(pdg, RewriteOptions())
    form = given.forms()[0]
    price = given.selection(form).price
    begin = time.process_time()
    least = oracle.optimum(given, form, seconds, price / SHARE).least
    spent = time.process_time() - begin
    size = f"{len(pdg.nodes()):5d} nodes {given.graph.count():6d} e-nodes"
    return f"{name:24s} {size} {price / 1e6:12.3f} ms {price / least:8.4f} {spent:8.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description="Extraction against the optimum.")
    parser.add_argument("programs", nargs="*", default=NAMES)
    parser.add_argument("--seconds", type=float, default=300.0, help="for one program")
    chosen = parser.parse_args()
    print("program, size, predicted time, price / proved bound, seconds of the solver")
    for name in chosen.programs:
        print(line(name, chosen.seconds), flush=True)


if __name__ == "__main__":
    main()
