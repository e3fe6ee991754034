"""Do the algorithms learn? Every one on its tasks, over fixed seeds: curves, and a table."""
