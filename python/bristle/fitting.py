"""Friction identified from recordings, as by ``bristle fit`` (docs/identification.md)."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _bristle
from ._arguments import flag, function, listed, path, texts
from ._arrays import doubles, shown
from .errors import ParameterError

#: A recording: a file, or its columns.
Recording = str | os.PathLike[str] | Mapping[str, ArrayLike]


@dataclass(frozen=True)
class Parameter:
    """An unknown with what the recordings say of it.

    Attributes:
        name: its path in the scenario (``"friction.mu_c"``), or a number of a sensor (``"wrench.fx.offset"``); behind
            ``@`` the index of the recording that it belongs to. ``"sliding_friction"`` follows from the others.
        value: the best value, in SI units.
        low: lower end of its 90 % interval, or its bound where the recordings set none.
        high: upper end.
        identifiable: whether the recordings set both ends, without another unknown that is held.
        held: whether it was held because it could not be told.
        note: what else there is to say, or "".
    """

    name: str
    value: float
    low: float
    high: float
    identifiable: bool
    held: bool
    note: str


class Fit:
    """What :func:`fit` has found. A notebook shows its page.

    Attributes:
        parameters: the unknowns, as :class:`Parameter`; ``fit["friction.mu_c"]`` is one of them.
        noise: for each compared quantity of each recording a dictionary with ``recording``, ``quantity``, the three
            sizes ``sensor``, ``repeatability`` (None if nothing repeats) and ``residual`` [SI units], ``correlated``
            [s] and the mean ``normal_force`` [N] of a force.
        held_out: of the part that was predicted: ``rms``, ``fitted_rms`` [SI units], ``ratio``.
        converged: whether the search ended by itself.
        interrupted: whether Ctrl-C ended it; the numbers are the best until then.
        seconds: time of the search [s].
        scenario: the scenario with the fitted numbers, as text for :meth:`Scenario.from_toml`.
        posterior: arrays of samples of the unknowns by name, shape (samples,), if the fit file asks for
            ``samples``; else None.
        json: everything as a dictionary, as ``bristle fit --json`` prints it.
        page: the page, as HTML text that needs no other file.
    """

    def __init__(
        self,
        found: Mapping[str, Any],
        scenario: str,
        posterior: Mapping[str, NDArray[np.float64]] | None,
        page: str,
        interrupted: bool,
    ) -> None:
        def parameter(of: Mapping[str, Any]) -> Parameter:
            return Parameter(**{field.name: of.get(field.name, "") for field in fields(Parameter)})

        self.json = dict(found)
        self.parameters = [parameter(of) for of in found["parameters"]]
        self.noise: list[dict[str, Any]] = found["noise"]
        self.held_out: list[dict[str, Any]] = found["held_out"]
        self.converged: bool = found["converged"]
        self.interrupted = interrupted
        self.seconds: float = found["seconds"]
        self.scenario = scenario
        self.posterior = posterior
        self.page = page

    def __getitem__(self, name: str) -> Parameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)

    def __repr__(self) -> str:
        told = ", ".join(f"{p.name} = {p.value:.4g}" for p in self.parameters if p.identifiable)
        return f"<bristle.Fit {'' if self.converged else 'not converged, '}{told or 'nothing told'}>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 48rem; border: 0"></iframe>'


def fit(
    recordings: Recording | Sequence[Recording],
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    changes: Sequence[str] = (),
    compare: Sequence[str] = (),
    next: Sequence[str | os.PathLike[str]] = (),
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    base: str | os.PathLike[str] = ".",
    progress: Callable[[str], object] | None = None,
) -> Fit:
    """Finds the numbers of a scenario with which it repeats recordings, and how well each is known.

    Ctrl-C ends the search, and the best so far is returned (``interrupted`` is then true); if nothing has been found
    yet, ``KeyboardInterrupt`` is raised. The GIL is released.

    Args:
        recordings: one or several: a file (CSV, TSV, NPZ, Parquet, MCAP), or a dictionary of arrays of shape
            (rows,) by the names of columns, in the units that the fit file or the names say (SI without them).
        scenario: the fit file (docs/identification.md): its path, its text (with a line break), or a dictionary.
        changes: ``"key=value"``, applied to it in order, as ``--set`` of the command line.
        compare: laws to compare (of a point contact its laws); the result is the one that predicts best, and
            ``json["compare"]`` what was found of all.
        next: experiments, files with the keys of a scenario that differ: ``json["next"]`` says what each of them
            would tell.
        out: a directory for the files of ``bristle fit --out``.
        force: whether results there are replaced.
        base: where relative files of a text or a dictionary are.
        progress: called with what is being done, when that changes.

    Raises:
        ParameterError: an argument or a recording that is refused.
        ScenarioError: a fit file that is refused.
        RunError: files that cannot be written.
    """
    given: list[object] = [recordings]
    if isinstance(recordings, Sequence) and not isinstance(recordings, str | bytes):
        given = list(recordings)
    if not given:
        raise ParameterError("recordings", "none", "at least one")
    if not isinstance(scenario, Mapping | str | os.PathLike):
        raise ParameterError("scenario", shown(scenario), "the path of a fit file, its text, or a dictionary")
    is_text = isinstance(scenario, Mapping) or "\n" in str(scenario)
    text = _bristle.to_toml(dict(scenario)) if isinstance(scenario, Mapping) else path("scenario", scenario)
    found, fitted, samples, page, interrupted = _bristle.fit(
        [_source(k, recording) for k, recording in enumerate(given)],
        text,
        path("base", base) if is_text else None,
        texts("changes", changes, '["friction.mu_c=0.4"]'),
        texts("compare", compare, '["lugre", "dahl"]'),
        [path("next", one) for one in listed("next", next, "a list of paths")],
        None if out is None else path("out", out),
        flag("force", force),
        function("progress", progress, "a function of a text"),
    )
    posterior = None if samples is None else dict(zip(samples[0], np.array(samples[1]).T, strict=True))
    return Fit(json.loads(found), fitted, posterior, page, interrupted)


def _source(k: int, recording: object) -> str | list[tuple[str, NDArray[np.float64]]]:
    """A path, or names and columns."""
    if isinstance(recording, str | os.PathLike):
        return os.fspath(recording)
    if not isinstance(recording, Mapping):
        raise ParameterError(f"recordings.{k}", shown(recording), "a path, or a dictionary of arrays")

    def column(name: object, values: object) -> tuple[str, NDArray[np.float64]]:
        array = doubles(f"recordings.{k}.{name}", values)
        if array.ndim != 1:
            raise ParameterError(f"recordings.{k}.{name}", shown(array), "shape (rows,)")
        return str(name), array

    return [column(name, values) for name, values in recording.items()]
