"""Random systems: recurrences, windows, reads backwards, folds, products, choices."""

from __future__ import annotations

import random
from dataclasses import replace

from ostinato.codegen.ir.system import Axis, System
from ostinato.codegen.ir.values import Rewrite
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, every
from ostinato.pdg.index import Dim, Expr, expr, floordiv
from tests.codegen.builder import Builder, V, call, choose, number
from tests.codegen.judge import Arrays

DIMS = ["i b t", "i b t", "i b t", "b t", "i t", "t", "i", "i b", "b", ""]
AXES = ["h", "n", "h n", "n h", "", "", "h", "p q h"]
SIZES = {"h": 3, "n": 6, "m": 6, "p": 4, "q": 2}
WALKED = {f"{name}_": size for name, size in SIZES.items()}  # the same axes, inside whole rows


class Inventor:
    """Adds random statements to a builder; every choice comes from the seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.p = Builder("b i t", SIZES | WALKED)
        self.done: list[str] = []
        self.count = 0
        self.p.input("u", "b", "h", {"B": 5})
        self.p.input("w", "", "n", {})
        self.done += ["u", "w"]

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def add(self, name: str, dims: str, axes: str, *args: object, **more: object) -> None:
        lanes = "b" if self.chance.random() < 0.8 else ""
        if self.chance.random() < 0.1:
            lanes += " t"
        self.p.add(name, dims, axes, *args, **({"lanes": lanes} | more))  # type: ignore[arg-type]
        if name not in self.done:
            self.done.append(name)

    def read(self, dims: str, axes: str) -> V:
        """Any tensor that can be read at such a point, sometimes elsewhere."""
        found = [n for n in self.done if self.fits(n, dims, axes)]
        if not found or self.chance.random() < 0.1:
            return number(self.p.d[dims.split()[-1]]) * 0.1 if dims else number(1)
        name = self.chance.choice(found)
        s = self.p.statements[name]
        at: dict[str, Expr] = {}
        for d in s.result_dims:
            if d.name not in dims.split():
                last = expr(d.extent) - 1
                at[d.name] = self.chance.choice([expr(0), last])
            elif self.chance.random() < 0.12:
                last = expr(d.extent) - 1
                at[d.name] = self.chance.choice([floordiv(d, 2), last - expr(d), last, expr(0)])
        return self.p(name, **at)

    def fits(self, name: str, dims: str, axes: str) -> bool:
        s = self.p.statements[name]
        inside = {a.index.name for a in s.result_axes} <= set(axes.split())
        outside = {d.name for d in s.result_dims} - set(dims.split())
        return inside and (not outside or self.chance.random() < 0.3)

    def value(self, dims: str, axes: str) -> V:
        a, b = self.read(dims, axes), self.read(dims, axes)
        out = a * 0.5 - b * 0.3 + 0.1
        kind = self.chance.random()
        if kind < 0.2:
            out = out + self.p.draw(self.count, dims) * 0.2
        elif kind < 0.3 and dims:
            d = self.p.d[self.chance.choice(dims.split())]
            out = choose(at_least(d, 2), out, b * 0.5)
        elif kind < 0.4 and axes:
            a_ = self.p.a[axes.split()[-1]]
            out = choose(at_least(a_, 2), out, b * 0.5)
        elif kind < 0.5:
            out = call("tanh", out)
        return out

    # ------------------------------------------------------------ statements

    def plain(self, dims: str, axes: str) -> None:
        self.add(self.fresh(), dims, axes, self.value(dims, axes))

    def recurrence(self, dims: str, axes: str) -> None:
        """A state, an operator between, and the next state; forwards or backwards."""
        d = self.p.d[self.chance.choice([n for n in dims.split() if n != "b"])]
        step = self.chance.choice([1, 1, 2, 3])
        back = d.name == "t" and self.chance.random() < 0.4
        state, middle, after = self.fresh(), self.fresh(), self.fresh()
        lanes = "b" if self.chance.random() < 0.8 else ""
        self.p.add(after, dims, axes, 0.0, lanes=lanes)
        start = self.value(dims, axes)
        moved = self.p(after, **{d.name: expr(d) + (step if back else -step)})
        edge = expr(d) - (expr(d.extent) - step) if back else step - 1 - expr(d)
        first: list[tuple[Cond, V | float]] = [(at_least(edge, 0), start), (ALWAYS, moved)]
        self.p.add(state, dims, axes, first, lanes=lanes)
        body = self.p(state) * 0.7 + self.read(dims, axes) * 0.2
        if axes and self.chance.random() < 0.3:
            self.rows(middle, dims, axes, lanes, body)
        else:
            self.p.add(middle, dims, axes, body, lanes=lanes)
        del self.p.statements[after]
        self.p.add(after, dims, axes, call("tanh", self.p(middle)) * 0.9, lanes=lanes)
        self.done += [state, after]
        if self.chance.random() < 0.6:
            self.done.append(middle)

    def carry(self, dims: str, axes: str) -> None:
        """The previous value across ``i`` and ``t``: the last step of one is the next's first."""
        i, t = self.p.d["i"], self.p.d["t"]
        state, after = self.fresh(), self.fresh()
        self.p.add(after, dims, axes, 0.0)
        first = every(equal(i, 0), equal(t, 0)) if "i" in dims.split() else equal(t, 0)
        cases: list[tuple[Cond, V | float]] = [(first, self.value(dims, axes))]
        if "i" in dims.split():
            last = self.p(after, i=i - expr(1), t=expr(t.extent) - 1)
            cases.append((equal(t, 0), last))
        cases.append((ALWAYS, self.p(after, t=t - expr(1))))
        self.p.add(state, dims, axes, cases)
        total = self.fresh()
        del self.p.statements[after]
        body = self.p(state) * 0.8 + self.read(dims, axes) * 0.1
        if "b" in dims.split():
            self.p.add(total, dims, axes, self.p(state), over="b")
            body = body - self.p(total) * 0.05
        self.p.add(after, dims, axes, body)
        self.done += [state] if self.chance.random() < 0.3 else []
        self.add(self.fresh(), dims.replace("t", "").strip(), axes, self.p(after, t=self.end(t)))

    def end(self, dim: Dim) -> Expr:
        return expr(dim.extent) - 1

    def window(self, dims: str, axes: str) -> None:
        found = [n for n in self.done if self.has(n, "t", dims, axes)]
        if not found:
            return self.plain(dims, axes)
        name, t = self.chance.choice(found), self.p.d["t"]
        step = self.chance.choice([1, 2, 3])
        now = self.p(name)
        late = [(at_least(step - 1, t), now), (ALWAYS, now - self.p(name, t=t - expr(step)))]
        ahead = self.p(name, t=t + expr(step))
        early = [(at_least(t, expr(t.extent) - step), now), (ALWAYS, now + ahead)]
        self.add(self.fresh(), dims, axes, self.chance.choice([late, early]))

    def has(self, name: str, dim: str, dims: str, axes: str) -> bool:
        s = self.p.statements[name]
        own = {d.name for d in s.result_dims}
        inside = {a.index.name for a in s.result_axes} <= set(axes.split())
        return dim in own and own <= set(dims.split()) and inside

    def fold(self, dims: str, axes: str) -> None:
        both = dims.split() + axes.split()
        over = self.chance.sample(both, self.chance.randint(1, len(both)))
        fn = self.chance.choice(["sum", "sum", "max"])
        self.add(
            self.fresh(), dims, axes, self.value(dims, axes) * 0.2, over=" ".join(over), fold=fn
        )

    def product(self, dims: str) -> None:
        """Outer rows times columns, contracted over an axis and sometimes over points."""
        n = [x for x in self.done if self.has_axes(x, "h n", dims)]
        if not n:
            return self.plain(dims, "h n")
        left, right = self.chance.choice(n), self.chance.choice(n)
        order = [a.index.name for a in self.p.statements[left].result_axes]
        renamed = self.p(left, *("m" if a == "n" else a for a in order))
        over = ["h"] + ([dims.split()[-1]] if dims and self.chance.random() < 0.5 else [])
        name = self.fresh()
        body = renamed * self.p(right)
        self.add(name, dims, "m n h", body, "matmul", " ".join(over))
        out = self.fresh()
        kept = " ".join(d for d in dims.split() if d not in over)
        if self.chance.random() < 0.4:  # an elementwise chain that may join the product
            joined = self.fresh()
            value = call("tanh", self.p(name) * 0.1 + self.read(kept, "n"))
            self.add(joined, kept, "m n", value, lanes="b")
            name = joined
        self.add(out, kept, "m n", call("tanh", self.p(name) * 0.1), over="m", fold="sum")

    def prefix(self, dims: str, axes: str) -> None:
        """A fold over the past or the future: an axis that grows or shrinks with the point."""
        found = [n for n in self.done if self.has(n, "t", dims, axes)]
        if not found:
            return self.plain(dims, axes)
        t, k, name = self.p.d["t"], Dim("k"), self.chance.choice(found)
        past = self.chance.random() < 0.5
        at = expr(k) if past else expr(t) + k
        size = expr(t) + 1 if past else expr(t.extent) - t
        out = self.fresh()
        self.add(out, dims, axes, self.p(name, t=at) * 0.3, over=axes.split()[0] if axes else "")
        s = self.p.statements[out]
        axis = Axis(k, size, expr(t.extent))
        fold = self.chance.choice(["sum", "max"])
        self.p.statements[out] = replace(
            s, kind="fold", axes=(*s.axes, axis), reduced=s.reduced | {k}, fold=fold
        )

    def position(self, dims: str, axes: str) -> None:
        """The place of the greatest value, and a read there."""
        over = axes.split()[-1]
        rest = " ".join(axes.split()[:-1])
        out = self.fresh()
        value = self.value(dims, axes)
        self.p.add(out, dims, axes, value, over=over, fold="argmax", lanes="b", dtype="int32")
        self.p.add(
            f"{out}g", dims, rest, self.p("w", self.p(out)) if over == "n" else number(1), lanes="b"
        )
        self.done.append(f"{out}g")

    def rows(self, name: str, dims: str, axes: str, lanes: str, *values: V) -> None:
        """A function of whole rows of a value, along any of its axes."""
        along = self.chance.choice(axes.split())
        over = Rewrite({self.p.a[along]: expr(self.p.a[f"{along}_"])})
        moved = [V(over.value(x.of)) for x in values]
        fn = self.chance.choice(["sum", "max", "logsumexp"]) if len(values) == 1 else "linear"
        self.p.sweep(name, dims, axes, fn, *moved, along=along, over=f"{along}_", lanes=lanes)

    def sweep(self, dims: str, axes: str) -> None:
        values = [self.value(dims, axes) for _ in range(self.chance.choice([1, 1, 2]))]
        name = self.fresh()
        self.rows(name, dims, axes, self.chance.choice(["b", "b", ""]), *values)
        self.done.append(name)

    def has_axes(self, name: str, axes: str, dims: str) -> bool:
        s = self.p.statements[name]
        own = {a.index.name for a in s.result_axes}
        return own == set(axes.split()) and {d.name for d in s.result_dims} <= set(dims.split())


def invent(seed: int) -> tuple[System, Arrays]:
    """A random system and its arguments."""
    inventor = Inventor(seed)
    chance = inventor.chance
    for _ in range(chance.randint(4, 12)):
        dims, axes = chance.choice(DIMS), chance.choice(AXES)
        kind = chance.random()
        if kind < 0.3 and set(dims.split()) - {"b"}:
            inventor.recurrence(dims, axes)
        elif kind < 0.38 and "t" in dims.split():
            inventor.carry(dims, axes)
        elif kind < 0.48 and "t" in dims.split():
            inventor.window(dims, axes)
        elif kind < 0.7 and dims + axes:
            inventor.fold(dims, axes)
        elif kind < 0.8:
            inventor.product(dims)
        elif kind < 0.86 and "t" in dims.split():
            inventor.prefix(dims, axes)
        elif kind < 0.9 and axes:
            inventor.position(dims, axes)
        elif kind < 0.97 and axes:
            inventor.sweep(dims, axes)
        else:
            inventor.plain(dims, axes)
    p = inventor.p
    made = [n for n in inventor.done if p.statements[n].kind != "input"]
    p.outputs = sorted({made[-1], *chance.sample(made, min(2, len(made)))})
    return p.system(), p.arrays
