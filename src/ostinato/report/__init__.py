"""Pages for people: what was compiled, drawn and written in one file."""
