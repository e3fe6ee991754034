"""How well programs learn, beside how fast they are. Standard library only: peers use it too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Train = Callable[[int], Sequence[float]]


def samples(train: Train) -> Callable[[], float]:
    """Return a sampler that trains with another seed every time.

    ``train(seed)`` returns the mean return of every iteration, 0 where no game ended; a sample is
    the mean over the last fifth of them.
    """
    seeds = iter(range(1, 1_000_000))

    def sample() -> float:
        found = train(next(seeds))
        known = [value for value in found[-(len(found) // 5) :] if value != 0]
        return sum(known) / len(known)

    return sample
