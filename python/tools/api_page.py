"""Writes the page of the Python interface, docs/python.md, from signatures and docstrings.

``python python/tools/api_page.py`` writes it; a test fails if it is not what this says.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import bristle
import bristle.gradients
import bristle.gym
import bristle.jax
import bristle.mujoco

#: The modules whose names stand before those of their classes.
MODULES = ("bristle.gradients", "bristle.gym", "bristle.mujoco")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"

HEAD = """# Python

`python/tools/api_page.py` writes this page from the signatures and docstrings of the package; a test compares.
`pip install .` in a clone installs the package (Rust 1.95 or later; wheels need no Rust). The
[README](../README.md#from-python) has the quick start, [scenario.md](scenario.md) the language of scenarios.
`examples/python/` has programs to start from.

All arrays are NumPy arrays, and go to `torch.from_dlpack` or `jax.dlpack.from_dlpack` without a copy. Inputs may be
arrays of any library that NumPy can read: contiguous float64 is read where it is, anything else is converted once.
`out` of `Batch.read` (float32 or float64) and of `Batch.rollout` (float64) is written in place, so that
`batch.read("pose", out={"pose": tensor.numpy()})` fills a tensor of torch on the CPU. Masked
arrays (`numpy.ma`) are accepted if none of their numbers is masked. A call releases the GIL; two batches in two
threads do not wait for each other. [gradients.md](gradients.md) is about derivatives of rollouts.

Batches, snapshots, scenarios and errors can be pickled. What `copy.copy`, `copy.deepcopy` and `pickle` make of
a batch is a second one with the same contacts, parameters and state, which goes on with the same bits. As after
`Batch.restore`, `since_slip` begins anew, and `left` is judged anew: a contact that has left by
`stop_when.slip_for` goes on in the copy.

Workers of `multiprocessing` and of PyTorch's `DataLoader` are forked children on Linux by default until
Python 3.13. A forked child may use everything that runs on the CPU, and computes on its own threads. It has the
batches and tables of the parent as they were at the fork; the parent does not see what the child does with them.
GPUs do not survive a fork: once a process has looked for a GPU (`device="gpu"` does, and `"auto"`), its children
raise `DeviceError` for batches on it, for those of the parent and for new ones. If `"auto"` found no hardware in
the parent, it takes the CPU in a child, too. Start workers that use a GPU by
`multiprocessing.get_context("spawn")` or `"forkserver"`, and a `DataLoader` with
`multiprocessing_context="spawn"`; or give them `device="cpu"`. As in any program, a child that is forked while
another thread is in a call may inherit a lock that is held.

Inside `jax.jit` a batch is stepped by a callback. It has a state, so that the callback is
`jax.experimental.io_callback` with `ordered=True` (JAX may leave out or repeat a `pure_callback`):

```python
shape = jax.ShapeDtypeStruct((batch.nsim, 3), jax.numpy.float32)

def advance(force):                     # forces (nsim,), of one pad [N]
    batch.step({"normal_force": force})
    return batch.read("pose")

pose = io_callback(advance, shape, force, ordered=True)     # in a function under jit, also in lax.scan
```

With 4096 reduced contacts a callback took 0.5 ms beside the 3.4 ms of the engine (two busy cores of an Intel Xeon).
"""


def prose(text: str) -> str:
    """A docstring as Markdown: roles and literals become code, sections bold, their entries a list, examples blocks."""
    text = inspect.cleandoc(text)
    text = re.sub(r":(?:class|meth|func|attr):`~?([^`]+)`", r"`\1`", text)
    text = text.replace("``", "`")
    out: list[str] = []
    section = code = False
    for line in text.splitlines():
        if line.startswith((">>>", "...")) != code:
            out.append("```" if code else "```python")
            code = not code
        if code:
            out.append(re.sub(r"^(>>>|\.\.\.) ?", "", line))
            continue
        heading = re.fullmatch(r"(Args|Returns|Raises|Attributes):", line)
        entry = re.match(r"    (\w[\w, ]*): (.*)", line)
        if heading:
            section = True
            out += [f"*{heading[1]}*", ""]
        elif section and entry and heading is None:
            out.append(f"- `{entry[1]}`: {entry[2]}")
        elif section and line.startswith("    "):
            out.append(("  " if out[-1].startswith(("- ", "  ")) else "") + line.strip())
        else:
            section = section and not line
            out.append(line)
    return "\n".join(out)


def signature(name: str, of: Any) -> str:
    """A call, without `self`, and with the names of types as they are written."""
    parameters = [p for p in inspect.signature(of).parameters.values() if p.name not in ("self", "cls")]
    shown = str(inspect.Signature(parameters))
    if len(name + shown) > 100:
        shown = "(\n    " + ",\n    ".join(map(str, parameters)) + ",\n)"
        if any(p.kind is p.KEYWORD_ONLY for p in parameters):
            first = next(str(p) for p in parameters if p.kind is p.KEYWORD_ONLY)
            shown = shown.replace(f"    {first},", f"    *,\n    {first},")
    # Annotations are text, whose quotes a reader does not need; neither is the value of a member of an enumeration.
    shown = re.sub(r"<([\w.]+): [^>]+>", r"\1", shown)
    shown = re.sub(r": '([^']*)'", r": \1", shown)
    back = inspect.signature(of).return_annotation
    back = "" if back in (inspect.Signature.empty, "None") else f" -> {back}"
    return f"```python\n{name}{shown}{back}\n```"


def described(cls: type) -> list[str]:
    """A class: its call, what it says, and its members in the order of the source."""
    module = next((own.removeprefix("bristle.") for own in MODULES if f"{cls.__module__}.".startswith(f"{own}.")), "")
    full = ".".join(filter(None, ("bristle", module, cls.__name__)))
    out = [f"## `{full}`", ""]
    if issubclass(cls, Exception) or hasattr(cls, "_fields") or cls.__init__ is object.__init__:
        pass
    elif cls is bristle.Batch or (module and "__init__" in vars(cls)):
        out += [signature(full, cls.__init__), ""]
    out += [prose(cls.__doc__ or ""), ""]
    for name, member in vars(cls).items():
        if (name.startswith("_") and name != "__call__") or name == "close_extras" or issubclass(cls, Exception):
            continue
        of = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(of, property):
            out += [f"**`.{name}`**: {prose(of.__doc__ or '')}", ""]
        elif inspect.isfunction(of):
            prefix = f"{cls.__name__}." if of is not member else "."
            out += [f"### `{prefix}{name}`", "", signature(f"{prefix}{name}", of), "", prose(of.__doc__ or ""), ""]
    return out


def fields(cls: Any) -> list[str]:
    """The fields of a named tuple, whose descriptions stand below them in the source."""
    source = inspect.getsource(cls)
    said = re.findall(r'^    (\w+): [\w.\[\]]+\n    """(.*?)"""', source, re.MULTILINE | re.DOTALL)
    return [f"**`.{name}`**: {' '.join(text.split()).replace('``', '`')}\n" for name, text in said]


def of_torch() -> ModuleType:
    """``bristle.torch``, whose signatures are the same without torch, which is 3 GB."""
    try:
        return importlib.import_module("bristle.torch")
    except ModuleNotFoundError:
        names = ("torch", "torch.autograd", "torch.autograd.function")
        with mock.patch.dict(sys.modules, {name: mock.MagicMock() for name in names}):
            return importlib.import_module("bristle.torch")


def page() -> str:
    """The page."""
    out = [HEAD]
    for cls in (bristle.Scenario, bristle.Batch, bristle.Response, bristle.Engine):
        out += described(cls) + (fields(cls) if hasattr(cls, "_fields") else [])
    out += [
        "## `bristle.Snapshot`",
        "",
        "What `Batch.save` returns: `len(snapshot)` contacts, saved by `snapshot.engine`.",
    ]
    out += ["`snapshot.to_bytes()` and `Snapshot.from_bytes(data)` keep it in a file of your own.", ""]
    surface = bristle.limit_surface
    out += [
        "## `bristle.limit_surface`",
        "",
        signature("bristle.limit_surface", surface),
        "",
        prose(surface.__doc__ or ""),
    ]
    out += ["", *described(bristle.Table)]
    for results in (bristle.Margins, bristle.MarginGradients, bristle.WrenchGradients, bristle.Torsion):
        out += [*described(results), *fields(results)]
    out += ["## `bristle.stability`", "", signature("bristle.stability", bristle.stability), ""]
    out += [prose(bristle.stability.__doc__ or ""), ""]
    out += [*described(bristle.Stability), *fields(bristle.Stability)]
    for function in (bristle.rollout, bristle.merge, bristle.verify, bristle.fit):
        name = f"bristle.{function.__name__}"
        out += [f"## `{name}`", "", signature(name, function), "", prose(function.__doc__ or ""), ""]
    for cls in (
        bristle.Fit,
        bristle.Parameter,
        bristle.BristleError,
        bristle.ParameterError,
        bristle.ScenarioError,
        bristle.RunError,
        bristle.DeviceError,
        bristle.OutOfMemoryError,
        bristle.BusyError,
    ):
        out += described(cls)
    out += ["# `bristle.gradients`", "", prose(bristle.gradients.__doc__ or ""), ""]
    out += described(bristle.gradients.RolloutFunction)
    for package in (of_torch(), bristle.jax):
        name = f"{package.__name__}.rollout"
        out += [f"# `{package.__name__}`", "", prose(package.__doc__ or ""), ""]
        out += [f"## `{name}`", "", signature(name, package.rollout), "", prose(package.rollout.__doc__ or ""), ""]
    for package in (bristle.gym, bristle.mujoco):
        out += [f"# `{package.__name__}`", "", prose(package.__doc__ or ""), ""]
        for name, cls in vars(package).items():
            own = inspect.isclass(cls) and f"{cls.__module__}.".startswith(f"{package.__name__}.")
            if own and not name.startswith("_"):
                out += described(cls)
    text = "\n".join(out)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
