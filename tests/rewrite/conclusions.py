"""What analyses alone conclude of the terms of a program, against what its nodes say.

Loading says what every node is. Here it says so of leaves only: the analyses must conclude of all
others exactly what the constructors of `ostinato.pdg` did, which share no code with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from ostinato.pdg.index import Expr, expr
from ostinato.pdg.node import Node
from ostinato.rewrite.engine.analyses import OPERATORS
from ostinato.rewrite.engine.egglog_session import Cell, Program, Session, Table
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.extract.export import SHAPES, shapes_of, sizes_of
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.terms.signature import SIGNATURE
from tests.rewrite.numbers import Numbers

OWN = ("raw_facts", "raw_dtype", "raw_value", "raw_bounded")
FACTS = ("dom", "sdom", "rank", "dtype", "shape", "value", "bound")
OF_NUMBERS = ("bounded", "positive", "gentle", "moderate")
OF_LISTS = ("hmask", "hlen", "zmask")
ROUNDS, ROWS = 60, 5_000  # twice and seven times what any program of an instance takes
ELEMENTWISE = ("map1", "map2", "map3")
BESIDE_RANGES = ("map2", "map3", "mm", "gather", "along2")  # laws take ranges out of them
MOST = 3  # sizes of which all products are made
Fact = tuple[str, object]


@dataclass(frozen=True)
class Concluded:
    """The tables of an engine, as facts of nodes, shapes and sizes."""

    tables: Mapping[str, Table]
    loaded: Loaded

    def of(self, relation: str) -> dict[int, Cell]:
        """The value of a function for each class."""
        return {int(i[0]): o for i, o in self.tables[relation].rows}

    def all_of(self, relation: str) -> set[tuple[Cell, ...]]:
        """The rows of a relation."""
        return {i for i, _ in self.tables[relation].rows}

    @cached_property
    def sizes(self) -> Mapping[int, Expr]:
        return sizes_of(self.tables, self.loaded.tables)

    @cached_property
    def shapes(self) -> Mapping[int, tuple[Expr, ...]]:
        return shapes_of(self.tables, self.sizes)

    def differs(self, made: set[int]) -> str:
        """A fact of a node that is missing or another one, or ""."""
        classes, known = self.of("node"), {name: self.of(name) for name in FACTS}
        axes, holds = self.all_of("axis"), {name: self.all_of(name) for name in OF_NUMBERS}
        for node, number in self.loaded.ids.items():
            cls = int(classes[number])
            shape = known["shape"].get(cls)
            found: dict[str, object] = {name: known[name].get(cls) for name in FACTS}
            found["shape"] = None if shape is None else self.shapes.get(int(shape))
            found.update({name: (cls,) in holds[name] for name in OF_NUMBERS})
            found["axes"] = {(k, self.sizes[int(z)]) for x, k, z in axes if x == cls}
            for name, own in self._own(node) if number in made else ():
                if found[name] != own:
                    return f"the {name} of {node.op} is {found[name]}, not {own}"
        if any(known["dtype"].get(cls) != "bool" for cls in self._added()):
            return "a function that gives truth values gives others"
        return (
            self._slices(known["sdom"], known["shape"])
            or self._inner(classes)
            or self._beside_ranges()
        )

    def _added(self) -> set[int]:
        """The values of the function that no program has."""
        return {int(o) for op in ELEMENTWISE for i, o in self.tables[op].rows if i[0] == "added"}

    def _slices(self, follow: Mapping[int, Cell], shape: Mapping[int, Cell]) -> str:
        """What has other sizes at every step of a slice is no array."""
        rows = self.tables["sl"].rows
        wrong = [o for (d, _, x), o in rows if int(d) & int(follow[int(x)]) and int(o) in shape]
        return "a slice over steps of several sizes has a shape" if wrong else ""

    def _own(self, node: Node) -> Iterator[Fact]:
        mask = self.loaded.tables.mask
        yield from (("rank", node.rank), ("dtype", node.dtype), ("shape", node.shape))
        yield "dom", mask(node.domain)
        yield "sdom", mask(d for size in node.shape for d in size.dims)
        yield "axes", {(node.rank - k, size) for k, size in enumerate(node.shape)}
        yield from Numbers(bool(self.loaded.rows.get("enters"))).of(node)

    def _inner(self, classes: Mapping[int, Cell]) -> str:
        """Slices that grow, each with the term that is sliced."""
        growing = {row[0] for row in self.loaded.rows.get("growing", ())}
        slices = self.loaded.rows.get("raw_sl", ())
        own = {(d, i, classes[int(y)], classes[int(x)]) for y, d, i, x in slices if i in growing}
        found = {(*i, o) for i, o in self.tables["inner"].rows}
        return "" if found == own else f"inner terms {found}, not {own}"

    def _beside_ranges(self) -> str:
        """Pairs of operands of which one is a range, and the other has one element there."""
        places = {(int(y), int(p)) for (y, _, _, p), _ in self.tables["ranged"].rows}
        (one,) = {int(z) for (n,), z in self.tables["size"].rows if n == 1} or {-1}
        thin = {(int(x), int(p)) for x, p, z in self.all_of("axis") if int(z) == one}
        own = {
            (x, y)
            for op in BESIDE_RANGES
            for fields, _ in self.tables[op].rows
            for x, y in itertools.permutations(_operands(op, fields), 2)
            if any((y, p) in thin for of, p in places if of == x)
        }
        found = {(int(x), int(y)) for x, y in self.all_of("operands")}
        return "" if found == own else f"pairs of operands {found}, not {own}"

    def differs_in_sizes(self) -> str:
        """What is said of shapes and of sizes is what their expressions say."""
        mask, known = self.loaded.tables.mask, {name: self.of(name) for name in OF_LISTS}
        for cls, sizes in self.shapes.items():
            dims = mask(d for size in sizes for d in size.dims)
            if (known["hlen"].get(cls), known["hmask"].get(cls)) != (len(sizes), dims):
                return f"the length or the dimensions of {sizes}"
        for cls, size in self.sizes.items():
            if known["zmask"].get(cls) != mask(size.dims):
                return f"the dimensions of {size} are {known['zmask'].get(cls)}"
        return self._apart() or self._filled() or self._long()

    def _apart(self) -> str:
        """Sizes that are known to be one, but are two: rules would not see that they are equal."""
        ones = {o for i, o in self.tables["size"].rows if i == (1,)}
        for (x, y), z in self.tables["wider"].rows:
            sizes = {self.sizes[int(x)], self.sizes[int(y)]}
            if len(sizes - {expr(1)}) > 1:
                return f"one of {sizes} is repeated"
            if z != (y if x == y or x in ones else x if y in ones else z):
                return f"{self.sizes[int(x)]} and {self.sizes[int(y)]}, repeated, are two sizes"
        sums = {(x, y): z for (x, y), z in self.tables["plus"].rows}
        size = {n: z for (n,), z in self.tables["size"].rows}
        for n, m, whole, *_ in self.loaded.rows.get("halves", ()):
            if sums[size[n], size[m]] != size[whole]:
                return "two parts are no longer the whole"
        dims = self.of("zmask")
        for (x, d, _), z in self.tables["size_at"].rows:
            if not int(d) & int(dims[int(x)]) and z != x:
                return f"{self.sizes[int(x)]} is another size elsewhere"
        return ""

    def _long(self) -> str:
        """Lengths of ranges that grow, and numbers of positions that have a part."""
        growing = {int(row[0]) for row in self.loaded.rows.get("growing", ())}
        own = {int(n) for (s,), n in self.tables["length"].rows if int(s) in growing}
        own |= {int(row[0]) for row in self.loaded.rows.get("section", ())}
        found = {int(n) for (n,) in self.all_of("long")}
        return "" if found == own else f"{found} are long, not {own}"

    def _filled(self) -> str:
        """Products of sizes of at least 1, and no others."""
        filled = {int(z) for (z,) in self.all_of("filled")}
        given = {int(n) for (n,) in self.all_of("raw_filled")}
        own = {int(o) for i, o in self.tables["size"].rows if i[0] in given}
        for (x, y), z in self.tables["times"].rows:
            if {int(x), int(y)} <= own:
                own.add(int(z))
        return "" if filled == own else f"{len(filled)} sizes are at least 1, not {len(own)}"


NAMES = (
    *(*FACTS, *OF_LISTS, *OF_NUMBERS, *ELEMENTWISE, *BESIDE_RANGES, "node", "axis", "inner"),
    *("filled", "raw_filled", "long", "length", "sl", "ranged", "operands"),
)


def misses(loaded: Loaded, without: str = "", changed: str = "") -> str:
    """What analyses say wrongly, or do not say, of a program as it is written; or "".

    One of them may be left out, and one added.
    """
    made = {int(row[0]) for op in OPERATORS for row in loaded.rows.get(f"raw_{op}", ())}
    twice = {row[0] for row in loaded.rows.get("raw_mv", ())}  # by another operator too
    others = ("raw_tr", "raw_perm") if "(mv " in without else ("raw_mv",) if without else ()
    rows = {
        name: [
            row
            for row in found
            if not (name in OWN and row[0] in made or name in others and row[0] in twice)
        ]
        for name, found in loaded.rows.items()
    }
    base, rulesets = _apart()
    with Session(Program(base, (), (), base)) as engine:
        engine.insert(rows)
        engine.run("load")
        engine.execute(_more(loaded))
        asked = [name for text, name in rulesets.items() if text != without]
        if changed:
            engine.execute("(ruleset changed)")
            engine.execute(changed.replace(":ruleset analysis", ":ruleset changed"))
            asked.append("changed")
        engine.execute(f"(unstable-combined-ruleset analyses_asked {' '.join(asked)})")
        rounds = 0
        while engine.run("analyses_asked").updated:
            rounds += 1
            if rounds > ROUNDS or engine.size() > ROWS:
                return "the analyses do not end"
        found = Concluded(engine.tables(list(dict.fromkeys((*NAMES, *SHAPES)))), loaded)
    return found.differs(made) or found.differs_in_sizes()


@cache
def _apart() -> tuple[tuple[str, ...], dict[str, str]]:
    """The program of the engine with a ruleset for every analysis, and these rulesets."""
    base = program(()).base
    found = [command for command in base if ":ruleset analysis" in command]
    rulesets = {command: f"analysis{k}" for k, command in enumerate(found)}
    own = (
        command.replace(":ruleset analysis", f":ruleset {rulesets[command]}")
        if command in rulesets
        else command
        for command in base
    )
    return (*(f"(ruleset {name})" for name in rulesets.values()), *own), rulesets


def _more(loaded: Loaded) -> str:
    """Terms that no program has: products and sums of sizes, an added function, slices of no array.

    And what rules say of slices: that they are ranges.
    """
    known = dict.fromkeys(int(row[1]) for row in loaded.rows.get("raw_cons", ()))
    pairs = itertools.product(list(known)[:MOST], repeat=2)
    products = (f"(times (size {a}) (size {b}))" for a, b in pairs)
    full = {int(d): int(s) for d, s in loaded.rows["full"]}
    slices = (
        f"(sl {bit} {full[bit]} (node {number}))"
        for node, number in loaded.ids.items()
        for bit in {loaded.tables.bit(d) for size in node.shape for d in size.dims}
    )
    x = f"(node {min(loaded.ids.values())})"
    added = (f'({op} "added" {" ".join([x] * k)})' for k, op in enumerate(ELEMENTWISE, 1))
    sums = (f"(plus (size {n}) (size {m}))" for n, m, *_ in loaded.rows.get("halves", ()))
    ranks = {number: node.rank for node, number in loaded.ids.items()}
    ranges = (
        f"(set (ranged (node {y}) {d} {s} {ranks[int(y)]}) (element 0 (node {x})))"
        for y, d, s, x in loaded.rows.get("raw_sl", ())
    )
    others = (*sums, *ranges, '(makes "added" "bool")', *added)
    return " ".join((*products, *slices, *others))


def _operands(op: str, fields: tuple[Cell, ...]) -> list[int]:
    """The operands among the fields of a term."""
    return [int(f) for f, letter in zip(fields, SIGNATURE[op], strict=True) if letter == "T"]
