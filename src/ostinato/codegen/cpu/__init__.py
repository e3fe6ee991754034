"""Primitives of the CPU target, and the options that Numba compiles with.

Importing this package sets ``NUMBA_OPT=2`` for the process, which costs no run time against
Numba's default of 3 and saves a fifth of the compile time. A value set by the user, or a Numba
imported earlier, is left alone.
"""

import os
import sys

if "numba" not in sys.modules:
    os.environ.setdefault("NUMBA_OPT", "2")
