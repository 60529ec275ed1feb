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


def test_jax_steps_a_batch_in_a_compiled_loop(box):
    """A scan that reads poses and sets forces, call by call as without JAX."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    from jax.experimental import io_callback

    batch, alone = (bristle.Batch(box, 6, device="cpu") for _ in range(2))
    shape = jax.ShapeDtypeStruct((6, 3), np.float64)

    def advance(force):
        batch.step({"normal_force": force})
        return batch.read("pose", dtype=np.float64)

    def one(force, _):
        pose = io_callback(advance, shape, force, ordered=True)
        return force + pose[:, 1], pose

    forces, poses = jax.jit(lambda force: jax.lax.scan(one, force, None, length=5))(np.full(6, 2.0))
    force = np.full(6, 2.0)
    for step in range(5):
        alone.step({"normal_force": force})
        assert np.array_equal(np.asarray(poses[step]), alone.pose)
        force = force + alone.pose[:, 1]
    assert np.array_equal(np.asarray(forces), force)


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
