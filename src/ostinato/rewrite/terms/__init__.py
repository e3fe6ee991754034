"""What rules are written with: variables, and a function for every operator and relation.

Texts stand for functions, folds and types, integers for numbers (and sizes), floats for the numbers
that fill a tensor. ``+ - * & | << >> ~`` compute with numbers, ``<`` and ``<=`` are facts, and so
are `eq` and `ne`.

>>> d, m, s, x = variables("d m s x")
>>> print(red("sum", m, sl(d, s, x)), eq(m, 1 << rank(x)), prefix(d, s))
(red "sum" m (sl d s x)) (= m (<< 1 (rank x))) (prefix d s)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ostinato.pdg.errors import OptionError, guess
from ostinato.provenance.place import place
from ostinato.rewrite.terms.term import Expression as Expression
from ostinato.rewrite.terms.term import Fact as Fact
from ostinato.rewrite.terms.term import Number as Number
from ostinato.rewrite.terms.term import Operand as Operand
from ostinato.rewrite.terms.term import Term as Term
from ostinato.rewrite.terms.term import Variable as Variable
from ostinato.rewrite.terms.term import asked, made


@dataclass(frozen=True, slots=True)
class Operator:
    """What makes terms with one head."""

    head: str

    def __call__(self, *operands: Operand) -> Term:
        return made(self.head, *operands)


@dataclass(frozen=True, slots=True)
class Asking:
    """What makes the facts that ask for one relation."""

    head: str

    def __call__(self, *columns: Operand) -> Fact:
        return asked(self.head, *columns)


def variables(names: str) -> tuple[Variable, ...]:
    """A variable for each of some names, between spaces."""
    return tuple(map(Variable, names.split()))


def eq(left: Operand, right: Operand) -> Fact:
    """Both are the same."""
    return asked("=", left, right)


def ne(left: Operand, right: Operand) -> Fact:
    """Both differ."""
    return asked("!=", left, right)


def assign(function: Term, value: Operand) -> Fact:
    """Assert the value of a function, such as ``shape(x)``."""
    return asked("set", function, value)


def operators(names: str) -> tuple[Operator, ...]:
    """What makes terms, for each of some heads."""
    return tuple(map(Operator, names.split()))


def relations(names: str) -> tuple[Asking, ...]:
    """What makes facts, for each of some relations."""
    return tuple(map(Asking, names.split()))


LHS = Variable("lhs")  # the left side, in facts

# The operators (`ostinato.rewrite.terms.signature`); host(n, x, ...) is a call of Python.
leaf, rec, map1, map2, map3, red, mm, tr, mv = operators("leaf rec map1 map2 map3 red mm tr mv")
perm, reshape, bcast, cat, part, cut = operators("perm reshape bcast cat part cut")
gather, along1, along2, case, at, sl = operators("gather along1 along2 case at sl")
look, running, lin = operators("look running lin")
nil, cons, size, times = operators("nil cons size times")

# The functions that analyses know of terms, shapes, indices and slices.
full, self, length, shifted, innermost = operators("full self length shifted innermost")
value, dtype, rank, shape, hlen, inner = operators("value dtype rank shape hlen inner")
mask, dom, sdom, hmask, zmask = operators("mask dom sdom hmask zmask")
free, gap, bound = operators("free gap bound")

# The relations (`ostinato.rewrite.relations`).
tiled, section, alone, step = relations("tiled section alone step")
(greatest_at,) = relations("greatest_at")
piece, final, halves, lies_in = relations("piece final halves lies_in")
halved, overlapping, moved = relations("halved overlapping moved")
prefix, suffix, growing, shortened, but_last = relations("prefix suffix growing shortened but_last")
rest, begins, from_zero, starts, follows = relations("rest begins from_zero starts follows")
within, box, start = relations("within box start")
before, after, nearby = relations("before after nearby")
ranged, operands, pieces, sought = relations("ranged operands pieces sought")
tally, counter, counts, here = relations("tally counter counts here")
earlier, enters, as_many, some_where = relations("earlier enters as_many some_where")
keeps, keeps_both, opposite, kept = relations("keeps keeps_both opposite kept")
lagged, lagged_in, ramp, decay = relations("lagged lagged_in ramp decay")
positive, gentle, moderate = relations("positive gentle moderate")
scales, adds, turned = relations("scales adds turned")
multiplies, involution = relations("multiplies involution")
around, around_pair, around_alone = relations("around around_pair around_alone")
known, indicator, both, pins, only = relations("known indicator both pins only")
holds_low, holds_high, inside, joint, want, everywhere = relations(
    "holds_low holds_high inside joint want everywhere"
)
neighbour, body, batch, define, live = relations("neighbour body batch define live")
closed, clear, some, gone, scaled = relations("closed clear some gone scaled")
affine, factor, rows, columns = relations("affine factor rows columns")
centre, unit, zero = relations("centre unit zero")
empty, bounded = relations("empty bounded")
repeats, exactly, rounded, places = relations("repeats exactly rounded places")
real_cast, arithmetic, axis, ones = relations("real_cast arithmetic axis ones")
either, eased, long = relations("either eased long")
filled, raw_filled, keeps_type, makes = relations("filled raw_filled keeps_type makes")


def host(number: Number, *operands: Operand) -> Term:
    """A call of Python with some operands."""
    return made(f"host{len(operands)}", number, *operands)


def scan(fold: Operand, d: Operand, x: Operand) -> Term:
    """The fold of all steps up to the point."""
    return running(fold, d, 0, x)


def back(fold: Operand, d: Operand, x: Operand) -> Term:
    """The fold of all steps from the point on."""
    return running(fold, d, 1, x)


# Elementwise functions that many laws name.
add, sub, mul, div, power = (partial(map2, fn) for fn in ("add", "sub", "mul", "div", "pow"))
neg, exp, where = partial(map1, "neg"), partial(map1, "exp"), partial(map3, "where")
NIL = nil()


def sizes(*items: Operand, then: Expression = NIL) -> Expression:
    """The shape with some sizes, outermost first, before those of ``then``.

    >>> print(sizes(1, Variable("n")))
    (cons (size 1) (cons n (nil)))
    """
    out = then
    for item in reversed(items):
        out = cons(item, out)
    return out


def axes(x: Operand, *every: Operand) -> Fact:
    """A term has exactly these axes, outermost first.

    >>> print(axes(Variable("x"), Variable("n"), 1))
    (= (cons n (cons (size 1) (nil))) (shape x))
    """
    return eq(sizes(*every), shape(x))


def is_in(d: Expression, mask: Expression) -> Fact:
    """A dimension is among those of a mask."""
    return ne(0, d & mask)


def not_in(d: Expression, mask: Expression) -> Fact:
    """A dimension is not among those of a mask: a value does not depend on it."""
    return eq(0, d & mask)


def popcount(name: Variable, mask: Expression) -> tuple[Fact, ...]:
    """Facts that bind ``name`` to the number of bits set in a mask of at most eight bits."""
    a, b = Variable(f"{name}a"), Variable(f"{name}b")
    return (
        eq(a, mask - ((mask >> 1) & 85)),
        eq(b, (a & 51) + ((a >> 2) & 51)),
        eq(name, (b + (b >> 4)) & 15),
    )


if not TYPE_CHECKING:  # a type checker knows the names without this

    def __getattr__(name: str) -> object:
        """Refuse a name that is no operator and no relation, with the nearest one."""
        if name.startswith("__"):
            raise AttributeError(name)
        near = guess(name, (known for known in globals() if not known.startswith("_")))
        remedy = f"{near}`help(ostinato.rewrite.terms)` lists all."
        raise OptionError(f"no operator and no relation is called `{name}`", remedy, place())
