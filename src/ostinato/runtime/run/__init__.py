"""A run: its memory, its threads, its calls of Python, and what it returns."""
