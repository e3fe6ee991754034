"""What planning leaves behind, apart from the planner: a stored program needs this part alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ostinato.codegen.ir.changed_elements import Test
from ostinato.codegen.ir.system import Load, Statement
from ostinato.codegen.ir.tree import Kernel, Loop, Step
from ostinato.codegen.masks.early_exits import End
from ostinato.codegen.masks.kept_elements import Clause
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.target import Target
from ostinato.pdg.condition import Cond
from ostinato.pdg.index import Dim
from ostinato.runtime.machine_code.ports import Field

if TYPE_CHECKING:
    from ostinato.codegen.planning.liveness import Life
    from ostinato.codegen.planning.slices import Access
    from ostinato.codegen.planning.visits import Walks


@dataclass(frozen=True)
class Plan:
    """A program ready for emission; plain data, so it can be pickled.

    ``lives`` gives the phases of the driver in which a global tensor's memory is in use,
    ``accesses`` the tensors that each kernel touches; ``guards`` where statements are needed that
    are not needed at every point, ``only`` where they may be computed, if elsewhere they would be
    in the way; ``ends`` the loops that stop where nothing lives any more, ``living`` the products
    that pass over dead rows before that, by the mask of their rows; ``begun`` the products that
    need no zeros to add to, by the loop whose first turn begins them; ``limits`` what holds of
    every element that a clause of a nest changes in place.
    ``tiles`` gives the indices of every tiled dim, the most significant first, ``short`` how many
    points of a dim are too few for its tiles. ``ranks`` say of the axes of a tensor, and of dims of
    rows, in which order they were before axes were laid out.
    With ``checked`` its kernels compare every address with bounds, with ``spills`` they tell where
    they are in histories. Emission leaves out the passes named in ``without``.
    """

    statements: dict[str, Statement]  # tiled and laid out: what the leaves compute
    storage: dict[str, Storage]
    kernels: tuple[Kernel, ...]
    driver: tuple[Step, ...]
    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    extents: tuple[str, ...]  # every extent that the plan mentions, sorted
    lives: dict[str, Life]
    accesses: tuple[Access, ...]
    target: Target
    guards: dict[str, Cond] = field(default_factory=dict[str, Cond])
    exact: bool = False
    pieces: dict[Dim, Dim] = field(default_factory=dict[Dim, Dim])  # tile -> the dim it is of
    tiles: dict[Dim, tuple[Dim, ...]] = field(default_factory=dict[Dim, tuple[Dim, ...]])
    short: dict[Dim, int] = field(default_factory=dict[Dim, int])
    changes: tuple[str, ...] = ()  # what was done to keep less, in words
    same: Mapping[str, str] = field(default_factory=dict[str, str])  # not computed -> its equal
    ends: dict[Loop, End] = field(default_factory=dict[Loop, End])
    living: dict[str, Load] = field(default_factory=dict[str, Load])
    begun: dict[str, Loop] = field(default_factory=dict[str, Loop])
    limits: dict[Clause, tuple[Test, ...]] = field(default_factory=dict[Clause, tuple[Test, ...]])
    only: Mapping[str, Cond] = field(default_factory=dict[str, Cond])
    ranks: Mapping[str, Mapping[Dim, int]] = field(default_factory=dict[str, Mapping[Dim, int]])
    checked: bool = False
    spills: bool = False
    without: frozenset[str] = frozenset()
    passed_over: tuple[str, ...] = ()  # what could not be done faster, and why

    @property
    def keeps_parts(self) -> bool:
        """Whether rows of numbers are folded in lanes."""
        return self.target.keeps_parts and not self.exact

    @cached_property
    def walks(self) -> Walks:
        """What kernels pass through step by step; a stored plan that spills has it with it."""
        from ostinato.codegen.planning.walks import walks  # needs integer sets

        return walks(self)
