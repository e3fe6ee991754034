"""What a row of a relation says, as data: the definitions that proofs assume.

Columns are named as in the record of the relation. A claim that several parts of the compiler
decide or write for themselves is stated here once, such as where a range begins and ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, Self, TypeVar

from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.functions import ANY, FOLDS, FUNCTIONS, HALVES, POSITIONS, REPEATED
from ostinato.rewrite.relations.sexpr import Tree

# Of the folds of the language only: neither order nor repetition matters to those that are exact,
# and rules are proved for each one of a group.
EXACT = {fold: joins for fold, joins in REPEATED.items() if not FOLDS[fold].rounds}
ROUNDED = {fold: joins for fold, joins in REPEATED.items() if FOLDS[fold].rounds}


def result_types() -> dict[str, str]:
    """What every function, fold and cast gives: a type, or "" for that of its operands."""
    functions = {f.name: f.result for f in FUNCTIONS.values() if f.result != "declared"}
    return {
        **{name: "" if result == "same" else result for name, result in functions.items()},
        **{f"cast:{dtype}": dtype for dtype in ANY + HALVES},
        **{fold: "int32" if fold in POSITIONS else "" for fold in FOLDS},
        **{f.name: "int32" if f.positions else "" for f in AXIS_FUNCTIONS.values()},
    }


class Countable(Protocol):
    """A number or an index expression."""

    def __add__(self, other: int, /) -> Self: ...


N = TypeVar("N", bound=Countable)


@dataclass(frozen=True, slots=True)
class End:
    """Where a range begins or ends: so far behind 0, the point, or the extent."""

    of: Literal["zero", "point", "extent"]
    plus: int = 0

    def at(self, zero: N, point: N, extent: N) -> N:
        """The index, from what the three are."""
        base = {"zero": zero, "point": point, "extent": extent}[self.of]
        return base + self.plus


START, HERE, BEHIND = End("zero"), End("point"), End("point", 1)
LAST, EXTENT = End("extent", -1), End("extent")


@dataclass(frozen=True, slots=True)
class Steps:
    """The slice has the steps of the dimension from one end to before another."""

    first: End
    behind: End

    def ends(self, zero: N, point: N, extent: N) -> tuple[N, N]:
        """The first index and the one behind the last."""
        return self.first.at(zero, point, extent), self.behind.at(zero, point, extent)

    @property
    def gains(self) -> Literal["", "first", "last"]:
        """Which element it gains at every step of a loop, forwards or backwards, losing none."""
        if self.first == START and self.behind.of == "point":
            return "last"
        return "first" if self.behind == EXTENT and self.first.of == "point" else ""


@dataclass(frozen=True, slots=True)
class Known:
    """What a column is; ``of`` names columns, or is a word of its own."""

    column: str
    what: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Steady:
    """What does not depend on a dimension, or on any if none is named."""

    column: str
    dimension: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """The condition holds for the lower, or the upper, of the two parts of a slice."""

    side: Literal["below", "above"]


@dataclass(frozen=True, slots=True)
class Filled:
    """A tensor all of whose elements are a number."""

    column: str
    number: int


Word = Literal[
    "scalar",  # a tensor without axes, which loading makes: it reads no recurrence
    "finite",  # a tensor without infinities and NaN
    "above zero",  # a tensor of numbers above 0, unless they underflow
    "moderate",  # a tensor of numbers, or of logarithms of numbers above 0, between -8 and 8
    "positive",  # a size of at least 1
    "cast",  # a function that takes values to real numbers
    "keeps type",  # a function that gives what its operands are
    "entering",  # the step of a dimension that enters a range that follows it; the others stay
    "somewhere",  # conditions: whether a range that follows the point has elements, and had before
    "begins",  # a range that begins at the point
    "fits",  # the term of an equation has a meaning, which says sizes of what it is made of
    "tiles",  # tiles that make up a size, which is at least 1, along a dimension
    "section",  # a part of a size
    "first step",  # a recurrence is one term at first, and another later: two cases of a proof
    "neighbour",  # a recurrence reads itself one step before, or after if the flag says so
    "measured",  # a rank, a shape, or a part of one, which proofs compute
    "wish",  # a wish for terms, which cannot be false
    "definition",  # a case of a recurrence, which a rule may give to another one
    "closed",  # the recurrence equals the right side of the rule, which does not read it
]


@dataclass(frozen=True, slots=True)
class Said:
    """What a word says of a column, or of the whole row."""

    word: Word
    column: str = ""


@dataclass(frozen=True, slots=True)
class Equal:
    """A term is another one, in which words that are columns stand for them.

    ``r'`` is the recurrence ``r`` one step before.
    """

    column: str
    term: Tree


@dataclass(frozen=True, slots=True)
class Defined:
    """A recurrence is defined by a term."""

    column: str
    term: Tree


@dataclass(frozen=True, slots=True)
class Clear:
    """Terms that do not read the recurrence of a column, or any if there is none."""

    terms: tuple[str, ...]
    of: str = ""


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """Integers of which no sum with a few multiples of another one leaves the type."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Among:
    """A function that is one of some."""

    column: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Keeps:
    """A truth value that holds exactly at the positions of an axis that are in one of some slices.

    The slices lie inside the axis, one behind the other.
    """

    slices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AsMany:
    """A range to the end of a dimension, and as many steps of it from the point on."""

    ranges: tuple[tuple[Steps, Steps], ...] = (
        (Steps(HERE, EXTENT), Steps(HERE, EXTENT)),
        (Steps(BEHIND, EXTENT), Steps(HERE, LAST)),
    )


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order of positions, and where in it the greatest element is: at its end, or first."""

    functions: tuple[tuple[str, Literal["end of", "start of"]], ...] = (
        ("argsort", "end of"),
        ("top", "start of"),
    )


@dataclass(frozen=True, slots=True)
class Typed:
    """A term of the type of a column."""

    column: str
    type: str


@dataclass(frozen=True, slots=True)
class Repeats:
    """The function that a fold repeats; ``rounds``: only with, or only without, rounding."""

    fold: str
    function: str
    rounds: bool | None = None

    @property
    def pairs(self) -> dict[str, str]:
        """All folds of this kind, each with its function; of any kind are added ones too."""
        if self.rounds is None:
            return REPEATED
        return ROUNDED if self.rounds else EXACT


@dataclass(frozen=True, slots=True)
class Listed:
    """Names of functions and folds that belong together; the first column decides the others."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def others(self, first: str) -> tuple[str, ...]:
        """What belongs to a name of the first column."""
        return next(row[1:] for row in self.rows if row[0] == first)


@dataclass(frozen=True, slots=True)
class Apart:
    """Two dimensions that differ."""

    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A range that is another one at another point, or empty: the two cases of a proof."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The index a step before or after the point, and the condition that there is one."""

    by: Literal[-1, 1]


@dataclass(frozen=True, slots=True)
class SteadyIf:
    """A term that does not depend on a dimension where a flag is set."""

    column: str
    dimension: str
    flag: str


@dataclass(frozen=True, slots=True)
class Nearby:
    """All steps until the point, or from it on, and the step beside it with its condition."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A window that is made of shorter ones."""

    how: Literal["halved", "overlapping"]


@dataclass(frozen=True, slots=True)
class Moves:
    """An axis goes to a place in a permutation, which leaves so many others in another order."""

    others: range


@dataclass(frozen=True, slots=True)
class Depends:
    """A mask of dimensions, of a value (with its shape), an index, a shape, a size, or neither."""

    what: Literal["value", "index", "shape", "sizes", "size", "nothing"]


Claim = (
    Steps | Known | Steady | Cut | Filled | Said | Equal | Defined | Clear | Unwrapped | Among
    | Keeps | AsMany | Ordered | Typed | Repeats | Listed | Apart | Elsewhere | Beside | Nearby
    | Joined | SteadyIf | Moves | Depends
)  # fmt: skip
