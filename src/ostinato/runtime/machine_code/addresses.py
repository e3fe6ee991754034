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

GATE = """\
  %checked.record = getelementptr i64, ptr {table}, i64 -{fault}
  %checked.flag = load i64, ptr %checked.record
  %checked.over = icmp ne i64 %checked.flag, 0
  br i1 %checked.over, label %checked.end, label %checked.work
checked.work:
  call void @checked.body({given})
  br label %checked.end
checked.end:
  ret void"""

LIBRARY = """
@checked.zeros = internal constant [4096 x i8] zeroinitializer, align 64
@checked.lost = internal global [4096 x i8] zeroinitializer, align 64

define internal ptr @checked.place(ptr %p, i64 %size, i64 %first, i64 %end, i64 %number, \
i64 %kind, ptr %record) noinline {
entry:
  %at = ptrtoint ptr %p to i64
  %room = sub i64 %end, %first
  %fits = icmp ule i64 %size, %room
  %last = sub i64 %room, %size
  %from = sub i64 %at, %first
  %inside = icmp ule i64 %from, %last
  %both = and i1 %fits, %inside
  %none = icmp eq i64 %size, 0
  %ok = or i1 %both, %none
  br i1 %ok, label %right, label %wrong
right:
  ret ptr %p
wrong:
  %pair = cmpxchg ptr %record, i64 0, i64 1 seq_cst seq_cst
  %is.first = extractvalue { i64, i1 } %pair, 1
  br i1 %is.first, label %note, label %instead
note:
  %w1 = getelementptr i64, ptr %record, i64 1
  %w2 = getelementptr i64, ptr %record, i64 2
  %w3 = getelementptr i64, ptr %record, i64 3
  %w4 = getelementptr i64, ptr %record, i64 4
  %w5 = getelementptr i64, ptr %record, i64 5
  %w6 = getelementptr i64, ptr %record, i64 6
  store i64 %first, ptr %w1
  store i64 %end, ptr %w2
  store i64 %at, ptr %w3
  store i64 %size, ptr %w4
  store i64 %number, ptr %w5
  store i64 %kind, ptr %w6
  br label %instead
instead:
  %is.load = icmp eq i64 %kind, 0
  %sink = select i1 %is.load, ptr @checked.zeros, ptr @checked.lost
  ret ptr %sink
}

define internal ptr @checked.lanes(ptr %p, i64 %mask, i64 %width, i64 %first, i64 %end, \
i64 %number, i64 %kind, ptr %record) noinline {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %right, label %some
some:
  %low = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %high = call i64 @llvm.ctlz.i64(i64 %mask, i1 true)
  %past = sub i64 64, %high
  %lanes = sub i64 %past, %low
  %size = mul i64 %lanes, %width
  %skipped = mul i64 %low, %width
  %q = getelementptr i8, ptr %p, i64 %skipped
  %place = call ptr @checked.place(ptr %q, i64 %size, i64 %first, i64 %end, i64 %number, \
i64 %kind, ptr %record)
  %same = icmp eq ptr %place, %q
  %chosen = select i1 %same, ptr %p, ptr %place
  ret ptr %chosen
right:
  ret ptr %p
}
"""


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
