"""The exceptions. Every error has the given value and the accepted values."""

from __future__ import annotations

from typing import Any


class BristleError(Exception):
    """Any error of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors go from one process to another with all that they carry."""
        return _remade, (type(self), self.args, dict(self.__dict__))


def _remade(cls: type[BristleError], args: tuple[Any, ...], attributes: dict[str, Any]) -> BristleError:
    # `cls.__new__` may be that of MemoryError, which refuses a class whose first base is another.
    error = Exception.__new__(cls, *args)
    error.args = args
    error.__dict__.update(attributes)
    return error


def _short(text: str, most: int) -> str:
    """A text in at most so many characters: of a longer one the start and the end, with ".." between."""
    last = (most - 2) // 4
    return text if len(text) <= most else f"{text[: most - 2 - last]}..{text[-last:]}"


class ParameterError(BristleError, ValueError):
    """A value that is out of range, of another shape, or of another type.

    Attributes:
        field: dotted name of the field, as in a scenario file, or of the argument.
        value: what was refused, as text; of a long one the start and the end.
        accepted: what would be accepted.
        contact: index of the contact (or patch) it is about, or None.
        grasp: index of the grasp it is about, of which ``contact`` is one; None unless it is about grasps.
    """

    def __init__(
        self, field: str, value: object, accepted: str, contact: int | None = None, grasp: int | None = None
    ) -> None:
        named = {"grasp": grasp, "contact": contact}
        where = ", ".join(f"{what} {index}" for what, index in named.items() if index is not None)
        where += ": " if where else ""
        field, value = _short(field, 300), _short(str(value), 160)
        super().__init__(f"{where}{field} = {value}: expected {accepted}")
        self.field = field
        self.value = value
        self.accepted = accepted
        self.contact = contact
        self.grasp = grasp


class ScenarioError(BristleError, ValueError):
    """A scenario that cannot be used. Its text shows the line, with carets below the place.

    Attributes:
        field: dotted name of the field it is about, or None.
        value: what was refused, as text, or None.
        accepted: what would be accepted, or None.
        file: what the scenario is called.
        line: line of its text, from 1; None if it is not about a line.
        column: character of that line, from 1.
        suggestion: names that may have been meant by an unknown one, or None.
    """

    def __init__(
        self,
        message: str,
        field: str | None = None,
        value: str | None = None,
        accepted: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.value = value
        self.accepted = accepted
        self.file = file
        self.line = line
        self.column = column
        self.suggestion = suggestion


class DeviceError(BristleError, RuntimeError):
    """A device is missing, has failed, or has too little memory."""


class OutOfMemoryError(BristleError, MemoryError):
    """A call needs more memory than this process may have; nothing was changed.

    The memory is computed beforehand, because the system may kill a process that takes more. The limit is the
    least of the memory of the machine with its swap space, that of the control group, and the address space
    (``ulimit -v``).

    Attributes:
        bytes: memory that the call needs.
        free: memory that there is.
    """

    def __init__(self, message: str, bytes: int = 0, free: int = 0) -> None:
        super().__init__(message)
        self.bytes = bytes
        self.free = free


class RunError(BristleError):
    """Files of a run cannot be written or read: a file is missing, damaged, or not of the run."""


class BusyError(BristleError, RuntimeError):
    """The batch is in another call, of another thread or of a ``progress`` function."""
