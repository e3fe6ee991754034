"""Machine code that compares every access of memory with bounds, before it happens.

The accesses are those of optimised code: what vectors, micro-kernels and copies became, so that a
checked program computes the bits of an unchecked one, by the same instructions. An address is
followed back to what it counts from: an entry of the offset table, an offset that a product was
given, or a local array. `ostinato.runtime.run.tensor_bounds` writes the bounds of the entries
before the table, where checked code finds them, and reads there what went wrong first. An access
outside is not made: a load reads zeros, a store is lost, and every later kernel returns at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostinato.runtime.machine_code.address_origins import (
    ENTRY,
    FAULT,
    LINE,
    NAME,
    Origins,
    UnknownFormError,
    parts_of,
    pointer_of,
    size_of,
)
from ostinato.runtime.machine_code.probes import GATE, LIBRARY

ENTRIES, PARTS = "ostinato.entry.", "ostinato.part."
_HEAD = re.compile(r"define (.*?)@([-\w$.]+)\((.*)\)(.*)\{")
_CALL = re.compile(rf"(.*?)(@[-\w$.]+|{NAME})\((.*)\)(.*)")
_FORMS = re.compile(r' "vector-function-abi-variant"="[^"]*"')  # inlined, and nowhere else
_HARMLESS = ("@llvm.prefetch", "@llvm.assume", "@llvm.lifetime")
_FORBIDDEN = ("atomicrmw", "cmpxchg", "fence", "va_arg", "invoke", "callbr")


def checked(text: str) -> str:
    """The text of an optimised module, with every access of its kernel or part checked.

    Errors: UnknownFormError.
    """
    out: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        head = _HEAD.match(line)
        if head is not None:
            out += _function(head, list(_until_end(lines)))
        elif line.startswith("declare") and f"@{PARTS}" in line and "(ptr" in line:
            out.append(re.sub(r"\((.*)\)", r"(\1, ptr)", line, count=1))
        else:
            out.append(_FORMS.sub("", line))
    needed = (f"declare i64 @llvm.{name}.i64(i64, i1)" for name in ("cttz", "ctlz"))
    declared = "\n".join(out)
    out += [line for line in needed if line.split("(")[0] not in declared]
    return "\n".join((*out, LIBRARY))


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        yield line


def _function(head: re.Match[str], body: list[str]) -> list[str]:
    """A kernel, a part, or a function of numbers, which stays as it is."""
    linkage, name, given, rest = head.groups()
    given = re.sub(r"(?:readonly|readnone|writeonly|captures\(\w*\)|nocapture) ", "", given)
    rest = re.sub(r"#\d+ ", "", rest)
    parameters = re.findall(NAME, given)
    if name.startswith(ENTRIES):
        inner = [f"define internal void @checked.body({given}) noinline {{"]
        inner += [*Checks(parameters, body, is_part=False).lines(), "}", ""]
        lines = GATE.format(table=parameters[1], given=given, fault=FAULT)
        return [*inner, f"define {linkage}@{name}({given}){rest}{{", lines, "}"]
    if name.startswith(PARTS) and parameters and given.startswith("ptr "):
        lines = "\n".join(Checks(parameters, body, is_part=True).lines())
        return [f"define {linkage}@{name}({given}, ptr %checked){rest}{{", lines, "}"]
    if "ptr " in given:
        raise UnknownFormError(f"a function of addresses: {name}")
    return [head.string, *body, "}"]


class Checks(Origins):
    """A kernel or a part with checks."""

    def lines(self) -> list[str]:
        """The lines of the body; what they need follows the name of the first block."""
        made = [(LINE.match(line), self.line(line)) for line in self.body]
        out: list[str] = []
        for found, lines in made:
            name = found[1] if found is not None else ""
            out += [*self.before.get(name, ()), *lines, *self.after.get(name, ())]
        first = 1 if out and re.match(r"[-\w$.]+:", out[0]) else 0
        if self.is_part:
            record = "  %checked.record = load ptr, ptr %checked"
        else:
            table = self.parameters[1]
            record = f"  %checked.record = getelementptr i64, ptr {table}, i64 -{FAULT}"
        return [*out[:first], record, *self.begin, *out[first:]]

    def line(self, line: str) -> list[str]:
        """A line, after those that check what it accesses."""
        found = LINE.match(line)
        if found is None:
            return [line]
        op = found[2]
        if op in ("load", "store"):
            return self.access(line, found[3], op == "store")
        if op == "call":
            return self.call(line, found[3])
        if op in _FORBIDDEN:
            raise UnknownFormError(line)
        return [line]

    # ------------------------------------------------------------ accesses

    def access(self, line: str, rest: str, is_store: bool) -> list[str]:
        """A load or a store of one number or vector."""
        pointer, size = pointer_of(rest), size_of(rest)  # that of an atomic one is no type
        lines, place = self.place(pointer, str(size), is_store, line)
        at = line.rindex(f"ptr {pointer}")
        return [*lines, f"{line[:at]}ptr {place}{line[at + 4 + len(pointer) :]}"]

    def place(self, pointer: str, size: str, is_store: bool, line: str) -> tuple[list[str], str]:
        """The lines that check some bytes, and the address to use instead."""
        bounds = self.area(pointer, line)
        if bounds is None:
            return [], pointer
        name = self.fresh()
        words = ", ".join(f"i64 {x}" for x in (size, *bounds, int(is_store)))
        made = f"  {name} = call ptr @checked.place(ptr {pointer}, {words}, ptr %checked.record)"
        return [made], name

    def call(self, line: str, rest: str) -> list[str]:
        found = _CALL.match(rest)
        if found is None:
            raise UnknownFormError(line)
        name, args = found[2], parts_of(found[3])
        if name.startswith(_HARMLESS) or not any("ptr" in x.split("%")[0] for x in args):
            return [line]
        if name.startswith(f"@{PARTS}"):
            return self.part(line, args)
        if name.startswith(("@llvm.masked.load", "@llvm.masked.store")):
            return self.masked(line, args, "store" in name)
        if name.startswith(("@llvm.masked.gather", "@llvm.masked.scatter")):
            return self.gathered(line, args, "scatter" in name)
        if name.startswith(("@llvm.memset", "@llvm.memcpy", "@llvm.memmove")):
            return self.many(line, args)
        raise UnknownFormError(line)

    def part(self, line: str, args: list[str]) -> list[str]:
        """A call of a product, with the bounds of all that its offsets count from."""
        frame, out = self.fresh(), list[str]()
        words = 1 + ENTRY * (len(args) - 1)
        self.begin.append(f"  {frame} = alloca i64, i64 {words}")
        out.append(f"  store ptr %checked.record, ptr {frame}")
        for k, arg in enumerate(args[1:]):
            value = arg.split()[-1]
            for j, bound in enumerate(self.part_of(value, line)):
                at = self.fresh()
                out.append(f"  {at} = getelementptr i64, ptr {frame}, i64 {1 + ENTRY * k + j}")
                out.append(f"  store i64 {bound}, ptr {at}")
        plain = re.sub(r"^  (?:tail )?call", "  call", line)
        end = plain.rindex(")")
        return [*out, f"{plain[:end]}, ptr {frame}{plain[end:]}"]

    def masked(self, line: str, args: list[str], is_store: bool) -> list[str]:
        """A load or a store of some lanes."""
        pointer, mask = args[is_store], args[1 + is_store]
        kind = args[0] if is_store else args[2]
        value, lanes = pointer.split()[-1], int(mask[1:].split()[0])
        bounds = self.area(value, line)
        if bounds is None:
            return [line]
        bits, wide, place = self.fresh(), self.fresh(), self.fresh()
        width = size_of(kind[: kind.index(">") + 1]) // lanes
        words = ", ".join(f"i64 {x}" for x in (wide, width, *bounds, int(is_store)))
        lines = [
            f"  {bits} = bitcast {mask} to i{lanes}",
            f"  {wide} = zext i{lanes} {bits} to i64",
            f"  {place} = call ptr @checked.lanes(ptr {value}, {words}, ptr %checked.record)",
        ]
        new = f"{pointer[: -len(value)]}{place}"
        return [*lines, line.replace(pointer, new, 1)]

    def gathered(self, line: str, args: list[str], is_store: bool) -> list[str]:
        """A load or a store of lanes that lie anywhere: one after the other is checked."""
        pointers, mask = args[is_store], args[1 + is_store]
        kind = args[0] if is_store else args[2]
        value, lanes = pointers.split()[-1], int(mask[1:].split()[0])
        width = size_of(kind[: kind.index(">") + 1]) // lanes
        whole, several = value, len(self.roots(value)) > 1 and not self.is_part
        bounds = self.of_lanes(value, lanes, line) if several else self.area(value, line)
        if bounds is None:
            return [line]
        lines, all_ = list[str](), bounds
        for k in range(lanes):
            one, on, size, place, more = (self.fresh() for _ in range(5))
            if several:
                bounds = self.three()
                for name, of in zip(bounds, all_, strict=True):
                    lines.append(f"  {name} = extractelement <{lanes} x i64> {of}, i64 {k}")
            words = ", ".join(f"i64 {x}" for x in (size, *bounds, int(is_store)))
            lines += [
                f"  {one} = extractelement <{lanes} x ptr> {value}, i64 {k}",
                f"  {on} = extractelement {mask}, i64 {k}",
                f"  {size} = select i1 {on}, i64 {width}, i64 0",
                f"  {place} = call ptr @checked.place(ptr {one}, {words}, ptr %checked.record)",
                f"  {more} = insertelement <{lanes} x ptr> {whole}, ptr {place}, i64 {k}",
            ]
            whole = more
        new = f"{pointers[: -len(value)]}{whole}"
        return [*lines, line.replace(pointers, new, 1)]

    def many(self, line: str, args: list[str]) -> list[str]:
        """Bytes that are set or copied at once: none of them where one is outside."""
        length = args[2].split()[-1]
        lines, left = list[str](), length
        places = args[:1] if "@llvm.memset" in line else args[:2]
        for k, arg in enumerate(places):
            value = arg.split()[-1]
            more, place = self.place(value, length, k == 0, line)
            if place == value:
                continue
            inside, following = self.fresh(), self.fresh()
            lines += [
                *more,
                f"  {inside} = icmp eq ptr {place}, {value}",
                f"  {following} = select i1 {inside}, i64 {left}, i64 0",
            ]
            left = following
        return [*lines, line.replace(args[2], f"i64 {left}", 1)]
