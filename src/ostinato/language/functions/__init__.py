"""Functions of tensors, NumPy style."""
