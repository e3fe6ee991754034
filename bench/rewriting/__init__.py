"""Predicted against measured time, for the chosen form of programs and for other forms."""
