"""What the addresses of optimised code count from, and the bounds of that.

A kernel finds its tensors by the offset table, from an entry on that it is told: an address that
comes from an entry, by whatever arithmetic, belongs to it. A product is given offsets, and their
bounds beside them. Where code chooses between addresses, it chooses between their bounds as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

OWN = 4  # the parameter of a kernel that says where its entries begin
FAULT, ENTRY = 8, 3  # words before the table: of what went wrong, and for each entry before those

NAME = r"%[-\w$.]+"
LINE = re.compile(rf"  (?:({NAME}) = )?(?:(?:tail|notail|musttail) )?(\w+) (.*)")
_CONDITION = re.compile(rf"i1>? (?:{NAME}|true|false),")
_WAYS = re.compile(rf"\[ (.*?), ({NAME}) \]")
_STEP = re.compile(rf"(?:\w+ )*?(i\d+|float|double), ptr ({NAME}), i64 (-?\d+|{NAME})$")
_SUM = re.compile(rf"(?:\w+ )*?i64 ({NAME}), (-?\d+)$")
_TOLD = re.compile(r"(?:, ![\w.]+ !\d+| #\d+)+$")
_WIDTH = {"float": 4, "double": 8, "ptr": 8}
_MOVING = frozenset(
    "getelementptr add sub mul shl lshr ashr or and xor zext sext trunc freeze bitcast inttoptr "
    "ptrtoint sdiv udiv srem urem insertelement extractelement shufflevector".split()
)
_LIMITING = ("@llvm.smin", "@llvm.smax", "@llvm.umin", "@llvm.umax")

Root = tuple[str, int | str]
"""What an address counts from: an entry of the table, a parameter, a local array, a constant."""

Area = tuple[str, str, str]
"""Names of what bounds it: the first byte, the one behind the last, the number of the entry."""


@dataclass(frozen=True)
class Word:
    """A word of the table: its number, which counts from the kernel's first entry if it is own."""

    number: int
    is_own: bool

    def moved(self, steps: Word) -> Word:
        """The word that lies so many words behind."""
        if self.is_own and steps.is_own:
            raise UnknownFormError(f"an entry of an entry, {self} and {steps}")
        return Word(self.number + steps.number, self.is_own or steps.is_own)


class UnknownFormError(AssertionError):
    """Optimised code has an instruction that nobody has told how to check."""


@dataclass
class Origins:
    """The values of a kernel or a part, and the lines that find the bounds of its addresses.

    Those of ``begin`` stand where the function begins, those of ``before`` and ``after`` beside the
    line that makes a value.
    """

    parameters: list[str]
    body: list[str]
    is_part: bool
    begin: list[str] = field(default_factory=list[str])
    bounds: dict[Root, Area] = field(default_factory=dict[Root, Area])
    chosen: dict[str, Area] = field(default_factory=dict[str, Area])  # by the value beside it
    before: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # by a value's name
    after: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    count: int = 0
    has_row: bool = False

    def __post_init__(self) -> None:
        self.known: dict[str, tuple[str, str]] = {}
        for line in self.body:
            found = LINE.match(line)
            if found is not None and found[1]:
                self.known[found[1]] = found[2], _TOLD.sub("", found[3])

    def fresh(self) -> str:
        self.count += 1
        return f"%checked.{self.count}"

    # ------------------------------------------------------------ what addresses count from

    def roots(self, value: str) -> frozenset[Root]:
        """What an address or an offset counts from."""
        out: set[Root] = set()
        seen: set[str] = set()
        waiting = [value]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            found, more = self.through(name)
            out |= found
            waiting += more
        return frozenset(out)

    def through(self, name: str) -> tuple[set[Root], list[str]]:
        """What the making of a value says, or the values that say it; the arena says nothing."""
        if name.startswith("@"):
            return {("constant", name)}, []
        if name in self.parameters:
            place = self.parameters.index(name)
            if self.is_part:
                return ({("given", place)} if place else set()), []
            return ({("table", 0)} if place == 1 else set()), []
        op, rest = self.known[name]
        if op == "alloca":
            return {("local", name)}, []
        if op == "load":
            words = self.words(pointer_of(rest))
            return {("entry", word.number) for word in words if word.is_own}, []
        if op == "phi":
            rest = " ".join(x for x, _ in _WAYS.findall(rest))
        elif op == "select":
            rest = _CONDITION.sub("", rest, count=1)
        elif op == "call" and any(each in rest for each in _LIMITING):
            rest = rest.partition("(")[2]
        elif op not in _MOVING:
            return set(), []
        return set(), re.findall(rf"{NAME}|@[-\w$.]+", rest)

    def word(self, pointer: str) -> Word | None:
        """Which word of the table an address is that of; None: of several, or another address."""
        found = self.words(pointer)
        return next(iter(found)) if len(found) == 1 else None

    def words(self, pointer: str, behind: frozenset[str] = frozenset()) -> frozenset[Word]:
        """The words of the table that an address may be that of; none: it is another address.

        Where blocks meet, of which each computed the address of a word, it is one of theirs.
        ``behind`` are the meetings that were passed on the way.
        """
        if self.is_part:
            return frozenset()
        steps, at = self.stepped(pointer)
        if at == self.parameters[1]:
            return frozenset({steps})
        op, rest = self.known.get(at, ("", ""))
        if op == "phi" and at not in behind:
            ways = [self.words(each, behind | {at}) for each, _ in _WAYS.findall(rest)]
            if all(ways):
                return frozenset(word.moved(steps) for way in ways for word in way)
        if at in self.known and ("table", 0) in self.roots(at):
            raise UnknownFormError(f"{at} = {op} {rest}")
        return frozenset()

    def stepped(self, pointer: str) -> tuple[Word, str]:
        """How many words of the table an address lies behind another one, and that one."""
        own, total, at = 0, 0, pointer
        while at != self.parameters[1]:
            op, rest = self.known.get(at, ("", ""))
            step = _STEP.match(rest) if op == "getelementptr" else None
            index = self.index(step[3]) if step is not None else None
            if step is None or index is None:
                break
            own += index.is_own * size_of(step[1])
            total += index.number * size_of(step[1])
            at = step[2]
        if own not in (0, 8) and ("table", 0) in self.roots(at):
            raise UnknownFormError(pointer)
        return Word(total // 8, bool(own)), at

    def index(self, text: str) -> Word | None:
        """A number, perhaps counted from the kernel's first entry; None: it is another one."""
        if not text.startswith("%"):
            return Word(int(text), False)
        if text == self.parameters[OWN]:
            return Word(0, True)
        op, rest = self.known.get(text, ("", ""))
        found = _SUM.match(rest) if op == "add" else None
        return Word(int(found[2]), True) if found and found[1] == self.parameters[OWN] else None

    # ------------------------------------------------------------ bounds

    def area(self, value: str, line: str) -> Area | None:
        """The bounds of what an address counts from.

        None: it is a constant, or a word of the table. Of what a product is given, its offsets
        have bounds, and its sizes zeros, which change no sum.
        """
        roots = self.roots(value)
        kinds = {kind for kind, _ in roots}
        if kinds == {"constant"} or (kinds == {"table"} and self.words(value)):
            return None
        if kinds == {"given"}:
            first, *others = (self.loaded(x) for x in sorted(roots, key=str))
            return reduce(self.sum, others, first)
        if len(roots) == 1 and not kinds & {"constant", "table"}:
            return self.loaded(*roots)
        if kinds and kinds <= {"entry", "local"}:
            return self.joined(value, line)
        raise UnknownFormError(f"{sorted(map(str, roots))} in {line}")

    def sum(self, one: Area, other: Area) -> Area:
        names = self.three()
        for name, x, y in zip(names, one, other, strict=True):
            self.begin.append(f"  {name} = add i64 {x}, {y}")
        return names

    def joined(self, value: str, line: str) -> Area:
        """The bounds of an address that may count from one tensor or another, chosen beside it."""
        if value in self.chosen:
            return self.chosen[value]
        op, rest = self.known[value]
        if op == "phi":
            areas = [(self.part_of(x, line), way) for x, way in _WAYS.findall(rest)]
            return self.met(value, value, areas)
        if op == "load":
            steps, at = self.stepped(pointer_of(rest))
            ways = [(self.word(x), way) for x, way in _WAYS.findall(self.known[at][1])]
            return self.met(value, at, [(self.entry(x, steps, line), way) for x, way in ways])
        if op == "select" and rest.startswith("i1 "):
            names = self.chosen[value] = self.three()
            test, *sides = parts_of(rest)
            one, other = (self.part_of(x.split()[-1], line) for x in sides)
            for name, x, y in zip(names, one, other, strict=True):
                made = f"  {name} = select {test}, i64 {x}, i64 {y}"
                self.before.setdefault(value, []).append(made)
            return names
        if op == "extractelement":
            names = self.chosen[value] = self.three()
            vector, at = parts_of(rest)
            lanes = int(vector[1:].split()[0])
            rows = self.of_lanes(vector.split()[-1], lanes, line)
            for name, row in zip(names, rows, strict=True):
                made = f"  {name} = extractelement <{lanes} x i64> {row}, {at}"
                self.before.setdefault(value, []).append(made)
            return names
        _, more = self.through(value)
        begun = [x for x in more if self.roots(x)]
        if len(begun) != 1:
            raise UnknownFormError(f"{value} = {op} {rest}, in {line}")
        return self.part_of(begun[0], line)

    def met(self, value: str, where: str, areas: Sequence[tuple[Area, str]]) -> Area:
        """The bounds of a value: one of several, by the block from which code came to a meeting."""
        names = self.chosen[value] = self.three()
        for k, name in enumerate(names):
            coming = ", ".join(f"[ {area[k]}, {way} ]" for area, way in areas)
            self.before.setdefault(where, []).append(f"  {name} = phi i64 {coming}")
        return names

    def entry(self, word: Word | None, steps: Word, line: str) -> Area:
        """The bounds of the entry in a word of the table, or behind it."""
        if word is None or not (found := word.moved(steps)).is_own:
            raise UnknownFormError(f"several words of the table in {line}")
        return self.loaded(("entry", found.number))

    def of_lanes(self, value: str, lanes: int, line: str) -> Area:
        """The bounds of a vector of addresses that count from several tensors, as vectors."""
        if value in self.chosen:
            return self.chosen[value]
        names = self.three()
        if not value.startswith("%") or len(self.roots(value)) < 2:
            self.begin += self.repeated(names, self.part_of(value, line), lanes)
            return names
        op, rest = self.known[value]
        self.chosen[value] = names  # before what it comes from, which may come from it
        if op == "phi":
            ways = _WAYS.findall(rest)
            areas = [(self.of_lanes(x, lanes, line), way) for x, way in ways]
            forms = [
                f"phi <{lanes} x i64> " + ", ".join(f"[ {area[k]}, {way} ]" for area, way in areas)
                for k in range(3)
            ]
        elif op in ("select", "shufflevector", "insertelement"):
            forms = self.moved(op, parts_of(rest), lanes, line)
        else:
            begun = [x for x in self.through(value)[1] if self.roots(x)]
            if len(begun) != 1:
                raise UnknownFormError(f"{value} = {op} {rest}, in {line}")
            if not self.is_one(begun[0]):
                self.chosen[value] = self.of_lanes(begun[0], lanes, line)
                return self.chosen[value]
            made = self.repeated(names, self.part_of(begun[0], line), lanes)
            self.before.setdefault(value, []).extend(made)
            return names
        for name, form in zip(names, forms, strict=True):
            self.before.setdefault(value, []).append(f"  {name} = {form}")
        return names

    def moved(self, op: str, parts: list[str], lanes: int, line: str) -> list[str]:
        """How the bounds of a vector are made of those of its operands, as the vector is."""
        if op == "insertelement":
            into, each, at = parts
            rows = self.of_lanes(into.split()[-1], lanes, line)
            more = self.part_of(each.split()[-1], line)
            pairs = zip(rows, more, strict=True)
            return [f"insertelement <{lanes} x i64> {x}, i64 {y}, {at}" for x, y in pairs]
        test, mask = (parts[0], "") if op == "select" else ("", parts[2])
        sides = parts[1:] if op == "select" else parts[:2]
        known = re.match(r"<(\d+) x", sides[0])
        count = int(known[1]) if known else lanes
        one, other = (self.of_lanes(x.split()[-1], count, line) for x in sides)
        out: list[str] = []
        for x, y in zip(one, other, strict=True):
            both = f"<{count} x i64> {x}, <{count} x i64> {y}"
            out.append(f"select {test}, {both}" if test else f"shufflevector {both}, {mask}")
        return out

    def is_one(self, value: str) -> bool:
        """Whether a value is one address, of which a vector may count from several tensors."""
        return len(self.roots(value)) > 1 and "<" not in self.known[value][1]

    def repeated(self, names: Area, bounds: Area, lanes: int) -> list[str]:
        """The lines that make vectors of bounds."""
        kind, out = f"<{lanes} x i64>", list[str]()
        for name, bound in zip(names, bounds, strict=True):
            out.append(f"  {name}.0 = insertelement {kind} poison, i64 {bound}, i64 0")
            all_ = f"{kind} {name}.0, {kind} poison, <{lanes} x i32> zeroinitializer"
            out.append(f"  {name} = shufflevector {all_}")
        return out

    def part_of(self, value: str, line: str) -> Area:
        """The bounds of one of several addresses; what nobody uses has none."""
        area = self.area(value, line) if value.startswith("%") and self.roots(value) else None
        return area or ("0", "0", "0")

    def three(self) -> Area:
        return self.fresh(), self.fresh(), self.fresh()

    def local(self, name: str) -> Area:
        """The bounds of a local array, whose size is written where it is made."""
        first, end = self.fresh(), self.fresh()
        kind, *more = parts_of(self.known[name][1])
        count = next((int(x.split()[1]) for x in more if x.startswith("i64 ")), 1)
        self.after[name] = [
            f"  {first} = ptrtoint ptr {name} to i64",
            f"  {end} = add i64 {first}, {count * size_of(kind)}",
        ]
        return first, end, "0"

    def loaded(self, root: Root) -> Area:
        """The bounds of an entry or a parameter, read when the function begins, or of an array."""
        if root not in self.bounds:
            self.bounds[root] = self._loaded(*root)
        return self.bounds[root]

    def _loaded(self, kind: str, which: int | str) -> Area:
        if kind == "local":
            return self.local(str(which))
        names = self.three()
        if kind == "given":
            table, place = "%checked", 1 + ENTRY * (int(which) - 1)
        else:
            table, place = self.row(), -FAULT - ENTRY * (int(which) + 1)
        for k, name in enumerate(names):
            self.begin.append(f"  {name}.at = getelementptr i64, ptr {table}, i64 {place + k}")
            self.begin.append(f"  {name} = load i64, ptr {name}.at")
        if kind == "given":
            return names
        low, high, own = names  # `own` is 1 where every worker has a copy
        shift, first, end, number = self.fresh(), self.fresh(), self.fresh(), self.fresh()
        self.begin += [
            f"  {shift} = mul i64 {own}, {self.parameters[2]}",
            f"  {first} = add i64 {low}, {shift}",
            f"  {end} = add i64 {high}, {shift}",
            f"  {number} = add i64 {self.parameters[OWN]}, {int(which) + 1}",
        ]
        return first, end, number

    def row(self) -> str:
        """What the bounds of the kernel's own entries count from: they stand before the table."""
        row, words = "%checked.row", "%checked.row.words"
        if not self.has_row:
            self.has_row = True
            self.begin += [
                f"  {words} = mul i64 {self.parameters[OWN]}, -{ENTRY}",
                f"  {row} = getelementptr i64, ptr {self.parameters[1]}, i64 {words}",
            ]
        return row


def pointer_of(text: str) -> str:
    """The address that a load or a store uses: the last operand."""
    found = re.findall(rf"ptr ({NAME}|@[-\w$.]+)", text)
    if not found or "getelementptr" in text:
        raise UnknownFormError(text)
    return str(found[-1])


def parts_of(text: str) -> list[str]:
    """The parts of a list between commas that stand in no brackets."""
    out, depth = [""], 0
    for letter in text:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and not depth:
            out.append("")
        else:
            out[-1] += letter
    return [each.strip() for each in out]


def size_of(kind: str) -> int:
    """The bytes of a type, at the begin of a text.

    >>> size_of("<8 x float>"), size_of("i1"), size_of("double %x"), size_of("[6 x i32]")
    (32, 1, 8, 24)
    """
    many = re.match(r"[<\[](\d+) x ([^]>]*)", kind)
    if many is not None:
        return int(many[1]) * size_of(many[2])
    one = re.match(r"i(\d+)|(float|double|ptr)", kind)
    if one is None:
        raise UnknownFormError(f"the type {kind}")
    return _WIDTH[one[2]] if one[2] else -(-int(one[1]) // 8)
