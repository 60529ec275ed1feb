"""Pictures of contacts: the object, its goal, and the patch with what slips in it.

Shapes are drawn by their distances, which makes their edges smooth without a library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import Floats
from ..batch import Batch

#: Pixels along an edge.
PIXELS = 320
_PAPER, _OBJECT, _EDGE = (0.985, 0.98, 0.97), (0.89, 0.80, 0.66), (0.45, 0.36, 0.25)
_GOAL, _STICKS, _SLIPS = (0.20, 0.55, 0.35), (0.16, 0.35, 0.66), (0.86, 0.24, 0.18)


class Picture:
    """Draws contacts of a batch.

    Args:
        batch: the contacts.
        size: extents of the object [m].
        width: of what is shown [m], and its height.
    """

    def __init__(self, batch: Batch, size: tuple[float, float], width: float) -> None:
        self._batch = batch
        self._half = (size[0] / 2, size[1] / 2)
        # In a gripper the patch stands still while the object moves.
        self._turns = not batch._core.in_gripper()
        self._pixel = width / PIXELS
        line = (np.arange(PIXELS) + 0.5) * self._pixel - width / 2
        self._x, self._y = np.meshgrid(line, line[::-1])

    def draw(self, contact: int, goal: Floats | None) -> NDArray[np.uint8]:
        """The picture (320, 320, 3) of a contact, with its goal (3,) [m, m, rad], if it has one."""
        canvas = np.broadcast_to(_PAPER, (PIXELS, PIXELS, 3)).copy()
        pose = np.nan_to_num(self._batch.pose[contact])
        body = self._box(pose, self._half, 0.004)
        self._fill(canvas, body, _OBJECT, 1.0)
        self._fill(canvas, np.abs(body) - 0.5 * self._pixel, _EDGE, 1.0)
        if goal is not None and np.isfinite(goal).all():
            outline = np.abs(self._box(goal, self._half, 0.004)) - self._pixel
            self._fill(canvas, outline, _GOAL, 0.9)
        self._patch(canvas, contact, pose if self._turns else np.zeros(3))
        return np.asarray(np.round(255 * np.clip(canvas, 0, 1)), np.uint8)

    def _patch(self, canvas: Floats, contact: int, pose: Floats) -> None:
        """The cells of the patch: darker where they press, from blue where they stick to red where they slip."""
        if self._batch._core.patches() > 0:
            # Cells of several patches are not in the rows and columns of one grid.
            return
        pressed = self._batch.read("tactile", [contact])[0]
        width, height = self._batch._core.extent()
        rows, columns = pressed.shape
        try:
            near = self._batch.read("cell_nearness", [contact])[0]
        except ValueError:
            near = np.full(pressed.shape, self._batch.near_limit[contact])
        slips = np.clip(np.nan_to_num(near), 0, 1) ** 4
        x, y = self._own(pose)
        at = np.floor((x / width + 0.5) * columns), np.floor((y / height + 0.5) * rows)
        inside = (at[0] >= 0) & (at[0] < columns) & (at[1] >= 0) & (at[1] < rows)
        column, row = (np.clip(a, 0, most - 1).astype(int) for a, most in zip(at, (columns, rows), strict=True))
        shade = np.nan_to_num(pressed / max(float(np.nan_to_num(pressed).max()), 1e-12))
        alpha = np.where(inside, 0.75 * np.sqrt(shade)[row, column], 0.0)[..., None]
        mixed = slips[row, column][..., None]
        color = (1 - mixed) * np.array(_STICKS) + mixed * np.array(_SLIPS)
        canvas[:] = (1 - alpha) * canvas + alpha * color

    def _own(self, pose: Floats) -> tuple[Floats, Floats]:
        """The pixels' places in the axes of a pose [m]."""
        cos, sin = np.cos(pose[2]), np.sin(pose[2])
        dx, dy = self._x - pose[0], self._y - pose[1]
        return cos * dx + sin * dy, cos * dy - sin * dx

    def _box(self, pose: Floats, half: tuple[float, float], radius: float) -> Floats:
        """Distance of the pixels from a box with round corners [m], negative inside."""
        x, y = self._own(pose)
        dx, dy = np.abs(x) - half[0] + radius, np.abs(y) - half[1] + radius
        return np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0) - radius

    def _fill(self, canvas: Floats, distance: Floats, color: Any, alpha: float) -> None:
        """Paints what is inside, with an edge of one pixel."""
        share = alpha * np.clip(0.5 - distance / self._pixel, 0, 1)[..., None]
        canvas[:] = (1 - share) * canvas + share * np.array(color)
