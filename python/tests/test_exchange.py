"""Arrays go to other libraries without a copy."""

from __future__ import annotations

import numpy as np
import pytest

import bristle


def arrays(box) -> dict[str, np.ndarray]:
    b = bristle.Batch(box, 6, device="cpu")
    b.step()
    return {**b.rollout(2), "twist": b.twist, "slip": b.slip, "status": b.status}


def test_numpy_takes_the_memory(box):
    for array in arrays(box).values():
        other = np.from_dlpack(array)
        assert np.shares_memory(other, array) and np.array_equal(other, array)


def test_jax_takes_the_arrays(box):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    for name, array in arrays(box).items():
        other = jax.dlpack.from_dlpack(array)
        assert other.dtype == array.dtype and np.array_equal(np.asarray(other), array), name
    b = bristle.Batch(box, 6, device="cpu")
    forces = jax.numpy.linspace(1, 2, 6)
    b.step({"normal_force": forces})
    assert np.array_equal(b.normal_force, np.asarray(forces))


def test_torch_takes_the_memory(box):
    torch = pytest.importorskip("torch", reason="torch is 3 GB: `pip install torch` adds it")
    for array in arrays(box).values():
        if array.dtype == np.uint32:
            continue
        other = torch.from_dlpack(array)
        other[...] = 7
        assert np.all(array == 7), "one memory"
    b = bristle.Batch(box, 6, device="cpu")
    b.step({"normal_force": torch.linspace(1, 2, 6)})
    assert np.allclose(b.normal_force, np.linspace(1, 2, 6), atol=1e-7)
