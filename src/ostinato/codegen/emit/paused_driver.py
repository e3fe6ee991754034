"""Another driver for the same kernels: its published loop can be left and entered at any step.

The host says in words of ``control`` what is run: all, what stands before the published loop, or
the loop and what stands after it; how many steps of the loop are done; and after how many to leave,
0 for none. Between two parts of a run the host copies what the loop carries.
"""

from __future__ import annotations

from ostinato.codegen.emit.driver import Driver, Inside, published_loop
from ostinato.codegen.ir.tree import DriverLoop
from ostinato.codegen.loops.expression import Constant, Expression, binary, call, compare, item
from ostinato.codegen.loops.shared_words import BEFORE, DECISION, FROM_LOOP, LIMIT, PART, START
from ostinato.codegen.loops.statements import Return

CONTROL = "control"
PAUSES = (START, LIMIT, PART, BEFORE, FROM_LOOP)


class PausedDriver(Driver):
    """Writes a driver whose published loop is run in parts."""

    def whole(self) -> None:
        """Write all steps: those before the loop are one part, all others the other one."""
        steps, loop = self.plan.driver, published_loop(self.plan)
        assert loop is not None, "a program without a published loop has no parts"
        at = steps.index(loop)
        if at:
            with self.out.when(compare("!=", item(CONTROL, PART), FROM_LOOP)):
                self.steps(steps[:at], {})
        with self.out.when(compare("==", item(CONTROL, PART), BEFORE)):
            self.out.add(Return())
        self.steps(steps[at:], {})

    def bounds(self, loop: DriverLoop, dims: Inside) -> tuple[Expression, ...]:
        """The published loop begins behind the steps that are done."""
        usual = super().bounds(loop, dims)
        if loop is not published_loop(self.plan):
            return usual
        lo, hi = usual if len(usual) == 2 else (Constant(0), *usual)
        start = item(CONTROL, START)
        return (start if lo == Constant(0) else binary("+", lo, start)), hi

    def decided(self, loop: DriverLoop, done: Expression) -> None:
        """All leave the published loop after so many steps."""
        if loop is published_loop(self.plan):
            with self.out.when(compare("==", item(CONTROL, LIMIT), done)):
                self.out.do(call("store_release", CONTROL, DECISION, 1))
