"""Environments of Gymnasium in programs, and environments of programs in Gymnasium."""
