"""A program as mathematics and as a picture."""
