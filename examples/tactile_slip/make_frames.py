"""Makes a folder of tactile frames, if you have no recording.

Each file is one press of an object into a skin of 16 x 16 sensors, 1.25 mm apart: the pressure of every sensor in kPa,
top row first. Objects are balls and ellipsoids, edges, flat corners, and pairs of these; a sensor has noise, and does
not see less than half a kPa.

    python make_frames.py FOLDER [COUNT]
"""

import sys
from pathlib import Path

import numpy as np

SENSORS = 16
SPACING = 1.25  # mm
SEES = 0.5  # kPa


def press(rng: np.random.Generator) -> np.ndarray:
    """Pressure of one object, up to a factor, at places x, y in mm."""
    x, y = np.meshgrid(*2 * [(np.arange(SENSORS) - (SENSORS - 1) / 2) * SPACING])
    angle, (cx, cy) = rng.uniform(0, np.pi), rng.uniform(-4, 4, 2)
    u = (x - cx) * np.cos(angle) + (y - cy) * np.sin(angle)
    v = (y - cy) * np.cos(angle) - (x - cx) * np.sin(angle)
    match rng.integers(3):
        case 0:  # a ball or an ellipsoid, by Hertz
            a, b = rng.uniform(2, 7, 2)
            return np.sqrt(np.maximum(1 - (u / a) ** 2 - (v / b) ** 2, 0))
        case 1:  # an edge: a rounded bar
            width = rng.uniform(1, 2.5)
            return np.sqrt(np.maximum(1 - (v / width) ** 2, 0)) * (np.abs(u) < rng.uniform(5, 12))
        case _:  # a flat corner, pressed harder at its rim
            return ((u > 0) & (v > 0)) * (0.4 + np.exp(-u / 1.5) + np.exp(-v / 1.5))


def frame(rng: np.random.Generator) -> np.ndarray:
    """What the skin says of one or two objects under 2 to 8 N, in kPa."""
    cell = (SPACING * 1e-3) ** 2
    while True:
        pressure = press(rng) + (press(rng) if rng.random() < 0.3 else 0)
        if np.count_nonzero(pressure) < 6:
            continue
        pressure *= rng.uniform(2, 8) / (pressure.sum() * cell) / 1e3
        pressure += rng.normal(0, 0.1, pressure.shape)
        return np.where(pressure > SEES, pressure, 0).astype(np.float32)


def main(folder: str, count: str = "400") -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for k in range(int(count)):
        np.save(Path(folder) / f"{k:04}.npy", frame(rng))


if __name__ == "__main__":
    main(*sys.argv[1:])
