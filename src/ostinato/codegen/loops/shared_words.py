"""What emission and the primitives of a target agree on: words of memory, the size of a square."""

SQUARE = 8
"""Rows and columns that ``transpose`` copies at once."""

STOP, DONE, DECISION = 0, 8, 16
"""Words of ``control``, 64 bytes apart."""
CONTROL_WORDS = 24

START, LIMIT, PART = 1, 2, 3
"""Words of ``control`` that the host writes before a part of a run."""
BEFORE, FROM_LOOP = 1, 2
"""What PART may say; 0 is for all."""

OPEN = 0
"""The number of the open phase, among the words that workers share."""
SHARED_WORDS = 48
"""Words besides those of each worker."""
WORKER_WORDS = 16
"""Words of one worker: 128 bytes, as processors fetch cache lines in pairs."""

SIZE = 5
"""The words of a worker's stretch, among the first words of a log."""
ENDED = -1
"""What the mark of a loop says after its last iteration."""
