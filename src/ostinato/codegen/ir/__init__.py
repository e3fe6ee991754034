"""The records of code generation: systems of equations, and trees of loops."""
