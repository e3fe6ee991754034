"""From an extracted graph to machine code: equations, loops, memory, kernels."""
