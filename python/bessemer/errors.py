"""The exceptions that bessemer raises.

Every failure that bessemer detects is a subclass of :class:`Error`; each class is also a subclass
of the builtin that fits, so ``except ValueError`` works where it is expected to. One class stands
for one kind of the core's errors (``cpp/base/error.h``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

__all__ = [
    "BusyError",
    "CancelledError",
    "DtypeError",
    "Error",
    "InternalError",
    "InvalidArgumentError",
    "OutOfMemoryError",
    "ParseError",
    "ShapeError",
    "StateError",
    "UnknownNameError",
    "UnsupportedError",
]


class Error(Exception):
    """What all of bessemer's exceptions are.

    Attributes:
        kind: the spelling of the class in messages of the core and in ``--json`` output.
        message: what was given and what was expected, one line.
        notes: where it happened, from the inside out (``"in `model.gguf`"``).

    ``str(error)`` is one line: the message, with the notes in parentheses.
    """

    kind: ClassVar[str] = "error"

    def __init__(self, message: str, notes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.notes = tuple(notes)

    def __str__(self) -> str:
        return f"{self.message} ({'; '.join(self.notes)})" if self.notes else self.message

    def __reduce__(self) -> tuple[type[Error], tuple[str, tuple[str, ...]]]:
        return type(self), (self.message, self.notes)


class InvalidArgumentError(Error, ValueError):
    """A value out of its domain: a negative size, an unknown option, a file that is not there."""

    kind = "invalid argument"


class ShapeError(Error, ValueError):
    """Shapes that do not fit together."""

    kind = "shape error"


class DtypeError(Error, TypeError):
    """Dtypes that do not fit together."""

    kind = "dtype error"


class UnknownNameError(Error):
    """A name that is unknown, or given twice."""

    kind = "name error"


class ParseError(Error, ValueError):
    """Malformed text or a malformed file."""

    kind = "parse error"


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but not something that this build or device can do."""

    kind = "unsupported"


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed; the message says how much was asked for, and for what."""

    kind = "out of memory"


class StateError(Error, RuntimeError):
    """The right call at the wrong moment: a run before its weights are there."""

    kind = "state error"


class BusyError(Error, RuntimeError):
    """One session used by two threads at once."""

    kind = "busy"


class CancelledError(Error):
    """Stopped by the caller."""

    kind = "cancelled"


class InternalError(Error, RuntimeError):
    """A check of our own failed: a fault of bessemer, please report it."""

    kind = "internal error"
