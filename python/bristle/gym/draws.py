"""Random numbers of many environments at once, each from its own seed, episode and index alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats

Keys = NDArray[np.uint64]

#: The increment of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_STEP = np.uint64(0x9E37_79B9_7F4A_7C15)


def _mixed(z: Keys) -> Keys:
    """The finaliser of SplitMix64: a bijection of 64-bit numbers whose bits look random."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return z ^ (z >> np.uint64(31))


class Draws:
    """Random numbers for the environments ``ids`` whose episodes begin.

    The numbers of an environment depend on its seed, its episode, its index and the calls before, not on the
    other environments.

    Args:
        seeds, episodes: (ids,), integers >= 0 of these environments.
        ids: their indices.
    """

    def __init__(self, seeds: NDArray[Any], episodes: NDArray[Any], ids: NDArray[Any]) -> None:
        whole = _mixed(_mixed(seeds.astype(np.uint64) + _STEP) + _STEP * episodes.astype(np.uint64))
        self._state = _mixed(whole + _STEP * (ids.astype(np.uint64) + np.uint64(1)))
        #: (ids,), uint64 below 2^63: seeds from which contacts are drawn, the same for one seed and episode.
        self.seeds: Keys = whole >> np.uint64(1)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, width: int = 1) -> Floats:
        """(ids, width): uniform numbers from ``low`` to ``high``, numbers or arrays (width,)."""
        low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        return np.asarray(low + (high - low) * self._unit(width), np.float64)

    def normal(self, width: int = 1) -> Floats:
        """(ids, width): standard normal numbers (Box and Muller)."""
        both = self._unit(2 * width)
        radius = np.sqrt(-2.0 * np.log1p(-both[:, :width]))
        return np.asarray(radius * np.cos(2 * np.pi * both[:, width:]), np.float64)

    def _unit(self, width: int) -> Floats:
        """(ids, width): uniform numbers in [0, 1) with 53 bits."""
        counts = np.arange(1, width + 1, dtype=np.uint64) * _STEP
        bits = _mixed(self._state[:, None] + counts)
        self._state = self._state + counts[-1]
        return np.asarray((bits >> np.uint64(11)) * 2.0**-53, np.float64)
