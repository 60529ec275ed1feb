"""Trains on the datasets that `bristle rollout` writes: PyTorch reads NPZ and Zarr with a `DataLoader`, and the real
`lerobot` loads a LeRobotDataset and trains a policy of its own on it.

    python learners.py path/to/bristle

`cargo xtask datasets --learners` runs it, with the packages of requirements-learners.txt, which are 8 GB on the disk.
"""

import os
import sys
import tempfile
from pathlib import Path

# Nothing is looked for beyond this machine.
os.environ["HF_HUB_OFFLINE"] = "1"

import check
import lerobot
import numpy as np
import torch
import zarr
from lerobot.configs.types import FeatureType
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.datasets.utils import dataset_to_policy_features
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.factory import make_policy, make_pre_post_processors
from torch.utils.data import DataLoader, Dataset

EPISODES, FPS, WORKERS = 160, 50, 2
# Actions that the policy foresees.
CHUNK = 8


class Episodes(Dataset):
    """The episodes of one split, from files that every worker process opens for itself."""

    NAMES = ("pose", "twist", "wrench", "normal_force", "slip", "action", "time_to_slip", "tactile", "frames")

    def __init__(self, run, kind, validation):
        self.run, self.kind, self.arrays = run, kind, None
        self.episodes = np.flatnonzero(self.open()["validation"][:] == validation)

    def open(self):
        return zarr.open_group(self.run / "dataset.zarr", mode="r") if self.kind == "zarr" else check.npz(self.run)

    def __len__(self):
        return len(self.episodes)

    def __getitem__(self, place):
        self.arrays = self.arrays or self.open()
        k = int(self.episodes[place])
        values = {name: np.array(self.arrays[name][k]) for name in self.NAMES}
        # PyTorch adds no unsigned integers of 64 bits.
        return {"episode": k, **values, "frames": int(values["frames"])}


def loader(data, **options):
    return DataLoader(data, num_workers=WORKERS, generator=torch.Generator().manual_seed(1), **options)


def test_torch(run, kind):
    """Batches are the slices of the arrays, each episode in its split, and a network learns from them."""
    all = check.npz(run)
    seen = {}
    for validation in (False, True):
        for batch in loader(Episodes(run, kind, validation), batch_size=16, shuffle=True):
            k = batch["episode"].numpy()
            for name in Episodes.NAMES:
                np.testing.assert_array_equal(batch[name].numpy(), all[name][k], err_msg=name)
            assert not set(k) & set(seen), "an episode comes twice"
            seen |= dict.fromkeys(k.tolist(), validation)
    assert seen == {k: check.is_validation(k) for k in range(EPISODES)} and 0 < sum(seen.values()) < EPISODES
    before, after = learn(run, kind)
    print(f"torch {torch.__version__}, {kind}: loss of validation episodes {before:.3f}, trained {after:.3f}")
    assert after < 0.6 * before, (before, after)


def learn(run, kind):
    """Trains a network to tell from wrench, normal force and motion what share slides; returns the loss of the
    validation episodes before and after. A constant has their variance for its loss, at least."""

    def rows(batch):
        there = torch.arange(batch["slip"].shape[1]) < batch["frames"][:, None]
        columns = [batch["wrench"], batch["normal_force"][..., None], torch.tanh(batch["twist"] / 1e-3)]
        return torch.cat(columns, dim=2)[there].float(), batch["slip"][there].float()

    def loss(inputs, slip):
        return torch.nn.functional.mse_loss(network((inputs - mean) / std)[:, 0], slip)

    torch.manual_seed(2)
    network = torch.nn.Sequential(torch.nn.Linear(7, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    train = loader(Episodes(run, kind, validation=False), batch_size=16, shuffle=True, persistent_workers=True)
    inputs = torch.cat([rows(batch)[0] for batch in train])
    mean, std = inputs.mean(dim=0), inputs.std(dim=0)
    (held,) = [rows(batch) for batch in loader(Episodes(run, kind, validation=True), batch_size=EPISODES)]
    with torch.no_grad():
        before = float(held[1].var())
    for _ in range(10):
        for batch in train:
            optimizer.zero_grad()
            loss(*rows(batch)).backward()
            optimizer.step()
    with torch.no_grad():
        return before, float(loss(*held))


def test_lerobot(run):
    """`LeRobotDataset` has the frames of the raw arrays, in the same episodes."""
    all = check.npz(run)
    frames = all["frames"].astype(int)
    data = LeRobotDataset("bristle/slide", root=run / "lerobot")
    assert (len(data), data.num_episodes, data.fps) == (frames.sum(), EPISODES, FPS)
    at = 0
    for k, length in enumerate(frames):
        for i in range(length):
            item = data[at]
            place = [int(item[name]) for name in ("episode_index", "frame_index", "index")]
            assert place == [k, i, at] and item["task"].startswith("Hold or slide a body"), place
            expected = {
                "observation.state": [*all["pose"][k, i], *all["twist"][k, i]],
                "observation.environment_state": [*all["wrench"][k, i], all["normal_force"][k, i]],
                "observation.tactile": all["tactile"][k, i],
                "action": all["action"][k, i],
                "label.slip": all["slip"][k, i],
                "label.near_limit": all["near_limit"][k, i],
                "label.time_to_slip": all["time_to_slip"][k, i],
                "label.margin": all["margin"][k, i],
                "timestamp": all["time"][i],
                "next.done": i + 1 == length,
            }
            for name, value in expected.items():
                found = item[name].numpy()
                np.testing.assert_array_equal(found, np.asarray(value).astype(found.dtype), err_msg=name)
            at += 1
    outcomes = [check.OUTCOMES[i] for i in all["outcome"]]
    assert list(data.meta.episodes["bristle/outcome"]) == outcomes and len(set(outcomes)) > 1


def test_policy(run):
    """A policy of `lerobot` trains on the episodes of one split, with the statistics of the dataset."""
    all = check.npz(run)
    train = [k for k in range(EPISODES) if not check.is_validation(k)]
    foreseen = {"action": [i / FPS for i in range(CHUNK)]}
    data = LeRobotDataset("bristle/slide", root=run / "lerobot", episodes=train, delta_timestamps=foreseen)
    frames = all["frames"].astype(int)
    assert (len(data), data.num_episodes) == (frames[train].sum(), len(train))
    features = dataset_to_policy_features(data.meta.features)
    of = lambda which: {name: feature for name, feature in features.items() if (feature.type is FeatureType.ACTION) == which}
    small = {"dim_model": 64, "n_heads": 4, "dim_feedforward": 128, "n_encoder_layers": 1, "use_vae": False}
    chunk = {"chunk_size": CHUNK, "n_action_steps": CHUNK}
    config = ACTConfig(input_features=of(False), output_features=of(True), device="cpu", push_to_hub=False, **small, **chunk)
    torch.manual_seed(3)
    policy = make_policy(config, ds_meta=data.meta)
    before, after = make_pre_post_processors(config, dataset_stats=data.meta.stats)
    optimizer = torch.optim.AdamW(policy.get_optim_params(), lr=1e-3)
    policy.train()
    losses = []
    for _ in range(3):
        for batch in loader(data, batch_size=64, shuffle=True, drop_last=True):
            for episode, frame, action, pad in zip(batch["episode_index"], batch["frame_index"], batch["action"], batch["action_is_pad"]):
                # The last action of an episode stands for those after it.
                last = frames[episode] - 1
                ahead = int(frame) + np.arange(CHUNK)
                np.testing.assert_array_equal(pad.numpy(), ahead > last)
                expected = all["action"][episode, np.minimum(ahead, last)]
                np.testing.assert_array_equal(action.numpy(), expected.astype(np.float32))
            loss, _ = policy.forward(before(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    first, last = np.mean(losses[:5]), np.mean(losses[-5:])
    print(f"lerobot {lerobot.__version__}, ACT: loss {first:.3f} in the first 5 of {len(losses)} steps, {last:.3f} in the last")
    assert np.isfinite(losses).all() and last < 0.5 * first, (first, last)
    # Of a validation episode: gravity, which never changes, comes back as it is, and the grip to some tenths of a newton.
    k = next(k for k in range(EPISODES) if check.is_validation(k) and frames[k] > CHUNK)
    whole = LeRobotDataset("bristle/slide", root=run / "lerobot", episodes=[k])
    policy.eval()
    policy.reset()
    with torch.no_grad():
        action = after(policy.select_action(before(whole[0])))[0].numpy()
    print(f"  it acts {np.round(action, 3)} where the scenario has {np.round(all['action'][k, 0], 3)}")
    np.testing.assert_allclose(action[1:], all["action"][k, 0, 1:], atol=1e-4)
    assert abs(action[0] - all["action"][k, 0, 0]) < 0.5


def main():
    (check.DIR / "slide.toml").write_text(check.SCENARIO)
    asked = ["--format", "npz,zarr,lerobot", "--with", "tactile,margin"]
    check.bristle("rollout", "slide.toml", "--engine", "cpu", "-q", "-n", EPISODES, *asked)
    run = check.DIR / "runs/slide"
    for kind in ("npz", "zarr"):
        test_torch(run, kind)
    for test in (test_lerobot, test_policy):
        test(run)
        print(f"{test.__name__} ok", flush=True)


if __name__ == "__main__":
    check.PROGRAM = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        check.DIR = Path(directory)
        main()
