//! A patch that follows a sequence of recorded frames: `patch.frames`.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::clock::{TimesFrom, told};
use super::level::{Clipped, Level};
use super::patch_failure::{FILE, PatchFailure};
use crate::map_file::load_frames;
use bristle::error::ParameterError;
use bristle::patch::{CLOSEST_FRAMES, Sequence};

/// The frames of an `.npy` that the map follows, and when: `every` or `times` is needed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FramesSpec {
    /// The first frame, from 0; 0 if not given.
    pub from: Option<usize>,
    /// The first frame after them, which is not one of them; the number of frames of the file if not given.
    pub to: Option<usize>,
    /// Time from one frame to the next [s], >= 1e-6; the first is that of t = 0.
    pub every: Option<f64>,
    /// The time of every frame [s], >= 0 and increasing, in place of `every`.
    pub times: Option<Vec<f64>>,
    /// With `times`: which of them is t = 0 of the run, `"first"` or a time [s], if they are of another
    /// clock.
    pub times_from: Option<TimesFrom>,
}

impl FramesSpec {
    /// Reads the frames, and makes of them what `level` says; returns what that has changed, too. A grid of
    /// `cells` columns and rows is one that the scenario names. They may be those `on_layer`, an elastic one.
    pub(super) fn load(
        &self,
        path: &Path,
        cells: Option<[usize; 2]>,
        level: &Level,
        on_layer: bool,
    ) -> Result<(Sequence, Option<Clipped>), PatchFailure> {
        let every = match (self.every, &self.times) {
            (Some(every), None) if every.is_finite() && every >= CLOSEST_FRAMES => every,
            (Some(every), None) => {
                let accepted = "expected a finite time >= 1e-6 [s]";
                return PatchFailure::wrong("patch.frames.every", format!("{every}: {accepted}"));
            }
            (None, Some(_)) => 0.0,
            _ => return PatchFailure::wrong("patch.frames", "expected one of `every` and `times`"),
        };
        if self.times_from.is_some() && self.times.is_none() {
            return PatchFailure::wrong("patch.frames.times_from", "belongs to `times`; `every` begins at t = 0");
        }
        let from = self.from.unwrap_or(0);
        let maps = load_frames(path, from, self.to, cells);
        let mut maps = maps.map_err(|e| PatchFailure::of(FILE, e).named(path))?;
        let clipped = level.apply(&mut maps)?;
        let times = match &self.times {
            Some(times) if times.len() != maps.len() => {
                let (n, end) = (maps.len(), from + maps.len());
                let left_out = self.to.map(|to| format!("; `to` = {to} is not one of them")).unwrap_or_default();
                let accepted = format!("{n}, one for each of the frames {from} to {}{left_out}", end - 1);
                let e = ParameterError::new("patch.frames.times", format!("{} times", times.len()), accepted);
                return Err(PatchFailure::of(FILE, e.into()));
            }
            Some(times) => {
                let zero = self.times_from.zip(times.first()).map_or(0.0, |(from, first)| from.zero(*first));
                times.iter().map(|t| t - zero).collect()
            }
            None => (0..maps.len()).map(|k| every * k as f64).collect(),
        };
        let frames: Vec<&[f64]> = maps.iter().map(|map| &*map.pressure).collect();
        let cells = [maps[0].nx, maps[0].ny];
        let sequence = match on_layer {
            true => Sequence::on_layer(cells, times, &frames),
            false => Sequence::new(cells, times, &frames),
        };
        // The numbers of the frames are those in the file.
        let number = |e: bristle::PatchError| match e {
            bristle::PatchError::Frame { frame, error } => bristle::PatchError::Frame { frame: frame + from, error },
            e => e,
        };
        let sequence = sequence.map_err(|e| {
            let failure = PatchFailure::of(FILE, number(e)).named(path);
            maps.iter().fold(failure, |failure, map| failure.below_zero(&map.pressure))
        })?;
        Ok((sequence, clipped))
    }

    /// Refuses frames that would stand still through a run of `duration` [s], see [`Sequence::check_over`].
    pub(super) fn check_over(&self, sequence: &Sequence, duration: f64) -> Result<(), ParameterError> {
        sequence.check_over(duration).map_err(|e| match self.every {
            Some(every) => {
                let value = format!("{every}, for frames at {}", e.value);
                ParameterError { field: "patch.frames.every".to_owned(), value, ..e }
            }
            None => told(e, self.times_from),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, ScenarioError, change};
    use bristle::contact::Contact;
    use bristle::schedule::MapKey;

    const PRESS: &str = r#"
duration = 0.1
[patch]
file = "press.npy"
unit = "kPa"
size = 0.02
frames = { every = 0.01 }
[body]
kind = "gripper"
mass = 0.1
inertia = 1e-4
[inputs]
gravity = [0, -9.81]
"#;

    /// Six frames of 2 x 2 cells; frame `k` presses with `k` kPa on cell `k % 4` from the top left.
    fn written() -> tempfile::TempDir {
        use npyz::WriterBuilder;
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, shape: &[u64], values: Vec<f64>| {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd().unwrap();
            writer.extend(values).unwrap();
            writer.finish().unwrap();
        };
        let cell = |i: usize| if i % 4 == (i / 4) % 4 { (i / 4) as f64 } else { 0.0 };
        write("press.npy", &[6, 2, 2], (0..24).map(cell).collect());
        write("one.npy", &[2, 2], vec![1.0; 4]);
        write("nan.npy", &[3, 2, 2], (0..12).map(|i| if i == 9 { f64::NAN } else { 1.0 }).collect());
        write("none.npy", &[3, 2, 2], vec![0.0; 12]);
        dir
    }

    fn parsed(dir: &tempfile::TempDir, changes: &[&str]) -> Result<Scenario, ScenarioError> {
        let text = changes.iter().fold(PRESS.to_owned(), |text, c| change(&text, c).unwrap());
        Scenario::parse(&text, dir.path(), "press.toml")
    }

    /// The loaded cell from the lower left, and the normal force over what 1 kPa on a cell makes.
    fn at(contact: &Contact, t: f64) -> (usize, f64) {
        let Some(MapKey::Frame(map)) = contact.map_at(t) else { panic!("{:?}", contact.map_at(t)) };
        let patch = contact.patch.at(MapKey::Frame(map));
        let cell = patch.weights().iter().position(|w| *w == 1.0).unwrap();
        (cell, (contact.inputs.normal_force.value(t) / 0.1).round())
    }

    #[test]
    fn a_contact_follows_the_frames_that_are_named() {
        let dir = written();
        // The top row is first in the file, the bottom row in a patch.
        let of = |changes: &[&str]| parsed(&dir, changes).unwrap().contact(0).unwrap();
        let cell = |k: usize| [2, 3, 0, 1][k % 4];
        let contact = of(&[]);
        // Frame 0 has no pressure: the map is that of frame 1.
        assert_eq!(at(&contact, 0.0), (cell(1), 0.0));
        for k in 1..6 {
            assert_eq!(at(&contact, 0.01 * k as f64 + 0.004), (cell(k), k as f64));
        }
        assert_eq!(at(&contact, 0.099), (cell(5), 5.0), "the last one stays");
        let some = of(&["patch.frames={ from = 2, to = 4, times = [0, 0.05] }"]);
        assert_eq!([0.02, 0.06, 0.09].map(|t| at(&some, t)), [(cell(2), 2.0), (cell(3), 3.0), (cell(3), 3.0)]);
        let late = of(&["patch.frames={ from = 4, times = [0.03, 0.05] }"]);
        assert_eq!([0.0, 0.04, 0.05].map(|t| at(&late, t)), [(cell(4), 4.0), (cell(4), 4.0), (cell(5), 5.0)]);
        let updated = of(&["patch.update=0.02"]);
        assert_eq!([0.02, 0.035, 0.045].map(|t| at(&updated, t)), [(cell(2), 2.0), (cell(2), 2.0), (cell(4), 4.0)]);
        // Given by itself, the force is whatever the frames say, who share their memory.
        let given = parsed(&dir, &["~patch.unit", "inputs.normal_force=3", "patch.size={ uniform = [0.01, 0.03] }"]);
        let [a, b] = [0, 1].map(|k| given.as_ref().unwrap().contact(k).unwrap());
        assert_eq!(a.inputs.normal_force.value(0.05), 3.0);
        assert!(std::sync::Arc::ptr_eq(a.patch.sequence().unwrap(), b.patch.sequence().unwrap()));
        assert!(a.patch.grid().dx != b.patch.grid().dx);
    }

    #[test]
    fn frames_that_cannot_be_followed_say_what_would_be_accepted() {
        let dir = written();
        for (changes, part) in [
            (&["patch.frames={ from = 6, every = 0.01 }"][..], "patch.frames.from = 6: expected 0 to 5, one of"),
            (
                &["patch.frames={ to = 7, every = 0.01 }"],
                "patch.frames.to = 7: expected 1 to 6, the frame after the last",
            ),
            (
                &["patch.frames={ from = 3, to = 3, every = 0.01 }"],
                "patch.frames.to = 3: expected 4 to 6, the frame after the last, which is itself left out",
            ),
            (&["patch.frames={ from = -1, every = 0.01 }"], "patch.frames.from"),
            (&["patch.frames={ from = 1 }"], "patch.frames: expected one of `every` and `times`"),
            (&["patch.frames={ every = 0.01, times = [0] }"], "expected one of `every` and `times`"),
            (&["patch.frames={ every = 1e-7 }"], "patch.frames.every: 0.0000001: expected a finite time >= 1e-6"),
            (&["patch.frames={ every = nan }"], "patch.frames.every: NaN"),
            (&["patch.frames={ times = [0, 0.1] }"], "patch.frames.times = 2 times: expected 6, one for each of the"),
            (
                &["patch.frames={ from = 1, to = 3, times = [0, 0.01, 0.02] }"],
                "patch.frames.times = 3 times: expected 2, one for each of the frames 1 to 2; `to` = 3 is not one of",
            ),
            (&["patch.frames={ every = 0.01, times_from = \"first\" }"], "patch.frames.times_from: belongs to `times`"),
            (
                &["patch.frames={ to = 3, times = [1764093600.0, 1764093600.1, 1764093600.2] }"],
                "patch.frames.times = 1764093600 to 1764093600.2 s: expected several times [s] in the run, 0 to 0.1 s; \
                 or `times_from = \"first\"`, if the first of them is that of t = 0",
            ),
            (
                // Nanoseconds.
                &["patch.frames={ to = 3, times = [10, 100000010, 200000010], times_from = \"first\" }"],
                "patch.frames.times = 0 to 200000000 s after `times_from`: expected several times [s] in the run, 0 to",
            ),
            (&["patch.frames={ every = 33 }"], "patch.frames.every = 33, for frames at 0 to 165 s: expected several"),
            (&["patch.frames={ to = 3, times = [0, 0.2, 0.1] }"], "patch.frames.times = 0.1: expected a time at least"),
            (&["patch.frames={ to = 2, times = [-1, 0.2] }"], "patch.frames.times = -1: expected finite times >= 0"),
            (&["patch.frames={ every = 0.01, end = 3 }"], "unknown field `end`"),
            (&["patch.file=one.npy"], "an array of two dimensions, one map: expected three"),
            (&["patch.file=nan.npy"], "nan.npy: frame 2: pressure of cell (ix = 1, iy = 1)"),
            (&["patch.file=nan.npy", "patch.frames.from=1"], "nan.npy: frame 2: pressure"),
            (&["patch.file=none.npy"], "none.npy: the pressure map is empty"),
            (&["patch.frame=1"], "patch.frames: expected only one of `frame`, `frames`"),
            (&["patch.takes_frames=true"], "patch.takes_frames: a map that follows"),
            (&["patch.cells=3"], "patch.cells: 3 x 3, but the map of patch.file has 2 x 2"),
            (&["inputs.normal_force=1"], "either `patch.unit`, or `inputs.normal_force`"),
            (&["~patch.unit"], "inputs.normal_force = missing"),
            (
                &["~patch.file", "~patch.unit", "patch.shape=disc", "inputs.normal_force=1"],
                "patch.frames: belongs to a `file` that ends in .npy",
            ),
            (&["~patch.frames", "patch.update=0.1"], "belongs to `shape = \"hertz\"` or to `frames`"),
            (&["patch.update=0"], "patch.update = 0"),
            (&["duration=20", "patch.update=1e-6"], "patch.update = every 0.000001 s"),
        ] {
            match parsed(&dir, changes) {
                Err(e) => assert!(e.to_string().contains(part), "{changes:?}: {e}"),
                Ok(_) => panic!("{changes:?} is accepted"),
            }
        }
    }

    /// Times of another clock are those of the run after a key has said which of them is 0.
    #[test]
    fn times_of_another_clock_are_counted_from_the_first_or_from_a_time() {
        let dir = written();
        let of = |frames: &str| parsed(&dir, &[&format!("patch.frames={frames}")]).unwrap().contact(0).unwrap();
        let zero = of("{ from = 2, to = 4, times = [0, 0.05] }");
        // A double has 2.4e-7 s at such a time.
        for from in ["\"first\"", "1764093600.0"] {
            let epoch =
                of(&format!("{{ from = 2, to = 4, times = [1764093600.0, 1764093600.05], times_from = {from} }}"));
            assert_eq!([0.0, 0.0499, 0.0501].map(|t| at(&epoch, t)), [0.0, 0.0499, 0.0501].map(|t| at(&zero, t)));
        }
        let late = of("{ from = 2, to = 4, times = [1764093600.0, 1764093600.05], times_from = 1764093599.97 }");
        assert_eq!([0.0, 0.079, 0.081].map(|t| at(&late, t).0), [0.0, 0.0, 0.0501].map(|t| at(&zero, t).0));
    }

    /// A changed frame, its time or its force is another scenario.
    #[test]
    fn the_digest_knows_the_frames() {
        let dir = written();
        let of = |changes: &[&str]| parsed(&dir, changes).unwrap().maps();
        let all = [
            of(&[]),
            of(&["patch.frames.every=0.011"]),
            of(&["patch.frames.to=5"]),
            of(&["patch.frames.from=1"]),
            of(&["patch.size=0.03"]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{i}");
        }
        assert_eq!(all[0], of(&[]));
    }
}
