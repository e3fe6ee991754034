"""Emission: from a plan to the loop IR; the same plan always gives the same functions."""
