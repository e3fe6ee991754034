"""Emission: from a plan to readable, deterministic Numba source."""
