"""Learners' packages take the environments; each test runs where its package is installed."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import bristle.gym


def test_minari_collects_episodes(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari", reason="not installed: pip install 'minari[hdf5]' pillow")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = minari.DataCollector(gymnasium.make("bristle/Pivot-v0", horizon=5), record_infos=True)
    for seed in range(2):
        env.reset(seed=seed)
        for _ in range(5):
            env.step(np.zeros(1, np.float32))
    made = env.create_dataset("bristle/pivot-v0", algorithm_name="none", author="none", code_permalink="none")
    assert made.total_episodes == 2 and made.total_steps == 10
    episode = made[0]
    assert episode.observations.shape == (6, 7)
    assert made.recover_environment().unwrapped.vector.horizon == 5


def test_stable_baselines_learns_a_little():
    sb3 = pytest.importorskip("stable_baselines3", reason="not installed: pip install stable-baselines3")
    model = sb3.PPO("MlpPolicy", bristle.gym.PalmEnv(), n_steps=64, batch_size=32, device="cpu", seed=0)
    model.learn(128)
    action, _ = model.predict(np.zeros(10, np.float32), deterministic=True)
    assert action.shape == (3,) and np.isfinite(action).all()
