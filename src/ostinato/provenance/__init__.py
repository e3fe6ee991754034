"""Where in the user's program a value was made, and what it was made for."""
