//! Scenarios from text, files and dictionaries.

use std::path::PathBuf;
use std::sync::Arc;

use bristle::{Contact, Input, ParameterError};
use bristle_scenario::{ModelName, Precision, Scenario, change, in_columns};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors::Failure;
use crate::memory::{check, product};

/// A checked scenario.
#[pyclass(frozen, name = "Scenario", module = "bristle._bristle")]
pub struct PyScenario(pub Arc<Scenario>);

#[pymethods]
impl PyScenario {
    /// A scenario from its text, with changes applied.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, base: PathBuf, name: &str, changes: Vec<String>) -> Result<Self, Failure> {
        py.detach(|| {
            let text = changes.iter().try_fold(text.to_owned(), |text, c| change(&text, c))?;
            Ok(Self(Arc::new(Scenario::parse(&text, &base, name)?)))
        })
    }

    /// A scenario from a file, with changes applied.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, changes: Vec<String>) -> Result<Self, Failure> {
        py.detach(|| Ok(Self(Arc::new(Scenario::load(&path, &changes)?))))
    }

    /// The text, with every change in it.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// What errors call the text.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// How many contacts it asks for.
    #[getter]
    fn contacts(&self) -> u64 {
        self.0.contacts()
    }

    /// Its seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.spec().seed
    }

    /// Simulated time of a run [s].
    #[getter]
    fn duration(&self) -> f64 {
        self.0.spec().duration
    }

    /// Precision of bristles on the CPU.
    #[getter]
    fn precision(&self) -> &'static str {
        match self.0.spec().precision {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }

    /// What `patch.clip` has changed: readings below zero, of how many, and the lowest.
    #[getter]
    fn clipped(&self) -> Option<(u64, u64, f64)> {
        self.0.clipped().map(|clipped| (clipped.readings, clipped.of, clipped.lowest))
    }

    /// Digests of the maps and of the table, if it has read files.
    #[getter]
    fn maps(&self) -> Option<[u64; 2]> {
        self.0.files().next().map(|_| self.0.maps())
    }

    /// Whether its contacts are points.
    #[getter]
    fn is_point(&self) -> bool {
        self.0.spec().contact.model == ModelName::Point
    }

    /// Names of the inputs that its contacts take.
    fn inputs(&self) -> Vec<&'static str> {
        let contact = &self.0.first().contact;
        Input::all().filter(|input| takes(contact, *input)).map(name_of).collect()
    }

    /// Names and values of the numbers that contact `k` of a seed is drawn with.
    fn parameters(&self, k: u64, seed: u64) -> Result<Vec<(String, f64)>, Failure> {
        Ok(self.0.variant_parameters(k, seed, &[])?)
    }

    /// The same of contacts 0 to n: arrays by name, NaN where a contact has no such number.
    fn draw<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> Result<Bound<'py, PyDict>, Failure> {
        let arrays = py.detach(|| {
            // A number, its name, and its place in an array.
            let each = 80 * self.0.first().parameters.len() + 24;
            check(|| format!("the parameters of {n} contacts"), product([n, each]))?;
            Ok::<_, Failure>(in_columns(0..n as u64, |k| self.0.variant_parameters(k, seed, &[]))?)
        })?;
        let out = PyDict::new(py);
        for (name, values) in arrays {
            out.set_item(name, PyArray1::from_vec(py, values).to_dyn())?;
        }
        Ok(out)
    }
}

/// Whether such contacts take an input.
pub fn takes(contact: &Contact, input: Input) -> bool {
    let Contact { body, inputs, .. } = contact;
    match input {
        Input::NormalForce if contact.layer().is_some() => false,
        Input::NormalForce => inputs.patches.iter().all(|own| own.normal_force.is_none()),
        Input::MuC | Input::MuS => true,
        Input::Vx | Input::Vy | Input::W => body.free().is_none(),
        Input::Fx | Input::Fy | Input::Tau | Input::GravityX | Input::GravityY => body.free().is_some(),
        Input::AnchorX | Input::AnchorY => body.free().is_some_and(|body| body.spring > 0.0),
        Input::SurfaceVx | Input::SurfaceVy | Input::SurfaceW => inputs.surface.is_some(),
        Input::PatchNormalForce(k) => inputs.patches.get(usize::from(k)).is_some_and(|own| own.normal_force.is_some()),
        Input::PatchVx(k) | Input::PatchVy(k) | Input::PatchW(k) => {
            inputs.patches.get(usize::from(k)).is_some_and(|own| own.surface.is_some())
        }
    }
}

/// The name of an input in a scenario's table of inputs.
pub fn name_of(input: Input) -> &'static str {
    input.field().trim_start_matches("inputs.")
}

/// The text of a scenario that a dictionary says.
#[pyfunction]
pub fn to_toml(dictionary: &Bound<'_, PyDict>) -> Result<String, Failure> {
    let value = value(dictionary.as_any(), "", MOST_NESTED)?;
    toml::to_string(&value).map_err(|e| ParameterError::new("scenario", e, "a dictionary like a scenario file").into())
}

/// How deep a dictionary may be nested: several times as deep as any scenario, and less than the stack bears.
/// One that contains itself has no end.
const MOST_NESTED: usize = 64;

/// What a part of a dictionary says, at most `left` parts deep.
fn value(from: &Bound<'_, PyAny>, path: &str, left: usize) -> Result<toml::Value, Failure> {
    let Some(left) = left.checked_sub(1) else {
        let accepted = format!("a dictionary that is nested at most {MOST_NESTED} deep");
        return Err(ParameterError::new("scenario", "nested deeper", accepted).into());
    };
    let inside = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    if let Ok(dictionary) = from.cast::<PyDict>() {
        let mut table = toml::Table::new();
        for (key, inner) in dictionary {
            let key: String = key.extract().map_err(|_| wrong(&key, path, "names as keys"))?;
            let inner = value(&inner, &inside(&key), left)?;
            table.insert(key, inner);
        }
        return Ok(toml::Value::Table(table));
    }
    if from.is_instance_of::<PyBool>() {
        return Ok(toml::Value::Boolean(from.extract()?));
    }
    if from.is_instance_of::<PyInt>() {
        let accepted = "an integer of 64 bits";
        return from.extract().map(toml::Value::Integer).map_err(|_| wrong(from, path, accepted));
    }
    if from.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(from.extract()?));
    }
    if from.is_instance_of::<PyString>() {
        return Ok(toml::Value::String(from.extract()?));
    }
    if from.is_instance_of::<PyList>() || from.is_instance_of::<PyTuple>() {
        let all = from.try_iter()?.enumerate().map(|(i, inner)| value(&inner?, &inside(&i.to_string()), left));
        return Ok(toml::Value::Array(all.collect::<Result<_, _>>()?));
    }
    // Arrays and numbers of NumPy become those of Python.
    if let Ok(list) = from.call_method0("tolist") {
        return value(&list, path, left);
    }
    if let Ok(text) = from.call_method0("__fspath__") {
        return value(&text, path, left);
    }
    Err(wrong(from, path, "a number, text, a list, or a dictionary"))
}

fn wrong(from: &Bound<'_, PyAny>, path: &str, accepted: &str) -> Failure {
    let value = from.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    ParameterError::new(if path.is_empty() { "scenario" } else { path }, value, accepted).into()
}
