"""Sizes that are concluded from reshapes: both shapes have equally many elements."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.rewrite.prove.integers import Poly, poly
from ostinato.rewrite.prove.setting import Fixed, Misfit, Setting, Size, one


def same_count(setting: Setting, a: Sequence[Size], b: Sequence[Size]) -> None:
    """Take two shapes as having equally many elements.

    Errors: Misfit if that is not known once the left side is read.
    """
    if not setting.frozen:
        setting.reshapes.append((tuple(a), tuple(b)))
        if not _other(a, ()) or not _other(b, ()):  # ones are known before an operator repeats them
            _balance(setting, _other(a, ()), _other(b, ()))
        return
    classes: list[set[str]] = []
    for pair in setting.reshapes:
        keys = {_count_of(setting, side).key for side in pair}
        touched = [c for c in classes if c & keys]
        classes = [c for c in classes if not c & keys] + [keys.union(*touched)]
    left, right = _count_of(setting, a), _count_of(setting, b)
    if left != right and not any({left.key, right.key} <= c for c in classes):
        raise Misfit(f"{left} elements are reshaped to {right}")


def _count_of(setting: Setting, shape: Sequence[Size]) -> Poly:
    total = poly(1)
    for size in shape:
        total = total * setting.size(size, setting.point())
    return total


def settle(setting: Setting) -> None:
    """Conclude sizes from reshapes: common factors cancel, and what is left over is 1.

    Errors: Impossible.
    """
    for _ in range(len(setting.reshapes) + 1):
        for a, b in tuple(setting.reshapes):
            left, right = _other(a, b), _other(b, a)
            _balance(setting, left, right)
            if left and right and (tuple(left), tuple(right)) not in setting.reshapes:
                setting.reshapes.append((tuple(left), tuple(right)))


def _other(shape: Sequence[Size], than: Sequence[Size]) -> list[Size]:
    """The sizes that are not known to be 1, without one for each equal size of another shape."""
    left = [size.root() for size in shape if not size.is_one]
    for size in than:
        equal = next((x for x in left if x.is_same(size)), None)
        if equal is not None:
            left.remove(equal)
    return left


def _balance(setting: Setting, left: Sequence[Size], right: Sequence[Size]) -> None:
    """Conclude from equal products of two lists of sizes."""
    for these, others in ((left, right), (right, left)):
        if not these:
            for size in others:
                setting.unify(size, one())
            return
        if len(these) == 1 and len(others) == 1:
            setting.unify(these[0], others[0])
            return
        if len(these) == 1 and these[0].fixed is None:
            these[0].fixed = Fixed("times", "", tuple(others))
            return
