"""Learns from a run of `slip.toml` whether a contact is about to slip, and tests the predictor on other contacts.

    python train.py TRAIN HELD_OUT

A finger tip measures the pressure at each of its sensors, the force and the torque on it, and how far the object has
moved over its skin, these with noise, now and 40 and 80 ms ago. Whether bristles with 99 % of the normal force will be
sliding within 50 ms is the label, `time_to_slip` of the run. Moments at which they slide already are left out.
"""

import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

SIZE = 0.02  # of the skin [m], as in slip.toml
FORCE_NOISE = [0.02, 0.02, 1e-4]  # [N, N, N m]
MOTION_NOISE = [5e-6, 5e-6, 1e-3]  # [m, m, rad]
PAST = [4, 8]  # samples of 10 ms
AHEAD = 0.05  # [s]


def measure(folder: str, seed: int) -> dict[str, np.ndarray]:
    """Of every fifth moment of all episodes: measurements, the ratio of forces, the label, and the split."""
    run, rng = np.load(f"{folder}/trajectories.npz"), np.random.default_rng(seed)
    frame = run["tactile"][:, 0]  # [contacts, rows, columns], N; the frame does not change here
    x, y = np.meshgrid(*[((np.arange(n) + 0.5) / n - 0.5) * SIZE for n in frame.shape[:0:-1]])
    normal = frame.sum(axis=(1, 2))
    share = frame / normal[:, None, None]
    cx, cy = (share * x).sum(axis=(1, 2)), (share * y).sum(axis=(1, 2))
    arm = (share * np.hypot(x - cx[:, None, None], y - cy[:, None, None])).sum(axis=(1, 2))

    def about_centre(vector: np.ndarray, of_force: bool) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of the planar part and of the rotation, of a wrench or a small motion, at the centre of pressure."""
        vx, vy, turn = np.moveaxis(vector, 2, 0)
        if of_force:
            return np.hypot(vx, vy), np.abs(turn - (cx[:, None] * vy - cy[:, None] * vx))
        return np.hypot(vx - turn * cy[:, None], vy + turn * cx[:, None]), np.abs(turn)

    wrench, pose = run["wrench"], run["pose"]
    force, torque = about_centre(wrench + rng.normal(0, FORCE_NOISE, wrench.shape), True)
    moved, turned = about_centre(pose - pose[:, :1] + rng.normal(0, MOTION_NOISE, pose.shape), False)
    ratio = force / normal[:, None]
    signals = np.stack([ratio, torque / (arm * normal)[:, None], moved, arm[:, None] * turned], axis=2)

    moments = np.arange(PAST[-1], len(run["time"]), 5)
    next_slip = run["time_to_slip"][:, moments]
    seen = np.isfinite(signals[:, moments, 0]) & (next_slip != 0) & (run["time"][moments] + AHEAD <= run["time"][-1])
    changes = [signals[:, moments] - signals[:, moments - past] for past in PAST]
    stiffness = np.log((1e-9 + signals[:, moments, :2]) / (1e-7 + signals[:, moments, 2:]))
    windows = np.concatenate([signals[:, moments], *changes, stiffness], axis=2)
    return {
        "measured": windows[seen],
        "ratio": ratio[:, moments][seen],
        "slips": ((next_slip > 0) & (next_slip <= AHEAD))[seen],
        "validation": np.broadcast_to(run["validation"][:, None], seen.shape)[seen] != 0,
    }


def main(train: str, held_out: str) -> None:
    data, others = measure(train, seed=1), measure(held_out, seed=2)
    learned = ~data["validation"]
    model = HistGradientBoostingClassifier(random_state=0).fit(data["measured"][learned], data["slips"][learned])
    print(f"{learned.sum()} moments to learn from, {data['slips'][learned].mean():.1%} slip within {AHEAD} s")
    print("area under the ROC curve:                   predictor   ratio of forces")
    parts = {"new contacts, frames that it has seen": (data, data["validation"]), "held-out frames": (others, ...)}
    for name, (of, part) in parts.items():
        slips, score = of["slips"][part], model.predict_proba(of["measured"][part])[:, 1]
        print(f"  {name:40} {roc_auc_score(slips, score):10.3f} {roc_auc_score(slips, of['ratio'][part]):17.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
