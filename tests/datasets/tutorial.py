"""Runs the commands of docs/tutorial.md, in their order and in an empty folder, and compares what they print.

    python tutorial.py path/to/bristle

`cargo xtask datasets` runs it, with the packages of requirements.txt.
"""

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"[0-9]+(?:\.[0-9]+)?"
# Another processor rounds otherwise.
TOLERANCE = 0.01


def main(program: str) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) == 5, commands
    told = re.search(r"```text\n(.*?)```", page, flags=re.DOTALL).group(1)
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
    assert re.sub(NUMBER, "", told) == re.sub(NUMBER, "", done.stdout), f"other words than the page has: {done.stdout}"
    both = zip(re.findall(NUMBER, told), re.findall(NUMBER, done.stdout), strict=True)
    for of_page, printed in both:
        is_close = math.isclose(float(of_page), float(printed), rel_tol=TOLERANCE)
        assert is_close, f"{printed}, and the page says {of_page}: {done.stdout}"
    print("tutorial: ok")


if __name__ == "__main__":
    main(sys.argv[1])
