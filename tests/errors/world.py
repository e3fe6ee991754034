"""Fresh dimensions and tensors for a call of a public function."""

from functools import cached_property

import ostinato as ot
from ostinato import nn


class World:
    """Fresh dimensions and tensors, so that no call sees what another one wrote."""

    def __init__(self) -> None:
        self.b, self.t, self.i = ot.dims("b t i")

    @cached_property
    def x(self) -> ot.Tensor:
        return ot.input("x", (3, 3), over=(self.b, self.t))

    @cached_property
    def k(self) -> ot.Tensor:
        return ot.input("k", (3,), "int32", over=self.t)

    @cached_property
    def m(self) -> ot.Tensor:
        return ot.constant([True, False, True])

    @cached_property
    def w(self) -> ot.Recurrent:
        made = ot.recurrent("w", (3, 3), over=self.i)
        made[0] = 1.0
        return made

    @cached_property
    def layer(self) -> nn.Linear:
        return nn.Linear(3, 2, self.i)

    @cached_property
    def record(self) -> ot.Record:
        return ot.Record(x=self.x)

    @cached_property
    def stopped(self) -> ot.Dimension:
        ot.stop(self.t, when=ot.input("done", dtype="bool", over=self.t))
        return self.t

    def carry(self) -> ot.Carry:
        return ot.carry("c", 0.0, over=(self.i, self.t))
