"""Runs the commands of docs/tutorial.md, in their order and in an empty folder, on fewer frames and contacts.

    python tutorial.py path/to/bristle

`cargo xtask datasets` runs it, with the packages of requirements.txt.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a command of the page becomes here.
SMALLER = {
    "make_frames.py frames": "make_frames.py frames 80",
    "-n 1000 ": "-n 400 ",
    "slip.toml --out runs/train": "slip.toml --out runs/train -n 1000",
}


def main(program: str) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) == 5, commands
    for whole, part in SMALLER.items():
        assert sum(whole in command for command in commands) == 1, whole
        commands = [command.replace(whole, part) for command in commands]
    shown = re.search(r"```toml\n(.*?)```", page, flags=re.DOTALL).group(1)
    assert shown in (ROOT / "examples" / "tactile_slip" / "slip.toml").read_text(), (
        "the scenario is not that of the page"
    )

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copytree(ROOT / "examples" / "tactile_slip", folder, dirs_exist_ok=True)
        path = os.pathsep.join(
            [str(Path(program).resolve().parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        )
        for command in commands:
            done = subprocess.run(
                command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{command}: {done.stderr}"
    for name in ["new contacts, frames that it has seen", "held-out frames"]:
        predictor, ratio = map(float, re.search(rf"{name} +([0-9.]+) +([0-9.]+)", done.stdout).groups())
        # A third fewer pairs in the wrong order.
        assert 1 - predictor < 0.67 * (1 - ratio), f"{name}: {predictor}, by the ratio {ratio}"
        assert predictor > 0.8, f"{name}: {predictor}"
    print("tutorial: ok")


if __name__ == "__main__":
    main(sys.argv[1])
