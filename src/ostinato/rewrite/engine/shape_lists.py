"""Analyses of the language of terms that take lists of sizes apart, for every rank."""

from __future__ import annotations

import itertools


def shape_rules() -> list[str]:
    """Sizes of single axes, and of all axes for the ranks that laws of matrices name."""
    out: list[str] = []
    for place in range(5):  # from the front
        names = [f"z{k}" for k in range(place + 1)]
        shape = "h"
        for name in reversed(names):
            shape = f"(cons {name} {shape})"
        facts = f"(= (shape x) {shape}) (= r (rank x)) (= k (- r {place}))"
        out.append(f'(rule ({facts}) ((axis x k z{place})) :ruleset analysis :name "axis/{place}")')
    for rank in range(4):
        names = [f"z{k}" for k in range(rank)]
        shape, wide = "(nil)", "(cons z (nil))"
        for name in reversed(names):
            shape, wide = f"(cons {name} {shape})", f"(cons {name} {wide})"
        facts = f"(= l (reshape 0 (cons z (nil)) x)) (= (shape x) {shape})"
        out.append(
            f"(rule ({facts}) ((set (shape l) {wide})) "
            f':ruleset analysis :name "shape/beside-{rank}")'
        )
    for rank in range(2, 6):
        names = [f"z{k}" for k in range(rank)]
        shape = "(nil)"
        for name in reversed(names):
            shape = f"(cons {name} {shape})"
        row = f"(axes{rank} x {' '.join(names)})"
        out.append(f'(rule ((= (shape x) {shape})) ({row}) :ruleset analysis :name "axes/{rank}")')
    return [*out, *_joined_shapes()]


def _joined_shapes() -> list[str]:
    """Shapes of what is joined along one of the last two axes."""
    out: list[str] = []
    for rank, axis in itertools.product((2, 3), (1, 2)):
        names = [f"z{k}" for k in range(rank)]
        parts = [
            [f"(size {n})" if k == rank - axis else z for k, z in enumerate(names)] for n in "nmt"
        ]
        x, y = (f"(axes{rank} {name} {' '.join(z)})" for name, z in zip("xy", parts, strict=False))
        shape = "(nil)"
        for z in reversed(parts[2]):
            shape = f"(cons {z} {shape})"
        facts = f"(halves n m t s q) (= l (cat {axis} x y)) {x} {y}"
        rule = f"(rule ({facts}) ((set (shape l) {shape})) :ruleset analysis"
        out.append(f'{rule} :name "shape/cat-{axis}-of-{rank}")')
    return out
