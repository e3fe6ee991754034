"""Execution of compiled programs."""
