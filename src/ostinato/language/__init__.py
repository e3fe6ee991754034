"""What a user writes: tensors, dimensions, recurrences and functions of them."""
