"""Errors and speed of the elementary functions over the whole range of floats."""
