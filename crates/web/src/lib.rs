//! The library in a browser: a batch from the text of a scenario, its inputs, its samples, the bristles, the
//! limit surface and the margin of one of its contacts. `cargo xtask web` compiles this crate for wasm32 and
//! puts it beside the page in `crates/web/page`; docs/web.md describes both.
//!
//! [`Live`] and the functions here are plain Rust, so that the tests run the same code natively. What
//! JavaScript calls is in `js.rs`. There is no file system in a browser: a scenario that names a file is
//! refused as one whose file cannot be read.

#[cfg(target_arch = "wasm32")]
mod js;
mod live;
#[cfg(target_arch = "wasm32")]
mod measure;

use bristle::batch::SnapshotError;
use bristle::engine::{Engine, Plan};
use bristle::error::{EngineError, ParameterError};
use bristle::{Contact, Cpu};
use bristle_scenario::{Precision, Scenario, ScenarioError};

pub use live::Live;

/// What is wrong with a call, in the words of the library.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text of a scenario, or a change of it.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// What the engine refuses.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A value out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Bytes that are no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The engine of a precision, `f32` or `f64`; that of the scenario if it is empty.
fn engine(scenario: &Scenario, precision: &str) -> Result<Cpu, ParameterError> {
    match (precision, scenario.spec().precision) {
        ("f64", _) | ("", Precision::F64) => Ok(Cpu::new()),
        ("f32", _) | ("", Precision::F32) => Ok(Cpu::single()),
        _ => Err(ParameterError::new("precision", precision, "`f32` or `f64`")),
    }
}

/// A scenario from its text, and its first `contacts` contacts; as many as it asks for if that is 0.
fn drawn(text: &str, contacts: u32) -> Result<(Scenario, Vec<Contact>), ScenarioError> {
    let scenario = Scenario::parse(text, "".as_ref(), "scenario")?;
    let count = if contacts == 0 { scenario.contacts() } else { u64::from(contacts) };
    let all = scenario.block(0..count)?;
    Ok((scenario, all))
}

/// The text of a scenario with a `change` of `bristle_scenario::change`: `key=value`, or `~key`.
///
/// # Errors
/// As that function.
pub fn change(text: &str, change: &str) -> Result<String, Error> {
    Ok(bristle_scenario::change(text, change)?)
}

/// What the text of a scenario says at a dotted key, as JSON; empty if it says nothing there, or is no TOML.
pub fn value(text: &str, key: &str) -> String {
    let Ok(root) = text.parse::<toml::Table>() else { return String::new() };
    let root = toml::Value::Table(root);
    let found = key.split('.').try_fold(&root, |value, part| match value {
        toml::Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    });
    found.and_then(|value| serde_json::to_string(value).ok()).unwrap_or_default()
}

/// Simulates the first `contacts` contacts of a scenario as `bristle rollout` does: of every sample of every
/// contact the twelve numbers of [`Live::samples`].
///
/// # Errors
/// A scenario, a precision or a number of contacts that is refused.
pub fn rollout(text: &str, contacts: u32, precision: &str) -> Result<Vec<f64>, Error> {
    let (scenario, contacts) = drawn(text, contacts)?;
    let plan: Plan = scenario.plan();
    let out = engine(&scenario, precision)?.run(&contacts, &plan)?;
    let places = (0..out.contacts).flat_map(|k| (0..out.frames()).map(move |frame| (k, frame)));
    Ok(places.flat_map(|(k, frame)| live::numbers(&out.sample(k, frame))).collect())
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_value_is_found_by_its_dotted_key() {
        let text = "[a]\nb = { uniform = [1, 2.5] }\n";
        assert_eq!(value(text, "a.b.uniform.1"), "2.5");
        assert_eq!(value(text, "a.b"), r#"{"uniform":[1,2.5]}"#);
        for nothing in ["a.c", "a.b.uniform.2", "a.b.uniform.x"] {
            assert_eq!(value(text, nothing), "", "{nothing}");
        }
        assert_eq!(value("[", "a"), "");
    }
}
