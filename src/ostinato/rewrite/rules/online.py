"""Incremental: sums of exponentials over growing ranges, and what leaves a fold unchanged.

With a shift that never falls along d, ``sum_{s <= t} exp(l[s] - m[t]) v[s]`` is a linear
recurrence whose factor ``exp(m[t - 1] - m[t])`` is at most 1: softmax-weighted sums and
logarithms of sums of exponentials are one step per point, without overflow. A shift that is
infinite where nothing, or too much, was seen is replaced by 0 there; so no step divides or
subtracts infinities, and a prefix that sees nothing spoils nothing after it.
"""

from __future__ import annotations

ONE_STEP = "One step per point instead of one pass over the whole range."
OUTSIDE = "What is the same along the range is applied once, after the fold."
PROOF = "proofs/test_online.py"
