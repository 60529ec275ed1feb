"""The examples, at reduced size, do what they say."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

from conftest import ROOT


def example(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "python" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_quick_start(tmp_path):
    """It is run as it stands, from a folder with the scenario where it expects it, for fewer boxes."""
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "in_hand.toml").write_text((ROOT / "examples" / "in_hand.toml").read_text())
    text = (ROOT / "examples" / "python" / "quick_start.py").read_text()
    assert "nsim=200" in text
    (tmp_path / "quick.py").write_text(text.replace("nsim=200", "nsim=12"))
    environment = {**os.environ, "MPLBACKEND": "svg"}
    subprocess.run([sys.executable, "quick.py"], cwd=tmp_path, env=environment, check=True)
    assert "friction coefficient" in (tmp_path / "quick_start.svg").read_text()


def test_grip_control():
    """It holds what the grip for the mean object loses, with less force than the one that holds all."""
    found = example("grip_control").run(contacts=60, steps=300)
    assert found["controlled"][1] < 0.05 < 0.2 < found["for the mean"][1]
    assert found["for all"][1] == 0
    assert found["controlled"][0] < 0.8 * found["for all"][0]


def test_grasp_planning():
    """The grips that it finds hold, and one a little weaker does not."""
    planning = example("grasp_planning")
    found = planning.run(count=40, tries=100)
    assert found["best"] < found["median"] < found["worst"]
    import numpy as np

    import bristle

    rng = np.random.default_rng(0)
    maps, task = planning.frames(40, rng), planning.loads(100, rng)
    for grip, holds in [(1.001, True), (0.999, False)]:
        table = bristle.limit_surface(maps, 0.02, mu=0.6, f_n=grip * found["best"], at="origin")
        assert np.any(np.all(table.margin(task) >= 1, axis=1)) == holds


def test_the_page_has_the_environment_that_is_an_example():
    page = (ROOT / "docs" / "environments.md").read_text()
    shown = page.split("```python\n")[1].split("```")[0].split("class ")[1].rstrip()
    assert shown in (ROOT / "examples" / "python" / "own_environment.py").read_text()
    found = subprocess.run(
        [sys.executable, ROOT / "examples" / "python" / "own_environment.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith("100 %"), found.stdout


def test_learning_to_pivot():
    """Returns rise within a few generations; the whole example takes two minutes."""
    scores: list[float] = []
    example("learn_pivot").learn(15, 20, 8, lambda _, score, __: scores.append(score))
    assert sum(scores[-3:]) / 3 > scores[0] + 20


def test_planning_a_push():
    """Gauss-Newton steps reach the goal in a few rollouts, and derivatives mislead where the page says so."""
    import numpy as np

    planning = example("plan_push")
    planned = planning.gauss_newton(planning.PUSH, 4)
    assert planned.cost <= planning.ENOUGH and planned.linearized <= 4
    drawn = planning.cross_entropy(planning.PUSH, 1, draws=16)
    assert drawn.rollouts == 16 and drawn.cost > 10 * planned.cost
    stuck, slides = 1e3 * planning.break_away(np.array([1.58, 2.5]))
    assert stuck[1] < 0.1 < 50 < stuck[2] and abs(slides[1] - slides[2]) < 0.01 * slides[2]
    short, long = planning.long_horizon(0.5), planning.long_horizon(2.0)
    assert abs(short[1] - short[2]) < 0.02 * short[2] and long[1] > 20 * long[2]
