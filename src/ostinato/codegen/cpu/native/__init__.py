"""The loop IR as LLVM instructions, without Numba: typing is what Numba spends most on.

The language is the part of Python that `ostinato.codegen.emit` and the primitives are written in.
Types are Numba's, so that both readers compute the same bits.
"""
