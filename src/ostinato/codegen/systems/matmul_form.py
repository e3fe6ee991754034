"""Matrix products: which axes of a "matmul" are m, n and k, in which form, after which copies.

"broadcast" wants the columns of the second operand contiguous, "dots" both contracted axes; what
fits neither is computed from a transposed copy of its second operand (scheduling hoists the copy to
where the operand is constant). Sums of dots add up in lanes. Others add their terms in ascending
order: so do all products of an exact program, however its operands lie.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.extents import Sizes
from ostinato.codegen.ir.system import Axis, Call, Load, Statement, fresh
from ostinato.codegen.ir.tree import Contraction
from ostinato.codegen.systems.axes import coefficient, is_contiguous
from ostinato.machine.cost_model import REFERENCE, Form
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.pass_record import ALL_PASSES, Passes


@dataclass(frozen=True)
class _Roles:
    """Two operands in order, and the axes that the product runs over."""

    left: Load
    right: Load
    m: Axis | None
    n: Axis | None
    k: Axis

    @property
    def chosen(self) -> tuple[Axis, ...]:
        return tuple(a for a in (self.m, self.n, self.k) if a is not None)


@dataclass
class _Matmuls:
    statements: dict[str, Statement]
    sizes: Sizes
    may_copy: bool
    exact: bool
    products: dict[str, Contraction] = field(default_factory=dict[str, Contraction])
    copies: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    def run(self) -> None:
        for s in [s for s in self.statements.values() if s.kind == "matmul"]:
            options = [(self.cost(s, r), k, r) for k, r in enumerate(roles(s))]
            if not options:
                self.statements[s.name] = replace(s, kind="fold")
                continue
            best = min(options, key=lambda o: o[:2])[2]
            self.choose(s, best)

    def steps(self, axis: Axis | None) -> int:
        return 1 if axis is None else self.sizes.steps(axis.pad)

    def form(self, r: _Roles) -> Form:
        """How the operands lie; a product without columns is a column of dots."""
        if r.n is not None and is_contiguous(r.right, r.n):
            return "broadcast"
        are_rows = is_contiguous(r.left, r.k) and is_contiguous(r.right, r.k)
        if are_rows and not self.exact:
            return "dots"
        return "plain"

    def cost(self, s: Statement, r: _Roles) -> float:
        """Nanoseconds of the best form, the copy included."""
        as_is = self.form_cost(s, r, self.form(r))
        return min(as_is, self.copied_cost(s, r))

    def form_cost(self, s: Statement, r: _Roles, form: Form) -> float:
        total = 1.0
        for axis in s.axes:
            total *= self.steps(axis)
        m, n, k = self.steps(r.m), self.steps(r.n), self.steps(r.k)
        is_in_rows = r.n is None or s.result_axes[-1] is r.n
        scattered = 0.0 if is_in_rows else m * n * REFERENCE.element_ns()
        each = REFERENCE.product_ns(m, n, k, form, s.dtype, has_loops=False) + scattered
        return total / (m * n * k) * each

    def copied_cost(self, s: Statement, r: _Roles) -> float:
        may_copy = self.may_copy and r.n is not None and self.copyable(s, r.right)
        if not may_copy or self.form(r) == "broadcast":
            return float("inf")
        source = self.statements[r.right.tensor]
        moved = REFERENCE.profile.transposed_ns * self.sizes.elements(source.name)
        if set(s.dims) - set(source.result_dims):
            moved = 0.0  # constant in some loop around the product
        return moved + self.form_cost(s, r, "broadcast")

    def copyable(self, s: Statement, load: Load) -> bool:
        """Whether a load reads its tensor as it is, axis by axis."""
        indices = [e.as_dim() for e in load.axes]
        own = {a.index for a in s.axes}
        is_plain = all(i in own for i in indices) and len(set(indices)) == len(indices)
        return is_plain and not any(e.dims & own for e in load.dims)

    def choose(self, s: Statement, r: _Roles) -> None:
        form, right = self.form(r), r.right
        if self.copied_cost(s, r) < self.form_cost(s, r, form):
            assert r.n is not None, "only a product with columns is copied for"
            right, form = self.transposed(right, r.n.index), "broadcast"
        product = Call("mul", (r.left, right), s.dtype)
        self.statements[s.name] = replace(s, clauses=((ALWAYS, product),))
        chosen = {a.index for a in r.chosen}
        outer = tuple(a for a in s.axes if a.index not in chosen)
        more = s.reduced - {r.k.index}
        self.products[s.name] = Contraction(s.name, r.m, r.n, r.k, outer, form, bool(more))

    def transposed(self, load: Load, last: Dim) -> Load:
        """The same element of a copy whose innermost axis is the one read by ``last``."""
        source = self.statements[load.tensor]
        place = next(k for k, e in enumerate(load.axes) if e == expr(last))
        order = [k for k in range(len(load.axes)) if k != place] + [place]
        key = (source.name, place)
        if key not in self.copies:
            name = self.copies[key] = fresh(f"{source.name}_t", self.statements)
            self.statements[name] = _copy(source, name, order)
        axes = tuple(load.axes[k] for k in order)
        return replace(load, tensor=self.copies[key], axes=axes)


def _copy(source: Statement, name: str, order: list[int]) -> Statement:
    axes = source.result_axes
    return Statement(
        name,
        "map",
        source.result_dims,
        tuple(axes[k] for k in order),
        ((ALWAYS, source.here),),
        source.dtype,
        source.lanes,
        where=source.where,
        label=source.label,
        base=source.lowered,
    )


def as_folds(statements: Mapping[str, Statement]) -> dict[str, Statement]:
    """Every matmul as a fold."""
    matmuls = {n: s for n, s in statements.items() if s.kind == "matmul"}
    return {**statements, **{n: replace(s, kind="fold") for n, s in matmuls.items()}}


def find_products(
    statements: Mapping[str, Statement],
    sizes: Sizes,
    passes: Passes = ALL_PASSES,
    exact: bool = False,
) -> tuple[dict[str, Statement], dict[str, Contraction]]:
    """Every matmul as a product (its loads in order left, right) or else as a fold."""
    copies = "transposed copies" not in passes.without
    state = _Matmuls(dict(statements), sizes, copies, exact)
    state.run()
    return state.statements, state.products


def roles(s: Statement) -> Iterator[_Roles]:
    """All choices of m, n and k for both orders of the operands."""
    _, value = s.clauses[0]
    assert isinstance(value, Call), f"{s.name} is no product"
    first, second = (x for x in value.args if isinstance(x, Load))
    for left, right in ((first, second), (second, first)):
        yield from _ordered_roles(s, left, right)


def _ordered_roles(s: Statement, left: Load, right: Load) -> Iterator[_Roles]:
    in_left = {a for a in s.axes if _is_along(left, a.index)}
    in_right = {a for a in s.axes if _is_along(right, a.index)}
    if any(_is_twisted(x, a.index) for x in (left, right) for a in (*in_left, *in_right)):
        return
    both = in_left & in_right
    ks = [a for a in s.axes if a in both and a.index in s.reduced]
    ms = [a for a in s.result_axes if a in in_left - both]
    ns = [a for a in s.result_axes if a in in_right - both]
    rows: list[Axis | None] = [*ms] or [None]
    columns: list[Axis | None] = [*ns] or [None]
    for k, m, n in itertools.product(ks, rows, columns):
        found = _Roles(left, right, m, n, k)
        if (m or n) and _is_rectangular(s, found):
            yield found


def _is_along(load: Load, index: Dim) -> bool:
    return any(index in e.dims for e in (*load.dims, *load.axes))


def _is_twisted(load: Load, index: Dim) -> bool:
    """Whether an index enters an address otherwise than by a stride."""
    return any(coefficient(e, index) is None for e in (*load.dims, *load.axes))


def _is_rectangular(s: Statement, r: _Roles) -> bool:
    """Whether no size mentions an index of the product."""
    chosen = {a.index for a in r.chosen}
    return not any(a.size.dims & chosen for a in s.axes)
