"""Making a failing trial smaller while it still fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.property.judge import Trial
from tests.property.programs import Recipe, Step

Fails = Callable[[Trial], str | None]  # the symptom, or None if the trial passes


def symptom(error: BaseException) -> str:
    """The kind of an error and its first line, without names and numbers."""
    line = str(error).strip().partition("\n")[0]
    line = re.sub(r"^\S+\.py:\d+: ", "", line)
    line = re.sub(r"`[^`]*`|\{.*?\}|\[.*?\]|\(.*?\)|-?\d+(\.\d+)?(e[-+]?\d+)?|nan|inf", "_", line)
    if type(error).__name__ == "Disagreement":
        line = line.partition(" differs")[0] + " differs"
    return f"{type(error).__name__}: {line[:120]}"


def without_step(recipe: Recipe, k: int) -> Recipe:
    """The recipe without a step; what read its tensor reads its first operand instead."""
    place, dropped = len(recipe.inputs) + k, recipe.steps[k]
    size = place  # of the pool when the step was taken

    def moved(index: int, at: int) -> int:
        index %= at
        if index == place:
            index = dropped.a % size
        return index - 1 if index > place else index

    def renumbered(step: Step, n: int) -> Step:
        at = len(recipe.inputs) + n
        return replace(step, a=moved(step.a, at), b=moved(step.b, at))

    later = [renumbered(s, n) for n, s in enumerate(recipe.steps) if n > k]
    return replace(recipe, steps=(*recipe.steps[:k], *later))


def candidates(trial: Trial) -> Iterator[Trial]:
    """Smaller trials, the most promising first."""
    recipe = trial.recipe
    if trial.checks:
        yield replace(trial, checks=())
        for name in trial.checks if len(trial.checks) > 1 else ():
            yield replace(trial, checks=(name,))
    for k in reversed(range(len(recipe.steps))):
        yield replace(trial, recipe=without_step(recipe, k))
    if recipe.outputs > 1:
        yield replace(trial, recipe=replace(recipe, outputs=1))
    if len(trial.extents) > 1:
        for k in trial.extents:
            yield replace(trial, extents=(k,))
    if trial.hints or trial.widths:
        yield replace(trial, hints={}, widths={})
    if trial.without:
        yield replace(trial, without=())
    if trial.memory:
        yield replace(trial, memory=0.0)
    for k in range(len(trial.left_out)):
        yield replace(trial, left_out=trial.left_out[:k] + trial.left_out[k + 1 :])
    if recipe.mode != "values":
        yield replace(trial, recipe=replace(recipe, mode="values"))
    for k, (over, shape) in enumerate(recipe.inputs):
        if shape:
            inputs = (*recipe.inputs[:k], (over, ()), *recipe.inputs[k + 1 :])
            yield replace(trial, recipe=replace(recipe, inputs=inputs))


def shrink(trial: Trial, fails: Fails, limit_s: float = 60.0) -> Trial:
    """Return a trial that fails with the same symptom and that no single change makes smaller."""
    wanted, ends = fails(trial), time.monotonic() + limit_s
    progress = True
    while progress and time.monotonic() < ends:
        progress = False
        for smaller in candidates(trial):
            if time.monotonic() > ends:
                break
            if fails(smaller) == wanted:
                trial, progress = smaller, True
                break
    return trial
