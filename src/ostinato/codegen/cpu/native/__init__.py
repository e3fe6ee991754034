"""The loop IR as LLVM instructions, without Numba: typing is what Numba spends most on.

Types are Numba's, so that what Numba makes of the printed source computes the same bits.
"""
