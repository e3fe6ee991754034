"""Gradients as equations: reverse differentiation of a dependence graph."""
