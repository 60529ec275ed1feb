//! The class `Core` of Python, on which `bristle.Batch` is built. `bristle.Batch` has checked shapes and
//! types of arrays.

use std::time::Instant;

use bristle::batch::Sample;
use bristle::error::ParameterError;
use bristle::{Batch, EngineError, Frame, Snapshot, Twist};
use numpy::{
    PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
    PyReadwriteArray1, PyReadwriteArray2, PyReadwriteArray3, PyReadwriteArray4, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::batch::{Contacts, Restart, Shared};
use crate::draw::Origin;
use crate::drive::{Control, Frames, Told};
use crate::errors::Failure;
use crate::observe::Numbers;
use crate::scenario::PyScenario;
use crate::sensitivity::{self, Asked, Named};

/// Arrays of expanded parameters by name.
type Expanded<'py> = Vec<(String, PyReadonlyArray1<'py, f64>)>;
/// Arrays [contacts or 1, intervals or 1] by the names of inputs.
type Controls<'py> = Vec<(String, PyReadonlyArray2<'py, f64>)>;
/// Pressure maps [contacts or 1, intervals or 1, cells].
type Maps<'py> = Option<PyReadonlyArray3<'py, f64>>;

/// Names of parameters, arrays [contacts, samples, 3, parameters] by the names of quantities, and an array
/// [contacts] for numbers of stages that have not been solved.
type Slopes<'py> = (Vec<Named>, Vec<(String, PyReadwriteArray4<'py, f64>)>, PyReadwriteArray1<'py, f64>);

/// Quantities of a sample, by name, and how many numbers each has.
pub const QUANTITIES: [(&str, usize); 7] =
    [("pose", 3), ("twist", 3), ("wrench", 3), ("slip", 1), ("near_limit", 1), ("normal_force", 1), ("time", 1)];

/// The place of the time among them.
const TIME: usize = QUANTITIES.len() - 1;

fn quantity(name: &str) -> Result<(usize, usize), Failure> {
    let found = QUANTITIES.iter().position(|(other, _)| *other == name).map(|q| (q, QUANTITIES[q].1));
    let accepted = || QUANTITIES.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| ParameterError::new("record", name, format!("one of {}", accepted())).into())
}

/// Writes quantity `q` of a sample.
pub fn write(q: usize, sample: &Sample, time: f64, to: &mut [f64]) {
    match q {
        0 => to.copy_from_slice(&sample.pose.to_array()),
        1 => to.copy_from_slice(&sample.twist.to_array()),
        2 => to.copy_from_slice(&sample.wrench.to_array()),
        3 => to[0] = sample.slip,
        4 => to[0] = sample.near_limit,
        5 => to[0] = sample.normal_force,
        TIME => to[0] = time,
        _ => unreachable!("there are as many quantities as names"),
    }
}

/// The numbers of an array that has been checked to be contiguous.
fn slice<'a, T: numpy::Element, D: numpy::ndarray::Dimension>(
    array: &'a numpy::PyReadonlyArray<'_, T, D>,
) -> Result<&'a [T], Failure> {
    Ok(array.as_slice().map_err(PyErr::from)?)
}

fn pairs<'a>(expanded: &'a Expanded<'_>) -> Result<Vec<(String, &'a [f64])>, Failure> {
    expanded.iter().map(|(name, values)| Ok((name.clone(), slice(values)?))).collect()
}

/// A control as Python gives it: name, numbers, rows and columns.
type Given<'a> = (&'a str, &'a [f64], usize, usize);

fn given<'a>(controls: &'a Controls<'_>) -> Result<Vec<Given<'a>>, Failure> {
    let one = |(name, array): &'a (String, PyReadonlyArray2<'_, f64>)| {
        let [rows, columns] = *array.shape() else { unreachable!("it has two axes") };
        Ok((name.as_str(), slice(array)?, rows, columns))
    };
    controls.iter().map(one).collect()
}

fn frames<'a>(maps: &'a Maps<'_>) -> Result<Option<Frames<'a>>, Failure> {
    let frames = |array: &'a PyReadonlyArray3<'_, f64>| {
        let [rows, columns, cells] = *array.shape() else { unreachable!("it has three axes") };
        Ok(Frames { values: slice(array)?, rows, columns, cells })
    };
    maps.as_ref().map(frames).transpose()
}

/// What these contacts are told.
fn told<'a>(contacts: &Contacts, given: &[Given<'a>], frames: Option<Frames<'a>>) -> Result<Told<'a>, Failure> {
    let one = |&(name, values, rows, columns): &Given<'a>| {
        Ok::<_, Failure>(Control { input: contacts.input(name)?, values, rows, columns })
    };
    Ok(Told { controls: given.iter().map(one).collect::<Result<_, _>>()?, frames })
}

/// Contacts of a scenario on an engine.
#[pyclass(frozen, module = "bristle._bristle")]
pub struct Core(pub(crate) Shared);

#[pymethods]
impl Core {
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &PyScenario,
        nsim: usize,
        device: &str,
        seed: u64,
        frames: bool,
    ) -> Result<Self, Failure> {
        let scenario = scenario.0.clone();
        py.detach(|| Ok(Self(Shared::new(Contacts::new(scenario, nsim, device, seed, frames)?))))
    }

    /// Engine, precision, adapter and driver.
    fn engine(&self) -> Result<(&'static str, &'static str, String, String), Failure> {
        let info = self.0.lock()?.info();
        Ok((info.engine, info.precision, info.adapter, info.driver))
    }

    /// Columns and rows of the grid of contact 0.
    fn cells(&self) -> Result<[usize; 2], Failure> {
        Ok(self.0.lock()?.cells())
    }

    /// Number of patches of contact 0, if it has several; else 0.
    fn patches(&self) -> Result<usize, Failure> {
        Ok(self.0.lock()?.patches())
    }

    /// Width and height of the patch of contact 0 [m].
    fn extent(&self) -> Result<[f64; 2], Failure> {
        let contacts = self.0.lock()?;
        let grid = contacts.contacts()[0].patch.grid();
        Ok([grid.nx as f64 * grid.dx, grid.ny as f64 * grid.dy])
    }

    /// Whether the patches are fixed in a gripper.
    fn in_gripper(&self) -> Result<bool, Failure> {
        let contacts = self.0.lock()?;
        Ok(contacts.contacts()[0].body.free().is_some_and(|body| body.frame == Frame::Gripper))
    }

    /// Whether the contacts are on their engine.
    fn started(&self) -> Result<bool, Failure> {
        Ok(self.0.lock()?.is_started())
    }

    /// Seconds in the engine.
    fn busy(&self) -> Result<f64, Failure> {
        Ok(self.0.lock()?.busy.as_secs_f64())
    }

    /// A parameter of contacts, of all without `ids`.
    #[pyo3(signature = (name, ids=None))]
    fn parameter<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        ids: Option<PyReadonlyArray1<'_, usize>>,
    ) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
        let ids = ids.as_ref().map(slice).transpose()?;
        let values = py.detach(|| {
            let mut contacts = self.0.lock()?;
            let all = contacts.parameter(name)?;
            Ok::<_, Failure>(ids.map_or_else(|| all.to_vec(), |ids| ids.iter().map(|k| all[*k]).collect()))
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// A parameter that may be changed.
    fn expand<'py>(&self, py: Python<'py>, name: &str) -> Result<Bound<'py, PyArray1<f64>>, Failure> {
        let values = py.detach(|| self.0.lock()?.expand(name))?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// Puts the contacts on their engine, if they are not there.
    fn start(&self, py: Python<'_>, expanded: Expanded<'_>) -> Result<(), Failure> {
        let expanded = pairs(&expanded)?;
        py.detach(|| self.0.lock()?.start(&expanded))
    }

    /// Puts contacts back to their start: drawn anew from a seed or one for each, and with given numbers.
    fn reset(
        &self,
        py: Python<'_>,
        ids: Option<PyReadonlyArray1<'_, usize>>,
        seeds: Option<PyReadonlyArray1<'_, u64>>,
        given: Expanded<'_>,
        expanded: Expanded<'_>,
    ) -> Result<(), Failure> {
        let (ids, seeds) = (ids.as_ref().map(slice).transpose()?, seeds.as_ref().map(slice).transpose()?);
        let (given, expanded) = (pairs(&given)?, pairs(&expanded)?);
        py.detach(|| {
            self.0.call(|contacts| {
                let all = if ids.is_none() { contacts.all.clone() } else { Vec::new() };
                let given = given.iter().map(|(name, values)| (name.as_str(), *values)).collect();
                contacts.reset(&Restart { list: ids.unwrap_or(&all), seeds, given, expanded: &expanded })
            })
        })
    }

    /// Sets inputs and maps of contacts, and lets `dt` pass for them.
    fn step(
        &self,
        py: Python<'_>,
        dt: f64,
        controls: Controls<'_>,
        maps: Maps<'_>,
        ids: Option<PyReadonlyArray1<'_, usize>>,
    ) -> Result<(), Failure> {
        let (given, frames) = (given(&controls)?, frames(&maps)?);
        let ids = ids.as_ref().map(slice).transpose()?;
        py.detach(|| {
            self.0.call(|contacts| {
                let began = Instant::now();
                let told = told(contacts, &given, frames)?;
                // A contact that is named twice advances once.
                let moved = ids.map(|ids| {
                    let mut moved = ids.to_vec();
                    moved.sort_unstable();
                    moved.dedup();
                    moved
                });
                let all = contacts.all.clone();
                let (named, moved) = (ids.unwrap_or(&all), moved.as_deref().unwrap_or(&all));
                told.check(contacts.batch()?, named, dt, 1)?;
                let done = contacts.step(&told, [named, moved], dt, 0);
                contacts.busy += began.elapsed();
                done
            })
        })
    }

    /// Lets `nstep` times `dt` pass for all contacts under inputs over time, and writes samples to arrays
    /// [contacts, samples, numbers] by the names of quantities. With `sensitivities` the samples are those of
    /// solved stages, and their derivatives are written, too.
    #[allow(clippy::too_many_arguments, reason = "Python calls it by names")]
    fn rollout(
        &self,
        py: Python<'_>,
        dt: f64,
        nstep: usize,
        every: usize,
        controls: Controls<'_>,
        maps: Maps<'_>,
        out: Vec<(String, PyReadwriteArray3<'_, f64>)>,
        progress: Option<Py<PyAny>>,
        sensitivities: Option<Slopes<'_>>,
    ) -> Result<(), Failure> {
        let (given, frames) = (given(&controls)?, frames(&maps)?);
        let (mut out, mut sensitivities) = (out, sensitivities);
        let mut rows = Vec::new();
        for (name, array) in &mut out {
            let (q, width) = quantity(name)?;
            rows.push((q, width, array.as_slice_mut().map_err(PyErr::from)?));
        }
        let mut slopes = None;
        if let Some((names, arrays, unconverged)) = &mut sensitivities {
            let mut all = Vec::new();
            for (name, array) in arrays {
                all.push((quantity(name)?.0, array.as_slice_mut().map_err(PyErr::from)?));
            }
            slopes = Some((&*names, all, unconverged.as_slice_mut().map_err(PyErr::from)?));
        }
        let tell = |done: usize| -> Result<(), Failure> {
            let tell = |progress: &Py<PyAny>| Python::attach(|py| progress.call1(py, (done, nstep)).map(|_| ()));
            Ok(progress.as_ref().map_or(Ok(()), tell)?)
        };
        py.detach(|| {
            self.0.call(|contacts| {
                let told = told(contacts, &given, frames)?;
                let all = contacts.all.clone();
                told.check(contacts.batch()?, &all, dt, nstep)?;
                let Some((names, slopes, unconverged)) = &mut slopes else {
                    return crate::rollout::pass(contacts, &told, (dt, nstep, every), &mut rows, &tell);
                };
                let found = sensitivity::run(contacts, &told, &Asked { names, dt, nstep, every })?;
                crate::rollout::pass(contacts, &told, (dt, nstep, every), &mut [], &tell)?;
                found.write(&mut rows);
                slopes.iter_mut().for_each(|(q, out)| found.write_slopes(*q, out));
                unconverged.iter_mut().zip(found.unconverged()).for_each(|(out, count)| *out = count);
                Ok(())
            })
        })
    }

    /// The present numbers of a quantity [contacts, numbers].
    fn read<'py>(&self, py: Python<'py>, name: &str) -> Result<Bound<'py, PyArray2<f64>>, Failure> {
        let (q, width) = quantity(name)?;
        let (n, values) = py.detach(|| {
            self.0.call(|contacts| {
                let n = contacts.len();
                let mut values = vec![0.0; n * width];
                record(contacts, &mut [(q, width, &mut values)], 0, 1)?;
                Ok::<_, Failure>((n, values))
            })
        })?;
        Ok(PyArray1::from_vec(py, values).reshape([n, width])?)
    }

    /// Writes quantities of contacts to arrays [contacts, numbers] in single or double precision, by name.
    fn observe(
        &self,
        py: Python<'_>,
        ids: Option<PyReadonlyArray1<'_, usize>>,
        arrays: Vec<(String, Bound<'_, PyAny>)>,
    ) -> Result<(), Failure> {
        let ids = ids.as_ref().map(slice).transpose()?;
        let mut singles: Vec<(usize, PyReadwriteArray2<'_, f32>)> = Vec::new();
        let mut doubles: Vec<(usize, PyReadwriteArray2<'_, f64>)> = Vec::new();
        for (i, (_, array)) in arrays.iter().enumerate() {
            match array.extract() {
                Ok(single) => singles.push((i, single)),
                Err(_) => doubles.push((i, array.extract()?)),
            }
        }
        let mut rows = Vec::new();
        for (i, array) in &mut singles {
            rows.push((arrays[*i].0.as_str(), Numbers::Single(array.as_slice_mut().map_err(PyErr::from)?)));
        }
        for (i, array) in &mut doubles {
            rows.push((arrays[*i].0.as_str(), Numbers::Double(array.as_slice_mut().map_err(PyErr::from)?)));
        }
        py.detach(|| {
            self.0.call(|contacts| {
                let all = if ids.is_none() { contacts.all.clone() } else { Vec::new() };
                contacts.observe(ids.unwrap_or(&all), rows)
            })
        })
    }

    /// Which contacts have left.
    fn left<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyArray1<bool>>, Failure> {
        let contacts = self.0.lock()?;
        let left = |k: &usize| contacts.watch.as_ref().is_some_and(|watch| watch.has_left(*k));
        Ok(PyArray1::from_iter(py, contacts.all.iter().map(left)))
    }

    /// Status words and numbers of steps.
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn status<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>), Failure> {
        let (words, steps): (Vec<u32>, Vec<u64>) = py.detach(|| {
            self.0.call(|contacts| {
                contacts.read(|batch| Ok(batch.statuses()?.iter().map(|s| (s.word(), s.steps)).unzip()))
            })
        })?;
        Ok((PyArray1::from_vec(py, words), PyArray1::from_vec(py, steps)))
    }

    /// Bristles of a contact [bristles, 2].
    fn bristles<'py>(&self, py: Python<'py>, contact: usize) -> Result<Bound<'py, PyArray2<f64>>, Failure> {
        let pairs = py.detach(|| self.0.call(|contacts| contacts.read(|batch| batch.bristles(contact))))?;
        let n = pairs.len();
        Ok(PyArray1::from_vec(py, pairs.into_flattened()).reshape([n, 2])?)
    }

    /// What friction would answer to twists [contacts, 3] over `dt`: wrenches [contacts, 3] and their
    /// derivatives [contacts, 3, 3]; NaN for a contact that has failed.
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn respond<'py>(
        &self,
        py: Python<'py>,
        twists: PyReadonlyArray2<'py, f64>,
        dt: f64,
    ) -> Result<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray3<f64>>), Failure> {
        let twists = slice(&twists)?;
        let (wrenches, gains) =
            py.detach(|| self.0.call(|contacts| contacts.read(|batch| responses(batch, twists, dt))))?;
        let n = wrenches.len() / 3;
        let gains = PyArray1::from_vec(py, gains).reshape([n, 3, 3])?;
        Ok((PyArray1::from_vec(py, wrenches).reshape([n, 3])?, gains))
    }

    /// The state of all contacts.
    fn save(&self, py: Python<'_>) -> Result<PySnapshot, Failure> {
        py.detach(|| Ok(PySnapshot(self.0.call(|contacts| contacts.read(Batch::save))?)))
    }

    /// Puts all contacts to a saved state.
    fn restore(&self, py: Python<'_>, snapshot: &PySnapshot) -> Result<(), Failure> {
        py.detach(|| {
            self.0.call(|contacts| {
                contacts.read(|batch| batch.restore(&snapshot.0))?;
                contacts.look_anew()
            })
        })
    }

    /// Gives the state of a contact to others.
    fn copy(&self, py: Python<'_>, source: usize, targets: PyReadonlyArray1<'_, usize>) -> Result<(), Failure> {
        let targets = slice(&targets)?;
        py.detach(|| {
            self.0.call(|contacts| {
                contacts.read(|batch| batch.copy(source, targets))?;
                contacts.watch.iter_mut().for_each(|watch| watch.copy(source, targets));
                if let Some(slid) = contacts.slid.get(source).copied() {
                    targets.iter().for_each(|k| contacts.slid[*k] = slid);
                }
                Ok(())
            })
        })
    }

    /// From what the contacts are drawn: seeds, and given numbers.
    #[allow(clippy::type_complexity, reason = "two lists")]
    fn origins(&self) -> Result<(Vec<u64>, Vec<Vec<(String, f64)>>), Failure> {
        Ok(self.0.lock()?.origins().iter().map(|o| (o.seed, o.given.clone())).unzip())
    }

    /// Draws the contacts from other origins, before they are started.
    fn set_origins(&self, py: Python<'_>, seeds: Vec<u64>, given: Vec<Vec<(String, f64)>>) -> Result<(), Failure> {
        let origins = seeds.into_iter().zip(given).map(|(seed, given)| Origin { seed, given }).collect();
        py.detach(|| self.0.lock()?.set_origins(origins))
    }
}

/// What friction would answer to twists [contacts, 3] over `dt`; NaN for contacts that have failed.
fn responses(batch: &mut Batch, twists: &[f64], dt: f64) -> Result<(Vec<f64>, Vec<f64>), EngineError> {
    // Those of contacts that are not asked are refused, too.
    if let Some((k, v)) = twists.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        let name = ["twist.vx", "twist.vy", "twist.w"][k % 3];
        return Err(EngineError::Parameter { contact: k / 3, error: ParameterError::new(name, v, "a finite number") });
    }
    let failed: Vec<bool> = batch.statuses()?.iter().map(|s| s.failure.is_some()).collect();
    let (mut wrenches, mut gains) = (vec![f64::NAN; 3 * failed.len()], vec![f64::NAN; 9 * failed.len()]);
    for k in (0..failed.len()).filter(|k| !failed[*k]) {
        let twist = Twist::new(twists[3 * k], twists[3 * k + 1], twists[3 * k + 2]);
        let response = batch.respond(k, twist, dt)?;
        wrenches[3 * k..][..3].copy_from_slice(&response.wrench.to_array());
        gains[9 * k..][..9].copy_from_slice(response.gain.as_flattened());
    }
    Ok((wrenches, gains))
}

/// Writes sample `at` of `samples` of all contacts to rows of arrays.
pub fn record(
    contacts: &mut Contacts,
    rows: &mut [(usize, usize, &mut [f64])],
    at: usize,
    samples: usize,
) -> Result<(), Failure> {
    let began = Instant::now();
    let times: Vec<f64> = if rows.iter().any(|(q, ..)| *q == TIME) {
        (0..contacts.len()).map(|k| contacts.time(k)).collect()
    } else {
        Vec::new()
    };
    contacts.see()?;
    let all = contacts.batch()?.samples()?;
    for (q, width, out) in rows {
        for (k, sample) in all.iter().enumerate() {
            let time = times.get(k).copied().unwrap_or_default();
            write(*q, sample, time, &mut out[(k * samples + at) * *width..][..*width]);
        }
    }
    contacts.pace.note(0.0, began.elapsed());
    contacts.busy += began.elapsed();
    contacts.pace.ask()
}

/// Everything that the contacts of a batch take along: states, bristles, times and inputs.
#[pyclass(frozen, name = "Snapshot", module = "bristle._bristle")]
pub struct PySnapshot(pub Snapshot);

#[pymethods]
impl PySnapshot {
    /// The snapshot of `to_bytes`.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> Result<Self, Failure> {
        py.detach(|| Ok(Self(Snapshot::from_bytes(data)?)))
    }

    /// The snapshot as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyBytes>, Failure> {
        let bytes = py.detach(|| self.0.to_bytes())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The engine that saved it.
    #[getter]
    fn engine(&self) -> &str {
        self.0.engine()
    }

    /// Number of contacts.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// For pickle and copy.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,)), Failure> {
        Ok((PyType::new::<Self>(py).getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}
