"""How long segments are, for the least memory, and how few steps any scheme computes again."""

from __future__ import annotations

from math import comb

SHORTEST = 2  # steps of a segment, and segments of a longer one


def lengths(steps: int, edge: float, step: float, levels: int) -> tuple[int, ...]:
    """The lengths of segments, and of segments in these, that keep least.

    ``edge`` are the bytes kept at the start of a segment, ``step`` those of a step of the shortest
    ones; each length is a multiple of the next. The least of ``edge * (T/c1 + c1/c2 + ...) +
    step * cn`` has equal terms.

    >>> lengths(10_000, 1.0, 1.0, 1), lengths(1000, 1.0, 1.0, 2), lengths(100, 1.0, 4.0, 1)
    ((100,), (100, 10), (5,))
    """
    term = (steps * edge**levels * step) ** (1 / (levels + 1))
    out = [max(SHORTEST, round(term / step))]
    for _ in range(levels - 1):
        out.append(out[-1] * max(SHORTEST, round(term / edge)))
    return tuple(reversed(out))


def fewest_again(steps: int, states: int) -> int:
    """The steps that no scheme can spare to compute again if it keeps so many states at a time.

    Source: Griewank and Walther 2000, Algorithm 799: revolve, equation 2.

    >>> fewest_again(100, 99), fewest_again(100, 20), fewest_again(100, 5)
    (0, 79, 217)
    """
    turns = 1
    while comb(states + turns, turns) < steps:
        turns += 1
    return turns * steps - comb(states + turns, turns - 1) - (steps - 1)
