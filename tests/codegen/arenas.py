"""Arenas of which the least height is known."""

from __future__ import annotations

import random

from ostinato.codegen.planning.packing import Block

LINE = 64
MIB = 1 << 20
Box = tuple[int, int, int, int]  # its first phase, the one behind it, its lowest place, its end


def cut(
    count: int, seed: int, wheels: float = 0.0, phases: int = 200, height: int = MIB
) -> list[Block]:
    """An arena that is full at all times, cut into so many blocks: its height is the optimum.

    Of the cuts a share are ``wheels``, five blocks around each other that no straight cut parts.
    Source: the instances without slack of Moffitt 2023, MiniMalloc.
    """
    chance = random.Random(seed)
    boxes = [(0, phases, 0, height)]
    while len(boxes) < count:
        k = _large(chance, boxes)
        start, end, low, high = boxes[k]
        phase, place = range(start + 1, end), range(low + LINE, high, LINE)
        if wheels and chance.random() < wheels and len(phase) > 1 and len(place) > 1:
            (a, b), (c, d) = sorted(chance.sample(phase, 2)), sorted(chance.sample(place, 2))
            around = [(start, b, low, c), (b, end, low, d), (a, end, d, high), (start, a, c, high)]
            boxes[k : k + 1] = [*around, (a, b, c, d)]
        elif phase and chance.random() < 0.5:
            at = chance.choice(phase)
            boxes[k : k + 1] = [(start, at, low, high), (at, end, low, high)]
        elif place:
            at = chance.choice(place)
            boxes[k : k + 1] = [(start, end, low, at), (start, end, at, high)]
    return _parts(boxes)


def _large(chance: random.Random, boxes: list[Box]) -> int:
    """The largest of a few."""
    few = chance.sample(range(len(boxes)), min(4, len(boxes)))
    return max(few, key=lambda k: (boxes[k][1] - boxes[k][0]) * (boxes[k][3] - boxes[k][2]))


def _parts(boxes: list[Box]) -> list[Block]:
    return [Block(f"t{k}", d - c, a, b - 1) for k, (a, b, c, d) in enumerate(boxes)]


def many_short(count: int, seed: int, phases: int = 400, bands: int = 40) -> list[Block]:
    """A full arena of a few long tensors, and of many short ones with ragged sizes.

    Three bands in ten are cut once, the others in time four times out of five.
    Source: the mix of lives in Maas et al. 2023, TelaMalloc.
    """
    chance = random.Random(seed)
    edges = [0, *sorted(chance.sample(range(LINE, MIB, LINE), bands - 1)), MIB]
    boxes, long = list[Box](), list[Box]()
    for low, high in zip(edges, edges[1:], strict=False):
        if chance.random() < 0.3:
            at = chance.randrange(1, phases)
            long += [(0, at, low, high), (at, phases, low, high)]
        else:
            boxes.append((0, phases, low, high))
    while len(boxes) + len(long) < count:
        k = _large(chance, boxes)
        start, end, low, high = boxes[k]
        if end - start > 1 and (chance.random() < 0.8 or high - low <= LINE):
            at = chance.randrange(start + 1, end)
            boxes[k : k + 1] = [(start, at, low, high), (at, end, low, high)]
        elif high - low > LINE:
            at = chance.randrange(low + LINE, high, LINE)
            boxes[k : k + 1] = [(start, end, low, at), (start, end, at, high)]
    return _parts(boxes + long)


def thinned(parts: list[Block], share: float, seed: int) -> list[Block]:
    """Without a share of what is not in use at one phase, which stays full: the optimum stays."""
    chance = random.Random(seed)
    full = chance.randrange(max(p.last for p in parts))
    return [p for p in parts if p.first <= full <= p.last or chance.random() >= share]


def shrunk(parts: list[Block], share: float, seed: int) -> list[Block]:
    """Sizes that are smaller by up to a share: nothing fits exactly, the optimum is not known."""
    chance = random.Random(seed)
    sizes = (int(p.size * (1 - share * chance.random())) // LINE * LINE for p in parts)
    return [Block(p.name, max(LINE, n), p.first, p.last) for p, n in zip(parts, sizes, strict=True)]


def layers(seed: int, count: int = 60) -> list[Block]:
    """Layers whose values are read again in the reverse order, and values between two phases."""
    chance, out = random.Random(seed), list[Block]()
    for k in range(count):
        size = LINE * chance.choice([1, 2, 4, 8, 16, 64, chance.randint(1, 200)])
        out.append(Block(f"layer{k}", size, k, 2 * count - k))
        for j in range(chance.randint(0, 3)):
            at, few = chance.randrange(2 * count - 2), chance.randint(1, 300)
            out.append(Block(f"{k}.{j}", LINE * few, at, at + chance.randint(0, 2)))
    return out


def bound(parts: list[Block]) -> int:
    """What is in use at once in the fullest phase."""
    phases = {p.first for p in parts}
    return max(sum(p.size for p in parts if p.first <= k <= p.last) for k in phases)
