"""Checks arrays and converts them for the native part: contiguous arrays of doubles."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ParameterError

Floats = NDArray[np.float64]


def shown(value: object) -> str:
    """What an error says of a value: an array's shape and type, and not its numbers."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def masked(value: Any) -> int:
    """How many numbers of a masked array are masked, or of masked arrays in lists."""
    if isinstance(value, np.ma.MaskedArray):
        return int(np.count_nonzero(np.ma.getmaskarray(value)))
    if isinstance(value, list | tuple):
        return sum(masked(inner) for inner in value if isinstance(inner, list | tuple | np.ma.MaskedArray))
    return 0


def refuse_masked(name: str, value: Any) -> None:
    """Refuses an array with masked numbers, which NumPy would take for what is below the mask."""
    hidden = masked(value)
    if hidden > 0:
        accepted = "no masked numbers: `a.filled(v)` puts a number in their place"
        raise ParameterError(name, f"a masked array with {hidden} masked", accepted)


def as_array(name: str, value: Any, accepted: str) -> NDArray[Any]:
    """An array as NumPy makes it of a value; lists of several lengths and masked numbers are refused."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ParameterError(name, shown(value), f"{accepted} ({error})") from error
    refuse_masked(name, value)
    return array


def doubles(name: str, value: Any) -> Floats:
    """An array of real numbers as contiguous doubles; the same memory if it is that already."""
    array = as_array(name, value, "numbers in an array")
    if array.dtype.kind not in "fiub":
        raise ParameterError(name, shown(array), "an array of real numbers")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def indices(ids: Any, n: int, name: str = "ids") -> NDArray[np.uintp] | None:
    """Numbers of contacts from indices or a mask of n booleans; None for all."""
    if ids is None:
        return None
    accepted = f"indices from 0 to {n - 1}, or a mask of {n} booleans"
    array = as_array(name, ids, accepted)
    if array.dtype == bool:
        if array.shape != (n,):
            raise ParameterError(name, shown(array), accepted)
        return np.flatnonzero(array).astype(np.uintp)
    if array.size == 0:
        return np.zeros(0, dtype=np.uintp)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise ParameterError(name, shown(array), accepted)
    array = np.atleast_1d(array)
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= n:
        raise ParameterError(name, low if low < 0 else high, accepted)
    return np.ascontiguousarray(array, dtype=np.uintp)


def once(ids: NDArray[np.uintp] | None) -> None:
    """Refuses an index that is given twice, where each has a value of its own."""
    if ids is None:
        return
    found, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise ParameterError("ids", f"{int(found[counts > 1][0])} twice", "each index once, with values for each")


def over(name: str, value: Any, rows: int, columns: int, inner: tuple[int, ...]) -> Floats:
    """A control as [rows or 1, columns or 1, numbers]: ``rows`` contacts, ``columns`` intervals, axes ``inner``."""
    array = doubles(name, value)
    numbers = math.prod(inner)
    depth = array.ndim - len(inner)
    outer = array.shape[: max(depth, 0)]
    if depth >= 0 and array.shape[depth:] == inner:
        if depth == 0:
            return array.reshape(1, 1, numbers)
        if depth == 1 and rows == columns == outer[0] > 1:
            each, all_of_them = (rows, 1, *inner), (1, columns, *inner)
            accepted = f"{each} for one value a contact, or {all_of_them} for one an interval: there are {rows} of each"
            raise ParameterError(name, shown(array), accepted)
        if depth == 1 and outer[0] in (rows, columns):
            is_contacts = outer[0] == rows
            return array.reshape(rows if is_contacts else 1, 1 if is_contacts else columns, numbers)
        if depth == 2 and outer[0] in (1, rows) and outer[1] in (1, columns):
            return array.reshape(*outer, numbers)
    shapes: list[tuple[int, ...]] = [(rows, *inner)]
    if columns > 1:
        shapes += [(columns, *inner), (rows, columns, *inner)]
    accepted = " or ".join(["a number" if not inner else f"shape {inner}", *map(str, shapes)])
    raise ParameterError(name, shown(array), accepted)


def known(field: str, name: object, names: Iterable[str]) -> str:
    """A name that is one of some; an error says which may have been meant."""
    names = list(names)
    if isinstance(name, str) and name in names:
        return name
    near = difflib.get_close_matches(str(name), names, 2, 0.6) if len(str(name)) < 1000 else []
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ParameterError(field, shown(name), f"one of {', '.join(names)}{meant}")
