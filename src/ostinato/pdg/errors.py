"""The errors a user can meet: each says where, what, and one remedy."""

from __future__ import annotations

import difflib
import errno
import importlib
import importlib.util
from collections.abc import Iterable
from typing import Any, Self


def guess(name: str, known: Iterable[str], least_likeness: float = 0.6) -> str:
    """Return a question for the closest known name, upper and lower case alike, or "".

    >>> guess("b", ["B", "T"]), guess("gamma", ["B", "T"])
    ('Did you mean `B`? ', '')
    """
    name = str(name)  # what a user gives may be anything
    spelt = {spelling.lower(): spelling for spelling in reversed(list(known))}
    near = difflib.get_close_matches(name.lower(), spelt, 1, least_likeness)
    return f"Did you mean `{spelt[near[0]]}`? " if near else ""


FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
IN_A_FOLDER = "Give the path of a file in a folder that exists."


def to_write(failure: OSError, usual: str = IN_A_FOLDER) -> str:
    """Return what helps where a file cannot be written; ``usual`` if it is not the disk's fault.

    >>> to_write(OSError(errno.ENOSPC, "No space left on device"))
    'Free some space there, or write to another disk.'
    """
    if failure.errno in FULL:
        return "Free some space there, or write to another disk."
    return "Write to a folder that you may write to." if failure.errno in FORBIDDEN else usual


class OstinatoError(Exception):
    """Base of all errors raised about a user's program.

    The text is two lines: ``file:line: the fact`` and an indented remedy.
    """

    def __init__(self, fact: str, remedy: str, where: str = "") -> None:
        self.fact, self.remedy, self.where = fact, remedy, where
        super().__init__(f"{where}: {fact}\n  {remedy}" if where else f"{fact}\n  {remedy}")

    def at(self, where: str) -> Self:
        """Return the error at a place of the user's program, unless it has one."""
        return self if self.where else type(self)(self.fact, self.remedy, where)


class ShapeError(OstinatoError):
    """Shapes, ranks or axes do not fit together."""


class DtypeError(OstinatoError):
    """Element types do not fit together, or are not supported by an operator."""


class DomainError(OstinatoError):
    """A demanded read falls outside the domain of the tensor that is read."""


class CoverageError(OstinatoError):
    """The equations of a recurrent tensor do not cover a point that is needed."""


class CycleError(OstinatoError):
    """Values depend on each other so that no order can compute them."""


class ArgumentError(OstinatoError):
    """An argument is unknown, missing, of a wrong type or value, or contradicts another one."""


class EquationError(OstinatoError):
    """The left side of an equation is not a form that defines points."""


class NonFiniteError(OstinatoError):
    """A checked output holds a NaN or an infinity."""


class GradientError(OstinatoError):
    """A gradient was asked of something that has none."""


class HostError(OstinatoError):
    """A Python function that a program calls has failed, or returned what was not declared."""


class AddressError(OstinatoError):
    """Compiled code would have touched memory outside of a tensor: a bug of the compiler."""


class CheckError(OstinatoError):
    """A checked condition does not hold at some point."""


class OptionError(OstinatoError):
    """An option of the compiler or of the command line is unknown or has a wrong value."""


def optional(module: str, extra: str, fact: str = "") -> Any:
    """Return a module of a package that is not everywhere; ``fact`` says what needs it.

    Errors: OptionError if it is not installed.
    """
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        fact = fact or f"The package {package} is not installed."
        raise OptionError(fact, f"pip install 'ostinato[{extra}]'")
    return importlib.import_module(module)


class AffineError(OstinatoError):
    """An index expression or condition is not quasi-affine, or stands where none can."""


class TruthError(OstinatoError, TypeError):
    """Python asked for the truth, the length or the items of a value known only at run time."""


class MissingError(OstinatoError, AttributeError, KeyError):
    """A tensor, a record or a result has nothing of that name."""

    __str__ = Exception.__str__  # KeyError would quote the text


class CertificateError(OstinatoError):
    """A file is no intact certificate, or a certificate cannot be written."""


class CheckpointError(OstinatoError):
    """A saved state is damaged or belongs to another run, or cannot be written."""


class MemoryLimitError(OstinatoError):
    """No form of a program fits in the memory that it may take, or a run would need more."""


class UnreadableError(Exception):
    """Code that a target does not write: it says what, and where. Numba compiles it then."""
