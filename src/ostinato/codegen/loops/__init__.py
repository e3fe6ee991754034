"""The loop IR: what emission makes of a plan, what prints as Python and becomes machine code."""
