"""Rollouts as functions of parameters: of NumPy, torch and JAX, against differences and their own checks."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from test_sensitivities import TABLE, batch

import bristle
from bristle.gradients import RolloutFunction

NAMES = ["friction.mu_c", "body.mass", "inputs.wrench.fy[2:4]", "inputs.wrench.fy[4:6]"]
#: Changes of these parameters that mean about as much.
SIZES = np.array([0.1, 0.1, 1.0, 1.0])
CONTROL = {"wrench.fy": 0.5}
RECORD = ("pose", "twist", "wrench")


def rolled(nsim: int = 2, **arguments) -> RolloutFunction:
    return RolloutFunction(batch(TABLE, nsim), 8, NAMES, CONTROL, **arguments)


def test_the_derivatives_are_those_of_the_function():
    function = rolled(record=RECORD, every=4)
    x = function.start()
    assert np.array_equal(x[:, 0], function.batch.parameter("friction.mu_c"))
    assert np.array_equal(x[:, 2:], np.full((2, 2), 0.5))
    values, slopes = function.linearize(x)
    assert {name: array.shape for name, array in values.items()} == function.shapes
    assert all(np.array_equal(values[name], array) for name, array in function(x).items())
    fast = function(x, solved=False)
    for name, array in values.items():
        # The wrench under the inputs before the first interval is another one.
        assert np.allclose(fast[name][:, 1:], array[:, 1:], rtol=0, atol=2e-3 * np.abs(array).max()), name
        assert not np.array_equal(fast[name], array)
    for j, size in enumerate(SIZES):
        step = np.zeros(4)
        step[j] = 1e-4 * size
        for name in RECORD:
            high, low = (function(x + sign * step)[name] for sign in (1, -1))
            wanted = (high - low) / (2 * step[j])
            found = slopes[name][..., j]
            assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max()), (NAMES[j], name)


def test_one_row_for_all_contacts_and_a_batch_that_was_stepped():
    function = rolled()
    row = function.start()[0]
    function.batch.step()
    assert np.array_equal(function(row)["pose"], function(np.tile(row, (2, 1)))["pose"])
    assert np.all(function.batch.parameter("friction.mu_c") == row[0])


def test_threads_wait_for_each_other():
    function = rolled()
    xs = [function.start() + 0.01 * k for k in range(4)]
    wanted = [function(x)["pose"] for x in xs]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: function(xs[k])["pose"]})) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(found[k], wanted[k]) for k in range(4))


@pytest.mark.parametrize(
    ("names", "control", "words"),
    [
        (["inputs.wrench.fx[1]"], None, "values of wrench.fx in the intervals that are no parameters"),
        (["inputs.wrench.fx[:5]", "inputs.wrench.fx[4:]"], None, "do not overlap"),
        (["friction.mu_c", "body.mass", "friction.mu_c"], None, "friction.mu_c twice: expected each number once"),
        (["friction.mu_s"], None, "not one that follows from others"),
        (["patch.scale"], None, "a number that the contacts are drawn with|one of"),
        (["friction.mu"], None, "parameters = 'friction.mu': expected one of .*; did you mean 'friction.mu_s'"),
    ],
)
def test_what_is_refused(names, control, words):
    with pytest.raises(bristle.ParameterError, match=words):
        RolloutFunction(batch(TABLE, 2), 8, names, control)


def test_values_out_of_range_are_refused():
    function = rolled()
    with pytest.raises(bristle.ParameterError, match=r"shape \(2, 4\) or \(4,\)"):
        function(np.ones(3))
    with pytest.raises(bristle.ScenarioError, match=r"friction.mu_c"):
        function([-1, 0.5, 0, 0])
    with pytest.raises(bristle.ParameterError, match="record"):
        rolled(record=["slip"])
    with pytest.raises(bristle.ParameterError, match="every = 3: expected a divisor of nstep = 8"):
        rolled(every=3)
    with pytest.raises(bristle.ParameterError, match="solved = 'no': expected True or False"):
        function(function.start(), solved="no")
    for arguments, field in [((3, 8), "batch"), ((function.batch, 2.0), "nstep")]:
        with pytest.raises(bristle.ParameterError) as raised:
            RolloutFunction(*arguments, ["friction.mu_c"])
        assert raised.value.field == field
    frames = batch(TABLE, 2, frames=True)
    with pytest.raises(bristle.ParameterError, match="control = 'pressure'"):
        RolloutFunction(frames, 8, ["friction.mu_c"], {"pressure": np.ones((6, 6))})


@pytest.mark.parametrize("is_started", [False, True])
@pytest.mark.parametrize(
    ("wrong", "match"),
    [([-1, 0.5, 0, 0], "friction.mu_c"), ([0.3, 0.6, 1e300, 0], "inputs.wrench.fy"), ([0.3, 0.6, 0, np.nan], "fy")],
)
def test_a_refused_call_changes_nothing(is_started, wrong, match):
    function, other = rolled(), rolled()
    x = function.start()
    if is_started:
        for one in (function, other):
            one(x + 0.01)
    for call in (function, function.linearize):
        with pytest.raises(bristle.BristleError, match=match):
            call(wrong)
    assert np.array_equal(function.start(), other.start())
    assert np.array_equal(function.batch.parameter("friction.mu_c"), other.batch.parameter("friction.mu_c"))
    assert function.batch._core.started() == other.batch._core.started() == is_started
    assert function.batch.save().to_bytes() == other.batch.save().to_bytes()
    function.batch.reset()
    assert np.array_equal(function(x)["pose"], other(x)["pose"])


def test_a_control_is_that_at_the_start():
    """Whoever gave it may write to it."""
    given = np.full((2, 8), 0.5)
    function = RolloutFunction(batch(TABLE, 2), 8, NAMES[:2], {"wrench.fy": given})
    wanted = function(function.start())["pose"]
    given[:] = 3.0
    assert np.array_equal(function(function.start())["pose"], wanted)


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


def test_jax_checks_the_derivatives_in_both_modes(jax):
    from jax.test_util import check_grads

    import bristle.jax

    run = bristle.jax.rollout(batch(TABLE, 2), 8, NAMES, CONTROL, RECORD)
    x = rolled().start() / SIZES
    unit = {"pose": 1e-3, "twist": 0.1, "wrench": 1.0}

    def scaled(x):
        return {name: array / unit[name] for name, array in run(x * SIZES).items()}

    check_grads(scaled, (x,), order=1, modes=["fwd", "rev"], atol=2e-4, rtol=2e-4, eps=1e-4)
    shared = x[0]
    check_grads(scaled, (shared,), order=1, modes=["fwd", "rev"], atol=2e-4, rtol=2e-4, eps=1e-4)


def test_jax_compiles_maps_and_turns_the_function(jax):
    import bristle.jax

    function = rolled()
    run = bristle.jax.rollout(batch(TABLE, 2), 8, NAMES, CONTROL)
    x = function.start()
    values, slopes = function.linearize(x)
    assert np.array_equal(jax.jit(run)(x)["pose"], values["pose"])
    whole = jax.jacfwd(lambda x: run(x)["pose"])(x)
    turned = jax.jit(jax.jacrev(lambda x: run(x)["pose"][:, -1]))(x)
    for k in range(2):
        assert np.allclose(whole[k, :, :, k], slopes["pose"][k], rtol=1e-12)
        assert np.allclose(turned[k, :, k], slopes["pose"][k, -1], rtol=1e-12)
        assert np.all(whole[k, :, :, 1 - k] == 0), "no contact depends on another"
    many = np.stack([x, x + 0.01])
    mapped = jax.vmap(lambda x: run(x)["pose"])(many)
    assert np.array_equal(mapped[1], function(many[1])["pose"])
    single = run(x.astype(np.float32))["pose"]
    assert single.dtype == np.float32 and np.allclose(single, values["pose"], atol=1e-5)
    with pytest.raises(bristle.ParameterError, match=r"shape \(2, 4\)"):
        run(np.ones(3))
    with pytest.raises(Exception, match=r"friction.mu_c"):
        run(-x)["pose"].block_until_ready()


@pytest.fixture
def torch():
    """torch, which is 3 GB and not installed by ``cargo xtask test``."""
    return pytest.importorskip("torch", reason="torch is 3 GB: `pip install torch` adds it")


def test_torch_checks_the_derivatives_in_both_modes(torch):
    import bristle.torch

    run = bristle.torch.rollout(batch(TABLE, 2), 8, NAMES, CONTROL, RECORD)
    sizes = torch.from_numpy(SIZES)
    unit = {"pose": 1e-3, "twist": 0.1, "wrench": 1.0}

    def scaled(x):
        return tuple(array / unit[name] for name, array in run(x * sizes).items())

    x = torch.from_numpy(rolled().start() / SIZES).requires_grad_()
    assert torch.autograd.gradcheck(scaled, (x,), eps=1e-4, atol=2e-4, rtol=2e-4, check_forward_ad=True)
    shared = x.detach()[0].requires_grad_()
    assert torch.autograd.gradcheck(scaled, (shared,), eps=1e-4, atol=2e-4, rtol=2e-4)


def test_torch_has_the_numbers_of_the_function(torch):
    import bristle.torch

    function = rolled()
    run = bristle.torch.rollout(batch(TABLE, 2), 8, NAMES, CONTROL)
    x = torch.from_numpy(function.start()).requires_grad_()
    values, slopes = function.linearize(x.detach().numpy())
    out = run(x)["pose"]
    assert np.array_equal(out.detach().numpy(), values["pose"])
    out[0, -1, 1].backward()
    assert np.allclose(x.grad[0], slopes["pose"][0, -1, 1], rtol=1e-12) and torch.all(x.grad[1] == 0)
    single = run(x.detach().float())["pose"]
    assert single.dtype == torch.float32 and not single.requires_grad
    with pytest.raises(bristle.ParameterError, match=r"shape \(2, 4\)"):
        run(torch.ones(3))


def test_the_modules_need_nothing_until_they_are_imported():
    import subprocess

    code = "import sys, bristle, bristle.gradients; sys.exit('torch' in sys.modules or 'jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
