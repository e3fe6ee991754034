"""Environments as equations."""
