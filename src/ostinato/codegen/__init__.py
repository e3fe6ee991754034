"""Scheduling, memory planning and code emission."""
