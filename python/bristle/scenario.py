"""Scenarios, from which contacts are drawn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _bristle
from ._arguments import integer, texts
from ._arguments import path as _path
from ._arguments import text as _text
from ._arrays import shown
from .errors import ParameterError, ScenarioError


class Scenario:
    """A contact described by constants and distributions, from which a batch is drawn.

    It has the language of scenario files (docs/scenario.md): SI units, every number may be a distribution
    such as ``{uniform = [0.4, 0.8]}``, every input a signal over time. Make one by :meth:`from_toml`,
    :meth:`from_dict` or :meth:`load`. A scenario does not change; it can be pickled and shared by threads. A
    pickle has the text, and where its maps and tables are: they are read anew, and have to be as they were.
    """

    __slots__ = ("_base", "_core", "_inputs")

    def __init__(self, core: _bristle.Scenario, base: str) -> None:
        self._core = core
        # Where a pickle finds its files, wherever it is read.
        self._base = os.path.abspath(base)
        # A policy asks for them at every step.
        self._inputs = tuple(core.inputs())

    @classmethod
    def from_toml(
        cls,
        text: str,
        base: str | os.PathLike[str] = ".",
        changes: Sequence[str] = (),
        name: str = "scenario",
    ) -> Scenario:
        """A scenario from its text.

        Args:
            text: the text of a scenario file.
            base: the folder where relative map files are.
            changes: ``"key=value"`` or ``"~key"``, applied in order, as ``--set`` of the command line takes them.
            name: what errors call the text.

        Raises:
            ScenarioError: text that is malformed, an unknown key, or a value out of range, with its line.
            ParameterError: an argument of another type, such as a text in place of a list of changes.
        """
        folder, called = _path("base", base), _text("name", name)
        return cls(_bristle.Scenario.parse(_text("text", text), folder, called, _changes(changes)), folder)

    @classmethod
    def from_dict(
        cls,
        dictionary: Mapping[str, Any],
        base: str | os.PathLike[str] = ".",
        changes: Sequence[str] = (),
        name: str = "scenario",
    ) -> Scenario:
        """A scenario from a dictionary with the keys of a scenario file.

        Args:
            dictionary: tables as dictionaries, arrays as lists or NumPy arrays, numbers of Python or NumPy.
            base: as in :meth:`from_toml`.
            changes: as in :meth:`from_toml`.
            name: as in :meth:`from_toml`.

        Raises:
            ScenarioError: as :meth:`from_toml`; lines are those of :attr:`text`.
            ParameterError: a value that TOML has no word for, such as None.
        """
        if not isinstance(dictionary, Mapping):
            raise ParameterError("dictionary", shown(dictionary), "a dictionary with the keys of a scenario file")
        return cls.from_toml(_bristle.to_toml(dict(dictionary)), base, changes, name)

    @classmethod
    def load(cls, path: str | os.PathLike[str], changes: Sequence[str] = ()) -> Scenario:
        """A scenario from a file.

        Args:
            path: the file; maps that it names are looked for beside it.
            changes: as in :meth:`from_toml`.

        Raises:
            ScenarioError: a file that cannot be read, or as :meth:`from_toml`.
        """
        file = _path("path", path)
        return cls(_bristle.Scenario.load(file, _changes(changes)), os.path.dirname(file))

    @property
    def text(self) -> str:
        """The text, with every change in it."""
        return self._core.text

    @property
    def name(self) -> str:
        """What errors call the scenario: its path, if it was loaded."""
        return self._core.name

    @property
    def contacts(self) -> int:
        """How many contacts it asks for."""
        return self._core.contacts

    @property
    def seed(self) -> int:
        """Seed of its random numbers."""
        return self._core.seed

    @property
    def duration(self) -> float:
        """Simulated time of a run from the command line [s]."""
        return self._core.duration

    @property
    def clipped(self) -> dict[str, float] | None:
        """What ``patch.clip`` has changed in the maps; None without it.

        ``readings`` were below zero after ``patch.baseline`` and count as zero, ``of`` so many. ``lowest`` is the
        lowest reading, in the unit of the maps.
        """
        if self._core.clipped is None:
            return None
        return dict(zip(("readings", "of", "lowest"), self._core.clipped, strict=True))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that its contacts take: the keys of a ``control``, see :class:`Batch`."""
        return self._inputs

    def draw(self, n: int | None = None, seed: int | None = None) -> dict[str, NDArray[np.float64]]:
        """The numbers that contacts are drawn with.

        Args:
            n: how many contacts; those that the scenario asks for if None.
            seed: the scenario's own if None.

        Returns:
            Arrays of shape (n,), float64, by the dotted paths of their fields (``"friction.mu_c"``), in the units of
            the scenario file; NaN where a contact has no such number.

        Raises:
            ParameterError: a number that is no integer, or negative.
            ScenarioError: a drawn value out of range.
            OutOfMemoryError: more contacts than there is memory for.
        """
        count = self.contacts if n is None else integer("n", n, 0, 2**53)
        return self._core.draw(count, self.seed if seed is None else integer("seed", seed, 0, 2**63 - 1))

    def __repr__(self) -> str:
        return f"<bristle.Scenario {self.name!r} of {self.contacts} contacts>"

    def __copy__(self) -> Scenario:
        """The same scenario, which does not change."""
        return self

    def __deepcopy__(self, memo: Any) -> Scenario:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (self.text, self._base, self.name, self._core.maps)


def _revived(text: str, base: str, name: str, maps: list[int] | None) -> Scenario:
    """A scenario of a pickle, whose files have to be as they were."""
    scenario = Scenario.from_toml(text, base, (), name)
    if scenario._core.maps != maps:
        raise ScenarioError(
            f"{name}: a map or table in {base} has changed since the scenario was pickled: expected the files that "
            "it has read"
        )
    return scenario


def checked(scenario: object) -> Scenario:
    """A scenario, and not the path or the text of one."""
    if not isinstance(scenario, Scenario):
        accepted = "a bristle.Scenario: Scenario.load(path) reads one from a file"
        raise ParameterError("scenario", shown(scenario), accepted)
    return scenario


def _changes(changes: object) -> list[str]:
    return texts("changes", changes, '["friction.mu_c=0.4"]')
