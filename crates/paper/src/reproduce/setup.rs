//! The paper's runs as scenarios, which a user could write, run and change.

use std::path::Path;

use super::context::Error;
use bristle::contact::Contact;
use bristle_scenario::{Scenario, change};

/// A scenario and what it is called.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub text: String,
}

/// Oscillating loads of Fig. 6 and constant ones under an oscillating normal force, Fig. 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oscillating {
    Load,
    NormalForce,
}

/// In-hand case and profile of the normal force, each 1 or 2.
pub(super) type Grip = (u32, u32);

/// Length of the run of Fig. 5 [s].
pub(super) const PROFILE_DURATION: f64 = 5.0;
/// Break points of its twist [s].
pub(super) const PROFILE_BREAKS: [f64; 12] = [0.0, 0.6, 0.8, 1.4, 1.6, 2.2, 2.4, 2.7, 3.4, 4.0, 4.3, 4.6];
/// Length of in-hand runs [s].
pub(super) const IN_HAND_DURATION: f64 = 2.0;

const PROFILE: &str = r#"duration = 5.0
[patch]
shape = "circle"
cells = 21
size = 0.02
[friction]
law = "lugre"
sigma2 = 0.2
mu_c = 1.0
mu_s = 1.2
[body]
kind = "prescribed"
[inputs]
normal_force = 1.0
[inputs.twist]
vx = { points = [[0, 0], [0.8, 0], [1.4, 0.015], [1.6, 0.015], [2.2, 0]] }
vy = { points = [[0, 0], [2.4, 0], [2.7, 0.006], [4.3, 0.006], [4.6, 0]] }
w = { points = [[0, 0], [0.6, 1], [3.4, 1], [4.0, 0]] }
"#;

const DRIFT: &str = r#"duration = 5.0
[patch]
shape = "circle"
cells = 21
size = 0.05
[friction]
law = "elasto-plastic"
[body]
kind = "world"
mass = 1.0
inertia = 0.00125
[inputs]
hold = 0.01
"#;

const IN_HAND: &str = r#"duration = 2.0
[patch]
shape = "circle"
cells = 21
size = 0.02
[friction]
law = "elasto-plastic"
[body]
kind = "gripper"
mass = 0.2
inertia = { rectangle = [0.15, 0.08] }
[inputs]
hold = 0.01
gravity = [0, -9.81]
"#;

impl Setup {
    /// The twist of Fig. 5 at the centre of pressure of a map, LuGre, Table I with p = 1.
    pub fn profile(shape: &str) -> Self {
        Self { text: PROFILE.into() }.set(&format!("patch.shape={shape}"))
    }

    /// The disc of Figs. 6 and 24: 1 kg on a patch 0.05 m wide, inputs held for 10 ms.
    pub fn drift(kind: Oscillating) -> Self {
        let inputs = match kind {
            Oscillating::Load => {
                r#"normal_force = 9.81
[inputs.wrench]
fx = { segments = [{ from = 0, slope = 5 }, { from = 0.2, value = 1 },
                   { from = 1, value = 1, sines = [{ amplitude = 0.4, frequency = 3 }] }] }
tau = { segments = [{ from = 0 }, { from = 2.8, slope = 0.15 },
                    { from = 3, value = 0.03, sines = [{ amplitude = 0.01, frequency = 3 }] }] }
"#
            }
            Oscillating::NormalForce => {
                r#"normal_force = { segments = [{ from = 0, value = 9.81 },
                             { from = 1, value = 9.81, sines = [{ amplitude = 1, frequency = 3 }] }] }
[inputs.wrench]
fx = { points = [[0, 0], [0.2, 1]] }
tau = { points = [[0, 0], [0.2, 0.03]] }
"#
            }
        };
        Self { text: format!("{DRIFT}{inputs}") }
    }

    /// An object of 0.2 kg between two pads, Figs. 27 to 32.
    pub fn in_hand((case, force): Grip, shape: &str) -> Self {
        let (mean, amplitude, low, from) = if case == 1 { (3.6, 0.9, 2.9, 0.31) } else { (1.73, 0.91, 0.84, 0.33) };
        let grip = if force == 1 {
            format!("{{ mean = {mean}, sines = [{{ amplitude = {amplitude}, frequency = 2 }}] }}")
        } else {
            let high = if case == 1 { 4.0 } else { 2.0 };
            format!("{{ points = [[0, {high}], [{from}, {low}], [0.5, {high}]], interpolate = 'constant' }}")
        };
        let arm = if case == 1 { 0.025 } else { 0.002 };
        Self { text: IN_HAND.into() }
            .set(&format!("patch.shape={shape}"))
            .set(&format!("inputs.normal_force={grip}"))
            .set(&format!("initial.pose=[{arm}, 0, 0]"))
    }

    /// With the value at a dotted path changed.
    pub fn set(self, setting: &str) -> Self {
        // A wrong setting leaves the text as it is. The settings are written in this module alone, and
        // reading the scenario fails in the tests if one is wrong.
        Self { text: change(&self.text, setting).unwrap_or(self.text) }
    }

    /// Table I with p = 0: pure Coulomb friction in steady sliding.
    pub fn coulomb(self) -> Self {
        self.set("friction.sigma2=0.0").set("friction.mu_s=1.0")
    }

    /// With this many cells a side.
    pub fn cells(self, n: usize) -> Self {
        self.set(&format!("patch.cells={n}"))
    }

    pub fn law(self, lugre: bool) -> Self {
        self.set(&format!("friction.law={}", if lugre { "lugre" } else { "elasto-plastic" }))
    }

    /// The reduced model on the ellipsoid, as published.
    pub fn ellipsoid(self) -> Self {
        self.set("contact={ model = 'reduced', surface = 'ellipsoid', form = 'published' }")
    }

    /// The reduced model on the limit surface, as published: eq. (23), `n_ls` of 20.
    pub fn published(self) -> Self {
        self.set("contact={ model = 'reduced', rule = 'bilinear', form = 'published' }")
    }

    /// The reduced model on the limit surface in the form that is elastic in stick, exact cells.
    pub fn consistent(self) -> Self {
        self.set("contact={ model = 'reduced' }")
    }

    /// The contact.
    pub fn contact(&self) -> Result<Contact, Error> {
        let text = if self.text.contains("\"lugre\"") || self.text.contains("'lugre'") {
            // A form is one of the Elasto-Plastic law alone.
            self.text.replace(", form = 'published'", "")
        } else {
            self.text.clone()
        };
        Ok(Scenario::parse(&text, Path::new(""), "reproduce")?.contact(0)?)
    }
}
