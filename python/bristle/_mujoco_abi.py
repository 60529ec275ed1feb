"""The functions of MuJoCo that the native part calls, and where the fields are that it reads.

The package ``mujoco`` describes its structs; offsets follow from C's rules of alignment. They are compared with what
its bindings say of a small model before anything is written.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib
import os
from typing import Any

import mujoco as _mujoco
import numpy as np

_FUNCTIONS = (
    "mj_step1",
    "mj_fwdActuation",
    "mj_fwdAcceleration",
    "mj_fwdConstraint",
    "mj_sensorAcc",
    "mj_checkAcc",
    "mj_compareFwdInv",
    "mj_Euler",
    "mj_implicit",
    "mj_jac",
    "mj_fullM",
    "_mjPRIVATE_setTlsLogHandler",
    "_mjPRIVATE_getGlobalLogHandler",
)
_MODEL = ("nq", "nv", "na", "nhistory", "npluginstate", "dof_damping", "D_rownnz", "D_rowadr", "D_colind")
_OPTIONS = ("timestep", "integrator", "enableflags")
_POINTERS = (
    *("qpos", "qvel", "act", "history", "plugin_state", "qacc", "qacc_warmstart", "qfrc_passive"),
    *("site_xpos", "site_xmat", "xpos", "xmat", "qDeriv", "efc_type", "efc_J", "efc_J_rownnz", "efc_J_rowadr"),
    *("efc_J_colind", "efc_D", "efc_frictionloss", "efc_force"),
)
_DATA = ("time", "flg_rnepost", "ncon", "nefc", "contact", *_POINTERS)
_SIZES = {
    **{"char": 1, "unsigned char": 1, "bool": 1, "_Bool": 1, "mjtBool": 1, "mjtByte": 1},
    **{"int": 4, "unsigned int": 4, "float": 4, "double": 8, "mjtNum": 8},
    **{"mjtSize": 8, "size_t": 8, "uint64_t": 8, "uintptr_t": 8, "int64_t": 8},
}

#: Bodies that touch, so that all that is read is there: a ball with friction loss on a plane, and one on it.
_PROBE = """<mujoco><option jacobian="{}"/><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 0.09"><joint type="slide" axis="0 0 1" damping="0.1" frictionloss="0.1"/><joint type="slide"/>
<geom size="0.1"/><site/></body><body pos="0 0 0.28"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


@functools.cache
def functions() -> dict[str, int]:
    """Addresses of the functions in the library that the bindings have loaded."""
    folder = os.path.dirname(_mujoco.__file__)
    names = [name for kind in ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll") for name in glob.glob1(folder, kind)]
    if not names:
        raise ImportError(f"no library of MuJoCo in {folder}")
    library = ctypes.CDLL(os.path.join(folder, names[0]))
    if library.mj_version() != _mujoco.mj_version() or _mujoco.mj_version() < 4_000_000:
        raise ImportError(f"bristle.mujoco needs MuJoCo 4.0 or later, not {_mujoco.mj_versionString()}")
    return {name: int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0) for name in _FUNCTIONS}


@functools.cache
def layout() -> dict[str, int]:
    """Offsets of the fields, by their names in lower case.

    Raises:
        ImportError: a library that does not have them where its package says.
    """
    model, _ = _offsets("mjModel")
    option, _ = _offsets("mjOption")
    data, _ = _offsets("mjData")
    contact, contact_size = _offsets("mjContact")
    made = {name: model[name] for name in _MODEL}
    made |= {name: model["opt"] + option[name] for name in _OPTIONS}
    made |= {name: data[name] for name in _DATA}
    made |= {"contact_size": contact_size, "contact_geom": contact["geom"], "contact_dim": contact["dim"]}
    made |= {"contact_efc": contact["efc_address"]}
    for kind in ("dense", "sparse"):
        _compare(made, kind)
    return {"q_deriv" if name == "qDeriv" else name.lower(): offset for name, offset in made.items()}


def _offsets(name: str) -> tuple[dict[str, int], int]:
    """Offsets of the fields of a struct, and its size."""
    structs: Any = importlib.import_module("mujoco.introspect.structs")
    return _laid_out(structs.STRUCTS, structs.STRUCTS[name].fields)[:2]


def _laid_out(structs: Any, fields: Any) -> tuple[dict[str, int], int, int]:
    offsets: dict[str, int] = {}
    end, largest = 0, 1
    for field in fields:
        size, alignment = _size(structs, getattr(field, "type", field))
        end = -(-end // alignment) * alignment
        offsets[getattr(field, "name", "")] = end
        end, largest = end + size, max(largest, alignment)
    return offsets, -(-end // largest) * largest, largest


def _size(structs: Any, kind: Any) -> tuple[int, int]:
    """Size and alignment of a type."""
    if hasattr(kind, "extents"):
        size, alignment = _size(structs, kind.inner_type)
        return size * int(np.prod(kind.extents)), alignment
    if hasattr(kind, "fields"):
        _, size, alignment = _laid_out(structs, kind.fields)
        return size, alignment
    if not hasattr(kind, "name"):
        return 8, 8
    name = kind.name.removeprefix("struct ")
    if name in _SIZES:
        return _SIZES[name], _SIZES[name]
    known = structs.get(name) or structs.get(name.removesuffix("_"))
    if known is not None:
        _, size, alignment = _laid_out(structs, known.fields)
        return size, alignment
    if name.startswith("mjt"):
        return 4, 4
    raise ImportError(f"MuJoCo has a type that is not known: {name}")


def _compare(offsets: dict[str, int], kind: str) -> None:
    """Compares the offsets with what the bindings say."""
    model = _mujoco.MjModel.from_xml_string(_PROBE.format(kind))
    model.opt.timestep, model.opt.integrator = 0.0123, _mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.enableflags = int(_mujoco.mjtEnableBit.mjENBL_ENERGY)
    data = _mujoco.MjData(model)
    for _ in range(3):
        _mujoco.mj_step(model, data)
    _mujoco.mj_forward(model, data)
    data.time, data.flg_rnepost = 0.321, 1

    def read(base: int, name: str, kind: Any) -> Any:
        return kind.from_address(base + offsets[name]).value

    def same(name: str, found: Any, wanted: Any) -> None:
        if found != wanted:
            raise ImportError(f"MuJoCo {_mujoco.mj_versionString()} has {name} elsewhere than its package says")

    of_model, of_data = model._address, data._address
    for name in ("nq", "nv", "na", "nhistory", "npluginstate"):
        same(name, read(of_model, name, ctypes.c_int64), getattr(model, name, 0))
    same("timestep", read(of_model, "timestep", ctypes.c_double), model.opt.timestep)
    same("integrator", read(of_model, "integrator", ctypes.c_int32), model.opt.integrator)
    same("enableflags", read(of_model, "enableflags", ctypes.c_int32), model.opt.enableflags)
    same("time", read(of_data, "time", ctypes.c_double), 0.321)
    same("flg_rnepost", read(of_data, "flg_rnepost", ctypes.c_uint8), 1)
    same("ncon", read(of_data, "ncon", ctypes.c_int32), data.ncon)
    same("nefc", read(of_data, "nefc", ctypes.c_int32), data.nefc)
    for owner, base, names in ((model, of_model, _MODEL[5:]), (data, of_data, _POINTERS)):
        for name in names:
            array = getattr(owner, name)
            if array.size > 0:
                same(name, read(base, name, ctypes.c_void_p), array.ctypes.data)
    first = read(of_data, "contact", ctypes.c_void_p)
    for i in range(data.ncon):
        at = first + i * offsets["contact_size"]
        geoms = [ctypes.c_int32.from_address(at + offsets["contact_geom"] + 4 * j).value for j in range(2)]
        same("contact.geom", geoms, data.contact[i].geom.tolist())
        same("contact.dim", ctypes.c_int32.from_address(at + offsets["contact_dim"]).value, data.contact[i].dim)
        same("contact.efc_address", read(at, "contact_efc", ctypes.c_int32), data.contact[i].efc_address)
