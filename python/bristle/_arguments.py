"""Checks arguments that are no arrays. An error has the name of the argument, its value and what is accepted."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._arrays import shown
from .errors import ParameterError


def integer(name: str, value: Any, low: int, high: int) -> int:
    """An integer from ``low`` to ``high``, of any type but a boolean."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool | np.bool_) or not low <= number <= high:
        raise ParameterError(name, shown(value), f"an integer from {low} to {high}")
    return number


def flag(name: str, value: object) -> bool:
    """True or False, and no other value that Python takes for one of them."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, shown(value), "True or False")
    return bool(value)


def text(name: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ParameterError(name, shown(value), "text")
    return value


def path(name: str, value: object) -> str:
    """A path as text."""
    if not isinstance(value, str | bytes | os.PathLike):
        raise ParameterError(name, shown(value), "a path")
    return os.fsdecode(value)


def listed(name: str, value: object, accepted: str) -> list[Any]:
    """What is in a list or the like. A text is none: its letters are not meant."""
    if isinstance(value, str | bytes | os.PathLike) or not isinstance(value, Iterable):
        raise ParameterError(name, shown(value), accepted)
    return list(value)


def texts(name: str, value: object, such: str) -> list[str]:
    """Texts in a list, or the like; ``such`` is an example."""
    found = listed(name, value, f"a list such as {such}")
    for one in found:
        if not isinstance(one, str):
            raise ParameterError(name, shown(one), f"texts in a list such as {such}")
    return found


def names(name: str, value: object) -> list[Any]:
    """A single name, or several in a list or the like."""
    return [value] if isinstance(value, str) else listed(name, value, "a name, or a list of names")


def function(name: str, value: Any, accepted: str) -> Callable[..., object] | None:
    """A function, or None."""
    if value is not None and not callable(value):
        raise ParameterError(name, shown(value), f"{accepted}, or None")
    return None if value is None else value
