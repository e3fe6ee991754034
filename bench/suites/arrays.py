"""Programs of whole arrays: graphs, grids, products in several spellings, draws."""

from __future__ import annotations

from bench.harness.suite import Case, Entry, Suite, Target

OURS, JAX = "bench.ours", "bench.peers.in_jax"


def _ours(factory: str, form: str = "", **size: str) -> Entry:
    return Entry("ostinato", f"{OURS}.{factory}", form=form, size=size)


def _jax(factory: str, **size: str) -> Entry:
    return Entry("jax", f"{JAX}.{factory}", "jax", size=size)


def _grid(rule: str, grid: str) -> Case:
    """The grid as dimensions and as axes are cases of their own: neither hides the other."""
    entries = _ours("grids:sampler", rule=rule, grid=grid), _jax("grids:sampler", rule=rule)
    return Case(f"{rule} by {grid}", {"size": 512, "steps": 100}, "cells/s", entries)


def _product(spelling: str) -> Case:
    entries = _ours("contractions:sampler", spelling=spelling), _jax("contractions:sampler")
    return Case(f"product as {spelling}", {"size": 512}, "multiply-adds/s", entries)


def _gradients(spelling: str) -> Case:
    entries = _ours("contractions:gradients", spelling=spelling), _jax("contractions:gradients")
    return Case(f"gradients of {spelling}", {"size": 512}, "multiply-adds/s", entries)


def _draws(distribution: str) -> Case:
    entries = (
        _ours("draws:sampler", distribution=distribution),
        Entry("numpy", "bench.peers.in_numpy.draws:sampler", size={"distribution": distribution}),
    )
    return Case(f"{distribution} draws", {"count": 1_000_000}, "draws/s", entries)


CONVOLUTIONS = (
    _ours("contractions:convolution"),
    _jax("contractions:convolution"),
    Entry("torch", "bench.peers.in_torch.convolution:sampler", "torch"),
)
RULES = ("life", "heat", "gray_scott")
UNITS = ("calls/s", "numbers/s", "cells/s", "multiply-adds/s", "pictures/s")
SUITE = Suite(
    name="arrays",
    title="programs of whole arrays",
    text=(
        "PageRank ends where the ranks change by less than 1e-6 in all, after at most 1,000\n"
        "steps; ours is a recurrence that `ot.stop` ends. Grids are tori, once with a dimension\n"
        "for every side, once as matrices that are rolled. Products are one product in several\n"
        "spellings; the peer always writes `@`, and in the chain the order that is least work.\n"
        "Additions go to rows at computed positions. Draws have concentrations 2.5 and 1.5."
    ),
    cases=(
        Case("pagerank", {"pages": 20_000, "links": 160_000}, "calls/s",
             (_ours("graphs:pagerank"), _jax("graphs:pagerank"))),
        Case("additions", {"rows": 4096, "width": 64, "places": 1000}, "numbers/s",
             (_ours("graphs:scatter"), _jax("graphs:scatter"))),
        Case("additions", {"rows": 160_000, "width": 1, "places": 20_000}, "numbers/s",
             (_ours("graphs:scatter"), _jax("graphs:scatter"))),
        *(_grid(rule, grid) for rule in RULES for grid in ("dims", "axes")),
        *map(_product, ("matmul", "broadcast", "last axis", "einsum", "dims")),
        *map(_gradients, ("matmul", "broadcast", "last axis")),
        Case("chain", {"size": 512}, "calls/s",
             (_ours("contractions:chain"), _jax("contractions:chain"))),
        Case("convolution", {"batch": 8, "channels": 32, "size": 32}, "pictures/s", CONVOLUTIONS),
        *map(_draws, ("gamma", "beta")),
    ),
    targets=(
        *(Target("jax", 1.0, 1.5, unit) for unit in UNITS),
        Target("numpy", 1.0, 2.0, "draws/s"),
        Target("torch", 1.0, 1.5, "pictures/s"),
    ),
)  # fmt: skip
