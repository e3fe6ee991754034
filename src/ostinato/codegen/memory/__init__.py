"""Where values live and for how long: slots, shared places, the arena, values computed again."""
