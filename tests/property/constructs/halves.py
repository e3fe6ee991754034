"""Half types: storage of 16 bits, computed in float32."""

from __future__ import annotations

import ostinato as ot
from ostinato.language.tensor import Tensor
from tests.property.constructs.table import Step, Workshop, construct, place


@construct("half types", "through_float16", "through_bfloat16")
def stored(w: Workshop, s: Step) -> Tensor:
    """Stored in a half and taken back; a multiple of 1/64 is stored without rounding."""
    x = ot.round(ot.clip(w.real(s), -1.0, 1.0) * 64.0) / 64.0
    return x.cast("float32").cast(s.op.removeprefix("through_")).cast(w.dtype)


@construct("half types", "memory_of_float16", "memory_of_bfloat16")
def memory(w: Workshop, s: Step) -> Tensor | None:
    """A recurrent tensor that is kept in a half."""
    d, x = w.along(s), w.real(s)
    if d is None or any(not n.is_const for n in x.node.shape):
        return None
    half = s.op.removeprefix("memory_of_")
    kept = ot.round(ot.clip(x, -1.0, 1.0) * 4.0).cast("float32")
    r = ot.recurrent(f"h{w.number}", shape=x.shape, dtype=half, over=w.over(x))
    r[tuple(0 if e.name == d.name else e for e in w.over(x))] = place(kept, d, 0).cast(half)
    r[True] = ot.floor(place(r, d, d - 1) * 0.5 + kept).cast(half)
    return r.cast(w.dtype) * 0.25
