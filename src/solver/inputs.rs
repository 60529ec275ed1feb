//! The inputs of the contacts in lanes over their intervals. Twin: `shaders/inputs.wgsl`.
//!
//! Only here: `new`, `start`, `start_tangent`, `start_parts`, `of_part`, `force_of_parts`, `clear`,
//! `add_sinusoids`.

use super::bristles::Bits;
use super::lanes::set_bit;
use crate::number::real::{LANES, Real};
use crate::schedule::{Interval, Term, slot};

/// The interval of the contact in each lane: valid from its start to its end.
pub struct LaneInterval<R: Real> {
    /// Polynomials of the inputs.
    c: [[R; 3]; slot::COUNT],
    /// Their sinusoids, and the lanes that have some.
    terms: Vec<Vec<Term>>,
    waves: Bits,
    /// Lanes with a surface that moves, which alone have the slots from [`slot::SURFACE`] on.
    moving: Bits,
    /// Polynomials and sinusoids of several patches with inputs of their own, whose contact is alone in its
    /// solver.
    parts: Vec<[[R; 3]; slot::OF_PART]>,
    terms_of_parts: Vec<Term>,
    /// Sinusoids in the derivatives of the inputs, by the number of the derivative; of numbers with
    /// derivatives.
    tangent_terms: Vec<(usize, Term)>,
    /// Length, and the time that is left [s].
    pub length: [f64; LANES],
    pub left: [f64; LANES],
}

impl<R: Real> LaneInterval<R> {
    /// No interval in any lane.
    pub fn new() -> Self {
        Self {
            c: [[R::splat(0.0); 3]; slot::COUNT],
            terms: vec![Vec::new(); R::LANES],
            waves: 0,
            moving: 0,
            parts: Vec::new(),
            terms_of_parts: Vec::new(),
            tangent_terms: Vec::new(),
            length: [0.0; LANES],
            left: [0.0; LANES],
        }
    }

    /// Puts a lane at the start of an interval.
    pub fn start(&mut self, l: usize, interval: &Interval) {
        for (to, from) in self.c.iter_mut().zip(&interval.c) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = to.without_tangents();
                to.set(l, *from);
            }
        }
        self.tangent_terms.clear();
        self.terms[l].clone_from(&interval.terms);
        set_bit(&mut self.waves, l, !interval.terms.is_empty());
        set_bit(&mut self.moving, l, interval.c[slot::SURFACE..].as_flattened().iter().any(|c| *c != 0.0));
        (self.length[l], self.left[l]) = (interval.length, interval.length);
        self.parts.clear();
        if !interval.parts.is_empty() {
            self.start_parts(l, interval);
        }
    }

    /// Takes over what patches have of their own.
    fn start_parts(&mut self, l: usize, interval: &Interval) {
        self.parts.extend(interval.parts.iter().map(|part| part.map(|c| c.map(R::splat))));
        let own = interval.terms.iter().filter(|term| term.slot >= slot::COUNT);
        self.terms_of_parts.clear();
        self.terms_of_parts.extend(own.map(|term| Term { slot: term.slot - slot::COUNT, ..*term }));
        self.terms[l].retain(|term| term.slot < slot::COUNT);
    }

    /// Inputs of part `k` at local times `tau` [s].
    pub fn of_part(&self, k: usize, tau: R) -> [R; slot::OF_PART] {
        let mut v = self.parts[k].map(|c| tau.fma(tau.fma(c[2], c[1]), c[0]));
        for term in self.terms_of_parts.iter().filter(|term| term.slot / slot::OF_PART == k) {
            v[term.slot % slot::OF_PART] += R::splat(term.amplitude * (term.omega * tau.lane(0) + term.phase).sin());
        }
        v[0] = v[0].max(R::splat(0.0));
        v
    }

    /// The normal force [N] of all parts at local times `tau` [s].
    #[inline(never)]
    fn force_of_parts(&self, tau: R) -> R {
        (0..self.parts.len()).fold(R::splat(0.0), |sum, k| sum + self.of_part(k, tau)[0])
    }

    /// For a number type with one lane that carries derivatives: puts derivative `k` of the inputs, a
    /// function of time as the inputs are, beside those that were put there since the start.
    pub fn start_tangent(&mut self, k: usize, tangent: &Interval) {
        for (to, from) in self.c.iter_mut().zip(&tangent.c) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.add_tangent(k, *from));
        }
        self.tangent_terms.extend(tangent.terms.iter().map(|term| (k, *term)));
    }

    /// Empties a lane.
    pub fn clear(&mut self, l: usize) {
        set_bit(&mut self.waves, l, false);
        set_bit(&mut self.moving, l, false);
        self.parts.clear();
    }

    /// Inputs at local times `tau` [s], without sinusoids in lanes that are not among `lanes`.
    #[inline(always)]
    pub fn inputs(&self, tau: R, lanes: Bits) -> [R; slot::COUNT] {
        let mut v = [R::splat(0.0); slot::COUNT];
        let at = |c: &[R; 3]| tau.fma(tau.fma(c[2], c[1]), c[0]);
        for (v, c) in v[..slot::SURFACE].iter_mut().zip(&self.c) {
            *v = at(c);
        }
        if self.moving & lanes != 0 {
            for (v, c) in v.iter_mut().zip(&self.c).skip(slot::SURFACE) {
                *v = at(c);
            }
        }
        if self.waves & lanes != 0 {
            self.add_sinusoids(tau, lanes, &mut v);
        }
        if R::HAS_TANGENTS {
            for (k, term) in &self.tangent_terms {
                v[term.slot].add_tangent(*k, term.amplitude * (term.omega * tau.lane(0) + term.phase).sin());
            }
        }
        if !self.parts.is_empty() {
            v[slot::F_N] = self.force_of_parts(tau);
        }
        v[slot::F_N] = v[slot::F_N].max(R::splat(0.0));
        v
    }

    /// Adds the sinusoids of those of `lanes` that have some.
    #[inline(never)]
    fn add_sinusoids(&self, tau: R, lanes: Bits, v: &mut [R; slot::COUNT]) {
        let mut waves = self.waves & lanes;
        while waves != 0 {
            let l = waves.trailing_zeros() as usize;
            waves &= waves - 1;
            let tau = tau.lane(l);
            for q in &self.terms[l] {
                let wave = q.amplitude * (q.omega * tau + q.phase).sin();
                v[q.slot].set(l, v[q.slot].lane(l) + wave);
            }
        }
    }
}
