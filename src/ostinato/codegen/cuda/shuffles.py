"""A shuffle as a function that all threads of a block call: each finds where some numbers end.

In turn, number ``k`` goes to the place that its choice names, and what was there goes to place
``k``. So a number stays in a place until the next turn that chooses this place, and is then in the
place of that turn's own number. Lists say for each place who chooses it: they let every number
follow its own way, which has about as many steps as the logarithm of all numbers, and no thread
waits for another one's numbers. The order in which threads enter a list does not matter, as only
the least of its later turns is looked for.
"""

from __future__ import annotations

from ostinato.codegen.cuda.dealt import THREAD, THREADS
from ostinato.codegen.cuda.one_thread import ARENA
from ostinato.codegen.cuda.shared_sums import BARRIER
from ostinato.codegen.cuda.threads import SHUFFLE
from ostinato.codegen.loops.expression import Expression, Item, Logic, Name, binary, call, compare
from ostinato.codegen.loops.statements import Block, Body

NAME = SHUFFLE
PARAMETERS = (
    *(ARENA, "choices", "choice_step", "at", "step", "scratch", "count"),
    *(THREAD, THREADS),
)
VIEW = Name(f"{ARENA}.int32")
NOBODY = -1  # ends a list
K, PLACE, TURN, NEXT, OTHER = "k", "place", "turn", "next_turn", "other"


def body() -> Body:
    """The numbers of this thread; other threads may need a barrier before and after it.

    The scratch memory has the head of the list of every place, and behind these of every number the
    next one of its list.
    """
    out = Block()
    with out.loop(K, THREAD, "count", THREADS):
        out.write(VIEW, _head(K), NOBODY)
    out.add(BARRIER)
    with out.loop(K, THREAD, "count", THREADS):
        _choice(out)
        out.let(OTHER, call("exchange", VIEW, _head(PLACE), K))
        out.write(VIEW, _link(K), OTHER)
    out.add(BARRIER)
    with out.loop(K, THREAD, "count", THREADS):
        _choice(out)
        out.let(TURN, K)
        _follow(out)
        out.write(VIEW, binary("+", "at", binary("*", PLACE, "step")), K)
    return out.body


def _choice(out: Block) -> None:
    """The place that a number chooses: one of those up to its own."""
    found = _load(binary("+", "choices", binary("*", K, "choice_step")))
    out.let(PLACE, call("min", call("max", found, 0), K))


def _follow(out: Block) -> None:
    """Go from turn to turn until nobody chooses the place any more."""
    out.let(NEXT, 0)
    with out.repeat(compare("<", NEXT, "count")):
        out.let(NEXT, "count")
        out.let(OTHER, _load(_head(PLACE)))
        with out.repeat(compare("!=", OTHER, NOBODY)):
            is_next = Logic("and", (compare(">", OTHER, TURN), compare("<", OTHER, NEXT)))
            out.let(NEXT, call("where", is_next, OTHER, NEXT))
            out.let(OTHER, _load(_link(OTHER)))
        with out.when(compare("<", NEXT, "count")):
            out.let(PLACE, NEXT)
            out.let(TURN, NEXT)


def _head(place: str) -> Expression:
    return binary("+", "scratch", place)


def _link(number: str) -> Expression:
    return binary("+", binary("+", "scratch", "count"), number)


def _load(at: Expression) -> Expression:
    return call("i64", Item(VIEW, at))
