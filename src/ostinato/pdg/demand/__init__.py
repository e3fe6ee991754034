"""Which points of every value are asked for, and that they exist."""
