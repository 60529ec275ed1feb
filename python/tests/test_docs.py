"""The documents agree with the code."""

from __future__ import annotations

import importlib.util
import re

from conftest import ROOT

import bristle


def test_the_page_of_the_interface_is_that_of_the_docstrings():
    spec = importlib.util.spec_from_file_location("api_page", ROOT / "python" / "tools" / "api_page.py")
    api_page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(api_page)
    page = api_page.page()
    for name in bristle.__all__:
        assert name.startswith("__") or f"bristle.{name}`" in page, name
    assert page == api_page.PAGE.read_text(), "`python python/tools/api_page.py` writes the page anew"


def test_the_quick_start_of_the_readme_is_the_example():
    """Of the example the README leaves out how the picture is drawn."""
    readme = (ROOT / "README.md").read_text()
    quick = (ROOT / "examples" / "python" / "quick_start.py").read_text().splitlines()
    shown = re.search(r"```python\n(import bristle.*?)```", readme, re.DOTALL)[1].strip().splitlines()
    assert len(shown) <= 10
    for line in shown:
        assert line.split("  # pip")[0].strip() in [q.strip() for q in quick], line
