"""A program as text and as plain data, and back."""
