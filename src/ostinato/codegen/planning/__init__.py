"""From a system to a plan: loops, kernels, phases, and a place for every tensor."""
