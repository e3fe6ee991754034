"""Types of elements: every way to give the leaves of two equal elements a type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from ostinato.pdg.functions import FOLDS, FUNCTIONS, POSITIONS
from ostinato.pdg.node import Dtype
from ostinato.rewrite.prove.application import (
    Call,
    Choice,
    Fold,
    Leaf,
    Number,
    Recursion,
    Value,
    operands,
)

TYPES: tuple[Dtype, ...] = ("float64", "int32", "uint32", "bool")
_CAST: tuple[Dtype, ...] = ("float32", "int64", "float16")  # tried too where a law casts
_NUMBERS = frozenset((*TYPES[:3], "float32", "int64"))
_REALS = frozenset(("float64", "float32"))
_INDICES = frozenset(("float64", "float32", "int32", "int64"))
_STANDS_FOR_ANY = {
    1: "neg",
    2: "sub",
    3: "where",
}  # a function of which a law says nothing, by arity
OUTSIDE = "outside "  # a running fold at a point of which it is not known that it is in the box


class IllTyped(Exception):
    """No types of the leaves give an element a meaning."""


@dataclass(frozen=True, eq=False)
class Typed:
    """A value with the number of its type and its operands, each occurrence on its own."""

    value: Value
    kind: int
    fn: str = ""
    parts: tuple[Typed, ...] = ()


@dataclass
class Types:
    """Types that are equal, as links, and what each may be."""

    tried: tuple[Dtype, ...] = TYPES
    links: list[int] = field(default_factory=list[int])
    allowed: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    leaves: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def for_sides(cls, *sides: Value) -> Types:
        """No types yet, and more of them to try where a side casts."""
        return cls((*TYPES, *_CAST) if any(map(_casts, sides)) else TYPES)

    def fresh(self, allowed: frozenset[str] = frozenset((*TYPES, *_CAST))) -> int:
        self.links.append(len(self.links))
        self.allowed.append(allowed)
        return len(self.links) - 1

    def root(self, kind: int) -> int:
        while self.links[kind] != kind:
            kind = self.links[kind]
        return kind

    def unify(self, a: int, b: int) -> None:
        """Take two types as equal.

        Errors: IllTyped.
        """
        x, y = self.root(a), self.root(b)
        self.links[y] = x
        self.restrict(x, self.allowed[y])

    def restrict(self, kind: int, allowed: frozenset[str]) -> None:
        """Rule out all other types.

        Errors: IllTyped.
        """
        root = self.root(kind)
        self.allowed[root] &= allowed
        if not self.allowed[root]:
            raise IllTyped(f"no type for {allowed}")

    def leaf(self, name: str) -> int:
        """The type of a tensor."""
        if name not in self.leaves:
            self.leaves[name] = self.fresh()
        return self.leaves[name]

    def of(self, value: Value) -> Typed:
        """A value with the types of its parts.

        Errors: IllTyped.
        """
        match value:
            case Leaf(name):
                kind = self.leaf(name)
                if value.is_truth:
                    self.restrict(kind, frozenset(("bool",)))
                return Typed(value, kind)
            case Number(of):
                if not isinstance(of, Fraction):
                    return Typed(value, self.fresh(_INDICES))
                if of in (0, 1):
                    return Typed(value, self.fresh())
                whole = of.denominator == 1
                return Typed(value, self.fresh(_NUMBERS if whole else _REALS))
            case Call(fn, args):
                return self._call(value, fn, tuple(map(self.of, args)))
            case Fold(fn, _, body):
                return self._fold(value, fn.removeprefix("scan "), self.of(body))
            case Recursion(_, _, factor, body):
                parts = self.of(factor), self.of(body)
                self.unify(parts[0].kind, parts[1].kind)
                return Typed(value, parts[1].kind, "", parts)
            case Choice(_, yes, no):
                parts = self.of(yes), self.of(no)
                self.unify(parts[0].kind, parts[1].kind)
                return Typed(value, parts[0].kind, "", parts)

    def _call(self, value: Value, fn: str, parts: tuple[Typed, ...]) -> Typed:
        name, _, declared = fn.partition(":")
        if name == "cast":
            found = frozenset((_cast(declared),)) & {*TYPES, *_CAST}
            if not found:
                raise IllTyped(fn)
            return Typed(value, self.fresh(found), "cast", parts)
        if fn.startswith(("unit ", OUTSIDE)):
            kind = parts[0].kind if parts else self.fresh()
            return Typed(value, kind, fn, parts)
        name = name if name in FUNCTIONS else _STANDS_FOR_ANY.get(len(parts), "")
        if not name or fn.startswith("along "):
            raise IllTyped(fn)
        known, same = FUNCTIONS[name], parts
        if name == "where":
            self.restrict(parts[0].kind, frozenset(("bool",)))
            same = parts[1:]
        for part in same[1:]:
            self.unify(same[0].kind, part.kind)
        self.restrict(same[0].kind, frozenset(known.accepts))
        if known.result == "bool":
            return Typed(value, self.fresh(frozenset(("bool",))), name, parts)
        if known.result != "same":
            raise IllTyped(fn)
        return Typed(value, same[0].kind, name, parts)

    def _fold(self, value: Value, fn: str, body: Typed) -> Typed:
        name = "sum" if fn == "dot" else fn
        if name not in FOLDS:
            raise IllTyped(fn)
        self.restrict(body.kind, frozenset(FOLDS[name].accepts))
        kind = self.fresh(_NUMBERS) if name in POSITIONS else body.kind
        return Typed(value, kind, name, (body,))

    def choices(self) -> Iterator[dict[int, Dtype]]:
        """Types by number: in each choice one type wherever it is allowed."""
        roots = sorted({self.root(k) for k in range(len(self.links))})
        found = list[dict[int, Dtype]]()
        for wanted in self.tried:
            chosen: dict[int, Dtype] = {
                r: wanted if wanted in self.allowed[r] else self._first(r) for r in roots
            }
            if wanted in chosen.values() and chosen not in found:
                found.append(chosen)
        for chosen in found:
            yield {k: chosen[self.root(k)] for k in range(len(self.links))}

    def _first(self, root: int) -> Dtype:
        return next(t for t in (*TYPES, *_CAST) if t in self.allowed[root])


def _cast(declared: str) -> str:
    return "float64" if declared == "real" else declared


def _casts(value: Value) -> bool:
    here = isinstance(value, Call) and value.fn.startswith("cast:") and value.fn != "cast:real"
    return here or any(map(_casts, operands(value)))
