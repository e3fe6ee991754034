"""The polyhedral dependence graph: the program and its meaning."""
