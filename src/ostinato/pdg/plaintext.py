"""What a user named, as text that stays within one line of whatever it is written into.

Names, labels and file names end up in generated source, reports and terminals. A line break in one
would end a comment, a mark of direction would show a line in another order than it is read, and
half of a surrogate pair cannot be written to a file at all.
"""

from __future__ import annotations

from ostinato.pdg.errors import ArgumentError

MOST = 120  # characters: more would hide the rest of a line
LONGEST_NAME = 200


def plain(text: str, most: int = MOST) -> str:
    r"""The text with everything that does not print escaped, cut where it is very long.

    >>> plain("policy weight"), plain("a\nb"), plain("x\u2028")
    ('policy weight', 'a\\nb', 'x\\u2028')
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def require_name(name: object, what: str, where: str) -> str:
    """A name for a value, if it prints: what it names is shown in errors and in generated code.

    Errors: ArgumentError.

    >>> require_name("policy.0 weight", "an output", "")
    'policy.0 weight'
    """
    if isinstance(name, str) and name and name.isprintable() and len(name) <= LONGEST_NAME:
        return name
    fact = f"{what} is called {_shown(name)}"
    remedy = f"Use a text of 1 to {LONGEST_NAME:,} characters that print, without line breaks."
    raise ArgumentError(fact, remedy, where)


def _shown(name: object) -> str:
    return plain(ascii(name)) if isinstance(name, str) else f"a {type(name).__name__}"
