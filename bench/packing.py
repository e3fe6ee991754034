"""How far arenas of known height are above their optimum: ``python -m bench.packing``.

Beside it stands what tensors alone come to, tried as often as their number allows. Files are
instances as MiniMalloc has them, with lines of ``id,lower,upper,size``; what is in use at once in
their fullest phase stands for the optimum.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from ostinato.codegen.planning.packing import Block, Tries, packed, tensors_of, tries
from tests.codegen.arenas import MIB, bound, cut, many_short, thinned

LARGE = 64 * MIB
ARENAS: dict[str, tuple[int, Callable[[int], list[Block]]]] = {
    "100, straight cuts": (MIB, lambda seed: cut(100, seed)),
    "100, three wheels in ten": (MIB, lambda seed: cut(100, seed, 0.3)),
    "300, straight cuts": (MIB, lambda seed: cut(300, seed)),
    "300, three wheels in ten": (MIB, lambda seed: cut(300, seed, 0.3)),
    "1,000, straight cuts": (MIB, lambda seed: cut(1000, seed)),
    "1,000, three wheels in ten": (MIB, lambda seed: cut(1000, seed, 0.3)),
    "1,000 in 1,000 phases": (MIB, lambda seed: cut(1000, seed, phases=1000)),
    "1,000 in 1,000 phases, wheels": (MIB, lambda seed: cut(1000, seed, 0.3, 1000)),
    "1,000, many short and few long": (MIB, lambda seed: many_short(1000, seed)),
    "the same, a tenth free": (MIB, lambda seed: thinned(many_short(1000, seed), 0.1, seed)),
    "10,000 of 1 MiB": (MIB, lambda seed: cut(10_000, seed, phases=2000)),
    "10,000 of 64 MiB": (LARGE, lambda seed: cut(10_000, seed, phases=2000, height=LARGE)),
    "10,000 of 64 MiB, wheels": (LARGE, lambda seed: cut(10_000, seed, 0.3, 2000, LARGE)),
}


def alone(parts: Sequence[Block], least: int) -> int:
    """The height of tensors that are not joined."""
    found = Tries(tensors_of(parts), least)
    found.run(tries(len(parts)) * len(parts))
    return found.least


def lowest(parts: Sequence[Block], least: int) -> int:
    """The height that packing comes to."""
    return packed(parts, least)[1]


def line(name: str, arenas: Sequence[list[Block]], least: Sequence[int]) -> str:
    """One kind of arena: least, median and most of both in percent, and the ratio of times."""
    times, columns = [time.process_time()], list[str]()
    for height in (alone, lowest):
        pairs = zip(arenas, least, strict=True)
        above = sorted(100 * (height(parts, n) / n - 1) for parts, n in pairs)
        columns.append(" ".join(f"{x:5.1f}" for x in (above[0], median(above), above[-1])))
        times.append(time.process_time())
    ratio = (times[2] - times[1]) / (times[1] - times[0])
    return f"| {name} | {' | '.join(columns)} | {ratio:.1f} |"


def read(path: Path) -> list[Block]:
    """An instance of MiniMalloc; its lives end before ``upper``."""
    with path.open() as file:
        rows = [
            (r["id"], int(r["size"]), int(r["lower"]), int(r["upper"]))
            for r in csv.DictReader(file)
        ]
    return [Block(name, size, first, end - 1) for name, size, first, end in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description="Arenas against their optimum.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    chosen = parser.parse_args()
    print("| tensors | alone: % above: least, median, most | joined | time of joined / alone |")
    print("|---|---|---|---|")
    if chosen.files:
        arenas = [read(path) for path in chosen.files]
        print(line(f"{len(arenas)} files", arenas, [bound(parts) for parts in arenas]))
        return
    for name, (height, made) in ARENAS.items():
        arenas = [made(seed) for seed in range(chosen.seeds)]
        print(line(name, arenas, [height] * chosen.seeds), flush=True)


if __name__ == "__main__":
    main()
