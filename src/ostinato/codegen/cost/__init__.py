"""What a plan takes: the effort of leaves, the estimate of a run, the work of kernels."""
