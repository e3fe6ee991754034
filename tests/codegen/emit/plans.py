"""Small plans written by hand, and a plain layout without reuse, for tests of the emitter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.ir.system import Axis, Load, Pick, Statement, Value
from ostinato.codegen.ir.tree import Call, Kernel, Loop, Span, Step, Tree
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.memory.storage import Place, Slot, Storage
from ostinato.codegen.planning.plan import Plan
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr, ExprLike, Extent, evaluate, expr, symbols
from ostinato.pdg.node import Dtype
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.ports import Field


def layout(plan: Plan, extents: Mapping[str, int], workers: int) -> Layout:
    """Every tensor behind the other, worker-local ones last."""
    point: dict[Dim | Extent, int] = {Extent(k): v for k, v in extents.items()}
    offsets: dict[str, int] = {}
    at = 0
    for kind in ("global", "local"):
        first = at
        for name, storage in plan.storage.items():
            if storage.place == kind:
                offsets[name] = at
                at += -(-evaluate(storage.elements, point) * ITEM_BYTES[storage.dtype] // 64) * 64
    total = first + workers * (at - first)
    return Layout(offsets, at - first, total, at, memory_bytes=total)


def placed(plan: Plan) -> partial[Layout]:
    return partial(layout, plan)


def axis(name: str, size: ExprLike) -> Axis:
    return Axis(Dim(name), expr(size), expr(size))


def load(s: Statement, dims: tuple[ExprLike, ...], *axes: ExprLike | Value) -> Load:
    picks: list[Pick] = []
    at: list[Expr] = []
    for own, a in zip(s.result_axes, axes, strict=True):
        if not isinstance(a, ExprLike):
            picks.append(Pick(Axis(Dim(f"pick{len(picks)}"), own.size, own.pad), a))
            a = picks[-1].axis.index
        at.append(expr(a))
    return Load(s.name, tuple(map(expr, dims)), tuple(at), s.dtype, picks=tuple(picks))


def kept(s: Statement, place: Place = "global", **slots: Slot) -> Storage:
    """Storage of a statement's result: all points of every dim unless a slot says otherwise."""
    full = (slots.get(d.name, Slot(d, "full", expr(d.extent))) for d in s.result_dims)
    return Storage(s.name, place, tuple(full), s.result_axes, s.dtype)


def loop(d: Dim, *body: Tree, lo: ExprLike = 0, hi: ExprLike | None = None) -> Loop:
    return Loop(Span(d, expr(lo), expr(d.extent if hi is None else hi)), False, False, body)


def backwards(d: Dim, *body: Tree) -> Loop:
    return Loop(Span(d, expr(0), expr(d.extent)), True, False, body)


def port(name: str, storage: Storage) -> Field:
    shape = storage.shape
    axes = tuple((k,) for k in range(len(shape)))
    return Field(name, storage.tensor, storage.dtype, shape, shape, axes)


def whole(
    statements: list[Statement],
    storage: list[Storage],
    outputs: list[str],
    kernels: list[Kernel],
    driver: tuple[Step, ...] | None = None,
) -> Plan:
    """A plan; without a driver every kernel is called once, in order."""
    places = {s.tensor: s for s in storage}
    inputs = tuple(port(s.name, places[s.name]) for s in statements if s.kind == "input")
    names = {str(x) for s in storage for e in s.shape for x in _extents(e)}
    return Plan(
        statements={s.name: s for s in statements},
        storage=places,
        kernels=tuple(kernels),
        driver=tuple(Call(k) for k in range(len(kernels))) if driver is None else driver,
        inputs=inputs,
        outputs=tuple(port(n, places[n]) for n in outputs),
        extents=tuple(sorted(names)),
        lives={},
        accesses=(),
        target=CPU,
    )


def _extents(e: Expr) -> list[Extent]:
    return [s for s in symbols(e) if isinstance(s, Extent)]


def mapped(name: str, dims: tuple[Dim, ...], axes: tuple[Axis, ...], value: Value) -> Statement:
    return Statement(name, "map", dims, axes, ((ALWAYS, value),), value.dtype)


def given(
    name: str, dims: tuple[Dim, ...], axes: tuple[Axis, ...], dtype: Dtype = "float32"
) -> Statement:
    return Statement(name, "input", dims, axes, (), dtype)


def serial(name: str, *body: Tree) -> Kernel:
    return Kernel(name, body, (), None)
