"""Passes over systems of equations, before they are scheduled: cases, tiles, folds, layouts."""
