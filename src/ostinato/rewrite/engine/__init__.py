"""The e-graph: its language, its rules as data, and saturation."""
