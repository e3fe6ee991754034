"""Equality-saturation rules, saturation and extraction."""
