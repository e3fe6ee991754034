"""Proofs of rules: both sides become one expression per element, for every size and value."""
