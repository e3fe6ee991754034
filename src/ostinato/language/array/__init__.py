"""The NumPy-like meaning of array functions, on the nodes of the dependence graph."""
