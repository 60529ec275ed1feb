"""Opens the datasets that `bristle rollout` writes with the programs that learners use, and compares all of them with
each other and with what follows from the scenario.

    python check.py path/to/bristle

`cargo xtask datasets` runs it, with the packages of requirements.txt.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import xarray as xr
import zarr

SCENARIO = """
duration = 0.4
record_every = 0.02
contacts = 37
seed = 5
[limits]
steps = 300                        # stops some contacts: their episodes are shorter
[stop_when]
displacement = 0.01                # and so are those of contacts that have left
[patch]
shape = { choice = ["disc", "square"] }
cells = 5
size = { uniform = [0.01, 0.02] }
[friction]
mu_c = { uniform = [0.4, 1.0] }
[body]
kind = "gripper"
mass = { uniform = [0.1, 0.3] }
inertia = { rectangle = [0.15, 0.08] }
[inputs]
gravity = [0, -9.81]
normal_force = { points = [[0, 4], [0.3, { uniform = [1, 3] }]] }
[step]
tolerance = 3e-6
"""

OUTCOMES = ["stuck", "slipped only", "spun only", "slipped and spun", "failed"]
ALL_SLIDES = 0.99


def bristle(*arguments, fails=False):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=DIR, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, f"{arguments}: {done.stderr}"
    return done.stdout + done.stderr


def is_validation(k):
    """The finaliser of SplitMix64."""
    mask = (1 << 64) - 1
    z = (k + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) % 10 == 0


def npz(run):
    with np.load(run / "trajectories.npz") as file:
        return {name: file[name] for name in file.files}


def test_numpy(run):
    all = npz(run)
    n, samples = 37, 21
    assert all["pose"].shape == (n, samples, 3) and all["slip"].shape == (n, samples)
    np.testing.assert_allclose(all["time"], np.arange(samples) * 0.02, atol=1e-12)
    finite = np.isfinite(all["pose"]).all(axis=2)
    np.testing.assert_array_equal(all["frames"], finite.sum(axis=1))
    failed = all["failed_step"] >= 0
    left = all["status"] & 16 != 0
    ended = failed | left
    assert 0 < failed.sum() < n and 0 < left.sum() < n and not ended.all(), (failed.sum(), left.sum())
    assert (all["frames"][~ended] == samples).all() and (all["frames"][failed] < samples).all()
    # A contact that has left did so with its last sample.
    displacement = all["displacement"]
    assert (displacement[left] >= 0.01).all() and (displacement[~ended] < 0.01).all()
    assert json.loads((run / "run.json").read_text())["summary"]["status"]["left"] == left.sum()
    time_to_slip, first = expected_labels(all)
    np.testing.assert_allclose(all["time_to_slip"], time_to_slip, atol=1e-12)
    np.testing.assert_allclose(all["first_slip"], first, atol=1e-12)
    np.testing.assert_array_equal(all["outcome"], expected_outcomes(all))
    np.testing.assert_array_equal(all["validation"], [is_validation(k) for k in range(n)])
    assert all["validation"].dtype == bool and {"action", "tactile", "margin", "shear"} <= set(all)
    described = json.loads((run / "run.json").read_text())["arrays"]
    assert set(described) == set(all) and all["tactile"].shape == (n, samples, 5, 5)


def all_have_units(about):
    return all("[" in text for text in about.values())


def check_shear(all, drawn, data):
    """The friction of all cells is the wrench, and those near their limit carry the share that is."""
    shear, size = data["shear"].values.astype(float), drawn["patch.size"]
    assert data["shear"].dims == ("contact", "sample", "row", "column", "force")
    at = (np.arange(5) - 2) / 5 * size[:, None]
    x, y = at[:, None, None, :], at[:, None, :, None]
    fx, fy = shear[..., 0], shear[..., 1]
    forces = np.stack([f.sum(axis=(2, 3)) for f in (fx, fy, x * fy - y * fx)], axis=2)
    np.testing.assert_allclose(forces, all["wrench"], rtol=0, atol=3e-6)
    share = data["tactile"].values / all["normal_force"][..., None, None]
    near = np.where(data["cell_nearness"].values > 0.9, share, 0).sum(axis=(2, 3))
    there = np.isfinite(all["slip"])
    np.testing.assert_array_equal(np.isfinite(forces).all(axis=2), there)
    assert np.isclose(near[there], all["near_limit"][there], atol=1e-5).mean() > 0.99


def expected_labels(all):
    """Labels from their definitions, sample by sample."""
    time_to_slip = np.full(all["slip"].shape, np.nan)
    first = np.full(len(all["slip"]), -1.0)
    for k, (slip, frames) in enumerate(zip(all["slip"], all["frames"].astype(int))):
        sliding = np.flatnonzero(slip[:frames] >= ALL_SLIDES)
        if len(sliding):
            first[k] = all["time"][sliding[0]]
        for i in range(frames):
            later = sliding[sliding >= i]
            time_to_slip[k, i] = all["time"][later[0]] - all["time"][i] if len(later) else -1
    return time_to_slip, first


def expected_outcomes(all):
    slipped, spun = all["displacement"] > 1e-4, np.abs(all["rotation"]) > np.pi / 180
    return np.where(all["failed_step"] >= 0, 4, slipped + 2 * spun)


def test_zarr(run):
    all, drawn = npz(run), np.load(run / "contacts.npz")
    data = xr.open_zarr(run / "dataset.zarr", consolidated=True)
    group = zarr.open_group(run / "dataset.zarr", mode="r")
    assert group.metadata.zarr_format == 3 and group.metadata.consolidated_metadata is not None
    for name, values in all.items():
        np.testing.assert_array_equal(data[name].values, values, err_msg=name)
        assert data[name].dtype == values.dtype, name
    for name in drawn.files:
        np.testing.assert_array_equal(data[name].values, drawn[name], err_msg=name)
    assert data["pose"].dims == ("contact", "sample", "axis") and "[m]" in data["pose"].attrs["description"]
    assert "mu_c" in data.attrs["scenario"] and data.attrs["engine"] == "cpu"
    time_to_slip, first = expected_labels(all)
    np.testing.assert_allclose(data["time_to_slip"], time_to_slip, atol=1e-12)
    np.testing.assert_allclose(data["first_slip"], first, atol=1e-12)
    assert (time_to_slip == -1).any() and (time_to_slip > 0).any() and (time_to_slip == 0).any()
    np.testing.assert_array_equal(data["outcome"], expected_outcomes(all))
    np.testing.assert_array_equal(data["validation"], [is_validation(k) for k in range(37)])
    # The inputs, by the scenario: a force that falls linearly from 4 N, and gravity.
    last = drawn["inputs.normal_force.points.1.1"]
    force = 4 + (last[:, None] - 4) * np.minimum(all["time"] / 0.3, 1)
    action = data["action"].values
    np.testing.assert_allclose(action[:, :, 0], force, rtol=1e-12)
    np.testing.assert_array_equal(action[:, :, 1:], np.broadcast_to([0, 0, 0, 0, -9.81], action[:, :, 1:].shape))
    # The cells of a tactile frame carry the normal force together.
    tactile = data["tactile"].values
    assert tactile.shape == (37, 21, 5, 5)
    np.testing.assert_allclose(tactile.sum(axis=(2, 3)), all["normal_force"], rtol=1e-5)
    # The cells of a square press alike, those in the corners of a disc less than the one in the middle.
    is_square = drawn["patch.shape"] == 1
    assert np.ptp(tactile[is_square, 0], axis=(1, 2)).max() < 1e-6
    assert (tactile[~is_square, 0, 0, 0] < tactile[~is_square, 0, 2, 2]).all() and 0 < is_square.sum() < 37
    check_margin(all, drawn, data["margin"].values)
    check_shear(all, drawn, data)
    # Every parameter says what it is, and in which unit.
    about = json.loads((run / "run.json").read_text())["parameters"]
    assert set(about) == set(drawn.files) and all_have_units(about), about
    assert all_have_units({name: data[name].attrs["description"] for name in drawn.files})
    lerobot = json.loads((run / "lerobot/meta/bristle.json").read_text())["parameters"]
    assert lerobot == {f"bristle/{name}": text for name, text in about.items()}


def check_margin(all, drawn, margin):
    there = np.isfinite(all["slip"])
    np.testing.assert_array_equal(np.isfinite(margin), there)
    force = np.hypot(all["wrench"][..., 0], all["wrench"][..., 1])
    limit = drawn["friction.mu_s"][:, None] * all["normal_force"]
    # No patch withstands more force than under pure translation, whatever the torque.
    assert (margin[there] <= 1 - (force / limit)[there] + 1e-9).all()
    # Where no bristle is near its limit there is margin left; where all slides, no more than the step from mu_s to mu_c.
    sticks = there & (all["near_limit"] == 0)
    assert (margin[sticks] > 0).all() and sticks.any()
    slides = there & (all["slip"] >= ALL_SLIDES)
    used = 1 - margin[slides]
    least = np.broadcast_to((drawn["friction.mu_c"] / drawn["friction.mu_s"])[:, None], slides.shape)[slides]
    assert slides.any() and (used > 0.9 * least).all(), (used / least).min()


def test_lerobot(run):
    all, drawn = npz(run), np.load(run / "contacts.npz")
    root = run / "lerobot"
    info = json.loads((root / "meta/info.json").read_text())
    assert info["codebase_version"] == "v3.0" and info["fps"] == 50 and info["total_episodes"] == 37
    frames = all["frames"].astype(int)
    assert info["total_frames"] == frames.sum()
    tasks = pd.read_parquet(root / "meta/tasks.parquet")
    assert tasks.index.name == "task" and tasks["task_index"].tolist() == [0] and "friction" in tasks.index[0]
    files = sorted(root.glob("data/*/*.parquet"))
    data = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    there = np.arange(21) < frames[:, None]
    both = lambda a, b: np.concatenate([a, b.reshape(*b.shape[:2], -1)], axis=2)[there].astype(np.float32)
    stack = lambda name: whole(data[name].to_numpy())
    np.testing.assert_array_equal(stack("observation.state"), both(all["pose"], all["twist"]))
    np.testing.assert_array_equal(
        stack("observation.environment_state"), both(all["wrench"], all["normal_force"])
    )
    for name in ["slip", "near_limit"]:
        np.testing.assert_array_equal(data[f"label.{name}"], all[name][there].astype(np.float32))
    zarr = xr.open_zarr(run / "dataset.zarr")
    for name, other in [("label.time_to_slip", "time_to_slip"), ("label.margin", "margin")]:
        np.testing.assert_array_equal(data[name], zarr[other].values[there].astype(np.float32))
    np.testing.assert_array_equal(stack("action"), zarr["action"].values[there].astype(np.float32))
    np.testing.assert_array_equal(stack("observation.tactile"), zarr["tactile"].values[there])
    np.testing.assert_array_equal(stack("observation.shear"), zarr["shear"].values[there])
    np.testing.assert_array_equal(stack("observation.cell_nearness"), zarr["cell_nearness"].values[there])
    sample = np.broadcast_to(np.arange(21), there.shape)[there]
    np.testing.assert_array_equal(data["frame_index"], sample)
    np.testing.assert_array_equal(data["timestamp"], (sample / 50).astype(np.float32))
    np.testing.assert_array_equal(data["index"], np.arange(len(data)))
    np.testing.assert_array_equal(data["next.done"], sample == (frames - 1)[data["episode_index"]])
    ranges = {name: [k for part in text.split(",") for k in range(*map(int, part.split(":")))] for name, text in info["splits"].items()}
    assert ranges == {split: [k for k in range(37) if is_validation(k) == (split == "validation")] for split in ("train", "validation")}
    check_features(root, info, data, files)
    check_episodes(root, all, drawn, frames)
    doctor = subprocess.run(
        [Path(sys.executable).with_name("lerobot-doctor"), "check", str(root)], capture_output=True, text=True
    )
    assert doctor.returncode == 0 and "FAIL" not in doctor.stdout.split("Summary")[0], doctor.stdout + doctor.stderr


def whole(values):
    """Arrays in arrays, as pandas reads lists in lists, as one."""
    return np.stack([whole(value) for value in values]) if values.dtype == object else values


def check_features(root, info, data, files):
    """Every feature has its column, its statistics and its units; row groups hold whole episodes."""
    stats = json.loads((root / "meta/stats.json").read_text())
    said = json.loads((root / "meta/bristle.json").read_text())
    about = said["features"]
    assert said["quantiles"] == {"of_rows": len(data), "rows": len(data)}
    assert set(info["features"]) == set(data.columns) == set(stats) == set(about)
    assert all(feature["units"] and feature["description"] for feature in about.values())
    for name, feature in info["features"].items():
        column = whole(data[name].to_numpy()).astype(np.float64).reshape(len(data), *feature["shape"])
        for statistic, expected in [
            ("min", column.min(axis=0)),
            ("max", column.max(axis=0)),
            ("mean", column.mean(axis=0)),
            ("std", column.std(axis=0)),
            *((f"q{percent:02d}", np.percentile(column, percent, axis=0)) for percent in (1, 10, 50, 90, 99)),
        ]:
            close = 1e-9 * max(1, np.abs(column).max())
            found = np.array(stats[name][statistic])
            assert list(found.shape) == feature["shape"], name
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=close, err_msg=f"{name}: {statistic}")
        assert stats[name]["count"] == [len(data)]
    for file in files:
        parquet = pq.ParquetFile(file)
        for group in range(parquet.num_row_groups):
            rows = parquet.read_row_group(group, columns=["frame_index", "next.done"]).to_pydict()
            assert rows["frame_index"][0] == 0 and rows["next.done"][-1]


def check_episodes(root, all, drawn, frames):
    episodes = pd.concat([pd.read_parquet(file) for file in sorted(root.glob("meta/episodes/*/*.parquet"))])
    assert episodes["episode_index"].tolist() == list(range(37))
    np.testing.assert_array_equal(episodes["length"], frames)
    np.testing.assert_array_equal(episodes["dataset_to_index"], frames.cumsum())
    np.testing.assert_array_equal(episodes["dataset_from_index"], frames.cumsum() - frames)
    assert [list(tasks) for tasks in episodes["tasks"]] == [["Hold or slide a body by friction."]] * 37
    assert episodes["bristle/outcome"].tolist() == [OUTCOMES[i] for i in expected_outcomes(all)]
    splits = ["validation" if is_validation(k) else "train" for k in range(37)]
    assert episodes["bristle/split"].tolist() == splits
    for name in drawn.files:
        np.testing.assert_array_equal(episodes[f"bristle/{name}"], drawn[name], err_msg=name)


def content(run):
    """The digest of every file; the record says when and where it was made, so it is left out."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.name != "run.json")
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_manifest(run):
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=run, check=True)
    assert "as written" in bristle("verify", run)
    listed = {line.split("  ")[1] for line in (run / "SHA256SUMS").read_text().splitlines()}
    assert listed == set(content(run)) - {"SHA256SUMS"}


def test_shards(run):
    shards = DIR / "runs/slide.shards"
    for i in (3, 1, 5, 2):
        bristle("rollout", "slide.toml", "--engine", "cpu", "--shard", f"{i}/5", "--with", "shear", "-q")
    formats = ["--format", "lerobot,npz,zarr", "--with", "margin,shear,tactile"]
    assert "1 of 5 shards are missing: 4/5" in bristle("merge", shards, "--out", "merged", *formats, fails=True)
    bristle("rollout", "slide.toml", "--engine", "cpu", "--shard", "4/5", "--seed", "6", "--with", "shear", "-q", "--out", "other")
    several = [shards / f"{i}-of-5" for i in (1, 2, 3, 5)]
    assert "another scenario" in bristle("merge", *several, "other", "--out", "merged", fails=True)
    bristle("rollout", "slide.toml", "--engine", "cpu", "--shard", "4/5", "--with", "shear", "-q")
    assert "both shard 1/5" in bristle("merge", *several, several[0], "--out", "merged", fails=True)
    bristle("verify", *several)
    bristle("merge", shards, "--out", "merged", *formats)
    assert content(DIR / "merged") == content(run)
    summaries = [json.loads((d / "run.json").read_text())["summary"]["status"] for d in (DIR / "merged", run)]
    assert summaries[0] == summaries[1]
    # A byte that has changed is found.
    raw = several[1] / "raw/slip"
    raw.write_bytes(b"\x01" + raw.read_bytes()[1:])
    assert "raw/slip: is damaged" in bristle("verify", several[1], fails=True)
    raw.write_bytes(raw.read_bytes()[1:])
    assert "is damaged" in bristle("merge", shards, "--out", "again", fails=True)


def test_parquet_table():
    """A table that pandas writes gives the numbers and signals of the same table as NPZ."""
    rng = np.random.default_rng(3)
    mass, grip = rng.uniform(0.1, 0.3, 9), rng.uniform(1, 4, (9, 5)).astype(np.float32)
    np.savez(DIR / "table.npz", mass=mass, grip=grip)
    frame = pd.DataFrame({"name": list("abcdefghi"), "mass": mass, "grip": list(grip), "uneven": [[1.0] * k for k in range(1, 10)]})
    frame.drop(columns="uneven").to_parquet(DIR / "table.parquet")
    frame.to_parquet(DIR / "uneven.parquet")
    frame.drop(columns="uneven").to_parquet(DIR / "zstd.parquet", compression="zstd")
    table = ["--unset", "contacts", "--set", "body.mass={ column = 'mass' }"]
    table += ["--set", "inputs.normal_force={ column = 'grip', every = 0.1 }"]
    runs = []
    for kind in ("npz", "parquet"):
        bristle("rollout", "slide.toml", "--engine", "cpu", "-q", *table, "--set", f"table.file='table.{kind}'", "--out", kind)
        runs.append((np.load(DIR / kind / "trajectories.npz"), np.load(DIR / kind / "contacts.npz")))
    np.testing.assert_array_equal(runs[1][1]["body.mass"], mass)
    for name in ("pose", "normal_force"):
        np.testing.assert_array_equal(runs[0][0][name], runs[1][0][name])
    # Of columns that are not used, nothing is asked.
    bristle("rollout", "slide.toml", "--engine", "cpu", "-q", *table, "--set", "table.file='uneven.parquet'", "--out", "uneven")
    for kind, column, reason in (
        ("uneven", "uneven", "column `uneven`: row 1 has 2 numbers: expected 1, as in row 0"),
        ("table", "name", 'column `name`: row 0 is "a": expected numbers, or lists of numbers'),
        ("zstd", "mass", "with Snappy"),
    ):
        used = ["--set", f"table.file='{kind}.parquet'", "--set", f"body.mass={{ column = '{column}' }}"]
        message = bristle("rollout", "slide.toml", *table, *used, "--out", "refused", fails=True)
        assert reason in message, message


def test_refusals():
    message = bristle("rollout", "slide.toml", "--format", "lerobot", "--record-every", "0.03", "--out", "none", fails=True)
    assert "record_every = 0.03" in message and "1 s over an integer" in message, message
    message = bristle("rollout", "slide.toml", "--shard", "38/38", "--out", "none", fails=True)
    assert "at most 37 shards" in message, message


def main():
    (DIR / "slide.toml").write_text(SCENARIO)
    run = DIR / "runs/slide"
    asked = ["--format", "npz,zarr,lerobot", "--with", "tactile,margin,shear"]
    bristle("rollout", "slide.toml", "--engine", "cpu", "-q", *asked)
    for test in (test_numpy, test_zarr, test_lerobot, test_manifest, test_shards):
        test(run)
        print(f"{test.__name__} ok", flush=True)
    for test in (test_parquet_table, test_refusals):
        test()
        print(f"{test.__name__} ok")


if __name__ == "__main__":
    PROGRAM = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        DIR = Path(directory)
        main()
