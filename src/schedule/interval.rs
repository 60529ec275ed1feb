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
    /// Slots of each of several patches, behind these: its normal force \[N\] (of one pad), then the twist of
    /// its surface as [`SURFACE`].
    pub const OF_PART: usize = 4;

    /// The first slot of part `k`.
    pub const fn of_part(k: usize) -> usize {
        COUNT + OF_PART * k
    }
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
    /// Those of the slots of each of several patches; none where they have no inputs of their own.
    pub parts: Vec<[[f64; 3]; slot::OF_PART]>,
    /// Sinusoids of all slots.
    pub terms: Vec<Term>,
}

impl Interval {
    /// One of no length with these inputs, and these of several patches.
    pub fn holding(inputs: &[f64; slot::COUNT], of_parts: &[[f64; slot::OF_PART]]) -> Self {
        let still = |v| [v, 0.0, 0.0];
        let parts = of_parts.iter().map(|part| part.map(still)).collect();
        Self { c: inputs.map(still), parts, ..Self::default() }
    }

    /// The polynomial of a slot, which is 0 before anything is added to it.
    pub(super) fn polynomial(&mut self, slot: usize) -> &mut [f64; 3] {
        let Some(own) = slot.checked_sub(slot::COUNT) else { return &mut self.c[slot] };
        let k = own / slot::OF_PART;
        if self.parts.len() <= k {
            self.parts.resize(k + 1, Default::default());
        }
        &mut self.parts[k][own % slot::OF_PART]
    }

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

    /// All inputs at local time `tau` \[s\]; a negative normal force is no contact, 0. Where patches have
    /// forces of their own, the normal force is the sum of these.
    pub fn inputs(&self, tau: f64) -> [f64; slot::COUNT] {
        self.inputs_with(tau, &self.of_parts(tau))
    }

    /// [`Interval::inputs`], where several patches have these of their own.
    fn inputs_with(&self, tau: f64, of_parts: &[[f64; slot::OF_PART]]) -> [f64; slot::COUNT] {
        let mut v = self.c.map(|c| at(c, tau));
        for q in self.terms.iter().filter(|q| q.slot < slot::COUNT) {
            v[q.slot] += q.value(tau);
        }
        if !of_parts.is_empty() {
            v[slot::F_N] = of_parts.iter().map(|part| part[0]).sum();
        }
        v[slot::F_N] = v[slot::F_N].max(0.0);
        v
    }

    /// The inputs of each of several patches at local time `tau` \[s\]; none where they have none of their
    /// own.
    pub fn of_parts(&self, tau: f64) -> Vec<[f64; slot::OF_PART]> {
        let mut parts = Vec::new();
        self.write_parts(tau, &mut parts);
        parts
    }

    /// All inputs at local time `tau` [s]; writes those of each of several patches in place of what is in
    /// `of_parts`.
    pub(crate) fn inputs_and_parts(&self, tau: f64, of_parts: &mut Vec<[f64; slot::OF_PART]>) -> [f64; slot::COUNT] {
        self.write_parts(tau, of_parts);
        self.inputs_with(tau, of_parts)
    }

    fn write_parts(&self, tau: f64, parts: &mut Vec<[f64; slot::OF_PART]>) {
        parts.clear();
        if self.parts.is_empty() {
            return;
        }
        parts.extend(self.parts.iter().map(|part| part.map(|c| at(c, tau))));
        for q in self.terms.iter().filter(|q| q.slot >= slot::COUNT) {
            let own = q.slot - slot::COUNT;
            parts[own / slot::OF_PART][own % slot::OF_PART] += q.value(tau);
        }
        parts.iter_mut().for_each(|part| part[0] = part[0].max(0.0));
    }
}

impl Term {
    /// Its value at local time `tau` [s].
    fn value(&self, tau: f64) -> f64 {
        self.amplitude * (self.omega * tau + self.phase).sin()
    }
}

/// The value of a polynomial.
fn at([c0, c1, c2]: [f64; 3], tau: f64) -> f64 {
    c0 + tau * (c1 + tau * c2)
}
