"""Measuring what elementary work takes on this machine."""
