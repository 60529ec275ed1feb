//! The inputs of a contact between two break points.

/// The slots of an interval, one for each scalar input that an engine evaluates.
pub mod slot {
    /// Normal force of one pad \[N\].
    pub const F_N: usize = 0;
    /// First of three: load wrench at the centre of mass, or the prescribed twist at the patch origin.
    pub const LOAD: usize = 1;
    /// Coulomb coefficient [-].
    pub const MU_C: usize = 4;
    /// Static coefficient [-].
    pub const MU_S: usize = 5;
    /// First of three: the twist of a moving surface at the origin of the frame that it is given in [m/s,
    /// m/s, rad/s]. Contacts without such a surface have none of the slots from here on.
    pub const SURFACE: usize = 6;
    /// Number of slots.
    pub const COUNT: usize = 9;
}

/// What a pressure map that changes is made for.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum MapKey {
    /// A map that follows the normal force: the force \[N\].
    Force(f64),
    /// A map that follows recorded frames: the number of the map, from 0. Frames in a row with the same map
    /// count once.
    Frame(u32),
}

/// A sinusoid of an interval, in local time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Which input it is part of.
    pub slot: usize,
    /// Amplitude, in the input's unit.
    pub amplitude: f64,
    /// Angular frequency [rad/s].
    pub omega: f64,
    /// Phase at the interval's start \[rad\].
    pub phase: f64,
}

/// The inputs between two break points, as functions of the time `tau` since the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Length \[s\].
    pub length: f64,
    /// Whether an input may jump or kink at the start.
    pub jump: bool,
    /// Whether a sample is recorded at the end.
    pub record: bool,
    /// What the pressure map is made anew for at the start; none if the map stays.
    pub remap: Option<MapKey>,
    /// Polynomial coefficients of every slot.
    pub c: [[f64; 3]; slot::COUNT],
    /// Sinusoids of all slots.
    pub terms: Vec<Term>,
}

impl Interval {
    /// Makes input `to` the same as input `from`.
    pub(crate) fn copy_input(&mut self, from: usize, to: usize) {
        self.c[to] = self.c[from];
        self.terms.retain(|term| term.slot != to);
        for i in 0..self.terms.len() {
            if self.terms[i].slot == from {
                self.terms.push(Term { slot: to, ..self.terms[i] });
            }
        }
    }

    /// All inputs at local time `tau` \[s\]; a negative normal force is no contact, 0.
    pub fn inputs(&self, tau: f64) -> [f64; slot::COUNT] {
        let mut v = self.c.map(|[c0, c1, c2]| c0 + tau * (c1 + tau * c2));
        for q in &self.terms {
            v[q.slot] += q.amplitude * (q.omega * tau + q.phase).sin();
        }
        v[slot::F_N] = v[slot::F_N].max(0.0);
        v
    }
}
