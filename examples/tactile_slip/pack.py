"""Packs a folder of tactile frames for `bristle rollout`, and holds a quarter of them out.

    python pack.py FOLDER

writes `frames.npy` [frames, rows, columns], and two tables with the indices of frames: `train.npz` and `held_out.npz`.
"""

import sys
from pathlib import Path

import numpy as np


def main(folder: str) -> None:
    frames = np.stack([np.load(file) for file in sorted(Path(folder).glob("*.npy"))])
    np.save("frames.npy", frames)
    shuffled = np.random.default_rng(0).permutation(len(frames))
    held_out, train = np.split(shuffled, [len(frames) // 4])
    np.savez("train.npz", frame=train)
    np.savez("held_out.npz", frame=held_out)
    rows, columns = frames.shape[1:]
    print(f"{len(frames)} frames of {rows} x {columns}: {len(train)} to learn from, {len(held_out)} held out")


if __name__ == "__main__":
    main(*sys.argv[1:])
